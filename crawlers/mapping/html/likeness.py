"""How alike a label on a page is to what a rule looks for."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rapidfuzz import fuzz, process

from crawlers.mapping.html import confidence
from crawlers.mapping.html.synonyms import fields, synonyms
from crawlers.mapping.html.wording import key

if TYPE_CHECKING:
    from crawlers.rules import Rule

_SHORTEST = 5
"""Characters of a key that may be like another one; shorter ones are equal or not."""


def likeness(text: str, rule: Rule) -> float:
    """From 0 to 1: the label's own words, a synonym of the field, or what is like one of them.

    Args:
        text: a label's.

    >>> from crawlers.rules import Rule
    >>> licence = Rule(name="license", labels=("Licence",), by_label=True)
    >>> [round(likeness(text, licence), 2) for text in ("LICENCE :", "Lizenz", "Licencee", "Title", "Liability")]
    [1.0, 0.9, 0.93, 0.0, 0.0]
    >>> [likeness(text, Rule(name="creator", by_label=True)) for text in ("Author", "Author e-mail", "Created")]
    [0.95, 0.0, 0.0]
    """
    return of_key(key(text), rule)


@lru_cache(maxsize=4_096)
def of_key(label: str, rule: Rule) -> float:
    """The same of a label's key."""
    return equality(label, rule) or alike(label, rule)


def equality(label: str, rule: Rule) -> float:
    """What the rule or the synonyms say in so many words; 0 where neither does."""
    own, words = _own(rule), synonyms(rule.name)
    if label in own:
        return confidence.SURE
    if label not in words:
        return 0.0
    if not own:
        return confidence.SYNONYM
    return confidence.OTHER_WORD if own & words else 0.0


def alike(label: str, rule: Rule) -> float:
    """By spelling; a word for another field is no misspelling of this one's."""
    if len(label) < _SHORTEST or label in fields():
        return 0.0
    found = process.extractOne(label, names(rule), scorer=fuzz.ratio, score_cutoff=rule.threshold)
    if found is None or len(found[0]) < _SHORTEST:
        return 0.0
    return min(confidence.ALIKE, round(float(found[1]) / 100, 4))


@lru_cache(maxsize=1024)
def _own(rule: Rule) -> frozenset[str]:
    return frozenset(filter(None, map(key, rule.labels))) or (
        frozenset() if synonyms(rule.name) else frozenset([key(rule.name)])
    )


@lru_cache(maxsize=1024)
def names(rule: Rule) -> tuple[str, ...]:
    """The keys that a label may be like: the rule's own, else the field's synonyms."""
    return tuple(sorted(_own(rule) or synonyms(rule.name)))
