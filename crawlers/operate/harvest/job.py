"""One crawl of one source: what a harvest asks for, the runner that carries it out, and what JOBS_DIR has of it."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from crawlers.components.ledger import FORMAT
from crawlers.exceptions import HarvestError
from crawlers.listing.spider import hosts
from crawlers.operate.sources.source import Source
from crawlers.records.moment import moment, now
from crawlers.safety import sqlite
from crawlers.safety.locks import is_crawled, is_held, of_host, take
from crawlers.store.runs import at_work, content

_OWN = (
    *("OUTPUT_DIR", "OUTPUT_STORE", "OUTPUT_MIRROR", "JOBDIR", "JOBS_DIR", "LOGS_DIR"),
    *("LOG_FILE", "SOURCES_FILE", "SCRAPYD_NODES"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One crawl of one source, wherever it runs.

    Args:
        arguments: the spider's ``-a``, with ``source`` and ``since`` where the spider takes them.
        settings: Scrapy's ``-s``, with ``OUTPUT_DIR``, ``JOBS_DIR`` and ``JOBDIR`` as absolute paths.
    """

    source: str
    spider: str
    arguments: dict[str, str]
    settings: dict[str, str]

    @property
    def words(self) -> list[str]:
        """What follows ``scrapy`` on the command line."""
        options = {"-a": self.arguments, "-s": self.settings}
        given = (
            word for way, table in options.items() for name, value in table.items() for word in (way, f"{name}={value}")
        )
        return ["crawl", self.spider, *given]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A job, and what is known of its crawl before it starts.

    Args:
        hosts: the hosts of the source's addresses, with their port where it is not the default; an archive has none.
        identity: what the crawl's JOBDIR is recognised by.
    """

    job: Job
    hosts: frozenset[str]
    identity: dict[str, Any]


class Runner(Protocol):
    """Where crawls run: processes here, or Scrapyd nodes."""

    async def crawl(self, job: Job, /) -> str:
        """Run a job to its end, however it ends; return where it ran and how it ended, for a message.

        Raises:
            HarvestError: it could not start.
        """

    async def busy(self, source: str, /) -> bool:
        """Return whether a job of a source exists already, no matter who started it."""

    async def cancel(self, source: str, /) -> None:
        """Stop a source's crawl so that it can be resumed; the second time at once; the third may kill it."""

    async def close(self) -> None:
        """Release what the runner holds."""


def job(source: Source, spider: Any, *, output: Path, jobs: Path, settings: Mapping[str, str], store: str = "") -> Job:
    """Return the job of a source.

    Args:
        store: the address of the store that ``output`` is a mirror of; empty if it is a plain folder.
        settings: the user's ``-s``; they override the source's own.
    """
    own = {"source": source.name} if "source" in spider.arguments else {}
    since = {"since": "last"} if "since" in spider.arguments else {}
    return Job(
        source=source.name,
        spider=spider.name,
        arguments={**since, **source.arguments, **own},
        settings={
            **{name: setting_text(value) for name, value in source.crawl_settings.items()},
            **{name: value for name, value in settings.items() if name not in _OWN},
            "OUTPUT_DIR": str(output.resolve()),
            "JOBS_DIR": str(jobs.resolve()),
            **({} if spider.crosses_hosts else {"HOST_TURNS": "False"}),  # the harvest has the lock: `Claim`
            **({"OUTPUT_STORE": store} if store else {}),
            "JOBDIR": str(jobdir(jobs, source.name).resolve()),
        },
    )


def plan(job: Job, spider: Any) -> Plan:
    """Return the plan of a job.

    Raises:
        CrawlersError: the spider refuses the arguments, or their rules file can't be read.
    """
    made = spider(**job.arguments)
    identity = {"spider": spider.name, "arguments": made.given, **getattr(made, "identity", {})}
    identity["output"] = job.settings["OUTPUT_DIR"]
    return Plan(job=job, hosts=hosts(made), identity=identity)


def setting_text(value: Any) -> str:
    """Return a setting as ``-s`` takes it.

    >>> setting_text(["a.example.org", "b.example.org"])
    'a.example.org,b.example.org'
    """
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def jobdir(jobs: Path, source: str) -> Path:
    """Return a source's JOBDIR; a source whose name ends like a lock file's has it elsewhere.

    >>> str(jobdir(Path("jobs"), "hdx")), str(jobdir(Path("jobs"), "hdx.lock"))
    ('jobs/hdx', 'jobs/.jobs/hdx.lock')
    """
    return jobs / ".jobs" / source if source.endswith(".lock") else jobs / source


# The claim: JOBS_DIR/<source>.lock is locked from queueing to the end, so that harvests never overlap

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
            path = of_host(self.jobs, host)
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


def read_claim(jobs: Path, source: str) -> ClaimRecord:
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
    claim = None if read_claim(jobs, source).seen else Claim.take(jobs, source)
    if claim:
        claim.see()
        claim.release()


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


# The ledger in a JOBDIR, between two crawls: whether there is a run to resume, and which

State = Literal["none", "unfinished", "finished", "different", "damaged", "in use"]

NAMING = ("source", "of")
"""The arguments of a crawl that name a source."""
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_ELSEWHERE = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_NOMEM)  # the ledger itself is not the problem


class Ledger:
    """The ledger of a source's job."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "ledger.sqlite"

    def state(self, identity: dict[str, Any]) -> State:
        """Return whether the next crawl can resume the job.

        Args:
            identity: of the next crawl; it can't resume a job with another identity.

        Raises:
            HarvestError: the disk can't be read.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise HarvestError(f"{self.folder} is a file where the folder of this source's job belongs: remove it")
        if not self.path.exists():
            return "none"
        try:
            return self._compare(self._facts(), identity)
        except sqlite3.DatabaseError as error:
            code = sqlite.code(error)
            if code in _ELSEWHERE:
                raise HarvestError(f"{self.path} can't be read ({error})") from None
            return "in use" if code in _BUSY else "damaged"
        except ValueError:
            return "damaged"

    def _compare(self, facts: dict[str, Any], identity: dict[str, Any]) -> State:
        """Return the state of a job with these facts."""
        if "identity" not in facts:
            return "none"
        if facts["identity"] != {"format": FORMAT, **identity}:
            return "different"
        if facts.get("finished"):
            return "finished"
        with closing(self._opened()) as db:
            return "unfinished" if db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",) else "damaged"

    def finished(self) -> bool:
        """Return whether nothing is left to do."""
        return bool(self._known().get("finished"))

    def run(self) -> str | None:
        """Return the name of the job's run."""
        state = self._known().get("state")
        run = state.get("run") if isinstance(state, dict) else None
        return run if isinstance(run, str) else None

    def _known(self) -> dict[str, Any]:
        try:
            return self._facts() if self.path.exists() else {}
        except (sqlite3.DatabaseError, ValueError):
            return {}

    def remove(self) -> None:
        """Remove the ledger, and the folder unless it has other files.

        Raises:
            HarvestError: it can't be removed.
        """
        for path in self.folder.glob("ledger.sqlite*"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise HarvestError(f"{path} is obsolete and can't be removed ({error.strerror}): remove it") from None
        with suppress(OSError):
            self.folder.rmdir()

    def rename(self, names: Mapping[str, str]) -> None:
        """Note that sources have other names, so that this job can be resumed; a damaged one stays as it is.

        Args:
            names: the new names by the old ones.
        """
        if "identity" not in self._known():
            return
        with closing(self._opened()) as db, sqlite.transaction(db):
            known = _facts(db).get("identity")
            if isinstance(known, dict) and isinstance(known.get("arguments"), dict):
                arguments = {name: names.get(value, value) for name, value in known["arguments"].items()}
                known["arguments"] |= {name: value for name, value in arguments.items() if name in NAMING}
                db.execute("UPDATE facts SET value = ? WHERE name = 'identity'", (json.dumps(known),))

    def move(self, before: str, output: str) -> None:
        """Note that OUTPUT_DIR is elsewhere, so that this job can be resumed; one of another OUTPUT_DIR stays as it is.

        Args:
            before: where it was.
            output: where it is, as an absolute path.
        """
        identity = self._known().get("identity")
        if before != output and isinstance(identity, dict) and identity.get("output") == before:
            with closing(self._opened()) as db, sqlite.transaction(db):
                known = json.dumps(identity | {"output": output})
                db.execute("UPDATE facts SET value = ? WHERE name = 'identity'", (known,))

    def _facts(self) -> dict[str, Any]:
        with closing(self._opened()) as db, sqlite.transaction(db):
            return _facts(db)

    def _opened(self) -> sqlite3.Connection:
        return sqlite.connect_existing(self.path, "mode=rw", patience=0)


def _facts(db: sqlite3.Connection) -> dict[str, Any]:
    return {name: json.loads(value) for name, value in db.execute("SELECT name, value FROM facts")}
