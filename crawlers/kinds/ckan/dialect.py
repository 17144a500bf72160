"""The listing of a CKAN portal: what package_search is asked for, what its answers hold, and what helps if none comes.

Sorted by id and paged by the last id seen (keyset paging), datasets that are added, changed or removed meanwhile shift
nothing, and a deep page costs the portal no more than the first. Sorted by date, as is often seen, a page that shifts
loses records (ckan/ckanapi#44); by offset, only removals can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol
from urllib.parse import parse_qs, urlsplit

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.api import identity
from crawlers.kinds.ckan.query import behind
from crawlers.listing.crawl import Crawl
from crawlers.listing.dialect import Dialect, Fault, Traits
from crawlers.listing.evidence import fits
from crawlers.listing.ladder import Again, Instead, Smaller
from crawlers.listing.walk import Entry, ListingPage, Walk

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset, Export, Profile
    from crawlers.kinds.ckan.api import API
    from crawlers.kinds.ckan.query import Query
    from crawlers.listing.dialect import Rung
    from crawlers.listing.withdrawals import Withdrawals

    Found = Dataset | Export | Profile | Request
    Output = Iterator[Found | None]

MOST_ALONE = 10
"""Records in a row that are passed over by their ids, before the list goes on in another way."""
_LOWEST = "0"  # nearly all ids are greater: a count behind it is asked for as pages are
_POST = re.compile(r"\bPOST\b|\brequest body\b|\bmethod not allowed\b", re.IGNORECASE)
_IDS = {"id": "id", "stamps": "id,metadata_modified"}
_NO_CKAN = (
    "CKAN's package_search is not there. DKAN 1, which has some of CKAN's actions, is listed with "
    "scrapy crawl api -a kind=dkan1 -a portal=; what else may be there, scrapy sources add NAME URL finds out"
)
_WHOLE, _NO_STAMPS = "The portal gives whole records where ids are requested", "The portal does not list stamps"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a page of package_search is asked by.

    Args:
        variant: the index in `API.variants` of the one that the portal answers to.
        filter: the index of the filter, where a listing may have one of several.
        last: the last id that came; the page begins behind it.
        start: the offset of the page, at a portal that can't page by id; else ``None``.
        since: only what has this stamp or a later one; empty for all.
        fields: ``id`` or ``stamps`` (ids with stamps) in a list that is not of whole records.
        alone: why the next record is not available: only its id is asked for, to go on behind it.
        passed: how many records in a row were passed over so.
        count: how the number alone is asked for: of ``all``, or ``behind`` an id that nearly all others follow.
        counted: what the first of these gave.
        instead_of: the plain walk that came short, if this list is of the ids that it may lack.
    """

    variant: int = 0
    filter: int = 0
    last: str | None = None
    start: int | None = None
    since: str = ""
    fields: Literal["", "id", "stamps"] = ""
    alone: str = ""
    passed: int = 0
    count: Literal["", "all", "behind"] = ""
    counted: int | None = None
    instead_of: dict[str, Any] | None = None

    @property
    def is_by_id(self) -> bool:
        """Whether the page is one behind an id."""
        return self.last is not None and self.start is None

    def parameters(self, query: Query, rows: int) -> dict[str, Any]:
        """Return package_search's parameters."""
        clauses = query.clauses() + ([f"+metadata_modified:[{self.since} TO *]"] if self.since else [])
        if self.count == "behind":
            clauses.insert(0, behind(_LOWEST))
        elif self.is_by_id and not self.count:
            clauses.insert(0, behind(str(self.last)))
        found: dict[str, Any] = {"q": query.q or "*:*", "sort": "id asc", "rows": rows, **query.visible()}
        if clauses:
            found["fq"] = " ".join(clauses)
        if self.count:
            return found | {"rows": 0}
        if self.start is not None:
            found["start"] = self.start
        if self.alone or self.fields:
            found["fl"] = _IDS[self.fields or "id"]
        return found


class NoIdsError(AnswerError):
    """An answer that is no list of ids.

    Args:
        is_whole: whether it has whole records; else the ids lack the stamps.
    """

    def __init__(self, *, is_whole: bool) -> None:
        super().__init__("refused", _WHOLE if is_whole else _NO_STAMPS)
        self.is_whole = is_whole


class PackageCrawl(Crawl, Protocol):
    """A crawl of packages; a `PackageSpider` is one.

    Attributes:
        api: how the portal is asked.
        withdrawals: what looks for those that a whole listing lacks.
    """

    api: API

    @property
    def withdrawals(self) -> Withdrawals: ...

    def parse_record(self, response: Response, record: Any, allowed: int, variant: int, position: int) -> Output:
        """Yield what a record leads to.

        Args:
            allowed: how many of its resources the user's limit leaves.
            variant: the index in `API.variants` of the one that the portal answers to.
            position: its place among those taken from its page.
        """


# Why a page did not come


@dataclass(frozen=True, slots=True)
class Refusal(Fault):
    """Why CKAN does not answer.

    Args:
        date: the answer's ``Date`` header.
        is_no_list: whether an answer came that is no list of ids.
        is_whole: whether that has whole records.
    """

    date: str | None = None
    is_no_list: bool = False
    is_whole: bool = False

    @property
    def is_final(self) -> bool:
        """Whether the portal would repeat its answer: a 3xx or 4xx, but no time-out or rate limit."""
        return self.status is not None and 300 <= self.status < 500 and self.status not in (408, 429)

    @property
    def is_of_question(self) -> bool:
        """Whether only another question helps; success: false without an error status may be of one record."""
        return self.is_final or self.is_no_list or (self.is_first and self.is_elsewhere)

    @property
    def is_lasting(self) -> bool:
        """Whether what was requested does not exist."""
        return self.status in (404, 410) and self.error.kind != "blocked"

    @property
    def wants_post(self) -> bool:
        """Whether the portal says, in its own envelope, that it requires POST."""
        return self.status == 405 or bool(_POST.search(str(self.error)))

    @property
    def is_elsewhere(self) -> bool:
        """Whether this is no CKAN API, so that another variant may reach it."""
        is_no_answer = self.is_final or self.error.kind in ("not_json", "refused")
        return is_no_answer and (not self.is_spoken or self.wants_post) and not self.is_no_list


def refused(error: AnswerError, response: Response | None, *, is_first: bool = False) -> Refusal:
    """Return why CKAN did not answer, in its own words.

    Args:
        response: what came; ``None`` if nothing did.
        is_first: whether no page of a list came before.
    """
    is_whole = isinstance(error, NoIdsError) and error.is_whole
    found = Refusal(error, is_first=is_first, is_no_list=isinstance(error, NoIdsError), is_whole=is_whole)
    if response is None:
        return found
    reason = api.refusal(response)
    if reason and error.kind == "http":
        error = AnswerError("http", f"{error}: {reason}")
    return replace(found, error=error, status=response.status, is_spoken=bool(reason), date=api.date(response))


def of_failure(failure: Failure) -> Refusal:
    """Return why a request failed, in CKAN's own words if it answered."""
    return refused(failures.from_failure(failure), getattr(failure.value, "response", None))


# What is tried then


@dataclass(frozen=True, slots=True)
class ByOffset:
    """The same page by its offset, at a portal that refuses the one behind an id, or does not give it."""

    when: Callable[[Refusal], bool]
    most: int = 1
    name: str = "offset"

    def instead(self, walk: Walk[Ask], fault: Any, dialect: Any) -> Walk[Ask] | None:
        if not walk.ask.is_by_id or not self.when(fault):
            return None
        return replace(walk, ask=replace(walk.ask, start=walk.came, alone=""))


def _is_refused(fault: Refusal) -> bool:
    return fault.error.kind == "refused" or (fault.is_final and (fault.status or 0) >= 400)


# The listing


class Packages(Dialect[Ask]):
    """The packages that package_search lists."""

    asks = Ask
    traits = Traits(way="place", windows=(), ends_by="short_page")
    subject = "the portal"
    ladder: ClassVar[tuple[Rung, ...]] = (
        Instead("other_variant", most=20),
        ByOffset(when=_is_refused),
        Again(),
        Smaller((100, 10, 1)),
        Instead("id_alone"),
        ByOffset(when=lambda fault: not fault.is_final),
        Instead("otherwise"),
    )

    def __init__(self, crawl: PackageCrawl) -> None:
        self.crawl = crawl
        self.first_fault: Refusal | None = None

    def query(self, ask: Ask) -> Query:
        """Return the filters that a page is asked by."""
        return self.crawl.api.query

    def walk(self, ask: Ask) -> Walk[Ask]:
        """Return the walk of a list before its first page."""
        rows, limits = self.crawl.args["rows"], self.crawl.limits
        if ask.fields:
            name = "stamps" if ask.fields == "stamps" else "ids"
            return Walk(ask=ask, name=name, is_of_ids=True, rows=rows, most=rows)
        return Walk(ask=ask, rows=limits.rows(rows, 0), most=limits.rows(rows, 0))

    def first(self) -> Walk[Ask]:
        return self.walk(Ask())

    def rows(self, walk: Walk[Ask]) -> int:
        """Return how many records a page is asked for: no more than the user wants."""
        rows = walk.rows or 1
        return self.crawl.limits.rows(rows, walk.listed) if walk.has_records else rows

    def request(self, walk: Walk[Ask]) -> Request:
        ask = walk.ask
        parameters = ask.parameters(self.query(ask), self.rows(walk))
        request = self.crawl.api.variants[ask.variant].request("package_search", parameters)
        if ask.since:  # what is new can't come from a cache
            request.headers["Cache-Control"] = "no-cache"
        return request

    def read(self, response: Response, walk: Walk[Ask]) -> ListingPage[Ask]:
        records, count = api.packages(response)
        if _is_redirected(response) and not _is_answer_to(response, self.request(walk)):
            raise AnswerError("refused", f"the portal redirected to another question, {response.url[:300]}")
        self.first_fault = None
        ask, ids = walk.ask, [name for name in map(identity, records) if name]
        if walk.purpose == "count":
            return _number(walk, count)
        if ask.alone:
            entries = [Entry(each, None) for each in ids[:1]]
            following = replace(ask, last=ids[0], alone="", passed=ask.passed + 1) if ids else None
            return ListingPage(entries=entries, next=following, behind=count if ids else None)
        is_ascending = _is_ascending(records, ids, ask.last)
        if ask.is_by_id and not is_ascending:
            raise AnswerError("refused", "the portal does not page by id")
        if walk.is_of_ids:
            self.check_ids(records, walk)
        is_by_offset = ask.start is not None or not is_ascending
        start = walk.came + len(records) if is_by_offset else None
        return ListingPage(
            entries=[
                Entry(identity(one), one, api.resources(one))
                for one in records
                if api.is_there(one) or identity(one) is None
            ],
            next=replace(ask, last=ids[-1] if ids else ask.last, start=start, passed=0),
            came=len(records),
            asked=self.rows(walk),
            total=None if ask.start is None else count,
            behind=count if ask.start is None else None,
            apart=self.apart(records, walk),
            is_open=count is None,  # a page may be shorter than others, and not the last
        )

    def check_ids(self, records: list[Any], walk: Walk[Ask]) -> None:
        """Check a page of ids.

        Raises:
            NoIdsError: it can't say what it is asked for.
        """
        is_stamps = walk.ask.fields == "stamps" and not walk.pages
        if (is_stamps or walk.ask.instead_of) and _is_whole(records):
            raise NoIdsError(is_whole=True)
        is_known = not records or any(map(api.stamp, records))
        if is_stamps and not is_known:
            raise NoIdsError(is_whole=False)

    def apart(self, records: list[Any], walk: Walk[Ask]) -> int:
        """Return how many datasets of a page are not there, and were on no page before."""
        ids = [name for record in records if not api.is_there(record) and (name := identity(record))]
        return sum(self.crawl.seen(each, list_name="not there", listed_by=walk.key) for each in ids)

    def items(self, response: Response, entry: Entry, allowed: int, walk: Walk[Ask], position: int) -> Output:
        if walk.ask.alone:
            error = AnswerError("refused", f"the portal can't give this dataset's record: {walk.ask.alone}")
            self.crawl.failed("list", error, response.request, dataset_id=entry.id, missing="dataset")
        else:
            yield from self.crawl.parse_record(response, entry.record, allowed, walk.ask.variant, position)

    # When a page does not come

    def fault(self, error: AnswerError, response: Response | None, walk: Walk[Ask]) -> Refusal:
        found = refused(error, response, is_first=not walk.pages)
        if found.is_first and self.first_fault is None:
            self.first_fault = found
        return found

    def reported(self, fault: Fault, walk: Walk[Ask]) -> Fault:
        """Return the first variant's refusal, if none was answered."""
        if walk.pages or self.first_fault is None or fault.error.kind == "blocked":
            return fault
        first = self.first_fault
        is_no_ckan = first.is_lasting and not first.is_spoken
        error = AnswerError(first.error.kind, f"{first.error}: {_NO_CKAN}") if is_no_ckan else first.error
        return replace(first, error=error)

    def other_variant(self, walk: Walk[Ask], fault: Refusal) -> Walk[Ask] | None:
        """Return the walk by the next variant of the API, before a page came."""
        following = walk.ask.variant + 1
        if walk.pages or not fault.is_elsewhere or following == len(self.crawl.api.variants):
            return None
        return replace(walk, ask=replace(walk.ask, variant=following))

    def id_alone(self, walk: Walk[Ask], fault: Refusal) -> Walk[Ask] | None:
        """Return the walk that asks for the id of the single record that does not come, to go on behind it."""
        ask = walk.ask
        is_single = walk.rows == 1 and ask.start is None and not walk.is_of_ids and not ask.alone
        if not is_single or ask.passed >= MOST_ALONE or fault.is_of_question:
            return None
        most = self.walk(ask).most  # this record broke its pages, and not their size
        return replace(walk, ask=replace(ask, alone=str(fault.error)), skipped=1, most=most)

    def otherwise(self, walk: Walk[Ask], fault: Refusal) -> Walk[Ask] | None:
        """Return the list that stands in for one of stamps that the portal refuses."""
        return None

    # When fewer came than there are

    def is_doubtful(self, walk: Walk[Ask]) -> bool:
        """Return whether a number is asked for: of none, of too few, or of pages that count differently."""
        ask = walk.ask
        if walk.stale >= self.traits.patience and walk.lap == 1:
            return False  # pages repeat; a second list would, too
        if walk.contradiction or ask.instead_of:
            return not ask.count
        is_nothing = walk.total == 0 and not (self.query(ask).filtered or ask.since or walk.is_of_ids or ask.count)
        return is_nothing or super().is_doubtful(walk)

    def count(self, walk: Walk[Ask]) -> Ask | None:
        return None if walk.ask.instead_of else replace(walk.ask, count="all", alone="")

    def laps(self, walk: Walk[Ask]) -> list[Ask]:
        """Return the list by offset: paging by id fails if the portal sorts and compares apart."""
        is_by_offset = walk.lap == 1 and walk.ask.start is not None
        return [] if is_by_offset and not walk.has_moved else [by_offset(walk.ask)]


def by_offset(ask: Ask) -> Ask:
    """Return what the beginning of the same list is asked by, by offset."""
    return replace(ask, start=0, last=None, alone="", passed=0, count="", counted=None, instead_of=None)


def _number(walk: Walk[Ask], count: int | None) -> ListingPage[Ask]:
    """Return what an answer about the number holds; if pages count differently, it is asked for as they are, too."""
    ask = walk.ask
    if ask.count == "behind":
        message = f"it counts {ask.counted} datasets, and {count} behind an id: it answers two questions"
        contradiction = "" if fits(ask.counted, count) else f"{message}, and neither list is whole"
        return ListingPage(total=ask.counted, contradiction=contradiction)
    if walk.contradiction and ask.is_by_id:
        following = replace(ask, count="behind", counted=walk.total if count is None else count)
        return ListingPage(total=count, next=following)
    first = replace(ask, count="") if count and not walk.came else None
    return ListingPage(total=count, next=first)


def _is_ascending(records: list[Any], ids: list[str], last: str | None) -> bool:
    """Return whether a page's ids ascend, from the last id of the page before."""
    before = [last, *ids] if last is not None else ids
    return bool(ids or not records) and all(lower < higher for lower, higher in pairwise(before))


def _is_whole(records: list[Any]) -> bool:
    """Return whether records are whole, although only ids were requested."""
    return any(isinstance(found, dict) and not found.keys() <= {"id", "metadata_modified"} for found in records)


def _is_redirected(response: Response) -> bool:
    return response.request is not None and "redirect_urls" in response.request.meta


def _is_answer_to(response: Response, asked: Request) -> bool:
    """Return whether a redirect kept the question: neither lost its query, nor turned a POST into a GET."""
    method = response.request.method if response.request else None
    return (parse_qs(urlsplit(response.url).query), method) == (parse_qs(urlsplit(asked.url).query), asked.method)
