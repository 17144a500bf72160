"""What changed, on the dashboard's pages, in its API and as Atom feeds: of whole crawls, and of hostile texts."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import feedparser
import pytest
from lxml import etree, html

from crawlers.operate import atom
from crawlers.operate.dashboard import addresses, app
from crawlers.operate.report.difference import as_html
from crawlers.store.difference import difference
from crawlers.store.figures.changes import Wanted, changes
from crawlers.store.index.database import connect
from crawlers.store.versions import FILE
from tests.conftest import options, scrapy
from tests.dashboards import HERE, get, page, text
from tests.indexed import indexed, recounted
from tests.portal.portal import Portal

if TYPE_CHECKING:
    from flask.testing import FlaskClient

ATOM = "{http://www.w3.org/2005/Atom}"
SCHEMA = etree.RelaxNG(etree.parse(Path(__file__).parent / "atom.rng"))
HOSTILE = (
    "<script>alert(1)</script>\x00\x0b\u202e]]>&amp;\ufffe\ud800 <img src=x onerror=alert(1)> {{ 7*7 }} javascript:"
)
LONG = [f"Sentence {number} about the river." for number in range(60)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Four nights of a catalogue: two records are edited, one of them twice, another is hidden and comes back."""
    output = tmp_path_factory.mktemp("changes") / "output"
    with Portal(datasets=20) as portal:
        one, two, three, *_ = portal.ids()
        for change in (
            {"edit": {one: {"notes": " ".join(LONG)}}},
            {"edit": {one: {"title": "Another", "notes": " ".join([*LONG[:30], "A new one.", *LONG[31:]])}}},
            {
                "edit": {
                    two: {"title": HOSTILE.replace("\ud800", ""), "notes": HOSTILE.replace("\ud800", "")},
                    three: {"private": True},
                }
            },
            {"edit": {three: {"private": False}, one: {"title": "A third"}}},
        ):
            portal.change(**change)
            done = scrapy("crawl", "hdx", *options(output, {}, portal=portal.url, source="town"))
            assert done.returncode == 0, done.stderr
    return SimpleNamespace(output=output, folder=output / "town", one=one, two=two, three=three)


@pytest.fixture(scope="module")
def browser(made: SimpleNamespace) -> FlaskClient:
    return app(made.output).test_client()


def manifest(made: SimpleNamespace, dataset_id: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (made.folder / "manifest.jsonl").read_text(encoding="utf-8").splitlines())
    return [line for line in lines if (line["kind"], line["dataset_id"]) == ("dataset", dataset_id)]


# Pages


def test_a_dataset_has_its_history(browser: FlaskClient, made: SimpleNamespace) -> None:
    found = page(browser, addresses.dataset("town", made.one))
    rows = found.xpath("//section[@aria-labelledby='history']//tbody/tr")
    lines = manifest(made, made.one)
    assert [row.xpath("string(td[1])") for row in rows] == ["updated", "updated", "new"]
    assert [row.xpath("string(.//time/@datetime)") for row in rows] == [line["time"] for line in reversed(lines)]
    assert [" ".join(row.xpath("string(td[3])").split()) for row in rows] == ["title", "title, description", "–"]
    assert [row.xpath("string(td[4]//a/@href)") for row in rows] == [
        f"/runs/town/{line['run']}" for line in reversed(lines)
    ]
    sizes = [row.xpath("string(td[2])") for row in rows]
    assert all(size[0].isdigit() for size in sizes)
    assert addresses.versions("town", made.one) in found.xpath("//@href")
    (feed,) = found.xpath("//head/link[@rel='alternate'][@type='application/atom+xml']/@href")
    assert feed == f"/changes.atom?source=town&id={made.one}"


def test_the_last_two_versions_are_compared_or_any_two(browser: FlaskClient, made: SimpleNamespace) -> None:
    first, second, third = (line["time"] for line in manifest(made, made.one))
    here = addresses.versions("town", made.one)
    shown = page(browser, here).xpath("//div[@class='difference']")[0]
    assert [one.text_content() for one in shown.xpath(".//del")] == ["- Another", "- Another"]
    assert [one.text_content() for one in shown.xpath(".//ins")] == ["+ A third", "+ A third"]
    assert shown.xpath(".//h3/text()") == ["Fields", "The record itself"]
    assert [code.text_content() for code in shown.xpath(".//p/code")] == ["title", "/title"]
    by_time = page(browser, addresses.versions("town", made.one, **{"from": first, "to": second}))
    shown = by_time.xpath("//div[@class='difference']")[0]
    own = shown.xpath("h3[1]/following-sibling::pre[2]")[0]
    assert own.xpath("del//text()") == ["- ", LONG[30]]
    assert own.xpath("ins//text()") == ["+ ", "A new one."]
    assert len(own.text_content().splitlines()) == 8, "two lines around, and how many are left out"
    assert by_time.xpath("//select[@name='from']/option[@selected]/@value") == [first]
    assert by_time.xpath("//select[@name='to']/option[@selected]/@value") == [second]
    assert len(by_time.xpath("//select[@name='to']/option")) == 3
    whole = text(page(browser, addresses.versions("town", made.one, **{"from": first})))
    assert "- Another" not in whole
    assert "+ A third" in whole
    assert "This is the first version" in text(page(browser, addresses.versions("town", made.one, to=first)))
    assert "Nothing differs." in text(page(browser, addresses.versions("town", made.one, **{"from": third})))
    hidden = manifest(made, made.three)[1]["time"]
    assert "Nothing differs." in text(page(browser, addresses.versions("town", made.three, to=hidden)))
    mistake = page(browser, addresses.versions("town", made.one, to="yesterday"), 400)
    assert "until: 'yesterday' is neither a date nor a time" in text(mistake)


def test_exports_have_versions_too(browser: FlaskClient, made: SimpleNamespace) -> None:
    found = page(browser, addresses.versions("town", made.one))
    exports = [link for link in found.xpath("//section[@aria-labelledby='documents']//a/@href") if "resource=" in link]
    assert exports
    assert "Versions of resource_metadata" in text(page(browser, exports[0]))


def test_changes_are_of_a_day_a_source_a_publisher_and_a_status(browser: FlaskClient, made: SimpleNamespace) -> None:
    def shown(path: str) -> list[str]:
        return [row.xpath("string(td[2])") for row in page(browser, path).xpath("//table[1]")[0].xpath("tbody/tr")]

    assert shown("/changes")[:3] == ["restored", "updated", "withdrawn"]
    day = manifest(made, made.one)[0]["time"][:10]
    assert len(shown(f"/changes?day={day}")) == len(shown("/changes")) == 25
    assert shown("/changes?source=town&status=updated") == ["updated"] * 3
    assert "Nothing has changed on this day." in text(page(browser, "/changes?day=2020-01-01"))
    assert day in page(browser, "/changes?day=2020-01-01").xpath("//nav[@aria-label='Days']/a/text()")[0]
    with connect(made.output) as db:
        (publisher,) = db.execute("SELECT publisher FROM datasets WHERE dataset_id = ?", (made.one,)).fetchone()
        own = db.execute("SELECT count(*) FROM datasets WHERE publisher = ?", (publisher,)).fetchone()[0]
    db.close()
    of_publisher = shown(f"/changes?publisher={quote(publisher)}")
    assert own <= len(of_publisher) < 25
    assert shown(f"/changes?publisher={quote(publisher)}&status=updated").count("updated") >= 2
    assert "There is nothing more." in text(page(browser, "/changes?page=2"))
    assert "Nothing has changed." in text(page(browser, "/changes?source=nothing&day=x"))


def test_bytes_that_are_not_kept_are_told(made: SimpleNamespace, tmp_path: Path) -> None:
    shutil.copytree(made.output, tmp_path / "output")
    (tmp_path / "output" / "town" / FILE).unlink()
    browser = app(tmp_path / "output").test_client()
    found = page(browser, addresses.versions("town", made.one))
    second = manifest(made, made.one)[1]["time"]
    assert f"The bytes of the version of {second} are not kept." in text(found)
    assert [row.xpath("string(td[5])") for row in found.xpath("//table//tbody/tr")] == [
        "download",
        "bytes not kept",
        "bytes not kept",
    ]
    feed = get(browser, "/changes.atom?source=town").text
    assert "the bytes of a version are not kept" in feed
    (tmp_path / "output" / "town" / FILE).write_bytes(b"no database" * 1_000)
    for path in ("/changes", addresses.dataset("town", made.one), "/changes.atom", "/api/changes"):
        get(browser, path)
    damaged = page(browser, addresses.versions("town", made.one), 503)
    assert "versions.sqlite can't be read" in text(damaged)


@pytest.mark.parametrize(
    "query", ["page=x", "day=2026-99-99", "status=%00", "source=..", "publisher=%22", "day=%F0%9F"]
)
def test_whatever_is_asked_gives_a_page(browser: FlaskClient, query: str) -> None:
    get(browser, f"/changes?{query}")


@pytest.mark.parametrize("source", ["..", "town2", "%2e%2e", ".", "Town"])
def test_no_folder_but_a_sources_is_read(browser: FlaskClient, made: SimpleNamespace, source: str) -> None:
    for path in (
        f"/sources/{source}/versions/{made.one}",
        f"/api/versions/{source}?id=x",
        f"/changes.atom?source={source}",
    ):
        get(browser, path, 404)


# The API


def test_changes_come_page_by_page(browser: FlaskClient, made: SimpleNamespace) -> None:
    whole = get(browser, "/api/changes?limit=1000").json
    assert whole["next"] is None
    found, at = [], "/api/changes?limit=7"
    while at:
        answer = get(browser, at).json
        found += answer["changes"]
        at = answer["next"]
    assert found == whole["changes"]
    assert len(found) == 25
    times = [change["time"] for change in found]
    assert times == sorted(times, reverse=True)
    (edited,) = [change for change in found if change["title"] == "A third" and change["fields"] == ["title"]]
    assert (edited["source"], edited["dataset_id"], edited["status"]) == ("town", made.one, "updated")
    since = edited["time"]
    some = get(browser, f"/api/changes?since={since}&source=town").json["changes"]
    assert {change["time"] >= since for change in some} == {True}
    earlier = get(browser, f"/api/changes?until={since}&status=updated").json["changes"]
    assert len(earlier) == 3
    assert get(browser, "/api/changes?until=2020-01-01").json["changes"] == []
    mistake = get(browser, "/api/changes?until=noon", 400).json["error"]
    assert mistake.startswith("until: 'noon' is neither a date nor a time")
    assert "status is a status of a change" in get(browser, "/api/changes?status=good", 400).json["error"]


def test_versions_are_listed_and_their_bytes_given(browser: FlaskClient, made: SimpleNamespace) -> None:
    lines = manifest(made, made.one)
    found = get(browser, f"/api/datasets/town/{made.one}/versions").json["versions"]
    assert get(browser, f"/api/versions/town?id={made.one}").json["versions"] == found
    own = [version for version in found if version["kind"] == "dataset"]
    assert [version["sha256"] for version in own] == [line["sha256"] for line in reversed(lines)]
    assert [version["fields"] for version in own] == [["title"], ["title", "description"], None]
    for version in found:
        answer = get(browser, version["document"])
        assert hashlib.sha256(answer.data).hexdigest() == version["sha256"]
        assert len(answer.data) == version["bytes"]
        assert answer.mimetype == "application/json"
        assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Content-Disposition"].startswith("attachment;")
        path = f"/api/datasets/town/{made.one}/versions/{version['sha256']}"
        assert get(browser, path).data == answer.data
        assert get(browser, path, 304, If_None_Match=answer.headers["ETag"]).data == b""
    pages, at = [], f"/api/versions/town?id={made.one}&limit=2"
    while at:
        answer = get(browser, at).json
        pages += answer["versions"]
        at = answer["next"]
    assert pages == found
    assert "not kept" in get(browser, f"/api/versions/town/{'0' * 64}?id={made.one}", 404).json["error"]
    assert "it is not 'x'" in get(browser, f"/api/versions/town/x?id={made.one}", 400).json["error"]
    assert get(browser, "/api/versions/town?id=x", 404).json == {"error": "There is no dataset 'x' of town here."}


@pytest.mark.parametrize(
    ("body", "kind"), [(b'{"a": "ftp://me:secret@x.org/"}', "json"), (b"\n<a>ftp://me:secret@x.org</a>", "xml")]
)
def test_a_document_has_its_type_and_no_login(made: SimpleNamespace, tmp_path: Path, body: bytes, kind: str) -> None:
    shutil.copytree(made.output, tmp_path / "output")
    (tmp_path / "output" / "town" / manifest(made, made.one)[-1]["metadata_file"]).write_bytes(body)
    address = addresses.version("town", made.one, hashlib.sha256(body).hexdigest())
    answer = get(app(tmp_path / "output").test_client(), address)
    assert answer.mimetype == f"application/{kind}"
    assert answer.data == body.replace(b"me:secret@", b"")


def test_changes_are_a_csv_file(browser: FlaskClient) -> None:
    with get(browser, "/changes.csv?source=town&status=updated") as answer:
        lines = answer.text.splitlines()
    assert lines[0] == "time,source,dataset_id,title,name,publisher,status,run,fields"
    assert len(lines) == 4
    assert lines[1].endswith(",title")


# Feeds


def checked(body: bytes) -> etree._Element:
    """The feed, which is valid by the schema of RFC 4287 and by the two Schematron rules in it."""
    feed = etree.fromstring(body)
    assert SCHEMA.validate(feed), SCHEMA.error_log
    assert feed.find(f"{ATOM}author") is not None
    for entry in feed.iter(f"{ATOM}entry"):
        assert entry.find(f"{ATOM}content") is not None
    ids = [one.text for one in feed.iter(f"{ATOM}id")]
    assert len(ids) == len(set(ids))
    return feed


def harmless(markup: str) -> html.HtmlElement:
    found = html.fragment_fromstring(markup, create_parent="div")
    names = {one.tag for one in found.iter()}
    assert names <= {"div", "p", "h3", "pre", "code", "bdi", "del", "ins"}, names
    assert not found.xpath(".//@*")
    return found


@pytest.mark.parametrize(
    "query", ["", "?source=town", "?source=town&id={one}", "?publisher={publisher}", "?status=updated"]
)
def test_a_feed_is_valid_and_read(browser: FlaskClient, made: SimpleNamespace, query: str) -> None:
    with connect(made.output) as db:
        (publisher,) = db.execute("SELECT publisher FROM datasets WHERE dataset_id = ?", (made.one,)).fetchone()
    db.close()
    path = "/changes.atom" + query.format(one=made.one, publisher=quote(publisher))
    answer = get(browser, path)
    assert answer.mimetype == "application/atom+xml"
    feed = checked(answer.data)
    assert [entry.tag for entry in feed.iter(f"{ATOM}entry")]
    read = feedparser.parse(answer.data)
    assert not read.bozo, read.get("bozo_exception")
    assert read.version == "atom10"
    assert read.feed.updated == read.entries[0].updated
    assert read.feed.links[0].href == HERE + path.replace(quote(publisher), publisher.replace(" ", "+"))
    get(browser, next(link.href for link in read.feed.links if link.rel == "alternate").removeprefix(HERE))
    for entry in read.entries:
        get(browser, entry.link.removeprefix(HERE))
        assert entry.updated_parsed
        assert entry.content[0].type == "text/html"
    for content in feed.iter(f"{ATOM}content"):
        harmless(content.text)


def test_an_entry_has_what_differs(browser: FlaskClient, made: SimpleNamespace) -> None:
    read = feedparser.parse(get(browser, f"/changes.atom?source=town&id={made.one}").data)
    assert [entry.title for entry in read.entries] == [
        "Updated: A third (title)",
        "Updated: A third (title, description)",
        "New: A third",
    ]
    assert read.feed.title == "A third: changes"
    first = html.fromstring(read.entries[0].content[0].value)
    assert [one.text_content() for one in first.xpath("//del")][:1] == ["- Another"]
    assert "A new one." in read.entries[1].content[0].value
    whole = feedparser.parse(get(browser, "/changes.atom?source=town").data)
    ids = {entry.id for entry in whole.entries}
    assert {entry.id for entry in read.entries[:2]} <= ids
    said = {entry.title.partition(":")[0]: entry.content[0].value for entry in reversed(whole.entries)}
    assert "The catalogue no longer has it" in said["Withdrawn"]
    assert "The catalogue has it again." in said["Restored"]


def test_ids_stay_when_a_source_is_renamed_and_titles_change(made: SimpleNamespace, tmp_path: Path) -> None:
    shutil.copytree(made.folder, tmp_path / "output" / "village")
    assert scrapy("reindex", "-s", f"OUTPUT_DIR={tmp_path / 'output'}").returncode == 0
    with sqlite3.connect(tmp_path / "output" / "index.sqlite") as db:
        db.execute("UPDATE datasets SET title = 'Something else'")
    db.close()

    def ids(output: Path) -> list[str]:
        return [entry.id for entry in feedparser.parse(get(app(output).test_client(), "/changes.atom").data).entries]

    assert ids(tmp_path / "output") == ids(made.output)
    assert atom.identity("dataset", "a", "", "2026-11-20T03:00:00.000Z", "new") == (
        "urn:uuid:6b32ecbc-715d-5f96-8276-9d59225ef55b"
    ), "an id never changes: readers would show all entries again"


def test_a_reader_that_has_it_gets_304(browser: FlaskClient, made: SimpleNamespace) -> None:
    for path in ("/changes.atom?source=town", "/api/changes", f"/api/versions/town?id={made.one}"):
        answer = get(browser, path)
        assert answer.headers["Cache-Control"] == "private, no-cache"
        assert get(browser, path, 304, If_None_Match=answer.headers["ETag"]).data == b""
        if modified := answer.headers.get("Last-Modified"):
            get(browser, path, 304, If_Modified_Since=modified)
        get(browser, path, 200, If_None_Match='"other"')


def test_links_lead_to_where_others_reach_it(made: SimpleNamespace) -> None:
    public = app(made.output, url="https://catalogues.example.org/").test_client()
    read = feedparser.parse(get(public, "/changes.atom?source=town").data)
    assert {entry.link.partition("/sources")[0] for entry in read.entries} == {"https://catalogues.example.org"}


def test_whatever_a_portal_wrote_a_feed_is_valid_and_harmless() -> None:
    before = json.dumps({"id": "a", "title": HOSTILE, "gone": HOSTILE, HOSTILE: 1}).encode()
    after = json.dumps(
        {"id": "a", "title": HOSTILE + "!", "come": [HOSTILE], HOSTILE: 2, "notes": "x" * 50_000}
    ).encode()
    found = difference(before, after)
    more = {"fields": [HOSTILE], "publisher": HOSTILE, "about": HOSTILE, "reason": HOSTILE, "difference": found}
    entries = [
        atom.Entry(HOSTILE, ("dataset", HOSTILE, ""), moment, status, HOSTILE, **more, page="https://x.org/?a=b&c")
        for moment, status in (("2026-11-20T03:00:00.000Z", "new"), ("yesterday", "updated"), ("", HOSTILE))
    ]
    entries.append(atom.Entry("", ("", "", ""), "9999-12-31T23:59:59.999Z", "", ""))
    file = io.BytesIO()
    atom.write(file, atom.Feed([HOSTILE], HOSTILE, HOSTILE, "https://x.org/é", HOSTILE), entries)
    feed = checked(file.getvalue())
    for content in feed.iter(f"{ATOM}content"):
        assert "\u202e" not in harmless(content.text).text_content()
    assert not feedparser.parse(file.getvalue()).bozo
    empty = io.BytesIO()
    atom.write(empty, atom.Feed(["all"], ""), [])
    checked(empty.getvalue())


def test_a_difference_is_bounded() -> None:
    before = json.dumps({f"a{number}": "x\n" * 3_000 for number in range(300)}).encode()
    after = json.dumps({f"a{number}": "y\n" * 3_000 for number in range(300)}).encode()
    markup = as_html(difference(before, after), changes=100, lines=1_000)
    assert len(markup) < 200_000
    shown = html.fragment_fromstring(markup, create_parent="div")
    assert len(shown.xpath(".//del | .//ins")) == 1_000
    assert "200 more changes are not shown." in shown.text_content()
    assert "There are more lines" in shown.text_content()


# Of a million changes


@pytest.mark.parametrize("wanted", [Wanted(), Wanted("source-1"), Wanted(status="new")])
def test_a_list_goes_on_behind_each_change_whatever_has_one_time(tmp_path: Path, wanted: Wanted) -> None:
    indexed(tmp_path, datasets=60)
    with sqlite3.connect(tmp_path / "index.sqlite") as db:
        db.execute("UPDATE changes SET time = '2026-01-01T03:00:00.000Z'")
        recounted(db)
    db.close()
    with connect(tmp_path) as db:
        everything = [*changes(db, tmp_path, wanted)]
        assert len(everything) > 10
        for number, change in enumerate(everything, 1):
            place = change["time"], change["source"], change["dataset_id"], change["status"]
            assert [*changes(db, tmp_path, wanted, place)] == everything[number:]
    db.close()


def test_a_rare_status_is_looked_for_on_its_days_alone(tmp_path: Path) -> None:
    indexed(tmp_path, datasets=2_000)
    steps: list[int] = []
    with connect(tmp_path) as db:
        everything = [*changes(db, tmp_path, Wanted())]
        gone = [change for change in everything if change["status"] == "withdrawn"]
        assert gone
        assert [*changes(db, tmp_path, Wanted(status="withdrawn"))] == gone
        half = [change for change in gone if gone[5]["time"] <= change["time"] <= gone[2]["time"]]
        some = Wanted(status="withdrawn", since=gone[5]["time"], until=gone[2]["time"])
        assert [*changes(db, tmp_path, some)] == half
        place = tuple(gone[3][name] for name in ("time", "source", "dataset_id", "status"))
        assert [*changes(db, tmp_path, Wanted(status="withdrawn"), place)] == gone[4:]
        db.set_progress_handler(lambda: steps.append(1), 1)
        assert [*changes(db, tmp_path, Wanted(status="restored"))] == []
        few = len(steps)
        assert [*changes(db, tmp_path, Wanted())] == everything
        assert few < len(steps) / 10
    db.close()


@pytest.mark.parametrize(
    "wanted",
    [Wanted(), Wanted("source-1"), Wanted(status="new"), Wanted("source-1", since="2026-01-02", until="2026-02")],
)
def test_changes_are_read_in_the_order_of_an_index(tmp_path: Path, wanted: Wanted) -> None:
    """Nothing is sorted, and no table is read whole: so a page of a million changes takes what one of ten takes."""
    indexed(tmp_path, datasets=30)
    queries: list[str] = []
    with connect(tmp_path) as db:
        db.set_trace_callback(queries.append)
        assert [*changes(db, tmp_path, wanted)]
        assert [*changes(db, tmp_path, wanted, ("2026-01-15", "source-1", "a", "new"))]
        db.set_trace_callback(None)
        for query in filter(re.compile(r"FROM changes c\b").search, queries):
            plan = " ".join(str(row["detail"]) for row in db.execute(f"EXPLAIN QUERY PLAN {query}"))
            assert "TEMP B-TREE" not in plan, plan
            assert "USING INDEX changes_" in plan, plan
    db.close()
