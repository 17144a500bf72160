"""A parsed HTML page, and the questions that rules ask of it."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlers.exceptions import RulesError
from crawlers.safety import html
from crawlers.safety.addresses import absolute
from crawlers.safety.xpath import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

LONGEST = 100_000
"""Characters of one text; what is longer is cut."""

UNSEEN = frozenset(("script", "style", "template", "noscript", "head", "select", "textarea"))
BREAKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details", "dialog"),
        *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6"),
        *("header", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "option", "p", "pre", "section"),
        *("summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "ul"),
    )
)
_LARGE = 200_000  # bytes
_EMPTY = etree.fromstring("<html/>")
_MOST_RAW = 10 * LONGEST  # with the space that goes
_MOST_STEPS = 200_000  # elements that are looked at for one text
_STRUCTURED = etree.XPath(
    "boolean(//@itemscope) or boolean(//script[contains(@type, 'ld+') or contains(@type, 'LD+')])"
)
_NESTED = etree.XPath("//dd/dd")
_BY_ATTRIBUTE = re.compile(  # what CSS has most: [name=value], #id, .class
    r"descendant-or-self::(\*|[\w-]+)\[(?=(@[\w-]+) )(?:\2 and (?=contains))?(\2 = '[^'@]*'|"
    r"contains\(\2, '[\w-]+'\) and contains\(concat\(' ', normalize-space\(\2\), ' '\), ' [\w-]+ '\))\]"
)
_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))  # the joiners of Arabic and Indic scripts stay


class Page:
    """
    Args:
        text: the page's.
        encoding: that it came in, as far as is known; links are written in it.
        url: where it came from; relative links are against it, or against its ``<base>``.

    Attributes:
        root: the ``html`` element; comments are not in it.
        flaw: why not all of the page is there, in a sentence; ``None`` where it is.
        misread: which of its letters may be others, in a sentence: its encoding is damaged, or was guessed.

    Raises:
        AnswerError: ``too_large``: it has more tags and attributes than `crawlers.safety.bounds.HTML`.
    """

    def __init__(self, text: str, url: str, encoding: str | None = None) -> None:
        self.url = url
        self.encoding = encoding
        self.misread: str | None = None
        body = text.strip().encode("utf-8", "replace").replace(b"\x00", b"") or b"<html/>"
        self.root, self.flaw = _parsed(body)
        if "<dd" in text or "<DD" in text:
            self._part_definitions()

    def _part_definitions(self) -> None:
        """Move each ``dd`` out of the one before it, where libxml2 puts it when that has no end tag."""
        for inner in _NESTED(self.root):
            inner.getparent().addnext(inner)

    @cached_property
    def structured(self) -> bool:
        """Return whether it may hold JSON-LD or microdata."""
        return bool(_STRUCTURED(self.root))

    @cached_property
    def base(self) -> str:
        found = self.find("//base/@href")
        return (absolute(found[0], self.url) if found else None) or self.url

    @cached_property
    def language(self) -> str | None:
        """Return the language that ``<html lang>`` states."""
        return str(self.root.get("lang") or self.root.get("{http://www.w3.org/XML/1998/namespace}lang") or "") or None

    def absolute(self, href: str) -> str | None:
        """Return a link's address, without its fragment; ``None`` when it can't be requested."""
        return absolute(href, self.base)

    def find(self, xpath: str, node: Any = None, limit: int | None = None) -> list[Any]:
        """Return what an XPath finds, from an element or the whole page: elements, or texts and attributes as ``str``.

        Args:
            limit: the number of elements or texts after which to stop.

        Raises:
            RulesError: it can't be evaluated; for example it calls an unknown function.
            AnswerError: it takes too long.
        """
        try:
            found = evaluate(_compiled(xpath, limit), self.root if node is None else node, xpath)
        except etree.XPathError as error:
            raise RulesError(f"The XPath {xpath} can't be evaluated: {error}.") from None
        return found if isinstance(found, list) else [found]


def _parsed(body: bytes) -> tuple[HtmlElement, str | None]:
    """Return the root, and what is wrong with it.

    Raises:
        AnswerError: ``too_large``.
    """
    if len(body) > _LARGE and _widest(body) > html.MOST_ATTRIBUTES:
        flaw = f"an element has more than {html.MOST_ATTRIBUTES} attributes: the page is not read"
        return _root(b"<html/>")[0], flaw
    root, parser = _root(body)
    if root is None:
        return _root(b"<html/>")[0], None
    last = parser.error_log.last_error
    is_cut = last is not None and last.type_name == "ERR_RESOURCE_LIMIT"
    return root, "the page is nested deeper than can be read: what follows is missing" if is_cut else None


def _root(body: bytes) -> tuple[HtmlElement, etree.HTMLParser]:
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    return etree.fromstring(body, parser), parser


def _widest(body: bytes) -> int:
    """Return the most attributes of an element."""
    events = html.Events()
    for _ in html.steps(body, events):
        pass
    return events.widest


@lru_cache(maxsize=2048)
def _compiled(xpath: str, limit: int | None) -> etree.XPath:
    unlimited = etree.XPath(xpath, smart_strings=False)
    if limit is None:
        return unlimited
    first = etree.XPath(_limited(xpath, limit), smart_strings=False)
    try:
        first(_EMPTY)
    except etree.XPathError:
        return unlimited  # it finds a single number or text
    return first


def _limited(xpath: str, limit: int) -> str:
    """Return the XPath of the first ones; of attributes alone where it can be, which takes a quarter of the time.

    >>> _limited("descendant-or-self::*[@id = 'a']", 9)
    "(descendant-or-self::*/@id[. = 'a'])[position() <= 9]/.."
    """
    found = _BY_ATTRIBUTE.fullmatch(xpath)
    if not found:
        return f"({xpath})[position() <= {limit}]"
    tag, attribute, condition = found.groups()
    return f"(descendant-or-self::{tag}/{attribute}[{condition.replace(attribute, '.')}])[position() <= {limit}]/.."


def text(node: Any) -> str:
    """Return the visible text of an element in one line; inline markup joins, ``<br>`` and blocks separate.

    It ends at ten times `LONGEST`; the caller cuts what it keeps.

    >>> text(Page("<p>A<b>B</b> c<br>d<script>x</script><!-- e -->f</p>", "https://example.org/").root)
    'AB c df'
    """
    if isinstance(node, str):
        return tidy(node)
    if not len(node):
        return tidy("" if node.tag in UNSEEN else node.text or "")
    return tidy("".join(pieces(node)))


def tidy(text: str) -> str:
    r"""Return a text in one line, without invisible characters.

    >>> tidy(" Daten\u00adsatz \n\u00a0 1\u200b")
    'Datensatz 1'
    """
    return " ".join((text if text.isascii() else text.translate(_INVISIBLE)).split())


def has_text(node: HtmlElement) -> bool:
    """Return whether an element has any visible text."""
    own = node.text
    if own and not own.isspace() and node.tag not in UNSEEN:  # nearly always
        return True
    return any(not piece.isspace() for piece in _pieces(node))


def pieces(node: HtmlElement) -> Iterator[str]:
    """Yield the texts of an element, a space where a line ends."""
    length = 0
    for piece in _pieces(node):
        yield piece
        length += len(piece)
        if length > _MOST_RAW:
            return


def _pieces(node: HtmlElement) -> Iterator[str]:
    walk = etree.iterwalk(node, events=("start", "end"))
    for event, element in islice(walk, _MOST_STEPS):
        if event == "start":
            if element.tag in UNSEEN and element is not node:
                walk.skip_subtree()
                continue
            piece = element.text
        else:
            piece = element.tail if element is not node else None
        if element.tag in BREAKS:
            yield " "
        if piece:
            yield piece
