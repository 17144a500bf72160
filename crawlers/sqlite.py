"""Databases that several crawls open at once."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One process at a time lays out the databases of a folder.

    SQLite waits for nobody when two connections turn a new file into WAL mode: one of them gets "database is locked" at
    once, whatever its timeout (https://www.sqlite.org/rescode.html#busy).
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
