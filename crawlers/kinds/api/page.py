"""Reads the pages of a declared API: their records, what the next one is asked by, and what the walk must know."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.api import answers, paging
from crawlers.kinds.api.mapping import Reading
from crawlers.listing import other_answers
from crawlers.listing.paging import Entry, Page
from crawlers.safety import bounds
from crawlers.values.addresses import host

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kinds.api.declaration import Restart
    from crawlers.kinds.api.position import Position
    from crawlers.kinds.api.query import Query
    from crawlers.listing.crawl import Crawl


@dataclass(frozen=True, slots=True)
class Found:
    """What an answer says besides its records.

    Args:
        count: how many records it has, without the one that was requested again.
        at: what the next page is asked by; ``None`` if it says that there is none.
        passed: how many of its records are not datasets, and were not known.
        stamps: what its records are sorted by, where that is declared.
        digest: of its records' ids.
        first: what its first record is known by.
        last: what its last record is known by.
        seen_at: what the last record with a stamp is known by.
        has_awaited: whether it has the record that a walk behind the window goes on from.
        broken: why what it offers as the next page can't be requested.
        left: what it offers and can't be followed; empty if nothing.
    """

    count: int
    at: Any = None
    passed: int = 0
    stamps: tuple[Any, ...] = ()
    digest: str = ""
    first: str = ""
    last: str = ""
    seen_at: str = ""
    has_awaited: bool = False
    broken: AnswerError | None = None
    left: str = ""


class PageReader:
    """Reads answers by the declaration."""

    def __init__(self, crawl: Crawl, query: Query, restart: Restart | None) -> None:
        self.crawl, self.query, self.restart = crawl, query, restart
        self.declaration = query.declaration
        self.declared = query.listing

    def page(self, response: Response, document: Any, here: Position) -> Page[Position]:
        """Return what an answer holds.

        Args:
            document: its JSON.
        """
        records = answers.records(document, self.declared)
        if records is None:
            message = f"the answer has no list where its records should be ({self.declared.records.text})"
            other = other_answers.named(response, "a page of this API")
            raise AnswerError("refused", f"{message}: {other}" if other else message)
        bounds.RECORDS.check(len(records))
        stamps = [self.restart.seen.find(record) for record in records] if self.restart else []
        readings = [Reading(record, self.declaration) for record in records]
        datasets = [reading for reading in readings if reading.is_dataset]
        entries = [self.entry(reading) for reading in datasets]
        at, broken = self.following_place(document, records, response, here)
        asked = self.query.size(here)
        found = Found(
            count=paging.fresh(len(records), here, self.declared),
            at=at,
            passed=self.passed(readings, datasets, response),
            stamps=tuple(stamps),
            digest=_digest(entries),
            first=_name(readings[:1]),
            last=_name(readings[-1:]),
            seen_at=_name([reading for reading, stamp in zip(readings, stamps, strict=False) if stamp][-1:]),
            has_awaited=bool(here.awaited) and here.awaited in {_name([reading]) for reading in readings},
            broken=broken,
            left=paging.unfollowed(document, self.declared) if at is None else "",
        )
        total = answers.total(document, self.declared.total, headers(response))
        return Page(entries, total, is_short=not records or bool(asked and len(records) < asked), answer=found)

    def following_place(
        self, document: Any, records: list[Any], response: Response, here: Position
    ) -> tuple[Any, AnswerError | None]:
        """Return what the next page is asked by, and why the one that is offered can't be: this page's records stay."""
        try:
            answer = paging.Answer(document, records, response.url, headers(response))
            at = paging.following(answer, here, self.declared)
            if at is not None and self.declared.paging.kind == "next":
                paging.check_host(at, self.query.hosts | {host(response.url)})
        except AnswerError as error:
            return None, error
        return at, None

    def entry(self, reading: Reading) -> Entry:
        count = reading.resource_count if self.crawl.limits.resources else 0
        id_ = reading.id if isinstance(reading.record, dict) else None
        return Entry(id_, reading.record, count, reading, reading.aliases)

    def passed(self, readings: list[Reading], datasets: list[Reading], response: Response) -> int:
        """Return how many records are not datasets, and were not known before."""
        if len(readings) == len(datasets):
            return 0
        names = {_name([reading]) for reading in readings if not reading.is_dataset}
        return sum(self.crawl.seen(name, list_name="passed", listed_by=response.request) for name in sorted(names))


def headers(response: Response) -> answers.Headers:
    """Return the headers of an answer, by their names in small letters."""
    return {str(name).lower(): value for name, value in response.headers.to_unicode_dict().items()}


def _digest(entries: list[Entry]) -> str:
    """Return what shows that two pages have the same records; empty for a page of one, which a shift may repeat."""
    if len(entries) < 2:
        return ""
    return hashlib.sha256("\n".join(str(entry.id) for entry in entries).encode("utf-8", "replace")).hexdigest()[:16]


def _name(readings: list[Reading]) -> str:
    """Return what the record of a list is known by, whether it is a dataset or not; empty if there is none."""
    if not readings:
        return ""
    found, record = readings[0].id, readings[0].record
    return found or hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
