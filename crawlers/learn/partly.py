"""Regular expressions for a value that is only part of a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.learn.texts import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORDS_BEFORE = 2
_SIGNS = "()[]{}<>|,;·•–"
_LONGEST = 60
EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_SHAPES = (
    (re.compile(EMAIL), f"({EMAIL})"),
    (re.compile(r"\d{4}-\d{2}-\d{2}"), r"(\d{4}-\d{2}-\d{2})"),
    (re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{4}"), r"(\d{1,2}[./-]\d{1,2}[./-]\d{4})"),
    (re.compile(r"\d{1,2}\.? [^\W\d]+ \d{4}"), r"(\d{1,2}\.? [\pL]+ \d{4})"),
    (re.compile(r"[^\W\d]+ \d{1,2}, \d{4}"), r"([\pL]+ \d{1,2}, \d{4})"),
)


def patterns(text: str, wanted: str) -> Iterator[tuple[str, float]]:
    r"""RE2 patterns that find a value in a text by what stands about it, with how stable each is; never by the value.

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
    """Between two signs, such as brackets."""
    if start in _SIGNS and end in _SIGNS and start and end:
        opening, closing = escaped(start), escaped(end)
        inner = f"([^{opening}{closing}]+)"
        yield rf"{opening}\s*{inner}{closing}", 0.8
        yield rf"{opening}\s*{inner}{closing}\s*$", 0.8


def _before(text: str) -> str:
    """The last words before the value; numbers in them may be any."""
    if not text.strip():
        return r"^\s*"
    words = text.split()[-_WORDS_BEFORE:]
    return r"\s+".join(_general(word) for word in words) + (r"\s*" if text[-1:].isspace() or words else "")


def _after(text: str) -> str:
    """What ends the value: a sign or a word."""
    if not text.strip():
        return ""
    found = re.match(r"\s*([^\w\s]|\S+)", text)
    return rf"\s*{_general(found[1])}" if found else ""


def _general(word: str) -> str:
    word = word[-_LONGEST:]
    return re.sub(r"\d+", lambda _: r"\d+", escaped(word)) if any(map(str.isdigit, word)) else escaped(word)
