"""errors.jsonl: a line for each failure because of which something is missing."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from scrapy import signals as scrapy_signals
from scrapy.exceptions import DropItem

from crawlers import causes, signals
from crawlers.components.ledger import Job, Records
from crawlers.exceptions import AnswerError
from crawlers.extensions.flaw_log import FlawLog
from crawlers.items import Dataset, Export, Profile
from crawlers.listing.crawl import RunState
from crawlers.records import moment
from crawlers.safety.redact import redact
from crawlers.store import lines
from crawlers.store.index import Index
from crawlers.store.lines import JSONLines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NotWritten(DropItem):
    """A document or its line could not be written; raised by `ErrorLog.writing`, which has reported it."""


class Excluded(DropItem):
    """A dataset that the operator excludes; its outcome is settled, and nothing has failed."""


class ErrorLog:
    """Writes a line for each failure of a run, from any component; stops the crawl if the disk is full.

    Attributes:
        records: the outcomes of the run's documents, from the ledger.
        flaws: takes the failures that cost no document.
    """

    def __init__(self, crawler: Crawler, folder: Path, run: str) -> None:
        self.crawler = crawler
        self.path = folder / "errors.jsonl"
        self.run = run
        self.job = Job.from_crawler(crawler)
        self.records = Records(crawler)
        self.flaws = FlawLog(crawler, folder, run)
        self.has_disk_failure = False
        self.closing: asyncio.Task[None] | None = None
        crawler.signals.connect(self.record_failed, signal=signals.record_failed)
        for name in ("spider_error", "item_error", "item_dropped", "spider_opened"):
            crawler.signals.connect(getattr(self, name), signal=getattr(scrapy_signals, name))

    def spider_opened(self) -> None:
        """Open the files, and remember the lines that this run wrote before it was killed."""
        self.lines = JSONLines(self.path)
        self.flaws.open()
        for _, text in lines.read(self.path.parent, self.path.name, self.job.state["errors_bytes"]):
            line = lines.entry(text)
            if line and line["kind"] != "disk":  # the disk is no longer full, or the crawl would not resume
                self.records.failures.add(_key(line), line["kind"])

    def record_failed(self, failed: signals.Failed) -> None:
        """Write the line of a failure, unless it was written before a kill; a flaw's when its document is kept."""
        if failed.kind in causes.FLAWS:
            try:
                self.flaws.note(failed)
            except OSError as error:
                self._stop(self.flaws.path, error)
            return
        line = error_line(failed, self.run)
        line["dataset_title"] = failed.dataset_title or self._title(failed.dataset_id)
        if failed.kind == "disk":  # one line for a full disk, which many writers notice; the ledger may be there too
            if not self.has_disk_failure:
                self.has_disk_failure = True
                with suppress(OSError):
                    self.lines.append(line)
            return
        try:
            self._settle(failed, line)
        except OSError as error:
            self._stop(self.path, error)

    def spider_error(self, failure: Failure, response: Response | Failure | None) -> None:
        """Record a bug in a callback, or an answer that one of its readers refuses: it may be too large."""
        error, url = failure.value, getattr(response, "url", None)
        kind, text = (error.kind, str(error)) if isinstance(error, AnswerError) else ("bug", _bug(error))
        self.record_failed(signals.Failed(stage="parse", kind=kind, error=text, url=url))

    def item_error(self, item: Any, failure: Failure) -> None:
        self.record_failed(signals.Failed(stage="write", kind="bug", error=_bug(failure.value), **_missing(item)))

    def item_dropped(self, item: Any, exception: DropItem) -> None:
        if isinstance(exception, NotWritten | Excluded):
            return
        missing = _missing(item)
        kind = "invalid_record" if missing.get("dataset_id") else "missing_id"
        self.record_failed(signals.Failed(stage="parse", kind=kind, error=str(exception), **missing))

    @contextmanager
    def writing(self, path: Path | str) -> Iterator[None]:
        """Stop the crawl if a file cannot be written within: one error line, and no more requests.

        Raises:
            NotWritten: instead of the OSError.
        """
        try:
            yield
        except OSError as error:
            self._stop(path, error)
            raise NotWritten(f"{path}: {error.strerror}") from error

    def reconcile(self) -> None:
        """Record what was expected and never arrived, as a component dropped its request; then what is no flaw."""
        for name, state in RunState.from_crawler(self.crawler).walks.lists.items():
            if state != "ended":
                error = f"the list of {name} was not read to its end: the request for its next page was dropped"
                self.record_failed(signals.Failed(stage="list", kind="unaccounted", error=error))
        for kind, dataset_id, resource_id in self.records.unaccounted():
            error = f"{kind} was listed and never received: its request was dropped on the way"
            failed = signals.Failed(
                stage="fetch",
                kind="unaccounted",
                error=error,
                dataset_id=dataset_id,
                resource_id=resource_id,
                missing=kind,
            )
            self.record_failed(failed)
        with suppress(NotWritten), self.writing(self.flaws.path):
            for failed in self.flaws.conclude():
                self.record_failed(failed)

    def close(self) -> None:
        self.lines.close()
        self.flaws.close()

    def failures(self) -> dict[str, int]:
        disk = {"disk": 1} if self.has_disk_failure else {}
        return dict(sorted({**self.records.failures.counts(), **disk}.items()))

    def _title(self, dataset_id: str | None) -> str | None:
        index = self.crawler.get_extension(Index)
        try:
            return index.documents.title(dataset_id) if index and dataset_id else None
        except (OSError, ValueError, sqlite3.Error):
            return None  # the line is worth more than its title

    def _settle(self, failed: signals.Failed, line: dict[str, Any]) -> None:
        if (failed.stage, failed.kind) == ("list", "blocked"):
            self.job.state["blocked"] = True
        if failed.missing and failed.dataset_id:
            self.records.settle((failed.missing, failed.dataset_id, failed.resource_id), "failed")
        if failed.field and failed.dataset_id:
            self.flaws.leave(failed)
        if self.records.failures.add(_key(line), failed.kind):
            self.crawler.stats.inc_value("catalogue/failed")
            self.lines.append(line)

    def _stop(self, path: Path | str, error: OSError) -> None:
        self.job.broken = True
        if self.closing:
            return
        self.closing = asyncio.get_running_loop().create_task(self.crawler.engine.close_spider_async(reason="disk"))
        first = "mend that" if error.errno not in _FULL else "free some space"
        message = f"{path} can't be written ({error.strerror}): {first}, then run the same command again"
        logger.error("%s", message)
        self.record_failed(signals.Failed(stage="write", kind="disk", error=message))


def error_line(failed: signals.Failed, run: str) -> dict[str, Any]:
    """Return the line of a failure, without credentials."""
    return {
        "time": now(),
        "run": run,
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


def now() -> str:
    """Return the time as manifest lines, error lines and reports have it."""
    return moment.now("milliseconds")


def _key(line: dict[str, Any]) -> str:
    """Return what is the same when a request is made again after a kill and fails again."""
    return json.dumps([line[name] for name in ("stage", "kind", "url", "dataset_id", "resource_id", "error")])


def _bug(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"


def _missing(item: Any) -> dict[str, Any]:
    if isinstance(item, Dataset | Profile):
        subject: dict[str, Any] = {"dataset_id": item.id, "dataset_name": item.name, "dataset_title": item.title}
    elif isinstance(item, Export):
        names = ("dataset_id", "dataset_name", "dataset_title", "resource_id")
        subject = {name: getattr(item, name) for name in names}
    else:
        return {}
    return subject | {"url": item.metadata_url, "missing": item.kind}
