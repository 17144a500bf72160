"""Lists the records of a CSW, each once, without missing any."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlers import xml_records
from crawlers.exceptions import AnswerError
from crawlers.kinds.csw import capabilities, getrecords, moves, schemas
from crawlers.kinds.csw.position import ROWS, Position
from crawlers.kinds.csw.records import doubles, entry, title
from crawlers.kinds.csw.recovery import FINAL, another, check
from crawlers.kinds.csw.results import of_failure, results
from crawlers.listing.completeness import Ending
from crawlers.listing.paging import WINDOWS, Entry, Page, PagedListing
from crawlers.listing.spider import repeated
from crawlers.politeness import failures
from crawlers.values.moment import now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset

_XML = {"Content-Type": "application/xml", "Accept": "application/xml, text/xml;q=0.9, */*;q=0.1"}
_SOME = 50


class CSWListing(PagedListing[Position]):
    """The pages of GetRecords, with what helps when a server refuses, miscounts or repeats them."""

    cursor = Position
    subject = "the server"

    @cached_property
    def schema(self) -> str | None:
        """The name of the only schema that is wanted: the user's, or that of the datasets on disk."""
        own, held = self.spider.args["schema"], self.held_schema()
        if own and held and own != held:
            self.spider.logger.warning("This source's records are in %s; those in %s have other ids", held, own)
        return own or held

    def held_schema(self) -> str | None:
        """Return the schema of most of the source's datasets; ``None`` if there are none.

        A few may be in Dublin Core, where the server could not render them.
        """
        addresses = (one.metadata_url or "" for one in islice(self.spider.opened_index().documents.held(), _SOME))
        uris = Counter(filter(None, map(getrecords.schema_of, addresses)))
        known = [uri for uri, _ in uris.most_common() if schemas.is_known(uri)]
        return schemas.by_uri(known[0]).name if known else None

    def count_apart(self) -> int:
        """Return how many records describe services and other things, not data, and publish it."""
        count: int = self.spider.records.count("apart")
        if self.spider.crawler.stats:
            self.spider.crawler.stats.set_value("catalogue/not_datasets", count)
        return count

    # Requests

    def request(self, cursor: Position) -> Request:
        keywords = {"cursor": cursor.plain()}
        if not cursor.version:
            address = getrecords.capabilities_address(cursor.endpoint)
            return Request(address, self.parse_capabilities, errback=self.capabilities_failed, cb_kwargs=keywords)
        query = cursor.query(self.spider.limits.rows(cursor.rows, cursor.listed))
        is_post = cursor.method == "POST"
        is_retry = cursor.rows < min(cursor.most, ROWS) or cursor.holes
        request = Request(
            cursor.endpoint if is_post else getrecords.address(cursor.endpoint, query),
            self.parse_page,
            method=cursor.method,
            headers=_XML if is_post else {"Accept": _XML["Accept"]},
            body=getrecords.body(query) if is_post else b"",
            errback=self.page_failed,
            cb_kwargs=keywords,
            meta={"max_retry_times": 1} if is_retry else {},
        )
        if cursor.since or cursor.walk > 1:  # what is new can't come from a cache
            request.headers["Cache-Control"] = "no-cache"
        return request

    def parse_capabilities(self, response: Response, cursor: dict[str, Any]) -> Iterator[Request]:
        """Yield the request for the first page, by what the server says of itself, wherever it was found."""
        here = Position(**cursor)
        try:
            found = capabilities.read(xml_records.root(response))
        except AnswerError as error:
            found, reason = None, f": {error}"
        else:
            reason = "" if found else ": the answer is something else"
        if found:
            here = replace(here, endpoint=getrecords.endpoint(response.url))
        yield self.first(here, found, reason)

    def capabilities_failed(self, failure: Failure) -> Iterator[Request]:
        """Yield the request for the first page, unless the host does not answer."""
        request, error = failures.request(failure), failures.from_failure(failure)
        here = Position(**request.cb_kwargs["cursor"])
        if error.kind in ("http", "timeout", "truncated", "too_large"):
            yield self.first(here, None, f": {error}")
        else:
            yield from super().refused(request, here, error, failures.status(failure))

    def first(self, here: Position, found: capabilities.Capabilities | None, reason: str) -> Request:
        if found is None:
            self.spider.logger.info(
                "The capabilities of %s can't be read%s; asking all the same", here.endpoint, reason
            )
        return self.request(here.begun(found, self.schema))

    # Answers

    def read(self, response: Response, here: Position) -> Page[Position]:
        found = results(response, here.rows)
        check(here, found)
        for sentence in found.flaws:
            self.spider.failed("parse", AnswerError("repaired_text", sentence), response.request)
        read = (entry(element, response, here, self.spider) for element in found.elements)
        entries = [record for record in read if record]
        apart = self.count_apart() if len(entries) < len(found.elements) else here.apart
        kinds = [error.kind for _, error in self.repeats(entries)]
        versions = kinds.count("repeated_id")
        there = moves.behind(here, found, apart=apart, versions=versions, doubles=len(kinds) - versions)
        is_end = not (found.received or here.holes) or (there.is_beyond and not there.is_windowed)
        is_last = is_end and not there.is_back
        is_endless = there.walk > 1 and there.matched is None  # nothing would end a second walk
        following = None if (is_last and not there.holes) or is_endless else there
        return Page(entries, there.total, following=following, is_short=not found.received, answer=there)

    def repeats(self, entries: list[Entry]) -> list[tuple[Entry, AnswerError]]:
        """Return the records whose id a page has again, with what is wrong, each time that it has."""
        return [(first, repeated(title(first), title(again), self.subject)) for first, again in doubles(entries)]

    def items(self, response: Response, entry: Entry, allowed: int, *_: Any) -> Iterator[Dataset]:
        if isinstance(entry.record, dict):
            error = AnswerError(entry.record["kind"], entry.record["message"])
            self.spider.failed("parse", error, response.request, dataset_id=entry.id, missing=entry.id and "dataset")
            return
        item: Dataset = entry.record
        if self.spider.limits.resources:
            item.resources = item.resources[:allowed]
        item.retrieved = now()
        yield item

    # What follows a page

    def list_page(self, response: Response, here: Position, page: Page[Position]) -> Iterator[Any]:
        """List a page, unless its list has to be read in parts first."""
        there: Position = page.answer
        if here.start == 1 and not here.holes and there.is_windowed and (other := moves.parts(here)):
            if not here.ranges:
                self.spider.logger.info("The server gives only a part of a long list: trying ranges of dates")
            yield self.request(self.noted(here, other))
            return
        for first, error in self.repeats(page.entries):
            self.spider.failed("list", error, response.request, dataset_id=first.id)
        for position in there.unrendered:
            error = AnswerError("refused", f"the server can't render the record at position {position}")
            self.spider.failed("list", error, response.request)
        yield from super().list_page(response, here, page)

    def after(self, here: Position, page: Page[Position], taken: list[tuple[Entry, int]]) -> Position:
        there: Position = page.answer
        after = super().after(there, page, taken)
        is_moving = there.walk > 1 or there.holes or there.apart > here.apart
        is_cut = there.is_cut or (there.is_windowed and bool(there.ranges))
        return replace(after, stale=0 if is_moving else after.stale, is_cut=is_cut)

    def end(self, request: Request | None, after: Position, page: Page[Position]) -> Iterator[Any]:
        """Request the next range, or a second walk if records are missing; else judge the list."""
        if page.following is None and len(after.ranges) > 1:
            yield self.request(moves.next_range(after))
        elif page.following is None and moves.is_doubtful(after) and after.walk == 1 and not after.is_windowed:
            message = "%s says it has %s datasets and listed %d%s: listing again"
            changed = ", and the list changed meanwhile" if after.is_moved else ""
            self.spider.logger.info(message, after.endpoint, after.expected, after.listed, changed)
            yield self.request(moves.second(after))
        elif page.following is None and (left := after.left):
            self.spider.completeness.conclude(
                after.name, Ending(listed=after.listed, subject=self.subject, left=left), request
            )
        else:
            self.windows = WINDOWS if after.is_windowed and not after.ranges else ()
            yield from super().end(request, after, page)

    def complete(self, after: Position) -> Iterator[Any]:
        if after.apart:
            self.spider.logger.info(
                "%d records describe services or other things, not data: they are not kept", after.apart
            )
        yield from super().complete(after)

    # Refusals

    def page_failed(self, failure: Failure) -> Iterator[Any]:
        request = failures.request(failure)
        response = getattr(failure.value, "response", None)
        error = failures.from_failure(failure)
        error = (of_failure(response) if error.kind == "http" else None) or error
        yield from self.refused(request, Position(**request.cb_kwargs["cursor"]), error, failures.status(failure))

    def refused(self, request: Request | None, here: Position, error: AnswerError, status: int | None) -> Iterator[Any]:
        """Request what was refused another way; if nothing helps, end the list and report it.

        Where servers stop ("Result window is too large"), the list ends, too, but not as a whole one.
        """
        if here.is_windowed and (here.is_beyond or "window" in str(getattr(error, "about", ""))):
            yield from self.end(request, replace(here, is_cut=True), Page([], is_short=True, answer=here))
            return
        here = replace(here, rows=self.spider.limits.rows(here.rows, here.listed))
        if here.is_undated and here.start == 1 and not here.holes and error.kind not in FINAL:
            self.spider.logger.info("%s: %s; its records without a date can't be listed", here.endpoint, error)
            yield from self.end(request, replace(here, is_undated_left=True), Page([], is_short=True, answer=here))
            return
        there = another(here, error, status)
        if there is None:
            yield from super().refused(request, here, self.advised(here, error), status)
            return
        self.spider.logger.info("%s: %s; listing it another way", here.endpoint, error)
        if there.lost > here.lost:
            position = here.holes[0] if here.holes else here.start
            kind = error.kind if error.kind == "too_large" else "refused"
            lost = AnswerError(kind, f"the server can't give the record at position {position}: {error}")
            self.spider.failed("list", lost, request, http_status=status)
        yield self.request(self.noted(here, there))

    def noted(self, here: Position, there: Position) -> Position:
        """Return the next position; note it if everything is listed from there on, and not only what changed."""
        if here.since and not there.since:
            self.spider.logger.info("The server does not filter by date: everything is listed")
            self.spider.run_state.since = ""
        return there

    def advised(self, here: Position, error: AnswerError) -> AnswerError:
        """Return the error with advice, if the schema that the source has is no longer given."""
        if here.has_begun or not here.is_fixed or "schema" not in str(getattr(error, "about", "")):
            return error
        advice = "another schema changes the ids of all datasets: to take it, choose it with -a schema="
        return AnswerError(error.kind, f"{error}; this source's records are in {self.schema}, and {advice}")
