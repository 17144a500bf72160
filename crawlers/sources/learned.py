"""The rules of an HTML catalogue, learned from its listing or sitemap and two of its datasets' pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from crawlers.exceptions import AnswerError, CrawlersError
from crawlers.html import sitemap
from crawlers.html.answer import page_of
from crawlers.learn import LearnError, Listing, ListingError, Result, Sample, confirmed, learn, listing
from crawlers.learn.addresses import alike, shape
from crawlers.learn.links import Links
from crawlers.learn.pager import Pager
from crawlers.learn.toml import toml
from crawlers.learn.trial import texts
from crawlers.mapping import schema_org
from crawlers.mapping.html import document
from crawlers.rules import loads

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.sources.detect import Asking

_SAMPLES = 2
_SURE = 0.5  # of the pager, and of a field: nobody looks before it is used
_FEWEST = 3  # addresses alike in a sitemap
_MOST = 1000  # of them that are looked at


@dataclass(frozen=True, slots=True)
class Learned:
    """
    Args:
        rules: the rules file; ``None`` when none could be learned.
        says: what it was learned from, or why it was not, for people.
        doubt: why a person is to look at it first.
    """

    rules: str | None
    says: str
    doubt: str | None = None
    is_dataset: bool = False
    """Whether the page is a dataset's, and no listing."""
    in_browser: bool = False
    """Whether the page is empty until its scripts have run, so that only a browser can learn from it."""


def learned(response: Response) -> Asking[Learned]:
    """
    Args:
        response: the page that the user named.
    """
    first = None
    try:
        first = Sample(page_of(response))
        if schema_org.describing(schema_org.records(first.page.root, first.page.url), first.page.url):
            return Learned(None, "the page describes one dataset, it is no listing", is_dataset=True)
        return (yield from _learned(first))
    except CrawlersError as error:
        return Learned(None, str(error).rstrip("."), in_browser=first is not None and first.looks_empty)


def _learned(first: Sample) -> Asking[Learned]:
    found = yield from _listed(first)
    samples = yield from _samples(_near(found.links.found, first.address))
    if "sitemap" not in found.pager.table:
        found = yield from _turned(first, listing(first, [sample.address for sample in samples]))
    result = learn(samples, {}, {})
    result = replace(result, listing=found, fields=tuple(one for one in result.fields if one.sure >= _SURE))
    text = toml(result)
    titles = [_title(sample, text) for sample in samples]
    if not all(titles) or len(set(titles)) < len(titles):
        raise LearnError("the pages behind its links have no titles that tell them apart")
    return Learned(text, f"{found.count} links to datasets; {found.pager.says}", _doubt(found, result))


def _doubt(found: Listing, result: Result) -> str | None:
    if found.pager.in_browser:
        return f"the listing's pages are turned by a script ({found.pager.says}), which takes a browser"
    if found.pager.sure < _SURE:
        return "no pager was found on the listing: what was learned takes its first page for all there is"
    if not (result.files or result.structured or {one.name for one in result.fields} - {"title"}):
        return "nothing but a title was found on the pages behind its links"
    return None


# Where the datasets are


def _listed(first: Sample) -> Asking[Listing]:
    """
    Raises:
        ListingError: neither the page nor a sitemap leads to datasets.
    """
    try:
        return listing(first, [])
    except ListingError:
        found = yield from _mapped(first.address)
        if found is None:
            raise
        return found


def _mapped(start: str) -> Asking[Listing | None]:
    """What the sitemap has, and of several sitemaps the first one."""
    address = urljoin(start, "/sitemap.xml")
    told = yield from _sitemap(address)
    further = _near([] if told.pages else told.sitemaps, start)
    inner = (yield from _sitemap(further[0])) if further else told
    pages = [page for page in _near([page for page, _ in inner.pages[:_MOST]], start) if page != start]
    group = alike(pages, [])
    common = shape(group) if len(group) >= _FEWEST else None
    if common is None:
        return None
    links = Links({"pattern": common.pattern, "id": common.id}, group, 0.7)
    return Listing(start, links, Pager({"sitemap": address}, f"the sitemap {address}", 0.7), len(group), [])


def _sitemap(address: str) -> Asking[sitemap.Sitemap]:
    answer = yield address
    try:
        return sitemap.Sitemap() if isinstance(answer, AnswerError) else sitemap.read(answer.body, address)
    except AnswerError:
        return sitemap.Sitemap()


def _turned(first: Sample, found: Listing) -> Asking[Listing]:
    """The same, borne out by the second page."""
    if not _near([found.pager.following or ""], first.address):
        return found
    answer = yield str(found.pager.following)
    return found if isinstance(answer, AnswerError) else confirmed(found, first, Sample(page_of(answer)))


def _near(addresses: list[str], here: str) -> list[str]:
    """Those of the same host: the others were not named by the user."""
    host = urlsplit(here).netloc
    return [one for one in addresses if urlsplit(one).netloc == host]


# What their pages say


def _samples(addresses: list[str]) -> Asking[list[Sample]]:
    """
    Raises:
        LearnError: there are too few to learn from.
    """
    found = []
    for address in addresses[:_SAMPLES]:
        answer = yield address
        if not isinstance(answer, AnswerError):
            found.append(Sample(page_of(answer)))
    if len(found) < _SAMPLES:
        raise LearnError("the links that look like those to datasets do not lead to two pages that can be had")
    return found


def _title(sample: Sample, rules: str) -> str:
    read = document(sample.page, loads(rules))
    structured = read.get("schema_org") or {}
    named = texts(read["fields"].get("title", {}).get("value"))
    return str(structured.get("name") or (named[0] if named else ""))
