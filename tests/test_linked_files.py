"""The files that catalogues link, in the report and on the dashboard: last copies, broken links, downloads."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import json
import re
import shutil
import sqlite3
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from lxml import html
from scrapy.settings import Settings

from crawlers.archive.store import open_blobs
from crawlers.exceptions import OutputError
from crawlers.operate.dashboard import addresses, app
from crawlers.operate.notify.notice import Notice
from crawlers.operate.notify.notifications import Prometheus
from crawlers.operate.report.report import has_files, write
from crawlers.store.figures.files import COLUMNS
from crawlers.store.index import catch_up
from crawlers.store.index.database import connect
from tests.archives import Archives
from tests.captured import TIME, archived, broken, look, written
from tests.conftest import command, options, scrapy
from tests.indexed import indexed
from tests.portal.files import CSV, Files
from tests.portal.portal import Portal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

    from crawlers.items import Capture

HERE = "http://127.0.0.1:8710"
BODY = b"<script>alert(1)</script>" + bytes(range(256)) * 1000
SHA256 = hashlib.sha256(BODY).hexdigest()
HELD = {"sha256": SHA256, "size": len(BODY)}
STAMP = "20261120T030005Z"


def words(element: html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


def tables(page: str) -> dict[str, list[list[str]]]:
    """The cells of each table's body, by its caption."""
    return {
        words(table.find("caption")): [[words(cell) for cell in row] for row in table.iterfind("tbody/tr")]
        for table in html.document_fromstring(page).iter("table")
    }


def change(output: Path, query: str, *values: object) -> None:
    with closing(sqlite3.connect(output / "index.sqlite", isolation_level=None)) as db:
        db.execute(query, values)


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> SimpleNamespace:
    """A crawled catalogue, its archive, and a store: a dataset was withdrawn since, and a resource removed."""
    folder = tmp_path_factory.mktemp("archive")
    output, store = folder / "output", folder / "archive"
    with Portal(datasets=20) as portal:
        words = options(output, {"SHRINK_LIMIT": "0.5"}, portal=portal.url, source="town")
        assert scrapy("crawl", "ckan", *words).returncode == 0
        catch_up(output)
        resources = rows(
            output,
            "SELECT r.*, d.publisher FROM resources r JOIN datasets d USING (source, dataset_id) "
            "ORDER BY dataset_id, position",
        )
        portal.change(remove=[resources[0]["dataset_id"]])
        assert scrapy("crawl", "ckan", *words).returncode == 0
    blobs = open_blobs(Settings({"ARCHIVE_STORE": str(store)}))
    part = folder / "part"
    part.write_bytes(BODY)
    asyncio.run(blobs.put(part, SHA256))
    written(output, "town", looks(resources))
    catch_up(output)
    change(output, "DELETE FROM resources WHERE resource_id = ?", resources[-1]["resource_id"])
    return SimpleNamespace(output=output, store=store, resources=resources, blobs=lambda: blobs, folder=folder)


def looks(resources: list[dict[str, Any]]) -> Iterator[Capture]:
    """Two fifths broken or unknown, the last one held once; the first and the last one are held."""
    for number, row in enumerate(resources):
        of = ("town", row["dataset_id"], row["resource_id"], f"https://me:hidden@host-{number % 3}.org/{number}?a=1")
        if number in (0, len(resources) - 1):
            yield look(*of, title=f"copy {number}", **HELD)
        elif number % 5 == 1:
            yield broken(*of, title=f"=cmd|{number}")
        elif number % 5 == 2:
            yield broken(*of, state="unknown", is_broken=None, reason="The server did not answer in time.")
        else:
            yield look(*of, title=f"file {number}", sha256=f"{number:064x}")


@pytest.fixture
def made(archive, tmp_path) -> SimpleNamespace:
    """The same, for a test that may change the output."""
    shutil.copytree(archive.output, tmp_path / "output")
    return SimpleNamespace(**vars(archive) | {"output": tmp_path / "output", "folder": tmp_path})


def rows(output: Path, query: str, *values: object) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute(query, values)]


def client(made: SimpleNamespace) -> FlaskClient:
    return app(made.output, blobs=made.blobs).test_client()


def get(made: SimpleNamespace, path: str, status: int = 200, **headers: str) -> Any:
    answer = client(made).get(path, base_url=HERE, headers=headers, buffered=True)
    assert answer.status_code == status, (path, answer.status_code, answer.text[:500])
    return answer


def listed(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


# The report


def report(made: SimpleNamespace, *named: str, file: str = "report.html") -> tuple[str, list[dict[str, str]]]:
    """Return the page and the lines of the CSV file beside it."""
    target = made.folder / file
    ended = command("report", "-s", f"OUTPUT_DIR={made.output}", "-o", str(target), *named)
    assert ended.returncode == 0, ended.stderr
    beside = made.folder / "report.broken-links.csv"
    assert ended.stdout == f"Wrote {target} and {beside}.\n"
    return target.read_text(), listed(beside.read_bytes().decode())


def test_the_report_lists_last_copies_first_then_broken_links(made):
    page, lines = report(made)
    shown = tables(page)
    copies = next(rows for caption, rows in shown.items() if caption.startswith("Last copies"))
    gone = {row[0].split()[1]: row[3] for row in copies}
    first = made.resources[0]["dataset_id"]
    of_first = [number for number, row in enumerate(made.resources) if row["dataset_id"] == first]
    held = {str(number) for number in of_first if number == 0 or number % 5 in (0, 3, 4)}
    assert gone == dict.fromkeys(held, "dataset gone") | {str(len(made.resources) - 1): "resource gone"}
    assert [line["what"] for line in lines] == sorted(
        (line["what"] for line in lines), key=["last copy", "broken", "unknown"].index
    )
    counted = {row["name"]: row["n"] for row in rows(made.output, _BY.format("publisher"))}
    assert {row[0]: int(row[1].split()[0]) for row in shown["Broken links by publisher"]} == counted
    counted = {row["name"]: row["n"] for row in rows(made.output, _BY.format("host"))}
    assert {row[0]: int(row[1].split()[0]) for row in shown["Broken links by host"]} == counted
    assert 'href="report.broken-links.csv"' in page


_BY = "SELECT {0} AS name, sum(is_broken IS 1) AS n FROM broken_links GROUP BY 1"


def test_the_csv_file_has_every_link_and_no_formula_and_no_password(made):
    _, lines = report(made)
    assert tuple(lines[0]) == COLUMNS
    named = {line["resource_id"] for line in lines if line["what"] != "last copy"}
    assert named == {row["resource_id"] for row in rows(made.output, "SELECT resource_id FROM broken_links")}
    assert {line["resource_id"] for line in lines} - named == {
        row["resource_id"] for row in rows(made.output, "SELECT resource_id FROM last_copies")
    }
    assert any(line["title"].startswith("'=cmd") for line in lines)
    assert not any("hidden" in line["url"] for line in lines)


def test_the_report_of_a_catalogue_has_its_files_and_that_of_another_has_none(made):
    page, lines = report(made, "town")
    assert 'id="files"' in page
    assert lines
    written(made.output, "region", [broken("region", "d", "r", "https://elsewhere.org/a")])
    page, lines = report(made, "archive-of-region")
    assert [line["url"] for line in lines] == ["https://elsewhere.org/a"]


def test_without_an_archive_the_report_is_as_before(tmp_path):
    indexed(tmp_path / "output", datasets=30)
    file = io.BytesIO()
    with closing(connect(tmp_path / "output")) as db:
        assert not has_files(db)
        write(db, file)
    assert b'id="files"' not in file.getvalue()


def test_the_report_does_not_grow_with_the_broken_links(tmp_path):
    indexed(tmp_path, datasets=60)
    sizes = []
    for count in (500, 2000):
        archived(
            tmp_path,
            f"source-{count}",
            [broken(f"source-{count}", "d", str(n), f"https://h{n}.org/") for n in range(count)],
        )
        file = io.BytesIO()
        with closing(connect(tmp_path)) as db:
            write(db, file, [f"archive-of-source-{count}"])
        sizes.append(len(file.getvalue()))
    assert sizes[1] < 1.1 * sizes[0]


# The dashboard


def test_the_page_of_files_leads_to_those_of_a_publisher_and_a_host(made):
    page = get(made, "/files").text
    tree = html.document_fromstring(page)
    for name in ("publisher", "host"):
        (found, *_) = tree.xpath(f"//a[starts-with(@href, '/files?{name}=')]")
        shown = tables(get(made, found.get("href")).text)
        links = next(rows for caption, rows in shown.items() if caption.startswith("Broken links, "))
        query = f"SELECT count(*) AS n FROM broken_links WHERE {name} = ?"
        assert len(links) == rows(made.output, query, words(found))[0]["n"]
    assert "me:hidden" not in page


def test_the_csv_is_of_the_files_that_the_page_shows(made):
    host = "host-1.org"
    (link,) = html.document_fromstring(get(made, f"/files?host={host}").text).xpath(
        "//a[contains(@href, '.csv')]/@href"
    )
    answer = get(made, link)
    lines = listed(answer.text)
    assert answer.headers["Content-Disposition"] == 'attachment; filename="broken-links.csv"'
    assert answer.mimetype == "text/csv"
    assert {line["host"] for line in lines} == {host}
    query = "SELECT resource_id FROM {} WHERE host = ?"
    found = [
        row["resource_id"]
        for view in ("last_copies", "broken_links")
        for row in rows(made.output, query.format(view), host)
    ]
    assert sorted(line["resource_id"] for line in lines) == sorted(found)
    assert len(listed(get(made, "/files.csv").text)) > len(lines)


def test_a_long_list_of_broken_links_has_pages(tmp_path):
    indexed(tmp_path, datasets=3)
    archived(tmp_path, "many", [broken("many", "d", str(n), f"https://h.org/{n}") for n in range(120)])
    made = SimpleNamespace(output=tmp_path, blobs=None)
    seen = []
    for number in (1, 2, 3, 4):
        shown = tables(get(made, f"/files?page={number}").text)
        links = [rows for caption, rows in shown.items() if caption.startswith("Broken links, ")]
        seen += [row[0] for row in links[0]] if links else []
    assert len(seen) == len(set(seen)) == 120


@pytest.mark.parametrize(
    "path", ["/files", "/files.csv", "/files?publisher=nobody", "/files?host=%27%22%3Cb%3E&page=9"]
)
def test_what_is_not_there_is_no_error(made, tmp_path, path):
    get(made, path)
    indexed(tmp_path / "empty", datasets=3)
    get(SimpleNamespace(output=tmp_path / "empty", blobs=None), path)


def test_a_dataset_has_its_captures_and_a_download(made):
    first = made.resources[0]
    row = {"resource_id": first["resource_id"], "kept_at": TIME, "name": "file", "extension": "csv"} | HELD
    page = get(made, addresses.dataset("town", first["dataset_id"])).text
    shown = tables(page)["The looks at the files of this dataset"]
    assert ["kept", f"{len(BODY) / 1000:.0f} kB"] in [[line[2], line[3]] for line in shown]
    assert addresses.file(row) in html.document_fromstring(page).xpath("//a/@href")


def test_versions_of_a_file_are_shown_and_unchanged_looks_are_not(made):
    first = made.resources[0]
    of = ("town", first["dataset_id"], first["resource_id"], "https://host-0.org/0")
    later = [f"2026-11-2{day}T03:00:00.000Z" for day in range(1, 6)]
    states = ("kept", "unchanged", "unchanged", "kept", "unchanged")
    found = [
        look(*of, state=state, run=f"2026112{day}T030000Z", time=time, sha256=f"{len(BODY) + day // 4:064x}")
        for day, (state, time) in enumerate(zip(states, later, strict=True), 1)
    ]
    written(made.output, "town", found)
    catch_up(made.output)
    shown = tables(get(made, addresses.dataset("town", first["dataset_id"])).text)
    of_it = [row[1:3] for row in shown["The looks at the files of this dataset"] if row[0].startswith("a file")]
    kept = [["2026-11-25 03:00", "unchanged"], ["2026-11-24 03:00", "kept"], ["2026-11-21 03:00", "kept"]]
    assert [row for row in of_it if row[0] >= "2026-11-21"] == kept


# Downloads


def held(made: SimpleNamespace) -> str:
    return f"/archive/{STAMP}/{made.resources[0]['resource_id']}/file.csv"


def test_a_file_is_downloaded_and_never_shown(made):
    answer = get(made, held(made))
    assert answer.data == BODY
    assert answer.headers["Content-Disposition"] == 'attachment; filename="file.csv"'
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].startswith("sandbox")
    assert answer.headers.getlist("Content-Security-Policy") == [answer.headers["Content-Security-Policy"]]
    assert answer.headers["Content-Length"] == str(len(BODY))


def test_head_and_ranges_and_conditions_are_answered(made):
    head = client(made).head(held(made), base_url=HERE)
    assert (head.status_code, head.data, head.content_length) == (200, b"", len(BODY))
    part = get(made, held(made), 206, Range="bytes=100-199")
    assert (part.data, part.headers["Content-Range"]) == (BODY[100:200], f"bytes 100-199/{len(BODY)}")
    assert get(made, held(made), 206, Range="bytes=-5").data == BODY[-5:]
    assert get(made, held(made), 416, Range=f"bytes={len(BODY)}-").headers["Content-Range"] == f"bytes */{len(BODY)}"
    assert get(made, held(made), 304, **{"If-None-Match": f'"{SHA256}"'}).data == b""


@pytest.mark.parametrize(
    "path",
    [
        "/archive/20261120T030004Z/{id}/file.csv",
        "/archive/20261120T030005Z/{id}/other.csv",
        "/archive/20261120T030005Z/{id}/file",
        "/archive/20261120T030005Z/elsewhere/file.csv",
        "/archive/%/{id}/file.csv",
        "/archive/2026/{id}/file.csv",
        "/archive/٢٠٢٦١١٢٠T030005Z/{id}/file.csv",
        "/archive/20261120T030005Z/" + SHA256 + "/file.csv",
        "/archive/20261120T030005Z/{id}/..%2f..%2f..%2fetc%2fpasswd",
        "/archive/20261120T030005Z/{id}",
        "/archive/20261120T030005Z",
        "/archive/20261120T030005Z?id=&name=",
        "/archive/sha256/" + SHA256[:2] + "/" + SHA256,
    ],
)
def test_what_the_index_does_not_know_is_not_served(made, path):
    get(made, path.format(id=made.resources[0]["resource_id"]), 404)


@pytest.mark.parametrize("resource_id", ["https://town.example/r/1", "../x", "", "a/", "ü 1?#%", "/etc"])
def test_whatever_its_id_a_resource_has_its_file(made, resource_id):
    written(made.output, "town", [look("town", "d", resource_id, "https://h.org/", **HELD)])
    catch_up(made.output)
    row = {"resource_id": resource_id, "kept_at": TIME, "name": "file", "extension": "csv"} | HELD
    assert get(made, addresses.file(row) or "").data == BODY


@pytest.mark.parametrize("name", ['"; x="', "../../x", "a\r\nSet-Cookie: b", "ü", "", "x" * 300])
def test_a_name_from_elsewhere_is_harmless_in_a_header(made, name):
    written(made.output, "town", [look("town", "d", "odd", "https://h.org/", **HELD, name=name, extension=None)])
    catch_up(made.output)
    row = {"resource_id": "odd", "kept_at": TIME, "name": name, "extension": None} | HELD
    answer = get(made, addresses.file(row) or "")
    assert answer.data == BODY
    assert re.fullmatch(r'attachment; filename="[\w.-]{1,300}"', answer.headers["Content-Disposition"], re.ASCII)
    assert "Set-Cookie" not in answer.headers


def test_of_several_files_of_a_page_each_has_its_own(made):
    files = [("one", SHA256), ("two", "0" * 64)]
    found = [look("town", "d", "page", f"https://h.org/{name}", name=name, sha256=sha256) for name, sha256 in files]
    written(made.output, "town", found)
    catch_up(made.output)
    assert get(made, f"/archive/{STAMP}/page/one.csv").data == BODY
    get(made, f"/archive/{STAMP}/page/two.csv", 404)


def test_a_file_that_the_store_lost_is_a_sentence(made):
    lost = rows(made.output, "SELECT resource_id FROM captures WHERE sha256 != ? LIMIT 1", SHA256)[0]["resource_id"]
    answer = get(made, f"/archive/{STAMP}/{lost}/file.csv", 404)
    assert "scrapy archive verify" in answer.text


def test_a_store_that_can_not_be_used_is_a_sentence(made):
    def refuse():
        raise OutputError("s3://bucket can't be used (no credentials).")

    answer = get(SimpleNamespace(**vars(made) | {"blobs": refuse}), held(made), 503)
    assert "no credentials" in answer.text
    get(SimpleNamespace(**vars(made) | {"blobs": None}), held(made), 503)


# After a crawl


AT = "https://archive.example.org"
FILES = {"/ok.zip": None, "/ok.json": None, "/wms?service=WMS&request=GetCapabilities": None, "/ok.csv": CSV}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory) -> Iterator[SimpleNamespace]:
    """The archive that a crawl left of a catalogue, which has dropped the dataset of /ok.csv since."""
    with Files() as files:
        archives = Archives(tmp_path_factory.mktemp("crawled"), files)
        archives.list(["/status/404", *FILES])
        assert archives.crawl({"ARCHIVE_CACHE_URL": f"{AT}/"}).code == 0
        for _ in range(2):  # a catalogue in DCAT has dropped what two listings lack
            archives.list(["/status/404", *FILES][:-1])
        blobs = open_blobs(Settings(archives.settings))
        yield SimpleNamespace(output=archives.output, blobs=lambda: blobs, last=archives.last(), store=archives.store)


def served(crawled: SimpleNamespace, path: str) -> str:
    """Return where the dashboard has a file that the crawl found."""
    url: str = crawled.last[path]["cache_url"]
    assert url.startswith(f"{AT}/archive/")
    return url.removeprefix(AT)


@pytest.mark.parametrize("path", FILES)
def test_a_crawled_file_is_a_download_at_its_cache_url(crawled, path):
    found = crawled.last[path]
    answer = get(crawled, served(crawled, path))
    assert hashlib.sha256(answer.data).hexdigest() == found["sha256"]
    assert FILES[path] in (None, answer.data)
    name = addresses.file_name(found["name"], found["extension"])
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert served(crawled, path) == addresses.file(found)


def test_what_the_store_has_and_the_index_does_not_know_is_not_served(crawled):
    (crawled.store / "sha256" / "secret.csv").write_bytes(b"secret")
    assert crawled.last["/status/404"]["cache_url"] is None
    folder, identifier, name = served(crawled, "/ok.csv").rsplit("/", 2)
    other = crawled.last["/status/404"]["resource_id"]
    sha256 = crawled.last["/ok.csv"]["sha256"]
    unknown = [f"{folder}/{quote(other, safe='')}/{name}", f"{folder}/{identifier}/other.csv"]
    unknown += [f"/archive/20000101T000000Z/{identifier}/{name}", f"{folder}/{identifier}/{sha256}"]
    unknown += [f"{folder}/sha256/{part}" for part in ("secret.csv", f"{sha256[:2]}/{sha256}", "..%2Fsecret.csv")]
    unknown += [f"{folder}/..%2F..%2Fsha256/secret.csv", f"{folder}?id=../sha256&name=secret.csv"]
    for path in unknown:
        get(crawled, path, 404)


def test_a_crawled_dataset_that_the_catalogue_dropped_leaves_a_last_copy(crawled):
    page = get(crawled, "/files").text
    shown = tables(page)
    copies = next(rows for caption, rows in shown.items() if caption.startswith("Last copies"))
    assert [(row[2], row[3], row[-1]) for row in copies] == [("towns", "dataset gone", "download")]
    assert served(crawled, "/ok.csv") in html.document_fromstring(page).xpath("//a/@href")
    (link,) = next(rows for caption, rows in shown.items() if caption.startswith("Broken links, "))
    assert "/status/404" in link[1]
    assert link[2] == "broken"


def test_the_page_of_an_archive_and_of_its_catalogue_counts_files(crawled):
    for source in ("towns", "archive-of-towns"):
        tree = html.document_fromstring(get(crawled, f"/sources/{source}").text)
        facts = {words(one.find("dt")): words(one.find("dd")).split()[0] for one in tree.xpath("//dl/div")}
        assert (facts["Last copies"], facts["Broken links"], facts["Files"]) == ("1", "1", "5")
        assert ("Datasets" in facts) == (source == "towns")
        (link,) = tree.xpath("//main//a[starts-with(@href, '/files')]/@href")
        assert "Last copies" in words(html.document_fromstring(get(crawled, link).text))


# A run of an archive, wherever runs are shown


@pytest.fixture
def ran(made) -> SimpleNamespace:
    """The report of an archive's run, as such a run leaves it."""
    name = max(path.stem for path in (made.output / "town" / "runs").glob("*.json"))
    told = json.loads((made.output / "town" / "runs" / f"{name}.json").read_text())
    found = {"kept": 40, "broken": 12, "not_taken": 3, "alive": 0}
    told |= {"source": "archive-of-town", "spider": "archive", "listed": 55, "expected": 60, "captures": found}
    folder = made.output / "archive-of-town" / "runs"
    folder.mkdir()
    (folder / f"{name}.json").write_text(json.dumps(told))
    catch_up(made.output)
    return SimpleNamespace(**vars(made), name=name, told=told)


def test_jobs_counts_files_and_not_datasets(ran):
    lines = command("jobs", "archive-of-town", "-s", f"OUTPUT_DIR={ran.output}").stdout.splitlines()
    assert "55 of 60 files" in lines[1]
    shown = command("jobs", "show", f"archive-of-town/{ran.name}", "-s", f"OUTPUT_DIR={ran.output}").stdout
    assert "  files      55 of 60 looked at\n  found      40 kept, 12 broken, 3 not taken\n" in shown
    assert "datasets" not in shown
    of_town = command("jobs", "show", f"town/{ran.name}", "-s", f"OUTPUT_DIR={ran.output}").stdout
    assert "  datasets   19 of 19 listed\n" in of_town


def test_the_page_of_a_run_counts_files(ran):
    page = html.document_fromstring(get(ran, f"/runs/archive-of-town/{ran.name}").text)
    facts = {words(one.find("dt")): words(one.find("dd")) for one in page.find_class("facts")[0]}
    assert facts == {"Kept": "40", "Broken": "12", "Not taken": "3"}
    assert "55 of 60 files looked at" in words(page)


def test_notifications_count_files(ran, tmp_path):
    assert Notice(ran.told, ran.output / "archive-of-town").datasets == "55 of 60 files looked at"
    file = tmp_path / "catalogues.prom"
    Prometheus(file, ran.output).write()
    of_it = 'catalogue_last_run_files{source="archive-of-town",state="%s"} %s\n'
    assert of_it % ("kept", 40.0) in file.read_text()
    assert of_it % ("not_taken", 3.0) in file.read_text()
    assert 'catalogue_last_run_files{source="town"' not in file.read_text()
