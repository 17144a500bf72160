"""flaws.jsonl: a line for each flaw of a kept record when it appears, and one when it is gone."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.causes import FLAWS
from crawlers.components.ledger import IS_EXCLUDED, IS_KEPT, Job, Records
from crawlers.items import Dataset, Flaw
from crawlers.listing.crawl import RunState
from crawlers.records import moment
from crawlers.safety import strict_json
from crawlers.safety.redact import redact
from crawlers.signals import Failed
from crawlers.store import lines
from crawlers.store.index import Index
from crawlers.store.index.columns import storable
from crawlers.store.index.flaws import FILE
from crawlers.store.lines import JSONLines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from scrapy.crawler import Crawler

    from crawlers.store.index.flaws import Key

_LOST = frozenset((*FLAWS.values(), "undescribed"))
"""The kinds of errors of what came and was not read: what is wrong with a page may be the reason."""
_READ_AGAIN = "read again"
"""The list of datasets that had flaws and whose record this run has read."""
_UNREAD = "unread"
"""The list of the fields that this run could not read, for what has them did not come."""
_PART = 500  # datasets that are looked up at once

_NOTE = "INSERT OR IGNORE INTO flaws VALUES (?, ?, ?, ?, ?)"
_OF = "SELECT dataset_id, resource_id, field, kind, failed FROM flaws WHERE dataset_id IN ({marks})"
_HAS_DOCUMENT = f"SELECT 1 FROM records WHERE kind = ? AND dataset_id = ? AND resource_id = '' AND {IS_KEPT}"  # noqa: S608
_NOT_KEPT = f"""
SELECT f.dataset_id, f.resource_id, f.field, f.kind, failed,
f.dataset_id IN (SELECT json_extract(key, '$[3]') FROM failures) FROM flaws f LEFT JOIN records r
ON r.kind = ?1 AND r.dataset_id = f.dataset_id AND r.resource_id = ''
WHERE (f.dataset_id, f.resource_id, f.field, f.kind) > (?2, ?3, ?4, ?5) AND f.dataset_id != ''
AND NOT coalesce({IS_KEPT}, false) AND NOT f.{IS_EXCLUDED}
ORDER BY 1, 2, 3, 4 LIMIT ?6
"""  # noqa: S608


class FlawLog:
    """Tells the flaws of a run that do not stand yet, and those that stood and are gone.

    #. `note` keeps a flaw in the ledger: whether it is one depends on what becomes of its dataset's document.
    #. `keep` is called once the documents of datasets are on disk: their new flaws get their lines.
    #. `conclude` tells which flaws are gone, and returns the others as what they are: errors.

    A flaw whose record was not read in this run stands as it did, and so does one of a record that could not be kept
    for a reason that has an error of its own.
    """

    def __init__(self, crawler: Crawler, folder: Path, run: str) -> None:
        self.crawler = crawler
        self.folder = folder
        self.path = folder / FILE
        self.run = run
        self.job = Job.from_crawler(crawler)
        self.records = Records(crawler)

    def open(self) -> None:
        self.lines = JSONLines(self.path)

    def close(self) -> None:
        self.lines.close()

    @property
    def index(self) -> Index:
        index = self.crawler.get_extension(Index)
        assert index is not None  # noqa: S101  # the pipelines need it, too
        return index

    @property
    def kind(self) -> str:
        return str(getattr(self.crawler.spider, "listed_kind", "dataset"))

    def note(self, failed: Failed) -> None:
        """Keep a flaw in the ledger; tell it if its dataset's document is on disk already."""
        dataset_id = failed.dataset_id or ""
        self._note([failed])
        if dataset_id and self.job.db.execute(_HAS_DOCUMENT, (self.kind, dataset_id)).fetchone():
            self._tell([dataset_id])

    def note_item(self, item: Dataset) -> None:
        """Keep the flaws of an item in the ledger; several of one place and kind are one."""
        alike: defaultdict[Key, list[Failed]] = defaultdict(list)
        for flaw in item.flaws:
            failed = _failed(item, flaw)
            alike[_key(failed)].append(failed)
        joined = {key: "; ".join(dict.fromkeys(each.error for each in some)) for key, some in alike.items()}
        self._note(replace(alike[key][0], error=joined[key]) for key in sorted(alike))

    def leave(self, failed: Failed) -> None:
        """Let the flaws of a field stand, which could not be read because of a failure."""
        self.records.see(_place(failed.dataset_id, failed.field), _UNREAD, "")

    def _note(self, flaws: Any) -> None:
        self.job.execute_many(_NOTE, [(*_key(failed), json.dumps(asdict(failed))) for failed in map(_storable, flaws)])

    def keep(self, items: Collection[Any]) -> None:
        """Tell the new flaws of datasets whose documents were written, or are on disk as they are.

        Raises:
            OSError: the disk is full.
        """
        read = [item for item in items if isinstance(item, Dataset) and item.is_mapped]
        for item in read:
            if item.flaws:
                self.note_item(item)
        ids = [item.id for item in items if isinstance(item, Dataset)]
        standing = self._tell(ids)
        for dataset_id in {key[0] for key in standing}.intersection(item.id for item in read):
            self.records.see(dataset_id, _READ_AGAIN, "")

    def _tell(self, ids: Collection[str]) -> set[Key]:
        """Write the lines of what is noted about some datasets and does not stand yet; return what stood."""
        if not ids:
            return set()
        standing, noted = self.index.flaws.of(ids), self._noted(ids)
        new = [_line(failed, self.run) for key, failed in noted.items() if key not in standing]
        for line in new:
            if not line["dataset_title"] and line["dataset_id"]:
                line["dataset_title"] = self.index.documents.title(line["dataset_id"])
        self._write(new)
        return standing

    def _noted(self, ids: Collection[str]) -> dict[Key, Failed]:
        query = _OF.format(marks=", ".join("?" * len(ids)))
        return {(*row[:4],): Failed(**json.loads(row[4])) for row in self.job.db.execute(query, tuple(ids))}

    def _write(self, found: list[dict[str, Any]]) -> None:
        if found:
            self.lines.extend(map(strict_json.line, found))
            self.index.flaws.put(found)
            if self.index.flaws.is_full:
                self.index.flush()

    def conclude(self) -> Iterator[Failed]:
        """Tell what is gone; yield what is no flaw, because the document concerned is not kept.

        Raises:
            OSError: the disk is full.
        """
        read = self.records.listed(_READ_AGAIN)
        while ids := list(islice(read, _PART)):
            missed = self.index.flaws.of(ids) - self._noted(ids).keys()
            self._write_gone([key for key in missed if not self.records.is_listed(_place(key[0], key[2]), _UNREAD)])
        self.index.flush()
        self._write_gone(self.index.flaws.of_withdrawn(self.kind))
        last: tuple[Any, ...] = ("", "", "", "")
        while rows := self.job.db.execute(_NOT_KEPT, (self.kind, *last, _PART)).fetchall():
            standing = self.index.flaws.of({row[0] for row in rows})
            for *key, failed, has_failed in rows:
                if not (has_failed and tuple(key) in standing):
                    yield _as_error(Failed(**json.loads(failed)))
            last = rows[-1][:4]
        yield from self._of_the_source()

    def _of_the_source(self) -> Iterator[Failed]:
        """Tell the flaws that concern no dataset; they are errors if they may have cost a record."""
        noted = self._noted([""])
        if not _LOST.isdisjoint(self.records.failures.counts()):
            yield from map(_as_error, noted.values())
            return
        standing = self._tell([""])
        state = RunState.from_crawler(self.crawler)
        if state.is_whole_listing and not state.since:
            self._write_gone(standing - noted.keys())

    def _write_gone(self, keys: Collection[Key]) -> None:
        self._write([_gone(key, self.run) for key in sorted(keys)])

    def counts(self) -> dict[str, int] | None:
        """Return how many flaws of each kind stand; ``None`` if the index can't say it."""
        return self.index.flaws.counts() if self.index.flush() else None

    def count_new(self, begin: int, end: int) -> int:
        """Return how many flaws appeared between two offsets of flaws.jsonl."""
        found = map(lines.entry, lines.between(self.folder, FILE, begin, end))
        return sum(1 for line in found if line and line.get("status") == "new")


def _key(failed: Failed) -> Key:
    return failed.dataset_id or "", failed.resource_id or "", failed.field or "", failed.kind


def _place(dataset_id: str | None, field: str | None) -> str:
    return json.dumps([dataset_id, field])


def _failed(item: Dataset, flaw: str) -> Failed:
    known = flaw if isinstance(flaw, Flaw) else Flaw(flaw)
    return Failed(
        stage="parse",
        kind=known.kind,
        error=str(flaw),
        url=item.metadata_url,
        dataset_id=item.id,
        dataset_name=item.name,
        dataset_title=item.title,
        resource_id=known.resource_id,
        field=known.field,
    )


def _storable(failed: Failed) -> Failed:
    """Return a flaw whose texts SQLite takes: a portal's may have half a character."""
    texts: dict[str, Any] = {
        name: storable(value)
        for name, value in asdict(failed).items()
        if isinstance(value, str) and not value.isascii()
    }
    return replace(failed, **texts) if texts else failed


def _as_error(failed: Failed) -> Failed:
    return replace(failed, kind=FLAWS[failed.kind])


def _line(failed: Failed, run: str) -> dict[str, Any]:
    return {
        "time": moment.now("milliseconds"),
        "run": run,
        "status": "new",
        "kind": failed.kind,
        "dataset_id": failed.dataset_id,
        "dataset_name": failed.dataset_name,
        "dataset_title": failed.dataset_title,
        "resource_id": failed.resource_id,
        "field": failed.field or None,
        "url": failed.url and redact(failed.url),
        "error": redact(failed.error),
    }


def _gone(key: Key, run: str) -> dict[str, Any]:
    dataset_id, resource_id, field, kind = key
    failed = Failed(
        stage="parse", kind=kind, error="", dataset_id=dataset_id or None, resource_id=resource_id or None, field=field
    )
    return _line(failed, run) | {"status": "gone", "error": None}
