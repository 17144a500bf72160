"""What a declared listing is asked, and what its answers hold: the records, their number, the page behind."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol
from urllib.parse import quote, urlencode

from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.kinds.api.declaration import PLACES, Header, Variable
from crawlers.kinds.api.mapping import portal_names
from crawlers.listing.crawl import Crawl
from crawlers.records.moment import moment
from crawlers.safety import strict_json
from crawlers.safety.addresses import absolute, host
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.kinds.api.declaration import Declaration, Listing, Sought, Values
    from crawlers.kinds.api.expressions import Template
    from crawlers.kinds.api.mapping import Reading
    from crawlers.listing.walk import Walk

    Pair = tuple[str, Any]

Headers = Mapping[str, str]
"""The headers of an answer, by their names in small letters."""
NONE: Headers = {}
_SHOWN = 200
_LONGEST = 64 * 1024
SIZES = (100, 25, 5, 1)
"""How many records are requested where more fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a page is asked by, and what the pages before it have shown.

    The records behind a server's window are a section of their own, as are those without a stamp.

    Args:
        at: the offset of its first new record, its number from 0, a link, a token, the last id or sort values; ``None``
            for the first page.
        rows: how many records the pages have that the number counts; ``None`` for as many as are declared.
        overlap: how many records of the page before an offset asks for again, to see whether any has moved.
        last: what the last record of the page before is known by; empty if that can't be asked for again.
        section: which records: ``all``, ``window`` (those from `bound` on), ``rest`` (those without a stamp), or
            ``recent`` (those that changed since the listing began).
        begun: when the listing began.
        counted: how many records there are, if that was asked before; pages have no total then.
        refused: why the first page was refused: the collections of the server are asked for.
        xsrf: the token that the portal wants to get back with each POST.
        received: how many records of this section have come.
        start: how many pages came before this section.
        bound: the stamp from which this section lists.
        seen: the last stamp that came.
        seen_at: what the record with that stamp is known by.
        awaited: the record that `bound` is of, until this section has listed it.
        order: 1 if the stamps ascend, -1 if they descend, 0 if that is not known yet.
        is_shuffled: whether they do both.
        is_undated: whether a record had no stamp.
        odd: a stamp that can't be sent back as a condition.
        latest: the last page's total.
        is_changed: whether the totals of pages differed.
        is_shrunk: whether one was smaller than that before it.
        shift: -1 if a page lacked the record that should be its first: records moved up, past the walk; 1 if they only
            moved down.
        is_again: whether a page was that before it once more.
        fault: what shows that a section was not whole.
    """

    at: Any = None
    rows: int | None = None
    overlap: int = 1
    last: str = ""
    section: Literal["all", "window", "rest", "recent"] = "all"
    begun: str = ""
    counted: int | None = None
    refused: str = ""
    xsrf: str = ""
    received: int = 0
    start: int = 0
    bound: Any = None
    seen: Any = None
    seen_at: str = ""
    awaited: str = ""
    order: int = 0
    is_shuffled: bool = False
    is_undated: bool = False
    odd: str = ""
    latest: int | None = None
    is_changed: bool = False
    is_shrunk: bool = False
    shift: int = 0
    is_again: bool = False
    fault: str = ""

    def of(self, section: Literal["all", "window", "rest", "recent"], **changes: Any) -> Ask:
        """Return what the first page of another section is asked by.

        Args:
            changes: fields of it.
        """
        beginning: dict[str, Any] = {"at": None, "rows": None, "last": "", "received": 0, "awaited": ""}
        return replace(self, section=section, **beginning | changes)

    def behind(self, pages: int) -> Ask:
        """Return the beginning of the section behind the window, which is to begin with the last record that came."""
        return self.of("window", bound=self.seen, awaited=self.seen_at, order=0, is_shuffled=False, start=pages)


class Answer(NamedTuple):
    """An answer of a listing.

    Args:
        page: its JSON.
        records: those of the page.
        url: its address, to which links are relative.
        headers: its headers, by their names in small letters.
    """

    page: Any
    records: list[Reading]
    url: str
    headers: Headers = NONE


class Query:
    """Builds the requests of a listing.

    Args:
        declaration: where the listing is.
        portal: the address that ``{portal}`` stands for.
        rows: how many records a page is to have, at most.

    Attributes:
        hosts: those that may be asked.
    """

    def __init__(self, declaration: Declaration, portal: str, rows: int | None = None) -> None:
        self.declaration, self.portal = declaration, portal
        self.listing = declaration.list
        self.paging = self.listing.paging
        self.values = portal_names(portal) | dict.fromkeys(PLACES, self.paging.first)
        others = [self.listing.url, *filter(None, [self.paging.url])]
        self.hosts = {host(portal), *(host(self.address(each)) for each in others), *self.listing.hosts}
        size = self.paging.size
        self.rows = min(size.max, rows or size.max) if size else None

    def address(self, template: Template) -> str:
        """Return an address of the portal."""
        return str(template.address(self.values))

    def headers(self) -> dict[str, str]:
        """Return the headers of each request, but for secrets: those are added when it is sent."""
        headers = {"Accept": "application/json"}
        return headers | dict(_pairs(self.listing.headers, self.values))

    def check_host(self, link: str, url: str = "") -> None:
        """
        Args:
            url: the answer's that has the link.

        Raises:
            AnswerError: the link leads to another host.
        """
        there = host(link)
        if there not in self.hosts and there != host(url):
            raise AnswerError("offsite", f"the next page is at {there}, which is not one of the catalogue's hosts")

    # Where a page begins

    @property
    def has_sizes(self) -> bool:
        """Whether a page that fails can be asked for with fewer records."""
        kind, has_url = self.paging.kind, self.paging.url is not None
        return self.paging.size is not None and kind not in ("none", "next") and not (kind == "token" and has_url)

    @property
    def has_fixed_places(self) -> bool:
        """Whether a page begins behind a record, wherever that has moved to."""
        return self.paging.kind in ("none", "last-id", "search-after")

    def overlap(self, walk: Walk[Ask]) -> int:
        """Return how many records a page is to have of the page before."""
        is_repeating = self.paging.kind == "offset" and bool(walk.ask.last) and (walk.rows or self.rows) != 1
        return walk.ask.overlap if is_repeating else 0

    def place(self, walk: Walk[Ask]) -> Any:
        """Return what a page is asked by: an offset, a number from 0, a link, a token ...; ``None`` for the first."""
        if self.paging.kind == "offset":
            return (walk.ask.at or 0) - self.overlap(walk)
        return self._numbered(walk)[1] if self.paging.kind == "page" else walk.ask.at

    def size(self, walk: Walk[Ask]) -> int | None:
        """Return how many records are requested, none of them behind the window; ``None`` if the server decides."""
        if self.paging.kind == "page":
            return self._numbered(walk)[0]
        size, window = walk.rows or self.rows, self.listing.window
        if size is None or window is None or self.paging.kind != "offset":
            return size
        return max(min(size, window.max - int(self.place(walk))), 1)

    def _numbered(self, walk: Walk[Ask]) -> tuple[int | None, int]:
        """Return how many records a numbered page has, and its number from 0: the place is where a page begins."""
        size, at = walk.rows or self.rows, walk.ask.at or 0
        if size is None:
            return None, at
        most = walk.largest if walk.is_capped else sys.maxsize  # of a server that gives fewer than it is asked for
        place = at * min(walk.ask.rows or self.rows or size, most)
        fitting = next(each for each in (size, *SIZES) if each <= size and place % min(each, most) == 0)
        return fitting, place // min(fitting, most)

    # Requests

    def request(self, walk: Walk[Ask], since: str, **keywords: Any) -> Request:
        """Return the request for a page.

        Args:
            since: the moment after which changes are requested; empty if all records are.
            keywords: of the request: meta ....
        """
        ask = walk.ask
        if ask.at is not None and self.paging.kind == "next":
            return Request(ask.at, headers=self.headers(), **keywords)
        at = self.paging.first + self.place(walk) if self.paging.kind in PLACES else ask.at
        asked = [(self.paging.param, at)] if self.paging.param and at is not None else []
        if ask.at is not None and self.paging.url:
            address, query = self.address(self.paging.url), []
        else:
            place = {self.paging.kind: at} if self.paging.kind in PLACES else {}
            address = str(self.listing.url.address(self.values | place))
            query = list(_pairs(self.listing.params, self.values))
            asked += [(self.paging.size.param, self.size(walk))] if self.paging.size else []
            asked += self._conditions(ask, since).items()
        if self.listing.body is None:
            names = {name for name, _ in asked}
            pairs = [*(pair for pair in query if pair[0] not in names), *asked]
            return Request(_url(address, pairs), headers=self.headers(), **keywords)
        body = deepcopy(dict(self.listing.body))
        for path, value in asked:
            *tables, name = path.split(".")
            table: Any = body
            for part in tables:  # those on the way are made
                table = table.setdefault(part, {})
            table[name] = value
        headers = {"Content-Type": "application/json"} | self.headers()
        return Request(_url(address, query), method="POST", headers=headers, body=json.dumps(body), **keywords)

    def _conditions(self, ask: Ask, since: str) -> dict[str, str]:
        """Return the conditions of a section by parameter, each joined to what the parameter has already."""
        found: dict[str, list[str]] = {}
        since = ask.begun if ask.section == "recent" else since
        conditions = list(_pairs(self.listing.since, self.values | moments(since))) if since else []
        restart = self.listing.window.restart if self.listing.window else None
        if restart and ask.section in ("window", "rest"):
            value = restart.rest if ask.section == "rest" else restart.value.fill({"seen": ask.bound})
            conditions.append((restart.param, str(value)))
        for name, value in conditions:
            found.setdefault(name, []).append(value)
        return {name: (self.listing.join or " ").join([*self._given(name), *parts]) for name, parts in found.items()}

    def _given(self, name: str) -> list[str]:
        """Return what a parameter has in every section: of the query, or of the body."""
        if self.listing.body is None:
            return [value for known, value in _pairs(self.listing.params, self.values) if known == name]
        place: Any = self.listing.body
        for part in name.split("."):
            place = place.get(part) if isinstance(place, dict) else None
        return [place] if isinstance(place, str) else []

    # The next page

    def following(self, answer: Answer, walk: Walk[Ask]) -> Ask | None:
        """Return what the page behind an answer is asked by; ``None`` if there is none.

        Raises:
            AnswerError: it can't be requested.
        """
        more = self.paging.more
        if more is not None and not more.find(answer.page):
            return None
        at = self._behind(answer, walk)
        if at is None:
            return None
        rows = self.size(walk) if self.paging.kind == "page" else None
        last = answer.records[-1].mark if len(answer.records) > 1 else ""
        return replace(walk.ask, at=at, rows=rows, last=last)

    def _behind(self, answer: Answer, walk: Walk[Ask]) -> Any:
        """Return where the page behind an answer begins, see `place`; ``None`` if there is none."""
        count = len(answer.records)
        match self.paging.kind:
            case "offset":  # if the page has more than the record that was asked for again
                return self.place(walk) + count if count > self.overlap(walk) else None
            case "page":
                return self._numbered(walk)[1] + 1 if count else None
            case "next":
                return self._next(answer)
            case "token" if count or self.paging.more:
                return text(answer.page, self.paging.token, answer.headers)
            case "last-id" | "search-after" if count:
                return self._last(answer.records)
        return None

    def _next(self, answer: Answer) -> str | None:
        link = text(answer.page, self.listing.next, answer.headers)
        if link is None:
            return None
        found = absolute(link, answer.url)
        if found is None:
            raise AnswerError("paging", f"the link to the next page is not an address: {link[:200]!r}")
        self.check_host(found, answer.url)
        return found

    def _last(self, records: list[Reading]) -> Any:
        """Return the last id, or sort values, that a record has."""
        wanted = self.paging.last
        found = next((last for each in reversed(records) if wanted and (last := wanted.find(each.record))), None)
        if found is None:
            raise AnswerError("paging", f"no record of the page has {wanted.text if wanted else ''!r}")
        return tuple(found) if isinstance(found, list) else found


class APICrawl(Crawl, Protocol):
    """A crawl of an API; an `APISpider` is one.

    Attributes:
        query: what is asked for.
    """

    query: Query

    @property
    def changed_since(self) -> str:
        """The moment after which changes are requested; empty if everything is listed."""

    def document(self, response: Response) -> Any:
        """Return the JSON of an answer.

        Raises:
            AnswerError: it is none, or says that something is wrong.
        """

    def parse_record(self, response: Response, record: Reading, allowed: int | None) -> Iterator[Any]:
        """Yield the item of a record, or the request for what it lacks.

        Args:
            allowed: how many of its resources the user's limit leaves; ``None`` for all.
        """

    def item(self, record: Reading, allowed: int | None, portal: str | None = None) -> Dataset:
        """Return the item of a record.

        Args:
            allowed: how many of its resources are kept; ``None`` for all.
            portal: the address that ``{portal}`` stands for in this record, if that is another.
        """


def moments(since: str) -> dict[str, Any]:
    """Return a moment in the forms that APIs take.

    >>> moments("2026-11-01T06:00:00Z")["since_day"], moments("2026-11-01T06:00:00Z")["since_s"]
    ('2026-11-01', 1793512800)
    """
    found = moment(since)
    seconds = int(found.timestamp()) if found else 0
    return {"since": since, "since_day": since[:10], "since_s": seconds, "since_ms": seconds * 1000}


def _pairs(values: Values, names: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, several in values.items():
        for value in several:
            if not isinstance(value, Variable):
                yield name, value.fill(names) or ""


def _url(address: str, pairs: list[Pair]) -> str:
    if not pairs:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode(pairs)}"


# What an answer holds, by its declaration


def records(page: Any, listing: Listing) -> list[Any] | None:
    """Return the records of a page; ``None`` if it has no list where they should be."""
    found = listing.records.find(page)
    return found if isinstance(found, list) else None


def total(page: Any, wanted: Sought | None, headers: Headers = NONE) -> int | None:
    """Return how many records there are in all; ``None`` if that is unknown. It may be a text, or 20.0."""
    found = _found(page, wanted, headers)
    if isinstance(found, float) and found.is_integer() and found < 1e15:
        found = int(found)
    if isinstance(found, str) and re.fullmatch(r"\s*[0-9]{1,15}\s*", found):
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def text(page: Any, wanted: Sought | None, headers: Headers = NONE) -> str | None:
    """Return a text or a number that an answer has, as a text: a link, a token."""
    found = _found(page, wanted, headers)
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    return str(found).strip() or None


def _found(page: Any, wanted: Sought | None, headers: Headers) -> Any:
    if wanted is None:
        return None
    return wanted.find(headers) if isinstance(wanted, Header) else wanted.find(page)


def inside(value: Any) -> Iterator[Any]:
    """Yield a JSON value and all that is in it, at any depth."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        yield found
        if isinstance(found, dict | list):
            waiting += found.values() if isinstance(found, dict) else found


def headers(response: Any) -> Headers:
    """Return the headers of an answer, by their names in small letters."""
    return {str(name).lower(): value for name, value in response.headers.to_unicode_dict().items()}


def worded(error: AnswerError, body: bytes, listing: Listing) -> AnswerError:
    """Return an error with what the body of the refusal says."""
    try:
        page = strict_json.loads(body[:_LONGEST])
    except ValueError:
        return error
    found = refusal(page, listing) if listing.error is not None else None
    message = page.get("message") if isinstance(page, dict) else None
    said = envelope_error(page) or found or (f"it says {message[:_SHOWN]!r}" if isinstance(message, str) else None)
    return AnswerError(error.kind, f"{error}: {said}") if said else error


def refusal(page: Any, listing: Listing) -> str | None:
    """Return what a page says is wrong; ``None`` if it is a good one."""
    said = listing.error.find(page) if listing.error else None
    if said not in (None, "", [], {}, False):
        return f"it says {str(said)[:_SHOWN]!r}"
    if listing.ok is not None and listing.ok.find(page) is not True:
        return f"it is not ok: {listing.ok.text}"
    return None


def envelope_error(page: Any) -> str | None:
    """Return what an answer says that is nothing but an error, as Socrata, Elasticsearch and many others write it.

    >>> envelope_error({"error": True, "message": "no such domain"}), envelope_error({"error": None, "results": []})
    ("it says 'no such domain'", None)
    """
    said = page.get("error") if isinstance(page, dict) else None
    if not said:
        return None
    causes = said.get("root_cause") if isinstance(said, dict) else None
    cause = causes[0] if isinstance(causes, list) and causes and isinstance(causes[0], dict) else said
    words = (cause.get("reason") or cause.get("message")) if isinstance(cause, dict) else None
    told = words or page.get("message") or said
    return f"it says {str(told)[:200]!r}"


def collections(content: Any, declaration: Declaration, root: str) -> list[str]:
    """Return the addresses of the collections that a server has, each a portal of its own.

    Args:
        content: the JSON of its list of collections.
        root: the server's address.
    """
    expression = declaration.recognise.collections
    found = expression.find(content) if expression else None
    names = [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
    return [f"{root}/collections/{quote(name, safe=':')}" for name in names]


def choice(addresses: list[str], declaration: Declaration) -> str:
    """Return the sentence that asks for one of a server's collections; without a full stop."""
    count = f"{len(addresses)} {'collection' if len(addresses) == 1 else 'collections'}"
    asks = "name it" if len(addresses) == 1 else "name one of them"
    what = f"this is the root of a server, which has {count} of {declaration.title}"
    return one_line(f"{what}: {asks}: {', '.join(addresses[:10])}", 1000)
