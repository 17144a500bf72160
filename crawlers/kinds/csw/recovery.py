"""What still helps when a server refuses a page: capabilities lie, and one record may break a whole page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lxml import etree

from crawlers.kinds.csw import moves, schemas
from crawlers.kinds.csw.position import MOST_SKIPPED, ROWS
from crawlers.kinds.csw.results import ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.exceptions import AnswerError
    from crawlers.kinds.csw.position import Position
    from crawlers.kinds.csw.results import Results

FINAL = frozenset(("blocked", "robots", "dns", "connection", "forbidden_address", "ignored", "offsite", "bug"))
"""The errors that no other request cures."""
_NO_CSW = ("html", "noresults")
_FILTER = ("constraint", "filter", "propertyname", "valuereference", "modified")


def another(here: Position, error: AnswerError, status: int | None) -> Position | None:
    """Return how to request what was refused; ``None`` if nothing helps. Each step is taken once.

    Args:
        status: of the HTTP answer, if one came.
    """
    if error.kind in FINAL:
        return None
    about = str(getattr(error, "about", ""))
    if here.holes:
        return moves.given_up(here) if here.skipped < MOST_SKIPPED else None
    if _is_schema_missing(here, about):
        return None
    named = _named(here, about)
    if named is not None or here.has_begun or error.kind in moves.LASTING:
        return named or moves.smaller(here, error) or behind(here)
    is_other = any(word in about for word in _NO_CSW) or (status is not None and 400 <= status < 500 and not about)
    if is_other:
        return replace(here, method="GET") if here.method == "POST" else None
    return _simpler(here) or moves.smaller(here, error) or behind(here)


def _is_schema_missing(here: Position, about: str) -> bool:
    """Return whether the server refuses the last schema, even for one record."""
    is_last = not here.has_begun and here.rows == 1 and len(here.uris) == 1
    return "otherschema" in about or "outputschema" in about if is_last else False


def behind(here: Position) -> Position | None:
    """Return the position behind a record that breaks its page; ``None`` after too many in a row."""
    if here.has_substitute:
        return moves.without_one(here) if here.skipped < MOST_SKIPPED else None
    return moves.given_up(here) if here.skipped < MOST_SKIPPED else None


def _named(here: Position, about: str) -> Position | None:
    """Return the request without what the server's exception names, if that can be left out now."""
    codes, _, text = about.partition("|")
    words = f"{codes}{text}".replace(" ", "").replace("_", "")
    if found := next((other for word, other in _cures(here) if word in words), None):
        return found
    return None if here.has_begun else _spoken(here, set(codes.split()))


def _cures(here: Position) -> Iterator[tuple[str, Position]]:
    """Yield what a server may not know, and the request without that."""
    if here.ranges:
        yield from ((word, moves.in_one(here)) for word in _FILTER)
    elif here.since:
        yield from ((word, replace(here, since="")) for word in _FILTER)
    if here.has_begun:
        return
    if here.rows > 1:  # one record of the first page may be the reason
        yield "outputschema", replace(here, rows=1)
    elif len(here.uris) > 1:
        yield "outputschema", replace(here, uris=here.uris[1:], rows=ROWS)
    if len(here.uris) > 1:
        yield "otherschema", replace(here, uris=here.uris[1:], rows=ROWS)
    if here.sort:
        yield "sort", replace(here, sort=())
    if not here.is_plain:
        yield "typename", replace(here, is_plain=True)


def _spoken(here: Position, codes: set[str]) -> Position | None:
    """Return the first request in the way that the server speaks, if its exception names the version or the request."""
    if codes & {"version", "versionnegotiationfailed"} and here.version == "2.0.2":
        return moves.in_version(here, "3.0.0")
    is_unread = bool(codes & {"request", "service"}) and here.method == "POST"
    return replace(here, method="GET") if is_unread else None


def _simpler(here: Position) -> Position | None:
    """Return the first request without what some servers fail at and don't name."""
    if here.sort:
        return replace(here, sort=())
    return replace(here, method="GET") if here.method == "POST" else None


def check(here: Position, found: Results) -> None:
    """Check that the first page, and a single record, is what was requested.

    Raises:
        ServiceError: it is not.
    """
    if here.holes and not found.elements:
        raise ServiceError("the server gives no record there", "")
    if here.has_begun:
        return
    schema = schemas.by_uri(here.uri)
    if found.elements and not schemas.is_given(here.uri, found.elements):
        came = etree.QName(found.elements[0]).localname[:100]
        raise ServiceError(f"the server was asked for {schema.name} and gives {came}", "otherschema")
    is_all = not (here.since or here.ranges)
    if is_all and not (found.received or found.matched or here.is_plain) and schema.type != "csw:Record":
        raise ServiceError(f"the server has no records of the type {schema.type}", "typename")
