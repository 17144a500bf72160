"""Publishing a source's datasets, and what its archive holds, to a CKAN portal: judged by the portal's records."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.exceptions import AnswerError, RefusedWriteError
from crawlers.items import Agent, Capture, Checksum, Dataset, License, Period, Place, Resource
from crawlers.publish import datasets
from crawlers.publish.datasets import Datasets, created, package
from crawlers.publish.journal import Journal, Steps
from crawlers.publish.operations import Change, Field, PackageSync, Step, sync
from crawlers.publish.publication import Publication
from crawlers.publish.targets import file_facts
from crawlers.safety import strict_json
from crawlers.store.index.captures import line
from tests.conftest import Crawl, json_lines, options, scrapy
from tests.portal.data import organization
from tests.portal.writes import WRITE_TOKEN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.portal.portal import Portal

OWNER = organization(0)
SOURCE = "harvested"
STAMPS = ("metadata_modified", "metadata_created")


def run(output: Path, portal: Portal, *words: str, **settings: str) -> Crawl:
    os.environ["CKAN_API_KEY"] = WRITE_TOKEN
    ran = scrapy("publish", *words, "--to", portal.url, "--yes", *options(output, settings))
    return Crawl(ran.returncode, ran.stderr + ran.stdout, output / "publish-to-127.0.0.1")


@pytest.fixture
def harvest(crawl: Callable[..., Crawl]) -> Callable[..., Crawl]:
    def crawled(portal: Portal) -> Crawl:
        ran = crawl("ckan", portal, source=SOURCE, settings={"WITHDRAW_AFTER_DAYS": "0"})
        assert ran.code == 0, ran.errors
        return ran

    return crawled


@pytest.fixture
def catalogues(portal: Callable[..., Portal]) -> tuple[Portal, Portal]:
    """One that is harvested, and an empty one that is published to."""
    return portal(datasets=5), portal(datasets=0)


def extras(record: dict[str, Any]) -> dict[str, str]:
    return {one["key"]: one["value"] for one in record["extras"]}


def by_origin(portal: Portal) -> dict[str, dict[str, Any]]:
    """The packages that are not deleted, by the ids of their datasets."""
    found = [one for one in portal.packages().values() if one["state"] == "active"]
    return {extras(one)["guid"]: one for one in found}


def publish(output: Path, portal: Portal, *more: str) -> Crawl:
    return run(output, portal, "datasets", SOURCE, "--organization", OWNER["name"], *more)


def test_datasets_become_packages_once_and_follow_what_changes(catalogues, harvest, output) -> None:
    origin, target = catalogues
    harvest(origin)
    ran = publish(output, target)
    assert (ran.code, ran.report["verdict"], ran.report["counts"]["new"]) == (0, "complete", 5), ran.errors
    there = origin.packages()
    for key, record in by_origin(target).items():
        assert (record["title"], record["notes"]) == (there[key]["title"], there[key]["notes"].strip())
        assert record["owner_org"] == OWNER["id"]
        assert [one["url"] for one in record["resources"]] == [one["url"] for one in there[key]["resources"]]
        assert (extras(record)["crawl_source"], extras(record)["guid"]) == (SOURCE, key)
    target.reset()
    again = publish(output, target)
    assert (again.code, target.writes()) == (0, []), again.log
    first = min(there)
    fields = there[first] | {"title": "Another title", "metadata_modified": "2026-11-21T10:00:00"}
    origin.change(put=[fields | {"resources": there[first]["resources"][1:]}])
    kept = by_origin(target)[first]
    harvest(origin)
    ran = publish(output, target)
    assert ran.code == 0, ran.errors
    now = by_origin(target)[first]
    assert (now["title"], now["name"], now["id"]) == ("Another title", kept["name"], kept["id"])
    assert [one["id"] for one in now["resources"]] == [one["id"] for one in kept["resources"][1:]]


def test_withdrawn_datasets_are_deleted_and_can_come_back(catalogues, harvest, output) -> None:
    origin, target = catalogues
    harvest(origin)
    publish(output, target)
    gone = min(origin.packages())
    record = origin.packages()[gone]
    withdraw(output, [gone])
    ran = publish(output, target)
    assert (ran.code, ran.report["counts"]["withdrawn"]) == (0, 1), ran.errors
    assert gone not in by_origin(target)
    assert len(by_origin(target)) == 4
    origin.change(put=[record | {"notes": "It is back."}])
    harvest(origin)
    assert publish(output, target).code == 0
    assert by_origin(target)[gone]["notes"] == "It is back."


def withdraw(output: Path, ids: list[str]) -> None:
    """As a harvest does."""
    path = output / SOURCE / "manifest.jsonl"
    last = {one["dataset_id"]: one for one in json_lines(path)}
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(last[key] | {"status": "withdrawn", "reason": "deleted"}) + "\n" for key in ids)


def test_a_source_that_is_withdrawn_as_a_whole_is_not_deleted(catalogues, harvest, output) -> None:
    origin, target = catalogues
    harvest(origin)
    publish(output, target)
    withdraw(output, sorted(origin.packages())[:3])
    target.reset()
    ran = publish(output, target)
    assert (ran.code, ran.kinds(), target.writes()) == (4, [("fetch", "shrink")], []), ran.log
    assert "ERROR: 3 of 5 packages of harvested would be deleted, more than 50 %: nothing is published" in ran.log
    assert publish(output, target, "--max-deleted", "60").code == 0
    assert len(by_origin(target)) == 2


def test_a_fact_that_the_portal_s_schema_declares_goes_into_its_field(catalogues, harvest, output) -> None:
    origin, target = catalogues
    harvest(origin)
    target.change(schemas={"dataset": ["issued", "spatial", "language"]})
    ran = publish(output, target)
    assert ran.code == 0, ran.errors
    assert all(one["issued"] and "issued" not in extras(one) for one in by_origin(target).values())


def test_a_portal_that_drops_what_it_accepts_is_told_of(catalogues, harvest, output) -> None:
    origin, target = catalogues
    harvest(origin)
    target.fault(forgets="resources")
    ran = publish(output, target)
    assert ran.code == 4
    assert "has other values of: resources" in ran.errors[0]["error"]


def test_a_format_that_the_portal_calls_otherwise_is_no_change(catalogues, harvest, output) -> None:
    origin, target = catalogues
    first, record = min(origin.packages().items())
    names = ("csv", "Shapefile", "our own")
    changed = [one | {"format": name} for one, name in zip(record["resources"], names, strict=True)]
    origin.change(put=[record | {"resources": changed}])
    harvest(origin)
    assert publish(output, target).code == 0
    assert [one["format"] for one in by_origin(target)[first]["resources"]] == ["CSV", "SHP", "OURS"]
    ran = publish(output, target)
    assert (ran.code, ran.report["published"]["records"]) == (0, {"done": 1}), ran.errors
    origin.change(put=[record | {"resources": changed[:2]}])
    harvest(origin)
    assert publish(output, target).code == 0
    target.reset()
    again = publish(output, target)
    assert (again.code, target.writes()) == (0, []), again.log


def test_the_way_back_restores_every_package(catalogues, harvest, output) -> None:
    origin, target = catalogues
    harvest(origin)
    publish(output, target)
    before = {key: without_stamps(record) for key, record in by_origin(target).items()}
    for index, record in enumerate(list(origin.packages().values())):
        kept = record["resources"][1:] if index else []
        origin.change(put=[record | {"title": f"New {index}", "resources": kept, "tags": []}])
    harvest(origin)
    ran = publish(output, target)
    assert ran.code == 0, ran.errors
    assert {record["title"][:3] for record in by_origin(target).values()} == {"New"}
    undone = run(output, target, "--rollback", ran.report["published"]["run"])
    assert undone.code == 0, undone.log
    assert {key: without_stamps(record) for key, record in by_origin(target).items()} == before


@pytest.mark.parametrize("how", ["Validation Error", "HTTP 500"])
def test_a_package_that_is_refused_is_named_and_stops_no_other(catalogues, harvest, output, how) -> None:
    origin, target = catalogues
    origin.change(edit={min(origin.packages()): {"notes": "A\0B\x1b"}})
    harvest(origin)
    last = max(origin.packages())
    name = datasets.package_name(dataset(id=last, source=SOURCE, name=origin.packages()[last]["name"]))
    target.fault(**({"invalid": name} if how == "Validation Error" else {"write_fails": "5+:500"}))
    ran = run(output, target, "datasets", SOURCE, "--organization", OWNER["name"], RETRY_TIMES="1")
    assert (ran.code, ran.report["published"]["records"]) == (3, {"done": 4, "left_out": 1}), ran.log
    assert sorted(by_origin(target)) == sorted(origin.packages())[:-1]
    assert by_origin(target)[min(origin.packages())]["notes"] == "AB"
    (error,) = ran.errors
    assert (error["dataset_id"], how in error["error"]) == (name, True)
    target.fault(invalid=None, write_fails=None)
    assert publish(output, target).code == 0
    assert len(by_origin(target)) == 5


def test_a_token_that_may_not_write_undoes_all(catalogues, harvest, output) -> None:
    origin, target = catalogues
    harvest(origin)
    target.fault(write_fails="3:403")
    ran = publish(output, target)
    assert (ran.code, by_origin(target)) == (4, {}), ran.log


@pytest.mark.parametrize("unchanged", [0, 1])
def test_a_portal_that_refuses_all_is_not_asked_for_ever(tmp_path, unchanged) -> None:
    one = Change(operation="package_create", subject="p", title="P", wanted={"package": {}})
    changes = [replace(one, subject=f"p{number}", fields=[Field("name", None, "x")]) for number in range(12)]
    errors: list[AnswerError] = []
    with Journal(tmp_path / "journal.sqlite") as journal:
        steps = Steps(journal, journal.begin("run", "https://a.org", "title"))
        steps.add([*changes, *[one] * unchanged])
        told = {"settled": lambda _: None, "failed": lambda _, error: errors.append(error)}
        is_done = asyncio.run(Publication(portal=Refusing(), steps=steps, tries=1, **told).publish())
    assert (is_done, len(errors)) == ((True, 12) if unchanged else (False, 11))
    assert ("refuses the first 10 records" in str(errors[-1])) == (not unchanged)


class Refusing:
    """A portal that has nothing, and takes nothing."""

    async def read(self, *_: Any) -> None:
        return None

    async def write(self, *_: Any) -> None:
        raise RefusedWriteError("http", "HTTP 500", 500)


@pytest.mark.parametrize("edit", ["deleted", "private"])
def test_a_package_that_an_editor_has_deleted_or_hidden_stops_no_other(catalogues, harvest, output, edit) -> None:
    origin, target = catalogues
    harvest(origin)
    assert publish(output, target).code == 0
    first = min(by_origin(target))
    key = by_origin(target)[first]["id"]
    target.change(**({"remove": [key]} if edit == "deleted" else {"edit": {key: {"private": True}}}))
    origin.change(put=[one | {"notes": "New."} for one in list(origin.packages().values())])
    harvest(origin)
    ran = publish(output, target)
    assert (ran.code, ran.report["published"]["records"]) == (0, {"done": 4, "left_out": 1}), ran.errors
    assert "is deleted or hidden: purge or show it, or set CKAN_API_TOKEN" in ran.log


def test_a_portal_that_gives_few_rows_at_once_has_no_package_overlooked(portal, harvest, output) -> None:
    origin, target = portal(datasets=5), portal(datasets=0, rows_max=2)
    harvest(origin)
    assert publish(output, target).code == 0
    origin.change(put=[one | {"title": "New"} for one in list(origin.packages().values())])
    harvest(origin)
    ran = publish(output, target)
    assert (ran.code, ran.report["published"]["records"]) == (0, {"done": 5}), ran.errors
    assert [one["title"] for one in by_origin(target).values()] == ["New"] * 5


def test_a_package_of_another_source_is_none_of_ours(tmp_path) -> None:
    own, other, moved = (
        {"id": key, "extras": [{"key": name, "value": value} for name, value in {**named, "guid": "1"}.items()]}
        for key, named in {
            "p": {"harvest_source_id": SOURCE},
            "q": {"crawl_source": "x", "harvest_source_id": SOURCE},
            "s": {"crawl_source": SOURCE, "harvest_source_id": "y"},
        }.items()
    )
    target = Datasets(tmp_path, SOURCE, organization="o")
    for mine in (own, moved):
        answers = FoundPackages([other, mine, {"id": "r", "extras": [mine["extras"][0]]}, None])
        assert asyncio.run(target._packages(answers, ["1"])) == {"1": mine}


@pytest.mark.parametrize("meant", ["h1", "berne", "https://a.org/", "https://b.org/", "x"])
def test_a_harvest_source_is_one_that_the_portal_has(meant) -> None:
    about = {"type": "harvest", "title": "Bern's"}
    twice = [{**about, "id": key, "name": key, "url": "https://b.org/"} for key in ("h2", "h3")]
    odd = [None, {"id": "x", "type": "dataset"}, {"name": "x", "type": "harvest"}, {**about, "id": "other"}]
    listed = [{**about, "id": "h1", "name": "berne", "url": "https://a.org/"}, *twice, *odd]
    found = datasets._harvest_source(FoundPackages(listed), meant)
    if meant in ("https://b.org/", "x"):
        with pytest.raises(AnswerError, match=r"2 harvest sources have|no harvest source has"):
            asyncio.run(found)
    else:
        made = package(dataset(), "o", {}, asyncio.run(found))["extras"]
        assert (made["harvest_source_id"], made["harvest_source_title"]) == ("h1", "Bern's")


class FoundPackages:
    """A portal that pays no heed to the query."""

    url = "https://portal.example"

    def __init__(self, found: list[Any]) -> None:
        self.found = found

    async def read(self, _action: str, _parameters: dict[str, Any]) -> dict[str, Any]:
        return {"results": self.found, "count": len(self.found)}


def without_stamps(record: dict[str, Any]) -> dict[str, Any]:
    """Also without what is empty in a resource: CKAN can't make a field of it absent again."""
    linked = [{name: value for name, value in one.items() if value not in ("", None)} for one in record["resources"]]
    return {name: value for name, value in record.items() if name not in STAMPS} | {"resources": linked}


def test_sources_toml_says_who_owns_the_packages_and_where_facts_go(catalogues, harvest, output, tmp_path) -> None:
    origin, target = catalogues
    harvest(origin)
    target.change(schemas={"dataset": ["update_frequency"]})
    file = tmp_path / "sources.toml"
    text = f'[{SOURCE}]\nspider = "ckan"\narguments = {{ portal = "{origin.url}" }}\n[{SOURCE}.publish]\n'
    file.write_text(text + f'organization = "{OWNER["name"]}"\nfields = {{ modified = "update_frequency" }}\n')
    ran = run(output, target, "datasets", SOURCE, SOURCES_FILE=str(file))
    assert ran.code == 0, ran.errors
    assert all(record["update_frequency"] for record in by_origin(target).values())
    file.write_text(text + "fields = { modifed = 'x' }\n")
    wrong = run(output, target, "datasets", SOURCE, SOURCES_FILE=str(file))
    assert wrong.code == 1
    assert "there is no modifed. Did you mean modified?" in wrong.log


def test_an_organization_is_needed_and_must_be_there(catalogues, harvest, output) -> None:
    origin, target = catalogues
    harvest(origin)
    ran = run(output, target, "datasets", SOURCE)
    assert "need an organization that owns them: --organization NAME" in ran.log
    assert ran.code in (1, 4)
    ran = run(output, target, "datasets", SOURCE, "--organization", "nobody")
    assert ran.code == 4
    assert "has no organization 'nobody'" in ran.errors[-1]["error"]
    assert target.writes() == []


def test_a_package_of_an_earlier_version_is_found_and_claims_no_more(catalogues, harvest, output) -> None:
    """It had the source's name as harvest_source_id; and what an id contains is no query."""
    origin, target = catalogues
    odd = 'a"b\\c OR *'
    origin.change(put=[origin.packages()[min(origin.packages())] | {"id": odd}])
    harvest(origin)
    publish(output, target)
    ids = {key: one["id"] for key, one in by_origin(target).items()}
    names = {"harvest_source_id": SOURCE, "harvest_source_title": SOURCE, "harvest_object_id": "x", "by_hand": "y"}
    old = [{"key": key, "value": value} for key, value in names.items()]
    for one in by_origin(target).values():
        others = [each for each in one["extras"] if each["key"] != "crawl_source"]
        target.change(edit={one["id"]: {"extras": others + old}})
    ran = publish(output, target)
    assert (ran.code, ran.report["counts"]["new"]) == (0, 0), ran.errors
    assert {key: one["id"] for key, one in by_origin(target).items()} == ids
    now = [extras(one) for one in by_origin(target).values()]
    assert {one["crawl_source"] for one in now} == {SOURCE}
    assert not any(name.startswith("harvest_") for one in now for name in one)
    assert all(one["by_hand"] == "y" for one in now)


# The mapping


def dataset(**given: Any) -> Dataset:
    return Dataset(**({"source": "bern", "id": "https://example.org/d/1"} | given))


FULL = {
    "title": "Floods",
    "description": "Where.",
    "landing_page": "https://example.org/floods",
    "license": License(id="CC-BY-4.0"),
    "publisher": Agent(name="City of Bern"),
    "contacts": [Agent(name="Desk", email="desk@example.org")],
    "keywords": ["water/levels", "x"],
    "temporal": Period(start="2020", end=None),
    "spatial": [Place(name="Bern", geometry={"type": "Point", "coordinates": [7.4, 46.9]})],
    "frequency": "DAILY",
    "resources": [
        Resource(id="r", dataset_id="d", title="CSV", download_url="https://example.org/a.csv", size=0, format="CSV")
    ],
}


def test_what_is_not_known_is_in_no_field() -> None:
    made = package(dataset(), "o", {})
    assert made["fields"] == {"owner_org": "o"}
    assert created(dataset(), made)["title"] == "https://example.org/d/1"
    assert set(made["extras"]) == {"crawl_source", "guid"}


def test_all_that_is_known_is_in_the_package() -> None:
    made = created(dataset(**FULL), package(dataset(**FULL), "o", {"frequency": "update_frequency"}))
    assert made["name"].startswith("floods-")
    assert made["update_frequency"] == "DAILY"
    assert {one["key"] for one in made["extras"]} >= {"publisher_name", "spatial", "spatial_text", "temporal_start"}
    assert "frequency" not in {one["key"] for one in made["extras"]}
    assert made["tags"] == [{"name": "water levels"}]
    assert made["resources"] == [{"url": "https://example.org/a.csv", "name": "CSV", "format": "CSV", "size": 0}]
    assert (made["author"], made["maintainer_email"]) == ("City of Bern", "desk@example.org")


def test_a_package_as_its_portal_gives_it_needs_no_change() -> None:
    wanted = package(dataset(**FULL), "o", {})
    record = {
        **wanted["fields"],
        "id": "p",
        "extras": [{"key": key, "value": value} for key, value in reversed(wanted["extras"].items())],
        "tags": [{"id": "t", "name": name, "display_name": name} for name in wanted["tags"]],
        "resources": [{**wanted["resources"][0], "id": "r1", "package_id": "p", "position": 0, "size": "0"}],
    }
    assert sync(record, wanted).fields == []
    assert PackageSync().body(sync(record, wanted), record) is None
    other = record | {"resources": [{**record["resources"][0], "format": "XLS", "note": "the portal's own"}]}
    own = {name: value for name, value in other["resources"][0].items() if name != "position"}
    sent = PackageSync().body(sync(other, wanted), other)
    assert sent == {"id": "p", "resources": [{**own, "format": "CSV", "size": 0}]}


def test_what_ckan_would_refuse_does_not_undo_all() -> None:
    dates = Resource(id="r", dataset_id="d", access_url="u", issued="2026", modified="2026-11-15T11:00:00+01:00")
    made = package(dataset(version="v" * 101, contacts=[Agent(email="a;b@x,y")], resources=[dates]), "o", {})
    assert made["fields"] == {"owner_org": "o"}
    assert made["resources"] == [{"url": "u", "last_modified": "2026-11-15T10:00:00"}]


def test_resources_with_one_address_keep_their_own_ids_and_tags_of_a_vocabulary_stay() -> None:
    there = [{"id": name, "url": "u", "name": name, "description": f"Of {name}"} for name in ("csv", "json")]
    bound = {"name": "Transport", "vocabulary_id": "v"}
    record = {"id": "p", "resources": there, "tags": [bound, {"name": "old"}]}
    wanted = {"fields": {}, "extras": {}, "tags": ["new"], "resources": [{"url": "u", "name": "json"}]}
    sent = PackageSync().body(sync(record, wanted), record)
    assert sent == {"id": "p", "resources": [there[1]], "tags": [bound, {"name": "new"}]}
    assert PackageSync().lacking(sent, {**record, **sent}) == []


def test_the_way_back_empties_what_a_resource_lacked() -> None:
    change = sync({"id": "p"}, package(dataset(**FULL), "o", {}))
    record = {"id": "p", "resources": [{"id": "r", "url": "u", "size": None}]}
    step = Step(number=1, change=change, state="done", before=record, sent={"id": "p", "resources": []})
    (call,) = PackageSync().undo(step, None)
    lacked = dict.fromkeys(("name", "description", "mimetype", "size", "hash", "created", "last_modified"), "")
    assert call.body == {"id": "p", "resources": [{"id": "r", "url": "u"} | lacked]}


def test_two_datasets_never_have_one_name() -> None:
    names = {datasets.package_name(dataset(id=key, title="Floods")) for key in ("a", "b", "../c", "é")}
    assert len(names) == 4
    assert datasets.package_name(dataset(title="…")).startswith("dataset-")


# The archive


def test_an_archive_says_in_the_resources_what_it_keeps(catalogues, output) -> None:
    origin, _ = catalogues
    package_id, record = min(origin.packages().items())
    first, second, third = record["resources"][:3]
    kept = {
        "state": "kept",
        "sha256": "ab" * 32,
        "size": 12,
        "found_type": "text/csv",
        "kept_at": "2026-11-22T03:00:00Z",
    }
    put_captures(
        output / "archive-of-harvested",
        [
            capture(package_id, first, **kept, cache_url="https://files.example.org/ab"),
            capture(package_id, second, state="broken", sha256="cd" * 32),
            capture(package_id, third | {"url": "https://example.org/as-it-was.csv"}, **kept),
            capture("gone", {"id": "gone", "url": "https://example.org/gone.csv"}, **kept),
        ],
    )
    ran = run(output, origin, "archive", "harvested")
    assert (ran.code, ran.report["published"]["records"]) == (0, {"done": 1, "left_out": 2}), ran.errors
    now = origin.packages()[package_id]
    wanted = {"cache_url": "https://files.example.org/ab", "cache_last_updated": "2026-11-22T03:00:00", "size": 12}
    wanted |= {"mimetype": "text/csv", "hash": "ab" * 32, "hash_algorithm": "sha256"}
    assert now["resources"][0] == first | wanted
    assert now["resources"][1:] == record["resources"][1:]
    undone = run(output, origin, "--rollback", ran.report["published"]["run"])
    assert undone.code == 0, undone.errors


def capture(dataset_id: str, resource: dict[str, Any], **found: Any) -> Capture:
    where = {"source": "archive-of-harvested", "dataset_id": dataset_id, "resource_id": resource["id"]}
    return Capture(**where, url=resource["url"], time="2026-11-22T03:00:00Z", run="20261122T030000Z", **found)


def put_captures(folder: Path, captures: list[Capture]) -> None:
    """Write captures as an archive's crawl leaves them."""
    folder.mkdir(parents=True)
    (folder / "manifest.jsonl").touch()
    (folder / "captures.jsonl").write_bytes(b"".join(strict_json.line(line(one)) for one in captures))


def test_what_is_known_of_a_file_goes_into_its_resource() -> None:
    look = Capture(source="archive-of-x", dataset_id="d", resource_id="r", url="u", size=0, sha256="ab" * 32)
    assert file_facts(look) == {"size": 0, "hash": "ab" * 32, "hash_algorithm": "sha256"}
    assert Checksum(algorithm="sha256", value="ab").algorithm == file_facts(look)["hash_algorithm"]
