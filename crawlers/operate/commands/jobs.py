"""``scrapy jobs``: the runs of each source, pending and running ones first, and the details of one."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from crawlers.exceptions import RunError, hint
from crawlers.operate.strict_command import ProjectCommand, Verb
from crawlers.store.run_text import (
    coloured,
    counted,
    described,
    duration,
    item_line,
    judged,
    listed,
    looks,
    minute,
    table,
)
from crawlers.store.runs import ITEM_STATES, STATES, UNREADABLE, Item, Run, State, damaged, find, items, runs, sources
from crawlers.store.sources_file import is_listed

_COUNTS = ("new", "updated", "unchanged", "withdrawn")
_HEADING = ("run", "source", "state", "datasets", *_COUNTS, "errors", "flaws", "took", "started", "req/s", "why")
_FAILED: tuple[State, ...] = ("incomplete", "blocked", "failed", "interrupted")


class Command(ProjectCommand):
    """Exit code: 0 shown, 1 no such run or source, 3 shown, and a source can't be read."""

    takes_empty_store = True
    verbs: Mapping[str, Verb] = {"show": Verb("", (), 1, 1)}

    takes = (
        "[NAME] [--failed | --status STATE,...] [--since DATE] [--limit N] [--json] | "
        "show NAME|RUN [--failed | --status STATE,...] [--limit N] [--json]"
    )
    summary = "List the runs of each source, or show one"
    description = (
        "List the runs of all sources, or of the named one: pending and running ones first, then the newest. "
        "`show` shows the report and the items of a run, or of the last run of a source; --failed, --status and "
        f"--limit choose among its items, which are {', '.join(ITEM_STATES)}."
    )

    def usage(self, args: list[str]) -> str:
        return f"{super().usage(args)}; `scrapy jobs` lists the runs."

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--limit", metavar="N", help="maximum number of runs (default: 20, with --since all; 0: all), or of items"
        )
        parser.add_argument("--since", metavar="DATE", help="only runs that ended since then, or have not ended")
        parser.add_argument("--failed", action="store_true", help=f"only runs that are {', '.join(_FAILED)}")
        parser.add_argument("--status", metavar="STATE,...", help=f"only runs in these states: {', '.join(STATES)}")
        parser.add_argument("--queue", metavar="URL", help="with the crawls that wait there (default: QUEUE)")
        parser.add_argument("--json", action="store_true", help="as JSON")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        self.output, self.jobs = self.path("OUTPUT_DIR"), self.path("JOBS_DIR")
        self.colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        for sentence in damaged(self.output):
            self.tell_damage(sentence)
        for line in self._lines(args, opts):
            print(line)

    def _lines(self, args: list[str], opts: argparse.Namespace) -> Iterable[str]:
        """Return the lines to print."""
        if args[:1] == ["show"]:
            _, (name,) = self.verb(args, opts)
            for option in ("since", "queue"):
                if getattr(opts, option) is not None:
                    raise self.misuse(f"scrapy jobs show takes no --{option}.")
            states = _states(opts, ITEM_STATES, ("failed",))
            run, limit = find(self.output, name), _limit(opts.limit or "0")
            chosen = islice((item for item in items(run) if item.status in states or states == ITEM_STATES), limit)
            return _shown_json(run, chosen) if opts.json else self._shown(run, chosen)
        if len(args) > 1:
            raise self.misuse(self.usage(args))
        states = _states(opts, STATES, _FAILED)
        queued = self._queued(opts, args) if "pending" in states else []
        source = args[0] if args else None
        since, limit = self.moment("--since", opts.since, source), _limit(opts.limit or ("0" if opts.since else "20"))
        found = queued + self._runs(source, limit, states, since, is_known=bool(queued))
        if opts.json:
            return [json.dumps([_plain(run) for run in found], indent=2)]
        if not found:
            return [self._none(states, opts.since)]
        return table([_HEADING, *map(_row, found)], colours=self.colours)

    def _none(self, states: Collection[State], since: str | None) -> str:
        which = "" if states == STATES else " in these states"
        if since:
            return f"No run{which} has ended since {since}."
        return "No run is in these states." if which else f"{self.output} has no runs yet."

    def _queued(self, opts: argparse.Namespace, sources: Collection[str]) -> list[Run]:
        """Return the crawls that wait in the queue, if there is one."""
        from crawlers.fleet import load

        address = opts.queue or self.settings["QUEUE"]
        jobs = load("queue").Queue(address).jobs() if address else []
        waiting = [job for job in jobs if job.state == "todo" and job.source in (sources or (job.source,))]
        return [Run(source=job.source, run=None, state="pending", where="the queue") for job in waiting]

    def _runs(
        self,
        source: str | None,
        limit: int | None,
        states: Collection[State],
        since: datetime | None,
        *,
        is_known: bool = False,
    ) -> list[Run]:
        found = runs(self.output, source, limit=limit, jobs=self.jobs, states=states, since=since)
        if source and not (found or is_known) and not runs(self.output, source, limit=1, jobs=self.jobs):
            known = sources(self.output)
            meant, names = hint(source, known), ", ".join(known) or "none"
            raise RunError(f"{self.output} has no runs of a source {source!r}.{meant} There are: {names}.")
        self.is_damaged |= any(run.why == UNREADABLE for run in found)
        order = {"pending": 0, "running": 1}
        return sorted(found, key=lambda run: order.get(run.state, 2))

    def _shown(self, run: Run, chosen: Iterable[Item]) -> Iterator[str]:
        yield f"{run.source}/{run.run}: {coloured(run.state, judged(run.state, run.flaws), colours=self.colours)}"
        yield from described(run, is_listed=is_listed(self.path("SOURCES_FILE"), run.source))
        for number, item in enumerate(chosen):
            if not number:
                yield ""
            yield item_line(item, colours=self.colours)


def _row(run: Run) -> tuple[str, ...]:
    counts = [str(run.counts.get(name, 0)) if run.run else "" for name in _COUNTS]
    datasets = listed(run) if run.run else ""
    seen = looks(run.details)
    datasets += f" {seen.plural}" if seen and seen.noun != "repository" else ""
    return (
        run.run or "",
        run.source,
        run.state,
        datasets,
        *counts,
        counted(run.errors),
        str(sum(run.flaws.values()) or ""),
        duration(run.seconds),
        minute(run.started),
        "" if run.pace is None else f"{run.pace:.2f}",
        run.why,
    )


def _plain(run: Run) -> dict[str, Any]:
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(run).items()}
    del plain["details"]
    return plain


def _shown_json(run: Run, chosen: Iterable[Item]) -> Iterator[str]:
    """Yield a run as one JSON object; its items are written as they are read."""
    yield f'{{"run": {json.dumps(_plain(run))}, "items": ['
    before = ""
    for item in chosen:
        yield before + json.dumps(asdict(item))
        before = ","
    yield "]}"


def _states(opts: argparse.Namespace, known: tuple[Any, ...], failed: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the states of the runs or items to show, of those that they may have."""
    if opts.status is None:
        return failed if opts.failed else known
    if opts.failed:
        raise RunError("Give --failed or --status, not both.")
    wanted = [word.strip() for word in opts.status.split(",")]
    for word in wanted:
        if word not in known:
            raise RunError(f"--status: {word!r} is not a state.{hint(word, known)} There are: {', '.join(known)}.")
    return tuple(state for state in known if state in wanted)


def _limit(text: str) -> int | None:
    """Return the number; ``None`` for no limit."""
    if not (text.isascii() and text.isdecimal()):
        raise RunError(f"--limit {text!r} is not a whole number.")
    return int(text[:9]) or None
