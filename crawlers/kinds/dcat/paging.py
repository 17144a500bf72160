"""How a page leads to the next one: Hydra of both generations, TREE, ``Link: rel="next"``, and CKAN's ``?page=``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from crawlers.exceptions import AnswerError
from crawlers.records.rdf.terms import HYDRA, TREE, Literal
from crawlers.safety.addresses import absolute, related

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.records.rdf.terms import Triple

_NEXT = (HYDRA + "next", HYDRA + "nextPage")
_FIRST = (HYDRA + "first", HYDRA + "firstPage")
_LAST = (HYDRA + "last", HYDRA + "lastPage")
_TOTAL = HYDRA + "totalItems"
_TREE = {TREE + "node", TREE + "view"}  # of TREE and LDES; their values are further pages
PREDICATES = {*_NEXT, *_FIRST, *_LAST, _TOTAL, *_TREE, *(HYDRA + name for name in ("view", "previous", "previousPage"))}
"""The predicates that say something about pages."""
_MAX_STATEMENTS = 1000
_MAX_NODES = 20_000


class Paging:
    """What a page says about further pages.

    Attributes:
        statements: Hydra's, at most a thousand.
        nodes: the further pages of TREE, each once.
        lists: the nodes that list the page's datasets, of those that say how many members they have.
        is_paged_collection: whether there is Hydra's old PagedCollection, which is ckanext-dcat's.
    """

    def __init__(self) -> None:
        self.statements: list[Triple] = []
        self.nodes: dict[str, None] = {}
        self.lists: set[str] = set()
        self.is_paged_collection = False

    def add(self, statement: Triple) -> None:
        """Take a statement whose predicate is one of `PREDICATES`."""
        if statement[1] in _TREE:
            if len(self.nodes) < _MAX_NODES:
                self.nodes[_text(statement[2])] = None
        elif len(self.statements) < _MAX_STATEMENTS:
            self.statements.append(statement)

    def next(self, here: str) -> str | None:
        """Return the next page by Hydra's ``next`` or ``nextPage``, IRI or literal, relative to the page's address.

        If several views are described, the one that is this page counts.

        Raises:
            AnswerError: the address can't be requested, or there are several.
        """
        found = [(subject, _text(value)) for subject, predicate, value in self.statements if predicate in _NEXT]
        own = {value for subject, value in found if value and _is_same(subject, here)}
        addresses = sorted({_address(value, here) for value in own or {value for _, value in found if value}})
        if len(addresses) > 1:
            listed = ", ".join(addresses)[:500]
            raise AnswerError("paging", f"the page names several next pages, and none of them is followed: {listed}")
        return addresses[0] if addresses else None

    def total(self, here: str) -> int | None:
        """Return how many datasets there are on all pages: Hydra's ``totalItems`` of what lists them, or has this page.

        A file may count other things: services, keywords, the comments on a dataset.
        """
        place, own = _place(here), set(self.lists)
        for subject, predicate, value in self.statements:
            if place in (_place(subject), None if predicate == _TOTAL else _place(_text(value))):
                own.add(subject)
        totals = (_text(value) for subject, name, value in self.statements if name == _TOTAL and subject in own)
        return max((int(text) for text in totals if re.fullmatch("[0-9]{1,9}", text)), default=None)

    def counted(self) -> set[str]:
        """Return the nodes that say how many members they have."""
        return {subject for subject, name, _ in self.statements if name == _TOTAL}

    def first(self, here: str) -> str | None:
        """Return the first page's address if the page names no next page, and a first page that is not itself."""
        if any(predicate in _NEXT for _, predicate, _ in self.statements):
            return None
        return next((address for address in self._named(_FIRST, here) if not _is_same(address, here)), None)

    def leads_back(self, following: str, here: str, start: str) -> bool:
        """Return whether the next page is the first one, which is not this page.

        Args:
            start: the address of the first page that was requested.
        """
        firsts = {start, *self._named(_FIRST, here)}
        return not _is_same(following, here) and any(_is_same(following, first) for first in firsts)

    def last(self, here: str) -> str | None:
        """Return the last page's address if that is neither the first page nor this one."""
        others = (here, *self._named(_FIRST, here))
        found = (address for address in self._named(_LAST, here) if not any(_is_same(address, one) for one in others))
        return next(found, None)

    def is_ckan(self, here: str) -> bool:
        """Return whether ckanext-dcat made the page, which can return what was modified since a time."""
        is_numbered = any("page" in dict(parse_qsl(urlsplit(one).query)) for one in self._named(_FIRST, here))
        return self.is_paged_collection and is_numbered

    def _named(self, predicates: Iterable[str], here: str) -> Iterator[str]:
        found = (absolute(_text(value), here) for _, predicate, value in self.statements if predicate in predicates)
        return (address for address in found if address)


def linked(headers: Iterable[bytes], here: str) -> str | None:
    """Return the next page by the header ``Link``.

    Raises:
        AnswerError: the address can't be requested.

    >>> linked([b'<a?p=1>; rel="first prev", <a?p=3>; title="x"; rel=next'], "https://example.org/c/")
    'https://example.org/c/a?p=3'
    """
    target = related((header.decode("latin-1") for header in headers), "next")
    return None if target is None else _address(target, here)


def counted(here: str) -> str | None:
    """Return the address with the next page number, if the address has one.

    >>> counted("https://example.org/catalog.ttl?q=a&page=9"), counted("https://example.org/catalog.ttl")
    ('https://example.org/catalog.ttl?q=a&page=10', None)
    """
    parts = urlsplit(here)
    query = parse_qsl(parts.query, keep_blank_values=True)
    number = next((value for name, value in query if name == "page"), "")
    if not re.fullmatch("[0-9]{1,9}", number):
        return None
    turned = [(name, str(int(number) + 1) if name == "page" else value) for name, value in query]
    return urlunsplit(parts._replace(query=urlencode(turned)))


def modified_since(url: str, moment: str) -> str:
    """Return the address that gives what ckanext-dcat has modified since a moment.

    >>> modified_since("https://example.org/catalog.ttl?q=a&page=1", "2026-11-20T10:00:00")
    'https://example.org/catalog.ttl?q=a&modified_since=2026-11-20T10%3A00%3A00'
    """
    parts = urlsplit(url)
    query = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name != "page"]
    return urlunsplit(parts._replace(query=urlencode([*query, ("modified_since", moment)])))


def an_hour_before(date: bytes | None) -> str:
    """Return the moment an hour before an answer, by its ``Date``, in UTC and as CKAN reads it.

    >>> an_hour_before(b"Sun, 22 Nov 2026 10:00:00 GMT")
    '2026-11-22T09:00:00'
    """
    try:
        moment = parsedate_to_datetime((date or b"").decode("latin-1")).astimezone(UTC)
    except ValueError:
        moment = datetime.now(UTC)
    return (moment - timedelta(hours=1)).replace(microsecond=0, tzinfo=None).isoformat()


def _text(value: str | Literal) -> str:
    return (value.value if isinstance(value, Literal) else value).strip()


def _place(address: str) -> str | None:
    """Return what the pages of a list, in any format and behind any proxy, have in common; ``None`` for a part of one.

    >>> _place("https://example.org/c.ttl?page=2"), _place("http://localhost/c/"), _place("https://example.org/c#x")
    ('/c', '/c', None)
    """
    path, _, fragment = re.sub("^[a-z]+://[^/]*", "", address).partition("#")
    return None if fragment else re.sub(r"\.\w+$|/$", "", path.partition("?")[0])


def _is_same(address: str, here: str) -> bool:
    return address.partition("#")[0] == here.partition("#")[0]


def _address(target: str, here: str) -> str:
    address = absolute(target, here)
    if address is None:
        raise AnswerError("paging", f"the page names {target[:200]!r} as the next page, which can't be requested")
    return address
