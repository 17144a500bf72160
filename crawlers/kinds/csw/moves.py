"""The ways from one position of the listing to another: smaller pages, ranges of dates, a second walk."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crawlers.kinds.csw import ranges, schemas
from crawlers.kinds.csw.results import mark

if TYPE_CHECKING:
    from crawlers.exceptions import AnswerError
    from crawlers.kinds.csw.position import Position
    from crawlers.kinds.csw.results import Results

_SMALLER = (25, 5, 1)
_MOST_BACK = 5
"""How often a walk goes back to find the end of the page before."""
LASTING = frozenset(("too_large", "timeout", "truncated"))


def smaller(here: Position, error: AnswerError) -> Position | None:
    """Return the same place with a smaller page; ``None`` if it is as small as it can be.

    Args:
        error: why; later pages are larger again, unless they are too large or take too long.
    """
    rows = next((rows for rows in _SMALLER if rows < here.rows), None)
    if rows is None:
        return None
    return replace(here, rows=rows, most=rows if error.kind in LASTING else here.most)


def in_version(here: Position, version: str) -> Position:
    """Return the same place with another version of CSW."""
    names = [schemas.by_uri(uri).name for uri in here.uris]
    uris = [uri for name in dict.fromkeys(names) for uri in schemas.candidates(version, (), name)]
    return replace(here, version=version, uris=tuple(uris))


def without_one(here: Position) -> Position:
    """Return the position behind a record that can't be rendered, which is requested as Dublin Core."""
    return replace(here, holes=(here.start,), start=here.start + 1, last="")


def given_up(here: Position) -> Position:
    """Return the position once a record was given up."""
    start = here.start if here.holes else here.start + 1
    last = here.last if here.holes else ""
    return replace(here, start=start, last=last, holes=here.holes[1:], skipped=here.skipped + 1, lost=here.lost + 1)


def in_ranges(here: Position) -> Position:
    """Return the beginning of the same list by ranges of dates."""
    begin = ranges.beginning(here.since[:10])
    return replace(here, start=1, matched=None, ranges=begin, stale=0, before=0)


def in_one(here: Position) -> Position:
    """Return the beginning of the list without ranges: the server does not filter by date.

    Its first page is not the one that was requested before, which would not be requested again.
    """
    return replace(
        here, start=1, rows=max(1, here.most - 2), matched=None, ranges=(), since="", modified=(), stale=0, before=0
    )


def halved(here: Position) -> Position | None:
    """Return the beginning of the first half of the present range; ``None`` if it can't be split."""
    halves = ranges.halves(here.ranges[0]) if here.splits < ranges.MOST else None
    if halves is None:
        return None
    return replace(here, start=1, matched=None, ranges=(*halves, *here.ranges[1:]), splits=here.splits + 1)


def next_range(here: Position) -> Position:
    """Return the beginning of the range behind the present one."""
    before = here.before + (here.matched or 0)
    return replace(here, start=1, matched=None, ranges=here.ranges[1:], before=before, stale=0)


def second(here: Position) -> Position:
    """Return the beginning of a second walk, whose pages differ from the first one's."""
    again = in_ranges(here) if here.ranges else here
    most = min(here.most, here.longest) - 1 or 2
    least = (here.before + (here.matched or 0)) * 9 // 10  # a list that lost more than that is no whole one
    again = replace(again, walk=2, least=least, is_moved=False, backs=0, is_back=False, last="")
    return replace(again, start=1, rows=most, most=most, stale=0, matched=None, before=0, lost=0, versions=0, splits=0)


def parts(here: Position) -> Position | None:
    """Return where the parts of a list begin that is longer than what the server gives; ``None`` for none."""
    if ranges.is_probe(here.ranges):
        return in_one(here)
    if here.ranges:
        return halved(here)
    return in_ranges(here) if here.modified else None


def is_doubtful(after: Position) -> bool:
    """Return whether a second walk may find more; without a total nothing would end it."""
    return after.expected is not None and (after.is_lacking or after.is_moved)


def behind(here: Position, found: Results, *, apart: int, versions: int, doubles: int) -> Position:
    """Return the position behind a page; or further back, if records may be between it and the one before.

    Args:
        apart: how many records describe no dataset, with this page's.
        versions: how many of its records are other versions of the same datasets.
        doubles: how many have the id of another one.
    """
    known = replace(here, apart=apart, skipped=0, unrendered=())
    if here.holes:
        return replace(known, holes=here.holes[1:])
    known = replace(known, matched=_most_matched(here, found))
    is_linked = here.first == here.start or any(mark(element) == here.last for element in found.elements)
    if not is_linked and not here.is_back and here.backs < _MOST_BACK:
        return replace(known, is_back=True, backs=here.backs + 1)
    if not here.is_back:  # else they were counted before
        known = replace(known, lost=here.lost + doubles, versions=here.versions + versions)
    return _behind_records(replace(known, is_moved=here.is_moved or not is_linked), found)


def _most_matched(here: Position, found: Results) -> int | None:
    is_number = found.matched is not None and (found.matched > 0 or not found.elements)
    if here.matched is None:
        return found.matched
    return max(here.matched, found.matched or 0) if is_number and here.walk == 1 else here.matched


def _behind_records(here: Position, found: Results) -> Position:
    """Return the position behind the records of a page, and what of them is still to be requested."""
    start = max(here.start, here.first + found.received)
    has_last = found.elements and found.received - 1 not in found.holes and start > here.start
    behind = replace(
        here,
        start=start,
        rows=min(here.most, here.rows * 5),
        longest=max(here.longest, found.received),
        last=mark(found.elements[-1]) if has_last else "",
        is_back=False,
    )
    places = (here.first + place for place in found.holes)
    holes = tuple(place for place in places if place >= here.start)
    if here.has_substitute:
        return replace(behind, holes=holes)
    return replace(behind, unrendered=holes, lost=here.lost + len(holes))
