"""The captures of an archive: what each look at a linked file found. captures.jsonl is the truth, the table a cache."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from crawlers.items import Capture
from crawlers.safety.addresses import host
from crawlers.safety.redact import writable
from crawlers.store import lines
from crawlers.store.index.database import ROWS, Followed

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from crawlers.store.index.database import Database

    Key = tuple[str, str, str]
    """Dataset id, resource id, address."""

FILE = "captures.jsonl"
FIELDS = tuple(field.name for field in fields(Capture) if field.name != "body")
"""The fields of a line, and the first columns of the table, in their order; the others follow from them."""

_LARGEST = 2**63
_PAIRS = ("headers", "request_headers")
_LISTS = ("redirects", *_PAIRS)
_NUMBERS = ("status", "http_status", "size", "failure_count")
_TEXTS = ("source", "dataset_id", "resource_id", "url", "state", "time", "run")
_REQUIRED = (*_TEXTS, "status", "failure_count")
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,15}(?:Z|[+-][0-9]{2}:[0-9]{2})?")
_PATTERNS = {
    "sha256": re.compile(r"[0-9a-f]{64}"),
    "md5": re.compile(r"[0-9a-f]{32}"),
    **dict.fromkeys(("time", "kept_at", "first_failure", "last_success", "fresh_until"), _MOMENT),
}
_KEY = "source = ? AND dataset_id = ? AND resource_id = ? AND url = ?"
_IS_NO_MORE_LAST = f"UPDATE captures SET is_last = 0 WHERE {_KEY} AND is_last"  # noqa: S608
_INSERT = f"""
INSERT OR REPLACE INTO captures ({", ".join(FIELDS)}, host, is_last) VALUES ({", ".join("?" * len(FIELDS))}, ?, 1)
"""  # noqa: S608  # the names are the dataclass's
_LAST = f"SELECT {', '.join(FIELDS)} FROM captures WHERE {_KEY} AND is_last"  # noqa: S608
_LAST_OF_ADDRESS = f"""
SELECT {", ".join(FIELDS)} FROM captures WHERE source = ? AND dataset_id = ? AND url = ? AND is_last
ORDER BY time DESC LIMIT 1
"""  # noqa: S608
_MADE_ID = re.compile(r"(?:[0-9a-f]{24}|[0-9a-f]{32})(?:-[0-9]+)?")
"""An id that was made of a resource's address and title: another one now where the address had a login."""
_COUNTS = "SELECT state, count(*) FROM captures WHERE source = ? AND run = ? GROUP BY state"
HAS_BLOB = """
SELECT 1 FROM captures INDEXED BY captures_blob WHERE sha256 = ?1 AND source = ?2
UNION ALL SELECT 1 FROM documents WHERE source = ?2 AND kind = 'file' AND sha256 = ?1 LIMIT 1
"""
CAPTURES = Followed(FILE, "captures")
"""captures.jsonl, which the table follows."""


class Captures:
    """The captures of one source: those that wait to be written, then those in index.sqlite."""

    def __init__(self, database: Database, source: str) -> None:
        self.database = database
        self.source = source
        self.waiting: list[Mapping[str, Any]] = []
        self._by_key: dict[Key, Mapping[str, Any]] = {}
        self._blobs: set[str] = set()
        self._read: dict[Key, Capture | None] = {}

    @property
    def is_full(self) -> bool:
        """Whether it is time to write."""
        return len(self.waiting) >= ROWS

    def put(self, line: Mapping[str, Any]) -> None:
        """Remember a capture, after its line is in captures.jsonl."""
        self.waiting.append(line)
        key = line["dataset_id"], line["resource_id"], line["url"]
        self._by_key[key] = line
        self._read.pop(key, None)
        self._blobs.add(line["sha256"])

    def last(self, dataset_id: str, resource_id: str, url: str) -> Capture | None:
        """Return the last capture of a resource's file; ``None`` if it was never looked at.

        A resource without an id of its own is found by the dataset and the address, too.
        """
        key = dataset_id, resource_id, url
        found = self._by_key.get(key)
        if found is not None:
            return Capture(**found)
        if key not in self._read:  # a look needs it again and again until it is written
            rows = self.database.rows(_LAST, (self.source, *key))
            if not rows and _MADE_ID.fullmatch(resource_id):
                rows = self.database.rows(_LAST_OF_ADDRESS, (self.source, dataset_id, url))
            self._read[key] = capture(rows[0]) if rows else None
            if len(self._read) > ROWS:
                del self._read[next(iter(self._read))]
        return self._read[key]

    def has_blob(self, sha256: str) -> bool:
        """Return whether a blob has its line in the manifest or in captures.jsonl."""
        return sha256 in self._blobs or bool(self.database.rows(HAS_BLOB, (sha256, self.source)))

    def counts(self, run: str) -> dict[str, int]:
        """Return how many looks of a run found what: kept, unchanged, broken ..."""
        found = Counter(dict(self.database.rows(_COUNTS, (self.source, run))))
        found.update(line["state"] for line in self.waiting if line["run"] == run)
        return dict(sorted(found.items()))

    def write(self, db: sqlite3.Connection, folder: Path) -> None:
        """Write what waits, and note that captures.jsonl has been read to its end; the caller begins the transaction.

        What waits is forgotten by `clear`, once the transaction has ended.
        """
        if self.waiting:
            _insert(db, self.waiting)
            CAPTURES.note(db, folder, CAPTURES.size(folder))

    def clear(self) -> None:
        """Forget what has been written."""
        self.waiting.clear()
        self._by_key.clear()
        self._blobs.clear()


def capture(row: Iterable[Any]) -> Capture:
    """Return the capture of a row that has `FIELDS`."""
    values = dict(zip(FIELDS, row, strict=True))
    values |= {name: json.loads(values[name]) for name in _LISTS}
    if values["is_broken"] is not None:
        values["is_broken"] = bool(values["is_broken"])
    return Capture(**values)


def line(found: Capture) -> dict[str, Any]:
    """Return a capture as a line of captures.jsonl."""
    return {name: getattr(found, name) for name in FIELDS}


def catch_up(db: sqlite3.Connection, folder: Path) -> None:
    """Read what captures.jsonl has and the index lacks; all of it if the file is another one."""
    CAPTURES.catch_up(db, folder, lambda text: _entry(text, folder.name), lambda found: _insert(db, found))


def _insert(db: sqlite3.Connection, found: Iterable[Mapping[str, Any]]) -> None:
    for entry in found:
        db.execute(_IS_NO_MORE_LAST, tuple(entry[name] for name in ("source", "dataset_id", "resource_id", "url")))
        row = (json.dumps(entry[name]) if name in _LISTS else entry[name] for name in FIELDS)
        db.execute(_INSERT, (*row, host(entry["url"])))


def _entry(text: bytes | None, source: str) -> dict[str, Any] | None:
    """Return the capture of a line; ``None`` for a line that no crawl wrote."""
    entry = lines.entry(text and writable(text))  # earlier versions wrote logins
    if entry is None or entry.get("source") != source:
        return None
    entry.setdefault("request_headers", [])  # earlier versions did not note requests
    found = {name: entry.get(name) for name in FIELDS}
    return found if all(_is_valid(name, value) for name, value in found.items()) else None


def _is_valid(name: str, value: Any) -> bool:
    """Return whether a crawl can have written a value of a field: `Capture` has the types."""
    if name in _LISTS:
        return isinstance(value, list) and all(map(_is_pair if name in _PAIRS else lines.is_text, value))
    if value is None:
        return name not in _REQUIRED
    if name == "is_broken":
        return isinstance(value, bool)
    if name in _NUMBERS:
        return type(value) is int and 0 <= value < _LARGEST
    return lines.is_text(value) and (name not in _PATTERNS or bool(_PATTERNS[name].fullmatch(value)))


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(lines.is_text, value))
