"""What part of a page an element stands in, and how sure it is that this part is about the dataset."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from crawlers.kinds.html.mapping import confidence

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MOST_ABOVE = 60
"""Elements about one that are looked at."""

_BESIDE = frozenset(("aside", "complementary"))
_OUTSIDE = frozenset(("footer", "contentinfo", "search", "nav", "navigation", "banner"))
_TAGS = _BESIDE | _OUTSIDE
_ARTICLES = frozenset(("main", "article", "section"))  # their header is not the site's banner
_PART = r"(?:^|\s)(?:(?:site|page|main|region|block|l)[-_]{{1,2}})?(?:{})(?:$|[\s_0-9-])"
_SIDEBARS = re.compile(_PART.format("sidebars?"), re.IGNORECASE)
_OTHERS = re.compile(
    _PART.format(
        "footer|imprint|impressum|related|similar|comments?|facets?|search-?(?:form|box|block)|cookies?"
        "|side-?nav|navbar|navigation|breadcrumbs?|menu"
    ),
    re.IGNORECASE,
)
_BANNER = re.compile(r"(?:(?:site|page|global)[-_]?)?(?:header|masthead|banner)", re.IGNORECASE)
_MOST_NAMED = 200  # characters


def is_outside(element: HtmlElement) -> bool:
    """Return whether an element stands in a header, a footer, a navigation or a similar part."""
    above = (element, *islice(element.iterancestors(), MOST_ABOVE))
    return min(map(sureness, above)) <= confidence.OUTSIDE


def sureness(element: HtmlElement) -> float:
    """Return how sure it is, by an element itself, that what it contains is about the page's dataset."""
    given = element.attrib
    sure = _part(element.tag, given.get("role"), given.get("id"), given.get("class")) if given else _of_tag(element.tag)
    if element.tag == "header" and sure == 1 and next(element.iterancestors(*_ARTICLES), None) is None:
        sure = confidence.OUTSIDE
    return sure if sure == 1 or element.tag in _TAGS or next(element.iter("h1"), None) is None else 1.0


def _of_tag(tag: str) -> float:
    return 1.0 if tag not in _TAGS else confidence.BESIDE if tag in _BESIDE else confidence.OUTSIDE


@lru_cache(maxsize=4_096)
def _part(tag: str, role: str | None, identifier: str | None, classes: str | None) -> float:
    """Return how sure an element's tag, role, id and class make it; those of the whole page do not count.

    >>> _part("footer", None, None, None), _part("div", None, "sidebar-first", None), _part("div", None, None, "main")
    (0.5, 0.9, 1.0)
    """
    if tag in ("html", "body"):
        return 1.0
    named = f"{identifier or ''} {classes or ''}"[:_MOST_NAMED]
    sure = min(_of_tag(tag), _of_tag(role or ""))
    if _OTHERS.search(named) or _BANNER.fullmatch(identifier or ""):
        return confidence.OUTSIDE
    return min(sure, confidence.BESIDE) if _SIDEBARS.search(named) else sure
