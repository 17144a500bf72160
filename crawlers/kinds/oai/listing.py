"""Lists a repository's records: each once, its deleted ones too, and without missing any."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.spidermiddlewares.httperror import HttpError

from crawlers.exceptions import AnswerError
from crawlers.kinds.oai import answer as answers
from crawlers.kinds.oai.answer import Answer, OAIError
from crawlers.kinds.oai.cursor import LARGE, Cursor
from crawlers.kinds.oai.metadata import is_service
from crawlers.kinds.oai.recovery import UnreadFormatError, another, check_dates, fault, is_ended, is_final
from crawlers.listing.completeness import Ending
from crawlers.listing.paging import Entry, Page, PagedListing
from crawlers.politeness import failures
from crawlers.resume.records import forget_open

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.oai.metadata import Metadata
    from crawlers.kinds.oai.withdrawals import GoneOAI
    from crawlers.listing.completeness import Completeness
    from crawlers.listing.crawl import Crawl

_TOLERANCE = timedelta(days=1)
"""How far a datestamp may be outside its window: some servers' are in local time."""


class OAIListing(PagedListing[Cursor]):
    """The pages of ListRecords: one list of all records; windows of datestamps where that is too long, or fails."""

    cursor = Cursor
    subject = "the repository"

    gone: GoneOAI

    def __init__(self, crawl: Crawl, completeness: Completeness, gone: GoneOAI, metadata: Metadata) -> None:
        super().__init__(crawl, gone.withdrawals, completeness, gone)
        self.endpoint, self.metadata = gone.endpoint, metadata

    def request(self, cursor: Cursor) -> Request:
        address = self.endpoint.address("ListRecords", **cursor.question)
        keywords, meta = {"cursor": cursor.plain()}, {"page": cursor.number}
        headers = {"Cache-Control": "no-cache"} if cursor.since or cursor.token else {}
        return Request(
            address, self.parse_page, errback=self.page_failed, cb_kwargs=keywords, headers=headers, meta=meta
        )

    def read(self, response: Response, here: Cursor) -> Page[Cursor]:
        try:
            found = answers.page(response)
        except OAIError as error:
            if error.code != "noRecordsMatch":
                raise
            found = Answer(is_none=True)
        if not found.records and here.is_whole and not here.since and not here.pages:
            raise AnswerError("no_datasets", "the repository has no records, or none in this set")
        check_dates(here, found, _TOLERANCE)
        for sentence in found.flaws:
            self.crawl.failed("parse", AnswerError("repaired_text", sentence), response.request)
        alive = [record for record in found.records if not (record.is_deleted and record.identifier)]
        found = replace(found, services=[record for record in alive if record.identifier and is_service(record)])
        services = {record.identifier for record in found.services}
        alive = [record for record in alive if record.identifier not in services]
        if not here.listed and not here.since and here.others and self.metadata.is_unread(alive):
            raise UnreadFormatError(here.prefix)
        return Page([self.metadata.entry(record, here.prefix) for record in alive], answer=found)

    def page_failed(self, failure: Failure) -> Iterator[Any]:
        """Read an answer with an HTTP error, too: Invenio sends the errors of OAI-PMH with 422."""
        if isinstance(failure.value, HttpError) and b"OAI-PMH" in failure.value.response.body:
            yield from self.parse_page(failure.value.response, **failures.request(failure).cb_kwargs)
        else:
            yield from super().page_failed(failure)

    def list_page(self, response: Response, here: Cursor, page: Page[Cursor]) -> Iterator[Any]:
        found: Answer = page.answer
        gone = [record for record in found.records if record.is_deleted and record.identifier]
        new = [self.is_new(str(record.identifier), "deleted", here) for record in gone]
        new += [self.is_new(str(record.identifier), "services", here) for record in found.services]
        if found.services and self.crawl.crawler.stats:
            self.crawl.crawler.stats.set_value("catalogue/not_datasets", self.crawl.records.count("services"))
        yield from super().list_page(response, replace(here, apart=here.apart + sum(new)), page)

    def is_new(self, name: str, list_name: str, here: Cursor) -> bool:
        return self.crawl.seen(name, list_name=list_name, listed_by=f"page {here.number}")

    def after(self, here: Cursor, page: Page[Cursor], taken: list[tuple[Entry, int]]) -> Cursor:
        found: Answer = page.answer
        first = next((record.identifier for record in found.records if record.identifier), "")
        # The window, too: after a kill, two requests may begin the lists of two windows as the same attempt
        page_name = f"{here.attempt} {here.begin} {here.until} {first}"
        is_repeated = bool(first) and not self.is_new(page_name, "pages", here)
        after = super().after(here, page, taken)
        after = replace(after, stale=here.stale).behind(found, has_new=bool(taken), is_repeated=is_repeated)
        total = after.living
        return replace(after, expected=None if total is None or after.listed > total else total)

    def following(self, here: Cursor, after: Cursor, page: Page[Cursor]) -> Cursor | None:  # noqa: ARG002
        if is_ended(after):
            return None
        is_large = after.list_pages == 1 and (after.size or 0) >= LARGE and after.is_dated
        return (after.narrowed() if is_large else None) or after

    def end(self, request: Request | None, after: Cursor, page: Page[Cursor]) -> Iterator[Any]:
        """Request the next window when a list has ended; what it lacks, in another way."""
        if error := fault(after, page.answer):
            if page.answer.is_none and not (after.size and after.received < after.size) and (rest := after.rest()):
                yield self.request(rest)
                return
            yield from self.refused(request, after, error, None)
        else:
            yield from self.go_on(request, after)

    def refused(self, request: Request | None, here: Cursor, error: AnswerError, status: int | None) -> Iterator[Any]:
        """Request in another way what did not come; else report it, and continue behind it."""
        if self.crawl.records.job.resumed:
            forget_open(self.crawl.records)
            here = replace(here, has_changed=True)  # two requests of one page may have counted it as another list's
        if there := another(here, error):
            self.crawl.logger.info("%s: %s; requesting it another way", self.endpoint.url, error)
            yield self.request(there)
            return
        self.crawl.failed("list", error, request, http_status=status)
        if is_final(here, error):
            self.completeness.end(here.name)
        else:
            yield from self.go_on(request, replace(here, is_torn=True))

    def go_on(self, request: Request | None, after: Cursor) -> Iterator[Any]:
        """Request the next window, or judge the listing behind the last one."""
        if there := after.next_window():
            yield self.request(there)
        elif after.is_torn:
            self.completeness.end(after.name)
        else:
            yield from self.judge(request, after)

    def judge(self, request: Request | None, after: Cursor) -> Iterator[Any]:
        count = self.crawl.records.count
        listed = count("datasets") + count("nameless")  # of a resumed crawl, the cursor may have some twice
        total = None if after.total is None else after.total - count("deleted") - count("services")
        is_short = total is not None and listed < total
        may_lack = is_short and (after.has_changed or self.crawl.records.job.resumed)
        if after.is_whole and not after.is_second and (self.has_moved() or may_lack):
            yield self.request(after.restarted(is_second=True))
            return
        ending = Ending(
            listed=listed,
            subject=self.subject,
            total=None if total is None or total < listed else total,  # some say less than they give: it is a hint
            is_at_least=after.total in self.windows and after.is_whole,  # a window has fewer than its limit
            is_one_file=after.pages == 1,
            has_pager_ended=after.pages > 1,
        )
        if self.completeness.conclude(after.name, ending, request):
            self.crawl.run_state.expected = self.crawl.run_state.listed = listed
            self.withdraw_deleted(after.prefix)
            yield from self.complete(after)

    def has_moved(self) -> bool:
        """Return whether a record came both as deleted and as alive: it moved, and those behind it moved up."""
        records = self.crawl.records
        return records.count("deleted") > sum(1 for _ in records.listed("deleted", without="datasets"))

    def withdraw_deleted(self, prefix: str) -> None:
        """Mark what the repository says is deleted; not what came alive, too: the next crawl shows which is true."""
        if not self.crawl.run_state.has_stale_answer:
            for name in self.crawl.records.listed("deleted", without="datasets"):
                self.gone.withdraw(name, prefix)

    def items(self, response: Response, entry: Entry, allowed: int, here: Cursor, position: int) -> Iterator[Any]:
        if entry.id is None:
            message = f"record {position + 1} of the page has no identifier, so it is not kept"
            self.crawl.failed("list", AnswerError("missing_id", message), response.request)
        elif entry.record.text:
            yield self.metadata.request(entry.id, here.prefix, allowed)
        else:
            yield from self.metadata.keep(response, entry.record, here.prefix, allowed)
