"""Where a source's things are, and the locks that keep crawls out of them."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlers.exceptions import SourcesError
from crawlers.operate.harvest.job import jobdir
from crawlers.safety.locks import LOCK, take
from crawlers.store.runs import at_work

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_TRIES = 30  # a process that checks whether a crawl runs holds a shared lock for a moment


@dataclass(frozen=True)
class Places:
    """The places of one source.

    Args:
        name: the source's.
        folder: with its documents, in OUTPUT_DIR.
        job: its JOBDIR, below JOBS_DIR.
        claim: the file that a harvest locks, in JOBS_DIR.
        logs: the folder of its logs, in LOGS_DIR.
    """

    name: str
    folder: Path
    job: Path
    claim: Path
    logs: Path

    @classmethod
    def named(cls, name: str, output: Path, jobs: Path, logs: Path) -> Places:
        return cls(name, output / name, jobdir(jobs, name), jobs / f"{name}.lock", logs / name)

    @property
    def existing(self) -> list[Path]:
        """The folders that exist."""
        return [path for path in (self.folder, self.job, self.logs) if path.exists()]


def archive_of(name: str) -> str:
    """Return the name of a source's archive."""
    return f"archive-of-{name}"


@contextmanager
def idle(places: Iterable[Places]) -> Iterator[None]:
    """Keep crawls and harvests out of sources meanwhile.

    Raises:
        SourcesError: one of them is being crawled, or can't be locked.
    """
    with ExitStack() as stack:
        for place in places:
            run = at_work(place.folder)
            if run and run.state == "running":
                raise _busy(place)
            for lock in (place.claim, *([place.folder / LOCK] if place.folder.exists() else [])):
                stack.callback(os.close, _locked(lock, place))
        yield


def _locked(lock: Path, place: Places) -> int:
    try:
        descriptor = take(lock, tries=_TRIES)
    except OSError as error:
        raise SourcesError(f"{lock} can't be locked: {error.strerror}.") from None
    if descriptor is None:
        raise _busy(place)
    return descriptor


def _busy(place: Places) -> SourcesError:
    return SourcesError(f"[{place.name}] is being crawled: run the same command again when that has ended.")
