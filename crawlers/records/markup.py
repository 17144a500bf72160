"""Descriptions: HTML into Markdown, plain text as it is; and Markdown into what a page or a list shows."""

from __future__ import annotations

import re
from functools import cache
from html import escape, unescape
from html.entities import html5
from typing import TYPE_CHECKING, Any

from crawlers.records import values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdownify import MarkdownConverter
    from nh3 import Cleaner

_LONGEST = 1_000_000
_LONGEST_HTML = 60_000  # an HTML parser's time is quadratic in the depth: half a second at worst
_DEEPEST = 100  # markdownify calls itself three times for each level
_MOST_TAGS = 4_000

_NAMES = (
    "abbr|acronym|address|applet|area|article|aside|audio|base|basefont|bdi|bdo|big|blink|blockquote|body|br|button"
    "|canvas|caption|center|cite|code|col|colgroup|data|datalist|dd|del|details|dfn|dialog|dir|div|dl|dt|em|embed"
    "|fieldset|figcaption|figure|font|footer|form|frame|frameset|h[1-6]|head|header|hgroup|hr|html|iframe|img|input"
    "|ins|kbd|label|legend|li|link|main|map|mark|marquee|math|menu|meta|meter|nav|nobr|noframes|noscript|object|ol"
    "|optgroup|option|output|param|picture|pre|progress|rp|rt|ruby|samp|script|search|section|select|slot|small|source"
    "|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|track"
    "|tt|ul|var|video|wbr"
)
# "a<b and c>d" is not HTML: a name of one letter must be closed at once or have an attribute.
_ANY_TAG = re.compile(
    rf"<(?=[!/a-z])(?:!--|/?(?:{_NAMES})(?=[\s/>])|/?[abipqsu]\s*/?>|[a-z][\w:-]*[\s/](?!/)[^<>]*=)", re.IGNORECASE
)
_ENTITY = re.compile(r"&(#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)

# Parsers reopen unclosed formatting in each paragraph, as often as its attributes differ: 1 MB becomes many GB.
_FORMATTING = "b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"
_FORMATTED = re.compile(rf"<({_FORMATTING})[\s/][^<>]*>", re.IGNORECASE)
_STILL_FORMATTED = re.compile(rf"<(?:{_FORMATTING})[\s/]", re.IGNORECASE)
_EMBEDDED = re.compile(r"\bdata:[^\s\"'<>)]{1000,}+", re.IGNORECASE)
_SCRIPTS = re.compile(r"<(?=/?(?:script|style)\b)", re.IGNORECASE)
_NESTING = re.compile(r"<(/?)(?!(?:br|hr|img)\b)[a-z]")
_TAG = re.compile(r"<[^<>]*>")
_RAW = re.compile(r"<(?=[A-Za-z/!?])")
_BLOCK = re.compile(r"<(?:p|br|div|ul|ol|dl|table|h[1-6]|pre|hr|article|section|blockquote)\b")
_BLANK_LINE = re.compile(r"(?<![^\S\n])[^\S\n]*+\n(?:[^\S\n]*+\n)++")

_KEPT = """
a article b blockquote br caption code dd del div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img kbd li ol
p pre q s samp section strong table tbody td tfoot th thead tr ul
"""


def markdown(text: str) -> str | None:
    r"""Return HTML as Markdown without anything that a browser would run; plain text stripped, its entities resolved.

    No tag is left in the text, but a program that renders it must still sanitise the result: Markdown has links.

    >>> markdown("<h1>h1 title</h1><h2>h2 title</h2> <b>and bold text</b>")
    '# h1 title\n\n## h2 title\n\n**and bold text**'
    >>> markdown(" a < b, R&amp;D & caf&eacute; <jane@doe.org>\n"), markdown(" ")
    ('a < b, R&D & café <jane@doe.org>', None)
    >>> markdown("<p onclick=x()>See <a href='javascript:x()'>this</a><script>x()</script></p>")
    'See this'
    """
    found = values.text(text[:_LONGEST])
    if not found or ("<" not in found and "&" not in found):  # nearly always
        return found
    if _is_html(found):
        return _from_html(found)
    found = _ENTITY.sub(_resolved, found)
    return _from_html(found) if _is_html(found) else values.text(found)


def _is_html(text: str) -> bool:
    end = text.rfind(">")
    return end >= 0 and bool(_ANY_TAG.search(text, 0, end + 1))


def _resolved(entity: re.Match[str]) -> str:
    name = entity[1]
    return unescape(entity[0]) if name[0] == "#" or f"{name};" in html5 else entity[0]


def _from_html(html: str) -> str | None:
    html = _lightened(html)
    if len(html) > _LONGEST_HTML or _STILL_FORMATTED.search(html):
        return _bare(html)
    clean = _cleaner().clean(html)
    if _is_too_much(clean):
        return _bare(clean)
    if not _BLOCK.search(clean):  # plain text with a few tags in it: its blank lines are meant
        clean = _BLANK_LINE.sub("<br><br>", clean)
    return values.text(_BLANK_LINE.sub("\n\n", _converter().convert(clean)))


def _lightened(html: str) -> str:
    """Return HTML without what would be dropped anyway, where that makes it heavy."""
    html = _FORMATTED.sub(r"<\1>", html)
    if len(html) <= _LONGEST_HTML:
        return html
    first, *rest = _SCRIPTS.split(_EMBEDDED.sub("", html))
    return first + "".join(f"<{part}" for part in rest if part[0] == "/")


def _is_too_much(clean: str) -> bool:
    if clean.count("<") > _MOST_TAGS:
        return True
    depth = 0
    for tag in _NESTING.finditer(clean):
        depth += -1 if tag[1] else 1
        if depth > _DEEPEST:
            return True
    return False


def _bare(html: str) -> str | None:
    """Return the text alone, in time that grows with its length only."""
    words = unescape(_TAG.sub(" ", html)).split()
    return values.text(_RAW.sub(r"\\<", " ".join(words)))


@cache
def _cleaner() -> Cleaner:
    from nh3 import Cleaner  # noqa: PLC0415 -- few catalogues have HTML

    return Cleaner(
        tags=set(_KEPT.split()),
        attributes={"a": {"href"}, "img": {"src", "alt"}},
        attribute_filter=_attribute,
        url_schemes={"http", "https", "ftp", "mailto"},
        link_rel=None,
    )


_SYNTAX = re.compile(r"[\s<>()\[\]\"\\]")


def _attribute(_tag: str, name: str, value: str) -> str:
    """Return a value without the characters that would end the link in Markdown."""
    return _SYNTAX.sub(" " if name == "alt" else lambda found: f"%{ord(found[0]):02X}", value.strip())


@cache
def _converter() -> MarkdownConverter:
    from markdownify import MarkdownConverter  # noqa: PLC0415 -- takes 90 ms

    class Converter(MarkdownConverter):
        def escape(self, text: str, parent_tags: set[str]) -> str:
            found: str = super().escape(text, parent_tags)  # type: ignore[misc]
            return _RAW.sub(r"\\<", found)

        def convert_img(self, el: Any, text: str, parent_tags: set[str]) -> str:
            found: str = super().convert_img(el, text, parent_tags)  # type: ignore[misc]
            return found if el.get("src") else el.get("alt") or ""

        def convert_pre(self, el: Any, text: str, parent_tags: set[str]) -> str:
            """Return a block of code; a fence inside its text would end the block."""
            found: str = super().convert_pre(el, text.replace("```", "'''"), parent_tags)  # type: ignore[misc]
            return found

    # An underscore in a word is not emphasis, and file_names are full of them.
    return Converter(heading_style="ATX", bullets="-", escape_underscores=False, table_infer_header=True)


# What pages and lists show of it

SHOWN = 10_000
"""Characters of a description that are rendered: the time of Markdown is quadratic at worst."""
_LEFT_OUT = {"article", "caption", "div", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "img", "section"}
SHOWN_TAGS = frozenset(_KEPT.split()) - _LEFT_OUT | {
    "abbr",
    "cite",
    "del",
    "ins",
    "mark",
    "small",
    "sub",
    "sup",
    "u",
    "var",
}
"""What a page shows of a description: no pictures, which would tell the portal who reads it, and no headings."""
_MARKUP = re.compile(r"[*`\[#<|~\\]|&#?\w+;|\b_|_\b|^\s*(?:>|[-+]\s|\d+[.)]\s|[-=]{2,})", re.MULTILINE)
_SCHEME = re.compile(r"(?:https?|ftp)://|mailto:", re.IGNORECASE)
_BREAK = re.compile(r"<(?=/?(?:blockquote|br|dd|div|dt|h[1-6]|hr|li|p|pre|td|th|tr)\b)")


def as_html(text: str) -> str:
    r"""Return the beginning of a description, which is Markdown that may have HTML in it, as HTML that can do nothing.

    Links lead to http, https, ftp and mailto only. A picture is a link to it. Headings are bold paragraphs.

    >>> as_html("# Floods\n\nSee **this** [map](/m)")
    '<p><strong>Floods</strong></p>\n<p>See <strong>this</strong> <a rel="noopener noreferrer nofollow">map</a></p>\n'
    """
    return _shown().clean(_html(text))


def as_text(text: str) -> str:
    r"""Return a description's words on one line, without its markup.

    >>> as_text("# Floods\n\n- **One** & [two](https://example.org)\n- <i>three</i>_four ![a map](x.png)")
    'Floods One & two three_four a map'
    """
    if not _MARKUP.search(text):
        return " ".join(text.split())
    return " ".join(unescape(_nothing().clean(_BREAK.sub(" <", _html(text)))).split())


def _html(text: str) -> str:
    """Return the HTML of a description's beginning, which is to be cleaned; a half of a pair is a question mark."""
    found = _FORMATTED.sub(r"<\1>", text[:SHOWN].encode("utf-8", "replace").decode())
    return str(_rendered(_is_html(found)).render(found))


@cache
def _rendered(has_html: bool) -> MarkdownIt:
    """Return what renders Markdown; without HTML, what looks like a tag is a text."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 -- few commands show a description

    found = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    found.options.html, found.options.breaks = has_html, True
    found.disable("code")  # texts are indented for other reasons
    found.add_render_rule("heading_open", lambda *_: "<p><strong>")
    found.add_render_rule("heading_close", lambda *_: "</strong></p>\n")
    found.add_render_rule("image", _picture)
    return found


def _picture(_: Any, tokens: Sequence[Token], index: int, *_more: Any) -> str:
    token = tokens[index]
    address = str(token.attrs.get("src", ""))
    return f'<a href="{escape(address)}">{escape(token.content or address)}</a>'


@cache
def _shown() -> Cleaner:
    from nh3 import Cleaner  # noqa: PLC0415

    return Cleaner(
        tags=set(SHOWN_TAGS),
        attributes={"a": {"href"}, "ol": {"start"}},
        attribute_filter=_address,
        url_schemes={"http", "https", "ftp", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _address(_tag: str, name: str, value: str) -> str | None:
    """Return an attribute; an address without a scheme would lead to the page's own site."""
    return value if name != "href" or _SCHEME.match(value.strip()) else None


@cache
def _nothing() -> Cleaner:
    from nh3 import Cleaner  # noqa: PLC0415

    return Cleaner(tags=set())
