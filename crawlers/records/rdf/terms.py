"""RDF as the mapping reads it: a text is an IRI or a blank node, a `Literal` is a value, a dict is a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable


class Literal(NamedTuple):
    """An RDF literal as it was written: ``"2016-12-14"^^xsd:date`` keeps its text and its datatype."""

    value: str
    language: str | None = None
    datatype: str | None = None
    """An IRI; ``None`` for plain text (xsd:string) and for text with a language."""


Term = str | Literal
"""A text is an IRI, or a blank node when it begins with ``_:``."""

Node = dict[str, list[Term]]
"""The statements about one subject: values by predicate, in the order of the source, each once."""

Graph = dict[str, Node]
"""Nodes by subject."""

Triple = tuple[str, str, Term]


def is_blank(term: Term) -> bool:
    """Return whether a term is a blank node."""
    return isinstance(term, str) and term.startswith("_:")


ADMS = "http://www.w3.org/ns/adms#"
CC = "http://creativecommons.org/ns#"
DCAT = "http://www.w3.org/ns/dcat#"
DCATAP = "http://data.europa.eu/r5r/"
DCAT_US = "http://data.resources.gov/ontology/dcat-us#"
DCT = "http://purl.org/dc/terms/"
DC = "http://purl.org/dc/elements/1.1/"
ELI = "http://data.europa.eu/eli/ontology#"
FOAF = "http://xmlns.com/foaf/0.1/"
GEODCATAP = "http://data.europa.eu/930/"
GEO = "http://www.opengis.net/ont/geosparql#"
HYDRA = "http://www.w3.org/ns/hydra/core#"
LOCN = "http://www.w3.org/ns/locn#"
ODRL = "http://www.w3.org/ns/odrl/2/"
ORG = "http://www.w3.org/ns/org#"
OWL = "http://www.w3.org/2002/07/owl#"
PAV = "http://purl.org/pav/"
PROV = "http://www.w3.org/ns/prov#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SCHEMA = "http://schema.org/"
SCHEMA_HTTPS = "https://schema.org/"
SCOVO = "http://purl.org/NET/scovo#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
SPDX = "http://spdx.org/rdf/terms#"
TIME = "http://www.w3.org/2006/time#"
TREE = "https://w3id.org/tree#"
VCARD = "http://www.w3.org/2006/vcard/ns#"
WDRS = "http://www.w3.org/2007/05/powder-s#"
XSD = "http://www.w3.org/2001/XMLSchema#"

TYPE = RDF + "type"
_BY_PREFIX: dict[str, tuple[str, ...]] = {
    prefix.lower().replace("_", "-"): (iri,) for prefix, iri in globals().copy().items() if prefix.isupper()
}
_BY_PREFIX["schema"] = (SCHEMA, SCHEMA_HTTPS)

SEPARATE = frozenset(DCAT + name for name in ("Dataset", "DatasetSeries", "Catalog", "CatalogRecord"))
"""Classes of nodes that have descriptions of their own: another dataset cites them."""


def iris(names: Iterable[str]) -> tuple[str, ...]:
    """Return the IRIs of names with a prefix; those of schema.org have two.

    >>> iris(["dct:title", "schema:name"])
    ('http://purl.org/dc/terms/title', 'http://schema.org/name', 'https://schema.org/name')
    """
    parts = (name.partition(":") for name in names)
    return tuple(f"{iri}{local}" for prefix, _, local in parts for iri in _BY_PREFIX[prefix])
