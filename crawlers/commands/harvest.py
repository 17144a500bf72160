"""``scrapy harvest``: crawls the sources of sources.toml, here as processes or on Scrapyd nodes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.utils.conf import arglist_to_dict
from tqdm import tqdm

from crawlers.commands._voice import open_streams, tell, unheard
from crawlers.exceptions import CrawlersError, HarvestError
from crawlers.harvest import Harvest, Outcome
from crawlers.harvest.choice import Choice, due, enabled, named, still_due
from crawlers.harvest.claim import see
from crawlers.harvest.outcome import INTERRUPTED, NOTHING_STARTED, exit_code
from crawlers.harvest.plan import Plan, job, plan
from crawlers.harvest.processes import Processes
from crawlers.harvest.retention import remove_logs, remove_reports
from crawlers.notify import notifications
from crawlers.runs.words import duration, errors, listed, table
from crawlers.sources.file import disabled, reads, text
from crawlers.sources.known import Known
from crawlers.strict_command import StrictCommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from crawlers.harvest.runner import Runner
    from crawlers.sources import Source

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST = 36_500  # days, a hundred years
_HEADING = ("source", "state", "datasets", "new", "updated", "unchanged", "withdrawn", "errors", "took")


class Command(StrictCommand):
    """Exit code: 0 all complete or partial, 1 nothing started, 3 some incomplete, 4 some failed, 130 interrupted."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        return "NAME ... | --all | --due [--parallel N] [--dry-run] [--scrapyd URL ...]"

    def short_desc(self) -> str:
        return "Crawl the sources of sources.toml"

    def long_desc(self) -> str:
        return (
            "Crawl sources of sources.toml: those named, all that are enabled, or those that are due. Exit code: "
            "0 all complete or stopped by a limit of yours, 1 nothing could start, 3 some incomplete, "
            "4 some blocked, failed or not started, 130 interrupted."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--all", action="store_true", help="all that are enabled")
        add("--due", action="store_true", help="those whose schedule says so; for cron and systemd")
        add("--parallel", default="2", metavar="N", help="how many crawls at once (default: 2)")
        nodes = "on these nodes (default: SCRAPYD_NODES)"
        add("--scrapyd", nargs="+", action="extend", default=[], metavar="URL", help=nodes)
        add("--dry-run", action="store_true", help="say what would be done, and do nothing")
        add("-v", "--verbose", action="store_true", help="with --due: speak also when nothing is due")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        open_streams()
        self.opts = opts
        self.output, self.jobs = Path(self._setting("OUTPUT_DIR")), Path(self._setting("JOBS_DIR"))
        self.colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self.exitcode = NOTHING_STARTED
        try:
            self.exitcode = self._harvest(args)
        except CrawlersError as error:
            tell(str(error))

    def _harvest(self, names: list[str]) -> int:
        names = [*names, *(one for one in self.opts.scrapyd if not _is_address(one))]
        if bool(names) + self.opts.all + self.opts.due != 1:
            raise HarvestError("Name sources, or choose --all or --due; `scrapy sources` lists them.")
        parallel, self.known = _number(self.opts.parallel), Known(self.settings)  # type: ignore[arg-type]
        self.kept = {name: _days(name, self._setting(name)) for name in ("RUNS_KEPT_DAYS", "LOGS_KEPT_DAYS")}
        wrong = self._read(names)
        self.outcomes = [Outcome(source=name, state="not started", sentence=text) for name, text in wrong.items()]
        choices = self._choices([name for name in names if name not in wrong])
        taken = [choice.source for choice in choices if choice.taken]
        if self.opts.dry_run or (self.opts.verbose and not taken):
            _print(table([("source", "", "why"), *map(_foreseen, choices)], colours=self.colours))
        if self.opts.all and not taken and not wrong:
            _print([f"{self._setting('SOURCES_FILE')} has no enabled source: there is nothing to harvest."])
        if taken and not self.opts.dry_run:
            return self._crawl(taken, parallel)
        return exit_code(self.outcomes)

    def _read(self, names: list[str]) -> dict[str, str]:
        """Reads the sources, and tells of the tables that are wrong and meant to be harvested: a sentence each."""
        path = Path(self._setting("SOURCES_FILE"))
        content = text(path)
        self.sources, mistakes = reads(content, path, self.known)
        off = disabled(content, path)
        wrong = {name: said for name, said in mistakes.items() if (name in names if names else name not in off)}
        for said in wrong.values():
            tell(said)
        return wrong

    def _choices(self, names: list[str]) -> list[Choice]:
        """
        Raises:
            HarvestError: there is no source of a name.
        """
        if self.opts.due:
            found = due(self.sources, self.output, self.jobs, datetime.now(UTC))
            for one in found if not self.opts.dry_run else ():
                if one.is_waiting:
                    see(self.jobs, one.source.name)
            return found
        return enabled(self.sources) if self.opts.all else named(self.sources, names)

    def _crawl(self, taken: list[Source], parallel: int) -> int:
        harvest = self._made(taken, parallel)
        runner = self._runner(harvest)
        self.width = max(len(source.name) for source in taken)
        with tqdm(total=len(taken), unit="source", disable=not sys.stderr.isatty()) as self.bar:
            plans = self._plans(taken, harvest)
            asyncio.run(_run(harvest, plans, runner))
        self._retain(taken)
        if harvest.outcomes:
            _print(table([_HEADING, *map(_row, harvest.outcomes)], colours=self.colours))
        return INTERRUPTED if harvest.stopping else exit_code([*self.outcomes, *harvest.outcomes])

    def _made(self, taken: list[Source], parallel: int) -> Harvest:
        due = {source.name: source for source in taken} if self.opts.due else {}
        return Harvest(
            self.output,
            self.jobs,
            parallel=parallel,
            tell=self._tell,
            report=self._notify,
            still=lambda name: not due or still_due(due[name], self.output, self.jobs, datetime.now(UTC)),
            silent=bool(due) and not self.opts.verbose,
        )

    def _plans(self, taken: list[Source], harvest: Harvest) -> list[Plan]:
        chosen = arglist_to_dict(self.opts.set)
        plans = []
        for source in taken:
            spider = self.known.spiders[source.spider]
            wanted = job(source, spider, output=self.output, jobs=self.jobs, settings=chosen)
            try:
                plans.append(plan(wanted, spider))
            except CrawlersError as error:
                harvest.refuse(wanted, str(error))
        return plans

    def _runner(self, harvest: Harvest) -> Runner:
        urls = [one for one in self.opts.scrapyd if _is_address(one)] or self.settings.getlist("SCRAPYD_NODES")  # type: ignore[union-attr]
        if urls:
            from crawlers.harvest.scrapyd import Nodes  # noqa: PLC0415 -- aiohttp takes 150 ms, and every command imports this file

            return Nodes(urls, os.environ.get(self._setting("SCRAPYD_LOGIN_ENV")))
        return Processes(Path(self._setting("LOGS_DIR")), harvest.locks)

    def _tell(self, source: str, sentence: str) -> None:
        with unheard():
            self.bar.update(0)
            tqdm.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}  {source:<{self.width}}  {sentence}", file=sys.stdout)

    def _notify(self, report: dict[str, Any]) -> None:
        """Of a run that could not tell of itself; its source's own settings hold for that too."""
        settings: Any = self.settings.copy()  # type: ignore[union-attr]
        settings.setdict(self.sources[report["source"]].settings, "spider")
        try:
            wrong = notifications.tell(settings, report, self.output / report["source"])
        except CrawlersError as error:
            wrong = [str(error)]
        for sentence in wrong:
            tell(sentence)

    def _retain(self, taken: list[Source]) -> None:
        for source in taken:
            remove_reports(self.output, source.name, self.kept["RUNS_KEPT_DAYS"])
            remove_logs(Path(self._setting("LOGS_DIR")), source.name, self.kept["LOGS_KEPT_DAYS"])

    def _setting(self, name: str) -> str:
        return str(self.settings[name])  # type: ignore[index]


def _is_address(text: str) -> bool:
    """What follows ``--scrapyd`` and is none is a source's name, which has neither."""
    return ":" in text or "/" in text


async def _run(harvest: Harvest, plans: list[Plan], runner: Runner) -> None:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            loop.add_signal_handler(number, harvest.stop)
    await harvest.run(plans, runner)


def _number(text: str) -> int:
    """
    Raises:
        HarvestError: it is none.
    """
    if not (text.isascii() and text.isdecimal() and int(text[:9])):
        raise HarvestError(f"--parallel {text!r} is not a whole number, 1 or more.")
    return int(text[:9])


def _days(name: str, text: str) -> int:
    """
    Raises:
        HarvestError: it is no number of days.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) <= _LONGEST):
        raise HarvestError(f"{name}={text!r} is not a number of days, from 1 to {_LONGEST}, or 0 for ever.")
    return int(text)


def _foreseen(choice: Choice) -> tuple[str, str, str]:
    return choice.source.name, "would run" if choice.taken else "", choice.reason


def _row(outcome: Outcome) -> tuple[str, ...]:
    run = outcome.run
    if run is None:
        return outcome.source, outcome.state, *[""] * 7
    counts = [str(run.counts.get(name, 0)) for name in ("new", "updated", "unchanged", "withdrawn")]
    return outcome.source, run.state, listed(run), *counts, errors(run), duration(run.seconds)


def _print(lines: Iterable[str]) -> None:
    with unheard():
        print(*lines, sep="\n")
