"""Publishing to a CKAN portal: whole commands against the tests' portal, judged by its records."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.exceptions import AnswerError
from crawlers.operate.publish import lines
from crawlers.publish.datastore import read_rows
from crawlers.publish.journal import Journal, Steps
from crawlers.publish.operations import Change, Field, PackagePatch
from crawlers.publish.publication import Plan
from crawlers.store import timeseries
from tests import forked
from tests.conftest import ROOT, Crawl, command, options, scrapy
from tests.portal import records
from tests.portal.writes import WRITE_TOKEN
from tests.profiles import put_profile
from tests.terminal import answered
from tests.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.portal.portal import Portal

SOURCE = "ecosystem"
FIGURES = {"num_datasets": 1200, "num_groups": 7, "num_organizations": None, "ckan_version": "2.11.3"}
"""What this week's crawl found out; null is not known."""
NEW = {name: value for name, value in FIGURES.items() if value is not None}
IDS = [records.site(index)["id"] for index in range(60)]
MOMENTS = ("write_hangs", "write_lost")
"""Where a run is killed: before the portal has done a write, or after, but before its answer comes."""

OPEN = {"forward": ("planned", "sent"), "back": ("sent", "done")}
"""The states of steps that are still to be written, or to be restored."""


def profile(index: int, **facts: Any) -> dict[str, Any]:
    record = records.site(index)
    about = {"id": f"portal-{index}.example.org", "name": record["title"], "catalog_id": record["id"]}
    return about | FIGURES | facts


@pytest.fixture
def catalogue(portal: Callable[..., Portal], output: Path) -> Callable[..., Portal]:
    """Starts a catalogue of some portals, with their profiles on disk; ``extras``: it has no schema."""

    def start(sites: int = 4, *, extras: bool = False) -> Portal:
        started = portal(datasets=0)
        schemas = {} if extras else {"site": records.SITE_FIELDS, "extension": records.EXTENSION_FIELDS}
        started.change(put=[records.site(index, extras=extras) for index in range(sites)], schemas=schemas)
        for index in range(sites):
            put_profile(output, SOURCE, "site", profile(index))
        return started

    return start


@dataclass
class Publish(Crawl):
    """What a publish left; ``shown`` is its standard output."""

    shown: list[str] = field(default_factory=list)

    @property
    def about(self) -> dict[str, Any]:
        return self.report["published"]


def words(output: Path, portal: Portal, what: str, *more: str, **settings: str) -> list[str]:
    return ["publish", *what.split(), "--to", portal.url, *more, *options(output, settings)]


@pytest.fixture
def publish(output: Path) -> Callable[..., Publish]:
    """Publishes: ``publish(portal, "sites", "--yes")``."""
    os.environ["CKAN_API_KEY"] = WRITE_TOKEN

    def run(portal: Portal, what: str = "sites", *more: str, **settings: str) -> Publish:
        ran = scrapy(*words(output, portal, what, *(more or ("--yes",)), **settings))
        return Publish(ran.returncode, ran.stderr, output / "publish-to-127.0.0.1", ran.stdout.splitlines())

    return run


def old(portal: Portal, *, extras: bool = False) -> dict[str, Any]:
    """Return the catalogue's records as they were, without stamps."""
    return {IDS[index]: stampless(records.site(index, extras=extras)) for index in range(len(portal.packages()))}


def new(portal: Portal) -> dict[str, Any]:
    return {key: record | NEW for key, record in old(portal).items()}


def now(portal: Portal) -> dict[str, Any]:
    return {key: stampless(record) for key, record in portal.packages().items()}


def stampless(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "metadata_modified"}


# What is written


def test_what_is_known_goes_into_the_records_and_only_once(catalogue, publish, output) -> None:
    portal = catalogue()
    portal.change(edit={IDS[0]: {"extensions": ["b", "a"]}})
    put_profile(output, SOURCE, "site", profile(0, extensions=["a", "b"]))
    ran = publish(portal)
    assert (ran.code, ran.report["verdict"]) == (0, "complete"), ran.log
    assert now(portal) == new(portal) | {IDS[0]: new(portal)[IDS[0]] | {"extensions": ["b", "a"]}}
    assert ran.about["phase"] == "published"
    assert ran.about["records"] == {"done": 4}
    assert ran.report["counts"]["updated"] == 4
    assert f"To undo it: scrapy publish --rollback {ran.about['run']}" in ran.lines
    portal.reset()
    again = publish(portal)
    assert (again.code, again.about["as_wanted"], portal.writes()) == (0, 4, [])
    assert "Nothing to do: 4 records as wanted." in again.shown


def test_figures_that_a_catalogue_keeps_as_extras_stay_there(catalogue, publish) -> None:
    portal = catalogue(2, extras=True)
    assert publish(portal).code == 0
    for record in portal.packages().values():
        kept = {one["key"]: one["value"] for one in record["extras"]}
        assert kept == {name: str(value) for name, value in NEW.items()} | {"checked_by": "an editor", "zone": "north"}
        assert not set(NEW) & set(record)


def test_an_extension_s_figures_are_written_as_its_schema_has_them(catalogue, publish, output) -> None:
    portal = catalogue(0)
    shown = {"stars": 3, "forks_count": 1, "discussions": "False", "extensions": ["b", "a"]}
    both = [records.extension(index, shown) for index in range(2)]
    portal.change(put=both, schemas={"extension": [*records.EXTENSION_FIELDS, "extensions"]})
    facts = {"stars": 4, "forks": 2, "open_issues": 0, "discussions": 5, "release_date": "2026-11-15T10:00:00Z"}
    named = {"id": "ckan/ckanext-0", "catalog_ids": [one["id"] for one in both], "last_commit": None}
    put_profile(output, SOURCE, "extension", named | facts)
    assert publish(portal, "extensions").code == 0
    wanted = {"stars": 4, "forks_count": 2, "open_issues": 0, "discussions": "True", "release_date": "2026-11-15"}
    assert now(portal) == {one["id"]: stampless(one) | wanted for one in both}


def test_a_dry_run_writes_nothing_and_needs_no_token(catalogue, publish, output) -> None:
    portal = catalogue(2)
    del os.environ["CKAN_API_KEY"]
    ran = publish(portal, "sites", "--dry-run")
    assert ran.code == 0, ran.log
    assert "     num_datasets  100 -> 1200" in ran.shown
    assert portal.writes() == []
    assert now(portal) == old(portal)
    assert {path.name.partition(".sqlite")[0] for path in output.iterdir()} == {SOURCE, "index"}


def test_the_token_goes_to_write_actions_only(catalogue, publish, output) -> None:
    portal = catalogue(2)
    portal.change(edit={IDS[0]: {"notes": f"An echo of {WRITE_TOKEN}"}})
    ran = publish(portal)
    assert ran.code == 0
    assert {one["token"] for one in portal.writes()} == {WRITE_TOKEN}
    assert len(portal.writes()) == 2
    assert not [one for one in portal.log() if one not in portal.writes() and "token" in one]
    shutil.rmtree(output / SOURCE)
    assert not [path for path in output.rglob("*") if path.is_file() and WRITE_TOKEN.encode() in path.read_bytes()]
    assert WRITE_TOKEN not in ran.log


# Approval


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("sites --to {url}", "There is no terminal to ask on: add --yes to publish, or --dry-run to see the plan."),
        ("sites --to {url} --yes", "The environment has no CKAN_API_KEY"),
        ("sites --yes", "--to is missing: the portal's address"),
        ("towns --to {url} --yes", "scrapy publish takes: sites|extensions"),
        ("extensions --to {url} --yes", "None has: run `scrapy crawl ckan_extensions` first."),
        ("sites nowhere --to {url} --yes", "nowhere has no sites. These have: ecosystem."),
        ("--rollback 20261122T030000Z --yes", "has no publish 20261122T030000Z"),
    ],
)
def test_a_mistake_is_a_sentence(output, given, sentence) -> None:
    put_profile(output, SOURCE, "site", profile(0))
    if "no CKAN_API_KEY" not in sentence:
        os.environ["CKAN_API_KEY"] = WRITE_TOKEN
    ran = command("publish", *given.format(url="http://127.0.0.1:9").split(), *options(output, {}))
    assert (ran.returncode, sentence in ran.stderr, "Traceback" in ran.stderr) == (1, True, False), ran.stderr
    assert not (output / "publish-to-127.0.0.1").exists()


@pytest.mark.parametrize(("answer", "written"), [("no\n", False), ("y\n", True)])
def test_a_terminal_is_asked(catalogue, output, answer, written) -> None:
    portal = catalogue(1)
    os.environ["CKAN_API_KEY"] = WRITE_TOKEN
    code, shown = answered(answer, words(output, portal, "sites"))
    assert code == 0, shown
    assert f"Write this to {portal.url}? [y/N]" in shown
    assert now(portal) == (new if written else old)(portal)
    assert ("partial" in shown) != written


# Failures


def test_if_a_write_is_refused_all_others_are_restored(catalogue, publish) -> None:
    portal = catalogue()
    portal.fault(write_refused="3", still_stamps=True)
    ran = publish(portal)
    assert (ran.code, ran.report["verdict"], ran.report["finish_reason"]) == (4, "failed", "rolled_back")
    assert now(portal) == old(portal)
    assert ran.about["phase"] == "undone"
    assert ran.about["records"] == {"failed": 1, "planned": 1, "restored": 2}
    assert ran.kinds() == [("write", "refused")]
    assert ran.errors[0]["error"] == "HTTP 409 Conflict: Validation Error: num_datasets: Invalid integer"
    assert ran.errors[0]["dataset_id"] in IDS


@pytest.mark.parametrize(
    ("faults", "sent"),
    [
        ({"write_lost": "2"}, 4),
        ({"write_lost": "2:502"}, 4),
        ({"write_fails": "2:500"}, 5),
        ({"write_limited": "2"}, 5),
    ],
)
def test_a_write_whose_answer_is_lost_is_read_before_it_is_repeated(catalogue, publish, faults, sent) -> None:
    portal = catalogue()
    portal.fault(**faults)
    ran = publish(portal)
    assert ran.code == 0, ran.log
    assert now(portal) == new(portal)
    assert len(portal.writes()) == sent


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"forgets": "num_groups"}, "the portal answered success, and has other values of: num_groups"),
        ({"write_fails": "2+:500"}, "HTTP 500 Internal Server Error"),
        ({"write_moved": "2:http://127.0.0.2"}, "the portal redirects writes to http://127.0.0.2/api"),
        ({"denied": "package_patch"}, "HTTP 403 Forbidden: Authorization Error: Access denied"),
    ],
)
def test_what_fails_for_good_is_rolled_back_in_its_words(catalogue, publish, faults, words) -> None:
    portal = catalogue(3)
    portal.fault(**faults)
    ran = publish(portal, "sites", "--yes", RETRY_TIMES="1")
    assert words in ran.errors[0]["error"]
    if "write_fails" in faults:  # the portal takes no write that restores, either
        assert ran.about["phase"] == "undoing"
        portal.fault(write_fails=None)
        assert "was interrupted; it is finished or undone first" in publish(portal).log
        assert now(portal) == new(portal)
    elif "forgets" in faults:
        assert ran.about["records"] == {"conflict": 1, "planned": 2}
    else:
        assert (ran.code, ran.about["phase"], now(portal)) == (4, "undone", old(portal))
    assert not [one for one in portal.log() if one.get("token") and not one["path"].startswith("/api/3/action/pack")]


def test_a_number_of_retries_below_zero_is_refused(catalogue, publish) -> None:
    portal = catalogue(1)
    ran = publish(portal, "sites", "--yes", RETRY_TIMES="-1")
    assert (ran.code, portal.writes()) == (2, []), ran.log
    assert "RETRY_TIMES='-1' is not 0 or more" in ran.log


@pytest.mark.parametrize("status", [409, 403])
def test_a_write_that_is_refused_and_done_nevertheless_is_restored_too(catalogue, publish, status) -> None:
    portal = catalogue(3)
    portal.fault(write_lost=f"2:{status}")
    ran = publish(portal)
    assert (ran.code, ran.about["phase"], now(portal)) == (4, "undone", old(portal)), ran.log
    assert f"HTTP {status}" in ran.errors[0]["error"]


def test_a_portal_that_does_not_answer_gets_no_writes(catalogue, publish) -> None:
    portal = catalogue(1)
    portal.fault(error="package_search")
    ran = publish(portal, "sites", "--yes", RETRY_TIMES="1")
    assert (ran.code, ran.report["verdict"], ran.kinds(), portal.writes()) == (4, "failed", [("fetch", "http")], [])


# Other editors


def test_what_others_have_changed_since_is_kept_and_named(catalogue, publish) -> None:
    """Record 1 is edited while record 3 is written, which the portal refuses."""
    portal = catalogue()
    portal.fault(write_edited=f"3:{IDS[1]}", write_refused="3", still_stamps=True)
    ran = publish(portal)
    edited = {"title": "Edited by somebody else"}
    order = [one["dataset_id"] for one in ran.errors]
    assert (ran.code, ran.about["phase"]) == (4, "undone")
    if IDS[1] == order[0]:  # it is the one that was refused
        assert now(portal) == old(portal) | {IDS[1]: old(portal)[IDS[1]] | edited}
    else:
        assert now(portal) == old(portal) | {IDS[1]: new(portal)[IDS[1]] | edited}
        assert ran.kinds() == [("write", "refused"), ("write", "conflict")]
        assert "it was changed by somebody else since it was written (title), and is kept so" in ran.errors[1]["error"]


def test_an_edit_of_another_field_at_the_same_time_is_no_conflict(catalogue, publish) -> None:
    portal = catalogue(1)
    portal.fault(write_edited=f"1:{IDS[0]}")
    assert publish(portal).code == 0
    assert now(portal)[IDS[0]] == new(portal)[IDS[0]] | {"title": "Edited by somebody else"}


# The way back


def test_a_finished_publish_is_undone_later(catalogue, publish) -> None:
    portal = catalogue()
    run = publish(portal).about["run"]
    portal.change(edit={IDS[2]: {"title": "Edited since"}})
    shown = publish(portal, f"--rollback {run}", "--dry-run")
    assert "4 records to be restored, 12 fields (ckan_version 4, num_datasets 4, num_groups 4)." in shown.shown
    assert now(portal)[IDS[0]] == new(portal)[IDS[0]]
    ran = publish(portal, f"--rollback {run}")
    assert (ran.code, ran.report["verdict"], ran.kinds()) == (3, "incomplete", [("write", "conflict")])
    assert ran.about["records"] == {"conflict": 1, "restored": 3}
    assert now(portal) == old(portal) | {IDS[2]: new(portal)[IDS[2]] | {"title": "Edited since"}}
    portal.change(edit={IDS[2]: {"title": old(portal)[IDS[2]]["title"]}})
    assert publish(portal, f"--rollback {run}").code == 0
    assert now(portal) == old(portal)
    assert f"The publish {run} was undone already" in publish(portal, f"--rollback {run}").log


def test_what_the_portal_refuses_to_restore_can_be_restored_later(catalogue, publish) -> None:
    portal = catalogue()
    portal.fault(write_refused="3+")
    ran = publish(portal)
    assert ran.about["records"] == {"conflict": 2, "failed": 1, "planned": 1}
    assert "the portal refuses to restore it" in ran.errors[1]["error"]
    portal.fault(write_refused=None)
    back = publish(portal, f"--rollback {ran.about['run']}")
    assert (back.code, now(portal)) == (0, old(portal)), back.log
    assert "2 records to be restored" in back.shown[-1]


def test_the_journal_of_another_portal_is_none_of_this_one(catalogue, publish, output) -> None:
    portal = catalogue(1)
    run = publish(portal).about["run"]
    (output / "publish-to-127.0.0.1").rename(output / "publish-to-example.org")
    ran = publish(portal, f"--rollback {run}")
    assert (ran.code, "Traceback" in ran.log) == (1, False)
    assert f"has no publish {run}" in ran.log


def test_an_address_is_taken_as_people_write_it(catalogue, publish, output, portal) -> None:
    started = portal(datasets=0, prefix="/donn%C3%A9es")
    started.change(put=[records.site(0)], schemas={"site": records.SITE_FIELDS})
    put_profile(output, SOURCE, "site", profile(0))
    address = started.url.replace("http://127.0.0.1", "HTTP://LOCALHOST").replace("%C3%A9", "é") + "/api/3/"
    ran = publish(started, "sites", "--yes", "--to", address)
    assert (ran.code, now(started)) == (0, new(started)), ran.log


# kill -9


@dataclass
class Killing:
    """Kills a publish at a write: before it is done, or after, but before its answer comes."""

    output: Path
    portal: Portal
    what: str = "sites"

    def kill(self, fault: str, number: int) -> None:
        self.portal.fault(**{fault: f"{number}:hang"})
        self.portal.reset()
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-W", "error", "-m", "scrapy", *words(self.output, self.portal, self.what, "--yes")]
        streams = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
        with forked.Popen(command, cwd=ROOT, env=environment, **streams) as process:
            until(lambda: len(self.portal.writes()) >= number, unless=lambda: process.poll() is not None)
            process.kill()
        self.portal.fault(**dict.fromkeys(MOMENTS))


@pytest.mark.parametrize("fault", MOMENTS)
def test_a_publish_that_is_killed_is_finished_by_the_same_command(catalogue, publish, output, fault) -> None:
    portal = catalogue()
    Killing(output, portal).kill(fault, 2)
    ran = publish(portal)
    assert (ran.code, now(portal)) == (0, new(portal)), ran.log
    assert ran.about["as_wanted"] == 4
    assert {one["state"] for one in steps(output)} == {"done"}


@pytest.mark.parametrize("fault", MOMENTS)
def test_a_publish_that_was_killed_can_be_undone_instead(catalogue, publish, output, fault) -> None:
    portal = catalogue()
    Killing(output, portal).kill(fault, 3)
    (run,) = {one["run"] for one in steps(output)}
    ran = publish(portal, f"--rollback {run}")
    assert (ran.code, now(portal)) == (0, old(portal)), ran.log
    assert ran.about["records"] == {"planned": 1, "restored": 3}


def test_a_publish_that_is_interrupted_says_so_and_goes_on(catalogue, publish, output) -> None:
    portal = catalogue(3)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    slowly = words(output, portal, "sites", "--yes", REQUESTS_PER_SECOND="4")
    command = [sys.executable, "-W", "error", "-m", "scrapy", *slowly]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with forked.Popen(command, cwd=ROOT, env=environment, text=True, **streams) as process:
        until(portal.writes, unless=lambda: process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, log = process.communicate()
    assert process.returncode == 130, log
    assert "It is not over: the same command goes on where it was stopped." in log
    assert "Traceback" not in log
    assert publish(portal).code == 0
    assert now(portal) == new(portal)


def test_a_way_back_that_is_killed_is_finished_too(catalogue, publish, output) -> None:
    """A record is refused; the run is killed while it restores the first two. The same command then tries again."""
    portal = catalogue()
    portal.fault(invalid=IDS[2])
    Killing(output, portal).kill("write_lost", 4)
    ran = publish(portal)
    assert (ran.code, now(portal)) == (4, old(portal)), ran.log


def test_a_publish_that_was_killed_before_its_way_back_goes_back(catalogue, publish, output) -> None:
    """A step has failed, and the journal does not say yet that the others are restored."""
    portal = catalogue()
    portal.fault(invalid=IDS[2])
    Killing(output, portal).kill("write_hangs", 4)
    with closing(sqlite3.connect(output / "publish-to-127.0.0.1" / "publish.sqlite")) as db:
        db.execute("UPDATE runs SET phase = 'publishing'")
        db.commit()
    ran = publish(portal)
    assert (ran.code, now(portal)) == (4, old(portal)), ran.log


def test_a_record_that_was_edited_since_the_kill_is_a_conflict(catalogue, publish, output) -> None:
    portal = catalogue()
    Killing(output, portal).kill("write_lost", 2)
    in_flight = next(one["subject"] for one in steps(output) if one["state"] == "sent")
    portal.change(edit={in_flight: {"title": "Edited since"}})
    ran = publish(portal)
    assert (ran.code, ran.kinds()) == (4, [("write", "conflict")])
    assert now(portal) == old(portal) | {in_flight: new(portal)[in_flight] | {"title": "Edited since"}}


def test_two_publishes_to_a_portal_take_turns(catalogue, publish, output) -> None:
    portal = catalogue(1)
    portal.fault(write_hangs="1")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-m", "scrapy", *words(output, portal, "sites", "--yes")]
    streams = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
    with forked.Popen(command, cwd=ROOT, env=environment, **streams) as process:
        until(portal.writes, unless=lambda: process.poll() is not None)
        ran = publish(portal)
        process.kill()
    assert ran.code == 1
    assert "another crawl is writing into" in ran.log


def steps(output: Path) -> list[dict[str, Any]]:
    """Return the journal's steps."""
    with closing(sqlite3.connect(output / "publish-to-127.0.0.1" / "publish.sqlite")) as db:
        db.row_factory = sqlite3.Row
        return [dict(row) for row in db.execute("SELECT * FROM steps ORDER BY run, number")]


@pytest.mark.slow
@pytest.mark.parametrize("way", ["forward", "back"])
def test_fifty_records_are_all_new_or_all_old_after_a_kill_at_every_step(catalogue, publish, output, way) -> None:
    """Each run is killed while the next record is written, or, on the way back, restored.

    By turns before the portal has done the write, and after. The way back begins because the last record is refused.
    """
    portal = catalogue(50)
    killing, before, after = Killing(output, portal), old(portal), new(portal)
    if way == "back":
        portal.fault(invalid=IDS[9])
        killing.kill("write_lost", 51)
    else:
        killing.kill("write_lost", 1)
    kills = 1
    while [one for one in steps(output) if one["state"] in OPEN[way]][1:]:
        killing.kill(MOMENTS[kills % 2 - 1], 2 - kills % 2)
        kills += 1
        assert all(record in (before[key], after[key]) for key, record in now(portal).items())
    ran = publish(portal)
    assert (ran.code, now(portal)) == ((0, after) if way == "forward" else (4, before)), ran.log
    assert kills >= 49


# The plan


def changes() -> list[Change]:
    """Return records of every kind that a plan has to show: hostile, long, of lists, left out, and many."""
    hostile = [Field("title\x1b[2J", "old\r\nforged", "new\u202e"), Field("notes", None, "n" * 2000)]
    lists = [Field("extensions", ["dcat", "harvest"], ["dcat", "scheming", *(f"x{index}" for index in range(20))])]
    wide = [Field(f"field_{index}", index, index + 1) for index in range(15)]
    plain = [Field("num_datasets", 25, 26), Field("discussions", "False", True)]
    kinds = [
        ("Hostile\x07 \x9b2J", hostile),
        ("Lists", lists),
        ("Wide", wide),
        *((f"Site {i}", plain) for i in range(22)),
    ]
    found = [_change(title, fields=fields) for title, fields in kinds]
    found += [_change(f"Gone {index}", problem="the catalogue has no such record") for index in range(12)]
    return [*found, _change("As wanted")]


def _change(title: str, **more: Any) -> Change:
    return Change(operation="package_patch", subject=f"id-of-{title}", title=title, **more)


def test_a_plan_is_shown_field_by_field_and_long_ones_are_folded(tmp_path) -> None:
    with Journal(tmp_path / "publish.sqlite") as journal:
        run = journal.begin("20261122T030000Z", "https://ecosystem.example.org", "sites of ecosystem")
        steps = Steps(journal, run)
        steps.add(changes())
        plan = Plan(journal.entry(run), steps, is_rollback=False, has_work=True)
        shown = [*lines(plan)]
        assert shown == (ROOT / "tests/golden/publish/plan.txt").read_text(encoding="utf-8").splitlines()
        assert all(line.isprintable() for line in shown)
        full = [*lines(plan, is_full=True)]
    assert sum(line.startswith("     num_datasets") for line in full) == 22
    assert [line for line in full if "more" in line and "values" not in line] == [full[-1]]


def test_a_journal_forgets_plans_that_were_not_approved_and_what_is_long_over(tmp_path) -> None:
    with Journal(tmp_path / "publish.sqlite") as journal:
        for name in ("first", "second"):
            run = journal.begin(name, "https://a.example", "sites")
            Steps(journal, run).add(changes())
        assert (journal.entry("first"), journal.interrupted("https://a.example")) == (None, None)
        journal.mark("second", "publishing")
        assert journal.interrupted("https://a.example").run == "second"
        assert journal.interrupted("https://b.example") is None
        assert journal.begin("second", "https://a.example", "sites") == "second-2"
        journal.mark("second", "published")
        journal.forget("2020-01-01T00:00:00Z")
        assert Steps(journal, "second").counts() == {"left_out": 12, "planned": 25}
        journal.forget("2100-01-01T00:00:00Z")
        assert journal.entry("second") is None
        assert Steps(journal, "second").counts() == {}


# Time series

ROW = {"name": "ckan-sites-metadata", "resources": []}


@pytest.fixture
def series(portal, output) -> Callable[..., Portal]:
    """Starts a portal with a dataset for time series, and observations of portals on disk."""

    def start(days: dict[str, int]) -> Portal:
        started = portal(datasets=0)
        started.change(put=[records.site(0, {}) | ROW])
        put_profile(output, SOURCE, "site", profile(0))
        for day, count in days.items():
            observe(output, day, count)
        return started

    return start


def observe(output: Path, day: str, count: int, **values: str) -> None:
    found = [(f"portal-{n}.example.org", "num_datasets", str(100 + n)) for n in range(count)]
    timeseries.write(output / SOURCE, day, [*found, *((name, "ckan_version", text) for name, text in values.items())])


def rows(portal: Portal) -> dict[tuple[str, str, str], tuple[str, float | None]]:
    """Return the rows of the only table: by their keys, value and number."""
    (table,) = portal.tables().values()
    assert table["key"] == ["day", "subject", "metric"]
    return {tuple(row[name] for name in table["key"]): (row["value"], row["number"]) for row in table["rows"]}


def test_a_time_series_becomes_a_table_and_is_upserted_after(series, publish, output) -> None:
    portal = series({"2026-11-01": 300, "2026-11-08": 2})
    made = publish(portal, "timeseries")
    assert (made.code, made.about["records"]) == (0, {"done": 4}), made.log
    assert len(rows(portal)) == 302
    assert rows(portal)["2026-11-08", "portal-1.example.org", "num_datasets"] == ("101", 101)
    table = set(portal.tables())
    observe(output, "2026-11-08", 1, town="2.10")
    observe(output, "2026-11-15", 1)
    portal.reset()
    again = publish(portal, "timeseries")
    assert (again.code, again.about["records"]) == (0, {"done": 2}), again.log
    assert set(portal.tables()) == table
    assert rows(portal)["2026-11-08", "town", "ckan_version"] == ("2.10", None)
    assert len(rows(portal)) == 304
    assert {one["path"].rpartition("_")[2] for one in portal.writes()} == {"upsert"}
    nothing = publish(portal, "timeseries")
    assert "Nothing to do" in "".join(nothing.shown)


def test_each_day_is_compared_with_what_the_table_has_of_it(series, publish, output) -> None:
    """Also those before its last one; and a day that has not come, there or here, holds nothing up."""
    portal = series({"2026-11-01": 2, "2026-11-08": 2})
    publish(portal, "timeseries")
    row = {"_id": 99, "day": "2094-01-01", "subject": "town", "metric": "stars", "value": "1", "number": 1}
    portal.add_rows(min(portal.tables()), [row])
    observe(output, "2026-10-25", 1)
    timeseries.write(output / SOURCE, "2026-11-01", [("portal-1.example.org", "num_datasets", "7")])
    observe(output, "2095-01-01", 1)
    portal.reset()
    ran = publish(portal, "timeseries")
    assert (ran.code, ran.about["records"]) == (0, {"done": 2, "left_out": 1}), ran.log
    assert rows(portal)["2026-10-25", "portal-0.example.org", "num_datasets"] == ("100", 100)
    assert rows(portal)["2026-11-01", "portal-1.example.org", "num_datasets"] == ("7", 7)
    assert not [day for day, *_ in rows(portal) if day == "2095-01-01"]
    assert "(2095-01-01): this day has not come yet: correct the clock" in "".join(ran.shown)
    assert portal.requests("day%22") == 1 + 2 * 2, "all days at once; then each step before and after its write"


def test_rows_are_restored_as_they_were_and_no_others_are_deleted(series, publish, output) -> None:
    portal = series({"2026-11-08": 3})
    publish(portal, "timeseries")
    before = rows(portal)
    observe(output, "2026-11-08", 3, **{"portal-0.example.org": "2.11"})
    observe(output, "2026-11-15", 2)
    timeseries.write(output / SOURCE, "2026-11-08", [("portal-1.example.org", "num_datasets", "7")])
    ran = publish(portal, "timeseries")
    run = ran.about["run"]
    assert "     num_datasets of portal-1.example.org  101 -> 7" in ran.shown
    assert ran.shown[-1] == "2 records to be changed, 3 fields (new rows 2, num_datasets 1). 0 more as wanted."
    assert len(rows(portal)) == len(before) + 3
    key = {"day": "2026-11-15", "subject": "somebody else's", "metric": "num_datasets"}
    portal.add_rows(min(portal.tables()), [{"_id": 99, **key, "value": "1", "number": 1}])
    back = publish(portal, f"--rollback {run}")
    assert (back.code, back.about["phase"]) == (0, "undone"), back.log
    assert rows(portal) == before | {tuple(key.values()): ("1", 1)}


def test_a_table_that_the_publish_made_goes_with_its_way_back(series, publish) -> None:
    portal = series({"2026-11-08": 3})
    before = now(portal)
    portal.fault(write_refused="2")
    ran = publish(portal, "timeseries")
    assert (ran.code, ran.about["phase"], portal.tables(), now(portal)) == (4, "undone", {}, before), ran.log


def test_a_table_is_made_again_after_a_way_back_that_was_killed(series, publish, output) -> None:
    portal = series({"2026-11-01": 3, "2026-11-08": 3})
    portal.fault(write_refused="3")
    Killing(output, portal, "timeseries").kill("write_lost", 4)
    portal.fault(write_refused=None)
    ran = publish(portal, "timeseries")
    assert (ran.code, len(rows(portal))) == (0, 6), ran.log


def test_a_table_that_others_write_into_by_now_is_not_removed(series, publish, output) -> None:
    portal = series({"2026-11-08": 3})
    Killing(output, portal, "timeseries").kill("write_lost", 1)
    row = {"_id": 99, "day": "2026-11-15", "subject": "somebody else's", "metric": "num_datasets"}
    portal.add_rows(min(portal.tables()), [row | {"value": "1", "number": 1}])
    (run,) = {one["run"] for one in steps(output)}
    ran = publish(portal, f"--rollback {run}")
    assert (ran.code, ran.kinds(), len(rows(portal))) == (3, [("write", "conflict")], 1), ran.log


@pytest.mark.parametrize("fault", MOMENTS)
def test_rows_that_were_in_flight_when_the_run_was_killed(series, publish, output, fault) -> None:
    portal = series({"2026-11-01": 300, "2026-11-08": 300})
    Killing(output, portal, "timeseries").kill(fault, 3)
    ran = publish(portal, "timeseries")
    assert (ran.code, len(rows(portal))) == (0, 600), ran.log


class Pages:
    """A portal that gives two rows at once."""

    def __init__(self, found: list[dict[str, Any]]) -> None:
        self.found = found

    async def read(self, _action: str, parameters: dict[str, Any]) -> dict[str, Any]:
        start = parameters["offset"]
        return {"records": self.found[start : start + 2], "total": len(self.found)}


def test_a_portal_that_gives_few_rows_at_once_has_no_row_overlooked() -> None:
    listed = [{"metric": "stars", "subject": f"s{n}", "value": str(n), "number": n} for n in range(5)]
    wanted = [["stars", one["subject"], one["value"], one["number"]] for one in listed]
    found = asyncio.run(read_rows(Pages(listed), "r", "2026-11-08", wanted))
    assert [one["value"] for one in found.values()] == ["0", "1", "2", "3", "4"]


class Confused:
    """A portal that answers with one record whatever it is asked for."""

    async def read(self, _action: str, _parameters: dict[str, Any]) -> dict[str, Any]:
        return {"id": "a", "name": "a-name"}


def test_another_record_than_the_one_that_is_asked_for_is_not_taken_for_it() -> None:
    for subject in ("a", "a-name"):
        change = Change(operation="package_patch", subject=subject, title="")
        assert asyncio.run(PackagePatch().read(Confused(), change))
    with pytest.raises(AnswerError, match="another record than b"):
        asyncio.run(PackagePatch().read(Confused(), Change(operation="package_patch", subject="b", title="")))


def test_a_dataset_that_is_not_there_is_named(series, publish) -> None:
    portal = series({"2026-11-08": 1})
    ran = publish(portal, "timeseries", "--yes", "--dataset", "nowhere")
    assert (ran.code, ran.kinds()) == (4, [("fetch", "refused")])
    assert "the portal has no dataset nowhere" in ran.errors[0]["error"]
