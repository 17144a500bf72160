"""A run of a source: what its report says, or, while there is none, what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

State = Literal["pending", "running", "complete", "partial", "incomplete", "blocked", "failed", "interrupted"]
"""A verdict, once there is one; a run that died without one is interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """
    Args:
        run: its name, the moment it started; ``None`` while it is pending.
        since: the moment after which only changes were asked for; ``None`` when all was listed.
        started: UTC; of a pending run, when it was queued.
        listed: datasets so far, while it runs.
        counts: new, updated, unchanged, withdrawn, restored, fallback, failed.
        errors: how many of each kind.
        pace: requests per second: since its last sign of life while it runs, else on the whole; ``None`` if not known.
        why: why it waits while it runs; else why it ended, unless it came to its end.
        log: the file it logs to, where there is one.
        where: the process that has it: ``"pid 4711 on host"``; ``None`` when it is over.
        folder: the source's, in OUTPUT_DIR.
    """

    source: str
    run: str | None
    state: State
    spider: str | None = None
    arguments: dict[str, str] = field(default_factory=dict)
    since: str | None = None
    started: str | None = None
    finished: str | None = None
    seconds: float | None = None
    expected: int | None = None
    listed: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    requests: int = 0
    retries: int = 0
    bytes: int = 0
    resumed: bool = False
    pace: float | None = None
    why: str = ""
    log: str | None = None
    where: str | None = None
    folder: Path | None = None
    report: Path | None = None
    """runs/<run>.json, once it is written."""
    details: dict[str, Any] = field(default_factory=dict)
    """The whole report; while there is none, what running.json says, and of a run that died how it ended."""

    @property
    def over(self) -> bool:
        return self.state not in ("pending", "running")
