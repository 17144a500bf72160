"""The weekly run: crawls, CSV files and what is published, also when it is killed, or when the network here is down."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.operate import ecosystem
from crawlers.operate.ecosystem import PARTS, Progress, wait_for_others
from crawlers.safety.locks import LOCK, take
from tests import forked
from tests.conftest import FAST, ROOT, Crawl, command, scrapy
from tests.portal import records
from tests.portal.github import TOKEN, Catalogue, GitHub, Repository
from tests.portal.sites import CKAN, Portals, hang, unavailable
from tests.portal.writes import WRITE_TOKEN
from tests.profiles import put_profile
from tests.terminal import answered
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.portal.portal import Portal

PACKAGES: dict[str, dict[str, Any]] = {
    "dcat": {"url": "https://github.com/ckan/ckanext-dcat"},
    "dcat-fork": {"url": "git@github.com:CKAN/ckanext-dcat.git"},
    "formula": {"url": "https://github.com/ckan/ckanext-formula"},
    "gone": {"url": "https://github.com/ckan/ckanext-gone"},
    "elsewhere": {"url": "https://gitlab.com/ckan/ckanext-elsewhere"},
    "nothing": {"url": ""},
}
REPOSITORIES = {
    "ckan/ckanext-dcat": Repository(
        stars=181,
        forks=150,
        issues=58,
        pulls=9,
        releases=(("v2.3.0", "2026-02-25T12:00:00Z"),),
        contributors=73,
        discussions=4,
    ),
    "ckan/ckanext-formula": Repository(releases=(("=HYPERLINK(1)", "2026-02-25T12:00:00Z"),)),
}
HOSTS = [f"127.1.0.{number}" for number in range(2, 8)]


@dataclass
class Place:
    """A folder, and the runs there."""

    folder: Path

    @property
    def output(self) -> Path:
        return self.folder / "output"

    def words(self, *words: str, **settings: str) -> list[str]:
        folders = {f"{name.upper()}_DIR": str(self.folder / name) for name in ("output", "jobs", "logs")}
        own = {"HTTPCACHE_DIR": str(self.folder / "cache"), "ALLOWED_PRIVATE_HOSTS": ",".join(HOSTS)}
        chosen = {**FAST, **folders, **own, "HEARTBEAT_INTERVAL": "0.1", **settings}
        given = [word for name, value in chosen.items() for word in ("-s", f"{name}={value}")]
        return ["ecosystem", "run", "--csv", str(self.folder / "csv"), *given, *words]

    def run(self, *words: str, **settings: str) -> Any:
        return scrapy(*self.words(*words, **settings))

    def begin(self, *words: str, **settings: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-W", "error", "-m", "scrapy", *self.words(*words, **settings)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return forked.Popen(command, cwd=ROOT, env=environment, text=True, **pipes)

    def pid(self, source: str) -> int | None:
        """The process that writes into a source's folder."""
        try:
            return int(json.loads((self.output / source / "running.json").read_bytes())["pid"])
        except (OSError, ValueError, KeyError):
            return None

    def rows(self, name: str) -> list[dict[str, str]]:
        with (self.folder / "csv" / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    os.environ["GITHUB_TOKEN"] = TOKEN
    os.environ["CKAN_API_KEY"] = WRITE_TOKEN
    return Place(tmp_path)


@dataclass
class World:
    """A catalogue that takes writes, with its portals and a GitHub."""

    catalogue: Portal
    portals: Portals
    github: GitHub

    @property
    def words(self) -> list[str]:
        return ["--catalogue", self.catalogue.url, "-s", f"GITHUB_API={self.github.url}"]

    @property
    def publishing(self) -> list[str]:
        return [*self.words, "--publish-to", self.catalogue.url, "--yes"]

    def shown(self, kind: str, field: str) -> list[Any]:
        """What the catalogue has in a field, of each record of a kind."""
        found = self.catalogue.packages().values()
        return [record.get(field) for record in sorted(found, key=lambda one: one["name"]) if record["type"] == kind]

    def tables(self) -> list[list[dict[str, Any]]]:
        """The rows of each table of the datastore, by subject, the largest table first."""
        found = [sorted(table["rows"], key=lambda row: row["subject"]) for table in self.catalogue.tables().values()]
        return sorted(found, key=len, reverse=True)

    def go_down(self, *hosts: str) -> None:
        self.portals.sites.update(dict.fromkeys(hosts, unavailable))


@pytest.fixture
def world(portal: Any) -> Iterator[World]:
    repositories = {f"ckan/ckanext-{number}": Repository(stars=100 + number) for number in range(3)}
    behaviours: dict[str, Any] = {host: CKAN(datasets=20 + number) for number, host in enumerate(HOSTS)}
    with Portals(behaviours) as portals, GitHub(repositories) as github:
        sites = [records.site(number) | {"url": portals.url(host)} for number, host in enumerate(HOSTS)]
        catalogue = portal(datasets=0)
        schemas = {"site": records.SITE_FIELDS, "extension": records.EXTENSION_FIELDS}
        tables = [
            records.site(10 + number, {}) | {"name": f"ckan-{name}-metadata", "type": "dataset"}
            for number, name in enumerate(("sites", "extensions"))
        ]
        catalogue.change(put=[*sites, *map(records.extension, range(3)), *tables], schemas=schemas)
        yield World(catalogue, portals, github)


# What a run does


@pytest.mark.slow
def test_portals_and_extensions_are_crawled_and_published(place, world) -> None:
    ran = place.run(*world.publishing)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    sites, extensions = world.tables()
    assert [row["value"] for row in sites if row["metric"] == "num_datasets"] == ["20", "21", "22", "23", "24", "25"]
    assert [row["number"] for row in extensions if row["metric"] == "stars"] == [100, 101, 102]
    assert world.shown("site", "num_datasets") == [20, 21, 22, 23, 24, 25]
    assert world.shown("extension", "stars") == [100, 101, 102]
    assert [row["num_datasets"] for row in place.rows("ckan_stats.csv")] == ["20", "21", "22", "23", "24", "25"]
    assert {path.name for path in (place.folder / "jobs").glob("ecosystem-*")} == {
        "ecosystem-sites.json",
        "ecosystem-extensions.json",
    }
    for line in ("6 portals: 6 up", "3 repositories: 3 found", "6 records to be changed", "3 records to be changed"):
        assert ran.stdout.count(line) == 1
    assert "\n\n\n" not in ran.stdout


def test_extensions_are_written_as_csv(place) -> None:
    with Catalogue(PACKAGES) as catalogue, GitHub(REPOSITORIES) as github:
        ran = place.run("--skip", "sites", "--catalogue", catalogue.url, GITHUB_API=github.url)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert f"Wrote {place.folder}/csv/url_list.csv and {place.folder}/csv/dynamic_metadata_update.csv." in ran.stdout
    assert len(list((place.folder / "csv").iterdir())) == 2
    prefix = f"{catalogue.url}/extension/"
    assert {row["catalog_url"].removeprefix(prefix): row["github_url"] for row in place.rows("url_list.csv")} == {
        "dcat": "https://github.com/ckan/ckanext-dcat",
        "dcat-fork": "https://github.com/ckan/ckanext-dcat",
        "formula": "https://github.com/ckan/ckanext-formula",
        "gone": "https://github.com/ckan/ckanext-gone",
        "elsewhere": "",
        "nothing": "",
    }
    dcat, formula, gone = place.rows("dynamic_metadata_update.csv")
    assert list(dcat.items())[1:] == [
        ("repository_name", "ckan/ckanext-dcat"),
        ("url", "https://github.com/ckan/ckanext-dcat"),
        ("forks_count", "150"),
        ("total_releases", "1"),
        ("latest_release", "v2.3.0"),
        ("release_date", "2026-02-25"),
        ("stars", "181"),
        ("open_issues", "58"),
        ("contributors_count", "73"),
        ("discussions", "True"),
    ]
    assert datetime.now(UTC) - datetime.fromisoformat(dcat["tstamp"]) < timedelta(hours=1)
    assert (formula["latest_release"], formula["stars"]) == ("'=HYPERLINK(1)", "0")
    assert set(gone.values()) == {gone["tstamp"], "ckan/ckanext-gone", "https://github.com/ckan/ckanext-gone", ""}


@pytest.mark.slow
def test_what_an_interrupted_run_has_crawled_is_not_crawled_again(place) -> None:
    with Catalogue(PACKAGES) as catalogue, GitHub(REPOSITORIES) as github:
        words = ("--skip", "sites", "--catalogue", catalogue.url, "-s", f"GITHUB_API={github.url}")
        begun = datetime.now(UTC).isoformat()
        assert place.run(*words).returncode == 0
        (place.folder / "jobs" / "ecosystem-extensions.json").write_text(
            json.dumps({"begun": begun, "catalogue": catalogue.url})
        )
        github.forget()
        ran = place.run(*words)
    assert ran.stdout.startswith("ckan_extensions: this run has crawled it already.\nWrote ")
    assert github.asked == []


@pytest.mark.slow
def test_nothing_is_published_when_portals_are_down_at_once(place, world) -> None:
    for number in range(6):
        put_profile(place.output, "ckan_sites", "site", {"id": f"site-{number}", "state": "up"})
    world.go_down(*HOSTS[:2])
    words = (*world.publishing, "--skip", "extensions", "--skip", "timeseries")
    ran = place.run(*words, RETRY_TIMES="0")
    assert ran.returncode == 4
    assert ran.stderr == (
        "Nothing is published: 2 of 6 portals that were up at the last run are not up now, more than 10 %. The network "
        "here may be the reason: check it and run again. If they are down indeed, add --max-down 34.\n"
    )
    assert (world.catalogue.writes(), "Wrote" in ran.stdout) == ([], False)
    again = place.run(*words, "--max-down", "34", RETRY_TIMES="0")
    assert again.returncode == 0, again.stderr
    assert "ckan_sites: 2 of 6 portals that were up at the last run are not up now." in again.stdout
    assert [row["num_datasets"] for row in place.rows("ckan_stats.csv")] == ["", "", "22", "23", "24", "25"]
    assert world.shown("site", "num_datasets") == [100, 101, 22, 23, 24, 25], "unknown overwrites nothing"


@pytest.mark.slow
def test_a_crawl_without_quota_is_not_published_and_the_next_run_continues_it(place) -> None:
    with Catalogue(PACKAGES) as catalogue, GitHub(REPOSITORIES, limits={"core": 0, "graphql": 0}) as github:
        words = ("--skip", "sites", "--catalogue", catalogue.url)
        settings = {"GITHUB_API": github.url, "RETRY_AFTER_MAX": "0"}
        ran = place.run(*words, "--publish-to", catalogue.url, "--yes", **settings)
        actions = {asked.action for asked in catalogue.site.asked}
        github.limits = None
        github.forget()
        again = place.run(*words, **settings)
    assert ran.returncode == 3, ran.stdout
    assert "ckan_extensions is not complete: nothing of it is published.\nGitHub's rate limit is used up" in ran.stdout
    assert actions <= {"package_search", "robots.txt"}
    assert (again.returncode, "resumed" in again.stdout) == (0, True), again.stdout
    assert len(place.rows("dynamic_metadata_update.csv")) == 3


@pytest.mark.slow
def test_a_dry_run_shows_what_would_be_written_and_writes_nothing(place, world) -> None:
    del os.environ["CKAN_API_KEY"]
    ran = place.run(*world.words, "--publish-to", world.catalogue.url, "--dry-run")
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    assert ran.stdout.count("6 records to be changed") == ran.stdout.count("3 records to be changed") == 1
    assert (world.catalogue.writes(), world.catalogue.tables()) == ([], {})
    assert len(place.rows("ckan_stats.csv")) == 6


@pytest.mark.slow
def test_a_terminal_is_asked(place, world) -> None:
    only_sites = ("--skip", "extensions", "--skip", "timeseries")
    words = place.words(*world.words, "--publish-to", world.catalogue.url, *only_sites)
    code, shown = answered("y\n", words)
    assert code == 0, shown
    assert f"Write this to {world.catalogue.url}? [y/N]" in shown
    assert world.shown("site", "num_datasets") == [20, 21, 22, 23, 24, 25]


def test_another_publish_is_waited_for(tmp_path: Path) -> None:
    other = take(tmp_path / "publish-to-127.0.0.1" / LOCK)
    assert other is not None
    waiting = Thread(target=wait_for_others, args=("http://127.0.0.1:9", tmp_path))
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    os.close(other)
    waiting.join()


# An interrupted run


def test_what_a_run_has_found_out_counts_for_a_day(tmp_path: Path) -> None:
    part, path = PARTS[0], tmp_path / "ecosystem-sites.json"
    first = Progress.take(tmp_path, part, "https://a.example.org")
    assert first
    assert Progress.take(tmp_path, part, "https://a.example.org") is None
    first.release()
    for hours, catalogue, is_same in ((23, "a", True), (25, "a", False), (1, "b", False)):
        begun = (datetime.now(UTC) - timedelta(hours=hours)).isoformat()
        path.write_text(json.dumps({"begun": begun, "catalogue": catalogue}))
        again = Progress.take(tmp_path, part, "a")
        assert again
        assert (again.begun == begun) is is_same
        again.end()
        again.release()
        assert json.loads(path.read_text()) == {}


# What was up


def test_what_was_up_and_is_not_is_counted(tmp_path: Path) -> None:
    states = ("up", "moved", "down", "unknown", "up", "blocked")
    for number, state in enumerate(states):
        put_profile(tmp_path, "sites", "site", {"id": f"portal-{number}", "state": state})
    ecosystem.remember(tmp_path, "sites", "site", tmp_path / "up")
    assert ecosystem.compare(tmp_path / "sites", tmp_path / "up") == (3, 0)
    put_profile(tmp_path, "sites", "site", {"id": "portal-0", "state": "blocked"})
    put_profile(tmp_path, "sites", "site", {"id": "portal-2", "state": "up"})
    found = ecosystem.compare(tmp_path / "sites", tmp_path / "up")
    assert (found, round(found.percent)) == ((3, 1), 33)


def test_nothing_was_up_before_the_first_run(tmp_path: Path) -> None:
    ecosystem.remember(tmp_path, "sites", "site", tmp_path / "up")
    assert ecosystem.compare(tmp_path / "sites", tmp_path / "up").percent == 0


# Mistakes


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("run --publish-to https://a.example.org", "There is no terminal to ask on: add --yes"),
        ("run --publish-to https://a.example.org --yes", "The environment has no CKAN_API_KEY"),
        ("run --catalogue ftp://a.example.org", "--catalogue 'ftp://a.example.org' is not"),
        ("run --max-down 101", "--max-down '101' is not a percentage, from 0 to 100."),
        ("run --max-down nan", "--max-down 'nan' is not a percentage, from 0 to 100."),
        ("walk", "scrapy ecosystem takes: "),
        ("csv", "scrapy ecosystem takes: "),
        ("csv {folder}/csv", "has no index.sqlite: crawl a source first"),
    ],
)
def test_a_mistake_is_a_sentence(tmp_path: Path, words: str, sentence: str) -> None:
    given = words.format(folder=tmp_path).split()
    ran = command("ecosystem", *given, "-s", f"OUTPUT_DIR={tmp_path}/output", "-s", f"JOBS_DIR={tmp_path}/jobs")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert sentence in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_csv_files_of_what_is_on_disk(place) -> None:
    put_profile(place.output, "ours", "site", {"id": "a", "name": "a", "url": "https://a.example.org", "state": "up"})
    put_profile(place.output, "theirs", "site", {"id": "b", "name": "b", "url": None, "num_datasets": 0})
    words = ["ecosystem", "csv", str(place.folder / "csv"), "-s", f"OUTPUT_DIR={place.output}"]
    several = command(*words)
    assert (several.returncode, several.stderr) == (
        1,
        "Several sources have sites: ours, theirs. Name the one that you mean.\n",
    )
    assert command(*words, "ours").returncode == 0
    row = {"name": "a", "url": "https://a.example.org"}
    assert place.rows("site_urls.csv") == [row]
    unknown = dict.fromkeys(("num_datasets", "num_groups", "num_organizations", "ckan_version", "extensions"), "")
    assert place.rows("ckan_stats.csv") == [{"tstamp": "2026-11-22"} | row | unknown]


def test_a_package_without_a_name_has_its_id_and_half_a_character_is_left_out(tmp_path: Path) -> None:
    extension = {"id": "a/b", "repository": "a/b", "url": "https://github.com/a/b", "state": "found"}
    extension |= {"catalog_ids": ["x", "y"], "catalog_names": [None, "\ud800"]}
    site = {"id": "a", "name": "a", "url": "https://a.example.org", "extensions": ["\ud800", "=1"]}
    for kind, profile in (("site", site), ("extension", extension)):
        put_profile(tmp_path / "output", kind, kind, profile)
        ecosystem.write(tmp_path / "output", kind, kind, "https://c.example.org", tmp_path / "csv")
    rows = Place(tmp_path).rows("url_list.csv")
    assert [row["catalog_url"].rpartition("/")[2] for row in rows] == ["x", ""]
    assert Place(tmp_path).rows("ckan_stats.csv")[0]["extensions"] == '["", "=1"]'


# Killed


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 4, 6])
def test_a_run_that_is_killed_while_it_publishes_is_continued(place, world, number) -> None:
    world.catalogue.fault(write_lost=f"{number}:hang")
    words = (*world.publishing, "--skip", "extensions", "--skip", "timeseries")
    with place.begin(*words) as process:
        until(lambda: len(world.catalogue.writes()) >= number, unless=lambda: process.poll() is not None)
        process.kill()
        pid = until(lambda: place.pid("publish-to-127.0.0.1"))
        os.kill(int(pid), signal.SIGKILL)
    world.catalogue.fault(write_lost=None)
    ran = place.run(*words)
    assert ran.returncode == 0, ran.stderr
    assert "ckan_sites: this run has crawled it already." in ran.stdout
    assert world.shown("site", "num_datasets") == [20, 21, 22, 23, 24, 25]


@pytest.mark.slow
def test_a_run_that_is_killed_while_it_crawls_is_continued(place, world) -> None:
    world.portals.sites[HOSTS[0]] = hang
    words = (*world.publishing, "--skip", "timeseries", "-s", "RETRY_TIMES=0")
    sites = place.output / "ckan_sites" / "sites"
    with place.begin(*words, "-s", "DOWNLOAD_TIMEOUT=600") as process:  # it waits until it is killed
        until(lambda: sites.exists() and len(list(sites.iterdir())) == 5, unless=lambda: process.poll() is not None)
        process.kill()
        until(lambda: (place.output / "ckan_extensions" / "runs").exists() and place.pid("ckan_sites"))
        os.kill(int(place.pid("ckan_sites") or 0), signal.SIGKILL)
    ran = place.run(*words, "-s", "DOWNLOAD_TIMEOUT=5")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    crawl = Crawl(0, "", place.output / "ckan_sites")
    assert (crawl.report["resumed"], len(crawl.manifest)) == (True, 6)
    assert world.shown("site", "num_datasets") == [100, 21, 22, 23, 24, 25]


@pytest.mark.slow
def test_a_run_that_is_stopped_while_it_publishes_stops_well(place, world) -> None:
    world.catalogue.fault(write_hangs="3:hang")
    words = (*world.publishing, "--skip", "extensions", "--skip", "timeseries")
    with place.begin(*words) as process:
        until(lambda: len(world.catalogue.writes()) >= 3, unless=lambda: process.poll() is not None)
        process.send_signal(signal.SIGTERM)
        world.catalogue.fault(write_hangs=None)
        assert process.wait() in (0, 130)
    assert place.run(*words).returncode == 0
    assert world.shown("site", "num_datasets") == [20, 21, 22, 23, 24, 25]
