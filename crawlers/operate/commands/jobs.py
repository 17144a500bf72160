"""``scrapy jobs``: the runs of each source, pending and running ones first, and the details of one."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import RunError, hint
from crawlers.operate.strict_command import ProjectCommand
from crawlers.store.runs import find, items, runs, sources
from crawlers.store.runs.words import coloured, described, duration, errors, item_line, listed, looks, minute, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from crawlers.store.runs import Run

_COUNTS = ("new", "updated", "unchanged", "withdrawn")
_HEADING = ("run", "source", "state", "datasets", *_COUNTS, "errors", "took", "started", "req/s", "why")


class Command(ProjectCommand):
    """Exit code: 0 shown, 1 no such run or source."""

    def syntax(self) -> str:
        return "[NAME] [--limit N] [--json] | show RUN [--json]"

    def short_desc(self) -> str:
        return "List the runs of each source, or show one"

    def long_desc(self) -> str:
        return (
            "List the runs of all sources, or of the named one: pending and running ones first, then the newest. "
            "`show RUN` shows one run's report and its items."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--limit", default="20", metavar="N", help="maximum number of runs (default: 20; 0: all)")
        parser.add_argument("--json", action="store_true", help="as JSON")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        self.output, self.jobs = self.path("OUTPUT_DIR"), self.path("JOBS_DIR")
        self.colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        for line in self._lines(args, opts):
            print(line)

    def _lines(self, args: list[str], opts: argparse.Namespace) -> Iterable[str]:
        """Return the lines to print.

        Raises:
            RunError: there is no such run or source, or the words on the command line are wrong.
        """
        if len(args) == 2 and args[0] == "show":
            run = find(self.output, args[1])
            return _shown_json(run) if opts.json else self._shown(run)
        if len(args) > 1 or args == ["show"]:
            raise RunError(f"scrapy jobs takes {self.syntax()}; `scrapy jobs` lists the runs.")
        found = self._runs(args[0] if args else None, _limit(opts.limit))
        if opts.json:
            return [json.dumps([_plain(run) for run in found], indent=2)]
        if not found:
            return [f"{self.output} has no runs yet."]
        return table([_HEADING, *map(_row, found)], colours=self.colours)

    def _runs(self, source: str | None, limit: int | None) -> list[Run]:
        found = runs(self.output, source, limit=limit, jobs=self.jobs)
        if source and not found:
            known = sources(self.output)
            meant, names = hint(source, known), ", ".join(known) or "none"
            raise RunError(f"{self.output} has no runs of a source {source!r}.{meant} There are: {names}.")
        order = {"pending": 0, "running": 1}
        return sorted(found, key=lambda run: order.get(run.state, 2))

    def _shown(self, run: Run) -> Iterator[str]:
        yield f"{run.source}/{run.run}: {coloured(run.state, run.state, colours=self.colours)}"
        yield from described(run)
        for number, item in enumerate(items(run)):
            if not number:
                yield ""
            yield item_line(item, colours=self.colours)


def _row(run: Run) -> tuple[str, ...]:
    counts = [str(run.counts.get(name, 0)) if run.run else "" for name in _COUNTS]
    datasets = listed(run) if run.run else ""
    datasets += " files" if looks(run.details) is not None else ""
    return (
        run.run or "",
        run.source,
        run.state,
        datasets,
        *counts,
        errors(run),
        duration(run.seconds),
        minute(run.started),
        "" if run.pace is None else f"{run.pace:.2f}",
        run.why,
    )


def _plain(run: Run) -> dict[str, Any]:
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in asdict(run).items()}
    del plain["details"]
    return plain


def _shown_json(run: Run) -> Iterator[str]:
    """Yield a run as one JSON object; its items are written as they are read."""
    yield f'{{"run": {json.dumps(_plain(run))}, "items": ['
    before = ""
    for item in items(run):
        yield before + json.dumps(asdict(item))
        before = ","
    yield "]}"


def _limit(text: str) -> int | None:
    """Return the number; ``None`` for no limit.

    Raises:
        RunError: it is not a number.
    """
    if not (text.isascii() and text.isdecimal()):
        raise RunError(f"--limit {text!r} is not a whole number.")
    return int(text[:9]) or None
