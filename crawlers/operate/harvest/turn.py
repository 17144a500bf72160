"""A source's turn in a harvest: its crawl, which is resumed when it crashes, until there is a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawlers.exceptions import HarvestError
from crawlers.operate.harvest.claim import Claim
from crawlers.operate.harvest.job import Plan, Runner
from crawlers.operate.harvest.ledger import Ledger
from crawlers.operate.harvest.outcome import Outcome
from crawlers.store.run_text import sentence
from crawlers.store.runs import Run, as_crashed, at_work, content, reported

_RESUMES = 3  # times that a crashed crawl is resumed within one turn
_RESTARTS = {
    "different": "the saved job has other arguments or is of another version",
    "damaged": "the saved job is damaged or is not a job, and was removed",
}

Stamp = tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A source's turn.

    Args:
        output: OUTPUT_DIR.
        tell: prints a sentence about the source.
        report: receives the report of a run that crashed without one.
        is_stopping: whether the harvest is being stopped.
    """

    plan: Plan
    claim: Claim
    runner: Runner
    output: Path
    tell: Callable[[str], None]
    report: Callable[[dict[str, Any]], None]
    is_stopping: Callable[[], bool]

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
            self.tell(f"starts from the beginning: {_RESTARTS[state]}.")
        self.claim.begin()
        self.tell("resumed" if state == "unfinished" else "started")
        run, why = await self._until_reported(ledger)
        if run.details.get("finish_reason") == "finished":
            ledger.remove()
        return Outcome(source=self.source, state=run.state, sentence=f"{sentence(run)} {why}".rstrip(), run=run)

    @property
    def source(self) -> str:
        return self.plan.job.source

    async def _until_reported(self, ledger: Ledger) -> tuple[Run, str]:
        """Crawl until there is a report; return the run, and why it has no report if so."""
        before, heartbeat = self._stamp(ledger.run()), self._heartbeat()
        for left in reversed(range(_RESUMES + 1)):
            where, has_failed = await self._crawl()
            name = ledger.run()
            if name and self._stamp(name) not in (None, before):
                return reported(self._path(name)), ""
            crashed = at_work(self.output / self.source)
            if crashed is None or (self._heartbeat() == heartbeat if has_failed else crashed.run != name):
                raise HarvestError(where if has_failed else f"{where} left no report")
            if not (has_failed or self.is_stopping() or ledger.finished()) and left:
                self.tell(f"resumed: {where} left no report.")
                continue
            why = where if has_failed else f"{where[:1].upper()}{where[1:]} left no report."
            return self._crashed(crashed, why, is_unreachable=has_failed), why
        raise AssertionError  # the last iteration returns

    async def _crawl(self) -> tuple[str, bool]:
        """Return where the crawl ran, or what went wrong; and whether it failed, maybe after it had started."""
        try:
            return await self.runner.crawl(self.plan.job), False
        except HarvestError as error:
            return str(error), True

    def _crashed(self, run: Run, why: str, *, is_unreachable: bool) -> Run:
        """Return a run without a report as a crashed one, unless it may still run on an unreachable node."""
        if is_unreachable and run.state == "running":
            return run
        run = as_crashed(run)  # even if another machine has a recent heartbeat
        if not self.is_stopping():
            self.report({**run.details, "why": why})
        return run

    def _heartbeat(self) -> tuple[Any, ...]:
        state = content(self.output / self.source / "running.json")
        return state.get("run"), state.get("heartbeat"), state.get("pid")

    def _path(self, run: str) -> Path:
        return self.output / self.source / "runs" / f"{run}.json"

    def _stamp(self, run: str | None) -> Stamp:
        """Return what distinguishes a report from the one that was there before."""
        try:
            found = self._path(run or "").stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino


def already_running(source: str) -> Outcome:
    """Return the outcome of a source that another crawl is at work on."""
    return Outcome(source=source, state="running", sentence="is already running.")
