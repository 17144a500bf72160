"""What portals call the fields of a dataset, and which texts of a page may be such a word.

synonyms.toml has the words that stand beside the values on pages, by language. A word belongs to one field, except
where portals use it for two, and is never taken for a misspelling of another field's.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from rapidfuzz import fuzz, process
from rapidfuzz.distance import OSA

from crawlers.kinds.html.mapping import confidence
from crawlers.records.tables import toml_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.kinds.html.rules import Rule


LONGEST = 80
"""Characters of a label; what is longer is text."""

COLONS = ":\uff1a"
_NUMBER = re.compile(r"\A[0-9]{1,2} (?=\D)")
_EDGES = re.compile(rf"^[\s{COLONS}*?¿•·–—.\[\]›»>|=-]+|[\s{COLONS}*?¿•·–—.\[\]›»>|=-]+$")
_LETTERS = {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŋ": "n"}
_DROPPED = {"Mn", "Cf"}  # accents and invisible characters


class _Signs(dict[int, str | None]):
    """For `str.translate`, filled as signs come up: letters and digits stay, accents go, all else is space."""

    def __missing__(self, code: int) -> str | None:
        sign = chr(code)
        if unicodedata.category(sign) in _DROPPED:
            self[code] = None
        else:
            self[code] = _LETTERS.get(sign, sign) if sign.isalnum() else " "
        return self[code]


_SIGNS = _Signs()


@lru_cache(maxsize=4_096)
def key(text: str) -> str:
    r"""Return a label without accents, case, punctuation and a number before it.

    >>> key("  Título:* "), key("Lizenz\u00ad\u200b \uff1a"), key("E-Mail"), key("İLETİŞİM")
    ('titulo', 'lizenz', 'email', 'iletisim')
    >>> key("1. Name"), key("100 Jahre")
    ('name', '100 jahre')
    >>> key("標題："), key("Δημοσιεύθηκε"), key("Ключевые слова"), key(" : ")
    ('標題', 'δημοσιευθηκε', 'ключевые слова', '')
    """
    text = text[: 2 * LONGEST]
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.casefold())
    words = " ".join(text.lower().translate(_SIGNS).split())
    if words[:1].isdigit():
        words = _NUMBER.sub("", words, count=1)
    return words.replace("e mail", "email") if "e mail" in words else words


def bare(text: str) -> str:
    """Return a label as people write it, without colon.

    >>> bare(" Lizenz :"), bare("*Title*"), bare("Author(s)")
    ('Lizenz', 'Title', 'Author(s)')
    """
    return _EDGES.sub("", text[: 2 * LONGEST])


def has_colon(text: str) -> bool:
    return ":" in text or "\uff1a" in text


def colon(text: str) -> int:
    """Return the position of the colon that ends a label, else -1: colons in times and addresses do not count.

    >>> colon("Lizenz: CC BY"), colon("Lizenz：CC BY"), colon("12:30"), colon("https://example.org"), colon("dct:title")
    (6, 6, -1, -1, -1)
    """
    text = text[: 2 * LONGEST].replace("\uff1a", ":\u200b")
    place = text.find(":")
    after = text[place + 1 : place + 2]
    return -1 if after == "/" or after.isalnum() else place


@cache
def words() -> dict[str, dict[str, list[str]]]:
    """Return the words of each field by language, as the file has them."""
    return toml_table(__package__, "synonyms.toml")


@cache
def synonyms(field: str) -> frozenset[str]:
    """Return the keys of a field's words; none where the field is not known.

    >>> "lizenz" in synonyms("license"), synonyms("colour")
    (True, frozenset())
    """
    listed = (word for by_field in words().values() for word in by_field.get(field, ()))
    return frozenset(filter(None, map(key, listed)))


@cache
def fields() -> dict[str, tuple[str, ...]]:
    """Return the fields that each word's key may stand for.

    >>> fields()["licencia"], fields()["email"]
    (('license',), ('contact_email',))
    """
    found: dict[str, tuple[str, ...]] = {}
    for field in words()["en"]:
        for word in synonyms(field):
            found[word] = (*found.get(word, ()), field)
    return found


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
        self.sure: dict[Rule, dict[str, float]] = {}
        for rule in rules:
            found = {key: equality(key, rule) for key in (*names(rule), *synonyms(rule.name))}
            self.sure[rule] = {
                key: sure
                for key, sure in found.items()
                if sure == confidence.SURE or (sure and not _is_taken(key, rule, rules))
            }
        self.all = frozenset(key for words in self.sure.values() for key in words)
        self._beginnings = {key[:end] for key in self.all for end in range(1, len(key) + 1)}
        self._idle: set[str] = set()

    def concerns(self, text: str) -> bool:
        """Return whether a text may be a label that is looked for, begin with one, or be the first piece of one."""
        if text in self._idle:  # the same texts come on every page of a catalogue
            return False
        is_short = len(text) <= LONGEST or len(text.strip()) <= LONGEST
        if is_short and key(text) in self._beginnings:
            return True
        if has_colon(text) and any(key(line) in self.all for line in _lines(text)):
            return True
        if is_short and len(self._idle) < _MOST_REMEMBERED:
            self._idle.add(text)
        return False

    def likes(self, label: str, rule: Rule) -> float:
        """Return how similar a key is to those of a rule."""
        found = alike(label, rule)
        return found if found and not _is_taken(label, rule, tuple(self.sure)) else 0.0


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
