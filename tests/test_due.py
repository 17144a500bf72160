"""Which runs count for a source's schedule."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from crawlers.operate.harvest.selection import due, is_own
from crawlers.operate.sources import Source
from crawlers.operate.sources.schedule import parse

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
