"""What an address asks for, made harmless: a query is whatever somebody wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LAST_PAGE = 100
_LONGEST = 300  # characters


def text(query: Mapping[str, str], name: str, longest: int = _LONGEST) -> str:
    r"""A word of the query, on one line and not too long; "" when there is none.

    >>> text({"q": " flood\x00\nafg "}, "q")
    'flood afg'
    """
    value = query.get(name, "")[:longest]
    return " ".join("".join(letter if letter.isprintable() else " " for letter in value).split())


def page(query: Mapping[str, str]) -> int:
    """Which page, from 1; whatever is no number is the first, whatever is beyond the last is the last.

    >>> page({"page": "7"}), page({"page": "abc"}), page({"page": "-3"}), page({"page": "9" * 9})
    (7, 1, 1, 100)
    """
    value = query.get("page", "")
    return min(max(int(value), 1), LAST_PAGE) if value.isascii() and value.isdigit() and len(value) < 10 else 1
