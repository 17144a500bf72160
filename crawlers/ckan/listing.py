"""Listing a portal's datasets with package_search so that none is missed.

Sorted by id and paged by the last id seen (keyset paging), datasets that are added, changed or removed meanwhile shift
nothing, and a deep page costs the portal no more than the first. Sorted by date, as is often seen, a page that shifts
loses records (ckan/ckanapi#44); by offset, only removals can.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from crawlers.ckan import api
from crawlers.exceptions import AnswerError
from crawlers.moment import moment

if TYPE_CHECKING:
    from scrapy.http import Response

_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is asked for: package_search's q and fq, and the filters that have a name of their own.

    Args:
        private: whether there is a token, whose user may see private datasets.
    """

    q: str | None = None
    fq: str | None = None
    organization: str | None = None
    group: str | None = None
    tag: str | None = None
    private: bool = False

    @property
    def filtered(self) -> bool:
        """Whether it leaves datasets out for another reason than their age."""
        return any((self.q, self.fq, self.organization, self.group, self.tag))

    def clauses(self) -> list[str]:
        named = (("organization", self.organization), ("groups", self.group), ("tags", self.tag))
        clauses = [f"{field}:{_term(value)}" for field, value in named if value]
        return clauses + ([self.fq] if self.fq else [])

    def visible(self) -> dict[str, Any]:
        """Return the parameter by which a token's user is shown private datasets too; CKAN shows no drafts with it."""
        return {"include_private": "true"} if self.private else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """Where a listing stands: plain data, so that the request that carries it can be stored.

    Args:
        rows: how many datasets to ask for now.
        way: which of `api.ways` the portal answers to.
        last: the last id received; the next page begins after it.
        start: the offset of the next page, at a portal that can't page by id; else ``None``.
        received: how many records have come.
        listed: how many of them were new.
        resources: how many resources they have.
        expected: how many datasets there are, as far as is known.
        promised: how many there were when the listing began.
        counting: whether only the count is asked for, at the end, because fewer were listed than promised.
        second: whether this is the walk by offset after one by id that came short.
        largest: how many records the largest page had: a portal gives no more at once.
        stale: how many pages in a row had nothing new.
        shifted: whether that number changed while the portal was paged by offset, so that records may be missed.
        since: only what has this stamp or a later one.
        ids: whether this list is of ids only, to find what has vanished, or what is new.
        stamps: whether the ids come with their stamps, to find what has changed.
        skipping: why the next record alone can't be had: nothing but its id is asked for, to go on after it.
        skipped: how many records in a row were passed over so.
    """

    rows: int
    way: int = 0
    last: str | None = None
    start: int | None = None
    received: int = 0
    listed: int = 0
    resources: int = 0
    expected: int | None = None
    promised: int | None = None
    counting: bool = False
    second: bool = False
    largest: int = 0
    stale: int = 0
    shifted: bool = False
    since: str | None = None
    ids: bool = False
    stamps: bool = False
    skipping: str | None = None
    skipped: int = 0

    @property
    def name(self) -> str:
        if self.stamps:
            return "stamps"
        return "ids" if self.ids else "datasets"

    @property
    def first(self) -> bool:
        return not self.received

    def parameters(self, query: Query) -> dict[str, Any]:
        """package_search's parameters."""
        clauses = query.clauses()
        clauses += [f"metadata_modified:[{self.since} TO *]"] if self.since else []
        if self.start is None and self.last is not None and not self.counting:
            clauses.insert(0, f"id:{{{_escaped(self.last)} TO *]")
        parameters: dict[str, Any] = {"q": query.q or "*:*", "sort": "id asc", "rows": self.rows, **query.visible()}
        if clauses:
            parameters["fq"] = _joined(clauses)
        if self.counting:
            return parameters | {"rows": 0}
        if self.start is not None:
            parameters["start"] = self.start
        if self.skipping or self.ids:
            parameters["fl"] = "id,metadata_modified" if self.stamps else "id"
        return parameters

    def by_offset(self) -> Self:
        return replace(self, start=self.received, skipping=None)

    def after(self, page: Page, *, listed: int, resources: int) -> Self:
        """The cursor behind a page.

        Args:
            listed: how many of its records were new, and within the user's limits.
            resources: how many resources those have.
        """
        received = self.received + len(page.records)
        by_id = self.start is None and (not self.first or page.follows(None))
        total = page.total(self)
        return replace(
            self,
            last=next(reversed(page.ids()), self.last),
            start=None if by_id else received,
            received=received,
            listed=self.listed + listed,
            resources=self.resources + resources,
            expected=self.expected if total is None else total,
            promised=total if self.promised is None else self.promised,
            largest=max(self.largest, len(page.records)),
            stale=0 if listed else self.stale + 1,
            shifted=self.shifted or (self.start is not None and self.expected not in (None, total)),
            skipped=0,
        )

    def behind(self, identifier: str) -> Self:
        """The cursor behind a record that the portal can't give."""
        counted = replace(self, received=self.received + 1, listed=self.listed + 1, skipped=self.skipped + 1)
        return replace(counted, last=identifier, skipping=None)

    def short(self) -> bool:
        """Whether fewer were listed than there were at the beginning."""
        return self.promised is not None and self.listed < self.promised

    def again(self, count: int) -> Self:
        """From the start, by offset: paging by id can miss what the portal sorts in another way than it compares."""
        anew = replace(self, start=0, received=0, last=None, counting=False, second=True)
        return replace(anew, promised=count, expected=count)

    def plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of package_search."""

    records: list[Any]
    count: int | None

    @classmethod
    def read(cls, response: Response) -> Self:
        """
        Raises:
            AnswerError: it is no page of a listing.
        """
        result = api.result(response)
        records, count = result.get("results"), result.get("count")
        if not isinstance(records, list):
            raise AnswerError("refused", "the portal answered without the results of a package_search")
        return cls(_once(records), count if isinstance(count, int) else None)

    def ids(self) -> list[str]:
        return [identifier for identifier in map(identity, self.records) if identifier]

    def follows(self, last: str | None) -> bool:
        """Whether the page's ids ascend, from the last one of the page before."""
        ids = self.ids()
        before = [last, *ids] if last is not None else ids
        return bool(ids or not self.records) and all(one < other for one, other in pairwise(before))

    def total(self, cursor: Cursor) -> int | None:
        """How many datasets there are: paged by id, the portal counts what is left."""
        if self.count is None or cursor.start is not None:
            return self.count
        return cursor.listed + max(self.count, len(self.records))

    @property
    def is_whole(self) -> bool:
        """Whether its records are whole ones, although only ids were asked for."""
        return any(isinstance(one, dict) and not one.keys() <= {"id", "metadata_modified"} for one in self.records)

    @property
    def has_stamps(self) -> bool:
        """Whether its records say when they were changed; a page without records lacks none."""
        return not self.records or any(map(stamp, self.records))

    def is_last(self, cursor: Cursor) -> bool:
        """Counts lie: a listing ends with an empty page, or one that is not full and has just what the count left."""
        if not self.records or self.count is None:
            return not self.records
        if cursor.second and cursor.received + len(self.records) >= (cursor.promised or 0):
            return True
        left = self.count if cursor.start is None else self.count - cursor.received
        full = cursor.rows if cursor.first else min(cursor.rows, cursor.largest)
        return len(self.records) == left and left < full


def _once(records: list[Any]) -> list[Any]:
    """A page's records without repetitions: they are no sign that there is nothing else."""
    once: dict[object, Any] = {}
    for record in records:
        once.setdefault(identity(record) or object(), record)
    return list(once.values())


def identity(record: Any) -> str | None:
    """A record's id; ``None`` for what has none that can be asked for."""
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


def is_same_stamp(one: str | None, other: str | None) -> bool:
    """Return whether two stamps are one: CKAN's records have microseconds, its search index milliseconds and a Z.

    >>> is_same_stamp("2026-11-01T06:00:00.925376", "2026-11-01T06:00:00.925Z"), is_same_stamp(None, None)
    (True, False)
    """
    first, second = moment(one), moment(other)
    if first is None or second is None:
        return one is not None and one == other
    return abs(first - second) < _MILLISECOND


def among(ids: list[str], query: Query) -> dict[str, Any]:
    r"""Return the parameters of a package_search for the datasets that have one of these ids.

    >>> among(["a", 'b"'], Query())["fq"]
    'id:("a" OR "b\\"")'
    """
    quoted = (_quoted(identifier) for identifier in ids)
    found = {"q": "*:*", "fq": f"id:({' OR '.join(quoted)})", "sort": "id asc", "rows": len(ids)}
    return found | query.visible()


def resources(record: Any) -> int:
    """How many resources a record lists."""
    found = record.get("resources") if isinstance(record, dict) else None
    return len(found) if isinstance(found, list) else 0


def _joined(clauses: list[str]) -> str:
    """All of them must hold: CKAN reads a blank as AND, and an OR of the user's is kept together.

    >>> _joined(["id:{a TO *]", "res_format:CSV OR res_format:XLSX", "-archived:true"])
    '+id:{a TO *] +(res_format:CSV OR res_format:XLSX) -archived:true'
    """
    return clauses[0] if len(clauses) == 1 else " ".join(map(_required, clauses))


def _required(clause: str) -> str:
    if re.search(r"\bOR\b|\|\|", clause):
        return f"+({clause})"
    return clause if clause[0] in "+-" else f"+{clause}"


def _term(value: str) -> str:
    """A value as Solr's query language takes it: bare when harmless, else quoted.

    >>> _term("food security")
    '"food security"'
    """
    return value if re.fullmatch(r"[\w-]+", value) else _quoted(value)


def _quoted(value: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'


def _escaped(identifier: str) -> str:
    return re.sub(r"([^\w.-])", r"\\\1", identifier)
