"""Reads the records of a file: RDF by the DCAT mapping, other XML by the format of each element."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.http import Response

from crawlers.components.content_encoding import unpacked
from crawlers.components.spool import SpooledResponse, open_body
from crawlers.exceptions import AnswerError
from crawlers.items import Dataset, Flaw
from crawlers.kinds.dcat.answer import loaded, read
from crawlers.records import xml
from crawlers.records.rdf.terms import RDF

if TYPE_CHECKING:
    from crawlers.kinds.dcat.page import CataloguePage

FileRecords = Iterator[Dataset | AnswerError | None]
"""The datasets of a file; what is wrong with a record that can't be read; ``None`` for one of no data."""
Close = Callable[[], None]
_PART = 256 * 1024
_GZIP = re.compile(r"\.gz(?=$|\?)", re.IGNORECASE)


class StatementError(AnswerError):
    """A statement of a file's RDF can't be read.

    Args:
        dataset_id: the dataset that lacks it, if that is known.
        is_flaw: whether it costs no more than that.
    """

    def __init__(self, message: str, dataset_id: str | None, *, is_flaw: bool) -> None:
        super().__init__("unreadable_statement" if is_flaw else "invalid_rdf", message)
        self.dataset_id = dataset_id


async def opened(response: Response, *, source: str, most: int, most_json: int) -> tuple[FileRecords, Close | None]:
    """Return what is in a file, and what releases what that needs.

    Args:
        most: the largest file that is unpacked, in bytes.
        most_json: the largest JSON-LD that is read, in bytes.

    Raises:
        AnswerError: the file is not one that can be read.
    """
    response, misread = _unpacked(response, most), list[str]()
    root = xml.root(response, misread) if urlsplit(response.url).path.lower().endswith(".xml") else None
    if root is not None and not root.tag.startswith(f"{{{RDF}"):
        return _of_elements(root, response, source, misread), None
    page = read(response, name=source, language=None, max_json=most_json)
    if page is None:
        raise AnswerError("not_rdf", "an HTML page came instead of a record")
    return _of_rdf(await loaded(page)), page.close


def _unpacked(response: Response, most: int) -> Response:
    """Return the answer as it is without gzip, which some files are in, whatever the server says of it."""
    url = _GZIP.sub("", response.url)
    if url == response.url:
        return response
    with open_body(response) as file:
        if file.read(2) != b"\x1f\x8b":
            if isinstance(response, SpooledResponse):
                return response.replace(url=url, headers={})
            return Response(url, body=response.body, request=response.request)
        file.seek(0)
        body = unpacked(iter(partial(file.read, _PART), b""), [b"gzip"], most)
    return Response(url, body=body, request=response.request)


def _of_elements(
    root: Any, response: Response, source: str, misread: list[str]
) -> Iterator[Dataset | AnswerError | None]:
    """Yield the datasets of the elements that are records; a file without any is one error.

    A record that describes a service or a feature catalogue gives ``None``, as a catalogue service keeps it apart.

    Args:
        misread: sentences about the file's encoding, which are flaws of each dataset.
    """
    found = list(xml.records(root)) or [root]
    for element in found:
        try:
            if xml.scope(element) == "service":
                yield None
                continue
            dataset = xml.lazily(element, source=source, url=response.url)
            _add(misread, dataset)
            yield dataset
        except AnswerError as error:
            is_known = element.tag.endswith("}FC_FeatureCatalogue") or xml.is_record(element)
            yield None if error.kind == "unsupported" and is_known else error


def _of_rdf(page: CataloguePage) -> Iterator[Dataset | AnswerError]:
    records = page.records()
    first = list(islice(records, 2))
    page.is_of_one = len(first) == 1
    for record in chain(first, records):
        if record.id is None:
            yield AnswerError("missing_id", f"{record.what} has no identifier, so it is not kept")
            continue
        try:
            dataset = record.item()
        except AnswerError as error:
            yield error
            continue
        dataset.metadata_source = page.source
        _add(page.misread, dataset)
        yield dataset
    for fault in page.faults:
        yield StatementError(fault.message, page.owner(fault), is_flaw=page.costs_a_statement(fault))


def _add(misread: list[str], dataset: Dataset) -> None:
    """Add what is wrong with a file's encoding to the flaws of a dataset."""
    if misread:  # else its flaws need not be known yet
        dataset.flaws += [Flaw(sentence, "encoding", "repaired_text") for sentence in misread]
