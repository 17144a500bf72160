"""What has changed since the last crawl."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, ClassVar

from crawlers import failures
from crawlers.arguments import Argument
from crawlers.ckan import api
from crawlers.ckan.exports import LEVELS
from crawlers.ckan.listing import Cursor, Page, identity, is_same_stamp, stamp
from crawlers.ckan.recovery import Refusal
from crawlers.ckan.withdrawals import BATCH, CKANWithdrawals
from crawlers.exceptions import AnswerError
from crawlers.index.scope import listing, scope
from crawlers.moment import moment, now, seconds, written

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.ckan.lister import Found, Output

LAST = "last"
FULL_LISTING_DAYS = 7.0
OVERLAP = timedelta(hours=1)  # a portal's search index lags behind its database


def since(text: str) -> str:
    """Return ``last``, or a date, or a time in UTC.

    >>> since("2026-11-01")
    '2026-11-01T00:00:00Z'
    """
    if text == LAST:
        return text
    if re.fullmatch(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z?)?", text):
        try:
            return f"{datetime.fromisoformat(text.removesuffix('Z')).isoformat(timespec='seconds')}Z"
        except ValueError:
            pass
    raise ValueError("last, a date such as 2026-11-01, or a time in UTC such as 2026-11-01T06:00:00Z")


class CKANIncremental(CKANWithdrawals):
    """The part of `CKANSpider` that knows of earlier crawls.

    With ``-a since=last`` the portal lists ids and stamps, 1,000 a request. What has another stamp than the record on
    disk has changed, whatever any clock says, and is asked for 100 at a time. A portal that does not give stamps so is
    asked for what it changed since a moment.
    """

    arguments: ClassVar[dict[str, Argument]] = CKANWithdrawals.arguments | {
        "since": Argument(help="Only what changed since then: last (the last complete crawl), or a date.", parse=since),
    }

    level: str

    def beginning(self) -> Cursor:
        if self.args["since"] != LAST:
            return Cursor(rows=self.rows(), since=self.args["since"])
        if not self.base():
            return Cursor(rows=self.rows())
        return Cursor(rows=self.args["rows"], ids=True, stamps=True)

    # What since=last builds on

    def base(self) -> str:
        """Return when the crawl began that this one builds on; empty if everything is to be listed.

        It is fixed for a job, however often that is resumed.
        """
        known = self.crawler.stats.get_value("catalogue/since")
        if known is None:
            last = self.opened_index().last_complete(scope(self.name, self.given))
            reason = self.why_everything(last)
            known = "" if reason else str(last)
            self.logger.info("%s", f"{reason}: everything is listed" if reason else f"Only what changed since {known}")
            self.crawler.stats.set_value("catalogue/since", known)
        return str(known)

    def why_everything(self, last: str | None) -> str | None:
        """Return why the whole catalogue is listed; ``None`` if what changed is enough."""
        if last is None:
            return "There was no complete crawl of this before"
        if self.limited_by_user:
            return "since=last does not go with max_datasets or max_resources"
        days = self.crawler.settings.getfloat("FULL_LISTING_DAYS", FULL_LISTING_DAYS)
        whole = self.opened_index().last_complete(listing(scope(self.name, self.given)))
        if days <= 0 or _is_recent(whole, days):
            return None
        when = f"The last full listing was on {whole[:10]}" if whole else "There was no full listing before"
        return f"{when}, and FULL_LISTING_DAYS asks for one every {days:g} days"

    # The list of ids and stamps

    def list_page(self, response: Response, here: Cursor, page: Page) -> Output:
        if here.stamps and here.first and page.is_whole:
            self.list_ended("stamps")
            yield self.list_everything(here.way, "The portal gives whole records where ids are asked for")
        elif here.stamps and here.first and not page.has_stamps:
            yield self.list_request(self.window(api.date(response), here))
        else:
            if here.ids and self.args["since"] == LAST:
                self.note_changes(page, here, response.request)
            yield from super().list_page(response, here, page)

    def list_everything(self, way: int, reason: str) -> Request:
        self.logger.info("%s: everything is listed", reason)
        self.crawler.stats.set_value("catalogue/since", "")
        self.list_begun("datasets")
        return self.list_request(Cursor(rows=self.rows(), way=way))

    def note_changes(self, page: Page, here: Cursor, request: Request | None) -> None:
        """Remember which of a page's datasets have changed, or lack their document or an export."""
        lacking = self.opened_index().without_exports(page.ids(), LEVELS[self.level])
        for record in page.records:
            identifier = identity(record)
            if not identifier or self.records.is_planned("dataset", identifier):
                continue
            if identifier in lacking or self.has_changed(identifier, record, here):
                self.noticed(identifier, list_name="changed", by=request)

    def has_changed(self, identifier: str, record: Any, here: Cursor) -> bool:
        known = self.opened_index().get("dataset", identifier, None)
        if known is None or known.status == "withdrawn":
            return True
        if not here.stamps:
            return False
        return not (is_same_stamp(known.metadata_modified, stamp(record)) and self.opened_index().whole(known))

    # A portal that does not give stamps

    def otherwise(self, here: Cursor, refusal: Refusal) -> Cursor | None:
        if not (here.stamps and here.first and (refusal.spoken or refusal.error.kind == "refused")):
            return None
        self.first_refusal = None
        return self.window(refusal.date, here)

    def window(self, date: str | None, here: Cursor) -> Cursor:
        """Return where the list of what changed since the last complete crawl begins.

        Args:
            date: the portal's time, as its answer's ``Date`` header says it: its stamps are by that clock.
        """
        known = (moment(self.base()), moment(self.opened_index().newest_stamp()))
        begun = min(one for one in known if one) - OVERLAP - _distance(date)
        self.logger.info("%s does not list stamps: it is asked for what changed since %s", self.portal, written(begun))
        self.list_ended(here.name)
        self.list_begun("datasets")
        return Cursor(rows=self.rows(), way=here.way, since=written(begun))

    # What follows a complete list

    def sees_everything(self) -> bool:
        return not self.query.filtered and not self.limited_by_user

    async def list_complete(self, after: Cursor) -> AsyncIterator[Found]:
        if after.since and self.sees_everything():
            self.list_begun("ids")
            yield self.list_request(Cursor(rows=self.args["rows"], way=after.way, ids=True))
            return
        if not after.ids and not after.since and not self.limited_by_user:
            self.whole_listing()
        question = self.ask_about_token(after) if self.needs_asking() else None
        if question:
            yield question
            return
        async for found in self.follow(after):
            yield found

    async def follow(self, after: Cursor) -> AsyncIterator[Found]:
        changed = self.records.count("changed") if after.ids else 0
        if after.stamps and _is_cheaper_whole(changed, after):
            yield self.list_everything(after.way, f"{changed} of {after.listed} datasets have changed")
            return
        if changed or after.stamps:
            for request in self.begin_changed(changed, after):
                yield request
        if self.sees_everything():
            async for found in self.withdrawals(after):
                yield found

    # What changed

    def begin_changed(self, changed: int, after: Cursor) -> Iterator[Request]:
        listed = self.records.count("datasets")
        self.expected(listed + changed)
        self.list_begun("changed")
        yield from self.ask_for_changed("", listed, _size(after), after.way)

    def ask_for_changed(self, last: str, listed: int, size: int, way: int) -> Iterator[Request]:
        """Ask for the next of those that have changed.

        Args:
            last: the id behind which they begin.
            listed: how many have been listed before.
            size: how many to ask for at once.
        """
        ids = self.records.behind(last, "changed", size)
        if not ids:
            self.list_ended("changed")
            return
        keywords = {"ids": ids, "listed": listed + len(ids), "size": size, "way": way}
        yield self.ask_among(ids, way, self.parse_changed, self.changed_failed, keywords)

    def parse_changed(self, response: Response, ids: list[str], listed: int, size: int, way: int) -> Output:
        try:
            found = {identity(record): record for record in Page.read(response).records}
        except AnswerError as error:
            yield from self.ask_for_each(Refusal.of_answer(error, response), response.request, response.cb_kwargs)
            return
        yield from self.ask_for_changed(ids[-1], listed, size, way)
        self.listed(listed)
        for position, identifier in enumerate(ids):
            if identifier in found:
                yield from self.take_record(response, found[identifier], way, position)
            else:
                yield self.show(identifier, way, self.parse_shown, self.shown_failed)

    def changed_failed(self, failure: Failure) -> Output:
        request = failures.request(failure)
        yield from self.ask_for_each(Refusal.of_failure(failure), request, request.cb_kwargs)

    def ask_for_each(self, refusal: Refusal, request: Request | None, asked: dict[str, Any]) -> Output:
        """Ask for each dataset of a batch that could not be had; not if the portal blocks all.

        Args:
            asked: what the question about the batch carried.
        """
        if refusal.error.kind == "blocked":
            self.list_ended("changed")
            self.failed("list", refusal.error, request, http_status=refusal.status)
            return
        self.logger.info("%s: %s; asking for each of %d datasets", self.portal, refusal.error, len(asked["ids"]))
        yield from self.ask_for_changed(asked["ids"][-1], asked["listed"], asked["size"], asked["way"])
        self.listed(asked["listed"])
        for identifier in asked["ids"]:
            yield self.show(identifier, asked["way"], self.parse_shown, self.shown_failed)

    def parse_shown(self, response: Response, dataset_id: str, way: int) -> Output:
        try:
            record = api.given(response)
        except AnswerError as error:
            self.not_had(dataset_id, Refusal.of_answer(error, response), response.request)
            return
        if identity(record) != dataset_id:
            other = AnswerError("refused", f"the portal gave {str(identity(record))[:100]!r} instead of the dataset")
            self.not_had(dataset_id, Refusal.of_answer(other, response), response.request)
            return
        yield from self.take_record(response, record, way, 0)

    def shown_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        self.not_had(request.cb_kwargs["dataset_id"], Refusal.of_failure(failure), request)

    def not_had(self, dataset_id: str, refusal: Refusal, request: Request | None) -> None:
        subject = {"http_status": refusal.status, "dataset_id": dataset_id, "missing": "dataset"}
        self.failed("fetch", refusal.error, request, **subject)


def _size(after: Cursor) -> int:
    return min(BATCH, after.largest or BATCH)


def _is_cheaper_whole(changed: int, after: Cursor) -> bool:
    """Return whether all pages of the catalogue are fewer requests than what changed, 100 at a time."""
    return changed > _size(after) * math.ceil(after.listed / max(after.largest, 1))


def _is_recent(begun: str | None, days: float) -> bool:
    """Return whether a moment is no further back; one that is yet to come was told by a clock that was wrong."""
    age = seconds(begun, now())
    return age is not None and 0 <= age <= days * 86_400


def _distance(date: str | None) -> timedelta:
    """Return how far the portal's clock is from ours; none where it does not say."""
    try:
        return abs(datetime.now(UTC) - parsedate_to_datetime(date or ""))
    except (ValueError, TypeError):
        return timedelta(0)
