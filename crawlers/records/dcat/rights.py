"""Who may have a dataset, on what terms, where it comes from, and which standards it follows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.items import Dataset
from crawlers.records import values
from crawlers.records.dcat import translations
from crawlers.records.dcat.description import properties
from crawlers.records.rdf.namespaces import DCT, RDFS, SKOS
from crawlers.records.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.records.dcat.description import Description
    from crawlers.records.rdf.terms import Term

_STATEMENTS = (RDFS + "comment", SKOS + "definition", "http://schema.theodi.org/odrs#attributionText")
"""What a dct:RightsStatement without a label says."""
RIGHTS, ACCESS_RIGHTS = properties(Dataset, "rights"), properties(Dataset, "access_rights")
_ACCESS_CODE = re.compile(r"publications\.europa\.eu/resource/authority/access-right/([A-Z_]+)/?\s*$")
CONFORMS_TO = properties(Dataset, "conforms_to")


def rights(node: Description) -> str | None:
    return statement(node, *RIGHTS)


def access_rights(node: Description) -> str | None:
    """Return ``PUBLIC``, ``RESTRICTED`` ...: of an IRI of the EU's vocabulary the code."""
    return statement(node, *ACCESS_RIGHTS)


def unanimous(statements: Iterable[str | None]) -> str | None:
    """Return what all distributions state alike, which holds for the dataset.

    >>> unanimous(["ours", "ours"]), unanimous(["ours", None]), unanimous([])
    ('ours', None, None)
    """
    found = set(statements)
    return found.pop() if len(found) == 1 else None


def statement(node: Description, *predicates: str) -> str | None:
    """Return what a property states: names before texts, for beside an IRI the texts only explain it."""
    terms = node.terms(*predicates)
    if not terms:  # nearly always
        return None
    if not (found := {text for term in terms if (text := _named(node, term))}):
        best = translations.text(terms, node.language)
        found = _in_language_of(best, terms) if best else set()
    return "\n\n".join(sorted(found)) or None


def _named(node: Description, term: Term) -> str | None:
    text = term.value if isinstance(term, Literal) else term
    if code := _ACCESS_CODE.search(text):
        return code[1]
    if isinstance(term, Literal):
        return None
    return node.label(term) or node.at(term).text(*_STATEMENTS) or (None if is_blank(term) else term)


def _in_language_of(best: str, terms: list[Term]) -> set[str]:
    """Return all statements in the language of the best one: they belong together, translations do not."""
    texts = [(each.language, text) for each in terms if isinstance(each, Literal) and (text := values.text(each.value))]
    languages = {language for language, text in texts if text == best}
    return {text for language, text in texts if language in languages}


def conforms_to(node: Description, *names: str) -> list[str]:
    """Return the IRIs of standards; of a node without an IRI its label, else its type."""
    return sorted({text for term in node.terms(*names) if (text := _standard(node.at(term)))})


def _standard(node: Description) -> str | None:
    if not isinstance(node.term, Literal) and not is_blank(node.term):
        return node.term
    return node.label(node.term) or node.read(values.text, DCT + "type")
