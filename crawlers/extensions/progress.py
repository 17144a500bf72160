"""The progress of a crawl: a bar on a terminal, else a log line each minute; and running.json for other programs."""

from __future__ import annotations

import json
import logging
import os
import socket
import sqlite3
import sys
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.log import get_scrapy_root_handler
from tqdm import tqdm

from crawlers import signals
from crawlers.extensions.error_log import now
from crawlers.extensions.report import Report
from crawlers.safety import inside, strict_json
from crawlers.store.folder import folder
from crawlers.store.index import Index
from crawlers.store.runs import RUN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler


logger = logging.getLogger(__name__)

_BAR = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_fmt}{postfix}]"


class AboveTheBar:
    """A stream for a logging handler; tqdm's own replaces handlers, and with them their level and filters."""

    def write(self, text: str) -> None:
        tqdm.write(text, file=sys.stderr, end="")

    def flush(self) -> None:
        sys.stderr.flush()


class Progress:
    """Shows the documents done and expected, the speed, the errors, and the time left.

    Settings: LOGSTATS_INTERVAL, seconds between log lines; 0 = neither lines nor bar. ``--nolog`` also turns it off.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.interval = crawler.settings.getfloat("LOGSTATS_INTERVAL")
        if not self.interval or not crawler.settings.getbool("LOG_ENABLED"):
            raise NotConfigured
        self.on_terminal = sys.stderr.isatty()
        self.bar: tqdm[Any] | None = None
        crawler.signals.connect(self.spider_opened, signal=scrapy_signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=scrapy_signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self, spider: Spider) -> None:
        if self.on_terminal:
            tqdm.monitor_interval = 0  # no thread of its own
            self.bar = tqdm(desc=spider.name, unit=" docs", dynamic_ncols=True, bar_format=_BAR, leave=False)
            self.divert(AboveTheBar())
        self.task = create_looping_call(self.show)
        self.task.start(0.2 if self.bar is not None else self.interval, now=False)

    def spider_closed(self) -> None:
        if self.task.running:
            self.task.stop()
        if self.bar is not None:
            self.bar.close()
            self.divert(sys.stderr)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Show no bar while something else is on the terminal."""
        if self.bar is not None:
            self.task.stop()
            self.bar.clear()
        yield
        if self.bar is not None:
            self.task.start(0.2, now=False)

    def divert(self, stream: Any) -> None:
        """Send the log to a stream: above the bar while there is one, else to standard error."""
        handler = get_scrapy_root_handler()
        if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
            handler.setStream(stream)

    def show(self) -> None:
        stats, total = self.crawler.stats, self.total()
        done, errors = stats.get_value("catalogue/ended", 0), stats.get_value("catalogue/failed", 0)
        if self.bar is not None:
            self.bar.total = total
            self.bar.n = done
            self.bar.set_postfix_str(f"{errors} errors" if errors != 1 else "1 error")
            return
        requests = stats.get_value("downloader/request_count", 0)
        expected = f" of about {total}" if total else ""
        logger.info("%d%s documents done, %d errors, %d requests so far", done, expected, errors, requests)

    def total(self) -> int | None:
        """Return the expected number of documents: those planned, scaled from the datasets listed to those expected."""
        stats = self.crawler.stats
        planned, listed = stats.get_value("catalogue/planned", 0), stats.get_value("catalogue/listed", 0)
        expected = stats.get_value("catalogue/expected")
        return round(planned * max(expected, listed) / listed) if expected and listed else None


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
        if not hasattr(crawler.spider, "source"):
            raise NotConfigured("the spider crawls no catalogue")
        heartbeat = cls(crawler)
        crawler.signals.connect(heartbeat.spider_opened, signal=scrapy_signals.spider_opened)
        crawler.signals.connect(heartbeat.run_ended, signal=signals.run_ended)
        return heartbeat

    @cached_property
    def report(self) -> Report:
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
        try:
            inside.write(self.path.parent, self.path.name, strict_json.dumps(self._state()), _SCRATCH)
        except (OSError, sqlite3.Error) as error:
            if not self.failing:
                logger.warning("%s can't be written; the run will be reported as crashed: %s", self.path, error)
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
