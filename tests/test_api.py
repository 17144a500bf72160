"""Whole crawls of JSON APIs: every shipped declaration, and all that goes wrong while such a catalogue is listed."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from email.message import Message
from importlib import resources

import pytest
from scrapy.http import TextResponse

from crawlers.exceptions import AnswerError
from crawlers.kinds.api import spider
from crawlers.kinds.api.checks import arcgis_scope
from tests import forked
from tests import walked as walking
from tests.conftest import ROOT, Crawl, options, scrapy
from tests.portal.apis import API, SITE, SOFTWARE, WINDOW, WORLD, collection
from tests.site import Answer, Asked, Site
from tests.test_resume import left
from tests.waiting import until
from tests.walked import Walked, answers_of, walk

PAGE = {
    "zenodo": 25,
    "invenio-rdm": 25,
    "opendatasoft-v1": 50,
    "dataverse": 250,
    "socrata": 1000,
    "eu-hub-search": 1000,
    "datacite-rest": 1000,
    "worldbank": 1000,
}
MORE = ("worldbank", "eu-hub-search", "udata-v2", "dataverse")
"""Kinds whose total may be that of the only page, or that offer one behind it: that is requested."""
FOLLOWED = {"udata-v2": 2, "dataverse": 1, "worldbank": 1}
"""Requests for each dataset."""


def crawled(api, output, given=None, more=(), **settings) -> Crawl:
    given = {"kind": api.kind, "portal": api.portal} | (given or {})
    ran = scrapy("crawl", "api", *options(output, settings, **given), *more)
    return Crawl(ran.returncode, ran.stderr, output / given.get("source", "127.0.0.1"))


def walked(api, folder) -> Walked:
    return walk(spider.API, answers_of(api.site), folder, portal=api.portal, kind=api.kind)


def declared(tmp_path, kind, *changes):
    """A declaration of the user's that overrides the shipped one."""
    text = resources.files("crawlers.kinds.api").joinpath(f"{kind}.toml").read_text(encoding="utf-8")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    folder = tmp_path / "catalogues" / "kinds"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{kind}.toml").write_text(text, encoding="utf-8")
    os.environ["CRAWLERS_HOME"] = str(tmp_path)


SMALL = ("max = 10000", f"max = {WINDOW}")


# Every shipped kind


@pytest.mark.parametrize("kind", SOFTWARE)
def test_a_whole_catalogue(output, tmp_path, kind):
    feed = tmp_path / "items.jsonl"
    size = PAGE.get(kind, 100)
    count = 30 if kind in FOLLOWED else min(2 * size + 50, 250)
    with API(kind, count) as api:
        done = crawled(api, output, more=("-O", str(feed)))
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", [])
    assert (done.report["listed"], done.report["expected"], done.report["counts"]["new"]) == (count, count, count)
    pages = 1 if kind == "dkan" else math.ceil(count / size)
    if kind in ("opendatasoft", "opendatasoft-v1"):  # each page begins with the last record of the one before it
        pages = math.ceil((count - 1) / (size - 1))
    pages += kind in MORE
    assert len(api.asked) == pages
    before = {"arcgis-hub": 1, "magda": 1}.get(kind, 0)
    assert len(api.site.asked) == 1 + before + pages + FOLLOWED.get(kind, 0) * count  # robots.txt is one
    items = [json.loads(line) for line in feed.read_text().splitlines()]
    assert {item["metadata_source"] for item in items} == {kind}
    assert {item["title"] for item in items} == {f"Dataset {number}" for number in range(count)}
    assert len({item["id"] for item in items}) == count
    for item in items:
        assert item["metadata_url"].startswith(api.portal)
        if kind != "worldbank":
            assert "What" in (item["description"] or "What")
            assert "<" not in (item["description"] or "")
        assert [one["dataset_id"] for one in item["resources"]] == [item["id"]] * len(item["resources"])
        if kind != "worldbank":
            assert item["resources"]
            assert item["publisher"]["name"]
            assert item["metadata_modified"]


def test_what_is_followed_is_in_the_document(output):
    with API("udata-v2", 3) as api:
        done = crawled(api, output)
    for document in done.documents().values():
        assert [one["title"] for one in document["resource_list"]] == ["File 1", "File 2"]


# The end of a listing

WHOLE = [
    *(("blank", kind) for kind in ("opendatasoft", "arcgis-hub", "udata")),
    *(
        ("uncounted", kind)
        for kind in ("opendatasoft", "udata", "socrata", "stac", "magda", "geonetwork", "arcgis-hub")
    ),
    *(("caps", kind) for kind in ("opendatasoft", "udata", "arcgis-hub", "magda", "socrata", "geonetwork")),
    *(("poison", kind) for kind in ("opendatasoft", "udata", "magda", "socrata", "geonetwork")),
    *(("html", kind) for kind in ("opendatasoft", "udata", "arcgis-hub", "stac")),
    *(("dead_token", kind) for kind in ("magda", "stac")),
    *(("touched", kind) for kind in ("opendatasoft", "arcgis-hub")),
    *(("repeats", kind) for kind in ("opendatasoft", "udata")),
]


@pytest.mark.parametrize(("trap", "kind"), WHOLE)
def test_a_trap_that_is_got_round(tmp_path, trap, kind):
    with API(kind, 250, {trap}) as api:
        done = walked(api, tmp_path)
    assert (done.judged, done.errors, len(done.items)) == (("complete", 250, 250), [], 250)


@pytest.mark.parametrize(
    ("trap", "kind"),
    [("caps", "udata"), ("poison", "opendatasoft"), ("html", "stac"), ("dead_token", "magda"), ("repeats", "udata")],
)
def test_a_trap_that_a_crawl_gets_round(output, trap, kind):
    with API(kind, 250, {trap}) as api:
        done = crawled(api, output)
    assert (done.code, done.report["verdict"], done.errors) == (0, "complete", [])
    assert (done.report["listed"], done.report["counts"]["new"]) == (250, 250)


LOST = [
    *(
        ("lost", kind, ("list", "count_mismatch"))
        for kind in ("opendatasoft", "arcgis-hub", "magda", "socrata", "stac")
    ),
    *(("ended", kind, ("list", "count_mismatch")) for kind in ("opendatasoft", "udata", "magda", "geonetwork")),
    *(("ignores", kind, ("list", "paging")) for kind in ("opendatasoft", "udata", "stac", "magda")),
    ("lethal", "socrata", ("list", "http")),
    ("lethal", "magda", ("list", "http")),
    ("lethal", "stac", ("list", "http")),
]


@pytest.mark.parametrize(("trap", "kind", "error"), LOST)
def test_a_trap_that_leaves_records_out(tmp_path, trap, kind, error):
    with API(kind, 250, {trap}) as api:
        done = walked(api, tmp_path)
    verdict, _, listed = done.judged
    assert (verdict, listed < 250, [(each.stage, each.kind) for each in done.errors]) == ("incomplete", True, [error])


@pytest.mark.parametrize(("trap", "kind", "error"), [one for one in LOST if one[1] == "magda"])
def test_a_trap_that_leaves_records_out_of_a_crawl(output, trap, kind, error):
    with API(kind, 250, {trap}) as api:
        done = crawled(api, output)
    assert (done.code, done.report["verdict"], done.kinds()) == (3, "incomplete", [error])
    assert done.report["listed"] < 250
    assert not done.report["counts"]["withdrawn"]


@pytest.mark.parametrize("kind", ["opendatasoft", "udata", "dataverse"])
def test_a_record_that_fails_by_itself_is_one_error_line(output, kind):
    with API(kind, 250, {"lethal"}) as api:
        done = crawled(api, output)
    assert (done.code, done.report["listed"]) == (3, 249)
    assert next((line["kind"], line["error"].partition(":")[0]) for line in done.errors) == (
        "refused",
        f"the portal can't give record {120 if kind == 'opendatasoft' else 131} of the listing",
    )


def test_three_records_in_a_row_that_fail_end_the_listing(output):
    def answer(asked):
        start, size = int(asked.parameters.get("offset", 0)), int(asked.parameters.get("limit", 0))
        if start + size > 100:
            return Answer(b"", 500)
        records = [{"dataset_id": f"d-{number}", "metas": {}} for number in range(start, start + size)]
        return Answer(json.dumps({"total_count": 400, "results": records}).encode())

    with Site(answer) as site:
        words = options(output, {}, portal=site.url, kind="opendatasoft")
        ran = scrapy("crawl", "api", *words)
        done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert done.code == 3
    assert done.kinds() == [("list", "refused")] * 3 + [("list", "http")]
    assert len(done.manifest) == 100


def test_what_an_error_says_is_in_its_line(output):
    refusal = {"message": "You must be logged in", "error": True}
    for status in (200, 403):
        with Site(lambda asked, status=status: Answer(json.dumps(refusal).encode(), status)) as site:
            words = options(output, {}, portal=site.url, kind="socrata", source=f"s{status}")
            ran = scrapy("crawl", "api", *words)
        done = Crawl(ran.returncode, ran.stderr, output / f"s{status}")
        assert done.code == 4
        assert "You must be logged in" in done.errors[-1]["error"]


# Contradictions, and what moves meanwhile

LIST = """title = "Example"
metadata_url = "{{portal}}/r/{{id}}"
[list]
url = "{{portal}}/list"
records = "r"
{}
[list.paging]
size = {{ param = "limit", max = 10 }}
{}
[dataset]
id = "id"
title = "title"
"""
OFFSET = 'kind = "offset"\nparam = "offset"'
NUMBER = 'kind = "page"\nparam = "page"'
NEXT = 'kind = "next"'
TOKEN = 'kind = "token"\nparam = "token"\ntoken = "n"'
LAST = 'kind = "last-id"\nparam = "after"\nlast = "id"'
TOTAL, LINK = 'total = "t"', 'total = "t"\nnext = "n"'


class Example:
    """An API whose every answer is the JSON that a function makes of the request, or an answer of its own."""

    def __init__(self, page):
        self.page = page
        self.names = [f"d{number:03d}" for number in range(35)]

    def records(self, start, size=10):
        return [{"id": name, "title": name} for name in self.names[start : start + size]]

    def answer(self, asked):
        if asked.path == "/robots.txt":
            return Answer(b"", 404)
        found = self.page(self, asked.parameters)
        return found if isinstance(found, Answer) else Answer(json.dumps(found).encode())

    def declare(self, tmp_path, more, paging, window=""):
        path = tmp_path / "catalogues" / "kinds" / "example.toml"
        path.parent.mkdir(parents=True)
        os.environ["CRAWLERS_HOME"] = str(tmp_path)
        path.write_text(LIST.format(more, paging).replace("[dataset]", window + "\n[dataset]"), encoding="utf-8")

    def walked(self, tmp_path, more, paging) -> Walked:
        self.declare(tmp_path, more, paging)
        return walk(spider.API, self.response, tmp_path, portal="https://example.org", kind="example")

    def response(self, request):
        given = self.answer(Asked(walking.path(request), Message(), request.method, request.body))
        return walking.response(request, given.body, given.status, given.headers)

    def crawled(self, output, tmp_path, more, paging, window=""):
        self.declare(tmp_path, more, paging, window)
        with Site(self.answer) as site:
            ran = scrapy("crawl", "api", *options(output, {"RETRY_TIMES": "0"}, portal=site.url, kind="example"))
            self.asked = len(site.asked) - 1
        return Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")


def by_offset(api, given, total=None):
    found = api.records(int(given["offset"]), int(given["limit"]))
    return {"r": found, "t": len(api.names) if total is None else total}


def by_number(api, given, total=None):
    return {"r": api.records(int(given["page"]) * 10 - 10), "t": len(api.names) if total is None else total}


def removing(page):
    """The first record is removed behind the first page."""

    def answer(api, given):
        found = page(api, given)
        if "d000" in api.names:
            del api.names[0]
        return found

    return answer


@pytest.mark.parametrize(
    ("page", "more", "paging"),
    [(by_offset, TOTAL, OFFSET), (by_offset, "", OFFSET), (by_number, TOTAL, NUMBER)],
)
def test_a_record_that_is_removed_meanwhile_hides_no_other(output, tmp_path, page, more, paging):
    done = Example(removing(page)).crawled(output, tmp_path, more, paging)
    assert (done.code, done.report["listed"], done.errors) == (0, 35, [])


@pytest.mark.parametrize("name", ["the limit is ignored", "offsets are rounded"])
def test_a_crawl_of_an_api_that_is_whole_all_the_same(output, tmp_path, name):
    page, more, paging, (_, _, listed), shown, requests = SHOWN[name]
    example = Example(page)
    done = example.crawled(output, tmp_path, more, paging)
    assert (done.code, done.report["listed"], done.report["evidence"]) == (0, listed, {"datasets": shown})
    assert (len(done.manifest), example.asked) == (listed, requests)


def test_a_record_is_removed_and_another_added(output):
    with API("opendatasoft-v1", 150, {"shifted"}) as api:
        done = crawled(api, output)
    assert (done.code, done.report["listed"], len(done.manifest)) == (0, 151, 151)


def linked(total, size):
    def answer(api, given):
        start = int(given.get("from", given.get("token", 0)))
        more = str(start + size) if start + size < 35 else None
        link = more if "token" in given or ("from" not in given and total == 10) else more and f"/list?from={more}"
        return {"r": api.records(start, size), "t": total, "n": link}

    return answer


def remaining(api, given):
    start = api.names.index(given["after"]) + 1 if "after" in given else 0
    return {"r": api.records(start), "t": 35 - start}


@pytest.mark.parametrize(
    ("page", "declared", "total"),
    [
        (lambda api, given: by_offset(api, given, 0), (TOTAL, OFFSET), 0),
        (lambda api, given: by_offset(api, given, 15), (TOTAL, OFFSET), 15),
        (lambda api, given: {"r": api.records(int(given["page"]) * 7 - 7, 7), "t": 7}, (TOTAL, NUMBER), 7),
        (linked(5, 5), (LINK, NEXT), 5),
        (linked(10, 10), (TOTAL, TOKEN), 10),
    ],
)
def test_a_total_that_is_too_low_is_a_contradiction(output, tmp_path, page, declared, total):
    done = Example(page).crawled(output, tmp_path, *declared)
    assert (done.code, done.report["listed"], done.kinds()) == (3, 35, [("list", "count_mismatch")])
    assert f"says it has {total} datasets, and listed 35" in done.errors[0]["error"]


def promising(api, given):
    start = int(given["offset"])
    return {"r": api.records(start)[: max(20 - start, 0)], "more": True}


def test_a_page_that_is_empty_and_promises_more_is_no_end(output, tmp_path):
    done = Example(promising).crawled(output, tmp_path, "", f'{OFFSET}\nmore = "more"')
    assert (done.code, done.report["listed"], done.kinds()) == (3, 20, [("list", "unproven")])
    assert "the last page says that more follow (more), and gives no way to them" in done.errors[0]["error"]


def test_a_total_of_what_remains_ends_nothing(output, tmp_path):
    done = Example(remaining).crawled(output, tmp_path, TOTAL, LAST)
    assert (done.code, done.report["listed"], done.errors) == (0, 35, [])


def test_a_full_page_alone_proves_nothing(output, tmp_path):
    done = Example(lambda api, _: {"r": api.records(0)}).crawled(output, tmp_path, 'next = "n"', NEXT)
    assert (done.code, done.report["listed"], done.kinds()) == (3, 10, [("list", "unproven")])


@pytest.mark.parametrize(
    ("link", "kind"),
    [("javascript:void(0)", "paging"), ("http://127.0.0.1:1/list", "offsite"), ("http://[x", "paging")],
)
def test_a_link_that_leads_nowhere_leaves_the_records_of_its_page(output, tmp_path, link, kind):
    done = Example(lambda api, _: {"r": api.records(0), "n": link}).crawled(output, tmp_path, 'next = "n"', NEXT)
    assert (done.code, len(done.manifest), done.kinds()) == (3, 10, [("list", kind)])


def test_a_page_behind_the_last_that_is_not_found_is_the_end(output, tmp_path):
    def answer(api, given):
        found = by_number(api, given)["r"]
        return {"r": found} if found else Answer(b'{"detail": "Invalid page."}', 404)

    example = Example(answer)
    del example.names[30:]
    done = example.crawled(output, tmp_path, "", NUMBER)
    assert (done.code, done.report["listed"], done.errors) == (0, 30, [])


def test_a_loop_in_a_second_walk_ends(output, tmp_path):
    def answer(api, given):
        step = int(given.get("from", 0))
        if not step:
            api.walks = getattr(api, "walks", 0) + 1
        if step and api.walks == 1:
            return {"r": api.records(5, 15), "t": 25}
        return (
            Answer(b"", 404)
            if step > 100
            else {"r": api.records(step % 2 * 10), "t": 25, "n": f"/list?from={step + 1}"}
        )

    example = Example(answer)
    done = example.crawled(output, tmp_path, LINK, NEXT)
    assert (done.code, done.report["listed"], done.kinds()) == (3, 20, [("list", "paging")])
    assert example.asked < 12


def told_by_headers(api, given):
    start = int(given.get("from", 0))
    link = {"Link": f'</list?from={start + 10}>; rel="next"'} if start + 10 < 35 else {}
    return Answer(json.dumps({"r": api.records(start)}).encode(), 200, {"X-Total-Count": "35"} | link)


def test_the_next_page_and_the_total_may_be_in_headers(output, tmp_path):
    more = 'total = { header = "X-Total-Count" }\nnext = { header = "Link" }'
    example = Example(told_by_headers)
    done = example.crawled(output, tmp_path, more, NEXT)
    assert (done.code, done.report["listed"], done.report["evidence"]) == (0, 35, {"datasets": "total"})
    assert example.asked == 4


def test_the_number_of_a_page_may_be_in_its_path(output, tmp_path):
    own(tmp_path, FOLLOWING.partition("[[follow]]")[0].replace("/list", "/list/{page}/").replace('"none"', '"page"'))

    def answer(asked):
        number = int(asked.path.strip("/").partition("/")[2] or 0)
        if not asked.path.startswith("/list/") or not 1 <= number <= 4:
            return Answer(b"", 404)
        return Answer(
            json.dumps({"r": [{"id": f"{number}-{each}"} for each in range(10 if number < 4 else 5)]}).encode()
        )

    with Site(answer) as site:
        ran = scrapy("crawl", "api", *options(output, {}, portal=site.url, kind="mine"))
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert (done.code, done.report["listed"], done.errors) == (0, 35, [])


# What shows that a list was whole: as many tests as there are rules that an API can break


def ignoring_limits(api, given):
    return {"r": [{"id": f"x{number}"} for number in range(126)]}


def capped_with_a_low_total(api, given):
    """Gives 5 of the 10 that are asked for, and says that there are 10 of 35."""
    return {"r": api.records(int(given["page"]) * 5 - 5, 5), "t": 10}


def rounded(api, given):
    start = int(given["offset"]) // 10 * 10
    return {"r": api.records(start), "t": 35}


def clamped(api, given):
    return {"r": api.records(min(int(given["page"]) * 10 - 10, 10))}


def ring(api, given):
    start = int(given.get("from", 0))
    return {"r": api.records(start), "n": f"/list?from={(start + 10) % 40}"}


def refused_at_the_end(api, given):
    start = int(given.get("from", 0))
    return {"r": api.records(start), "t": 35, "n": f"/list?from={start + 10}"} if start < 35 else Answer(b"", 400)


def doubling(api, given):
    """Once, a record comes on two pages and another on none: as many come as there are."""
    found = by_number(api, given)
    if given["page"] == "2" and not hasattr(api, "is_calm"):
        api.is_calm = True
        found["r"][0] = {"id": "d009", "title": "d009"}
    return found


def cut_once(api, given):
    api.count = getattr(api, "count", 0) + 1
    text = json.dumps(by_offset(api, given)).encode()
    return Answer(text[:200] if api.count == 2 else text)


def cut_if_long(api, given):
    text = json.dumps(by_offset(api, given)).encode()
    return Answer(text[:200] if len(text) > 250 else text)


def scrolled(api, given):
    """Each page has a token, that which is empty, too."""
    start = int(given.get("token", 0))
    return {"r": api.records(start), "n": str(start + 10)}


def all_that_there_is(api, given):
    return {"r": api.records(0), "more": False}


SHOWN = {
    "tokens end with an empty page": (scrolled, "", TOKEN, ("complete", 35, 35), "pager", 5),
    "the page says that it is all": (
        all_that_there_is,
        "",
        f'{OFFSET}\nmore = "more"',
        ("complete", 10, 10),
        "file",
        1,
    ),
    "the limit is ignored": (ignoring_limits, 'next = "n"', NEXT, ("complete", 126, 126), "file", 1),
    "pages are capped": (capped_with_a_low_total, TOTAL, NUMBER, ("incomplete", 10, 35), "count_mismatch", 8),
    "offsets are rounded": (rounded, TOTAL, OFFSET, ("complete", 35, 35), "total", 5),
    "numbers are clamped": (clamped, "", NUMBER, ("incomplete", None, 20), "paging", 3),
    "the way leads back": (ring, 'next = "n"', NEXT, ("complete", 35, 35), "pager", 5),
    "the way on is refused": (refused_at_the_end, LINK, NEXT, ("complete", 35, 35), "total", 5),
    "one comes twice, one never": (doubling, TOTAL, NUMBER, ("complete", 35, 35), "total", 8),
    "a page is cut": (cut_once, TOTAL, OFFSET, ("complete", 35, 35), "total", 5),
    "long pages are cut": (cut_if_long, TOTAL, OFFSET, ("complete", 35, 35), "total", 22),
}


@pytest.mark.parametrize("paging", [OFFSET, NUMBER])
@pytest.mark.parametrize("status", [500, 408, 200])
@pytest.mark.parametrize("place", [0, 9, 10, 34])
def test_a_record_that_breaks_its_page_hides_no_other(tmp_path, place, status, paging):
    """Wherever it is, and however it breaks the page: 200 is JSON that is cut."""

    def page(api, given):
        found = (by_offset if paging == OFFSET else by_number)(api, given)
        size = int(given["limit"])
        start = int(given["offset"]) if paging == OFFSET else (int(given["page"]) - 1) * size
        found["r"] = api.records(start, size)
        is_broken = start <= place < start + size
        return Answer(json.dumps(found).encode()[:-9], status) if is_broken else found

    done = Example(page).walked(tmp_path, TOTAL, paging)
    assert (len(done.items), done.kinds(), done.judged) == (34, {"refused": 1}, ("incomplete", 35, 34))
    assert f"record {place + 1} of the listing" in done.errors[0].error


@pytest.mark.parametrize("name", SHOWN)
def test_what_the_pages_of_an_api_show(tmp_path, name):
    page, more, paging, judged, shown, requests = SHOWN[name]
    done = Example(page).walked(tmp_path, more, paging)
    assert (done.judged, [*done.evidence.values(), *done.kinds()]) == (judged, [shown])
    assert len(done.asked) <= requests


# Windows


@pytest.mark.parametrize("traps", [{"window"}, {"window", "clamped"}], ids=len)
@pytest.mark.parametrize("kind", ["opendatasoft", "zenodo"])
def test_a_window_is_got_round_by_stamps(tmp_path, kind, traps):
    declared(tmp_path, kind, SMALL)
    with API(kind, 700, traps) as api:
        done = walked(api, tmp_path)
    assert (done.judged[0], done.judged[2], done.errors) == ("complete", 700, [])
    pages = math.ceil(700 / PAGE.get(kind, 100))
    assert len(api.asked) <= pages + 8, "each walk behind the window begins with one page"


def test_records_without_a_stamp_are_listed_behind_the_window(output, tmp_path):
    declared(tmp_path, "opendatasoft", SMALL)
    with API("opendatasoft", 700, {"window", "clamped", "undated"}) as api:
        done = crawled(api, output)
    assert (done.code, done.report["listed"], done.errors) == (0, 700, [])
    assert any("modified+is+null" in one.path for one in api.asked)


@pytest.mark.parametrize(
    ("count", "error"), [(2300, []), (3100, ["300 of more records came that have no date: it gives no more"])]
)
def test_records_without_a_stamp_have_a_window_of_their_own(tmp_path, count, error):
    """Every tenth has none."""
    declared(tmp_path, "opendatasoft", SMALL)
    with API("opendatasoft", count, {"window", "clamped", "undated"}) as api:
        done = walked(api, tmp_path)
    assert [each.error for each in done.errors] == error
    assert (done.judged[0] == "complete") == (not error)
    assert (len(done.items) == count) == (not error)


@pytest.mark.parametrize(
    ("kind", "traps", "words"),
    [
        ("opendatasoft", {"window", "clamped", "equal"}, "have the same metas.default.modified"),
        ("zenodo", {"window", "clamped", "undated"}, "records without created can't be listed behind the window"),
        ("arcgis-hub", {"window", "clamped"}, "records without properties.modified can't be listed behind the window"),
        ("opendatasoft-v1", {"window", "clamped"}, "gives no more than 300 records at once"),
        ("opendatasoft-v1", {"window"}, "says it has 700 datasets, and listed 300"),
    ],
)
def test_a_window_that_is_not_got_round(tmp_path, kind, traps, words):
    declared(tmp_path, kind, SMALL)
    with API(kind, 700, traps) as api:
        done = walked(api, tmp_path)
    assert done.judged[0] == "incomplete"
    assert words in done.errors[-1].error


def test_a_window_that_is_smaller_than_declared(output):
    """The portal refuses what is behind it, and is asked from there on."""
    with API("opendatasoft", 700, {"window"}) as api:
        done = crawled(api, output)
    assert (done.code, done.report["listed"], done.errors) == (0, 700, [])


RESTART = '[list.window]\nmax = 40\nrestart = {{ param = "from", value = "{{seen}}", seen = "m"{} }}'


def behind(wanted, stamp=lambda number: f"2026-01-01T00:{number:02d}:00Z", window=40):
    """Sixty records, of which none behind the window is given.

    Args:
        wanted: the numbers of the records that a condition leaves.
        stamp: of a record, by its number.
    """

    def answer(_, given):
        start = int(given["offset"])
        size = int(given["limit"])
        numbers = list(wanted(given["from"])) if "from" in given else list(range(60))
        if start + size > window:
            return Answer(b"", 400)
        page = [{"id": f"d{each:03d}", "m": stamp(each)} for each in numbers[start : start + size]]
        return {"r": page, "t": min(len(numbers), window)}

    return answer


def minutes(text):
    return int(text[14:16])


def windowed(page, output, tmp_path, rest=", rest = false"):
    return Example(page).crawled(output, tmp_path, TOTAL, OFFSET, RESTART.format(rest))


def test_a_window_is_got_round_where_all_records_have_a_stamp(output, tmp_path):
    done = windowed(behind(lambda text: range(minutes(text), 60)), output, tmp_path)
    assert (done.code, done.report["listed"], done.errors) == (0, 60, [])


def shuffled(numbers):
    return sorted(numbers, key=lambda each: each * 37 % 61)


@pytest.mark.parametrize(
    ("page", "rest", "words"),
    [
        (behind(lambda text: range(minutes(text) + 1, 60)), ", rest = false", "lacks the record it goes on from"),
        (behind(lambda text: range(minutes(text), 60)), "", "records without m can't be listed behind"),
        (behind(lambda _: shuffled(range(60))), ", rest = false", "the records are not sorted by m"),
        (
            behind(lambda _: [], lambda each: f"o'{each}"),
            ", rest = false",
            "m can't be sent back as a condition: \"o'0\"",
        ),
    ],
    ids=["exclusive", "undated", "shuffled", "quote"],
)
def test_a_way_behind_the_window_that_may_lose_records(output, tmp_path, page, rest, words):
    done = windowed(page, output, tmp_path, rest)
    assert (done.code, done.report["verdict"]) == (3, "incomplete")
    assert words in done.errors[-1]["error"]


# What changed, what is gone, and how much is wanted


@pytest.mark.parametrize("kind", ["opendatasoft", "arcgis-hub", "zenodo", "invenio-rdm", "geonetwork"])
def test_only_what_changed(output, kind):
    with API(kind, 120) as api:
        assert crawled(api, output).report["counts"]["new"] == 120
        for entry in api.entries[:3]:
            entry.modified = datetime.now(UTC).isoformat()
        if api.software.newest_first:
            api.entries.sort(key=lambda each: each.modified, reverse=True)
        before = len(api.asked)
        done = crawled(api, output, {"since": "last"})
        assert (done.code, done.report["listed"], done.errors) == (0, 3, [])
        assert len(api.asked) == before + 1
        done = crawled(api, output, {"since": "2020-01-08", "source": "other"})
        assert (done.code, done.report["listed"]) == (0, len([e for e in api.entries if e.modified >= "2020-01-08"]))


@pytest.mark.parametrize("kind", ["socrata", "dkan"])
def test_a_date_is_refused_where_the_software_can_not_filter(output, kind):
    with API(kind, 3) as api:
        done = crawled(api, output, {"since": "2020-01-08"})
    assert (done.code, api.site.asked) == (1, [])
    sentence = f"{kind} can't filter by date (its declaration has no [list.since]): leave -a since= out"
    assert done.lines[-1] == f"spider api: {sentence}"


def test_the_last_crawl_means_everything_where_the_software_can_not_filter(output):
    """So a dataset that two of them lack is withdrawn, as by crawls without it."""
    with API("socrata", 8) as api:
        crawled(api, output)
        api.entries.pop()
        for withdrawn in (0, 1):
            done = crawled(api, output, {"since": "last"}, SHRINK_LIMIT="1")
            assert (done.code, done.report["since"], done.report["listed"]) == (0, None, 7)
            assert done.log.count("socrata can't filter by date: everything is listed") == 1
            assert done.report["counts"]["withdrawn"] == withdrawn


def test_what_two_whole_listings_lack_is_withdrawn(output):
    with API("udata", 100) as api:
        crawled(api, output)
        del api.entries[50]
        assert crawled(api, output, SHRINK_LIMIT="0.1").report["counts"]["withdrawn"] == 0
        done = crawled(api, output, SHRINK_LIMIT="0.1")
    assert (done.code, done.report["counts"]["withdrawn"], done.report["counts"]["unchanged"]) == (0, 1, 99)
    assert done.manifest[-1]["dataset_title"] == "Dataset 50"


def test_what_is_not_listed_is_asked_for_by_its_own_address(output):
    """30 of 100 are gone, one is archived, and one is there and not listed."""
    with API("udata", 100) as api:
        crawled(api, output)
        gone, archived, unlisted = api.entries[20:50], api.entries[60], api.entries[61]
        ids = {entry.number: api.record(entry)["id"] for entry in api.entries}
        api.details = {ids[entry.number]: api.record(entry) for entry in api.entries if entry not in gone}
        api.details[ids[60]]["archived"] = "2026-01-01T00:00:00"
        api.entries = [entry for entry in api.entries if entry not in (*gone, archived, unlisted)]
        done = crawled(api, output)
        assert (done.code, done.errors, done.report["counts"]["withdrawn"]) == (0, [], 31)
        reasons = {line["dataset_id"]: line["reason"] for line in done.manifest if line["status"] == "withdrawn"}
        assert reasons == {ids[number]: "not found" for number in range(20, 50)} | {ids[60]: "no longer public"}
        asked = [one for one in api.site.asked if one.path.count("/") > 4]
        assert len(asked) == 32 + 2, "each of them, between two control questions"


def test_limits(output):
    with API("opendatasoft", 250) as api:
        done = crawled(api, output, {"max_datasets": "5"})
        assert (done.code, done.report["verdict"], len(done.manifest)) == (0, "partial", 5)
        assert [one.parameters["limit"] for one in api.asked] == ["5"]
        done = crawled(api, output, {"max_resources": "7", "source": "few"})
    assert (done.code, done.report["verdict"]) == (0, "partial")
    assert len(done.manifest) == 2  # each has four


# Following


def test_what_is_unchanged_is_not_followed_again(output):
    with API("dataverse", 20) as api:
        crawled(api, output)
        first = len(api.site.asked)
        api.entries[4].modified = "2027-01-01T00:00:00+00:00"
        done = crawled(api, output)
    assert (done.code, done.report["counts"]["unchanged"]) == (0, 20)
    assert (
        len(api.site.asked) == first + 4
    )  # robots.txt, two pages of the listing, the files of the one with another stamp


def test_what_can_not_be_followed_is_asked_for_again(output):
    with API("dataverse", 5) as api:
        answer = api.site.answer
        api.site.answer = lambda asked: Answer(b"", 404) if "d-00003" in asked.path else answer(asked)
        done = crawled(api, output)
        assert (done.code, done.report["counts"]["new"], done.kinds()) == (3, 5, [("fetch", "http")])
        assert done.errors[0]["dataset_id"] == "doi:10.5072/d-00003"
        api.site.answer = answer
        done = crawled(api, output)
        assert (done.code, done.report["counts"]["updated"], done.report["counts"]["unchanged"]) == (0, 1, 4)
        api.entries[2].modified = "2027-01-01T00:00:00+00:00"
        api.site.answer = lambda asked: Answer(b"", 404) if "d-00002" in asked.path else answer(asked)
        done = crawled(api, output)
    assert done.code == 3
    (document,) = [one for one in done.documents().values() if one["global_id"].endswith("d-00002")]
    assert document["file_list"], "what is on disk is not replaced by less"


FOLLOWING = """
[list]
url = "{portal}/list"
records = "r"
[list.paging]
kind = "none"
[dataset]
id = "id"
title = "title"
[[resource]]
each = "files"
id = "id"
[[follow]]
into = "files"
url = "{portal}/files/{id}"
records = "f"
next = "n"
"""


def own(tmp_path, text):
    """A declaration of the user's, with the name mine."""
    folder = tmp_path / "catalogues" / "kinds"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    os.environ["CRAWLERS_HOME"] = str(tmp_path)


@pytest.mark.parametrize(
    ("trap", "most", "says"),
    [
        ("loop", 3, "the same pages come again after 3"),
        ("same", 3, "the same pages come again after 2"),
        ("endless", 102, "after 100 pages with 5000 records there is still a next one"),
    ],
)
def test_what_is_followed_ends(output, tmp_path, trap, most, says):
    own(tmp_path, FOLLOWING)

    def answer(asked):
        if asked.path == "/list":
            return Answer(b'{"r": [{"id": "1", "title": "One"}]}')
        number = int(asked.parameters.get("p", 0))
        files = [{"id": f"{0 if trap == 'same' else number}-{each}"} for each in range(50)]
        following = 1 - number if trap == "loop" else number + 1
        return Answer(json.dumps({"f": files, "n": f"/files/1?p={following}"}).encode())

    with Site(answer) as site:
        ran = scrapy("crawl", "api", *options(output, {}, portal=site.url, kind="mine"))
        asked = [one.path for one in site.asked if one.path.startswith("/files/")]
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert (done.code, done.kinds(), len(done.manifest)) == (3, [("fetch", "paging")], 1)
    assert says in done.errors[0]["error"]
    assert len(asked) <= most


# Records that are not kept

NOT_KEPT = [
    ([{"id": "a", "title": "1"}, {"id": "a", "title": "2"}, {"id": "b"}], 2, ("duplicate_id", "the same identifier")),
    ([{"id": " a"}, {"id": "a"}], 1, ("duplicate_id", "the same identifier")),
    ([{"id": "\ud800"}, {"id": "\ud801"}], 1, ("duplicate_id", "the same identifier")),
    ([{"id": "a"}, {"id": "a"}], 1, (None, "")),
    ([{"id": "a"}, {"id": 2.5}], 1, ("missing_id", "its id is a number with decimals (id || [0]: 2.5)")),
    ([{"id": "a"}, ["b", 1]], 1, ("invalid_record", "record 2 of the listing is not an object but list")),
]


@pytest.mark.parametrize(("records", "kept", "error"), NOT_KEPT)
def test_a_record_that_is_not_kept_is_one_error_line(output, tmp_path, records, kept, error):
    kind, says = error
    own(tmp_path, FOLLOWING.partition("[[follow]]")[0].replace('id = "id"', 'id = "id || [0]"', 1))
    with Site(lambda _: Answer(json.dumps({"r": records}).encode())) as site:
        ran = scrapy("crawl", "api", *options(output, {}, portal=site.url, kind="mine"))
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert len(done.manifest) == kept
    assert done.kinds() == ([("list", kind)] if kind else [])
    assert done.code == (3 if kind else 0)
    assert not kind or says in done.errors[0]["error"]


def test_a_total_that_is_no_number_is_a_warning(output, tmp_path):
    own(tmp_path, FOLLOWING.partition("[[follow]]")[0].replace("[list.paging]", 'total = "t"\n[list.paging]'))
    with Site(lambda _: Answer(b'{"r": [{"id": "a"}], "t": "1,020"}')) as site:
        ran = scrapy("crawl", "api", *options(output, {"LOG_LEVEL": "WARNING"}, portal=site.url, kind="mine"))
    assert ran.stderr.count("list.total (t) finds no number of records in the first page") == 1


# Checks, trees, tokens


def scope(*predicates):
    return f"window.__SITE={json.dumps({'catalogV2': {'scopes': {'item': {'filters': [{'predicates': predicates}]}}}})}"


@pytest.mark.parametrize(
    ("page", "is_refused"),
    [
        (scope({"group": []}), True),
        (scope({"group": {"any": [], "all": [""]}}), True),
        (scope({"type": {"not": ["Code Attachment"]}}, {"access": "public"}), True),
        (scope({"type": "Feature Service"}, {"orgid": {"any": ["o1"]}}), False),
        ('window.__SITE={"catalog": {"groups": ["a1"]}}', False),
        ('window.__SITE={"catalog": {"groups": []}}', "does not say what its catalogue is"),
        (f"window.__SITE={json.dumps(json.dumps(SITE))}", False),
        (f"window.__SITE = {json.dumps(WORLD)}; x", True),
        ("window.__SITE=" + json.dumps(json.dumps({"catalogV2": {}})), True),
        ("window.__SITE={broken", "no readable window.__SITE"),
        ("<html>", "no readable window.__SITE"),
    ],
)
def test_the_scope_of_a_hub(page, is_refused):
    response = TextResponse("https://hub.example.org", body=page.encode(), encoding="utf-8")
    if is_refused:
        with pytest.raises(AnswerError, match="has no scope" if is_refused is True else is_refused):
            arcgis_scope(response)
    else:
        arcgis_scope(response)


def test_a_hub_of_the_whole_world_is_refused(output):
    with API("arcgis-hub", 250, {"ignores"}) as api:
        done = crawled(api, output)
    assert (done.code, api.asked, done.kinds()) == (4, [], [("start", "refused")])


@pytest.mark.parametrize(
    ("page", "robots", "says"),
    [
        (Answer(b"", 403), b"", "could not be made"),
        (Answer(b"", 500), b"", "could not be made"),
        (Answer(b"<html>"), b"User-agent: *\nDisallow: /$", "could not be made"),
        (Answer(b"<html>"), b"", "has no readable window.__SITE"),
    ],
)
def test_a_hub_that_can_not_be_checked_is_refused(output, page, robots, says):
    with API("arcgis-hub", 5) as api:
        answer = api.site.answer
        pages = {"/": page, "/robots.txt": Answer(robots)}
        api.site.answer = lambda asked: pages.get(asked.path) or answer(asked)
        done = crawled(api, output, RETRY_TIMES="0")
    assert (done.code, api.asked, done.kinds()) == (4, [], [("start", "refused")])
    assert says in done.errors[0]["error"]
    assert "copy the declaration to catalogues/kinds/ without check" in done.errors[0]["error"]


def tree(extra=()):
    """A catalogue of files with a loop: the root, three catalogues, five collections each."""
    api = API("stac", 15)
    api.site.server.server_close()

    def link(rel, href):
        return {"rel": rel, "href": href}

    files = {"/catalog.json": {"type": "Catalog", "id": "root", "stac_version": "1.0.0", "links": []}}
    for part in range(3):
        files["/catalog.json"]["links"].append(link("child", f"./{part}/catalog.json"))
        names = [f"c{number}.json" for number in range(part * 5, part * 5 + 5)]
        links = [*(link("child", name) for name in names), link("child", "../catalog.json"), link("item", "i.json")]
        files[f"/{part}/catalog.json"] = {"type": "Catalog", "id": f"p{part}", "stac_version": "1.0.0", "links": links}
        for name, entry in zip(names, api.entries[part * 5 :], strict=False):
            files[f"/{part}/{name}"] = collection(api, entry, f"Dataset {entry.number}")
    files["/catalog.json"]["links"] += [link("child", each) for each in extra]
    return files


def test_a_static_stac_catalogue(output):
    files = tree()

    def answer(asked):
        return Answer(json.dumps(files[asked.path]).encode()) if asked.path in files else Answer(b"", 404)

    with Site(answer) as site:
        words = options(output, {}, portal=f"{site.url}/catalog.json", kind="stac-static")
        ran = scrapy("crawl", "api", *words)
        done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
        assert (done.code, done.report["listed"], done.report["evidence"]) == (0, 15, {"datasets": "file"})
        assert sorted(one.path for one in site.asked if one.path != "/robots.txt") == sorted(files)
        assert {line["metadata_url"] for line in done.manifest} == {
            site.url + path for path in files if "/c" in path[2:]
        } - {f"{site.url}/{part}/catalog.json" for part in range(3)}
        files = tree(["gone.json", "https://away.invalid/x.json"])
        ran = scrapy("crawl", "api", *words)
        done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert (done.code, sorted(done.kinds())) == (3, [("list", "http"), ("list", "offsite")])


def walked_tree(files, tmp_path, **given):
    with Site(lambda asked: Answer(json.dumps(files[asked.path]).encode())) as site:
        done = walk(
            spider.API, answers_of(site), tmp_path, portal=f"{site.url}/catalog.json", kind="stac-static", **given
        )
        return done, [one.path for one in site.asked]


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("twice", range(20))
def test_a_kill_between_any_two_files_of_a_tree_loses_nothing(tmp_path, twice, is_late):
    files = tree()
    done, asked = walked_tree(files, tmp_path, twice=twice, is_late=is_late)
    assert (len(set(done.ids())), done.judged, done.evidence) == (15, ("complete", 15, 15), {"datasets": "file"})
    assert sorted(asked) == sorted(files)


@pytest.mark.parametrize("twice", range(1, 20))
def test_a_kill_and_then_an_answer_in_part_lose_no_file_of_a_tree(tmp_path, twice):
    done, _ = walked_tree(tree(), tmp_path, twice=twice, again=lambda response: response.replace(status=206))
    assert (len(set(done.ids())), done.judged, done.evidence) == (15, ("complete", 15, 15), {"datasets": "file"})


@pytest.mark.parametrize("twice", range(6))
@pytest.mark.parametrize(("limit", "verdict"), [("3", "partial"), ("15", "complete"), ("16", "complete")])
def test_a_limit_of_a_tree_asks_for_no_more_than_it_needs(tmp_path, limit, verdict, twice):
    """One file after the other; and whether that is all is known once none waits."""
    done, asked = walked_tree(tree(), tmp_path, max_datasets=limit, twice=twice)
    assert (len(set(done.ids())), done.judged[0]) == (min(int(limit), 15), verdict)
    assert len(asked) == (5 if limit == "3" else 19), "the root, a catalogue, three collections"


@pytest.mark.parametrize("twice", range(6))
def test_resources_within_a_limit_are_the_same_after_a_kill(tmp_path, twice):
    files = tree()
    for path in (path for path in files if not path.endswith("catalog.json")):
        files[path]["assets"] = {f"a{each}": {"href": f"./{each}"} for each in range(5)}
    done, _ = walked_tree(files, tmp_path, max_resources="7", twice=twice)
    assert [len(item.resources) for item in {item.id: item for item in done.items}.values()] == [5, 2]
    assert done.judged[0] == "partial"


@pytest.mark.parametrize("twice", range(1, 20))
def test_a_document_that_another_answer_changes_is_the_same_dataset(tmp_path, twice):
    """Links are signed anew in each answer."""
    again = lambda response: response.replace(body=response.body.replace(b'"id"', b'"sig": 1, "id"'))  # noqa: E731
    done, _ = walked_tree(tree(), tmp_path, twice=twice, again=again)
    assert (len(set(done.ids())), done.judged, done.errors) == (15, ("complete", 15, 15), [])


def test_a_copy_of_a_dataset_is_none_and_another_one_is_told(tmp_path):
    files = tree(["copy.json", "other.json"])
    files |= {"/copy.json": files["/0/c0.json"], "/other.json": files["/0/c1.json"] | {"description": "Another"}}
    done, _ = walked_tree(files, tmp_path)
    assert (len(done.items), [(each.stage, each.kind) for each in done.errors]) == (15, [("list", "duplicate_id")])


@pytest.mark.parametrize(("rel", "address"), [("item", "i.json"), ("data", "/collections")])
def test_files_without_a_dataset_are_no_empty_catalogue(output, rel, address):
    """Items without a collection, and the landing page of an API."""
    root = {"type": "Catalog", "id": "root", "stac_version": "1.0.0", "links": [{"rel": rel, "href": address}]}
    with Site(lambda asked: Answer(json.dumps(root).encode(), 200 if asked.path == "/catalog.json" else 404)) as site:
        ran = scrapy("crawl", "api", *options(output, {}, portal=f"{site.url}/catalog.json", kind="stac-static"))
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert (done.code, done.kinds()) == (4, [("list", "no_datasets")])
    assert "none of the 1 files that were read is a dataset" in done.errors[0]["error"]


def test_a_part_of_a_file_is_not_the_file(tmp_path):
    """So what it names is unknown, and nothing is taken for gone."""
    files = tree()

    def answer(asked):
        status = 206 if asked.path == "/2/catalog.json" else 200
        return Answer(json.dumps(files[asked.path]).encode(), status) if asked.path in files else Answer(b"", 404)

    with Site(answer) as site:
        done = walk(spider.API, answers_of(site), tmp_path, portal=f"{site.url}/catalog.json", kind="stac-static")
    assert (len(done.items), done.kinds()) == (10, {"truncated": 1})


@pytest.mark.parametrize("body", ["null", "[]", '["links"]', '"later"', "0", "[null]"])
@pytest.mark.parametrize("is_cured", [True, False])
def test_a_file_of_a_tree_that_is_no_object_is_asked_for_once_more_and_then_missing(tmp_path, body, is_cured):
    """So what it names is unknown, and nothing is taken for gone."""
    files, count = tree(), iter(range(100))

    def answer(asked):
        if asked.path == "/1/catalog.json" and (not next(count) or not is_cured):
            return Answer(body.encode())
        return Answer(json.dumps(files[asked.path]).encode())

    with Site(answer) as site:
        done = walk(spider.API, answers_of(site), tmp_path, portal=f"{site.url}/catalog.json", kind="stac-static")
    asked = [one.path for one in site.asked]
    assert asked.count("/1/catalog.json") == 2
    assert len(asked) == len({*asked}) + 1
    if is_cured:
        assert (done.judged, done.errors) == (("complete", 15, 15), [])
    else:
        assert (done.judged[0], len(done.items), done.kinds()) == ("incomplete", 10, {"not_json": 1})
        assert done.errors[0].error == f"the answer is no file of the catalogue, but {body}"


@pytest.mark.parametrize("href", ["http://[bad/", None, 7, ""])
def test_a_child_that_can_not_be_read_is_an_error(output, href):
    files = tree()
    links = files["/0/catalog.json"]["links"]
    links.append({"rel": "child"} if href == "" else {"rel": "child", "href": href})

    def answer(asked):
        return Answer(json.dumps(files[asked.path]).encode()) if asked.path in files else Answer(b"", 404)

    with Site(answer) as site:
        ran = scrapy("crawl", "api", *options(output, {}, portal=f"{site.url}/catalog.json", kind="stac-static"))
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert (done.code, done.report["listed"], done.kinds()) == (3, 15, [("list", "paging")])
    assert "a link to a child is not an address" in done.errors[0]["error"]


def test_limits_of_a_static_stac_catalogue(output, tmp_path):
    files = tree()
    for number, path in enumerate(path for path in files if not path.endswith("catalog.json")):
        files[path]["assets"] = {f"a{each}": {"href": f"./{number}-{each}"} for each in range(5)}

    def answer(asked):
        return Answer(json.dumps(files[asked.path]).encode()) if asked.path in files else Answer(b"", 404)

    feed = tmp_path / "items.jsonl"
    with Site(answer) as site:
        words = options(output, {}, portal=f"{site.url}/catalog.json", kind="stac-static", max_resources="7")
        ran = scrapy("crawl", "api", *words, "-O", str(feed))
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert (done.code, done.report["verdict"]) == (0, "partial")
    assert [len(json.loads(line)["resources"]) for line in feed.read_text().splitlines()] == [5, 2]


def test_a_next_page_that_needs_a_post_is_an_error(output):
    page = {
        "collections": [{"id": "a", "type": "Collection"}],
        "links": [{"rel": "next", "method": "POST", "href": "x"}],
    }
    with Site(lambda _: Answer(json.dumps(page).encode())) as site:
        ran = scrapy("crawl", "api", *options(output, {}, portal=site.url, kind="stac"))
    done = Crawl(ran.returncode, ran.stderr, output / "127.0.0.1")
    assert done.code in (3, 4)
    assert "POST" in done.errors[0]["error"]


@pytest.mark.parametrize(("given", "verdict"), [(250, "complete"), (249, "incomplete")])
def test_a_dkan_1_that_ignores_limits_is_judged_by_its_list_of_ids(tmp_path, given, verdict):
    with API("dkan1", 250) as api:
        answer = api.site.answer

        def whole(asked):
            if asked.action == "package_list":
                return answer(asked)
            records = [api.record(entry) for entry in api.entries[:given]]
            return Answer(json.dumps({"success": True, "result": records}).encode())

        api.site.answer = whole
        done = walked(api, tmp_path)
    assert (done.judged[0], done.judged[2], len(done.items)) == (verdict, given, given)
    assert not {flaw for item in done.items for flaw in item.flaws}
    assert len(done.asked) <= 3


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["roads"], "HTTP 404 Not Found"),
        (["main"], "has 1 collection of OGC API Records: name it: {}/collections/main"),
        (["b:main", "main"], "name one of them: {0}/collections/b:main, {0}/collections/main"),
        (None, "HTTP 404 Not Found"),
    ],
)
def test_the_root_of_a_server_of_collections_names_them(tmp_path, names, says):
    def answer(asked):
        if asked.path.startswith("/ogc/collections?") and names is not None:
            found = [{"id": name, "itemType": "record" if "main" in name else "feature"} for name in names]
            return Answer(json.dumps({"collections": found}).encode())
        return Answer(b"", 404)

    with Site(answer) as site:
        done = walk(spider.API, answers_of(site), tmp_path, portal=f"{site.url}/ogc", kind="ogc-records")
        assert len(done.asked) == 2
    [error] = done.errors
    assert error.error.endswith(says.format(f"{site.url}/ogc"))
    assert (error.stage, error.http_status) == ("list", 404)
    assert set(done.spider.run_state.walks.lists.values()) == {"ended"}


def test_a_next_page_at_another_host_is_refused(output):
    with API("stac", 250, {"away"}) as api:
        done = crawled(api, output)
    assert done.kinds() == [("list", "offsite")]


def test_the_xsrf_token_is_given_back(output):
    with API("geonetwork", 150) as api:
        answer = api.site.answer

        def guarded(asked):
            if asked.method == "POST" and asked.headers.get("X-XSRF-TOKEN") != "abc-1":
                return Answer(b"", 403, {"Set-Cookie": "XSRF-TOKEN=abc-1; Path=/"})
            if asked.method == "POST":
                assert "XSRF-TOKEN=abc-1" in asked.headers["Cookie"]
            return answer(asked)

        api.site.answer = guarded
        done = crawled(api, output)
    assert (done.code, done.report["listed"]) == (0, 150)


def test_a_secret_comes_from_the_environment(output, tmp_path):
    declared(
        tmp_path, "opendatasoft", ("[list.paging]", 'headers = { X-App-Token = { env = "MY_TOKEN" } }\n[list.paging]')
    )
    os.environ["MY_TOKEN"] = "s3cret-of-mine"
    with API("opendatasoft", 150) as api, Site(lambda _: Answer(b"", 404)) as other:
        answer = api.site.answer
        api.site.answer = lambda asked: (
            Answer(status=302, headers={"Location": f"http://localhost:{other.port}/x"})
            if "offset=100" in asked.path
            else answer(asked)
        )
        done = crawled(api, output, JOBDIR=str(tmp_path / "job"))
    assert {one.headers["X-App-Token"] for one in api.asked} == {"s3cret-of-mine"}
    assert [one.headers["X-App-Token"] for one in other.asked] in ([], [None] * len(other.asked))
    assert "s3cret-of-mine" not in done.log
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"s3cret-of-mine" in path.read_bytes()]


# A user's own


def test_a_declaration_of_the_user_overrides_the_shipped_one(output, tmp_path):
    declared(tmp_path, "opendatasoft", ('title = "metas.default.title"', "title = \"join('', ['My ', dataset_id])\""))
    with API("opendatasoft", 3) as api:
        done = crawled(api, output)
        path = str(tmp_path / "catalogues" / "kinds" / "opendatasoft.toml")
        given = crawled(api, output, {"kind": path, "source": "given"})
    assert {line["dataset_title"] for line in done.manifest} == {"My d-00000", "My d-00001", "My d-00002"}
    assert len(given.manifest) == 3


OWN = """from crawlers.kinds.api.spider import APISpider


class Town(APISpider):
    name, portal, software = "town", "{portal}", "udata"
"""


def test_a_spider_of_five_lines(output, tmp_path):
    (tmp_path / "towns").mkdir()
    with API("udata", 3) as api:
        (tmp_path / "towns" / "town.py").write_text(OWN.format(portal=api.portal))
        words = ["crawl", "town", *options(output, {"SPIDER_MODULES": "towns"})]
        program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from scrapy.cmdline import execute; execute()"
        ran = subprocess.run([sys.executable, "-c", program, *words], cwd=ROOT, capture_output=True, check=False)
    assert ran.returncode == 0
    assert len(Crawl(0, "", output / "town").manifest) == 3


def test_an_answer_that_is_too_large_is_an_error(output):
    with API("dkan", 300) as api:
        done = crawled(api, output, JSON_MAXSIZE="10000")
        assert (done.code, done.kinds()) == (4, [("list", "too_large")])
        assert "JSON_MAXSIZE" in done.errors[0]["error"]
        done = crawled(api, output, {"source": "spooled"}, SPOOL_ABOVE="10000")
    assert (done.code, done.report["listed"]) == (0, 300)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "opendatasof"}, "Did you mean opendatasoft?"),
        ({}, "-a kind=opendatasoft"),
    ],
)
def test_an_argument_that_is_wrong(output, given, words):
    ran = scrapy("crawl", "api", *options(output, {}, portal="https://data.example.org", **given))
    assert ran.returncode == 1
    assert words in ran.stderr.splitlines()[-1]


# Kills


def killed_and_resumed(api, output, jobdir, kills, **settings):
    """A crawl that is killed after so many requests, each time, and then ends."""
    given = options(output, {"JOBDIR": str(jobdir), **settings}, portal=api.portal, kind=api.kind)
    command = [sys.executable, "-m", "scrapy", "crawl", "api", *given]
    for number in kills:
        asked = len(api.site.asked)
        crawl = forked.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        wanted = asked + number
        until(lambda: len(api.site.asked) >= wanted, unless=lambda: crawl.poll() is not None)  # noqa: B023
        crawl.send_signal(signal.SIGKILL)
        crawl.communicate()
    return crawled(api, output, JOBDIR=str(jobdir))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "count", "traps"),
    [
        ("opendatasoft", 2300, {"window", "clamped", "undated"}),
        ("dataverse", 40, set()),
        ("udata-v2", 25, set()),
        ("magda", 900, {"dead_token"}),
        ("arcgis-hub", 900, {"caps"}),
        ("udata", 900, {"poison"}),
        ("dkan", 400, set()),
    ],
)
def test_kills_lose_nothing(output, tmp_path, kind, count, traps):
    if kind == "opendatasoft":
        declared(tmp_path, kind, SMALL)
    with API(kind, count, traps) as api:
        whole = crawled(api, tmp_path / "whole")
        api.pages = 0
        done = killed_and_resumed(api, output, tmp_path / "job", [2, 3, 2, 5, 4, 1], REQUESTS_PER_SECOND="40")
    assert whole.code == 0
    assert (done.code, done.report["resumed"]) == (0, True)
    assert left(done) == left(whole)
    assert len(done.manifest) == count, "one line for each document"
