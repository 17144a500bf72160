"""The words that the rules of a page look for, and which texts may have to do with them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from crawlers.kinds.html.mapping import confidence
from crawlers.kinds.html.mapping.label_similarity import alike, equality, names
from crawlers.kinds.html.mapping.normalise import LONGEST, colon, has_colon, key
from crawlers.kinds.html.mapping.synonyms import synonyms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.kinds.html.rules import Rule

_MOST_REMEMBERED = 4_000


class Vocabulary:
    """
    Args:
        rules: those that look for labels. A label that one of them names belongs to no other one.

    Attributes:
        sure: the keys that a rule looks for, each with the confidence that it has there.
        all: those of all rules.
    """

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.sure = {rule: self._words(rule, rules) for rule in rules}
        self.all = frozenset(key for words in self.sure.values() for key in words)
        self._beginnings = {key[:end] for key in self.all for end in range(1, len(key) + 1)}
        self._idle: set[str] = set()

    def concerns(self, text: str) -> bool:
        """Return whether a text may be a label that is looked for, begin with one, or be the first piece of one."""
        return text not in self._idle and self._concerns(text)  # the same texts come on every page of a catalogue

    def likes(self, label: str, rule: Rule) -> float:
        """Return how similar a key is to those of a rule."""
        found = alike(label, rule)
        return found if found and not _is_taken(label, rule, tuple(self.sure)) else 0.0

    def _concerns(self, text: str) -> bool:
        is_short = len(text) <= LONGEST or len(text.strip()) <= LONGEST
        if is_short and key(text) in self._beginnings:
            return True
        if has_colon(text) and any(key(line) in self.all for line in _lines(text)):
            return True
        if is_short and len(self._idle) < _MOST_REMEMBERED:
            self._idle.add(text)
        return False

    def _words(self, rule: Rule, rules: tuple[Rule, ...]) -> dict[str, float]:
        sure = {key: equality(key, rule) for key in (*names(rule), *synonyms(rule.name))}
        return {
            key: each
            for key, each in sure.items()
            if each == confidence.SURE or (each and not _is_taken(key, rule, rules))
        }


def _lines(text: str) -> Iterator[str]:
    """Yield the text before each colon that may end a label."""
    for part in text.split("|"):
        line = part.lstrip()[: 2 * LONGEST]
        end = colon(line)
        if 0 < end <= LONGEST:
            yield line[:end]


def _is_taken(label: str, rule: Rule, rules: tuple[Rule, ...]) -> bool:
    """Return whether another field's rule names this label."""
    return any(other.name != rule.name and equality(label, other) == confidence.SURE for other in rules)


@lru_cache(maxsize=256)
def vocabulary(rules: tuple[Rule, ...]) -> Vocabulary:
    return Vocabulary(rules)
