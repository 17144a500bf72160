"""Which Parquet files are those of the index as it is now, and how they come to be.

A source's files are in OUTPUT_DIR/.figures/<source>/<stamp>: the index gives a source another stamp whenever its rows
change. They are written beside their place and renamed into it, so a reader sees all of them or none.
"""

from __future__ import annotations

import os
import time
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import duckdb

from crawlers.exceptions import FiguresError
from crawlers.safety.locks import alone
from crawlers.safety.names import safe
from crawlers.store.columns import rows
from crawlers.store.columns.engine import connected, reason
from crawlers.store.columns.places import discard, of_source, roots

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator
    from pathlib import Path

_FORMAT = 1  # of the files; those of another one are written again
_READ = 600  # seconds that somebody may still read files of before
_PATIENCE = 60.0  # seconds that a process waits for another one that writes the same files
_STAMPS = "SELECT source, stamp FROM sources"


def update(db: sqlite3.Connection, output: Path, sources: Collection[str] | None = None) -> None:
    """Write the files of sources that have none for the index as it is now.

    Args:
        db: the index.
        output: OUTPUT_DIR.
        sources: their names; by default all.

    Raises:
        FiguresError: they can't be written.
    """
    with snapshot(db):
        if not all(_found(db, output, sources).values()):
            with connected(roots(output)) as engine:
                folders(engine, db, output, sources)


@contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """See the index as it is at one moment, unless the caller does so already: its rows belong to its stamps."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


def folders(
    engine: duckdb.DuckDBPyConnection, db: sqlite3.Connection, output: Path, sources: Collection[str] | None = None
) -> dict[str, Path]:
    """Return the folder with the files of each source, by its name; those that are missing are written.

    Args:
        engine: DuckDB, which may write into the `roots` of OUTPUT_DIR.
        db: the index, in a `snapshot`.
        output: OUTPUT_DIR.
        sources: their names; by default all.

    Raises:
        FiguresError: they can't be written.
    """
    found = _found(db, output, sources)
    return {source: folder or _written(engine, db, output, source) for source, folder in found.items()}


def _found(db: sqlite3.Connection, output: Path, sources: Collection[str] | None) -> dict[str, Path | None]:
    """Return the folder of each source that the index has; ``None`` if there is none."""
    return {
        source: next((place for place in _places(output, source, stamp) if _is_whole(place)), None)
        for source, stamp in db.execute(_STAMPS)
        if sources is None or source in sources
    }


def _places(output: Path, source: str, stamp: str) -> Iterator[Path]:
    """Yield where a source's files may be; no link is followed, for what is obsolete beside them is removed."""
    name = f"{safe(stamp)}-{_FORMAT}-{duckdb.__version__}"  # hashes may differ between versions of DuckDB
    for root in roots(output):
        above = of_source(root, source)
        if not (root.is_symlink() or above.is_symlink()):
            yield above / name


def _is_whole(folder: Path) -> bool:
    try:
        return rows.is_whole(os.listdir(folder))  # noqa: PTH208 -- hundreds of folders for a page
    except OSError:
        return False


def _written(engine: duckdb.DuckDBPyConnection, db: sqlite3.Connection, output: Path, source: str) -> Path:
    """Write a source's files, in a temporary folder if need be.

    Raises:
        FiguresError: they can't be written there either.
    """
    _, stamp = db.execute(f"{_STAMPS} WHERE source = ?", (source,)).fetchone()
    failure: Exception = OSError("links are not followed")
    for place in _places(output, source, stamp):
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with alone(place.parent, _PATIENCE):
                if not _is_whole(place):
                    _write(engine, db, source, place)
        except (OSError, duckdb.Error) as error:
            failure = error
        else:
            return place
    raise FiguresError(f"The figures of {source} can't be stored: {reason(failure)}")


def _write(engine: duckdb.DuckDBPyConnection, db: sqlite3.Connection, source: str, place: Path) -> None:
    scratch = place.with_name(f".{uuid.uuid4().hex}.writing")
    scratch.mkdir()
    try:
        rows.write(engine, db, source, scratch)
        for file in scratch.iterdir():
            _sync(file)
        discard(place)
        scratch.rename(place)
    except BaseException:
        discard(scratch)
        raise
    _tidy(place)


def _tidy(place: Path) -> None:
    """Remove what is obsolete beside a source's files, and what a killed process has left."""
    with suppress(OSError):  # another process may do the same
        for other in place.parent.iterdir():
            if other != place and time.time() - other.stat().st_mtime > _READ:
                discard(other)


def _sync(file: Path) -> None:
    """Have a file's bytes on the disk before it has its name: a power cut may otherwise leave zeros in it."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
