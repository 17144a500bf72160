"""The one owner of errors.jsonl and of the run report: every failure comes by here, and so does the verdict."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
from collections import Counter
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

import scrapy
from scrapy import signals as scrapy_signals
from scrapy.exceptions import DropItem

from crawlers import signals
from crawlers.items import Dataset, Export
from crawlers.safety import strict_json
from pipelines.folder import JSONLines, folder, lock, write
from pipelines.verdict import EXIT_CODES, Verdict, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)

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
        self.folder = folder(crawler)
        self.lock = lock(self.folder)
        self.started = datetime.now(UTC)
        self.run = self._run()
        self.errors: Counter[str] = Counter()
        self.finish_reason = "shutdown"
        self.verdict: Verdict | None = None
        self.closing: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        report = cls(crawler)
        connect = crawler.signals.connect
        connect(report.record_failed, signal=signals.record_failed)
        connect(report.spider_error, signal=scrapy_signals.spider_error)
        connect(report.item_error, signal=scrapy_signals.item_error)
        connect(report.item_dropped, signal=scrapy_signals.item_dropped)
        connect(report.request_dropped, signal=scrapy_signals.request_dropped)
        connect(report.spider_opened, signal=scrapy_signals.spider_opened)
        connect(report.spider_closed, signal=scrapy_signals.spider_closed)
        connect(report.engine_stopped, signal=scrapy_signals.engine_stopped)
        return report

    @property
    def path(self) -> Path:
        return self.folder / "runs" / f"{self.run}.json"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict or "interrupted"]

    def spider_opened(self) -> None:
        self.error_lines = JSONLines(self.folder / "errors.jsonl")

    # What can fail

    def record_failed(self, failed: signals.Failed) -> None:
        self.errors[failed.kind] += 1
        self.crawler.stats.inc_value("catalogue/failed")
        try:
            self.error_lines.append(self._line(failed))
        except OSError as error:
            self._stop(self.folder / "errors.jsonl", error)

    def spider_error(self, failure: Failure, response: Response | Failure | None) -> None:
        url = getattr(response, "url", None)
        self.record_failed(signals.Failed(stage="parse", kind="bug", error=_bug(failure.value), url=url))

    def item_error(self, item: Any, failure: Failure) -> None:
        self.record_failed(signals.Failed(stage="write", kind="bug", error=_bug(failure.value), **_subject(item)))

    def item_dropped(self, item: Any, exception: DropItem) -> None:
        if isinstance(exception, NotWritten):
            return
        subject = _subject(item)
        kind = "invalid_record" if subject.get("dataset_id") else "missing_id"
        self.record_failed(signals.Failed(stage="parse", kind=kind, error=str(exception), **subject))

    def request_dropped(self, request: Request) -> None:
        if request.meta.get("is_start_request"):  # a resumed job has asked for it before
            return
        export = request.cb_kwargs.get("export", {})
        failed = signals.Failed(
            stage="fetch",
            kind="duplicate_id" if export and "redirect_urls" not in request.meta else "ignored",
            error="the same address was asked for already, so this request was dropped",
            url=request.url,
            dataset_id=export.get("dataset_id"),
            dataset_name=export.get("dataset_name"),
            resource_id=export.get("resource_id"),
        )
        self.record_failed(failed)

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

    def spider_closed(self, reason: str) -> None:
        self.finish_reason = reason

    def engine_stopped(self) -> None:
        self.finish(self.finish_reason)

    def finish(self, reason: str) -> None:
        """Judges the run and writes its report; also called when a second signal stops the crawl at once."""
        stats = self.crawler.stats
        self.verdict = verdict(
            reason,
            expected=stats.get_value("catalogue/expected"),
            listed=stats.get_value("catalogue/listed", 0),
            limited=stats.get_value("catalogue/limited", False),
            errors=self.errors,
        )
        try:
            self.path.parent.mkdir(exist_ok=True)
            write(str(self.path), strict_json.dumps(self._report(reason)), str(self.folder / ".writing"))
        except OSError as error:
            logger.error("The run report %s can't be written: %s", self.path, error.strerror)  # noqa: TRY400
        self.error_lines.close()
        (self.folder / ".writing").unlink(missing_ok=True)
        os.close(self.lock)

    def summary(self) -> str:
        """The last lines on the terminal: the verdict, the counts, and where the files are."""
        stats, counts = self.crawler.stats, self.counts()
        expected, listed = stats.get_value("catalogue/expected"), stats.get_value("catalogue/listed", 0)
        datasets = f"{listed} of {expected}" if expected is not None else str(listed)
        became = ", ".join(f"{counts[name]} {name}" for name in ("new", "updated", "unchanged"))
        fallback = f" ({counts['fallback']} by fallback)" if counts["fallback"] else ""
        lines = [
            f"{self.folder.name}: {self.verdict}. {datasets} datasets listed; documents: {became}{fallback}.",
            f"{self.folder} has the documents and manifest.jsonl; this run's report is {self.path}.",
        ]
        if self.errors:
            kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.errors.items()))
            lines.insert(1, f"{self.errors.total()} errors ({kinds}): see {self.folder / 'errors.jsonl'}.")
        return "\n".join(lines)

    def counts(self) -> dict[str, int]:
        """What became of every document of this run."""
        stats = self.crawler.stats
        return {name: stats.get_value(f"catalogue/{name}", 0) for name in COUNTS} | {"failed": self.errors.total()}

    def _report(self, reason: str) -> dict[str, Any]:
        spider, stats = self.crawler.spider, self.crawler.stats
        return {
            "source": spider.source,  # type: ignore[union-attr]
            "spider": spider.name,  # type: ignore[union-attr]
            "run": self.run,
            "arguments": spider.given,  # type: ignore[union-attr]
            "started": _stamp(self.started),
            "finished": _stamp(datetime.now(UTC)),
            "finish_reason": reason,
            "verdict": self.verdict,
            "expected": stats.get_value("catalogue/expected"),
            "listed": stats.get_value("catalogue/listed", 0),
            "counts": self.counts(),
            "errors": dict(sorted(self.errors.items())),
            "requests": stats.get_value("downloader/request_count", 0),
            "retries": stats.get_value("retry/count", 0),
            "bytes": stats.get_value("downloader/response_bytes", 0),
            "resumed": False,
            "versions": {
                self.crawler.settings["BOT_NAME"]: self.crawler.settings["VERSION"],
                "scrapy": scrapy.__version__,
                "python": platform.python_version(),
            },
        }

    def _line(self, failed: signals.Failed) -> dict[str, Any]:
        return {
            "time": _stamp(datetime.now(UTC)),
            "run": self.run,
            "stage": failed.stage,
            "kind": failed.kind,
            "url": failed.url,
            "http_status": failed.http_status,
            "attempts": failed.attempts,
            "dataset_id": failed.dataset_id,
            "dataset_name": failed.dataset_name,
            "resource_id": failed.resource_id,
            "error": failed.error,
        }

    def _run(self) -> str:
        name = self.started.strftime("%Y%m%dT%H%M%SZ")
        later = len(list((self.folder / "runs").glob(f"{name}*.json")))
        return f"{name}-{later + 1}" if later else name

    def _stop(self, path: Path | str, error: OSError) -> None:
        if self.closing:
            return
        self.closing = asyncio.get_running_loop().create_task(self.crawler.engine.close_spider_async(reason="disk"))
        message = f"{path} can't be written ({error.strerror}): free some space, then run the same command again"
        logger.error("%s", message)
        self.record_failed(signals.Failed(stage="write", kind="disk", error=message))


def _stamp(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _bug(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"


def _subject(item: Any) -> dict[str, Any]:
    if isinstance(item, Dataset):
        return {"url": item.metadata_url, "dataset_id": item.id, "dataset_name": item.name}
    if isinstance(item, Export):
        return {
            "url": item.metadata_url,
            "dataset_id": item.dataset_id,
            "dataset_name": item.dataset_name,
            "resource_id": item.resource_id,
        }
    return {}
