"""Processes measured from outside: how long they took, what they cost, and how two of them compare."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LOOPBACK = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
SETTINGS = "SCRAPY_SETTINGS_MODULE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a process took: seconds on the clock, seconds of the processor, and its highest resident memory."""

    wall: float
    cpu: float
    mebibytes: float


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several measurements, and between what they lie."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        values = sorted(values)
        return cls(statistics.median(values), values[0], values[-1])


def run(command: list[str], folder: Path, *, path: Path | None = None) -> Cost:
    """Runs Python with a command line in a folder.

    Args:
        path: where it finds modules besides those installed.

    Raises:
        SystemExit: it failed; says what it said.
    """
    environment = {name: value for name, value in os.environ.items() if name != SETTINGS} | LOOPBACK
    if path:
        environment["PYTHONPATH"] = str(path)
    with tempfile.TemporaryFile("w+") as said:
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, *command], cwd=folder, env=environment, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"exit code {process.returncode} of: {' '.join(command)}\n{said.read()}")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Cost(wall=wall, cpu=usage.ru_utime + usage.ru_stime, mebibytes=usage.ru_maxrss / unit)
