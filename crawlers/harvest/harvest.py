"""A harvest: the crawls of the sources chosen, so many at once, and never two of one host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from crawlers.exceptions import HarvestError
from crawlers.harvest.claim import Claim, hosts_at_work
from crawlers.harvest.job import Job
from crawlers.harvest.ledger import Ledger
from crawlers.harvest.outcome import Outcome
from crawlers.harvest.plan import Plan
from crawlers.harvest.runner import Runner
from crawlers.harvest.unstarted import report_unstarted
from crawlers.runs import Run
from crawlers.runs.stored import at_work, content, died, reported
from crawlers.runs.words import sentence

_RESUMED = 3  # times that a crawl which died is gone on with at once
_PAUSE = 0.5  # seconds until a host that another harvest's crawl has is tried again

Tell = Callable[[str, str], None]
Stamp = tuple[int, int] | None

_ANEW = {
    "another": "is of other arguments, or of another version",
    "damaged": "is damaged, or no job, and was removed",
}


class Harvest:
    """
    Args:
        output: OUTPUT_DIR.
        jobs: JOBS_DIR.
        parallel: how many crawls at once.
        tell: is told, with the source's name, what happens.
        report: is given the report of a run that could write none itself.
        still: whether a source that could be claimed is to be crawled still; another harvest may have just done it.
        silent: whether nothing is said of what another harvest has.
    """

    def __init__(
        self,
        output: Path,
        jobs: Path,
        *,
        parallel: int,
        tell: Tell,
        report: Callable[[dict[str, Any]], None],
        still: Callable[[str], bool] = lambda _: True,
        silent: bool = False,
    ) -> None:
        self.output = output
        self.jobs = jobs
        self.parallel = parallel
        self.tell = tell
        self.report = report
        self.still = still
        self.silent = silent
        self.claims: dict[str, Claim] = {}
        self.outcomes: list[Outcome] = []
        self.stops = 0
        self.crawls: dict[asyncio.Task[None], Plan] = {}
        self.cancels: set[asyncio.Task[None]] = set()

    def locks(self, source: str) -> Sequence[int]:
        return self.claims[source].descriptors

    @property
    def stopping(self) -> bool:
        return self.stops > 0

    def stop(self) -> None:
        """Stops the crawls as Ctrl-C does, and begins no other; a second time, at once; a third kills those here."""
        self.stops += 1
        for plan in self.crawls.values():
            self.tell(plan.job.source, "is being stopped." if self.stops == 1 else "is being stopped at once.")
            task = asyncio.ensure_future(self._cancel(plan))
            self.cancels.add(task)
            task.add_done_callback(self.cancels.discard)

    async def run(self, plans: Sequence[Plan], runner: Runner) -> list[Outcome]:
        """
        Raises:
            HarvestError: JOBS_DIR can't be written into, or no Scrapyd node answers.
        """
        self.runner = runner
        try:
            waiting = [plan for plan in plans if await self._queued(plan)]
            while (waiting and not self.stopping) or self.crawls:
                busy = hosts_at_work(self.output, self.jobs, self.claims) if waiting else set()
                waiting = [plan for plan in waiting if plan.hosts & busy or not self._begun(plan)]
                await self._one_ended()
            for plan in waiting:
                self._ends(Outcome(source=plan.job.source, state="left", sentence="not begun."))
        finally:
            await runner.close()
        return self.outcomes

    async def _queued(self, plan: Plan) -> bool:
        source = plan.job.source
        claim = Claim.take(self.jobs, source)
        if claim:
            self.claims[source] = claim
            if not (self._running(source) or await self.runner.busy(source)):
                if self.still(source):
                    return True
                self.claims.pop(source).release()
                return False
        if not self.silent:
            self._ends(_running_already(source))
        elif claim:
            self.claims.pop(source).release()
        return False

    def _begun(self, plan: Plan) -> bool:
        """Whether it was its turn, or can't be."""
        if self.stopping or len(self.crawls) >= self.parallel:
            return False
        try:
            if not self.claims[plan.job.source].take_hosts(plan.hosts):
                return False
        except HarvestError as error:
            self.refuse(plan.job, str(error))
            return True
        self.crawls[asyncio.ensure_future(self._crawl(plan))] = plan
        return True

    async def _one_ended(self) -> None:
        if not self.crawls:
            await asyncio.sleep(_PAUSE)
            return
        done, _ = await asyncio.wait(self.crawls, timeout=_PAUSE, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            del self.crawls[task]
            task.result()

    async def _crawl(self, plan: Plan) -> None:
        try:
            outcome = await self._turn(plan)
        except HarvestError as error:
            self.refuse(plan.job, str(error))
        except OSError as error:
            self.refuse(plan.job, f"{error.filename}: {error.strerror}" if error.filename else str(error))
        else:
            self._ends(outcome)

    def refuse(self, job: Job, why: str) -> None:
        """Takes note that a job can't start."""
        if self._running(job.source):
            self._ends(_running_already(job.source))
        elif self.stopping:
            self._ends(Outcome(source=job.source, state="left", sentence=f"stopped before it began: {why}."))
        else:
            self.report(report_unstarted(self.output, job, why))
            self._ends(Outcome(source=job.source, state="not started", sentence=f"not started: {why}"))

    async def _turn(self, plan: Plan) -> Outcome:
        source, ledger = plan.job.source, Ledger(Path(plan.job.settings["JOBDIR"]))
        state = ledger.state(plan.identity)
        if state == "in use":
            return _running_already(source)
        if state in ("another", "finished", "damaged"):
            ledger.remove()
        if state in _ANEW:
            self.tell(source, f"begins anew: what was left of its last run {_ANEW[state]}.")
        self.claims[source].begin()
        self.tell(source, "goes on" if state == "unfinished" else "started")
        run, why = await self._until_reported(plan, ledger)
        if run.details.get("finish_reason") == "finished":
            ledger.remove()
        return Outcome(source=source, state=run.state, sentence=" ".join((sentence(run), *why)), run=run)

    async def _until_reported(self, plan: Plan, ledger: Ledger) -> tuple[Run, list[str]]:
        """
        Returns:
            the run, and why it left no report, where it left none.

        Raises:
            HarvestError: it could not start, or died without a sign of life.
        """
        source = plan.job.source
        before, heard = self._stamp(source, ledger.run()), self._heard(source)
        for left in reversed(range(_RESUMED + 1)):
            where, broken = await self._crawled(plan.job)
            name = ledger.run()
            if name and self._stamp(source, name) not in (None, before):
                return reported(self._path(source, name)), []
            dead = at_work(self.output / source)
            if dead is None or (self._heard(source) == heard if broken else dead.run != name):
                raise HarvestError(where if broken else f"{where} left no report")
            if not (broken or self.stopping or ledger.finished()) and left:
                self.tell(source, f"goes on: {where} left no report.")
                continue
            return self._dead(dead, where if broken else f"{_capital(where)} left no report.", broken=broken)
        raise AssertionError  # the last time returns

    async def _crawled(self, job: Job) -> tuple[str, bool]:
        """Where it was; or else what went wrong, maybe after it had begun."""
        try:
            return await self.runner.crawl(job), False
        except HarvestError as error:
            return str(error), True

    def _dead(self, dead: Run, why: str, *, broken: bool) -> tuple[Run, list[str]]:
        if broken and dead.state == "running":
            return dead, [why]  # out of reach, and at work nevertheless
        run = died(dead)  # whatever a heartbeat of another machine says
        if not self.stopping:
            self.report({**run.details, "why": why})
        return run, [why]

    def _heard(self, source: str) -> tuple[Any, ...]:
        """The last sign of life."""
        state = content(self.output / source / "running.json")
        return state.get("run"), state.get("heartbeat"), state.get("pid")

    def _ends(self, outcome: Outcome) -> None:
        claim = self.claims.pop(outcome.source, None)
        if claim:
            if outcome.state not in ("left", "running", "interrupted"):
                claim.end()
            claim.release()
        self.outcomes.append(outcome)
        self.tell(outcome.source, outcome.sentence)

    async def _cancel(self, plan: Plan) -> None:
        try:
            await self.runner.cancel(plan.job.source)
        except HarvestError as error:
            self.tell(plan.job.source, f"can't be stopped: {error}")

    def _running(self, source: str) -> bool:
        run = at_work(self.output / source)
        return run is not None and run.state == "running"

    def _path(self, source: str, run: str) -> Path:
        return self.output / source / "runs" / f"{run}.json"

    def _stamp(self, source: str, run: str | None) -> Stamp:
        """What tells a report from the one that was there before."""
        try:
            found = self._path(source, run or "").stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _running_already(source: str) -> Outcome:
    return Outcome(source=source, state="running", sentence="is running already.")
