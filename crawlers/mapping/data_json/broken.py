"""A data.json that can't be read to its end."""

from __future__ import annotations

import json
import re
from typing import Any

_DATASETS = re.compile(r'"dataset"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")


def up_to_an_error(text: str) -> dict[str, Any] | None:
    """A catalogue of the records before the error; ``None`` when it is no data.json.

    >>> up_to_an_error('{"conformsTo": "x", "dataset": [{"identifier": "a"}, {"identifier": "b"}, {"identi')
    {'@type': 'dcat:Catalog', 'dataset': [{'identifier': 'a'}, {'identifier': 'b'}]}
    >>> up_to_an_error('{"@graph": [{"@id": "a"}')
    """
    begin = _DATASETS.search(text)
    if begin is None or '"@graph"' in text[: begin.start()]:
        return None
    records: list[Any] = []
    position, decoder = begin.end(), json.JSONDecoder(parse_constant=lambda _: None)
    while True:
        try:
            record, position = decoder.raw_decode(text, _BETWEEN.match(text, position).end())  # type: ignore[union-attr]
        except (ValueError, RecursionError):
            return {"@type": "dcat:Catalog", "dataset": records}
        records.append(record)
