"""Texts compared as people do: what they copy from a page rarely equals its markup character by character; and the
patterns that cut a value out of a text.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import re2

if TYPE_CHECKING:
    from collections.abc import Iterator

SEPARATORS = (",", ";", "|", "·", "•", " / ", "/", " - ")
"""What stands between values within one text, the usual ones first."""

_EDGES = " \t:：.,;|·•–-*\"'“”„«»()[]"
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]")


def normal(text: str) -> str:
    r"""Return a text in one line, without case, invisible characters and surrounding punctuation.

    >>> normal(" Lizenz:\u00a0 "), normal("CC\u00adBY"), normal("Straße")
    ('lizenz', 'ccby', 'strasse')
    """
    text = _UNSEEN.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return " ".join(text.split()).strip(_EDGES)


def same(found: str, wanted: str) -> bool:
    """
    >>> same("CC BY 4.0", "cc by 4.0 "), same("", ""), same("a", "b")
    (True, False, False)
    """
    return bool(normal(wanted)) and normal(found) == normal(wanted)


def same_list(found: list[str], wanted: list[str]) -> bool:
    """Return whether two lists have the same values, in any order.

    >>> same_list(["b", "A"], ["a", "b"]), same_list([], [])
    (True, False)
    """
    return bool(found) and sorted(map(normal, found)) == sorted(map(normal, wanted))


def split(text: str, separator: str) -> list[str]:
    """
    >>> split("a, b,, c", ",")
    ['a', 'b', 'c']
    """
    return [part for item in text.split(separator) if (part := " ".join(item.split()))]


def lists(wanted: list[str]) -> list[list[str]]:
    """Return the lists that the typed values may mean: as they are, or a single text that is split.

    >>> lists(["a, b"])
    [['a, b'], ['a', 'b']]
    """
    if len(wanted) != 1:
        return [wanted]
    parts = [split(wanted[0], separator) for separator in SEPARATORS if separator in wanted[0]]
    return [wanted, *(part for part in parts if len(part) > 1)]


def shortened(text: str, length: int = 60) -> str:
    r"""Return a text in one line for a terminal, without control characters.

    >>> shortened("a" * 70, 10), shortened("a\x1b[31m b")
    ('aaaaaaaaa…', 'a\ufffd[31m b')
    """
    text = "".join(item if item.isprintable() else "\ufffd" for item in " ".join(text.split()))
    return text if len(text) <= length else f"{text[: length - 1]}…"


def escaped(text: str) -> str:
    r"""Return a text as a pattern of RE2, with as few backslashes as possible.

    >>> escaped("a-b_c.d")
    'a-b_c\\.d'
    """
    return re.sub(r"\\([-_/ %~@!,=&:;<>\"'#])", r"\1", str(re2.escape(text)))


_WORDS_BEFORE = 2
_SIGNS = "()[]{}<>|,;·•–"
_LONGEST_WORD = 60
EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_SHAPES = (
    (re.compile(EMAIL), f"({EMAIL})"),
    (re.compile(r"\d{4}-\d{2}-\d{2}"), r"(\d{4}-\d{2}-\d{2})"),
    (re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{4}"), r"(\d{1,2}[./-]\d{1,2}[./-]\d{4})"),
    (re.compile(r"\d{1,2}\.? [^\W\d]+ \d{4}"), r"(\d{1,2}\.? [\pL]+ \d{4})"),
    (re.compile(r"[^\W\d]+ \d{1,2}, \d{4}"), r"([\pL]+ \d{1,2}, \d{4})"),
)


def patterns(text: str, wanted: str) -> Iterator[tuple[str, float]]:
    r"""Yield RE2 patterns that find a value in a text by what surrounds it, and how stable each is.

    >>> next(patterns("Licence: CC BY 4.0 (details)", "CC BY 4.0"))[0]
    'Licence:\\s*(.+?)\\s*\\('
    """
    start = text.casefold().find(wanted.casefold())
    if start < 0 or len(text) > 100_000:
        return
    before, after = text[:start], text[start + len(wanted) :]
    if not before.strip() and not after.strip():
        return
    for shape, pattern in _SHAPES:
        if shape.fullmatch(wanted):
            yield f"{_before(before)}{pattern}", 0.9
            yield pattern, 0.75
    if before.endswith(".") and not after and " " not in text:
        yield r"\.(\w+)$", 0.85
    yield from _enclosed(before.rstrip()[-1:], after.lstrip()[:1])
    end = _after(after)
    yield f"{_before(before)}{f'(.+?){end}' if end else '(.+)'}", 0.85
    if after.strip() and before.strip():
        yield f"{_before(before)}(.+)", 0.6


def _enclosed(start: str, end: str) -> Iterator[tuple[str, float]]:
    """Yield the patterns of a value between two signs, such as brackets."""
    if start in _SIGNS and end in _SIGNS and start and end:
        opening, closing = escaped(start), escaped(end)
        inner = f"([^{opening}{closing}]+)"
        yield rf"{opening}\s*{inner}{closing}", 0.8
        yield rf"{opening}\s*{inner}{closing}\s*$", 0.8


def _before(text: str) -> str:
    """Return the pattern of the last words before the value, with any numbers."""
    if not text.strip():
        return r"^\s*"
    words = text.split()[-_WORDS_BEFORE:]
    return r"\s+".join(_general(word) for word in words) + (r"\s*" if text[-1:].isspace() or words else "")


def _after(text: str) -> str:
    """Return the pattern of the sign or word that ends the value."""
    if not text.strip():
        return ""
    found = re.match(r"\s*([^\w\s]|\S+)", text)
    return rf"\s*{_general(found[1])}" if found else ""


def _general(word: str) -> str:
    word = word[-_LONGEST_WORD:]
    return re.sub(r"\d+", lambda _: r"\d+", escaped(word)) if any(map(str.isdigit, word)) else escaped(word)
