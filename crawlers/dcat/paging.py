"""Where a catalogue goes on: Hydra of both generations, TREE, ``Link: rel="next"``, and CKAN's ``?page=``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from crawlers.exceptions import AnswerError
from crawlers.mapping.addresses import absolute
from crawlers.rdf.namespaces import HYDRA, TREE
from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawlers.rdf.terms import Triple

_NEXT = (HYDRA + "next", HYDRA + "nextPage")
_FIRST = (HYDRA + "first", HYDRA + "firstPage")
_LAST = (HYDRA + "last", HYDRA + "lastPage")
_TOTAL = HYDRA + "totalItems"
TREES = {TREE + "node", TREE + "view"}
"""The predicates of TREE and LDES whose values are further pages."""
TELLING = {
    *_NEXT,
    _TOTAL,
    *_FIRST,
    *_LAST,
    *(HYDRA + name for name in ("view", "previous", "previousPage")),
}
"""The predicates that tell of pages."""
_LINK = re.compile(r'<([^<>]*)>\s*((?:;\s*[\w*-]+\s*(?:=\s*(?:"[^"]*"|[^\s;,"]*))?\s*)*)')
_REL = re.compile(r""";\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))""", re.IGNORECASE)


def stated(statements: Sequence[Triple], here: str) -> str | None:
    """The next page by Hydra's ``next`` or ``nextPage``, IRI or literal, against the page's own address.

    Of several views that one counts which is this page.

    Raises:
        AnswerError: it leads nowhere, or to several places.
    """
    found = [(subject, _text(value)) for subject, predicate, value in statements if predicate in _NEXT]
    own = {value for subject, value in found if value and _same(subject, here)}
    addresses = sorted({_address(value, here) for value in own or {value for _, value in found if value}})
    if len(addresses) > 1:
        raise AnswerError(
            "paging", f"the page names several next ones, and none is followed: {', '.join(addresses)[:500]}"
        )
    return addresses[0] if addresses else None


def linked(headers: Iterable[bytes], here: str) -> str | None:
    """The next page by the header ``Link``.

    Raises:
        AnswerError: it leads nowhere.

    >>> linked([b'<a?p=1>; rel="first prev", <a?p=3>; title="x"; rel=next'], "https://example.org/c/")
    'https://example.org/c/a?p=3'
    """
    for header in headers:
        for target, parameters in _LINK.findall(header.decode("latin-1")[:10_000]):
            rel = _REL.search(parameters)
            if rel and "next" in (rel[1] or rel[2]).lower().split():
                return _address(target, here)
    return None


def counted(here: str) -> str | None:
    """The page after this one, where the address has a page's number.

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


def total(statements: Sequence[Triple]) -> int | None:
    """How many datasets there are on all pages: Hydra's ``totalItems``, of what has pages."""
    paged = {subject for subject, predicate, _ in statements if predicate != _TOTAL}
    found = {_text(value) for subject, predicate, value in statements if predicate == _TOTAL and subject in paged}
    return max((int(one) for one in found if re.fullmatch("[0-9]{1,9}", one)), default=None)


def first(statements: Sequence[Triple], here: str) -> str | None:
    """Return the address of the first page where a page names that alone: no next page, and itself another one."""
    if any(predicate in _NEXT for _, predicate, _ in statements):
        return None
    return next((one for one in _named(statements, _FIRST, here) if not _same(one, here)), None)


def last(statements: Sequence[Triple], here: str) -> str | None:
    """Return the address of the last page, if that is another than the first and than this one."""
    others = (here, *_named(statements, _FIRST, here))
    found = (one for one in _named(statements, _LAST, here) if not any(_same(one, other) for other in others))
    return next(found, None)


def is_numbered(statements: Sequence[Triple], here: str) -> bool:
    """Return whether the first page's address has a page's number."""
    return any("page" in dict(parse_qsl(urlsplit(one).query)) for one in _named(statements, _FIRST, here))


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


def _named(statements: Sequence[Triple], predicates: Iterable[str], here: str) -> list[str]:
    found = (absolute(_text(value), here) for _, predicate, value in statements if predicate in predicates)
    return [address for address in found if address]


def _text(value: str | Literal) -> str:
    return (value.value if isinstance(value, Literal) else value).strip()


def _same(subject: str, here: str) -> bool:
    return subject.partition("#")[0] == here.partition("#")[0]


def _address(target: str, here: str) -> str:
    address = absolute(target, here)
    if address is None:
        raise AnswerError("paging", f"the page says that {target[:200]!r} is the next one, which can't be asked for")
    return address
