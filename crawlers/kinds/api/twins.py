"""Finds different records of one id: only one of them can be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.listing.spider import repeated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.listing.crawl import Crawl
    from crawlers.listing.walk import Entry


def report(crawl: Crawl, entries: list[Entry], key: str) -> None:
    """Report the ids that several records of a page have, if those differ: the first one is kept.

    Args:
        key: what identifies the page.
    """
    for first, other in _shared(entries):
        if crawl.seen(str(first.id), list_name="twins", listed_by=key):
            title, again = (each.reading.dataset("", crawl.source).title for each in (first, other))
            crawl.failed("list", repeated(title, again, "the page"), dataset_id=first.id)


def _shared(entries: list[Entry]) -> Iterator[tuple[Entry, Entry]]:
    first: dict[str, Entry] = {}
    for entry in entries:
        if entry.id is not None and first.setdefault(entry.id, entry).record != entry.record:
            yield first[entry.id], entry
