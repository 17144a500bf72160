"""Which words of a text were searched for."""

from __future__ import annotations

import re
import unicodedata

from crawlers.index.spaced import UNSPACED

_WORD = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")
_INNER = re.compile(f"[{UNSPACED}]")
_LONGEST = 100  # characters of a word


def marked(text: str, query: str) -> list[tuple[str, bool]]:
    """The parts of a text in order, each with whether a word of the query begins it.

    >>> marked("Extent of the floods", "flood*")
    [('Extent of the ', False), ('floods', True)]
    >>> marked("Río Grande", "rio")
    [('Río', True), (' Grande', False)]
    >>> marked("2024年洪水数据", "数据")
    [('2024年洪水', False), ('数据', True)]
    """
    sought = [word for word in _WORD.findall(query) if len(word) <= _LONGEST]
    inner = re.compile("|".join(map(re.escape, filter(_INNER.match, sought))) or "(?!)")
    begun = tuple(_folded(word) for word in sought if not _INNER.match(word))
    parts, at = [], 0
    for word in _WORD.finditer(text):
        spans = [(word.start(), word.end())] if begun and _folded(word[0]).startswith(begun) else []
        spans += [found.span() for found in inner.finditer(text, *word.span())]
        for start, end in spans:
            parts += [(text[at:start], False), (text[start:end], True)]
            at = end
    return [part for part in (*parts, (text[at:], False)) if part[0]]


def _folded(word: str) -> str:
    bare = unicodedata.normalize("NFKD", word)
    return "".join(letter for letter in bare if not unicodedata.combining(letter)).casefold()
