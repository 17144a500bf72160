"""Where a catalogue goes on: Hydra of both generations, ``Link: rel="next"``, and CKAN's ``?page=``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from crawlers.exceptions import AnswerError
from crawlers.mapping.addresses import absolute
from crawlers.rdf.namespaces import HYDRA
from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawlers.rdf.terms import Triple

_NEXT = (HYDRA + "next", HYDRA + "nextPage")
_TOTAL = HYDRA + "totalItems"
TELLING = {
    *_NEXT,
    _TOTAL,
    *(HYDRA + name for name in ("view", "first", "last", "previous", "firstPage", "lastPage", "previousPage")),
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


def _text(value: str | Literal) -> str:
    return (value.value if isinstance(value, Literal) else value).strip()


def _same(subject: str, here: str) -> bool:
    return subject.partition("#")[0] == here.partition("#")[0]


def _address(target: str, here: str) -> str:
    address = absolute(target, here)
    if address is None:
        raise AnswerError("paging", f"the page says that {target[:200]!r} is the next one, which can't be asked for")
    return address
