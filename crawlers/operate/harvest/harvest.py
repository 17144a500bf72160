"""A harvest: the crawls of the chosen sources, some in parallel, and never two of one host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from crawlers.exceptions import HarvestError
from crawlers.operate.harvest.claim import Claim, hosts_at_work
from crawlers.operate.harvest.job import Job, Plan, Runner
from crawlers.operate.harvest.outcome import Outcome, write_failed_start
from crawlers.operate.harvest.turn import Turn, already_running
from crawlers.store.runs import at_work

_PAUSE = 0.5  # seconds until a host that another harvest crawls is tried again

FOLLOWED = ("complete", "partial", "incomplete")
"""The states after which a source's archive is crawled: others leave an old catalogue, or a job to resume."""

Tell = Callable[[str, str], None]


class Harvest:
    """The crawls of the chosen sources.

    Args:
        output: OUTPUT_DIR.
        jobs: JOBS_DIR.
        parallel: how many crawls run in parallel.
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
        turn = Turn(
            plan=plan,
            claim=self.claims[source],
            runner=self.runner,
            output=self.output,
            tell=partial(self.tell, source),
            report=self.report,
            is_stopping=lambda: self.is_stopping,
        )
        try:
            outcome = await turn.take()
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
