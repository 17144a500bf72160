"""The datasets of sources as tables of DuckDB, for figures to query."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from crawlers.exceptions import FiguresError
from crawlers.store.columns import cache
from crawlers.store.columns.engine import connected, reason
from crawlers.store.columns.places import discard, roots
from crawlers.store.columns.rows import KEYS
from crawlers.store.index.reader import output_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

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
      `crawlers.store.columns.rows.BITS`),
      and the hashes of what is the same of duplicates, `crawlers.store.columns.rows.KEYS`.
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
                raise FiguresError(f"A figure can't be computed: {reason(error)}") from None
        try:
            self._open()
            return ask()
        except duckdb.Error as error:
            raise FiguresError(f"A figure can't be computed: {reason(error)}") from None

    def _open(self) -> None:
        self.folders = cache.folders(self.engine, self.db, self.output, self.sources)
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
            discard(folder)
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
        db: the index, from `crawlers.store.index.reader.connect`.
        sources: their names.

    Raises:
        FiguresError: they can't be stored.
    """
    with cache.snapshot(db), connected(roots(output_of(db))) as engine:
        yield Columns(engine, db, sources)
