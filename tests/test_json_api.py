"""The JSON API of a dashboard that runs: what it answers is what its description says and what the commands print."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from crawlers.operate.dashboard import app
from crawlers.operate.dashboard.site import Modified
from crawlers.store.export.tables import cell
from tests.conftest import options, scrapy
from tests.dashboards import ask, dashboard
from tests.indexed import indexed
from tests.portal.portal import Portal
from tests.site import Site, listing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

ODD = (
    "../../../etc/passwd",
    "..",
    "a/b",
    "a//b",
    "/a",
    "a/",
    "a?b=1&c#d",
    "100%2F%2e",
    "ü 測試 🌊",
    "\u202egnp",
    '"<b>',
)
LARGE = 20_000


def odd(number: int, dataset_id: str) -> dict[str, Any]:
    return {
        "id": dataset_id,
        "name": f"odd-{number}",
        "title": f"<script> \u202e {number}",
        "metadata_modified": "2026-01-01T00:00:00",
        "resources": [{"id": "1", "name": "x", "url": "https://me:hidden@files.example.org/", "format": "CSV"}],
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Iterator[SimpleNamespace]:
    """A dashboard of three sources: one of sources.toml, one that failed, one with odd ids; and one never harvested."""
    folder = tmp_path_factory.mktemp("api")
    output = folder / "output"

    def crawl(spider: str, source: str, url: str) -> int:
        settings = {"RETRY_TIMES": "0", "ROBOTSTXT_OBEY": "0"}
        return scrapy("crawl", spider, *options(output, settings, portal=url, source=source)).returncode

    records = sorted((odd(number, one) for number, one in enumerate(ODD)), key=lambda record: record["id"])
    with Portal(datasets=30) as portal:
        assert crawl("ckan", "rivers", portal.url) == 0
        assert crawl("ckan", "rivers", portal.url) == 0
    with Portal(datasets=12, faults=("gone=download_metadata", "error=_show")) as portal:
        assert crawl("hdx", "broken", portal.url) == 3
    with Site(lambda _: listing(*records)) as site:
        assert crawl("ckan", "odd", site.url) == 0
    (folder / "sources.toml").write_text(
        '[rivers]\nspider = "ckan"\nschedule = "daily"\n[rivers.arguments]\nportal = "https://rivers.example.org"\n'
        '[never]\nspider = "ckan"\nenabled = false\n[never.arguments]\nportal = "https://never.example.org"\n'
        '[wrong]\nspider = "ckna"\n'
    )
    paths = {"JOBS_DIR": folder / "jobs", "SOURCES_FILE": folder / "sources.toml"}
    given = [f"-s{name}={path}" for name, path in paths.items()]
    with dashboard(output, *given) as (url, _):
        yield SimpleNamespace(url=url, output=output, given=[f"-sOUTPUT_DIR={output}", *given])


@pytest.fixture(scope="module")
def described(made) -> dict[str, Any]:
    return ask(made.url, "/api/openapi.json").json


def walked(url: str, path: str, name: str) -> list[list[dict[str, Any]]]:
    """The pages of a list, as `next` leads to them."""
    pages, at = [], path
    while at:
        answer = ask(url, at)
        assert answer.status == 200, answer.text
        pages.append(answer.json[name])
        at = answer.json["next"]
    return pages


def checked(described: dict[str, Any], path: str, answer: Any, status: int = 200) -> None:
    """The answer is exactly what the description of its path says."""
    response = described["paths"][path]["get"]["responses"][str(status)]
    schema = response["content"]["application/json"]["schema"]
    Draft202012Validator({**schema, "components": described["components"]}).validate(answer)
    properties = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]["properties"]
    assert list(answer) == list(properties)


def run_names(made, source: str) -> list[str]:
    return [path.stem for path in (made.output / source / "runs").glob("*.json")]


def run_of(made, source: str) -> str:
    return max(run_names(made, source))


def test_the_description_is_valid(described):
    validate(described)


def test_each_answer_is_as_described(made, described):
    rivers = ask(made.url, "/api/datasets?source=rivers&limit=1").json["datasets"][0]["dataset_id"]
    asked = {
        "/api/sources": "/api/sources",
        "/api/sources/{source}": "/api/sources/rivers",
        "/api/runs": "/api/runs",
        "/api/runs/{source}/{run}": f"/api/runs/broken/{run_of(made, 'broken')}",
        "/api/errors": "/api/errors",
        "/api/flaws": "/api/flaws",
        "/api/datasets": "/api/datasets",
        "/api/datasets/{source}": f"/api/datasets/rivers?id={rivers}",
        "/api/datasets/{source}/{id}": f"/api/datasets/rivers/{rivers}",
        "/api/datasets/{source}/{id}/versions": f"/api/datasets/rivers/{rivers}/versions",
        "/api/versions/{source}": f"/api/versions/rivers?id={rivers}",
        "/api/changes": "/api/changes",
        "/api/search": "/api/search?q=water",
    }
    (version,) = ask(made.url, asked["/api/versions/{source}"]).json["versions"]
    documents = {
        "/api/versions/{source}/{sha256}": version["document"],
        "/api/datasets/{source}/{id}/versions/{sha256}": f"/api/datasets/rivers/{rivers}/versions/{version['sha256']}",
    }
    assert asked.keys() | documents.keys() == described["paths"].keys()
    for path, address in documents.items():
        answer = ask(made.url, address)
        assert answer.json["id"] == rivers
        content = described["paths"][path]["get"]["responses"]["200"]["content"]
        assert answer.headers["Content-Type"] in content
    for path, address in asked.items():
        answer = ask(made.url, address)
        assert answer.status == 200, answer.text
        checked(described, path, answer.json)
        head = ask(made.url, address, "HEAD")
        assert (head.status, head.text) == (200, "")


@pytest.mark.parametrize(
    ("address", "status", "sentence"),
    [
        ("/api/runs?limt=1", 400, "There is no parameter 'limt'. Did you mean limit?"),
        ("/api/runs?limit=0", 400, "limit is how many there are on a page, from 1 to 1000; it is not '0'."),
        ("/api/runs?limit=x&limit=2", 400, "The parameter limit is there 2 times: give it once."),
        (
            "/api/runs?status=good",
            400,
            "status is a state of a run: complete, incomplete, running ...; it is not 'good'.",
        ),
        ("/api/runs?since=2026-11-20T10:00", 400, "since: '2026-11-20T10:00' has no offset: write a date such as"),
        ("/api/errors?kind=htp", 400, "There is no kind 'htp'. Did you mean http?"),
        ("/api/flaws?source=river", 404, "There is no source 'river' here. Did you mean rivers?"),
        ("/api/flaws?after=WyJhIl0", 400, "after is none of this list: take it from `next` of the page before."),
        ("/api/runs?after=x", 400, "after is none of this list: take it from `next` of the page before."),
        ("/api/search?q=x&after=Wy0xXQ", 400, "A search leads to the first 2000 datasets: narrow it by more words"),
        ("/api/search", 400, "The parameter q is missing: words and filters, as the page takes them."),
        ("/api/datasets/rivers", 400, "The parameter id is missing: the id of a dataset of the source."),
        ("/api/datasets/rivers/x?id=y", 400, "There is no parameter 'id'."),
        ("/api/search?q=x&source=nevr", 404, "There is no source 'nevr' here. Did you mean never?"),
        ("/api/runs?source=river", 404, "There is no source 'river' here. Did you mean rivers?"),
        ("/api/sources/..%2f..", 404, "There is no such address: /api/openapi.json describes those there are."),
        ("/api/runs/rivers/x", 404, "There is no run x of rivers. It may be older than RUNS_KEPT_DAYS."),
        ("/api/datasets/rivers/x", 404, "There is no dataset 'x' of rivers here."),
        ("/api/source", 404, "There is no such address: /api/openapi.json describes those there are."),
    ],
)
def test_what_is_mistyped_is_an_error_of_one_sentence(made, described, address, status, sentence):
    answer = ask(made.url, address)
    assert answer.status == status
    assert answer.json["error"].startswith(sentence)
    checked(described, "/api/runs", answer.json, status)


def test_it_only_reads_and_answers_to_its_own_name(made):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        answer = ask(made.url, "/api/sources", method)
        assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
        assert answer.json == {"error": "The dashboard only shows: it takes GET and HEAD."}
    answer = ask(made.url, "/api/sources", Host="evil.example")
    assert (answer.status, list(answer.json)) == (400, ["error"])
    page, data = ask(made.url, "/"), ask(made.url, "/api/sources")
    own = {"Content-Type", "Content-Length", "Date", "Etag", "Last-Modified", "Cache-Control"}
    assert {name: value for name, value in data.headers.items() if name not in own} == {
        name: value for name, value in page.headers.items() if name not in own
    }


def test_its_words_are_those_of_the_commands(made):
    def printed(*words: str) -> Any:
        return json.loads(scrapy(*words, "--json", *made.given).stdout)

    for run in printed("jobs", "rivers") + printed("jobs", "broken"):
        answer = ask(made.url, f"/api/runs/{run['source']}/{run['run']}").json
        assert answer == {name: run[name] for name in answer}
        assert run.keys() - answer.keys() == {"log", "folder", "report"}
        assert answer in ask(made.url, f"/api/runs?source={run['source']}").json["runs"]
    for source in printed("sources"):
        answer = ask(made.url, f"/api/sources/{source['name']}").json
        times = {"next"} if source["due"] else set()  # of a source that is due it is the time of the answer
        assert {name: answer[name] for name in source.keys() - times} == {
            name: source[name] for name in source.keys() - times
        }
    found = printed("search", "water")
    answer = ask(made.url, "/api/search?q=water").json
    assert answer["total"] == found["total"]
    for row, other in zip(answer["datasets"], found["datasets"], strict=True):
        assert other.keys() - row.keys() == {"id"}
        assert row == {name: other[name] for name in row} | {"file": row["file"]}
        assert other["file"] == f"{made.output}/{row['source']}/{row['file']}"


def test_sources_are_those_of_the_table_and_those_on_disk(made):
    found = {one["name"]: one for page in walked(made.url, "/api/sources?limit=2", "sources") for one in page}
    assert list(found) == ["broken", "never", "odd", "rivers", "wrong"]
    assert (found["rivers"]["datasets"], found["rivers"]["enabled"], found["rivers"]["state"]) == (30, True, "complete")
    assert found["rivers"]["schedule"] == "daily"
    assert (found["never"]["datasets"], found["never"]["enabled"], found["never"]["state"]) == (0, False, None)
    assert (found["broken"]["enabled"], found["broken"]["state"]) == (None, "incomplete")
    assert "Did you mean ckan?" in found["wrong"]["mistake"]


def test_pages_lead_to_every_row_once(made):
    with sqlite3.connect(f"file:{made.output / 'index.sqlite'}?mode=ro", uri=True) as db:
        keys = db.execute("SELECT source, dataset_id FROM datasets ORDER BY 1, 2").fetchall()
    db.close()
    pages = walked(made.url, "/api/datasets?limit=7", "datasets")
    assert [(row["source"], row["dataset_id"]) for page in pages for row in page] == keys
    assert {len(page) for page in pages[:-1]} == {7}
    only = walked(made.url, "/api/datasets?limit=7&source=odd", "datasets")
    assert {row["dataset_id"] for page in only for row in page} == set(ODD)
    found = ask(made.url, "/api/search?q=water&limit=100").json
    pages = walked(made.url, "/api/search?q=water&limit=1", "datasets")
    assert [row for page in pages for row in page] == found["datasets"]
    assert len(found["datasets"]) + sum(len(row["places"]) for row in found["datasets"]) == found["total"] > 2
    runs = [run for page in walked(made.url, "/api/runs?limit=1", "runs") for run in page]
    assert [run["started"] for run in runs] == sorted((run["started"] for run in runs), reverse=True)
    assert len({(run["source"], run["run"]) for run in runs}) == len(runs) == 4
    assert [run["source"] for run in ask(made.url, "/api/runs?status=incomplete&source=broken").json["runs"]] == [
        "broken"
    ]


@pytest.mark.parametrize("dataset_id", ODD)
def test_whatever_its_id_a_dataset_is_found(made, dataset_id):
    answer = ask(made.url, f"/api/datasets/odd?{urlencode({'id': dataset_id})}").json
    assert answer["dataset_id"] == dataset_id
    assert answer["resources"][0]["url"] == "https://files.example.org/"
    assert answer["changes"][0]["status"] == "new"
    if not {"", ".", ".."} & set(dataset_id.split("/")):
        assert ask(made.url, f"/api/datasets/odd/{quote(dataset_id)}").json == answer


def test_a_list_goes_on_where_it_was_while_rows_come_and_go(tmp_path):
    indexed(tmp_path, datasets=40, sources=2, runs=10)
    browser = app(tmp_path).test_client()

    def get(path: str) -> Any:
        return browser.get(path, base_url="http://localhost").json

    datasets, runs = get("/api/datasets?limit=5&withdrawn=true"), get("/api/runs?limit=5")
    rest = get("/api/datasets?limit=5&withdrawn=true&after=" + datasets["next"].rpartition("=")[2])
    older = get(runs["next"])
    with sqlite3.connect(tmp_path / "index.sqlite") as db:
        db.execute("DELETE FROM datasets WHERE dataset_id = ?", (datasets["datasets"][-1]["dataset_id"],))
        db.execute(
            "UPDATE runs SET run = '20270101T000000Z', started = '2027-01-01' WHERE run = ?", (runs["runs"][0]["run"],)
        )
    db.close()
    assert get(datasets["next"])["datasets"] == rest["datasets"]
    assert get(runs["next"]) == older


def test_a_run_at_work_is_in_its_place(tmp_path):
    indexed(tmp_path, datasets=3, sources=1, runs=3)
    (tmp_path / "source-0").mkdir()
    running = {
        "run": "20260102T120000Z",
        "started": "2026-01-02T12:00:00.000Z",
        "heartbeat": "2026-01-02T12:01:00.000Z",
    }
    (tmp_path / "source-0" / "running.json").write_text(json.dumps(running))
    browser = app(tmp_path).test_client()
    at, runs = "/api/runs?limit=1", []
    while at:
        answer = browser.get(at, base_url="http://localhost").json
        runs += [(run["run"], run["state"]) for run in answer["runs"]]
        at = answer["next"]
    assert [run for run, _ in runs] == ["20260103T030000Z", "20260102T120000Z", "20260102T030000Z", "20260101T030000Z"]
    assert runs[1][1] == "interrupted"


@pytest.mark.parametrize("damage", ["missing", "damaged", "sources"])
def test_what_cannot_be_read_is_an_error(tmp_path, damage):
    indexed(tmp_path, datasets=3)
    sources = tmp_path / "sources.toml"
    if damage == "missing":
        (tmp_path / "index.sqlite").unlink()
    elif damage == "damaged":
        (tmp_path / "index.sqlite").write_bytes(b"damaged" * 1000)
    else:
        sources.write_text("no TOML")
    answer = app(tmp_path, listed=sources).test_client().get("/api/sources", base_url="http://localhost")
    assert (answer.status_code, list(answer.json)) == (503, ["error"])


# Errors and flaws; CSV files; versions


def rows(answer: Any) -> list[dict[str, str]]:
    assert answer.headers["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(answer.text, newline=""), strict=True))


def failing(output: Path, source: str, times: list[str]) -> None:
    """errors.jsonl of a source, in this order."""
    (output / source / "runs").mkdir(parents=True, exist_ok=True)
    lines = [
        {"time": time, "run": "20260101T030000Z", "kind": "http" if number % 2 else "timeout", "error": f"{number}"}
        for number, time in enumerate(times)
    ]
    (output / source / "errors.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def times(day: int, count: int) -> list[str]:
    return [f"2026-01-{day:02}T03:00:{number // 3:02}.000Z" for number in range(count)]  # three have one time


def test_errors_are_listed_once_newest_first_while_others_come(tmp_path):
    indexed(tmp_path, datasets=3, sources=2)
    failing(tmp_path, "source-0", times(1, 11))
    back = [*times(2, 4), "2026-01-01T03:00:01.000Z", *times(2, 6)]  # a clock went back
    failing(tmp_path, "source-1", back)
    browser = app(tmp_path).test_client()

    def listed(at: str) -> tuple[list[tuple[str, str]], str]:
        answer = browser.get(at, base_url="http://localhost").json
        assert answer["unread"] == []
        return [(one["source"], one["error"]) for one in answer["errors"]], answer["next"]

    found, at = [], "/api/errors?limit=4"
    while at:
        rest, at = listed(at)
        found += rest
        if len(found) == 8:
            with (tmp_path / "source-0" / "errors.jsonl").open("a") as file:
                file.write('{"time": "2026-01-03T00:00:00.000Z", "kind": "dns", "error": "later"}\n')
    assert sorted(found) == sorted((f"source-{source}", f"{number}") for source in range(2) for number in range(11))
    assert found[:6] == [("source-1", f"{number}") for number in range(10, 4, -1)]
    only, _ = listed("/api/errors?source=source-0&kind=http&since=2026-01-01")
    assert only == [("source-0", f"{number}") for number in (9, 7, 5, 3, 1)]
    assert listed("/api/errors?source=source-0&since=2026-01-01T03:00:03%2B00:00")[0] == [
        ("source-0", "later"),
        ("source-0", "10"),
        ("source-0", "9"),
    ]
    assert listed("/api/errors?run=20270101T030000Z")[0] == []


def test_odd_error_lines_are_answered_as_described_and_damage_is_told(tmp_path, described):
    indexed(tmp_path, datasets=3, sources=2)
    (tmp_path / "source-0" / "runs").mkdir(parents=True)
    odd = {
        "time": "2026-01-01T03:00:00.000Z",
        "url": "https://me:hidden@x.org/",
        "http_status": True,
        "error": {"a": 1},
    }
    (tmp_path / "source-0" / "errors.jsonl").write_text(f"[]\n{{\n{json.dumps(odd)}\n")
    browser = app(tmp_path).test_client()
    answer = browser.get("/api/errors", base_url="http://localhost").json
    checked(described, "/api/errors", answer)
    (line,) = answer["errors"]
    assert (line["url"], line["http_status"], line["error"]) == ("https://***@x.org/", None, "{'a': 1}")
    (tmp_path / "source-1" / "errors.jsonl").mkdir(parents=True)
    assert browser.get("/api/errors", base_url="http://localhost").json["unread"] == ["source-1"]
    answer = browser.get("/errors.csv", base_url="http://localhost")
    assert (answer.status_code, "The errors of source-1 can&#39;t be read" in answer.text) == (503, True)
    with browser.get("/errors.csv?source=source-0", base_url="http://localhost") as answer:
        assert [row["url"] for row in rows(answer)] == ["https://***@x.org/"]


@pytest.fixture
def flawed(tmp_path) -> FlaskClient:
    """Two sources with flaws of datasets, of files and of the source itself."""
    indexed(tmp_path, datasets=3, sources=2)
    with sqlite3.connect(tmp_path / "index.sqlite") as db:
        for number in range(9):
            key = (f"source-{number % 2}", f"d{number // 4}" if number else "", f"r{number % 4}", "modified")
            kind = "invalid_value" if number % 3 else "unreadable_value"
            values = (*key, kind, f"2026-01-0{number + 1}T03:00:00.000Z", f"run-{number}", None, "=A", None, "odd")
            db.execute(f"INSERT INTO flaws VALUES ({', '.join('?' * 11)})", values)
    db.close()
    return app(tmp_path).test_client()


def test_flaws_are_listed_by_source_and_chosen(flawed, described):
    def listed(at: str) -> Any:
        answer = flawed.get(at, base_url="http://localhost").json
        checked(described, "/api/flaws", answer)
        return answer

    pages, at = [], "/api/flaws?limit=2"
    while at:
        pages.append(listed(at))
        at = pages[-1]["next"]
    found = [(one["source"], one["dataset_id"] or "", one["resource_id"]) for page in pages for one in page["flaws"]]
    assert found == sorted(found)
    assert len(found) == 9
    assert pages[0]["flaws"][0]["dataset_id"] is None
    chosen = {
        "source=source-1": 4,
        "run=run-3": 1,
        "kind=unreadable_value": 3,
        "since=2026-01-08": 2,
        "since=2026-01-08T03:00:01Z&source=source-0": 1,
    }
    assert {query: len(listed(f"/api/flaws?{query}")["flaws"]) for query in chosen} == chosen
    with flawed.get("/flaws.csv?source=source-1", base_url="http://localhost") as answer:
        assert [(row["source"], row["dataset_title"]) for row in rows(answer)] == [("source-1", "'=A")] * 4


def test_each_table_is_a_csv_file_with_all_rows(made):
    for path, name in (("/sources", "sources"), ("/runs", "runs"), ("/errors", "errors"), ("/datasets", "datasets")):
        listed = [row for page in walked(made.url, f"/api{path}?limit=100", name) for row in page]
        answer = ask(made.url, f"{path}.csv")
        found = rows(answer)
        assert len(found) == len(listed) > 3
        same = [column for column in found[0] if column in ("name", "source", "run", "time", "dataset_id", "started")]
        assert [[row[column] for column in same] for row in found] == [
            [cell(row[column]) for column in same] for row in listed
        ]
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}.csv"'
    (run,) = rows(ask(made.url, "/runs.csv?source=broken"))
    of_api = ask(made.url, f"/api/runs/broken/{run['run']}").json
    assert {name: int(run[name]) for name in of_api["counts"]} == of_api["counts"]
    assert int(run["errors"]) == sum(of_api["errors"].values())
    assert run["errors_by_kind"] == " | ".join(f"{kind} {count}" for kind, count in of_api["errors"].items())
    assert json.loads(run["arguments"]) == of_api["arguments"]
    assert rows(ask(made.url, "/runs.csv?source=rivers&status=incomplete")) == []
    documents = rows(ask(made.url, f"/documents.csv?source=rivers&run={min(run_names(made, 'rivers'))}"))
    assert ({row["status"] for row in documents}, len({row["file"] for row in documents})) == ({"new"}, 30)
    assert ask(made.url, "/documents.csv?source=rivers").status == 400
    for mistake in ("/runs.csv?limit=3", "/runs.csv?state=complete", "/errors.csv?kind=htp", "/errors.csv?since=soon"):
        assert ask(made.url, mistake).status == 400
    assert ask(made.url, "/flaws.csv?source=river").status == 404


@pytest.mark.parametrize("path", ["/api/datasets?limit=3", "/api/openapi.json", "/runs.csv", "/files.csv"])
def test_who_has_an_answer_is_told_so(made, path):
    first = ask(made.url, path)
    version, changed = first.headers["ETag"], first.headers["Last-Modified"]
    assert first.headers["Cache-Control"] == "private, no-cache"
    for asked in ({"If_None_Match": version}, {"If_Modified_Since": changed}, {"If_None_Match": f'"x", {version}'}):
        answer = ask(made.url, path, **asked)
        assert (answer.status, answer.text, answer.headers["ETag"]) == (304, "", version)
    other = ask(made.url, path, If_None_Match='"x"', If_Modified_Since=changed)
    assert (other.status, other.text) == (200, first.text)
    assert ask(made.url, path, "HEAD", If_None_Match=version).status == 304


def test_an_answer_that_changes_has_another_version(flawed, tmp_path):
    def answered(**headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return flawed.get("/api/flaws", base_url="http://localhost", headers=named)

    before = answered()
    assert answered(If_None_Match=before.headers["ETag"]).status_code == 304
    with sqlite3.connect(tmp_path / "index.sqlite") as db:
        db.execute("DELETE FROM flaws WHERE run = 'run-8'")
    db.close()
    after = answered(If_None_Match=before.headers["ETag"], If_Modified_Since=before.headers["Last-Modified"])
    assert (after.status_code, len(after.json["flaws"])) == (200, 8)
    assert answered(If_Modified_Since=before.headers["Last-Modified"]).status_code == 200  # also in the same second


def test_two_answers_of_an_address_have_two_times():
    modified = Modified()
    assert modified.when("/a", "1", 100.5) == datetime.fromtimestamp(100, UTC)
    assert modified.when("/a", "1", 160) == datetime.fromtimestamp(100, UTC)
    assert modified.when("/a", "2", 100.9) is None  # the time would be that of the other one, or of the future
    assert modified.when("/a", "2", 101) == datetime.fromtimestamp(101, UTC)
    assert modified.when("/b", "2", 100) == datetime.fromtimestamp(100, UTC)
    for number in range(2000):
        modified.when(f"/{number}", "1", 200)
    assert len(modified.known) == 1000
    assert modified.when("/a", "2", 300) == datetime.fromtimestamp(300, UTC)
