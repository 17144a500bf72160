"""How a listing goes on: what the page behind an answer is asked by, for each kind of paging that is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.exceptions import AnswerError
from crawlers.kinds.api import answers
from crawlers.values.addresses import absolute, host

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from crawlers.kinds.api.declaration import Listing
    from crawlers.kinds.api.position import Position

LADDER = (100, 25, 5, 1)
"""How many records are requested where more fail."""


class Answer(NamedTuple):
    """An answer of a listing.

    Args:
        page: its JSON.
        records: those of the page.
        url: its address, to which links are relative.
        headers: its headers, by their names in small letters.
    """

    page: Any
    records: list[Any]
    url: str
    headers: answers.Headers = answers.NONE


def following(answer: Answer, here: Position, listing: Listing) -> Any:
    """Return what the next page is asked by; ``None`` if the answer says that there is none."""
    more = listing.paging.more
    if more is not None and not more.find(answer.page):
        return None
    return _FOLLOWING[listing.paging.kind](answer, here, listing)


def _none(*_: Any) -> None:
    return None


def _offset(answer: Answer, here: Position, _: Listing) -> int | None:
    """Return one less than the number of records that came: the last one again shows that none has moved."""
    count = len(answer.records)
    end = (here.at or 0) + count
    if not count or (end <= here.received and here.size != 1):
        return None
    return end - 1 if count > 1 else end


def _number(answer: Answer, here: Position, _: Listing) -> int | None:
    return (here.at or 0) + 1 if answer.records else None


def _link(answer: Answer, _: Position, listing: Listing) -> str | None:
    link = answers.text(answer.page, listing.next, answer.headers)
    if link is None:
        return None
    found = absolute(link, answer.url)
    if found is None:
        raise AnswerError("paging", f"the link to the next page is not an address: {link[:200]!r}")
    return found


def _token(answer: Answer, _: Position, listing: Listing) -> str | None:
    is_read = answer.records or listing.paging.more
    return answers.text(answer.page, listing.paging.token, answer.headers) if is_read else None


def _last(answer: Answer, _: Position, listing: Listing) -> Any:
    if not answer.records:
        return None
    wanted = listing.paging.last
    found = next((last for each in reversed(answer.records) if wanted and (last := wanted.find(each))), None)
    if found is None:
        raise AnswerError("paging", f"no record of the page has {wanted.text if wanted else ''!r}")
    return found


_FOLLOWING: dict[str, Callable[..., Any]] = {
    "none": _none,
    "offset": _offset,
    "page": _number,
    "next": _link,
    "token": _token,
    "last-id": _last,
    "search-after": _last,
}


def fresh(count: int, here: Position, listing: Listing) -> int:
    """Return how many of a page's records are behind those that came, as the page before it repeats one."""
    return max(count - is_repeating(here, listing), 0)


def is_repeating(here: Position, listing: Listing) -> bool:
    """Return whether a page is requested from the last record of the page before it on."""
    return listing.paging.kind == "offset" and (here.at or 0) < here.received


def has_way_on(listing: Listing) -> bool:
    """Return whether it is the answers that offer a next page, so that one that is offered has to be followed."""
    return listing.paging.kind in ("next", "token") or listing.paging.more is not None


def has_fixed_places(listing: Listing) -> bool:
    """Return whether a page begins behind a record, wherever that has moved to."""
    return listing.paging.kind in ("none", "last-id", "search-after")


def check_host(link: str, hosts: Collection[str]) -> None:
    """
    Raises:
        AnswerError: the next page is at another host.
    """
    there = host(link)
    if there not in hosts:
        raise AnswerError("offsite", f"the next page is at {there}, which is not one of the catalogue's hosts")


def unfollowed(page: Any, listing: Listing) -> str:
    """Return what the last page says that follows it, and no GET can ask for; empty if nothing."""
    more = listing.paging.more
    if more is not None and more.find(page):
        return f"the last page says that more follow ({more.text}), and gives no way to them"
    links = page.get("links") if isinstance(page, dict) else None
    for link in links if isinstance(links, list) else []:
        if isinstance(link, dict) and link.get("rel") == "next" and str(link.get("method", "GET")).upper() != "GET":
            return f"the next page is to be requested with {str(link['method'])[:20]}, which this crawl does not do"
    return ""


# Pages that fail


def smaller(here: Position, asked: int, listing: Listing) -> tuple[int, Any] | None:
    """Return a smaller size for a page that fails, with what the page is asked by; ``None`` if there is none."""
    size = next((size for size in LADDER if size < asked), None)
    return None if size is None else resized(here, asked, size, listing)


def larger(here: Position, asked: int, limit: int, listing: Listing) -> tuple[int, Any]:
    """Return how many records to request after a page that came, and what by: the next more, as far as they fit."""
    sizes = [size for size in (limit, *LADDER) if asked < size <= limit]
    for size in sorted(sizes)[:1]:
        if found := resized(here, asked, size, listing):
            return found
    return asked, here.at


def resized(here: Position, asked: int, size: int, listing: Listing) -> tuple[int, Any] | None:
    """Return a size with what the page is asked by then; ``None`` if the page can't be asked with that size."""
    kind = listing.paging.kind
    if listing.paging.size is None or (kind == "token" and listing.paging.url):
        return None
    if kind == "page":
        is_regular = here.received == (here.at or 0) * asked
        return (size, here.received // size) if is_regular and here.received % size == 0 else None
    return None if kind in ("none", "next") else (size, here.at)


def can_skip(listing: Listing) -> bool:
    """Return whether the listing can be asked for what is behind a record that does not come."""
    return listing.paging.kind in ("offset", "page")
