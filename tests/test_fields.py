"""A field has one home: every fact of it stands there, and it goes everywhere."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from contextlib import closing
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_origin, get_type_hints

import msgspec
import pyarrow.parquet
import pyoxigraph
import pytest

from crawlers.fields import LISTS, VOCABULARIES, specs, table
from crawlers.items import Agent, Checksum, Dataset, License, Period, Place, Relation, Resource, Service
from crawlers.kinds.api import file
from crawlers.kinds.api.mapping import Reading
from crawlers.kinds.ckan import mapping as ckan
from crawlers.kinds.html.mapping import Page, dataset, document
from crawlers.kinds.html.mapping.vocabulary import fields as labelled
from crawlers.kinds.html.rules import FIELDS, RESOURCE_FIELDS, loads
from crawlers.operate.dashboard import schema
from crawlers.records import data_json
from crawlers.records import dcat as rdf
from crawlers.records.data_json.item import BY_KIND as JSON_KINDS
from crawlers.records.dcat.details import BY_KIND as RDF_KINDS
from crawlers.records.rdf.graphs import graph
from crawlers.records.rdf.terms import DCAT, TYPE, Literal, iris
from crawlers.records.schema_org import item as schema_org
from crawlers.store.export import item_triples
from crawlers.store.export.output import WRITERS, held_items, held_sources
from crawlers.store.index import catch_up
from crawlers.store.index.columns import DATASETS, FORMS, RESOURCES
from crawlers.store.index.database import connect
from crawlers.store.index.search import search
from tests.conftest import ROOT
from tests.dashboards import page, text
from tests.held import put_ckan
from tests.test_dashboard import client

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.fields import Vocabulary

JSON = ("data_json", "schema_org")
MD5 = "d41d8cd98f00b204e9800998ecf8427e"
ITEMS = (Dataset, Resource)
PARTS = (Agent, Period, Place, License, Checksum, Relation, Service)
"""The small items, of which fields of the others are made."""
BY_THE_CRAWL = {
    Dataset: {
        *("source", "id", "resources", "metadata_source", "metadata_url", "retrieved", "aliases", "flaws"),
        *("set_by_operator", "torn", "document", "stored"),
    },
    Resource: {"id", "dataset_id", "document"},
    **{part: set() for part in PARTS},
}
INSTEAD = {"stated_url"}
"""Fields that a record has only if it lacks another one: test_what_is_no_address_is_kept_as_it_stands has them."""
SAMPLES: dict[str, Any] = {
    "text": "Gauges",
    "markdown": "Two gauges.",
    "moment": "2024-05-01",
    "stamp": "2024-05-01T10:00:00",
    "iri": "https://example.org/id/1",
    "address": "https://example.org/a.csv",
    "addresses": ["https://example.org/about"],
    "references": ["https://example.org/standard"],
    "labels": ["Water"],
    "languages": ["de"],
    "code": "Raster",
    "frequency": "DAILY",
    "metres": "50",
    "duration": "P1D",
    "agent": "Water Office",
    "agents": ["Water Office"],
    "license": "CC-BY-4.0",
    "period": "2020-01-01/2020-12-31",
    "places": ["Kenya"],
    "size": "1024",
    "checksum": "d41d8cd98f00b204e9800998ecf8427e",
    "relations": ["https://example.org/rain"],
    "services": ["https://example.org/api"],
}
"""A value of each kind, as texts say it."""


def sample(item: type, name: str) -> Any:
    return "text/csv" if name == "media_type" else SAMPLES[specs(item)[name].kind]


def every_name() -> list[tuple[str, type, str, str]]:
    return [
        (vocabulary, item, field, name)
        for item in ITEMS
        for field, spec in specs(item).items()
        for vocabulary in VOCABULARIES
        for name in spec.names(vocabulary)
    ]


@pytest.mark.parametrize("item", [*ITEMS, *PARTS])
def test_a_field_has_every_fact(item: type) -> None:
    wrong = []
    unsaid = {each.name for each in fields(item)} - specs(item).keys() - BY_THE_CRAWL[item]
    wrong += [f"{name}: has no spec, and nothing says that the crawl gives it" for name in sorted(unsaid)]
    for name, spec in specs(item).items():
        if not spec.says.endswith((".", "...")):
            wrong.append(f"{name}: says no sentence")
        if spec.kind not in FORMS and item in ITEMS:
            wrong.append(f"{name}: the kind {spec.kind} is not known")
        if (spec.kind in LISTS) != (get_origin(get_type_hints(item)[name]) is list):
            wrong.append(f"{name}: is a list, and its kind is not, or the other way round")
        wrong += [
            f"{name}: says neither what {vocabulary} calls it nor why it lacks it, or both"
            for vocabulary in VOCABULARIES
            if bool(spec.names(vocabulary)) == (vocabulary in spec.without)
        ]
        wrong += [
            f"{name}: {key} is nothing that may lack it"
            for key in spec.without.keys() - {*VOCABULARIES, "html", "index"}
        ]
    assert not wrong, "\n".join(wrong)


def test_the_labels_of_pages_are_of_fields_that_exist() -> None:
    assert not {name for names in labelled().values() for name in names} - {*FIELDS, *RESOURCE_FIELDS}


def test_the_docs_have_the_fields_and_columns_as_the_specs_say_them() -> None:
    page_ = (ROOT / "docs" / "items.md").read_text(encoding="utf-8")
    for item in (*ITEMS, *PARTS):
        assert table(item) in page_, f"the page takes what this function returns for {item.__name__}"
    index = json.loads((ROOT / "docs" / "datasette.json").read_bytes())["databases"]["index"]["tables"]
    for name, columns in (("datasets", DATASETS), ("resources", RESOURCES)):
        described = index[name]["columns"]
        assert not [each.name for each in columns if described.get(each.name) != each.described]


def test_a_field_of_a_plain_kind_needs_no_code() -> None:
    kinds = {
        *("text", "markdown", "moment", "frequency", "code", "metres", "duration", "iri", "address"),
        *("addresses", "references", "labels", "languages", "license"),
    }
    for known in (RDF_KINDS, JSON_KINDS, ckan.BY_KIND, item_triples._BY_KIND):
        assert kinds <= known.keys(), kinds - known.keys()


# From each source


def test_a_declaration_gives_every_field() -> None:
    def lines(item: type) -> str:
        return "\n".join(f'{name} = "{name}"' for name in specs(item))

    declared = f"""
title = "All"
[list]
url = "{{portal}}/api"
records = "items"
[list.paging]
kind = "none"
[dataset]
id = "id"
{lines(Dataset)}
[[resource]]
each = "files"
{lines(Resource)}
"""
    record: dict[str, Any] = {name: sample(Dataset, name) for name in specs(Dataset)}
    record |= {"id": "1", "files": [{name: sample(Resource, name) for name in specs(Resource)}]}
    item = Reading(record, file.loads(declared, "all")).dataset("https://example.org", "s")
    assert not lacking(item)


def test_rules_give_every_field() -> None:
    def line(item: type, name: str, field: str) -> str:
        value = "desk@example.org" if name.endswith("_email") else sample(item, field)
        return f"{name} = {{ constant = {json.dumps(value)} }}"

    known = {spec.one or name: name for name, spec in specs(Dataset).items()}
    of_pages = [line(Dataset, name, known[name.removesuffix("_email")]) for name in FIELDS]
    of_files = [line(Resource, name, name) for name in RESOURCE_FIELDS if name != "url"]
    head = 'start = "https://example.org/"\n[links]\ncss = "a"\n[fields]'
    rules = loads("\n".join([head, *of_pages, '[resources]\ncss = "li"', *of_files]))
    page_ = Page('<ul><li><a href="/a.csv">a</a></ul>', "https://example.org/1")
    found = lacking(dataset(document(page_, rules), source="s", id="1"))
    assert not [(kind, name) for kind, name in found if "html" not in specs(kind)[name].without]


def lacking(item: Dataset) -> set[tuple[type, str]]:
    """The fields that an item and its only resource lack."""
    (file_,) = item.resources
    return {(type(of), name) for of in (item, file_) for name in specs(type(of)) if not getattr(of, name)}


OBJECTS: dict[str, Any] = {
    "organization": {"name": "water", "title": "Water Office"},
    "creator": [{"name": "Water Office"}],
    "contact": [{"name": "Water Office"}],
    "publisher": [{"name": "Water Office"}],
    "author_email": "desk@example.org",
    "maintainer_email": "desk@example.org",
    "contact_email": "desk@example.org",
    "publisher_email": "desk@example.org",
    "contact_uri": "https://example.org/desk",
    "contact_url": "https://example.org/desk",
    "publisher_uri": "https://example.org/desk",
    "publisher_url": "https://example.org/desk",
    "mbox": "desk@example.org",
    "tags": [{"name": "Water"}],
    "groups": [{"title": "Water"}],
    "title_translated": {"en": "Gauges"},
    "notes_translated": {"en": "Gauges"},
    "description_translated": {"en": "Gauges"},
    "name_translated": {"en": "Gauges"},
    "license_url": "https://creativecommons.org/licenses/by/4.0/",
    "temporal_start": "2020-01-01",
    "temporal_end": "2020-12-31",
    "spatial": '{"type": "Point", "coordinates": [1, 2]}',
    "spatial_coverage": [{"text": "Kenya"}],
    "spatial_uri": "http://sws.geonames.org/192950/",
    **dict.fromkeys(("temporal_coverage-from", "temporal_coverage_from"), "2020-01-01"),
    **dict.fromkeys(("temporal_coverage-to", "temporal_coverage_to"), "2020-12-31"),
    "extras": [{"key": "state", "value": "Styria"}],
    "geographic_coverage": ["Kenya"],
    "qualified_relation": [{"relation": "https://example.org/rain"}],
    "qualifiedRelation": [{"relation": "https://example.org/rain"}],
    "relationships_as_subject": [{"object": "rain", "type": "links_to"}],
    "access_services": [{"title": "Levels", "endpoint_url": ["https://example.org/api"]}],
    "mimetype": "text/csv",
    "content_type": "text/csv",
    "mediaType": "text/csv",
    "fileFormat": "text/csv",
    "encodingFormat": "text/csv",
    "dcat:mediaType": "text/csv",
    **{name: hashlib.new(name).hexdigest() for name in ("sha256", "sha512", "sha1")},
    "geographicBoundingBox": {
        "westBoundingLongitude": 1,
        "southBoundingLatitude": 2,
        "eastBoundingLongitude": 3,
        "northBoundingLatitude": 4,
    },
    "spatialCoverage": {
        "name": "Graz",
        "address": {"addressCountry": "AT", "addressRegion": "Styria", "addressLocality": "Graz"},
    },
    "isAccessibleForFree": True,
    "access_url": "https://example.org/a.csv",
    "titleMap": {"en": "Gauges"},
    "descriptionMap": {"en": "Gauges"},
    "keywordMap": {"en": ["Water"]},
}
"""What these names of JSON have instead."""


def test_each_name_of_a_field_gives_it() -> None:
    names = every_name()
    assert len(names) > 400
    silent = []
    for vocabulary, kind, field, name in names:
        item = mapped(vocabulary, kind, name, sample(kind, field))
        if not getattr(item if kind is Dataset else item.resources[0], field):
            silent.append(f"{name} in {vocabulary} gives no {field} of a {kind.__name__}")
    assert silent == []


def mapped(vocabulary: str, kind: type, name: str, value: Any) -> Dataset:
    """The item of a record that says one thing alone."""
    if vocabulary == "rdf":
        return of_node(kind, name, value)
    said = {name: OBJECTS.get(name, value)}
    if vocabulary == "ckan":
        said |= {"dataset_date": "", "dataset_source": ""} if name in {"caveats", "last_modified"} else {}
        record: dict[str, Any] = {"id": "1"} | (said if kind is Dataset else {"resources": [{"id": "2"} | said]})
        return ckan.dataset(record, source="s", portal="https://example.org")
    files = "distribution"
    record = {"identifier": "1"} | (said if kind is Dataset else {files: [said]})
    read = data_json.dataset if vocabulary == "data_json" else schema_org.dataset
    return read(record, source="s", id="1")


def of_node(kind: type, name: str, given: Any) -> Dataset:
    (property_, *_) = iris([name])
    value = OBJECTS.get(name, given[0] if isinstance(given, list) else given)
    if name == "dcat:qualifiedRelation":
        term, more = "_:r", {"_:r": {iris(["dct:relation"])[0]: ["https://example.org/rain"]}}
    elif name == "spdx:checksum":
        algorithm, hash_ = iris(["spdx:algorithm", "spdx:checksumValue"])
        term, more = (
            "_:c",
            {"_:c": {algorithm: ["http://spdx.org/rdf/terms#checksumAlgorithm_md5"], hash_: [Literal(value)]}},
        )
    else:
        term, more = value if "://" in value else Literal(value), {}
    node = {property_: [term]}
    dataset_: dict[str, Any] = {TYPE: [DCAT + "Dataset"]}
    nodes: dict[str, Any] = {"https://example.org/1": dataset_} | more
    if kind is Dataset:
        dataset_ |= node
    else:
        dataset_[DCAT + "distribution"] = ["https://example.org/1/file"]
        nodes["https://example.org/1/file"] = node
    return rdf.dataset(nodes, "https://example.org/1", source="s")


# The parts that fields are made of

WHOLES: dict[type, dict[str, tuple[str, dict[str, Any]]]] = {
    Agent: {"rdf": ("dct:publisher", {}), "ckan": ("publisher", {}), **dict.fromkeys(JSON, ("publisher", {}))},
    Period: {
        "rdf": ("dct:temporal", {}),
        "data_json": ("temporal", {}),
        "schema_org": ("temporalCoverage", {}),
        "ckan": ("temporal_coverage", {}),
    },
    Place: {
        "rdf": ("dct:spatial", {}),
        "data_json": ("spatial", {}),
        "schema_org": ("spatialCoverage", {}),
        "ckan": ("spatial_coverage", {}),
    },
    License: {"rdf": ("dct:license", {}), "ckan": ("", {}), **dict.fromkeys(JSON, ("license", {}))},
    Checksum: {
        "rdf": ("spdx:checksum", {"spdx:checksumValue": MD5}),
        "data_json": ("checksum", {"checksumValue": MD5}),
        "schema_org": ("", {}),
        "ckan": ("", {"hash": MD5}),
    },
    Relation: {
        "rdf": ("dct:source", {}),
        "data_json": ("source", {}),
        "schema_org": ("isBasedOn", {}),
        "ckan": ("qualified_relation", {"relation": "https://example.org/rain"}),
    },
    Service: {
        "rdf": ("dcat:accessService", {"dct:title": "Levels"}),
        "data_json": ("accessService", {"title": "Levels"}),
        "ckan": ("access_services", {"title": "Levels"}),
    },
}
"""What leads to a part in each vocabulary, and what it must say besides; without a name it is in the record itself."""
ROLES = {"rdf": ("dcat:qualifiedRelation", "dct:relation"), "data_json": ("qualifiedRelation", "relation")}
"""Where a relation has its role, and what leads on from there."""
FIELDS_OF = {
    Agent: "publisher",
    Period: "temporal",
    Place: "spatial",
    License: "license",
    Checksum: "checksum",
    Relation: "relations",
    Service: "access_services",
}
VALUES_OF: dict[str, Any] = {
    "email": "desk@example.org",
    "reference": "https://example.org/api?request=GetCapabilities",
    "geometry": "POINT (1 2)",
    "algorithm": "md5",
    "value": MD5,
    **{name: hashlib.new(name).hexdigest() for name in ("sha256", "sha512", "sha1")},
    "geo": {"@type": "GeoCoordinates", "latitude": 2, "longitude": 1},
}


def every_name_of_parts() -> list[tuple[str, type, str, str]]:
    return [
        (vocabulary, part, field, name)
        for part in PARTS
        for field, spec in specs(part).items()
        for vocabulary in VOCABULARIES
        for name in spec.names(vocabulary)
    ]


def test_each_name_of_a_part_gives_it() -> None:
    names = every_name_of_parts()
    assert len(names) > 150
    silent = []
    for vocabulary, part, field, name in names:
        kind = specs(part)[field].kind
        value = next((VALUES_OF[key] for key in (name, field, kind) if key in VALUES_OF), None) or SAMPLES[kind]
        item = with_part(vocabulary, part, name, value)
        found = getattr(item.resources[0] if part in {Checksum, Service} else item, FIELDS_OF[part])
        if not (found and getattr(found[0] if isinstance(found, list) else found, field)):
            silent.append(f"{name} in {vocabulary} gives no {field} of a {part.__name__}")
    assert silent == []


def with_part(vocabulary: Vocabulary, part: type, name: str, value: Any) -> Dataset:
    """The item of a record that says one thing of a part alone."""
    above, beside = WHOLES[part][vocabulary]
    said = beside | {name: value}
    if name in {"dcat:hadRole", "hadRole"}:
        above, address = ROLES[vocabulary]
        said |= {address: "https://example.org/rain"}
    is_of_file = part in {Checksum, Service}
    if vocabulary == "rdf":
        node = {iris([each])[0]: [term(text)] for each, given in said.items() for text in all_of(given)}
        about = {iris([above])[0]: ["_:part"]}
        file_ = {DCAT + "distribution": ["_:file"]} if is_of_file else about
        nodes: dict[str, Any] = {"https://example.org/1": {TYPE: [DCAT + "Dataset"]} | file_, "_:part": node}
        return rdf.dataset(nodes | ({"_:file": about} if is_of_file else {}), "https://example.org/1", source="s")
    made: dict[str, Any] = {above: [said] if vocabulary == "ckan" else said} if above else said
    if vocabulary == "ckan":
        return ckan.dataset(
            {"id": "1"} | ({"resources": [{"id": "2"} | made]} if is_of_file else made),
            source="s",
            portal="https://example.org",
        )
    read = data_json.dataset if vocabulary == "data_json" else schema_org.dataset
    return read({"identifier": "1"} | ({"distribution": [made]} if is_of_file else made), source="s", id="1")


def all_of(given: Any) -> list[str]:
    return given if isinstance(given, list) else [given]


def term(text: str) -> Any:
    return text if "://" in text else Literal(text)


@pytest.mark.parametrize(
    "given", ["www.example.org/a.csv", "N/A", "C:\\data\\a.csv", "file:///a.csv", "http://", "a.csv"]
)
def test_what_is_no_address_is_kept_as_it_stands(given: str) -> None:
    declared = 'title = "All"\n[list]\nurl = "{portal}/api"\nrecords = "items"\n[list.paging]\nkind = "none"\n'
    declaration = file.loads(f'{declared}[dataset]\nid = "id"\n[[resource]]\neach = "files"\nurl = "u"\n', "all")
    package = {"id": "1", "resources": [{"id": "2", "url": given}]}
    pod = {"identifier": "1", "distribution": [{"downloadURL": given}]}
    page_ = {"identifier": "1", "distribution": [{"contentUrl": given}]}
    about: Any = {TYPE: [DCAT + "Dataset"], DCAT + "distribution": ["_:file"]}
    nodes: Any = {"https://example.org/1": about, "_:file": {DCAT + "downloadURL": [Literal(given)]}}
    for item in (
        ckan.dataset(package, source="s", portal="https://example.org"),
        data_json.dataset(pod, source="s", id="1"),
        schema_org.dataset(page_, source="s", id="1"),
        rdf.dataset(nodes, "https://example.org/1", source="s"),
        Reading({"id": "1", "files": [{"u": given}]}, declaration).dataset("https://example.org", "s"),
    ):
        (file_,) = item.resources
        assert (file_.url, file_.access_url, file_.download_url, file_.stated_url) == (None, None, None, given)


# To each consumer


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset that has all fields, on disk."""

    def said(item: type) -> dict[str, Any]:
        known = {name: spec.ckan[0] for name, spec in specs(item).items() if name not in INSTEAD}
        return {other: OBJECTS.get(other, sample(item, name)) for name, other in known.items()}

    record = said(Dataset) | {"id": "1", "resources": [said(Resource) | {"id": "2"}], "theme": ["Water"]}
    record |= {"dataset_date": "", "dataset_source": "", "uri": "https://example.org/1", "temporal_coverage": ""}
    record |= {"temporal_start": "2020-01-01", "temporal_end": "2020-12-31", "groups": [], "organization": None}
    for role in ("publisher", "creator", "contact"):
        record[role] = [{"name": f"Water {role}", "email": f"{role}@example.org"}]
    record["spatial_text"] = "Kenya"
    record["author_email"] = "author@example.org"
    record["maintainer_email"] = "maintainer@example.org"
    output = tmp_path_factory.mktemp("fields") / "output"
    put_ckan(output, "all", record)
    catch_up(output)
    return output


def only(held: Path) -> Dataset:
    (item,) = held_items(held, held_sources(held), lambda _: None)
    return item


def test_the_item_has_every_field(held: Path) -> None:
    assert lacking(only(held)) == {(Resource, name) for name in INSTEAD}


def test_the_index_has_every_field(held: Path) -> None:
    with closing(connect(held)) as db:
        (row,) = map(dict, db.execute("SELECT * FROM datasets"))
        (file_,) = map(dict, db.execute("SELECT * FROM resources"))
    assert not [column.name for column in DATASETS if row[column.name] is None]
    assert {column.name for column in RESOURCES if file_[column.name] is None} == INSTEAD


def test_the_json_api_and_the_page_have_every_field(held: Path) -> None:
    browser = client(held)
    told, shown = browser.get("/api/datasets/all/1").get_json(), text(page(browser, "/sources/all/datasets/1"))
    (file_,) = told["resources"]
    assert not [each.name for each in DATASETS if not told[each.name]]
    assert {each.name for each in RESOURCES if not file_[each.name]} == INSTEAD
    described = {each.name for each in msgspec.structs.fields(schema.Dataset)}
    assert {each.name for each in DATASETS} <= described
    labels = {name: spec.title(name) for name, spec in specs(Dataset).items() if "index" not in spec.without}
    assert not [
        label
        for name, label in labels.items()
        if label not in shown
        if name not in {"title", "description", "publisher"}
    ]


def test_a_search_finds_what_is_to_be_found(held: Path) -> None:
    words = {
        "text": "gauges",
        "markdown": "gauges",
        "code": "raster",
        "references": "standard",
        "agent": "office",
        "relations": "rain",
    }
    with closing(connect(held)) as db:
        (row,) = map(dict, db.execute("SELECT * FROM datasets"))
        for name, spec in specs(Dataset).items():
            if spec.found:
                assert [one.dataset_id for one in search(db, words[spec.kind]).rows] == ["1"], name
    assert "https://example.org/api" in row["details"]


def test_each_export_has_every_field(held: Path) -> None:
    (row,) = csv.DictReader(io.StringIO(written(held, "csv").decode()))
    wanted = {name for name, spec in specs(Dataset).items() if spec.kind != "period"} | {
        "temporal_start",
        "temporal_end",
    }
    assert not [name for name in wanted if not row[name]]
    (row,) = pyarrow.parquet.read_table(io.BytesIO(written(held, "parquet"))).to_pylist()
    (file_,) = row["resources"]
    assert not [name for name in specs(Dataset) if not row[name]]
    assert {name for name in specs(Resource) if not file_[name]} == INSTEAD


def test_what_rdf_can_say_is_read_back_from_the_export(held: Path) -> None:
    nodes = graph(pyoxigraph.parse(written(held, "ttl"), format=pyoxigraph.RdfFormat.TURTLE))
    (subject,) = [name for name, node in nodes.items() if DCAT + "Dataset" in node.get(TYPE, ())]
    after = rdf.dataset(nodes, subject, source="all")
    for kind, there in ((Dataset, after), (Resource, after.resources[0])):
        lost = [name for name, spec in specs(kind).items() if spec.rdf and not getattr(there, name)]
        assert not lost


def test_parquet_has_the_parts_of_each_field(held: Path) -> None:
    schema = pyarrow.parquet.read_schema(io.BytesIO(written(held, "parquet")))
    wrong = []
    for part, name in FIELDS_OF.items():
        in_file = part in {Checksum, Service}
        column = schema.field("resources").type.value_type.field(name) if in_file else schema.field(name)
        type_ = getattr(column.type, "value_type", column.type)
        wrong += [f"{part.__name__}.{each}" for each in specs(part) if type_.get_field_index(each) < 0]
    assert not wrong


def test_croissant_says_fields_as_schema_org_calls_them(held: Path) -> None:
    (line,) = written(held, "croissant").splitlines()
    said = json.loads(line)
    (file_,) = said["distribution"]
    for kind, told, by_format in (
        (Dataset, said, {"@context", "@type", "conformsTo", "isLiveDataset", "distribution"}),
        (Resource, file_, {"@type", "@id"}),
    ):
        known = {name for spec in specs(kind).values() for name in spec.schema_org}
        assert not told.keys() - known - by_format


def written(held: Path, format_: str) -> bytes:
    body = io.BytesIO()
    lost: list[str] = []
    WRITERS[format_](held_items(held, held_sources(held), lost.append), body)
    assert not lost
    return body.getvalue()
