"""What reads the fields of datasets and files from nodes in RDF, by their kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.items import Relation, Service
from crawlers.records import values
from crawlers.records.dcat.description import Description, earliest, in_order, reading
from crawlers.records.dcat.terms import conforms_to
from crawlers.records.dcat.terms import license as license_of
from crawlers.records.dcat.themes import languages
from crawlers.records.periods import frequency
from crawlers.records.rdf.terms import DC, DCAT, DCT, FOAF, LOCN, PROV, SCHEMA, SCHEMA_HTTPS, Literal, iris, is_blank
from crawlers.records.record import Fields
from crawlers.records.values import code, duration, metres

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.records.rdf.terms import Term

    Region = tuple[str | None, str | None, str | None]

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
QUALIFIED = (DCAT + "qualifiedRelation", PROV + "qualifiedInfluence")
REGIONAL = (DCT + "spatial", SCHEMA + "spatialCoverage", SCHEMA_HTTPS + "spatialCoverage")
_ADDRESS = (LOCN + "address", SCHEMA + "address", SCHEMA_HTTPS + "address")
_COUNTRY = (LOCN + "adminUnitL1", SCHEMA + "addressCountry", SCHEMA_HTTPS + "addressCountry")
_STATE = (LOCN + "adminUnitL2", SCHEMA + "addressRegion", SCHEMA_HTTPS + "addressRegion")
_CITY = (LOCN + "postName", SCHEMA + "addressLocality", SCHEMA_HTTPS + "addressLocality")


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


def _metres(node: Description, *names: str) -> float | None:
    return min(filter(None, map(metres, node.texts(*names))), default=None)


def relations(node: Description, *names: str) -> list[Relation]:
    """Return what the dataset has to do with, by role, then by IRI and title; each once."""
    plain = [name for name in names if name in RELATIONS]
    found = {_relation(node, term, RELATIONS[name]) for name in plain for term in node.fields[name]}
    for term in node.terms(*QUALIFIED):
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


def samples(node: Description, *names: str) -> list[str]:
    return sorted({found for term in node.terms(*names) if (found := _file(node.at(term)))})


def _file(node: Description) -> str | None:
    """Return the address of a sample: a distribution's, or its own."""
    return node.url(DCAT + "downloadURL", DCAT + "accessURL") or _reference(node, node.term)


def _services(node: Description, *names: str) -> list[Service]:
    services = [_service(node.at(term)) for term in in_order(node.terms(*names))]
    return [each for each in services if each.uri or each.title or each.endpoint_url]


def _service(node: Description) -> Service:
    if isinstance(node.term, Literal):
        return Service(title=values.text(node.term.value))
    return Service(uri=values.text(node.iri or ""), **_SERVICE.read(node))


def region(node: Description, *names: str) -> Region:
    """Return country, state and city, as the places' addresses have them."""
    for term in in_order(node.terms(*names)):
        place = node.at(term)
        for each in (place, *map(place.at, in_order(place.terms(*_ADDRESS)))):
            found = _REGION.read(each)
            country, state, city = map(found.get, ("country", "state", "city"))
            if country or state or city:
                return country, state, city
    return NOWHERE


NOWHERE: Region = (None, None, None)
_REGION = Fields(
    dict.fromkeys(("country", "state", "city"), Description.text), {"country": _COUNTRY, "state": _STATE, "city": _CITY}
)
BY_KIND: dict[str, Callable[..., Any]] = {
    "text": Description.text,
    "markdown": Description.markdown,
    "address": Description.url,
    "moment": earliest,
    "frequency": reading(frequency),
    **dict.fromkeys(("iri", "reference"), lambda node, *names: next(iter(_references(node, *names)), None)),
    "labels": lambda node, *names: sorted({*node.texts(*names)}),
    "code": _code,
    **dict.fromkeys(("references", "addresses"), _references),
    "metres": _metres,
    "duration": reading(duration),
    "languages": languages,
    "license": license_of,
    "services": _services,
}
"""What reads a field of each kind."""
_SERVICE = Fields.of(Service, "rdf", BY_KIND, {"conforms_to": conforms_to}, spelled=iris)
