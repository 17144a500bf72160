"""What few catalogues say of a dataset or a file: relations, laws, samples, services, resolutions, states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers import values
from crawlers.items import Relation, Service
from crawlers.kinds.dcat.mapping.description import in_order
from crawlers.kinds.dcat.mapping.rights import conforms_to
from crawlers.rdf.namespaces import ADMS, DC, DCAT, DCATAP, DCT, FOAF, LOCN, PROV, SCHEMA, SCHEMA_HTTPS
from crawlers.rdf.terms import Literal, is_blank
from crawlers.values.codes import code
from crawlers.values.resolutions import duration, metres

if TYPE_CHECKING:
    from crawlers.items import Dataset, Resource
    from crawlers.kinds.dcat.mapping.description import Description
    from crawlers.rdf.terms import Term

RELATIONS = {
    **{
        DCT + name: name
        for name in (
            *("relation", "source", "references", "isReferencedBy", "replaces", "isReplacedBy", "requires"),
            *("isRequiredBy", "hasVersion", "isVersionOf", "isPartOf"),
        )
    },
    **{DCAT + name: name for name in ("hasVersion", "isVersionOf", "previousVersion", "hasCurrentVersion", "inSeries")},
    **{DC + name: name for name in ("relation", "source")},
    PROV + "wasDerivedFrom": "source",
    PROV + "specializationOf": "isVersionOf",
    **{
        schema + name: role
        for schema in (SCHEMA, SCHEMA_HTTPS)
        for name, role in {"isBasedOn": "source", "isPartOf": "isPartOf", "citation": "references"}.items()
    },
}
"""The role of each property's values."""
_QUALIFIED = (DCAT + "qualifiedRelation", PROV + "qualifiedInfluence")
_TYPE = (DCT + "type", DC + "type")
_STATUS = (ADMS + "status", SCHEMA + "creativeWorkStatus", SCHEMA_HTTPS + "creativeWorkStatus")
_VERSION_NOTES = (ADMS + "versionNotes",)
_DOCUMENTATION = (FOAF + "page", "http://www.w3.org/2007/05/powder-s#describedby")
_LEGISLATION = (DCATAP + "applicableLegislation",)
_CATEGORIES = (DCATAP + "hvdCategory",)
_SAMPLE = (ADMS + "sample",)
_AVAILABILITY = (DCATAP + "availability",)
_SERVICE = (DCAT + "accessService",)
_METRES = (DCAT + "spatialResolutionInMeters",)
_DURATION = (DCAT + "temporalResolution",)
_SPATIAL = (DCT + "spatial", SCHEMA + "spatialCoverage", SCHEMA_HTTPS + "spatialCoverage")
_ADDRESS = (LOCN + "address", SCHEMA + "address", SCHEMA_HTTPS + "address")
_COUNTRY = (LOCN + "adminUnitL1", SCHEMA + "addressCountry", SCHEMA_HTTPS + "addressCountry")
_STATE = (LOCN + "adminUnitL2", SCHEMA + "addressRegion", SCHEMA_HTTPS + "addressRegion")
_CITY = (LOCN + "postName", SCHEMA + "addressLocality", SCHEMA_HTTPS + "addressLocality")
_TITLE = DCT + "title"

_OF_BOTH = (*_STATUS, *_DOCUMENTATION, *_LEGISLATION, *_METRES, *_DURATION)
_OF_DATASETS = frozenset(
    (*_OF_BOTH, *RELATIONS, *_QUALIFIED, *_TYPE, *_VERSION_NOTES, *_CATEGORIES, *_SAMPLE, *_SPATIAL)
)
_OF_FILES = frozenset((*_OF_BOTH, *_AVAILABILITY, *_SERVICE))


def complete(item: Dataset, node: Description) -> None:
    """Fill in the fields of a dataset that few catalogues give."""
    if _OF_DATASETS.isdisjoint(node.fields):
        return
    _common(item, node)
    item.type = _code(node, *_TYPE)
    item.version_notes = node.markdown(*_VERSION_NOTES)
    item.relations = _relations(node)
    item.hvd_categories = _references(node, *_CATEGORIES)
    item.sample = sorted({found for term in node.terms(*_SAMPLE) if (found := _file(node.at(term)))})
    item.country, item.state, item.city = _region(node)


def complete_file(item: Resource, node: Description) -> None:
    """Fill in the fields of a file that few catalogues give."""
    if _OF_FILES.isdisjoint(node.fields):
        return
    _common(item, node)
    item.availability = _code(node, *_AVAILABILITY)
    services = [_service(node.at(term)) for term in in_order(node.terms(*_SERVICE))]
    item.access_services = [each for each in services if each.uri or each.title or each.endpoint_url]


def _common(item: Dataset | Resource, node: Description) -> None:
    item.status = _code(node, *_STATUS)
    item.documentation = _references(node, *_DOCUMENTATION)
    item.applicable_legislation = _references(node, *_LEGISLATION)
    item.spatial_resolution = min(filter(None, map(metres, node.texts(*_METRES))), default=None)
    item.temporal_resolution = node.read(duration, *_DURATION)


def _code(node: Description, *names: str) -> str | None:
    """Return the first of the codes, of IRIs that are known or not, or of labels."""
    found = (_reference(node, term) for term in node.terms(*names))
    return min((code(text) for text in found if text), default=None)


def _references(node: Description, *names: str) -> list[str]:
    """Return the values of all these properties by their IRIs, else by their addresses or labels; sorted, each once."""
    terms = (term for name in names for term in node.fields.get(name, ()))
    return sorted({found for term in terms if (found := _reference(node, term))})


def _reference(node: Description, term: Term) -> str | None:
    if isinstance(term, Literal):
        return values.text(term.value)
    if not is_blank(term):
        return values.text(term)
    return node.at(term).url(SCHEMA + "url", SCHEMA_HTTPS + "url", FOAF + "homepage") or node.label(term)


def _relations(node: Description) -> list[Relation]:
    """Return what the dataset has to do with, by role, then by IRI and title; each once."""
    found = {_relation(node, term, role) for name, role in RELATIONS.items() for term in node.fields.get(name, ())}
    for term in node.terms(*_QUALIFIED):
        each = node.at(term)
        role = (each.read(values.text, DCAT + "hadRole") or "relation").rpartition("#")[2].rpartition("/")[2]
        found |= {_relation(each, other, role or "relation") for other in each.terms(DCT + "relation")}
    return [
        Relation(role=role, uri=uri or None, title=title or None) for role, uri, title in sorted(found) if uri or title
    ]


def _relation(node: Description, term: Term, role: str) -> tuple[str, str, str]:
    if isinstance(term, Literal):
        text = values.text(term.value) or ""
        return (role, text, "") if values.url(text) else (role, "", text)
    return role, "" if is_blank(term) else values.text(term) or "", node.label(term) or ""


def _file(node: Description) -> str | None:
    """Return the address of a sample: a distribution's, or its own."""
    return node.url(DCAT + "downloadURL", DCAT + "accessURL") or _reference(node, node.term)


def _service(node: Description) -> Service:
    term = node.term
    return Service(
        uri=None if isinstance(term, Literal) or is_blank(term) else values.text(term),
        title=node.text(_TITLE) or (values.text(term.value) if isinstance(term, Literal) else None),
        description=node.markdown(DCT + "description"),
        endpoint_url=node.url(DCAT + "endpointURL"),
        endpoint_description=next(iter(_references(node, DCAT + "endpointDescription")), None),
        conforms_to=conforms_to(node),
    )


def _region(node: Description) -> tuple[str | None, str | None, str | None]:
    """Return country, state and city, as the places' addresses have them."""
    for term in in_order(node.terms(*_SPATIAL)):
        place = node.at(term)
        for each in (place, *map(place.at, in_order(place.terms(*_ADDRESS)))):
            country, state, city = (each.text(*names) for names in (_COUNTRY, _STATE, _CITY))
            if country or state or city:
                return country, state, city
    return None, None, None
