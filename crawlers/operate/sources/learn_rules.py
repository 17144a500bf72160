"""Learns the rules of an HTML catalogue from its listing or sitemap and two of its datasets' pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from crawlers.exceptions import AnswerError, CrawlersError
from crawlers.kinds.html import sitemaps
from crawlers.kinds.html.answer import page_of
from crawlers.kinds.html.mapping import document
from crawlers.kinds.html.rules import loads
from crawlers.kinds.html.software import known
from crawlers.operate.learn import LearnError, Listing, ListingError, Result, Sample, confirmed, learn, listing
from crawlers.operate.learn.candidates import texts
from crawlers.operate.learn.listing import Links, Pager, alike, shape
from crawlers.operate.learn.toml import toml
from crawlers.records import schema_org

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kind import Asking

_SAMPLES = 2
_SURE = 0.5  # confidence in the pager, and in a field: nobody looks at them before they are used
_FEWEST = 3  # similar addresses in a sitemap
_MOST = 1000  # addresses of a sitemap that are looked at


@dataclass(frozen=True, slots=True)
class Learned:
    """
    Args:
        rules: the rules file's text; ``None`` if no rules could be learned.
        reason: what they were learned from, or why they were not.
        doubt: why a person should look at them first.
        advice: how known software is crawled better, in a sentence.
    """

    rules: str | None
    reason: str
    doubt: str | None = None
    advice: str | None = None
    is_dataset: bool = False
    """Whether the page is a dataset's, not a listing."""
    in_browser: bool = False
    """Whether the page is empty until its scripts have run, so that only a browser can learn from it."""


def learned(response: Response) -> Asking[Learned]:
    """Return the rules for the catalogue of a page."""
    first = advice = None
    try:
        first = Sample(page_of(response))
        software = known(first.page)
        advice = software.advice(first.address) if software else None
        if schema_org.describing(schema_org.records(first.page.root, first.page.url), first.page.url):
            reason = "the page describes one dataset, it is no listing"
            return Learned(None, reason, is_dataset=True, advice=advice)
        return replace((yield from _learned(first)), advice=advice)
    except CrawlersError as error:
        is_empty = first is not None and first.looks_empty
        return Learned(None, str(error).rstrip("."), in_browser=is_empty, advice=advice)


def _learned(first: Sample) -> Asking[Learned]:
    found = yield from _listed(first)
    samples = yield from _samples(_near(found.links.found, first.address))
    if "sitemap" not in found.pager.table:
        found = yield from _turned(first, listing(first, [sample.address for sample in samples]))
    result = learn(samples, {}, {})
    result = replace(result, listing=found, fields=tuple(field for field in result.fields if field.sure >= _SURE))
    text = toml(result)
    titles = [_title(sample, text) for sample in samples]
    if not all(titles) or len(set(titles)) < len(titles):
        raise LearnError("the pages behind its links have no titles that tell them apart")
    return Learned(text, f"{found.count} links to datasets; {found.pager.description}", _doubt(found, result))


def _doubt(found: Listing, result: Result) -> str | None:
    if found.pager.in_browser:
        return f"the listing's pages are turned by a script ({found.pager.description}), which takes a browser"
    if found.pager.sure < _SURE:
        return "no pager was found on the listing: what was learned takes its first page for all there is"
    if not (result.files or result.structured or {field.name for field in result.fields} - {"title"}):
        return "nothing but a title was found on the pages behind its links"
    return None


# The listing


def _listed(first: Sample) -> Asking[Listing]:
    """Return the links to datasets, of the page or of the sitemap."""
    try:
        return listing(first, [])
    except ListingError:
        found = yield from _mapped(first.address)
        if found is None:
            raise
        return found


def _mapped(start: str) -> Asking[Listing | None]:
    """Return the links to datasets of the sitemap, or of the first of several."""
    address = urljoin(start, "/sitemap.xml")
    outer = yield from _sitemap(address)
    further = _near([] if outer.pages else outer.sitemaps, start)
    inner = (yield from _sitemap(further[0])) if further else outer
    pages = [page for page in _near([page for page, _ in inner.pages[:_MOST]], start) if page != start]
    group = alike(pages, [])
    common = shape(group) if len(group) >= _FEWEST else None
    if common is None:
        return None
    links = Links({"pattern": common.pattern, "id": common.id}, group, 0.7)
    return Listing(start, links, Pager({"sitemap": address}, f"the sitemap {address}", 0.7), len(group), [])


def _sitemap(address: str) -> Asking[sitemaps.Sitemap]:
    answer = yield address
    try:
        return sitemaps.Sitemap() if isinstance(answer, AnswerError) else sitemaps.read(answer.body, address)
    except AnswerError:
        return sitemaps.Sitemap()


def _turned(first: Sample, found: Listing) -> Asking[Listing]:
    """Return the listing, confirmed by its second page if that can be requested."""
    if not _near([found.pager.following or ""], first.address):
        return found
    answer = yield str(found.pager.following)
    return found if isinstance(answer, AnswerError) else confirmed(found, first, Sample(page_of(answer)))


def _near(addresses: list[str], here: str) -> list[str]:
    """Return the addresses of the same host: the user named no other."""
    host = urlsplit(here).netloc
    return [address for address in addresses if urlsplit(address).netloc == host]


# The datasets


def _samples(addresses: list[str]) -> Asking[list[Sample]]:
    """Return the pages of two datasets."""
    found = []
    for address in addresses[:_SAMPLES]:
        answer = yield address
        if not isinstance(answer, AnswerError):
            found.append(Sample(page_of(answer)))
    if len(found) < _SAMPLES:
        raise LearnError("fewer than two of the links that look like datasets lead to a page")
    return found


def _title(sample: Sample, rules: str) -> str:
    """Return the title of a dataset's page, by the rules or by schema.org."""
    read = document(sample.page, loads(rules))
    structured = read.get("schema_org") or {}
    named = texts(read["fields"].get("title", {}).get("value"))
    return str(structured.get("name") or (named[0] if named else ""))
