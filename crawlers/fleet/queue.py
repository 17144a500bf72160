"""A queue of crawls in PostgreSQL: what commands do with it, and its tables. The queue is Procrastinate's."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.sql import queries

from crawlers.exceptions import HarvestError
from crawlers.fleet.database import UTF8, checked, failure, shown, unreachable
from crawlers.fleet.hosts import reach

CRAWLS = "catalogue-crawlers"
"""The name of the queue in the database: other applications may have theirs there."""
DUTIES = "catalogue-crawlers-duties"
"""The name of the queue of what nodes do for the queue itself: crawls do not hold it up."""
CRAWL = "catalogue-crawlers:crawl"
"""The name of the task."""
ARCHIVES = "catalogue-crawlers:archives"
"""What the locks of archives begin with: each asks many hosts, and takes turns at them (`crawlers.fleet.hosts`)."""
_OPEN = ("todo", "doing")
_PAUSE = 1.0  # seconds between two looks at jobs that are waited for
_SKEW = 60  # seconds that the clocks of a node and of the database may differ
_SCHEMA_LOCK = 0x63617461  # any number that is always the same: nodes that start together make the tables once
_FUNCTION = re.compile(r"procrastinate_\w+_v\d+(?=\()")


@dataclass(frozen=True, slots=True)
class Queued:
    """A crawl in the queue.

    Args:
        id: the job's number.
        state: whether it waits, or a node has it.
    """

    id: int
    source: str
    state: Literal["todo", "doing"]


class Queue:
    """A queue, as a command uses it.

    Args:
        address: ``postgresql://host/database``; user and password come from PGUSER and PGPASSWORD.

    Raises:
        HarvestError: the address is not one.
    """

    def __init__(self, address: str) -> None:
        self.address = checked(address)

    def defer(self, locks: Mapping[str, str], *, due: bool) -> dict[str, int | None]:
        """Put crawls of sources into the queue; return the numbers of their jobs, ``None`` if one is there already.

        Args:
            locks: the lock of each source, by its name.
            due: whether a node looks first if the source is still due.

        Raises:
            HarvestError: the queue can't be reached.
        """
        return asyncio.run(self._defer(locks, due=due))

    def jobs(self) -> list[Queued]:
        """Return the crawls in the queue, those that nodes have first.

        Raises:
            HarvestError: the queue can't be reached.
        """
        return asyncio.run(self._jobs())

    def stop(self, source: str) -> bool:
        """Take a source's crawl out of the queue, or stop it on its node as Ctrl-C does; return whether there was one.

        Raises:
            HarvestError: the queue can't be reached.
        """
        return asyncio.run(self._stop([source]))

    def wait(self, jobs: Sequence[int], sources: Sequence[str]) -> None:
        """Wait until no node has one of these jobs, or one that these sources have now; stop them if interrupted.

        Raises:
            HarvestError: the queue can't be reached.
            KeyboardInterrupt: it was interrupted; the jobs are being stopped.
        """
        try:
            asyncio.run(self._wait(frozenset(jobs), sources))
        except KeyboardInterrupt:
            asyncio.run(self._stop(sources))
            raise

    async def _defer(self, locks: Mapping[str, str], *, due: bool) -> dict[str, int | None]:
        async with self._opened() as app:
            at_work = {job.source for job in await _listed(app) if job.state == "doing"} if due else set()
            return {
                source: None if source in at_work else await deferred(app, source, lock, due=due)
                for source, lock in locks.items()
            }

    async def _jobs(self) -> list[Queued]:
        async with self._opened(creates=False) as app:
            return await _listed(app)

    async def _stop(self, sources: Sequence[str]) -> bool:
        async with self._opened(creates=False) as app:
            jobs = [job.id for job in await _listed(app) if job.source in sources]
            stopped = [await app.job_manager.cancel_job_by_id_async(job, abort=True) for job in jobs]
        return any(stopped)

    async def _wait(self, jobs: frozenset[int], sources: Sequence[str]) -> None:
        async with self._opened() as app:
            jobs |= {job.id for job in await _listed(app) if job.source in sources}
            while jobs & {job.id for job in await _listed(app)}:  # noqa: ASYNC110 -- the queue does not tell
                await asyncio.sleep(_PAUSE)

    @asynccontextmanager
    async def _opened(self, *, creates: bool = True) -> AsyncIterator[App]:
        await prepare(self.address, creates=creates)
        connector = PsycopgConnector(conninfo=self.address, min_size=1, max_size=1, kwargs=UTF8)
        try:
            async with App(connector=connector).open_async() as app:
                yield app
        except ConnectorException as error:
            raise HarvestError(unreachable(self.address, error.__cause__)) from None


async def deferred(app: App, source: str, lock: str | None, *, due: bool = False) -> int | None:
    """Put a crawl of a source into the queue; return the number of the job, or ``None`` if one waits there already."""
    task = app.configure_task(CRAWL, queue=CRAWLS, lock=lock, queueing_lock=f"{CRAWLS}:{source}")
    try:
        return await task.defer_async(source=source, due=due, asked=datetime.now(UTC).isoformat())
    except AlreadyEnqueued:
        return None


def locks(hosts: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Return the lock of each source: sources that share a host, also by way of others, have the same.

    A job has one lock, and a source may have several hosts. One without any, an archive, has a lock of its own.

    Args:
        hosts: of all sources, by their names.
    """
    heads: dict[str, str] = {}

    def head(host: str) -> str:
        while heads.setdefault(host, host) != host:
            host = heads[host]
        return host

    for found in hosts.values():
        if joined := sorted(map(head, found)):
            heads.update(dict.fromkeys(joined, joined[0]))
    return {name: f"{CRAWLS}:{head(min(found))}" if found else f"{ARCHIVES}:{name}" for name, found in hosts.items()}


async def _listed(app: App) -> list[Queued]:
    """Return the crawls that wait or are at work, by one statement: a job may change its state between two."""
    found = await app.job_manager.list_jobs_async(queue=CRAWLS)
    listed = [Queued(job.id or 0, str(job.task_kwargs["source"]), job.status) for job in found if job.status in _OPEN]  # type: ignore[arg-type]
    return sorted(listed, key=lambda job: (job.state, job.id))


async def prepare(address: str, *, creates: bool = True) -> None:
    """Check that a queue can be used, and create its tables in a database that has none.

    Raises:
        HarvestError: it can't be reached, its tables are of another version, or its clock differs from that here.
    """
    try:
        async with await psycopg.AsyncConnection.connect(
            address, connect_timeout=10, autocommit=True, **UTF8
        ) as connection:
            await _check(connection, shown(address), creates=creates)
        if creates:
            await asyncio.to_thread(reach, address)
    except psycopg.Error as error:
        raise HarvestError(failure(address, error)) from None


async def _check(connection: psycopg.AsyncConnection[Any], shown: str, *, creates: bool) -> None:
    """Compare the clock and the tables.

    Raises:
        HarvestError: they differ.
    """
    cursor = await connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8")
    ahead = time.time() - (await cursor.fetchone() or [0.0])[0]
    if abs(ahead) > _SKEW:
        way = "ahead of" if ahead > 0 else "behind"
        clocks = f"The clock of this machine is {abs(ahead):.0f} seconds {way} that of the queue {shown}"
        raise HarvestError(f"{clocks}: set both by NTP.")
    await connection.execute("SELECT pg_advisory_lock(%s)", (_SCHEMA_LOCK,))
    found = {row[0] async for row in await connection.execute("SELECT proname FROM pg_proc WHERE proname ~ 'procrast'")}
    if not found and creates:
        await _create(connection)
    elif found and (missing := sorted({name for text in queries.values() for name in _FUNCTION.findall(text)} - found)):
        advice = "apply the migrations of Procrastinate, or name another database"
        raise HarvestError(
            f"The tables of the queue {shown} are of another version ({missing[0]} is missing): {advice}."
        )
    elif not found:
        raise HarvestError(f"The database {shown} has no queue: `scrapy worker --queue` or `harvest --queue` makes it.")


async def _create(connection: psycopg.AsyncConnection[Any]) -> None:
    from procrastinate.schema import SchemaManager  # noqa: PLC0415 -- once in the life of a queue

    async with connection.transaction():
        await connection.execute(SchemaManager.get_schema())
