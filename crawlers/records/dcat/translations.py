"""The choice of one text among several: titles, descriptions and labels come in many languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.records import values as single
from crawlers.records.rdf.terms import Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.records.rdf.terms import Node, Term


def text(values: list[Term] | None, language: str | None = None) -> str | None:
    """Return the text in the language asked for, else without a language, else English, else the first by its tag.

    >>> text([Literal("Étude", "fr"), Literal("Study", "en-GB"), "http://a.org/study"])
    'Study'
    >>> text([Literal("Étude", "fr"), Literal("Study", "en"), Literal("C-42")], "FR-ch")
    'Étude'
    >>> text([Literal("Studie", "nl"), Literal("Studie", "de")]), text(["http://a.org/study"]), text(None)
    ('Studie', None, None)
    """
    if not values:
        return None
    if len(values) == 1:  # nearly always
        only = values[0]
        return single.text(only.value) if isinstance(only, Literal) else None
    return next(filter(None, (single.text(each.value) for each in languages_first(values, language))), None)


def languages_first(values: Iterable[Term], language: str | None = None) -> list[Literal]:
    """Return the literals, the best first; the same whatever their order in the source.

    >>> [one.language for one in languages_first([Literal("a", "de"), Literal("b", "en"), Literal("c", "pt-BR")], "pt")]
    ['pt-BR', 'en', 'de']
    """
    asked = (language or "").lower()
    literals = [each for each in values if isinstance(each, Literal)]
    return sorted(
        literals, key=lambda each: (_rank((each.language or "").lower(), asked), each.language or "", each.value)
    )


def _rank(tag: str, asked: str) -> int:
    if tag == asked:
        return 0
    if _primary(tag) == _primary(asked):
        return 1
    if not tag:
        return 2
    return 3 if _primary(tag) == "en" else 4


def _primary(tag: str) -> str:
    return tag.partition("-")[0].partition("_")[0]


def label(node: Node, predicates: Iterable[str], language: str | None = None) -> str | None:
    """Return the text of the first predicate that has one.

    >>> label({"http://a.org/name": [Literal("Graz")]}, ("http://a.org/title", "http://a.org/name"))
    'Graz'
    """
    return next((found for name in predicates if name in node and (found := text(node[name], language))), None)
