"""A pager that is a ``<select>``: each option is a page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.form import Form
from crawlers.kinds.html.mapping.page import text
from crawlers.kinds.html.paging import PAGER, is_in, page_number
from crawlers.kinds.html.postback import chosen_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlers.kinds.html.mapping.page import Page

_MOST = 10_000  # options
_RANGE = re.compile(r"\D{0,20}(\d{1,9})\s*(?:[-–—]|\.\.\.?|\w{1,5})\s*(\d{1,9})\D{0,20}")
_OF = re.compile(r"\D{0,20}(\d{1,9})\s*(?:/|\w{1,5})\s*(\d{1,9})\D{0,20}")
_NAMED = re.compile(r"(?:^|[^a-z])(?:page|pg|p|seite|pagina|strona|strana|side|sida|start|offset|skip)(?:$|[^a-z])")
_MOVES = re.compile(r"location|__doPostBack|submit", re.IGNORECASE)
_PREFIX = re.compile(r"""location(?:\.href)?\s*=\s*["']([^"']{1,500})["']\s*\+\s*(?:this|event\.target)\b""")


@dataclass(frozen=True, slots=True)
class Dropdown:
    """
    Args:
        values: of the options, one for each page.
    """

    element: Any
    values: Sequence[str]

    @property
    def last(self) -> int:
        """Return how many pages there are."""
        return len(self.values)


def dropdown(page: Page, number: int) -> Dropdown | None:
    """Return the page's ``<select>`` of pages.

    Its options are 1, 2, 3 ... or ranges that follow one another, the chosen one is this page, and it is called a
    pager or leads somewhere: a month or a page's size is none.

    Args:
        number: this page's own, from 1.
    """
    for element in page.find("//select"):
        options = [node for node in islice(element.iter("option"), _MOST) if node.get("disabled") is None]
        chosen = next((at for at, option in enumerate(options) if option.get("selected") is not None), 0)
        if chosen == number - 1 and _is_pager(element) and _are_pages([text(option) for option in options]):
            return Dropdown(element, [(option.get("value") or text(option)).strip() for option in options])
    return None


def turned(page: Page, found: Dropdown, number: int, encoding: str | None = None) -> Form | None:
    """Return what choosing a page asks for: an address that the option has, or the form that is sent with it.

    Args:
        number: the wanted page's.
        encoding: that the page came in.
    """
    if number > found.last:
        return None
    value = found.values[number - 1]
    prefix = _PREFIX.search((found.element.get("onchange") or "")[:2000])
    if prefix or "/" in value or "?" in value:
        address = page.absolute(prefix[1] + value if prefix else value)
        return Form(address, b"") if address else None
    return chosen_option(page, found.element, value, encoding)


def _is_pager(element: Any) -> bool:
    named = f"{element.get('name') or ''} {element.get('id') or ''}"[:200].lower()
    return bool(
        _NAMED.search(named)
        or _MOVES.search((element.get("onchange") or "")[:2000])
        or is_in(element, PAGER)
        or any("?" in (node.get("value") or "") for node in islice(element.iter("option"), 3))
    )


def _are_pages(texts: Sequence[str]) -> bool:
    """
    >>> _are_pages(["1", "2", "3"]), _are_pages(["1 of 2", "2 of 2"]), _are_pages(["1-20", "21-40", "41-47"])
    (True, True, True)
    >>> _are_pages(["10", "20", "50"]), _are_pages(["2024", "2025"]), _are_pages(["1"])
    (False, False, False)
    """
    if len(texts) < 2:
        return False
    wanted = list(range(1, len(texts) + 1))
    if [page_number(shown) for shown in texts] == wanted:
        return True
    counted = [(int(found[1]), int(found[2])) for shown in texts if (found := _OF.fullmatch(shown))]
    if counted == [(item, len(texts)) for item in wanted]:
        return True
    ranges = [(int(found[1]), int(found[2])) for shown in texts if (found := _RANGE.fullmatch(shown))]
    follow = all(before[1] + 1 == after[0] for before, after in pairwise(ranges))
    return len(ranges) == len(texts) and ranges[0][0] in (0, 1) and follow
