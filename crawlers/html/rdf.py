"""The RDF that a dataset's page links to."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.dcat.answer import read
from crawlers.exceptions import AnswerError
from crawlers.rdf import formats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.dcat.page import Page as RDFPage
    from crawlers.items import Dataset
    from crawlers.mapping.html import Page
    from crawlers.rules import Rules

_MOST = 10_000  # datasets in one file that are looked through for the page's own


def link(page: Page, rules: Rules) -> str | None:
    """The address of the page's RDF: the rule's, else that of ``<link rel="alternate">``."""
    if rules.rdf and rules.rdf.xpath:
        found = (_address(page, one, rules.rdf.attr or "href") for one in page.find(rules.rdf.xpath))
        return next((address for address in found if address), None)
    return next(iter(_alternates(page)), None) if rules.structured else None


def _address(page: Page, found: Any, attribute: str) -> str | None:
    return page.absolute(found if isinstance(found, str) else found.get(attribute) or "")


def _alternates(page: Page) -> list[str]:
    offered: dict[Any, str] = {}
    for one in page.find("//link[@href and @type and contains(concat(' ', @rel, ' '), ' alternate ')]"):
        format_ = formats.by_media_type(one.get("type"))
        address = page.absolute(one.get("href"))
        if format_ is not None and address:
            offered.setdefault(format_, address)
    return [offered[format_] for format_ in formats.FORMATS if format_ in offered]


def description(response: Response, page: str, *, source: str, most_json: int, of_many: bool) -> dict[str, Any] | None:
    """The document of the dataset that a page describes; ``None`` when the RDF is of others.

    Args:
        page: the dataset's page.
        of_many: whether it may be one of several in the file; if not, such a file is the whole catalogue's.

    Raises:
        AnswerError: it is no RDF, or can't be read.
    """
    found = read(response, name=source, language=None, most_json=most_json)
    if found is None or found.source != "rdf":
        raise AnswerError("not_rdf", "the link to the dataset's RDF leads to something else")
    with closing(found):
        for _ in found.load():
            pass
        items = [record.item() for record in islice(found.records(), 2)]
        if len(items) > 1:
            items = [*_own(found, page)] if of_many else []
    return items[0].document if items else None


def _own(found: RDFPage, page: str) -> Iterator[Dataset]:
    items = (record.item() for record in islice(found.records(), _MOST))
    return (item for item in items if page in (item.uri, item.landing_page, item.identifier))
