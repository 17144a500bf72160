"""Recorded answers of JSON APIs, read by the shipped declarations; skipped where the folder with them is absent.

What is expected is read from the files themselves with plain Python, or counted in their index.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from crawlers.items import Resource
from crawlers.kinds.api import mapping, query
from crawlers.kinds.api.file import load, shipped
from crawlers.kinds.api.mapping import Reading

ANSWERS = Path(__file__).parents[2] / "shared" / "answers"
PORTAL = "https://data.example.org"
NEVER = {"geonode", "datacite-rest", "worldbank", "dkan1"}
"""Declarations without a recorded answer, and marked so."""


class Case(NamedTuple):
    """A recorded answer, and what is in it.

    Args:
        id: of a record, read plainly.
        title: of a record, read plainly.
        resources: how many the page has in all.
        wrap: makes a page of what was recorded: one record, or an older envelope.
    """

    declaration: str
    file: str
    count: int
    total: int | None
    id: Callable[[Any], Any]
    title: Callable[[Any], Any]
    resources: int
    wrap: Callable[[Any], Any] = lambda page: page
    datasets: int | None = None


def _default(name):
    return lambda record: record["metas"]["default"][name] if "default" in record["metas"] else record["metas"][name]


def _translated(value):
    return value["en"] if "en" in value else value.get("langeng") or value["default"]


ODS = (lambda one: one["dataset_id"], _default("title"))
ODS_V1 = (lambda one: one["datasetid"], _default("title"))
SOCRATA = (lambda one: one["resource"]["id"], lambda one: one["resource"].get("name"))
HUB = (
    lambda one: one.get("id") or one["properties"]["id"],
    lambda one: (one["properties"].get("title") or "").strip() or one["properties"]["name"],
)
UDATA = (lambda one: one["id"], lambda one: one["title"])
DKAN = (lambda one: one["identifier"], lambda one: one["title"])
DATAVERSE = (lambda one: one.get("global_id"), lambda one: one["name"])
ZENODO = (lambda one: one["conceptrecid"], lambda one: one["metadata"]["title"])
RDM = (lambda one: one["id"], lambda one: one["metadata"]["title"])
STAC = (lambda one: one["id"], lambda one: one.get("title") or one["id"])
RECORDS = (lambda one: one["id"], lambda one: one["properties"]["title"])
GEONETWORK = (lambda one: one["_id"], lambda one: _translated(one["_source"]["resourceTitleObject"]))
MAGDA = (lambda one: one["id"], lambda one: one["name"])


def _older(page):
    return {"total_count": page["total_count"], "results": [each["dataset"] for each in page["datasets"]]}


def _each(*path):
    def wrap(record):
        page = [record]
        for name in reversed(path):
            page = {name: page}
        return page

    return wrap


CASES = [
    Case("opendatasoft", "opendatasoft/v2.1-catalog-datasets.json", 2, 2, *ODS, 7),
    Case("opendatasoft", "opendatasoft/v2.0-datasets-page1.json", 6, 101, *ODS, 18, _older),
    Case("opendatasoft", "opendatasoft/v2.0-datasets-page2-last.json", 6, 101, *ODS, 18, _older),
    Case("opendatasoft-v1", "opendatasoft/v1-record-no-data.json", 2, 2, *ODS_V1, 2),
    Case("opendatasoft-v1", "opendatasoft/v1-record-test-b.json", 1, None, *ODS_V1, 5, _each("datasets")),
    Case("opendatasoft-v1", "opendatasoft/v1-record-inspire.json", 1, None, *ODS_V1, 2, _each("datasets")),
    Case("opendatasoft-v1", "opendatasoft/v1-record-attachments.json", 1, None, *ODS_V1, 2, _each("datasets")),
    Case("socrata", "socrata/discovery-eu-8d6ed4.json", 10, 5421, *SOCRATA, 20),
    Case("socrata", "socrata/discovery-search-terria.json", 48, 48, *SOCRATA, 75),
    Case("socrata", "socrata/discovery-small.json", 3, 3, *SOCRATA, 0),
    Case("socrata", "socrata/discovery-us-90329b.json", 2, 2, *SOCRATA, 4),
    Case("socrata", "socrata/discovery-us-b7b6cd.json", 3, 3, *SOCRATA, 6),
    Case("arcgis-hub", "arcgis-hub/search-v1-items.json", 2, 2, *HUB, 2),
    Case("arcgis-hub", "arcgis-hub/hub-dataset-record.json", 1, None, *HUB, 5, _each("features")),
    Case("udata", "udata/v2-datasets-search.json", 20, 10000, *UDATA, 0),
    Case("udata-v2", "udata/v2-datasets-search.json", 20, 10000, *UDATA, 0),
    Case("dkan", "dkan/v2-metastore-item.json", 1, None, *DKAN, 3, _each()),
    Case("dkan", "dkan/v2-search.json", 10, None, *DKAN, 15, lambda page: list(page["results"].values())),
    Case("dkan", "dkan/data.json", 2, None, *DKAN, 2, lambda page: page["dataset"]),
    Case("dkan", "dkan/data2.json", 2, None, *DKAN, 2, lambda page: page["dataset"]),
    Case("dataverse", "dataverse/guide-search-0.json", 5, 5, *DATAVERSE, 0, datasets=1),
    Case("dataverse", "dataverse/guide-search-1.json", 2, 2, *DATAVERSE, 0, datasets=1),
    Case("dataverse", "dataverse/guide-search-2.json", 2, 2, *DATAVERSE, 0),
    Case("dataverse", "dataverse/guide-search-3.json", 4, 4, *DATAVERSE, 0, datasets=2),
    Case("invenio-rdm", "invenio-zenodo/rdm-full-record.json", 1, None, *RDM, 0, _each("hits", "hits")),
    Case("zenodo", "invenio-zenodo/zenodo-record.json", 1, 1, *ZENODO, 1),
    Case("zenodo", "invenio-zenodo/zenodo-search.json", 10, 29, *ZENODO, 10),
    Case("zenodo", "invenio-zenodo/zenodo-sandbox-search.json", 5, 826, *ZENODO, 6),
    Case("stac", "stac/collections-1.0.json", 1, None, *STAC, 2),
    Case("stac", "stac/collections-1.1.json", 1, None, *STAC, 0),
    Case("stac", "stac/earth-search-collections-q-0.json", 9, None, *STAC, 0),
    Case("stac", "stac/spacebel-collections-q-0.json", 1, 1, *STAC, 9),
    Case("stac-static", "stac/static-collection.json", 1, None, *STAC, 0),
    Case("stac-static", "stac/static-collection-only.json", 1, None, *STAC, 1),
    Case("ogc-records", "ogc-records/ogc-client-dutch-metadata-items.json", 10, 308, *RECORDS, 21, datasets=8),
    Case("ogc-records", "ogc-records/pycsw3-items-page1.json", 5, 500, *RECORDS, 9),
    Case("ogc-records", "ogc-records/pycsw3-items-last.json", 5, 500, *RECORDS, 6),
    Case("ogc-records", "ogc-records/pycsw3-items-empty.json", 0, 500, *RECORDS, 0),
    Case("geonetwork", "geonetwork4/search-full-1.json", 2, 1, *GEONETWORK, 25),
    Case("geonetwork", "geonetwork4/search-bdtopo.json", 1, 1, *GEONETWORK, 0),
    Case("geonetwork", "geonetwork4/search-summary-hits.json", 3, 4035, *GEONETWORK, 0),
    Case("geonetwork", "geonetwork4/search-aggs-only-no-hits.json", 0, 6073, *GEONETWORK, 0),
    Case(
        *("eu-hub-search", "eu-hub-search/doc-dataset-example.json", 1, None),
        *(UDATA[0], lambda one: one["title"]["en"], 1, _each("result", "results")),
    ),
    Case("magda", "magda/registry-record-dataset.json", 1, None, *MAGDA, 5, _each("records")),
    Case("magda", "magda/registry-ckan-dataset-aspect.json", 1, None, *MAGDA, 0),
]


def page(case):
    path = ANSWERS / case.file
    if not path.exists():
        pytest.skip("the recorded answers are not at hand")
    return case.wrap(json.loads(path.read_bytes()))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file)
def test_a_recorded_answer_is_read(case):
    declaration, found = load(case.declaration), page(case)
    records = query.records(found, declaration.list)
    assert records is not None
    assert (len(records), query.total(found, declaration.list.total)) == (case.count, case.total)
    assert query.refusal(found, declaration.list) is None
    items = [Reading(each, declaration).dataset(PORTAL, "s") for each in records]
    assert [Reading(each, declaration).id for each in records] == [case.id(each) for each in records]
    assert [item.title for item in items] == [(case.title(each) or "").strip() or None for each in records]
    assert sum(len(item.resources) for item in items) == case.resources
    assert [Reading(each, declaration).resource_count for each in records] == [len(item.resources) for item in items]
    kept = [Reading(each, declaration).is_dataset for each in records]
    assert sum(kept) == (case.count if case.datasets is None else case.datasets)
    assert not [item.flaws for item in items if item.flaws]


@pytest.mark.parametrize("case", [case for case in CASES if case.count], ids=lambda case: case.file)
def test_a_recorded_record_is_mapped_again_from_its_document(case):
    declaration = load(case.declaration)
    read = mapping.reader(case.declaration)
    for record in query.records(page(case), declaration.list):
        if not Reading(record, declaration).is_dataset:
            continue
        item = Reading(record, declaration).dataset(PORTAL, "s")
        document = json.loads(json.dumps(record))
        assert read(document, "s", item.id, item.metadata_url) == item


FILLED = {
    "opendatasoft": {"description", "license", "publisher", "modified", "keywords", "languages", "frequency", "issued"},
    "socrata": {"description", "license", "publisher", "modified", "keywords", "themes", "landing_page", "frequency"},
    "arcgis-hub": {"description", "license", "publisher", "modified", "keywords", "spatial", "languages"},
    "udata": {"description", "license", "publisher", "modified", "keywords", "temporal", "spatial", "frequency"},
    "dkan": {"description", "license", "publisher", "modified", "keywords", "temporal", "spatial", "frequency"},
    "dataverse": {"description", "publisher", "modified", "issued", "contacts", "themes", "version"},
    "invenio-rdm": {"description", "license", "publisher", "issued", "keywords", "spatial", "languages", "contacts"},
    "zenodo": {"description", "license", "publisher", "modified", "issued", "keywords", "contacts", "uri"},
    "stac": {"description", "license", "publisher", "keywords", "temporal", "spatial", "landing_page", "uri"},
    "ogc-records": {"description", "license", "publisher", "modified", "keywords", "themes", "spatial", "temporal"},
    "geonetwork": {"description", "license", "publisher", "modified", "keywords", "spatial", "temporal", "frequency"},
    "eu-hub-search": {"description", "publisher", "modified", "issued", "keywords", "temporal", "contacts"},
    "magda": {"description", "license", "publisher", "modified", "issued", "keywords", "temporal", "spatial"},
}
"""Fields that the recorded answers of a software must fill, in one record at least: a wrong path is silent."""


@pytest.mark.parametrize("name", FILLED)
def test_the_fields_that_there_are_are_found(name):
    declaration = load(name)
    found = set()
    for case in CASES:
        if case.declaration == name:
            for record in query.records(page(case), declaration.list):
                item = Reading(record, declaration).dataset(PORTAL, "s")
                found |= {field for field in declaration.fields if getattr(item, field)}
    assert FILLED[name] - found == set()


def test_files_have_sizes_and_checksums():
    declaration, found = load("zenodo"), page(CASES[26])
    for record in query.records(found, declaration.list):
        for file, resource in zip(record["files"], _resources(record, declaration), strict=True):
            assert (resource.size, resource.checksum.algorithm) == (file.get("size", file.get("filesize")), "md5")
            assert resource.checksum.value == file["checksum"].removeprefix("md5:")
            assert resource.url == file["links"].get("self", file["links"].get("download"))


def _resources(record, declaration) -> list[Resource]:
    return Reading(record, declaration).dataset(PORTAL, "s").resources


def test_a_refusal_is_no_page():
    path = ANSWERS / "socrata/error-403.json"
    if not path.exists():
        pytest.skip("the recorded answers are not at hand")
    declaration, found = load("socrata"), json.loads(path.read_bytes())
    assert query.refusal(found, declaration.list) == "it says 'You must be logged in to access this resource'"
    assert query.records(found, declaration.list) is None


def test_every_declaration_has_a_recorded_answer_or_says_that_it_has_none():
    tried = {case.declaration for case in CASES}
    assert tried | NEVER == shipped().keys()
    assert {name for name in shipped() if not load(name).recorded} == NEVER
