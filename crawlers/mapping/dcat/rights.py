"""Who may have a dataset, on what terms, and where it comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.mapping import values
from crawlers.mapping.dcat import choice
from crawlers.rdf.namespaces import DC, DCAT, DCT
from crawlers.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.mapping.dcat.description import Description, Predicates
    from crawlers.rdf.terms import Node, Term

RIGHTS = (DCT + "rights", DC + "rights")
_ACCESS_RIGHTS = (DCT + "accessRights", DCAT + "accessRights")
_PROVENANCE = (DCT + "provenance",)
_ACCESS_CODE = re.compile(r"publications\.europa\.eu/resource/authority/access-right/([A-Z_]+)/?\s*$")


def rights(about: Description, node: Node) -> str | None:
    return _statement(about, node, RIGHTS)


def access_rights(about: Description, node: Node) -> str | None:
    """``PUBLIC``, ``RESTRICTED`` ...: of an IRI of the EU's vocabulary the code."""
    return _statement(about, node, _ACCESS_RIGHTS)


def provenance(about: Description, node: Node) -> str | None:
    return _statement(about, node, _PROVENANCE)


def unanimous(statements: Iterable[str | None]) -> str | None:
    """What all distributions say alike holds for the dataset.

    >>> unanimous(["ours", "ours"]), unanimous(["ours", None]), unanimous([])
    ('ours', None, None)
    """
    found = set(statements)
    return found.pop() if len(found) == 1 else None


def _statement(about: Description, node: Node, predicates: Predicates) -> str | None:
    """Names before texts: who gives an IRI says the rest for people only."""
    terms = about.terms(node, predicates)
    if not terms:
        return None
    if not (found := {text for term in terms if (text := _named(about, term))}):
        chosen = choice.text(terms, about.language)
        found = _in_language_of(chosen, terms) if chosen else set()
    return "\n\n".join(sorted(found)) or None


def _named(about: Description, term: Term) -> str | None:
    text = term.value if isinstance(term, Literal) else term
    if code := _ACCESS_CODE.search(text):
        return code[1]
    if isinstance(term, Literal):
        return None
    return about.label(term) or (None if is_blank(term) else term)


def _in_language_of(chosen: str, terms: list[Term]) -> set[str]:
    """The other statements in the same language belong to it; translations of it do not."""
    texts = [(one.language, text) for one in terms if isinstance(one, Literal) and (text := values.text(one.value))]
    languages = {language for language, text in texts if text == chosen}
    return {text for language, text in texts if language in languages}
