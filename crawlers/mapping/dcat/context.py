"""The JSON-LD context of the documents: DCAT-AP's properties by their short names, each where a reader looks for it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.rdf import namespaces
from crawlers.rdf.namespaces import ADMS, DCAT, DCATAP, DCT, FOAF, LOCN, ODRL, OWL, PROV, RDFS, SKOS, SPDX, TYPE, VCARD

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIXES = {
    "adms": ADMS,
    "dc": namespaces.DC,
    "dcat": DCAT,
    "dcatap": DCATAP,
    "dct": DCT,
    "foaf": FOAF,
    "geo": namespaces.GEO,
    "geodcatap": namespaces.GEODCATAP,
    "hydra": namespaces.HYDRA,
    "locn": LOCN,
    "odrl": ODRL,
    "org": namespaces.ORG,
    "owl": OWL,
    "prov": PROV,
    "rdf": namespaces.RDF,
    "rdfs": RDFS,
    "schema": namespaces.SCHEMA,
    "schemas": namespaces.SCHEMA_HTTPS,
    "scovo": namespaces.SCOVO,
    "skos": SKOS,
    "spdx": SPDX,
    "time": namespaces.TIME,
    "vcard": VCARD,
    "xsd": namespaces.XSD,
}

_TEXTS = "text"
_LINKS = "link"

_PROPERTIES: list[tuple[str, str, str]] = [
    (DCT, _TEXTS, "title alternative description abstract identifier"),
    (FOAF, _TEXTS, "name"),
    (VCARD, _TEXTS, "fn"),
    (SKOS, _TEXTS, "prefLabel altLabel notation"),
    (RDFS, _TEXTS, "label comment"),
    (DCAT, _TEXTS, "keyword"),
    (DCAT, _LINKS, "theme"),
    (DCT, _LINKS, "subject language"),
    (DCT, _TEXTS, "created issued modified"),
    (DCAT, _TEXTS, "version"),
    (OWL, _TEXTS, "versionInfo"),
    (ADMS, _TEXTS, "versionNotes"),
    (ADMS, _LINKS, "status"),
    (DCAT, _LINKS, "landingPage"),
    (FOAF, _LINKS, "page homepage"),
    (DCT, _LINKS, "publisher creator contributor rightsHolder"),
    (DCAT, _LINKS, "contactPoint"),
    (FOAF, _LINKS, "mbox"),
    (VCARD, _LINKS, "hasEmail hasURL hasTelephone"),
    (PROV, _LINKS, "qualifiedAttribution wasGeneratedBy agent"),
    (DCT, _LINKS, "license accessRights rights"),
    (ODRL, _LINKS, "hasPolicy"),
    (DCATAP, _LINKS, "applicableLegislation availability hvdCategory"),
    (DCT, _LINKS, "accrualPeriodicity temporal"),
    (DCAT, _TEXTS, "startDate endDate temporalResolution"),
    (DCT, _LINKS, "spatial"),
    (DCAT, _TEXTS, "bbox centroid spatialResolutionInMeters"),
    (LOCN, _TEXTS, "geometry"),
    (DCT, _LINKS, "conformsTo provenance source relation references isReferencedBy"),
    (DCT, _LINKS, "hasVersion isVersionOf replaces isReplacedBy hasPart isPartOf"),
    (DCAT, _LINKS, "inSeries hasVersion qualifiedRelation"),
    (SKOS, _LINKS, "inScheme"),
    (ADMS, _LINKS, "sample"),
    (DCAT, _LINKS, "accessURL downloadURL mediaType"),
    (DCT, _LINKS, "format"),
    (DCAT, _LINKS, "compressFormat packageFormat"),
    (DCAT, _TEXTS, "byteSize"),
    (SPDX, _LINKS, "checksum algorithm"),
    (SPDX, _TEXTS, "checksumValue"),
    (DCAT, _LINKS, "accessService endpointURL endpointDescription servesDataset"),
    (FOAF, _LINKS, "primaryTopic isPrimaryTopicOf"),
    (DCAT, _LINKS, "dataset record distribution"),
]


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
    for namespace, kind, names in _PROPERTIES:
        for name in names.split():
            if name not in taken:  # dcat:hasVersion, after dct:hasVersion
                taken.add(name)
                iri = namespace + name
                found[iri] = Term(len(found), name, None, kind is _LINKS, iri)
    return found


TERMS = _terms()
NAMES = frozenset(PREFIXES) | {term.name for term in TERMS.values()}
"""What an IRI's scheme must not be called in the same document."""

_NAMESPACES = {namespace: prefix for prefix, namespace in PREFIXES.items()}
_LAST = len(TERMS)


@lru_cache(maxsize=4096)
def term(predicate: str, avoided: frozenset[str] = frozenset()) -> Term:
    """How a document calls a predicate, without the ``avoided`` terms and prefixes.

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
    """``prefix:name`` and the prefix; an IRI of no known namespace as it is.

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
    """Prefixes by name, then terms in their order, links as such."""
    found: dict[str, Any] = {prefix: PREFIXES[prefix] for prefix in sorted(prefixes)}
    for one in sorted(terms):
        found[one.name] = {"@id": one.iri, "@type": "@id"} if one.link else one.iri
    return found
