"""Where the listing of a CKAN portal stands, and what an answer of package_search tells about it.

Sorted by id and paged by the last id seen (keyset paging), datasets that are added, changed or removed meanwhile shift
nothing, and a deep page costs the portal no more than the first. Sorted by date, as is often seen, a page that shifts
loses records (ckan/ckanapi#44); by offset, only removals can.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.query import behind
from crawlers.listing import paging
from crawlers.safety import bounds
from crawlers.values.moment import moment

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kinds.ckan.query import Query

_LOWEST = "0"  # nearly all ids are greater: a count behind it is asked for as pages are
_MILLISECOND = timedelta(milliseconds=1)
_DRIFT, _DRIFT_SHARE = 10, 0.02  # datasets that may come or go; of a large catalogue, the share


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor(paging.Cursor):
    """Where a listing stands.

    Args:
        rows: how many datasets to request now.
        variant: the index in `api.variants` of the one that the portal answers to.
        last: the last id received; the next page begins after it.
        start: the offset of the next page, at a portal that can't page by id; else ``None``.
        received: how many records have come.
        promised: how many datasets there were when the listing began.
        counting: whether only the count is requested, at the end, because fewer were listed than promised.
        behind_all: whether that is requested as pages are, behind an id that nearly all others follow.
        second: whether this is the walk by offset after a walk by id that came short.
        largest: how many records the largest page had: a portal gives no more at once.
        shifted: whether the count changed while the portal was paged by offset, so that records may be missed.
        since: only what has this stamp or a later one.
        ids: whether this list is of ids only, to find what has vanished, or what is new.
        stamps: whether the ids come with their stamps, to find what has changed.
        skipping: why the next record alone is not available: only its id is requested, to go on after it.
        skipped: how many records in a row were skipped this way.
        apart: how many records were of deleted datasets, or of drafts, which count as not there.
        absent: how many ids the portal lists and has no dataset of, as it says itself.
        instead_of: the list that came short, if this one is of the ids that it may lack.
        counted: how many datasets there are, as the page before counted them.
        is_doubtful: whether a page counted so differently from the one before it that it may answer another question.
    """

    rows: int
    variant: int = 0
    last: str | None = None
    start: int | None = None
    received: int = 0
    promised: int | None = None
    counting: bool = False
    behind_all: bool = False
    second: bool = False
    largest: int = 0
    shifted: bool = False
    since: str | None = None
    ids: bool = False
    stamps: bool = False
    skipping: str | None = None
    skipped: int = 0
    apart: int = 0
    absent: int = 0
    instead_of: dict[str, Any] | None = None
    counted: int | None = None
    is_doubtful: bool = False

    @property
    def name(self) -> str:
        if self.stamps:
            return "stamps"
        if self.instead_of:
            return "all ids"
        return "ids" if self.ids else "datasets"

    @property
    def has_records(self) -> bool:
        return not self.ids

    @property
    def first(self) -> bool:
        """Whether no page has come yet."""
        return not self.received

    @property
    def is_by_id(self) -> bool:
        """Whether the page is one behind an id."""
        return self.last is not None and self.start is None

    @property
    def loops(self) -> bool:
        """Whether pages repeat; the second walk sees only what the first one saw."""
        return self.stale >= paging.PATIENCE and not self.second

    def parameters(self, query: Query) -> dict[str, Any]:
        """Return package_search's parameters."""
        clauses = query.clauses()
        clauses += [f"+metadata_modified:[{self.since} TO *]"] if self.since else []
        if self.start is None and self.last is not None and (not self.counting or self.behind_all):
            clauses.insert(0, behind(_LOWEST if self.behind_all else self.last))
        parameters: dict[str, Any] = {"q": query.q or "*:*", "sort": "id asc", "rows": self.rows, **query.visible()}
        if clauses:
            parameters["fq"] = " ".join(clauses)
        if self.counting:
            return parameters | {"rows": 0}
        if self.start is not None:
            parameters["start"] = self.start
        if self.skipping or self.ids:
            parameters["fl"] = "id,metadata_modified" if self.stamps else "id"
        return parameters

    def by_offset(self) -> Self:
        """Return the cursor of the same page by its offset."""
        return replace(self, start=self.received, skipping=None)

    def after(self, page: Page, *, listed: int, resources: int, apart: int = 0) -> Self:
        """Return the cursor behind a page.

        Args:
            listed: how many of its records were new, and within the user's limits.
            resources: how many resources those have.
            apart: how many new ones were of datasets that are not there.
        """
        received = self.received + len(page.records)
        by_id = self.start is None and (not self.first or page.follows(None))
        total, counted = page.total(self), page.counted(self)
        return replace(
            self,
            last=next(reversed(page.ids()), self.last),
            start=None if by_id else received,
            received=received,
            listed=self.listed + listed,
            resources=self.resources + resources,
            expected=self.expected if total is None else total - self.apart - apart,
            promised=total if self.promised is None else self.promised,
            largest=max(self.largest, len(page.records)),
            apart=self.apart + apart,
            stale=0 if listed or apart else self.stale + 1,
            shifted=self.shifted or (self.start is not None and self.counted not in (None, counted)),
            skipped=0,
            counted=counted,
            is_doubtful=self.is_doubtful or not fits(self.counted, counted),
        )

    def behind(self, identifier: str) -> Self:
        """Return the cursor behind a record that the portal can't give."""
        counted = replace(self, received=self.received + 1, listed=self.listed + 1, skipped=self.skipped + 1)
        return replace(counted, last=identifier, skipping=None)

    def short(self) -> bool:
        """Return whether fewer were listed than there were at the beginning."""
        return self.promised is not None and self.listed + self.apart < self.promised

    def restarted(self, count: int) -> Self:
        """Return the start of a second walk, by offset: keyset paging fails if the portal sorts and compares apart."""
        begun = replace(self, start=0, received=0, last=None, counting=False, second=True, counted=None)
        return replace(begun, promised=count, expected=count - self.apart)

    def of_all_ids(self, count: int) -> Self:
        """Return the start of a list of all ids, by offset: what this list lacks of them may be found by its id."""
        lacking = replace(self, counting=False, skipping=None, expected=count - self.apart).plain()
        begun = type(self)(rows=self.rows, variant=self.variant, ids=True, start=0, instead_of=lacking)
        return replace(begun, since=self.since)


@dataclass(frozen=True, slots=True)
class Page:
    """An answer of package_search."""

    records: list[Any]
    count: int | None

    @classmethod
    def read(cls, response: Response) -> Self:
        """Return the page of an answer.

        Raises:
            AnswerError: it is not a page of a listing.
        """
        result = api.result(response)
        records, count = result.get("results"), result.get("count")
        if not isinstance(records, list):
            raise AnswerError("refused", "the portal answered without the results of a package_search")
        bounds.RECORDS.check(len(records))
        return cls(_without_duplicates(records), count if isinstance(count, int) else None)

    @property
    def alive(self) -> list[Any]:
        """The records of datasets that are there, and those without an id."""
        return [record for record in self.records if api.is_there(record) or identity(record) is None]

    def ids(self) -> list[str]:
        return [identifier for identifier in map(identity, self.records) if identifier]

    def follows(self, last: str | None) -> bool:
        """Return whether the page's ids ascend, from the last id of the page before."""
        ids = self.ids()
        before = [last, *ids] if last is not None else ids
        return bool(ids or not self.records) and all(lower < higher for lower, higher in pairwise(before))

    def total(self, cursor: Cursor) -> int | None:
        """Return how many datasets there are: paged by id, the portal counts what is left."""
        if self.count is None or cursor.start is not None:
            return self.count
        return cursor.listed + cursor.apart + max(self.count, len(self.records))

    def counted(self, cursor: Cursor) -> int | None:
        """Return how many records there are by this page's count alone, whatever was new on the pages before."""
        return self.count if self.count is None or cursor.start is not None else cursor.received + self.count

    @property
    def is_whole(self) -> bool:
        """Whether its records are whole, although only ids were requested."""
        return any(
            isinstance(found, dict) and not found.keys() <= {"id", "metadata_modified"} for found in self.records
        )

    @property
    def has_stamps(self) -> bool:
        """Whether its records say when they were changed; a page without records lacks none."""
        return not self.records or any(map(stamp, self.records))

    def is_last(self, cursor: Cursor) -> bool:
        """Return whether the list ends here: with an empty page, or a short one that has just what the count left.

        A count alone is not trusted.
        """
        if not self.records or self.count is None:
            return not self.records
        if cursor.second and cursor.received + len(self.records) >= (cursor.promised or 0):
            return True
        left = self.count if cursor.start is None else self.count - cursor.received
        full = cursor.rows if cursor.first else min(cursor.rows, cursor.largest)
        return len(self.records) == left and left < full


def fits(before: int | None, now: int | None) -> bool:
    """Return whether two counts may be of one question: the catalogue changes while it is listed, but not by so much.

    >>> fits(2977, 746), fits(2977, 3036), fits(5, 15), fits(5, 16)
    (False, True, True, False)
    """
    return before is None or now is None or abs(now - before) <= max(_DRIFT, _DRIFT_SHARE * before)


def _without_duplicates(records: list[Any]) -> list[Any]:
    """Return a page's records, each id once: duplicates are no sign that there is nothing else."""
    found: dict[object, Any] = {}
    for record in records:
        found.setdefault(identity(record) or object(), record)
    return list(found.values())


def identity(record: Any) -> str | None:
    """Return a record's id; ``None`` if it has none that can be requested."""
    identifier = record.get("id") if isinstance(record, dict) else None
    if not isinstance(identifier, str) or not identifier:
        return None
    try:
        identifier.encode()
    except UnicodeEncodeError:  # half a character: no address and no file can be made of it
        return None
    return identifier


def stamp(record: Any) -> str | None:
    """Return when the portal says that a record was changed last; ``None`` if it does not say."""
    found = record.get("metadata_modified") if isinstance(record, dict) else None
    return found if isinstance(found, str) and found else None


def is_same_stamp(stored: str | None, listed: str | None) -> bool:
    """Return whether two stamps are equal: CKAN's records have microseconds, its search index milliseconds and a Z.

    >>> is_same_stamp("2026-11-01T06:00:00.925376", "2026-11-01T06:00:00.925Z"), is_same_stamp(None, None)
    (True, False)
    """
    first, second = moment(stored), moment(listed)
    if first is None or second is None:
        return stored is not None and stored == listed
    return abs(first - second) < _MILLISECOND


def resources(record: Any) -> int:
    """Return how many resources a record lists."""
    found = record.get("resources") if isinstance(record, dict) else None
    return len(found) if isinstance(found, list) else 0
