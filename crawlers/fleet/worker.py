"""A node: a machine that crawls the sources that the queue gives it, and outlasts a restart of the database."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Status
from procrastinate.sql import queries

from crawlers.exceptions import CrawlersError, HarvestError
from crawlers.fleet.database import UTF8, checked, shown
from crawlers.fleet.queue import CRAWL, CRAWLS, DUTIES, deferred, locks, prepare
from crawlers.operate.console import print_error, print_lines
from crawlers.operate.harvest.crawls import Crawls
from crawlers.operate.harvest.harvest import FOLLOWED
from crawlers.operate.harvest.processes import Processes
from crawlers.operate.harvest.selection import due, still_due
from crawlers.operate.mirrored import look_again
from crawlers.operate.notify.digests import Digests
from crawlers.operate.sources.file import SourcesFile
from crawlers.records.moment import moment
from crawlers.store.runs import last

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from procrastinate import JobContext
    from procrastinate.jobs import Job
    from scrapy.settings import BaseSettings

    from crawlers.operate.harvest.harvest import Harvest, Outcome
    from crawlers.operate.harvest.job import Plan
    from crawlers.operate.sources.source import Known, Source
    from crawlers.store.runs import Run

_TRIES = 3  # of a crawl that could not start, or crashed again and again
_LATER = 60  # seconds until the next try
_UNENDED = ("interrupted", "skipped", "running", "not started")
_KILLED = 3  # stops until a crawl is killed
_ANSWER = 30.0  # seconds for a database that is back to answer
_LOOK = 1.0  # seconds between two looks at whether this node is still one
_PAUSE = 1.0  # seconds until a statement is repeated
_LIFE = {queries["register_worker"], queries["update_heartbeat"]}
"""The statements that let the other nodes know that this one lives."""


class NodeConnector(PsycopgConnector):
    """Repeats statements until the database answers, as long as no other node can have been given this one's jobs.

    After that, its statements never end, since all that this node could say of its jobs is obsolete.

    Args:
        address: of the database.
        patience: seconds without a sign of life after which other nodes take a node for dead.
    """

    def __init__(self, address: str, patience: float) -> None:
        super().__init__(conninfo=address, min_size=1, max_size=4, timeout=_PAUSE, kwargs={"connect_timeout": 5} | UTF8)
        self.patience = patience
        self.seen = time.monotonic()
        self.was_lost = False

    @property
    def is_lost(self) -> bool:
        """Whether other nodes may soon take this one for dead, or already do; once so, it stays so.

        A sign of life that comes after that is no way back: a statement that never ends may be the end of a job.
        """
        self.was_lost = self.was_lost or time.monotonic() - self.seen > self.patience / 2
        return self.was_lost

    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        await self._repeated(super().execute_query_async, query, arguments)

    async def execute_query_one_async(self, query: Any, **arguments: Any) -> dict[str, Any]:
        found: dict[str, Any] = await self._repeated(super().execute_query_one_async, query, arguments)
        return found

    async def execute_query_all_async(self, query: Any, **arguments: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = await self._repeated(super().execute_query_all_async, query, arguments)
        return found

    async def _repeated(self, ask: Callable[..., Awaitable[Any]], query: str, arguments: dict[str, Any]) -> Any:
        while True:
            asked = time.monotonic()
            if self.is_lost:
                await asyncio.Event().wait()
            try:
                answer = await ask(query, **arguments)
            except ConnectorException as error:
                if not isinstance(error.__cause__, psycopg.OperationalError):
                    raise
                await asyncio.sleep(_PAUSE)
                continue
            if query in _LIFE:
                self.seen = asked
            return answer


class Unended(CrawlersError):  # noqa: N818 -- it may go on
    """A crawl has to be taken up again: the node stops, or the crawl could not start."""

    def __init__(self, state: str, *, is_stopping: bool) -> None:
        super().__init__(state)
        self.state = state
        self.is_stopping = is_stopping


class Again(BaseRetryStrategy):
    """A crawl that did not end goes on: on another node at once if its own stops, else later, a few times.

    One that ended incomplete or failed is not tried again here, since its job would keep others of its host waiting:
    its ``retry`` in sources.toml makes it due.
    """

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if not isinstance(exception, Unended):
            return None
        if exception.is_stopping:
            return RetryDecision(retry_in={"seconds": 0})
        return RetryDecision(retry_in={"seconds": _LATER}) if job.attempts + 1 < _TRIES else None


class Node(Crawls):
    """Crawls sources as the queue gives them.

    Args:
        settings: the command's.
        known: the project's spiders.
        given: the user's ``-s``, as NAME=VALUE.
        parallel: how many crawls run in parallel.
        queue: the address.
        defers_due: whether it puts sources that are due into the queue, every minute.

    Raises:
        HarvestError: a setting or the address is wrong.
    """

    def __init__(
        self,
        settings: BaseSettings,
        known: Known,
        given: list[str],
        *,
        parallel: int,
        queue: str,
        defers_due: bool = False,
    ) -> None:
        super().__init__(settings, known, given, parallel=parallel)
        self.address = self.given["QUEUE"] = checked(queue)  # where its crawls, too, find the hosts of other machines
        self.defers_due = defers_due
        self.patience = settings.getfloat("QUEUE_PATIENCE")
        self.harvests: dict[str, Harvest] = {}
        modules = [*self.modules, "crawlers.fleet.hosts"]
        self.processes = Processes(self.logs, self._locks, forks=self.forks, modules=modules)

    def _locks(self, source: str) -> Sequence[int]:
        return self.harvests[source].locks(source)

    def work(self) -> None:
        """Crawl until it is stopped.

        Raises:
            HarvestError: the queue can't be used.
        """
        asyncio.run(self._work())

    async def _work(self) -> None:
        await prepare(self.address)
        self.connector = NodeConnector(self.address, self.patience)
        app = self._app()
        async with app.open_async():
            self.workers = _workers(app, self.parallel, self.patience)
            self._take_signals()
            beside = [asyncio.create_task(each) for each in (self._watch(), _clear(app, self.patience))]
            print_lines([f"{socket.gethostname()}, process {os.getpid()}, works on {shown(self.address)}."])
            has_failed = await _over(self, [*self.workers, *beside])
            for task in beside:
                task.cancel()
            await self.processes.close()
        for task in (*self.workers, *beside):
            if task.done() and not task.cancelled() and (error := task.exception()):
                raise error
        if has_failed:
            raise HarvestError("The node has failed, and its crawls are left to other nodes: start it again.")

    def _app(self) -> App:
        """Return the tasks of a node; those that are not crawls are never held up by crawls."""
        app = App(connector=self.connector)
        app.task(name=CRAWL, queue=CRAWLS, retry=Again(), pass_context=True)(self.crawl)
        seconds = max(1, int(self.patience / 3))
        often = f"* * * * * */{seconds}" if seconds < 60 else "* * * * *"
        app.periodic(cron=often)(_duty(app, "rescue")(self.rescue))
        if self.defers_due:
            app.periodic(cron="* * * * *")(_duty(app, "due")(self.defer_due))
        return app

    async def crawl(self, context: JobContext, source: str, *, due: bool = False, asked: str = "") -> None:
        """Crawl a source: the task that the queue gives.

        Args:
            source: its name.
            due: whether it is crawled only if it is still due.
            asked: when it was put into the queue.

        Raises:
            Unended: it goes on later, or elsewhere.
        """
        if self.is_stopped:
            raise Unended("skipped", is_stopping=True)
        try:
            found = self._source(source)
            plan = self.plan_of(found)
        except CrawlersError as error:
            print_error(error)
            return
        state: str
        if run := await _ended(self, context.job, asked):
            state = run.state
        elif outcome := await self._crawled(plan, due=due):
            state = outcome.state
        else:
            return
        if state in _UNENDED:
            raise Unended(state, is_stopping=self.is_stopped)
        if found.archive and state in FOLLOWED:
            name = found.archived.name
            await deferred(context.app, name, locks({name: frozenset()})[name])

    async def _crawled(self, plan: Plan, *, due: bool) -> Outcome | None:
        """Crawl a source; return how that ended, ``None`` if it is not due any more."""
        source = plan.job.source
        found = self.sources[source]
        harvest = self.harvests[source] = self._harvest([], lambda _: not due or self._is_due(found), due)
        run = asyncio.ensure_future(harvest.run([plan], self.processes))
        try:
            await asyncio.shield(run)
        except asyncio.CancelledError:  # somebody has stopped the job
            harvest.stop()
            await run
            raise
        finally:
            del self.harvests[source]
            await asyncio.to_thread(self.remove_old, source)
        return harvest.outcomes[-1] if harvest.outcomes else None

    def _source(self, name: str) -> Source:
        """Return a source, as sources.toml has it now.

        Raises:
            HarvestError: there is none of that name, or its table is wrong.
        """
        sources, mistakes = self._table()
        archives = {source.archived.name: source.archived for source in sources.values() if source.archive}
        if name in mistakes:
            raise HarvestError(mistakes[name])
        found = sources.get(name) or archives.get(name)
        if found is None or found.review == "refused":
            raise HarvestError(
                f"The queue names a source {name[:100]!r}, which {self.settings['SOURCES_FILE']} has not."
            )
        self.sources[name] = found
        return found

    def _table(self) -> tuple[dict[str, Source], dict[str, str]]:
        return SourcesFile(Path(self.settings["SOURCES_FILE"]), self.known).read()

    def _is_due(self, source: Source) -> bool:
        return still_due(source, self.output, self.jobs, datetime.now(UTC))

    async def rescue(self, context: JobContext, timestamp: int) -> None:
        """Put the jobs of nodes that give no sign of life back into the queue."""
        manager = context.app.job_manager
        for job in await manager.get_stalled_jobs(queue=CRAWLS, seconds_since_heartbeat=self.patience):
            self._tell(str(job.task_kwargs.get("source")), "is put back into the queue: its node is silent.")
            await manager.retry_job(job)

    async def defer_due(self, context: JobContext, timestamp: int) -> None:
        """Put the sources that are due into the queue, and send the digests that are due."""
        await asyncio.to_thread(look_again, self.settings)
        sources, _ = self._table()
        locked = self.queue_locks(sources)
        for choice in due(sources, self.output, self.jobs, datetime.now(UTC)):
            if choice.is_taken and choice.source.name in locked:
                await deferred(context.app, choice.source.name, locked[choice.source.name], due=True)
        await asyncio.to_thread(Digests(self.settings, sources).send_due)

    def stop(self) -> None:
        """Stop as Ctrl-C does: the crawls end, and other nodes resume them; the second time at once."""
        for worker in () if self.is_stopped else self.workers:
            worker.cancel()  # it takes no more jobs, and waits for those that it has; a second one would not wait
        self.is_stopped = True
        for harvest in self.harvests.values():
            harvest.stop()

    def _take_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                loop.add_signal_handler(number, self.stop)

    async def _watch(self) -> None:
        """Kill the crawls and begin again when other nodes may have been given them: it was paused, or cut off."""
        while not self.connector.is_lost:  # noqa: ASYNC110 -- time is what passes
            await asyncio.sleep(_LOOK)
        for harvest in self.harvests.values():
            for _ in range(_KILLED):
                harvest.stop()
        print_error(
            f"The queue was out of reach for {self.patience / 2:.0f} seconds: the crawls are left to other nodes."
        )
        while not self.is_stopped:
            with suppress(HarvestError, TimeoutError):
                async with asyncio.timeout(_ANSWER):
                    await prepare(self.address)
                break
            await asyncio.sleep(_LOOK)
        await self.processes.close()
        if self.is_stopped:
            os._exit(1)
        os.execv(sys.executable, sys.orig_argv)  # noqa: S606 -- the same command, as a new node


def _workers(app: App, parallel: int, patience: float) -> list[asyncio.Task[None]]:
    """Start what takes crawls from the queue, and what takes duties."""
    life: dict[str, Any] = {
        "update_heartbeat_interval": patience / 6,
        "stalled_worker_timeout": patience,
        "fetch_job_polling_interval": min(5.0, patience / 6),
        "abort_job_polling_interval": min(5.0, patience / 6),
        "listen_notify": False,  # its connection would end the worker when the database restarts
        "install_signal_handlers": False,
        "delete_jobs": "always",  # what came of a crawl is in its report
    }
    return [
        asyncio.create_task(app.run_worker_async(queues=[CRAWLS], concurrency=parallel, **life)),
        asyncio.create_task(app.run_worker_async(queues=[DUTIES], concurrency=1, **life)),
    ]


async def _over(node: Node, tasks: list[asyncio.Task[None]]) -> bool:
    """Wait until the workers have ended; return whether a task has failed: the others are useless without it."""
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    if has_failed := not node.is_stopped:
        node.stop()
    await asyncio.wait(node.workers)
    return has_failed


async def _ended(node: Node, job: Job, asked: str) -> Run | None:
    """Return a source's last run, also on another node, if it was this job's: its end did not reach the queue."""
    source = str(job.task_kwargs["source"])
    await asyncio.to_thread(look_again, node.settings, [source])
    run = last(node.output, source) if job.attempts else None
    since, started = moment(asked), moment(run.started) if run else None
    is_its_own = run and run.state in FOLLOWED and since and started and started >= since
    return run if is_its_own else None


def _duty(app: App, name: str) -> Any:
    """Return what makes a task that runs once at a time, and waits once."""
    lock = f"{DUTIES}:{name}"
    return app.task(name=lock, queue=DUTIES, lock=lock, queueing_lock=lock, pass_context=True)


async def _clear(app: App, patience: float) -> None:
    """Remove the duties of nodes that crashed at them: their locks would keep all nodes from those duties."""
    while True:
        for job in await app.job_manager.get_stalled_jobs(queue=DUTIES, seconds_since_heartbeat=patience):
            with suppress(ConnectorException):  # another node was faster
                await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)
        await asyncio.sleep(patience / 3)
