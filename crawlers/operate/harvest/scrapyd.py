"""Scrapyd nodes, which crawl instead of this machine: a job goes to the one with the least to do.

The nodes share OUTPUT_DIR and JOBS_DIR with the harvest, which reads there how a job ended.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import aiohttp

from crawlers.exceptions import HarvestError
from crawlers.operate.harvest.scrapyd_node import Node, NodeError, printable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from crawlers.operate.harvest.job import Job

logger = logging.getLogger(__name__)

T = TypeVar("T")

_TIMEOUT = aiohttp.ClientTimeout(total=90, connect=10)  # a node does nothing else while it lists its spiders
_PATIENCE = 300.0  # seconds that a node may be silent while it has a job
_PAUSE, _LONGEST_PAUSE = 0.5, 10.0  # seconds between two requests for a job's state
_TIME = "%Y%m%dT%H%M%S.%fZ"
_WRONG = re.compile(
    r"^(?:[0-9-]{10} [0-9:]{8} \[[\w.]+\] (?:ERROR|CRITICAL): (?P<message>.+)|[\w.]*(?:Error|Exception)(?:: .*)?)$"
)


class Nodes:
    """Several Scrapyds, all with this project.

    Args:
        urls: ``http://node1:6800``; a path, as a proxy may need it, can follow.
        login: ``user:password``, the same for all nodes.
        project: the name that this project was deployed as.

    Raises:
        HarvestError: an address or the login is malformed.
    """

    def __init__(self, urls: Sequence[str], login: str | None = None, project: str = "crawlers") -> None:
        self.urls = list(dict.fromkeys(map(_address, urls)))
        if not self.urls:
            raise HarvestError("No Scrapyd node is named: --scrapyd http://node1:6800")
        self.headers = {"Authorization": _basic(login)} if login else {}
        self.project = project
        self.session: aiohttp.ClientSession | None = None
        self.known: list[Node] = []
        self.choosing = asyncio.Lock()

    @property
    def nodes(self) -> list[Node]:
        """Return the nodes; created with the first request, as a session belongs to the running event loop."""
        if self.session is None:
            jar = aiohttp.DummyCookieJar()
            self.session = aiohttp.ClientSession(headers=self.headers, timeout=_TIMEOUT, cookie_jar=jar)
            self.known = [Node(url, self.session) for url in self.urls]
        return self.known

    async def crawl(self, job: Job) -> str:
        """Give a job to the node with the least to do, and wait until it has ended there, however it ends.

        Returns:
            which job it was, where it ran and where its log is.

        Raises:
            HarvestError: no node accepts it, or the node that has it is silent for minutes.
        """
        jobid = f"{job.source}-{datetime.now(UTC).strftime(_TIME)}"
        async with self.choosing:  # so that each job counts when the next one is placed
            node = await self._place(job, jobid)
        logger.info("%s: job %s at %s", job.source, jobid, node.url)
        if not await _finished(node, jobid):
            return f"job {jobid} at {node.url} (not known there any more)"
        log = f"logs/{self.project}/{job.spider}/{jobid}.log"
        why = last_error(await node.log(log))
        return f"job {jobid} at {node.url} (log {node.url}/{log}{f', last message: {why}' if why else ''})"

    async def busy(self, source: str) -> bool:
        """Return whether a node has a job of a source, no matter who scheduled it.

        Raises:
            HarvestError: no node answers.
        """
        return any(jobs for _, jobs in await self._each(lambda node: node.jobs(source, self.project)))

    async def cancel(self, source: str) -> None:
        """Stop a source's jobs as Ctrl-C does, so that they can be resumed; the second time at once.

        Raises:
            HarvestError: no node answers, or one that has a job does not stop it.
        """
        for node, jobs in await self._each(lambda node: node.jobs(source, self.project)):
            for jobid in jobs:
                words = {"project": self.project, "job": jobid, "signal": "TERM"}
                await node.request("POST", "cancel.json", data=words)

    async def close(self) -> None:
        """Close the connections."""
        if self.session is not None:
            await self.session.close()
        self.session = None

    async def _place(self, job: Job, jobid: str) -> Node:
        loads = await self._each(lambda node: node.load())
        troubles = []
        for node, _ in sorted(loads, key=lambda pair: (pair[1], pair[0].given)):
            try:
                await node.take(job, jobid, self.project)
            except NodeError as error:
                troubles.append(str(error))
            else:
                return node
        raise HarvestError(" ".join((f"No Scrapyd node accepted {job.source}.", *troubles)))

    async def _each(self, ask: Callable[[Node], Awaitable[T]]) -> list[tuple[Node, T]]:
        """Return what each node answers, without the nodes that do not."""
        nodes = self.nodes
        answers = await asyncio.gather(*(node.answer(ask(node)) for node in nodes))
        found = [(node, answer) for node, answer in zip(nodes, answers, strict=True) if answer is not None]
        if not found:
            raise HarvestError(" ".join(node.trouble for node in nodes))
        for node in nodes:
            node.warn()
        return found


async def _finished(node: Node, jobid: str) -> bool:
    """Wait until a node no longer runs a job; a silent node is asked again, since it may be restarting.

    Returns:
        whether the node knows that the job has finished. A restarted node forgets the jobs that it had.
    """
    pause, last = _PAUSE, time.monotonic()
    while True:
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
        try:
            state = await node.state(jobid)
        except NodeError as error:
            if time.monotonic() - last > _PATIENCE:
                raise HarvestError(f"{error} Job {jobid} may still run there.") from None
            continue
        last = time.monotonic()
        if state not in ("pending", "running"):
            return state is not None


def _address(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        is_valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = False
    if "@" in url:
        message = "A Scrapyd address must not contain user and password: use the environment (SCRAPYD_LOGIN_ENV)."
        raise HarvestError(message)
    if not is_valid or parts.query or parts.fragment:
        raise HarvestError(f"{url!r} is not a Scrapyd address such as http://node1:6800")
    return parts.geturl().rstrip("/")


def _basic(login: str) -> str:
    user, _, password = login.partition(":")
    if not user or not password:
        raise HarvestError("The login for Scrapyd, in the variable that SCRAPYD_LOGIN_ENV names, is not user:password.")
    return "Basic " + base64.b64encode(login.encode()).decode()


def last_error(log: str) -> str:
    """Return the last message of a log if it is an error; else an empty string.

    >>> last_error("2026-11-20 03:00:00 [crawlers.crawl] ERROR: The rules can't be read."), last_error("KeyError: 'x'")
    ("The rules can't be read.", "KeyError: 'x'")
    >>> last_error("2026-11-20 03:00:09 [scrapy.core.engine] INFO: Spider closed (finished)")
    ''
    """
    found = _WRONG.match(log.strip().rpartition("\n")[2].strip())
    return printable(found["message"] or found[0]) if found else ""
