"""How a listing's page leads to the next one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from w3lib.url import safe_url_string

from crawlers.kinds.html import paging, postback, unread, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.http import Response

    from crawlers.kinds.html.form import Form
    from crawlers.kinds.html.rules import Paging, Rules
    from crawlers.records.html_page import Page

_AHEAD = 50
_FRAME = 50  # links of the first page
_IDLE = 3  # times that a button is pressed in vain
_ENDS = {
    "button": ("gone", "disabled"),
    "buttons": ("gone", "disabled"),
    "scroll": ("unchanged",),
    "script": ("false",),
}
"""The ``Page-End`` of a browser's page that shows that there is no further page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a page of a listing is asked by, and what the pages before it showed.

    Args:
        start: the address that the listing begins at.
        url: the page's own; empty for the form that the listing is behind.
        body: of a POST, in Latin-1; ``None`` for a GET.
        times: how often a browser turns the page at ``url``.
        number: the page's, from 1.
        link_text: the text of the link that led here, where its shape alone showed what it was.
        offered: the highest page that a pager has named so far.
        ahead: numbers and addresses of later pages: what a script loads may come without the pager.
        frame: digests of what all pages before link to; ``None`` if there is none yet.
        gap: the first of the pages in a row without any dataset.
        digest: of the page before: what it linked to.
        digests: of the first pages, in order.
        before: of the first look, if this is the second one.
        left: what the first look left, as a clause.
        session: names the session that the page is of, and its cookies.
        process: the one that sent the form, whose cookies are its own.
        is_in_session: whether the form was posted, so that its pages are of a session.
    """

    start: str
    url: str = ""
    body: str | None = None
    times: int = 0
    number: int = 1
    link_text: str = ""
    offered: int = 1
    ahead: tuple[tuple[int, str], ...] = ()
    frame: tuple[int, ...] | None = None
    gap: int | None = None
    digest: str = ""
    digests: tuple[str, ...] = ()
    before: tuple[str, ...] | None = None
    left: str = ""
    session: str = ""
    process: str = ""
    is_in_session: bool = False

    def to(self, form: Form) -> Ask:
        """Return what is asked for by a form."""
        body = form.body.decode("latin-1") if form.method == "POST" else None
        return replace(self, url=form.url, body=body, link_text="")


def following(page: Page, rules: Rules, after: Ask) -> Ask | None:
    """Return the next page; ``None`` if this page shows none.

    Args:
        after: this page's, with the number of the next.
    """
    after = replace(after, body=None, times=0)
    way = rules.paging
    if way.in_browser:
        return replace(after, url=after.start, times=after.number - 1)
    if way.is_counted:
        return replace(after, url=paging.counted(after.start, way, after.number - 1))
    if not way.is_promised:
        return None
    found = next(filter(None, promised(page, way, after)), None)
    return _by_button(page, way, after) if not found and rules.form and way.kind == "next" else found


def promised(page: Page, way: Paging, after: Ask) -> Iterator[Ask | None]:
    """Yield the next page by the rules, else, if they name nothing, by whatever looks like a pager."""
    number = way.first + way.step * (after.number - 1)
    if way.kind == "postback":
        form = postback.postback(page, way, number, page.encoding)
        yield after.to(form) if form else None
    else:
        by_number = way.kind == "numbers"
        yield _to(page, after, paging.numbered_link(page, way, number) if by_number else paging.next_link(page, way))
    if way.xpath is None and way.text is None:
        yield from (pager(page, after) for pager in UNNAMED)


def _to(page: Page, after: Ask, address: str | None) -> Ask | None:
    return replace(after, url=_safe(page, address), link_text="") if address else None


def _safe(page: Page, address: str) -> str:
    return safe_url_string(address, page.encoding or "utf-8")


def _by_button(page: Page, way: Paging, after: Ask) -> Ask | None:
    """Return the next page by a button of a form: what a form brought may go on by another."""
    return next(promised(page, replace(way, kind="postback"), after), None)


def _offered(page: Page, after: Ask) -> Ask | None:
    return _to(page, after, paging.offered(page).get(after.number) or dict(after.ahead).get(after.number))


def _chosen(page: Page, after: Ask) -> Ask | None:
    pages = postback.dropdown(page, after.number - 1)
    form = postback.turned(page, pages, after.number, page.encoding) if pages else None
    return after.to(form) if form else None


def _by_shape(page: Page, after: Ask) -> Ask | None:
    link = paging.cursor_link(page, after.link_text) if after.link_text or after.number == 2 else None
    return replace(after, url=_safe(page, link.address), link_text=link.text) if link else None


UNNAMED: tuple[Callable[[Page, Ask], Ask | None], ...] = (_offered, _chosen, _by_shape)
"""The pagers that are tried in this order if the rules name none: page numbers, a select, a link by its shape."""


def seen(page: Page, ask: Ask) -> Ask:
    """Return the ask of a page, with what its pager offers: how many pages, and where they are."""
    numbers, pages = paging.offered(page), postback.dropdown(page, ask.number)
    posted = postback.offered(page)
    ahead = {**dict(ask.ahead), **numbers}
    kept = [(item, address) for item, address in ahead.items() if item > ask.number]
    highest = max([ask.offered, *numbers, *posted, pages.last if pages else 1])
    links = unread.frame(page)
    common = links[:_FRAME] if ask.frame is None else tuple(link for link in links if link in ask.frame)
    return replace(ask, offered=highest, ahead=tuple(kept[:_AHEAD]), frame=common)


def made(response: Response | None) -> int:
    """Return how often a browser turned the page."""
    return _counted(response, "Page-Turns")


def _counted(response: Response | None, header: str) -> int:
    found = b"" if response is None else response.headers.get(header) or b""
    return int(found) if found.isdigit() else 0


def has_ended(response: Response | None, kind: str) -> bool:
    """Return whether a browser's page shows that there is no further one, if what should turn it has done so before.

    A button that stays and does nothing must have been pressed three times, while no request of the page failed.
    """
    end = b"" if response is None else response.headers.get("Page-End") or b""
    is_idle = end == b"unchanged" and kind in ("button", "buttons") and _counted(response, "Page-Idle") >= _IDLE
    return is_idle or end.decode("latin-1") in _ENDS.get(kind, ())


def is_short(response: Response, times: int) -> bool:
    """Return whether a page that was opened again ended earlier than before."""
    return "Page-End" in response.headers and made(response) < times - 1


def browser(way: Paging, times: int) -> dict[str, Any]:
    """Return the page turns as data: the ``browser`` of a request's meta."""
    if not way.in_browser:
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
