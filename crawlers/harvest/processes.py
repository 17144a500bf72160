"""Crawls as processes of this machine."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from crawlers import moment
from crawlers.exceptions import HarvestError
from crawlers.harvest.job import Job

_NOT_STARTED = (1, 2)  # exit codes of `scrapy crawl`: what it says then is for the user
_KILLED = 3  # times that it was told to stop
_TAIL = 4096  # bytes
_STAMP = re.compile(r"^[0-9-]{10} [0-9:]{8} \[[\w.]+\] [A-Z]+: ")  # of a log line
_RAISED = re.compile(r"[\w.]*(Error|Exception)(: |$)")  # the last line of a traceback


class Processes:
    """Each is `scrapy crawl` in a session of its own, so that Ctrl-C on the terminal reaches the harvest alone.

    Args:
        logs: LOGS_DIR; what a crawl says goes to <source>/<time>.log there.
        locks: the descriptors, by source, that a crawl inherits.
    """

    def __init__(self, logs: Path, locks: Callable[[str], Sequence[int]]) -> None:
        self.logs = logs
        self.locks = locks
        self.running: dict[str, Process] = {}
        self.cancelled: Counter[str] = Counter()

    async def crawl(self, job: Job) -> str:
        """Waits until it has ended, however it did; returns which process it was, for people.

        Raises:
            HarvestError: it could not start; the sentence is the crawl's own.
        """
        log = self.logs / job.source / f"{moment.name()}.log"
        process = await self._start(job, log)
        self.running[job.source] = process
        if self.cancelled[job.source]:  # while it was started
            self._signal(job.source)
        try:
            code = await process.wait()
        finally:
            del self.running[job.source]
        if code in _NOT_STARTED:
            raise HarvestError(_last_line(log))
        ended = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return f"process {process.pid}, which ended {ended} and logged to {log},"

    async def busy(self, source: str) -> bool:
        return source in self.running

    async def cancel(self, source: str) -> None:
        """A third time kills: a crawl that hangs hears nothing else."""
        self.cancelled[source] += 1
        self._signal(source)

    def _signal(self, source: str) -> None:
        process = self.running.get(source)
        if process:
            with suppress(ProcessLookupError):
                if self.cancelled[source] < _KILLED:
                    process.terminate()
                else:
                    os.killpg(process.pid, signal.SIGKILL)  # with its browser

    async def close(self) -> None:
        """Nothing is held."""

    async def _start(self, job: Job, log: Path) -> Process:
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise HarvestError(f"{log} can't be written ({error.strerror}): choose -s LOGS_DIR=") from None
        try:
            return await asyncio.create_subprocess_exec(
                *_command(job, log),
                stdin=DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                pass_fds=self.locks(job.source),
            )
        except OSError as error:
            raise HarvestError(f"no process can be started: {error.strerror}") from None
        finally:
            os.close(file)


def _command(job: Job, log: Path) -> list[str]:
    warnings = [f"-W{option}" for option in sys.warnoptions]
    settings = {**job.settings, "LOG_FILE": str(log.resolve())}
    return [
        *(sys.executable, *warnings, "-m", "scrapy", "crawl", job.spider),
        *(word for name, value in job.arguments.items() for word in ("-a", f"{name}={value}")),
        *(word for name, value in settings.items() for word in ("-s", f"{name}={value}")),
    ]


def _last_line(log: Path) -> str:
    """What a crawl that does not start says last is why."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL))
        text = file.read().decode(errors="replace")
    lines = text.strip().splitlines()
    is_torn = not (lines and text.endswith("\n"))
    if is_torn and os.statvfs(log.parent).f_bavail == 0:
        return f"the disk that has {log.parent} is full: free some space, and the run goes on"
    if not lines:
        return f"it said nothing: see {log}"
    last = _STAMP.sub("", lines[-1])
    return f"the crawl broke off with {last.rstrip('.')}; see {log}" if _RAISED.match(last) else last
