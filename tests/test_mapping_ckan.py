"""CKAN packages into items: real records where they are at hand, and hostile ones."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.items import Agent, Checksum, Dataset, License, Period, Place
from crawlers.kinds.ckan.mapping import dataset
from crawlers.records.licenses import license as license_of
from crawlers.records.record import FLAWS
from crawlers.records.values import date, email, url
from tests.conftest import as_json
from tests.golden import GOLDEN, inputs, load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REAL = Path(__file__).parents[2] / "shared" / "fixtures"
JUNK: list[Any] = [None, 0, 1.5, True, "", "x", [], {}, [None], {"a": 1}, float("nan")]
JUNK += [
    float("inf"),
    -(10**40),
    10**5000,
    "\ud800",
    "[" * 5000,
    [[]],
    {"en": {}},
    "NaN,1,2,3",
    {"key": [], "value": {}},
]


def mapped(record: dict[str, Any]) -> Dataset:
    return dataset(record, source="example", portal="https://data.example.org/")


def test_documents_are_the_records_themselves() -> None:
    record = load(GOLDEN / "ckan" / "full" / "input.json")
    before, resources = copy.deepcopy(record), record["resources"]
    item = mapped(record)
    assert all(one.document is given for one, given in zip(item.resources, resources, strict=True))
    assert item.document is record
    assert record == before


def nodes(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from nodes(one, (*path, key))


def replaced(record: dict[str, Any], path: tuple[Any, ...], junk: Any) -> dict[str, Any]:
    """A copy along the path, with junk at its end."""
    changed = copy.copy(record)
    changed[path[0]] = replaced(record[path[0]], path[1:], junk) if path[1:] else junk
    return changed


@pytest.mark.parametrize("case", ["full", "hdx", "hdx_old", "multilingual", "old_extras", "scheming"])
def test_never_raises(case: str) -> None:
    record = load(GOLDEN / "ckan" / case / "input.json")
    for path in nodes(record):
        if path != ("id",):
            for junk in JUNK:
                item = mapped(replaced(record, path, junk))
                assert len(item.flaws) <= FLAWS + 1
                as_json(item)


def test_every_field_may_be_junk_at_once() -> None:
    names = {path[-1] for case in inputs("ckan") for path in nodes(load(case)) if isinstance(path[-1], str)}
    for junk in JUNK:
        assert mapped(dict.fromkeys(names, junk) | {"id": "a"}).id == "a"
        extras = [{"key": name, "value": junk} for name in names]
        resource = dict.fromkeys(names, junk)
        assert mapped({"id": "a", "extras": extras, "resources": [resource, junk]}).id == "a"


def test_hostile_sizes_lose_nothing() -> None:
    tags = [{"name": f"tag {number}"} for number in range(34_866)]
    resources = [{"id": str(number), "url": f"https://example.org/{number}"} for number in range(8_327)]
    item = mapped({"id": "a", "tags": tags, "resources": resources})
    assert (len(item.keywords), len(item.resources), item.flaws) == (34_866, 8_327, [])


@pytest.mark.parametrize("reader", [date, url, email])
@pytest.mark.parametrize(
    "text",
    ["http://" + "a" * 60_000 + " b", "2020-01-01T00:00:00." + "1" * 60_000, " " * 60_000 + "a", "a@" * 60_000],
    ids=["host", "fraction", "space", "at signs"],
)
def test_long_texts_are_read_in_linear_time(reader: Callable[[str], str | None], text: str) -> None:
    start = process_time()
    reader(text)
    assert process_time() - start < 5


LICENSES = {
    ("cc-by", "http://creativecommons.org/licenses/by/3.0/igo/legalcode", None): "CC-BY-3.0-IGO",
    ("cc-by", "http://www.opendefinition.org/licenses/cc-by", None): "CC-BY-4.0",
    ("cc-by-sa", None, "Creative Commons Attribution Share-Alike (CC BY-SA)"): "CC-BY-SA-4.0",
    ("cc-by", "https://creativecommons.org/licenses/by/3.0/au/", None): "CC-BY-3.0-AU",
    ("cc-by", "https://creativecommons.org/licenses/by/3.0/es/", None): "cc-by",
    ("cc-by", "https://creativecommons.org/licenses/by/4.0/deed.fr", None): "CC-BY-4.0",
    ("cc-nc", "http://creativecommons.org/licenses/by-nc/2.0/", None): "CC-BY-NC-2.0",
    (None, "https://creativecommons.org/licenses/by-sa/4.0", None): "CC-BY-SA-4.0",
    (None, "http://creativecommons.org/publicdomain/zero/1.0/", None): "CC0-1.0",
    (None, "http://creativecommons.org/publicdomain/mark/1.0/", None): "CC-PDM-1.0",
    ("cc-zero", "http://www.opendefinition.org/licenses/cc-zero", None): "CC0-1.0",
    (None, "http://www.opendefinition.org/licenses/odc-by", None): "ODC-By-1.0",
    (None, "https://opendatacommons.org/licenses/odbl/summary/", None): "ODbL-1.0",
    (None, "https://opendatacommons.org/licenses/by/1-0/", None): "ODC-By-1.0",
    (None, "https://opendatacommons.org/licenses/pddl/1.0/", None): "PDDL-1.0",
    (None, "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/2/", None): "OGL-UK-2.0",
    ("uk-ogl", "http://reference.data.gov.uk/id/open-government-licence", None): "OGL-UK-3.0",
    (None, "https://www.etalab.gouv.fr/wp-content/uploads/2017/04/ETALAB-Licence-Ouverte-v2.0.pdf", None): "etalab-2.0",
    (None, None, "Licence Ouverte / Open Licence version 2.0"): "etalab-2.0",
    (None, "https://www.govdata.de/dl-de/zero-2-0", None): "DL-DE-ZERO-2.0",
    ("dl-de/by-2-0", None, None): "DL-DE-BY-2.0",
    ("http://dcat-ap.de/def/licenses/dl-by-de/2.0", None, None): "DL-DE-BY-2.0",
    ("http://dcat-ap.de/def/licenses/cc-by/4.0", None, None): "CC-BY-4.0",
    ("dl-de-by-1.0", None, None): "dl-de-by-1.0",
    (None, "http://publications.europa.eu/resource/authority/licence/CC_BY_4_0", None): "CC-BY-4.0",
    (None, "http://publications.europa.eu/resource/authority/licence/CC_BYNCND_4_0", None): "CC-BY-NC-ND-4.0",
    (None, "http://publications.europa.eu/resource/authority/licence/CC0", None): "CC0-1.0",
    (None, "http://publications.europa.eu/resource/authority/licence/ODC_BL", None): "ODbL-1.0",
    (None, "http://publications.europa.eu/resource/authority/licence/OGL_3_0", None): "OGL-UK-3.0",
    (None, "https://opensource.org/licenses/MIT", None): "MIT",
    (None, "https://opensource.org/license/apache-2-0", None): "Apache-2.0",
    (None, "https://www.gnu.org/licenses/gpl-3.0.html", None): "GPL-3.0-only",
    (None, "https://data.norge.no/nlod/no/2.0", None): "NLOD-2.0",
    ("cc-by-4.0", None, None): "CC-BY-4.0",
    ("CC BY-NC 4.0", None, None): "CC-BY-NC-4.0",
    (None, None, "Creative Commons Attribution 4.0 International"): "CC-BY-4.0",
    (None, None, "Creative Commons Attribution-NonCommercial-ShareAlike 3.0 Unported License"): "CC-BY-NC-SA-3.0",
    (None, None, "Creative Commons Attribution for Intergovernmental Organisations"): "CC-BY-3.0-IGO",
    (None, None, "Open Data Commons Open Database License (ODbL)"): "ODbL-1.0",
    (None, None, "Open Data Commons Public Domain Dedication and Licence (PDDL)"): "PDDL-1.0",
    (None, None, "Creative Commons CCZero"): "CC0-1.0",
    ("cc-by-igo", None, None): "CC-BY-3.0-IGO",
    ("hdx-odc-odbl", None, None): "ODbL-1.0",
    ("hdx-multi", None, "multiple licenses"): "hdx-multi",
    ("other-pd", None, "Other (Public Domain)"): "other-pd",
    ("cc-by", None, "Creative Commons Attribution 3.0 Spain"): "cc-by",
    ("gfdl", None, "GNU Free Documentation License"): "GFDL-1.3-or-later",
    ("x" * 10_000, None, None): "x" * 10_000,
}


@pytest.mark.parametrize(("names", "expected"), LICENSES.items(), ids=lambda value: str(value)[:60])
def test_license(names: tuple[str | None, str | None, str | None], expected: str) -> None:
    found = license_of(*names)
    assert found is not None
    assert found.id == expected


@pytest.mark.parametrize(
    "name", ["No license specified", "No Licence Given", "Keine Angabe", "k.A.", "N/A", "n. a.", "-"]
)
def test_no_license(name: str) -> None:
    assert (license_of(name), license_of(None, None, name)) == (None, None)
    assert license_of(name, "https://example.org/terms") == License(uri="https://example.org/terms")


def test_license_as_given_where_it_is_not_known() -> None:
    assert license_of(None, "https://example.org/terms", "Our terms") == License(
        uri="https://example.org/terms", title="Our terms"
    )
    assert license_of("notspecified", None, "License Not Specified") is None
    assert license_of(None, None, None) is None


def test_hdx_keeps_the_places_and_themes_of_the_record() -> None:
    shape = {"type": "Point", "coordinates": [36.8, -1.3]}
    record = {"id": "d", "dataset_date": "", "dataset_source": "OCHA", "resources": [], "spatial": json.dumps(shape)}
    record |= {"spatial_text": "Kenya", "theme": ["http://publications.europa.eu/resource/authority/data-theme/HEAL"]}
    record["groups"] = [{"name": "ken", "title": "Kenya"}, {"name": "uga", "title": "Uganda"}]
    item = mapped(record)
    assert item.spatial == [Place(name="Kenya", code="KEN", geometry=shape), Place(name="Uganda", code="UGA")]
    assert item.themes == ["http://publications.europa.eu/resource/authority/data-theme/HEAL"]
    del record["spatial_text"]
    assert mapped(record).spatial == [
        Place(geometry=shape),
        Place(name="Kenya", code="KEN"),
        Place(name="Uganda", code="UGA"),
    ]


SQUARE = {"type": "Polygon", "coordinates": [[[1, 2], [3, 2], [3, 4], [1, 4], [1, 2]]]}
GML = "<gml:Envelope><gml:lowerCorner>1 2</gml:lowerCorner><gml:upperCorner>3 4</gml:upperCorner></gml:Envelope>"


@pytest.mark.parametrize(
    "spatial",
    [
        *("POLYGON((1 2, 3 2, 3 4, 1 4))", "1 2 3 4", "ENVELOPE(1, 3, 4, 2)", GML, [1, 2, 3, 4]),
        *(SQUARE, json.dumps(SQUARE), {"type": "Polygon", "coordinates": [[["1", "2"], [3, 2], [3, 4], [1, 4]]]}),
    ],
    ids=["WKT", "a box", "an envelope", "GML", "a list", "GeoJSON", "a text of GeoJSON", "texts for numbers"],
)
def test_a_place_in_any_form(spatial: Any) -> None:
    record = {"id": "a", "title": "A", "resources": [], "spatial_uri": "http://sws.geonames.org/192950/"}
    for given in ({"spatial": spatial}, {"extras": [{"key": "spatial", "value": spatial}]}):
        item = mapped({**record, **given, "spatial_text": "Kenya"})
        place = Place(name="Kenya", uri="http://sws.geonames.org/192950/", geometry=SQUARE)
        assert (item.spatial, item.flaws) == ([place], [])


def test_places_of_many_forms_and_what_can_not_be_read() -> None:
    listed = [{"text": "Nairobi", "geom": GML}, {"uri": "http://a.org/1", "bbox": "GML"}, {"centroid": "POINT(1 2)"}]
    record = {"id": "a", "title": "A", "resources": [], "spatial": "POINT(500000 2)", "spatial_coverage": listed}
    item = mapped({**record, "geographic_coverage": ["Mombasa", "000000:"]})
    assert item.spatial == [
        Place(name="Nairobi", geometry=SQUARE),
        Place(uri="http://a.org/1"),
        Place(geometry={"type": "Point", "coordinates": [1, 2]}),
        Place(name="Mombasa"),
        Place(name="000000:"),
    ]
    assert [(flaw, flaw.field) for flaw in item.flaws] == [
        ("spatial 'POINT(500000 2)' is no place", "spatial"),
        ("spatial_coverage[1].bbox 'GML' is no place", "spatial_coverage[1].bbox"),
    ]


real = pytest.mark.skipif(not REAL.is_dir(), reason="the shared fixtures are not at hand")


@real
def test_real_hdx_with_a_shapefile() -> None:
    item = mapped(load(REAL / "OpenGeoMetadata+org.humdata" / "hdx_package_01ad0bc4.json"))
    assert item.temporal == Period(start="2018-01-01", end="2020-12-31")
    assert item.spatial == [Place(name="Ecuador", code="ECU")]
    assert item.frequency == "NEVER"
    assert item.metadata_modified == "2025-04-10T15:05:42.983941"
    assert item.modified == "2025-04-10T15:05:42.983941Z"
    assert item.license
    assert item.license.id == "CC-BY-SA-4.0"
    assert item.contacts == [Agent(name="Hub Latin America", role="creator")]
    assert (item.resources[0].size, item.resources[0].checksum, item.resources[0].format) == (20907, None, "SHP")
    assert item.flaws == []


@real
def test_real_hdx_without_sizes_and_with_etags() -> None:
    item = mapped(load(REAL / "OpenGeoMetadata+org.humdata" / "hdx_package_00090357_trimmed.json"))
    assert [(one.size, one.checksum) for one in item.resources] == [(None, None)] * 2
    assert [one.id for one in item.resources] == [
        "743ba00b-9771-497c-9ff7-626878c61dd3",
        "2520b81c-01a4-49d9-b6f8-ca9bed6badf7",
    ]
    assert item.flaws == []


@real
def test_real_hdx_with_another_methodology() -> None:
    item = mapped(load(REAL / "OpenGeoMetadata+org.humdata" / "hdx_package_00f21b9f_redacted.json"))
    assert item.provenance
    assert item.provenance.startswith("ADAM is an operational system")
    assert item.caveats is None
    assert item.resources[0].checksum == Checksum(algorithm="md5", value="62c3691f2558c7788f1c4fb923c0ad60")
    assert item.temporal == Period(start="2026-08-16", end="2026-08-16")
    assert item.flaws == []


@real
def test_real_hdx_search() -> None:
    (path,) = (REAL / "UN-OCHA+response-site").glob("*.json")
    (item,) = map(mapped, load(path)["result"]["results"])
    assert item.temporal == Period(start="2019-10-22", end=None)
    assert item.license
    assert item.license.id == "CC-BY-3.0-IGO"
    assert (item.frequency, item.provenance) == ("ANNUAL", "ITOS processing")
    assert [one.size for one in item.resources] == [142757, None]
    assert item.flaws == []


@real
def test_real_ckan_without_resources() -> None:
    item = mapped(load(REAL / "ckan+ckanext-harvest" / "package_show_dataset1.json")["result"])
    assert (item.title, item.keywords, item.themes) == ("Test Dataset1", ["test-tag"], ["group1"])
    assert item.flaws == ["the record has no list of resources"]


@real
def test_real_ckan_of_2014() -> None:
    item = mapped(load(REAL / "ckan+ckanext-harvest" / "package_show_cabinet-office-energy-use.json")["result"])
    assert item.publisher == Agent(
        name="Cabinet Office", uri="https://data.example.org/organization/cabinet-office", role="publisher"
    )
    assert item.landing_page == "http://www.carbonculture.net/orgs/cabinet-office/70-whitehall/"
    assert item.frequency == "OTHER"
    assert item.resources[0].checksum == Checksum(algorithm="sha1", value="6f1e452320dafbe9a5304ac77ed7a4ff79bfafc3")
    assert item.flaws == []


# Fields that few portals have


def test_a_resolution_in_metres_needs_no_other_field():
    record = {"id": "a", "resources": [{"id": "r", "url": "http://a.org/1", "spatial_resolution": "10"}]}
    item = dataset(record, source="town", portal="http://a.org")
    assert item.resources[0].spatial_resolution == 10


@pytest.mark.parametrize(
    "given", [{"state": "Ohio"}, {"extras": [{"key": "state", "value": "Ohio"}], "state": "active"}]
)
def test_a_state_needs_no_other_field(given):
    assert dataset({"id": "a", "resources": [], **given}, source="t", portal="http://a.org").state == "Ohio"


def test_the_state_of_the_record_itself_is_no_place():
    record = {"id": "a", "resources": [], "state": "active", "relationships_as_subject": []}
    assert dataset(record, source="town", portal="http://a.org").state is None
