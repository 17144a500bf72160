"""How sure a value is, from 0 to 1.

A field's confidence is that of how it was found, times a factor for each thing that speaks against it:

====================================================  ======
a constant                                             1
one element by id, ``itemprop``, ``property``, ``h1``  1
one element by any other selector                      0.95
the same by a position: ``nth-child``, ``[2]``         0.85
a label as the rule writes it                          1
a label that is a word for the field                   0.95
the same where the rule names other labels             0.9
a label that is like one of these                      its likeness, 0.94 at most
several elements or labels that differ, not ``many``   x 0.8
a label in a sidebar, and nowhere else                 x 0.9
one in a header, a footer, a navigation, comments,
related datasets, a search                             x 0.5
a date, an e-mail address or a web address unreadable  x 0.5
a text that was cut                                    x 0.8
====================================================  ======

What is empty has no confidence: the field is absent. What is less sure than `LEAST` stays in the document, and does not
reach the item.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from crawlers.kinds.html.rules import Rule


LEAST = 0.6
SURE = 1.0
SYNONYM = 0.95
OTHER_WORD = 0.9
ALIKE = 0.94
AMBIGUOUS = 0.8
BESIDE = 0.9
OUTSIDE = 0.5
UNREADABLE = 0.5
CUT = 0.8

_NAMED = re.compile(
    r"@(?:id|itemprop|property|name|data-[\w-]+)\b|#[\w-]|\[(?:id|itemprop|property|name|data-)|(?:^|[\s/>])(?:h1|title)\b"
)
_COUNTED = re.compile(r":nth-|:first-|:last-|\[\s*[0-9]+\s*\]|position\(\)|last\(\)")


@lru_cache(maxsize=1024)
def of_selector(rule: Rule) -> float:
    """
    >>> from crawlers.kinds.html.rules import Rule
    >>> [of_selector(Rule(name="title", xpath="", css=css)) for css in ("#name b", "p.name", "p:nth-child(2)")]
    [1.0, 0.95, 0.85]
    """
    written = rule.css or rule.xpath or ""
    if _COUNTED.search(written):
        return 0.85
    return SURE if _NAMED.search(written) else 0.95


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
    return min(map(sureness, above)) <= OUTSIDE


def sureness(element: HtmlElement) -> float:
    """Return how sure it is, by an element itself, that what it contains is about the page's dataset."""
    given = element.attrib
    sure = _part(element.tag, given.get("role"), given.get("id"), given.get("class")) if given else _of_tag(element.tag)
    if element.tag == "header" and sure == 1 and next(element.iterancestors(*_ARTICLES), None) is None:
        sure = OUTSIDE
    return sure if sure == 1 or element.tag in _TAGS or next(element.iter("h1"), None) is None else 1.0


def _of_tag(tag: str) -> float:
    return 1.0 if tag not in _TAGS else BESIDE if tag in _BESIDE else OUTSIDE


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
        return OUTSIDE
    return min(sure, BESIDE) if _SIDEBARS.search(named) else sure
