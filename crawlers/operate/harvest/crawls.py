"""`scrapy harvest`: it chooses the sources, crawls them, shows what happens, and removes what is old."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.utils.conf import arglist_to_dict
from tqdm import tqdm

from crawlers.exceptions import CrawlersError, HarvestError
from crawlers.fleet import load
from crawlers.operate.console import ignoring_output_errors, print_error, print_lines
from crawlers.operate.harvest.harvest import INTERRUPTED, Harvest, Outcome, exit_code
from crawlers.operate.harvest.job import Job, Plan, Runner, job, plan, see
from crawlers.operate.harvest.processes import Processes
from crawlers.operate.harvest.selection import Choice, due, enabled, named, not_approved, still_due
from crawlers.operate.mirrored import bring_up, look_again, store_rest
from crawlers.operate.notify import notify
from crawlers.operate.notify.digests import Digests
from crawlers.operate.setting_types import lacks
from crawlers.operate.sources.file import SourcesFile
from crawlers.operate.sources.source import Known, Source
from crawlers.records import moment
from crawlers.safety import inside
from crawlers.store.index import from_the_beginning, listing, scope
from crawlers.store.index.reports import names
from crawlers.store.run_text import counted, duration, listed, table
from crawlers.store.runs import Run, last, reported
from crawlers.store.sources_file import text

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


_LONGEST = 36_500  # days, a hundred years
_FEW = 2  # crawls, for which a fork server costs more than it saves
_HEADING = ("source", "state", "datasets", "new", "updated", "unchanged", "withdrawn", "errors", "flaws", "took")


class Crawls:
    """Crawls sources, and prints what happens.

    Args:
        given: the user's ``-s``, as NAME=VALUE; they override those of a source.
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
            raise HarvestError(
                "Scrapyd nodes share a folder, and OUTPUT_DIR is a store: take --queue for several nodes."
            )
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

        Raises:
            HarvestError: JOBS_DIR is not writable, or no Scrapyd node answers.
        """
        archives = [source.archived for source in chosen if source.archive]
        self.sources = {source.name: source for source in (*chosen, *archives)}
        harvest = self._harvest(archives, is_wanted, silent)
        forks = self.forks and len(self.sources) > _FEW
        runner: Runner = Processes(self.logs, harvest.locks, forks=forks, modules=self.modules)
        if self.nodes:
            from crawlers.operate.harvest.scrapyd import Nodes  # noqa: PLC0415 -- aiohttp takes 150 ms

            runner = Nodes(self.nodes, os.environ.get(self.settings["SCRAPYD_LOGIN_ENV"]))
        with tqdm(total=len(chosen), unit="source", disable=not sys.stderr.isatty()) as self.bar:
            plans = []
            for source in chosen:
                try:
                    plans.append(self.plan_of(source))
                except CrawlersError as error:
                    harvest.refuse(self._job(source), str(error))
            asyncio.run(_run(harvest, plans, runner))
        self.is_stopped = harvest.is_stopping
        for name in self.sources:
            self.remove_old(name)
        if harvest.outcomes:
            colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
            print_lines(table([_HEADING, *map(_row, harvest.outcomes)], colours=colours))
        return harvest.outcomes

    @property
    def modules(self) -> list[str]:
        """What its crawls need besides what all do: of a store, what `load` loads in each of them."""
        return [f"crawlers.fleet.{name}" for name in ("storing", "store")] if self.store else []

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

    def mistake(self, source: Source) -> str:
        """Return why a source has no plan; empty if it has one."""
        try:
            self.plan_of(source)
        except CrawlersError as error:
            return str(error)
        return ""

    def queue_locks(self, sources: Mapping[str, Source]) -> dict[str, str]:
        """Return the lock that each source that can be crawled has in a queue, by its name."""
        hosts = {}
        for name, source in sources.items():
            with suppress(CrawlersError):  # its crawl reports it
                hosts[name] = self.plan_of(source).hosts
        locks: dict[str, str] = load("queue").locks(hosts)
        return locks

    def remove_old(self, source: str) -> None:
        """Remove a source's old reports and logs, as the settings say, in the store too."""
        remove_reports(self.output, source, self.kept["RUNS_KEPT_DAYS"])
        remove_logs(self.logs, source, self.kept["LOGS_KEPT_DAYS"])
        store_rest(self.settings, source)

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


def handle_signals(handle: Callable[[int], object]) -> None:
    """Call a function with the number of a signal that would stop this process, while the event loop runs."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            asyncio.get_running_loop().add_signal_handler(number, handle, number)


async def _run(harvest: Harvest, plans: list[Plan], runner: Runner) -> None:
    handle_signals(lambda _: harvest.stop())
    try:
        await harvest.run(plans, runner)
    finally:
        await runner.close()


def _switch(name: str, value: Any) -> bool:
    """Return a setting that is true or false."""
    if lack := lacks(name, True, value):
        raise HarvestError(f"{name}={value!r} is not {lack}.")
    return str(value).lower() in ("true", "1")


def _days(name: str, text: str) -> int:
    """Return a number of days."""
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


class Harvesting:
    """Chooses the sources and harvests them, as the options say."""

    def __init__(self, settings: BaseSettings, opts: argparse.Namespace) -> None:
        self.settings = settings
        self.opts = opts
        self.output, self.jobs = Path(settings["OUTPUT_DIR"]), Path(settings["JOBS_DIR"])
        self.queue: str = opts.queue or settings["QUEUE"]
        self.colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def run(self, names: list[str]) -> int:
        """Harvest the sources; return the exit code.

        Raises:
            HarvestError: an option or a name is wrong.
        """
        names = [*names, *(word for word in self.opts.scrapyd if not _is_address(word))]
        if bool(names) + self.opts.all + self.opts.due != 1:
            raise HarvestError("Name sources, or choose --all or --due; `scrapy sources` lists them.")
        code = self._harvest(names)
        if self.opts.due and not self.opts.dry_run and code != INTERRUPTED:
            digests = Digests(self.settings, self.sources)
            try:
                digests.send_due()
            except KeyboardInterrupt:  # the next harvest sends the rest
                return INTERRUPTED
            print_lines(f"Sent: {one.title}, {one.span}." for one in digests.sent if self.opts.verbose)
        return code

    def _harvest(self, names: list[str]) -> int:
        """Choose the sources and crawl them; return the exit code."""
        for name in ("DASHBOARD_URL", "DIGEST"):
            if lack := lacks(name, "", self.settings[name]):
                raise HarvestError(f"{name}={str(self.settings[name])[:100]!r} is not {lack}.")
        known = Known(self.settings)
        nodes = [word for word in self.opts.scrapyd if _is_address(word)] or self.settings.getlist("SCRAPYD_NODES")
        crawls = Crawls(self.settings, known, self.opts.set, parallel=number(self.opts.parallel), nodes=nodes)
        wrong = self._read(names, known)
        bring_up(self.settings, names, creates=True)
        refused = [Outcome(source=name, state="not started", sentence=text) for name, text in wrong.items()]
        choices = self._choices([name for name in names if name not in wrong])
        chosen = [choice.source for choice in choices if choice.is_taken]
        if self.opts.dry_run or (self.opts.verbose and not chosen):
            rows = [(one.source.name, "would run" if one.is_taken else "", one.reason) for one in choices]
            print_lines(table([("source", "", "why"), *rows], colours=self.colours))
        if self.opts.all or (self.opts.due and (chosen or self.opts.verbose or self.opts.dry_run)):
            print_lines(filter(None, [not_approved(self.sources)]))
        if self.opts.all and not chosen and not wrong:
            print_lines([f"{self.settings['SOURCES_FILE']} has no enabled source: there is nothing to harvest."])
        if chosen and not self.opts.dry_run and not self.opts.scrapyd and self.queue:
            return self._defer(chosen, crawls, refused)
        if chosen and not self.opts.dry_run:
            if self.opts.due and crawls.store:
                alone = "only a queue keeps them apart (QUEUE)"
                print_error(f"Machines that share {crawls.store} may ask one host at the same time: {alone}.")
            return self._crawl(chosen, crawls, refused)
        return exit_code(refused)

    def _crawl(self, chosen: list[Source], crawls: Crawls, refused: list[Outcome]) -> int:
        due = {source.name: source for source in chosen} if self.opts.due else {}

        def is_wanted(name: str) -> bool:
            """Return whether a source is still due, also by what other nodes have crawled meanwhile."""
            if name not in due:
                return True
            look_again(self.settings, [name])
            return still_due(due[name], self.output, self.jobs, datetime.now(UTC))

        outcomes = crawls.run(chosen, is_wanted=is_wanted, silent=bool(due) and not self.opts.verbose)
        return INTERRUPTED if crawls.is_stopped else exit_code([*refused, *outcomes])

    def _defer(self, chosen: list[Source], crawls: Crawls, refused: list[Outcome]) -> int:
        """Put the crawls into the queue; with ``--wait``, wait for them. Return the exit code."""
        queue = load("queue").Queue(self.queue)
        locked = crawls.queue_locks(self.sources)
        wrong = {source.name: crawls.mistake(source) for source in chosen if source.name not in locked}
        for name, why in wrong.items():
            print_error(f"[{name}] is not queued: {why}")
        refused += [Outcome(source=name, state="not started", sentence=why) for name, why in wrong.items()]
        names = [source.name for source in chosen if source.name in locked]
        jobs = queue.defer({name: locked[name] for name in names}, due=self.opts.due)
        told = {name: "is queued." if job else "is in the queue already." for name, job in jobs.items()}
        print_lines(f"[{name}] {sentence}" for name, sentence in told.items() if jobs[name] or not self.opts.due)
        if not self.opts.wait:
            return exit_code(refused)
        try:
            queue.wait([job for job in jobs.values() if job], names)
        except KeyboardInterrupt:
            return INTERRUPTED
        look_again(self.settings, names)
        runs = {name: last(self.output, name) for name in names}  # on some node
        came = (
            Outcome(source=name, state=run.state if run else "not started", sentence="", run=run)
            for name, run in runs.items()
        )
        return exit_code([*refused, *came])

    def _read(self, names: list[str], known: Known) -> dict[str, str]:
        """Read the sources; print and return what is wrong with tables that were to be harvested, by name."""
        file = SourcesFile(Path(self.settings["SOURCES_FILE"]), known)
        content = text(file.path)
        self.sources, mistakes = file.parse(content)
        off = file.left_out(content)
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


def _is_address(text: str) -> bool:
    """Return whether a word after ``--scrapyd`` is an address; a source's name has neither character."""
    return ":" in text or "/" in text


def number(text: str) -> int:
    """Return the number of parallel crawls.

    Raises:
        HarvestError: it is not a number.
    """
    if not (text.isascii() and text.isdecimal() and int(text[:9])):
        raise HarvestError(f"--parallel {text!r} is not a whole number, 1 or more.")
    return int(text[:9])


# What is kept of old runs

_DAY = 86_400  # seconds


def remove_reports(output: Path, source: str, days: int) -> int:
    """Remove a source's old run reports, except its last and those that the next run builds on; return their number.

    Args:
        days: how long reports are kept; 0: forever.
    """
    edge, folder = moment.name(datetime.now(UTC) - timedelta(days=days)), output / source
    known = sorted(names(folder), reverse=True) if days else []
    recent = [name for name in known if name >= edge]
    if len(recent) == len(known):
        return 0
    newest, removed = last(output, source), 0
    old = sorted(map(partial(_read, folder), known[len(recent) :]), key=lambda run: run.finished or "", reverse=True)
    covered = _covered(folder, recent, {scope for run in old for scope in _built_on(run)})
    for run in old:
        new = set(_built_on(run)) - covered
        covered |= new
        if not new and not (newest and run.run == newest.run):
            with suppress(OSError):
                inside.remove(folder, f"runs/{run.run}.json")
                removed += 1
    return removed


def _covered(folder: Path, names: Iterable[str], wanted: set[str]) -> set[str]:
    """Return which scopes have a run among some; no more reports are opened than that takes."""
    found = set[str]()
    for name in names:
        if wanted <= found:
            break
        found.update(_built_on(_read(folder, name)))
    return found


def _read(folder: Path, name: str) -> Run:
    return reported(folder / "runs" / f"{name}.json")


def remove_logs(logs: Path, source: str, days: int) -> int:
    """Remove a source's logs that were not written to for some days; return their number.

    Args:
        days: how long logs are kept; 0: forever.
    """
    edge, removed = time.time() - days * _DAY, 0
    for path in (logs / source).glob("*.log") if days else ():
        with suppress(OSError):
            if path.stat().st_mtime < edge:
                path.unlink()
                removed += 1
    return removed


def _built_on(run: Run) -> Iterator[str]:
    """Yield the scopes, as in index.sqlite, for which the next run builds on this one."""
    if run.spider is None or run.details.get("provisional") or not from_the_beginning(run.arguments):
        return
    covered = scope(run.spider, run.arguments)
    if run.state == "complete":
        yield covered
    if run.details.get("whole_listing"):
        yield listing(covered)
