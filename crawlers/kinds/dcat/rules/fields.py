"""The fields that ``[rdf.fields]`` and ``[rdf.resources]`` take, each with the DCAT property that it becomes."""

from __future__ import annotations

from crawlers.kinds.dcat.mapping.details import RELATIONS
from crawlers.rdf.namespaces import ADMS, DC, DCAT, DCATAP, DCT, FOAF, PROV, SCHEMA, SCHEMA_HTTPS, SPDX

_OF_BOTH = {
    "title": DCT + "title",
    "description": DCT + "description",
    "issued": DCT + "issued",
    "modified": DCT + "modified",
    "license": DCT + "license",
    "languages": DCT + "language",
    "rights": DCT + "rights",
    "conforms_to": DCT + "conformsTo",
    "documentation": FOAF + "page",
    "applicable_legislation": DCATAP + "applicableLegislation",
    "status": ADMS + "status",
    "spatial_resolution": DCAT + "spatialResolutionInMeters",
    "temporal_resolution": DCAT + "temporalResolution",
}
OF_DATASETS = _OF_BOTH | {
    "identifier": DCT + "identifier",
    "landing_page": DCAT + "landingPage",
    "version": DCAT + "version",
    "keywords": DCAT + "keyword",
    "themes": DCAT + "theme",
    "access_rights": DCT + "accessRights",
    "frequency": DCT + "accrualPeriodicity",
    "temporal": DCT + "temporal",
    "spatial": DCT + "spatial",
    "provenance": DCT + "provenance",
    "type": DCT + "type",
    "version_notes": ADMS + "versionNotes",
    "relations": DCT + "relation",
    "hvd_categories": DCATAP + "hvdCategory",
    "sample": ADMS + "sample",
}
OF_RESOURCES = _OF_BOTH | {
    "url": DCAT + "downloadURL",
    "download_url": DCAT + "downloadURL",
    "access_url": DCAT + "accessURL",
    "format": DCT + "format",
    "media_type": DCAT + "mediaType",
    "size": DCAT + "byteSize",
    "checksum": SPDX + "checksum",
    "access_services": DCAT + "accessService",
    "availability": DCATAP + "availability",
}
PLAIN = ("uri", "name", "caveats", "data_modified", "country", "state", "city")
"""Fields of datasets that no DCAT property of the dataset's own node gives."""
AGENTS = {"publisher": "publisher", "contacts": "contact", "creator": "creator", "maintainer": "maintainer"}
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
    "documentation": frozenset(("http://www.w3.org/2007/05/powder-s#describedby",)),
    "relations": frozenset((*RELATIONS, DCAT + "qualifiedRelation", PROV + "qualifiedInfluence")),
}
"""Other properties that the mapping adds to a field; those are left out where the rules say the field."""
FILES = frozenset((DCAT + "distributions", DCT + "hasPart", *(each + "distribution" for each in _SCHEMAS)))
"""The same for the dataset's files."""
ADDRESSES = frozenset(
    (DCAT + "downloadURL", DCAT + "accessURL", DCAT + "accessService", *(each + "contentUrl" for each in _SCHEMAS))
)
"""The properties that say where a file is; one that the rules find and that has none of these is at its own IRI."""
