"""What few records say of a dataset or a distribution, by the names of Project Open Data and DCAT-US 3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.items import Relation, Service
from crawlers.values.codes import code
from crawlers.values.linked import iri, related
from crawlers.values.resolutions import duration, metres

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Dataset, Resource
    from crawlers.values.linked import LinkedRecord

_RELATIONS = (
    *("relation", "source", "isReferencedBy", "hasVersion", "isVersionOf", "hasCurrentVersion", "previousVersion"),
    *("replaces", "isReplacedBy", "inSeries", "isPartOf"),
)
_DOCUMENTATION = ("page", "documentation", "describedBy", "references")
_OF_BOTH = ("status", "applicableLegislation", "spatialResolutionInMeters", "temporalResolution", *_DOCUMENTATION)
_OF_DATASETS = frozenset((*_OF_BOTH, *_RELATIONS, "qualifiedRelation", "type", "versionNotes", "hvdCategory", "sample"))
_OF_FILES = frozenset((*_OF_BOTH, "availability", "accessService"))


def complete(item: Dataset, fields: LinkedRecord) -> None:
    """Fill in the fields of a dataset that few catalogues give."""
    if _OF_DATASETS.isdisjoint(fields.fields):
        return
    _common(item, fields)
    item.type = _code(fields, "type")
    item.version_notes = fields.markdown("versionNotes")
    item.relations = [found for name in _RELATIONS for found in related(fields, name, name)] + list(_qualified(fields))
    item.hvd_categories = fields.references("hvdCategory")
    samples = (each.link("downloadURL", "accessURL") or each.iri() for each in fields.nodes("sample", text=_addressed))
    item.sample = list(dict.fromkeys(filter(None, samples)))


def complete_file(item: Resource, fields: LinkedRecord) -> None:
    """Fill in the fields of a distribution that few catalogues give."""
    if _OF_FILES.isdisjoint(fields.fields):
        return
    _common(item, fields)
    item.availability = _code(fields, "availability")
    services = map(_service, fields.nodes("accessService", text=_addressed))
    item.access_services = [each for each in services if each.uri or each.title or each.endpoint_url]


def _common(item: Dataset | Resource, fields: LinkedRecord) -> None:
    item.status = _code(fields, "status")
    item.documentation = list(dict.fromkeys(found for name in _DOCUMENTATION for found in fields.references(name)))
    item.applicable_legislation = fields.references("applicableLegislation")
    item.spatial_resolution = fields.read(metres, "spatialResolutionInMeters")
    item.temporal_resolution = fields.read(duration, "temporalResolution")


def _code(fields: LinkedRecord, name: str) -> str | None:
    return next(map(code, fields.references(name)), None)


def _addressed(text: str) -> dict[str, str] | None:
    return {"@id": text, "endpointURL": text} if iri(text) else {"title": text}


def _qualified(fields: LinkedRecord) -> Iterator[Relation]:
    for each in fields.nodes("qualifiedRelation"):
        role = next(iter(each.references("hadRole")), "relation").rstrip("/").rpartition("/")[2].rpartition("#")[2]
        yield from related(each, "relation", role)


def _service(fields: LinkedRecord) -> Service:
    return Service(
        uri=fields.iri(),
        title=fields.text("title"),
        description=fields.markdown("description"),
        endpoint_url=fields.link("endpointURL"),
        endpoint_description=next(iter(fields.references("endpointDescription")), None),
        conforms_to=fields.references("conformsTo"),
    )
