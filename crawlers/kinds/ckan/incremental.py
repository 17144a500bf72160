"""What has changed since the last complete crawl."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.dialect import Ask, Packages, by_offset
from crawlers.kinds.ckan.exports import LEVELS
from crawlers.kinds.ckan.questions import FEW, ById
from crawlers.listing.batches import SIZE, Batch
from crawlers.listing.evidence import less
from crawlers.listing.ladder import lapped
from crawlers.listing.since import LAST, OVERLAP, base
from crawlers.listing.walk import Walk, restored
from crawlers.records.moment import moment, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.kinds.ckan.dialect import PackageCrawl, Refusal
    from crawlers.kinds.ckan.withdrawals import Ghosts, Gone

_MILLISECOND = timedelta(milliseconds=1)


class Incremental(Packages):
    """The listing of what ``-a since=`` wants, by what earlier crawls stored.

    With ``-a since=last`` the portal lists ids and stamps, 1,000 per request. A dataset with another stamp than the
    record on disk has changed, whatever any clock says; `Changes` requests it. A portal that does not list stamps is
    asked for what it changed since a moment.

    Args:
        level: which exports each dataset has.
    """

    def __init__(self, crawl: PackageCrawl, level: str) -> None:
        super().__init__(crawl)
        self.level = level

    def first(self) -> Walk[Ask]:
        since = self.crawl.args["since"]
        if since != LAST:
            return self.walk(Ask(since=since or ""))
        return self.walk(Ask(fields="stamps") if base(self.crawl) else Ask())

    def check_ids(self, records: list[Any], walk: Walk[Ask]) -> None:
        super().check_ids(records, walk)
        if not walk.ask.instead_of:
            self.note_changes(records, walk)

    def otherwise(self, walk: Walk[Ask], fault: Refusal) -> Walk[Ask] | None:
        if walk.ask.instead_of:  # all records again, by offset
            short = restored(walk.ask.instead_of, Ask)
            return lapped(short, by_offset(short.ask))
        if walk.name != "stamps" or walk.pages:
            return None
        if fault.is_no_list and fault.is_whole:
            found = self.everything(walk.ask.variant, str(fault.error))
        elif fault.is_no_list or fault.is_spoken or fault.error.kind == "refused":
            found = self.window(walk.ask.variant, fault.date)
        else:
            return None
        walks, self.first_fault = self.crawl.run_state.walks, None
        walks.end(walk.name, "stopped")
        walks.begin(found.name)
        return found

    def everything(self, variant: int, reason: str) -> Walk[Ask]:
        """Return the walk of all records, which are listed for a reason."""
        self.crawl.logger.info("%s: everything is listed", reason)
        self.crawl.run_state.since = ""
        return self.walk(Ask(variant=variant))

    def note_changes(self, records: list[Any], walk: Walk[Ask]) -> None:
        """Remember which of a page's datasets have changed, or lack their document or an export."""
        if self.crawl.args["since"] != LAST:
            return
        ids = [name for name in map(api.identity, records) if name]
        lacking = self.crawl.opened_index().without_exports(ids, LEVELS[self.level])
        for record in records:
            identifier = api.identity(record)
            if not identifier or self.crawl.records.is_planned("dataset", identifier):
                continue
            if identifier in lacking or self.has_changed(identifier, record, walk):
                self.crawl.seen(identifier, list_name="changed", listed_by=walk.key)

    def has_changed(self, identifier: str, record: Any, walk: Walk[Ask]) -> bool:
        documents = self.crawl.opened_index().documents
        known = documents.get("dataset", identifier, None)
        if known is None or known.status == "withdrawn":
            return True
        return walk.ask.fields == "stamps" and not (
            is_same_stamp(known.metadata_modified, api.stamp(record)) and documents.is_intact(known)
        )

    def window(self, variant: int, date: str | None) -> Walk[Ask]:
        """Return the walk of what changed since the last complete crawl.

        Args:
            date: the portal's time, from its answer's ``Date`` header: its stamps are by that clock.
        """
        known = (moment(base(self.crawl)), moment(self.crawl.opened_index().documents.newest_stamp()))
        begun = written(min(found for found in known if found) - OVERLAP - _distance(date))
        message = "%s does not list stamps: requesting what changed since %s"
        self.crawl.logger.info(message, self.crawl.place, begun)
        return self.walk(Ask(variant=variant, since=begun))


class Changes(ById):
    """Requests the records of the datasets that `Incremental` noted as changed, many at a time.

    What the portal does not give, `Ghosts` asks for one by one; then `Gone` looks for what is no longer listed.
    """

    batch_list = "changed"

    def __init__(self, crawl: PackageCrawl, dialect: Incremental, ghosts: Ghosts, gone: Gone) -> None:
        super().__init__(crawl)
        self.dialect, self.ghosts, self.gone = dialect, ghosts, gone
        ghosts.then = self.end

    def begin(self, changed: int, walk: Walk[Ask]) -> Iterator[Any]:
        """Request the first of them.

        Args:
            changed: how many there are.
            walk: behind the list of ids.
        """
        listed = self.crawl.records.count("datasets")
        self.crawl.run_state.expected = listed + changed
        self.crawl.run_state.walks.begin(self.batch_list)
        about = {"variant": walk.ask.variant, "walk": walk.plain(), "listed": listed}
        yield from self.ask_batch(Batch(about=about, most=_size(walk), whole=_size(walk), least=FEW))

    def take(self, response: Response, records: dict[str, Any], batch: Batch) -> Iterator[Any]:
        self.crawl.run_state.count_listed(batch.about["listed"] + batch.count)
        return super().take(response, records, batch)

    def leave(self, ids: list[str]) -> None:
        self.ghosts.leave(ids)

    def batches_done(self, batch: Batch) -> Iterator[Any]:
        self.crawl.run_state.walks.end(self.batch_list, "stopped")
        walk, ghosts = restored(batch.about["walk"], Ask), self.ghosts
        left = self.crawl.records.count(ghosts.list_name)
        if walk.ask.fields == "stamps" and batch.is_unanswered and not batch.count and ghosts.is_too_much(left):
            reason = f"The portal answers no question about many datasets, and {left} have changed"
            yield from ghosts.lister.begin(self.dialect.everything(walk.ask.variant, reason))
        else:
            yield from ghosts.check({**batch.about, "count": batch.count})

    def end(self, about: dict[str, Any], given: int, absent: int) -> Iterator[Any]:
        """Count what came, and yield what looks for those that are gone.

        Args:
            given: how many of them the portal gave.
            absent: how many it does not have, as it says itself.
        """
        state, walk = self.crawl.run_state, restored(about["walk"], Ask)
        if absent:
            state.expected = about["listed"] + self.crawl.records.count(self.batch_list) - absent
            state.walks.end(walk.name, "whole", evidence=less(absent), total=walk.expected, listed=walk.listed)
        state.count_listed(about["listed"] + given)
        if not self.crawl.limits.is_set:
            yield from self.gone.find(walk)


def is_cheaper_whole(changed: int, walk: Walk[Ask]) -> bool:
    """Return whether listing everything takes fewer requests than what changed, 100 at a time."""
    return changed > _size(walk) * math.ceil(walk.listed / max(walk.largest, 1))


def _size(walk: Walk[Ask]) -> int:
    return min(SIZE, walk.largest or SIZE)


def is_same_stamp(stored: str | None, listed: str | None) -> bool:
    """Return whether two stamps are equal: CKAN's records have microseconds, its search index milliseconds and a Z.

    >>> is_same_stamp("2026-11-01T06:00:00.925376", "2026-11-01T06:00:00.925Z"), is_same_stamp(None, None)
    (True, False)
    """
    first, second = moment(stored), moment(listed)
    if first is None or second is None:
        return stored is not None and stored == listed
    return abs(first - second) < _MILLISECOND


def _distance(date: str | None) -> timedelta:
    """Return how far the portal's clock is from ours; none if it does not tell its time."""
    try:
        return abs(datetime.now(UTC) - parsedate_to_datetime(date or ""))
    except (ValueError, TypeError):
        return timedelta(0)
