"""A command of this project that a page waits for, as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING

from crawlers.exceptions import HarvestError
from crawlers.operate.harvest.fork_server import python

if TYPE_CHECKING:
    from collections.abc import Sequence

_PATIENCE = 10  # seconds for a process to end after SIGTERM
_LARGEST = 8 * 1024 * 1024  # bytes of an output that are read


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that has ended.

    Args:
        code: its exit code.
        output: what it printed.
        errors: the same on stderr.
    """

    code: int
    output: str
    errors: str

    @property
    def sentence(self) -> str:
        """Why it was not done: its last message."""
        said = (self.errors.strip() or self.output.strip()).splitlines()
        return said[-1][:2000] if said else f"The command ended with exit code {self.code}, and said nothing."


class Command:
    """A command that runs.

    Args:
        words: the command and its options.
        names: what follows ``--``, whatever it begins with.
        given: settings, as NAME=VALUE.

    Raises:
        HarvestError: no process can be started.
    """

    def __init__(self, words: Sequence[str], names: Sequence[str], given: Sequence[str]) -> None:
        self.end: Ended | None = None
        self.reading = threading.Lock()
        self.output, self.errors = TemporaryFile(), TemporaryFile()  # noqa: SIM115 -- they outlive this function
        settings = [word for one in given for word in ("-s", one)]
        try:
            self.process = subprocess.Popen(  # noqa: S603 -- our own command
                [*python(), "-m", "scrapy", *words, *settings, "--", *names],
                stdin=subprocess.DEVNULL,
                stdout=self.output,
                stderr=self.errors,
                start_new_session=True,
            )
        except OSError as error:
            raise HarvestError(f"no process can be created: {error.strerror}") from None

    def ended(self, seconds: float) -> Ended | None:
        """Wait for its end; return it, or ``None`` if it still runs after some seconds."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        with self.reading:
            if self.end is None:
                self.end = Ended(code, _text(self.output), _text(self.errors))
        return self.end

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def stop(self) -> None:
        """End it, and all that it has started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.is_running:
                with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                    os.killpg(self.process.pid, number)
                    self.process.wait(_PATIENCE)

    def leave(self) -> None:
        """Let it go on, and leave no zombie."""
        self.output.close()
        self.errors.close()
        threading.Thread(target=self.process.wait, daemon=True).start()


def run(words: Sequence[str], names: Sequence[str], given: Sequence[str], seconds: float) -> Ended | None:
    """Run a command; return its end, or ``None`` if it goes on after some seconds.

    Raises:
        HarvestError: no process can be started.
    """
    started = Command(words, names, given)
    ended = started.ended(seconds)
    if ended is None:
        started.leave()
    return ended


def _text(file: IO[bytes]) -> str:
    with file:
        file.seek(0)
        return file.read(_LARGEST).decode(errors="replace")
