"""What figures need of each dataset, in Parquet files per source that DuckDB reads: a cache of the index's rows.

`opened` is for those who read; it writes what is missing, as `update` does for those who write the index. A source's
files are in OUTPUT_DIR/.figures/<source>/<stamp>, or in a temporary folder where that can't be written: the index gives
a source another stamp whenever its rows change. They are written beside their place and renamed into it, so a reader
sees all of them or none.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
import time
import uuid
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from crawlers.exceptions import FiguresError
from crawlers.safety.locks import alone
from crawlers.safety.names import safe
from crawlers.store import timeseries
from crawlers.store.index.database import output_of
from crawlers.store.index.schema import DAY, FIELDS, NAMED, PAGE

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterator, Sequence


FOLDER = ".figures"


def roots(output: Path) -> list[Path]:
    """Return the folders that the files of sources are below, the first one to be written into first.

    Raises:
        FiguresError: there is no place for temporary files.
    """
    return [output.resolve() / FOLDER, _temporary()]


def _temporary() -> Path:
    """Return a folder that is removed when this process ends."""
    try:
        return _made(os.getpid())
    except OSError as error:
        raise FiguresError(f"Figures need a folder for temporary files: {error.strerror}.") from None


@lru_cache(maxsize=1)
def _made(process: int) -> Path:
    made = Path(tempfile.mkdtemp(prefix="figures-")).resolve()
    atexit.register(lambda: _discard(made) if os.getpid() == process else None)  # a fork leaves it to its parent
    return made


def _discard(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def forget(output: Path, sources: Collection[str]) -> None:
    """Remove the files of sources that are gone."""
    if not (output / FOLDER).is_symlink():
        for source in sources:
            _discard(output / FOLDER / safe(source))


def forget_all(output: Path) -> None:
    """Remove the files of all sources."""
    _discard(output / FOLDER)


MEMORY = "256MB"
"""What DuckDB's data may take; what needs more goes to a temporary folder."""
THREADS = 1
"""A second one gains little time and costs half as much again of the processor, which crawls need."""

_SETTINGS: dict[str, Any] = {
    "memory_limit": MEMORY,
    "threads": THREADS,
    "preserve_insertion_order": False,  # else a file is held in memory until its first rows are written
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
}


@contextmanager
def connected(folders: Sequence[Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory.

    Args:
        folders: the only ones whose files it may read and write.

    Raises:
        FiguresError: there is no place for temporary files.
    """
    db = duckdb.connect(config=_SETTINGS | {"temp_directory": str(_temporary() / "spilled")})
    try:
        db.execute("SET allowed_directories = ?", [[str(folder) for folder in folders]])
        db.execute("SET enable_external_access = false")
        db.execute("SET lock_configuration = true")
        yield db
    finally:
        db.close()


def _reason(error: Exception) -> str:
    """Return what went wrong, without the query."""
    return next(iter(str(error).splitlines()), type(error).__name__)


BITS = {name: place for place, name in enumerate((*FIELDS, "contact_email"))}
"""The place of each field in ``has``: whether a dataset has it."""
KEYS = {"uri": "uri", "identifier": "identifier", "page": PAGE, "named": NAMED}
"""What two datasets have in common that are the same one; of each, its hash is kept."""

_BATCH = 5_000  # datasets that are moved at a time
_FILE = 120_000  # datasets in a file: DuckDB's row group, and all that it holds in memory
_HAS = " | ".join(
    f"(({'resources > 0' if name == 'resources' else f'{name} IS NOT NULL'}) << {place})"
    for name, place in BITS.items()
)
_DATASET = {
    "id": "id",
    "license": "license",
    "day": f"substr({DAY}, 1, 10)",
    "frequency": "frequency",
    "resources": "resources",
    "has": _HAS,
    **KEYS,
}
"""SQLite's expression of each column."""
_NUMBERS = ("id", "resources", "has")
_IDS = "SELECT id FROM datasets INDEXED BY datasets_withdrawn WHERE source = ? AND withdrawn = 0 ORDER BY id"
_SOME = f"""
SELECT {", ".join(f"json_group_array({name})" for name in _DATASET)} FROM (
    SELECT {", ".join(f"{expression} AS {name}" for name, expression in _DATASET.items())}
    FROM datasets WHERE id IN (SELECT value FROM json_each(?))
)
"""  # noqa: S608  # the expressions above


def _list(name: str) -> str:
    return f"unnest(from_json(${name}, '[\"{'BIGINT' if name in _NUMBERS else 'VARCHAR'}\"]')) AS {name}"


_NEW = f"""
CREATE OR REPLACE TEMP TABLE new_datasets (
    source VARCHAR, id BIGINT, license VARCHAR, day VARCHAR, frequency VARCHAR, resources BIGINT, has INTEGER,
    {", ".join(f"{name} UBIGINT" for name in KEYS)}
)
"""
_ADD = f"""
INSERT INTO new_datasets SELECT $source, id, license, day, frequency, resources, has,
    {", ".join(f"CASE WHEN {name} IS NOT NULL THEN hash({name}) END" for name in KEYS)}
FROM (SELECT {", ".join(map(_list, _DATASET))})
"""  # noqa: S608
_STORE = "COPY new_datasets TO $file (FORMAT parquet)"
_STORE_FORMATS = f"""
COPY (
    SELECT $source AS source, unnest(from_json($format, '["VARCHAR"]')) AS format, {_list("resources")}
) TO $file (FORMAT parquet)
"""


def _copy(engine: duckdb.DuckDBPyConnection, db: sqlite3.Connection, source: str, folder: Path) -> None:
    """Write what figures need of a source's datasets, without those that are withdrawn, into an empty folder.

    The files are ``datasets-0.parquet`` ..., and ``formats-N.parquet``, where N is how many those are. SQLite gives the
    values of a few thousand datasets as JSON, a list for each column, and DuckDB takes them as parameters: no value of
    a portal is ever part of a query, and no row passes through Python.
    """
    count = 0
    engine.execute(_NEW)
    for number, columns in enumerate(_datasets(db, source), start=1):
        engine.execute(_ADD, {"source": source, **columns})
        if number % (_FILE // _BATCH) == 0:
            engine.execute(_STORE, {"file": str(folder / f"datasets-{count}.parquet")})
            engine.execute("TRUNCATE new_datasets")
            count += 1
    engine.execute(_STORE, {"file": str(folder / f"datasets-{count}.parquet")})
    engine.execute("DROP TABLE new_datasets")
    formats = timeseries.formats(db, source)
    words = {"format": json.dumps(list(formats)), "resources": json.dumps(list(formats.values()))}
    engine.execute(_STORE_FORMATS, {"source": source, "file": str(folder / f"formats-{count + 1}.parquet"), **words})


def _datasets(db: sqlite3.Connection, source: str) -> Iterator[dict[str, str]]:
    """Yield the columns of some datasets as JSON, by name."""
    ids = db.execute(_IDS, (source,))
    while some := ids.fetchmany(_BATCH):
        row = db.execute(_SOME, (json.dumps([one for (one,) in some]),)).fetchone()
        yield dict(zip(_DATASET, row, strict=True))


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
    with _snapshot(db):
        if not all(_found(db, output, sources).values()):
            with connected(roots(output)) as engine:
                _folders(engine, db, output, sources)


@contextmanager
def _snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """See the index as it is at one moment, unless the caller does so already: its rows belong to its stamps."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


def _folders(
    engine: duckdb.DuckDBPyConnection, db: sqlite3.Connection, output: Path, sources: Collection[str] | None
) -> dict[str, Path]:
    """Return the folder with the files of each source, by its name; those that are missing are written.

    Args:
        engine: DuckDB, which may write into the `roots` of OUTPUT_DIR.
        db: the index, in a `_snapshot`.

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
        above = root / safe(source)
        if not (root.is_symlink() or above.is_symlink()):
            yield above / name


def _is_whole(folder: Path) -> bool:
    """Return whether a folder has all its files."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 -- hundreds of folders for a page
    except OSError:
        return False
    return f"formats-{sum(name.startswith('datasets-') for name in names)}.parquet" in names and len(names) > 1


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
    raise FiguresError(f"The figures of {source} can't be stored: {_reason(failure)}")


def _write(engine: duckdb.DuckDBPyConnection, db: sqlite3.Connection, source: str, place: Path) -> None:
    scratch = place.with_name(f".{uuid.uuid4().hex}.writing")
    scratch.mkdir()
    try:
        _copy(engine, db, source, scratch)
        for file in scratch.iterdir():
            _sync(file)
        _discard(place)
        scratch.rename(place)
    except BaseException:
        _discard(scratch)
        raise
    _tidy(place)


def _tidy(place: Path) -> None:
    """Remove what is obsolete beside a source's files, and what a killed process has left."""
    with suppress(OSError):  # another process may do the same
        for other in place.parent.iterdir():
            if other != place and time.time() - other.stat().st_mtime > _READ:
                _discard(other)


def _sync(file: Path) -> None:
    """Have a file's bytes on the disk before it has its name: a power cut may otherwise leave zeros in it."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


Answer = TypeVar("Answer")

_COLUMNS = {
    "datasets": ("source", "id", "license", "day", "frequency", "resources", "has", *KEYS),
    "formats": ("source", "format", "resources"),
}
_FILES = "read_parquet(getvariable('{table}'), hive_partitioning = false)"
_VIEW = "CREATE TEMP VIEW {table} AS SELECT {columns} FROM {files}"
_NOTHING = "CREATE TEMP VIEW {table} AS SELECT {columns} WHERE false"
_IS_READABLE = "SELECT {columns} FROM read_parquet($files, hive_partitioning = false)"


class Columns:
    """The tables of some sources, all of one moment.

    - ``datasets``: ``source``, ``id`` (of the row in the index), ``license``, ``day`` (when it was last modified, or
      issued), ``frequency``, ``resources`` (their number), ``has`` (a bit for each of
      `BITS`), and the
      hashes of what is the same of duplicates, `KEYS`.
    - ``formats``: ``source``, ``format``, ``resources`` (how many have it).

    Datasets that are withdrawn are not among them.

    Args:
        engine: DuckDB.
        db: the index, in a transaction.
        sources: their names; all if there are none.

    Raises:
        FiguresError: they can't be stored.
    """

    def __init__(
        self, engine: duckdb.DuckDBPyConnection, db: sqlite3.Connection, sources: Collection[str] | None
    ) -> None:
        self.engine = engine
        self.db = db
        self.sources = sources
        self.output = output_of(db)
        self.folders: dict[str, Path] = {}
        self._answered(self._open)

    def rows(self, query: str, **values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query; files that turn out to be damaged are written again.

        Args:
            values: of its parameters, by name.

        Raises:
            FiguresError: it can't be answered.
        """
        return self._answered(lambda: self.engine.execute(query, values).fetchall())

    def _answered(self, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except duckdb.Error as error:
            if not self._discard_damaged():
                raise FiguresError(f"A figure can't be computed: {_reason(error)}") from None
        try:
            self._open()
            return ask()
        except duckdb.Error as error:
            raise FiguresError(f"A figure can't be computed: {_reason(error)}") from None

    def _open(self) -> None:
        self.folders = _folders(self.engine, self.db, self.output, self.sources)
        for table, columns in _COLUMNS.items():
            files = [str(file) for folder in self.folders.values() for file in _files(folder, table)]
            self.engine.execute(f"SET VARIABLE {table} = ?", [files])
            nothing = ", ".join(f"NULL AS {name}" for name in columns)
            view = _VIEW.format(table=table, columns=", ".join(columns), files=_FILES.format(table=table))
            self.engine.execute(f"DROP VIEW IF EXISTS {table}")
            self.engine.execute(view if files else _NOTHING.format(table=table, columns=nothing))

    def _discard_damaged(self) -> bool:
        """Remove the files that can't be read; return whether there are any."""
        damaged = [folder for folder in self.folders.values() if not self._is_readable(folder)]
        for folder in damaged:
            _discard(folder)
        return bool(damaged)

    def _is_readable(self, folder: Path) -> bool:
        try:
            for table, columns in _COLUMNS.items():
                query = _IS_READABLE.format(columns=", ".join(f"max({name})" for name in columns))
                self.engine.execute(query, {"files": [str(file) for file in _files(folder, table)]}).fetchall()
        except (duckdb.Error, OSError):
            return False
        return True


def _files(folder: Path, table: str) -> list[Path]:
    return sorted(folder.glob(f"{table}-*.parquet"))


@contextmanager
def opened(db: sqlite3.Connection, sources: Collection[str] | None = None) -> Iterator[Columns]:
    """Open the tables of some sources, or of all, as the index has them now.

    Args:
        db: the index, from `crawlers.store.index.database.connect`.
        sources: their names.

    Raises:
        FiguresError: they can't be stored.
    """
    with _snapshot(db), connected(roots(output_of(db))) as engine:
        yield Columns(engine, db, sources)
