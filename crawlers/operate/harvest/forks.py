"""Crawls as forks of a process that has imported Scrapy: most of what a small crawl costs is importing it."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from crawlers.operate.console import print_error
from crawlers.operate.harvest.fork_server import LONGEST, python

_SERVER = str(Path(__file__).with_name("fork_server.py"))
_TITLE = 4096  # characters of a crawl's command line, which `ps` shows: there is as much room as the server's has
_PATIENCE = 120.0  # seconds for the server to import what it needs, and to fork
_SET_CHILD_SUBREAPER = 36  # of prctl(2)


class Fork:
    """A crawl that was forked; it is a child of this process.

    Args:
        pid: the number of its process, and of its session.

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

    Attributes:
        has_forked: whether it has ever worked.

    Raises:
        OSError: it can't be started.
    """

    def __init__(self) -> None:
        self.has_forked = False
        self.requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with other:
                self.process = subprocess.Popen(  # noqa: S603 -- a file of this project
                    [*python(), _SERVER, " " * _TITLE],
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
            async with asyncio.timeout(_PATIENCE):
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
    """

    def __init__(self, *, is_wanted: bool) -> None:
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
                    self.server = self.server or Server()
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
    """Return the fork of a number; if that fails, let it end.

    Raises:
        ChildProcessError, OSError: as `Fork`.
    """
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
