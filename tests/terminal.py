"""A command of this project on a pseudo-terminal, which answers its question."""

from __future__ import annotations

import os
import sys

from tests import forked
from tests.conftest import ROOT


def answered(answer: str, command: list[str]) -> tuple[int, str]:
    """Return the exit code of a command, and what it showed."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(ROOT)}
    started = [sys.executable, "-W", "error", "-m", "scrapy", *command]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    with forked.Popen(started, cwd=ROOT, env=environment, **streams) as process:
        os.close(theirs)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(ours, 65536)
        os.write(ours, answer.encode())
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    return process.returncode, shown.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""
