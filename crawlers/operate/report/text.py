"""Text from portals on a page, of HTML or Markdown: shown, but without effect on the page."""

from __future__ import annotations

import re
import unicodedata
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

_MARKS = 3  # combining marks on one letter: more than any script needs, fewer than hide the lines around them
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))  # controls, bidi overrides, lone surrogates, line separators
_KEPT = "\n\t\u200c\u200d"  # all the same: the last two are joiners, in Persian, Hindi and emoji
_ODD = re.compile(r"[^\n -~\u00a0-\u00ac\u00ae-\u02ff]")


def inert(value: Any) -> Any:
    r"""Return a text without characters that affect the rest of a page; ``None`` becomes empty, other values pass.

    >>> inert("a\x00b\u202ec")
    'abc'
    >>> len(inert("Z" + "\u0301" * 200))
    4
    """
    if value is None:
        return ""
    if not isinstance(value, str) or isinstance(value, Markup) or not _ODD.search(value):
        return value
    return "".join(_seen(value))


def _seen(text: str) -> list[str]:
    kept, marks = [], 0
    for letter in text:
        kind = unicodedata.category(letter)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if letter in _KEPT or (marks <= _MARKS and kind not in _UNSEEN):
            kept.append(letter)
    return kept


_ACTIVE = re.compile(r"[&<>|\\`*_~\[\]!#@$^{}]|:(?=//)|(?i:(?<=www)\.)")
"""What GitHub's Markdown acts on within a line: markup, tables, links, mentions, formulas."""


def plain(value: Any) -> Any:
    r"""Return a text as one line of GitHub's Markdown that shows it, and nothing else; other values pass.

    >>> plain("a|b <i> *c*\nwww.example.org")
    'a&#124;b &#60;i&#62; &#42;c&#42; www&#46;example.org'
    """
    if not isinstance(value, str):
        return inert(value)
    return _ACTIVE.sub(lambda found: f"&#{ord(found[0])};", re.sub(r"\s+", " ", inert(value)))


def cut(value: str | None, length: int = 120) -> str:
    """Return the beginning of a text, cut at the end of a word if possible.

    >>> cut("River levels of the north", 15)
    'River levels of…'
    >>> cut("x" * 99, 5)
    'xxxxx…'
    """
    text = " ".join(inert((value or "")[: 4 * length]).split())
    if len(text) <= length and len(value or "") <= 4 * length:
        return text
    words = text[: length + 1].rpartition(" ")[0]
    return (words if len(words) > length // 2 else text[:length]) + "…"


def link(value: str | None) -> str | None:
    """Return an address that a page may link to: http or https, with a host and without a password.

    >>> link("https://example.org/a b")
    'https://example.org/a%20b'
    >>> link("javascript:alert(1)"), link("https://me:secret@example.org/"), link(None)
    (None, None, None)
    """
    address = str(inert(value or "")).strip().replace(" ", "%20")
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return None
    return address if usable and len(address) <= 2000 else None
