"""A source's folder against its manifest: documents that are missing or damaged, and files that no line names."""

from __future__ import annotations

import errno
import hashlib
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self

from crawlers.safety import inside
from crawlers.safety.redact import has_login
from crawlers.store.bucket.contract import FOLDERS
from crawlers.store.index import manifest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

_SCHEMA = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE last (
    kind TEXT, dataset_id TEXT, resource_id TEXT, file TEXT, sha256 TEXT, bytes INTEGER,
    PRIMARY KEY (kind, dataset_id, resource_id)
) WITHOUT ROWID;
"""
_LAST = "INSERT OR REPLACE INTO last VALUES (?, ?, ?, ?, ?, ?)"
_SOME = 1000  # lines


class Difference(NamedTuple):
    """What is not as the manifest says.

    Args:
        word: ``missing``, ``damaged``, ``unreadable``, or ``unreferenced``: no line names it.
        file: relative to the source's folder.
        reason: why it is unreadable.
    """

    word: str
    file: str
    reason: str = ""


class Comparison:
    """Compares a source's documents with the last lines of its manifest; nothing is changed.

    The lines go into a temporary database on disk: a source may have millions.

    Args:
        folder: the source's.

    Attributes:
        documents: how many the manifest has.
        bytes: of those that were read.
        logins: how many of them have ``user:password@`` in an address, which earlier versions kept.

    Raises:
        OSError: the manifest can't be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bytes = self.logins = self.damaged_lines = 0
        self.db = sqlite3.connect("", isolation_level=None)
        self.db.executescript(_SCHEMA)
        try:
            self._read_lines()
        except BaseException:
            self.db.close()
            raise
        self.documents, self.size = self.db.execute("SELECT count(*), coalesce(sum(bytes), 0) FROM last").fetchone()
        self.db.execute("CREATE INDEX files ON last (file)")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.db.close()

    def _read_lines(self) -> None:
        rows = []
        for _, line in manifest.lines(self.folder, 0):
            if line is None:
                self.damaged_lines += 1
                continue
            key, known, _ = line
            if key[0] != "file":  # those of an archive are in its store
                rows.append((*key, known.file, known.sha256, known.bytes))
            if len(rows) == _SOME:
                self.db.executemany(_LAST, rows)
                rows.clear()
        self.db.executemany(_LAST, rows)

    def differences(self) -> Iterator[Difference | None]:
        """Yield what differs, and ``None`` after each document that was read.

        Raises:
            OSError: a folder can't be read.
        """
        if self.damaged_lines:
            yield Difference("unreadable", manifest.FILE, f"damaged lines: {self.damaged_lines}")
        for file, sha256, size in self.db.execute("SELECT file, sha256, bytes FROM last ORDER BY file"):
            if found := self._compared(file, sha256, size):
                yield found
            yield None
        yield from self._unreferenced()

    def _compared(self, file: str, sha256: str, size: int) -> Difference | None:
        try:
            body = inside.read(self.folder, file, min(size, inside.LARGEST))
        except FileNotFoundError:
            return Difference("missing", file)
        except OSError as error:
            if error.errno == errno.EFBIG and size <= inside.LARGEST:
                return Difference("damaged", file)
            return Difference("unreadable", file, error.strerror or str(error))
        self.bytes += len(body)
        self.logins += has_login(body)
        return Difference("damaged", file) if hashlib.sha256(body).hexdigest() != sha256 else None

    def _unreferenced(self) -> Iterator[Difference]:
        for below in FOLDERS:
            with suppress(FileNotFoundError):
                for name, _ in inside.statuses(self.folder, below):
                    file = f"{below}/{name}"
                    if not self.db.execute("SELECT 1 FROM last WHERE file = ?", (file,)).fetchone():
                        yield Difference("unreferenced", file)
