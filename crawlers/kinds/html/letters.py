"""An index from A to Z: a row of links, each to the datasets whose titles begin with one letter."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from crawlers.kinds.html.paging import anchors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlers.kinds.html.mapping.page import Page

_FEWEST = 5
_OTHERS = frozenset(("#", "0-9", "0–9", "1-9", "0 - 9", "123", "*"))
_LONGEST = 500  # characters of an address
_INDEX = re.compile(r"(?:/(?:index|default))?\.\w{1,5}\Z|/(?:index|default)\Z", re.IGNORECASE)
_PLACES = 4  # where in an address the letter may stand, from its end


def letters(page: Page) -> list[str]:
    """Return the addresses of an index by letters, in its order; none where the page has no such row.

    At least five links say one letter each, and their addresses differ in that letter only. A link for digits or signs
    belongs to the row if its address is built like the others.

    >>> from crawlers.kinds.html.mapping.page import Page
    >>> row = "".join(f'<a href="/list?letter={one}">{one.upper()}</a>' for one in "abcde")
    >>> letters(Page(row + '<a href="/list?letter=num">0-9</a><a href="/f">F</a>', "https://example.org/"))[4:]
    ['https://example.org/list?letter=e', 'https://example.org/list?letter=num']
    """
    rows: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    others = []
    for link in anchors(page, page.root):
        if link.text in _OTHERS:
            others.append(link.address)
        elif len(link.text) == 1 and link.text.isalpha() and len(link.address) <= _LONGEST:
            for shape in _shapes(unquote(link.address), link.text):
                rows[shape][link.address] = None
    shape, best = max(rows.items(), key=lambda row: len(row[1]), default=(("", ""), {}))
    if len(best) < _FEWEST:
        return []
    return list(
        dict.fromkeys([*best, *(other for other in others if other.startswith(shape[0]) and other.endswith(shape[1]))])
    )


def is_of(url: str, row: Sequence[str]) -> bool:
    """Return whether an index by letters is that of a listing, and not of the whole site.

    The listing's own path is theirs, or theirs are below it, or the listing is one of them itself.

    >>> row = ["https://a.org/az/a", "https://a.org/az/c"]
    >>> is_of("https://a.org/az/", row), is_of("https://a.org/az/b", row), is_of("https://a.org/data", row)
    (True, True, False)
    >>> is_of("https://a.org/", row), is_of("https://a.org/list", ["https://a.org/list?l=a"])
    (False, True)
    """
    path = urlsplit(url).path
    base = _INDEX.sub("", path).rstrip("/")
    paths = [urlsplit(item).path for item in row]
    below = re.compile(rf"{re.escape(base)}(?![^\W_]).*", re.DOTALL)
    one_letter = re.compile(rf"{re.escape(paths[0].rpartition('/')[0])}/[^\W\d_](?:\.\w{{1,5}})?/?")
    return (
        all(item == path for item in paths)
        or bool(base and all(map(below.fullmatch, paths)))
        or (len(set(paths)) > 1 and one_letter.fullmatch(path) is not None)
    )


def _shapes(address: str, letter: str) -> Iterator[tuple[str, str]]:
    """Yield the address without the letter, wherever it stands by itself."""
    places = re.finditer(rf"(?<![^\W\d_]){re.escape(letter)}(?![^\W\d_])", address, re.IGNORECASE)
    for found in list(places)[-_PLACES:]:
        yield address[: found.start()], address[found.end() :]
