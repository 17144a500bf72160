"""Links to the next page without a known word: their addresses or classes show what they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from crawlers.kinds.html.paging import CALENDAR, PAGER, anchors, has_next_class, is_in, leads_back, number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlers.kinds.html.mapping.page import Page
    from crawlers.kinds.html.paging import Anchor

_NAMES = re.compile(
    r"(?:.{1,20}[_.\[-])?(?:page|pg|p|seite|pagina|after|before|offset|start|from|skip|until|marker|position|next"
    r"|(?:last|max|since|start|from)[_-]?(?:id|key|after)?)\]?|.{0,20}(?:cursor|token|offset|continu\w{1,9})",
    re.IGNORECASE,
)
_PAGES = re.compile(r"page|pg|p|seite|pagina", re.IGNORECASE)
_SIZES = re.compile(r"per[_-]?page|(?:page)?[_-]?(?:size|limit|rows)|.{0,10}csrf.{0,10}", re.IGNORECASE)
_STEPS = re.compile(r"/(?:page|p|seite|pagina|offset|before|after|cursor|older|start)[/-]?[^/]{0,200}/?", re.IGNORECASE)
_CLASS = re.compile(r"(?:^|[\s_-])(?:older|next|load-?more|show-?more|view-?more|more-link)(?:$|[\s_-])", re.IGNORECASE)


def cursor_link(page: Page, link_text: str) -> Anchor | None:
    """Return the link to the next page by its shape.

    It leads to the page's own path with another cursor, offset or page, or its class says "older" or "more". On the
    first page there must be one address only; later the link counts that says what the first one did.

    Args:
        link_text: the text of the link that was followed before; "" on the first page.
    """
    found = [link for link in anchors(page, page.root) if link.element.tag in ("a", "button") and _leads_on(page, link)]
    if link_text:
        return next((link for link in found if link.text == link_text), None)
    in_pager = [link for link in found if is_in(link.element, PAGER) or _is_called(link)]
    for some in (found, in_pager):
        if len({link.address for link in some}) == 1 and some[0].text:
            return some[0]
    return None


def _leads_on(page: Page, link: Anchor) -> bool:
    if leads_back(link) or number_of(link) is not None or is_in(link.element, CALENDAR):
        return False
    here, there = urlsplit(page.url), urlsplit(link.address)
    if here.netloc != there.netloc:
        return False
    if here.path == there.path:
        return _is_cursor(here.query, there.query) or (_is_called(link) and here.query != there.query)
    return there.path.startswith(here.path.rstrip("/")) and bool(
        _STEPS.fullmatch(there.path.removeprefix(here.path.rstrip("/")))
    )


def _is_cursor(here: str, there: str) -> bool:
    """Return whether queries differ only in where a page begins."""
    item, other = (dict(parse_qsl(query[:2000], keep_blank_values=True)) for query in (here, there))
    changed = [name for name in {*item, *other} if item.get(name) != other.get(name)]
    values = [(name, other[name]) for name in changed if other.get(name)]
    return _are_places(changed) and bool(values) and not any(_is_name(*value) for value in values)


def _is_name(name: str, value: str) -> bool:
    """Return whether a parameter names a page of the site, not of a listing: ``?page=contact``."""
    return _PAGES.fullmatch(name) is not None and value.isalpha()


def _are_places(names: Sequence[str]) -> bool:
    """
    >>> _are_places(["page_token"]), _are_places(["before", "page"]), _are_places(["sort"]), _are_places(["per_page"])
    (True, True, False, False)
    """
    return bool(names) and all(_NAMES.fullmatch(name) and not _SIZES.fullmatch(name) for name in names)


def _is_called(link: Anchor) -> bool:
    return has_next_class(link) or bool(_CLASS.search((link.element.get("class") or "")[:200]))
