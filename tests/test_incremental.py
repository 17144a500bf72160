"""The second crawl and those after it: what changed, what is gone, and what is only said to be."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sqlite3
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from crawlers.kinds.ckan.spider import CKAN
from crawlers.listing.since import since
from crawlers.records import moment
from tests.conftest import command, scrapy
from tests.portal.actions import TOKEN
from tests.site import Answer, Site, listing, result
from tests.waiting import until
from tests.walked import answers_of, walk

DENIED = {"__type": "Authorization Error"}


def unknown():
    """What CKAN answers about a dataset that it does not have."""
    return Answer(json.dumps({"success": False, "error": {"__type": "Not Found Error"}}).encode(), 404)


def statuses(done):
    """Of the last run's manifest lines."""
    return sorted(line["status"] for line in done.manifest if line["run"] == done.report["run"])


def test_since_last_asks_for_what_changed(crawl, portal):
    site = portal(datasets=1000, rows_max=1000)
    crawl("ckan", site)
    changed = site.ids()[::100]
    older = {"title": "Another title", "metadata_modified": "2001-01-01T00:00:00.123456"}
    site.change(edit=dict.fromkeys(changed, older))
    site.fault(clock=-1_000_000)
    site.reset()
    done = crawl("ckan", site, since="last")
    assert (done.code, done.report["listed"], done.report["expected"]) == (0, 10, 10)
    assert (done.report["evidence"], statuses(done)) == ({"stamps": "total"}, ["updated"] * 10)
    assert site.requests() == 3, "the ids and stamps: 1,000 and the page behind a full one; and what changed"
    site.fault(error="id%3A%28")
    site.change(edit={name: older | {"metadata_modified": "2001-01-01T00:00:00.2"} for name in changed[:3]})
    site.reset()
    done = crawl("ckan", site, since="last", settings={"RETRY_TIMES": "0"})
    assert (done.code, done.report["counts"]["unchanged"]) == (0, 3), "a new stamp alone is no news"
    assert site.requests("package_show") == 4, "a question about many that fails is asked about each, behind a control"


@pytest.mark.parametrize(("longest", "questions"), [(4094, 3), (2001, 5), (1000, 4)])
def test_a_server_that_takes_no_long_addresses_is_asked_for_many_at_once(crawl, portal, longest, questions):
    """The list of ids, and 97 that have changed: in two, in halves (one refused), or by POST (two refused)."""
    site = portal(datasets=120, rows_max=1000)
    crawl("ckan", site)
    stamp = {"title": "Another", "metadata_modified": "2026-02-01T00:00:00"}
    site.change(edit=dict.fromkeys(site.ids()[:97], stamp))
    site.fault(longest=longest)
    site.reset()
    done = crawl("ckan", site, since="last")
    assert (done.code, done.report["counts"]["updated"], site.requests("package_show")) == (0, 97, 0)
    assert site.requests("package_search") == questions


def test_a_question_about_many_that_fails_for_one_of_them_is_halved(crawl, portal):
    """97 have changed; the portal breaks at one of them where it is asked for among others, and gives it alone."""
    site = portal(datasets=120, rows_max=1000)
    crawl("ckan", site)
    stamp = {"title": "Another", "metadata_modified": "2026-02-01T00:00:00"}
    site.change(edit=dict.fromkeys(site.ids()[:97], stamp))
    site.fault(error=f"%22{site.ids()[41]}%22")
    site.reset()
    done = crawl("ckan", site, since="last", settings={"RETRY_TIMES": "0"})
    assert (done.code, done.errors, done.report["counts"]["updated"]) == (0, [], 97)
    asked = site.requests("package_search"), site.requests("package_show")
    assert asked == (9, 11), "halves of those that fail; of ten that fail, each by itself, and a control"


def test_since_last_asks_again_for_a_document_that_is_not_on_disk(crawl, portal):
    """A power cut leaves an empty file, and a user may remove one."""
    site = portal(datasets=20)
    first = crawl("ckan", site)
    whole = first.documents()
    lost, torn = sorted((first.folder / "datasets").iterdir())[:2]
    lost.unlink()
    torn.write_bytes(b"")
    done = crawl("ckan", site, since="last")
    assert (done.code, statuses(done), done.documents()) == (0, ["updated"] * 2, whole)


@pytest.mark.parametrize("fault", ["denied", "unknown"])
def test_what_changed_and_is_not_given_is_missing(crawl, portal, fault):
    """That one is gone says no portal that says so of all that it lists."""
    site = portal(datasets=50)
    crawl("ckan", site)
    site.change(touch=site.ids()[:3])
    site.fault(error="id%3A%28", **{fault: "package_show"})
    done = crawl("ckan", site, since="last", settings={"RETRY_TIMES": "0"})
    assert (done.code, done.report["verdict"], done.kinds()) == (3, "incomplete", [("fetch", "http")] * 3)


def test_since_last_lists_everything_where_that_is_fewer_requests_or_overdue(crawl, portal):
    site = portal(datasets=120, rows_max=1000)
    first = crawl("ckan", site)
    assert first.report["whole_listing"]
    site.change(touch=site.ids())
    site.reset()
    done = crawl("ckan", site, since="last")
    assert (done.code, site.requests(), done.report["whole_listing"], done.report["since"]) == (0, 2, True, None)
    site.change(edit={site.ids()[0]: {"title": "Another title, and the old stamp"}})
    done = crawl("ckan", site, since="last")
    assert (done.code, done.report["counts"]["updated"], done.report["whole_listing"]) == (0, 0, False)
    done = crawl("ckan", site, since="last", settings={"FULL_LISTING_DAYS": "0.000001"})
    assert (done.code, done.report["counts"]["updated"], done.report["listed"]) == (0, 1, 120)
    assert "and FULL_LISTING_DAYS asks for one every 1e-06 days: everything is listed" in done.log


def test_since_last_asks_again_for_exports_that_failed(crawl, portal):
    site = portal(datasets=20)
    crawl("hdx", site)
    changed = site.ids()[3]
    site.change(touch=[changed])
    site.fault(gone="download_metadata", denied="resource_show")
    broken = crawl("hdx", site, since="last")
    assert (broken.code, broken.report["counts"]["failed"]) == (3, 3)
    assert {line["dataset_title"] for line in broken.errors} == {broken.manifest[-1]["dataset_title"]}
    site.fault(gone=None, denied=None)
    site.reset()
    done = crawl("hdx", site, since="last")
    assert (done.code, site.requests("download_metadata"), site.requests("package_search")) == (0, 3, 2)


def test_exports_that_failed_are_asked_for_again_at_a_portal_without_stamps(crawl, portal):
    """Also those of datasets that the window does not have, for their stamps are older."""
    site = portal(datasets=30, faults=("no_stamps",))
    crawl("hdx", site)
    site.change(add=2)
    site.fault(gone="download_metadata", denied="resource_show")
    broken = crawl("hdx", site, since="last")
    assert broken.report["counts"]["failed"] == 6
    site.fault(gone=None, denied=None)
    site.reset()
    done = crawl("hdx", site, since="last")
    assert (done.code, statuses(done), site.requests("download_metadata")) == (0, ["new"] * 6, 6)
    site.reset()
    again = crawl("hdx", site, since="last")
    assert (again.code, statuses(again), site.requests("download_metadata")) == (0, [], 0)


@pytest.mark.parametrize("fault", ["no_stamps", "refuses_fl"])
def test_a_portal_without_stamps_is_asked_for_a_window(crawl, portal, fault):
    """It is as wide as the portal's clock is off."""
    site = portal(datasets=50, faults=(fault, "clock=-7200"))
    first = crawl("ckan", site)
    stamp = (datetime.fromisoformat(first.report["started"]) - timedelta(hours=2)).strftime("%Y-%m-%dT%H:%M:%S")
    site.change(
        edit={name: {"metadata_modified": "2026-01-01T00:00:00"} for name in site.ids()},
    )
    crawl("ckan", site, source="other")
    site.change(edit={site.ids()[7]: {"title": "Two hours ago, by the portal's clock", "metadata_modified": stamp}})
    site.reset()
    done = crawl("ckan", site, since="last")
    assert (done.code, done.report["counts"]["updated"]) == (0, 1)
    asked = next(entry["path"] for entry in site.log() if "metadata_modified%3A%5B" in entry["path"])
    begun = datetime.fromisoformat(re.search(r"%5B(\d{4}-.*?Z)", asked)[1].replace("%3A", ":"))
    assert begun <= datetime.fromisoformat(first.report["started"]) - timedelta(hours=3)


def test_a_portal_that_gives_whole_records_for_ids_is_listed(crawl, portal):
    site = portal(datasets=50, faults=("no_fl",))
    crawl("ckan", site)
    site.reset()
    done = crawl("ckan", site, since="last")
    assert (done.code, done.report["listed"], site.requests()) == (0, 50, 2)
    assert done.report["evidence"] == {"datasets": "total"}


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


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", "01/02/2026", "2026", "2026-11-01T24:61Z", ""])
def test_since_what(text):
    with pytest.raises(ValueError, match=r"^last, a date such as"):
        since(text)


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("last", "last"),
        ("2026-11-01", "2026-11-01T00:00:00Z"),
        ("2026-11-01T06:07", "2026-11-01T06:07:00Z"),
        ("2026-11-01T06:07:08Z", "2026-11-01T06:07:08Z"),
    ],
)
def test_since_when(text, begin):
    assert since(text) == begin


def test_since_what_ends_the_command():
    ran = scrapy("crawl", "hdx", "-a", "since=yesterday")
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
    """As CKAN 2.12 answers: deleted and private ones 403, purged ones 404."""
    site = portal(datasets=200)
    first = crawl("ckan", site)
    deleted, private, purged, *_ = site.ids()[50:]
    site.change(remove=[deleted], purge=[purged], edit={private: {"private": True}})
    more = {"since": since} if since else {}
    site.reset()
    second = crawl("ckan", site, settings={"JOBDIR": str(first.folder / "job")}, **more)
    assert (second.code, second.errors) == (0, [])
    assert (second.report["counts"]["withdrawn"], statuses(second)) == (3, ["withdrawn"] * 3)
    assert site.requests("package_show") == 5, "each of those that are gone, between two control questions"
    assert second.documents() == first.documents(), "the document is kept"
    lines = {line["dataset_id"]: line for line in second.manifest if line["status"] == "withdrawn"}
    assert {identifier: line["reason"] for identifier, line in lines.items()} == {
        deleted: "no longer public",
        private: "no longer public",
        purged: "not found",
    }
    before = {line["dataset_id"]: line for line in first.manifest}
    for identifier, line in lines.items():
        assert line["sha256"] == before[identifier]["sha256"]
        assert line["dataset_title"] == before[identifier]["dataset_title"]
    site.reset()
    third = crawl("ckan", site, **more)
    assert (third.code, third.report["counts"]["withdrawn"]) == (0, 0)
    assert site.requests("package_show") == 0, "it is withdrawn once"


def test_many_that_are_gone_are_asked_for_100_at_a_time_first(crawl, portal):
    site = portal(datasets=300, rows_max=1000)
    first = crawl("ckan", site)
    gone = site.ids()[100:212]
    site.change(remove=gone)
    site.reset()
    done = crawl("ckan", site, settings={"SHRINK_LIMIT": "0.5", "JOBDIR": str(first.folder / "job")})
    assert (done.code, done.report["counts"]["withdrawn"]) == (0, 112)
    assert (site.requests("id%3A%28"), site.requests("package_show")) == (2, 114)


@pytest.mark.parametrize("left", [10, 25])
def test_what_a_list_lacks_and_the_portal_has_is_read_all_the_same(crawl, left):
    """Its search index was half rebuilt, say: asked for 100 at a time, or one by one where few are lacking."""
    records = [{"id": f"id{number:03}", "name": f"n{number}", "title": "T", "resources": []} for number in range(30)]
    shown = list(records)

    def search(asked):
        query = parse_qs(urlsplit(asked.path).query)
        among = "id:(" in query.get("fq", [""])[0]
        if asked.action == "package_show":
            return result(next(one for one in records if one["id"] == query["id"][0]))
        return listing(*[one for one in (records if among else shown) if not among or one["id"] in query["fq"][0]])

    with Site(search) as site:
        crawl("ckan", site)
        del shown[left:], site.asked[:]
        records[-1] = records[-1] | {"title": "Changed"}
        done = crawl("ckan", site, settings={"SHRINK_LIMIT": "1"})
    counts = done.report["counts"]
    assert (done.code, counts["withdrawn"], counts["updated"], counts["unchanged"]) == (0, 0, 1, 29)
    asked = ["package_search"] * 2 if left == 10 else ["package_search", *["package_show"] * 6]
    assert [one.action for one in site.asked] == asked, "one question about 20; a control question and one about each"


# With a token


def test_a_token_shows_private_datasets_and_what_was_deleted(crawl, portal, monkeypatch):
    site = portal(datasets=200)
    private, deleted, draft, hidden, *_ = site.ids()
    site.change(edit={name: {"private": True} for name in (private, hidden)})
    monkeypatch.setenv("CKAN_API_TOKEN", TOKEN)
    first = crawl("ckan", site)
    assert (first.code, len(first.documents()), site.requests("am_following_dataset")) == (0, 200, 1)
    site.change(remove=[deleted], edit={draft: {"state": "draft"}})
    second = crawl("ckan", site, since="last", settings={"JOBDIR": str(first.folder / "job")})
    assert (second.code, second.errors) == (0, [])
    lines = {line["dataset_id"]: line.get("reason") for line in second.manifest if line["status"] == "withdrawn"}
    assert lines == {deleted: "deleted", draft: "no longer public"}

    monkeypatch.setenv("CKAN_API_TOKEN", "expired")
    third = crawl("ckan", site)
    assert (third.code, third.kinds(), third.report["counts"]["withdrawn"]) == (3, [("start", "refused")], 0)
    assert "does not accept the API token in CKAN_API_TOKEN" in third.errors[0]["error"]
    assert "expired" not in third.errors[0]["url"] + third.log.replace(third.errors[0]["error"], "")


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
NUMBER = "a number: see docs/settings.md."


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


def test_more_than_two_per_cent_is_believed_if_the_portal_confirms_each(crawl, portal):
    """One of 40 is more than 2 %, and so are 30 of 39."""
    site = portal(datasets=40)
    crawl("ckan", site)
    site.change(remove=site.ids()[:1])
    one = crawl("ckan", site)
    assert (one.code, one.errors, statuses(one)) == (0, [], ["withdrawn"])
    site.change(remove=site.ids()[:30])
    done = crawl("ckan", site)
    assert (done.code, done.errors, statuses(done)) == (0, [], ["withdrawn"] * 30)


def test_more_than_are_asked_for_need_a_person(crawl, portal):
    site = portal(datasets=100)
    first = crawl("ckan", site)
    gone = site.ids()[:12]
    site.change(remove=gone)
    refused = crawl("ckan", site, settings={"CONFIRM_MAX": "11"})
    assert (refused.code, refused.kinds(), refused.report["counts"]["withdrawn"]) == (3, [("list", "shrink")], 0)
    message = refused.errors[0]["error"]
    run, titles = refused.report["run"], {line["dataset_id"]: line["dataset_title"] for line in first.manifest}
    assert (
        "12 of 100 datasets are no longer listed (12.0%), more than SHRINK_LIMIT allows (2.0%), "
        "and more than are asked for one by one (CONFIRM_MAX = 11): nothing is withdrawn."
    ) in message
    shown = [" ".join(titles[name].split())[:50] for name in gone[:10]]
    assert [title for title in shown if title not in message] == []
    assert f"and 2 more. If these are gone indeed, accept this list, once: -s ACCEPT_SHRINK={run}" in message
    site.reset()
    settings = {"CONFIRM_MAX": "11", "ACCEPT_SHRINK": run}
    accepted = crawl("ckan", site, settings=settings)
    assert (accepted.code, statuses(accepted), site.requests("package_show")) == (0, ["withdrawn"] * 12, 0)
    site.change(remove=site.ids()[:12])
    again = crawl("ckan", site, settings=settings)
    assert (again.code, again.report["errors"], again.report["counts"]["withdrawn"]) == (3, {"shrink": 1}, 0)


@pytest.mark.parametrize("answer", ["unknown", "denied"])
def test_a_throttle_in_ckans_words_withdraws_nothing(crawl, answer):
    """It begins behind the first control question, and says of all datasets what CKAN says of one that is gone."""
    records = [{"id": f"id{number:03}", "name": f"n{number}", "title": "T", "resources": []} for number in range(100)]
    shown, throttled = list(records), {"unknown": (404, "Not Found Error"), "denied": (403, "Authorization Error")}

    def portal(asked):
        if asked.action == "package_search":
            among = "id:(" in asked.parameters.get("fq", "")
            return listing(*[one for one in shown if not among or one["id"] in asked.parameters["fq"]])
        if sum(one.action == "package_show" for one in site.asked) == 1:
            return result(next(one for one in records if one["id"] == asked.id))
        status, kind = throttled[answer]
        return Answer(json.dumps({"success": False, "error": {"__type": kind}}).encode(), status)

    with Site(portal) as site:
        crawl("ckan", site)
        del shown[90:], site.asked[:]
        done = crawl("ckan", site)
    assert (done.code, done.kinds(), done.report["counts"]["withdrawn"]) == (3, [("list", "http")], 0)
    assert "afterwards the portal does not give one either that it lists" in done.errors[0]["error"]


def test_a_filter_withdraws_what_it_listed_before(crawl, portal):
    """Another crawl that writes into the same folder, and what it saw last, is not touched."""
    site = portal(datasets=120)
    packages = {package["id"]: package for package in crawl("ckan", site, source="all").documents().values()}
    name = packages[site.ids()[0]]["organization"]["name"]
    own = [one for one in site.ids() if packages[one]["organization"]["name"] == name]
    other = next(package["organization"] for package in packages.values() if package["organization"]["name"] != name)
    crawl("ckan", site, source="mixed", organization=name)
    crawl("ckan", site, source="mixed", tag=packages[own[-1]]["tags"][0]["name"])
    crawl("ckan", site, source="one", organization=name)
    deleted, purged, moved, *_ = own
    site.change(remove=[deleted], purge=[purged], edit={moved: {"organization": other}})
    site.reset()
    done = crawl("ckan", site, source="one", organization=name, since="last")
    assert (done.code, done.errors, done.report["counts"]["withdrawn"]) == (0, [], 3)
    reasons = {line["dataset_id"]: line["reason"] for line in done.manifest if line["status"] == "withdrawn"}
    assert reasons == {deleted: "no longer public", purged: "not found", moved: "no longer in the filter"}
    assert (site.requests("id%3A%28"), site.requests("package_show")) == (1, 5), "each, between two controls"
    site.change(edit={moved: {"organization": packages[moved]["organization"]}})
    back = crawl("ckan", site, source="one", organization=name)
    assert (back.code, statuses(back)) == (0, ["restored"])
    site.change(edit={own[4]: {"organization": other}})
    only = crawl("ckan", site, source="one", organization=name)
    assert (only.code, statuses(only), only.manifest[-1]["reason"]) == (0, ["withdrawn"], "no longer in the filter")
    site.change(edit={own[4]: {"organization": packages[own[4]]["organization"]}})
    site.change(edit={own[-1]: {"organization": other}})
    mixed = crawl("ckan", site, source="mixed", organization=name)
    assert (mixed.code, mixed.report["counts"]["withdrawn"]) == (0, 2), "the tag's crawl saw the third last"


def test_a_record_that_is_what_it_was_has_not_left_the_filter(crawl):
    """The search index was rebuilt without the field of some; the database, and what the index has of them, say it."""
    fields = {"title": "T", "url": "ftp://me:secret@example.org/", "resources": []}
    records = {f"id{number:03}": {"id": f"id{number:03}", **fields} for number in range(40)}
    shown, lost, moved = dict(records), set(), "id000"

    def portal(asked):
        if asked.action == "package_show":
            return result(shown[asked.id])
        ids = [one for one in records if "id:(" in asked.parameters["fq"] or one not in lost]
        return listing(*[records[one] for one in ids if "id:(" not in asked.parameters["fq"] or one in lost])

    with Site(portal) as site:
        crawl("ckan", site, organization="o")
        lost.update(list(records)[:8])
        for name in lost:
            records[name] = records[name] | {"metadata_modified": "2026-11-01T00:00:00", "num_followers": 7}
        records[moved] = records[moved] | {"owner_org": "another"}
        del site.asked[:]
        settings = {"KEEP_COUNTERS": "True"}
        refused = crawl("ckan", site, organization="o", settings=settings)
        assert (refused.code, refused.kinds(), refused.report["counts"]["withdrawn"]) == (3, [("list", "shrink")], 0)
        assert "8 of 40 datasets are no longer listed (20.0%), more than" in refused.errors[0]["error"]
        assert "nothing shows that they left the filter: nothing is withdrawn" in refused.errors[0]["error"]
        assert [one.id for one in site.asked if one.action == "package_show"] == ["id008", moved], "behind a control"
        settings["ACCEPT_SHRINK"] = refused.report["run"]
        shown[moved] = records[moved]
        again = crawl("ckan", site, organization="o", settings=settings)
        assert (again.code, statuses(again), again.manifest[-1]["dataset_id"]) == (3, ["withdrawn"], moved)
        settings["ACCEPT_SHRINK"] = again.report["run"]
        done = crawl("ckan", site, organization="o", settings=settings)
    assert (done.code, statuses(done)) == (0, ["withdrawn"] * 7)
    assert {line["reason"] for line in done.manifest if line["status"] == "withdrawn"} == {"no longer in the filter"}


def test_a_record_leaves_a_filter_that_time_moves(crawl):
    records = [{"id": f"id{number:03}", "title": "T", "resources": []} for number in range(40)]
    shown = list(records)

    def portal(asked):
        if asked.action == "package_show":
            return result(next(one for one in records if one["id"] == asked.id))
        is_among = "id:(" in asked.parameters["fq"]
        return listing(*[one for one in (records if is_among else shown) if not is_among or one["id"] == "id039"])

    with Site(portal) as site:
        crawl("ckan", site, fq="metadata_modified:[NOW-30DAYS TO *]")
        del shown[-1], site.asked[:]
        done = crawl("ckan", site, fq="metadata_modified:[NOW-30DAYS TO *]")
    assert (done.code, statuses(done), done.manifest[-1]["reason"]) == (0, ["withdrawn"], "no longer in the filter")
    asked = [one.id for one in site.asked if one.action == "package_show"]
    assert (len(asked), asked[1]) == (3, "id039"), "between two controls"


def test_a_filter_whose_index_was_rebuilt_withdraws_all_the_same(crawl, portal, output):
    site = portal(datasets=60)
    crawl("ckan", site, fq="archived:false", source="one")
    site.change(edit={site.ids()[0]: {"title": "Later"}})
    crawl("ckan", site, fq="archived:false", source="one")
    assert command("reindex", "-s", f"OUTPUT_DIR={output}").returncode == 0
    gone = next(one for one in site.ids()[1:])
    site.change(remove=[gone])
    done = crawl("ckan", site, fq="archived:false", source="one")
    assert (done.code, done.report["counts"]["withdrawn"]) == (0, 1)


def test_a_filter_that_finds_nothing_any_more_withdraws_nothing(crawl, portal):
    """Its organisation may only have another name now."""
    site = portal(datasets=60)
    packages = crawl("ckan", site, source="all").documents().values()
    organization = next(package["organization"] for package in packages)
    crawl("ckan", site, source="one", organization=organization["name"])
    renamed = {"organization": {**organization, "name": "another-name"}}
    own = [package["id"] for package in packages if package["organization"]["name"] == organization["name"]]
    site.change(edit=dict.fromkeys(own, renamed))
    done = crawl("ckan", site, source="one", organization=organization["name"])
    assert (done.code, done.report["errors"], done.report["counts"]["withdrawn"]) == (3, {"shrink": 1}, 0)
    assert "and none is left to ask for: nothing is withdrawn" in done.errors[0]["error"]


# Ghosts, and what is deleted and listed


def test_ghosts_of_the_search_index_are_explained(crawl, portal):
    """CKAN counts two more than it gives; their ids come where ids alone are asked for."""
    site = portal(datasets=120)
    ghosts = sorted(site.ids()[50:91:40])
    site.change(ghosts=ghosts)
    first = crawl("ckan", site)
    assert (first.code, first.errors, first.report["expected"], first.report["listed"]) == (0, [], 118, 118)
    assert first.report["evidence"] == {"datasets": "total less 2 that the portal does not have"}
    site.reset()
    second = crawl("ckan", site)
    assert (second.code, statuses(second), site.requests("package_show")) == (0, [], 4)
    assert sum("fl=" not in entry["path"] and "rows=1000" in entry["path"] for entry in site.log()) <= 2
    changed, gone, *_ = site.ids()
    site.change(touch=[changed], edit={changed: {"title": "Changed"}}, remove=[gone])
    third = crawl("ckan", site, since="last")
    assert (third.code, third.errors, statuses(third)) == (0, [], ["updated", "withdrawn"])
    assert third.report["evidence"] == {"stamps": "total less 2 that the portal does not have"}
    assert (third.report["expected"], third.report["listed"]) == (1, 1)


def test_a_ghost_among_what_changed_since_a_date_is_looked_for_there(tmp_path):
    """The list of all ids asks the same question as the list of records that came short."""
    records = [{"id": f"id{number:03}", "title": "T", "resources": []} for number in range(40)]

    def portal(asked):
        query, fq = asked.parameters, asked.parameters.get("fq", "")
        if asked.action == "package_show":
            return unknown() if asked.id == "id003" else result(records[int(asked.id[2:])])
        found = records[:10] if "metadata_modified:[2026-11-01" in fq else records
        found = [one for one in found if "id:(" not in fq or one["id"] in fq]
        found = [one for one in found if "id:{" not in fq or fq < f"+id:{{{one['id']}"]
        given = [{"id": one["id"]} if "fl" in query else one for one in found if "fl" in query or one["id"] != "id003"]
        return result({"count": len(found), "results": given})

    with Site(portal) as site:
        given = {"portal": "https://example.org", "since": "2026-11-01"}
        done = walk(CKAN, answers_of(site), tmp_path, {"CONFIRM_MAX": 1000}, **given)
    assert (done.judged, len(done.items)) == (("complete", 9, 9), 9)
    assert done.evidence["datasets"] == "total less 1 that the portal does not have"


@pytest.mark.parametrize(("status", "kinds"), [(429, {"http": 1, "count_mismatch": 1}), (500, {"count_mismatch": 1})])
def test_a_list_of_ids_that_does_not_come_ends_no_crawl(tmp_path, status, kinds):
    """If the host closes, the list of records is judged as it is; else it is read again."""
    records = [{"id": f"id{number:03}", "title": "T", "resources": []} for number in range(40)]

    def portal(asked):
        query, fq = asked.parameters, asked.parameters.get("fq", "")
        if query.get("fl") == "id":
            return Answer(b"", status)
        start = int(query.get("start", 0))
        found = [one for one in records[start:] if "id:{" not in fq or fq < f"+id:{{{one['id']}"]
        given = [one for one in found if one["id"] != "id003"]
        return result({"count": 40 if "start" in query else len(found), "results": given})

    with Site(portal) as site:
        done = walk(CKAN, answers_of(site), tmp_path, {"RETRY_TIMES": 0}, portal="https://example.org")
    assert (done.judged[0], len(done.items), done.kinds()) == ("incomplete", 39, kinds)
    assert set(done.spider.run_state.walks.lists.values()) == {"ended"}
    assert ("start" in done.asked[-1].url and "fl=" not in done.asked[-1].url) == (status == 500)


class Haunted:
    """A portal of 40 datasets that counts three of them, and gives their ids, without a record.

    Args:
        denied: whether it says of these that the user may not see them; else, that they are not there.
        token: whether it accepts one.
        by_id: whether it pages by id, too.
    """

    ghosts = ("id000", "id018", "id023")

    def __init__(self, *, denied: bool = False, token: bool = False, by_id: bool = False) -> None:
        self.absent = Answer(json.dumps({"success": False, "error": DENIED}).encode(), 403) if denied else unknown()
        self.token, self.by_id = token, by_id
        self.records = [{"id": f"id{number:03}", "title": "T", "resources": []} for number in range(40)]

    def __call__(self, asked):
        if asked.action == "am_following_dataset" and asked.id not in self.ghosts:
            return (
                result(False) if self.token else Answer(json.dumps({"success": False, "error": DENIED}).encode(), 403)
            )
        if asked.action != "package_search":
            return self.absent if asked.id in self.ghosts else result(self.records[int(asked.id[2:])])
        query, fq = asked.parameters, asked.parameters.get("fq", "")
        found = [one for one in self.records if "id:(" not in fq or one["id"] in fq]
        if self.by_id:
            found = [one for one in found if "id:{" not in fq or fq < f"+id:{{{one['id']}"]
        part = found[int(query.get("start", 0)) :][: int(query["rows"])]
        given = [{"id": one["id"]} for one in part] if "fl" in query else self.without_ghosts(part)
        return result({"count": len(found), "results": given})

    def without_ghosts(self, records):
        return [one for one in records if one["id"] not in self.ghosts]

    def walked(self, folder, **given):
        with Site(self) as site:
            settings = {"CONFIRM_MAX": 1000, "API_TOKEN_ENV": "CKAN_API_TOKEN"}
            return walk(CKAN, answers_of(site), folder, settings, portal="https://example.org", **given)


@pytest.mark.parametrize("rows", ["1000", "10"])
def test_ghosts_of_a_portal_that_is_paged_by_offset_are_explained(tmp_path, rows):
    done = Haunted().walked(tmp_path, rows=rows)
    assert (done.errors, done.judged, len(done.items)) == ([], ("complete", 37, 37), 37)
    assert done.evidence == {"datasets": "total less 3 that the portal does not have"}


@pytest.mark.parametrize("is_accepted", [True, False])
def test_a_portal_is_asked_about_the_token_before_it_says_what_is_not_public(tmp_path, monkeypatch, is_accepted):
    monkeypatch.setenv("CKAN_API_TOKEN", "some-token")
    done = Haunted(denied=True, token=is_accepted, by_id=True).walked(tmp_path)
    errors = {} if is_accepted else {"refused": 1, "http": 3, "count_mismatch": 1}
    assert (done.kinds(), len(done.items)) == (errors, 37)
    assert done.judged == (("complete", 37, 37) if is_accepted else ("incomplete", 40, 37))
    assert sum("am_following_dataset" in request.url for request in done.asked) == 1


def test_a_dataset_on_disk_that_becomes_a_ghost_is_withdrawn(crawl, portal):
    site = portal(datasets=120)
    crawl("ckan", site)
    site.change(ghosts=site.ids()[:1])
    done = crawl("ckan", site)
    assert (done.code, done.errors, statuses(done)) == (0, [], ["withdrawn"])
    assert done.report["evidence"] == {"datasets": "total less 1 that the portal does not have"}
    assert statuses(crawl("ckan", site)) == []


def test_more_that_changed_and_are_not_given_than_are_asked_for_withdraw_nothing(crawl, portal):
    """The portal lists them, and its search gives no record of them: its database may lag behind."""
    site = portal(datasets=120)
    first = crawl("ckan", site)
    ghosts = site.ids()[:12]
    site.change(touch=ghosts, ghosts=ghosts)
    site.reset()
    refused = crawl("ckan", site, since="last", settings={"CONFIRM_MAX": "11"})
    assert (refused.code, refused.kinds(), refused.report["counts"]["withdrawn"]) == (3, [("list", "shrink")], 0)
    assert (refused.report["expected"], refused.report["listed"], site.requests("package_show")) == (12, 0, 0)
    titles = {line["dataset_id"]: " ".join(line["dataset_title"].split())[:50] for line in first.manifest}
    message = refused.errors[0]["error"]
    assert "the portal lists 12 datasets, and does not give them: more than are asked for one by one" in message
    assert "(CONFIRM_MAX = 11), and nothing is withdrawn" in message
    assert "and 2 more. To have it asked for each: -s CONFIRM_MAX=12" in message
    assert [name for name in ghosts[:10] if titles[name] not in message] == []
    asked = crawl("ckan", site, since="last", settings={"CONFIRM_MAX": "12"})
    assert (asked.code, statuses(asked)) == (0, ["withdrawn"] * 12)


def test_everything_is_listed_where_no_question_about_many_is_answered_and_they_are_too_many_to_ask_for(crawl, portal):
    site = portal(datasets=120)
    crawl("ckan", site)
    site.change(edit={name: {"title": "Later", "metadata_modified": "2097-01-01T00:00:00"} for name in site.ids()[:12]})
    site.fault(error="id%3A%28")
    site.reset()
    done = crawl("ckan", site, since="last", settings={"CONFIRM_MAX": "11", "RETRY_TIMES": "0"})
    assert (done.code, done.errors, done.report["counts"]["updated"], done.report["listed"]) == (0, [], 12, 120)
    assert site.requests("package_show") == 0


def test_a_token_that_is_refused_withdraws_no_ghost(crawl, portal, monkeypatch):
    site = portal(datasets=120)
    monkeypatch.setenv("CKAN_API_TOKEN", TOKEN)
    assert crawl("ckan", site).code == 0
    site.change(touch=site.ids()[:2], ghosts=site.ids()[:2])
    monkeypatch.setenv("CKAN_API_TOKEN", "expired")
    for given in ({"since": "last"}, {}):
        done = crawl("ckan", site, **given)
        assert (done.code, done.report["errors"], done.report["counts"]["withdrawn"]) == (3, {"refused": 1}, 0)


def test_what_the_listing_lacks_and_the_portal_has_is_no_ghost(crawl, portal):
    """It is taken by its id, and counted."""
    site = portal(datasets=120)
    site.change(ghosts=site.ids()[:3])
    site.change(unhide=site.ids()[:3])
    done = crawl("ckan", site)
    assert (done.code, len(done.ids()), done.report["listed"]) == (0, 120, 120)
    assert done.report["evidence"] == {"datasets": "total"}


@pytest.mark.parametrize("fault", ["unknown", "error"])
def test_a_portal_that_gives_no_dataset_has_no_ghosts(crawl, portal, fault):
    site = portal(datasets=120)
    site.change(ghosts=site.ids()[:2])
    site.fault(**{fault: "package_show"})
    done = crawl("ckan", site, settings={"RETRY_TIMES": "0"})
    assert done.code == 3
    assert done.report["errors"] == {"count_mismatch": 1, "http": 2}


def test_deleted_datasets_and_drafts_that_are_listed_count_as_not_there(crawl):
    records = [{"id": f"id{number:03}", "name": f"n{number}", "title": "T", "resources": []} for number in range(20)]

    def portal(asked):
        if asked.action == "package_show":
            return result(next(one for one in records if one["id"] == asked.id))
        return listing(*records)

    with Site(portal) as site:
        crawl("ckan", site)
        records[5] |= {"state": "deleted"}
        records[6] |= {"state": "draft"}
        records.append({"id": "id999", "name": "never", "title": "T", "resources": [], "state": "deleted"})
        done = crawl("ckan", site)
    assert (done.code, done.errors, done.report["expected"], done.report["listed"]) == (0, [], 18, 18)
    assert {line["dataset_id"]: line["reason"] for line in done.manifest if line["status"] == "withdrawn"} == {
        "id005": "deleted",
        "id006": "no longer public",
    }


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("error", "http"), ("forbidden", "http"), ("gone", "http"), ("away", "http"), ("html", "not_json")],
)
def test_only_ckans_own_word_confirms_that_it_is_gone(crawl, portal, fault, kind):
    site = portal(datasets=100)
    crawl("ckan", site)
    gone = site.ids()[0]
    site.change(remove=[gone])
    site.fault(**{fault: f"package_show?id={gone}"})
    done = crawl("ckan", site, settings={"RETRY_TIMES": "0"})
    assert (done.code, done.report["counts"]["withdrawn"]) == (3, 0)
    assert done.kinds() == [("fetch", kind)]
    assert "the portal does not say that it is gone" in done.errors[0]["error"]


@pytest.mark.parametrize("fault", ["denied", "unknown"])
def test_a_portal_that_does_not_give_what_it_lists_withdraws_nothing(crawl, portal, fault):
    """Closed to the public, or without its database: it says of all what it says of one that is gone."""
    site = portal(datasets=100)
    crawl("ckan", site)
    site.change(remove=site.ids()[:1])
    site.fault(**{fault: "package_show"})
    site.reset()
    done = crawl("ckan", site)
    assert (done.code, done.report["counts"]["withdrawn"], done.kinds()) == (3, 0, [("list", "http")])
    assert "1 dataset is no longer listed, and nothing is withdrawn" in done.errors[0]["error"]
    assert site.requests("package_show") == 4, "a few controls, and none of those that are gone"


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


@pytest.mark.parametrize("fault", ["count_off=1", "ignore_start"])
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


# Counters


def moved(package):
    """A package after a night in which nobody edited it."""
    resources = [{**one, "tracking_summary": {"total": 9, "recent": 2}} for one in package["resources"]]
    lists = {name: package[name][::-1] for name in ("tags", "groups")}
    counters = {name: package[name] + 3 for name in ("pageviews_last_14_days", "total_res_downloads")}
    return {**counters, **lists, "resources": resources, "tracking_summary": {"total": 5, "recent": 1}}


def test_counters_that_move_are_no_news(crawl, portal, output):
    site = portal(datasets=50)
    first = crawl("hdx", site, level="both")
    packages = {package["id"]: package for package in first.documents().values()}
    site.change(edit={name: moved(package) for name, package in packages.items()})
    site.reset()
    second = crawl("hdx", site, level="both")
    assert (second.code, second.report["counts"]["unchanged"], statuses(second)) == (0, 50 * 5, [])
    assert site.requests("download_metadata") == 0
    assert second.documents() == first.documents()
    assert command("reindex", "-s", f"OUTPUT_DIR={output}").returncode == 0
    site.change(edit={site.ids()[0]: {"title": "Edited, under the old stamp", "pageviews_last_14_days": 77}})
    third = crawl("hdx", site, level="both")
    assert (statuses(third), site.requests("download_metadata")) == (["updated"] * 2, 4), "the edit counts, and only it"
    kept = crawl("ckan", site, source="hdx", settings={"KEEP_COUNTERS": "True"})
    assert (kept.code, statuses(kept)) == (0, ["updated"] * 49)
    assert {package["tracking_summary"]["total"] for package in kept.documents().values()} == {5}


def test_a_file_that_a_killed_run_left_is_not_taken_for_the_record(crawl, portal):
    """It is newer than its manifest line, and differs from the portal's record by counters alone."""
    site = portal(datasets=3)
    first = crawl("ckan", site)
    file = next((first.folder / "datasets").iterdir())
    document = json.loads(file.read_bytes())
    file.write_bytes(file.read_bytes().replace(b'"num_tags": ', b'"num_tags":  ', 1)[:-1])  # of the same size
    site.change(edit={document["id"]: moved(document)})
    second = crawl("ckan", site)
    assert statuses(second) == ["updated"]
    line = second.manifest[-1]
    assert hashlib.sha256((second.folder / line["metadata_file"]).read_bytes()).hexdigest() == line["sha256"]


# The index


def test_reindex_makes_the_same_index(crawl, portal, output):
    site = portal(datasets=100)
    crawl("hdx", site, level="both")
    site.change(touch=site.ids()[:5], remove=site.ids()[10:11])
    crawl("hdx", site, level="both")
    before = rows(output)
    ran = command("reindex", "-s", f"OUTPUT_DIR={output}")
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
    written = moment.moment(first.report["finished"])
    until(lambda: moment.name() > moment.name(written))  # the second in which a run starts decides which was first
    crawl("ckan", site, source="hdx")
    site.reset()
    crawl("hdx", site)
    assert site.requests("download_metadata") == 2
