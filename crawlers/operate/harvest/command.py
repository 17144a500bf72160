"""What `scrapy harvest` does: it chooses the sources, crawls them, and reports how each crawl ended."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.utils.conf import arglist_to_dict
from tqdm import tqdm

from crawlers.exceptions import CrawlersError, HarvestError
from crawlers.operate.console import ignoring_output_errors, print_error
from crawlers.operate.harvest import Harvest, Outcome
from crawlers.operate.harvest.claim import see
from crawlers.operate.harvest.job import Job, Plan, job, plan
from crawlers.operate.harvest.outcome import INTERRUPTED, exit_code
from crawlers.operate.harvest.processes import Processes
from crawlers.operate.harvest.retention import remove_logs, remove_reports
from crawlers.operate.harvest.selection import Choice, due, enabled, named, still_due
from crawlers.operate.notify import notify
from crawlers.operate.sources.file import disabled, reads, text
from crawlers.operate.sources.project_context import Known
from crawlers.store.runs.words import duration, errors, listed, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from scrapy.settings import BaseSettings

    from crawlers.operate.harvest.job import Runner
    from crawlers.operate.sources import Source

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST = 36_500  # days, a hundred years
_HEADING = ("source", "state", "datasets", "new", "updated", "unchanged", "withdrawn", "errors", "took")


class Harvesting:
    """Chooses the sources and harvests them, as the options say."""

    def __init__(self, settings: BaseSettings, opts: argparse.Namespace) -> None:
        self.settings = settings
        self.opts = opts
        self.output, self.jobs, self.logs = (Path(settings[name]) for name in ("OUTPUT_DIR", "JOBS_DIR", "LOGS_DIR"))
        self.colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def run(self, names: list[str]) -> int:
        """Harvest the sources; return the exit code.

        Raises:
            HarvestError: an option or a name is wrong.
        """
        names = [*names, *(word for word in self.opts.scrapyd if not _is_address(word))]
        if bool(names) + self.opts.all + self.opts.due != 1:
            raise HarvestError("Name sources, or choose --all or --due; `scrapy sources` lists them.")
        parallel, self.known = _number(self.opts.parallel), Known(self.settings)
        self.kept = {name: _days(name, str(self.settings[name])) for name in ("RUNS_KEPT_DAYS", "LOGS_KEPT_DAYS")}
        wrong = self._read(names)
        self.outcomes = [Outcome(source=name, state="not started", sentence=text) for name, text in wrong.items()]
        choices = self._choices([name for name in names if name not in wrong])
        chosen = [choice.source for choice in choices if choice.is_taken]
        if self.opts.dry_run or (self.opts.verbose and not chosen):
            _print(table([("source", "", "why"), *map(_foreseen, choices)], colours=self.colours))
        if self.opts.all and not chosen and not wrong:
            _print([f"{self.settings['SOURCES_FILE']} has no enabled source: there is nothing to harvest."])
        if chosen and not self.opts.dry_run:
            return self._crawl(chosen, parallel)
        return exit_code(self.outcomes)

    def _read(self, names: list[str]) -> dict[str, str]:
        """Read the sources; print and return what is wrong with tables that were to be harvested, by name."""
        path = Path(self.settings["SOURCES_FILE"])
        content = text(path)
        self.sources, mistakes = reads(content, path, self.known)
        off = disabled(content, path)
        wrong = {name: why for name, why in mistakes.items() if (name in names if names else name not in off)}
        for why in wrong.values():
            print_error(why)
        return wrong

    def _choices(self, names: list[str]) -> list[Choice]:
        if self.opts.due:
            found = due(self.sources, self.output, self.jobs, datetime.now(UTC))
            for choice in found if not self.opts.dry_run else ():
                if choice.is_waiting:
                    see(self.jobs, choice.source.name)
            return found
        return enabled(self.sources) if self.opts.all else named(self.sources, names)

    def _crawl(self, chosen: list[Source], parallel: int) -> int:
        due = {source.name: source for source in chosen} if self.opts.due else {}
        archives = [source.archived for source in chosen if source.archive]
        self.sources |= {source.name: source for source in archives}
        followers = {str(source.arguments["of"]): self._plan(source) for source in archives}
        harvest = Harvest(
            self.output,
            self.jobs,
            parallel=parallel,
            tell=self._tell,
            report=self._notify,
            is_wanted=lambda name: name not in due or still_due(due[name], self.output, self.jobs, datetime.now(UTC)),
            followers=followers,
            silent=bool(due) and not self.opts.verbose,
        )
        runner = self._runner(harvest)
        self.width = max(len(source.name) for source in (*chosen, *archives))
        with tqdm(total=len(chosen), unit="source", disable=not sys.stderr.isatty()) as self.bar:
            plans = self._plans(chosen, harvest)
            asyncio.run(_run(harvest, plans, runner))
        for source in (*chosen, *archives):
            remove_reports(self.output, source.name, self.kept["RUNS_KEPT_DAYS"])
            remove_logs(self.logs, source.name, self.kept["LOGS_KEPT_DAYS"])
        if harvest.outcomes:
            _print(table([_HEADING, *map(_row, harvest.outcomes)], colours=self.colours))
        return INTERRUPTED if harvest.is_stopping else exit_code([*self.outcomes, *harvest.outcomes])

    def _plans(self, chosen: list[Source], harvest: Harvest) -> list[Plan]:
        plans = []
        for source in chosen:
            try:
                plans.append(self._plan(source))
            except CrawlersError as error:
                harvest.refuse(self._job(source), str(error))
        return plans

    def _plan(self, source: Source) -> Plan:
        return plan(self._job(source), self.known.spiders[source.spider])

    def _job(self, source: Source) -> Job:
        settings = arglist_to_dict(self.opts.set)
        return job(source, self.known.spiders[source.spider], output=self.output, jobs=self.jobs, settings=settings)

    def _runner(self, harvest: Harvest) -> Runner:
        urls = [word for word in self.opts.scrapyd if _is_address(word)] or self.settings.getlist("SCRAPYD_NODES")
        if urls:
            from crawlers.operate.harvest.scrapyd import Nodes  # noqa: PLC0415 -- aiohttp takes 150 ms

            return Nodes(urls, os.environ.get(self.settings["SCRAPYD_LOGIN_ENV"]))
        return Processes(self.logs, harvest.locks)

    def _tell(self, source: str, sentence: str) -> None:
        with ignoring_output_errors():
            self.bar.update(0)
            tqdm.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}  {source:<{self.width}}  {sentence}", file=sys.stdout)

    def _notify(self, report: dict[str, Any]) -> None:
        """Send the notifications of a run that could not send them itself, with its source's own settings."""
        settings = self.settings.copy()
        settings.setdict(self.sources[report["source"]].settings, "spider")
        try:
            failures = notify(settings, report, self.output / report["source"])
        except CrawlersError as error:
            failures = [str(error)]
        for sentence in failures:
            print_error(sentence)


def _is_address(text: str) -> bool:
    """Return whether a word after ``--scrapyd`` is an address; a source's name has neither character."""
    return ":" in text or "/" in text


async def _run(harvest: Harvest, plans: list[Plan], runner: Runner) -> None:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            loop.add_signal_handler(number, harvest.stop)
    await harvest.run(plans, runner)


def _number(text: str) -> int:
    """Return the number of parallel crawls.

    Raises:
        HarvestError: it is not a number.
    """
    if not (text.isascii() and text.isdecimal() and int(text[:9])):
        raise HarvestError(f"--parallel {text!r} is not a whole number, 1 or more.")
    return int(text[:9])


def _days(name: str, text: str) -> int:
    """Return a number of days.

    Raises:
        HarvestError: it is not one.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) <= _LONGEST):
        raise HarvestError(f"{name}={text!r} is not a number of days from 1 to {_LONGEST}, or 0 for ever.")
    return int(text)


def _foreseen(choice: Choice) -> tuple[str, str, str]:
    return choice.source.name, "would run" if choice.is_taken else "", choice.reason


def _row(outcome: Outcome) -> tuple[str, ...]:
    run = outcome.run
    if run is None:
        return outcome.source, outcome.state, *[""] * 7
    counts = [str(run.counts.get(name, 0)) for name in ("new", "updated", "unchanged", "withdrawn")]
    return outcome.source, run.state, listed(run), *counts, errors(run), duration(run.seconds)


def _print(lines: Iterable[str]) -> None:
    with ignoring_output_errors():
        print(*lines, sep="\n")
