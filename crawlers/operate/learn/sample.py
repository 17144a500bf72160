"""A page to learn from: its texts, where a value is on it, and what a selector finds, each computed once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from rapidfuzz import fuzz

from crawlers.kinds.html.mapping.confidence import is_outside
from crawlers.kinds.html.rules import MANY, from_css
from crawlers.operate.learn.texts import DATES, SEPARATORS, normal, same_date, split
from crawlers.records.html_page import text
from crawlers.safety.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.records.html_page import Page

MOST_ELEMENTS = 50_000
"""Of a page that are looked at."""
_LONGEST = 20_000  # characters of an element that might be a value
_LARGEST = 400  # elements within it
_UNSEEN = ("script", "style", "template", "noscript")
_SHOWN = "li a[href] , article a[href], td, dd"
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
        self.pairs: dict[Any, set[str]] | None = None  # what `crawlers.operate.learn.labelled` found, once
        self._found: dict[str, list[Any]] = {}

    def css(self, css: str, node: Any = None) -> list[Any]:
        """Return the elements that a selector finds, on the page or within an element."""
        if node is not None:
            return self.page.find(from_css(css, css), node)
        if css not in self._found:
            self._found[css] = self.page.find(from_css(css, css))
        return self._found[css]

    def is_only(self, css: str, elements: list[Any]) -> bool:
        """Return whether a selector finds these elements and nothing else."""
        return self.css(css) == elements

    @cached_property
    def elements(self) -> list[Any]:
        every = self.page.root.iter()
        return [item for item, _ in zip(every, range(MOST_ELEMENTS), strict=False) if isinstance(item.tag, str)]

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
        """Return the number of characters and elements within each element."""
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
        """Whether scripts fill the page: it has some, and shows almost nothing, not even a list or a label's value."""
        body = self.page.find("//body")
        is_short = bool(body) and len(text(body[0])) < 200 and bool(self.page.find("//script"))
        return is_short and not any(not is_outside(each) for each in self.css(_SHOWN)[:100])


_MOST_PLACES = 60
_ALIKE = 92.0
_LONG = 40  # characters of a text that a user may have copied in part


def equal_places(sample: Sample, wanted: str) -> list[Place]:
    """Return the elements and attributes whose text is the value."""
    aim = normal(wanted)
    return [place for place in sample.places if aim and _near(place.text, wanted) and normal(place.text) == aim][
        :_MOST_PLACES
    ]


def addressed_places(sample: Sample, wanted: str) -> list[Place]:
    """Return the attributes whose address is the value, absolute or relative."""
    links = [place for place in sample.places if place.attr in ("href", "src", "data-url", "content")]
    return [link for link in links if wanted in (link.text, sample.page.absolute(link.text))][:_MOST_PLACES]


def containing_places(sample: Sample, wanted: str) -> list[Place]:
    """Return the smallest elements, and the attributes, whose text contains the value."""
    aim = normal(wanted)
    found = [place for place in sample.places if aim and len(place.text) > len(aim) and aim in normal(place.text)]
    inner = {id(parent) for item in found if item.attr is None for parent in item.element.iterancestors()}
    smallest = [item for item in found if item.attr or id(item.element) not in inner]
    return sorted(smallest, key=lambda item: item.attr is not None)[:_MOST_PLACES]


def alike_places(sample: Sample, wanted: str) -> list[Place]:
    """Return the elements whose text is nearly the value, or begins with a long or abbreviated value."""
    aim = normal(wanted.rstrip("….").rstrip())
    found = []
    for place in sample.places:
        text = normal(place.text)
        begun = len(aim) >= _LONG and text.startswith(aim)
        if begun or (_near(place.text, wanted) and fuzz.ratio(text, normal(wanted)) >= _ALIKE):
            found.append(place)
    return found[:_MOST_PLACES]


def nearest_texts(sample: Sample, wanted: str, count: int = 3) -> list[str]:
    """Return the texts of the page that are most similar to a value that is not there."""
    aim = normal(wanted)
    texts = {place.text for place in sample.places if place.attr is None and len(place.text) <= 200}
    ranked = sorted(texts, key=lambda text: (-fuzz.ratio(normal(text), aim), text))
    return [text for text in ranked[:count] if fuzz.ratio(normal(text), aim) >= 50]


def _near(text: str, wanted: str) -> bool:
    """Return whether the lengths of two texts are similar."""
    return abs(len(text) - len(wanted)) <= 20 + len(wanted) // 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    Args:
        name: the field's.
        values: as typed.
        label: the text beside the value, if the user gave it.
        language: the page's.
        at: where each of the values was seen, if that is known: only these elements are learned.
    """

    name: str
    values: tuple[str, ...]
    label: str | None = None
    language: str | None = None
    at: tuple[Place, ...] = ()

    @property
    def is_list(self) -> bool:
        return self.name in MANY or len(self.values) > 1

    @property
    def seen(self) -> str:
        """The first of the values, "" where only a label was given."""
        return self.values[0] if self.values else ""

    @property
    def is_date(self) -> bool:
        return self.name in DATES

    @property
    def options(self) -> list[list[str]]:
        """The lists that the values may be; keywords in one text are several."""
        only = self.values[0] if len(self.values) == 1 else ""
        apart = [parts for each in SEPARATORS if each in only and len(parts := split(only, each)) > 1]
        return apart if apart and self.name == "keywords" else [list(self.values), *apart]

    def gives(self, found: list[str]) -> float:
        """Return how well a rule gives what was seen: 1, less for a part of it, 0 for something else."""
        if not self.values:
            return 1.0 if found else 0.0
        if not found:
            return 0.0
        return self._list(found) if self.is_list else self._single(found[0])

    def _list(self, found: list[str]) -> float:
        if any(sorted(map(normal, found)) == sorted(map(normal, option)) for option in self.options):
            return 1.0
        given, seen = set(map(normal, found)), {normal(value) for value in self.values}
        shortest = max(map(len, found)) <= 3 * max(map(len, self.values)) + 20  # one keyword seen of several
        return 0.7 if self.name == "keywords" and seen < given and len(self.values) == 1 and shortest else 0.0

    def _single(self, found: str) -> float:
        wanted = self.values[0]
        is_same = bool(normal(wanted)) and normal(found) == normal(wanted)
        if is_same or (self.is_date and same_date(found, wanted, self.language)):
            return 1.0
        aim = normal(wanted.rstrip("….").rstrip())
        return 0.9 if len(aim) >= _LONG and normal(found).startswith(aim) else 0.0

    def separators(self, found: list[str]) -> list[str]:
        """Return the separators that split a text into the whole list."""
        if not self.is_list or len(found) != 1:
            return []
        return [
            separator
            for separator in SEPARATORS
            if separator in found[0] and self.gives(split(found[0], separator)) == 1.0
        ]


_NOWHERE = "https://example.org/"  # reserved by RFC 2606
_HEAD = 100_000  # bytes
_TAG = r"<%s\b[^>]{0,500}?\b%s[^>]{0,500}?\b%s=[\"']([^\"']{1,2000})"
_SAYS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"<!-- saved from url=\(\d+\)(\S+) -->",
        _TAG % ("link", "rel=[\"']?canonical", "href"),
        r"<link\b[^>]{0,500}?\bhref=[\"']([^\"']{1,2000})[\"'][^>]{0,500}?\brel=[\"']?canonical",
        _TAG % ("meta", "property=[\"']og:url[\"']", "content"),
        r"<base\b[^>]{0,500}?\bhref=[\"']([^\"']{1,2000})",
    )
)


def origin(body: bytes, name: str, base: str = _NOWHERE) -> str:
    """Return the address that a browser left in a saved page, else its canonical one, else one made of the file's name.

    >>> origin(b"<!-- saved from url=(0025)https://a.org/d -->", "d.html"), origin(b"<html>", "d 1.html")
    ('https://a.org/d', 'https://example.org/d%201.html')
    """
    head = body[:_HEAD].decode("latin-1")
    for pattern in _SAYS:
        found = pattern.search(head)
        address = absolute(found[1], base) if found else None
        if address and "@" not in urlsplit(address).netloc:  # rules take none with a password
            return address
    return urljoin(base, quote(name))


def is_made_up(address: str) -> bool:
    """Return whether an address was made because a saved page has none.

    >>> is_made_up("https://example.org/d.html"), is_made_up("https://data.example.org/d")
    (True, False)
    """
    return urlsplit(address).netloc == urlsplit(_NOWHERE).netloc
