"""Processes measured from outside: how long they took, what they cost, and how two of them compare."""

from __future__ import annotations

import math
import os
import re
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
COUNTS = "BENCHMARKS_COUNT_INSTRUCTIONS"
"""The environment variable that has processes run in valgrind: unlike seconds, a count is the same each time."""
COUNTER = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
COUNTED = re.compile(r"I +refs: +([\d,]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a process took: seconds on the clock, seconds of the processor, and its highest resident memory.

    If instructions are counted, ``cpu`` is billions of them, and the others are not measured.
    """

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
    program = [sys.executable]
    if COUNTS in os.environ:
        environment["PYTHONHASHSEED"] = "0"
        program = [*COUNTER, sys.executable]
    if path:
        environment["PYTHONPATH"] = str(path)
    with tempfile.TemporaryFile("w+") as said:
        started = time.perf_counter()
        process = subprocess.Popen([*program, *command], cwd=folder, env=environment, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if process.returncode:
        sys.exit(f"exit code {process.returncode} of: {' '.join(command)}\n{text}")
    if COUNTS in os.environ:
        (counted,) = COUNTED.findall(text)  # of one process: those that it starts are not counted
        return Cost(wall=math.nan, cpu=int(counted.replace(",", "")) / 1e9, mebibytes=math.nan)
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(wall=wall, cpu=cpu, mebibytes=usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10))
