"""What the index holds, for other programs: whatever the source was, in every format, and as DCAT-AP 3 wants it."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyoxigraph
import pyshacl
import pytest
import rdflib
from pyarrow import parquet
from rdflib import SH

from crawlers.exceptions import ExportError
from crawlers.items import Agent, Checksum, Dataset, License, Period, Place, Resource
from crawlers.records import dcat as rdf
from crawlers.records.rdf.terms import DCAT, DCT, FOAF, GEO, LOCN, SKOS, SPDX, TYPE, VCARD, XSD, Graph, Literal, Term
from crawlers.store.export.croissant import CONFORMS_TO
from crawlers.store.export.dcat import catalogues
from crawlers.store.export.description import description
from crawlers.store.export.nodes import Taken
from crawlers.store.export.output import WRITERS, held_items, held_sources, target
from crawlers.store.export.tables import COLUMNS, ROW_GROUP
from crawlers.store.index import Index
from tests.conftest import ROOT, command
from tests.finished import SOURCES, Finished
from tests.held import PORTAL, golden, put, put_ckan, put_rdf

if TYPE_CHECKING:
    from collections.abc import Iterator

SHAPES = ROOT / "crawlers" / "store" / "export" / "dcat-ap.shapes.ttl"
RDF_FORMATS = {
    "dcat": pyoxigraph.RdfFormat.RDF_XML,
    "ttl": pyoxigraph.RdfFormat.TURTLE,
    "jsonld": pyoxigraph.RdfFormat.JSON_LD,
}
EU = "http://publications.europa.eu/resource/authority"


# What a crawl leaves on disk


def record(number: int = 0, **fields: Any) -> dict[str, Any]:
    given = {"id": f"id-{number:05}", "name": f"rain-{number}", "title": f"Rain {number}", "resources": []}
    return given | fields


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("output")
    golden(output)
    return output


def items(output: Path, *named: str) -> list[Dataset]:
    lost: list[str] = []
    found = list(held_items(output, held_sources(output, named), lost.append))
    assert not lost
    return found


def written(format_: str, datasets: list[Dataset]) -> bytes:
    file = io.BytesIO()
    WRITERS[format_](iter(datasets), file)
    return file.getvalue()


def export(output: Path, format_: str, *more: str) -> subprocess.CompletedProcess[str]:
    return command("export", "--format", format_, *more, "-s", f"OUTPUT_DIR={output}")


# DCAT-AP 3


def parsed(body: bytes, format_: str) -> rdflib.Graph:
    triples = pyoxigraph.parse(body, format=RDF_FORMATS[format_])
    lines = pyoxigraph.serialize((one.triple for one in triples), format=pyoxigraph.RdfFormat.N_TRIPLES)
    assert lines
    return rdflib.Graph().parse(data=lines, format="nt")


def canonical(body: bytes, format_: str) -> set[str]:
    held = pyoxigraph.Dataset(pyoxigraph.parse(body, format=RDF_FORMATS[format_]))
    held.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return set(map(str, held))


def complaints(found: rdflib.Graph, *, whole: bool = False) -> list[str]:
    """What the shapes of DCAT-AP's mandatory rules say against it.

    Args:
        whole: also what is absent; by default only what is wrong of what there is. What a thing is of which nothing
            but the name is known is absent, too.
    """
    _, report, text = pyshacl.validate(found, shacl_graph=rdflib.Graph().parse(SHAPES))

    def is_absent(result: Any) -> bool:
        value, kind = report.value(result, SH.value), report.value(result, SH.sourceConstraintComponent)
        is_named = isinstance(value, rdflib.URIRef) and (value, None, None) not in found
        return kind == SH.MinCountConstraintComponent or (kind == SH.ClassConstraintComponent and is_named)

    return [text for one in report.objects(None, SH.result) if whole or not is_absent(one)]


@pytest.mark.parametrize("source", ["town", "agency"])
def test_what_any_source_gave_is_dcat_ap(everything: Path, source: str) -> None:
    """Each violation left is the absence of a value that the record does not have; RDF has those of its source."""
    found = parsed(written("ttl", items(everything, source)), "ttl")
    assert not complaints(found)
    assert len(set(found.subjects(rdflib.RDF.type, rdflib.URIRef(DCAT + "Dataset")))) == len(items(everything, source))


def test_the_serialisations_say_the_same(everything: Path) -> None:
    datasets = items(everything)
    turtle = canonical(written("ttl", datasets), "ttl")
    assert turtle == canonical(written("dcat", datasets), "dcat")
    assert turtle == canonical(written("jsonld", datasets), "jsonld")


@pytest.mark.parametrize("format_", ["dcat", "ttl"])
def test_the_same_datasets_are_the_same_bytes(format_: str) -> None:
    tricky = Dataset(source="s", id="d", title='a xmlns:z="b" xmlns:a="c"\n@prefix z: <a> .\n@prefix a: <a> .\n')
    body = written(format_, [tricky])
    prefixes = re.findall(rb"(?:^@prefix | xmlns:)(\w+)", body.partition(b"urn:uuid:")[0], re.MULTILINE)
    assert len(prefixes) > 10
    assert prefixes == sorted(prefixes), "their order would be another one in every process"
    assert rdflib.Literal(str(tricky.title).strip()) in parsed(body, format_).objects()
    assert written(format_, [tricky]) == body


RICH = Dataset(
    source="town",
    id="levels",
    uri=f"{PORTAL}/id/levels",
    title="River levels",
    description="Of *all* rivers",
    landing_page=f"{PORTAL}/about levels",
    issued="2018-06",
    modified="2024-02-29T10:11Z",
    version="2.1",
    publisher=Agent(name="Water Office", uri=f"{PORTAL}/id/office", role="publisher"),
    contacts=[
        Agent(name="Ana Gauge", email="ana@example.org", role="contact"),
        Agent(name="Bo Weir", role="creator"),
        Agent(name="Archive", role="custodian"),
    ],
    keywords=["level", "river"],
    themes=["Environment", "Rivers"],
    languages=["fr", "de"],
    license=License(id="CC-BY-4.0", title="CC BY 4.0"),
    access_rights="PUBLIC",
    rights="Ask the office.",
    frequency="DAILY",
    temporal=Period(start="2001", end="2020-12-31"),
    spatial=[Place(name="Upper Weir", geometry={"type": "Point", "coordinates": [15.4, 47.1]})],
    conforms_to=["http://www.opengis.net/def/crs/EPSG/0/4326", "Our own"],
    provenance="Read off a staff gauge.",
    resources=[
        Resource(
            id=f"{PORTAL}/id/levels/csv",
            dataset_id="levels",
            title="Levels",
            url=f"{PORTAL}/levels.csv",
            access_url=f"{PORTAL}/levels",
            download_url=f"{PORTAL}/levels.csv",
            format="CSV",
            media_type="text/csv",
            size=299107,
            checksum=Checksum(algorithm="sha256", value="ab" * 32),
            issued="2018-06-01",
            languages=["fr"],
        ),
        Resource(id="api", dataset_id="levels", title="API", url=f"{PORTAL}/api", format="OGC API"),
        Resource(id="nowhere", dataset_id="levels", title="On request"),
    ],
    metadata_url=f"{PORTAL}/catalog.ttl",
)


def described(dataset: Dataset) -> tuple[Graph, str]:
    with Taken() as taken:
        return description(dataset, taken)


def only(found: Graph, subject: str, predicate: str) -> Term:
    values = found[subject][predicate]
    assert len(values) == 1
    return values[0]


def test_what_is_read_again_is_the_same_item() -> None:
    again = rdf.dataset(*described(RICH), source="town")
    for name in (
        *("id", "uri", "title", "issued", "version", "publisher", "keywords", "themes", "access_rights"),
        *("rights", "frequency", "temporal", "spatial", "provenance"),
    ):
        expected = RICH.id if name == "id" else getattr(RICH, name)
        assert getattr(again, name) == expected, name
    assert sorted(again.languages) == ["de", "fr"]
    assert again.landing_page == f"{PORTAL}/about%20levels"
    assert again.license is not None
    assert again.license.id == "CC-BY-4.0"
    assert {(one.name, one.role) for one in again.contacts} == {(one.name, one.role) for one in RICH.contacts}
    assert sorted(again.conforms_to) == sorted(RICH.conforms_to)
    file = next(one for one in again.resources if one.format == "CSV")
    for name in ("id", "title", "access_url", "download_url", "media_type", "size", "checksum", "issued", "languages"):
        assert getattr(file, name) == getattr(RICH.resources[0], name), name


def test_values_are_named_by_the_vocabularies_that_dcat_ap_asks_for() -> None:
    found, subject = described(RICH)
    assert only(found, subject, DCT + "accrualPeriodicity") == f"{EU}/frequency/DAILY"
    assert found[subject][DCT + "language"] == [f"{EU}/language/FRA", f"{EU}/language/DEU"]
    environment, rivers = found[subject][DCAT + "theme"]
    assert environment == f"{EU}/data-theme/ENVI"
    assert only(found, str(rivers), SKOS + "prefLabel") == Literal("Rivers")
    assert only(found, subject, DCT + "accessRights") == f"{EU}/access-right/PUBLIC"
    assert only(found, subject, DCT + "license") == "http://spdx.org/licenses/CC-BY-4.0"
    file = f"{PORTAL}/id/levels/csv"
    assert only(found, file, DCT + "format") == f"{EU}/file-type/CSV"
    assert only(found, file, DCAT + "mediaType") == "https://www.iana.org/assignments/media-types/text/csv"
    checksum = found[str(only(found, file, SPDX + "checksum"))]
    assert checksum[SPDX + "algorithm"] == [SPDX + "checksumAlgorithm_sha256"]
    assert checksum[SPDX + "checksumValue"] == [Literal("ab" * 32, None, XSD + "hexBinary")]


def test_dates_are_typed_as_precisely_as_they_are() -> None:
    found, subject = described(RICH)
    assert only(found, subject, DCT + "issued") == Literal("2018-06", None, XSD + "gYearMonth")
    assert only(found, subject, DCT + "modified") == Literal("2024-02-29T10:11:00Z", None, XSD + "dateTime")
    period = found[str(only(found, subject, DCT + "temporal"))]
    assert period[DCAT + "startDate"] == [Literal("2001", None, XSD + "gYear")]
    assert period[DCAT + "endDate"] == [Literal("2020-12-31", None, XSD + "date")]


def test_a_contact_is_a_kind_and_a_publisher_an_agent() -> None:
    found, subject = described(RICH)
    contact = found[str(only(found, subject, DCAT + "contactPoint"))]
    assert contact[TYPE] == [VCARD + "Kind"]
    assert contact[VCARD + "hasEmail"] == ["mailto:ana@example.org"]
    assert found[f"{PORTAL}/id/office"] == {TYPE: [FOAF + "Agent"], FOAF + "name": [Literal("Water Office")]}


def test_a_dataset_has_one_publisher() -> None:
    agents = [Agent(name=name, role="publisher") for name in "abb"]
    found, subject = described(Dataset(source="s", id="d", publisher=agents[0], contacts=agents))
    assert found[str(only(found, subject, DCT + "publisher"))][FOAF + "name"] == [Literal("a")]
    again = rdf.dataset(found, subject, source="s")
    assert (again.publisher, again.contacts) == (agents[0], [agents[1]])


@pytest.mark.parametrize("role", ["maintainer", "contributor", "editor", "custodian", None])
def test_a_role_comes_back(role: str | None) -> None:
    contacts = [Agent(name="Ana", email="ana@example.org", role=role)]
    again = rdf.dataset(*described(Dataset(source="s", id="d", contacts=contacts)), source="s")
    assert again.contacts == contacts


def test_a_place_has_one_shape() -> None:
    found, subject = described(RICH)
    place = str(only(found, subject, DCT + "spatial"))
    assert only(found, place, LOCN + "geometry") == Literal("POINT(15.4 47.1)", None, GEO + "wktLiteral")
    assert found[place].keys() == {TYPE, SKOS + "prefLabel", LOCN + "geometry"}


def test_a_datasets_licence_is_not_its_files() -> None:
    dataset = Dataset(source="s", id="d", license=License(id="CC0-1.0"))
    own = License(uri="https://a.org/terms")
    dataset.resources = [
        Resource(id="r", dataset_id="d", url="https://a.org/r", license=own),
        Resource(id="q", dataset_id="d", url="https://a.org/q"),
    ]
    found, subject = described(dataset)
    given = [found[str(one)].get(DCT + "license") for one in found[subject][DCAT + "distribution"]]
    assert given == [["https://a.org/terms"], None]
    assert only(found, subject, DCT + "license") == "http://spdx.org/licenses/CC0-1.0"


def test_nothing_is_made_up() -> None:
    nobody = Agent(email="ana@example.org", role="contact")
    agents = [nobody, Agent(uri="https://a.org/ana", role="creator")]
    item = Dataset(source="s", id="d", name="slug", landing_page="https://a.org/page", contacts=agents)
    item.resources = [
        Resource(id="r", dataset_id="d"),
        Resource(id="q", dataset_id="d", url="https://a.org/q", download_url="https://a.org/q"),
    ]
    found, subject = described(item)
    said = {predicate for node in found.values() for predicate in node}
    made = {DCT + "title", DCT + "description", DCT + "license", FOAF + "name", VCARD + "fn", DCAT + "accessURL"}
    assert not said & made
    assert len(found[subject][DCAT + "distribution"]) == 2
    again = rdf.dataset(found, subject, source="s")
    assert (again.id, again.uri, again.title, again.description) == ("d", None, None, None)
    assert again.contacts == agents
    assert sorted(one.id for one in again.resources) == ["q", "r"]


def test_a_file_whose_only_address_is_its_url_has_it_as_access_url() -> None:
    item = Dataset(source="s", id="d", resources=[Resource(id="r", dataset_id="d", url="https://a.org/r")])
    found, subject = described(item)
    file = str(only(found, subject, DCAT + "distribution"))
    assert found[file][DCAT + "accessURL"] == ["https://a.org/r"]
    assert DCAT + "downloadURL" not in found[file]


def test_an_id_that_the_project_made_is_not_told() -> None:
    made, given = ({"url": "https://a.org/r"} | more for more in ({}, {"identifier": "r1"}))
    item = Dataset(source="s", id="d")
    item.resources = [Resource(id="r1", dataset_id="d", document=document) for document in (made, given)]
    found, subject = described(item)
    files = [found[str(one)].get(DCT + "identifier") for one in found[subject][DCAT + "distribution"]]
    assert files == [None, [Literal("r1")]]


def test_datasets_that_share_an_identifier_both_come_out() -> None:
    """One that has no IRI gets one, the same in every export, since nothing else tells it apart."""
    items = [Dataset(source=source, id="1", title=source) for source in "ab"]
    items.append(Dataset(source="c", id="1", title="c", uri="https://c.org/1"))
    nodes = [found for one in catalogues(items) for found in one.datasets]
    assert [found[name][DCT + "title"] for found, name in nodes] == [[Literal(one)] for one in "abc"]
    first, second, third = (name for _, name in nodes)
    assert first == "_:dataset"
    assert second.startswith("urn:uuid:")
    assert third == "https://c.org/1"
    assert [name for one in catalogues(items) for _, name in one.datasets] == [first, second, third]


def test_two_datasets_of_one_iri_stay_two() -> None:
    both = [Dataset(source="s", id=name, uri="https://a.org/1", title=name) for name in "ab"]
    found = parsed(written("ttl", both), "ttl")
    assert len(set(found.subjects(rdflib.RDF.type, rdflib.URIRef(DCAT + "Dataset")))) == 2


NASTY = [
    *("http://a.org/a b", "http://a.org/{x}|y", "http://a.org/%zz", "http://[::1", "http://a.org:x/", "http://", "//a"),
    *("http://a.org/\x00", "http://a.org/\ud800", "http://a.org/\ufffe", "http://a.org/#a#b", "http://a.org/\\"),
    *("http://a.org/'\"", "\u202ehttp://a.org", "javascript:x y", "dct:title", "geo:1,2", "_:b0", "<x>", "urn:", ""),
    "x" * 100_000,
]


@pytest.mark.slow
@pytest.mark.parametrize("text", NASTY)
def test_an_iri_is_one_for_every_parser_or_is_none(text: str) -> None:
    nasty = Dataset(
        source="s",
        id=text,
        uri=text,
        name=text,
        title=text,
        landing_page=text,
        publisher=Agent(name=text, uri=text, email=text, url=text),
        contacts=[Agent(uri=text, email=text, role=role) for role in ("contact", "creator", "x")],
        themes=[text],
        keywords=[text],
        languages=[text],
        license=License(uri=text, id=text, title=text),
        access_rights=text,
        rights=text,
        conforms_to=[text],
        provenance=text,
        temporal=Period(start=text),
        spatial=[Place(uri=text, name=text)],
        resources=[Resource(id=text, dataset_id=text, url=text, format=text, media_type="a/b", issued=text)],
        metadata_url=text,
    )
    bodies = {format_: written(format_, [nasty]) for format_ in RDF_FORMATS}
    found = parsed(bodies["ttl"], "ttl")
    assert not complaints(found)
    assert rdflib.Graph().parse(bodies["dcat"], format="xml").isomorphic(found)
    assert canonical(bodies["jsonld"], "jsonld") == canonical(bodies["ttl"], "ttl")
    for format_ in ("csv", "croissant", "parquet"):
        assert written(format_, [nasty])


def test_control_characters_are_left_out_and_lines_end_alike() -> None:
    text = "a\x00\x08b\r\nc\rd\x1b[31m\ufffe"
    body = written("dcat", [Dataset(source="s", id="d", title="t", description=text)])
    titles = set(rdflib.Graph().parse(body, format="xml").objects(None, rdflib.URIRef(DCT + "description")))
    assert rdflib.Literal("ab\nc\nd[31m") in titles


# A broken export


BREAK = [
    (DCAT + "Catalog", DCT + "title", None),
    (DCAT + "Catalog", DCT + "description", None),
    (DCAT + "Catalog", DCT + "publisher", None),
    (DCAT + "Catalog", DCAT + "dataset", rdflib.URIRef("https://a.org/no-dataset")),
    (DCAT + "Dataset", DCT + "title", None),
    (DCAT + "Dataset", DCT + "description", None),
    (DCAT + "Dataset", DCT + "publisher", rdflib.Literal("Water Office")),
    (DCAT + "Dataset", DCAT + "theme", rdflib.Literal("Environment")),
    (DCAT + "Dataset", DCT + "issued", rdflib.Literal("2018-06")),
    (DCAT + "Dataset", DCT + "accrualPeriodicity", rdflib.Literal("DAILY")),
    (DCAT + "Distribution", DCAT + "accessURL", None),
    (DCAT + "Distribution", DCAT + "accessURL", rdflib.Literal("https://a.org")),
    (DCAT + "Distribution", DCT + "format", rdflib.Literal("CSV")),
    (DCAT + "Distribution", DCAT + "byteSize", rdflib.Literal("20 KB")),
    (FOAF + "Agent", FOAF + "name", None),
    (SKOS + "Concept", SKOS + "prefLabel", None),
    (SPDX + "Checksum", SPDX + "algorithm", None),
    (DCT + "PeriodOfTime", DCAT + "startDate", rdflib.Literal("lately")),
]


@pytest.mark.parametrize(("kind", "predicate", "instead"), BREAK)
def test_the_shapes_refuse_a_broken_export(kind: str, predicate: str, instead: rdflib.term.Node | None) -> None:
    found = parsed(written("ttl", [replace(RICH, resources=RICH.resources[:2])]), "ttl")
    assert not complaints(found, whole=True)
    for subject in set(found.subjects(rdflib.RDF.type, rdflib.URIRef(kind))):
        found.remove((subject, rdflib.URIRef(predicate), None))
        if instead is not None:
            found.add((subject, rdflib.URIRef(predicate), instead))
    assert complaints(found, whole=True)


# Catalogues


def listed(datasets: list[Dataset]) -> list[tuple[Graph, str, list[str]]]:
    return [(one.graph, one.subject, [name for _, name in one.datasets]) for one in catalogues(datasets)]


def test_one_source_is_one_catalogue() -> None:
    ((nodes, subject, names),) = listed([Dataset(source="town", id=one, metadata_url=PORTAL) for one in "ab"])
    assert only(nodes, subject, DCT + "title") == Literal("town")
    assert only(nodes, str(only(nodes, subject, DCT + "publisher")), FOAF + "name") == Literal("data.example.org")
    assert len(names) == 2


def test_a_catalogues_iri_is_no_datasets() -> None:
    ((_, subject, _),) = listed([Dataset(source="town", id="a")])
    ((_, _, (name,)),) = listed([Dataset(source="town", id="a", uri=subject)])
    assert name != subject


def test_several_sources_have_a_catalogue_of_their_catalogues() -> None:
    *parts, (nodes, subject, _) = listed([Dataset(source=one, id="a") for one in ("nation", "town")])
    assert nodes[subject][DCAT + "catalog"] == [name for _, name, _ in parts]


def test_no_dataset_is_an_empty_catalogue(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", record(), status="withdrawn")
    for format_ in RDF_FORMATS:
        assert not complaints(parsed(written(format_, items(tmp_path)), format_))


# The table


def table(datasets: list[Dataset]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written("csv", datasets).decode("utf-8"), newline="")))


def test_a_row_a_dataset() -> None:
    (row,) = table([RICH])
    assert tuple(row) == COLUMNS
    assert row["keywords"] == "level | river"
    assert row["contacts"] == "Ana Gauge <ana@example.org> | Bo Weir | Archive"
    assert (row["license"], row["temporal_start"], row["spatial"]) == ("CC-BY-4.0", "2001", "Upper Weir")
    assert (row["resources"], row["formats"]) == ("3", "CSV | OGC API")
    assert row["urls"] == f"{PORTAL}/levels.csv | {PORTAL}/api"
    assert row["name"] == ""


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t=", "\r=", "\n=", " ="])
def test_no_cell_is_a_formula(sign: str) -> None:
    text = f"{sign}HYPERLINK(1)"
    nasty = Dataset(source="s", id=text, title=text, keywords=[text], publisher=Agent(name=text))
    (row,) = table([nasty])
    assert not [cell for cell in row.values() if cell.strip()[:1] in {"=", "+", "-", "@"}]
    assert row["title"] == f"'{text.strip()}"
    assert not [name for name in COLUMNS if not name[0].isalpha()]


def test_a_cell_may_have_lines_and_quotes() -> None:
    body = written("csv", [Dataset(source="s", id="d", title='a\r\nb "c", d\x00'), Dataset(source="s", id="é")])
    assert b'"a\nb ""c"", d"' in body
    assert [row["id"] for row in csv.DictReader(io.StringIO(body.decode("utf-8"), newline=""))] == ["d", "é"]
    assert body.endswith(b"\r\n")


# Parquet


def rows(body: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parquet.read_table(pa.BufferReader(body)).to_pylist()
    return found


def test_lists_and_objects_stay_what_they_are() -> None:
    (row,) = rows(written("parquet", [RICH]))
    assert row["keywords"] == ["level", "river"]
    assert row["publisher"]["name"] == "Water Office"
    assert row["resources"][0]["checksum"] == {"algorithm": "sha256", "value": "ab" * 32}
    assert row["resources"][0]["size"] == 299107
    assert json.loads(row["spatial"][0]["geometry"]) == {"type": "Point", "coordinates": [15.4, 47.1]}
    assert row["name"] is None
    assert not {"document", "stored"} & (row.keys() | row["resources"][0].keys())


def test_a_row_group_is_a_thousand_datasets() -> None:
    body = written("parquet", [Dataset(source="s", id=str(number)) for number in range(2 * ROW_GROUP + 1)])
    file = parquet.ParquetFile(pa.BufferReader(body))
    assert [file.metadata.row_group(one).num_rows for one in range(file.num_row_groups)] == [ROW_GROUP, ROW_GROUP, 1]


def test_without_pyarrow_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", record())
    file = tmp_path / "x.parquet"
    words = ["scrapy", "export", "--format", "parquet", "-o", str(file), "-s", f"OUTPUT_DIR={tmp_path}"]
    blocked = f"import sys; sys.modules['pyarrow'] = None; from scrapy.cmdline import execute; execute({words})"
    command = [sys.executable, "-W", "error", "-c", blocked]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "Parquet needs pyarrow: pip install 'catalogue-crawlers[parquet]'.\n")
    assert [path.name for path in tmp_path.glob("*x.parquet*")] == []


# Croissant


def test_a_line_is_a_croissant_file() -> None:
    first, second = map(json.loads, written("croissant", [RICH, Dataset(source="s", id="d")]).splitlines())
    assert first["@context"]["cr"] == "http://mlcommons.org/croissant/"
    assert (first["@type"], first["conformsTo"]) == ("sc:Dataset", CONFORMS_TO)
    assert (first["name"], first["license"], first["datePublished"]) == ("River levels", "CC-BY-4.0", "2018-06")
    assert first["creator"] == [{"@type": "sc:Organization", "name": "Bo Weir"}]
    assert first["publisher"][0]["url"] == f"{PORTAL}/id/office"
    file, api = first["distribution"]
    assert file == {
        "@type": "cr:FileObject",
        "@id": f"{PORTAL}/id/levels/csv",
        "name": "Levels",
        "contentUrl": f"{PORTAL}/levels.csv",
        "contentSize": "299107 B",
        "encodingFormat": "text/csv",
        "sha256": "ab" * 32,
    }
    assert api["encodingFormat"] == "application/octet-stream"
    assert first["isLiveDataset"] is True, "no file may lack a checksum otherwise"
    assert not second.keys() & {"name", "description", "creator", "datePublished"}, "nobody gave them"


def test_two_files_of_one_id_stay_two() -> None:
    resources = [Resource(id="r", dataset_id="d", url=f"https://a.org/{one}") for one in "ab"]
    (line,) = written("croissant", [Dataset(source="s", id="d", resources=resources)]).splitlines()
    assert len({file["@id"] for file in json.loads(line)["distribution"]}) == 2


# Reading what is held


def test_every_source_is_mapped_as_when_it_was_crawled(everything: Path) -> None:
    found = {(one.source, one.id): one for one in items(everything)}
    assert {source for source, _ in found} == {"agency", "nation", "town"}
    ckan = next(one for (_, name), one in found.items() if name.startswith("full-"))
    assert (ckan.title, ckan.metadata_source, ckan.retrieved) == (
        "River levels",
        "package_search",
        "2026-11-20T12:00:00.000Z",
    )
    assert ckan.uri == "https://rivers.example.org/id/levels"
    assert ckan.publisher == Agent(name="Water Office", uri=f"{PORTAL}/organization/water-office", role="publisher")
    assert found["agency", "pod11"].title == "River levels"
    assert any(one.publisher for (source, _), one in found.items() if source == "nation")


def test_a_blank_dataset_is_read_from_its_nameless_document(tmp_path: Path) -> None:
    turtle = f'[] a <{DCAT}Dataset> ; <{DCT}identifier> "b" ; <{DCT}title> "Blank" .'
    put_rdf(tmp_path, "nation", turtle.encode())
    (item,) = items(tmp_path)
    assert (item.id, item.title, item.uri) == ("b", "Blank", None)


def test_what_is_withdrawn_is_left_out_and_what_came_back_is_not(tmp_path: Path) -> None:
    for status in ("new", "withdrawn"):
        put_ckan(tmp_path, "town", record(1), status=status)
    for status in ("new", "withdrawn", "restored"):
        put_ckan(tmp_path, "town", record(2), status=status)
    assert [one.id for one in items(tmp_path)] == ["id-00002"]


def test_the_order_is_that_of_sources_and_ids(tmp_path: Path) -> None:
    for number in (3, 1, 2):
        put_ckan(tmp_path, "town", record(number))
        put_ckan(tmp_path, "city", record(number))
    found = [(one.source, one.name) for one in items(tmp_path)]
    assert found == [(source, f"rain-{number}") for source in ("city", "town") for number in (1, 2, 3)]
    assert [one.source for one in items(tmp_path, "town", "town")] == ["town"] * 3


def test_more_than_a_batch_is_held(tmp_path: Path) -> None:
    for number in range(1_203):
        put_ckan(tmp_path, "town", record(number))
    assert len({one.id for one in items(tmp_path)}) == 1_203


def test_the_index_knows_where_a_record_came_from(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", record())
    index = Index(tmp_path, "town")
    known = index.documents.get("dataset", "id-00000", None)
    index.close()
    assert known is not None
    assert (known.metadata_source, known.metadata_url) == (
        "package_search",
        f"{PORTAL}/api/3/action/package_search?rows=1000",
    )


# Nothing is held in memory


class Sink(io.RawIOBase):
    """Counts what is written to it."""

    def __init__(self) -> None:
        self.bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        self.bytes += len(part)
        return len(part)


@pytest.mark.slow
@pytest.mark.parametrize("format_", WRITERS)
def test_datasets_are_written_while_others_are_read(format_: str) -> None:
    sink, seen = Sink(), []

    def datasets() -> Iterator[Dataset]:
        for number in range(3 * ROW_GROUP):
            seen.append(sink.bytes)
            yield Dataset(source="s", id=str(number), title=os.urandom(200).hex())

    WRITERS[format_](datasets(), sink)  # type: ignore[arg-type]
    assert seen[-1] > sink.bytes / 2


# The command


def test_a_crawl_is_exported(finished: Finished, tmp_path: Path) -> None:
    file = tmp_path / "hdx.rdf"
    ran = export(finished.output, "dcat", "-o", str(file), "hdx")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    found = parsed(file.read_bytes(), "dcat")
    assert not complaints(found)
    assert len(set(found.objects(None, rdflib.URIRef(DCAT + "dataset")))) == SOURCES["hdx"]


def test_standard_output_is_the_default(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", record(title="Regen – Überblick"))
    for format_ in ("dcat", "jsonld", "ttl", "csv", "croissant"):
        ran = export(tmp_path, format_)
        assert (ran.returncode, ran.stderr) == (0, ""), format_
        assert "Regen – Überblick" in ran.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["csv", "tow"], "{output} holds no source 'tow'. Did you mean town? There are: city, town.\n"),
        (["csv", "../town"], "{output} holds no source '../town'. Did you mean town? There are: city, town.\n"),
        (["parquet"], "parquet is a binary format: name a file with -o FILE.\n"),
        (["parquet", "-o", "-"], "parquet is a binary format: name a file with -o FILE.\n"),
        (["csv", "-o", "/"], "-o names no file: give one, or - for standard output.\n"),
        (["csv", "-o", "{output}/no/x.csv"], "{output}/no/x.csv can't be written: No such file or directory.\n"),
    ],
)
def test_a_mistake_is_a_sentence(words: list[str], told: str, tmp_path: Path) -> None:
    for source in ("town", "city"):
        put_ckan(tmp_path, source, record())
    ran = export(tmp_path, *(word.format(output=tmp_path) for word in words))
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", told.format(output=tmp_path))


def test_an_empty_output_is_told(tmp_path: Path) -> None:
    ran = export(tmp_path / "none", "csv")
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"{tmp_path / 'none'} holds no source: crawl one first")


def test_an_unknown_format_is_told(tmp_path: Path) -> None:
    ran = export(tmp_path, "xls")
    assert ran.returncode == 2
    assert "invalid choice: 'xls'" in ran.stderr


def test_what_cannot_be_read_is_told_and_the_rest_is_written(tmp_path: Path) -> None:
    missing, broken, other, odd = (put_ckan(tmp_path, "town", record(number)) for number in range(4))
    put_ckan(tmp_path, "town", record(4))
    put(tmp_path, "town", "strange", {"id": "strange"}, by="telepathy")
    put(tmp_path, "town", "remote", {"@context": "https://a.org/", "@id": "x"}, by="rdf")
    missing.unlink()
    broken.write_bytes(b'{"id": ')
    other.write_bytes(b'{"id": "another"}')
    odd.write_bytes(b"[]")
    ran = export(tmp_path, "croissant")
    assert ran.returncode == 3
    assert [json.loads(line)["name"] for line in ran.stdout.splitlines()] == ["Rain 4"]
    told = sorted(line.partition(" is left out: ")[2] for line in ran.stderr.splitlines())
    assert told == [
        "No LoadDocumentCallback has been set to load remote contexts.",
        "No such file or directory.",
        "it is no JSON (Expecting value: line 1 column 8 (char 7)).",
        "it is no JSON object.",
        "it is not the record of id-00002.",
        "nothing here reads what telepathy gives.",
    ]
    assert all(line.startswith("town: datasets/") for line in ran.stderr.splitlines())


def write_half(file: Path) -> None:
    with target(file) as into:
        into.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("before")
    with pytest.raises(ExportError, match="can't be written: No space left on device"):
        write_half(file)
    assert file.read_text() == "before"
    with file.open() as reader:
        with target(file) as into:
            into.write(b"after")
        assert reader.read() == "before"
    assert file.read_text() == "after"
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_a_name_of_no_file_is_a_sentence(name: str) -> None:
    with pytest.raises(ExportError, match="-o names no file"), target(Path(name)):
        pass


def test_a_pipe_is_written_into(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with target(pipe) as into:
        into.write(b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
    with target(Path("/dev/null")) as into:
        into.write(b"nowhere")
    assert Path("/dev/null").is_char_device()


def test_standard_output_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "out"
    code = "import sys; from pathlib import Path; from crawlers.store.export.output import target\n"
    code += "with target(Path('/dev/stdout')) as into: into.write(b'through')"
    with file.open("wb") as out:
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=out, check=True)
        assert os.path.samestat(os.fstat(out.fileno()), file.stat())
    assert file.read_bytes() == b"through"
    assert Path("/dev/stdout").is_symlink()


def test_links_stay_and_what_is_planted_is_not_followed(tmp_path: Path) -> None:
    file, link, secret = tmp_path / "folder" / "x.csv", tmp_path / "link.csv", tmp_path / "secret"
    file.parent.mkdir()
    secret.write_text("secret")
    link.symlink_to(file)
    (file.parent / ".x.csv.writing").symlink_to(secret)
    with target(link) as into:
        into.write(b"new")
    assert (link.is_symlink(), file.read_bytes(), secret.read_text()) == (True, b"new", "secret")
    assert [path.name for path in file.parent.iterdir()] == ["x.csv"]


def test_a_reader_that_has_enough_is_no_error(tmp_path: Path) -> None:
    for number in range(300):
        put_ckan(tmp_path, "town", record(number, notes="x" * 1000))
    words = f"{sys.executable} -W error -m scrapy export --format csv -s OUTPUT_DIR={tmp_path} | head -n 1"
    ran = subprocess.run(words, shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.stdout.startswith("source,id,")
    assert ran.stderr == ""
