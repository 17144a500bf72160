"""What an export holds, read again: every value of the source, and none that nobody gave."""

from __future__ import annotations

import io
import json
import re
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyoxigraph
import pyshacl
import pytest
import rdflib
from rdflib import SH

from crawlers.items import Agent, Dataset, Place, Relation, Resource, Service
from crawlers.kinds.dcat.catalogue import Descriptions
from crawlers.records import data_json, values
from crawlers.records import dcat as rdf
from crawlers.records.curation import Curation
from crawlers.records.data_json import identity
from crawlers.records.formats import eu_file_type
from crawlers.records.rdf.authorities import labels
from crawlers.records.rdf.dcat_context import PREFIXES
from crawlers.records.rdf.graphs import graph
from crawlers.records.rdf.jsonld import context, local
from crawlers.records.rdf.terms import DCAT, DCAT_US, DCT, FOAF, LOCN, OWL, RDF, TYPE, VCARD, Literal
from crawlers.store.export import vocabularies
from crawlers.store.export.conformity import label
from crawlers.store.export.description import description
from crawlers.store.export.nodes import Taken, iri, plain
from crawlers.store.export.output import WRITERS, held_items, held_sources
from tests.conftest import ROOT, command, options, scrapy
from tests.golden import GOLDEN
from tests.held import FORMATS, SHARED, golden, put, put_graph, put_rdf, real
from tests.site import Answer, Site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


SEMIC = SHARED / "semic"
BASE = "http://data.test.org/"
RDF_FILES = sorted(
    path
    for folder in (GOLDEN / "dcat", SHARED / "fixtures", SHARED / "answers", SHARED / "cases" / "dcat")
    for path in folder.rglob("*")
    if path.suffix in FORMATS and path.name != "dataset.ttl" and "external" not in path.name
)


def held(output: Path) -> list[Dataset]:
    lost: list[str] = []
    found = list(held_items(output, held_sources(output), lost.append))
    assert not lost
    return found


def written(format_: str, datasets: list[Dataset]) -> bytes:
    body = io.BytesIO()
    WRITERS[format_](iter(datasets), body)
    return body.getvalue()


def quads_of(path: Path) -> list[Any]:
    """The triples of a fixture; none of one that is a fixture of faults, or no RDF."""
    try:
        return list(pyoxigraph.parse(path=str(path), format=FORMATS[path.suffix], base_iri=BASE))
    except (SyntaxError, ValueError):
        return []


def data_json_records(path: Path) -> list[dict[str, Any]]:
    """The records of a data.json that are JSON-LD, too; none of other files."""
    try:
        found = json.loads(path.read_bytes())
    except ValueError:  # a fixture of faults
        return []
    entries = data_json.records(found) if data_json.recognised(found) else ()
    return [each.value for each in entries if isinstance(each.value, dict) and identity(each.value)]


def crawled(path: Path, output: Path) -> tuple[list[Any], list[Dataset]]:
    """The triples of a fixture, and the datasets that a crawl of it finds."""
    quads = quads_of(path)
    put_graph(output, "rdf", quads)
    return quads, held(output) if (output / "rdf").exists() else []


# Fields


@dataclass
class Table:
    """How many values of each field went into exports, and how many came back."""

    before: Counter[str]
    back: Counter[str]
    lost: defaultdict[str, list[Any]]

    def compare(self, name: str, before: Any, back: Any, whose: str, same: bool) -> None:
        self.before[name] += before not in (None, [])
        self.back[name] += same and before not in (None, [])
        if not same:
            self.lost[name].append((whose, before, back))


def again(datasets: list[Dataset]) -> list[Dataset]:
    """What a crawl of an export says of each dataset, in the export's order."""
    nodes = graph(each.triple for each in pyoxigraph.parse(written("ttl", datasets), format=FORMATS[".ttl"]))
    listed = dict.fromkeys(str(one) for node in nodes.values() for one in node.get(DCAT + "dataset", ()))
    assert len(listed) == len(datasets)

    class Nodes:
        def node(self, subject: str) -> Any:
            return nodes.get(subject, {})

    collected = Descriptions(Nodes(), lambda _: False)  # type: ignore[arg-type]
    return [rdf.dataset(collected.description(name)[0], name, source="again") for name in listed]


def groups(output: Path, work: Path) -> Iterator[list[Dataset]]:
    """The records of each source, those of a file of RDF alone: fixtures have the same IRIs for different things."""
    golden(output)
    if SEMIC.is_dir():
        real(output)
    for source, found in groupby(held(output), key=lambda item: item.source):
        if source not in ("rdf", "nation"):
            yield list(found)
    for number, path in enumerate(RDF_FILES):
        yield crawled(path, work / str(number))[1]


MARKS = {"INSPIRE", "hvd", ""}
ISO_ROLES = {"pointOfContact": "contact", "author": "creator", "owner": "rightsHolder"}


def text(value: Any) -> Any:
    if isinstance(value, list):
        return sorted((text(each) for each in value), key=repr)
    if isinstance(value, dict):
        return {name: text(each) for name, each in value.items()}
    return plain(value) if isinstance(value, str) else value


def licenses(before: dict[str, Any] | None, back: dict[str, Any] | None) -> bool:
    before, back = before or {}, back or {}
    known = (before.get("uri"), vocabularies.license(before.get("id")))
    return (
        before.get("id") == back.get("id")
        and back.get("uri") in known
        and (before.get("title") in (back.get("title"), None) or before["title"] == before["id"])
        and text(before.get("text")) == text(back.get("text"))
    )


def places(before: list[dict[str, Any]], back: list[dict[str, Any]]) -> bool:
    def known(place: dict[str, Any]) -> dict[str, Any]:
        name = place["uri"] or (vocabularies.country(place["code"]) if place["code"] else None)
        code = (name or "").removeprefix(vocabularies.country("")) if name and "authority/country" in name else None
        return place | {"uri": name, "code": place["code"] or code}

    return text(list(map(known, before))) == text(list(map(known, back)))


def roles(before: list[dict[str, Any]], back: list[dict[str, Any]], publisher: Any) -> bool:
    named = [one | {"role": ISO_ROLES.get(one["role"], one["role"])} for one in before if one != publisher]
    return {repr(text(one)) for one in named} == {repr(text(one)) for one in back}


def themes(before: list[str], back: list[str], categories: list[str]) -> bool:
    def known(names: list[str]) -> set[str]:
        return {vocabularies.theme(name) or name for name in names} - MARKS

    return known(before) == known(back) or bool(categories and known(before) <= known(back))


def relations(found: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(one["role"], one["uri"] or one["title"]) for one in found}


def coded(value: str | None) -> str | None:
    return (value and values.access_right(value)) or text(value)


def format_of(value: str | None) -> str | None:
    known = eu_file_type(value) if value else None
    return known.iri if known else value


def _addressed(service: dict[str, Any]) -> dict[str, Any]:
    return service | {"endpoint_url": service["endpoint_url"] if "://" in (service["endpoint_url"] or "") else None}


NORMALISED: dict[str, Callable[[dict[str, Any], dict[str, Any]], bool]] = {
    "id": lambda a, b: b["id"] in (a["id"], a["identifier"], a["uri"]),
    "identifier": lambda a, b: b["identifier"] in (a["identifier"], a["id"]),
    "uri": lambda a, b: b["uri"] == iri(a["uri"]) or (not a["uri"] and b["uri"].startswith("urn:uuid:")),
    "creator": lambda a, b: not b["creator"] or (b["creator"]["role"] == "creator" and bool(a["contacts"])),
    "contacts": lambda a, b: roles(a["contacts"], b["contacts"], a["publisher"]),
    "themes": lambda a, b: themes(a["themes"], b["themes"], b["hvd_categories"]),
    "license": lambda a, b: licenses(a["license"], b["license"]) or not a["license"],
    "relations": lambda a, b: relations(a["relations"]) == relations(b["relations"]),
    "access_rights": lambda a, b: coded(a["access_rights"]) == coded(b["access_rights"]),
    "spatial": lambda a, b: places(a["spatial"], b["spatial"]),
    "rights": lambda a, b: not a["rights"] and any(one["rights"] for one in a["resources"]),
    "country": lambda a, b: a["country"] in (b["country"], None),
}
OF_FILES: dict[str, Callable[[dict[str, Any], dict[str, Any]], bool]] = {
    "url": lambda a, b: b["url"] == a["download_url"] and a["access_url"] not in (a["url"], None),
    "access_services": lambda a, b: text(list(map(_addressed, a["access_services"]))) == text(b["access_services"]),
    "id": lambda a, b: a["document"] is not None or a["id"] in (b["id"], a["dataset_id"], a["url"]),
    "download_url": lambda a, b: b["download_url"] == a["url"] and a["access_url"] not in (a["url"], None),
    "title": lambda a, b: text(a["title"]) in (text(b["title"]), None) or a["title"].endswith(" resource"),
    "media_type": lambda a, b: not a["media_type"],
    "access_url": lambda a, b: b["access_url"] in (a["access_url"], a["url"]),
    "format": lambda a, b: format_of(a["format"]) == format_of(b["format"]) or not a["format"],
    "license": lambda a, b: licenses(a["license"], b["license"]),
}
OF_THE_CRAWL = {"kind", "source", "document", "stored", "metadata_source", "metadata_url", "retrieved", "flaws"} | {
    *("set_by_operator", "torn", "resources", "dataset_id")
}
NO_RDF = {"name", "aliases", "data_modified", "metadata_modified", "caveats", "stated_url"}


def file_key(file: dict[str, Any]) -> tuple[str, ...]:
    return tuple(file[name] or "" for name in ("url", "title", "description", "issued", "modified", "id"))


def paired(before: list[dict[str, Any]], back: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each file with the one of its id, else with the one in its place."""
    named = {each["id"]: each for each in back}
    left = [each for each in back if each["id"] not in {one["id"] for one in before}]
    yield from ((each, named[each["id"]]) for each in before if each["id"] in named)
    rest = [each for each in before if each["id"] not in named]
    yield from zip(sorted(rest, key=file_key), sorted(left, key=file_key), strict=False)


def compared(table: Table, before: dict[str, Any], back: dict[str, Any], rules: dict[str, Any], prefix: str) -> None:
    whose = f"{before.get('source', '')} {before['id']}"
    for name in before.keys() - NO_RDF - OF_THE_CRAWL:
        rule = rules.get(name)
        same = text(before[name]) == text(back[name]) or bool(rule and rule(before, back))
        table.compare(prefix + name, before[name], back[name], whose, same)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    found = Table(Counter(), Counter(), defaultdict(list))
    for datasets in groups(tmp_path_factory.mktemp("held"), tmp_path_factory.mktemp("files")):
        alone = Counter(item.uri for item in datasets)
        for item, other in zip(datasets, again(datasets), strict=True):
            if (item.uri and alone[item.uri] > 1) or "http://url" in repr(item):
                continue  # what a fixture says of one IRI in several meanings
            before, back = asdict(item), asdict(other)
            compared(found, before, back, NORMALISED, "")
            found.compare(
                "resources", item.resources, other.resources, item.id, len(item.resources) == len(other.resources)
            )
            for one, two in paired(before["resources"], back["resources"]):
                compared(found, one | {"source": item.source}, two, OF_FILES, "resources.")
    return found


def test_export_then_crawl_gives_back_every_field(table: Table) -> None:
    for name, lost in sorted(table.lost.items()):
        print(name, len(lost), *lost[:3], sep="\n    ")
    rows = {name: (table.before[name], table.back[name]) for name in table.before}
    print(*(f"{name:32}{values[0]:6}{values[1]:6}" for name, values in sorted(rows.items())), sep="\n")
    assert not table.lost
    assert sum(filled > 0 for filled in table.before.values()) >= 45


def test_what_may_differ_is_documented_with_a_reason() -> None:
    section = (ROOT / "docs" / "export.md").read_text().partition("## What comes back")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    assert all(len(row) == 3 and row[2] for row in rows)
    documented = {name for row in rows for name in re.findall(r"`([a-z_.]+)`", row[0])}
    assert documented == NORMALISED.keys() | {f"resources.{name}" for name in OF_FILES} | NO_RDF


# Triples


TABLES = (vocabularies.EU, vocabularies.IANA, "http://spdx.org/licenses/", "urn:uuid:", "mailto:")
OF_CATALOGUES = {DCAT + name for name in ("dataset", "catalog", "record", "service")}


def described(nodes: dict[str, Any], subject: str) -> dict[str, Any]:
    class Nodes:
        def node(self, subject: str) -> Any:
            return nodes.get(subject, {})

    return Descriptions(Nodes(), lambda _: False).description(subject)[0]  # type: ignore[arg-type]


def words(nodes: dict[str, Any]) -> set[str]:
    """Every text and IRI of a graph."""
    values = [each for node in nodes.values() for found in node.values() for each in found]
    return {str(plain(each if isinstance(each, str) else each.value)) for each in values if each[:2] != "_:"} | {*nodes}


@pytest.mark.parametrize("path", RDF_FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_property_of_the_source_is_absent_and_no_value_made_up(path: Path, tmp_path: Path) -> None:
    quads, items = crawled(path, tmp_path)
    source = graph(quads)
    for format_ in ("ttl", "jsonld", "dcat-us"):
        form = FORMATS[".ttl"] if format_ == "ttl" else FORMATS[".jsonld"]
        nodes = graph(each.triple for each in pyoxigraph.parse(written(format_, items), format=form))
        listed = [str(one) for node in nodes.values() for one in node.get(DCAT + "dataset", ())]
        assert len(set(listed)) == len(items)
        for item in items:
            if item.uri not in nodes:
                continue  # a blank node: its properties are counted by the fields that come back
            before, back = described(source, item.uri), described(nodes, item.uri)
            absent = before[item.uri].keys() - back[item.uri].keys() - OF_CATALOGUES
            assert not any(str(plain(str(each[0]))) != "None" for name in absent for each in before[item.uri][name])
            for name in (DCAT + "distribution", DCT + "relation", DCAT + "inSeries", DCT + "source"):
                assert len(before[item.uri].get(name, ())) <= len(back[item.uri].get(name, ())), (item.uri, name)
            known = {*words(before), *(str(plain(_bare(each))) for each in words(before)), item.id}
            made = {each for each in words(back) - known if not each.startswith(("http://www.w3.org/", *TABLES, "_:"))}
            classes = {each for node in back.values() for each in node.get(TYPE, ())}
            known |= {str(iri(each)) for each in known}
            known |= {item.description, *item.keywords}  # of other properties, without HTML, apart
            typed = {_typed(each) for each in known if each}
            assert not {each for each in made - classes if _typed(each) not in typed and not _is_label(each)}, item.uri


def _bare(text: str) -> str:
    return re.sub(r"(?i)^mailto: ?", "mailto:", text)


def _typed(value: str) -> str | None:
    """A date or a number as the profile types it."""
    found = re.match(r" ?([0-9]{4}(-[0-9]{2}){0,2})(T|Z|[+-]|$)", value)
    return found[1] if found else value.removesuffix(".0")


VOCABULARIES = ("data-theme", "high-value", "inspire", "topic", "availability", "status")


def _is_label(value: str) -> bool:
    return any(value in labels(name).values() for name in VOCABULARIES)


def _expanded(name: str) -> str:
    prefix, _, last = name.partition(":")
    return (PREFIXES | {"dcat-us": DCAT_US})[prefix] + last


PROPERTIES = sorted(
    {
        (name, line.split(",")[0], f"<{_expanded(line.split(',')[1])}>")
        for name in ("dcat-ap", "dcat-us")
        for line in (ROOT / "crawlers" / "store" / "export" / f"{name}.csv").read_text().splitlines()[1:]
        if re.match("[a-z]+:(?!Catalog,)", line)  # a catalogue is the export's own
    }
)
OWNERS = {
    "dcat:Dataset": "<urn:x:1>",
    "dcat:Distribution": "<urn:x:file>",
    "dcat:DataService": "<urn:x:service>",
    "dcat:Relationship": "<urn:x:tie>",
}
"""The nodes of some classes by their place; the other classes have nodes of which the dataset says anything."""
OWNERS |= {kind: f"<urn:x:{kind.replace(':', '-')}>" for _, kind, _ in PROPERTIES if kind not in OWNERS}
INPUT = """
<urn:x:1> a dcat:Dataset ; dct:title "T" ; dcat:distribution <urn:x:file> ; dcat:qualifiedRelation <urn:x:tie> .
<urn:x:file> a dcat:Distribution ; dcat:accessURL <https://example.org/f> ; dcat:accessService <urn:x:service> .
<urn:x:service> a dcat:DataService ; dct:title "S" ; dcat:endpointURL <https://example.org/api> .
<urn:x:tie> a dcat:Relationship ; dct:relation <urn:x:2> ; dcat:hadRole <urn:x:role> .
"""
INPUT += "".join(f"<urn:x:1> <urn:x:has> {owner} . {owner} a {kind} .\n" for kind, owner in OWNERS.items())


def of_shapes() -> set[tuple[str, str, str]]:
    """The properties that the released shapes have of the classes above."""
    kinds = {_expanded(kind): kind for kind in OWNERS}
    found = set()
    for profile, names in (("dcat-ap", ("shapes", "range", "deprecateduris")), ("dcat-us", None)):
        shapes = rdflib.Graph()
        for name in [f"dcat-ap-3.0.1.{each}" for each in names] if names else ["dcat-us-3.0.shapes"]:
            shapes.parse(SEMIC / f"{name}.ttl")
        for shape, kind in shapes.subject_objects(SH.targetClass):
            if owner := kinds.get(str(kind)):
                paths = (shapes.value(one, SH.path) for one in shapes.objects(shape, SH.property))
                found |= {(profile, owner, f"<{path}>") for path in paths if isinstance(path, rdflib.URIRef)}
    return found


@pytest.mark.parametrize(
    "value",
    [
        '"words", "more words"',
        "<https://example.org/a>, <https://example.org/b>",
        '[ rdfs:label "a" ], [ dct:title "b" ]',
    ],
)
def test_no_line_of_a_profile_drops_or_renames_a_property(value: str, tmp_path: Path) -> None:
    given = {*PROPERTIES, *(of_shapes() if SEMIC.is_dir() else ())}
    assert len(given) > 100
    prefixes = "".join(f"@prefix {name}: <{iri_}> .\n" for name, iri_ in PREFIXES.items())
    for profile in ("dcat-ap", "dcat-us"):
        said = "".join(f"{OWNERS[kind]} {name} {value} .\n" for each, kind, name in sorted(given) if each == profile)
        output = tmp_path / profile
        source = graph(pyoxigraph.parse(prefixes + INPUT + said, format=FORMATS[".ttl"]))
        put_graph(output, "rdf", pyoxigraph.parse(prefixes + INPUT + said, format=FORMATS[".ttl"]))
        with Taken() as taken:
            described = [description(item, taken, profile)[0] for item in held(output)]
        nodes = {name: node for found in described for name, node in found.items()}
        assert len(described) == 2, "a dataset and a series"
        for owner in OWNERS.values():
            before, back = source[owner[1:-1]], nodes[owner[1:-1]]
            left = {
                name for name in before if name not in OF_CATALOGUES and len(back.get(name, ())) < len(before[name])
            }
            assert not left, (profile, owner)


BOX = "1 2,3 2,3 4,1 4,1 2"
WKT = f'"POLYGON(({BOX}))"^^geo:wktLiteral'
POSITIONS = "[[[1,2],[3,2],[3,4],[1,4],[1,2]]]"
JSON = f"""'{{"type": "Polygon", "coordinates": {POSITIONS}}}'^^geo:geoJSONLiteral"""


@pytest.mark.parametrize(
    "value",
    [
        f"[ a dct:Location ; locn:geometry {WKT}, {JSON} ]",
        f"[ locn:geometry [ geo:asWKT {WKT} ] ]",
        f"[ locn:geometry [ geo:asWKT {WKT} ; geo:asGeoJSON {JSON} ] ]",
        f"[ dcat:bbox {WKT} ; dcat:centroid 'POINT(2 3)'^^geo:wktLiteral ]",
        WKT,
        '"Graz"',
        "<http://sws.geonames.org/2778067/>",
    ],
)
def test_a_place_comes_back_in_the_notations_that_it_came_in(value: str, tmp_path: Path) -> None:
    prefixes = "".join(f"@prefix {name}: <{iri_}> .\n" for name, iri_ in PREFIXES.items())
    given = f'{prefixes} <urn:x:1> a dcat:Dataset ; dct:title "T" ; dct:spatial {value} .'
    put_graph(tmp_path, "rdf", pyoxigraph.parse(given, format=FORMATS[".ttl"]))
    (item,) = held(tmp_path)
    (back,) = again([item])
    assert back.spatial == item.spatial
    body = written("ttl", [item]).decode()
    assert [mark in body for mark in ("POLYGON", '\\"Polygon\\"')] == [
        mark in value for mark in ("POLYGON", '"Polygon"')
    ]


def said_and_held(turtle: str, output: Path, source: str = "rdf") -> list[Dataset]:
    """The datasets of a source that says this."""
    prefixes = "".join(f"@prefix {name}: <{iri_}> .\n" for name, iri_ in PREFIXES.items())
    put_rdf(output, source, (prefixes + turtle).encode())
    return held(output)


def test_a_dataset_that_is_its_own_file_keeps_what_its_source_says(tmp_path: Path) -> None:
    (item,) = said_and_held(
        '<urn:x:1> a dcat:Dataset ; dct:title "Rain"@en, "Regen"@de ; <urn:x:unit> "mm" ;'
        " dcat:distribution <urn:x:1> ; dcat:downloadURL <https://example.org/f> .",
        tmp_path,
    )
    with Taken() as taken:
        nodes, subject = description(item, taken)
    assert subject == "urn:x:1"
    assert len(nodes[subject][DCT + "title"]) == 2
    assert [str(each.value) for each in nodes[subject]["urn:x:unit"]] == ["mm"]  # type: ignore[union-attr]
    assert again([item])[0].resources == item.resources


def test_a_file_that_is_also_related_keeps_what_belongs_to_it(tmp_path: Path) -> None:
    said = (
        '<urn:x:1> a dcat:Dataset ; dct:title "Rain" ; dct:source _:f ; dcat:distribution _:f .'
        ' _:f dcat:accessService <urn:x:s> . <urn:x:s> a dcat:DataService ; dct:title "Levels" .'
    )
    (item,) = said_and_held(said, tmp_path)
    assert [one.title for one in item.resources[0].access_services] == ["Levels"]


def test_a_version_is_said_once(tmp_path: Path) -> None:
    said = '<urn:x:1> a dcat:Dataset ; dct:title "Rain" ; dct:hasVersion [ dct:title "First" ] .'
    (item,) = said_and_held(said, tmp_path)
    with Taken() as taken:
        nodes, subject = description(item, taken)
    assert (DCT + "hasVersion" in nodes[subject], DCAT + "hasVersion" in nodes[subject]) == (True, False)
    assert again([item])[0].relations == item.relations


def test_two_records_that_share_an_iri_keep_what_each_says_of_it() -> None:
    def record(name: str, longitude: int, country: str = "urn:x:place") -> Dataset:
        where = Place(name="Kenya", uri=country, geometry={"type": "Point", "coordinates": [longitude, 2]})
        desk = Agent(name=name, email=f"{name}@example.org", uri="urn:x:desk", role="contact")
        return Dataset(
            source="s",
            id=name,
            identifier=name,
            publisher=Agent(name=name, uri="urn:x:office"),
            contacts=[desk],
            spatial=[where],
        )

    kenya = f"{vocabularies.EU}country/KEN"
    items = [record("ana", 1), record("bob", 3), record("eve", 1), record("jo", 1, kenya), record("mo", 3, kenya)]
    for before, back in zip(items, again(items), strict=True):
        assert (back.publisher.name, back.publisher.uri) == (before.publisher.name, "urn:x:office")
        assert [(one.name, one.email, one.uri) for one in back.contacts] == [
            (before.id, f"{before.id}@example.org", "urn:x:desk")
        ]
        assert [(one.name, one.uri, one.geometry) for one in back.spatial] == [
            (one.name, one.uri, one.geometry) for one in before.spatial
        ]
        assert back.spatial[0].code == ("KEN" if before.spatial[0].uri == kenya else None)


OF_TWO = """
<urn:x:{0}> a dcat:Dataset ; dct:title "{0}" ; dct:spatial <urn:x:l> ; dct:publisher <urn:x:p> .
<urn:x:p> a foaf:Agent ; foaf:name "{1}" .
<urn:x:l> a dct:Location ; locn:geometry "POINT({2})"^^geo:wktLiteral .
"""


def test_two_sources_that_share_an_iri_do_not_give_it_two_shapes(tmp_path: Path) -> None:
    said_and_held(OF_TWO.format("a", "Office", "1 2") + OF_TWO.format("a2", "Office", "1 2"), tmp_path, "first")
    items = said_and_held(OF_TWO.format("b", "Bureau", "3 4"), tmp_path, "second")
    for format_, names in (("ttl", 2), ("dcat-us", 1)):
        form = FORMATS[".ttl"] if format_ == "ttl" else FORMATS[".jsonld"]
        nodes = graph(each.triple for each in pyoxigraph.parse(written(format_, items), format=form))
        assert len(nodes["urn:x:l"][LOCN + "geometry"]) == 1
        assert len(nodes["urn:x:p"][FOAF + "name"]) == names, "a name in two words is no fault in DCAT-AP"
        assert [len(nodes[f"urn:x:{name}"][DCT + "spatial"]) for name in ("a", "a2", "b")] == [1, 1, 1]
    assert [(one.spatial[0].uri, one.spatial[0].geometry) for one in again(items)] == [
        ("urn:x:l", {"type": "Point", "coordinates": place}) for place in ([1.0, 2.0], [1.0, 2.0], [3.0, 4.0])
    ]


def test_agents_of_one_dataset_that_share_an_iri_keep_what_is_said_of_each() -> None:
    office = Agent(name="Office", email="office@example.org", uri="urn:x:o", role="publisher")
    desks = [Agent(name=name, email=f"{name}@example.org", uri="urn:x:o", role="contact") for name in ("ana", "bob")]
    item = Dataset(source="s", id="d", publisher=office, contacts=[*desks, replace(desks[0], role="creator")])
    (back,) = again([item])
    assert back.publisher == office
    assert sorted(map(repr, back.contacts)) == sorted(map(repr, item.contacts))
    with Taken() as taken:
        nodes, _ = description(item, taken)
    assert len([node for node in nodes.values() if node.get(OWL + "sameAs")]) == 3, "all but the first"


PERIOD = '<urn:x:{0}> dct:temporal <urn:x:t> . <urn:x:t> a dct:PeriodOfTime ; dcat:startDate "{1}"^^xsd:gYear .'
SERVICE = """
<urn:x:{0}> dcat:distribution <urn:x:f{0}> .
<urn:x:f{0}> dcat:accessURL <https://example.org/{0}> ; dcat:accessService <urn:x:s> .
<urn:x:s> a dcat:DataService ; dct:title "{1}" ; dcat:endpointURL <https://example.org/{1}> .
"""


@pytest.mark.parametrize("said", [PERIOD, SERVICE])
def test_two_sources_that_share_a_period_or_a_service_keep_what_each_says_of_it(said: str, tmp_path: Path) -> None:
    a_dataset = '<urn:x:{0}> a dcat:Dataset ; dct:title "{0}" . '
    said_and_held((a_dataset + said).format("a", "2001"), tmp_path, "first")
    items = said_and_held((a_dataset + said).format("b", "2002"), tmp_path, "second")
    for before, back in zip(items, again(items), strict=True):
        assert back.temporal == before.temporal
        assert [each.access_services for each in back.resources] == [each.access_services for each in before.resources]


def test_records_that_share_a_service_keep_what_each_says_of_it() -> None:
    items = [Dataset(source=name, id=name, identifier=name) for name in ("a", "b")]
    for item in items:
        service = Service(uri="urn:x:s", title=item.id, endpoint_url=f"https://example.org/{item.id}")
        address = f"https://example.org/{item.id}.csv"
        item.resources = [Resource(id="r", dataset_id=item.id, url=address, access_services=[service])]
    backs = [back.resources[0].access_services for back in again(items)]
    assert backs == [item.resources[0].access_services for item in items]


def test_what_a_source_takes_for_the_same_agent_stays_where_two_sources_differ(tmp_path: Path) -> None:
    said = OF_TWO + "<urn:x:l> owl:sameAs <urn:x:{3}> ."
    said_and_held(said.format("a", "Office", "1 2", "first"), tmp_path, "first")
    items = said_and_held(said.format("b", "Office", "3 4", "second"), tmp_path, "second")
    nodes = graph(each.triple for each in pyoxigraph.parse(written("ttl", items), format=FORMATS[".ttl"]))
    assert nodes["urn:x:l"][OWL + "sameAs"] == ["urn:x:first", "urn:x:second"]
    assert [one.spatial[0].uri for one in again(items)] == ["urn:x:l", "urn:x:l"]


def test_an_agent_whose_iri_is_a_dataset_of_another_source_keeps_its_name(tmp_path: Path) -> None:
    said_and_held('<urn:x:d> a dcat:Dataset ; dct:title "A" .', tmp_path, "first")
    said = (
        '<urn:x:e> a dcat:Dataset ; dct:title "B" ; dct:publisher <urn:x:d> . <urn:x:d> a foaf:Agent ; foaf:name "N" .'
    )
    first, second = again(said_and_held(said, tmp_path, "second"))
    assert (first.title, second.title) == ("A", "B")
    assert (second.publisher.name, second.publisher.uri) == ("N", "urn:x:d")


REPLACED = """
<urn:x:1> a dcat:Dataset ; dct:title "T" ; dct:publisher {0} ; dc:publisher "Old" ;
    dcat:theme [ skos:prefLabel "Rain" ] ; dcat:keyword "old" ; dc:subject "old" ; schema:keywords "old" ;
    dct:rights "Kept" ; dct:creator [ foaf:name "Kept" ] .
{0} foaf:name "Old" ; foaf:mbox <mailto:old@example.org> .
"""


@pytest.mark.parametrize("publisher", ["_:p", "<urn:x:p>"])
def test_nothing_is_left_of_what_the_operator_replaced(publisher: str, tmp_path: Path) -> None:
    (item,) = said_and_held(REPLACED.format(publisher), tmp_path)
    fields = {"publisher": "Office", "tags": ["new"], "license": "CC0-1.0"}
    Curation.from_arguments({"overrides": json.dumps(fields)}).amend(item)
    body = written("ttl", [item]).decode()
    assert [word in body for word in ("Old", "old", "urn:x:p", "Office", '"new"', "CC0")] == [False] * 3 + [True] * 3
    assert body.count('"Kept"') == 2
    assert "Rain" in body


IRI = "http://example.org/2"


@pytest.mark.parametrize(
    "given",
    [
        [{"identifier": IRI, "id": IRI}, {"uri": IRI, "id": IRI}],
        [{"uri": IRI, "id": IRI}, {"identifier": IRI, "id": IRI}],
        [{"uri": "urn:x:1", "identifier": IRI, "id": IRI}, {"uri": IRI, "id": IRI}],
        [{"uri": "urn:x:1", "id": "a"}, {"uri": IRI, "identifier": "a", "id": "a"}, {"identifier": IRI, "id": IRI}],
        [{"identifier": name, "id": name} for name in ("y", "y\x07", " y", "y\n", "x  z", "x z")],
    ],
)
def test_a_reader_can_call_each_dataset_by_a_name_of_its_own(given: list[dict[str, str]]) -> None:
    items = [Dataset(source=str(number), title="T", **each) for number, each in enumerate(given)]
    used: set[str] = set()
    with Taken() as taken:
        for item in items:
            nodes, subject = description(item, taken)
            (identifier,) = nodes[subject][DCT + "identifier"]
            assert isinstance(identifier, Literal)
            free = [name for name in (identifier.value, subject) if name not in used]
            assert free, item
            assert free[0] != "_:dataset", item
            used.add(free[0])


# Nothing made up


def told(turtle: str, output: Path, profile: str = "dcat-ap") -> dict[str, Any]:
    """What an export says of the only dataset of a source that publishes RDF."""
    prefixes = "".join(f"@prefix {name}: <{iri_}> .\n" for name, iri_ in PREFIXES.items())
    put_graph(output, "rdf", pyoxigraph.parse(prefixes + turtle, format=FORMATS[".ttl"]))
    (item,) = held(output)
    with Taken() as taken:
        return description(item, taken, profile)[0]


@pytest.mark.parametrize("profile", ["dcat-ap", "dcat-us"])
@pytest.mark.parametrize(
    "name", ["dct:source", "dct:hasVersion", "dcat:inSeries", "dct:relation", "dcat:accessService"]
)
@pytest.mark.parametrize("cited", ["<urn:x:2>", "_:cited"])
def test_a_thing_that_is_only_cited_is_no_dataset(profile: str, name: str, cited: str, tmp_path: Path) -> None:
    owner = "<urn:x:file>" if name == "dcat:accessService" else "<urn:x:1>"
    found = told(
        f"""
        <urn:x:1> a dcat:Dataset ; dct:title "T" ; dct:description "D" ; dcat:distribution <urn:x:file> ;
            dcat:qualifiedRelation [ dct:relation {cited} ; dcat:hadRole <urn:x:role> ] .
        <urn:x:file> a dcat:Distribution ; dcat:accessURL <https://example.org/f> . {owner} {name} {cited} .
        {cited} dct:title "Field survey" ; dct:description "On paper" ; dct:identifier "2" ;
            dcat:endpointURL <https://example.org/api> .
        """,
        tmp_path,
        profile,
    )
    classes = {one for node in found.values() if DCT + "identifier" in node for one in node.get(TYPE, ())}
    assert classes - {DCAT + "Dataset"} <= {"http://www.w3.org/2000/01/rdf-schema#Resource"}
    assert [subject for subject, node in found.items() if DCAT + "Dataset" in node.get(TYPE, ())] == ["urn:x:1"]


def test_a_relationship_to_what_is_no_dataset_gets_no_class(tmp_path: Path) -> None:
    found = told(
        """
        <urn:x:1> a dcat:Dataset ; dct:title "T" ; dcat:qualifiedRelation <urn:x:word>, <urn:x:iri> .
        <urn:x:word> dct:relation "w" ; dcat:hadRole "role" . <urn:x:iri> dct:relation <urn:x:a> ; dcat:hadRole "r" .
        """,
        tmp_path,
    )
    for name in ("urn:x:word", "urn:x:iri"):
        assert DCAT + "Relationship" not in found[name].get(TYPE, ())
    assert found["urn:x:word"][DCT + "relation"] == [Literal("w")]


@pytest.mark.parametrize(
    ("role", "written"),
    [
        ("processor", None),
        ("owner", "http://inspire.ec.europa.eu/metadata-codelist/ResponsiblePartyRole/owner"),
        ("https://example.org/role", "https://example.org/role"),
        ("licensor", "licensor"),
        ("foo bar", "foo bar"),
        ("y", "y"),
    ],
)
def test_only_a_role_of_a_table_gets_the_tables_address(role: str, written: str | None) -> None:
    item = Dataset(source="s", id="d", contacts=[Agent(name="Ana", role=role)])
    item.relations = [Relation(role=role, uri="urn:x:2")]
    with Taken() as taken:
        found, subject = description(item, taken)
    given = [one for node in found.values() for one in node.get(DCAT + "hadRole", ())]
    assert {label(found, one) or one for one in given} == ({role, written} if written else {role})
    back = rdf.dataset(found, subject, source="s")
    assert [one.role for one in back.relations] == [role.rpartition("/")[2]]


def test_of_an_address_alone_nobody_knows_that_it_is_a_concept() -> None:
    item = Dataset(source="s", id="d", themes=["https://example.org/t"], type="https://example.org/t")
    item.resources = [Resource(id="r", dataset_id="d", url="https://example.org/r", status="DEVELOP")]
    with Taken() as taken:
        nodes, subject = description(item, taken)
    assert nodes[subject][DCAT + "theme"] == nodes[subject][DCT + "type"] == ["https://example.org/t"]
    assert "https://example.org/t" not in nodes
    assert label(nodes, "http://purl.org/adms/status/UnderDevelopment") == "Under development", "a table has its name"


def test_pages_for_which_dcat_us_has_no_room_stand_in_another_property() -> None:
    pages = [f"https://example.org/{number}" for number in range(3)]
    item = Dataset(source="s", id="d", documentation=pages)
    for profile, room in (("dcat-ap", 3), ("dcat-us", 1)):
        with Taken() as taken:
            nodes, subject = description(item, taken, profile)
        assert nodes[subject][FOAF + "page"] == pages[:room]
        assert rdf.dataset(nodes, subject, source="s").documentation == pages


@pytest.mark.parametrize("profile", ["dcat-ap", "dcat-us"])
@pytest.mark.parametrize("name", ["dcat:theme", "dct:subject"])
@pytest.mark.parametrize("label_", ["Rain", "Environment"])
def test_a_concept_without_an_iri_keeps_all_that_it_says(profile: str, name: str, label_: str, tmp_path: Path) -> None:
    found = told(
        f"""
        <urn:x:1> a dcat:Dataset ; dct:title "T" ; {name} [ a skos:Concept ; skos:prefLabel "{label_}"@en ;
            skos:notation "R1" ; skos:exactMatch <urn:x:m> ; skos:inScheme <urn:x:scheme> ] .
        """,
        tmp_path,
        profile,
    )
    (concept,) = found["urn:x:1"][_expanded(name)]
    assert concept.startswith("_:")
    assert len(found[concept]) == 5


def test_a_concept_that_is_only_called_as_the_eus_is_the_eus(tmp_path: Path) -> None:
    found = told('<urn:x:1> a dcat:Dataset ; dcat:theme [ skos:prefLabel "Environment"@en ] .', tmp_path)
    assert found["urn:x:1"][DCAT + "theme"] == [f"{vocabularies.EU}data-theme/ENVI"]


@pytest.mark.parametrize("profile", ["dcat-ap", "dcat-us"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("issued", "2020-01-01T00:00:00+14:00"),
        ("modified", "2020-01-01T00:00:00-14:00"),
        ("spatial_resolution", 30.88747961),
        ("spatial_resolution", 1e-7),
        ("spatial_resolution", 1200.0),
        ("sample", ["by mail"]),
        ("hvd_categories", ["Geospatial"]),
        ("applicable_legislation", ["The water act"]),
        ("applicable_legislation", ["urn:lex:eu:2019-06-20;1024"]),
        ("access_services", [Service(title="S", endpoint_description="Ask for the key first")]),
    ],
)
def test_a_value_in_words_or_digits_comes_back(name: str, value: Any, profile: str) -> None:
    item = Dataset(source="s", id="d")
    if name == "access_services":
        item.resources = [Resource(id="r", dataset_id="d", url="https://example.org/r", access_services=value)]
    else:
        setattr(item, name, value)
    with Taken() as taken:
        back = rdf.dataset(*description(item, taken, profile), source="s")
    assert getattr(back.resources[0] if item.resources else back, name) == value


NAMED = ("http://ex.org/größe", "http://ex.org/名前", "http://ex.org/1é", "http://ex.org/a;b", RDF + "_1", "urn:x:y")
UNNAMED = (
    "http://ex.org/2024",
    "http://ex.org/p#",
    "http://ex.org/a×",
    "http://ex.org/Ͱ",
    RDF + "li",
    RDF + "aboutEach",
)


@pytest.mark.parametrize(
    ("format_", "left_out"), [("ttl", set()), ("jsonld", set()), ("dcat-us", set()), ("dcat", {*UNNAMED})]
)
def test_rdf_xml_alone_leaves_out_what_it_cant_write(format_: str, left_out: set[str], tmp_path: Path) -> None:
    said = "".join(f'; <{name}> "{number}" ' for number, name in enumerate((*NAMED, *UNNAMED)))
    turtle = f'<urn:x:1> a <{DCAT}Dataset> ; <{DCT}title> "T" {said}.'
    put_graph(tmp_path, "rdf", pyoxigraph.parse(turtle, format=FORMATS[".ttl"]))
    body = written(format_, held(tmp_path))
    form = FORMATS[{"ttl": ".ttl", "dcat": ".rdf"}.get(format_, ".jsonld")]
    nodes = graph(each.triple for each in pyoxigraph.parse(body, format=form))
    back = {name for name, values in nodes["urn:x:1"].items() if name in (*NAMED, *UNNAMED) and values}
    assert back == {*NAMED, *UNNAMED} - left_out
    if format_ == "dcat":
        assert rdflib.Graph().parse(body, format="xml")


def test_what_of_a_data_json_has_no_field_is_documented(tmp_path: Path) -> None:
    section = (ROOT / "docs" / "export.md").read_text().partition("Of a data.json these have none:")[2]
    rows = section.strip().partition("\n\n")[0].splitlines()[:3]
    of_datasets, of_files, of_agents = (re.findall("`(.+?)`", row) for row in rows)
    assert all((of_datasets, of_files, of_agents))
    lost = {name: f"lost {name}" for name in of_datasets}
    agent = {name: f"lost {name}" for name in of_agents}
    file = {"accessURL": "https://example.org/f"} | {name: f"lost {name}" for name in of_files}
    kept = {"identifier": "1", "title": "T", "landingPage": "https://example.org/kept", "distribution": [file]}
    agents = {"publisher": {"name": "P"} | agent, "contactPoint": {"fn": "C"} | agent}
    put(tmp_path, "agency", "1", lost | kept | agents, by="data_json", url=f"{BASE}data.json")
    body = written("ttl", held(tmp_path)).decode()
    assert "https://example.org/kept" in body
    assert "lost" not in body


# Shapes


def shapes_of(profile: str) -> rdflib.Graph:
    names = ("dcat-us-3.0.shapes",) if profile == "dcat-us" else tuple(f"dcat-ap-3.0.1.{each}" for each in AP)
    shapes = rdflib.Graph()
    for name in names:
        shapes.parse(SEMIC / f"{name}.ttl")
    return shapes


AP = ("shapes", "range", "deprecateduris")


def violations(triples: Iterable[Any], shapes: rdflib.Graph) -> set[tuple[str | None, ...]]:
    """What is violated: node, property, kind of constraint and value; blank nodes are all alike."""
    lines = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.N_TRIPLES)
    _, report, _ = pyshacl.validate(rdflib.Graph().parse(data=lines, format="nt"), shacl_graph=shapes)
    found = set()
    for one in report.objects(None, SH.result):
        if report.value(one, SH.resultSeverity) == SH.Violation:
            parts = (SH.focusNode, SH.resultPath, SH.sourceConstraintComponent, SH.value)
            terms = (report.value(one, part) for part in parts)
            found.add(tuple("_:" if isinstance(each, rdflib.BNode) else each and str(each) for each in terms))
    return found


@pytest.mark.slow  # the shapes of DCAT-US take seconds
@pytest.mark.skipif(not SEMIC.is_dir(), reason="the released shapes are not at hand")
@pytest.mark.parametrize("profile", ["dcat-ap", "dcat-us"])
def test_an_export_adds_no_violation_to_its_source(profile: str, tmp_path: Path) -> None:
    shapes, seen, added = shapes_of(profile), Counter[str](), []
    for number, path in enumerate(RDF_FILES):
        quads, items = crawled(path, tmp_path / str(number))
        if items:
            format_ = "ttl" if profile == "dcat-ap" else "dcat-us"
            form = FORMATS[".ttl"] if profile == "dcat-ap" else FORMATS[".jsonld"]
            exported = [each.triple for each in pyoxigraph.parse(written(format_, items), format=form)]
            before, back = (violations(each, shapes) for each in ([one.triple for one in quads], exported))
            seen += Counter(before=len(before), back=len(back), files=1)
            added += [(path.parent.name, *each) for each in back - before]
    print(seen, *added, sep="\n")
    of_schema_org = (DCAT + "accessURL", str(SH.MinCountConstraintComponent))  # whose files DCAT can't see otherwise
    assert not [each for each in added if "schema_org" not in each[0] or each[2:4] != of_schema_org]
    assert seen["files"] > 20


DATA_JSON_FILES = sorted(
    path
    for folder in (GOLDEN / "data_json", SHARED / "fixtures", SHARED / "answers")
    for path in folder.rglob("*.json")
    if path.name.startswith(("data", "dcat", "input")) and data_json_records(path)
)
CLASSES = {
    "distribution": DCAT + "Distribution",
    "contactPoint": VCARD + "Kind",
    "accessService": DCAT + "DataService",
    "qualifiedRelation": DCAT + "Relationship",
}
"""What the objects of a data.json are by its schema, whether their ``@type`` says it or not."""


def typed(value: Any, kind: str | None) -> Any:
    """A value of a data.json with the classes that its schema gives; an empty text is none."""
    if isinstance(value, list):
        return [typed(each, kind) for each in value]
    if not isinstance(value, dict):
        return value
    found = {name: typed(each, CLASSES.get(name)) for name, each in value.items() if each != ""}
    given = value.get("@type", [])
    classes = [*(given if isinstance(given, list) else [given]), *([kind] if kind else [])]
    return found | ({"@type": classes} if classes else {})


def graph_of_data_json(item: Dataset) -> list[Any]:
    """A record as JSON-LD of its schema's context: Project Open Data's, else DCAT-US 3's with DCAT's own terms."""
    record = item.document or {}
    names = ("pod-1.1",) if "accessLevel" in record else ("dcat", "dcat-ap", "dcat-us-3")
    named = {"@id": item.uri} if item.uri else {}
    body = json.dumps({"@context": context(*names)} | typed(record, DCAT + "Dataset") | named)
    return [each.triple for each in pyoxigraph.parse(local(body.encode()), format=FORMATS[".jsonld"], base_iri=BASE)]


@pytest.mark.slow  # the shapes of DCAT-US take seconds
@pytest.mark.skipif(not SEMIC.is_dir(), reason="the released shapes are not at hand")
@pytest.mark.parametrize("profile", ["dcat-ap", "dcat-us"])
def test_an_export_adds_no_violation_to_a_data_json(profile: str, tmp_path: Path) -> None:
    shapes, seen, added = shapes_of(profile), Counter[str](), []
    for number, path in enumerate(DATA_JSON_FILES):
        output = tmp_path / str(number)
        for record in data_json_records(path):
            put(output, "agency", str(identity(record)), record, by="data_json", url=f"{BASE}data.json")
        items = held(output)
        format_ = "ttl" if profile == "dcat-ap" else "dcat-us"
        form = FORMATS[".ttl"] if profile == "dcat-ap" else FORMATS[".jsonld"]
        exported = [each.triple for each in pyoxigraph.parse(written(format_, items), format=form)]
        before = {each for item in items for each in violations(graph_of_data_json(item), shapes)}
        back = violations(exported, shapes)
        seen += Counter(before=len(before), back=len(back), records=len(items), files=1)
        added += [(path.parent.name, *each) for each in back - before]
    print(seen, *added, sep="\n")
    assert not added
    assert seen["files"] >= 6
    assert seen["back"]


@pytest.mark.slow  # the shapes of DCAT-US take seconds
@pytest.mark.skipif(not SEMIC.is_dir(), reason="the released shapes are not at hand")
@pytest.mark.parametrize("profile", ["dcat-ap", "dcat-us"])
def test_of_other_sources_a_violation_is_what_the_record_does_not_say(profile: str, tmp_path: Path) -> None:
    golden(tmp_path)
    real(tmp_path)
    items = [item for item in held(tmp_path) if item.metadata_source not in ("rdf", "rdf_xml", "data_json")]
    format_ = "ttl" if profile == "dcat-ap" else "dcat-us"
    form = FORMATS[".ttl"] if profile == "dcat-ap" else FORMATS[".jsonld"]
    exported = [each.triple for each in pyoxigraph.parse(written(format_, items), format=form)]
    left = Counter((each[2].rpartition("#")[2], each[1]) for each in violations(exported, shapes_of(profile)))
    print(*left.most_common(), sep="\n")
    others = {str(path) for (kind, path), _ in left.items() if kind != "MinCountConstraintComponent"}
    assert others <= OTHERS[profile]


OTHERS = {
    "dcat-ap": {*(DCT + name for name in ("source", "relation", "type")), DCAT + "inSeries", DCAT + "theme"},
    "dcat-us": {DCT + "conformsTo", DCT + "rights", DCAT + "hadRole"},
}
"""What a thing is of which only the name is known: another dataset, a theme; in DCAT-US, where several values may not
be, or words."""


# Other readers


def listed_in(told: rdflib.Graph, item: Dataset) -> Any:
    """The node of an item: of its IRI, else the blank one with its identifier."""
    if item.uri and (name := rdflib.URIRef(str(iri(item.uri)))) in set(told.objects(None, rdflib.DCAT.dataset)):
        return name
    known = rdflib.Literal(plain(item.identifier) or plain(item.id))
    datasets = set(told.subjects(rdflib.RDF.type, rdflib.DCAT.Dataset))
    return next(one for one in told.subjects(rdflib.DCTERMS.identifier, known) if one in datasets)


def as_ckanext_dcat_reads(told: rdflib.Graph, subject: Any) -> dict[str, set[str]]:
    """Where ckanext-dcat 2.4.4 looks, of all languages: a package's fields, extras, tags and resources."""
    dcat, dct, vcard = map(rdflib.Namespace, (DCAT, DCT, VCARD))

    def texts(of: Any, name: Any) -> set[str]:
        return {str(each) for each in told.objects(of, name)}

    files, contacts = list(told.objects(subject, dcat.distribution)), list(told.objects(subject, dcat.contactPoint))
    publishers = list(told.objects(subject, dct.publisher))
    return {
        "title": texts(subject, dct["title"]),
        "notes": texts(subject, dct.description),
        "url": texts(subject, dcat.landingPage),
        "tags": texts(subject, dcat.keyword),
        "identifier": texts(subject, dct.identifier),
        "version": texts(subject, dcat.version) | texts(subject, rdflib.OWL.versionInfo),
        "issued": {each[:10] for each in texts(subject, dct.issued)},
        "modified": {each[:10] for each in texts(subject, dct.modified)},
        "publisher_name": {each for one in publishers for each in texts(one, rdflib.FOAF.name)},
        "contact_name": {each for one in contacts for each in texts(one, vcard.fn)},
        "contact_email": {each.removeprefix("mailto:") for one in contacts for each in texts(one, vcard.hasEmail)},
        "license": texts(subject, dct.license) | {each for one in files for each in texts(one, dct.license)},
        "resource_urls": {
            each for one in files for name in ("downloadURL", "accessURL") for each in texts(one, dcat[name])
        },
        "resource_names": {each for one in files for each in texts(one, dct["title"])},
        "resources": {str(number) for number, _ in enumerate(files)},
    }


def expected(item: Dataset) -> dict[str, set[str | None]]:
    contacts = [one for one in item.contacts if one.role == "contact"]
    return {
        "title": {plain(item.title)},
        "notes": {plain(item.description)},
        "url": {iri(item.landing_page)},
        "tags": set(map(plain, item.keywords)),
        "identifier": {plain(item.identifier)},
        "version": {plain(item.version)},
        "issued": {item.issued and item.issued[:10]},
        "modified": {item.modified and item.modified[:10]},
        "publisher_name": {plain(item.publisher.name) if item.publisher else None},
        "contact_name": {plain(one.name) for one in contacts},
        "contact_email": {one.email for one in contacts},
        "license": {iri(item.license.uri) or vocabularies.license(item.license.id) if item.license else None},
        "resource_urls": {iri(each) for one in item.resources for each in (one.url, one.access_url, one.download_url)},
        "resource_names": {plain(one.title) for one in item.resources},
        "resources": {str(number) for number, _ in enumerate(item.resources)},
    }


def test_a_reader_of_its_own_finds_what_the_items_have(tmp_path: Path) -> None:
    golden(tmp_path)
    if SEMIC.is_dir():
        real(tmp_path)
    seen = Counter[str]()
    for _, found in groupby(held(tmp_path), key=lambda item: item.source):
        items = [
            item for item in found if item.metadata_source not in ("rdf", "rdf_xml")
        ]  # whose own triples are there
        told = rdflib.Graph().parse(written("ttl", items), format="turtle")
        names = Counter(item.uri for item in items)
        for item in items:
            if names[item.uri] == 1 or not item.uri:
                read = as_ckanext_dcat_reads(told, listed_in(told, item))
                for name, wanted in expected(item).items():
                    assert wanted - {None} <= read[name], (item.source, item.id, name)
                    seen[name] += len(wanted - {None})
    assert min(seen[name] for name in expected(item)) >= 4, seen


TRIPLETS = b"""@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
<urn:x:a> a dcat:Dataset ; dct:identifier "three" ; dct:title "a" .
<urn:x:b> a dcat:Dataset ; dct:identifier "three" ; dct:title "b" .
<urn:x:c> a dcat:Dataset ; dct:identifier "three" ; dct:title "c" .
"""
TWICE = "https://data.example.org/terms"
"""A dataset in one golden, a statement of rights in another."""


def test_a_whole_export_and_a_whole_crawl_lose_nothing(tmp_path: Path) -> None:
    golden(tmp_path / "first")
    put_rdf(tmp_path / "first", "triplets", TRIPLETS)
    for source in ("east", "west"):
        put(tmp_path / "first", source, "same", {"identifier": "same", "title": source}, by="data_json")
    file, feed = tmp_path / "all.ttl", tmp_path / "items.jsonl"
    ran = command("export", "--format", "ttl", "-o", str(file), "-s", f"OUTPUT_DIR={tmp_path / 'first'}")
    assert (ran.returncode, ran.stderr) == (0, "")
    with Site(lambda _: Answer(file.read_bytes(), headers={"Content-Type": "text/turtle"})) as site:
        words = options(tmp_path / "second", {"RETRY_TIMES": "0"}, url=f"{site.url}/all.ttl")
        ran = scrapy("crawl", "dcat", "-O", str(feed), *words)
    assert ran.returncode == 0, ran.stderr
    items, found = held(tmp_path / "first"), [json.loads(line) for line in feed.read_text().splitlines()]
    assert len(found) == len(items)
    items = [item for item in items if item.uri != TWICE]
    found = [item for item in found if item["uri"] != TWICE]
    for name in ("title", "description", "issued", "modified", "frequency", "landing_page", "version"):
        before = Counter(text(getattr(item, name)) for item in items)
        assert before == Counter(text(item[name]) for item in found), name
    assert sum(len(item.resources) for item in items) == sum(len(item["resources"]) for item in found)
