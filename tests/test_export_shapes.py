"""Exports by the SHACL shapes that SEMIC released, and by the rules of a parser that others harvest with."""

from __future__ import annotations

import io
import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pyoxigraph
import pyshacl
import pytest
import rdflib
from rdflib import DCAT, DCTERMS, SH

from crawlers.rdf.namespaces import DCATAP
from crawlers.store.export import holdings, vocabularies
from crawlers.store.export.writers import WRITERS
from tests.conftest import options, scrapy
from tests.held import PORTAL, SHARED, golden, put_ckan, real
from tests.site import Answer, Site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crawlers.items import Dataset

SEMIC = SHARED / "semic"
STRICT = tuple(f"dcat-ap-3.0.1.{name}" for name in ("shapes", "range", "deprecateduris"))
EACH = 3
"""Datasets of a kind; of the recorded ones that makes more than fifty."""
WARNED = 780
"""What dcat-ap-3.0.1.recommended.ttl warned of in these datasets before sources gave their own triples."""
VCARD = rdflib.Namespace("http://www.w3.org/2006/vcard/ns#")


def held(output: Path) -> list[Dataset]:
    lost: list[str] = []
    found = list(holdings.items(output, holdings.sources(output), lost.append))
    assert not lost
    return found


def written(format_: str, datasets: list[Dataset]) -> bytes:
    body = io.BytesIO()
    WRITERS[format_](iter(datasets), body)
    return body.getvalue()


def turtle(datasets: list[Dataset]) -> bytes:
    return written("ttl", datasets)


def parsed(body: bytes, format_: pyoxigraph.RdfFormat = pyoxigraph.RdfFormat.TURTLE) -> rdflib.Graph:
    triples = (one.triple for one in pyoxigraph.parse(body, format=format_))
    lines = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.N_TRIPLES)
    return rdflib.Graph().parse(data=lines, format="nt")


def complaints(found: rdflib.Graph, *names: str) -> Counter[str]:
    """How many violations and warnings released shapes have, and each violation."""
    shapes = rdflib.Graph()
    for name in names:
        shapes.parse(SEMIC / f"{name}.ttl")
    _, report, text = pyshacl.validate(found, shacl_graph=shapes)
    given = (report.value(one, SH.resultSeverity) for one in report.objects(None, SH.result))
    severities = [str(one).rpartition("#")[2] for one in given]
    if "Violation" in severities:
        print(text)
    return Counter(severities)


# SEMIC's shapes, where they are at hand


@pytest.fixture(scope="module")
def fifty(tmp_path_factory: pytest.TempPathFactory) -> list[Dataset]:
    output = tmp_path_factory.mktemp("real")
    real(output)
    taken: Counter[str] = Counter()
    chosen = []
    for item in held(output):
        taken[item.source] += 1
        if taken[item.source] <= EACH:
            chosen.append(item)
    return chosen


@pytest.mark.slow
@pytest.mark.skipif(not SEMIC.is_dir(), reason="the released shapes are not at hand")
def test_fifty_real_datasets_of_all_kinds_are_dcat_ap(fifty: list[Dataset]) -> None:
    assert len(fifty) >= 50
    assert len({item.source for item in fifty}) >= 20
    found = parsed(turtle(fifty))
    assert len(set(found.objects(None, DCAT.dataset))) == len(fifty)
    assert not complaints(found, *STRICT)
    assert complaints(found, "dcat-ap-3.0.1.recommended")["Warning"] < WARNED


@pytest.mark.skipif(not SEMIC.is_dir(), reason="the released shapes are not at hand")
def test_goldens_of_all_kinds_are_dcat_ap(tmp_path: Path) -> None:
    golden(tmp_path)
    found = parsed(turtle(held(tmp_path)))
    assert complaints(found, *STRICT)["Violation"] == 0


@pytest.mark.skipif(not SEMIC.is_dir(), reason="the released shapes are not at hand")
@pytest.mark.slow  # the shapes of DCAT-US take 5 s
def test_fifty_real_datasets_and_the_goldens_are_dcat_us(fifty: list[Dataset], tmp_path: Path) -> None:
    golden(tmp_path)
    for datasets in (fifty, held(tmp_path)):
        found = parsed(written("dcat-us", datasets), pyoxigraph.RdfFormat.JSON_LD)
        assert len(set(found.objects(None, DCAT.dataset))) == len(datasets)
        assert complaints(found, "dcat-us-3.0.shapes")["Violation"] == 0


def test_what_dcat_us_makes_mandatory_is_there(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", {"id": "a", "name": "a", "url": "https://a.org/1", "resources": []})
    (item,) = held(tmp_path)
    catalogue = json.loads(written("dcat-us", [item]))["@graph"][0]
    (dataset,) = catalogue["dataset"]
    assert (dataset["title"], dataset["description"]) == ("a", "a")
    assert dataset["publisher"]["name"] == dataset["publisher"]["prefLabel"] == "data.example.org"
    assert sorted(dataset["publisher"]["@type"]) == ["foaf:Agent", "org:Organization"]


# What is read again


MADE = ("title", "description")
"""Mandatory: made of what there is where a source says none."""
FIELDS = (
    *("publisher", "keywords", "issued", "modified", "version", "frequency", "temporal", "rights", "provenance"),
    *("conforms_to", "landing_page", "type", "status", "version_notes", "documentation", "applicable_legislation"),
    *("hvd_categories", "sample", "spatial_resolution", "temporal_resolution", "country", "state", "city"),
)


HERE = [golden, *([real] if SEMIC.is_dir() else [])]


@pytest.fixture(scope="module", params=HERE, ids=lambda filled: filled.__name__)
def again(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Dataset, dict[str, Any]]]:
    """Records of all kinds and what a crawl of their export says of each, by what the export calls it."""
    output, crawled = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")
    request.param(output)
    items = held(output)
    body = turtle(items)
    with Site(lambda _: Answer(body, headers={"Content-Type": "text/turtle"})) as site:
        feed = crawled / "items.jsonl"
        words = options(crawled / "output", {"RETRY_TIMES": "0"}, url=f"{site.url}/catalog.ttl")
        ran = scrapy("crawl", "dcat", "-O", str(feed), *words)
    assert ran.returncode in (0, 3), ran.stderr  # goldens of what is broken stay so
    found = {line["uri"]: line for line in map(json.loads, feed.read_text().splitlines())}
    order = [str(one) for one in _in_order(body)]
    assert len(order) == len(items) == len(found)
    return {name: (item, found[name]) for name, item in zip(order, items, strict=True) if name in found}


def _in_order(body: bytes) -> Iterator[str]:
    for one in pyoxigraph.parse(body, format=pyoxigraph.RdfFormat.TURTLE):
        if str(one.predicate.value) == str(DCAT.dataset):
            yield one.object.value


SEVERAL = {f"{PORTAL}/{name}" for name in ("described", "iris", "own", "sample")}
"""Goldens with several statements of rights, of which one may stay; an IRI, or a file, that others describe, too."""


def same(value: Any) -> Any:
    """A value without the order that RDF has not, with one kind of line end, and as the EU writes access rights."""
    if isinstance(value, list):
        return sorted(value, key=repr)
    access = vocabularies.access_right(value) if isinstance(value, str) else None
    return access or (value.replace("\r\n", "\n") if isinstance(value, str) else value)


def test_a_crawl_of_an_export_gives_the_same_items(again: dict[str, tuple[Dataset, dict[str, Any]]]) -> None:
    assert len({item.source for item, _ in again.values()}) >= 3
    for item, found in again.values():
        before = asdict(item)
        for name in FIELDS if item.uri not in SEVERAL else ():
            if before[name] or name not in ("rights", "country"):  # else it is what all its files or places say
                assert same(found[name]) == same(before[name]), (item.source, item.id, name)
        for name in MADE:
            assert same(before[name]) in (found[name], None), (item.source, item.id, name)


MARKS = {"INSPIRE", "hvd"}
"""Themes that say of which vocabulary another theme is."""


def as_ckanext_dcat_reads(told: rdflib.Graph, subject: rdflib.URIRef) -> dict[str, set[str]]:
    """Where ckanext-dcat 2.4.4 looks: themes at dcat:theme alone, licences at the files alone, contacts in vCard."""
    files = list(told.objects(subject, DCAT.distribution))
    licences = [each for one in files for each in told.objects(one, DCTERMS.license)]
    contacts = list(told.objects(subject, DCAT.contactPoint))
    return {
        "issued": set(map(str, told.objects(subject, DCTERMS.issued))),
        "modified": set(map(str, told.objects(subject, DCTERMS.modified))),
        "themes": {str(each) for one in told.objects(subject, DCAT.theme) for each in (one, *told.objects(one))},
        "names": {str(each) for one in contacts for each in told.objects(one, VCARD.fn)},
        "mail": {str(each).removeprefix("mailto:") for one in contacts for each in told.objects(one, VCARD.hasEmail)},
        "licenses": {str(each) for one in licences for each in (one, *told.objects(one, DCTERMS.title))},
    }


def test_nothing_is_lost_for_another_parser(again: dict[str, tuple[Dataset, dict[str, Any]]]) -> None:
    told = parsed(turtle([item for item, _ in again.values()]))
    seen = Counter[str]()
    for name, (item, _) in again.items():
        found = as_ckanext_dcat_reads(told, rdflib.URIRef(name))
        for field in ("issued", "modified"):
            if value := getattr(item, field):
                seen[field] += 1
                assert any(each[:16] == value[:16] for each in found[field]), (name, field, value)
        places = (DCTERMS.subject, rdflib.URIRef(DCATAP + "hvdCategory"))  # where a source has them itself
        subjects = [one for place in places for one in told.objects(rdflib.URIRef(name), place)]
        elsewhere = {str(each) for one in subjects for each in (one, *told.objects(one))}
        for theme in set(item.themes) - MARKS - elsewhere:
            seen["theme"] += 1
            assert {theme, vocabularies.theme(theme)} & found["themes"], (name, theme)
        for one in item.contacts:
            if one.role in ("contact", "maintainer", None):
                seen["contact"] += 1
                known = [each for each in found["names"] if each in (one.name or "")]  # the organisation is in brackets
                assert known or not one.name, (name, one)
                assert not one.email or one.email in found["mail"], (name, one)
        has_own = any(one.license for one in item.resources)
        if item.license and not has_own and told.value(rdflib.URIRef(name), DCAT.distribution):
            seen["license"] += 1
            known = {item.license.uri, vocabularies.license(item.license.id), item.license.title, item.license.id}
            assert known & found["licenses"], (name, item.license)
    assert len(seen) == 5
    assert min(seen[each] for each in ("issued", "modified", "theme", "contact", "license")) >= 8, seen
