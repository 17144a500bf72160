"""The second crawl and those after it: what changed, what is gone, and what is only said to be."""

from __future__ import annotations

import json
import shutil
import sqlite3

import pytest

from tests.conftest import scrapy


def statuses(done):
    """Of the last run's manifest lines."""
    return sorted(line["status"] for line in done.manifest if line["run"] == done.report["run"])


def test_since_last_asks_for_what_changed(crawl, portal):
    site = portal(datasets=1000, rows_max=1000)
    assert crawl("ckan", site).report["since"] is None
    changed = site.ids()[::100]
    site.change(edit={name: {"title": "Another title", "metadata_modified": "2099-01-01T00:00:00"} for name in changed})
    site.reset()
    done = crawl("ckan", site, since="last")
    assert (done.code, done.report["listed"], done.report["expected"]) == (0, 10, 10)
    assert statuses(done) == ["updated"] * 10
    assert done.report["since"], "of this run alone the page says that what is listed had changed"
    assert site.requests() == 3, "what changed, and the ids: 1,000 and the page behind a full one"


def test_since_a_date(crawl, portal):
    site = portal(datasets=100)
    everything = crawl("ckan", site).documents().values()
    late = [package for package in everything if package["metadata_modified"] >= "2025-06-01"]
    done = crawl("ckan", site, since="2025-06-01", source="late")
    assert 0 < len(late) < 100
    assert done.ids() == sorted(package["id"] for package in late)
    assert done.report["since"] == "2025-06-01"


def test_since_last_of_a_catalogue_never_crawled_is_everything(crawl, portal):
    site = portal(datasets=50)
    done = crawl("ckan", site, since="last")
    assert (done.code, len(done.documents())) == (0, 50)
    assert done.report["since"] is None, "all of it was listed, and nothing had changed"


def test_since_last_goes_back_an_hour_before_the_last_complete_run(crawl, portal):
    site = portal(datasets=50)
    first = crawl("ckan", site)
    crawl("ckan", site, max_datasets="3")
    site.reset()
    crawl("ckan", site, since="last")
    asked = next(entry["path"] for entry in site.log() if "metadata_modified" in entry["path"])
    hour = int(first.report["started"][11:13])
    assert f"T{(hour - 1) % 24:02}%3A" in asked


@pytest.mark.parametrize("since", ["yesterday", "2026-13-01", "01/02/2026", "2026"])
def test_since_what(since):
    ran = scrapy("crawl", "hdx", "-a", f"since={since}")
    assert (ran.returncode, "is not last, a date such as" in ran.stderr.splitlines()[-1]) == (1, True)


def test_a_new_stamp_alone_is_no_news(crawl, portal):
    site = portal(datasets=20)
    first = crawl("ckan", site)
    site.change(edit={name: {"metadata_modified": "2099-01-01T00:00:00"} for name in site.ids()[:5]})
    second = crawl("ckan", site)
    assert (second.report["counts"]["unchanged"], second.report["counts"]["updated"]) == (20, 0)
    assert len(second.manifest) == len(first.manifest)
    assert second.documents() == first.documents()


# What is gone


@pytest.mark.parametrize("since", [None, "last"])
def test_a_dataset_that_is_gone_is_withdrawn_and_kept(crawl, portal, since):
    site = portal(datasets=200)
    first = crawl("ckan", site)
    gone = site.ids()[50:52]
    site.change(remove=gone)
    more = {"since": since} if since else {}
    second = crawl("ckan", site, **more)
    assert (second.code, second.report["counts"]["withdrawn"], statuses(second)) == (0, 2, ["withdrawn"] * 2)
    assert second.documents() == first.documents(), "the document is kept"
    lines = [line for line in second.manifest if line["status"] == "withdrawn"]
    assert sorted(line["dataset_id"] for line in lines) == gone
    before = {line["dataset_id"]: line for line in first.manifest}
    for line in lines:
        assert line["sha256"] == before[line["dataset_id"]]["sha256"]
        assert line["dataset_title"] == before[line["dataset_id"]]["dataset_title"]
    site.reset()
    third = crawl("ckan", site, **more)
    assert (third.report["counts"]["withdrawn"], site.requests("package_show")) == (0, 0), "it is withdrawn once"


def gone_and_back(crawl, site, **arguments):
    """Withdrawn by a crawl, and at the portal again with all it had, its old stamp too."""
    first = crawl("ckan", site)
    gone = site.ids()[7]
    record = next(one for one in first.documents().values() if one["id"] == gone)
    site.change(remove=[gone])
    assert crawl("ckan", site, **arguments).report["counts"]["withdrawn"] == 1
    added = site.change(add=1)["added"][0]
    site.change(edit={added: record})


def test_a_dataset_that_comes_back_is_restored(crawl, portal):
    site = portal(datasets=200)
    gone_and_back(crawl, site)
    done = crawl("ckan", site)
    assert "restored" in statuses(done)
    assert done.report["counts"]["restored"] == 1
    assert crawl("ckan", site).report["counts"]["restored"] == 0


def test_what_comes_back_with_its_old_stamp_is_found_among_the_ids(crawl, portal):
    site = portal(datasets=200)
    gone_and_back(crawl, site, since="last")
    done = crawl("ckan", site, since="last")
    assert (done.code, done.report["counts"]["restored"]) == (0, 1)


def test_a_crawl_since_a_date_is_not_the_last_complete_one(crawl, portal):
    site = portal(datasets=20)
    assert crawl("ckan", site, since="2099-01-01").code == 0
    assert len(crawl("ckan", site, since="last").documents()) == 20


def test_a_folder_that_is_removed_was_never_crawled(crawl, portal):
    site = portal(datasets=20)
    shutil.rmtree(crawl("ckan", site).folder)
    assert len(crawl("ckan", site, since="last").documents()) == 20


PART = "a part of a catalogue, from 0 to 1."
NUMBER = "a number: docs/settings.md says what it takes."


@pytest.mark.parametrize(("limit", "what"), [("abc", NUMBER), ("nan", NUMBER), ("-1", PART), ("2", PART)])
def test_a_shrink_limit_that_is_none(crawl, portal, limit, what):
    done = crawl("ckan", portal(datasets=1), settings={"SHRINK_LIMIT": limit})
    assert (done.code, done.lines[-1]) == (1, f"SHRINK_LIMIT={limit!r} is not {what}")


def test_stamps_alone_are_no_news_however_often(crawl, portal):
    site = portal(datasets=20)
    first = crawl("ckan", site)
    for year in ("2097", "2098", "2099"):
        site.change(edit={name: {"metadata_modified": f"{year}-01-01T00:00:00"} for name in site.ids()[:5]})
        assert crawl("ckan", site).report["counts"]["unchanged"] == 20
    assert len(first.manifest) == 20


def test_more_than_two_per_cent_is_not_believed(crawl, portal):
    site = portal(datasets=100)
    crawl("ckan", site)
    site.change(remove=site.ids()[:3])
    refused = crawl("ckan", site)
    assert (refused.code, refused.kinds(), refused.report["counts"]["withdrawn"]) == (3, [("list", "shrink")], 0)
    assert (
        "3 of 100 datasets are no longer listed (3.0%), more than SHRINK_LIMIT allows (2.0%)"
        in refused.errors[0]["error"]
    )
    assert "-s SHRINK_LIMIT=0.031" in refused.errors[0]["error"]
    forced = crawl("ckan", site, settings={"SHRINK_LIMIT": "0.031"})
    assert (forced.code, forced.report["counts"]["withdrawn"]) == (0, 3)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("error=package_show", "http"),
        ("forbidden=package_show", "http"),
        ("gone=package_show", "http"),
        ("html=package_show", "not_json"),
    ],
)
def test_only_a_not_found_confirms_that_it_is_gone(crawl, portal, fault, kind):
    site = portal(datasets=100)
    crawl("ckan", site)
    site.change(remove=site.ids()[:1])
    name, value = fault.split("=")
    site.fault(**{name: value})
    done = crawl("ckan", site, settings={"RETRY_TIMES": "0"})
    assert (done.code, done.report["counts"]["withdrawn"]) == (3, 0)
    assert done.kinds() == [("fetch", kind)]
    assert "the portal does not say that it is gone" in done.errors[0]["error"]


@pytest.mark.parametrize(
    "filtered", [{"q": "flood"}, {"max_datasets": "5"}, {"fq": "archived:true"}, {"max_resources": "9"}]
)
def test_a_filter_or_a_limit_withdraws_nothing(crawl, portal, filtered):
    site = portal(datasets=100)
    crawl("ckan", site)
    site.change(remove=site.ids()[:1])
    done = crawl("ckan", site, **filtered)
    assert done.report["counts"]["withdrawn"] == 0
    assert site.requests("package_show") == 0


@pytest.mark.parametrize("fault", ["count_off=1", "no_count", "ignore_start"])
def test_an_incomplete_listing_withdraws_nothing(crawl, portal, fault):
    site = portal(datasets=305)
    crawl("ckan", site)
    site.change(remove=site.ids()[:1])
    name, _, value = fault.partition("=")
    site.fault(**{name: value or True})
    done = crawl("ckan", site)
    assert (done.code, done.report["counts"]["withdrawn"]) == (3, 0)


def test_a_portal_that_suddenly_says_it_is_empty(crawl, portal):
    site = portal(datasets=100)
    crawl("ckan", site)
    site.change(remove=site.ids())
    done = crawl("ckan", site)
    assert (done.code, done.kinds(), len(done.documents())) == (3, [("list", "shrink")], 100)


# The index


def test_reindex_makes_the_same_index(crawl, portal, output):
    site = portal(datasets=100)
    crawl("hdx", site, level="both")
    site.change(touch=site.ids()[:5], remove=site.ids()[10:11])
    crawl("hdx", site, level="both")
    before = rows(output)
    ran = scrapy("reindex", "-s", f"OUTPUT_DIR={output}")
    assert (ran.returncode, ran.stdout) == (0, "hdx: 99 datasets\n")
    assert rows(output) == before
    site.reset()
    assert crawl("hdx", site, level="both", since="last").code == 0
    assert site.requests("metadata_modified") == 1, "the last complete run is known again"


def rows(output):
    with sqlite3.connect(output / "index.sqlite") as index:
        columns = "source, kind, dataset_id, resource_id, file, sha256, bytes, status, run"
        documents = index.execute(f"SELECT {columns} FROM documents ORDER BY 1, 2, 3, 4").fetchall()
        complete = index.execute("SELECT * FROM complete ORDER BY 1, 2").fetchall()
    index.close()
    return documents, complete


def test_an_index_that_disagrees_with_the_manifest_follows_it(crawl, portal, output):
    site = portal(datasets=20)
    done = crawl("ckan", site)
    manifest = done.folder / "manifest.jsonl"
    lines = manifest.read_text().splitlines(keepends=True)
    first = json.loads(lines[0])
    manifest.write_text("".join(lines[1:]) + json.dumps(first | {"metadata_modified": "1999-01-01"}) + "\n" * 1)
    again = crawl("ckan", site)
    assert again.report["counts"]["unchanged"] == 20
    with sqlite3.connect(output / "index.sqlite") as index:
        assert index.execute("SELECT count(*) FROM documents").fetchone() == (20,)
    index.close()


# Bytes over stamps


def without_a_new_stamp(site, first, dataset_id):
    """Resources as resource_delete and resource edits leave them: the last is gone, the stamp is the same."""
    record = next(one for one in first.documents().values() if one["id"] == dataset_id)
    site.change(edit={dataset_id: {"resources": record["resources"][:-1], "num_resources": 2}})
    return record["resources"]


def test_a_record_that_changed_under_its_old_stamp_is_updated_and_its_exports_are_asked_for_again(crawl, portal):
    site = portal(datasets=20)
    first = crawl("hdx", site)
    dataset_id = site.ids()[7]
    *left, gone = without_a_new_stamp(site, first, dataset_id)
    site.reset()
    second = crawl("hdx", site)
    assert (second.code, second.report["counts"]["unchanged"]) == (0, 19 + 19 * 3 + 2)
    assert site.requests("download_metadata") == 2, "the exports of the dataset that changed, and no other"
    news = [line for line in second.manifest if line["run"] == second.report["run"]]
    assert [(line["kind"], line["status"], line.get("reason")) for line in news] == [
        ("resource_metadata", "withdrawn", "deleted"),
        ("dataset", "updated", None),
    ]
    assert (news[0]["resource_id"], news[0]["dataset_title"]) == (gone["id"], news[1]["dataset_title"])
    assert (second.folder / news[0]["metadata_file"]).exists(), "the document is kept"
    assert second.report["counts"]["withdrawn"] == 1
    site.reset()
    third = crawl("hdx", site)
    assert (site.requests("download_metadata"), statuses(third)) == (0, [])
    site.change(edit={dataset_id: {"resources": [*left, gone], "num_resources": 3}})
    assert statuses(crawl("hdx", site)) == ["restored", "updated"]


def test_an_export_is_asked_for_again_where_the_run_that_wrote_its_changed_record_was_cut_short(crawl, portal):
    site = portal(datasets=5)
    first = crawl("hdx", site)
    without_a_new_stamp(site, first, site.ids()[2])
    crawl("ckan", site, source="hdx")
    site.reset()
    crawl("hdx", site)
    assert site.requests("download_metadata") == 2
