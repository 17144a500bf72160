"""HTML as a portal sends it, read without a tree: it takes no memory, and can be left off at any place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

from crawlers.exceptions import AnswerError
from crawlers.safety import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_ATTRIBUTES = 256
"""Of an element: libxml2's time for them is quadratic, but not where it makes no tree."""
_LONGEST = 16 << 20  # bytes of a tag: a form's hidden state can have some megabytes
_BLANKS = re.compile(rb"\s+")  # what is between two attributes
_STEP = 1 << 16
_TEXTS = frozenset(("script", "style"))  # which the parser gives as a whole


class Events:
    """What the parser meets; a reader of pages inherits from it.

    Attributes:
        count: tags and attributes so far.
        widest: the most attributes of an element.
        latest: the element that began or ended last.
        is_silent: whether nothing was met since somebody set this.
    """

    def __init__(self) -> None:
        self.count = 0
        self.widest = 0
        self.latest = ""
        self.is_silent = False

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.latest, self.is_silent = tag, False
        self.count += 1 + len(attributes)
        self.widest = max(self.widest, len(attributes))

    def end(self, tag: str) -> None:
        self.latest, self.is_silent = f"/{tag}", False

    def data(self, text: str) -> None:
        self.is_silent = False

    def close(self) -> None:
        """Take the end; the parser asks for this method."""


def steps(body: bytes, events: Events, bound: bounds.Bound = bounds.HTML) -> Iterator[None]:
    """Read a page of UTF-8 to its end; pause now and then, so that the caller can do something else meanwhile.

    Raises:
        AnswerError: ``too_large``: it has more tags and attributes than the bound, or a tag is too long.
    """
    parser = etree.HTMLParser(target=events, encoding="utf-8", huge_tree=True)
    silent = parts = 0
    for begin in range(0, len(body), _STEP):
        events.is_silent = True
        piece = body[begin : begin + _STEP]
        parser.feed(piece)
        bound.check(events.count)
        if events.is_silent and events.latest not in _TEXTS:  # all attributes of a tag are in memory at once
            silent, parts = silent + len(piece), parts + len(_BLANKS.findall(piece))
        else:
            silent = parts = 0
        bound.check(parts)
        if silent > _LONGEST:
            message = f"{bound.where} has a tag or a comment of more than {_LONGEST >> 20} MiB: it is not read"
            raise AnswerError("too_large", message)
        yield
    parser.close()
