"""What the links of pagers say, in the languages of catalogues, and how such texts are compared."""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache

from rapidfuzz import fuzz, process

from crawlers.records.tables import toml_table

SINGLE = frozenset(
    ("›", ">", "→", "▶", "►", "▸", "❯", "⟩", "〉", "⏵", "⇒", "➔", "➜", "➡", "chevron_right", "arrow_forward")
)
SINGLE_LEFT = frozenset(("‹", "<", "←", "◀", "◄", "◂", "❮", "⟨", "〈"))
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
def more() -> tuple[str, ...]:
    """Return what the button says that loads more datasets: "load more" first, then "next"."""
    return tuple(dict.fromkeys(_listed("more", "next", "older")))


@cache
def _next() -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(plain, _listed("next", "older"))))


@cache
def _more() -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(plain, _listed("more"))))


@cache
def _back() -> frozenset[str]:
    return frozenset(map(plain, _listed("back", "newer")))


@cache
def _page() -> frozenset[str]:
    """Return the words that stand beside "next" without a change of what it means."""
    return frozenset(map(plain, _listed("page")))


def _listed(*keys: str) -> list[str]:
    return [word for key in keys for language in languages().values() for word in language.get(key, ())]


@lru_cache(maxsize=4096)
def says_next(text: str) -> bool:
    """Return whether a text means "next" in any language, with or without "page".

    >>> says_next("Nächste Seite"), says_next("Siguiente »"), says_next("next event"), says_next("Letzte")
    (True, True, False, False)
    """
    if len(text) > _LONGEST:
        return False
    words = plain(text)
    bare = " ".join(word for word in words.split() if word not in _page())
    return any(
        bool(word) and process.extractOne(word, _next(), scorer=fuzz.ratio, score_cutoff=ALIKE) is not None
        for word in {words, bare}
    )


@lru_cache(maxsize=4096)
def says_more(text: str) -> bool:
    """Return whether a text means "load more" in any language.

    >>> says_more("Mehr laden ..."), says_more("Load more comments"), says_more("more")
    (True, False, False)
    """
    word = plain(text) if len(text) <= _LONGEST else ""
    return bool(word) and process.extractOne(word, _more(), scorer=fuzz.ratio, score_cutoff=ALIKE) is not None


@cache
def _chosen() -> tuple[str, ...]:
    return tuple(map(plain, _listed("chosen")))


def says_chosen(text: str) -> bool:
    """Return whether a heading means some datasets of a catalogue: the popular or the latest ones.

    >>> says_chosen("Most popular datasets"), says_chosen("Beliebte Datensätze"), says_chosen("Datasets")
    (True, True, False)
    """
    found = f" {plain(text)}" if len(text) <= _LONGEST else ""
    return any(f" {word}" in found for word in _chosen())


@cache
def _nothing() -> tuple[str, ...]:
    return tuple(map(plain, _listed("nothing")))


def says_nothing(text: str) -> bool:
    """Return whether a short page says that there is nothing to list, in any language.

    >>> says_nothing("Sorry, no results were found."), says_nothing("Keine Treffer"), says_nothing("Back soon")
    (True, True, False)
    """
    found = f" {plain(text)}" if len(text) <= _PAGE else ""
    return any(f" {words}" in found for words in _nothing())


@lru_cache(maxsize=4096)
def says_back(text: str) -> bool:
    """Return whether a text means an earlier page, or the first or last one.

    >>> says_back("Vorherige Seite"), says_back("‹"), says_back("next")
    (True, True, False)
    """
    if len(text) > _LONGEST:
        return False
    sign = text.strip()
    words = [word for word in plain(text).split() if word not in _page()]
    return sign in SINGLE_LEFT or sign in ("«", "<<", "|<", ">|", "⏭", "⏮") or " ".join(words) in _back()


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
    return bool(found) and all(word in _page() for word in found)
