"""An RDF source's own triples in an export: nothing of them is lost that the profile allows, whoever wrote them."""

from __future__ import annotations

import io
from dataclasses import replace
from time import process_time
from typing import TYPE_CHECKING, Any

import pyoxigraph
import pytest

from crawlers.items import License
from crawlers.records.rdf.document import document
from crawlers.records.rdf.graphs import graph
from crawlers.records.rdf.terms import ADMS, DCAT, DCATAP, DCT, FOAF, PROV, SKOS, TYPE, VCARD, XSD, Graph, Literal
from crawlers.store.export.description import description
from crawlers.store.export.nodes import Taken
from crawlers.store.export.output import WRITERS, held_items, held_sources
from tests.held import PORTAL, put, put_rdf

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.items import Dataset

EU = "http://publications.europa.eu/resource/authority"
RIVERS = "https://data.example.org/id/rivers"
OWN = f"""
@prefix adms: <{ADMS}> . @prefix dcat: <{DCAT}> . @prefix dcatap: <{DCATAP}> . @prefix dct: <{DCT}> .
@prefix foaf: <{FOAF}> . @prefix prov: <{PROV}> . @prefix skos: <{SKOS}> . @prefix vcard: <{VCARD}> .
@prefix xsd: <{XSD}> . @prefix own: <https://data.example.org/terms#> .

<{RIVERS}> a dcat:Dataset ;
    dct:title "Rivers"@en, "Flüsse"@de, "Rivières"@fr ; dct:description "All rivers"@en ; dct:identifier "rivers" ;
    dcatap:applicableLegislation <http://data.europa.eu/eli/reg_impl/2023/138/oj> ;
    dcatap:hvdCategory <http://data.europa.eu/bna/c_ac64a52d> ;
    dct:type <{EU}/dataset-type/STATISTICAL> ; dct:relation <https://example.org/lakes> ;
    dct:isReferencedBy <https://doi.org/10.1/x> ; dct:source <https://example.org/survey> ;
    dcat:inSeries <https://example.org/series> ; dct:hasVersion <https://example.org/rivers-2> ;
    adms:versionNotes "Lengths added" ; dcat:temporalResolution "P1D"^^xsd:duration ;
    dct:accrualPeriodicity <http://purl.org/cld/freq/daily> ; dct:issued "2018-06-01" ;
    dct:publisher <https://data.example.org/id/office>, <https://data.example.org/id/other> ;
    dcat:theme <{EU}/data-theme/ENVI>, "Water" ; dct:language "de", <{EU}/language/ENG> ;
    prov:qualifiedAttribution [ a prov:Attribution ; prov:agent <https://data.example.org/id/lab> ;
        dcat:hadRole <http://inspire.ec.europa.eu/role/processor> ] ;
    own:depth "3 m" ;
    dcat:distribution <{RIVERS}/csv>, [ a dcat:Distribution ; dcat:accessURL <https://example.org/api> ;
        dcatap:availability <{EU}/planned-availability/STABLE> ; dcat:accessService <https://example.org/wfs> ] .
<{RIVERS}/csv> a dcat:Distribution ; dcat:downloadURL <https://example.org/rivers.csv> ;
    dct:format "text/csv" ; dcat:byteSize "1024.0"^^xsd:decimal ; dct:title "Table"@en, "Tabelle"@de ;
    dct:license <https://creativecommons.org/licenses/by/4.0/> .
<https://example.org/wfs> a dcat:DataService ; dct:title "WFS" ; dcat:endpointURL <https://example.org/wfs?> .
<https://data.example.org/id/office> a foaf:Organization ; foaf:name "Office"@en, "Amt"@de .
<https://data.example.org/id/lab> a foaf:Agent ; foaf:name "Lab" .
"""


def items(output: Path) -> list[Dataset]:
    lost: list[str] = []
    found = list(held_items(output, held_sources(output), lost.append))
    assert not lost
    return found


def described(dataset: Dataset) -> tuple[Graph, str]:
    with Taken() as taken:
        return description(dataset, taken)


@pytest.fixture
def rivers(tmp_path: Path) -> Dataset:
    put_rdf(tmp_path, "nation", OWN.encode())
    (found,) = items(tmp_path)
    return found


def values(found: Graph, subject: str, name: str) -> list[Any]:
    return sorted(found[subject][name], key=str)


def test_what_no_item_holds_is_there(rivers: Dataset) -> None:
    found, subject = described(rivers)
    assert subject == RIVERS
    assert {one.language for one in found[subject][DCT + "title"]} == {"en", "de", "fr"}
    assert values(found, subject, DCATAP + "applicableLegislation") == [
        "http://data.europa.eu/eli/reg_impl/2023/138/oj"
    ]
    assert values(found, subject, DCATAP + "hvdCategory") == ["http://data.europa.eu/bna/c_ac64a52d"]
    assert values(found, subject, DCT + "type") == [f"{EU}/dataset-type/STATISTICAL"]
    assert values(found, subject, DCT + "relation") == ["https://example.org/lakes"]
    assert values(found, subject, ADMS + "versionNotes") == [Literal("Lengths added")]
    assert values(found, subject, DCAT + "temporalResolution") == [Literal("P1D", None, XSD + "duration")]
    assert values(found, subject, "https://data.example.org/terms#depth") == [Literal("3 m")]
    (attribution,) = found[subject][PROV + "qualifiedAttribution"]
    assert values(found, attribution, PROV + "agent") == ["https://data.example.org/id/lab"]
    service = next(node for node in found.values() if DCAT + "accessService" in node)
    assert service[DCATAP + "availability"] == [f"{EU}/planned-availability/STABLE"]
    assert service[DCAT + "accessService"] == ["https://example.org/wfs"]
    assert values(found, "https://example.org/wfs", DCT + "title") == [Literal("WFS")]


def test_values_become_what_the_profile_wants(rivers: Dataset) -> None:
    found, subject = described(rivers)
    assert values(found, subject, DCT + "accrualPeriodicity") == [f"{EU}/frequency/DAILY"]
    assert values(found, subject, DCT + "issued") == [Literal("2018-06-01", None, XSD + "date")]
    assert values(found, subject, DCT + "language") == [f"{EU}/language/DEU", f"{EU}/language/ENG"]
    file = found[f"{RIVERS}/csv"]
    assert file[DCT + "format"] == ["https://www.iana.org/assignments/media-types/text/csv"]
    assert file[DCAT + "byteSize"] == [Literal("1024", None, XSD + "nonNegativeInteger")]
    assert file[DCAT + "downloadURL"] == ["https://example.org/rivers.csv"]
    assert DCAT + "accessURL" not in file, "nobody gave one"
    assert FOAF + "Agent" in found["https://data.example.org/id/office"][TYPE]
    environment, water = values(found, subject, DCAT + "theme")
    assert environment == f"{EU}/data-theme/ENVI"
    assert values(found, water, SKOS + "prefLabel") == [Literal("Water")]


def test_every_property_of_the_source_keeps_its_name_and_its_values(rivers: Dataset) -> None:
    found, subject = described(rivers)
    publishers = ["https://data.example.org/id/office", "https://data.example.org/id/other"]
    assert values(found, subject, DCT + "publisher") == publishers
    assert values(found, subject, DCT + "hasVersion") == ["https://example.org/rivers-2"]
    assert values(found, subject, DCT + "source") == ["https://example.org/survey"]
    assert values(found, subject, DCAT + "inSeries") == ["https://example.org/series"]


@pytest.mark.parametrize(
    "says",
    [
        'dcat:accessURL "https://example.org/f.csv"^^xsd:anyURI',
        'dcat:accessURL "https://example.org/f.csv" ; dcat:downloadURL <https://example.org/f.csv>',
        'dcat:downloadURL "https://example.org/f.csv"',
    ],
)
@pytest.mark.parametrize("name", [f"<{RIVERS}/f>", "_:f"])
def test_a_file_whose_address_is_a_text_is_kept_with_it(says: str, name: str, tmp_path: Path) -> None:
    """Its dataset's page does not stand for it."""
    given = f"""@prefix dcat: <{DCAT}> . @prefix dct: <{DCT}> . @prefix xsd: <{XSD}> .
    <{RIVERS}> a dcat:Dataset ; dct:title "Rivers" ; dcat:landingPage <{RIVERS}> ; dcat:distribution {name} .
    {name} a dcat:Distribution ; dct:title "Table" ; {says} ."""
    put_rdf(tmp_path, "nation", given.encode())
    found, subject = described(*items(tmp_path))
    (file_,) = values(found, subject, DCAT + "distribution")
    for each in ("accessURL", "downloadURL"):
        wanted = ["https://example.org/f.csv"] if each in says else []
        assert found[file_].get(DCAT + each, []) == wanted, each
    assert values(found, file_, DCT + "title") == [Literal("Table")]


def test_what_the_operator_set_stands_before_what_the_source_said(rivers: Dataset) -> None:
    rivers.title, rivers.license, rivers.set_by_operator = "Our rivers", License(id="CC0-1.0"), ["title", "license"]
    found, subject = described(rivers)
    assert found[subject][DCT + "title"] == [Literal("Our rivers")]
    assert found[subject][DCT + "license"] == ["http://spdx.org/licenses/CC0-1.0"]


def test_another_dataset_in_a_document_is_only_cited(rivers: Dataset) -> None:
    nodes = graph(pyoxigraph.parse(OWN.encode(), format=pyoxigraph.RdfFormat.TURTLE))
    other = "https://data.example.org/id/victim"
    nodes[RIVERS][DCT + "relation"] = [other]
    nodes[other] = {TYPE: [DCAT + "Dataset"], DCT + "title": [Literal("Taken over")]}
    rivers.document = document(nodes, RIVERS)
    found, _ = described(rivers)
    assert other not in found


def test_a_file_of_two_datasets_stays_one_unless_their_sources_differ(rivers: Dataset) -> None:
    twin = replace(rivers, id="twin", uri=f"{PORTAL}/id/twin")
    stranger = replace(rivers, id="stranger", uri=f"{PORTAL}/id/stranger", source="town")
    with Taken() as taken:
        files = [
            found[name][DCAT + "distribution"]
            for found, name in (description(one, taken) for one in (rivers, twin, stranger))
        ]
    assert [f"{RIVERS}/csv" in one for one in files] == [True, True, False]
    assert [len(one) for one in files] == [2, 2, 2]


HOSTILE: list[dict[str, Any]] = [
    {DCT + "title": [{"@value": "\x00"}], DCT + "description": [{"@id": "_:x"}]},
    {DCT + "title": [{"@value": "t"}], "http://a.org/123": [{"@value": "x"}], "mailto:9": [{"@value": "x"}]},
    {DCT + "title": [{"@value": "t"}], DCAT + "distribution": [{"@id": "_:n1"}, {"@id": RIVERS}, {"@value": "x"}]},
    {DCT + "title": [{"@value": "t"}], DCT + "publisher": [{"@id": RIVERS}, {"@id": "dct:title"}, {"@id": "geo:1,2"}]},
    {
        DCT + "title": [{"@value": "t"}],
        "@type": [DCAT + "Catalog", DCAT + "Distribution", "x y"],
        DCAT + "dataset": "z",
    },
    {DCT + "title": [{"@value": "t", "@language": "e_n"}, {"@value": "u", "@type": "http://a b"}, {"@value": 1e400}]},
    {DCT + "spatial": [{"@type": DCT + "Location", "http://www.w3.org/ns/locn#geometry": [{"@value": "{"}] * 3}]},
    {DCT + "license": [{"@list": [{"@value": str(n)} for n in range(50)]}], DCT + "issued": [{"@value": "9" * 99}]},
    {DCAT + "contactPoint": [{"@id": "_:a", DCT + "relation": [{"@id": "_:b", DCT + "relation": [{"@id": "_:a"}]}]}]},
    {
        DCAT + "distribution": [
            {"http://spdx.org/rdf/terms#checksum": [{"http://spdx.org/rdf/terms#checksumValue": "zz"}]}
        ]
    },
]


@pytest.mark.parametrize("said", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("format_", ["dcat", "ttl", "jsonld"])
def test_no_document_breaks_an_export(said: dict[str, Any], format_: str, tmp_path: Path) -> None:
    put(tmp_path, "nation", RIVERS, {"@id": RIVERS, "@type": DCAT + "Dataset"} | said, by="rdf")
    put_rdf(tmp_path, "nation", OWN.replace(RIVERS, f"{RIVERS}/2").replace('"rivers"', '"second"').encode())
    body = io.BytesIO()
    WRITERS[format_](iter(items(tmp_path)), body)
    forms = {"dcat": "RDF_XML", "ttl": "TURTLE", "jsonld": "JSON_LD"}
    found = graph(pyoxigraph.parse(body.getvalue(), format=getattr(pyoxigraph.RdfFormat, forms[format_])))
    listed = [each for node in found.values() for each in node.get(DCAT + "dataset", ())]
    assert len(set(listed)) == 2
    assert all(DCAT + "Dataset" in found[str(each)][TYPE] for each in listed)
    assert sum(DCAT + "Catalog" in node.get(TYPE, ()) for node in found.values()) == 1


@pytest.mark.slow
def test_a_description_of_twenty_thousand_values_takes_seconds(rivers: Dataset) -> None:
    """Squared it would take minutes; the bound is processor time."""
    nodes: Graph = {RIVERS: {TYPE: [DCAT + "Dataset"], DCT + "title": [Literal("t")]}}
    for name in (DCT + "publisher", DCAT + "theme", DCT + "conformsTo"):
        nodes[RIVERS][name] = [Literal(f"{number}") for number in range(20_000)]
    rivers.document = document(nodes, RIVERS)
    begun = process_time()
    found, subject = described(rivers)
    assert process_time() - begun < 15
    assert len(found[subject][DCT + "publisher"]) == 20_000


def test_what_leads_to_itself_in_a_million_ways_takes_seconds(rivers: Dataset) -> None:
    """Each of 60 layers leads to both nodes of the next one; the bound is processor time."""
    said: Graph = {RIVERS: {TYPE: [DCAT + "Dataset"], DCT + "title": [Literal("t")], DCT + "source": ["_:0a", "_:0b"]}}
    for layer in range(60):
        for side in "ab":
            named = {name: [Literal("t")] for name in (DCT + "title", DCT + "description")}
            said[f"_:{layer}{side}"] = named | {DCT + "source": [f"_:{layer + 1}a", f"_:{layer + 1}b"]}
    rivers.document = document(said, RIVERS)
    begun = process_time()
    found, _ = described(rivers)
    assert process_time() - begun < 15
    assert sum(DCT + "source" in node for node in found.values()) == 121
