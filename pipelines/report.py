"""The one owner of errors.jsonl and of the run report: every failure comes by here, and so does the verdict."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import platform
import re
import sqlite3
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import scrapy
from scrapy import signals as scrapy_signals
from scrapy.exceptions import DropItem, NotConfigured
from scrapy.extensions.feedexport import FeedExporter

from crawlers import moment, signals
from crawlers.exceptions import JobError
from crawlers.index import Index
from crawlers.items import Dataset, Export
from crawlers.resume import Job, Records
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import redact
from pipelines.folder import JSONLines, folder, lock
from pipelines.summary import summary
from pipelines.verdict import EXIT_CODES, Verdict, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)

_RUN = re.compile(r"[0-9]{8}T[0-9]{6}Z(-[0-9]+)?")
_CHANGES = ("new", "updated", "withdrawn", "restored")
COUNTS = ("new", "updated", "unchanged", "withdrawn", "restored", "fallback")


class NotWritten(DropItem):
    """A document or its line could not be written; raised by `Report.writing`, which has reported it."""


class Report:
    """An extension: locks the source's folder, writes an error line for each failure and runs/<run>.json at the end.

    Attributes:
        run: this run's name, its start in UTC.
        verdict: known once the crawl has ended.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.job = Job.of(crawler)
        self.records = Records(crawler)
        self.folder = folder(crawler)
        self.lock = lock(self.folder)
        manifest = JSONLines(self.folder / "manifest.jsonl")  # mends it, before the index reads it
        self.job.state.setdefault("last_change", (manifest.last() or {}).get("time"))
        manifest.close()
        self.started: str = self.job.state.setdefault("started", now())
        self.run: str = self.job.state.setdefault("run", self._run(self.started))
        JSONLines(self.folder / "errors.jsonl").close()
        is_new = "errors_bytes" not in self.job.state
        for name in ("errors", "manifest"):  # in the ledger before anything is asked for
            begun = (self.folder / f"{name}.jsonl").stat().st_size if is_new else 0
            self.job.state.setdefault(f"{name}_bytes", begun)
        self._check()
        self.verdict: Verdict | None = None
        self.outcome: dict[str, Any] = {}
        self.unwritten = "was not written"  # why there is no report; empty once there is one
        self.disk_failures = 0
        self.on_disk: int | None = None  # datasets, known once all are listed
        self.closing: asyncio.Task[None] | None = None
        self.feeds_closed = asyncio.Event()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not hasattr(crawler.spider, "source"):
            raise NotConfigured("the spider crawls no catalogue")  # scrapy shell, fetch
        report = cls(crawler)
        connect = crawler.signals.connect
        connect(report.record_failed, signal=signals.record_failed)
        connect(report.spider_error, signal=scrapy_signals.spider_error)
        connect(report.item_error, signal=scrapy_signals.item_error)
        connect(report.item_dropped, signal=scrapy_signals.item_dropped)
        connect(report.spider_opened, signal=scrapy_signals.spider_opened)
        connect(report.spider_closed, signal=scrapy_signals.spider_closed)
        connect(report.feeds_closed.set, signal=scrapy_signals.feed_exporter_closed)
        return report

    @property
    def path(self) -> Path:
        return self.folder / "runs" / f"{self.run}.json"

    @property
    def exit_code(self) -> int:
        code = EXIT_CODES[self.verdict or "interrupted"]
        return max(code, EXIT_CODES["failed"]) if self.unwritten else code

    @property
    def summary(self) -> str:
        return summary(self.outcome, self.folder, self.unwritten)

    def spider_opened(self) -> None:
        self.error_lines = JSONLines(self.folder / "errors.jsonl")
        for line in self.error_lines.since(self.job.state["errors_bytes"]):  # written by this run before it was killed
            if line["kind"] != "disk":  # which is over, or the crawl would not go on
                self.records.first_failure(_key(line), line["kind"])

    # What can fail

    def record_failed(self, failed: signals.Failed) -> None:
        line = self._line(failed)
        line["dataset_title"] = failed.dataset_title or self._title(failed.dataset_id)
        if failed.kind == "disk":
            self._tell_once(line)
            return
        try:
            self._note(failed, line)
        except OSError as error:
            self._stop(self.folder / "errors.jsonl", error)

    def _title(self, dataset_id: str | None) -> str | None:
        """A dataset's title by the index, for a failure that knows its id alone."""
        index = self.crawler.get_extension(Index)
        try:
            return index.title(dataset_id) if index and dataset_id else None
        except (OSError, ValueError, sqlite3.Error):
            return None  # the cache is no reason to lose the line

    def _tell_once(self, line: dict[str, Any]) -> None:
        """A full disk is noticed everywhere; it is one failure, and the ledger, which may be full too, is spared it."""
        if not self.disk_failures:
            self.disk_failures = 1
            with suppress(OSError):
                self.error_lines.append(line)

    def _note(self, failed: signals.Failed, line: dict[str, Any]) -> None:
        if (failed.stage, failed.kind) == ("list", "blocked"):
            self.job.state["blocked"] = True
        if failed.missing and failed.dataset_id:
            self.records.end((failed.missing, failed.dataset_id, failed.resource_id), "failed")
        if self.records.first_failure(_key(line), failed.kind):
            self.crawler.stats.inc_value("catalogue/failed")
            self.error_lines.append(line)

    def spider_error(self, failure: Failure, response: Response | Failure | None) -> None:
        url = getattr(response, "url", None)
        self.record_failed(signals.Failed(stage="parse", kind="bug", error=_bug(failure.value), url=url))

    def item_error(self, item: Any, failure: Failure) -> None:
        self.record_failed(signals.Failed(stage="write", kind="bug", error=_bug(failure.value), **_missing(item)))

    def item_dropped(self, item: Any, exception: DropItem) -> None:
        if isinstance(exception, NotWritten):
            return
        missing = _missing(item)
        kind = "invalid_record" if missing.get("dataset_id") else "missing_id"
        self.record_failed(signals.Failed(stage="parse", kind=kind, error=str(exception), **missing))

    @contextmanager
    def writing(self, path: Path | str) -> Iterator[None]:
        """What can't be written stops the crawl: one error line, and nothing more is asked of the portal.

        Raises:
            NotWritten: instead of the OSError.
        """
        try:
            yield
        except OSError as error:
            self._stop(path, error)
            raise NotWritten(f"{path}: {error.strerror}") from error

    # The end

    async def spider_closed(self, reason: str) -> None:
        """Feeds are stored at the same time, and one that can't be stored belongs to the verdict."""
        if self.crawler.get_extension(FeedExporter):
            await self.feeds_closed.wait()
        self.finish(reason)

    def reconcile(self) -> None:
        """What was planned and never heard of is missing, whoever dropped it."""
        for name, state in self.crawler.stats.get_value("catalogue/lists", {}).items():
            if state != "ended":
                error = f"the list of {name} did not come to its end: the request for its next page was dropped"
                self.record_failed(signals.Failed(stage="list", kind="unaccounted", error=error))
        for kind, dataset_id, resource_id in self.records.unaccounted():
            failed = signals.Failed(
                stage="fetch",
                kind="unaccounted",
                error=f"{kind} was listed, and nothing was heard of it: its request was dropped on the way",
                dataset_id=dataset_id,
                resource_id=resource_id,
                missing=kind,
            )
            self.record_failed(failed)

    def finish(self, reason: str) -> None:
        """Judges the run and writes its report; also called when a second signal stops the crawl at once."""
        try:
            self._judge(reason)
        except (OSError, sqlite3.Error) as error:
            logger.error("What became of the documents can't be counted, the ledger is damaged: %s", error)  # noqa: TRY400
            self._fail(f"{reason}, and the ledger can't be read: {error}")
        self.job.state |= {"verdict": self.verdict, "report": str(self.path)}
        try:
            self._write()
        finally:
            self.job.finished = self.job.finished and not self.unwritten  # the next start writes the report
            self._leave()

    def _judge(self, reason: str) -> None:
        if reason == "finished":
            self.reconcile()
            self.on_disk = self._datasets()
        stats = self.crawler.stats
        self.errors = self._failures()
        self.verdict = verdict(
            reason,
            expected=stats.get_value("catalogue/expected"),
            listed=stats.get_value("catalogue/listed", 0),
            limited=stats.get_value("catalogue/limited", False),
            errors=self.errors,
            blocked=self.job.state.get("blocked", False) or bool(stats.get_value("politeness/blocked_hosts")),
        )
        self.outcome = self._report(reason)

    def _datasets(self) -> int | None:
        """How many datasets are on disk, by the index.

        It is settled before the report is written: whoever finds the run finished finds its datasets in the index.
        """
        index = self.crawler.get_extension(Index)
        try:
            return index.datasets() if index and index.settle() else None
        except (OSError, ValueError, sqlite3.Error) as error:
            logger.warning("The datasets on disk can't be counted (%s)", error)
            return None

    def _fail(self, reason: str) -> None:
        """The counts are those of the last heartbeat."""
        self.verdict = "failed"
        counts = dict.fromkeys((*COUNTS, "failed"), 0)
        known = self.outcome or self._told("", counts, {})
        self.outcome = known | {"finished": now(), "finish_reason": reason, "verdict": self.verdict}

    def _write(self) -> None:
        try:
            inside.write(self.folder, f"runs/{self.run}.json", strict_json.dumps(self.outcome))
        except (OSError, ValueError) as error:
            self.unwritten = f"can't be written ({error})"
            logger.error("The run report %s %s", self.path, self.unwritten)  # noqa: TRY400
        else:
            self.unwritten = ""

    def _leave(self) -> None:
        if self.crawler.settings["LOG_FILE"]:  # a terminal gets these lines last, Scrapyd's log would not have them
            logger.info("%s", self.summary)
        self.error_lines.close()
        with suppress(OSError):
            (self.folder / ".writing").unlink(missing_ok=True)
        self.crawler.signals.send_catch_log(signals.run_ended, report=self.outcome, folder=self.folder)
        self._index()
        os.close(self.lock)

    def _index(self) -> None:
        """Last: what the cache can't take costs nothing."""
        index = self.crawler.get_extension(Index)
        try:
            if index:
                index.read_report(self.outcome)
        except (OSError, ValueError, sqlite3.Error) as error:
            logger.warning("%s is left out of index.sqlite (%s)", self.path, error)

    def so_far(self) -> dict[str, Any]:
        """What the report of this run would say now, but for its end."""
        self.errors = self._failures()
        self.outcome = self._report("running")
        return self.outcome

    def _failures(self) -> dict[str, int]:
        disk = {"disk": self.disk_failures} if self.disk_failures else {}
        return dict(sorted({**self.records.failures(), **disk}.items()))

    def counts(self) -> dict[str, int]:
        """What became of every document of this run."""
        found = self.records.counts()
        return {name: found.get(name, 0) for name in COUNTS} | {"failed": sum(self.errors.values())}

    def _report(self, reason: str) -> dict[str, Any]:
        return self._told(reason, self.counts(), self.errors)

    def _told(self, reason: str, counts: dict[str, int], errors: dict[str, int]) -> dict[str, Any]:
        spider, stats = self.crawler.spider, self.crawler.stats
        return {
            "source": spider.source,  # type: ignore[union-attr]
            "spider": spider.name,  # type: ignore[union-attr]
            "run": self.run,
            "arguments": {name: redact(value) for name, value in spider.given.items()},  # type: ignore[union-attr]
            "since": _since(spider.given, stats),  # type: ignore[union-attr]
            "started": self.started,
            "finished": now(),
            "finish_reason": reason,
            "verdict": self.verdict,
            **_listing(stats),
            "datasets_on_disk": self.on_disk,
            "unchanged_since": self.job.state.get("last_change") if _is_quiet(self.verdict, counts) else None,
            "counts": counts,
            "errors": errors,
            "requests": stats.get_value("downloader/request_count", 0),
            "retries": stats.get_value("retry/count", 0),
            "bytes": stats.get_value("downloader/response_bytes", 0),
            "robots_exempt": stats.get_value("politeness/robots_exempt", 0),
            "whole_listing": reason == "finished" and stats.get_value("catalogue/whole_listing", False),
            "provisional": stats.get_value("catalogue/provisional", False),
            "validators": stats.get_value("catalogue/validators", {}),
            "resumed": self.job.resumed,
            **_begun(self.job.state),
            "log": _absolute(self.crawler.settings.get("LOG_FILE")),
            "versions": _versions(self.crawler.settings),
        }

    def _line(self, failed: signals.Failed) -> dict[str, Any]:
        return {
            "time": now(),
            "run": self.run,
            "stage": failed.stage,
            "kind": failed.kind,
            "url": failed.url and redact(failed.url),
            "http_status": failed.http_status,
            "attempts": failed.attempts,
            "dataset_id": failed.dataset_id,
            "dataset_name": failed.dataset_name,
            "dataset_title": failed.dataset_title,
            "resource_id": failed.resource_id,
            "error": redact(failed.error),
        }

    def _check(self) -> None:
        """
        Raises:
            JobError: what the ledger remembers of the run is damaged: a file is named after it.
        """
        sizes = (self.job.state["errors_bytes"], self.job.state["manifest_bytes"])
        is_run = isinstance(self.run, str) and _RUN.fullmatch(self.run)
        if not is_run or moment.moment(self.started) is None or not all(isinstance(one, int) for one in sizes):
            raise JobError(f"{self.job.path} is damaged (state): choose another JOBDIR")

    def _run(self, started: str) -> str:
        name = moment.name(moment.moment(started))
        later = len(list((self.folder / "runs").glob(f"{name}*.json")))
        return f"{name}-{later + 1}" if later else name

    def _stop(self, path: Path | str, error: OSError) -> None:
        self.job.broken = True
        if self.closing:
            return
        self.closing = asyncio.get_running_loop().create_task(self.crawler.engine.close_spider_async(reason="disk"))
        message = f"{path} can't be written ({error.strerror}): free some space, then run the same command again"
        logger.error("%s", message)
        self.record_failed(signals.Failed(stage="write", kind="disk", error=message))


def _listing(stats: StatsCollector) -> dict[str, Any]:
    return {
        "expected": stats.get_value("catalogue/expected"),
        "listed": stats.get_value("catalogue/listed", 0),
        "evidence": stats.get_value("catalogue/evidence", {}),
    }


def _is_quiet(verdict: Verdict | None, counts: dict[str, int]) -> bool:
    """Return whether all datasets are as they were before the run."""
    return verdict == "complete" and not any(counts.get(name) for name in _CHANGES)


def _begun(state: dict[str, Any]) -> dict[str, int]:
    """Return the sizes of the files that grow, as they were when the run began."""
    return {name: state[name] for name in ("manifest_bytes", "errors_bytes")}


def _versions(settings: BaseSettings) -> dict[str, str]:
    own = {settings["BOT_NAME"]: settings["VERSION"]}
    return own | {"scrapy": scrapy.__version__, "python": platform.python_version()}


def _since(given: dict[str, str], stats: StatsCollector) -> str | None:
    """Return the moment after which only changes were asked for; `None` when all was listed."""
    since = given.get("since")
    return (stats.get_value("catalogue/since") or None) if since in (None, "", "last") else since


def _key(line: dict[str, Any]) -> str:
    """What makes an error line the same one, when a request is made again after a kill."""
    return json.dumps([line[name] for name in ("stage", "kind", "url", "dataset_id", "resource_id", "error")])


def _absolute(path: str | None) -> str | None:
    return str(Path(path).resolve()) if path else None


def now() -> str:
    """The time that stands in manifest lines, error lines and reports."""
    return moment.now("milliseconds")


def _bug(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"


def _missing(item: Any) -> dict[str, Any]:
    if isinstance(item, Dataset):
        subject: dict[str, Any] = {"dataset_id": item.id, "dataset_name": item.name, "dataset_title": item.title}
    elif isinstance(item, Export):
        names = ("dataset_id", "dataset_name", "dataset_title", "resource_id")
        subject = {name: getattr(item, name) for name in names}
    else:
        return {}
    return subject | {"url": item.metadata_url, "missing": item.kind}
