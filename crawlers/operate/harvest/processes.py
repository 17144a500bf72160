"""Crawls as processes of this machine, most of them forks; a harvest in the background; the end of another's crawl."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from crawlers.exceptions import HarvestError
from crawlers.operate.console import print_error
from crawlers.operate.harvest.fork_server import LONGEST, python
from crawlers.operate.harvest.harvest import NOTHING_STARTED
from crawlers.operate.harvest.job import Job
from crawlers.records import moment
from crawlers.safety.locks import LOCK, is_crawled, is_open_in
from crawlers.store.runs import content, sources

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
        modules: what that process imports besides.
    """

    def __init__(
        self, logs: Path, locks: Callable[[str], Sequence[int]], *, forks: bool, modules: Sequence[str] = ()
    ) -> None:
        self.logs = logs
        self.locks = locks
        self.forks = Forks(is_wanted=forks, modules=modules)
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
        words = replace(job, settings={**job.settings, "LOG_FILE": str(log.resolve())}).words  # noqa: ASYNC240 -- at once
        locks = self.locks(job.source)
        try:
            fork = None if job.source in self.crashed else await self.forks.start(words, [file, *locks])
            return fork or await asyncio.create_subprocess_exec(
                *(*python(), "-m", "scrapy", *words),
                stdin=DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                pass_fds=locks,
            )
        except OSError as error:
            raise HarvestError(f"no process can be created: {error.strerror}") from None
        finally:
            os.close(file)


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


_SERVER = str(Path(__file__).with_name("fork_server.py"))
_TITLE = 4096  # characters of a crawl's command line, which `ps` shows: there is as much room as the server's has
_FORK_PATIENCE = 120.0  # seconds for the server to import what it needs, and to fork
_SET_CHILD_SUBREAPER = 36  # of prctl(2)


class Fork:
    """A crawl that was forked; it is a child of this process.

    Raises:
        ChildProcessError: it is not a child of this process.
        OSError: no more files can be open.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        self.descriptor = os.pidfd_open(pid)

    def terminate(self) -> None:
        """Send SIGTERM."""
        os.kill(self.pid, signal.SIGTERM)

    async def wait(self) -> int:
        """Wait until it has ended; return its exit code, or the negative number of the signal that ended it."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self.descriptor, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self.descriptor)
            os.close(self.descriptor)
        _, status = os.waitpid(self.pid, 0)  # noqa: ASYNC222 -- it has ended
        return os.waitstatus_to_exitcode(status)


class Server:
    """The process that forks: `crawlers.operate.harvest.fork_server`. It ends when this process does.

    Args:
        modules: what it imports besides what all crawls need.

    Attributes:
        has_forked: whether it has ever worked.

    Raises:
        OSError: it can't be started.
    """

    def __init__(self, modules: Sequence[str] = ()) -> None:
        self.has_forked = False
        self.requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with other:
                self.process = subprocess.Popen(  # noqa: S603 -- a file of this project
                    [*python(), _SERVER, *modules, " " * _TITLE],
                    stdin=other.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
        except OSError:
            self.requests.close()
            raise

    async def fork(self, words: Sequence[str], descriptors: Sequence[int]) -> Fork:
        """Start ``scrapy`` with some words; return it once it runs.

        Args:
            descriptors: of its log, and of what else it has open.

        Raises:
            ConnectionError, TimeoutError: the server has ended, or does not answer.
            ChildProcessError: this process can't adopt what the server forks.
            OSError: this crawl can't be forked.
        """
        content = json.dumps(words).encode()
        if len(content) > LONGEST:
            raise OSError(errno.EMSGSIZE, os.strerror(errno.EMSGSIZE))
        ours, theirs = socket.socketpair()
        with ours, _adopting():
            ours.setblocking(False)
            with theirs:
                socket.send_fds(self.requests, [content], [theirs.fileno(), *descriptors])
            async with asyncio.timeout(_FORK_PATIENCE):
                pid = int(await asyncio.get_running_loop().sock_recv(ours, 32) or 0)
            if not pid:
                raise ConnectionError
            fork = _held(pid, ours)
            with suppress(ConnectionError):  # it was killed already
                ours.send(b"1")
        self.has_forked = True
        return fork

    def end(self) -> None:
        """End it; its forks go on."""
        self.requests.close()
        self.process.kill()
        self.process.wait()


class Forks:
    """Starts crawls by a fork server, and the server when it is needed.

    Args:
        is_wanted: whether crawls are forked at all. They are on Linux alone, and where exit codes are not discarded.
        modules: as for `Server`.
    """

    def __init__(self, *, is_wanted: bool, modules: Sequence[str] = ()) -> None:
        self.modules = modules
        is_safe = sys.platform == "linux" and signal.getsignal(signal.SIGCHLD) is not signal.SIG_IGN
        self.is_usable = is_wanted and is_safe
        self.server: Server | None = None
        self.lock = asyncio.Lock()

    async def start(self, words: Sequence[str], descriptors: Sequence[int]) -> Fork | None:
        """Start ``scrapy`` with some words; return it, or ``None`` if it has to be a new process.

        Args:
            descriptors: of its log, and of what else it has open.
        """
        async with self.lock:
            while self.is_usable:
                try:
                    self.server = self.server or Server(self.modules)
                    return await self.server.fork(words, descriptors)
                except (ConnectionError, TimeoutError, ChildProcessError):
                    self._give_up_server()
                except OSError:  # of this crawl alone, such as too many descriptors
                    return None
        return None

    def _give_up_server(self) -> None:
        """End the server; if it never worked, no other is started."""
        self.is_usable = self.server is not None and self.server.has_forked
        self.close()
        consequence = "another is started" if self.is_usable else "each crawl is a new process from now on"
        print_error(f"The fork server has ended: {consequence}.")

    def close(self) -> None:
        """End the server."""
        server, self.server = self.server, None
        if server:
            server.end()


def _held(pid: int, parent: socket.socket) -> Fork:
    """Return the fork of a number; if that fails, let it end."""
    try:
        return Fork(pid)
    except OSError:
        parent.close()
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
        raise


@contextmanager
def _adopting() -> Iterator[None]:
    """Be the parent of what loses its parent meanwhile: a fork of the server, whose own parent ends at once."""
    prctl = ctypes.CDLL(None).prctl
    prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


_PAUSE = 0.05  # seconds between two looks
_CLAIM_PATIENCE = 20.0  # seconds for a harvest to claim its source


def start(source: str, jobs: Path, logs: Path, given: Sequence[str]) -> str:
    """Start `scrapy harvest` of a source, which goes on when this process ends; return what it does.

    Args:
        logs: LOGS_DIR; what the harvest prints goes to <source>/<time>-harvest.log there.
        given: settings, as NAME=VALUE.

    Raises:
        HarvestError: it can't start; the message is its own.
    """
    log = logs / source / f"{moment.name()}-harvest.log"
    process = _started(source, log, given)
    end = time.monotonic() + _CLAIM_PATIENCE
    while process.poll() is None and time.monotonic() < end and not _has_claimed(process, jobs / f"{source}.lock"):
        time.sleep(_PAUSE)
    if process.poll() is None:
        threading.Thread(target=process.wait, daemon=True).start()  # so that no zombie is left
        return f"[{source}] is being harvested; log: {log}"
    if process.returncode == NOTHING_STARTED:
        raise HarvestError(last_line(log))
    return f"[{source}] was harvested; log: {log}"


def stop(output: Path, source: str) -> str:
    """Stop a source's crawl as Ctrl-C does; return what happens.

    Only the process that running.json names gets the signal, and only if it has the lock of the folder open.

    Raises:
        HarvestError: no crawl runs, or its process is not on this machine or can't be found.
    """
    if source not in sources(output):
        raise HarvestError(f"{output} has no source {source[:100]!r}.")
    folder = output / source
    state = content(folder / "running.json")
    pid, host = state.get("pid"), state.get("host")
    if host not in (None, socket.gethostname()) or state.get("elsewhere"):
        raise HarvestError(f"[{source}] runs on {host}: stop it there.")
    if not is_crawled(folder):
        raise HarvestError(f"[{source}] does not run: there is nothing to stop.")
    if sys.platform != "linux":
        raise HarvestError(f"[{source}] can be stopped on Linux only: `kill -INT {pid}` does it here.")
    if not isinstance(pid, int) or not _interrupt(pid, folder / LOCK):
        raise HarvestError(f"The process that crawls [{source}] is not known yet: try again in some seconds.")
    return f"[{source}] is being stopped: it finishes the requests that it has sent."


def _started(source: str, log: Path, given: Sequence[str]) -> subprocess.Popen[bytes]:
    settings = [word for one in given for word in ("-s", one)]
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            return subprocess.Popen(  # noqa: S603 -- the name is one of sources.toml
                [*python(), "-m", "scrapy", "harvest", *settings, "--", source],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
    except OSError as error:
        raise HarvestError(f"{log} can't be written ({error.strerror}): set another -s LOGS_DIR=") from None


def _has_claimed(process: subprocess.Popen[bytes], lock: Path) -> bool:
    return content(lock).get("pid") == process.pid


def _interrupt(pid: int, lock: Path) -> bool:
    """Send SIGINT to the process that has a lock file open; return whether this one has.

    The process is held by a descriptor meanwhile: its number can't become that of another one.
    """
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not is_open_in(pid, lock):
            return False
        signal.pidfd_send_signal(process, signal.SIGINT)
    except OSError:
        return False
    finally:
        os.close(process)
    return True
