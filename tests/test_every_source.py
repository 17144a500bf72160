"""Everything that is crawled, by every way of crawling it: what each leaves in its folder."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from crawlers.kind import registered
from crawlers.kinds.api.file import load, shipped
from crawlers.spider_loader import OTHERS
from tests.conftest import FAST, command, scrapy, slow_but
from tests.dashboards import dashboard
from tests.machines import Node
from tests.postgres import postgres
from tests.seaweed import seaweed
from tests.subjects import ENVIRONMENT, SUBJECTS, Subject
from tests.test_bucket_crawl import address
from tests.test_dashboard_actions import PASSWORD, Browser
from tests.test_harvest import Place as Harvests
from tests.test_queue import Fleet
from tests.waiting import until

if TYPE_CHECKING:
    import subprocess

__all__ = ["address", "postgres", "seaweed"]
NAME = "town"
SENSELESS = {
    "since=last": {
        "sdmx": "a dataflow has no date of change",
        "waf": "a folder lists no date that holds for what is in a record",
        "archive": "a file that has not changed is found by its ETag, whenever it was looked at",
        "ckan_sites": "each portal is asked for its figures, which have no date of change",
        "ckan_extensions": "each repository is asked for its figures, which have no date of change",
    },
    "sources validate": {"archive": "it is not a table of its own: its source is validated"},
    "search": {
        "archive": "a search finds datasets, and it has files",
        "ckan_sites": "a search finds datasets, and it has profiles of portals",
        "ckan_extensions": "a search finds datasets, and it has profiles of extensions",
    },
}
"""Why a way makes no sense for a subject. An argument that a spider does not have is refused."""


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


FACETS = """
SELECT source, dataset_id, facet, facets.value
FROM datasets, json_each(datasets.facets) one JOIN facets ON code = one.value
"""


class Place:
    """A folder in which subjects are crawled.

    Args:
        folder: an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "output"
        self.archive = folder / "archive"

    def words(self, settings: dict[str, str] | None = None) -> list[str]:
        folders = {f"{name.upper()}_DIR": str(self.folder / name) for name in ("jobs", "logs", "output")}
        files = {"SOURCES_FILE": str(self.folder / "sources.toml"), "ARCHIVE_STORE": str(self.archive)}
        chosen = {**FAST, **folders, **files, "HEARTBEAT_INTERVAL": "0.1", **(settings or {})}
        return [word for name, value in chosen.items() for word in ("-s", f"{name}={value}")]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        start = scrapy if words[0] in ("harvest", "sources") else command
        ran = start(words[0], *self.words(), *words[1:])
        assert "Traceback" not in ran.stdout + ran.stderr, ran.stderr
        return ran

    def crawl(self, subject: Subject, **more: str) -> subprocess.CompletedProcess[str]:
        """Crawl the subject itself; the source of an archive is crawled before it."""
        given, spider = {**subject.given, "source": NAME}, subject.spider
        if subject.archived:
            assert self._crawl(spider, subject.settings, given).returncode == 0
            spider, given = "archive", {"of": NAME}
        return self._crawl(spider, subject.settings, {**given, **more})

    def _crawl(self, spider: str, settings: dict[str, str], given: dict[str, str]) -> subprocess.CompletedProcess[str]:
        ran = scrapy("crawl", spider, *self.words(settings), *(f"-a{name}={value}" for name, value in given.items()))
        assert "Traceback" not in ran.stderr, ran.stderr
        return ran

    def sources(self, **subjects: Subject) -> None:
        tables = [subject.table(name) for name, subject in subjects.items()]
        (self.folder / "sources.toml").write_text("\n".join(tables), encoding="utf-8")

    def faults(self, subject: Subject, runs: int, name: str = NAME) -> list[str]:
        return subject.faults(subject.folder(self.output, name), self.archive, runs)

    def all_faults(self, subjects: dict[str, Subject], runs: int) -> dict[str, list[str]]:
        """Return what is wrong with sources, by their names."""
        found = {name: self.faults(subject, runs, name) for name, subject in subjects.items()}
        return {name: wrong for name, wrong in found.items() if wrong}

    def found(self, subject: Subject) -> list[str]:
        """Return the ids of the datasets that a search finds by the subject's word."""
        if not subject.word:
            return []
        ran = self.run("search", "--json", "--limit", "100", subject.word)
        return sorted(one["dataset_id"] for one in json.loads(ran.stdout)["datasets"])

    def has_run(self, subject: Subject, name: str, times: int) -> bool:
        return len([*subject.folder(self.output, name).glob("runs/*.json")]) == times

    def indexed(self) -> list[tuple[object, ...]]:
        """Return what the index has, without the moments and the portals' stamps that only the last crawl knows."""
        self.run("search", "nothing")  # it writes what the crawl left
        found: list[tuple[object, ...]] = []
        with closing(sqlite3.connect(self.output / "index.sqlite")) as db:
            for table in ("datasets", "resources", "documents", "observations", "runs"):
                left_out = {"id", "first_seen", "last_seen", "facets"} | (
                    {"metadata_modified"} if table == "documents" else set()
                )
                names = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[1] not in left_out]
                found += sorted(db.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall(), key=repr)
            found += sorted(db.execute(FACETS).fetchall())  # whose numbers are in the order in which they came
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(params=SUBJECTS)
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    with SUBJECTS[request.param](tmp_path) as found:
        yield found


def test_nothing_is_left_out():
    """A new kind or declaration is written into tests/subjects.py, or into tests/portal/answers."""
    assert SUBJECTS.keys() >= {*registered(), *OTHERS} - {"api"} | {f"api-{name}" for name in shipped()}
    assert SUBJECTS.keys() >= {name for reasons in SENSELESS.values() for name in reasons}


ONE_OF_EACH_KIND = sorted(({*SUBJECTS} & {*registered()}) | {"api-opendatasoft"})


def test_it_is_crawled_twice_shown_and_its_index_rebuilt(subject, place, request):
    name = request.node.callspec.params["subject"]
    for number in (1, 2):
        ran = place.crawl(subject)
        assert (ran.returncode, place.faults(subject, number)) == (0, []), ran.stderr
    before, found = place.indexed(), place.found(subject)
    (place.output / "index.sqlite").unlink()
    assert place.run("reindex").returncode == 0
    assert (place.indexed(), place.found(subject)) == (before, found)
    assert len(found) == (0 if name in SENSELESS["search"] else subject.count)
    if name in ONE_OF_EACH_KIND:
        exports_and_the_report_have_it(subject, place)
    ran = place.crawl(subject, since="last")
    if name in SENSELESS["since=last"]:
        assert ran.returncode == 1
        assert "since" in ran.stderr.splitlines()[-1]
    else:
        assert (ran.returncode, place.faults(subject, 3)) == (0, []), ran.stderr


def exports_and_the_report_have_it(subject: Subject, place: Place) -> None:
    rows = list(csv.DictReader(io.StringIO(place.run("export", "--format", "csv", "-o", "-").stdout)))
    assert (len(rows), [row["id"] for row in rows if not row["title"]]) == (subject.count, [])
    exported = place.run("export", "--format", "jsonld", "-o", "-").stdout
    assert exported.count('"dcat:Dataset"') == subject.count
    place.run("report", "-o", str(place.folder / "report.html"))
    assert NAME in (place.folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("subject", slow_but(ONE_OF_EACH_KIND.__contains__, SUBJECTS), indirect=True)
def test_it_is_harvested_twice_and_validated(subject, place, request):
    place.sources(town=subject)
    for number in (1, 2):
        ran = place.run("harvest", NAME)
        assert (ran.returncode, place.faults(subject, number)) == (0, []), ran.stdout + ran.stderr
    ran = place.run("sources", "validate", NAME)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    if request.node.callspec.params["subject"] in SENSELESS["sources validate"]:
        assert place.run("sources", "validate", f"archive-of-{NAME}").returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize("subject", ONE_OF_EACH_KIND, indirect=True)
def test_a_limit_leaves_the_rest_out_and_a_finished_job_is_not_repeated(subject, place):
    assert place.crawl(subject, max_datasets="3").returncode == 0
    (report,) = (json.loads(path.read_bytes()) for path in (place.output / NAME / "runs").glob("*.json"))
    assert (report["verdict"], report["listed"]) == ("partial", 3)
    subject.settings["JOBDIR"] = str(place.folder / "job")
    first, again = place.crawl(subject), place.crawl(subject)
    assert (first.returncode, again.returncode, "finished" in again.stderr) == (0, 0, True)


@pytest.mark.parametrize("subject", ["ckan", "api-opendatasoft", "csw", "oai", "sparql"], indirect=True)
def test_what_changed_since_today_withdraws_nothing(subject, place):
    place.crawl(subject)
    ran = place.crawl(subject, since=datetime.now(UTC).strftime("%Y-%m-%d"))
    assert (ran.returncode, place.faults(subject, 2)) == (0, []), ran.stderr


@pytest.fixture
def opened(place: Place) -> Iterator[Callable[..., dict[str, Subject]]]:
    """Open subjects at the same time, and write a sources.toml of them."""
    with ExitStack() as stack:

        def start(names: Iterable[str]) -> dict[str, Subject]:
            subjects = {}
            for name in names:
                (folder := place.folder / name).mkdir()
                subjects[name] = stack.enter_context(SUBJECTS[name](folder))
            place.sources(**subjects)
            return subjects

        yield start


def test_all_are_harvested_when_due_and_again_by_the_dashboards_buttons(place, opened):
    subjects = opened(SUBJECTS)
    ran = place.run("harvest", "--due", "--parallel", "3")
    assert (ran.returncode, place.all_faults(subjects, 1)) == (0, {}), ran.stdout + ran.stderr
    assert place.run("harvest", "--due", "-v").stdout.count("due at") == len(subjects)
    place.run("search", "nothing")  # it writes the index
    words = [*place.words(), "-s", "DASHBOARD_PASSWORD_ENV=OURS"]
    with dashboard(place.output, *words, forks=True, OURS=PASSWORD) as (url, _):
        browser = Browser(url)
        browser.log_in()
        for name, subject in subjects.items():
            assert browser.press(name, "Harvest now").startswith(f"[{name}] is being harvested")
            until(partial(place.has_run, subject, name, 2))
    assert place.all_faults(subjects, 2) == {}


def ways_of_listing() -> list[str]:
    """Return one subject of each: of the APIs, the first of each kind of paging, and the tree of files."""
    lists = {name: load(name).list for name in shipped()}
    first = {one.walk or (one.paging.kind if one.paging else "none"): name for name, one in reversed(lists.items())}
    return [name for name in SUBJECTS if not name.startswith("api-") or name.removeprefix("api-") in first.values()]


@pytest.mark.slow
def test_a_worker_crawls_each_way_of_listing(place, opened, postgres, monkeypatch):
    for name, value in postgres.environment.items():
        monkeypatch.setenv(name, value)
    subjects = opened(ways_of_listing())
    fleet = Fleet(Harvests(place.folder), postgres.database(f"ways_{os.getpid()}"))
    try:
        fleet.node("--parallel", "3", "-s", f"ARCHIVE_STORE={place.archive}")
        for number in (1, 2):
            ran = fleet.harvest("--all", "--wait")
            fleet.ended()  # archives, too, which begin behind their sources
            assert (ran.returncode, place.all_faults(subjects, number)) == (0, {}), ran.stdout + ran.stderr
    finally:
        fleet.stop()
    assert "Traceback" not in fleet.told(0)


@pytest.mark.slow
def test_a_shared_store_keeps_each_way_of_listing(place, opened, address, tmp_path):
    subjects = opened(ways_of_listing())
    machine = Node(place.folder, address, {"ARCHIVE_STORE": str(place.archive)})
    for number in (1, 2):
        ran = machine.run("harvest", "--all", "--parallel", "3")
        assert "Traceback" not in ran.stderr, ran.stderr
        place.output = machine.output
        assert (ran.returncode, place.all_faults(subjects, number)) == (0, {}), ran.stdout + ran.stderr
    place.output = tmp_path / "pulled"
    assert scrapy("pull", address, str(place.output)).returncode == 0
    assert place.all_faults(subjects, 2) == {}
