"""The terms of use of a dataset or a file: its licence, who may have it, where it comes from, what it follows."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from crawlers.items import Dataset, License
from crawlers.records import values
from crawlers.records.dcat import description
from crawlers.records.dcat.description import properties, remembered
from crawlers.records.licenses import license as license_of
from crawlers.records.licenses import stated
from crawlers.records.rdf.terms import DCT, RDFS, SKOS, Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.records.dcat.description import Description
    from crawlers.records.rdf.terms import Term


RIGHTS, ACCESS_RIGHTS = properties(Dataset, "rights"), properties(Dataset, "access_rights")
_LICENSES = tuple(name for name in properties(Dataset, "license") if name not in RIGHTS)
_IDS, _ADDRESSES, _TITLES, _TEXTS = (properties(License, name) for name in ("id", "uri", "title", "text"))
_ADDRESS = re.compile(r"https?://[^\s<>\"'()\[\]]*[^\s<>\"'()\[\].,;:]")
_LONGEST_TITLE = 300


def license(node: Description, *_: str) -> License | None:  # noqa: A001
    """Return what dct:license gives; else a statement of rights, which counts if SPDX knows it as a licence."""
    given = _best(node, *_LICENSES)
    if given or not (found := _best(node, *RIGHTS)):
        return given
    return found if found.id else None


def _best(node: Description, *predicates: str) -> License | None:
    """Return one that SPDX knows, then one with an address, then the first in the alphabet."""
    found = [License(**given) for term in node.terms(*predicates) if (given := _license(node.at(term)))]
    return min(found, key=_order) if len(found) > 1 else found[0] if found else None


def _order(license: License) -> tuple[bool, bool, str, str, str]:  # noqa: A002
    names = (license.id or "", license.uri or "", license.title or "")
    return (not license.id, not license.uri, *names)


@remembered
def _license(node: Description) -> dict[str, Any]:
    found = _read(node)
    return asdict(found) if found else {}


def _read(node: Description) -> License | None:
    term = node.term
    if isinstance(term, Literal):
        text = values.text(term.value) or ""
        found = _ADDRESS.search(text)
        return stated(text, found[0] if found else None, _LONGEST_TITLE)
    if is_blank(term):
        return _described(node, node.url(*_ADDRESSES))
    return _described(node, term) or License(uri=term)


def _described(node: Description, address: str | None) -> License | None:
    title, text = node.text(*_TITLES), node.text(*_TEXTS)
    found = license_of(node.text(*_IDS), address, title) or (text and license_of(None, None, text))
    if found:
        found.title, found.text = title, text
    return found or None


_STATEMENTS = (RDFS + "comment", SKOS + "definition", "http://schema.theodi.org/odrs#attributionText")
"""What a dct:RightsStatement without a label says."""
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
        best = description.text(terms, node.language)
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
