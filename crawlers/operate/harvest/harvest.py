"""A harvest: the crawls of the chosen sources, some in parallel, never two of one host, and how each ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from crawlers.exceptions import HarvestError
from crawlers.operate.harvest.job import Claim, Job, Ledger, Plan, Runner, hosts_at_work
from crawlers.records import moment
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import redact
from crawlers.signals import OUTCOMES
from crawlers.store.run_text import sentence
from crawlers.store.runs import Run, as_crashed, at_work, content, last, reported

COMPLETE, NOTHING_STARTED, INCOMPLETE, FAILED, INTERRUPTED = 0, 1, 3, 4, 130
_CODES = {"incomplete": INCOMPLETE, "interrupted": INCOMPLETE, "blocked": FAILED, "failed": FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a source's turn ended.

    Args:
        state: the run's; or "not started", "running" (already, by another), "skipped" (the harvest was stopped before).
    """

    source: str
    state: str
    sentence: str
    run: Run | None = None


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """Return the exit code of a harvest.

    >>> exit_code([])
    0
    """
    states = [outcome.state for outcome in outcomes if outcome.state != "running"]
    if states and all(state == "not started" for state in states):
        return NOTHING_STARTED
    codes = [FAILED if state == "not started" else _CODES.get(state, COMPLETE) for state in states]
    return max(codes, default=COMPLETE)


def already_running(source: str) -> Outcome:
    """Return the outcome of a source that another crawl is at work on."""
    return Outcome(source=source, state="running", sentence="is already running.")


_PAUSE = 0.5  # seconds until a host that another harvest crawls is tried again

FOLLOWED = ("complete", "partial", "incomplete")
"""The states after which a source's archive is crawled: others leave an old catalogue, or a job to resume."""

Tell = Callable[[str, str], None]


class Harvest:
    """The crawls of the chosen sources.

    Args:
        tell: prints what happens to a source: its name, and a sentence.
        report: receives the report of a run that could not write one itself.
        is_wanted: whether a source that was claimed is still to be crawled; another harvest may have just done it.
        followers: the crawls that follow a source's own, by its name: that of its archive.
        silent: whether sources that another harvest has claimed are left out without a message.
    """

    def __init__(
        self,
        output: Path,
        jobs: Path,
        *,
        parallel: int,
        tell: Tell,
        report: Callable[[dict[str, Any]], None],
        is_wanted: Callable[[str], bool] = lambda _: True,
        followers: Mapping[str, Plan] = MappingProxyType({}),
        silent: bool = False,
    ) -> None:
        self.output = output
        self.jobs = jobs
        self.parallel = parallel
        self.tell = tell
        self.report = report
        self.is_wanted = is_wanted
        self.followers = followers
        self.silent = silent
        self.waiting: list[Plan] = []
        self.claims: dict[str, Claim] = {}
        self.outcomes: list[Outcome] = []
        self.stops = 0
        self.crawls: dict[asyncio.Task[None], Plan] = {}
        self.cancels: set[asyncio.Task[None]] = set()

    def locks(self, source: str) -> Sequence[int]:
        """Return the descriptors of a source's locks, which its crawl inherits."""
        return self.claims[source].descriptors

    @property
    def is_stopping(self) -> bool:
        return self.stops > 0

    def stop(self) -> None:
        """Stop the crawls as Ctrl-C does, and start no other; the second time at once; the third kills those here."""
        self.stops += 1
        for plan in self.crawls.values():
            self.tell(plan.job.source, "is being stopped." if self.stops == 1 else "is being stopped at once.")
            task = asyncio.ensure_future(self._cancel(plan))
            self.cancels.add(task)
            task.add_done_callback(self.cancels.discard)

    async def run(self, plans: Sequence[Plan], runner: Runner) -> list[Outcome]:
        """Crawl the sources, and return how each ended.

        Raises:
            HarvestError: JOBS_DIR is not writable, or no Scrapyd node answers.
        """
        self.runner = runner
        self.waiting = [plan for plan in plans if await self._claim(plan)]
        while (self.waiting and not self.is_stopping) or self.crawls:
            if self.waiting and len(self.crawls) < self.parallel:
                busy = hosts_at_work(self.output, self.jobs, self.claims)
                self.waiting = [plan for plan in self.waiting if plan.hosts & busy or not self._start(plan)]
            await self._wait()
        for plan in self.waiting:
            self._end(Outcome(source=plan.job.source, state="skipped", sentence="skipped."))
        return self.outcomes

    async def _claim(self, plan: Plan) -> bool:
        """Claim a source; return whether it can be crawled."""
        source = plan.job.source
        claim = Claim.take(self.jobs, source)
        if claim:
            self.claims[source] = claim
            if not (self._is_running(source) or await self.runner.busy(source)):
                if self.is_wanted(source):
                    return True
                self.claims.pop(source).release()
                return False
        if not self.silent:
            self._end(already_running(source))
        elif claim:
            self.claims.pop(source).release()
        return False

    def _start(self, plan: Plan) -> bool:
        """Start a crawl if there is room and its hosts are free; return whether it has started or failed to."""
        if self.is_stopping or len(self.crawls) >= self.parallel:
            return False
        try:
            if not self.claims[plan.job.source].take_hosts(plan.hosts):
                return False
        except HarvestError as error:
            self.refuse(plan.job, str(error))
            return True
        self.crawls[asyncio.ensure_future(self._crawl(plan))] = plan
        return True

    async def _wait(self) -> None:
        """Wait until a crawl has ended, or until it is time to look at the hosts again."""
        if not self.crawls:
            await asyncio.sleep(_PAUSE)
            return
        done, _ = await asyncio.wait(self.crawls, timeout=_PAUSE, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            del self.crawls[task]
            task.result()

    async def _crawl(self, plan: Plan) -> None:
        source = plan.job.source
        try:
            outcome = await Turn(self, plan).take()
        except HarvestError as error:
            self.refuse(plan.job, str(error))
        except OSError as error:
            self.refuse(plan.job, f"{error.filename}: {error.strerror}" if error.filename else str(error))
        else:
            self._end(outcome)
            follower = self.followers.get(source)
            if follower and outcome.state in FOLLOWED and await self._claim(follower):
                self.waiting.append(follower)

    def refuse(self, job: Job, why: str) -> None:
        """Record that a job can't start."""
        if self._is_running(job.source):
            self._end(already_running(job.source))
        elif self.is_stopping:
            self._end(Outcome(source=job.source, state="skipped", sentence=f"skipped: {why}."))
        else:
            self.report(write_failed_start(self.output, job, why))
            self._end(Outcome(source=job.source, state="not started", sentence=f"not started: {why}"))

    def _end(self, outcome: Outcome) -> None:
        claim = self.claims.pop(outcome.source, None)
        if claim:
            if outcome.state not in ("skipped", "running", "interrupted"):
                claim.end()
            claim.release()
        self.outcomes.append(outcome)
        self.tell(outcome.source, outcome.sentence)

    async def _cancel(self, plan: Plan) -> None:
        try:
            await self.runner.cancel(plan.job.source)
        except HarvestError as error:
            self.tell(plan.job.source, f"can't be stopped: {error}")

    def _is_running(self, source: str) -> bool:
        run = at_work(self.output / source)
        return run is not None and run.state == "running"


def write_failed_start(output: Path, job: Job, why: str) -> dict[str, Any]:
    """Write runs/<run>.json for a crawl that could not start, so that the run list shows it; return the report."""
    now = datetime.now(UTC)
    run, time = moment.name(now), moment.written(now, "milliseconds")
    report: dict[str, Any] = {
        "source": job.source,
        "spider": job.spider,
        "run": run,
        "arguments": {name: redact(value) for name, value in job.arguments.items()},
        "started": time,
        "finished": time,
        "finish_reason": f"not started: {why}",
        "verdict": "failed",
        "expected": None,
        "listed": 0,
        "counts": dict.fromkeys(OUTCOMES, 0),
        "errors": {},
        "flaws": {},
        **dict.fromkeys(("requests", "retries", "bytes"), 0),
        "resumed": False,
    }
    folder = output / job.source
    with suppress(OSError):  # a full disk
        folder.mkdir(parents=True, exist_ok=True)
        inside.write(folder, f"runs/{run}.json", strict_json.dumps(report), scratch=f".{run}.writing")
    return report


_RESUMES = 3  # times that a crashed crawl is resumed within one turn
_RESTARTS = {
    "different": "the saved job has other arguments or is of another version",
    "damaged": "the saved job is damaged or is not a job, and was removed",
}


class Turn:
    """A source's turn in a harvest: its crawl, which is resumed when it crashes, until there is a report."""

    def __init__(self, harvest: Harvest, plan: Plan) -> None:
        self.harvest, self.plan = harvest, plan
        self.source = plan.job.source
        self.folder = harvest.output / self.source

    async def take(self) -> Outcome:
        """Crawl the source, and return how that ended.

        Raises:
            HarvestError: the crawl could not start, or crashed before its first heartbeat.
        """
        ledger = Ledger(Path(self.plan.job.settings["JOBDIR"]))
        state = ledger.state(self.plan.identity)
        if state == "in use":
            return already_running(self.source)
        if state in ("different", "finished", "damaged"):
            ledger.remove()
        if state in _RESTARTS:
            self.harvest.tell(self.source, f"starts from the beginning: {_RESTARTS[state]}.")
        self.harvest.claims[self.source].begin()
        self.harvest.tell(self.source, "resumed" if state == "unfinished" else "started")
        run, why = await self._until_reported(ledger)
        if run.details.get("finish_reason") == "finished":
            ledger.remove()
        return Outcome(source=self.source, state=run.state, sentence=f"{sentence(run)} {why}".rstrip(), run=run)

    async def _until_reported(self, ledger: Ledger) -> tuple[Run, str]:
        """Crawl until there is a report; return the run, and why it has no report if so."""
        before, heartbeat, before_it = self._stamp(ledger.run()), self._heartbeat(), self._last()
        for left in reversed(range(_RESUMES + 1)):
            try:
                where, has_failed = await self.harvest.runner.crawl(self.plan.job), False
            except HarvestError as error:  # maybe after the crawl had started
                where, has_failed = str(error), True
            name = ledger.run()
            if name and self._stamp(name) not in (None, before):
                return reported(self.folder / "runs" / f"{name}.json"), ""
            crashed = at_work(self.folder)
            if crashed is None and (other := self._last()) and other.run not in (before_it and before_it.run, name):
                return other, "It was crawled by another process meanwhile."
            if crashed is None or (self._heartbeat() == heartbeat if has_failed else crashed.run != name):
                raise HarvestError(where if has_failed else f"{where} left no report")
            if not (has_failed or self.harvest.is_stopping or ledger.finished()) and left:
                self.harvest.tell(self.source, f"resumed: {where} left no report.")
                continue
            why = where if has_failed else f"{where[:1].upper()}{where[1:]} left no report."
            return self._crashed(crashed, why, is_unreachable=has_failed), why
        raise AssertionError  # the last iteration returns

    def _crashed(self, run: Run, why: str, *, is_unreachable: bool) -> Run:
        """Return a run without a report as a crashed one, unless it may still run on an unreachable node."""
        if is_unreachable and run.state == "running":
            return run
        run = as_crashed(run)  # even if another machine has a recent heartbeat
        if not self.harvest.is_stopping:
            self.harvest.report({**run.details, "why": why})
        return run

    def _last(self) -> Run | None:
        return last(self.harvest.output, self.source)

    def _heartbeat(self) -> tuple[Any, ...]:
        state = content(self.folder / "running.json")
        return state.get("run"), state.get("heartbeat"), state.get("pid")

    def _stamp(self, run: str | None) -> tuple[int, int] | None:
        """Return what distinguishes a report from the one that was there before."""
        try:
            found = (self.folder / "runs" / f"{run or ''}.json").stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino
