"""What is tried when a page does not come: the rungs of a ladder, taken from the top.

A rung counts until there is progress, not until an answer comes: a page that always breaks at its first record would be
asked for without end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crawlers.listing.dialect import LASTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlers.listing.dialect import Dialect, Fault
    from crawlers.listing.walk import Walk


def climbed(walk: Walk[Any], fault: Fault, dialect: Dialect[Any]) -> Walk[Any] | None:
    """Return the walk that is tried instead of a page that did not come; ``None`` if nothing is left to try."""
    if fault.is_of_host:
        return None
    for rung in dialect.ladder:
        if walk.tried.count(rung.name) < rung.most and (there := rung.instead(walk, fault, dialect)) is not None:
            return replace(there, tried=(*there.tried, rung.name))
    return None


def matches(when: Any, fault: Fault) -> bool:
    """Return whether a rung is for a fault.

    Args:
        when: the kinds of errors, or what says so of a fault; empty for each.
    """
    if callable(when):
        return bool(when(fault))
    return not when or fault.error.kind in when


@dataclass(frozen=True, slots=True)
class Again:
    """The same page once more: an answer that came broken was not repeated as one that failed is.

    Args:
        when: what it helps against: error kinds, or what says so of a fault; any by default.
    """

    most: int = 1
    name: str = "again"
    when: Any = ()

    def instead(self, walk: Walk[Any], fault: Fault, dialect: Dialect[Any]) -> Walk[Any] | None:
        is_retried = fault.error.kind in ("http", "timeout", "connection", "too_large")
        return None if fault.is_of_question or is_retried or not matches(self.when, fault) else walk


@dataclass(frozen=True, slots=True)
class Other:
    """Another value of one field of `Walk.ask`, the next of those that may be taken.

    Args:
        field: its name.
        values: those that are tried, in their order; or what returns them for a walk.
        is_for_first_only: whether it may be taken only before a page came.
        when: what it helps against: error kinds, or what says so of a fault; any by default.
    """

    field: str
    values: Any
    is_for_first_only: bool = False
    when: Any = ()
    most: int = 20

    @property
    def name(self) -> str:
        return self.field

    def instead(self, walk: Walk[Any], fault: Fault, dialect: Dialect[Any]) -> Walk[Any] | None:
        if (self.is_for_first_only and walk.pages) or not matches(self.when, fault):
            return None
        values: Sequence[Any] = self.values(walk) if callable(self.values) else self.values
        now = getattr(walk.ask, self.field)
        behind = values[values.index(now) + 1 :] if now in values else values
        return replace(walk, ask=replace(walk.ask, **{self.field: behind[0]})) if behind else None


@dataclass(frozen=True, slots=True)
class Smaller:
    """A smaller page; later ones grow again, unless they are too large or take too long."""

    sizes: tuple[int, ...] = (100, 25, 5, 1)
    most: int = 20
    name: str = "smaller"

    def instead(self, walk: Walk[Any], fault: Fault, dialect: Dialect[Any]) -> Walk[Any] | None:
        rows = next((size for size in self.sizes if walk.rows is not None and size < walk.rows), None)
        if rows is None or fault.is_of_question:
            return None
        return replace(walk, rows=rows, most=rows if fault.error.kind in LASTING else walk.most)


@dataclass(frozen=True, slots=True)
class Skip:
    """Behind the single record that breaks its page, which is reported as lost."""

    most: int = 3
    name: str = "skip"

    def instead(self, walk: Walk[Any], fault: Fault, dialect: Dialect[Any]) -> Walk[Any] | None:
        ask = dialect.place(walk, 1) if walk.rows == 1 and not fault.is_of_question else None
        if ask is None:
            return None
        most = dialect.first().most  # the record broke its page, not the size
        return replace(walk, ask=ask, came=walk.came + 1, lost=walk.lost + 1, skipped=walk.skipped + 1, most=most)


@dataclass(frozen=True, slots=True)
class Renew:
    """The list from its beginning: a token or a session may have expired. What is known is not taken again."""

    most: int = 1
    name: str = "renew"
    when: Any = ()

    def instead(self, walk: Walk[Any], fault: Fault, dialect: Dialect[Any]) -> Walk[Any] | None:
        ask = dialect.renewed(walk) if walk.came and matches(self.when, fault) else None
        return None if ask is None else begun(walk, ask, reached=walk.reached)


@dataclass(frozen=True, slots=True)
class Halve:
    """Half of the range that does not come, or the list in ranges."""

    most: int = 500
    name: str = "halve"
    when: Any = ()

    def instead(self, walk: Walk[Any], fault: Fault, dialect: Dialect[Any]) -> Walk[Any] | None:
        return split(walk, dialect) if matches(self.when, fault) else None


@dataclass(frozen=True, slots=True)
class Onward:
    """The ranges behind one that does not come, which is reported: the list is not whole."""

    most: int = 500
    name: str = "onward"
    when: Any = ()

    def instead(self, walk: Walk[Any], fault: Fault, dialect: Dialect[Any]) -> Walk[Any] | None:
        behind = next_part(walk, dialect) if matches(self.when, fault) else None
        return None if behind is None else replace(behind, gaps=walk.gaps + 1)


@dataclass(frozen=True, slots=True)
class Instead:
    """What only one kind knows: a method of its dialect returns the walk, for a walk and a fault.

    Args:
        name: the method's.
    """

    name: str
    most: int = 1

    def instead(self, walk: Walk[Any], fault: Fault, dialect: Dialect[Any]) -> Walk[Any] | None:
        there: Walk[Any] | None = getattr(dialect, self.name)(walk, fault)
        return there


SPLITS = 500
"""How often ranges are split in all: a server may say of each that it is too long."""


def begun(walk: Walk[Any], ask: Any, **changes: Any) -> Walk[Any]:
    """Return the beginning of a list, a lap or a part; what is known of the whole catalogue stays.

    Args:
        changes: fields of the walk.
    """
    fresh: dict[str, Any] = {"turned": 0, "came": 0, "reached": 0, "total": None, "counted": None}
    fresh |= {"first": "", "digest": "", "stale": 0}
    return replace(walk, ask=ask, **fresh | changes)


def lapped(walk: Walk[Any], ask: Any) -> Walk[Any]:
    """Return the beginning of a further look at a list."""
    first: dict[str, Any] = dict.fromkeys(("before", "doubles", "splits", "lost"), 0)
    first |= {"parts": (), "left": "", "stated": None, "has_moved": False, "has_shrunk": False}
    return begun(walk, ask, lap=walk.lap + 1, **first)


def split(walk: Walk[Any], dialect: Dialect[Any], *, is_last: bool = False) -> Walk[Any] | None:
    """Return the first part of a list that is too long, or of a range of it; ``None`` if it can't be split.

    Args:
        is_last: whether the other parts come first: where one does not come, they show whether the host is there.
    """
    if walk.splits >= SPLITS:
        return None
    ranges, others = dialect.split(walk), walk.parts[1:]
    parts = (*others, *ranges) if is_last else (*ranges, *others)
    ask = dialect.ranged(walk, parts[0]) if ranges else None
    if ask is None:
        return None
    stated = walk.stated if walk.parts else walk.total
    return begun(walk, ask, parts=parts, splits=walk.splits + 1, stated=stated)


def next_part(walk: Walk[Any], dialect: Dialect[Any]) -> Walk[Any] | None:
    """Return the beginning of the next range; ``None`` if the present one is the last."""
    ask = dialect.ranged(walk, walk.parts[1]) if len(walk.parts) > 1 else None
    if ask is None:
        return None
    count = walk.came if walk.total in dialect.traits.windows else walk.total or 0
    return begun(walk, ask, parts=walk.parts[1:], before=walk.before + count, turned=walk.turned)
