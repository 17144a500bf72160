"""DuckDB within bounds: its memory, its threads, the folders that it may open, and no extension from elsewhere."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import duckdb

from crawlers.store.columns.places import temporary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

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
    db = duckdb.connect(config=_SETTINGS | {"temp_directory": str(temporary() / "spilled")})
    try:
        db.execute("SET allowed_directories = ?", [[str(folder) for folder in folders]])
        db.execute("SET enable_external_access = false")
        db.execute("SET lock_configuration = true")
        yield db
    finally:
        db.close()


def reason(error: Exception) -> str:
    """Return what went wrong, without the query."""
    return next(iter(str(error).splitlines()), type(error).__name__)
