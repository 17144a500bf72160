"""The quality of metadata: the points, against another calculation; what is not known; the command and the pages."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
import rdflib
from lxml import html
from pyoxigraph import RdfFormat, parse
from rdflib.namespace import DCAT, DCTERMS, RDF

from crawlers.items import Agent, Dataset, License, Period, Place, Resource
from crawlers.operate.dashboard import addresses
from crawlers.operate.dashboard.app import app
from crawlers.records.rdf.graphs import graph as nodes
from crawlers.records.rdf.graphs import rdflib_graph
from crawlers.settings import VERSION
from crawlers.store import timeseries
from crawlers.store.export.description import description
from crawlers.store.export.nodes import Taken
from crawlers.store.figures import quality
from crawlers.store.index import completeness
from crawlers.store.index.columns import RESOURCES
from crawlers.store.index.database import outdate
from crawlers.store.index.known import DATASET, RESOURCE, Known, describe
from crawlers.store.index.schema import TABLES
from tests.conftest import command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.finished import Finished

MACHINES = set(
    "CSV GEOJSON ICS JSON JSON_LD KML KMZ NETCDF ODS RDFA RDF_N_QUADS RDF_N_TRIPLES RDF_TRIG RDF_TURTLE RDF_XML RSS SHP"
    " XLS XLSX XML".split()
)
OPEN = set(
    "BMP CSV DBF GEOJSON GZIP HTML ICS JPEG2000 JSON JSON_LD KML KMZ NETCDF ODS PNG RDF_N_QUADS RDF_N_TRIPLES RDF_TRIG"
    " RDF_TURTLE RDF_XML RSS RTF TAR TIFF TSV TXT WMS_SRVC XML ZIP".split()
)
POINTS = {
    name: (dimension, points)
    for dimension, own in {
        "findability": {"keywords": 30, "categories": 30, "geographic": 20, "temporal": 20},
        "accessibility": {"access_url_answers": 50, "download_url": 20, "download_url_answers": 30},
        "interoperability": {
            "format": 20,
            "media_type": 10,
            "vocabulary": 10,
            "non_proprietary": 20,
            "machine_readable": 20,
            "conformity": 30,
        },
        "reusability": {
            "licence": 20,
            "licence_vocabulary": 10,
            "access_rights": 10,
            "access_rights_vocabulary": 5,
            "contact": 20,
            "publisher": 10,
        },
        "contextuality": {"rights": 5, "size": 5, "issued": 5, "modified": 5},
    }.items()
    for name, points in own.items()
}
EU = "http://publications.europa.eu/resource/authority/"


def item(number: int) -> Dataset:
    """Return a dataset that has some of what is looked at."""
    chance = random.Random(number)

    def maybe(*values: Any) -> Any:
        return chance.choice([None, *values])

    def file(position: int) -> Resource:
        url = f"https://a.org/{number}/{position}"
        return Resource(
            id=f"r{position}",
            dataset_id=f"d{number}",
            url=url,
            access_url=maybe(url, f"{url}.html"),
            download_url=maybe(url),
            format=maybe("CSV", "Excel", "PDF", "HXL", "GeoJSON"),
            media_type=maybe("text/csv", "application/pdf", "application/x-hxl"),
            size=maybe(12),
            rights=maybe("Ask first"),
            license=maybe(License(id="CC-BY-4.0"), License(id="own", title="Our own terms")),
        )

    return Dataset(
        source="town",
        id=f"d{number}",
        title=f"Dataset {number}",
        keywords=maybe(["flood"]) or [],
        themes=maybe(["ENVI"], ["Ponies"]) or [],
        spatial=maybe([Place(name="Kenya")]) or [],
        country=maybe("KEN"),
        temporal=maybe(Period(start="2020-01-01"), Period(end="2021")),
        license=maybe(License(id="CC0-1.0"), License(title="Ask us")),
        access_rights=maybe("PUBLIC", "on request"),
        rights=maybe("All rights reserved"),
        contacts=maybe([Agent(name="Ada", role="contact")], [Agent(email="ada@a.org", role="contact")]) or [],
        publisher=maybe(Agent(name="Town hall"), Agent(name="Harbour")),
        issued=maybe("2020"),
        modified=maybe("2026-11-01"),
        resources=[file(position) for position in range(chance.randint(0, 4))],
    )


@pytest.fixture
def db() -> Any:
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(TABLES)
        yield made


def put(db: sqlite3.Connection, *items: Dataset) -> None:
    known = Known("f.json", "0" * 64, 1, None, "new", "r", "2026-11-01T00:00:00.000Z")
    for one in items:
        rows = describe(one, known)
        for table, names, values in (("datasets", DATASET, [rows.dataset]), ("resources", RESOURCE, rows.resources)):
            marks = ", ".join("?" * len(names))
            db.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", values)


def look(db: sqlite3.Connection, one: Resource, url: str, state: str, http_status: int | None = None) -> None:
    row = {
        "source": "archive-of-town",
        "dataset_id": one.dataset_id,
        "resource_id": one.id,
        "url": url,
        "state": state,
        "http_status": http_status,
        "is_broken": {"broken": 1, "unknown": None}.get(state, 0),
        "redirects": "[]",
        "headers": "[]",
        "request_headers": "[]",
        "time": "2026-11-01T00:00:00.000Z",
        "run": "r",
        "host": "a.org",
        "is_last": 1,
    }
    db.execute(f"INSERT INTO captures ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})", row)


def counted(one: Dataset) -> dict[str, float]:
    """Return the shares of a dataset as its DCAT says them: what the item's rows are compared with."""
    with Taken() as taken:
        graph = rdflib_graph(description(one, taken)[0])
    about = graph.value(None, RDF.type, DCAT.Dataset)
    files = list(graph.objects(about, DCAT.distribution))

    def has(*names: rdflib.URIRef) -> float:
        return float(any((about, name, None) in graph for name in names))

    def share(test: Callable[[Any], bool]) -> float:
        return sum(map(test, files)) / len(files) if files else 0.0

    def code(file: Any) -> str:
        found = str(graph.value(file, DCTERMS["format"]) or "")
        return found.removeprefix(f"{EU}file-type/") if found.startswith(f"{EU}file-type/") else ""

    def licence(file: Any) -> Any:
        return graph.value(file, DCTERMS.license) or graph.value(about, DCTERMS.license)

    media = {"text/csv", "application/pdf"}  # not application/x-hxl, which IANA does not have
    return {
        "keywords": has(DCAT.keyword),
        "categories": has(DCAT.theme),
        "geographic": has(DCTERMS.spatial),
        "temporal": has(DCTERMS.temporal),
        "download_url": share(lambda file: (file, DCAT.downloadURL, None) in graph),
        "format": share(lambda file: (file, DCTERMS["format"], None) in graph),
        "media_type": share(lambda file: (file, DCAT.mediaType, None) in graph),
        "vocabulary": share(
            lambda file: (
                bool(code(file)) and str(graph.value(file, DCAT.mediaType)).partition("media-types/")[2] in media
            )
        ),
        "non_proprietary": share(lambda file: code(file) in OPEN),
        "machine_readable": share(lambda file: code(file) in MACHINES),
        "licence": share(lambda file: bool(licence(file))),
        "licence_vocabulary": share(lambda file: str(licence(file)).startswith("http://spdx.org/licenses/")),
        "access_rights": has(DCTERMS.accessRights),
        "access_rights_vocabulary": float(
            str(graph.value(about, DCTERMS.accessRights)).startswith(f"{EU}access-right/")
        ),
        "contact": has(DCAT.contactPoint),
        "publisher": has(DCTERMS.publisher),
        "rights": share(
            lambda file: bool((file, DCTERMS.rights, None) in graph or (about, DCTERMS.rights, None) in graph)
        ),
        "size": share(lambda file: (file, DCAT.byteSize, None) in graph),
        "issued": has(DCTERMS.issued),
        "modified": has(DCTERMS.modified),
    }


def test_the_points_of_200_datasets_are_those_of_another_calculation(db: sqlite3.Connection) -> None:
    items = {one.id: one for one in map(item, range(200))}
    put(db, *items.values())
    found = {one.dataset_id: one for one in quality.assessed(db, "town")}
    names = [one.name for one in quality.INDICATORS]
    assert found.keys() == items.keys()
    for name, one in items.items():
        shares = dict(zip(names, found[name].shares, strict=True))
        assert {each for each, share in shares.items() if share is None} == {
            *("access_url_answers", "download_url_answers", "conformity")
        }
        known = {each: share for each, share in shares.items() if share is not None}
        assert known == pytest.approx(counted(one)), name
    whole = quality.assessment(db, "town").of()
    assert (whole.known, whole.most) == (295, 405)
    mean = sum(POINTS[name][1] * share for one in items.values() for name, share in counted(one).items()) / len(items)
    assert whole.points == pytest.approx(mean)


def test_the_points_of_the_dimensions() -> None:
    most = {name: sum(one.points for one in quality.INDICATORS if one.dimension == name) for name in quality.DIMENSIONS}
    assert most == {
        "findability": 100,
        "accessibility": 100,
        "interoperability": 110,
        "reusability": 75,
        "contextuality": 20,
    }


@pytest.mark.parametrize(
    ("points", "known", "rating"),
    [(351, 405, "excellent"), (350.9, 405, "good"), (161, 295, "good"), (89, 295, "sufficient"), (88, 295, "bad")],
)
def test_ratings_go_by_the_share_of_what_is_known(points: float, known: int, rating: str) -> None:
    assert quality.Score(points, known, 405).rating == rating


def test_addresses_count_if_an_archive_looked_at_them(db: sqlite3.Connection) -> None:
    def file(number: int, **more: str) -> Resource:
        url = f"https://a.org/{number}"
        return Resource(id=f"r{number}", dataset_id="d", url=url, download_url=url, **more)

    files = [file(number) for number in range(4)]
    put(db, Dataset(source="town", id="d", resources=files), Dataset(source="town", id="without"))
    look(db, files[0], "https://a.org/0", "kept")
    look(db, files[1], "https://a.org/1", "broken", 200)  # an error page under 200
    look(db, files[2], "https://a.org/2", "unknown")  # a first failure says nothing yet
    found, without = sorted(quality.assessed(db, "town"))
    shares = dict(zip([one.name for one in quality.INDICATORS], found.shares, strict=True))
    assert (shares["download_url_answers"], shares["access_url_answers"]) == (0.5, 0)  # no access address is given
    assert quality.assessment(db, "town", "d").of("accessibility") == (20 + 15, 100, 100)
    assert without.shares[[one.name for one in quality.INDICATORS].index("download_url_answers")] is None
    known = {one.name: number for one, number in quality.assessment(db, "town").partly_known()}
    assert known == {"access_url_answers": 1, "download_url_answers": 1}


def test_a_page_that_leads_to_a_file_counts_if_an_archive_looked_at_it(db: sqlite3.Connection) -> None:
    both = {"url": "https://a.org/f", "download_url": "https://a.org/f", "access_url": "https://a.org/page"}
    put(db, Dataset(source="town", id="d", resources=[Resource(id="r", dataset_id="d", **both)]))
    look(db, Resource(id="r", dataset_id="d"), "https://a.org/f", "alive")
    answers = [quality.assessment(db, "town").checks[f"{name}_url_answers"].known for name in ("access", "download")]
    assert answers == [0, 1]
    look(db, Resource(id="@page-1", dataset_id="d"), "https://a.org/page", "alive")
    assert quality.assessment(db, "town").of("accessibility").points == 100


def test_what_to_mend_first(db: sqlite3.Connection) -> None:
    whole = {"keywords": ["a"], "spatial": [Place(name="Kenya")], "publisher": Agent(name="Town")}
    put(db, *(Dataset(source="town", id=f"d{number}", title=f"T{number}", **whole) for number in range(5)))
    put(db, Dataset(source="town", id="e", title="E", publisher=Agent(name="Harbour"), spatial=whole["spatial"]))
    put(db, Dataset(source="other", id="x"))
    mends = {one.name: check for one, check in quality.assessment(db, "town").to_mend()}
    assert (mends["keywords"].failing, mends["keywords"].lost, mends["keywords"].examples) == (1, 30, [("e", "E")])
    assert next(iter(mends)) == "categories"
    gains = [check.lost / check.known for check in mends.values()]
    assert gains == sorted(gains, reverse=True)
    assert "publisher" not in mends
    publishers = quality.by_publisher(db, "town")
    assert [(name, one.datasets) for name, one in publishers.items()] == [("Town", 5), ("Harbour", 1)]
    together = quality.together(publishers.values())
    assert together.of() == pytest.approx(quality.assessment(db, "town").of())


def test_the_command(finished: Finished, tmp_path: Path) -> None:
    shown = command("quality", "hdx", "-s", f"OUTPUT_DIR={finished.output}")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("hdx: 227 of 295 points, 77 %: good.\n80 points are not known")
    assert "What to mend first, of 20 datasets" in shown.stdout
    everything = command("quality", "-s", f"OUTPUT_DIR={finished.output}").stdout.splitlines()
    assert len(everything) == 1 + 8 + 1
    assert everything[-1].startswith("Points are of those that are known, of 405")
    assert everything[0].split() == ["source", "datasets", "points", "of", "%", "rating", *quality.DIMENSIONS]
    assert "not stated" not in everything
    by = command("quality", "museum", "--by", "publisher", "-s", f"OUTPUT_DIR={finished.output}").stdout
    assert by.startswith("publisher")
    assert "Tiefbauamt" in by
    (found,) = json.loads(command("quality", "hdx", "--json", "-s", f"OUTPUT_DIR={finished.output}").stdout)
    assert (found["source"], found["of"], found["rating"], found["not_known"][-1]) == ("hdx", 295, "good", "conformity")
    rows = list(csv.DictReader(io.StringIO(command("quality", "--csv", "-s", f"OUTPUT_DIR={finished.output}").stdout)))
    assert len(rows) == 8 * len(quality.INDICATORS)
    page = tmp_path / "q.html"
    assert command("quality", "-o", str(page), "-s", f"OUTPUT_DIR={finished.output}").returncode == 0
    text = page.read_text("utf-8")
    assert "What to mend first" in text
    assert "<script>document.title" not in text
    assert "http://127.0.0.1" not in text.replace("&", "")


def test_the_command_refuses_what_it_can_not_show(finished: Finished) -> None:
    unknown = command("quality", "hxd", "-s", f"OUTPUT_DIR={finished.output}")
    assert (unknown.returncode, "Did you mean hdx?" in unknown.stderr) == (1, True)
    assert command("quality", "--by", "publisher", "-s", f"OUTPUT_DIR={finished.output}").returncode == 1
    mixed = command("quality", "hdx", "--shapes", "dcat-ap", "--shapes", "x.ttl", "-s", f"OUTPUT_DIR={finished.output}")
    assert mixed.returncode == 1
    assert "goes alone" in mixed.stderr


def test_shapes_say_what_conforms(finished: Finished) -> None:
    (found,) = json.loads(
        command("quality", "nation", "--shapes", "dcat-ap", "--json", "-s", f"OUTPUT_DIR={finished.output}").stdout
    )
    assert found["of"] == 325
    assert "conformity" not in found["not_known"]


@pytest.mark.parametrize("form", ["ttl", "dcat", "jsonld"])
def test_an_export_has_the_points(finished: Finished, form: str) -> None:
    given = command("export", "--format", form, "--quality", "museum", "-s", f"OUTPUT_DIR={finished.output}").stdout
    names = {"ttl": RdfFormat.TURTLE, "dcat": RdfFormat.RDF_XML, "jsonld": RdfFormat.JSON_LD}
    graph = rdflib_graph(nodes(parse(given.encode(), names[form])))
    dqv, scoring = rdflib.Namespace("http://www.w3.org/ns/dqv#"), rdflib.URIRef("https://piveau.eu/ns/voc#scoring")
    datasets = list(graph.subjects(RDF.type, DCAT.Dataset))
    found = [
        float(str(graph.value(one, dqv.value)))
        for dataset in datasets
        for one in graph.objects(dataset, dqv.hasQualityMeasurement)
        if (one, dqv.isMeasurementOf, scoring) in graph
    ]
    assert (len(datasets), len(found)) == (7, 7)
    assert sum(found) / 7 == pytest.approx(121.7, abs=0.1)


def test_an_export_that_is_no_dcat_has_no_points(finished: Finished) -> None:
    refused = command("export", "--format", "csv", "--quality", "-s", f"OUTPUT_DIR={finished.output}")
    assert refused.returncode == 1
    assert "--quality adds to DCAT, not csv" in refused.stderr


def test_the_pages(finished: Finished) -> None:
    client = app(finished.output).test_client()
    everything = html.fromstring(client.get("/quality").data)
    assert len(everything.xpath("//tbody/tr")) == 8
    page = html.fromstring(client.get("/sources/museum/quality").data)
    assert "7 datasets: 122 of 295 points, 41 %: sufficient." in page.text_content()
    publishers = page.xpath("//section[@aria-labelledby='publishers']//tbody//a/@href")
    assert len(publishers) == 4
    for href in publishers:
        assert "What to mend first" in html.fromstring(client.get(href).data).text_content()
    example = page.xpath("//section[@aria-labelledby='mend']//tbody//a/@href")[0]
    about = html.fromstring(client.get(example).data)
    assert about.xpath("//dt[.='Quality']/following-sibling::dd/a/@href")[0] == "/sources/museum/quality"
    assert client.get("/sources/museum/quality?publisher=nobody").status_code == 404
    assert client.get("/sources/nothing/quality").status_code == 404


def test_a_publisher_is_called_as_the_catalogue_calls_it() -> None:
    assert addresses.quality("town", "A  B") == "/sources/town/quality?publisher=A++B"
    assert addresses.quality("town", None, is_stated=False) == "/sources/town/quality?stated=no"


def test_runs_observe_the_dimensions(finished: Finished) -> None:
    (path,) = (finished.output / "hdx/timeseries").glob("*.csv")
    rows = csv.reader(path.read_text("utf-8").splitlines())
    values = {metric: float(value) for _, _, metric, value in rows if metric.startswith("quality:")}
    assert values == {
        "quality:findability": 68.5,
        "quality:accessibility": 100.0,
        "quality:interoperability": 83.8,
        "quality:reusability": 76.0,
        "quality:contextuality": 71.2,
    }


def test_every_column_that_a_check_names_is_there(db: sqlite3.Connection) -> None:
    assert {"access_url", "download_url", "rights"} <= {column.name for column in RESOURCES}
    put(db, Dataset(source="town", id="d"))
    assert quality.assessment(db, "town", conforms=lambda *_: False).of() == (0, 325, 405)


def test_what_did_not_change_is_not_counted_again(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(finished.output / "index.sqlite", tmp_path)
    with closing(sqlite3.connect(tmp_path / "index.sqlite", isolation_level=None)) as db:
        every = dict(db.execute("SELECT metric, value FROM observations WHERE source = 'hdx'"))
        told = {metric: value for metric, value in every.items() if metric.startswith("quality:")}
        with monkeypatch.context() as patched:
            for counts in ((quality, "_summed"), (completeness, "_counted"), (timeseries, "_described")):
                patched.setattr(*counts, lambda *_, **__: pytest.fail("it is counted again"))
            assert quality.observed(db, "hdx", VERSION) == told
            held = {**dict(timeseries.held(db, "hdx", VERSION)), **completeness.completeness(db, "hdx", VERSION)}
            assert {name: str(number) for name, number in held.items()}.items() <= every.items()
            assert {"resources", "field:title", "field:resource.url", "flaws"} <= held.keys()
        db.execute("UPDATE datasets SET keywords = NULL WHERE source = 'hdx'")
        assert quality.observed(db, "hdx", VERSION) == told, "whoever writes rows gives the source another stamp"
        outdate(db, "hdx")
        changed = quality.observed(db, "hdx", VERSION)
        assert changed != told
        assert quality.observed(db, "hdx", VERSION) == changed
        assert completeness.completeness(db, "hdx", VERSION)["field:keywords"] == 0, (
            "it had some at the last observation"
        )
        monkeypatch.setattr(quality, "_summed", lambda *_, **__: quality.Assessment())
        assert quality.observed(db, "hdx", VERSION) == changed
        wanted = [row[1] for row in db.execute("PRAGMA table_info(captures)") if row[3] and not row[5] and not row[4]]
        given = dict.fromkeys(wanted, 0) | {"source": "archive-of-hdx"}
        values = ", ".join("?" * len(given))
        db.execute(f"INSERT INTO captures ({', '.join(given)}) VALUES ({values})", [*given.values()])
        assert quality.observed(db, "hdx", VERSION) == {}, "its captures count, and change without the datasets"
        db.execute("DELETE FROM captures WHERE source = 'archive-of-hdx'")
        assert quality.observed(db, "hdx", VERSION) == changed, "what was counted with an archive is not kept"
        assert quality.observed(db, "hdx", "another") == {}
