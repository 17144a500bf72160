"""``scrapy sources accept-shrink``: withdraws what the last run refused to, once, if the user says that it is gone."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from crawlers.exceptions import SourcesError
from crawlers.operate.sources.folders import approved
from crawlers.safety.redact import safe_line
from crawlers.store import lines
from crawlers.store.runs import runs

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.operate.sources.file import Call

KIND = "shrink"
SETTING = "ACCEPT_SHRINK"
_LONGEST = 4000  # characters
_RUNS = 10


def refused(output: Path, source: str) -> str | None:
    """Return the run whose list a user may accept: the last one without a limit, if it refused to withdraw."""
    whole = (run for run in runs(output, source, limit=_RUNS) if run.over and run.state != "partial")
    last = next(whole, None)
    return last.run if last and last.run and KIND in last.errors else None


def to_accept(output: Path, source: str) -> str:
    """Return the run whose list a user accepts.

    Raises:
        SourcesError: the last run refused nothing.
    """
    run = refused(output, source)
    if run is None:
        raise SourcesError(f"[{source}]: its last run did not refuse to withdraw anything: there is nothing to accept.")
    return run


def check_queue(queue: str, source: str) -> None:
    """
    Raises:
        SourcesError: the crawl would go into a queue, whose nodes can't be told which list is accepted.
    """
    if queue:
        why = "the nodes of a queue are not told which list is accepted"
        raise SourcesError(f"[{source}]: {why}: run scrapy sources accept-shrink {source} -s QUEUE= on one of them.")


def what(output: Path, source: str, run: str) -> str:
    """Return the sentence of a run that says what it refused to withdraw."""
    try:
        entries = (lines.entry(text) or {} for _, text in lines.read(output / source, "errors.jsonl"))
        found = [entry["error"] for entry in entries if entry.get("run") == run and entry.get("kind") == KIND]
    except (OSError, KeyError):
        found = []
    said = safe_line(" ".join(map(str, found)), _LONGEST)
    return said.rpartition(" If these are gone")[0] or said


def accept_shrink(call: Call) -> int:
    """Show what the last run refused to withdraw, ask, and harvest the source with that list accepted, once.

    Raises:
        SourcesError: the last run refused nothing, or nobody can be asked.
    """
    from crawlers.operate.harvest.crawls import Harvesting  # noqa: PLC0415 -- the other verbs start no crawl

    (name,) = call.file.named(call.names)
    check_queue(str(call.command.settings["QUEUE"] or ""), name)
    run = to_accept(call.output, name)
    print(f"[{name}]: {what(call.output, name, run)}")
    otherwise = "There is no terminal to ask on: add --yes to withdraw them."
    if not (call.opts.yes or approved(otherwise, "Withdraw them, if the next listing lacks the same ones?")):
        print("Nothing was withdrawn.")
        return 0
    given = [*call.opts.set, f"{SETTING}={run}"]
    options = argparse.Namespace(
        all=False, due=False, parallel="1", scrapyd=[], queue=None, wait=True, dry_run=False, verbose=False, set=given
    )
    return Harvesting(call.command.settings, options).run([name])
