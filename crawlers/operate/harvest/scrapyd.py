"""Scrapyd nodes, which crawl instead of this machine: a job goes to the one with the least to do.

The nodes share OUTPUT_DIR and JOBS_DIR with the harvest, which reads there how a job ended.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import aiohttp

from crawlers.exceptions import HarvestError

if TYPE_CHECKING:
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
        user, _, password = (login or "").partition(":")
        if login and not (user and password):
            variable = "in the variable that SCRAPYD_LOGIN_ENV names"
            raise HarvestError(f"The login for Scrapyd, {variable}, is not user:password.")
        basic = base64.b64encode((login or "").encode()).decode()
        self.headers = {"Authorization": f"Basic {basic}"} if login else {}
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
    """Wait until a node no longer runs a job; a silent node is asked again, since it may be restarting."""
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


def last_error(log: str) -> str:
    """Return the last message of a log if it is an error; else an empty string.

    >>> last_error("2026-11-20 03:00:00 [crawlers.crawl] ERROR: The rules can't be read."), last_error("KeyError: 'x'")
    ("The rules can't be read.", "KeyError: 'x'")
    >>> last_error("2026-11-20 03:00:09 [scrapy.core.engine] INFO: Spider closed (finished)")
    ''
    """
    found = _WRONG.match(log.strip().rpartition("\n")[2].strip())
    return printable(found["message"] or found[0]) if found else ""


_MAXSIZE = 16 * 1024 * 1024  # bytes of an answer
_SHORT = 65_536  # bytes of a job's log that are read; Twisted gives the last bytes of longer logs only
_LONGEST = 300  # characters of a node's message that are repeated
_JOB = re.compile(r"(.+)-[0-9]{8}T[0-9]{6}\.[0-9]{6}Z")


class NodeError(HarvestError):
    """A request to a node failed.

    Args:
        is_unanswered: whether the node may have carried it out nevertheless: it was sent, but no answer came.
    """

    def __init__(self, message: str, *, is_unanswered: bool = False) -> None:
        super().__init__(message)
        self.is_unanswered = is_unanswered


class Node:
    """One Scrapyd.

    Attributes:
        trouble: a sentence, while something is wrong with it.
    """

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.session = session
        self.given = 0
        self.trouble = ""
        self._warned = ""

    async def answer(self, request: Awaitable[T]) -> T | None:
        """Return what a request gives; ``None`` if it fails, which sets `trouble`."""
        try:
            found = await request
        except NodeError as error:
            self.trouble = str(error)
            return None
        self.trouble = self._warned = ""
        return found

    def warn(self) -> None:
        """Log the node's trouble, once."""
        if self.trouble != self._warned:
            logger.warning("%s The node is skipped.", self.trouble)
        self._warned = self.trouble

    async def load(self) -> int:
        """Return how many jobs wait or run."""
        status = await self.request("GET", "daemonstatus.json")
        return sum(count for count in (status.get("pending"), status.get("running")) if isinstance(count, int))

    async def jobs(self, source: str, project: str) -> list[str]:
        """Return the jobs of a source that wait or run."""
        everything = await self.request("GET", "listjobs.json")  # of all projects: one without an egg is an error
        lists = [everything.get(name) for name in ("pending", "running")]
        jobs = [job for jobs in lists if isinstance(jobs, list) for job in jobs if isinstance(job, dict)]
        return [str(job.get("id")) for job in jobs if job.get("project") == project and is_job_of(source, job)]

    async def state(self, jobid: str) -> str | None:
        """Return ``pending``, ``running``, ``finished``, or ``None`` if the node does not know the job."""
        status = await self.request("GET", "status.json", params={"job": jobid})
        return status.get("currstate")

    async def take(self, job: Job, jobid: str, project: str) -> None:
        """Schedule a job on the node.

        Raises:
            NodeError: the node does not have the job.
            HarvestError: it is not known whether the node has it.
        """
        settings = [("setting", f"{name}={value}") for name, value in job.settings.items()]
        words = [("project", project), ("spider", job.spider), ("jobid", jobid), *settings, *job.arguments.items()]
        try:
            await self.request("POST", "schedule.json", data=aiohttp.FormData(words))
        except NodeError as error:
            if not error.is_unanswered or not await self._has_taken(jobid, error):
                raise
        self.given += 1

    async def _has_taken(self, jobid: str, why: NodeError) -> bool:
        try:
            return await self.state(jobid) is not None
        except NodeError:
            raise HarvestError(f"{why} It may have job {jobid} nevertheless, so no other node gets the job.") from None

    async def request(self, method: str, name: str, **words: Any) -> dict[str, Any]:
        """Send a request, and return the JSON of its answer.

        Args:
            words: ``params`` or ``data``, as aiohttp takes them.

        Raises:
            NodeError: the node is unreachable, refuses the login or the request, or is not a Scrapyd.
        """
        try:
            async with self.session.request(method, f"{self.url}/{name}", allow_redirects=False, **words) as response:
                return self._parsed(response.status, await self._body(response))
        except aiohttp.ClientConnectorError as error:
            raise NodeError(f"Scrapyd at {self.url} is unreachable: {_reason(error)}.") from None
        except TimeoutError as error:
            was_sent = not isinstance(error, aiohttp.ConnectionTimeoutError)
            raise NodeError(f"Scrapyd at {self.url} does not answer.", is_unanswered=was_sent) from None
        except (aiohttp.ClientError, OSError):
            raise NodeError(f"Scrapyd at {self.url} closed the connection.", is_unanswered=True) from None

    async def log(self, log: str) -> str:
        """Return a log if it is short, as that of a crawl which did not start; else an empty text."""
        part = {"Range": f"bytes=0-{_SHORT}"}
        try:
            async with self.session.get(f"{self.url}/{log}", headers=part, allow_redirects=False) as response:
                body = await self._body(response) if response.status in (200, 206) else b""
        except (NodeError, aiohttp.ClientError, OSError):
            return ""
        return body.decode(errors="replace") if len(body) <= _SHORT else ""

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for part in response.content.iter_chunked(1 << 16):
            body += part
            if len(body) > _MAXSIZE:
                raise NodeError(f"Scrapyd at {self.url} sent more than {_MAXSIZE >> 20} MiB.", is_unanswered=True)
        return bytes(body)

    def _parsed(self, status: int, body: bytes) -> dict[str, Any]:
        if status == 401:
            advice = "check user:password in the environment variable that SCRAPYD_LOGIN_ENV names"
            raise NodeError(f"Scrapyd at {self.url} refuses the login: {advice}.")
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict) or "status" not in answer:
            what = "an HTML page" if body.lstrip().startswith(b"<") else "something"
            reason = f"{what} that is not Scrapyd's (HTTP {status}): check the address."
            raise NodeError(f"{self.url} answered with {reason}", is_unanswered=status >= 500)
        if answer["status"] != "ok":
            raise NodeError(f"Scrapyd at {self.url} answered: {_sentence(answer.get('message'))}")
        return answer


def is_job_of(source: str, job: dict[str, Any]) -> bool:
    """Return whether a job, as Scrapyd lists it, is one of a source.

    >>> is_job_of("hdx", {"id": "hdx-20261120T031500.000000Z"})
    True
    >>> is_job_of("hdx", {"id": "hdx-ke-20261120T031500.000000Z"})
    False
    >>> is_job_of("hdx", {"id": "6487ec79947edab326d6db28a2d86511", "args": {"source": "hdx"}})  # only while it waits
    True
    """
    named, arguments = _JOB.fullmatch(str(job.get("id"))), job.get("args")
    return bool(named and named[1] == source) or (isinstance(arguments, dict) and arguments.get("source") == source)


def _reason(error: aiohttp.ClientConnectorError) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its host name is unknown"
    if isinstance(error, aiohttp.ClientSSLError):
        return "its TLS certificate is not trusted, or it has none"
    number = error.os_error.errno
    return os.strerror(number).lower() if number else "no connection"


def _sentence(message: Any) -> str:
    """Return a node's message, of a traceback its last line, and what to do about it.

    >>> _sentence("project 'crawlers' not found")
    "project 'crawlers' not found. Deploy it there: scrapyd-deploy"
    """
    last = str(message or "nothing").strip().rpartition("\n")[2].strip()
    text = printable(last).rstrip(".")
    return f"{text}. Deploy it there: scrapyd-deploy" if text.endswith("' not found") else f"{text}."


def printable(text: str) -> str:
    """Return the printable characters of a message, not more than a few hundred."""
    return "".join(character for character in text[:_LONGEST] if character.isprintable())
