"""The way of a look at a file to disk: first the blob is stored, then its manifest line, then the capture's line."""

from __future__ import annotations

import asyncio
import errno
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import quote
from weakref import WeakKeyDictionary

from scrapy.exceptions import NotConfigured

from crawlers import signals
from crawlers.archive import findings, targets
from crawlers.archive.blobs import key as blob_key
from crawlers.causes import KINDS
from crawlers.extensions.error_log import now
from crawlers.extensions.report import Report
from crawlers.items import Body, Capture
from crawlers.records import moment
from crawlers.safety import strict_json
from crawlers.safety.redact import redact, without_logins
from crawlers.store import lines
from crawlers.store.index import Known, Outcome
from crawlers.store.index.captures import FILE, line
from crawlers.store.index.known import Line
from crawlers.store.index.manifest import FILE as MANIFEST
from crawlers.store.lines import JSONLines
from pipelines.batches import Batch, Pipeline

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

_SETTLED = {"kept": "new", "unchanged": "unchanged", "alive": "unchanged"}


class Store:
    """Moves a downloaded file into the store, once for all the captures that have it."""

    def __init__(self, crawler: Crawler) -> None:
        report = crawler.get_extension(Report)
        if report is None or not hasattr(crawler.spider, "blobs"):
            raise NotConfigured("the spider archives nothing, or EXTENSIONS lacks Report")
        self.error_log = report.error_log
        self.blobs = crawler.spider.blobs  # type: ignore[union-attr]
        self.stored: WeakKeyDictionary[Body, asyncio.Task[OSError | None]] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        """Store the file of a capture; one that can't be stored is a failure of ours, and asked for again.

        Raises:
            NotWritten: the disk is full: the crawl stops.
        """
        if isinstance(item, Capture) and item.body is not None:
            if item.body not in self.stored:
                self.stored[item.body] = asyncio.get_running_loop().create_task(self._put(item.body))
            error = await self.stored[item.body]
            if error is not None:
                self._failed(item, error)
        return item

    async def _put(self, body: Body) -> OSError | None:
        try:
            await self.blobs.put(body.content, body.sha256)
        except OSError as error:
            return error
        return None

    def _failed(self, item: Capture, error: OSError) -> None:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            with self.error_log.writing(self.blobs.location):
                raise error
        item.state, item.status, item.is_broken, item.error = findings.CAUSES["disk"]
        item.reason = f"the file can't be stored: {error}"
        item.sha256 = item.md5 = item.body = None


class Captures(Pipeline):
    """Appends the line of a new blob to the manifest, then that of the look to captures.jsonl, and tells the index.

    A look that this run wrote before it was killed has its line: it is only settled.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.broken_after = crawler.settings.getfloat("ARCHIVE_BROKEN_AFTER_DAYS")
        self.cache_url = crawler.settings["ARCHIVE_CACHE_URL"].rstrip("/")

    def open_spider(self) -> None:
        with self.error_log.writing(self.folder / FILE):
            self.manifest = JSONLines(self.folder / MANIFEST)
            self.lines = JSONLines(self.folder / FILE)

    def close_spider(self) -> None:
        self.manifest.close()
        self.lines.close()

    def process_batch(self, batch: Batch) -> None:
        batch.each(self._process)

    def _process(self, look: Capture) -> None:
        last = self.index.captures.last(look.dataset_id, look.resource_id, look.url)
        if last is not None and (last.run, last.resource_id) == (self.report.run, look.resource_id):
            self._end(replace(last, origin=look.origin), None)
            return
        look.time, look.run = now(), self.report.run
        findings.settle(look, last, targets.utc(), self.broken_after)
        look.redirects = [redact(url) for url in look.redirects]
        look.cache_url = self._cache_url(look)
        with self.error_log.writing(self.folder / FILE):
            self._write(look)
        self._end(look, last)

    @cached_property
    def withdrawn(self) -> set[str]:
        """The blobs whose last line in the manifest says that they were pruned."""
        return _withdrawn(self.folder)

    def _write(self, look: Capture) -> None:
        status = self._status(look)
        if status:
            entry = self._entry(look, status)
            self.manifest.append(entry)
            self.index.put_all([_outcome(look, entry)])
            if status == "restored":
                self.withdrawn.remove(entry["sha256"])
        entry = line(look)
        if b"@" in strict_json.verbatim(entry):  # else a walk through all headers is not worth it
            entry = without_logins(entry)
        self.lines.append(entry)
        self.index.captures.put(entry)
        if self.index.captures.is_full:
            self.index.flush()

    def _status(self, look: Capture) -> Literal["new", "restored"] | None:
        """Return the status that the manifest's line of a blob has; ``None`` if the blob has its line already."""
        if look.body is None or not look.sha256:
            return None
        if not self.index.captures.has_blob(look.sha256):
            return "new"
        return "restored" if look.sha256 in self.withdrawn else None

    def _entry(self, look: Capture, status: Literal["new", "restored"]) -> dict[str, Any]:
        """Return the line of a blob that is new, or came back after it was pruned."""
        return {
            "kind": look.kind,
            "dataset_id": look.dataset_id,
            "dataset_name": None,
            "dataset_title": None,
            "resource_id": look.resource_id,
            "resource_name": look.title,
            "resource_format": look.format,
            "metadata_source": "archive",
            "metadata_file": blob_key(str(look.sha256)),
            "metadata_url": redact(look.url),
            "time": look.time,
            "run": look.run,
            "status": status,
            "sha256": look.sha256,
            "bytes": look.size,
            "metadata_modified": look.last_modified,
        }

    def _cache_url(self, look: Capture) -> str | None:
        """Return where the archive is served: the key that CKAN's ticket 891 asked for."""
        if not (self.cache_url and look.sha256 and look.kept_at):
            return None
        time = moment.name(moment.moment(look.kept_at))
        suffix = f".{look.extension}" if look.extension else ""
        return f"{self.cache_url}/archive/{time}/{quote(look.resource_id, safe='')}/{look.name}{suffix}"

    def _end(self, look: Capture, last: Capture | None) -> None:
        """Settle the look in the ledger; one that failed is an error line."""
        resource = f"{look.resource_id} {look.url}" if look.origin else look.resource_id
        outcome = _SETTLED.get(look.state, "failed")
        if outcome == "failed":
            self.error_log.record_failed(_failed(look))
        elif outcome == "new" and last is not None and last.sha256:
            outcome = "updated"
        self.records.settle(("file", look.dataset_id, resource), outcome)


def _withdrawn(folder: Path) -> set[str]:
    """Return the blobs that the last line of a manifest about them withdraws."""
    found: set[str] = set()
    for _, text in lines.read(folder, MANIFEST):
        if found or (text and b'"withdrawn"' in text):  # where nothing was pruned, no line is parsed
            entry = lines.entry(text) or {}
            change = found.add if entry.get("status") == "withdrawn" else found.discard
            change(str(entry.get("sha256")))
    return found


def _outcome(look: Capture, entry: dict[str, Any]) -> Outcome:
    known = Known(
        file=entry["metadata_file"],
        sha256=entry["sha256"],
        bytes=entry["bytes"],
        metadata_modified=entry["metadata_modified"],
        status=entry["status"],
        run=entry["run"],
        seen=entry["time"],
        metadata_source=entry["metadata_source"],
        metadata_url=entry["metadata_url"],
    )
    return Outcome((look.kind, look.dataset_id, look.resource_id), known, entry["status"], line=Line(entry["time"]))


def _failed(look: Capture) -> signals.Failed:
    """Return the error line of a look: a finding about the catalogue, or a gap of the crawl."""
    kind = {"broken": "broken_link", "not_taken": "not_taken"}.get(look.state, look.error or "bug")
    return signals.Failed(
        stage="fetch",
        kind=kind if kind in KINDS else "refused",  # a form's page that is another one
        error=look.reason or "the file is not kept",
        url=look.url,
        http_status=look.http_status,
        dataset_id=look.dataset_id,
        resource_id=look.resource_id,
    )
