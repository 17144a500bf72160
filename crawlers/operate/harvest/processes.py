"""Crawls as processes of this machine."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from crawlers.exceptions import HarvestError
from crawlers.operate.harvest.fork_server import python
from crawlers.operate.harvest.forks import Fork, Forks
from crawlers.operate.harvest.job import Job
from crawlers.records import moment

_NOT_STARTED = (1, 2)  # exit codes of `scrapy crawl` whose last line is a message for the user
_KILLED = 3  # cancellations until a crawl is killed
_TAIL = 4096  # bytes
_STAMP = re.compile(r"^[0-9-]{10} [0-9:]{8} \[[\w.]+\] [A-Z]+: ")  # of a log line
_RAISED = re.compile(r"[\w.]*(Error|Exception)(: |$)")  # the last line of a traceback


class Processes:
    """Each crawl is `scrapy crawl` in a session of its own, so that Ctrl-C on the terminal reaches the harvest alone.

    Args:
        logs: LOGS_DIR; a crawl logs to <source>/<time>.log there.
        locks: returns the descriptors that a source's crawl inherits.
        forks: whether crawls are forked from a process that has imported Scrapy; else each is a new Python process.
    """

    def __init__(self, logs: Path, locks: Callable[[str], Sequence[int]], *, forks: bool) -> None:
        self.logs = logs
        self.locks = locks
        self.forks = Forks(is_wanted=forks)
        self.running: dict[str, Process | Fork] = {}
        self.cancelled: Counter[str] = Counter()
        self.crashed: set[str] = set()

    async def crawl(self, job: Job) -> str:
        """Run a crawl to its end; return which process it was and how it ended.

        Raises:
            HarvestError: it could not start; the message is the crawl's own.
        """
        log = self.logs / job.source / f"{moment.name()}.log"
        try:
            process = self.running[job.source] = await self._start(job, log)
            if self.cancelled[job.source]:  # while the process was being created
                self._signal(job.source)
            code = await process.wait()
        finally:
            self.running.pop(job.source, None)
            del self.cancelled[job.source]
        if code < 0:
            self.crashed.add(job.source)
        if code in _NOT_STARTED:
            raise HarvestError(last_line(log))
        ended = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        return f"process {process.pid} (ended {ended}, log {log})"

    async def busy(self, source: str) -> bool:
        """Return whether a process crawls a source."""
        return source in self.running

    async def cancel(self, source: str) -> None:
        """Stop a crawl; the third time, kill it: a crawl that hangs ignores SIGTERM."""
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
        """End the process that forks."""
        self.forks.close()

    async def _start(self, job: Job, log: Path) -> Process | Fork:
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise HarvestError(f"{log} can't be written ({error.strerror}): set another -s LOGS_DIR=") from None
        words, locks = _words(job, log), self.locks(job.source)
        try:
            fork = None if job.source in self.crashed else await self.forks.start(words, [file, *locks])
            return fork or await _process(words, file, locks)
        except OSError as error:
            raise HarvestError(f"no process can be created: {error.strerror}") from None
        finally:
            os.close(file)


async def _process(words: Sequence[str], file: int, locks: Sequence[int]) -> Process:
    """Start ``scrapy`` with some words as a new process.

    Raises:
        OSError: there is no room for it.
    """
    return await asyncio.create_subprocess_exec(
        *(*python(), "-m", "scrapy", *words),
        stdin=DEVNULL,
        stdout=file,
        stderr=file,
        start_new_session=True,
        pass_fds=locks,
    )


def _words(job: Job, log: Path) -> list[str]:
    """Return what follows ``scrapy`` on the command line."""
    settings = {**job.settings, "LOG_FILE": str(log.resolve())}
    return [
        *("crawl", job.spider),
        *(word for name, value in job.arguments.items() for word in ("-a", f"{name}={value}")),
        *(word for name, value in settings.items() for word in ("-s", f"{name}={value}")),
    ]


def last_line(log: Path) -> str:
    """Return why a crawl or a harvest did not start: its last message."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL))
        text = file.read().decode(errors="replace")
    lines = text.strip().splitlines()
    is_torn = not (lines and text.endswith("\n"))
    if is_torn and os.statvfs(log.parent).f_bavail == 0:
        return f"the disk of {log.parent} is full: free some space, then harvest again to resume"
    if not lines:
        return f"it wrote no message: see {log}"
    last = _STAMP.sub("", lines[-1])
    return f"the crawl failed with {last.rstrip('.')}; see {log}" if _RAISED.match(last) else last
