"""Texts as people compare them: what they copy from a page is rarely what its markup has, character by character."""

from __future__ import annotations

import re
import unicodedata

import re2

SEPARATORS = (",", ";", "|", "·", "•", " / ", "/", " - ")
"""What stands between values within one text, the usual ones first."""

_EDGES = " \t:：.,;|·•–-*\"'“”„«»()[]"
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]")


def normal(text: str) -> str:
    r"""Without case, invisible characters and the punctuation about it, in one line.

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
    """Whether both have the same values, in whatever order.

    >>> same_list(["b", "A"], ["a", "b"]), same_list([], [])
    (True, False)
    """
    return bool(found) and sorted(map(normal, found)) == sorted(map(normal, wanted))


def split(text: str, separator: str) -> list[str]:
    """
    >>> split("a, b,, c", ",")
    ['a', 'b', 'c']
    """
    return [part for one in text.split(separator) if (part := " ".join(one.split()))]


def lists(wanted: list[str]) -> list[list[str]]:
    """The lists that the values a user typed may mean: as they are, or one text that is split.

    >>> lists(["a, b"])
    [['a, b'], ['a', 'b']]
    """
    if len(wanted) != 1:
        return [wanted]
    parts = [split(wanted[0], separator) for separator in SEPARATORS if separator in wanted[0]]
    return [wanted, *(one for one in parts if len(one) > 1)]


def shortened(text: str, most: int = 60) -> str:
    r"""In one line, for a terminal: without what would steer it.

    >>> shortened("a" * 70, 10), shortened("a\x1b[31m b")
    ('aaaaaaaaa…', 'a\ufffd[31m b')
    """
    text = "".join(one if one.isprintable() else "\ufffd" for one in " ".join(text.split()))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def escaped(text: str) -> str:
    r"""A text as a pattern of RE2, with no more backslashes than it takes.

    >>> escaped("a-b_c.d")
    'a-b_c\\.d'
    """
    return re.sub(r"\\([-_/ %~@!,=&:;<>\"'#])", r"\1", str(re2.escape(text)))
