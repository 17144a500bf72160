"""A harvest of one source in the background, and the end of a crawl that another process runs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from crawlers.exceptions import HarvestError
from crawlers.operate.harvest.outcome import NOTHING_STARTED
from crawlers.operate.harvest.processes import last_line
from crawlers.records import moment
from crawlers.safety.locks import LOCK, is_crawled, is_open_in
from crawlers.store.runs import content, sources

_PAUSE = 0.05  # seconds between two looks
_PATIENCE = 20.0  # seconds for a harvest to claim its source


def start(source: str, jobs: Path, logs: Path, given: Sequence[str]) -> str:
    """Start `scrapy harvest` of a source, which goes on when this process ends; return what it does.

    Args:
        source: its name.
        jobs: JOBS_DIR.
        logs: LOGS_DIR; what the harvest prints goes to <source>/<time>-harvest.log there.
        given: settings, as NAME=VALUE.

    Raises:
        HarvestError: it can't start; the message is its own.
    """
    log = logs / source / f"{moment.name()}-harvest.log"
    process = _started(source, log, given)
    end = time.monotonic() + _PATIENCE
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

    Args:
        output: OUTPUT_DIR.
        source: its name.

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
    command = [sys.executable, *(f"-W{option}" for option in sys.warnoptions), "-m", "scrapy", "harvest"]
    settings = [word for one in given for word in ("-s", one)]
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            return subprocess.Popen(  # noqa: S603 -- the name is one of sources.toml
                [*command, *settings, "--", source],
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
