"""Reads the records of an answer, each by itself: what can't be read loses no other."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlers.exceptions import AnswerError
from crawlers.kinds.csw import getrecords, schemas
from crawlers.kinds.csw.results import catalogue_id, identifier, is_iso, is_service
from crawlers.listing.walk import Entry
from crawlers.records import xml

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.listing.crawl import Crawl

Asked = tuple[str, str, str]
"""The server's address, the version of CSW and the output schema of a request."""


def entry(element: Any, response: Response, asked: Asked, crawl: Crawl) -> Entry | str:
    """Return a record as an item, or as the reason why it can't be one; only its id if it describes no data."""
    try:
        item = None if is_service(element) else _item(element, asked, crawl)
    except AnswerError as error:
        if not (error.kind == "unsupported" and is_iso(element)):
            return _unread(element, error)
        item = None
    except Exception as error:
        crawl.logger.exception("A record of %s could not be handled", response.url)
        message = f"the record could not be handled: {type(error).__name__}: {error}"
        return _unread(element, AnswerError("bug", message))
    if item is None:
        return identifier(element) or _digest(element)
    return Entry(item.id, item, len(item.resources) if crawl.limits.resources else 0)


def _item(element: Any, asked: Asked, crawl: Crawl) -> Dataset:
    """Return a record as an item.

    Raises:
        AnswerError: it can't be read, has no identifier, or describes no data (unsupported).
    """
    endpoint, version, schema = asked
    given = {"source": crawl.source, "url": endpoint, "language": crawl.args["language"]}
    try:
        item = xml.lazily(element, **given)
    except AnswerError:
        name = identifier(element) or catalogue_id(element)
        if name is None:
            raise
        item = xml.lazily(element, id=name, **given)  # it is kept as it is, unless it describes no data
    if item.id in ("", endpoint):  # which stands for an id that is missing
        raise AnswerError("missing_id", "a record has no identifier, so it is not kept")
    name = catalogue_id(element) if schemas.by_uri(schema).is_rdf else item.id
    item.metadata_url = getrecords.record_address(endpoint, version, schema, name)
    return item


def doubles(entries: list[Entry]) -> list[tuple[Entry, Entry]]:
    """Return the records whose id a page has again for another one, with that one, each time that it has."""
    first: dict[str, Entry] = {}
    pairs = [(first.setdefault(entry.id, entry), entry) for entry in entries if entry.id is not None]
    return [(known, entry) for known, entry in pairs if known is not entry and _content(known) != _content(entry)]


def title(entry: Entry) -> str | None:
    """Return a record's title; ``None`` of one that can't be read."""
    return None if isinstance(entry.record, dict) else entry.record.title


def digest(entry: Entry) -> str:
    """Return what a record with the id of another one is known by."""
    content = _content(entry)
    return str(content["sha256"]) if isinstance(content, dict) else hashlib.sha256(content).hexdigest()


def _content(entry: Entry) -> Any:
    return entry.record if isinstance(entry.record, dict) else entry.record.document


def _unread(element: Any, error: AnswerError) -> Entry:
    return Entry(identifier(element), {"kind": error.kind, "message": str(error), "sha256": _digest(element)})


def _digest(element: Any) -> str:
    return hashlib.sha256(etree.tostring(element, with_tail=False)).hexdigest()
