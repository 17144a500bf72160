"""A page to learn from: its elements' texts, and what a selector finds on it, each computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from crawlers.mapping.html.page import text
from crawlers.rules.selectors import from_css

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.mapping.html.page import Page

MOST_ELEMENTS = 50_000
"""Of a page that are looked at."""
_LONGEST = 20_000  # characters of an element that might be a value
_LARGEST = 400  # elements within it
_UNSEEN = ("script", "style", "template", "noscript")
_TELLING = ("content", "href", "datetime", "title", "alt", "value", "src", "data-value", "data-date", "data-url")


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where a text stands.

    Args:
        attr: the attribute that has it; ``None`` when it is what the element shows.
    """

    element: Any
    text: str
    attr: str | None = None


class Sample:
    """
    Attributes:
        page: the page.
        address: where it came from.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.address = page.url
        self.pairs: dict[Any, set[str]] | None = None  # what `crawlers.learn.pairs` found, once
        self._found: dict[str, list[Any]] = {}

    def css(self, css: str, node: Any = None) -> list[Any]:
        """The elements that a selector finds, on the page or within an element."""
        if node is not None:
            return self.page.find(from_css(css, css), node)
        if css not in self._found:
            self._found[css] = self.page.find(from_css(css, css))
        return self._found[css]

    def is_only(self, css: str, elements: list[Any]) -> bool:
        """Whether it finds these and nothing else."""
        return self.css(css) == elements

    @cached_property
    def elements(self) -> list[Any]:
        every = self.page.root.iter()
        return [one for one, _ in zip(every, range(MOST_ELEMENTS), strict=False) if isinstance(one.tag, str)]

    @cached_property
    def places(self) -> list[Place]:
        """Every text that may be a value, in the page's order: an element's before its attributes'."""
        return [*self._shown(), *self._attributes()]

    def _shown(self) -> Iterator[Place]:
        sizes = self._sizes()
        for element in self.elements:
            size, count = sizes[element]
            if 0 < size <= _LONGEST and count <= _LARGEST and element.tag not in _UNSEEN:
                shown = text(element)
                if shown:
                    yield Place(element, shown)

    def _sizes(self) -> dict[Any, tuple[int, int]]:
        """Characters and elements within each element, the last ones first."""
        sizes: dict[Any, tuple[int, int]] = {}
        for element in reversed(self.elements):
            inner = [sizes.get(child, (0, 0)) for child in element]
            tails = sum(len(child.tail or "") for child in element)
            sizes[element] = (
                len(element.text or "") + tails + sum(size for size, _ in inner),
                1 + sum(count for _, count in inner),
            )
        return sizes

    @cached_property
    def texts(self) -> dict[Any, str]:
        """What each element shows, of those that may be a value."""
        return {place.element: place.text for place in self.places if place.attr is None}

    def _attributes(self) -> Iterator[Place]:
        for element in self.elements:
            for name in _TELLING:
                value = element.get(name)
                if value and len(value) <= _LONGEST and element.tag not in _UNSEEN:
                    yield Place(element, " ".join(value.split()), name)

    @cached_property
    def looks_empty(self) -> bool:
        """Whether scripts are to fill the page: it shows next to nothing, and has some."""
        body = self.page.find("//body")
        return bool(body) and len(text(body[0])) < 200 and bool(self.page.find("//script"))
