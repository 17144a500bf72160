"""The requests of a declared listing: its address, parameters, headers and body at each position."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from scrapy import Request

from crawlers.kinds.api.declaration import PLACES, Variable
from crawlers.kinds.api.mapping import portal_names
from crawlers.values.addresses import host
from crawlers.values.moment import moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crawlers.kinds.api.declaration import Declaration, Values
    from crawlers.kinds.api.expressions import Template
    from crawlers.kinds.api.position import Position

    Pair = tuple[str, Any]


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
        self.values = portal_names(portal) | dict.fromkeys(PLACES, self.listing.paging.first)
        others = [self.listing.url, *filter(None, [self.listing.paging.url])]
        self.hosts = {host(portal), *(host(self.address(each)) for each in others), *self.listing.hosts}
        size = self.listing.paging.size
        self.rows = min(size.max, rows or size.max) if size else None

    def size(self, here: Position) -> int | None:
        """Return how many records are requested, none of them behind the window; ``None`` if the server decides."""
        size, window = here.size or self.rows, self.listing.window
        if size is None or window is None or self.listing.paging.kind != "offset":
            return size
        return max(min(size, window.max - (here.at or 0)), 1)

    def address(self, template: Template) -> str:
        """Return an address of the portal."""
        return str(template.address(self.values))

    def headers(self) -> dict[str, str]:
        """Return the headers of each request, but for secrets: those are added when it is sent."""
        headers = {"Accept": "application/json"}
        return headers | dict(_pairs(self.listing.headers, self.values))

    def request(self, here: Position, since: str, **keywords: Any) -> Request:
        """Return the request for a page.

        Args:
            since: the moment after which changes are requested; empty if all records are.
            keywords: of the request: callback, errback, meta ....
        """
        if here.at is not None and self.listing.paging.kind == "next":
            return Request(here.at, headers=self.headers(), **keywords)
        query = self._query(here)
        asked = [*self._page(here), *self._conditions(here, since).items()]
        if self.listing.body is None:
            names = {name for name, _ in asked}
            pairs = [*(pair for pair in query if pair[0] not in names), *asked]
            return Request(_url(self._url(here), pairs), headers=self.headers(), **keywords)
        body = deepcopy(dict(self.listing.body))
        for place, value in asked:
            _put(body, place.split("."), value)
        headers = {"Content-Type": "application/json"} | self.headers()
        return Request(_url(self._url(here), query), method="POST", headers=headers, body=json.dumps(body), **keywords)

    def _is_elsewhere(self, here: Position) -> bool:
        return here.at is not None and self.listing.paging.url is not None

    def _url(self, here: Position) -> str:
        paging = self.listing.paging
        if paging.url and self._is_elsewhere(here):
            return self.address(paging.url)
        place = {paging.kind: paging.first + (here.at or 0)} if paging.kind in PLACES else {}
        return str(self.listing.url.address(self.values | place))

    def _query(self, here: Position) -> list[Pair]:
        return [] if self._is_elsewhere(here) else list(_pairs(self.listing.params, self.values))

    def _page(self, here: Position) -> list[Pair]:
        """Return the parameters that say which page is meant."""
        paging = self.listing.paging
        pairs: list[Pair] = []
        if paging.kind in PLACES:
            pairs += [(paging.param, paging.first + (here.at or 0))] if paging.param else []
        elif here.at is not None:
            pairs.append((str(paging.param), here.at))
        if paging.size and not self._is_elsewhere(here):
            pairs.append((paging.size.param, self.size(here)))
        return pairs

    def _conditions(self, here: Position, since: str) -> dict[str, str]:
        """Return the conditions of a walk by parameter, each joined to what the parameter has already."""
        found: dict[str, list[str]] = {}
        if self._is_elsewhere(here):
            return {}
        since = here.begun if here.walk == "recent" else since
        conditions = list(_pairs(self.listing.since, self.values | moments(since))) if since else []
        conditions += self._bound(here)
        for name, value in conditions:
            found.setdefault(name, []).append(value)
        return {name: (self.listing.join or " ").join([*self._given(name), *parts]) for name, parts in found.items()}

    def _bound(self, here: Position) -> list[tuple[str, str]]:
        restart = self.listing.window.restart if self.listing.window else None
        if restart is None or here.walk not in ("window", "rest"):
            return []
        value = restart.rest if here.walk == "rest" else restart.value.fill({"seen": here.bound})
        return [(restart.param, str(value))]

    def _given(self, name: str) -> list[str]:
        """Return what a parameter has in every walk: of the query, or of the body."""
        if self.listing.body is None:
            return [value for known, value in _pairs(self.listing.params, self.values) if known == name]
        place: Any = self.listing.body
        for part in name.split("."):
            place = place.get(part) if isinstance(place, dict) else None
        return [place] if isinstance(place, str) else []


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


def _put(body: dict[str, Any], path: list[str], value: Any) -> None:
    """Set what is at a place of a body; tables on the way are made."""
    *tables, name = path
    for part in tables:
        body = body.setdefault(part, {})
    body[name] = value
