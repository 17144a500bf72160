"""Reads the records of a file: RDF by the DCAT mapping, other XML by the format of each element."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crawlers import xml_records
from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.answer import read
from crawlers.listing.spider import in_turns
from crawlers.rdf.namespaces import RDF

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from typing import Any

    from scrapy.http import Response

    from crawlers.items import Dataset


async def datasets(response: Response, *, source: str, most_json: int) -> AsyncIterator[Dataset | AnswerError | None]:
    """Yield the datasets of a file, what is wrong with a record of it that can't be read, ``None`` for one of no data.

    Args:
        most_json: the largest JSON-LD that is read, in bytes.

    Raises:
        AnswerError: the file is not one that can be read.
    """
    root = xml_records.root(response) if urlsplit(response.url).path.lower().endswith(".xml") else None
    if root is not None and not root.tag.startswith(f"{{{RDF}"):
        for found in _of_elements(root, response, source):
            yield found
        return
    async for dataset in _of_rdf(response, source, most_json):
        yield dataset


def _of_elements(root: Any, response: Response, source: str) -> Iterator[Dataset | AnswerError | None]:
    """Yield the datasets of the elements that are records; a file without any is one error.

    A record that describes a service or a feature catalogue gives ``None``, as a catalogue service keeps it apart.
    """
    found = list(xml_records.records(root)) or [root]
    for element in found:
        try:
            is_service = xml_records.scope(element) == "service"
            yield None if is_service else xml_records.lazily(element, source=source, url=response.url)
        except AnswerError as error:
            is_known = element.tag.endswith("}FC_FeatureCatalogue") or xml_records.is_record(element)
            yield None if error.kind == "unsupported" and is_known else error


async def _of_rdf(response: Response, source: str, most_json: int) -> AsyncIterator[Dataset | AnswerError]:
    page = read(response, name=source, language=None, max_json=most_json)
    if page is None:
        raise AnswerError("not_rdf", "an HTML page came instead of a record")
    with closing(page):
        await in_turns(page.load())
        for record in page.records():
            if record.id is None:
                yield AnswerError("missing_id", f"{record.what} has no identifier, so it is not kept")
                continue
            try:
                dataset = record.item()
            except AnswerError as error:
                yield error
                continue
            dataset.metadata_source = page.source
            yield dataset
        for fault in page.faults:
            yield AnswerError("invalid_rdf", fault.message)
