"""The query of a page's address: its parameters, the pages of a long list, and whether the page is renewed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from flask import request

from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.addresses import here

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crawlers.store.runs import Run


LAST_PAGE = 100
_LONGEST = 300  # characters


def text(query: Mapping[str, str], name: str, longest: int = _LONGEST) -> str:
    r"""Return a parameter on one line, not too long; "" if there is none.

    >>> text({"q": " flood\x00\nafg "}, "q")
    'flood afg'
    """
    value = query.get(name, "")[:longest]
    return " ".join("".join(letter if letter.isprintable() else " " for letter in value).split())


def page(query: Mapping[str, str]) -> int:
    """Return the number of the page, from 1; the first for what is not a number, at most the last.

    >>> page({"page": "7"}), page({"page": "abc"}), page({"page": "-3"}), page({"page": "9" * 9})
    (7, 1, 1, 100)
    """
    value = query.get("page", "")
    return min(max(int(value), 1), LAST_PAGE) if value.isascii() and value.isdigit() and len(value) < 10 else 1


@dataclass(frozen=True, slots=True)
class Paging:
    """A page of a long list.

    Args:
        path: the path of its address.
        words: its parameters, without ``page``.
        number: the number of the page, from 1.
        more: whether another page follows.
    """

    path: str
    words: dict[str, str]
    number: int
    more: bool

    @property
    def previous(self) -> str | None:
        """The address of the page before."""
        return self._at(self.number - 1) if self.number > 1 else None

    @property
    def next(self) -> str | None:
        """The address of the page after."""
        return self._at(self.number + 1) if self.more and self.number < LAST_PAGE else None

    @property
    def ends_here(self) -> bool:
        """Whether more rows follow that no page shows: a narrower search finds them."""
        return self.more and self.number >= LAST_PAGE

    def _at(self, number: int) -> str:
        return addresses.here(self.path, **self.words, page=number if number > 1 else None)


def some(rows: Iterable[Any], number: int, size: int) -> tuple[list[Any], bool]:
    """Return the rows of a page, and whether there are more.

    >>> some("abcdefg", 2, 3)
    (['d', 'e', 'f'], True)
    """
    found = list(islice(rows, (number - 1) * size, number * size + 1))
    return found[:size], len(found) > size


LIVE = 5
"""Seconds after which the figures of running crawls are renewed."""


def live(runs: Iterable[Run]) -> dict[str, int | str]:
    """Return what base.html needs to renew a page: nothing if no crawl runs, or if the reader stopped that.

    Without scripts, the browser reloads the page, less often.

    Args:
        runs: the runs that the page shows.
    """
    words = request.args.to_dict()
    if words.get("live") == "no" or not any(run.state == "running" for run in runs):
        return {}
    return {"live": LIVE, "still": here(quote(request.path), **words | {"live": "no"})}
