"""Datasette opens index.sqlite as it is, with the metadata in docs/."""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import pytest

from crawlers.store.index.database import connect
from crawlers.store.index.schema import VIEWS
from tests.conftest import FAST, ROOT, scrapy
from tests.portal.portal import Portal
from tests.waiting import HANG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow
METADATA = ROOT / "docs" / "datasette.json"
DOCS = ROOT / "docs" / "search.md"
INDEX = json.loads(METADATA.read_bytes())["databases"]["index"]
DATABASE = "index"
DATASETS = 30
START_SECONDS = 30
TABLES = (
    *("datasets", "resources", "changes", "daily_changes", "runs", "run_errors", "interrupted"),
    *("captures", "captures_read", "sources", "documents", "complete", "observations", "observations_read"),
    "flaws",
)

Get = "Callable[..., Any]"


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawled source of 30 datasets, one of them broken, one withdrawn by the second crawl."""
    output = tmp_path_factory.mktemp("datasette")
    given = {"OUTPUT_DIR": str(output), **FAST, "SHRINK_LIMIT": "0.5"}
    with Portal(DATASETS) as portal:
        words = [
            "-a",
            f"portal={portal.url}",
            "-a",
            "source=town",
            *(f"-s{name}={value}" for name, value in given.items()),
        ]
        assert scrapy("crawl", "ckan", *words).returncode == 0
        portal.change(remove=portal.ids()[:1])
        assert scrapy("crawl", "ckan", *words).returncode == 0
    return output


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def get(output: Path) -> Iterator[Callable[..., Any]]:
    """Asks a Datasette on the loopback: ``get("datasets.json", _shape="objects")``."""
    port = free_port()
    documented = re.search(
        r"^datasette output/index.sqlite -m docs/datasette.json(.*)$", DOCS.read_text(), re.MULTILINE
    )
    assert documented
    command = [sys.executable, "-m", "datasette", str(output / "index.sqlite"), "-m", str(METADATA), "-h", "127.0.0.1"]
    command += documented[1].split()
    process = subprocess.Popen(
        [*command, "-p", str(port)],
        env=os.environ | {"NO_PROXY": "*"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )

    def ask(path: str = "", **parameters: str) -> Any:
        address = f"http://127.0.0.1:{port}/{path}{'?' if parameters else ''}{urlencode(parameters)}"
        with build_opener(ProxyHandler({})).open(address, timeout=30) as answer:
            return json.load(answer) if ".json" in path else answer.read().decode()

    try:
        _wait(process, ask)
        yield ask
    finally:
        process.terminate()
        process.communicate(timeout=HANG)


def _wait(process: subprocess.Popen[bytes], ask: Callable[..., Any]) -> None:
    for _ in range(START_SECONDS * 10):
        assert process.poll() is None, process.communicate()[0]
        try:
            ask("-/versions.json")
        except URLError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("Datasette did not start")


# What it shows


def test_a_question_over_all_datasets_has_time(get: Callable[..., Any]) -> None:
    """`duplicates` needs a second of processor time for 100,000 datasets: all that Datasette gives by default."""
    assert get("-/settings.json")["sql_time_limit_ms"] == 30_000


def test_the_tables_and_views_are_there(get: Callable[..., Any]) -> None:
    index = get(f"{DATABASE}.json")
    shown = {table["name"]: table["count"] for table in index["tables"] if not table["hidden"]}
    assert set(shown) == set(TABLES)
    assert (shown["datasets"], shown["runs"], shown["changes"]) == (DATASETS, 2, DATASETS + 1)
    assert {view["name"] for view in index["views"]} == set(VIEWS)
    assert {query["name"] for query in index["queries"]} == set(INDEX["queries"])


@pytest.mark.parametrize(
    "name",
    [
        *VIEWS,
        "datasets",
        "resources",
        "changes",
        "runs",
        "run_errors",
        "flaws",
        "captures",
        "observations",
        "sources",
        "documents",
    ],
)
def test_a_page_opens_with_its_description(get: Callable[..., Any], name: str) -> None:
    page = get(f"{DATABASE}/{name}")
    assert INDEX["tables"][name]["title"] in page
    assert "<table" in page or "0 records" in page or "0 rows" in page


def test_datasets_are_searched_and_counted_by_facet(get: Callable[..., Any], output: Path) -> None:
    answer = get(f"{DATABASE}/datasets.json", _search="flood", _shape="objects", _size="100")
    with closing(connect(output)) as db:
        query = "SELECT dataset_id FROM datasets WHERE id IN (SELECT rowid FROM search WHERE search MATCH 'flood')"
        expected = sorted(row[0] for row in db.execute(query))
    assert sorted(row["dataset_id"] for row in answer["rows"]) == expected
    assert expected
    facets = get(f"{DATABASE}/datasets.json")["facet_results"]
    assert {one["value"]: one["count"] for one in facets["withdrawn"]["results"]} == {0: DATASETS - 1, 1: 1}
    assert {"source", "license", "formats", "keywords"} <= set(facets)


ASKED = {
    "changed_since": {"day": "2020-01-01"},
    "find": {"words": "flood"},
    "errors_by_kind": {},
    "in_format": {"format": "csv"},
    "who_is_late": {},
}


@pytest.mark.parametrize("name", INDEX["queries"])
def test_a_canned_query_answers(get: Callable[..., Any], name: str) -> None:
    answer = get(f"{DATABASE}/{name}.json", _shape="objects", **ASKED[name])
    assert answer["rows"] or name in {"errors_by_kind", "who_is_late"}
    if name == "changed_since":
        assert len(answer["rows"]) == DATASETS + 1
        assert answer["rows"][0]["status"] == "withdrawn"


@pytest.mark.parametrize("words", ["", "covid-19", "côte d'ivoire", '"', "flood OR", "\u6d2a"])
def test_any_words_are_looked_for(get: Callable[..., Any], words: str) -> None:
    get(f"{DATABASE}/find.json", _shape="objects", words=words)


# What docs/datasette.json says


def columns(output: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        names = db.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        )
        return {name: [row[1] for row in db.execute(f"PRAGMA table_xinfo({name})")] for (name,) in names.fetchall()}


def test_every_table_view_and_column_is_described_and_no_other(output: Path) -> None:
    there = columns(output)
    assert set(INDEX["tables"]) == set(there)
    for name, about in INDEX["tables"].items():
        if name.startswith("search_"):
            assert about == {"hidden": True}
            continue
        described = [one for one in there[name] if one not in {"search", "rank"} or name != "search"]
        assert sorted(about["columns"]) == sorted(described), name
        assert about["title"], name
        assert about["description"].endswith("."), name
        assert all(text.endswith(".") for text in about["columns"].values()), name


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_described_in_its_own_words(name: str) -> None:
    about = INDEX["tables"][name]
    assert (about["description"], about["columns"]) == (VIEWS[name].description, VIEWS[name].columns)


def test_the_page_about_the_index_has_each_table_and_view_with_its_description() -> None:
    page = DOCS.read_text(encoding="utf-8").partition("\n## Views\n")[2]
    described = {
        name: about["description"] for name, about in INDEX["tables"].items() if not name.startswith("search_")
    }
    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE)) == described
