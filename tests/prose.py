"""The prose of a page: its sentences, without code, tables of numbers, addresses and markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"\s*(```|~~~)")
_TAG = re.compile(r"<[^>]+>")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"``[^`]+``|`[^`]+`")
_MARK = re.compile(r"^\s*(?:[-*>]|\d+\.|#+)\s+|\*\*|(?<!\w)_|_(?!\w)")
_END = re.compile(r"(?<=[.!?:;])\s+(?=[A-Z`\"(])|\s\|\s")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*")


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the line that it begins in."""

    line: int
    text: str


def sentences(path: Path) -> Iterator[Sentence]:
    """Yield the sentences of a page of Markdown."""
    for line, block in _blocks(path.read_text(encoding="utf-8")):
        yield from (Sentence(line, one.strip(" |")) for one in _END.split(plain(block)) if _WORD.search(one))


def plain(text: str) -> str:
    """Return Markdown without markup; each piece of code is the word CODE.

    >>> plain("- **Stop** it with `scrapy x`: [how](a.md#b).")
    'Stop it with CODE: how.'
    """
    return _MARK.sub("", _TAG.sub(" ", _LINK.sub(r"\1", _CODE.sub("CODE", text))))


def _blocks(text: str) -> Iterator[tuple[int, str]]:
    """Yield paragraphs, items of lists and rows of tables, each with the line that it begins in."""
    begun, lines, is_code = 0, [], False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        is_fence = bool(_FENCE.match(line))
        is_new = is_code or is_fence or not line.strip() or re.match(r"\s*([-*|#>]|\d+\.|<)", line)
        if lines and is_new:
            yield begun, " ".join(lines)
            lines = []
        if is_fence:
            is_code = not is_code
        elif not is_code and line.strip():
            begun, lines = (begun, lines) if lines else (number, [])
            lines.append(line)
