"""Scrapyd nodes, which crawl instead of this machine: a job goes to the one that has the least to do.

The nodes share OUTPUT_DIR and JOBS_DIR with whoever harvests; what became of a job is read there.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import aiohttp

from crawlers.exceptions import HarvestError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from crawlers.harvest.job import Job

logger = logging.getLogger(__name__)

T = TypeVar("T")

_TIMEOUT = aiohttp.ClientTimeout(total=90, connect=10)  # a node that lists its spiders does nothing else meanwhile
_MAXSIZE = 16 * 1024 * 1024  # of an answer
_PATIENCE = 300.0  # seconds that a node may be silent while it has a job
_PAUSE, _LONGEST_PAUSE = 0.5, 10.0  # seconds between two looks at a job
_SHORT = 65_536  # bytes of a job's log that are read; its last ones Twisted gives only of a log that is longer
_LONGEST = 300  # characters of what a node says that are repeated
_TIME = "%Y%m%dT%H%M%S.%fZ"
_WRONG = re.compile(
    r"^(?:[0-9-]{10} [0-9:]{8} \[[\w.]+\] (?:ERROR|CRITICAL): (?P<told>.+)|[\w.]*(?:Error|Exception)(?:: .*)?)$"
)
_JOB = re.compile(r"(.+)-[0-9]{8}T[0-9]{6}\.[0-9]{6}Z")


class NodeError(HarvestError):
    """A node does not do what it is asked.

    Args:
        unheard: whether it may have done it nevertheless: it was asked, and its answer did not come.
    """

    def __init__(self, message: str, *, unheard: bool = False) -> None:
        super().__init__(message)
        self.unheard = unheard


class Node:
    """One Scrapyd.

    Attributes:
        given: how many jobs it was given.
        trouble: what is wrong with it, in a sentence, while something is.
    """

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.session = session
        self.given = 0
        self.trouble = ""
        self._warned = ""

    async def heard(self, answer: Awaitable[T]) -> T | None:
        """An answer, or else ``None``: what is wrong is its trouble then."""
        try:
            said = await answer
        except NodeError as error:
            self.trouble = str(error)
            return None
        self.trouble = self._warned = ""
        return said

    def left_out(self) -> None:
        """Says so in the log, once."""
        if self.trouble != self._warned:
            logger.warning("%s It is left out.", self.trouble)
        self._warned = self.trouble

    async def load(self) -> int:
        """How many jobs wait or run."""
        status = await self.asked("GET", "daemonstatus.json")
        return sum(count for count in (status.get("pending"), status.get("running")) if isinstance(count, int))

    async def jobs(self, source: str, project: str) -> list[str]:
        """The jobs of a source that wait or run."""
        everything = await self.asked("GET", "listjobs.json")  # of all projects: one that has no egg would be an error
        lists = [everything.get(name) for name in ("pending", "running")]
        jobs = [job for jobs in lists if isinstance(jobs, list) for job in jobs if isinstance(job, dict)]
        return [str(job.get("id")) for job in jobs if job.get("project") == project and is_of(source, job)]

    async def state(self, jobid: str) -> str | None:
        """``pending``, ``running``, ``finished``, or ``None`` when it knows of no such job."""
        status = await self.asked("GET", "status.json", params={"job": jobid})
        return status.get("currstate")

    async def take(self, job: Job, jobid: str, project: str) -> None:
        """Has it do a job.

        Raises:
            NodeError: it does not have the job.
            HarvestError: nobody knows whether it has.
        """
        settings = [("setting", f"{name}={value}") for name, value in job.settings.items()]
        words = [("project", project), ("spider", job.spider), ("jobid", jobid), *settings, *job.arguments.items()]
        try:
            await self.asked("POST", "schedule.json", data=aiohttp.FormData(words))
        except NodeError as error:
            if not error.unheard or not await self._has_taken(jobid, error):
                raise
        self.given += 1

    async def _has_taken(self, jobid: str, why: NodeError) -> bool:
        try:
            return await self.state(jobid) is not None
        except NodeError:
            raise HarvestError(f"{why} It may have job {jobid} nevertheless, so no other node is given it.") from None

    async def asked(self, method: str, name: str, **words: Any) -> dict[str, Any]:
        """
        Args:
            words: ``params`` or ``data``, as aiohttp takes them.

        Raises:
            NodeError: it can't be reached, refuses the login or the request, or is no Scrapyd.
        """
        try:
            async with self.session.request(method, f"{self.url}/{name}", allow_redirects=False, **words) as response:
                return self._said(response.status, await self._body(response))
        except aiohttp.ClientConnectorError as error:
            raise NodeError(f"Scrapyd at {self.url} can't be reached: {_reason(error)}.") from None
        except TimeoutError as error:
            unheard = not isinstance(error, aiohttp.ConnectionTimeoutError)
            raise NodeError(f"Scrapyd at {self.url} does not answer.", unheard=unheard) from None
        except (aiohttp.ClientError, OSError):
            raise NodeError(f"Scrapyd at {self.url} broke the connection off.", unheard=True) from None

    async def log(self, log: str) -> str:
        """A short log, as that of a crawl which did not start; nothing of a longer one, or when it can't be had."""
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
                raise NodeError(f"Scrapyd at {self.url} answers with more than {_MAXSIZE >> 20} MiB.", unheard=True)
        return bytes(body)

    def _said(self, status: int, body: bytes) -> dict[str, Any]:
        if status == 401:
            told = "the environment variable that SCRAPYD_LOGIN_ENV names has no user:password that it takes"
            raise NodeError(f"Scrapyd at {self.url} refuses the login: {told}.")
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or "status" not in said:
            what = "an HTML page" if body.lstrip().startswith(b"<") else "something"
            told = f"{what} that is not Scrapyd's (HTTP {status}): is that its address?"
            raise NodeError(f"{self.url} answers with {told}", unheard=status >= 500)
        if said["status"] != "ok":
            raise NodeError(f"Scrapyd at {self.url} says: {_sentence(said.get('message'))}")
        return said


class Nodes:
    """Several Scrapyds, all with this project.

    Args:
        urls: ``http://node1:6800``; a path that a proxy gives it may follow.
        login: ``user:password``, the same at all of them.
        project: what this project was deployed as.

    Raises:
        HarvestError: an address, or the login, is none.
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
        """Made when they are first asked for something: a session belongs to the loop that runs then."""
        if self.session is None:
            jar = aiohttp.DummyCookieJar()
            self.session = aiohttp.ClientSession(headers=self.headers, timeout=_TIMEOUT, cookie_jar=jar)
            self.known = [Node(url, self.session) for url in self.urls]
        return self.known

    async def crawl(self, job: Job) -> str:
        """Gives a job to the node that has the least to do, and waits until it is over there, however it ended.

        Returns:
            which job it was and where, for people.

        Raises:
            HarvestError: no node takes it, or the one that has it is silent for minutes.
        """
        jobid = f"{job.source}-{datetime.now(UTC).strftime(_TIME)}"
        async with self.choosing:  # so that each counts when the next one is given
            node = await self._given(job, jobid)
        logger.info("%s: job %s at %s", job.source, jobid, node.url)
        known = await _over(node, jobid)
        if not known:
            return f"job {jobid} at {node.url}, which no longer knows of it,"
        log = f"logs/{self.project}/{job.spider}/{jobid}.log"
        why = _why(await node.log(log))
        return f"job {jobid} at {node.url}, which logged to {node.url}/{log}" + (
            f" and said last: {why}" if why else ","
        )

    async def busy(self, source: str) -> bool:
        """Whether a node has a job of a source, no matter who scheduled it.

        Raises:
            HarvestError: no node answers.
        """
        return any(jobs for _, jobs in await self._each(lambda node: node.jobs(source, self.project)))

    async def cancel(self, source: str) -> None:
        """Stops a source's jobs as Ctrl-C does, so that they can go on later; a second time, at once.

        Raises:
            HarvestError: no node answers, or one that has a job does not stop it.
        """
        for node, jobs in await self._each(lambda node: node.jobs(source, self.project)):
            for jobid in jobs:
                words = {"project": self.project, "job": jobid, "signal": "TERM"}
                await node.asked("POST", "cancel.json", data=words)

    async def close(self) -> None:
        if self.session is not None:
            await self.session.close()
        self.session = None

    async def _given(self, job: Job, jobid: str) -> Node:
        loads = await self._each(lambda node: node.load())
        troubles = []
        for node, _ in sorted(loads, key=lambda one: (one[1], one[0].given)):
            try:
                await node.take(job, jobid, self.project)
            except NodeError as error:
                troubles.append(str(error))
            else:
                return node
        raise HarvestError(" ".join((f"No Scrapyd node takes {job.source}.", *troubles)))

    async def _each(self, ask: Callable[[Node], Awaitable[T]]) -> list[tuple[Node, T]]:
        """What the nodes say, without those that do not."""
        nodes = self.nodes
        answers = await asyncio.gather(*(node.heard(ask(node)) for node in nodes))
        heard = [(node, answer) for node, answer in zip(nodes, answers, strict=True) if answer is not None]
        if not heard:
            raise HarvestError(" ".join(node.trouble for node in nodes))
        for node in nodes:
            node.left_out()
        return heard


async def _over(node: Node, jobid: str) -> bool:
    """Waits until a node has done a job; one that is silent is asked again, it may be starting anew.

    Returns:
        whether it says so. Of what ran when it was stopped it knows nothing later, nor of what never ran.
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


def is_of(source: str, job: dict[str, Any]) -> bool:
    """Whether a job, as Scrapyd lists it, is one of a source.

    >>> is_of("hdx", {"id": "hdx-20261120T031500.000000Z"}), is_of("hdx", {"id": "hdx-ke-20261120T031500.000000Z"})
    (True, False)
    >>> is_of("hdx", {"id": "6487ec79947edab326d6db28a2d86511", "args": {"source": "hdx"}})  # only while it waits
    True
    """
    named, arguments = _JOB.fullmatch(str(job.get("id"))), job.get("args")
    return bool(named and named[1] == source) or (isinstance(arguments, dict) and arguments.get("source") == source)


def _address(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if "@" in url:
        message = "A Scrapyd's address has no user and password in it: the environment has them (SCRAPYD_LOGIN_ENV)."
        raise HarvestError(message)
    if not whole or parts.query or parts.fragment:
        raise HarvestError(f"{url!r} is not where a Scrapyd is: it takes an address such as http://node1:6800")
    return parts.geturl().rstrip("/")


def _basic(login: str) -> str:
    user, _, password = login.partition(":")
    if not user or not password:
        raise HarvestError("The login for Scrapyd is not user:password; it is in the variable of SCRAPYD_LOGIN_ENV.")
    return "Basic " + base64.b64encode(login.encode()).decode()


def _reason(error: aiohttp.ClientConnectorError) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its host name is unknown"
    if isinstance(error, aiohttp.ClientSSLError):
        return "its TLS certificate is not trusted, or it has none"
    number = error.os_error.errno
    return os.strerror(number).lower() if number else "nothing is there"


def _why(log: str) -> str:
    """What a crawl said last, when that is what went wrong.

    >>> _why("2026-11-20 03:00:00 [crawlers.crawl] ERROR: The rules can't be read."), _why("KeyError: 'x'")
    ("The rules can't be read.", "KeyError: 'x'")
    >>> _why("2026-11-20 03:00:09 [scrapy.core.engine] INFO: Spider closed (finished)")
    ''
    """
    found = _WRONG.match(log.strip().rpartition("\n")[2].strip())
    last = (found["told"] or found[0])[:_LONGEST] if found else ""
    return "".join(character for character in last if character.isprintable())


def _sentence(message: Any) -> str:
    """What a node says, of a traceback its last line; and what to do about it.

    >>> _sentence("project 'crawlers' not found")
    "project 'crawlers' not found. Deploy it there: scrapyd-deploy"
    """
    last = str(message or "nothing").strip().rpartition("\n")[2].strip()
    said = "".join(character for character in last[:_LONGEST] if character.isprintable()).rstrip(".")
    return f"{said}. Deploy it there: scrapyd-deploy" if said.endswith("' not found") else f"{said}."
