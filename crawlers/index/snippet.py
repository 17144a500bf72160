"""The part of a text that says why it was found."""

from __future__ import annotations

import re

_BEFORE = 60
_LENGTH = 240  # characters
_MORE = "…"


def snippet(text: str, words: list[str]) -> str:
    """What stands around the first of the words, on one line; the beginning where there is none of them.

    >>> snippet("Rain fell " * 20 + "and floods followed " + "in autumn " * 30, ["flood"])[:60]
    '… fell Rain fell Rain fell Rain fell Rain fell Rain fell and'
    >>> snippet("All of the rivers", ["flood"])
    'All of the rivers'
    """
    line = " ".join(text.split())
    found = re.search("|".join(map(re.escape, words)), line, re.IGNORECASE) if words else None
    start = line.find(" ", found.start() - _BEFORE) + 1 if found and found.start() > _BEFORE else 0
    part = line[start : start + _LENGTH]
    before, after = (f"{_MORE} " if start else ""), (f" {_MORE}" if start + _LENGTH < len(line) else "")
    return before + part.strip() + after
