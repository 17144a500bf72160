"""What the end of a walk through a listing shows: a pager that was followed to its end, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.html import turn
from crawlers.listing.completeness import Ending

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.html.place import Place
    from crawlers.rules.rules import Kind

_ENDS = {
    "button": ("gone", "disabled"),
    "buttons": ("gone", "disabled"),
    "scroll": ("unchanged",),
    "script": ("false",),
}
"""How a browser sees that there is no further page."""
_ONE_PAGE = (
    "nothing shows that these are all: it is one page that leads to no other"
    " (if there is no other, say next = false in [paging])"
)


def ending(
    kind: Kind, after: Place, response: Response | None = None, *, goes_on: bool = False, repeats: bool = False
) -> Ending:
    """Return how a walk ended.

    Args:
        kind: of paging, as the rules say.
        after: the place behind the last page.
        response: the last page; ``None`` when it was not there.
        goes_on: whether the last page has a link to a further one, which was not followed.
        repeats: whether the last page is the one before it again.
    """
    pages = after.number - 1
    seen = (response.headers.get("Page-End") or b"").decode("latin-1") if response is not None else ""
    is_turned = pages > 1 and kind in turn.BY_BROWSER
    is_followed = pages > 1 and kind in turn.PROMISED and not goes_on
    return Ending(
        listed=after.seen,
        subject=after.walk,
        total=after.total,
        has_pager_ended=is_followed or after.is_indexed or (is_turned and seen in _ENDS[kind]),
        is_last_page_short=pages > 1 and kind in turn.COUNTED,
        is_declared=kind == "none",
        left=_left(after.offered, pages - repeats, is_open=is_turned and seen == "unchanged" and kind != "scroll"),
    )


def is_single(found: Ending, after: Place) -> bool:
    """Return whether a walk was one page that shows nothing by itself."""
    shown = found.has_pager_ended or found.is_last_page_short or found.is_declared or found.total is not None
    return after.number == 2 and not shown and not found.left


def single_page(walk: str, listed: int, size: int) -> Ending:
    """Return how a walk of one page ended: it is all there is if pages no shorter than it led on.

    Args:
        listed: the datasets of the page.
        size: the most that a page of the crawl has listed that led to another.
    """
    is_end = listed <= size
    return Ending(listed=listed, subject=walk, has_pager_ended=is_end, left="" if is_end else _ONE_PAGE)


def _left(offered: int, pages: int, *, is_open: bool) -> str:
    """What was there and was not followed."""
    if offered > pages:
        return f"its pager offers page {offered}, and {pages} {'was' if pages == 1 else 'were'} read"
    return "a further turn changes nothing, though nothing says that this is the last page" if is_open else ""
