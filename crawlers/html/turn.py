"""How a listing's page leads to the next one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from w3lib.url import safe_url_string

from crawlers.html import dropdown, paging, postback, words
from crawlers.html.cursor import cursor_link

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.html.place import Place
    from crawlers.mapping.html.page import Page
    from crawlers.rules import Paging, Rules

BY_BROWSER = ("button", "buttons", "scroll", "script")
COUNTED = ("query", "path")
"""The ways in which no page says that there is a next one."""
PROMISED = ("next", "numbers", "postback")
"""The ways in which a page says it."""
READ_ONCE = (*COUNTED, *PROMISED)
"""The ways whose pages list a dataset once: a browser's page may keep what it had before."""
_AHEAD = 50


@dataclass(frozen=True, slots=True)
class Turn:
    """What to ask for.

    Args:
        body: of a POST; ``None`` for a GET.
        times: how often a browser turns the page at ``url``.
        said: the text of the link, where only its shape shows what it is.
    """

    url: str
    body: bytes | None = None
    times: int = 0
    said: str = ""


def following(page: Page, rules: Rules, after: Place) -> Turn | None:
    """The next page; ``None`` when there is none, as far as this one says."""
    way = rules.paging
    if way.kind in BY_BROWSER:
        return Turn(after.walk, times=after.number - 1)
    if way.kind in COUNTED:
        return Turn(paging.counted(after.walk, way, after.number - 1))
    return next(filter(None, promised(page, way, after)), None) if way.kind in PROMISED else None


def promised(page: Page, way: Paging, after: Place) -> Iterator[Turn | None]:
    """Yield what a page says is next: by the rules, else, where they name nothing, by whatever looks like a pager."""
    number = way.first + way.step * (after.number - 1)
    if way.kind == "postback":
        form = postback.postback(page, way, number, page.encoding)
        yield Turn(form.url, body=form.body or None) if form else None
    else:
        by_number = way.kind == "numbers"
        yield _to(page, paging.numbered_link(page, way, number) if by_number else paging.next_link(page, way))
    if way.xpath is None and way.text is None:
        yield _to(page, paging.offered(page).get(after.number) or after.ahead.get(str(after.number)))
        yield _chosen(page, after)
        link = cursor_link(page, after.said) if after.said or after.number == 2 else None
        yield Turn(_safe(page, link.address), said=link.text) if link else None


def _to(page: Page, address: str | None) -> Turn | None:
    return Turn(_safe(page, address)) if address else None


def _safe(page: Page, address: str) -> str:
    return safe_url_string(address, page.encoding or "utf-8")


def _chosen(page: Page, after: Place) -> Turn | None:
    pages = dropdown.dropdown(page, after.number - 1)
    form = dropdown.turned(page, pages, after.number, page.encoding) if pages else None
    return Turn(form.url, body=form.body or None) if form else None


def seen_pager(page: Page, after: Place) -> Place:
    """Return the place, with what the page's pager offers: how many pages, and where they are."""
    numbers, pages = paging.offered(page), dropdown.dropdown(page, after.number - 1)
    ahead = {**after.ahead, **{str(one): address for one, address in numbers.items()}}
    kept = {one: address for one, address in ahead.items() if int(one) >= after.number}
    highest = max([after.offered, *numbers, pages.last if pages else 1])
    return replace(after, offered=highest, ahead=dict(list(kept.items())[:_AHEAD]))


def is_short(response: Response, times: int) -> bool:
    """Whether a page ended earlier than when it was turned to the one before: it was opened anew, and is another."""
    made = (response.headers.get("Page-Turns") or b"").decode("latin-1")
    return "Page-End" in response.headers and made.isdecimal() and int(made) < times - 1


def browser(way: Paging, times: int) -> dict[str, Any]:
    """The page turns as data: the ``browser`` of a request's meta."""
    if way.kind not in BY_BROWSER:
        return {"kind": None, "times": 0, "wait": way.wait}
    texts = [way.text] if way.text else [] if way.xpath else list(words.MORE)
    return {
        "kind": way.kind,
        "texts": texts,
        "xpath": way.xpath,
        "script": way.script,
        "first": way.first,
        "step": way.step,
        "wait": way.wait,
        "times": times,
    }
