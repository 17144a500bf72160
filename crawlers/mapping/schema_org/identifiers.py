"""What a dataset is called by machines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.mapping import values
from crawlers.mapping.data_json.identifiers import iri

if TYPE_CHECKING:
    from collections.abc import Iterator

_DOI = re.compile(r"(?:^|doi\.org/|doi:\s?)10\.[0-9]{4,9}/\S", re.IGNORECASE)
_NAMES = ("value", "identifier", "@value", "url", "@id", "name")
_LONGEST = 30  # digits


def identifier(record: dict[str, Any]) -> str | None:
    """The first DOI among ``identifier``, ``sameAs``, ``@id`` and ``url``, else the first identifier, else ``@id``.

    >>> identifier({"identifier": ["r-7", {"@type": "PropertyValue", "propertyID": "DOI", "value": "10.5072/r7"}]})
    '10.5072/r7'
    >>> identifier({"identifier": 7, "@id": "https://example.org/r"}), identifier({"@id": "https://example.org/r"})
    ('7', 'https://example.org/r')
    """
    given = list(_texts(record.get("identifier")))
    others = [text for name in ("sameAs", "@id", "url") for text in _texts(record.get(name))]
    doi = next((text for text in (*given, *others) if _DOI.search(text)), None)
    return doi or next(iter(given), None) or iri(record)


def _texts(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        found = next(filter(None, (_text(one.get(name)) for name in _NAMES)), None) if isinstance(one, dict) else one
        if text := _text(found):
            yield text


def _text(value: Any) -> str | None:
    if type(value) is int and abs(value) < 10**_LONGEST:
        return str(value)
    return values.text(value) if isinstance(value, str) else None
