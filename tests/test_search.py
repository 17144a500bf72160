"""`scrapy search`, and what many datasets are asked."""

from __future__ import annotations

import csv
import json
import random
import re
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import feedparser
import pytest

from crawlers.exceptions import SearchError
from crawlers.store.index import catch_up
from crawlers.store.index.database import connect
from crawlers.store.index.facets import MARK, MORE
from crawlers.store.index.schema import VIEWS
from crawlers.store.index.search import _LOOKS, RANKED, Search, match, search
from tests.conftest import command
from tests.indexed import indexed
from tests.test_export import put_ckan, record

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTILE = (
    *('"', '""', '"""', "'", "NEAR(", "NEAR(flood map, 5)", "title:", "title:flood", "{title}:flood", "-", "-flood"),
    *("flood OR", "OR", "AND NOT", "flood AND", "^flood", "flood +map", "(", "flood)", "*", "***", "* flood", "f*o*d"),
    *("🌊", "flood 🌊", "\u202eflood", "\x00", "flood\x00map", "\ud800", "flood \udfff", ";", "flood; DROP TABLE x"),
    *("%", "_", "'; --", "\\", "?1", ":a", "$x", "flood" * 5_000, "flood " * 5_000, '"flood ' * 3_000, "a" * 100_000),
    *("\n\t\r", "\u0301", "éé", "日本", "ß", "İ", "kept:gone", "kept", "gone"),
)  # fmt: skip


@pytest.fixture
def holdings(tmp_path: Path) -> Path:
    """Two sources of a few datasets."""
    about = {"notes": "Where it was wet.", "organization": {"title": "River Office"}}
    put_ckan(tmp_path, "town", record(1, title="Flood extent", name="flood-extent", **about))
    put_ckan(
        tmp_path, "town", record(2, title="Roads", name="roads", notes="Roads after the flood of the river basin.")
    )
    put_ckan(
        tmp_path,
        "hdx",
        record(3, title="Flooded schools", name="schools", groups=[{"name": "afg"}], dataset_source="x", **about),
    )
    put_ckan(tmp_path, "hdx", record(4, title="Crues – Côte d’Ivoire", name="crues", tags=[{"name": "basin"}]))
    put_ckan(tmp_path, "hdx", record(5, title="Flood of 1953", name="old"))
    put_ckan(tmp_path, "hdx", record(5, title="Flood of 1953", name="old"), status="withdrawn")
    catch_up(tmp_path)
    return tmp_path


def found(output: Path, text: str, **keywords: Any) -> list[str]:
    with closing(connect(output)) as db:
        results = search(db, text, **keywords)
    assert results.total >= len(results.rows)
    return [] if results.is_some else [str(one.name) for one in results.rows]


# Words


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("flood", ["flood-extent", "roads"]),
        ("FLOOD", ["flood-extent", "roads"]),
        ("flood*", ["flood-extent", "schools", "roads"]),
        ("flood roads", ["roads"]),
        ("roads flood", ["roads"]),
        ("flood nothing", []),
        ('"river basin"', ["roads"]),
        ('"basin river"', []),
        ('"river bas"*', ["roads"]),
        ("basin", ["crues", "roads"]),
        ("cote", ["crues"]),
        ("côte d'ivoire", ["crues"]),
        ("flood-extent", ["flood-extent"]),
        ("office", ["flood-extent", "schools"]),
        ("fl*", []),
        ("flood 🌊", ["flood-extent", "roads"]),
        ("NEAR(flood", []),
        *(
            ("flood -roads", ["flood-extent"]),
            ('flood -"river basin"', ["flood-extent"]),
            ("-flood", ["schools", "crues"]),
        ),
        *(("source:hdx", ["schools", "crues"]), ("flood source:town -publisher:river", ["roads"])),
        *(('publisher:"river office"', ["flood-extent", "schools"]), ("publisher:riv", ["flood-extent", "schools"])),
        *(
            ("keyword:BASIN", ["crues"]),
            ("keyword:bas*", ["crues"]),
            ("kind:ckan flood", ["flood-extent", "roads"]),
        ),
        *(("format:none", []), ("-format:none flood", ["flood-extent", "roads"]), ("source:hd", [])),
        ("title", []),
        ("name code uri", []),
        ("gone", []),
        ("", ["flood-extent", "roads", "schools", "crues"]),
    ],
)
def test_what_is_found(holdings: Path, text: str, names: list[str]) -> None:
    assert found(holdings, text)[: len(names)] == names or sorted(found(holdings, text)) == sorted(names)
    assert len(found(holdings, text)) == len(names)


def test_the_title_counts_most(holdings: Path) -> None:
    assert found(holdings, "flood")[0] == "flood-extent"


def test_places_are_found_by_their_codes(tmp_path: Path) -> None:
    hdx = {
        "groups": [{"name": "afg", "title": "Afghanistan"}],
        "dataset_source": "x",
        "dataset_date": "[2020-01-01T00:00:00 TO *]",
    }
    put_ckan(tmp_path, "hdx", record(1, title="Flood", name="flood", **hdx))
    put_ckan(tmp_path, "hdx", record(2, title="Flood", name="other"))
    catch_up(tmp_path)
    assert found(tmp_path, "flood afg") == found(tmp_path, "afghanistan") == found(tmp_path, "country:afg") == ["flood"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        *(("数据", ["zh", "ja-zh"]), ("灾害", ["zh"]), ("洪水*", ["zh"]), ("人口", ["ja"]), ("水", ["zh"])),
        *(("害洪", []), ("データ", ["ja"]), ("น้ำท่วม", ["th"]), ("인구", ["ko"]), ("2024 灾害", ["zh"])),
        *(("灾害 flood", ["zh"]), ('"flood 灾害"', []), ("集 2024", ["zh"]), ("集2024", []), ("河流", ["ja-zh"])),
    ],
)
def test_a_part_of_a_sentence_without_spaces_is_found(tmp_path: Path, text: str, names: list[str]) -> None:
    put_ckan(tmp_path, "town", record(1, title="洪水灾害数据集 v 2024", name="zh", notes="About a flood."))
    put_ckan(tmp_path, "town", record(2, title="日本の人口データ", name="ja"))
    put_ckan(tmp_path, "town", record(3, title="Rivers", name="ja-zh", notes="河流数据", tags=[{"name": "水利"}]))
    put_ckan(tmp_path, "town", record(4, title="ประวัติน้ำท่วมในประเทศไทย", name="th"))
    put_ckan(tmp_path, "town", record(5, title="지역인구데이터는", name="ko"))
    catch_up(tmp_path)
    if text == "水":
        names = ["zh", "ja-zh"]
    assert sorted(found(tmp_path, text)) == sorted(names)
    with closing(connect(tmp_path)) as db:
        (only,) = db.execute("SELECT count(*) FROM datasets WHERE spaced IS NULL").fetchone()
        assert only == 0
        assert search(db, "河流").rows[0].snippet == "河流数据" if text == "河流" else True


def test_a_source_is_asked_by_its_whole_name(tmp_path: Path) -> None:
    for source in ("town", "town-2", "to", "old town"):
        put_ckan(tmp_path, source, record(1))
    catch_up(tmp_path)
    with closing(connect(tmp_path)) as db:
        assert [one.source for one in search(db, "rain").rows] != ["town"]
        for source in ("town", "town-2", "to", "old town"):
            assert [one.source for one in search(db, "rain", source=source).rows] == [source]
        assert search(db, "rain", source="tow").total == 0


def test_what_is_withdrawn_is_found_when_it_is_asked_for(holdings: Path) -> None:
    assert found(holdings, "1953") == []
    assert found(holdings, "1953", withdrawn=True) == ["old"]
    assert found(holdings, "1953", withdrawn=True, source="town") == []


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_is_a_language(holdings: Path, text: str) -> None:
    with suppress(SearchError):  # "title:flood" names a filter that does not exist
        found(holdings, text)
    with sqlite3.connect(":memory:") as db, suppress(SearchError):
        db.execute("CREATE VIRTUAL TABLE search USING fts5 (a)")
        if words := match(text):
            db.execute("SELECT * FROM search WHERE search MATCH ?", (words,)).fetchall()
            assert len(words) < 2_000
    db.close()


def test_any_text_is_searched(holdings: Path) -> None:
    chance = random.Random(6)
    with closing(connect(holdings)) as db:
        for _ in range(500):
            text = "".join(chance.choice("flood \"*()-:^+{}'é🌊\x00\ud800NEARANDOT ") for _ in range(30))
            with suppress(SearchError):
                search(db, text)


# The command


def scrapy_search(output: Path, *words: str) -> tuple[int, str, str]:
    ran = command("search", *words, "-s", f"OUTPUT_DIR={output}")
    return ran.returncode, ran.stdout, ran.stderr


def test_the_command_tells_what_was_found(holdings: Path) -> None:
    code, told, _ = scrapy_search(holdings, "flood", "extent")
    lines = told.splitlines()
    assert (code, lines[0]) == (0, "  1  Flood extent")
    assert lines[1].strip().startswith("town | id-00001 | River Office")
    assert Path(lines[2].strip()).is_relative_to(holdings / "town" / "datasets")
    assert Path(lines[2].strip()).exists()
    assert lines[3:] == ["1 dataset has: flood extent"]


def test_the_command_for_programs(holdings: Path) -> None:
    code, told, _ = scrapy_search(holdings, "flood*", "--json", "--limit", "2", "--withdrawn")
    answer = json.loads(told)
    assert (code, answer["total"], len(answer["datasets"])) == (0, 4, 2)
    assert set(answer["datasets"][0]) == {
        *("id", "source", "dataset_id", "title", "name", "publisher", "modified", "formats", "file", "withdrawn"),
        *("snippet", "license", "places"),
    }
    assert {"value": "ckan", "datasets": 4} in answer["facets"]["kind"]


def test_the_command_as_a_table_and_as_a_feed(holdings: Path) -> None:
    code, told, _ = scrapy_search(holdings, "flood*", "--csv")
    rows = list(csv.DictReader(told.splitlines()))
    assert (code, [row["name"] for row in rows]) == (0, ["flood-extent", "schools", "roads"])
    assert rows[0]["publisher"] == "River Office"
    assert Path(rows[0]["file"]).exists()
    code, told, _ = scrapy_search(holdings, "flood*", "--atom")
    feed = feedparser.parse(told)
    assert (code, feed.bozo, len(feed.entries)) == (0, False, 3)
    assert {entry.title for entry in feed.entries} >= {"Flood extent", "Roads"}


def test_a_question_whose_words_no_dataset_has_all_finds_those_that_have_some(holdings: Path) -> None:
    code, told, _ = scrapy_search(holdings, "where", "do", "rivers", "floood", "the", "schools")
    assert (code, told.splitlines()[0]) == (0, "  1  Flooded schools")
    assert told.splitlines()[-1].startswith(
        "No dataset has all of: where do rivers floood the schools. 3 datasets have"
    )
    assert told.endswith("Did you mean: where do river flood the schools\n")
    with closing(connect(holdings)) as db:
        assert search(db, "flood nothing source:town").total == 2
        assert not search(db, "flood nothing source:nowhere").rows
        assert not search(db, "nothing").rows


def test_the_most_frequent_words_of_a_question_are_left_out(many: sqlite3.Connection) -> None:
    rare = search(many, "afg").total
    assert search(many, "flood").total > RANKED >= rare
    assert search(many, "flood afg zzzz").total == rare


def test_the_command_finds_nothing(holdings: Path) -> None:
    assert scrapy_search(holdings, "xyz") == (0, "No dataset has: xyz\n", "")
    assert scrapy_search(holdings) == (0, "Name the words to find: scrapy search flood afg\n", "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("flood", "--source", "tow"), "{output} holds no source 'tow'. Did you mean town? There are: hdx, town.\n"),
        (("flood", "--limit", "0"), "argument --limit: a whole number from 1 to 10000\n"),
        (("flood", "--limit", "x"), "argument --limit: a whole number from 1 to 10000\n"),
    ],
)
def test_a_mistake_is_a_sentence(holdings: Path, words: tuple[str, ...], told: str) -> None:
    code, _, errors = scrapy_search(holdings, *words)
    assert code in {1, 2}
    assert errors.endswith(told.format(output=holdings))
    assert "Traceback" not in errors


def test_a_damaged_index_is_a_sentence(holdings: Path) -> None:
    with closing(sqlite3.connect(holdings / "index.sqlite")) as db, db:
        db.execute("UPDATE search_data SET block = x'ffffffffffffffffffff' WHERE id > 10")
    code, told, error = scrapy_search(holdings, "flo*")
    assert (code, told) == (1, "")
    assert error.endswith(": rebuild it with `scrapy reindex`.\n")


def test_where_nothing_was_crawled(tmp_path: Path) -> None:
    code, told, errors = scrapy_search(tmp_path / "none", "flood")
    assert (code, told) == (1, "")
    assert errors.startswith(f"{tmp_path / 'none'} has no index.sqlite: crawl a source first")
    assert errors.count("\n") == 1


def test_a_portal_does_not_command_the_terminal(tmp_path: Path) -> None:
    put_ckan(tmp_path, "town", record(1, title="Flood \x1b[31m\x07red\u202e\r\nnext\x9b2J" + "x" * 500, name="a"))
    code, told, _ = scrapy_search(tmp_path, "flood")
    assert code == 0
    assert told.splitlines()[0].startswith("  1  Flood [31mred next2Jxxx")
    assert max(map(len, told.splitlines())) < 300
    assert all(character.isprintable() for line in told.splitlines() for character in line)


def test_a_portal_does_not_write_what_filters_read(tmp_path: Path) -> None:
    city = b"city".hex()
    put_ckan(tmp_path, "town", record(1, title=f"Flood {MARK}gone {MARK}{city}", name="a"))
    put_ckan(tmp_path, "city", record(2, title="Flood", name="b"))
    catch_up(tmp_path)
    with closing(connect(tmp_path)) as db:
        assert search(db, "flood").total == 2
        assert [one.source for one in search(db, "flood", source="city").rows] == ["city"]
        assert [search(db, text).total for text in (city, f"{MARK}{city}", "gone", f'"{MARK}gone"')] == [0] * 4


# Many datasets: benchmarks/ has 100,000
MANY = 20_000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    output = tmp_path_factory.mktemp("many")
    path = indexed(output, datasets=MANY)
    with closing(connect(output)) as db:
        yield db
    path.unlink()


def work(db: sqlite3.Connection, ask: Any) -> int:
    """Thousands of instructions of SQLite's machine: the same at every run. benchmarks/ has what they take."""
    thousands = 0

    def count() -> None:
        nonlocal thousands
        thousands += 1

    db.set_progress_handler(count, 1000)
    try:
        ask()
    finally:
        db.set_progress_handler(None, 0)
    return thousands


QUERIES = (
    *("flood", "water", "flood afg", "flood water roads", '"flood survey"', "floo*", "123*", "organisation", "part"),
    *("org* part", "1234", "nothing", "afg flood extent", "flood water roads schools prices", "floo* surv*"),
)


@pytest.mark.parametrize("text", QUERIES)
def test_a_search_ranks_no_more_than_some(many: sqlite3.Connection, text: str) -> None:
    assert work(many, lambda: search(many, text)) < 8 * MANY / 1000


@pytest.mark.parametrize(
    "text", ["afg", "flood format:csv -keyword:roads", 'water year:2020 publisher:"Organisation 3"', "nothing"]
)
def test_the_facets_are_what_sql_counts(many: sqlite3.Connection, text: str) -> None:
    asked = Search.read(text)
    found = asked.answer(many, limit=1, with_facets=True)
    words = {"afg": "afg", "nothing": "nothing"}.get(text, text.split(maxsplit=1)[0])
    rows = many.execute(
        "SELECT source, d.publisher, license, d.formats, d.keywords, coalesce(data_modified, modified, issued) AS day"
        " FROM search JOIN datasets d ON d.id = search.rowid WHERE search MATCH ? AND NOT withdrawn",
        (words,),
    ).fetchall()
    rows = [row for row in rows if "csv" not in text or "CSV" in json.loads(row["formats"])]
    rows = [row for row in rows if "-keyword" not in text or "roads" not in json.loads(row["keywords"])]
    rows = [
        row for row in rows if "year" not in text or (row["day"][:4], row["publisher"]) == ("2020", "Organisation 3")
    ]
    assert found.total == len(rows)
    counted: dict[str, Counter[str]] = {
        "source": Counter(row["source"] for row in rows),
        "publisher": Counter(row["publisher"] for row in rows),
        "license": Counter(row["license"] for row in rows if row["license"]),
        "format": Counter(one for row in rows for one in json.loads(row["formats"])),
        "keyword": Counter(one for row in rows for one in set(json.loads(row["keywords"]))),
        "year": Counter(row["day"][:4] for row in rows),
    }
    for facet, counts in counted.items():
        expected = sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:10]
        assert found.facets.get(facet, []) == expected, facet


def test_many_datasets_are_counted_up_to_a_number(many: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = Search.read("flood").answer(many, with_facets=True)
    monkeypatch.setattr("crawlers.store.index.facets.EXACT", 100)
    some = Search.read("flood").answer(many, with_facets=True)
    assert exact.total == some.total > 10_000
    for facet in ("source", "format", "country", "year", "license"):
        assert dict(some.facets[facet]) == {value: min(count, MORE) for value, count in exact.facets[facet]}
    of_days = Search.read("flood modified:>2015").answer(many, with_facets=True)
    assert of_days.counted <= 100 < of_days.total


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("formatt:CSV", "There is no filter formatt: Did you mean format? Known are source, kind, "),
        ("flood modified:yesterday", "modified: takes a year, month or day, as in modified:>2025-01-31"),
    ],
)
def test_a_filter_that_is_none_is_a_sentence(text: str, problem: str) -> None:
    with pytest.raises(SearchError, match=re.escape(problem)):
        Search.read(text)


@pytest.mark.parametrize(
    ("given", "keeps"),
    [
        ("modified:2020", "2020-05-01 2020-05-02"),
        ("modified:>2020-05-01", "2020-05-02 2021"),
        ("modified:>=2020-05-02", "2020-05-02 2021"),
        ("modified:<2020-05-02", "2019 2020-05-01"),
        ("modified:<=2020-05", "2019 2020-05-01 2020-05-02"),
        ("modified:2019..2020", "2019 2020-05-01 2020-05-02"),
        ("-modified:2020", "2019 2021"),
    ],
)
def test_days(made: Any, given: str, keeps: str) -> None:
    days = ("2019", "2020-05-01", "2020-05-02", "2021")
    with closing(made(*(("town", {"title": "Rain", "modified": day}) for day in days))) as db:
        assert {one.modified for one in search(db, given).rows} == set(keeps.split())


def test_a_dataset_that_several_sources_have_is_one_hit_and_orders_are_what_they_say(made: Any) -> None:
    one = {"title": "Rain", "publisher": "A", "modified": "2020"}
    given = [
        ("town", one | {"uri": "https://a/1", "issued": "2001"}),
        ("city", {"title": "Rain, mirrored", "uri": "https://a/1", "modified": "2019", "issued": "2003"}),
        ("hdx", {"title": "rain ", "publisher": "a", "modified": "2018", "issued": "2002"}),
        ("hdx", {"title": "Rain", "modified": "2017", "identifier": "1"}),
        ("city", {"title": "Snow and rain", "modified": "2016", "identifier": "1"}),
    ]
    with closing(made(*given)) as db:
        found = search(db, "rain", sort="modified")
        assert (found.total, [each.dataset_id for each in found.rows]) == (5, ["d0", "d3", "d4"])
        assert sorted(found.rows[0].places) == [("city", "d1"), ("hdx", "d2")]
        assert [each.dataset_id for each in search(db, "rain", sort="issued").rows] == ["d1", "d4", "d3"]
        assert search(db, "rain", sort="title").rows[-1].dataset_id == "d4"


@pytest.mark.parametrize(
    ("typed", "meant"), [("floood", "flood"), ("watre roads", "water roads"), ("flood", ""), ("zzzz", "")]
)
def test_the_nearest_words_of_the_index_are_offered(many: sqlite3.Connection, typed: str, meant: str) -> None:
    assert search(many, typed).meant == meant


def test_the_last_page_takes_no_longer_than_a_few(many: sqlite3.Connection) -> None:
    total = search(many, "flood").total
    assert total > RANKED
    assert work(many, lambda: search(many, "flood", offset=1_980)) < 30 * MANY / 1000
    assert len(search(many, "flood", offset=1_980).rows) == 20
    assert search(many, "flood", offset=total).rows == []


@pytest.mark.parametrize("text", ["flood afg", "flood", '"flood survey"'])
def test_pages_have_each_dataset_once(many: sqlite3.Connection, text: str) -> None:
    seen: list[tuple[str, str]] = []
    hits, size = 0, 997 if text == '"flood survey"' else 9_999
    while rows := search(many, text, limit=size, offset=hits).rows:
        hits += len(rows)
        seen += [(one.source, one.dataset_id) for one in rows]
        seen += [place for one in rows for place in one.places]
    assert hits < len(seen)
    assert len(set(seen)) == len(seen) >= search(many, text).total


def test_of_too_many_those_with_the_word_in_their_title_come_first(many: sqlite3.Connection) -> None:
    results = search(many, "flood", limit=10_000)
    assert results.total > RANKED
    titled = ["flood" in str(one.title) for one in results.rows]
    assert titled == sorted(titled, reverse=True)
    assert all(titled[:1_000])
    others = [one.modified for one in search(many, "flood", limit=100, offset=15_000).rows]
    assert others == sorted(others, key=str, reverse=True)


@pytest.mark.parametrize(("text", "source"), [("flood", None), ("water roads", None), ("water roads", "source-0")])
def test_the_newest_are_the_same_however_they_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, source: str | None
) -> None:
    path, asked = indexed(tmp_path, datasets=3_000), []
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE datasets SET data_modified = NULL, modified = NULL, issued = NULL WHERE source = 'source-0'")
    monkeypatch.setattr("crawlers.store.index.search.RANKED", 100)
    with closing(connect(tmp_path)) as db:
        db.set_trace_callback(asked.append)
        pages = [search(db, text, source=source, offset=offset).rows for offset in (0, 20, 500)]
        db.set_trace_callback(None)
        monkeypatch.setattr("crawlers.store.index.search._LOOKS", 0)
        assert [search(db, text, source=source, offset=offset).rows for offset in (0, 20, 500)] == pages
    assert len(pages[0]) == 20
    looks = Counter("rowid = " in one for one in asked)[True]
    assert 0 < looks <= 2 * 3 * _LOOKS


# The views


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_answers_at_once(many: sqlite3.Connection, view: str) -> None:
    assert work(many, lambda: many.execute(f"SELECT * FROM {view} LIMIT 200").fetchall()) < 250 * MANY / 1000
    columns = [column[0] for column in many.execute(f"SELECT * FROM {view} LIMIT 1").description]
    assert columns == list(VIEWS[view].columns)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    output = tmp_path_factory.mktemp("few")
    indexed(output, datasets=2_000, runs=12)
    with closing(connect(output)) as db:
        yield db


def table(db: sqlite3.Connection, name: str) -> list[dict[str, Any]]:
    return [dict(row) for row in db.execute(f"SELECT * FROM {name}")]


def held(db: sqlite3.Connection) -> list[dict[str, Any]]:
    return [row for row in table(db, "datasets") if not row["withdrawn"]]


def test_overview(few: sqlite3.Connection) -> None:
    datasets, runs = table(few, "datasets"), table(few, "runs")
    assert len(table(few, "overview")) == 3
    for row in table(few, "overview"):
        own = [one for one in datasets if one["source"] == row["source"]]
        last = max((one for one in runs if one["source"] == row["source"]), key=lambda run: run["run"])
        whole = [one["started"] for one in runs if (one["source"], one["verdict"]) == (row["source"], "complete")]
        assert row == {
            "source": row["source"],
            "datasets": sum(not one["withdrawn"] for one in own),
            "withdrawn": sum(one["withdrawn"] for one in own),
            "resources": sum(one["resources"] for one in own if not one["withdrawn"]),
            "last_run": last["run"],
            "last_verdict": last["verdict"],
            "last_finished": last["finished"],
            "last_complete": max(whole),
        }


def test_formats_and_licences(few: sqlite3.Connection) -> None:
    datasets = {(row["source"], row["dataset_id"]) for row in held(few)}
    resources: Counter[str] = Counter()
    among = defaultdict(set)
    for row in table(few, "resources"):
        if (row["source"], row["dataset_id"]) in datasets:
            resources[row["format"] or ""] += 1
            among[row["format"] or ""].add((row["source"], row["dataset_id"]))
    assert {row["format"]: (row["resources"], row["datasets"], row["sources"]) for row in table(few, "formats")} == {
        name: (count, len(among[name]), 3) for name, count in resources.items()
    }
    licences = Counter(row["license"] or "" for row in held(few))
    assert {row["license"]: row["datasets"] for row in table(few, "licences")} == licences


def test_freshness_and_completeness(few: sqlite3.Connection) -> None:
    ages: Counter[str] = Counter()
    for row in table(few, "freshness"):
        ages[row["source"]] += row["datasets"]
    assert ages == Counter(row["source"] for row in held(few))
    rows = held(few)
    for row in table(few, "completeness"):
        own = [one for one in rows if one["source"] == row["source"]]
        name = row["field"]
        filled = sum(bool(one[name]) if name == "resources" else one[name] is not None for one in own)
        assert (row["filled"], row["datasets"]) == (filled, len(own)), name


def test_growth(few: sqlite3.Connection) -> None:
    last = {}
    for row in sorted(table(few, "growth"), key=lambda row: row["day"]):
        last[row["source"]] = row["datasets"]
    assert last == Counter(row["source"] for row in held(few))
    days = Counter(row["time"][:10] for row in table(few, "changes") if row["source"] == "source-0")
    assert [row["day"] for row in table(few, "growth") if row["source"] == "source-0"] == sorted(days)


def test_changed_and_broken(few: sqlite3.Connection) -> None:
    times = [row["time"] for row in table(few, "changed")]
    assert times == sorted(times, reverse=True)
    assert len(times) == len(table(few, "changes"))
    last = {row["source"]: row["last_run"] for row in table(few, "overview")}
    assert table(few, "broken") == sorted(
        (row for row in table(few, "run_errors") if last[row["source"]] == row["run"]), key=lambda row: -row["count"]
    )


@pytest.fixture
def made(tmp_path: Path) -> Any:
    """A few datasets as they are written here: ``made(("town", {...}), ...)``."""

    def make(*datasets: tuple[str, dict[str, Any]]) -> sqlite3.Connection:
        indexed(tmp_path, datasets=0)
        with closing(sqlite3.connect(tmp_path / "index.sqlite", isolation_level=None)) as db:
            for number, (source, columns) in enumerate(datasets):
                row = {
                    "source": source,
                    "dataset_id": f"d{number}",
                    "withdrawn": 0,
                    "sha256": "",
                    "file": "f",
                } | columns
                row |= {"resources": 0}
                marks = ", ".join(f":{name}" for name in row)
                db.execute(f"INSERT INTO datasets ({', '.join(row)}) VALUES ({marks})", row)
            db.execute("INSERT INTO search (search) VALUES ('rebuild')")
        return connect(tmp_path)

    return make


@pytest.mark.parametrize(
    ("frequency", "ago", "late"),
    [
        ("DAILY", "-1 day", False),
        ("DAILY", "-3 days", True),
        ("WEEKLY", "-7 days", False),
        ("WEEKLY", "-9 days", True),
        ("MONTHLY", "-31 days", False),
        ("MONTHLY", "-40 days", True),
        ("ANNUAL", "-366 days", False),
        ("ANNUAL", "-400 days", True),
        ("IRREG", "-9999 days", False),
        ("NEVER", "-9999 days", False),
        (None, "-9999 days", False),
    ],
)
def test_late(made: Any, frequency: str | None, ago: str, late: bool) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        (day,) = db.execute("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?)", (ago,)).fetchone()
    with closing(made(("town", {"frequency": frequency, "modified": day}))) as db:
        rows = table(db, "late")
    assert [abs(row["days"] + int(ago.partition(" ")[0])) <= 1 for row in rows] == [True] * late


def test_a_date_without_a_day_is_late_when_its_time_is_over(made: Any) -> None:
    with closing(sqlite3.connect(":memory:")) as db:
        year, month = db.execute("SELECT strftime('%Y', 'now'), strftime('%Y-%m', 'now')").fetchone()
    given = [year, month, str(int(year) - 1), "soon", None]
    with closing(made(*(("town", {"frequency": "WEEKLY", "modified": one}) for one in given))) as db:
        assert [row["modified"] for row in table(db, "late") if row["days"] is not None and row["days"] < 400] in (
            [str(int(year) - 1)],
            [],
        )


def test_what_is_newest_is_the_data_s_own_date(made: Any) -> None:
    columns = {"frequency": "DAILY", "modified": "2020-01-01", "data_modified": "2999-01-01"}
    with closing(made(("town", columns))) as db:
        assert table(db, "late") == []


@pytest.mark.parametrize(
    ("one", "other", "by"),
    [
        ({"uri": "https://a/1"}, {"uri": "https://a/1"}, "uri"),
        ({"uri": "https://a/1"}, {"uri": "https://a/2"}, None),
        ({"identifier": "doi:1"}, {"identifier": "doi:1", "title": "x"}, "identifier"),
        ({"landing_page": "https://a.org/x/"}, {"landing_page": "http://a.org/x"}, "landing_page"),
        ({"title": " Rain "}, {"title": "rain"}, "title"),
        ({"title": "Rain", "publisher": "A"}, {"title": "rain", "publisher": "a "}, "title"),
        ({"title": "Rain", "publisher": "A"}, {"title": "Rain", "publisher": "B"}, None),
        ({"uri": "u", "title": "Rain", "identifier": "i"}, {"uri": "u", "title": "Rain", "identifier": "i"}, "uri"),
        ({}, {}, None),
    ],
)
def test_duplicates(made: Any, one: dict[str, str], other: dict[str, str], by: str | None) -> None:
    with closing(made(("town", one), ("hdx", other), ("hdx", {"uri": "alone"}))) as db:
        rows = table(db, "duplicates")
    assert [row["by"] for row in rows] == [by] * bool(by)
    for row in rows:
        assert (row["datasets"], row["sources"], sorted(row["among"].split(","))) == (2, 2, ["hdx", "town"])
        assert json.loads(row["ids"]) == [1, 2]


def test_no_duplicates_within_a_source_nor_of_what_is_gone(made: Any) -> None:
    with closing(made(("town", {"uri": "u"}), ("town", {"uri": "u"}), ("hdx", {"uri": "u", "withdrawn": 1}))) as db:
        assert table(db, "duplicates") == []
