"""Sizes of files as pages write them."""

from __future__ import annotations

import re

from crawlers.mapping import values

_BYTES = re.compile(
    r"([0-9]{1,3}(?:[.,'\u2019 \u00a0\u202f][0-9]{3}){1,5}|[0-9]{1,18}) ?(?:b|bytes?|octets?|oct\.?|байт[а-я]*)",
    re.IGNORECASE,
)


def size(text: str) -> int | None:
    """Bytes, where they are exact; 0 for a rounded number with its unit.

    >>> size("1.234.567 Bytes"), size("512 b"), size("2048"), size("2,3 MB"), size("big")
    (1234567, 512, 2048, 0, None)
    """
    found = _BYTES.fullmatch(text.strip())
    return int(re.sub(r"\D", "", found[1])) if found else values.size(text)
