"""The RDF that a dataset's page links to."""

from __future__ import annotations

import asyncio
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.dcat.answer import read
from crawlers.exceptions import AnswerError
from crawlers.rdf import formats

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.mapping.html import Page
    from crawlers.rules import Rules

_STEPS = 500  # statements between two looks at what else there is to do
_MOST = 10_000  # datasets in one file that are looked through for the page's own


def link(page: Page, rules: Rules) -> str | None:
    """The address of the page's RDF: the rule's, else that of ``<link rel="alternate">``."""
    if rules.rdf and rules.rdf.xpath:
        found = (_address(page, one, rules.rdf.attr or "href") for one in page.find(rules.rdf.xpath))
        return next((address for address in found if address), None)
    return next(filter(rules.follows, _alternates(page)), None) if rules.structured else None


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


async def description(
    response: Response, found: dict[str, Any], *, source: str, most_json: int, of_many: bool
) -> dict[str, Any] | None:
    """The document of the dataset that a page describes; ``None`` when the RDF is of others.

    Args:
        found: what the page itself says.
        of_many: whether it may be one of several in the file; if not, such a file is the whole catalogue's.

    Raises:
        AnswerError: it is no RDF, or can't be read to its end.
    """
    file = read(response, name=source, language=None, most_json=most_json)
    if file is None or file.source != "rdf":
        raise AnswerError("not_rdf", "the link to the dataset's RDF leads to something else")
    with closing(file):
        for step, _ in enumerate(file.load()):
            if step % _STEPS == 0:
                await asyncio.sleep(0)  # a large file takes seconds, and other answers wait
        if file.faults:
            raise AnswerError("invalid_rdf", file.faults[0].message)
        if not of_many and len(list(islice(file.records(), 2))) > 1:
            return None
        items = (record.item() for record in islice(file.records(), _MOST))
        own = next((item for item in items if _is_of(item, found, response.url)), None)
    return own.document if own else None


def _is_of(item: Dataset, found: dict[str, Any], link: str) -> bool:
    """Whether it is the page's dataset: by its address, by its file's, or by its title."""
    page = found["url"]
    titles = [found["fields"].get("title", {}).get("value"), (found.get("schema_org") or {}).get("name")]
    return (
        page in (item.uri, item.landing_page, item.identifier)
        or link.startswith(page.partition("?")[0].removesuffix(".html"))
        or _plain(item.title) in map(_plain, filter(None, titles))
    )


def _plain(text: Any) -> str:
    return " ".join(str(text or "").casefold().split())
