"""A crawl that could not start leaves no report; it gets one, so that the morning's page shows it."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crawlers import moment
from crawlers.harvest.job import Job
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import redact
from crawlers.signals import OUTCOMES


def report_unstarted(output: Path, job: Job, why: str) -> dict[str, Any]:
    """Writes runs/<run>.json, and returns it: it failed, for ``finish_reason`` says why."""
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
        **dict.fromkeys(("requests", "retries", "bytes"), 0),
        "resumed": False,
    }
    folder = output / job.source
    with suppress(OSError):  # a full disk
        folder.mkdir(parents=True, exist_ok=True)
        inside.write(folder, f"runs/{run}.json", strict_json.dumps(report), scratch=f".{run}.writing")
    return report
