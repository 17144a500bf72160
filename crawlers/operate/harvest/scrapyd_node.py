"""A Scrapyd node: the requests of its HTTP API that a harvest needs."""

from __future__ import annotations

import json
import logging
import os
import re
from typing import TYPE_CHECKING, Any, TypeVar

import aiohttp

from crawlers.exceptions import HarvestError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from crawlers.operate.harvest.job import Job

logger = logging.getLogger(__name__)

T = TypeVar("T")

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
        given: how many jobs it was given.
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
