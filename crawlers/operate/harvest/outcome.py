"""How a source's turn in a harvest ended, the exit code of all, and the report of a crawl that did not start."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crawlers.operate.harvest.job import Job
from crawlers.records import moment
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import redact
from crawlers.signals import OUTCOMES
from crawlers.store.runs import Run

COMPLETE, NOTHING_STARTED, INCOMPLETE, FAILED, INTERRUPTED = 0, 1, 3, 4, 130
_CODES = {"incomplete": INCOMPLETE, "interrupted": INCOMPLETE, "blocked": FAILED, "failed": FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a source's turn ended.

    Args:
        state: the run's; or "not started", "running" (already, by another), "skipped" (the harvest was stopped before).
        sentence: what the harvest prints.
        run: ``None`` where there is none.
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
