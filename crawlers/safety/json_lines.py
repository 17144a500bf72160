"""Lines of JSON in a file that others may write into: none is too long, too deep or too broken for the rest."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LONGEST = 16 * 1024 * 1024
"""Bytes of a line that is read."""
_BLOCK = 64 * 1024
_HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair


def lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield each line's length in bytes and the line itself; ``None`` for one that is longer than LONGEST."""
    while line := file.readline(LONGEST):
        if len(line) < LONGEST or line.endswith(b"\n"):
            yield len(line), line
        else:
            yield LONGEST + _rest(file), None


def _rest(file: BinaryIO) -> int:
    """Read to the end of a line, and return the bytes that were left of it."""
    size = 0
    while part := file.readline(LONGEST):
        size += len(part)
        if part.endswith(b"\n"):
            break
    return size


def line_start(file: BinaryIO, offset: int) -> int:
    """Return where the line before an offset begins, if it was torn then: a later crawl may have written it again."""
    while offset:
        step = min(offset, _BLOCK)
        file.seek(offset - step)
        newline = file.read(step).rfind(b"\n")
        if newline >= 0:
            return offset - step + newline + 1
        offset -= step
    return 0


def entry(line: bytes | None) -> dict[str, Any] | None:
    """Return the object that a line is; ``None`` for anything else.

    >>> entry(b'{"a": 1}'), entry(b"[" * 100_000), entry(b"[1]"), entry(None)
    ({'a': 1}, None, None, None)
    """
    try:
        found = json.loads(line or b"null")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def is_text(value: Any) -> bool:
    r"""Return whether a value is a text that SQLite takes: one without half of a surrogate pair.

    >>> is_text("Côte"), is_text("\ud800"), is_text(None)
    (True, False, False)
    """
    return isinstance(value, str) and not _HALF.search(value)


def left_out(damaged: int) -> str:
    """Return what is said of damaged lines, behind their file.

    >>> left_out(1), left_out(3)
    ('1 damaged line is left out; the others are read', '3 damaged lines are left out; the others are read')
    """
    return f"{'1 damaged line is' if damaged == 1 else f'{damaged} damaged lines are'} left out; the others are read"
