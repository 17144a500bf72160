"""What a harvest asks for: one crawl of one source, its plan, and the runner that carries it out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from crawlers.listing.spider import hosts
from crawlers.operate.sources import Source

_OWN = (
    *("OUTPUT_DIR", "OUTPUT_STORE", "OUTPUT_MIRROR", "JOBDIR", "JOBS_DIR", "LOGS_DIR"),
    *("LOG_FILE", "SOURCES_FILE", "SCRAPYD_NODES"),
)
MANY = frozenset({"archives"})
"""What stands for the hosts of a crawl that asks many, if output is in a store: these crawls take turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One crawl of one source, wherever it runs.

    Args:
        arguments: the spider's ``-a``, with ``source`` and ``since`` where the spider takes them.
        settings: Scrapy's ``-s``, with ``OUTPUT_DIR`` and ``JOBDIR`` as absolute paths.
    """

    source: str
    spider: str
    arguments: dict[str, str]
    settings: dict[str, str]


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
        spider: the class.
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
    asked = hosts(made) or (MANY if job.settings.get("OUTPUT_STORE") else frozenset())
    return Plan(job=job, hosts=asked, identity=identity)


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
