"""A claim on a source: JOBS_DIR/<source>.lock is locked from queueing to the end, so that harvests never overlap."""

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
from crawlers.records.moment import moment, now
from crawlers.safety.locks import is_crawled, is_held, take
from crawlers.safety.names import safe
from crawlers.store.runs import Run, at_work, claimed, content

_KEPT = ("begun", "ended", "hosts", "seen")


class Claim:
    """A lock on a source; held until `release`, or until the last process that has its descriptors ends.

    Attributes:
        descriptors: of the locks of the source and its hosts. A crawl inherits them, so no other crawl overlaps it
            even when its harvest is killed.
    """

    def __init__(self, jobs: Path, source: str, descriptor: int) -> None:
        self.jobs = jobs
        self.path = _path(jobs, source)
        self.descriptors = [descriptor]
        self.known = {name: value for name, value in content(self.path).items() if name in _KEPT}
        self._write(queued=now())

    @classmethod
    def take(cls, jobs: Path, source: str) -> Self | None:
        """Return a claim; ``None`` if another harvest has it, or a crawl that outlived its harvest.

        Raises:
            HarvestError: JOBS_DIR is not writable.
        """
        try:
            descriptor = take(_path(jobs, source))
            return None if descriptor is None else cls(jobs, source, descriptor)
        except OSError as error:
            raise HarvestError(
                f"{jobs} is not writable ({error.strerror}): choose another folder with -s JOBS_DIR="
            ) from None

    def take_hosts(self, hosts: frozenset[str]) -> bool:
        """Claim these hosts, all or none; return whether no other source had one of them.

        Raises:
            HarvestError: their locks can't be created.
        """
        taken: list[int] = []
        for host in sorted(hosts):
            path = self.jobs / ".hosts" / f"{safe(host.replace(':', '_'))}.lock"
            try:
                descriptor = take(path, tries=1)
            except OSError as error:
                _close(taken)
                raise HarvestError(f"{path} can't be created ({error.strerror}): check {path.parent}") from None
            if descriptor is None:
                _close(taken)
                return False
            taken.append(descriptor)
        self.descriptors += taken
        self._write(hosts=sorted(hosts))
        return True

    def begin(self) -> None:
        """Record when the crawl starts: a crawl that crashes early leaves nothing else for the schedule."""
        self._write(begun=now())

    def end(self) -> None:
        """Record that the crawl has ended and that its end was reported."""
        self._write(ended=now())

    def see(self) -> None:
        """Record when a harvest first saw the source."""
        self._write(seen=now())

    def release(self) -> None:
        """Release the locks."""
        _close(self.descriptors)
        self.descriptors = []

    def _write(self, **new: Any) -> None:
        self.known |= {**new, "pid": os.getpid(), "host": socket.gethostname()}
        body = json.dumps(self.known).encode()
        with suppress(OSError):  # a full disk; the lock is what matters
            os.ftruncate(self.descriptors[0], 0)
            os.pwrite(self.descriptors[0], body, 0)


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """What harvests have recorded about a source.

    Args:
        begun: when a harvest last started a crawl of it; ``None`` if none ever did.
        ended: when a harvest last saw its crawl end, or refused to start it.
        is_held: whether a harvest, or a crawl that outlived one, has the source now.
        seen: when a harvest first saw the source wait for its window.
    """

    begun: datetime | None
    ended: datetime | None
    is_held: bool
    seen: datetime | None = None


def read(jobs: Path, source: str) -> ClaimRecord:
    """Return what harvests have recorded about a source."""
    path = _path(jobs, source)
    known = content(path)
    times = {name: moment(known.get(name)) for name in ("begun", "ended", "seen")}
    return ClaimRecord(**times, is_held=is_held(path))


def see(jobs: Path, source: str) -> None:
    """Record that a harvest saw a source for the first time: from now on it waits for its window.

    Raises:
        HarvestError: JOBS_DIR is not writable.
    """
    claim = None if read(jobs, source).seen else Claim.take(jobs, source)
    if claim:
        claim.see()
        claim.release()


def pending(jobs: Path, source: str) -> Run | None:
    """Return the pending run for which a harvest has claimed a source."""
    return claimed(_path(jobs, source))


def hosts_at_work(output: Path, jobs: Path, ours: Collection[str]) -> set[str]:
    """Return the hosts of sources that are being crawled without a harvest that waits for them: on a node, for example.

    Args:
        ours: sources to leave out, since their hosts are locked.
    """
    folders = (output / path.stem for path in jobs.glob("*.lock") if path.stem not in ours)
    begun = (folder for folder in folders if (folder / "running.json").exists() or is_crawled(folder))
    running = (folder for folder in begun if (run := at_work(folder)) and run.state == "running")
    known = (content(_path(jobs, folder.name)).get("hosts") for folder in running)
    return {host for hosts in known if isinstance(hosts, list) for host in hosts if isinstance(host, str)}


def _path(jobs: Path, source: str) -> Path:
    return jobs / f"{source}.lock"


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
