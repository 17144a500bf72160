"""What is learned from a listing: the links to datasets and the pager, borne out by the second page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from crawlers.exceptions import CrawlersError
from crawlers.html.links import dataset_links
from crawlers.learn.links import Links, links
from crawlers.learn.pager import Pager, pager
from crawlers.learn.total import Total, contradicts, total
from crawlers.rules import Rules, rules
from crawlers.rules.selectors import from_css

if TYPE_CHECKING:
    from crawlers.learn.sample import Sample


class ListingError(CrawlersError):
    """A listing has no links that could be those to datasets; raised by `listing`."""


@dataclass(frozen=True, slots=True)
class Listing:
    """
    Args:
        start: the listing's address.
        count: links that the rules give on it.
        ids: the first few datasets' ids.
        total: where it says how many datasets there are.
        second: links that are new on the second page; ``None`` when that was not looked at.
    """

    start: str
    links: Links
    pager: Pager
    count: int
    ids: list[str]
    second: int | None = None
    total: Total | None = None


def listing(sample: Sample, known: list[str]) -> Listing:
    """
    Raises:
        ListingError: there are no links that are alike.
    """
    found = links(sample, known)
    if found is None:
        empty = ': it is empty until scripts have run, and may need browser = "listing"' if sample.looks_empty else ""
        raise ListingError(f"{sample.address} has no links that could lead to datasets{empty}.")
    given = dataset_links(sample.page, _rules(sample.address, found.table))
    way = pager(sample)
    said = total(sample, len(given), is_paged=bool(way.table))
    return Listing(sample.address, found, way, len(given), [one.id for one in given[:3]], total=said)


def confirmed(first: Listing, one: Sample, two: Sample) -> Listing:
    """The same, with what the second page gives."""
    how = _rules(first.start, first.links.table)
    known = {link.url for link in dataset_links(one.page, how)}
    new = [link for link in dataset_links(two.page, how) if link.url not in known]
    sure = first.pager.sure if new else first.pager.sure * 0.4
    said = None if first.total and contradicts(two, first.total) else first.total
    return replace(first, second=len(new), pager=replace(first.pager, sure=sure), total=said)


def _rules(start: str, table: dict[str, str]) -> Rules:
    """What a crawl would find its links by."""
    css = table.get("css")
    xpath = from_css(css, css) if css else None
    how = rules.Links(css=css, xpath=xpath, pattern=table.get("pattern"), id=table.get("id"))
    return Rules(text="", start=(start,), hosts=(urlsplit(start).hostname or "",), links=how)
