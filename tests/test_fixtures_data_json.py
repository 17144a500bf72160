"""The shared data.json files, where they are at hand: each gives what its own project says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from crawlers.items import Agent
from crawlers.records.data_json import dataset, identity, recognised, records

FIXTURES = Path(__file__).parents[2] / "shared" / "fixtures"
HARVESTER = "GSA+datagov-harvester/dcatus"

pytestmark = pytest.mark.skipif(not FIXTURES.is_dir(), reason="the shared fixtures are not at hand")


def load(name: str) -> Any:
    return json.loads((FIXTURES / name).read_text(encoding="utf-8"))


def ids(document: Any) -> list[str | None]:
    return [identity(one.value) for one in records(document)]


def test_dcat_us_1_1() -> None:
    document = load(f"{HARVESTER}/dcatus.json")
    items = [dataset(one.value, source="cftc", id=identity(one.value) or "") for one in records(document)]
    assert [item.id for item in items] == [f"cftc-dc{number}" for number in range(1, 8)]
    assert [item.frequency for item in items] == ["WEEKLY", "MONTHLY", "WEEKLY", "MONTHLY", None, "WEEKLY", "MONTHLY"]
    assert [item.modified for item in items if item.modified] == ["2011-06-30"]
    assert items[0].contacts == [Agent(name="Harold W. Hild", email="hhild@CFTC.GOV", role="contact")]
    assert all(item.publisher and item.publisher.name == "U.S. Commodity Futures Trading Commission" for item in items)
    assert [len(item.resources) for item in items] == [1] * 7
    assert [item.flaws for item in items] == [[]] * 7


def test_a_record_without_identifier() -> None:
    (one,) = records(load(f"{HARVESTER}/dcatus_no_identifier.json"))
    assert identity(one.value) is None
    assert one.value["title"] == "Commitment of Traders"


def test_dcat_us_3_catalogues_in_catalogues() -> None:
    document = load(f"{HARVESTER}/dcatus3_0_nested_catalog.json")
    base = "https://example.gov/datasets/"
    assert ids(document) == [f"{base}nested-parent", f"{base}nested-child", f"{base}nested-grandchild"]


def test_dcat_us_as_json_ld() -> None:
    (one,) = records(load("ckan+ckanext-dcat/dcat/catalog_pod.jsonld"))
    item = dataset(one.value, source="agency", id="widgets")
    assert item.title == "U.S. Widget Manufacturing Statistics"
    assert item.contacts == [Agent(name="Jane Doe", email="jane.doe@agency.gov", role="contact")]
    assert item.publisher
    assert item.publisher.name == "Widget Services"
    assert len({resource.id for resource in item.resources}) == 4
    assert item.flaws == []


def test_which_of_all_files_are_data_json() -> None:
    found = set()
    for path in FIXTURES.rglob("*.json*"):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue
        if recognised(document):
            found.add(path.relative_to(FIXTURES).as_posix())
    names = ("dcatus.json", "dcatus3_0_nested_catalog.json", "dcatus_no_identifier.json")
    assert found == {"ckan+ckanext-dcat/dcat/catalog_pod.jsonld", *(f"{HARVESTER}/{name}" for name in names)}
