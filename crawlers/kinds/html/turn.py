"""How a listing's page leads to the next one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from w3lib.url import safe_url_string

from crawlers.kinds.html import dropdown, paging, postback, words
from crawlers.kinds.html.cursor import cursor_link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.http import Response

    from crawlers.kinds.html.mapping.page import Page
    from crawlers.kinds.html.rules import Paging, Rules
    from crawlers.kinds.html.walk_state import Place

BY_BROWSER = ("button", "buttons", "scroll", "script")
COUNTED = ("query", "path")
"""The ways in which no page shows that there is a next one."""
PROMISED = ("next", "numbers", "postback")
"""The ways in which a page shows it."""
READ_ONCE = (*COUNTED, *PROMISED)
"""The ways whose pages list a dataset once: a browser's page may keep what it had before."""
_AHEAD = 50
_IDLE = 3  # times that a button is pressed in vain
_ENDS = {
    "button": ("gone", "disabled"),
    "buttons": ("gone", "disabled"),
    "scroll": ("unchanged",),
    "script": ("false",),
}
"""The ``Page-End`` of a browser's page that shows that there is no further page."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The request for a page.

    Args:
        body: of a POST; ``None`` for a GET.
        times: how often a browser turns the page at ``url``.
        link_text: the text of the link, if only its shape shows that it leads on.
    """

    url: str
    body: bytes | None = None
    times: int = 0
    link_text: str = ""


def following(page: Page, rules: Rules, after: Place) -> Turn | None:
    """Return the next page; ``None`` if this page shows none."""
    way = rules.paging
    if way.kind in BY_BROWSER:
        return Turn(after.walk, times=after.number - 1)
    if way.kind in COUNTED:
        return Turn(paging.counted(after.walk, way, after.number - 1))
    if way.kind not in PROMISED:
        return None
    found = next(filter(None, promised(page, way, after)), None)
    return _by_button(page, way, after) if not found and rules.form and way.kind == "next" else found


def promised(page: Page, way: Paging, after: Place) -> Iterator[Turn | None]:
    """Yield the next page by the rules, else, if they name nothing, by whatever looks like a pager."""
    number = way.first + way.step * (after.number - 1)
    if way.kind == "postback":
        form = postback.postback(page, way, number, page.encoding)
        yield Turn(form.url, body=form.body or None) if form else None
    else:
        by_number = way.kind == "numbers"
        yield _to(page, paging.numbered_link(page, way, number) if by_number else paging.next_link(page, way))
    if way.xpath is None and way.text is None:
        yield from (pager(page, after) for pager in UNNAMED)


def _to(page: Page, address: str | None) -> Turn | None:
    return Turn(_safe(page, address)) if address else None


def _safe(page: Page, address: str) -> str:
    return safe_url_string(address, page.encoding or "utf-8")


def _by_button(page: Page, way: Paging, after: Place) -> Turn | None:
    """Return the next page by a button of a form: what a form brought may go on by another."""
    return next(promised(page, replace(way, kind="postback"), after), None)


def _offered(page: Page, after: Place) -> Turn | None:
    return _to(page, paging.offered(page).get(after.number) or after.ahead.get(str(after.number)))


def _chosen(page: Page, after: Place) -> Turn | None:
    pages = dropdown.dropdown(page, after.number - 1)
    form = dropdown.turned(page, pages, after.number, page.encoding) if pages else None
    return Turn(form.url, body=form.body or None) if form else None


def _by_shape(page: Page, after: Place) -> Turn | None:
    link = cursor_link(page, after.link_text) if after.link_text or after.number == 2 else None
    return Turn(_safe(page, link.address), link_text=link.text) if link else None


UNNAMED: tuple[Callable[[Page, Place], Turn | None], ...] = (_offered, _chosen, _by_shape)
"""The pagers that are tried in this order if the rules name none: page numbers, a select, a link by its shape."""


def seen_pager(page: Page, after: Place) -> Place:
    """Return the place, with what the page's pager offers: how many pages, and where they are."""
    numbers, pages = paging.offered(page), dropdown.dropdown(page, after.number - 1)
    posted = postback.offered(page)
    ahead = {**after.ahead, **{str(item): address for item, address in numbers.items()}}
    kept = {item: address for item, address in ahead.items() if int(item) >= after.number}
    highest = max([after.offered, *numbers, *posted, pages.last if pages else 1])
    return replace(after, offered=highest, ahead=dict(list(kept.items())[:_AHEAD]))


def made(response: Response | None) -> int:
    """Return how often a browser turned the page."""
    return _counted(response, "Page-Turns")


def _counted(response: Response | None, header: str) -> int:
    found = b"" if response is None else response.headers.get(header) or b""
    return int(found) if found.isdigit() else 0


def has_ended(response: Response | None, kind: str) -> bool:
    """Return whether a browser's page shows that there is no further page: what turned it before does so no more.

    A button that stays and does nothing must have been pressed three times, while no request of the page failed.
    """
    end = b"" if response is None else response.headers.get("Page-End") or b""
    is_idle = end == b"unchanged" and kind in ("button", "buttons") and _counted(response, "Page-Idle") >= _IDLE
    return made(response) > 0 and (end.decode("latin-1") in _ENDS.get(kind, ()) or is_idle)


def is_unturned(response: Response) -> bool:
    """Return whether a browser was to turn the page, and never could."""
    return b"Page-End" in response.headers and made(response) == 0


def is_short(response: Response, times: int) -> bool:
    """Return whether a page that was opened again ended earlier than before."""
    return "Page-End" in response.headers and made(response) < times - 1


def is_end(response: Response, paging: Paging, here: Place, after: Place) -> bool:
    """Return whether a walk is over: no button, a page like the one before, all listed, or nothing new for too long.

    A browser's page that repeats is turned once more: many take the button away only after a click brought nothing.
    """
    in_browser = paging.kind in BY_BROWSER
    return (
        (b"Page-End" in response.headers and in_browser)
        or (here.is_repeated_by(after) and here.number > 1 and not in_browser)
        or after.stale >= (1 if after.is_all else paging.patience)
    )


def browser(way: Paging, times: int) -> dict[str, Any]:
    """Return the page turns as data: the ``browser`` of a request's meta."""
    if way.kind not in BY_BROWSER:
        return {"kind": None, "times": 0, "wait": way.wait}
    texts = [way.text] if way.text else [] if way.xpath else list(words.more())
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
