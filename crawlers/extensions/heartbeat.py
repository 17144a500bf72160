"""running.json in the source's folder while a crawl runs: it shows how far the crawl is, or that it crashed."""

from __future__ import annotations

import json
import logging
import os
import socket
import sqlite3
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from crawlers import signals
from crawlers.extensions.error_log import now
from crawlers.extensions.report import Report
from crawlers.safety import inside, strict_json
from crawlers.store.folder import folder
from crawlers.store.index import Index
from crawlers.store.runs.run import RUN

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_LONGEST = 600.0  # seconds; a crawl that beats less often would be taken for crashed
_SCRATCH = ".heartbeat"
_LARGEST = 8 * 1024 * 1024  # bytes
_OWN = ("heartbeat", "interval", "pid", "host", "job", "requests_per_second", "waits", "elsewhere")
_SHAPE = {"source": str, "spider": str, "arguments": dict, "started": str, "counts": dict, "errors": dict}


class Heartbeat:
    """Rewrites running.json every HEARTBEAT_INTERVAL seconds, and removes it once the report is written.

    The file has what the report would have now, and ``heartbeat`` (when), ``interval``, ``pid``, ``host``, ``job``
    (JOBDIR), ``requests_per_second`` (since the last heartbeat) and ``waits`` (why hosts are paused).
    The crawl goes on if a heartbeat cannot be written.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.path = folder(crawler) / "running.json"
        self.interval = min(_LONGEST, max(0.1, crawler.settings.getfloat("HEARTBEAT_INTERVAL")))
        self.loop = create_looping_call(self.beat)
        self.failing = False
        self.before = (0, monotonic())  # requests at the last heartbeat, and when that was

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Listen for the begin and the end of the crawl.

        Raises:
            NotConfigured: the spider crawls no catalogue.
        """
        if not hasattr(crawler.spider, "source"):
            raise NotConfigured("the spider crawls no catalogue")
        heartbeat = cls(crawler)
        crawler.signals.connect(heartbeat.spider_opened, signal=scrapy_signals.spider_opened)
        crawler.signals.connect(heartbeat.run_ended, signal=signals.run_ended)
        return heartbeat

    @cached_property
    def report(self) -> Report:
        """The run's report."""
        report = self.crawler.get_extension(Report)
        assert report is not None  # noqa: S101  # the pipelines need it, too
        return report

    def spider_opened(self) -> None:
        """Begin before any request, when nothing can refuse the crawl any more."""
        try:
            self.report_dead()
        except (OSError, ValueError, RecursionError, sqlite3.Error) as error:
            logger.warning("%s is of a run that crashed, whose report can't be written: %s", self.path, error)
        self.loop.start(self.interval, now=True)

    def beat(self) -> None:
        """Write running.json."""
        try:
            inside.write(self.path.parent, self.path.name, strict_json.dumps(self._state()), _SCRATCH)
        except (OSError, sqlite3.Error) as error:
            if not self.failing:
                logger.warning("%s can't be written, so this run looks as if it had crashed: %s", self.path, error)
            self.failing = True
        else:
            self.failing = False

    def run_ended(self) -> None:
        """Remove running.json while the folder is locked: the run is at any time either running or reported."""
        if self.loop.running:
            self.loop.stop()
        with suppress(OSError):
            self.path.with_name(_SCRATCH).unlink(missing_ok=True)
            if not self.report.unwritten:
                self.path.unlink(missing_ok=True)

    def report_dead(self) -> None:
        """Write the report of a run that crashed and is not resumed: it was interrupted."""
        try:
            dead = json.loads(inside.read(self.path.parent, self.path.name, _LARGEST))
        except FileNotFoundError:
            return
        report = self.report.path.with_name(f"{dead['run']}.json") if _is_run(dead) else None
        if report is None or dead["run"] == self.report.run or report.exists():
            return
        known = {name: value for name, value in dead.items() if name not in _OWN}
        known |= {"finished": dead.get("heartbeat"), "finish_reason": "died", "verdict": "interrupted"}
        inside.write(self.path.parent, f"runs/{report.name}", strict_json.dumps(known), _SCRATCH)
        index = self.crawler.get_extension(Index)
        if index:
            index.read_report(known)

    def _pace(self) -> float:
        """Return the requests per second since the last heartbeat."""
        requests, time = self.before
        sent: int = self.crawler.stats.get_value("downloader/request_count", 0)
        self.before = (sent, monotonic())
        return round(max(0, sent - requests) / max(self.before[1] - time, 0.001), 2)

    def _state(self) -> dict[str, Any]:
        job = self.crawler.settings["JOBDIR"]
        return self.report.so_far() | {
            "requests_per_second": self._pace(),
            "waits": list(self.crawler.stats.get_value("politeness/waits", {}).values()),
            "heartbeat": now(),
            "interval": self.interval,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "job": job and str(Path(job).resolve()),
        }


def _is_run(state: Any) -> bool:
    """Return whether a crawl wrote it, with all that its report needs."""
    if not isinstance(state, dict) or not isinstance(state.get("run"), str):
        return False
    whole = all(isinstance(state.get(name), kind) for name, kind in _SHAPE.items())
    return whole and RUN.fullmatch(state["run"]) is not None
