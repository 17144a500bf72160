"""Where the listing of an API stands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from crawlers.listing.paging import PATIENCE, Cursor


@dataclass(frozen=True, slots=True, kw_only=True)
class Position(Cursor):
    """Where a listing stands: in which walk through it, and where in that.

    Args:
        walk: which records this walk lists: ``all``, ``window`` (those from `bound` on), ``rest`` (those without the
            stamp that `bound` is of), or ``recent`` (those that changed since the crawl began).
        round: the number of the walk: two walks may request the same page.
        is_second: whether all is listed a second time.
        received: how many records of this walk have come, skipped ones included: where its next page begins.
        at: what the next page is asked by: an offset, a page's number, a link, a token, the last id, sort values.
        size: how many records are requested; ``None`` for as many as declared.
        digest: of the ids of the page before this one.
        counted: how many records the catalogue says it has.
        total: how many records this walk has, as its pages say.
        passed: how many records are not datasets.
        lost: how many records were skipped because the server can't give them.
        skipped: how many of those came in a row.
        tries: how often this page was requested before, without success.
        bound: the stamp from which this walk lists.
        seen: the last stamp that came.
        order: 1 if the stamps ascend, -1 if they descend, 0 if that is not known yet.
        is_shuffled: whether the stamps do both.
        is_undated: whether a record had no stamp.
        renewed: how many datasets were listed when the walk was begun again because a token was no longer accepted.
        has_changed: whether the catalogue's total changed while it was listed.
        has_shrunk: whether it became smaller.
        shift: -1 if a page began behind the record that should be its first: records moved up, past the walk; 1 if
            they only moved down.
        last: what the last record of the page before this one is known by, which is requested again.
        seen_at: what the record with the last stamp is known by.
        awaited: the record that `bound` is of, until this walk has listed it.
        odd: a stamp that can't be sent back as a condition.
        patience: how many pages in a row may have nothing new.
        begun: when the listing began.
        fault: what shows that a walk before this one was not whole.
        xsrf: the token that the portal wants to get back with each POST.
    """

    walk: str = "all"
    round: int = 0
    is_second: bool = False
    received: int = 0
    at: Any = None
    size: int | None = None
    digest: str = ""
    counted: int | None = None
    total: int | None = None
    passed: int = 0
    lost: int = 0
    skipped: int = 0
    tries: int = 0
    bound: Any = None
    seen: Any = None
    order: int = 0
    is_shuffled: bool = False
    is_undated: bool = False
    renewed: int | None = None
    has_changed: bool = False
    has_shrunk: bool = False
    shift: int = 0
    last: str = ""
    seen_at: str = ""
    awaited: str = ""
    odd: str = ""
    patience: int = 1
    begun: str = ""
    fault: str = ""
    xsrf: str = ""

    def rewound(self, walk: str, **changes: Any) -> Position:
        """Return the beginning of another walk; what is known of the catalogue stays.

        Args:
            changes: fields of the position.
        """
        beginning: dict[str, Any] = {"last": "", "awaited": "", "patience": self.pages + PATIENCE}
        beginning |= {"received": 0, "at": None, "size": None, "digest": "", "total": None, "skipped": 0, "tries": 0}
        return replace(self, walk=walk, round=self.round + 1, stale=0, **beginning | changes)

    def second(self) -> Position:
        """Return the beginning of a second walk through everything."""
        return self.rewound("all", is_second=True, bound=None, seen=None, order=0, is_shuffled=False)

    def behind(self) -> Position:
        """Return the beginning of a walk behind the window, which is to begin with the last record that came."""
        return self.rewound("window", bound=self.seen, awaited=self.seen_at, order=0, is_shuffled=False)
