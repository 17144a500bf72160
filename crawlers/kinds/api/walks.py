"""The walks through a listing: behind its window, to records without a stamp, to what changed meanwhile; its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError
from crawlers.kinds.api import paging
from crawlers.listing.completeness import Ending
from crawlers.values.moment import moment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from crawlers.kinds.api.declaration import Listing, Paging, Restart
    from crawlers.kinds.api.page import Found
    from crawlers.kinds.api.position import Position
    from crawlers.kinds.api.query import Query
    from crawlers.listing.paging import Entry, Page

_ROUND = 1000
"""A total that is a multiple of this may be the end of what a search server counts."""
_LONGEST = 100
"""Characters of a stamp."""
_QUOTES = "'\"\\`"


class Walks:
    """Decides whether a walk has ended, which walk follows, and whether all of them together were the whole catalogue.

    A server that gives no more than its window is asked for the records from the last stamp on, inclusive: known ones
    are dropped. Records without a stamp are a walk of their own. Where the newest come first, a record that is changed
    during the walk is moved to the pages that were read already, so what changed meanwhile is requested at the end.

    Args:
        since: returns the moment after which changes are requested; empty if everything is listed.
    """

    def __init__(self, query: Query, windows: Collection[int], since: Callable[[], str], subject: str) -> None:
        self.query, self.windows, self.since, self.subject = query, windows, since, subject
        self.declared = query.listing

    @property
    def restart(self) -> Restart | None:
        """How a walk is begun behind the window."""
        window = self.declared.window
        return window.restart if window else None

    # Where a walk stands

    def stamped(self, after: Position, found: Found) -> Position:
        """Return the position with the last stamp of a page, and whether the stamps are in an order."""
        seen, order, is_shuffled, stamps = after.seen, after.order, after.is_shuffled, found.stamps
        for stamp in filter(_is_stamp, stamps):
            step = 0 if seen is None else _compared(seen, stamp)
            is_shuffled = is_shuffled or (step * order < 0 and after.walk in ("all", "window"))
            seen, order = stamp, order or step
        is_undated = after.is_undated or not all(map(_is_stamp, stamps))
        odd = after.odd or next((str(each)[:_LONGEST] for each in stamps if each and not _is_stamp(each)), "")
        after = replace(after, order=order, is_shuffled=is_shuffled, is_undated=is_undated, odd=odd)
        name = self.restart.seen.text if self.restart else ""
        return _awaited(replace(after, seen=seen, seen_at=found.seen_at or after.seen_at), found, name)

    def is_trusted(self, total: int | None) -> bool:
        """Return whether a total is the number of records, and not that of a window."""
        return total is not None and total not in self.windows

    def is_met(self, after: Position) -> bool:
        """Return whether as many datasets were listed as the catalogue says it has."""
        return self.is_trusted(after.counted) and after.listed >= (after.expected or 0)

    def is_reached(self, after: Position, page: Page[Position]) -> bool:
        """Return whether a walk has come to its total, so that no page behind it is requested.

        A page that is offered is followed whatever the total says. A full page makes doubtful
        a total of whole thousands, and a short one a total that may be that of the page.
        """
        if not self.is_trusted(after.total):
            return False
        total, declared = after.total or 0, self.declared
        if after.at is not None and paging.has_way_on(declared):
            return False
        if paging.has_fixed_places(declared):
            return after.received >= total and page.is_short and not after.has_changed
        if total > 0 and total % _ROUND == 0 and not page.is_short:
            return False
        return after.received == total and not _is_doubtful(after, page, self.since())

    def is_at_window(self, after: Position) -> bool:
        """Return whether the next page would end at the window, or behind it."""
        window = self.declared.window
        if window is None:
            return False
        margin = (self.query.size(after) or 0) if self.restart and after.seen is not None else 0
        return after.received + margin >= window.max

    # The walk that follows

    def settled(self, after: Position, page: Page[Position]) -> Position:
        """Return the position at the end of a walk, with what shows that the walk was not whole."""
        is_partial = after.walk != "all" and not self.is_at_window(after)
        if is_partial and self.is_trusted(after.total) and after.received < (after.total or 0):
            fault = f"{after.received} of {after.total} records came {_WALKS[after.walk]}: {_reason(after, page)}"
            return replace(after, fault=after.fault or fault)
        return after

    def following(self, after: Position, page: Page[Position]) -> Position | None:
        """Return the beginning of the walk behind the one that has ended; ``None`` if that was the last.

        Raises:
            AnswerError: there are records behind the window that can't be listed.
        """
        if after.walk != "recent" and self.is_at_window(after) and not self.is_reached(after, page):
            return self.behind_window(after)
        if after.walk == "window" and self.restart and self.restart.rest:
            return after.rewound("rest")
        if after.walk == "recent":
            return None
        if self.has_shifted(after):
            return after.second()
        if self.may_have_moved(after):
            return after.rewound("recent")
        return after.second() if self.may_have_shifted(after) else None

    def behind_window(self, after: Position) -> Position | None:
        """
        Raises:
            AnswerError: there is no way behind the window.
        """
        window = self.declared.window
        most = window.max if window else 0
        if self.restart is None or after.walk == "rest":
            return None
        reason = ""
        if after.seen is None and after.odd:
            reason = f"{self.restart.seen.text} can't be sent back as a condition: {after.odd!r}"
        elif after.seen is None:
            reason = f"no record has what it could go on from ({self.restart.seen.text})"
        elif after.is_shuffled:
            reason = f"the records are not sorted by {self.restart.seen.text}"
        elif after.walk == "window" and after.seen == after.bound:
            reason = f"more records than that have the same {self.restart.seen.text}, {after.seen!r}"
        if reason:
            listed = f"{after.listed} of {after.expected} datasets were listed"
            raise AnswerError("paging", f"the portal gives no more than {most} records, and {reason}: {listed}")
        return after.behind()

    def may_have_moved(self, after: Position) -> bool:
        """Return whether records may have moved to pages that were read already, because they were changed."""
        is_newest_first = after.order < 0 and bool(self.declared.since)
        return is_newest_first and after.pages > 1 and (after.has_changed or not self.is_met(after))

    def has_shifted(self, after: Position) -> bool:
        """Return whether records have moved up, past the walk: the total shrank, or a page did not begin as it should.

        A total that grew is no such sign where the newest come first: those that were added are requested at the end.
        """
        if after.walk == "recent" or after.is_second or after.lost or after.pages < 2:
            return False
        if after.shift < 0:
            return True
        if paging.has_fixed_places(self.declared):
            return False
        is_newest_first = after.order < 0 and bool(self.declared.since)
        is_seen = is_newest_first or self.declared.paging.kind == "offset"
        return after.has_shrunk or (after.has_changed and not is_seen)

    def may_have_shifted(self, after: Position) -> bool:
        """Return whether records may have moved from page to page: as many came as there are, some of them twice."""
        is_plain = after.walk == "all" and after.pages > 1 and not (after.is_second or after.lost)
        if not is_plain or self.is_met(after):
            return False
        if not self.is_trusted(after.counted):
            return after.shift > 0
        return after.has_changed or after.received >= (after.counted or 0)

    # The end

    def ending(self, after: Position, page: Page[Position], left: str) -> Ending:
        """Return how the listing ended.

        Args:
            left: what the last page offers and can't be followed.

        Raises:
            AnswerError: its signs contradict each other.
        """
        is_at_least = after.counted is not None and not self.is_trusted(after.counted)
        total, subject = after.expected, self.subject
        if not self.is_met(after) and after.fault:
            raise AnswerError("count_mismatch", after.fault)
        may_differ = is_at_least or after.has_changed or after.shift or after.walk == "recent"
        if total is not None and after.listed > total and not may_differ:
            raise AnswerError("count_mismatch", f"{subject} says it has {total} datasets, and listed {after.listed}")
        if not self.is_trusted(after.counted) and _has_unlisted(after, self.restart):
            stamp = self.restart.seen.text if self.restart else "a stamp"
            left = f"records without {stamp} can't be listed behind the window"
        is_behind = is_at_least and after.bound is not None  # each walk behind the window came to its own end
        return Ending(
            listed=after.listed,
            subject=subject,
            total=None if is_behind else total,
            is_at_least=is_at_least,
            is_one_file=after.pages == 1 and _is_whole(page, self.declared.paging),
            has_pager_ended=after.pages > 1,
            is_last_page_short=page.is_short,
            left=left,
        )


_WALKS = {
    "window": "behind the window",
    "rest": "that have no date",
    "recent": "that were changed meanwhile",
}


def shifted(here: Position, page: Page[Position], taken: list[tuple[Entry, int]], listing: Listing) -> int:
    """Return where records have moved to, as the record shows that was requested again."""
    found: Found = page.answer
    is_repeating = paging.is_repeating(here, listing)
    if not is_repeating or not here.last or found.first == here.last or here.shift < 0:
        return here.shift
    known = {entry.id for entry in page.entries} - {entry.id for entry, _ in taken}
    return 1 if found.first in known else -1


def _awaited(after: Position, found: Found, stamp: str) -> Position:
    """Return the position with what shows that a walk does not begin with the record it is to go on from."""
    if not after.awaited or found.has_awaited:
        return replace(after, awaited="")
    if found.stamps and all(each == after.bound for each in found.stamps):
        return after
    fault = (
        f"the walk behind the window from {after.bound!r} on lacks the record it goes on from, {after.awaited}: "
        f"others of the same {stamp} may be lacking"
    )
    return replace(after, awaited="", fault=after.fault or fault)


def _is_doubtful(after: Position, page: Page[Position], since: str) -> bool:
    """Return whether the total may be that of the page: it is the same, and the page is shorter than requested."""
    is_first = after.pages == 1 and after.walk == "all" and not since
    return is_first and page.is_short and page.answer.count > 0 and after.at is not None


def _is_whole(page: Page[Position], declared: Paging) -> bool:
    """Return whether a single page shows that none follows: a full one may be all that the server gives."""
    return declared.kind == "none" or declared.more is not None or page.is_short


def _has_unlisted(after: Position, restart: Restart | None) -> bool:
    """Return whether records without a stamp may be behind the window, and can't be requested there."""
    if after.bound is None or restart is None:
        return False
    return restart.rest is None or (after.is_undated and restart.rest is False)


def _reason(after: Position, page: Page[Position]) -> str:
    """Return which sign of an end came before the total was reached."""
    if after.lost:
        return f"{after.lost} were skipped"
    if after.round:
        return "listing it again found no others"
    if after.received >= (after.counted or 0):
        return "some of its records came twice, others never"
    if page.answer.count == 0:
        return f"the page behind {after.received} records is empty"
    return "no page follows" if after.at is None else "it gives no more"


def _is_stamp(value: Any) -> bool:
    """Return whether a value can be sent back as a condition without a meaning of its own."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return False
    text = str(value)
    return 0 < len(text) <= _LONGEST and text.isprintable() and not any(quote in text for quote in _QUOTES)


def _compared(before: Any, now: Any) -> int:
    """Return 1 if the second stamp is greater, -1 if it is smaller, 0 if neither or that can't be known.

    >>> _compared(3, 4), _compared("2026-01-02T00:00:00Z", "2026-01-01T23:00:00+00:00"), _compared("b", "b")
    (1, -1, 0)
    >>> _compared(1, "b")
    0
    """
    if type(before) is not type(now):
        return 0
    first, second = (moment(each) or each for each in (before, now))
    if type(first) is not type(second):
        return 0
    return (first < second) - (first > second)
