"""The verbs of `scrapy sources` for one source, and what they leave on disk; and mistyped words."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, CompletedProcess

import pytest

from crawlers.exceptions import RulesError, SourcesError
from crawlers.operate.harvest.job import Claim
from crawlers.operate.sources import edit, keys
from crawlers.operate.sources.file import SourcesFile
from crawlers.operate.sources.folders import STEPS, Renaming
from crawlers.operate.sources.source import project
from crawlers.safety.locks import is_crawled
from crawlers.store.folder import lock
from crawlers.store.history import Bodies, between
from crawlers.store.index import catch_up
from crawlers.store.runs import Run, runs
from crawlers.store.versions import Versions
from tests import forked
from tests.captured import look, written
from tests.conftest import FAST, ROOT, command, json_lines, scrapy
from tests.portal.portal import Portal
from tests.terminal import answered
from tests.waiting import until

FILE = """\
# Ours

[a]
spider = "ckan"   # any
schedule = "daily"  # at night
arguments = { portal = "https://a.example.org" }

# The second
["b.c"]
spider = "ckan"

["b.c".arguments]  # where
portal = "https://b.example.org"
q = 'sea'   # and rivers

[d]
spider = "hdx"
"""


@dataclass
class Place:
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "sources.toml"

    @property
    def output(self) -> Path:
        return self.folder / "output"

    @property
    def jobs(self) -> Path:
        return self.folder / "jobs"

    def write(self, text: str) -> None:
        self.path.write_text(text)

    def tables(self) -> dict:
        return tomllib.loads(self.path.read_text())

    def settings(self) -> list[str]:
        given = {"SOURCES_FILE": self.path, "OUTPUT_DIR": self.output, "JOBS_DIR": self.jobs}
        return [f"-s{name}={value}" for name, value in {**given, "LOGS_DIR": self.folder / "logs"}.items()]

    def run(self, name: str, *words: object, code: int = 0) -> CompletedProcess[str]:
        fast = [f"-s{name}={value}" for name, value in FAST.items() if "edit" not in words]
        crawls = name in ("crawl", "harvest") or words[:1] in (("add",), ("validate",))
        start = scrapy if crawls else command
        ran = start(name, *map(str, words), *self.settings(), *fast)
        assert "Traceback" not in ran.stderr
        assert ran.returncode == code, ran.stderr + ran.stdout
        return ran

    def sources(self, *words: object, code: int = 0) -> CompletedProcess[str]:
        return self.run("sources", *words, code=code)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def ckan(portal: Portal, name: str, **keys: str) -> str:
    lines = [f'{key.replace("__", ".")} = "{value}"' for key, value in keys.items()]
    return "\n".join([f"[{name}]", 'spider = "ckan"', f'arguments.portal = "{portal.url}"', *lines, ""])


def sqlite(output: Path, query: str, *values: str) -> list[tuple]:
    if not (output / "index.sqlite").exists():
        return []
    with closing(sqlite3.connect(output / "index.sqlite")) as db:
        return db.execute(query, values).fetchall()


def rows(output: Path, source: str) -> dict[str, list[tuple]]:
    """What the index has of a source, without its name."""
    catch_up(output)
    columns = {
        "documents": "kind, dataset_id, resource_id, file, sha256, status, run",
        "datasets": "dataset_id, title, withdrawn, resources",
        "complete": "scope, started, run",
        "runs": "run, verdict, listed",
        "observations": "day, metric, value",
        "changes": "dataset_id, status, run",
    }
    return {
        table: sqlite(output, f"SELECT {names} FROM {table} WHERE source = ? ORDER BY 1, 2, 3", source)
        for table, names in columns.items()
    }


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def series(folder: Path) -> list[str]:
    return [line for path in (folder / "timeseries").iterdir() for line in path.read_text().splitlines()[1:]]


# Review


def test_only_what_is_approved_is_harvested_unnamed(place: Place) -> None:
    with Portal(3) as portal:
        place.write(
            ckan(portal, "a", schedule="daily")
            + ckan(portal, "b", arguments__q="b", review="open", schedule="daily")
            + ckan(portal, "c", arguments__q="c", review="refused", review_comment="It is a copy of a.")
        )
        ran = place.run("harvest", "--due")
        assert ran.stdout.count("Left out, pending review: b; refused: c. `scrapy sources approve NAME`") == 1
        assert [path.name for path in place.output.iterdir() if path.is_dir()] == ["a"]
        assert place.run("harvest", "--due").stdout == ""
        assert "Left out, pending review: b" in place.run("harvest", "--all", "--dry-run").stdout
        ran = place.run("harvest", "c", code=1)
        assert ran.stderr == "[c] was refused: It is a copy of a. `scrapy sources approve c` allows its harvest.\n"
        assert not (place.output / "c").exists()
        _, *rows = place.sources().stdout.splitlines()
        assert [row.split()[3] for row in rows] == ["approved", "open", "refused"]
        assert json.loads(place.sources("--json").stdout)[2]["review_comment"] == "It is a copy of a."
        place.sources("approve", "c")
        place.run("harvest", "b", "c", "--parallel", "2")
        assert all((place.output / name / "manifest.jsonl").exists() for name in "bc")


def test_approved_and_refused_with_a_reason(place: Place) -> None:
    place.write(FILE)
    assert place.sources("refuse", "a", "b.c", "--why", "Not ours").stdout.splitlines() == [
        "[a] is refused: no harvest takes it.",
        "[b.c] is refused: no harvest takes it.",
    ]
    tables = place.tables()
    assert [(tables[name]["review"], tables[name]["review_comment"]) for name in ("a", "b.c")] == [
        ("refused", "Not ours")
    ] * 2
    place.sources("approve", "a")
    assert place.tables()["a"] == tomllib.loads(FILE)["a"] | {"review": "approved"}
    assert "--why is missing" in place.sources("refuse", "a", code=2).stderr
    before = place.path.read_text()
    assert "has no source 'bc'. Did you mean b.c?" in place.sources("approve", "a", "bc", code=1).stderr
    assert "review_comment is no single line" in place.sources("refuse", "a", "--why", "x\ny", code=1).stderr
    assert place.path.read_text() == before


def test_added_as_open(place: Place) -> None:
    with Portal(3) as portal:
        ran = place.sources("add", "x", portal.url, "--review")
    assert "It is open: --all and --due skip it until it is approved: scrapy sources approve x" in ran.stdout
    assert place.tables()["x"]["review"] == "open"


def test_a_word_that_is_no_review(place: Place) -> None:
    place.write('[a]\nspider = "hdx"\nreview = "aproved"\n')
    assert "[a]: review is not one of open, approved, refused. Did you mean approved?" in place.sources(code=1).stderr


def test_states_that_change_at_once_are_all_kept(place: Place) -> None:
    place.write("".join(f'[s{number}]\nspider = "hdx"\narguments.q = "{number}"\n' for number in range(12)))
    file = SourcesFile(place.path, project())
    done = ["disable", "approve", "refuse"]
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda number: file.set_state(done[number % 3], [f"s{number}"], "x"), range(12)))
    tables = place.tables().values()
    assert [table.get("enabled", table.get("review")) for table in tables] == [False, "approved", "refused"] * 4


# Edit


def lines_between(before: str, after: str) -> set[str]:
    return set(before.splitlines()) ^ set(after.splitlines())


@pytest.mark.parametrize(
    ("name", "changes", "lines"),
    [
        ("a", {"schedule": "weekly"}, {'schedule = "daily"  # at night', 'schedule = "weekly"  # at night'}),
        ("a", {"schedule": None}, {'schedule = "daily"  # at night'}),
        ("a", {"contact": "me"}, {'contact = "me"'}),
        ("a", {"settings": {"RETRY_TIMES": "1"}}, {'settings.RETRY_TIMES = "1"'}),
        ("b.c", {"arguments": {"q": None}}, {"q = 'sea'   # and rivers"}),
        ("b.c", {"arguments": {"fq": "x"}}, {'fq = "x"'}),
        ("b.c", {"settings": {"RETRY_TIMES": "1"}}, {'settings.RETRY_TIMES = "1"'}),
        ("d", {"arguments": {"q": "x"}}, {'arguments.q = "x"'}),
        ("d", {"contact": None, "spider": "hdx"}, set()),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_the_lines_of_a_change_are_others(name: str, changes: dict, lines: set[str], end: str) -> None:
    before = FILE.replace("\n", end)
    after = edit.update(before, name, changes)
    assert lines_between(before, after) == lines
    assert "\n" not in after.replace("\r\n", "") or end == "\n"


def test_an_argument_comes_and_goes() -> None:
    text = edit.update(FILE, "a", {"arguments": {"q": "x"}})
    assert 'portal = "https://a.example.org"' in text
    assert tomllib.loads(edit.update(text, "a", {"arguments": {"q": None}})) == tomllib.loads(FILE)
    dotted = '[d]\nspider = "hdx"\narguments.q = "x"\n\n[e]\nspider = "hdx"\n'
    assert tomllib.loads(edit.update(dotted, "d", {"arguments": {"fq": "y"}}))["d"]["arguments"] == {
        "q": "x",
        "fq": "y",
    }
    assert "q" not in tomllib.loads(edit.update(dotted, "d", {"arguments": {"q": None}}))["d"].get("arguments", {})


UNORDERED = """
[[notes.of]]
day = 1

[e]
spider = "hdx"
arguments = { q = "sea" }

[notes.of.mine]
day = 2

[[notes.of]]
day = 3
"""
"""TOML that tomlkit does not read: an array of tables that goes on behind another table."""


@pytest.mark.parametrize(
    ("name", "changes", "old", "new"),
    [
        ("a", {"schedule": "weekly"}, '"daily"  # at night', '"weekly"  # at night'),
        ("a", {"schedule": None}, 'schedule = "daily"  # at night\n', ""),
        ("b.c", {"arguments": {"q": "lake"}}, "'sea'   # and", '"lake"   # and'),
        ("e", {"arguments": {"q": "lake"}}, '{ q = "sea" }', '{ q = "lake" }'),
        ("d", {"enabled": False}, "[d]\n", "[d]\nenabled = false\n"),
    ],
)
def test_another_table_that_is_out_of_order_is_no_obstacle(name: str, changes: dict, old: str, new: str) -> None:
    text = FILE + UNORDERED
    assert edit.update(text, name, changes) == text.replace(old, new)


def test_a_table_that_can_not_be_changed_automatically_is_a_sentence() -> None:
    text = 'x = { spider = "hdx", enabled = true }\n' + UNORDERED
    for change in (lambda: edit.update(text, "x", {"enabled": False}), lambda: edit.remove(text, "x")):
        with pytest.raises(SourcesError, match=r"can't be changed automatically: edit the file"):
            change()


def test_keys_that_are_too_deep_to_be_changed_are_a_sentence(place: Place) -> None:
    place.write(f'[a]\nspider = "hdx"\n[notes{".of" * 3000}]\nday = 1\n')
    with pytest.raises(SourcesError, match="is not changed: its tables are nested too deeply"):
        SourcesFile(place.path).set_state("disable", ["a"])


def test_edited(place: Place) -> None:
    place.write(FILE)
    ran = place.sources(
        *("edit", "b.c", "-a", "q=", "-a", "fq=tag:x", "-s", "REQUESTS_PER_SECOND=1", "--contact", "me")
    )
    assert ran.stdout == ("[b.c] is changed: q is removed, fq = tag:x, REQUESTS_PER_SECOND = 1, contact = me.\n"), (
        ran.stdout
    )
    assert place.tables()["b.c"] == {
        "spider": "ckan",
        "contact": "me",
        "arguments": {"portal": "https://b.example.org", "fq": "tag:x"},
        "settings": {"REQUESTS_PER_SECOND": "1"},
    }
    assert all(comment in place.path.read_text() for comment in ("# Ours", "# any", "# The second", "# where"))


WRITTEN = {
    "spider": ("spider=hdx", {"spider": "hdx"}),
    "schedule": ("schedule=daily 02:00", {"schedule": "daily 02:00"}),
    "timezone": ("timezone=Europe/Zurich", {"timezone": "Europe/Zurich"}),
    "retry": ('retry=["1h", "6h"]', {"retry": ["1h", "6h"]}),
    "contact": ("contact=me", {"contact": "me"}),
    "owner": ("owner=Ada", {"owner": "Ada"}),
    "enabled": ("enabled=false", {"enabled": False}),
    "review": ("review=open", {"review": "open"}),
    "review_comment": ("review_comment=ask first", {"review_comment": "ask first"}),
    "archive": ("archive=true", {"archive": True}),
    "publish": ("publish.organization=us", {"publish": {"organization": "us"}}),
    "arguments": ("arguments.q=tag.x", {"arguments": {"q": "tag.x"}}),
    "exclude": ("exclude.pattern.title=^Test", {"exclude": {"pattern": {"title": "^Test"}}}),
    "defaults": ('defaults.language=["fr"]', {"defaults": {"language": ["fr"]}}),
    "overrides": ("overrides.license=CC-BY-4.0", {"overrides": {"license": "CC-BY-4.0"}}),
    "settings": ("settings.REQUESTS_PER_SECOND=1", {"settings": {"REQUESTS_PER_SECOND": "1"}}),
}
"""A word for each key, and the change that it is."""


@pytest.mark.parametrize("key", keys.KEYS)
def test_each_key_can_be_edited_and_shown(place: Place, key: str) -> None:
    word, changed = WRITTEN[key]
    place.write('# Ours\n[a]\nspider = "ckan"\narguments.portal = "https://a.example.org"\n')
    before = place.tables()["a"]
    assert keys.change([word]) == changed
    SourcesFile(place.path).change(["a"], keys.change([word]))
    table = place.tables()["a"]
    assert table != before
    assert table[key] == (before[key] | changed[key] if key == "arguments" else changed[key])
    assert place.path.read_text().startswith("# Ours\n")
    assert key not in keys.missing(table)
    if key not in before:
        assert keys.missing(before)[key], "it says what counts"
        SourcesFile(place.path).change(["a"], keys.change([f"{word.partition('=')[0]}="]))
        assert edit._filled(place.tables())["a"] == before


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("archive", "'archive' is not KEY=VALUE. The keys are: spider, schedule,"),
        ("=x", "'=x' is not KEY=VALUE"),
        ("exclude.=x", "'exclude.=x' is not KEY=VALUE"),
        ("exclude=test", "'exclude=test' is not exclude.NAME=VALUE."),
        ("archive.x=true", "'archive.x=true' is not archive=VALUE."),
        ("retry=[1h", """'retry=[1h' is no list. One is written so: 'retry=["a", "b"]'."""),
        ("archive=yes", "[a]: archive is not true or false."),
        ("exclude.tags=x", "[a]: exclude.tags is unknown. Did you mean tag?"),
        ("exclude.pattern.title=(", "[a]: exclude.pattern.title"),
        ("retries=1h", "[a]: retries is unknown. Did you mean retry?"),
        ("settings.OUTPUT_DIR=x", "OUTPUT_DIR applies to all sources"),
    ],
)
def test_a_word_that_changes_no_key_is_refused(place: Place, word: str, says: str) -> None:
    text = '[a]\nspider = "ckan"\narguments.portal = "https://a.example.org"\n'
    place.write(text)
    with pytest.raises((SourcesError, RulesError), match=re.escape(says)):
        SourcesFile(place.path).change(["a"], keys.change([word]))
    assert place.path.read_text() == text


def test_edit_and_show_from_the_command_line(place: Place) -> None:
    place.write('[a]\nspider = "ckan"\narguments.portal = "https://a.example.org"\n')
    ran = place.sources("edit", "a", "archive=true", "exclude.tag=test", "timezone=UTC", "-a", "q=x")
    assert ran.stdout == "[a] is changed: archive = true, exclude.tag = test, timezone = UTC, q = x.\n"
    shown = place.sources("show", "a").stdout
    assert all(f"\n    {line}\n" in shown for line in ("archive = true", "[exclude]", 'tag = "test"'))
    assert "\n    retry: at its next time\n" in shown


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("a", {"arguments": {"portal": None}}, r"\[a.arguments\]: portal is missing"),
        ("a", {"arguments": {"portal": "https://b.example.org", "q": "sea"}}, r"\[b.c\] harvests what \[a\] does"),
        ("a", {"arguments": {"token": "hush"}}, "token is a secret"),
        ("a", {"settings": {"RETRY_TIMES": "many"}}, "RETRY_TIMES takes a whole number"),
        ("a", {"schedule": "dayly"}, "schedule: 'dayly' is neither daily"),
        ("aa", {"contact": "x"}, "has no source 'aa'. Did you mean a?"),
    ],
)
def test_a_wrong_change_writes_nothing(place: Place, name: str, changes: dict, says: str) -> None:
    place.write(FILE)
    with pytest.raises(SourcesError, match=says):
        SourcesFile(place.path).change([name], changes)
    assert place.path.read_text() == FILE


def test_a_wrong_edit_writes_nothing(place: Place) -> None:
    place.write(FILE)
    wrong = place.sources("edit", "a", "-a", "levle=both", "--contact", "me", code=1)
    assert "no argument 'levle'. Did you mean level?" in wrong.stderr
    wrong = place.sources("edit", "a", "-s", "REQUEST_PER_SECOND=1", code=1)
    assert "Did you mean REQUESTS_PER_SECOND?" in wrong.stderr
    assert place.path.read_text() == FILE


def test_rules_that_are_not_there_are_refused(place: Place) -> None:
    text = f'[a]\nspider = "html"\narguments.rules = "{ROOT / "catalogues" / "example.toml"}"\n'
    place.write(text)
    file = SourcesFile(place.path, project())
    with pytest.raises(RulesError, match=r"nowhere\.toml can't be read"):
        file.change(["a"], {"arguments": {"rules": "nowhere.toml"}})
    assert place.path.read_text() == text
    file.set_state("disable", ["a"])
    file.change(["a"], {"arguments": {"rules": "nowhere.toml"}})


def test_scheduled(place: Place) -> None:
    place.write(FILE)
    assert place.sources("schedule", "a", "daily 02:00").stdout == "[a] is due daily 02:00, in UTC.\n"
    assert place.tables()["a"]["schedule"] == "daily 02:00"
    place.sources("schedule", "d", "weekly", "sun")
    assert place.tables()["d"]["schedule"] == "weekly sun"
    assert place.sources("schedule", "a", "none").stdout == "[a] has no schedule: --due skips it.\n"
    assert "schedule" not in place.tables()["a"]
    place.write('[zurich]\nspider = "hdx"\ntimezone = "Europe/Zurich"\n')
    assert place.sources("schedule", "zurich", "daily 02:00").stdout == (
        "[zurich] is due daily 02:00, in Europe/Zurich.\n"
    )
    place.write(FILE)
    assert "'hourly' is neither" in place.sources("schedule", "a", "hourly", code=1).stderr


# Rename


@pytest.fixture
def harvested(place: Place) -> Iterator[Place]:
    """A source that was harvested, with an archive, a time series, a claim and a log."""
    with Portal(4) as portal:
        archive = '[archive-of-a]\nspider = "archive"\narguments = { of = "a" }\nenabled = false\n'
        place.write(f"# Ours\n{ckan(portal, 'a', schedule='daily')}\n{archive}")
        place.run("harvest", "a")
        written(place.output, "a", [look("a", "x", "y", "https://x.example.org/y.csv")])
        (place.jobs / "archive-of-a").mkdir()
        yield place


def test_renamed_with_all_that_it_has(harvested: Place) -> None:
    place, before = harvested, rows(harvested.output, "a")
    (place.output / "a" / "memory.json").write_text('{"public": ["example.org"]}')
    Versions.writing(place.output / "a").close()
    documents = files(place.output / "a" / "datasets")
    assert len(documents) == 4
    place.sources("rename", "a", "b.b")
    tables = place.tables()
    assert (list(tables), tables["archive-of-b.b"]["arguments"]) == (["b.b", "archive-of-b.b"], {"of": "b.b"})
    assert place.path.read_text().startswith("# Ours\n[")
    assert files(place.output / "b.b" / "datasets") == documents
    assert (place.output / "b.b" / "versions.sqlite").exists()
    assert (place.output / "b.b" / "memory.json").read_text() == '{"public": ["example.org"]}'
    names = {path.name for folder in (place.output, place.jobs, place.folder / "logs") for path in folder.iterdir()}
    assert names & {"a", "a.lock", "archive-of-a"} == set()
    assert names >= {"b.b", "b.b.lock", "archive-of-b.b"}
    assert rows(place.output, "a") == {table: [] for table in before}
    assert rows(place.output, "b.b") == before
    (run,) = runs(place.output, "b.b")
    assert (run.details["source"], run.arguments["source"], Path(run.log).exists()) == ("b.b", "b.b", True)
    assert sqlite(place.output, "SELECT count(*) FROM captures WHERE source = 'archive-of-b.b'") == [(1,)]
    assert all(",b.b," in line for line in (series(place.output / "b.b")))
    assert "due at" in place.run("harvest", "--due", "-v").stdout
    ran = place.run("harvest", "b.b")
    assert "complete. Nothing changed since" in ran.stdout
    place.run("reindex")
    assert rows(place.output, "b.b")["documents"] == before["documents"]


@pytest.mark.slow
@pytest.mark.parametrize("steps", [1, 2, 4])
def test_a_rename_that_was_killed_is_finished_by_the_same_command(harvested: Place, steps: int) -> None:
    place, before = harvested, rows(harvested.output, "a")
    half = Renaming(SourcesFile(place.path, project()), "a", "b", place.output, place.jobs, place.folder / "logs")
    for step in STEPS[:steps]:
        step(half)
    told = "[b]: its rename from a is not finished; this finishes it: scrapy sources rename a b"
    assert told in place.run("harvest", "b", code=1).stderr
    assert told in place.run("harvest", "--due", code=1).stderr
    place.sources("rename", "a", "b")
    assert "renamed_from" not in place.path.read_text()
    assert sorted(path.name for path in place.output.iterdir() if path.is_dir()) == ["archive-of-b", "b"]
    assert json.loads((place.jobs / "b.lock").read_text())["ended"]
    assert not (place.jobs / "a.lock").exists()
    assert rows(place.output, "b") == before
    assert "has no source 'a'" in place.sources("rename", "a", "b", code=1).stderr


@pytest.mark.slow
def test_a_rename_that_is_killed_at_any_moment_is_finished(harvested: Place, tmp_path: Path) -> None:
    place, before, killed = harvested, rows(harvested.output, "a"), 0
    for number in range(6):
        copy = Place(tmp_path / f"copy-{number}")
        copy.folder.mkdir()
        for name in ("output", "jobs", "logs", "sources.toml"):
            source = place.folder / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, copy.folder / name)
        words = [sys.executable, "-m", "scrapy", "sources", "rename", "a", "b", *copy.settings()]
        process = forked.Popen(words, cwd=ROOT, stdout=PIPE, stderr=PIPE)
        until(lambda copy=copy: "renamed_from" in copy.path.read_text() or "[b]" in copy.path.read_text())
        time.sleep(0.02 * number)
        process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        if "renamed_from" in copy.path.read_text():
            copy.sources("rename", "a", "b")
        assert rows(copy.output, "b") == before
        assert sorted(path.name for path in copy.output.iterdir() if path.is_dir()) == ["archive-of-b", "b"]
    assert killed


@pytest.mark.slow
def test_an_interrupted_job_goes_on_under_its_new_name(place: Place) -> None:
    with Portal(30) as portal:
        place.write(ckan(portal, "a", arguments__level="dataset"))
        harvest = [sys.executable, "-m", "scrapy", "harvest", "a", *place.settings(), "-sREQUESTS_PER_SECOND=20"]
        process = forked.Popen(harvest, cwd=ROOT, stderr=PIPE, stdout=PIPE)
        until(lambda: portal.requests("package_show") > 3)
        process.kill()
        process.communicate()
        os.kill(json.loads((place.output / "a" / "running.json").read_text())["pid"], signal.SIGKILL)
        until(lambda: not is_crawled(place.output / "a"))
        place.sources("rename", "a", "b")
        place.run("harvest", "b")
        (run,) = runs(place.output, "b")
        assert (run.resumed, run.state) == (True, "complete")
        assert portal.requests("package_search") < 4


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("a", "../x", "'../x' is not a folder name"),
        ("a", "d", r"already has \[d\]: choose another name"),
        ("a", "taken", "taken exists: choose another name, or remove it: scrapy sources purge taken"),
        ("aa", "x", "has no source 'aa'. Did you mean a?"),
        ("a", "a", r"\[a\] has that name already"),
        ("archive-of-a", "x", "is an archive, named after its source"),
    ],
)
def test_a_rename_that_can_not_be(place: Place, old: str, new: str, says: str) -> None:
    place.write(FILE)
    (place.output / "taken").mkdir(parents=True)
    renaming = Renaming(SourcesFile(place.path, project()), old, new, place.output, place.jobs, place.folder / "logs")
    with pytest.raises(SourcesError, match=says):
        any(step(renaming) for step in (Renaming.check, STEPS[0]))
    assert place.path.read_text() == FILE


def test_what_is_being_crawled_is_neither_renamed_nor_purged(place: Place) -> None:
    place.write(FILE)
    claim = Claim.take(place.jobs, "a")
    (place.output / "z").mkdir(parents=True)
    running = lock(place.output / "z")
    busy = "is being crawled: run the same command again when that has ended."
    assert f"[a] {busy}" in place.sources("rename", "a", "x", code=1).stderr
    assert f"[z] {busy}" in place.sources("purge", "z", "--yes", code=1).stderr
    claim.release()
    os.close(running)
    assert place.path.read_text() == FILE
    assert (place.output / "z").exists()


# Attach


@pytest.fixture
def moved(place: Place) -> Iterator[tuple[Place, Portal, dict[str, str]]]:
    """A source whose portal has given two of its six datasets other ids since its harvest: the new ids by the old."""
    with Portal(6) as portal:
        place.write(ckan(portal, "a", arguments__level="dataset"))
        place.run("harvest", "a")
        packages = portal.packages()
        names = {old: f"new-{number}" for number, old in enumerate([*packages][:2])}
        portal.change(purge=[*names], put=[packages[old] | {"id": new} for old, new in names.items()])
        yield place, portal, names


def csv_of(place: Place, names: dict[str, str]) -> Path:
    path = place.folder / "ids.csv"
    path.write_text("".join(f"{line}\n" for line in ("local,remote", *map(",".join, names.items()))))
    return path


def crawl(place: Place, portal: Portal) -> Run:
    """A crawl that lists everything."""
    words = {"source": "a", "portal": portal.url, "level": "dataset"}
    place.run("crawl", "ckan", *(word for pair in words.items() for word in ("-a", "=".join(pair))))
    return runs(place.output, "a", limit=1)[0]


def test_attached(moved: tuple[Place, Portal, dict[str, str]]) -> None:
    place, portal, names = moved
    folder, before = place.output / "a", len(json_lines(place.output / "a" / "manifest.jsonl"))
    ran = place.sources("attach", "a", csv_of(place, names))
    assert ran.stdout == "[a]: 2 datasets attached, 4 documents renamed.\n"
    lines = json_lines(folder / "manifest.jsonl")
    assert len(lines) == before + 8
    for old, new in names.items():
        was = {line["kind"]: line for line in lines[:before] if line["dataset_id"] == old}
        now = {line["kind"]: line for line in lines[before:] if line["dataset_id"] == new}
        gone = {line["kind"]: line for line in lines[before:] if line["dataset_id"] == old}
        assert was.keys() == now.keys() == gone.keys() == {"dataset", "dataset_metadata"}
        for kind, line in now.items():
            assert (line["status"], line["renamed_from"], line["sha256"]) == ("new", old, was[kind]["sha256"])
            assert line["metadata_file"] == was[kind]["metadata_file"].replace(old, new)
            assert (folder / line["metadata_file"]).read_bytes() == (folder / was[kind]["metadata_file"]).read_bytes()
            assert [gone[kind][name] for name in ("status", "reason", "renamed_to")] == ["withdrawn", "renamed", new]
    assert ran.stderr == ""
    seen = dict(sqlite(place.output, "SELECT dataset_id, first_seen FROM documents WHERE kind = 'dataset'"))
    assert all(seen[new] == seen[old] for old, new in names.items())
    held = sqlite(place.output, "SELECT dataset_id FROM datasets WHERE NOT withdrawn ORDER BY 1")
    assert [one for (one,) in held] == sorted(portal.packages())
    known = rows(place.output, "a")
    place.run("reindex")
    assert [rows(place.output, "a")[name] for name in ("documents", "datasets", "changes")] == [
        known[name] for name in ("documents", "datasets", "changes")
    ]
    run = crawl(place, portal)
    assert (run.state, run.counts["new"], run.counts["withdrawn"]) == ("complete", 0, 0)
    assert (run.counts["updated"], run.counts["unchanged"]) == (4, 8)
    run = crawl(place, portal)
    assert (run.counts["updated"], run.counts["unchanged"]) == (0, 12)
    with Bodies(folder) as bodies:
        assert all(bodies.body(version) is not None for version in between(folder))


@pytest.mark.parametrize("kept", [1, 4])
def test_what_was_killed_while_it_attached_is_finished(moved: tuple[Place, Portal, dict[str, str]], kept: int) -> None:
    place, _, names = moved
    path, folder = csv_of(place, names), place.output / "a"
    before = (folder / "manifest.jsonl").read_bytes()
    place.sources("attach", "a", path)
    lines = (folder / "manifest.jsonl").read_bytes()[len(before) :].splitlines(keepends=True)
    half = before + b"".join(lines[:kept]) + lines[kept][:50]
    (folder / "manifest.jsonl").write_bytes(half)
    place.sources("attach", "a", path)
    wanted = [(line["dataset_id"], line["kind"], line["status"]) for line in map(json.loads, lines)]
    again = json_lines(folder / "manifest.jsonl")[-len(lines) :]
    assert [(line["dataset_id"], line["kind"], line["status"]) for line in again] == wanted
    place.sources("attach", "a", path)
    assert len(json_lines(folder / "manifest.jsonl")[-len(lines) :]) == len(lines)


def test_bad_rows_change_nothing(moved: tuple[Place, Portal, dict[str, str]]) -> None:
    place, _, names = moved
    (one, two), other = names, sqlite(place.output, "SELECT max(dataset_id) FROM documents")[0][0]
    path, folder = place.folder / "ids.csv", place.output / "a"
    damaged = next((folder / "datasets").glob(f"{two}*"))
    damaged.write_text("{}")
    path.write_text(f"local,remote\n{one},x\nnowhere,y\n{one},z\n,w\nb,\n{two},v\n{other},{other}\n")
    before = (folder / "manifest.jsonl").read_bytes()
    wrong = place.sources("attach", "a", path, code=1).stderr.splitlines()
    assert wrong == [
        f"{path}, line 2: '{one}' occurs more than once.",
        f"{path}, line 3: there is no dataset 'nowhere' on disk.",
        f"{path}, line 4: '{one}' occurs more than once.",
        f"{path}, line 5: local is not an id of 1 to 1000 printable characters.",
        f"{path}, line 6: remote is not an id of 1 to 1000 printable characters.",
        f"{path}, line 7: datasets/{damaged.name} can't be read: its SHA-256 is not the one in manifest.jsonl.",
        f"{path}, line 8: '{other}' occurs more than once.",
        "Nothing was changed.",
    ]
    path.write_text(f"local,remote\n{one},{other}\n")
    assert f"a dataset '{other}' is on disk already." in place.sources("attach", "a", path, code=1).stderr
    path.write_text("id,remote\n")
    assert "needs a header with the columns local,remote" in place.sources("attach", "a", path, code=1).stderr
    assert "can't be read: No such file" in place.sources("attach", "a", "nowhere.csv", code=1).stderr
    assert (folder / "manifest.jsonl").read_bytes() == before
    assert not list((folder / "datasets").glob("x*"))


# Purge


def test_purged(harvested: Place) -> None:
    place = harvested
    assert "still has [a]: scrapy sources remove a comes first" in place.sources("purge", "a", "--yes", code=1).stderr
    place.sources("remove", "a", "archive-of-a")
    place.write('[other]\nspider = "hdx"\n')
    assert "There is no terminal to ask on: add --yes" in place.sources("purge", "a", code=1).stderr
    assert (place.output / "a" / "manifest.jsonl").exists()
    ran = place.sources("purge", "a", "--yes")
    assert f"{place.output / 'a'}: " in ran.stdout
    assert "Deleted. The files of its archive stay in the store: scrapy archive prune" in ran.stdout
    folders = (place.output, place.jobs, place.folder / "logs")
    assert not [path for folder in folders for path in folder.iterdir() if path.stem.removeprefix("archive-of-") == "a"]
    assert rows(place.output, "a") == rows(place.output, "archive-of-a") == rows(place.output, "nothing")
    ran = place.sources("purge", "a", "--yes", code=1)
    assert ran.stderr.startswith("Nothing is left of 'a'.")


@pytest.mark.parametrize(("answer", "stays"), [("n\n", True), ("y\n", False)])
def test_a_terminal_is_asked_before_a_purge(place: Place, answer: str, stays: bool) -> None:
    place.write(FILE)
    document = place.output / "z" / "datasets" / "x.json"
    document.parent.mkdir(parents=True)
    document.write_text("{}")
    code, shown = answered(answer, ["sources", "purge", "z", *place.settings()])
    assert (code, "1 file, 2 B" in shown, document.exists()) == (0, True, stays)


def test_a_link_is_removed_and_not_followed(place: Place, tmp_path: Path) -> None:
    place.write(FILE)
    kept = tmp_path / "kept" / "x.json"
    kept.parent.mkdir()
    kept.write_text("{}")
    (place.output / "z").mkdir(parents=True)
    (place.output / "z" / "datasets").symlink_to(kept.parent)
    place.sources("purge", "z", "--yes")
    assert kept.exists()
    assert not (place.output / "z").exists()


# Show


def test_shown(harvested: Place) -> None:
    place = harvested
    facts = json.loads(place.sources("show", "a", "--json").stdout)
    assert (facts["name"], facts["kind"], facts["review"], facts["state"]) == ("a", "ckan", "approved", "complete")
    assert facts["on_disk"]["datasets"] == 4
    assert facts["table"]["schedule"] == "daily"
    assert [run["state"] for run in facts["runs"]] == ["complete"]
    assert facts["places"]["documents"] == str(place.output / "a")
    assert (facts["archived"]["files"], facts["archived"]["held"]) == (1, 1)
    shown = place.sources("show", "a").stdout
    assert shown.splitlines()[0] == "a"
    assert f"  documents  {place.output / 'a'}\n" in shown
    assert "  on disk    4 datasets, 0 withdrawn, " in shown
    assert "  archived   1 of 1 files\n" in shown
    assert '    schedule = "daily"\n' in shown
    assert "has no source 'b'" in place.sources("show", "b", code=1).stderr


def test_shown_without_an_archive(place: Place) -> None:
    with Portal(3) as portal:
        place.write(ckan(portal, "a"))
        place.run("harvest", "a")
    assert json.loads(place.sources("show", "a", "--json").stdout)["on_disk"]["datasets"] == 3


def test_shown_before_its_first_harvest(place: Place) -> None:
    place.write(FILE)
    facts = json.loads(place.sources("show", "b.c", "--json").stdout)
    assert (facts["runs"], facts["archived"], facts["places"]["documents"]) == ([], None, None)
    assert facts["on_disk"]["datasets"] == 0
    assert "  runs       never" in place.sources("show", "b.c").stdout


# Whole records


def test_whole_records_beside_the_table(place: Place) -> None:
    with Portal(5) as portal:
        place.write(ckan(portal, "a"))
        out = place.sources("validate", "a", "--show", "3").stdout
    head, _, rest = out.partition("\n{\n")
    assert head.startswith("a: complete, 5 of 5 datasets crawled\n  id ")
    records, text = [], "{\n" + rest
    while text.strip():
        record, end = json.JSONDecoder().raw_decode(text)
        records, text = [*records, record], text[end:].lstrip()
    assert len({record["id"] for record in records}) == 3
    assert all(record["resources"][0]["url"] for record in records)
    assert "--show '0' is not a whole number from 1 to 20" in place.sources("validate", "--show", "0", code=2).stderr


def test_a_portal_that_was_public_is_not_asked_in_the_network_of_the_crawl(place: Place) -> None:
    """A dry run has a folder of its own, which remembers nothing."""
    with Portal(5) as portal:
        place.write(ckan(portal, "a").replace("127.0.0.1", "localhost"))
        (place.output / "a").mkdir(parents=True)
        (place.output / "a" / "memory.json").write_text('{"public": ["localhost"]}')
        before = files(place.output / "a")
        out = place.sources("validate", "a", code=3).stdout
        requests = portal.log()
    assert "though it has had a public address" in out
    assert (requests, files(place.output / "a")) == ([], before)


# Mistyped words


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("sources", "enabel", "a"), "There is no scrapy sources enabel. Did you mean enable?"),
        (("sources", "schedul", "a", "daily"), "Did you mean schedule?"),
        (("archive", "stat"), "There is no scrapy archive stat. Did you mean status?"),
        (("ecosystem", "rnu"), "There is no scrapy ecosystem rnu. Did you mean run?"),
        (("publish", "site", "--to", "http://127.0.0.1:9"), "Did you mean sites?"),
        (("sources", "--jsno"), "there is no option --jsno. Did you mean --json?"),
        (("search", "--sorce", "a", "b"), "there is no option --sorce. Did you mean --source?"),
        (("sources", "show", "a", "-s", "OUTPUTDIR=x"), "OUTPUTDIR is not a setting. Did you mean OUTPUT_DIR?"),
        (("jobs", "shwo", "a"), "There is no scrapy jobs shwo. Did you mean show?"),
        (("report", "-s", "OUTPUTDIR=x"), "OUTPUTDIR is not a setting. Did you mean OUTPUT_DIR?"),
    ],
)
def test_what_was_meant(place: Place, words: tuple[str, ...], meant: str) -> None:
    ran = command(*words, *place.settings())
    assert ran.returncode in (1, 2)
    assert meant in ran.stderr


def test_an_option_of_another_verb(place: Place) -> None:
    place.write(FILE)
    assert "scrapy sources enable takes no --why." in place.sources("enable", "a", "--why", "x", code=2).stderr
    assert "scrapy sources remove takes no -a." in place.sources("remove", "a", "-a", "x=1", code=2).stderr
    assert place.path.read_text() == FILE


# Accept a shrink


def test_a_list_that_a_run_refused_to_withdraw_is_accepted_once(place: Place) -> None:
    with Portal(100) as portal:
        place.write(ckan(portal, "a"))
        place.run("harvest", "a")
        gone = portal.ids()[:12]
        portal.change(remove=gone)
        nothing = "[a]: its last run did not refuse to withdraw anything: there is nothing to accept.\n"
        assert place.sources("accept-shrink", "a", "--yes", code=1).stderr == nothing
        strict = "-sCONFIRM_MAX=1"
        place.run("harvest", "a", strict, code=3)
        asked = place.sources("accept-shrink", "a", strict, code=1)
        assert asked.stdout.startswith("[a]: 12 of 100 datasets are no longer listed (12.0%), more than SHRINK_LIMIT")
        assert "ACCEPT_SHRINK" not in asked.stdout
        assert asked.stderr == "There is no terminal to ask on: add --yes to withdraw them.\n"
        portal.change(remove=portal.ids()[:1])
        place.sources("accept-shrink", "a", "--yes", strict, code=3)
        place.sources("accept-shrink", "a", "--yes", strict)
        (run,) = runs(place.output, "a", limit=1)
        assert (run.state, run.counts["withdrawn"]) == ("complete", 13)
        assert place.sources("accept-shrink", "a", "--yes", code=1).stderr == nothing
