"""The archives in OUTPUT_DIR: what the index knows of their captures, and the store of their files."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, Self

from crawlers.exceptions import ArchiveError, DamagedError, hint
from crawlers.operate.console import print_error
from crawlers.safety.names import ARCHIVE_OF
from crawlers.safety.redact import one_line
from crawlers.safety.sqlite import transaction
from crawlers.store.index import catch_up
from crawlers.store.index.captures import FIELDS, FILE, capture
from crawlers.store.index.database import connect, readable

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from scrapy.settings import BaseSettings

    from crawlers.archive.blobs import Blobs
    from crawlers.items import Capture

CHUNK = 1024 * 1024  # bytes that are read of a file at a time

_COLUMNS = ", ".join(FIELDS)
_NAMED = f"""
source IN wanted OR source IN (SELECT '{ARCHIVE_OF}' || name FROM wanted)
OR dataset_id IN wanted OR resource_id IN wanted OR url IN wanted OR (source, dataset_id) IN (
    SELECT '{ARCHIVE_OF}' || source, dataset_id FROM datasets WHERE name IN wanted
)
"""  # noqa: S608  # a constant
_WANTED = "WITH wanted (name) AS (SELECT value FROM json_each(:names))"
_IS_KNOWN = f"{_WANTED} SELECT 1 FROM captures WHERE {_NAMED} LIMIT 1"  # noqa: S608
_DATASETS = f"""
{_WANTED} SELECT DISTINCT source, dataset_id FROM captures WHERE dataset_id IN wanted OR (source, dataset_id) IN (
    SELECT '{ARCHIVE_OF}' || source, dataset_id FROM datasets WHERE name IN wanted
) ORDER BY 1, 2
"""  # noqa: S608
_LAST = f"""
{_WANTED} SELECT {_COLUMNS} FROM (
    SELECT *, row_number() OVER (
        PARTITION BY source, dataset_id, resource_id, url ORDER BY time DESC, rowid DESC
    ) AS age FROM captures
    WHERE time <= :at AND ((:dataset IS NULL AND ({_NAMED})) OR (source = :source AND dataset_id = :dataset))
) WHERE age = 1 ORDER BY source, dataset_id, resource_id, url
"""  # noqa: S608
VERSIONS = """
CREATE TEMP VIEW versions AS
SELECT sha256, source, dataset_id, resource_id, url, max(is_last) AS is_current, max(time) AS seen,
    max(coalesce(kept_at, time)) AS kept, max(size) FILTER (WHERE state IN ('kept', 'unchanged')) AS bytes
FROM captures WHERE sha256 IS NOT NULL GROUP BY source, dataset_id, resource_id, url, sha256
"""
_FIRST = f"""
SELECT {_COLUMNS} FROM captures
WHERE source = ? AND dataset_id = ? AND resource_id = ? AND url = ? AND sha256 = ? AND time >= coalesce(?, '')
ORDER BY time, rowid LIMIT 1
"""  # noqa: S608
_ALL = f"""
{_WANTED} SELECT {_COLUMNS} FROM captures
WHERE (:dataset IS NULL AND ({_NAMED})) OR (source = :source AND dataset_id = :dataset)
ORDER BY source, dataset_id, resource_id, url, time, rowid
"""  # noqa: S608
_FEW = 1000
"""Rows of a query that are fetched at once."""
_ALWAYS = "9999"  # later than all times in ISO 8601


class Held(NamedTuple):
    """A linked file at some moment.

    Args:
        last: the last look at it.
        kept: the look that brought the bytes that were held then; ``None`` if none were.
    """

    last: Capture
    kept: Capture | None


class Holdings:
    """The archives in OUTPUT_DIR.

    Args:
        output: OUTPUT_DIR.
        settings: the project's.

    Attributes:
        db: the index, read-only but for temporary tables; up to date, but for archives that are being crawled. Its
            view ``versions`` has each content that each resource ever had: whether it is the last, when it was kept and
            when it was seen last, its bytes.
        damaged: the sources that can't be read.

    Raises:
        ArchiveError: OUTPUT_DIR has no archive.
        IndexUnreadableError, OutputError: the index can't be read or brought up to date.
    """

    def __init__(self, output: Path, settings: BaseSettings) -> None:
        self.output = output
        self.settings = settings
        self.archives = archives(output)
        if not self.archives:
            raise ArchiveError(f"{output} has no archive yet: `scrapy crawl archive -a of=SOURCE` fills one.")
        self.damaged = set(catch_up(output, lambda sentence: print_error(one_line(sentence, 2_000))))
        self.db = connect(output)
        self.db.execute(VERSIONS)
        self._tables = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.db.close()

    def tell_damage(self, source: str, error: object) -> None:
        """Print once why a source can't be read."""
        if source not in self.damaged:
            self.damaged.add(source)
            print_error(error)

    @cached_property
    def blobs(self) -> Blobs:
        """The store of the files.

        Raises:
            OutputError: it can't be opened.
        """
        from crawlers.archive.store import open_blobs  # noqa: PLC0415 -- `status` needs no store

        return open_blobs(self.settings)

    def archive(self, name: str) -> str:
        """Return the archive that a name means: its own, or that of its source.

        Raises:
            ArchiveError: there is none.
        """
        for wanted in (name, ARCHIVE_OF + name):
            if wanted in self.archives:
                return wanted
        sources = [one.removeprefix(ARCHIVE_OF) for one in self.archives]
        raise ArchiveError(f"No archive has the name {name!r}.{hint(name, sources)} There are: {', '.join(sources)}.")

    def rows(self, query: str, values: Sequence[object] | Mapping[str, object] = ()) -> Iterator[sqlite3.Row]:
        """Yield the rows of a query.

        Many rows go to a temporary table first: while an unfinished query of the index waits for files to be read, each
        write of a crawl makes index.sqlite-wal larger.

        Raises:
            IndexUnreadableError: the index can't be read.
        """
        with readable(self.output):
            found = self.db.execute(query, values)
            first = found.fetchmany(_FEW)
            yield from first if len(first) < _FEW else self._moved(found, first)

    def _moved(self, found: sqlite3.Cursor, first: list[sqlite3.Row]) -> Iterator[sqlite3.Row]:
        """Yield the rows of a query from a temporary table."""
        self._tables += 1
        table = f"found_{self._tables}"
        names = ['"{}"'.format(column[0].replace('"', '""')) for column in found.description]
        self.db.execute(f"CREATE TEMP TABLE {table} ({', '.join(names)})")
        marks = ", ".join("?" * len(names))
        with transaction(self.db):
            self.db.executemany(f"INSERT INTO {table} VALUES ({marks})", map(tuple, chain(first, found)))  # noqa: S608
        yield from self.db.execute(f"SELECT * FROM {table}")  # noqa: S608
        self.db.execute(f"DROP TABLE {table}")

    def held(self, name: str, at: str | None = None) -> Iterator[Held]:
        """Yield the linked files that a name means, each as it was at a moment.

        Args:
            name: an id, a name or an address: of a dataset, a resource, an archive, or of the file itself.
            at: the moment, in ISO 8601; now, by default.
        """
        yield from self._held({"names": json.dumps([name]), "at": at or _ALWAYS, "source": None, "dataset": None})

    def held_of(self, archive: str, dataset_id: str) -> Iterator[Held]:
        """Yield the linked files of a dataset."""
        yield from self._held({"names": "[]", "at": _ALWAYS, "source": archive, "dataset": dataset_id})

    def _held(self, values: dict[str, object]) -> Iterator[Held]:
        for row in self.rows(_LAST, values):
            last = capture(row)
            key = (last.source, last.dataset_id, last.resource_id, last.url)
            found = list(self.rows(_FIRST, (*key, last.sha256, last.kept_at))) if last.sha256 else []
            yield Held(last, capture(found[0]) if found else (last if last.sha256 else None))

    def captures(self, names: Sequence[str]) -> Iterator[Capture]:
        """Yield all captures that some names mean, each once, by resource and then by time.

        Raises:
            ArchiveError: nothing has one of the names.
        """
        for name in names:
            if not list(self.rows(_IS_KNOWN, {"names": json.dumps([name])})):
                raise unknown(name)
        values = {"names": json.dumps(names), "source": None, "dataset": None}
        yield from map(capture, self.rows(_ALL, values))

    def datasets(self, name: str) -> list[tuple[str, str]]:
        """Return the archive and the id of the datasets that have this id or name.

        Raises:
            ArchiveError: there is none.
        """
        found = [tuple(row) for row in self.rows(_DATASETS, {"names": json.dumps([name])})]
        if not found:
            raise ArchiveError(f"No archived dataset is called {name!r}: `scrapy search` finds datasets by words.")
        return found

    def captures_of(self, archive: str, dataset_id: str) -> Iterator[Capture]:
        """Yield all captures of a dataset, by resource and then by time."""
        values = {"names": "[]", "source": archive, "dataset": dataset_id}
        yield from map(capture, self.rows(_ALL, values))


def unknown(name: str, when: str = "") -> ArchiveError:
    """Return the error for a name that no archive has."""
    return ArchiveError(f"No archived dataset, resource or address is called {name!r}{when}.")


def archives(output: Path) -> list[str]:
    """Return the names of the archives in OUTPUT_DIR."""
    return sorted(path.parent.name for path in output.glob(f"[!.]*/{FILE}"))


class StoredFile:
    """Reads a blob as a stream, and compares its SHA-256 at its end.

    Raises:
        DamagedError: the store does not have it.
        ArchiveError: the store can't be read.
    """

    def __init__(self, blobs: Blobs, sha256: str) -> None:
        self.location, self.sha256 = blobs.location, sha256
        self.digest = hashlib.sha256()
        self.size = 0
        try:
            self.file = blobs.open(sha256)
        except FileNotFoundError:
            raise DamagedError(f"{self.location} lacks the file {sha256}.") from None
        except OSError as error:
            raise self._unreadable(error) from None

    def read(self, size: int = CHUNK) -> bytes:
        """Return the next bytes; none at the end.

        Raises:
            DamagedError: all bytes were read, and they are not those that were stored.
            ArchiveError: the store can't be read.
        """
        try:
            chunk = self.file.read(size)
        except OSError as error:
            raise self._unreadable(error) from None
        self.digest.update(chunk)
        self.size += len(chunk)
        if not chunk and self.digest.hexdigest() != self.sha256:
            found = self.digest.hexdigest()
            raise DamagedError(f"{self.location} has a damaged file: {self.sha256} has {found} as its SHA-256 now.")
        return chunk

    def close(self) -> None:
        with suppress(OSError):
            self.file.close()

    def _unreadable(self, error: OSError) -> ArchiveError:
        return ArchiveError(f"{self.location} can't be read ({error.strerror or error}): {self.sha256}.")
