"""What a source's crawl will be, made out before it begins: its words, its hosts, and what its job is known by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crawlers.harvest.job import Job
from crawlers.sources import Source

_OWN = ("OUTPUT_DIR", "JOBDIR", "JOBS_DIR", "LOGS_DIR", "LOG_FILE", "SOURCES_FILE", "SCRAPYD_NODES")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """
    Args:
        hosts: those that the source's addresses name, with their port where it is not the usual one.
        identity: what the crawl's JOBDIR will be known by.
    """

    job: Job
    hosts: frozenset[str]
    identity: dict[str, Any]


def job(source: Source, spider: Any, *, output: Path, jobs: Path, settings: Mapping[str, str]) -> Job:
    """
    Args:
        spider: the class.
        settings: the user's ``-s``; they go before the source's own.
    """
    since = {"since": "last"} if "since" in spider.arguments else {}
    return Job(
        source=source.name,
        spider=spider.name,
        arguments={**since, **source.arguments, "source": source.name},
        settings={
            **{name: _text(value) for name, value in source.settings.items()},
            **{name: value for name, value in settings.items() if name not in _OWN},
            "OUTPUT_DIR": str(output.resolve()),
            "JOBDIR": str(_folder(jobs, source.name).resolve()),
        },
    )


def plan(job: Job, spider: Any) -> Plan:
    """
    Raises:
        CrawlersError: the spider does not take the arguments, or their rules file can't be read.
    """
    made = spider(**job.arguments)
    identity = {"spider": spider.name, "arguments": made.given, **getattr(made, "identity", {})}
    identity["output"] = job.settings["OUTPUT_DIR"]
    addresses = made.start_urls or [getattr(made, spider.address)]
    return Plan(job=job, hosts=frozenset(map(host, addresses)), identity=identity)


def host(address: str) -> str:
    """
    >>> host("https://Data.example.org/ckan"), host("http://127.0.0.1:8000")
    ('data.example.org', '127.0.0.1:8000')
    """
    parts = urlsplit(address)
    usual = parts.port in (None, _PORTS.get(parts.scheme))
    return f"{parts.hostname}" if usual else f"{parts.hostname}:{parts.port}"


def _folder(jobs: Path, source: str) -> Path:
    """Where a source's job is; of one named as a lock is, it is elsewhere than the locks.

    >>> str(_folder(Path("jobs"), "hdx")), str(_folder(Path("jobs"), "hdx.lock"))
    ('jobs/hdx', 'jobs/.jobs/hdx.lock')
    """
    return jobs / ".jobs" / source if source.endswith(".lock") else jobs / source


def _text(value: Any) -> str:
    """A setting as ``-s`` takes it.

    >>> _text(["a.example.org", "b.example.org"])
    'a.example.org,b.example.org'
    """
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
