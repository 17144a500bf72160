"""The example of docs/api.md, step by step: an API that nobody declared, tried, crawled, read again and checked."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

import pytest

from crawlers import kind
from tests.conftest import ROOT, scrapy
from tests.portal.rivers import TOTAL, record, rivers
from tests.site import Answer, Site

EXAMPLE = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.DOTALL)[1]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with the declaration of the docs, its one mistake made good."""
    folder = tmp_path / "catalogues" / "kinds"
    folder.mkdir(parents=True)
    assert 'size = "size"' in EXAMPLE
    (folder / "rivers.toml").write_text(EXAMPLE.replace('size = "size"', 'size = "bytes"'), encoding="utf-8")
    monkeypatch.setenv("CRAWLERS_HOME", str(tmp_path))
    for known in (kind.reader, kind.volatile):
        known.cache_clear()  # of another test's declaration of that name
    return tmp_path


def tried(*words, code=0):
    ran = scrapy("try", "--json", *map(str, words))
    assert ran.returncode == code, ran.stderr
    return json.loads(ran.stdout)


def filled(found):
    return {one["name"]: one["count"] for one in found["fields"]}


def test_try_counts_what_each_field_got(home, tmp_path):
    path = tmp_path / "first.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    with rivers() as site:
        [found] = tried(path, site.url)
        [last] = tried("rivers", f"{site.url}/v1/gauges?from=20&limit=10")
        shown = scrapy("try", str(path), site.url).stdout
    assert (found["records"], found["total"], found["next"], found["missing"]) == (10, TOTAL, 9, [])
    assert filled(found)["title"] == filled(found)["resource.url"] == 10
    assert filled(found)["resource.size"] == 0
    assert "in none: resource.size" in shown
    assert re.search(r"title +10 of 10 +Pegel 0\n", shown)
    assert (last["records"], filled(last)["resource.size"]) == (5, 5)


def test_try_reads_what_is_in_headers(home, tmp_path):
    path = tmp_path / "catalogues" / "kinds" / "headers.toml"
    text = EXAMPLE.replace('size = "size"', 'size = "bytes"').replace(
        'total = "found"', 'total = { header = "X-Total" }'
    )
    path.write_text(text, encoding="utf-8")
    body = json.dumps({"list": [record(0)]}).encode()
    (tmp_path / "page.json").write_bytes(body)
    with Site(lambda _: Answer(body, headers={"X-Total": "25"})) as site:
        [asked, saved] = tried("headers", site.url, tmp_path / "page.json")
    assert (asked["total"], saved["total"]) == (25, None)
    assert "no number at the header X-Total" in scrapy("try", "headers", str(tmp_path / "page.json")).stdout


@pytest.mark.parametrize(
    ("body", "missing", "shows"),
    [
        ({"found": "1,020", "list": []}, ["records"], "total           no number at found"),
        ({"found": 0, "rows": []}, ["records"], "records         no list at list"),
        ({"found": 0, "list": []}, ["records"], "records         0 of 0 that the page states"),
        ({"list": [{"names": "\x1b[2J Elbe"}]}, ["id"], "title            1 of 1"),
    ],
)
def test_what_is_missing_is_an_exit_code(home, tmp_path, body, missing, shows):
    path = tmp_path / "page.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    [found] = tried("rivers", path, code=3)
    assert found["missing"] == missing
    ran = scrapy("try", "rivers", str(path))
    assert " ".join(shows.split()) in " ".join(ran.stdout.split())
    assert "\x1b" not in ran.stdout


FOLLOW = (
    EXAMPLE.replace('size = "size"', 'size = "bytes"').replace('each = "files"', 'each = "details.files"')
    + """
[[follow]]
into = "details"
url = "{portal}/v1/gauges/{id}/details"
records = "one"

[[follow]]
into = "more"
when = "details.more"
url = "details.more"
records = "all"
"""
)
"""The example, whose files are in an answer of their own."""


@pytest.mark.parametrize(
    ("more", "found", "shown"),
    [
        ("/v1/more", {"details": 1, "more": 3}, "more: 3 of the first dataset"),
        (None, {"details": 1}, "more: not requested: the first dataset needs it not"),
        ("/v1/missing", {"details": 1, "more": "HTTP 404 Not Found"}, "more: HTTP 404 Not Found"),
        ("https://away.example/", {"details": 1, "more": "the next page is at away.example"}, "away.example"),
    ],
)
def test_try_requests_what_a_crawl_would_for_the_first_dataset(home, tmp_path, more, found, shown):
    def answer(asked):
        if asked.path.endswith("/details"):
            assert asked.path == "/v1/gauges/0/details"
            return Answer(json.dumps({"one": {"files": record(0)["files"], "more": more}}).encode())
        if asked.path.startswith("/v1/more"):
            return Answer(json.dumps({"all": [1, 2, 3]}).encode())
        if asked.path.startswith("/v1/gauges?"):
            return Answer(json.dumps({"found": TOTAL, "list": [record(number) for number in range(10)]}).encode())
        return Answer(b"", 404)

    path = tmp_path / "first.toml"
    path.write_text(FOLLOW, encoding="utf-8")
    is_whole = all(isinstance(one, int) for one in found.values())
    with Site(answer) as site:
        [tried_page] = tried(path, site.url, code=0 if is_whole else 3)
        assert len([asked for asked in site.asked if "/details" in asked.path]) == 1
        lines = " ".join(scrapy("try", str(path), site.url).stdout.split())
    assert tried_page["missing"] == ([] if is_whole else ["follow"])
    given = tried_page["follow"]
    assert given.keys() == found.keys()
    assert all(one == given[name] or one in str(given[name]) for name, one in found.items())
    assert filled(tried_page)["resource.url"] == 1  # of the first dataset
    assert f"follow {shown}" in lines or shown in lines


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["rivers"], 2, "name the portal's address, or a page of its API"),
        (["riverz", "x.json"], 1, "There is no declaration 'riverz'"),
        (["rivers", "none.json"], 1, "none.json is neither an http(s) address nor a readable file"),
        (["rivers", "http://127.0.0.1:9/", "-sRETRY_BACKOFF=0.01"], 1, "http://127.0.0.1:9/ is not available"),
    ],
)
def test_what_can_not_be_tried(home, words, code, says):
    ran = scrapy("try", *words)
    assert (ran.returncode, says in ran.stderr) == (code, True), ran.stderr


def test_a_page_of_html_is_no_answer(home):
    with Site(lambda asked: Answer(b"<html>", headers={"Content-Type": "text/html"})) as site:
        ran = scrapy("try", "rivers", site.url)
    assert ran.returncode == 1
    assert "is not available: it is not JSON" in ran.stderr


def test_the_example_is_crawled_and_read_again(home, crawl):
    with rivers() as site:
        found = crawl("api", site, kind="rivers", source="rivers")
    assert found.code == 0
    documents = found.documents()
    assert sorted(documents.values(), key=lambda one: one["nr"]) == [record(number) for number in range(TOTAL)]
    for line in (json.loads(text) for text in (found.folder / "manifest.jsonl").read_text().splitlines()):
        assert (line["metadata_source"], line["metadata_url"]) == (
            "rivers",
            f"{site.url}/v1/gauges/{line['dataset_id']}",
        )
        known = {name: line[name] for name in ("metadata_source", "metadata_url")}
        document = json.loads((found.folder / line["metadata_file"]).read_bytes())
        item = kind.dataset(document, source="rivers", id=line["dataset_id"], retrieved=line["time"], **known)
        number = int(item.id)
        assert item.title == (f"Gauge {number}" if number % 5 else f"Pegel {number}")
        assert item.landing_page == f"{site.url}/gauge/{number}"
        assert asdict(item)["license"]["id"] == "CC-BY-4.0"
        assert [(one.url, one.size) for one in item.resources] == [(f"{site.url}/files/{number}.csv", 1000 + number)]


def test_validate_shows_how_often_each_field_is_filled(home, tmp_path):
    with rivers() as site:
        sources = tmp_path / "sources.toml"
        sources.write_text(
            f'[rivers]\nspider = "api"\n[rivers.arguments]\nportal = "{site.url}"\nkind = "rivers"\n', encoding="utf-8"
        )
        ran = scrapy("sources", "validate", "rivers", "-s", f"SOURCES_FILE={sources}")
    assert ran.returncode == 0, ran.stderr
    assert "rivers: partial, 20 of 25 datasets crawled" in ran.stdout
    assert re.search(r"resource.size +20 of 20 +1000\n", ran.stdout)
    assert "declared, but" not in ran.stdout


def test_validate_begins_with_what_is_declared_and_never_filled(home, tmp_path):
    path = home / "catalogues" / "kinds" / "rivers.toml"
    path.write_text(EXAMPLE.replace('"about"', '"abuot"'), encoding="utf-8")
    with rivers() as site:
        sources = tmp_path / "sources.toml"
        sources.write_text(
            f'[rivers]\nspider = "api"\n[rivers.arguments]\nportal = "{site.url}"\nkind = "rivers"\n', encoding="utf-8"
        )
        ran = scrapy("sources", "validate", "rivers", "-s", f"SOURCES_FILE={sources}")
    assert ran.stdout.splitlines()[1] == "  declared, but in none: description, resource.size"
