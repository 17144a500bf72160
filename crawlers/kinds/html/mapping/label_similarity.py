"""How alike a label on a page is to what a rule looks for."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from crawlers.kinds.html.mapping import confidence
from crawlers.kinds.html.mapping.normalise import key
from crawlers.kinds.html.mapping.synonyms import fields, synonyms

if TYPE_CHECKING:
    from crawlers.kinds.html.rules import Rule

_SHORTEST = 5
"""Characters of a key that may be like another one; shorter ones are equal or not."""

_SHORT = 8  # characters of a word that may have one slip
_SURE = 6  # characters of a key that one wrong letter leaves as it is
_STRICT = 85.0  # the threshold from which slips are counted; who sets a lower one wants whatever is like the label
_MOST_COMPARED = 3
_FALSE_FRIENDS = frozenset(
    (
        *("authorisation", "authority", "autorita", "autoridad", "autorite", "autoritat", "contract", "contracts"),
        *("contrat", "contrats", "contrato", "contratos", "herausgabe", "strand", "votes"),
    )
)
"""Other words that are spelled nearly as one for a field."""


def equality(label: str, rule: Rule) -> float:
    """Return the confidence of a word that the rule or the synonyms have; 0 where neither does.

    Args:
        label: a label's key.

    >>> from crawlers.kinds.html.rules import Rule
    >>> licence = Rule(name="license", labels=("Licence",), by_label=True)
    >>> [equality(label, licence) for label in ("licence", "lizenz", "licencee")]
    [1.0, 0.9, 0.0]
    """
    own, words = _own(rule), synonyms(rule.name)
    if label in own:
        return confidence.SURE
    if label not in words:
        return 0.0
    if not own:
        return confidence.SYNONYM
    return confidence.OTHER_WORD if own & words else 0.0


def alike(label: str, rule: Rule) -> float:
    """Return the similarity in spelling; a word for another field does not count as a misspelling.

    Args:
        label: a label's key.

    >>> from crawlers.kinds.html.rules import Rule
    >>> licence = Rule(name="license", labels=("Licence",), by_label=True)
    >>> [round(alike(label, licence), 2) for label in ("licencee", "title", "liability")]
    [0.93, 0.0, 0.0]
    """
    if len(label) < _SHORTEST or label in fields() or label in _FALSE_FRIENDS:
        return 0.0
    lowest = _lowest(label, rule)
    found = process.extract(label, names(rule), scorer=fuzz.ratio, score_cutoff=lowest, limit=_MOST_COMPARED)
    for word, ratio, _ in found:
        if len(word) >= _SHORTEST and _is_slip(label, word, ratio, rule.threshold):
            return min(confidence.ALIKE, round(float(ratio) / 100, 4))
    return 0.0


def _lowest(label: str, rule: Rule) -> float:
    """Return the lowest ratio that counts: one wrong letter in a short word is below the default threshold."""
    one_wrong = 100 * (len(label) - 1) / len(label) - 0.01
    return min(rule.threshold, one_wrong) if rule.threshold <= _STRICT and len(label) >= _SURE else rule.threshold


def _is_slip(label: str, word: str, ratio: float, threshold: float) -> bool:
    """Return whether it is more likely misspelled than another word."""
    if ratio < threshold:
        return label[0] == word[0] and len(label) == len(word) and OSA.distance(label, word) == 1
    if threshold < _STRICT:
        return True
    if label.count(" ") != word.count(" "):  # a space too many or too few
        return OSA.distance(label, word) == 1
    return all(OSA.distance(*both) <= _most_slips(both[0]) for both in zip(label.split(), word.split(), strict=True))


def _most_slips(word: str) -> int:
    """
    >>> _most_slips("by"), _most_slips("author"), _most_slips("beschreibung")
    (0, 1, 2)
    """
    return 0 if len(word) < _SHORTEST - 1 else 1 if len(word) <= _SHORT else 2


@lru_cache(maxsize=1024)
def _own(rule: Rule) -> frozenset[str]:
    return frozenset(filter(None, map(key, rule.labels))) or (
        frozenset() if synonyms(rule.name) else frozenset([key(rule.name)])
    )


@lru_cache(maxsize=1024)
def names(rule: Rule) -> tuple[str, ...]:
    """Return the keys that a label may be similar to: the rule's own, else the field's synonyms."""
    return tuple(sorted(_own(rule) or synonyms(rule.name)))
