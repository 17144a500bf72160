"""The main job: what `scrapy crawl hdx` and `scrapy crawl ckan` leave on disk, and what they ask for."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from tests.conftest import json_lines
from tests.portal.data import export_dataset, export_resource

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_hdx_writes_the_listing_and_an_export_per_resource(crawl, portal):
    site = portal(datasets=50, resources=2, rows_max=20)
    done = crawl("hdx", site)
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", [])
    assert done.ids() == site.ids()
    resources = done.documents("resource_metadata")
    for document in done.documents().values():
        for resource in document["resources"]:
            name = next(name for name in resources if name.startswith(f"{document['id']}__{resource['id']}"))
            assert resources[name] == export_resource(document, resource)
    assert len(resources) == 100
    assert site.requests("download_metadata") == 100
    assert site.requests("package_search") == 3


def test_a_query_finds_what_it_names(crawl, portal):
    done = crawl("hdx", portal(), q="cod-ab-global")
    assert [document["name"] for document in done.documents().values()] == ["cod-ab-global"]
    assert done.report["arguments"]["q"] == "cod-ab-global"
    assert done.lines[-2].startswith("hdx: complete. 1 of 1 datasets listed; documents: 4 new")


@pytest.mark.parametrize(
    ("level", "exports"),
    [("snapshot", (0, 0)), ("dataset", (20, 0)), ("resource", (0, 60)), ("both", (20, 60))],
)
def test_level_says_which_exports(crawl, portal, level, exports):
    site = portal(datasets=20)
    done = crawl("hdx", site, level=level)
    assert (len(done.documents("dataset_metadata")), len(done.documents("resource_metadata"))) == exports
    assert site.requests("download_metadata") == sum(exports)
    for document in done.documents("dataset_metadata").values():
        package = next(one for one in done.documents().values() if one["id"] == document["id"])
        assert document == export_dataset(package)


def test_ckan_takes_documents_from_the_listing(crawl, portal):
    site = portal()
    done = crawl("ckan", site)
    assert (done.code, done.ids(), site.requests()) == (0, site.ids(), 4)


@pytest.mark.parametrize("prefix", ["/data", "/deep/path"])
def test_ckan_below_a_path(crawl, portal, prefix):
    done = crawl("ckan", portal(datasets=20, prefix=prefix), level="both")
    assert (done.code, len(done.documents())) == (0, 20)
    assert {line["metadata_source"] for line in done.manifest} == {"package_search", "package_show", "resource_show"}


def test_ckan_exports_are_its_own_records(crawl, portal):
    done = crawl("ckan", portal(datasets=20), level="both")
    packages = {document["id"]: document for document in done.documents().values()}
    assert all(packages[document["id"]] == document for document in done.documents("dataset_metadata").values())
    resources = {one["id"]: one for package in packages.values() for one in package["resources"]}
    assert {one["id"]: one for one in done.documents("resource_metadata").values()} == resources


def test_a_locale_in_the_address(crawl, portal):
    site = portal(datasets=20)
    site.url += "/de"
    assert crawl("ckan", site).code == 0


def test_a_locale_that_does_not_reach_the_api(crawl, portal):
    site = portal(datasets=20, faults=("no_locale",))
    site.url += "/de"
    done = crawl("ckan", site)
    assert (done.code, len(done.documents())) == (0, 20)


@pytest.mark.parametrize("fault", ["old", "post_only", "post_please"])
def test_old_ckan_is_asked_another_way(crawl, portal, fault):
    done = crawl("ckan", portal(datasets=60, rows_max=20, faults=(fault,)), level="dataset", max_datasets="50")
    assert (done.code, len(done.documents()), len(done.documents("dataset_metadata"))) == (0, 50, 50)


def test_a_manifest_line_for_each_document(crawl, portal):
    done = crawl("hdx", portal(datasets=20), level="both")
    assert len(done.manifest) == len({line["metadata_file"] for line in done.manifest}) == 20 + 20 + 60
    for line in done.manifest:
        assert (
            list(line)
            == (
                "kind dataset_id dataset_name dataset_title resource_id resource_name resource_format "
                "metadata_source metadata_file metadata_url time run status sha256 bytes metadata_modified"
            ).split()
        )
        body = (done.folder / line["metadata_file"]).read_bytes()
        assert (line["sha256"], line["bytes"]) == (hashlib.sha256(body).hexdigest(), len(body))
        assert (line["status"], line["run"]) == ("new", done.report["run"])
        assert STAMP.fullmatch(line["time"])
        assert (line["resource_id"] is not None) == (line["kind"] == "resource_metadata")
        folder = {"dataset": "datasets"}.get(line["kind"], line["kind"])
        name = rf"{line['dataset_id']}(__{line['resource_id']})?(__[a-z0-9-]+)?\.json"
        assert re.fullmatch(f"{folder}/{name}", line["metadata_file"])


def test_a_document_is_verbatim_and_readable(crawl, portal):
    done = crawl("ckan", portal(datasets=30))
    for path in (done.folder / "datasets").iterdir():
        text = path.read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False) + "\n"


def test_nothing_is_left_but_the_contract(crawl, portal, output):
    done = crawl("hdx", portal(datasets=5))
    assert sorted(path.name for path in output.iterdir()) == ["hdx", "index.sqlite"]
    left = sorted(path.name for path in done.folder.iterdir())
    assert left == [
        ".lock",
        "datasets",
        "errors.jsonl",
        "flaws.jsonl",
        "manifest.jsonl",
        "resource_metadata",
        "runs",
        "timeseries",
    ]


def test_the_run_report(crawl, portal):
    report = crawl("hdx", portal(datasets=20), level="dataset", _job="abc").report
    assert (
        list(report)
        == (
            "source spider run arguments since started finished finish_reason verdict expected listed excluded "
            "not_kept evidence datasets_on_disk unchanged_since counts errors flaws new_flaws requests retries bytes "
            "robots_exempt whole_listing provisional validators resumed "
            "manifest_bytes errors_bytes flaws_bytes manifest_end errors_end flaws_end log versions"
        ).split()
    )
    nothing = dict.fromkeys(("updated", "unchanged", "withdrawn", "restored", "fallback", "failed"), 0)
    assert report["counts"] == {"new": 40, **nothing}
    assert (report["expected"], report["listed"], report["requests"]) == (20, 20, 22)
    assert set(report["arguments"]) == {"portal", "level"}


def test_the_feed_holds_the_normalised_datasets(crawl, portal, tmp_path):
    feed = tmp_path / "datasets.jsonl"
    site = portal(datasets=20)
    done = crawl("hdx", site, more=("-O", str(feed)))
    items = json_lines(feed)
    assert sorted(item["id"] for item in items) == done.ids()
    for item in items:
        package = next(one for one in done.documents().values() if one["id"] == item["id"])
        assert (item["source"], item["title"], item["name"]) == ("hdx", package["title"].strip(), package["name"])
        assert item["modified"] == package["metadata_modified"] + "Z"
        assert [one["id"] for one in item["resources"]] == [one["id"] for one in package["resources"]]
        assert "document" not in item
        assert all("document" not in one for one in item["resources"])
    crawl("hdx", site, more=("-O", str(feed)))
    assert len(json_lines(feed)) == 20, "what is unchanged is in the feed too"


# Limits and filters


def test_max_datasets_is_exact(crawl, portal):
    site = portal()
    done = crawl("ckan", site, max_datasets="130")
    assert (done.code, done.report["verdict"], done.ids()) == (0, "partial", site.ids()[:130])


def test_a_limit_that_is_not_reached_is_no_limit(crawl, portal):
    assert crawl("ckan", portal(datasets=20), max_datasets="20").report["verdict"] == "complete"


@pytest.mark.parametrize("resources", [1, 7, 9])
def test_max_resources_is_exact(crawl, portal, resources):
    site = portal(datasets=20)
    done = crawl("hdx", site, max_resources=str(resources))
    assert (done.report["verdict"], len(done.documents("resource_metadata"))) == ("partial", resources)
    again = crawl("hdx", site, max_resources=str(resources))
    assert len(again.documents("resource_metadata")) == resources


def test_rows_is_what_is_asked_for(crawl, portal):
    site = portal(datasets=95)
    assert crawl("ckan", site, rows="10").code == 0
    assert site.requests("package_search") == 10


def test_filters(crawl, portal):
    site = portal()
    everything = crawl("ckan", site).documents().values()
    one = next(iter(everything))
    organization, group, tag = one["organization"]["name"], one["groups"][0]["name"], one["tags"][0]["name"]
    wanted = [
        package["id"]
        for package in everything
        if package["organization"]["name"] == organization
        and group in [each["name"] for each in package["groups"]]
        and tag in [each["name"] for each in package["tags"]]
    ]
    found = crawl("ckan", site, organization=organization, group=group, tag=tag, rows="1", source="filtered")
    assert (found.code, found.ids()) == (0, sorted(wanted))


def test_a_filter_query_of_alternatives(crawl, portal):
    site = portal()
    names = {package["organization"]["name"] for package in crawl("ckan", site).documents().values()}
    first, second = sorted(names)[:2]
    found = crawl("ckan", site, fq=f"organization:{first} OR organization:{second}", rows="5", source="filtered")
    assert found.code == 0
    assert {package["organization"]["name"] for package in found.documents().values()} == {first, second}
    site.reset()
    assert crawl("ckan", site, fq="{!term f=tags}rain", source="refused").lines[-1] == (
        "spider ckan: fq='{!term f=tags}rain' is not a filter that CKAN takes: it has local parameters, {!...}; "
        "write field:value instead."
    )
    assert site.requests() == 0


# Again


def test_a_second_crawl_asks_for_what_changed(crawl, portal):
    site = portal(datasets=30, resources=2)
    first = crawl("hdx", site)
    changed = site.ids()[::10]
    site.change(touch=changed)
    site.reset()
    second = crawl("hdx", site)
    assert site.requests("download_metadata") == 6
    assert second.report["counts"]["unchanged"] == (30 - 3) * 3
    assert second.report["counts"]["updated"] == 3 * 3
    news = second.manifest[len(first.manifest) - 9 :]
    assert {line["dataset_id"] for line in news} == set(changed)
    assert {line["status"] for line in news} == {"updated"}


def test_a_second_crawl_of_the_same_asks_for_no_export(crawl, portal):
    site = portal(datasets=50)
    first = crawl("hdx", site, level="both")
    before = {path: path.stat().st_mtime_ns for path in first.folder.rglob("*.json") if "runs" not in path.parts}
    site.reset()
    second = crawl("hdx", site, level="both")
    assert (site.requests(), second.report["counts"]["unchanged"]) == (1, 50 + 50 + 150)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_renamed_dataset_moves(crawl, portal):
    site = portal(datasets=10)
    first = crawl("hdx", site, level="dataset")
    one = site.ids()[4]
    site.change(rename={one: "quite-another-name"})
    second = crawl("hdx", site, level="dataset")
    names = [path.name for path in second.folder.rglob(f"{one}*")]
    assert names == [f"{one}__quite-another-name.json"] * 2
    assert len(second.documents()) == len(first.documents())


def test_a_document_that_was_deleted_comes_back(crawl, portal):
    site = portal(datasets=10)
    first = crawl("hdx", site)
    victim = next((first.folder / "resource_metadata").iterdir())
    victim.unlink()
    site.reset()
    second = crawl("hdx", site)
    assert victim.exists()
    assert site.requests("download_metadata") == 1
    assert second.report["counts"]["unchanged"] == 39


def test_a_lost_index_is_made_from_the_manifest(crawl, portal, output):
    site = portal(datasets=10)
    crawl("hdx", site)
    (output / "index.sqlite").unlink()
    site.reset()
    assert crawl("hdx", site).report["counts"]["unchanged"] == 40
    assert site.requests("download_metadata") == 0


def test_an_export_that_failed_is_asked_for_again(crawl, portal):
    site = portal(datasets=10, faults=("error=download_metadata", "forbidden=resource_show"))
    assert crawl("hdx", site, settings={"RETRY_TIMES": "0", "BLOCKED_AFTER": "0"}).code == 3
    site.fault(error=None, forbidden=None)
    done = crawl("hdx", site)
    assert (done.code, len(done.documents("resource_metadata"))) == (0, 30)


def test_names_without_a_slug(crawl, portal):
    done = crawl("ckan", portal(datasets=5), settings={"FILENAME_SLUG": "False"})
    assert [name.removesuffix(".json") for name in done.documents()] == done.ids()
