"""The JSON-LD context of the documents: DCAT-AP's properties by their short names, in reading order."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.records.rdf import terms
from crawlers.records.rdf.terms import TYPE
from crawlers.records.tables import csv_rows

if TYPE_CHECKING:
    from collections.abc import Iterable

_VOCABULARIES = (
    "ADMS DC DCAT DCATAP DCT FOAF GEO GEODCATAP HYDRA LOCN ODRL ORG OWL PROV RDF RDFS SCHEMA SCOVO SKOS SPDX TIME"
)
PREFIXES: dict[str, str] = {name.lower(): getattr(terms, name) for name in (*_VOCABULARIES.split(), "VCARD", "XSD")}
PREFIXES["schemas"] = terms.SCHEMA_HTTPS


class Term(NamedTuple):
    """A property in a document; terms sort as a document shows them."""

    rank: int
    """Its place in the context: types come first, what has no term last, by name."""
    name: str
    """The key: a term, else ``prefix:name``, else the whole IRI."""
    prefix: str | None
    """The prefix that the key needs."""
    link: bool
    """Whether a plain text is an IRI there."""
    iri: str


def _terms() -> dict[str, Term]:
    found: dict[str, Term] = {}
    taken: set[str] = set()
    for prefix, values, properties in csv_rows(__package__, "terms.csv"):
        for name in properties.split():
            if name not in taken:  # dcat:hasVersion, after dct:hasVersion
                taken.add(name)
                iri = PREFIXES[prefix] + name
                found[iri] = Term(len(found), name, None, values == "link", iri)
    return found


TERMS = _terms()
NAMES = frozenset(PREFIXES) | {term.name for term in TERMS.values()}
"""The names that an IRI's scheme must not have in the same document."""

_NAMESPACES = {namespace: prefix for prefix, namespace in PREFIXES.items()}
_LAST = len(TERMS)


@lru_cache(maxsize=4096)
def term(predicate: str, avoided: frozenset[str] = frozenset()) -> Term:
    """Return the term of a predicate in a document, without the ``avoided`` terms and prefixes.

    >>> term("http://purl.org/dc/terms/title").name, term("http://www.w3.org/ns/dcat#catalog").name
    ('title', 'dcat:catalog')
    >>> term("http://purl.org/dc/terms/title", frozenset(["title"])).name
    'dct:title'
    """
    known = TERMS.get(predicate)
    if known and known.name not in avoided:
        return known
    rank = -1 if predicate == TYPE else _LAST
    return Term(rank, *compact(predicate, avoided), False, predicate)


@lru_cache(maxsize=4096)
def compact(iri: str, avoided: frozenset[str] = frozenset()) -> tuple[str, str | None]:
    """Return ``prefix:name`` and the prefix; an IRI of an unknown namespace is returned unchanged.

    >>> compact("http://www.w3.org/2001/XMLSchema#date"), compact("http://example.org/a")
    (('xsd:date', 'xsd'), ('http://example.org/a', None))
    >>> compact("http://www.w3.org/2001/XMLSchema#")
    ('http://www.w3.org/2001/XMLSchema#', None)
    """
    end = max(iri.rfind("#"), iri.rfind("/")) + 1
    prefix = _NAMESPACES.get(iri[:end])
    if prefix is None or prefix in avoided or end == len(iri):
        return iri, None
    return f"{prefix}:{iri[end:]}", prefix


def context(terms: Iterable[Term], prefixes: Iterable[str]) -> dict[str, Any]:
    """Return a context: prefixes by name, then terms in their order, with the type of those that are links."""
    found: dict[str, Any] = {prefix: PREFIXES[prefix] for prefix in sorted(prefixes)}
    for one in sorted(terms):
        found[one.name] = {"@id": one.iri, "@type": "@id"} if one.link else one.iri
    return found
