"""How a listing's page leads to the next one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from w3lib.url import safe_url_string

from crawlers.html import paging, postback, words

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.html.place import Place
    from crawlers.mapping.html.page import Page
    from crawlers.rules import Paging, Rules

BY_BROWSER = ("button", "buttons", "scroll", "script")
COUNTED = ("query", "path")
"""The ways in which no page says that there is a next one."""
PROMISED = ("next", "numbers", "postback")
"""The ways in which a page says it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What to ask for.

    Args:
        body: of a POST; ``None`` for a GET.
        times: how often a browser turns the page at ``url``.
    """

    url: str
    body: bytes | None = None
    times: int = 0


def following(page: Page, rules: Rules, after: Place) -> Turn | None:
    """The next page; ``None`` when there is none, as far as this one says."""
    way = rules.paging
    number = way.first + way.step * (after.number - 1)
    if way.kind in BY_BROWSER:
        return Turn(after.walk, times=after.number - 1)
    if way.kind in COUNTED:
        return Turn(paging.counted(after.walk, way, after.number - 1))
    if way.kind == "postback":
        form = postback.postback(page, way, number, page.encoding)
        return Turn(form.url, body=form.body or None) if form else None
    if way.kind == "numbers":
        address = paging.numbered_link(page, way, number)
    else:
        address = paging.next_link(page, way) if way.kind == "next" else None
    return Turn(safe_url_string(address, page.encoding or "utf-8")) if address else None


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
