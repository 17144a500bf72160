"""Which runs count for a source's schedule."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from crawlers.operate.harvest.job import job
from crawlers.operate.harvest.selection import due, is_own
from crawlers.operate.sources.schedule import delays, parse
from crawlers.operate.sources.source import Source

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
OWN = {"q": "flood", "source": "a", "since": "last"}
TRIAL = {"q": "flood", "source": "a", "max_datasets": "1"}


@pytest.fixture
def standing(tmp_path):
    """How a source that is due monthly stands after runs, the first of them first."""

    def stand(*reports):
        folder = tmp_path / "output" / "a" / "runs"
        folder.mkdir(parents=True)
        for number, (arguments, verdict) in enumerate(reports):
            run = f"20261120T0{number}0000Z"
            report = {"run": run, "arguments": arguments, "verdict": verdict, "started": f"2026-11-20T0{number}:00:00Z"}
            (folder / f"{run}.json").write_text(json.dumps(report | {"finished": report["started"]}))
        source = Source(name="a", spider="hdx", arguments={"q": "flood"}, schedule=parse("monthly 3", "a"))
        return due({"a": source}, tmp_path / "output", tmp_path / "jobs", NOW)[0]

    return stand


def test_a_harvest_counts(standing):
    found = standing((OWN, "complete"))
    assert (found.is_taken, found.reason[:6]) == (False, "due at")


def test_a_trial_is_no_harvest(standing):
    found = standing((TRIAL, "partial"))
    assert (found.is_taken, found.reason) == (True, "never harvested before")
    assert found.last.arguments == TRIAL, "it is its last run all the same"


def test_a_trial_does_not_hide_the_harvest_before_it(standing):
    found = standing((OWN, "complete"), (TRIAL, "partial"), (TRIAL, "interrupted"))
    assert (found.is_taken, found.reason[:6]) == (False, "due at")


def test_a_harvest_that_was_interrupted_before_a_trial_goes_on(standing):
    found = standing((OWN, "interrupted"), (TRIAL, "partial"))
    assert (found.is_taken, found.reason) == (True, "its last run was interrupted")


@pytest.mark.parametrize(
    ("table", "arguments", "counts"),
    [
        ({}, {}, True),
        ({}, {"source": "a"}, True),
        ({}, {"source": "a", "since": "last"}, True),
        ({}, {"since": "2026-01-01"}, False),
        ({"since": "2026-01-01"}, {"since": "2026-01-01", "source": "a"}, True),
        ({"since": "2026-01-01"}, {"since": "last"}, False),
        ({"q": "flood"}, {}, False),
        ({"q": "flood"}, {"q": "drought"}, False),
        ({"max_datasets": "1"}, {"max_datasets": "1", "source": "a", "since": "last"}, True),
        ({}, {"max_datasets": "1"}, False),
    ],
)
def test_whose_arguments_are_the_tables(table, arguments, counts):
    assert is_own(Source(name="a", spider="hdx", arguments=table), arguments) == counts


@pytest.fixture
def next_run(tmp_path):
    """When a source with retries runs next, after runs of half an hour each."""

    def after(*runs, arguments=OWN, retry=("1h", "6h"), now="2026-11-20T05:00:00Z"):
        folder = tmp_path / "output" / "a" / "runs"
        folder.mkdir(parents=True)
        for start, verdict in runs:
            started = datetime.fromisoformat(f"2026-11-{start}:00+00:00")
            report = {"run": f"{started:%Y%m%dT%H%M%SZ}", "arguments": arguments, "verdict": verdict}
            report |= {"started": started.isoformat(), "finished": (started + timedelta(minutes=30)).isoformat()}
            (folder / f"{report['run']}.json").write_text(json.dumps(report))
        schedule = parse("daily 02:00", "a", UTC, delays(retry))
        source = Source(name="a", spider="hdx", arguments={"q": "flood"}, schedule=schedule)
        (found,) = due({"a": source}, tmp_path / "output", tmp_path / "jobs", datetime.fromisoformat(now))
        return f"{found.time:%dT%H:%M}", found.is_taken

    return after


@pytest.mark.parametrize("verdict", ["failed", "incomplete"])
def test_a_run_that_went_wrong_is_tried_again(next_run, verdict):
    assert next_run(("20T02:00", verdict), now="2026-11-20T03:29:00Z") == ("20T03:30", False)


def test_a_retry_is_due_when_its_delay_is_over(next_run):
    assert next_run(("20T02:00", "failed"), now="2026-11-20T03:30:00Z") == ("20T03:30", True)


def test_the_second_retry_takes_the_second_delay(next_run):
    assert next_run(("20T02:00", "failed"), ("20T03:30", "incomplete")) == ("20T10:00", False)


def test_after_all_retries_it_waits_for_its_next_time(next_run):
    runs = [("20T02:00", "failed"), ("20T03:30", "failed"), ("20T10:00", "failed")]
    assert next_run(*runs, now="2026-11-20T23:00:00Z") == ("21T02:00", False)


def test_its_next_time_begins_the_retries_anew(next_run):
    runs = [("19T02:00", "failed"), ("19T03:30", "failed"), ("19T10:00", "failed"), ("20T02:00", "failed")]
    assert next_run(*runs, now="2026-11-20T03:00:00Z") == ("20T03:30", False)


@pytest.mark.parametrize("verdict", ["complete", "partial", "blocked"])
def test_what_is_not_tried_again(next_run, verdict):
    assert next_run(("20T02:00", verdict)) == ("21T02:00", False)


def test_a_success_between_ends_the_retries(next_run):
    assert next_run(("20T02:00", "failed"), ("20T03:30", "complete")) == ("21T02:00", False)


def test_a_retry_after_the_next_time_is_that_time(next_run):
    assert next_run(("20T02:00", "failed"), retry=["3d"]) == ("21T02:00", False)


def test_a_trial_is_not_tried_again(next_run):
    assert next_run(("20T02:00", "failed"), arguments=TRIAL) == ("21T02:00", False)


def test_without_retries_it_waits_for_its_next_time(next_run):
    assert next_run(("20T02:00", "failed"), retry=()) == ("21T02:00", False)


def test_a_harvest_gives_its_crawls_the_contact_of_the_source(tmp_path):
    source = Source(name="a", spider="hdx", contact="them@example.org", archive=True)
    spider = SimpleNamespace(name="hdx", arguments={}, crosses_hosts=False)
    made = job(source, spider, output=tmp_path, jobs=tmp_path, settings={})
    assert made.settings["SOURCE_CONTACT"] == source.archived.contact == "them@example.org"


@pytest.mark.parametrize(("crosses_hosts", "turns"), [(False, "False"), (True, "0")])
def test_only_a_crawl_whose_host_the_harvest_has_takes_no_turns(crosses_hosts, turns, tmp_path):
    spider = SimpleNamespace(name="hdx", arguments={}, crosses_hosts=crosses_hosts)
    given = {"HOST_TURNS": "0", "JOBS_DIR": "elsewhere"}
    made = job(Source(name="a", spider="hdx"), spider, output=tmp_path, jobs=tmp_path, settings=given)
    assert (made.settings["HOST_TURNS"], made.settings["JOBS_DIR"]) == (turns, str(tmp_path))
