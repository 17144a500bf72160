"""Names in the order in which people count."""

from __future__ import annotations

import re

_PARTS = re.compile(r"([0-9]+)")


def natural(name: str) -> list[tuple[str, int]]:
    """What to sort a name by.

    >>> sorted(["source-10", "source-2", "a", "2"], key=natural)
    ['2', 'a', 'source-2', 'source-10']
    """
    return [("", int(part)) if part.isdecimal() else (part, 0) for part in _PARTS.split(name) if part]
