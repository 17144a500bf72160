"""The fields that ``[rdf.fields]`` and ``[rdf.resources]`` take, each with the DCAT property that it becomes."""

from __future__ import annotations

from crawlers.fields import specs
from crawlers.items import Dataset, Resource
from crawlers.records.dcat.details import RELATIONS
from crawlers.records.rdf.terms import DC, DCAT, DCT, PROV, SCHEMA, SCHEMA_HTTPS, WDRS, iris

_PLURAL = {"agent", "agents"}


def _properties(item: type) -> dict[str, str]:
    return {name: iris(spec.rdf)[0] for name, spec in specs(item).items() if spec.rdf and spec.kind not in _PLURAL}


OF_DATASETS, OF_RESOURCES = _properties(Dataset), _properties(Resource)
PLAIN = tuple(name for name, spec in specs(Dataset).items() if not spec.rdf and spec.kind != "stamp")
"""Fields of datasets that no DCAT property of the dataset's own node gives."""
AGENTS = {name: spec.one or name for name, spec in specs(Dataset).items() if spec.kind in _PLURAL}
"""The fields that are agents, with the role of each."""
AGENT_FIELDS = ("name", "uri", "email", "url")
DATASET_FIELDS = (*OF_DATASETS, *PLAIN)
RESOURCE_FIELDS = tuple(OF_RESOURCES)

_SCHEMAS = (SCHEMA, SCHEMA_HTTPS)
ALSO = {
    "keywords": frozenset((DC + "subject", *(each + "keywords" for each in _SCHEMAS))),
    "themes": frozenset((DCT + "subject",)),
    "temporal": frozenset((DCAT + "temporal", *(each + "temporalCoverage" for each in _SCHEMAS))),
    "spatial": frozenset((DCAT + "spatial", *(each + "spatialCoverage" for each in _SCHEMAS))),
    "documentation": frozenset((WDRS + "describedby",)),
    "relations": frozenset((*RELATIONS, DCAT + "qualifiedRelation", PROV + "qualifiedInfluence")),
}
"""Other properties that the mapping adds to a field; those are left out where the rules say the field."""
FILES = frozenset((DCAT + "distributions", DCT + "hasPart", *(each + "distribution" for each in _SCHEMAS)))
"""The same for the dataset's files."""
ADDRESSES = frozenset(
    (DCAT + "downloadURL", DCAT + "accessURL", DCAT + "accessService", *(each + "contentUrl" for each in _SCHEMAS))
)
"""The properties that say where a file is; one that the rules find and that has none of these is at its own IRI."""
