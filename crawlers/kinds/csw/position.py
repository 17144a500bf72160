"""Where the listing of a CSW stands, and how it asks: plain data, so that a resumed crawl asks the same way."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from crawlers.kinds.csw import schemas
from crawlers.kinds.csw.getrecords import Query
from crawlers.kinds.csw.ranges import UNDATED
from crawlers.listing.paging import WINDOWS, Cursor

if TYPE_CHECKING:
    from crawlers.kinds.csw.capabilities import Capabilities
    from crawlers.kinds.csw.ranges import Range

ROWS = 100
_PLAIN = "csw:Record"
MOST_SKIPPED = 3
"""Records in a row that are given up, before the listing is."""
_TUPLES = ("uris", "sort", "modified", "holes", "unrendered")
_PROPERTIES = {
    "identifier": (("dc", "dc:identifier"), ("apiso", "apiso:Identifier")),
    "modified": (("dct", "dct:modified"), ("apiso", "apiso:Modified")),
}
"""Prefix and name of what a list is ordered and filtered by, for csw:Record and for ISO's types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position(Cursor):
    """The next page, and how it is requested.

    Args:
        endpoint: the server's address.
        version: of CSW; empty until the capabilities came.
        method: POST or GET.
        uris: the output schemas to try, the present one first.
        is_fixed: whether no other schema may be taken: another one changes all ids.
        is_plain: whether the type is csw:Record for any schema.
        sort: the property that orders the records, of csw:Record and of ISO's types; empty if the server orders none.
        modified: the property of the last change, of both, too; empty if the server does not filter by it.
        since: only what was modified then or later.
        start: the position of the page's first record, from 1.
        rows: how many records are requested.
        most: how many are at most; fewer if larger pages are too large, or take too long.
        longest: how many records the longest page had.
        matched: how many records the server says there are, in the present range; its largest number counts.
        least: how many there are at least, after a first walk.
        last: the mark of the last record before this page, which has to be on this page again: if records are deleted
            meanwhile, all others move forward, and one would be passed over.
        is_back: whether the page begins further back, for the last one did not have that record.
        backs: how often the walk went back.
        is_moved: whether records may have been passed over, for the list changed.
        walk: 2 if the whole list is read a second time, because the first time some were missing.
        holes: positions of records that the server could not render, to be requested as Dublin Core.
        unrendered: those on the last page that can't be requested as Dublin Core.
        skipped: how many records were given up in a row.
        lost: how many were given up.
        apart: how many records described services and other things, not data.
        versions: how many were other versions of a dataset that was listed.
        ranges: the ranges of dates still to be listed, the present one first; empty if there is only one list.
        before: how many records the ranges that were listed have.
        splits: how often a range was split.
        is_undated_left: whether the server gives no list of the records without a date.
        is_cut: whether a list has more records than the server gives.
    """

    endpoint: str = ""
    version: str = ""
    method: str = "POST"
    uris: tuple[str, ...] = ()
    is_fixed: bool = False
    is_plain: bool = False
    sort: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    since: str = ""
    start: int = 1
    rows: int = ROWS
    most: int = ROWS
    longest: int = 0
    matched: int | None = None
    least: int = 0
    last: str = ""
    is_back: bool = False
    backs: int = 0
    is_moved: bool = False
    walk: int = 1
    holes: tuple[int, ...] = ()
    unrendered: tuple[int, ...] = ()
    skipped: int = 0
    lost: int = 0
    apart: int = 0
    versions: int = 0
    ranges: tuple[Range, ...] = ()
    before: int = 0
    splits: int = 0
    is_undated_left: bool = False
    is_cut: bool = False

    def __post_init__(self) -> None:
        """Make tuples of the lists that a stored request has."""
        for name in _TUPLES:
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "ranges", tuple((since, until) for since, until in self.ranges))

    def plain(self) -> dict[str, Any]:
        lists = {name: list(getattr(self, name)) for name in _TUPLES}
        return asdict(self) | lists | {"ranges": [list(dates) for dates in self.ranges]}

    @property
    def uri(self) -> str:
        """The output schema of the request."""
        return schemas.dublin_core(self.version) if self.holes else self.uris[0]

    @property
    def has_substitute(self) -> bool:
        """Whether Dublin Core can stand in for a record, with the same id."""
        schema = schemas.by_uri(self.uris[0])
        return not (schema.is_rdf or schema.is_dublin_core)

    @property
    def has_begun(self) -> bool:
        """Whether a page was read: then its schema stays."""
        return self.pages > 0

    @property
    def is_windowed(self) -> bool:
        """Whether the number of records is one where servers stop, so that there may be more."""
        return self.matched in WINDOWS

    @property
    def is_beyond(self) -> bool:
        """Whether the records that the server counts are behind."""
        return self.matched is not None and self.start > self.matched

    @property
    def first(self) -> int:
        """The position of the first record that is requested: before `start`, if a known record has to be there."""
        if self.start == 1 or not self.last or self.rows == 1:
            return self.start
        return max(1, self.start - (max(2, min(self.rows, self.longest) // 2) if self.is_back else 1))

    @property
    def is_undated(self) -> bool:
        """Whether the present range is that of the records without a date."""
        return bool(self.ranges) and self.ranges[0] == UNDATED

    @property
    def is_lacking(self) -> bool:
        """Whether fewer datasets were listed than there should be, and nothing says why."""
        return self.expected is not None and self.listed + self.lost < self.expected

    @property
    def left(self) -> str:
        """Why a list that has ended may lack records, although there are enough; empty if nothing suggests that."""
        if self.is_undated_left:
            return "it can't be asked for the records without a date of modification"
        if self.is_cut:
            return "gives only a part of what it has: it can't be asked for less at once"
        is_order_kept = bool(self.sort) or self.expected is None
        if self.is_moved and is_order_kept and not self.is_lacking:
            return "the list changed while it was read, so records may be missing"
        return ""

    @property
    def total(self) -> int | None:
        """How many datasets there are, as far as is known; where servers stop, at least this many records."""
        if self.matched is None:
            return None
        is_at_least = self.is_windowed and not self.ranges
        return max(self.least, self.before + self.matched) - (0 if is_at_least else self.apart + self.versions)

    def begun(self, found: Capabilities | None, chosen: str | None) -> Self:
        """Return the position of the first page.

        Args:
            found: the capabilities; ``None`` if they can't be read.
            chosen: the name of the only schema that is wanted.
        """
        version = found.version if found else "2.0.2"
        uris = schemas.candidates(version, found.schemas if found else (), chosen)
        names = [
            tuple(found.queryable(word, prefix, default) if found else default for prefix, default in both)
            for word, both in _PROPERTIES.items()
        ]
        sort, modified = names
        return replace(self, version=version, uris=uris, is_fixed=chosen is not None, sort=sort, modified=modified)

    def query(self, rows: int) -> Query:
        """Return what the request says.

        Args:
            rows: the number of records at most.
        """
        kind = _PLAIN if self.is_plain else schemas.by_uri(self.uri).type
        sort, modified = (names[kind != _PLAIN] if names else "" for names in (self.sort, self.modified))
        start, rows = (self.holes[0], 1) if self.holes else (self.first, min(self.rows, rows + self.start - self.first))
        since, until = self.ranges[0] if self.ranges else (self.since[:10], "")
        if self.is_undated:
            return Query(self.version, self.uri, kind, start, rows, sort, modified, is_undated=True)
        return Query(self.version, self.uri, kind, start, rows, sort, modified, since, until)
