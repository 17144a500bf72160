"""What has changed since the last complete crawl."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.cursor import Cursor, Page, identity, is_same_stamp, stamp
from crawlers.kinds.ckan.exports import LEVELS
from crawlers.kinds.ckan.questions import BATCH, Batches, begun
from crawlers.kinds.ckan.recovery import Refusal
from crawlers.listing.completeness import less
from crawlers.listing.since import LAST, OVERLAP, base
from crawlers.values.moment import moment, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.http import Response

    from crawlers.kinds.ckan.api import API
    from crawlers.kinds.ckan.listing import CKANListing, Output, Take
    from crawlers.kinds.ckan.withdrawals import Ghosts, Gone
    from crawlers.listing.completeness import Completeness
    from crawlers.listing.crawl import Crawl


class Incremental:
    """Decides what ``-a since=`` lists, by what earlier crawls stored.

    With ``-a since=last`` the portal lists ids and stamps, 1,000 per request. A dataset with another stamp than the
    record on disk has changed, whatever any clock says; `Changes` requests it. A portal that does not list stamps is
    asked for what it changed since a moment.

    Args:
        level: which exports each dataset has.
    """

    def __init__(self, crawl: Crawl, portal: str, level: str, listing: CKANListing) -> None:
        self.crawl = crawl
        self.portal = portal
        self.level = level
        self.listing = listing

    def beginning(self) -> Cursor:
        """Return where the listing begins."""
        rows, since = self.listing.rows(), self.crawl.args["since"]
        if since != LAST:
            return Cursor(rows=rows, since=since)
        return Cursor(rows=self.crawl.args["rows"], ids=True, stamps=True) if base(self.crawl) else Cursor(rows=rows)

    def instead(self, response: Response, here: Cursor, page: Page) -> Request | None:
        """Note what a page of ids says has changed; return the request for another list if the page can't say it."""
        if here.stamps and here.first and page.is_whole:
            self.listing.completeness.end("stamps")
            return self.list_everything(here.variant, "The portal gives whole records where ids are requested")
        if here.stamps and here.first and not page.has_stamps:
            return self.listing.request(self.window(api.date(response), here))
        if here.ids and self.crawl.args["since"] == LAST:
            self.note_changes(page, here, response.request)
        return None

    def list_everything(self, variant: int, reason: str) -> Request:
        self.crawl.logger.info("%s: everything is listed", reason)
        self.crawl.run_state.since = ""
        return self.listing.begin(Cursor(rows=self.listing.rows(), variant=variant))

    def note_changes(self, page: Page, here: Cursor, request: Request | None) -> None:
        """Remember which of a page's datasets have changed, or lack their document or an export."""
        lacking = self.crawl.opened_index().without_exports(page.ids(), LEVELS[self.level])
        for record in page.records:
            identifier = identity(record)
            if not identifier or self.crawl.records.is_planned("dataset", identifier):
                continue
            if identifier in lacking or self.has_changed(identifier, record, here):
                self.crawl.seen(identifier, list_name="changed", listed_by=request)

    def has_changed(self, identifier: str, record: Any, here: Cursor) -> bool:
        documents = self.crawl.opened_index().documents
        known = documents.get("dataset", identifier, None)
        if known is None or known.status == "withdrawn":
            return True
        return here.stamps and not (
            is_same_stamp(known.metadata_modified, stamp(record)) and documents.is_intact(known)
        )

    def otherwise(self, here: Cursor, refusal: Refusal) -> Cursor | None:
        """Return where the list begins that stands in for a list of stamps that the portal refuses."""
        if not (here.stamps and here.first and (refusal.spoken or refusal.error.kind == "refused")):
            return None
        self.listing.first_refusal = None
        return self.window(refusal.date, here)

    def window(self, date: str | None, here: Cursor) -> Cursor:
        """Return where the list of what changed since the last complete crawl begins.

        Args:
            date: the portal's time, from its answer's ``Date`` header: its stamps are by that clock.
        """
        known = (moment(base(self.crawl)), moment(self.crawl.opened_index().documents.newest_stamp()))
        begun = written(min(found for found in known if found) - OVERLAP - _distance(date))
        message = "%s does not list stamps: requesting what changed since %s"
        self.crawl.logger.info(message, self.portal, begun)
        self.listing.completeness.end(here.name)
        self.listing.completeness.begin("datasets")
        return Cursor(rows=self.listing.rows(), variant=here.variant, since=begun)


class Changes(Batches):
    """Requests the records of the datasets that `Incremental` noted as changed, many at a time.

    What the portal does not give, `Ghosts` asks for one by one; then `Gone` looks for what is no longer listed.
    """

    batch_list = "changed"

    def __init__(
        self,
        crawl: Crawl,
        portal_api: API,
        take: Take,
        completeness: Completeness,
        *,
        incremental: Incremental,
        ghosts: Ghosts,
        gone: Gone,
    ) -> None:
        super().__init__(crawl, portal_api, take, completeness)
        self.incremental = incremental
        self.ghosts = ghosts
        self.gone = gone

    def begin(self, changed: int, after: Cursor) -> Iterator[Any]:
        """Request the first of them.

        Args:
            changed: how many there are.
            after: the cursor behind the list of ids.
        """
        listed = self.crawl.records.count("datasets")
        self.crawl.run_state.expected = listed + changed
        self.completeness.begin("changed")
        about = {"variant": after.variant, "cursor": after.plain(), "listed": listed}
        yield from self.ask_batch(begun(about, _size(after)))

    def take(self, response: Response, records: dict[str, Any], asked: dict[str, Any]) -> Output:
        self.crawl.run_state.count_listed(asked["about"]["listed"] + asked["count"])
        return super().take(response, records, asked)

    def leave(self, ids: list[str]) -> None:
        self.ghosts.leave(ids)

    def batches_done(self, asked: dict[str, Any]) -> Iterator[Any]:
        self.completeness.end("changed")
        after, ghosts = Cursor(**asked["about"]["cursor"]), self.ghosts
        left = self.crawl.records.count(ghosts.list_name)
        if after.stamps and asked["is_unanswered"] and not asked["count"] and ghosts.is_too_much(left):
            reason = f"The portal answers no question about many datasets, and {left} have changed"
            yield self.incremental.list_everything(after.variant, reason)
        else:
            yield from ghosts.check({**asked["about"], "count": asked["count"]})

    def end(self, about: dict[str, Any], given: int, absent: int) -> Iterator[Any]:
        """Count what came, and yield what looks for those that are gone.

        Args:
            given: how many of them the portal gave.
            absent: how many it does not have, as it says itself.
        """
        state, after = self.crawl.run_state, Cursor(**about["cursor"])
        if absent:
            state.expected = about["listed"] + self.crawl.records.count("changed") - absent
            state.note("evidence", after.name, less(absent))
        state.count_listed(about["listed"] + given)
        if not self.crawl.limits.is_set:
            yield self.gone.find(after)


def is_cheaper_whole(changed: int, after: Cursor) -> bool:
    """Return whether listing everything takes fewer requests than what changed, 100 at a time."""
    return changed > _size(after) * math.ceil(after.listed / max(after.largest, 1))


def _size(after: Cursor) -> int:
    return min(BATCH, after.largest or BATCH)


def _distance(date: str | None) -> timedelta:
    """Return how far the portal's clock is from ours; none if it does not tell its time."""
    try:
        return abs(datetime.now(UTC) - parsedate_to_datetime(date or ""))
    except (ValueError, TypeError):
        return timedelta(0)
