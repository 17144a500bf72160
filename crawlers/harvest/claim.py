"""A claim on a source: JOBS_DIR/<source>.lock is locked from queueing to the end, so two harvests never overlap."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from crawlers.exceptions import HarvestError
from crawlers.locks import is_held, take
from crawlers.moment import moment, now
from crawlers.runs.run import Run
from crawlers.runs.stored import at_work, claimed, content
from crawlers.safety.names import safe

_KEPT = ("begun", "ended", "hosts", "seen")


class Claim:
    """Held until `release`, or until the last process that has its descriptors ends.

    Attributes:
        descriptors: of the locks, the source's and its hosts'. A crawl inherits them, so it is not overlapped
            either when the harvest that began it is killed.
    """

    def __init__(self, jobs: Path, source: str, descriptor: int) -> None:
        self.jobs = jobs
        self.path = _path(jobs, source)
        self.descriptors = [descriptor]
        self.known = {name: value for name, value in content(self.path).items() if name in _KEPT}
        self._write(queued=now())

    @classmethod
    def take(cls, jobs: Path, source: str) -> Self | None:
        """``None`` when another harvest has it, or a crawl that outlived one.

        Raises:
            HarvestError: JOBS_DIR can't be written into.
        """
        try:
            descriptor = take(_path(jobs, source))
            return None if descriptor is None else cls(jobs, source, descriptor)
        except OSError as error:
            raise HarvestError(
                f"{jobs} can't be written into ({error.strerror}): choose another with -s JOBS_DIR="
            ) from None

    def take_hosts(self, hosts: frozenset[str]) -> bool:
        """Whether none of these hosts is another source's just now; they are this one's then.

        Raises:
            HarvestError: their locks can't be made.
        """
        taken: list[int] = []
        for host in sorted(hosts):
            path = self.jobs / ".hosts" / f"{safe(host.replace(':', '_'))}.lock"
            try:
                descriptor = take(path, tries=1)
            except OSError as error:
                _close(taken)
                raise HarvestError(f"{path} can't be made ({error.strerror}): see to {path.parent}") from None
            if descriptor is None:
                _close(taken)
                return False
            taken.append(descriptor)
        self.descriptors += taken
        self._write(hosts=sorted(hosts))
        return True

    def begin(self) -> None:
        """Remembers when, for what is due next: a crawl that dies early leaves nothing else."""
        self._write(begun=now())

    def end(self) -> None:
        """Remembers that what was begun has come to an end that somebody was told of."""
        self._write(ended=now())

    def see(self) -> None:
        self._write(seen=now())

    def release(self) -> None:
        _close(self.descriptors)
        self.descriptors = []

    def _write(self, **new: Any) -> None:
        self.known |= {**new, "pid": os.getpid(), "host": socket.gethostname()}
        body = json.dumps(self.known).encode()
        with suppress(OSError):  # a full disk; the lock is what matters
            os.ftruncate(self.descriptors[0], 0)
            os.pwrite(self.descriptors[0], body, 0)


@dataclass(frozen=True, slots=True)
class Begun:
    """
    Args:
        begun: when a harvest last began a crawl of a source; ``None`` when none ever did.
        ended: when one last saw it end, or refused to begin it.
        held: whether a harvest, or a crawl that outlived one, has the source now.
        seen: when a harvest first saw a source that waits for its window.
    """

    begun: datetime | None
    ended: datetime | None
    held: bool
    seen: datetime | None = None


def begun(jobs: Path, source: str) -> Begun:
    path = _path(jobs, source)
    known = content(path)
    times = {name: moment(known.get(name)) for name in ("begun", "ended", "seen")}
    return Begun(**times, held=is_held(path))


def see(jobs: Path, source: str) -> None:
    """Remember that a harvest saw a source for the first time: its window is waited for from now on.

    Raises:
        HarvestError: JOBS_DIR can't be written into.
    """
    claim = None if begun(jobs, source).seen else Claim.take(jobs, source)
    if claim:
        claim.see()
        claim.release()


def pending(jobs: Path, source: str) -> Run | None:
    """The run that a harvest has claimed a source for."""
    return claimed(_path(jobs, source))


def hosts_at_work(output: Path, jobs: Path, ours: Collection[str]) -> set[str]:
    """The hosts of the sources that crawls are at work on though no harvest waits for them: on a node, say.

    Args:
        ours: sources that are left out; the locks on their hosts speak for them.
    """
    paths = [path for path in jobs.glob("*.lock") if path.stem not in ours]
    known = {path.stem: hosts for path in paths if isinstance(hosts := content(path).get("hosts"), list)}
    running = (source for source in known if (run := at_work(output / source)) and run.state == "running")
    return {host for source in running for host in known[source] if isinstance(host, str)}


def _path(jobs: Path, source: str) -> Path:
    return jobs / f"{source}.lock"


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
