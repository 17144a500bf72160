"""A long list, some at a time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.dashboard import addresses
from crawlers.dashboard.parameters import LAST_PAGE

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Paging:
    """
    Args:
        path: the page's.
        words: its query, without ``page``.
        number: which page this is, from 1.
        more: whether another follows.
    """

    path: str
    words: dict[str, str]
    number: int
    more: bool

    @property
    def previous(self) -> str | None:
        return self._at(self.number - 1) if self.number > 1 else None

    @property
    def next(self) -> str | None:
        return self._at(self.number + 1) if self.more and self.number < LAST_PAGE else None

    @property
    def ends_here(self) -> bool:
        """More follows, and is not shown: what is beyond the last page is for a narrower question."""
        return self.more and self.number >= LAST_PAGE

    def _at(self, number: int) -> str:
        return addresses.here(self.path, **self.words, page=number if number > 1 else None)


def some(rows: Iterable[Any], number: int, size: int) -> tuple[list[Any], bool]:
    """The rows of a page, and whether there are more.

    >>> some("abcdefg", 2, 3)
    (['d', 'e', 'f'], True)
    """
    found = list(islice(rows, (number - 1) * size, number * size + 1))
    return found[:size], len(found) > size
