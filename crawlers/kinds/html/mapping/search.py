"""Where on a page, or in one element of it, the values of a rule stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlers.kinds.html.mapping import adjacent_value, cells, confidence
from crawlers.kinds.html.mapping.dates import date
from crawlers.kinds.html.mapping.labels import MARKED, MOST, at, marks, pieces, unrepeated
from crawlers.kinds.html.mapping.normalise import has_colon
from crawlers.kinds.html.mapping.surroundings import MOST_ABOVE, sureness
from crawlers.kinds.html.mapping.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement

    from crawlers.kinds.html.mapping.labels import Label, Piece
    from crawlers.kinds.html.mapping.vocabulary import Vocabulary
    from crawlers.kinds.html.rules import Rule
    from crawlers.records.html_page import Page

MOST_VALUES = 1_000
"""Values of one field."""

_MOST_TRIED = 20  # labels of one wording, until one has a value
_MOST_COMPARED = 3
_TEXTS = ("description", "provenance", "rights")
_FRAMES = etree.XPath(f"({'|'.join(f'descendant-or-self::{tag}[*]' for tag in (*MARKED, 'td'))})[position() <= {MOST}]")


@dataclass(slots=True)
class Found:
    """What a rule finds.

    Attributes:
        values: elements, texts, or lists of both, as they stand on the page.
        label: of a label rule, as the page has it.
        confidence: how sure it is that this is the field; see `crawlers.kinds.html.mapping.confidence`.
    """

    values: list[Any] = field(default_factory=list)
    label: str | None = None
    confidence: float = confidence.SURE


class Search:
    """
    Args:
        rules: all that are asked for here.
        node: the element to look in; the whole page when it is ``None``.
    """

    def __init__(self, page: Page, rules: tuple[Rule, ...], node: HtmlElement | None = None) -> None:
        self.page = page
        self.rules = tuple(way for rule in rules for way in rule.ways)
        self.node = node
        self._places: dict[HtmlElement, float] = {}

    def find(self, rule: Rule) -> Found:
        """
        Raises:
            RulesError: an XPath can't be evaluated.
        """
        if rule.xpath is not None:
            return Found(
                self.page.find(rule.xpath, self.node, limit=MOST_VALUES + 1), None, confidence.of_selector(rule)
            )
        return self._by_label(rule) if rule.by_label else Found(list(rule.constant))

    @cached_property
    def _around(self) -> HtmlElement:
        return self.page.root if self.node is None else self.node

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return vocabulary(tuple(rule for rule in self.rules if rule.by_label))

    @cached_property
    def _equal(self) -> dict[str, list[Label]]:
        """Return the labels that have the words a rule looks for, by key.

        Nothing of the page is looked at until a rule asks for a label.
        """
        return self._listed(pieces(self._around, self._vocabulary.concerns))

    @cached_property
    def _marked(self) -> dict[str, list[Label]]:
        """Return all that the page marks as labels: one of them may be a misspelling."""
        frames = (piece for frame in _FRAMES(self._around) for piece in islice(pieces(frame), 1))
        by_key = self._listed([*filter(_is_marked, pieces(self._around)), *frames])
        return {key: labels for key, labels in by_key.items() if labels[0].is_marked}

    def _listed(self, found: Iterable[Piece]) -> dict[str, list[Label]]:
        by_key: dict[str, list[Label]] = {}
        for label in islice(unrepeated(each for piece in found for each in at(piece, self._around)), MOST):
            by_key.setdefault(label.key, []).append(label)
        return by_key

    def _by_label(self, rule: Rule) -> Found:
        """Return a label's value in the main part; elsewhere only where that part has no such label, even empty."""
        elsewhere: list[tuple[list[Label], float]] = []
        is_in_main = False
        for labels, sure in self._wordings(rule):
            inside = [each for each in labels if self._place(each.element) > confidence.OUTSIDE]
            if inside and (found := self._valued(rule, inside, sure)):
                return found
            is_in_main = is_in_main or bool(inside)
            elsewhere.append((labels, sure))
        outside = () if is_in_main else elsewhere
        return next((found for labels, sure in outside if (found := self._valued(rule, labels, sure))), Found())

    def _wordings(self, rule: Rule) -> Iterator[tuple[list[Label], float]]:
        """Yield the labels that the rule may mean, the surest first; equally sure ones in page order."""
        words = self._vocabulary.sure[rule]
        equal: dict[float, list[Label]] = {}
        for key, labels in self._equal.items():
            if key in words:
                equal.setdefault(words[key], []).extend(labels)
        for sure in sorted(equal, reverse=True):
            yield equal[sure], sure
        likes = {key: self._vocabulary.likes(key, rule) for key in self._marked}
        for key in sorted(filter(likes.get, likes), key=lambda key: -likes[key]):
            yield self._marked[key], likes[key]

    def _valued(self, rule: Rule, labels: list[Label], sure: float) -> Found | None:
        labels = sorted(labels, key=self._rank)[:_MOST_TRIED] if len(labels) > 1 else labels
        first = next((label for label in labels if label.values), None)
        if first is None:
            return None
        if rule.date and len(labels) > 1 and not rule.attr and not rule.regex:
            labels = self._dated(rule, first, labels)
            first = labels[0]
        sure *= self._place(first.element)
        if rule.many:
            return Found([value for each in _together(first, labels) for value in each.values], first.text, sure)
        if len(labels) > 1 and self._are_several(first, labels):
            sure *= confidence.AMBIGUOUS
        is_whole = rule.name in _TEXTS or rule.html
        return Found([_joined(first)] if is_whole else first.values, first.text, sure)

    def _dated(self, rule: Rule, first: Label, labels: list[Label]) -> list[Label]:
        """Return those with a date, if any in as good a place has one: "updated: yearly" has none."""
        place = self._place(first.element)
        near = [each for each in labels if each.values and self._place(each.element) == place]
        order, language = rule.date or "", self.page.language
        dated = [each for each in near if date(adjacent_value.written(each.values[0]), language, order)]
        return dated or [first, *labels]

    def _are_several(self, first: Label, labels: list[Label]) -> bool:
        """Return whether another label that is as good has another value."""
        given, rank = adjacent_value.written(first.values[0]), self._rank(first)
        others = [each for each in labels if each is not first and self._rank(each) == rank][:_MOST_COMPARED]
        return any(each.values and adjacent_value.written(each.values[0]) != given for each in others)

    def _place(self, element: HtmlElement) -> float:
        """Return how sure it is that an element's place on the page is that of the dataset."""
        known, passed = self._places, []
        while element is not self._around and element not in known:
            passed.append(element)
            parent = element.getparent()
            if parent is None or len(passed) > MOST_ABOVE:
                break
            element = parent
        sure = known.get(element, 1.0)
        for each in reversed(passed):
            known[each] = sure = min(sure, sureness(each))
        return sure

    def _rank(self, label: Label) -> tuple[float, bool]:
        return -self._place(label.element), not label.is_marked


def _is_marked(piece: Piece) -> bool:
    """Return whether a text stands in an element that marks a label, or has a colon."""
    if has_colon(piece.text):
        return True
    return not piece.is_tail and (marks(piece.element) or cells.marks(piece.element))


def _joined(label: Label) -> list[HtmlElement | str]:
    """Return all paragraphs of a label's values."""
    found: list[HtmlElement | str] = []
    for value in label.values:
        found += [*value, " "] if len(label.values) > 1 else value
    return found


def _together(first: Label, labels: list[Label]) -> list[Label]:
    """Return the labels of the same wording in the same place: a label for each of its values."""
    around = first.element.getparent()
    return [each for each in labels if each is first or (each.element.getparent() is around and each.key == first.key)]
