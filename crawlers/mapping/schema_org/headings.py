"""What a page says of itself: its canonical address, and what it is called."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from crawlers.mapping.html.page import text
from crawlers.mapping.schema_org.addresses import bare, base, joined

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_MOST = 20


def canonical(root: HtmlElement, url: str) -> str | None:
    """The address in ``<link rel="canonical">``; that of the site's start says nothing of a page."""
    for link in root.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split() and link.get("href"):
            found = joined(base(root, url), link.get("href").strip())
            return found if "/" in bare(found) else None
    return None


def headings(root: HtmlElement) -> set[str]:
    """Its title and its highest headings, folded."""
    return {folded(text(one)) for one in islice(root.iter("title", "h1"), _MOST)} - {""}


def folded(text: str) -> str:
    """What two spellings of one name share.

    >>> folded(" River  Levels")
    'river levels'
    """
    return " ".join(text.casefold().split())
