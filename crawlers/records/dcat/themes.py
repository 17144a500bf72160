"""The themes of a dataset in the words of a vocabulary, and its languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.items import Dataset
from crawlers.records import languages as tags
from crawlers.records import values
from crawlers.records.dcat.description import label, properties
from crawlers.records.rdf.authorities import HIGH_VALUE, INSPIRE, authority
from crawlers.records.rdf.terms import DCAT, DCATAP, DCT, RDFS, SCHEMA, SCHEMA_HTTPS, SKOS, Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.records.dcat.description import Description
    from crawlers.records.rdf.terms import Graph, Node, Term

_HVD_CATEGORY = DCATAP + "hvdCategory"
_THEMES = properties(Dataset, "themes")
_NAMES = (SKOS + "prefLabel", RDFS + "label", DCT + "title", SCHEMA + "name", SCHEMA_HTTPS + "name")
_INSPIRE_SCHEMES = ("http://inspire.ec.europa.eu/theme", "http://www.eionet.europa.eu/gemet/inspire_themes")
_INSPIRE_TITLE = "GEMET - INSPIRE themes"


def languages(node: Description, *names: str) -> list[str]:
    """Return BCP 47 tags, sorted, from codes, names or the EU's and the Library of Congress's IRIs."""
    terms = node.terms(*names)
    found = [next(filter(None, (tags.languages([text]) for text in node.spellings([term]))), []) for term in terms]
    return found[0] if len(found) == 1 else sorted({tag for each in found for tag in each})


def named_themes(texts: Iterable[str]) -> list[str]:
    """Return the themes that texts name, in words or by the IRI of a vocabulary; see `themes`."""
    return themes({}, {DCAT + "theme": [Literal(text) for text in texts]})


def themes(description: Graph, node: Node, language: str | None = None) -> list[str]:
    """Return labels sorted, each once; the IRI of a theme that neither the source nor this project can name.

    The description's own label comes first, then our English one of the vocabularies of the EU. A theme of INSPIRE and
    a category of high-value datasets add which they are.

    >>> themes({}, {DCAT + "theme": ["http://inspire.ec.europa.eu/theme/ps", Literal("Parks")]})
    ['INSPIRE', 'Parks', 'Protected sites']
    >>> concept = {SKOS + "prefLabel": [Literal("Verkehr", "de"), Literal("Transport", "fr")]}
    >>> themes({"http://a.org/t": concept}, {DCAT + "theme": ["http://a.org/t", "http://a.org/u"]}, "de")
    ['http://a.org/u', 'Verkehr']
    """
    found = {
        each
        for predicate in _THEMES
        if predicate in node
        for value in node[predicate]
        for each in _theme(description, value, language)
    }
    if _HVD_CATEGORY in node:
        found.add(HIGH_VALUE)
    return sorted(found, key=lambda each: (each.casefold(), each))


def _theme(description: Graph, value: Term, language: str | None) -> Iterator[str]:
    if isinstance(value, Literal):
        if written := values.text(value.value):
            yield from _named(written) if written.startswith(("http://", "https://")) else (written,)
        return
    node = description.get(value)
    name = label(node, _NAMES, language) if node else None
    known, mark = authority(value)
    if found := name or known or (None if is_blank(value) else value):
        yield found
    if mark or (node and _is_inspire(description, node)):
        yield mark or INSPIRE


def _named(iri: str) -> Iterator[str]:
    """Yield the label of an IRI that was written as a text, and the mark of its vocabulary."""
    known, mark = authority(iri)
    yield known or iri
    if mark:
        yield mark


def _is_inspire(description: Graph, concept: Node) -> bool:
    for scheme in concept.get(SKOS + "inScheme", ()):
        if isinstance(scheme, Literal):
            continue
        title = label(description.get(scheme, {}), _NAMES) or ""
        if scheme.startswith(_INSPIRE_SCHEMES) or title.startswith(_INSPIRE_TITLE):
            return True
    return False
