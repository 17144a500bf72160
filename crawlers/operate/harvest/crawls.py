"""The crawls of a harvest, as the terminal shows them: what happens, how each ended, and what is kept of old runs."""

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
from crawlers.operate.console import ignoring_output_errors, print_error, print_lines
from crawlers.operate.harvest.harvest import Harvest
from crawlers.operate.harvest.job import Job, Plan, job, plan
from crawlers.operate.harvest.processes import Processes
from crawlers.operate.harvest.retention import remove_logs, remove_reports
from crawlers.operate.mirrored import store_rest
from crawlers.operate.notify import notify
from crawlers.operate.setting_types import lacks
from crawlers.store.run_text import counted, duration, listed, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.settings import BaseSettings

    from crawlers.operate.harvest.job import Runner
    from crawlers.operate.harvest.outcome import Outcome
    from crawlers.operate.sources import Source
    from crawlers.operate.sources.project_context import Known

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST = 36_500  # days, a hundred years
_FEW = 2  # crawls, for which a fork server costs more than it saves
_HEADING = ("source", "state", "datasets", "new", "updated", "unchanged", "withdrawn", "errors", "flaws", "took")


class Crawls:
    """Crawls sources, and prints what happens.

    Args:
        settings: the command's.
        known: the project's spiders.
        given: the user's ``-s``, as NAME=VALUE; they override those of a source.
        parallel: how many crawls run in parallel.
        nodes: the addresses of Scrapyd nodes; without, the crawls are processes here.

    Attributes:
        is_stopped: whether the user stopped the crawls.

    Raises:
        HarvestError: a setting is wrong.
    """

    def __init__(
        self, settings: BaseSettings, known: Known, given: list[str], *, parallel: int, nodes: Sequence[str] = ()
    ) -> None:
        self.settings = settings
        self.known = known
        self.given = arglist_to_dict(given)
        self.parallel = parallel
        self.nodes = nodes
        self.output, self.jobs, self.logs = (Path(settings[name]) for name in ("OUTPUT_DIR", "JOBS_DIR", "LOGS_DIR"))
        self.store = str(settings["OUTPUT_STORE"] or "")
        if self.store and nodes:
            raise HarvestError("Scrapyd nodes share a folder, and OUTPUT_DIR is in S3: take --queue for several nodes.")
        self.kept = {name: _days(name, str(settings[name])) for name in ("RUNS_KEPT_DAYS", "LOGS_KEPT_DAYS")}
        self.forks = _switch("FORK_SERVER", settings["FORK_SERVER"])
        self.is_stopped = False
        self.bar: tqdm[Any] | None = None
        self.sources: dict[str, Source] = {}

    def run(
        self,
        chosen: Sequence[Source],
        *,
        is_wanted: Callable[[str], bool] = lambda _: True,
        silent: bool = False,
    ) -> list[Outcome]:
        """Crawl the sources, and the archives of those that have one; return how each crawl ended.

        Args:
            is_wanted: as for `Harvest`.
            silent: as for `Harvest`.

        Raises:
            HarvestError: JOBS_DIR is not writable, or no Scrapyd node answers.
        """
        archives = [source.archived for source in chosen if source.archive]
        self.sources = {source.name: source for source in (*chosen, *archives)}
        harvest = self._harvest(archives, is_wanted, silent)
        runner = self._runner(harvest, forks=self.forks and len(self.sources) > _FEW)
        with tqdm(total=len(chosen), unit="source", disable=not sys.stderr.isatty()) as self.bar:
            plans = self._plans(chosen, harvest)
            asyncio.run(_run(harvest, plans, runner))
        self._conclude(harvest)
        return harvest.outcomes

    def _harvest(self, archives: Sequence[Source], is_wanted: Callable[[str], bool], silent: bool) -> Harvest:
        return Harvest(
            self.output,
            self.jobs,
            parallel=self.parallel,
            tell=self._tell,
            report=self._notify,
            is_wanted=is_wanted,
            followers={str(source.arguments["of"]): self.plan_of(source) for source in archives},
            silent=silent,
        )

    def _conclude(self, harvest: Harvest) -> None:
        """Remove what is old, and print how the crawls ended."""
        self.is_stopped = harvest.is_stopping
        for name in self.sources:
            self.remove_old(name)
        if harvest.outcomes:
            colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            print_lines(table([_HEADING, *map(_row, harvest.outcomes)], colours=colours))

    def mistake(self, source: Source) -> str:
        """Return why a source has no plan; empty if it has one."""
        try:
            self.plan_of(source)
        except CrawlersError as error:
            return str(error)
        return ""

    def remove_old(self, source: str) -> None:
        """Remove a source's old reports and logs, as the settings say, in the store too."""
        remove_reports(self.output, source, self.kept["RUNS_KEPT_DAYS"])
        remove_logs(self.logs, source, self.kept["LOGS_KEPT_DAYS"])
        store_rest(self.settings, source)

    def _plans(self, chosen: Sequence[Source], harvest: Harvest) -> list[Plan]:
        plans = []
        for source in chosen:
            try:
                plans.append(self.plan_of(source))
            except CrawlersError as error:
                harvest.refuse(self._job(source), str(error))
        return plans

    def plan_of(self, source: Source) -> Plan:
        """Return the plan of a source's crawl.

        Raises:
            CrawlersError: the spider refuses the arguments.
        """
        return plan(self._job(source), self.known.spiders[source.spider])

    def _job(self, source: Source) -> Job:
        spider = self.known.spiders[source.spider]
        folders = {"output": self.output, "jobs": self.jobs}
        return job(source, spider, **folders, settings=self.given, store=self.store)

    def _runner(self, harvest: Harvest, *, forks: bool) -> Runner:
        if self.nodes:
            from crawlers.operate.harvest.scrapyd import Nodes  # noqa: PLC0415 -- aiohttp takes 150 ms

            return Nodes(self.nodes, os.environ.get(self.settings["SCRAPYD_LOGIN_ENV"]))
        return Processes(self.logs, harvest.locks, forks=forks)

    def _tell(self, source: str, sentence: str) -> None:
        width = max(map(len, self.sources), default=0)
        with ignoring_output_errors():
            if self.bar is not None:
                self.bar.update(0)
            tqdm.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}  {source:<{width}}  {sentence}", file=sys.stdout)

    def _notify(self, report: dict[str, Any]) -> None:
        """Send the notifications of a run that could not send them itself, with its source's own settings."""
        settings = self.settings.copy()
        settings.setdict(self.sources[report["source"]].crawl_settings, "spider")
        try:
            failures = notify(settings, report, self.output / report["source"])
        except CrawlersError as error:
            failures = [str(error)]
        for sentence in failures:
            print_error(sentence)


async def _run(harvest: Harvest, plans: list[Plan], runner: Runner) -> None:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            loop.add_signal_handler(number, harvest.stop)
    try:
        await harvest.run(plans, runner)
    finally:
        await runner.close()


def _switch(name: str, value: Any) -> bool:
    """Return a setting that is true or false.

    Raises:
        HarvestError: it is neither.
    """
    if lack := lacks(name, True, value):
        raise HarvestError(f"{name}={value!r} is not {lack}.")
    return str(value).lower() in ("true", "1")


def _days(name: str, text: str) -> int:
    """Return a number of days.

    Raises:
        HarvestError: it is not one.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) <= _LONGEST):
        raise HarvestError(f"{name}={text!r} is not a number of days from 1 to {_LONGEST}, or 0 forever.")
    return int(text)


def _row(outcome: Outcome) -> tuple[str, ...]:
    run = outcome.run
    if run is None:
        return outcome.source, outcome.state, *[""] * 8
    counts = [str(run.counts.get(name, 0)) for name in ("new", "updated", "unchanged", "withdrawn")]
    flaws = str(sum(run.flaws.values()) or "")
    return outcome.source, run.state, listed(run), *counts, counted(run.errors), flaws, duration(run.seconds)
