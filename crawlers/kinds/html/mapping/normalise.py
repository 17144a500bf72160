"""Labels as keys: what two spellings of one label have in common."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

LONGEST = 80
"""Characters of a label; what is longer is text."""

COLONS = ":\uff1a"
_NUMBER = re.compile(r"[0-9]{1,2} (?=\D)")
_EDGES = re.compile(rf"^[\s{COLONS}*?¿•·–—.\[\]›»>|=-]+|[\s{COLONS}*?¿•·–—.\[\]›»>|=-]+$")
_LETTERS = {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŋ": "n"}
_DROPPED = {"Mn", "Cf"}  # accents and invisible characters


class _Signs(dict[int, str | None]):
    """For `str.translate`, filled as signs come up: letters and digits stay, accents go, all else is space."""

    def __missing__(self, code: int) -> str | None:
        sign = chr(code)
        if unicodedata.category(sign) in _DROPPED:
            self[code] = None
        else:
            self[code] = _LETTERS.get(sign, sign) if sign.isalnum() else " "
        return self[code]


_SIGNS = _Signs()


@lru_cache(maxsize=4_096)
def key(text: str) -> str:
    r"""Return a label without accents, case, punctuation and a number before it.

    >>> key("  Título:* "), key("Lizenz\u00ad\u200b \uff1a"), key("E-Mail"), key("İLETİŞİM"), key("1. Name")
    ('titulo', 'lizenz', 'email', 'iletisim', 'name')
    >>> key("標題："), key("Δημοσιεύθηκε"), key("Ключевые слова"), key(" : ")
    ('標題', 'δημοσιευθηκε', 'ключевые слова', '')
    """
    return _key(text)


def _key(text: str) -> str:
    text = text[: 2 * LONGEST]
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.casefold())
    words = " ".join(text.lower().translate(_SIGNS).split())
    if words[:1].isdigit():
        words = _NUMBER.sub("", words, count=1)
    return words.replace("e mail", "email") if "e mail" in words else words


def bare(text: str) -> str:
    """Return a label as people write it, without colon.

    >>> bare(" Lizenz :"), bare("*Title*"), bare("Author(s)")
    ('Lizenz', 'Title', 'Author(s)')
    """
    return _EDGES.sub("", text[: 2 * LONGEST])


def has_colon(text: str) -> bool:
    return ":" in text or "\uff1a" in text


def colon(text: str) -> int:
    """Return the position of the colon that ends a label, else -1: colons in times and addresses do not count.

    >>> colon("Lizenz: CC BY"), colon("Lizenz：CC BY"), colon("12:30"), colon("https://example.org"), colon("dct:title")
    (6, 6, -1, -1, -1)
    """
    text = text[: 2 * LONGEST].replace("\uff1a", ":\u200b")
    place = text.find(":")
    after = text[place + 1 : place + 2]
    return -1 if after == "/" or after.isalnum() else place
