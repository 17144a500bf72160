"""Portals that fail: nothing is silently missing, and the verdict says so."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from resource import RLIMIT_FSIZE

import pytest

from tests import forked
from tests.conftest import ROOT, options
from tests.portal.data import HIGHEST_ID, LOWEST_ID
from tests.waiting import HANG, until

EXPORT = "download_metadata"


@pytest.fixture
def portal(portal):
    """Its listing has three whole pages and a part."""
    return lambda **keywords: portal(**{"datasets": 95, "rows_max": 30, **keywords})


# Faults that pass, or that there is a way around


@pytest.mark.parametrize(
    "fault",
    [
        "unavailable=1",
        pytest.param("too_many=1", marks=pytest.mark.slow),
        "truncated_once=package_search",
        "no_keyset",
        "unsorted",
        "ignore_start=off",
    ],
)
def test_a_fault_that_is_got_over(crawl, portal, fault):
    faults = () if fault.endswith("=off") else (fault,)
    site = portal(faults=faults)
    done = crawl("ckan", site)
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", [])
    assert done.ids() == site.ids()


def test_retries_wait_and_are_counted(crawl, portal):
    site = portal(datasets=5, faults=("unavailable=2",))
    begin = time.monotonic()
    done = crawl("ckan", site, settings={"RETRY_BACKOFF": "0.5"})
    assert time.monotonic() - begin > 1.5 * 0.5  # 0.5 to 1 s and 1 to 2 s, halved by jitter at most
    assert (done.code, done.report["retries"], site.requests()) == (0, 2, 3)


def test_a_page_too_large_is_asked_for_in_parts(crawl, portal):
    site = portal(faults=("cut_json_over=20",))
    done = crawl("ckan", site, rows="100")
    assert (done.code, done.ids()) == (0, site.ids())


def test_records_that_change_while_they_are_listed(crawl, portal):
    site = portal()
    before = set(site.ids())
    site.fault(change_while_listed=True)
    done = crawl("ckan", site)
    assert done.code == 0
    assert before <= set(done.ids()), "what was there at the start is there, though it moved meanwhile"
    assert HIGHEST_ID in done.ids()
    assert LOWEST_ID not in done.ids(), "what came behind the listing's back is for the next run"


def test_rows_are_capped_silently(crawl, portal):
    site = portal(rows_max=7, datasets=50)
    assert crawl("ckan", site).ids() == site.ids()


def test_offsets_advance_by_what_came(crawl, portal):
    site = portal(rows_max=30, faults=("no_keyset",))
    done = crawl("ckan", site)
    assert (done.code, done.ids()) == (0, site.ids())


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (f"gone={EXPORT}", "HTTP 404 Not Found"),
        (f"robot_check={EXPORT}", "a robot check came instead of an answer (HTTP 200)"),
        (f"waf={EXPORT}", "a firewall answered instead of the portal (HTTP 202, x-amzn-waf-action)"),
        (f"html={EXPORT}", "text/html came instead of JSON"),
        (f"cut_json={EXPORT}", "breaks off"),
        (f"error={EXPORT}", "HTTP 500"),
        (f"drop={EXPORT}", "the connection"),
    ],
)
def test_a_missing_export_falls_back(crawl, portal, fault, reason):
    site = portal(datasets=4, faults=(fault,))
    done = crawl("hdx", site, level="both", settings={"RETRY_TIMES": "1"})
    assert (done.code, done.errors, done.report["counts"]["fallback"]) == (0, [], 16)
    packages = {package["id"]: package for package in done.documents().values()}
    for document in done.documents("dataset_metadata").values():
        assert reason in document["_fallback_reason"]
        assert list(document) == ["_fallback_reason", "_note", "dataset"]
        assert document["dataset"] == packages[document["dataset"]["id"]]
    for document in done.documents("resource_metadata").values():
        assert list(document) == ["_fallback_reason", "_note", "dataset_id", "resource"]
        assert document["resource"] in packages[document["dataset_id"]]["resources"]
    sources = {line["kind"]: line["metadata_source"] for line in done.manifest}
    assert sources["dataset_metadata"] == "ckan_package_show_fallback"
    assert sources["resource_metadata"] == "ckan_resource_show_fallback"


def test_an_export_and_its_fallback_fail(crawl, portal):
    site = portal(datasets=4, faults=(f"gone={EXPORT}", "forbidden=resource_show"))
    done = crawl("hdx", site, settings={"BLOCKED_AFTER": "0"})
    assert (done.code, done.report["verdict"], len(done.errors)) == (3, "incomplete", 12)
    assert set(done.kinds()) == {("fetch", "http")}
    for error in done.errors:
        assert error["error"] == "download_metadata: HTTP 404 Not Found; resource_show: HTTP 403 Forbidden"
        assert error["http_status"] == 403
        assert error["resource_id"] in error["url"]
        assert error["dataset_id"]


# Faults that leave something missing


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("no_id=cod-ab-global", "missing_id"), ("null_record", "missing_id")],
)
def test_a_record_without_an_id(crawl, portal, fault, kind):
    site = portal(faults=(fault,))
    done = crawl("ckan", site)
    assert (done.code, done.report["verdict"], len(done.documents())) == (3, "incomplete", 94)
    assert done.kinds() == [("list", kind)]
    assert done.report["listed"] == done.report["expected"] == 95


@pytest.mark.parametrize("fault", ["no_resources", "bad_record"])
def test_a_record_that_maps_badly(crawl, portal, fault):
    site = portal(faults=(f"{fault}=cod-ab-global",))
    done = crawl("ckan", site)
    assert (done.code, done.kinds()) == (0, [])
    assert {flaw["dataset_name"] for flaw in done.flaws} == {"cod-ab-global"}
    assert done.ids() == site.ids(), "its document is kept as it is"


def test_a_record_the_portal_cannot_give(crawl, portal):
    site = portal(faults=("deep",))
    done = crawl("ckan", site)
    lost = site.ids()[0]
    assert (done.code, done.ids()) == (3, site.ids()[1:])
    assert [(error["stage"], error["dataset_id"]) for error in done.errors] == [("list", lost)]
    assert done.report["listed"] == 95


def test_a_count_that_lies(crawl, portal):
    site = portal(faults=("count_off=5",))
    done = crawl("ckan", site)
    assert (done.code, done.ids(), done.kinds()) == (3, site.ids(), [("list", "count_mismatch")])
    assert "says it has 100 datasets, and listed 95" in done.errors[0]["error"]


def test_pages_that_answer_different_questions(crawl, portal):
    """A second list, of one of the two questions, would only seem to fit."""
    site = portal(datasets=200, faults=("filters_late",))
    done = crawl("ckan", site, fq="data_update_frequency:365", rows="50")
    [error] = done.errors
    assert (done.code, error["stage"], error["kind"]) == (3, "list", "count_mismatch")
    assert "counts 200 datasets, and 20 behind an id: it answers two questions" in error["error"]
    assert not any("start=" in entry["path"] for entry in site.log()), "not listed again, by offset"


def test_no_count_at_all(crawl, portal):
    site = portal(faults=("no_count",))
    done = crawl("ckan", site)
    assert (done.code, done.ids(), done.errors) == (0, site.ids(), [])
    assert done.report["evidence"] == {"datasets": "short_page"}, "the page behind the last is empty"


def test_every_page_is_the_first(crawl, portal):
    done = crawl("ckan", portal(faults=("ignore_start",)))
    assert (done.code, len(done.documents()), done.kinds()) == (3, 30, [("list", "paging")])


def test_a_page_that_comes_twice(crawl, portal):
    site = portal(faults=("repeat_page",))
    done = crawl("ckan", site)
    assert (done.code, len(done.documents()), done.kinds()) == (3, 65, [("list", "count_mismatch")])


def test_a_listing_that_breaks_in_the_middle(crawl, portal):
    site = portal()
    cut = site.ids()[59]
    site.fault(error=cut)
    done = crawl("ckan", site, settings={"RETRY_TIMES": "1"})
    assert done.report["verdict"] == "complete", "a portal that breaks over a filter is paged by offset"
    site.fault(error="package_search?", unsorted=None)
    again = crawl("ckan", site, settings={"RETRY_TIMES": "0"})
    assert (again.code, again.report["verdict"], again.kinds()) == (4, "failed", [("list", "http")])
    assert len(again.documents()) == 95, "a listing that fails deletes nothing"


@pytest.mark.parametrize(
    ("fault", "verdict", "kind"),
    [
        ("error=package_search", "failed", "http"),
        ("success_false=package_search", "failed", "refused"),
        ("html=package_search", "failed", "not_json"),
        ("robot_check=package_search", "blocked", "blocked"),
        ("waf=package_search", "blocked", "blocked"),
        ("drop=package_search", "failed", "connection"),
        ("forbidden=package_search", "blocked", "blocked"),
        ("cut_json=package_search", "failed", "truncated"),
    ],
)
def test_a_listing_that_can_not_be_had(crawl, portal, fault, verdict, kind):
    done = crawl("ckan", portal(datasets=20, faults=(fault,)), settings={"RETRY_TIMES": "1"})
    assert (done.code, done.report["verdict"], done.kinds()) == (4, verdict, [("list", kind)])
    told = 4 if verdict == "blocked" else 3
    assert done.lines[-told].startswith(f"127.0.0.1: {verdict}. 0 datasets listed")


def test_a_portal_that_is_not_there(crawl, portal):
    site = portal(datasets=1)
    site.stop()
    done = crawl("ckan", site)
    assert (done.code, done.kinds()) == (4, [("list", "connection")])
    assert "Traceback" not in done.log


@pytest.mark.slow
def test_a_portal_that_does_not_answer(crawl, portal):
    site = portal(datasets=1, faults=("hang=package_search",))
    done = crawl("ckan", site, settings={"DOWNLOAD_TIMEOUT": "4", "RETRY_TIMES": "0"}, rows="1")
    assert (done.code, {kind for _, kind in done.kinds()}) == (4, {"timeout"})


def test_a_search_the_portal_refuses_is_told_in_its_words(crawl, portal):
    site = portal(datasets=20)
    done = crawl("ckan", site, fq="title:a AND")
    assert (done.code, done.errors[0]["kind"], site.requests()) == (4, "http", 1)
    assert "Search Query Error" in done.errors[0]["error"]


def test_nothing_found_is_complete(crawl, portal):
    done = crawl("ckan", portal(datasets=20), q="nowhereland")
    assert (done.code, done.report["verdict"], done.report["expected"]) == (0, "complete", 0)


def test_redirects_are_followed(crawl, portal):
    there = portal(datasets=20)
    here = portal(datasets=1, faults=(f"redirect={there.url}",))
    done = crawl("ckan", here, settings={"ALLOWED_PRIVATE_HOSTS": there.url.removeprefix("http://")})
    assert (done.code, done.ids()) == (0, there.ids())


# Hostile records


def test_ids_that_are_paths(crawl, portal, output):
    done = crawl("hdx", portal(datasets=20, faults=("evil_ids",)))
    inside = {path.name for path in output.rglob("*") if path.is_file()}
    assert len(done.documents()) == 23
    assert all("/" not in name and "evil" not in name.split("__")[0] for name in inside)
    assert not list(output.parent.glob("evil*"))
    assert {"../../evil", 'a/b c"d', ".."} <= set(done.ids()), "the document keeps the id as it is"
    assert "\x1b" not in done.log


@pytest.mark.parametrize("fault", ["nan", "huge_ints", "long_number", "surrogate"])
def test_numbers_and_texts_that_are_hard_to_write(crawl, portal, fault):
    site = portal(datasets=20, faults=(fault,))
    done = crawl("ckan", site)
    assert (done.code, done.ids()) == (0, site.ids())
    first = next(document for document in done.documents().values() if document["id"] == site.ids()[0])
    assert fault != "huge_ints" or first["total_res_downloads"] == 10**30
    assert fault != "nan" or first["total_res_downloads"] is None
    again = crawl("ckan", site)
    assert again.report["counts"]["unchanged"] == 20


# Ends that come early


def started(output, portal, *more):
    words = options(output, {"REQUESTS_PER_SECOND": "20", "CRAWL_DELAY_MAX": "0"}, portal=portal.url)
    command = [sys.executable, "-m", "scrapy", "crawl", "hdx", *words, *more]
    crawl = forked.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    until(lambda: portal.requests(EXPORT) >= 10, unless=lambda: crawl.poll() is not None)
    return crawl


@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM, signal.SIGTERM]])
def test_an_interrupted_crawl_says_so_and_the_next_goes_on(crawl, portal, output, signals):
    site = portal(datasets=100, rows_max=100, resources=2)
    first = started(output, site)
    site.fault(slow=f"1:{EXPORT}")  # or the first signal has ended it when the second comes
    time.sleep(0.3)
    for number in signals:
        first.send_signal(number)
        time.sleep(0.3)
    _, log = first.communicate(timeout=HANG)
    report = json.loads(next((output / "hdx" / "runs").iterdir()).read_bytes())
    assert (first.returncode, report["verdict"]) == (130, "interrupted")
    assert log.splitlines()[-2].startswith("hdx: interrupted. 100 of 100 datasets listed")
    site.fault(slow=None)
    asked = site.requests(EXPORT)
    done = crawl("hdx", site)
    assert (done.code, len(done.documents("resource_metadata"))) == (0, 200)
    assert site.requests(EXPORT) <= 200 + 16, f"{asked} were asked for already, and are not asked for again"


def test_two_crawls_of_one_source_do_not_mix(crawl, portal, output):
    site = portal(datasets=50)
    first = started(output, site)
    second = crawl("hdx", site)
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=HANG)
    assert second.code == 1
    assert second.lines[-1].startswith(f"another crawl is writing into {output / 'hdx'}")


def test_a_line_torn_by_a_kill_is_mended(crawl, portal):
    site = portal(datasets=10)
    first = crawl("ckan", site)
    manifest = first.folder / "manifest.jsonl"
    whole = manifest.read_bytes()
    manifest.write_bytes(whole[:-40])
    second = crawl("ckan", site)
    assert [line["dataset_id"] for line in second.manifest] == [
        json.loads(line)["dataset_id"] for line in whole.splitlines()
    ]


def test_a_disk_that_is_full(crawl, portal, output):
    site = portal(datasets=200)
    (output / "hdx").mkdir(parents=True)
    (output / "hdx" / "resource_metadata").write_text("in the way of a folder")
    done = crawl("hdx", site)
    assert (done.code, done.report["verdict"], done.report["finish_reason"]) == (4, "failed", "disk")
    assert ("write", "disk") in done.kinds()
    assert len([kind for kind in done.kinds() if kind[1] == "disk"]) == 1
    assert site.requests(EXPORT) < 100, "nothing more is asked for"


def test_an_output_folder_that_is_a_file(crawl, portal, output):
    output.write_text("not a folder")
    done = crawl("ckan", portal(datasets=1))
    assert (done.code, "Traceback" in done.log) == (1, False)
    assert done.lines[-1].startswith(f"{output}/127.0.0.1 can't be written into (")


def test_an_index_that_is_broken(crawl, portal, output):
    output.mkdir()
    (output / "index.sqlite").write_bytes(b"no database" * 1000)
    done = crawl("ckan", portal(datasets=1))
    assert (done.code, "Traceback" in done.log) == (0, False)
    assert "it was renamed to index.sqlite.damaged-" in done.log


@pytest.mark.parametrize(
    ("kilobytes", "job"),
    [
        (150, True),
        *(pytest.param(most, job, marks=pytest.mark.slow) for most, job in ((300, False), (300, True), (60, True))),
    ],
)
def test_a_disk_that_fills_up(portal, output, tmp_path, kilobytes, job):
    """No file may grow beyond a limit: whichever does so first, the crawl stops, and says what to do."""
    site = portal(datasets=kilobytes)  # whose manifest alone is half as large again as a file may be
    words = options(output, {"JOBDIR": str(tmp_path / "job")} if job else {}, portal=site.url)
    command = [sys.executable, "-m", "scrapy", "crawl", "hdx", *words]
    limits = {RLIMIT_FSIZE: kilobytes * 1024}
    full = forked.run(command, limits=limits, cwd=ROOT, capture_output=True, text=True, timeout=HANG, check=False)
    assert full.returncode in (1, 4), full.stderr[-2000:]
    assert "free some space" in full.stderr
    assert "Traceback" not in full.stderr, full.stderr[-3000:]
    done = forked.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(list((output / "hdx" / "resource_metadata").iterdir())) == 3 * kilobytes
    lines = (output / "hdx" / "manifest.jsonl").read_text().splitlines()
    assert len({json.loads(line)["metadata_file"] for line in lines}) == len(lines) == 4 * kilobytes
