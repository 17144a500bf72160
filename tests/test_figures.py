"""Every figure that DuckDB reads from Parquet is the one that SQLite computes from the rows of the index."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.store import timeseries
from crawlers.store.columns import opened
from crawlers.store.figures import contents, overview
from crawlers.store.figures.contents import Described, descriptions
from crawlers.store.figures.overview import growth
from crawlers.store.index.database import connect
from crawlers.store.index.schema import FIELDS
from tests.indexed import indexed, recounted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crawlers.store.columns import Columns

ODD = ("o'brien; DROP TABLE datasets; --", 'a "b" [c]*?', "..", "naïve 数据", "$names", "empty")
"""What a folder may be called; the last one has no dataset."""
TEXTS = (
    *(None, "", "NULL", "null", "[]", '"', "'", "\\", "\x01\x1f", "a\nb", "\u202e", "数据", "e\u0301", "\U0001f600"),
    *("0", "1e999", "nan", "2026-13-45", "9999-12-31T00:00:00Z", "-2026", "$1", "?", "x" * 2_000),
)
_COLUMNS = ("title", "publisher", "license", "landing_page", "uri", "identifier", "issued", "modified", "frequency")


@pytest.fixture(scope="module", params=["ordinary", "hostile"])
def db(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    output = tmp_path_factory.mktemp("output")
    indexed(output, datasets=900, sources=4, runs=40)
    if request.param == "hostile":
        with closing(sqlite3.connect(output / "index.sqlite", isolation_level=None)) as writer:
            spoil(writer)
    with closing(connect(output)) as reader:
        yield reader


def spoil(db: sqlite3.Connection) -> None:
    """Give rows every odd value in every column that figures use, and sources odd names."""
    for name in ODD:
        db.execute("INSERT INTO sources (source, manifest_bytes, manifest_tail) VALUES (?, 0, '')", (name,))
    for number, name in enumerate(ODD[:-1]):
        moved = (name, number, len(ODD) + 2)
        ids = "SELECT dataset_id FROM datasets WHERE source = 'source-0' AND id % ?3 = ?2"
        db.execute(f"UPDATE resources SET source = ?1 WHERE source = 'source-0' AND dataset_id IN ({ids})", moved)
        db.execute(f"UPDATE changes SET source = ?1 WHERE source = 'source-0' AND dataset_id IN ({ids})", moved)
        db.execute("UPDATE datasets SET source = ?1 WHERE source = 'source-0' AND id % ?3 = ?2", moved)
    for place, column in enumerate(_COLUMNS):
        for number, text in enumerate(TEXTS):
            spread = (text, (number + place) % len(TEXTS), len(TEXTS) + 5)
            db.execute(f"UPDATE datasets SET {column} = ?1 WHERE id % ?3 = ?2", spread)
    for number, text in enumerate(TEXTS):
        db.execute("UPDATE resources SET format = ?1 WHERE (length(url) + position) % 97 = ?2", (text, number))
    db.execute("UPDATE datasets SET resources = ? WHERE id % 300 = 7", (2**52,))
    db.execute("UPDATE datasets SET data_modified = '2026-11-01' WHERE id % 7 = 3")
    db.execute("UPDATE datasets SET contact = 'Ann' WHERE id % 5 = 0")
    db.execute("UPDATE datasets SET contact_email = '' WHERE id % 5 = 1")
    db.execute(
        "UPDATE datasets SET title = 'Same', publisher = 'Office ' || (id % 3), uri = NULL, identifier = NULL, "
        "landing_page = NULL WHERE id % 13 = 4"
    )
    month = "strftime('%Y-%m', 'now', '-32 days')"  # of which the last day may not be late
    db.execute(f"UPDATE datasets SET frequency = 'MONTHLY', data_modified = {month} WHERE id % 50 = 9")
    db.execute("UPDATE datasets SET withdrawn = 1 WHERE id % 11 = 0")
    db.execute("UPDATE datasets SET withdrawn = 1 WHERE source = 'source-3'")
    recounted(db)


def groups(db: sqlite3.Connection) -> list[list[str]]:
    """All sources, each alone, and two."""
    names = [name for (name,) in db.execute("SELECT source FROM sources ORDER BY 1")]
    return [names, *([name] for name in names), names[1:3], []]


def asked(db: sqlite3.Connection, query: str, names: list[str]) -> list[tuple[Any, ...]]:
    some = query.replace("IN names", "IN (SELECT value FROM json_each(?))")
    return [tuple(row) for row in db.execute(some, (json.dumps(names),))]


def bars(rows: list[tuple[Any, ...]], others: str) -> dict[str, Any]:
    return contents.shares(sorted(rows, key=lambda row: (-row[1], row[0] or "")), others)


def each(db: sqlite3.Connection) -> Iterator[tuple[Columns, list[str]]]:
    with opened(db) as columns:
        for names in groups(db):
            yield columns, names
    for names in groups(db):
        with opened(db, names) as columns:
            yield columns, names


def test_formats(db: sqlite3.Connection) -> None:
    query = """
        SELECT r.format, count(*) FROM resources r JOIN datasets d USING (source, dataset_id)
        WHERE d.withdrawn = 0 AND d.source IN names GROUP BY 1
    """
    for columns, names in each(db):
        assert contents.formats(columns, names) == bars(asked(db, query, names), "other formats")
    for (name,) in db.execute("SELECT source FROM sources"):
        assert timeseries.formats(db, name) == dict(asked(db, query, [name]))


def test_licences(db: sqlite3.Connection) -> None:
    query = "SELECT license, count(*) FROM datasets WHERE withdrawn = 0 AND source IN names GROUP BY 1"
    for columns, names in each(db):
        assert contents.licences(columns, names) == bars(asked(db, query, names), "other licences")


def test_what_the_datasets_of_each_source_have(db: sqlite3.Connection) -> None:
    for columns, names in each(db):
        known = descriptions(columns, names)
        ages = asked(db, "SELECT source, age, datasets FROM freshness WHERE source IN names", names)
        assert {(name, age, count) for name, one in known.items() for age, count in one.ages.items() if count} == set(
            ages
        )
        filled = asked(db, "SELECT source, field, filled, datasets FROM completeness WHERE source IN names", names)
        assert sorted(filled) == sorted(
            (name, field, one.fields[field], one.datasets) for name, one in known.items() for field in FIELDS
        )
        late = dict(asked(db, "SELECT source, count(*) FROM late WHERE source IN names GROUP BY 1", names))
        assert {name: one.late for name, one in known.items() if one.late} == late
        nameless = "contact IS NULL AND contact_email IS NULL AND withdrawn = 0"
        without = dict(
            asked(db, f"SELECT source, count(*) FROM datasets WHERE {nameless} AND source IN names GROUP BY 1", names)
        )
        assert {name: one.contactless for name, one in known.items() if one.contactless} == without


def test_each_source(db: sqlite3.Connection) -> None:
    for columns, names in each(db):
        known = descriptions(columns, names)
        rows = {row["source"]: row for row in overview.sources(db, known, json.dumps(names))}
        view = asked(db, "SELECT source, datasets, withdrawn, resources FROM overview WHERE source IN names", names)
        numbers = ("datasets", "withdrawn", "resources")
        assert {name: tuple(row[one] for one in numbers) for name, row in rows.items()} == {
            name: (datasets, withdrawn, resources or 0) for name, datasets, withdrawn, resources in view
        }
        for name in names:
            assert overview.counts(db, name) == overview.counts(db, name, known.get(name, Described()))


def test_duplicates(db: sqlite3.Connection) -> None:
    labels = {"uri": "address", "identifier": "identifier", "landing_page": "page", "title": "title and publisher"}
    found = [dict(row) for row in db.execute('SELECT "by", datasets, among, ids FROM duplicates')]
    titles = dict(db.execute("SELECT id, title FROM datasets").fetchall())
    for names in groups(db):
        wanted = [row for row in found if asked(db, _IS_AMONG, [*names, row["ids"]])]
        with opened(db) as columns, pytest.MonkeyPatch.context() as patch:
            patch.setattr(contents, "TITLES", 1_000)
            rows = contents.duplicates(columns, names)
            few = contents.duplicates(columns, names)[:50]
        assert len(found) > 5 or not found
        assert Counter((labels[row["by"]], row["datasets"]) for row in wanted) == Counter(
            (row["by"], row["datasets"]) for row in rows
        )
        assert [(row["sources"], row["datasets"]) for row in few] == sorted(
            ((row["sources"], row["datasets"]) for row in rows), reverse=True
        )[:50]
        assert all(row["title"] in titles.values() and len(row["among"]) == row["sources"] > 1 for row in rows)


_IS_AMONG = """
    WITH given AS (SELECT value FROM json_each(?))
    SELECT 1 FROM datasets d JOIN given ids ON ids.value LIKE '[%'
    WHERE d.id IN (SELECT value FROM json_each(ids.value)) AND d.source IN (SELECT value FROM given) LIMIT 1
"""


def test_growth_and_the_changes_of_a_week(db: sqlite3.Connection) -> None:
    raw = """
        SELECT source, day, sum(change) OVER (PARTITION BY source ORDER BY day) FROM (
            SELECT source, substr(time, 1, 10) AS day, sum(CASE status WHEN 'withdrawn' THEN -1 ELSE 1 END) AS change
            FROM changes WHERE status IN ('new', 'restored', 'withdrawn') GROUP BY 1, 2
        )
    """
    known = asked(db, "SELECT source, day, datasets FROM growth WHERE ? IS NOT NULL", [])
    assert sorted(known) == sorted(asked(db, f"SELECT * FROM ({raw}) WHERE ? IS NOT NULL", []))
    now = datetime(2026, 1, 30, tzinfo=UTC)
    week = "SELECT source, status, count(*) FROM changes WHERE time >= '2026-01-24' AND source IN names GROUP BY 1, 2"
    for names in groups(db):
        found = overview.week(db, json.dumps(names), now)["sources"]
        assert {(name, status, count) for name, row in found.items() for status, count in row.items() if count} == set(
            asked(db, week, names)
        )
        drawn = growth(db, json.dumps(names), now.date())
        held = {name: datasets for name, _, datasets in sorted(known) if name in names}
        assert (
            {name: counts[-1] for name, counts in drawn.counts.items() if name in held} == held if drawn else not held
        )


def test_the_latest_changes(db: sqlite3.Connection) -> None:
    order = "ORDER BY time DESC, source DESC, dataset_id DESC, status DESC LIMIT 200"
    for names in groups(db):
        found = overview.latest(db, json.dumps(names))
        raw = asked(db, f"SELECT time, source, dataset_id, status FROM changes WHERE source IN names {order}", names)
        assert [(row["time"], row["source"], row["dataset_id"], row["status"]) for row in found] == raw


def test_withdrawn_datasets(db: sqlite3.Connection) -> None:
    for (name,) in db.execute("SELECT source FROM sources").fetchall():
        found = [row["dataset_id"] for row in overview.withdrawn(db, name)]
        raw = asked(db, "SELECT dataset_id FROM datasets WHERE withdrawn AND source IN names", [name])
        assert sorted(found) == sorted(one for (one,) in raw)


def test_nothing_is_written_outside(db: sqlite3.Connection, tmp_path_factory: pytest.TempPathFactory) -> None:
    from crawlers.store.index.database import output_of  # noqa: PLC0415

    output: Path = output_of(db)
    with opened(db):
        pass
    assert {path.name for path in output.iterdir()} <= {
        ".figures",
        "index.sqlite",
        "index.sqlite-wal",
        "index.sqlite-shm",
    }
    folders = [path for path in (output / ".figures").iterdir() if path.is_dir()]
    assert len(folders) == db.execute("SELECT count(*) FROM sources").fetchone()[0]
    assert not [path.name for path in folders if set(path.name) & set("'\"[]*?/ ")]
