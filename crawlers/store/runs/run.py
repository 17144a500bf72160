"""A run of a source: its report, or what is known before there is one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

State = Literal["pending", "running", "complete", "partial", "incomplete", "blocked", "failed", "interrupted"]
"""The verdict, once there is one; a run that crashed without one is interrupted."""
STATES: tuple[State, ...] = get_args(State)

RUN = re.compile(r"[0-9]{8}T[0-9]{6}Z(-[0-9]+)?")
"""The name of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """
    Args:
        run: its name, the moment it started; ``None`` while it is pending.
        since: the moment after which only changes were requested; ``None`` if everything was listed.
        started: UTC; of a pending run, when it was queued.
        listed: datasets so far, while it runs.
        counts: new, updated, unchanged, withdrawn, restored, fallback, failed.
        errors: how many of each kind.
        flaws: how many of each kind stood after it.
        pace: requests per second: since its last sign of life while it runs, else on the whole; ``None`` if not known.
        why: while it runs, why it waits; else why it ended, unless it finished.
        log: the file it logs to, where there is one.
        where: the process that has it: ``"pid 4711 on host"``; ``None`` if the run has ended.
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
    flaws: dict[str, int] = field(default_factory=dict)
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
    """The whole report; before there is one, the content of running.json, and how a crashed run ended."""

    @property
    def over(self) -> bool:
        return self.state not in ("pending", "running")
