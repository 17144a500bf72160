"""A CSW's listing: the pages of GetRecords, and what helps when a server refuses, miscounts or repeats them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from lxml import etree
from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.kinds.csw import getrecords, schemas
from crawlers.kinds.csw.answers import (
    Capabilities,
    ServiceError,
    capabilities,
    digest,
    doubles,
    entry,
    mark,
    of_failure,
    results,
    title,
)
from crawlers.kinds.csw.getrecords import Query
from crawlers.listing.dialect import LASTING, WINDOWS, Dialect, Fault, Rung, Traits, repeated
from crawlers.listing.evidence import is_windowed
from crawlers.listing.ladder import Again, Instead, Onward, Other, Smaller, begun
from crawlers.listing.since import beginning
from crawlers.listing.walk import Entry, ListingPage, Offer, Part, Walk
from crawlers.records import xml
from crawlers.records.moment import moment, now, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.kinds.csw.answers import Results
    from crawlers.listing.crawl import Crawl

ROWS = 100
UNDATED: Part = ("undated", "")
"""The records without a date of modification."""
_EARLY: Part = ("", "1900-01-01T00:00:00Z")
_SOON = timedelta(days=2)
_XML = {"Content-Type": "application/xml", "Accept": "application/xml, text/xml;q=0.9, */*;q=0.1"}
_PLAIN = "csw:Record"
_SOME = 50
_MOST_BACK = 5
"""How often a walk goes back to find the end of the page before."""
_TRIED = 3
"""Records at the beginning that are asked for, one by one, before a schema that a server promises is given up."""
_PROPERTIES = {
    "identifier": (("dc", "dc:identifier"), ("apiso", "apiso:Identifier")),
    "modified": (("dct", "dct:modified"), ("apiso", "apiso:Modified")),
}
"""Prefix and name of what a list is ordered and filtered by, for csw:Record and for ISO's types."""
_FILTER = ("constraint", "filter", "propertyname", "valuereference", "modified")
_SCHEMA = ("outputschema", "otherschema")
_PART = "gives only a part of what it has: it can't be asked for less at once"
_NO_UNDATED = "it can't be asked for the records without a date of modification"
_HOLE, _UNREAD = "hole", "unread"
"""Why a page did not come, where no server says it so: a record is not rendered; the request was not understood."""
_MOVED = "the list changed while it was read, so records may be missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a page is asked by.

    Args:
        endpoint: the server's address.
        version: of CSW.
        method: POST or GET.
        uris: the output schemas that may be tried, in their order.
        uri: the present one.
        is_promised: whether the server says that it gives them.
        is_plain: whether the type is csw:Record for any schema.
        sort: the property that orders the records, of csw:Record and of ISO's types; empty if the server orders none.
        modified: the property of the last change, of both, too; empty if the server does not filter by it.
        since: only what was modified then or later.
        start: the position of the page's first record, from 1.
        most: how many records are asked for at most.
        last: the mark of the last record before this page, which has to be on this page again: if records are deleted
            meanwhile, all others move forward, and one would be passed over.
        is_back: whether the page begins further back, for the last one did not have that record.
        backs: how often the walk went back.
        has_moved: whether records may have been passed over, for the list changed.
        is_single: whether only the record at this position is asked for, as Dublin Core: its page breaks.
        is_trial: whether a later record shows if the schema is given at all: the first one was refused in it.
        least: how many records there are at least, after a first lap.
    """

    endpoint: str
    version: str = "2.0.2"
    method: str = "POST"
    uris: tuple[str, ...] = ()
    uri: str = ""
    is_promised: bool = False
    is_plain: bool = False
    sort: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    since: str = ""
    start: int = 1
    most: int = ROWS
    last: str = ""
    is_back: bool = False
    backs: int = 0
    has_moved: bool = False
    is_single: bool = False
    is_trial: bool = False
    least: int = 0

    @property
    def schema(self) -> str:
        return schemas.dublin_core(self.version) if self.is_single else schemas.in_version(self.uri, self.version)

    @property
    def has_substitute(self) -> bool:
        """Whether Dublin Core can stand in for a record, with the same id."""
        schema = schemas.by_uri(self.uri)
        return not (schema.is_rdf or schema.is_dublin_core)

    def at(self, start: int, **changes: Any) -> Ask:
        """Return what a page at a position is asked by, of which no record is known."""
        fresh: dict[str, Any] = {"last": "", "is_back": False, "is_single": False, "is_trial": False}
        return replace(self, start=start, **fresh | changes)


# Rungs


def _named(*words: str) -> Callable[[Fault], bool]:
    """Return whether a server names one of these as its reason, in any spelling."""
    return lambda fault: any(word in fault.about.replace(" ", "").replace("_", "") for word in words)


def _coded(*codes: str) -> Callable[[Fault], bool]:
    return lambda fault: not {*codes}.isdisjoint(fault.about.split())


def _is_unnamed(fault: Fault) -> bool:
    """Return whether a server refuses a first page for a reason that it does not name."""
    is_first = fault.is_of_page and fault.is_first and fault.error.kind not in LASTING
    return is_first and not _named(*_SCHEMA)(fault)


def _is_a_part(fault: Fault) -> bool:
    """Return whether a server gives nothing behind the last record that it gives of a range."""
    return fault.about == _PART


def _is_broken(fault: Fault) -> bool:
    """Return whether an answer came that can't be read; a refusal would be repeated."""
    return fault.error.kind != "refused"


def _is_found(walk: Walk[Ask], fault: Fault) -> bool:
    """Return whether the record that breaks its page is known: it is the first one."""
    return fault.about == _HOLE or (walk.rows == 1 and fault.is_of_page)


class GetRecords(Dialect[Ask]):
    """The pages of GetRecords. What a server says of itself is a hint: its capabilities come first, and may lie.

    Args:
        url: of the server, with or without a request in it.
    """

    asks = Ask
    traits = Traits(way="place")
    subject = "the server"
    ladder: ClassVar[tuple[Rung, ...]] = (
        Onward(when=_is_a_part),
        Instead("unfiltered", most=2),
        Instead("other_schema", most=20),
        Other("sort", ((),), is_for_first_only=True, when=_named("sort")),
        Other("is_plain", (True,), is_for_first_only=True, when=_named("typename")),
        Other("version", ("3.0.0",), is_for_first_only=True, when=_coded("version", "versionnegotiationfailed")),
        Other("method", ("GET",), is_for_first_only=True, when=_coded("request", "service", _UNREAD)),
        Other("sort", ((),), is_for_first_only=True, when=_is_unnamed),
        Other("method", ("GET",), is_for_first_only=True, when=_is_unnamed),
        Again(when=_is_broken),
        Smaller((25, 5, 1)),
        Instead("alone", most=3),
        Instead("without", most=3),
    )

    def __init__(self, crawl: Crawl, url: str) -> None:
        self.crawl, self.url = crawl, url

    @cached_property
    def schema(self) -> str | None:
        """The name of the only schema that is wanted: the user's, or that of the datasets on disk."""
        own, held = self.crawl.args["schema"], self.held_schema()
        if own and held and own != held:
            self.crawl.logger.warning("This source's records are in %s; those in %s have other ids", held, own)
        return own or held

    def held_schema(self) -> str | None:
        """Return the schema of most of the source's datasets; ``None`` if there are none.

        A few may be in Dublin Core, where the server could not render them.
        """
        addresses = (one.metadata_url or "" for one in islice(self.crawl.opened_index().documents.held(), _SOME))
        uris = Counter(filter(None, map(getrecords.schema_of, addresses)))
        known = [uri for uri, _ in uris.most_common() if schemas.is_known(uri)]
        return schemas.by_uri(known[0]).name if known else None

    # Before the list: what the server says of itself

    def first(self) -> Walk[Ask]:
        since = beginning(self.crawl) if self.crawl.args["since"] else ""
        ask = Ask(endpoint=getrecords.endpoint(self.url), since=since)
        return Walk(ask=ask, purpose="count", rows=ROWS, most=ROWS)

    def renewed(self, walk: Walk[Ask]) -> Ask:
        """Return what the first page is asked by, of a server whose capabilities can't be read."""
        self.crawl.logger.info("The capabilities of %s can't be read; asking all the same", walk.ask.endpoint)
        return self.begun(walk.ask, None)

    def begun(self, ask: Ask, found: Capabilities | None) -> Ask:
        version, default = (found.version, found) if found else ("2.0.2", Capabilities("2.0.2"))
        uris = schemas.candidates(version, default.schemas, self.schema)
        sort, modified = (
            tuple(default.queryable(word, prefix, name) for prefix, name in both) for word, both in _PROPERTIES.items()
        )
        is_promised = not {*uris}.isdisjoint(default.schemas)
        ask = replace(ask, version=version, uris=uris, uri=uris[0], is_promised=is_promised)
        return replace(ask, sort=sort, modified=modified)

    # Requests

    def request(self, walk: Walk[Ask]) -> Request:
        ask = walk.ask
        if walk.purpose == "count":
            return Request(getrecords.capabilities_address(ask.endpoint))
        query = self.query(walk)
        if ask.method == "POST":
            request = Request(ask.endpoint, method="POST", headers=_XML, body=getrecords.body(query))
        else:
            request = Request(getrecords.address(ask.endpoint, query), headers={"Accept": _XML["Accept"]})
        if ask.since:  # what is new can't come from a cache
            request.headers["Cache-Control"] = "no-cache"
        return request

    def query(self, walk: Walk[Ask]) -> Query:
        ask, rows = walk.ask, min(walk.rows or ROWS, walk.ask.most)
        kind = _PLAIN if ask.is_plain else schemas.by_uri(ask.schema).type
        sort, modified = (names[kind != _PLAIN] if names else "" for names in (ask.sort, ask.modified))
        start = self._begins(walk, rows)
        rows = 1 if ask.is_single else min(rows, self.crawl.limits.rows(rows, walk.listed) + ask.start - start)
        since, until = walk.parts[0] if walk.parts else (ask.since[:10], "")
        if is_undated := bool(walk.parts) and walk.parts[0] == UNDATED:
            since = ""
        return Query(ask.version, ask.schema, kind, start, rows, sort, modified, since, until, is_undated)

    def _begins(self, walk: Walk[Ask], rows: int) -> int:
        """Return the position of the first record that is asked for: earlier, if a known record has to be there."""
        start = walk.ask.start
        gives_one = walk.largest == 1 and (walk.is_capped or walk.total is None)
        if not walk.ask.last or 1 in (start, rows) or gives_one:
            return start
        return max(1, start - (max(2, min(rows, walk.largest) // 2) if walk.ask.is_back else 1))

    # Answers

    def read(self, response: Response, walk: Walk[Ask]) -> ListingPage[Ask]:
        if walk.purpose == "count":
            told = capabilities(xml.root(response))
            if told is None:
                raise AnswerError("refused", "the answer is something else than capabilities")
            return ListingPage(next=self.begun(replace(walk.ask, endpoint=getrecords.endpoint(response.url)), told))
        query = self.query(walk)
        found = results(response, query.rows)
        self._check(walk, found)
        for sentence in found.flaws:
            self.crawl.failed("parse", AnswerError("repaired_text", sentence), response.request)
        return self._page(walk, query, found, response)

    def _check(self, walk: Walk[Ask], found: Results) -> None:
        """Check that the first page, and a single record, is what was asked for."""
        ask = walk.ask
        if ask.is_single and not found.elements:
            raise ServiceError("the server gives no record there", _HOLE)
        if walk.parts and walk.parts[0] == _EARLY and found.matched in WINDOWS:
            raise ServiceError("the server gives as much as ever of what was modified before 1900", "filter")
        if walk.pages:
            return
        schema = schemas.by_uri(ask.schema)
        if ask.is_trial and not found.elements:
            raise ServiceError("the server gives no record there", "outputschema")
        if found.elements and not schemas.is_given(ask.schema, found.elements):
            came = etree.QName(found.elements[0]).localname[:100]
            raise ServiceError(f"the server was asked for {schema.name} and gives {came}", "otherschema")
        is_all = not (ask.since or walk.parts)
        if is_all and not (found.received or found.matched or ask.is_plain) and schema.type != _PLAIN:
            raise ServiceError(f"the server has no records of the type {schema.type}", "typename")

    def _page(self, walk: Walk[Ask], query: Query, found: Results, response: Response) -> ListingPage[Ask]:
        """Return what is listed of an answer, and what follows; raise what breaks it off before anything new."""
        ask = walk.ask
        if ask.is_trial:  # so the schema is given, and the first record is one that breaks its page
            return ListingPage(next=ask.at(1, is_single=True), came=0, is_new=True, total=self._total(walk, found))
        holes = [place for place in found.holes if query.start + place >= ask.start]
        hole = holes[0] if holes and ask.has_substitute else None
        found = found if hole is None else found.before(hole)
        start, fault = max(ask.start, query.start + found.received), found.fault
        is_linked = query.start == ask.start or ask.last in map(mark, found.elements)
        if hole is not None:
            fault = ServiceError("the server can't render the record", _HOLE)
        if fault and (start == ask.start or not is_linked):
            raise fault
        if not is_linked and not ask.is_back and ask.backs < _MOST_BACK:
            back = replace(ask, is_back=True, backs=ask.backs + 1)  # where the end of the page before may be
            page = ListingPage(next=back, came=0, is_new=True, has_moved=True, total=self._total(walk, found))
            page.entries, page.apart, page.lost = self._taken(walk, found, response)
            return page
        ask = replace(ask, has_moved=ask.has_moved or not is_linked)
        page = ListingPage(ask=ask, asked=query.rows, total=self._total(walk, found), fault=fault)
        page.entries, page.apart, page.lost = self._taken(walk, found, response)
        for place in () if ask.has_substitute else holes:
            error = AnswerError("refused", f"the server can't render the record at position {query.start + place}")
            self.crawl.failed("list", error, response.request)
            page.lost += 1
        page.came = 1 if ask.is_single else start - ask.start
        page.overlap, page.has_moved, page.is_open = found.received - page.came, ask.has_moved, page.total is None
        if ask.has_moved and (ask.sort or page.total is None):
            page.offers = [Offer("left", "moved", why_not=_MOVED)]
        if ask.is_single:
            page.next, page.is_substitute = ask.at(ask.start + 1), True
        elif hole is not None:
            page.next = replace(ask.at(start), is_single=True)
        elif page.came and not (walk.lap > 1 and page.total is None):  # nothing would end such a further look
            has_last = found.elements and found.received - 1 not in found.holes
            page.next = replace(ask.at(start), last=mark(found.elements[-1]) if has_last else "")
        return page

    def _total(self, walk: Walk[Ask], found: Results) -> int | None:
        """Return how many records there are: the largest number counts, and a further look has nearly as many."""
        if walk.lap > 1 and walk.total is not None:
            return walk.total
        is_number = found.matched is not None and (found.matched > 0 or not found.elements)
        total = max(found.matched or 0, walk.total or 0) if is_number else walk.total
        if walk.lap > 1 and len(walk.parts) < 2 and total is not None and total not in WINDOWS:
            return max(total, walk.ask.least - walk.before)
        return total

    def _taken(self, walk: Walk[Ask], found: Results, response: Response) -> tuple[list[Entry], int, int]:
        """Return the records, how many others describe no dataset of their own, and how many are not kept."""
        asked = walk.ask.endpoint, walk.ask.version, walk.ask.schema
        read = [entry(element, response, asked, self.crawl) for element in found.elements]
        entries = [each for each in read if isinstance(each, Entry)]
        others = [each for each in read if isinstance(each, str)]
        apart = sum(self.crawl.seen(name, list_name="apart", listed_by=walk.key) for name in others)
        if others and self.crawl.crawler.stats:
            self.crawl.crawler.stats.set_value("catalogue/not_datasets", self.crawl.records.count("apart"))
        lost = 0
        for first, again in doubles(entries):
            error = repeated(title(first), title(again), self.subject)
            self.crawl.failed("list", error, response.request, dataset_id=first.id)
            if error.kind == "repeated_id":
                version = f"{first.id} {digest(again)}"
                apart += self.crawl.seen(version, list_name="versions", listed_by=walk.key)
            else:
                lost += not walk.ask.is_back  # else it was counted before
        return entries, apart, lost

    def items(self, response: Response, entry: Entry, allowed: int, *_: Any) -> Iterator[Dataset]:
        if isinstance(entry.record, dict):
            error = AnswerError(entry.record["kind"], entry.record["message"])
            self.crawl.failed("parse", error, response.request, dataset_id=entry.id, missing=entry.id and "dataset")
            return
        item: Dataset = entry.record
        if self.crawl.limits.resources:
            item.resources = item.resources[:allowed]
        item.retrieved = now()
        yield item

    # What did not come

    def fault(self, error: AnswerError, response: Response | None, walk: Walk[Ask]) -> Fault:
        told = of_failure(response) if error.kind == "http" else None
        found = super().fault(told or error, response, walk)
        about = str(getattr(found.error, "about", ""))
        if found.is_of_host:
            return found
        reason = self._reason(walk, about, found)
        if reason is None:  # one record of the page may be the reason: servers name others for that
            return replace(found, about=about, is_of_page=True)
        return replace(found, is_spoken=True, about=reason)

    def _reason(self, walk: Walk[Ask], about: str, fault: Fault) -> str | None:  # noqa: PLR0911
        """Return why neither the same page nor a smaller one would come; ``None`` if they may."""
        ask = walk.ask
        if walk.purpose == "count":
            return ""
        if ask.is_single or about == _HOLE:
            return _HOLE
        if is_windowed(walk, self.traits) and (ask.start > (walk.total or 0) or "window" in about):
            return _PART
        if walk.parts and walk.parts[0] == UNDATED and ask.start == 1:
            return _NO_UNDATED
        if walk.pages:
            return None
        if walk.rows == 1 and ask.uri == ask.uris[-1] and any(word in about for word in _SCHEMA):
            return None if ask.is_promised else ""  # else a record may be the reason
        is_silent = fault.status is not None and 400 <= fault.status < 500 and not about
        return _UNREAD if is_silent or any(word in about for word in ("html", "noresults")) else None

    def reported(self, fault: Fault, walk: Walk[Ask]) -> Fault:
        """Return the fault; with advice, if the schema that the source has is no longer given."""
        if fault.about in (_PART, _NO_UNDATED):
            message = f"{self.subject} listed {walk.listed} datasets, and {fault.about}"
            return replace(fault, error=AnswerError("unproven", message))
        error = fault.error
        if walk.pages or self.schema is None or "schema" not in str(getattr(error, "about", "")):
            return fault
        advice = "another schema changes the ids of all datasets: to take it, choose it with -a schema="
        message = f"{error}; this source's records are in {self.schema}, and {advice}"
        return replace(fault, error=AnswerError(error.kind, message))

    def unfiltered(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the whole list in one, from a server that does not filter by date."""
        if not (walk.parts or walk.ask.since) or not _named(*_FILTER)(fault):
            return None
        if walk.ask.since:
            self.crawl.logger.info("The server does not filter by date: everything is listed")
            self.crawl.run_state.since = ""
        modified = () if walk.parts else walk.ask.modified
        return begun(walk, walk.ask.at(1, since="", modified=modified), parts=(), before=0)

    def other_schema(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the first record alone, which may be the reason; then those behind it; then the next schema."""
        ask = walk.ask
        is_own = _named("outputschema")(fault)
        if walk.pages or not _named(*_SCHEMA)(fault):
            return None
        if is_own and walk.rows != 1:
            return replace(walk, rows=1)
        if is_own and ask.is_promised and ask.has_substitute and ask.start < _TRIED and not walk.lost:
            return replace(walk, ask=ask.at(ask.start + 1, is_trial=True))
        behind = ask.uris[ask.uris.index(ask.uri) + 1 :]
        rows = 1 if walk.lost else ROWS  # behind a record that is left out, the next one is asked for alone
        if ask.is_trial:
            first = ask.at(1, uri=behind[0]) if behind else ask.at(1, is_single=True)
            return replace(walk, rows=ROWS if behind else 1, ask=first)
        return replace(walk, rows=rows, ask=replace(ask, uri=behind[0])) if behind else None

    def alone(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return the record that breaks its page as Dublin Core, which servers give without rendering it."""
        if not _is_found(walk, fault) or walk.ask.is_single or not walk.ask.has_substitute:
            return None
        return replace(walk, ask=replace(walk.ask.at(walk.ask.start), is_single=True))

    def without(self, walk: Walk[Ask], fault: Fault) -> Walk[Ask] | None:
        """Return what is behind the record that breaks its page, which is reported as lost.

        If it was refused in every schema, as no page came, the one behind it is asked for in the first of them.
        """
        if not _is_found(walk, fault):
            return None
        uri = walk.ask.uris[0] if not walk.pages and _named(*_SCHEMA)(fault) else walk.ask.uri
        ask = walk.ask.at(walk.ask.start + 1, uri=uri)
        return replace(walk, ask=ask, came=walk.came + 1, lost=walk.lost + 1, skipped=walk.skipped + 1)

    # Ranges of dates, and a further look

    def split(self, walk: Walk[Ask]) -> Sequence[Part]:
        """Return both halves of a range of dates, or the ranges to begin with; no later one depends on the clock.

        Nearly nothing was modified in the first of them, and in the last one: a server that gives much for the first
        does not filter. Records without a date come last, unless only those are wanted that were modified.
        """
        if walk.parts:
            return _halves(walk.parts[0])
        if not walk.ask.modified:
            return ()
        self.crawl.logger.info("The server gives only a part of a long list: trying ranges of dates")
        since, soon = walk.ask.since[:10], written(datetime.now(UTC) + _SOON)
        return _EARLY, (since or _EARLY[1], soon), (soon, ""), *(() if since else (UNDATED,))

    def ranged(self, walk: Walk[Ask], part: Part) -> Ask:
        return walk.ask.at(1)

    def laps(self, walk: Walk[Ask]) -> Sequence[Ask]:
        """Return the beginning, once more, in pages that end elsewhere; a list that lost a tenth is no whole one."""
        most = min(walk.ask.most, walk.largest) - 1 or 2
        least = (walk.before + (walk.total or 0)) * 9 // 10
        return (replace(walk.ask.at(1), most=most, least=least, has_moved=False, backs=0),)

    def is_doubtful(self, walk: Walk[Ask]) -> bool:
        """Return whether a further look may find more; without a total nothing would end it."""
        is_repeated = walk.stale >= self.traits.patience
        if walk.expected is None or is_repeated or is_windowed(walk, self.traits):
            return False
        return walk.ask.has_moved or walk.listed + walk.lost < walk.expected


def _halves(part: Part) -> Sequence[Part]:
    begin, end = moment(part[0]), moment(part[1])
    if begin is None or end is None or end - begin < timedelta(seconds=2):
        return ()
    middle = written(begin + (end - begin) / 2)
    return (part[0], middle), (middle, part[1])
