"""What the links of pagers say, in the languages of catalogues, and how such texts are compared."""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache

from rapidfuzz import fuzz, process

from crawlers.records.tables import toml_table

SINGLE = frozenset(
    ("›", ">", "→", "▶", "►", "▸", "❯", "⟩", "〉", "⏵", "⇒", "➔", "➜", "➡", "chevron_right", "arrow_forward")
)
_LEFT = frozenset(("‹", "<", "←", "◀", "◄", "◂", "❮", "⟨", "〈", "«", "<<", "|<", ">|", "⏭", "⏮"))
DOUBLE = frozenset(("»", ">>", "≫", "››", "⏩", "❯❯"))
ELLIPSIS = frozenset(("...", "…", ". . .", "[...]", "[…]", "⋯", "··"))
_LONGEST = 60
_PAGE = 500  # characters of a page that says one thing
ALIKE = 90.0


def plain(text: str) -> str:
    """Return only the letters of a text, without case, accents, digits and signs.

    >>> plain("Nächste Seite (2) »"), plain("Próxima"), plain(" > ")
    ('nachste seite', 'proxima', '')
    """
    apart = unicodedata.normalize("NFKD", text[:1000]).casefold()
    kept = (letter for letter in apart if not unicodedata.category(letter).startswith("M"))
    return " ".join("".join(letter if letter.isalpha() else " " for letter in kept).split())


@cache
def languages() -> dict[str, dict[str, list[str]]]:
    """Return what the links say by language, as the file has it."""
    return toml_table(__package__, "words.toml")


@cache
def _texts(*keys: str) -> tuple[str, ...]:
    every = languages().values()
    return tuple(dict.fromkeys(word for key in keys for language in every for word in language.get(key, ())))


@cache
def _plain(*keys: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(plain, _texts(*keys))))


def more() -> tuple[str, ...]:
    """Return what the button says that loads more datasets: "load more" first, then "next"."""
    return _texts("more", "next", "older")


def _without_page(text: str) -> str:
    """Return the words of a text without "page", which stands beside "next" and changes nothing."""
    return " ".join(word for word in plain(text).split() if word not in _plain("page"))


def _is_one_of(word: str, *keys: str) -> bool:
    """Return whether a word is nearly one of those."""
    found = process.extractOne(word, _plain(*keys), scorer=fuzz.ratio, score_cutoff=ALIKE) if word else None
    return found is not None


@lru_cache(maxsize=4096)
def says_next(text: str) -> bool:
    """Return whether a text means "next" in any language, with or without "page".

    >>> says_next("Nächste Seite"), says_next("Siguiente »"), says_next("next event"), says_next("Letzte")
    (True, True, False, False)
    """
    return len(text) <= _LONGEST and any(_is_one_of(one, "next", "older") for one in {plain(text), _without_page(text)})


@lru_cache(maxsize=4096)
def says_more(text: str) -> bool:
    """Return whether a text means "load more" in any language.

    >>> says_more("Mehr laden ..."), says_more("Load more comments"), says_more("more")
    (True, False, False)
    """
    return len(text) <= _LONGEST and _is_one_of(plain(text), "more")


def says_chosen(text: str) -> bool:
    """Return whether a heading means some datasets of a catalogue: the popular or the latest ones.

    >>> says_chosen("Most popular datasets"), says_chosen("Beliebte Datensätze"), says_chosen("Datasets")
    (True, True, False)
    """
    found = f" {plain(text)}" if len(text) <= _LONGEST else ""
    return any(f" {word}" in found for word in _plain("chosen"))


def says_nothing(text: str) -> bool:
    """Return whether a short page says that there is nothing to list, in any language.

    >>> says_nothing("Sorry, no results were found."), says_nothing("Keine Treffer"), says_nothing("Back soon")
    (True, True, False)
    """
    found = f" {plain(text)}" if len(text) <= _PAGE else ""
    return any(f" {words}" in found for words in _plain("nothing"))


@lru_cache(maxsize=4096)
def says_back(text: str) -> bool:
    """Return whether a text means an earlier page, or the first or last one.

    >>> says_back("Vorherige Seite"), says_back("‹"), says_back("next")
    (True, True, False)
    """
    if len(text) > _LONGEST:
        return False
    return text.strip() in _LEFT or _without_page(text) in _plain("back", "newer")


def alike(text: str, wanted: str) -> float:
    """Return how similar two texts are, from 0 to 100: signs count if both lack letters.

    >>> alike("WEITER »", "weiter"), alike(">", ">"), alike(">>", ">"), alike("Next event", "Next") < 90
    (100.0, 100.0, 0.0, True)
    """
    if len(text) > _LONGEST + 3 * len(wanted):
        return 0.0
    value, other = plain(text), plain(wanted)
    if not value or not other:
        return 100.0 if text.strip() == wanted.strip() else 0.0
    return fuzz.ratio(value, other)


def is_beside(text: str) -> bool:
    """Return whether a text means only "page", in any language.

    >>> is_beside("Seite "), is_beside("Go to page"), is_beside("Top")
    (True, True, False)
    """
    found = plain(text).split()
    return bool(found) and all(word in _plain("page") for word in found)
