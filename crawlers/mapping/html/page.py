"""A parsed HTML page, and the questions that rules ask of it."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from lxml import etree
from parsel.selector import create_root_node

from crawlers.mapping.addresses import absolute

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_NAMESPACES = {"re": "http://exslt.org/regular-expressions"}
_UNSEEN = ("script", "style", "template", "noscript")
_BREAKS = ("br", "p", "div", "li", "tr", "td", "th", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "section", "table")


class Page:
    """
    Args:
        html: the page's text.
        url: where it came from; relative links are against it, or against its ``<base>``.

    Attributes:
        root: the ``html`` element.
    """

    def __init__(self, html: str, url: str) -> None:
        self.url = url
        self.root: HtmlElement = create_root_node(html, etree.HTMLParser, huge_tree=True)

    @cached_property
    def base(self) -> str:
        found = self.find("//base/@href")
        return (absolute(found[0], self.url) if found else None) or self.url

    @cached_property
    def language(self) -> str | None:
        """What ``<html lang>`` says."""
        return str(self.root.get("lang") or self.root.get("{http://www.w3.org/XML/1998/namespace}lang") or "") or None

    def absolute(self, href: str) -> str | None:
        """A link's address, without its fragment; ``None`` when it can't be asked for."""
        return absolute(href, self.base)

    def find(self, xpath: str, node: Any = None) -> list[Any]:
        """What an XPath finds, from an element or the whole page: elements, or texts and attributes as ``str``."""
        found = _compiled(xpath)(self.root if node is None else node)
        return found if isinstance(found, list) else [found]


@cache
def _compiled(xpath: str) -> etree.XPath:
    return etree.XPath(xpath, namespaces=_NAMESPACES)


def text(node: Any) -> str:
    """What a reader sees of an element, in one line: inline markup joins, ``<br>`` and blocks part.

    >>> text(Page("<p>A<b>B</b> c<br>d<script>x</script></p>", "https://example.org/").root)
    'AB c d'
    """
    if isinstance(node, str):
        return " ".join(node.split())
    pieces: list[str] = []
    for event, element in etree.iterwalk(node, events=("start", "end")):
        if event == "start":
            if element.tag in _UNSEEN or not isinstance(element.tag, str):
                continue
            pieces.append(" " if element.tag in _BREAKS else "")
            pieces.append(element.text or "")
        else:
            pieces.append(" " if element.tag in _BREAKS else "")
            pieces.append((element.tail or "") if element is not node else "")
    return " ".join("".join(pieces).split())
