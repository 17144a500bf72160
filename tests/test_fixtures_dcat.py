"""Files of real catalogues and of their tools' own tests, where they are at hand: the fields that are known of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph
import pytest

from crawlers.items import Agent, Checksum, License, Period
from crawlers.records.dcat import dataset
from crawlers.records.rdf.graphs import graph
from crawlers.records.rdf.terms import DCAT, TYPE

if TYPE_CHECKING:
    from crawlers.items import Dataset

REAL = Path(__file__).parents[2] / "shared" / "fixtures"
UDATA = "opendatateam+udata/dcat"
CKAN = "ckan+ckanext-dcat"
FORMATS = {
    ".jsonld": pyoxigraph.RdfFormat.JSON_LD,
    ".rdf": pyoxigraph.RdfFormat.RDF_XML,
    ".ttl": pyoxigraph.RdfFormat.TURTLE,
    ".xml": pyoxigraph.RdfFormat.RDF_XML,
}

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="the shared fixtures are not at hand")


def datasets(file: str, language: str | None = None) -> dict[str, Dataset]:
    """By id; the whole file serves as the description of each."""
    path = REAL / file
    found = graph(pyoxigraph.parse(path=str(path), format=FORMATS[path.suffix], base_iri="http://data.test.org/"))
    subjects = [subject for subject, node in found.items() if DCAT + "Dataset" in node.get(TYPE, [])]
    items = [dataset(found, subject, source="example", language=language) for subject in subjects]
    return {item.id: item for item in items}


TITLES = {
    f"{UDATA}/catalog.xml": [f"Dataset {number}" for number in range(1, 5)],
    f"{UDATA}/flat.jsonld": ["Dataset 1", "Dataset 2", "Dataset 3"],
    f"{UDATA}/bnodes.jsonld": ["Dataset 1", "Dataset 2", "Dataset 3"],
    f"{UDATA}/nested.jsonld": ["Dataset 1"],
    f"{UDATA}/partial-collection-1.jsonld": ["Dataset 1", "Dataset 2", "Dataset 3"],
    f"{UDATA}/partial-collection-2.jsonld": ["Dataset 1"],
    f"{UDATA}/series.xml": ["DCE – Bassin Artois-Picardie - Etat global"],
    f"{UDATA}/udata.xml": [
        "Bureaux de vote - Vanves",
        "Ville de Vanves - Part des véhicules à faibles émissions dans le renouvellement du parc",
    ],
    f"{CKAN}/dcat/catalog.rdf": ["Example dataset 1", "Example dataset 2"],
    f"{CKAN}/dcat/catalog_pod.jsonld": ["U.S. Widget Manufacturing Statistics"],
    f"{CKAN}/dcat/dataset_gov_de.rdf": ["Liefer- und Abholservices (Gastronomie)"],
    f"{CKAN}/dcat/dataset_multilingual.ttl": ["Test DCAT dataset"],
    f"{CKAN}/harvest_inline/rdf_content_pagination_1.rdf": ["Example dataset 1", "Example dataset 2"],
    f"{CKAN}/harvest_inline/rdf_content_pagination_2.rdf": ["Example dataset 3", "Example dataset 4"],
    f"{CKAN}/harvest_inline/ttl_commas_in_keywords.ttl": ["Example dataset 1", "Example dataset 2"],
}


@pytest.mark.parametrize(("file", "titles"), TITLES.items(), ids=[Path(file).name for file in TITLES])
def test_titles_and_no_flaws(file: str, titles: list[str]) -> None:
    found = datasets(file).values()
    assert sorted(str(item.title) for item in found) == titles
    assert [item.flaws for item in found] == [[]] * len(titles)


def test_udata_catalogue_with_distributions_beside_the_datasets() -> None:
    first = datasets(f"{UDATA}/catalog.xml")["1"]
    assert first.description == "# h1 title\n\n## h2 title\n\n**and bold text**"
    assert first.contacts == [
        Agent(
            name="Organization contact",
            uri="http://data.test.org/contacts/1",
            email="hello@its.me",
            url="https://data.support.com",
            role="contact",
        )
    ]
    assert first.frequency is None
    assert first.license == License(title="Licence Ouverte Version 1.0")
    assert first.provenance == "Description de la provenance des données du dataset 1"
    file, _, part, service = first.resources
    assert (file.title, file.format, file.media_type, file.size) == ("Resource 1-1", "JSON", "application/json", 12323)
    assert (file.issued, file.modified) == ("2018-03-12T18:59:02.737480Z", "2018-03-14T18:59:02.737480Z")
    assert (part.title, part.url) == ("Resource 1-3", "http://data.test.org/datasets/1/resources/3")
    assert (service.title, service.format) == ("Resource 1-4", "WMS")


def test_udata_catalogue_what_is_said_elsewhere_in_the_graph() -> None:
    second = datasets(f"{UDATA}/catalog.xml")["2"]
    assert second.temporal == Period(start="2016-01-01T00:00:00Z", end="2016-12-05T00:00:00Z")
    assert (second.rights, second.resources[1].rights) == ("Licence Ouverte Version 2.0", "Rights on nested resource")


def test_udata_catalogue_literals_and_relative_addresses() -> None:
    """The licence is the one that its title says, not the 1.0 that is much like it."""
    third = datasets(f"{UDATA}/catalog.xml")["3"]
    assert third.frequency == "DAILY"
    assert third.temporal == Period(start="2016-01-01T00:00:00Z", end="2016-12-05T00:00:00Z")
    assert (third.issued, third.version) == ("2016-12-14T18:59:02.737480Z", "1.0")
    assert third.license == License(id="etalab-2.0", title="Licence Ouverte Version 2.0")
    assert [one.id for one in third.resources] == ["http://data.test.org/datasets/3/resources/1"]


def test_udata_catalogue_access_rights_that_differ() -> None:
    fourth = datasets(f"{UDATA}/catalog.xml")["4"]
    assert fourth.access_rights is None
    assert len({one.rights for one in fourth.resources}) == 2


@pytest.mark.parametrize("file", ["flat.jsonld", "bnodes.jsonld"])
def test_udata_json_ld(file: str) -> None:
    found = datasets(f"{UDATA}/{file}")
    assert [len(found[id_].resources) for id_ in ("1", "2", "3")] == [2, 2, 1]
    assert {item.issued for item in found.values()} == {"2016-12-14T18:59:02.737480Z"}
    assert {item.modified for item in found.values()} == {"2016-12-14T19:01:24.184120Z"}
    assert found["1"].keywords == ["Tag 1", "Tag 2", "Tag 3", "Tag 4"]
    assert found["1"].themes == ["Theme 1", "Theme 2"]


def test_udata_blank_nodes() -> None:
    first = datasets(f"{UDATA}/bnodes.jsonld")["1"]
    resource = first.resources[0]
    assert (first.uri, first.landing_page) == (None, None)
    assert (resource.title, resource.description) == ("Resource 1-1", "A JSON resource")
    assert (resource.format, resource.media_type) == ("JSON", "application/json")
    assert not resource.id.startswith("_:")


def test_udata_nested_json_ld() -> None:
    item = datasets(f"{UDATA}/nested.jsonld")["1"]
    assert item.temporal == Period(start="2016-01-01T00:00:00Z", end="2016-12-05T00:00:00Z")
    assert item.resources[0].checksum == Checksum(algorithm="sha1", value="fb4106aa286a53be44ec99515f0f0421d4d7ad7d")


def test_udata_own_export() -> None:
    found = datasets(f"{UDATA}/udata.xml")
    item = next(one for one in found.values() if one.title == "Bureaux de vote - Vanves")
    assert len(item.resources) == 4
    assert "bureaux-de-vote" in item.keywords
    assert item.issued == item.modified == "2019-04-19T12:21:56Z"
    assert item.license is None
    assert [(agent.name, agent.role) for agent in item.contacts] == [
        ("Vanves", "creator"),
        ("Ville de Vanves", "distributor"),
    ]


def test_geonetwork_series() -> None:
    (item,) = datasets(f"{UDATA}/series.xml").values()
    assert (item.frequency, item.languages, [one.name for one in item.contacts]) == (
        "AS_NEEDED",
        ["fr"],
        ["Cordier (Ifremer)"],
    )
    assert [one.format for one in item.resources] == ["WFS", "WMS"]


def test_ckan_catalogue() -> None:
    item = datasets(f"{CKAN}/dcat/catalog.rdf")["https://data.some.org/catalog/datasets/1"]
    assert item.keywords == ["pollution", "stats"]
    assert [one.format for one in item.resources] == [None, "CSV", "PDF"]
    assert item.publisher == Agent(
        name="Publishing Organization for dataset 1", email="contact@some.org", role="publisher"
    )


def test_ckan_data_json_as_json_ld() -> None:
    item = datasets(f"{CKAN}/dcat/catalog_pod.jsonld")["widgets-0001"]
    assert item.contacts == [Agent(name="Jane Doe", email="jane.doe@agency.gov", role="contact")]
    assert item.publisher == Agent(name="Widget Services", email="widget.services@agency.gov", role="publisher")
    assert len(item.resources) == 4
    assert (item.frequency, item.languages) == ("ANNUAL", ["en-US"])
    assert item.license
    assert item.license.id == "CC0-1.0"


def test_german_federal_record() -> None:
    (item,) = datasets(f"{CKAN}/dcat/dataset_gov_de.rdf").values()
    assert len(item.resources) == 9
    assert (item.access_rights, item.languages) == ("PUBLIC", ["de"])
    assert {one.license.id for one in item.resources if one.license} == {"CC0-1.0"}
    assert {one.checksum.algorithm for one in item.resources if one.checksum} == {"sha256"}
    assert {one.format for one in item.resources} >= {"CSV", "GEOJSON", "GML", "KML", "WFS", "WMS", "XLSX"}


@pytest.mark.parametrize(
    ("language", "title", "contacts"),
    [
        (None, "Test DCAT dataset", ["Contact 1", "Contact 2"]),
        ("ca", "Conjunt de dades de prova DCAT", ["Contacte 1", "Contacte 2"]),
        ("es-MX", "Conjunto de datos de prueba DCAT", ["Contacto 1", "Contacto 2"]),
    ],
)
def test_a_record_in_three_languages(language: str | None, title: str, contacts: list[str]) -> None:
    (item,) = datasets(f"{CKAN}/dcat/dataset_multilingual.ttl", language).values()
    assert (item.title, [one.name for one in item.contacts]) == (title, contacts)
    assert len(item.resources) == 1


def test_commas_in_keywords() -> None:
    found = datasets(f"{CKAN}/harvest_inline/ttl_commas_in_keywords.ttl")
    keywords = [item.keywords for item in found.values()]
    assert keywords == [["Utbildning", "kontaktuppgifter"], ["Trees", "forest", "shrub"]]
