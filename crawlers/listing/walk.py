"""Where the reading of one list stands, and what an answer of it holds: plain data, which a stored request can carry.

A **walk** is the state of one list. Its `ask` is what a kind asks the next page by: an offset, a token, the last id, an
address. An **entry** is a record as a page lists it. An **offer** is another way that a page shows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from crawlers.exceptions import AnswerError

A = TypeVar("A")

Part = tuple[str, str]
"""A range of what a list holds, from one bound on and before another; an empty bound is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk(Generic[A]):
    """Where the reading of one list stands.

    Args:
        ask: what the next page is asked by; a frozen dataclass of plain values that the kind declares.
        name: of the list: in the ledger, in the run report and in messages.
        above: the names of the lists that led here, the first one first, so that a circle ends; of a tree, the last.
        purpose: ``page``; ``count``, if only the number of records is asked for, or what the portal says of itself.
        is_of_ids: whether the list gives ids alone, which are not taken as datasets.
        lap: 2 and more if the list is read again, because it changed meanwhile.
        step: how many requests were made before this one, in all laps and parts: it tells each apart.
        parts: the ranges still to be listed, the present one first; empty if there is only one list.
        splits: how often a range was split.
        rows: how many records the next page is asked for; ``None`` if the kind has no say.
        most: how many a later one may be asked for.
        tried: the rungs of the ladder that were taken since the walk came further.
        skipped: how many records in a row were given up.
        pages: how many answers have come, of all laps and parts.
        turned: how many ways on were taken in this lap and part that brought another page.
        came: how many positions have come in this lap and part, skipped ones included.
        reached: how many had come at most, in this lap and part: up to there, pages that bring nothing new are known.
        listed: how many distinct datasets were taken, of all laps and parts.
        earlier: how many the lists before this one gave, which count for the user's limit.
        resources: how many resources those have.
        apart: how many positions of the list are no datasets of their own: services, deleted records, doubles.
        doubles: how many positions of a part another part had, too: the parts count them twice, the whole list once.
        lost: how many records were given up, and reported.
        gaps: how many pages, or parts of one, could not be read, and were reported.
        largest: how many positions the largest page had.
        is_capped: whether the server gave fewer than were asked for, and more behind them.
        before: how many records the parts have that were listed.
        total: how many records this lap and part has, by the protocol's own word.
        counted: how many it has by the last page's own count.
        stated: how many the whole list had by its own word, before it was split into parts.
        printed: how many datasets a page prints for people.
        first: the digest of the first page of this lap and part.
        digest: of the page before: of its ids.
        stale: how many pages in a row had nothing new.
        is_ring: whether the last page's stated way led back to the first one.
        has_moved: whether the list changed while it was read, so that records may have been passed over.
        has_shrunk: whether it became shorter, so that what was behind moved up.
        contradiction: what the answers of this walk contradict each other in, as a sentence; empty if in nothing.
        left: what was offered and neither followed nor kept, as a clause; empty if nothing was.
    """

    ask: A
    name: str = "datasets"
    above: tuple[str, ...] = ()
    purpose: Literal["page", "count"] = "page"
    is_of_ids: bool = False
    lap: int = 1
    step: int = 0
    parts: tuple[Part, ...] = ()
    splits: int = 0
    rows: int | None = None
    most: int | None = None
    tried: tuple[str, ...] = ()
    skipped: int = 0
    pages: int = 0
    turned: int = 0
    came: int = 0
    reached: int = 0
    listed: int = 0
    earlier: int = 0
    resources: int = 0
    apart: int = 0
    doubles: int = 0
    lost: int = 0
    gaps: int = 0
    largest: int = 0
    is_capped: bool = False
    before: int = 0
    total: int | None = None
    counted: int | None = None
    stated: int | None = None
    printed: int | None = None
    first: str = ""
    digest: str = ""
    stale: int = 0
    is_ring: bool = False
    has_moved: bool = False
    has_shrunk: bool = False
    contradiction: str = ""
    left: str = ""

    @property
    def key(self) -> str:
        """What tells this request apart from all others, and identifies it as what listed a dataset."""
        return f"{self.name} {self.step}"

    @property
    def has_records(self) -> bool:
        """Whether the list gives whole records, which count as listed; else it gives ids, or a number."""
        return self.purpose == "page" and not self.is_of_ids

    @property
    def expected(self) -> int | None:
        """How many datasets there should be, by the protocol's own word."""
        return None if self.total is None else max(self.before + self.total - self.apart - self.doubles, 0)

    @property
    def seen(self) -> int:
        """How many datasets came, or were given up and reported."""
        return self.listed + self.lost

    def plain(self) -> dict[str, Any]:
        """Return the walk as a stored request carries it, which is JSON: what is not as it is by default."""
        plain: dict[str, Any] = json.loads(json.dumps(_changed(self) | {"ask": _changed(self.ask)}))
        return plain


def _changed(found: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that have not their default."""
    values = {field.name: (getattr(found, field.name), field.default) for field in fields(found)}
    return {name: value for name, (value, default) in values.items() if value is not default and value != default}


def restored(plain: dict[str, Any], asks: type[A]) -> Walk[A]:
    """Return the walk of a stored request.

    Args:
        plain: as `Walk.plain` gave it, maybe by way of JSON.
        asks: the type of its `ask`.
    """
    known = {field.name for field in fields(asks)}  # type: ignore[arg-type]
    ask = asks(**{name: _tuples(value) for name, value in plain["ask"].items() if name in known})
    return Walk(**{name: _tuples(value) for name, value in plain.items() if name != "ask"}, ask=ask)


def _tuples(value: Any) -> Any:
    """JSON knows lists alone."""
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


class Entry(NamedTuple):
    """A record as a page lists it.

    Args:
        id: ``None`` if it has none that can be requested.
        record: what the portal says of it.
        resources: how many resources it lists.
        reading: the record as the kind reads it, if that is something else.
        aliases: other ids of the dataset; one may be its id of before.
    """

    id: str | None
    record: Any
    resources: int = 0
    reading: Any = None
    aliases: Sequence[str] = ()


class Offer(NamedTuple, Generic[A]):
    """Another way that a page shows, besides the next page.

    Args:
        what: ``walk``: another list; ``left``: what is not followed.
        name: of the list, its address for most.
        ask: what its first page is asked by.
        why_not: why it is not followed, as a clause that begins with what it is.
    """

    what: Literal["walk", "left"]
    name: str
    ask: A | None = None
    why_not: str = ""


@dataclass(slots=True, kw_only=True)
class ListingPage(Generic[A]):
    """What an answer of a listing holds.

    Args:
        entries: its records. A list's next page is requested before they are handled; an iterator (a graph) is taken
            in steps, and the next page requested after it.
        next: what the next page is asked by; ``None`` if there is none.
        purpose: of the next request, as `Walk.purpose`, as long as no page came.
        ask: the `Walk.ask` of this page with what its answer showed; by default as it was.
        came: how many positions of the list the answer covers; by default as many as there are entries.
        overlap: how many more it covers that the page before had, too: asked for to see whether the list moved.
        asked: how many were asked for; ``None`` if nothing says.
        total: how many records the list has, by the protocol's own word.
        is_open: whether the next page is asked for whatever the total says, because it may be that of this page alone.
        behind: how many are left from this page on, at a server that counts so.
        contradiction: of a number that was asked for: what it contradicts, as a sentence; empty if all counts are of
            one question, ``None`` if it does not say.
        printed: how many datasets the page prints for people.
        apart: how many of the positions are no datasets of their own, and are new.
        doubles: how many of the positions another part of the list had, too, and are new.
        lost: how many of the positions have a record that is not kept, as was reported.
        is_new: whether the page has something new that is no dataset.
        is_substitute: whether the answer stands for a record that can't be given otherwise: a larger page may not come.
        is_guessed: whether no answer named this page, at a list whose answers name the next one.
        gaps: how many parts of the answer could not be read, and were reported.
        turns: how often a browser turned the page.
        end: an end in the answer's own words: ``none`` (nothing is there), ``declared`` (by the user); ``closed``: it
            leads to other lists, and has nothing of its own.
        is_file: whether the answer is a file, or says of itself that it is all.
        has_moved: whether the answer shows that the list changed.
        offers: other ways that it shows.
        is_limited: whether the user's limit leaves out something of it or behind it; ``None`` if the kind has no say:
            it does once the limit is reached.
        fault: why it broke off: what came before that is in `entries`.
        close: releases what the entries need, when they have been handled.
    """

    entries: Iterable[Entry] = ()
    next: A | None = None
    purpose: Literal["page", "count"] = "page"
    ask: A | None = None
    came: int | None = None
    overlap: int = 0
    asked: int | None = None
    total: int | None = None
    is_open: bool = False
    behind: int | None = None
    contradiction: str | None = None
    printed: int | None = None
    apart: int = 0
    doubles: int = 0
    lost: int = 0
    is_new: bool = False
    is_substitute: bool = False
    is_guessed: bool = False
    gaps: int = 0
    turns: int | None = None
    end: Literal["", "none", "declared", "closed"] = ""
    is_file: bool = False
    has_moved: bool = False
    offers: Sequence[Offer[A]] = ()
    is_limited: bool | None = None
    fault: AnswerError | None = None
    close: Callable[[], None] | None = None
