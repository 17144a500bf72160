"""What the index lacks of a source; looking takes no lock, and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.index import reports
from crawlers.safety import inside

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

_TAIL = 256  # bytes by which a manifest is known
_SOURCE = "SELECT manifest_bytes, manifest_tail, described FROM sources WHERE source = ?"


def is_behind(db: sqlite3.Connection, folder: Path) -> bool:
    """Whether lines of the manifest, descriptions or run reports are not in the index, or reports in it are gone."""
    row = db.execute(_SOURCE, (folder.name,)).fetchone()
    if not row or not row[2] or read_to(db, folder) != size(folder):
        return True
    runs = folder / "runs"
    return bool(reports.gone(db, folder.name, runs) or reports.wanting(db, folder.name, runs, _silent))


def _silent(_: str) -> None:
    """Whoever brings the index up to date tells of what can't be read."""


def read_to(db: sqlite3.Connection, folder: Path) -> int | None:
    """How much of the manifest is in the index; `None` when what is there is not of this manifest."""
    covered, before, _ = db.execute(_SOURCE, (folder.name,)).fetchone() or (-1, b"", 0)
    return covered if 0 <= covered <= size(folder) and before == tail(folder, covered) else None


def size(folder: Path) -> int:
    """Bytes of the manifest."""
    try:
        return inside.size(folder, "manifest.jsonl")
    except FileNotFoundError:
        return 0


def tail(folder: Path, end: int) -> bytes:
    """What stands before an offset of the manifest: another manifest has something else there."""
    if not end:
        return b""
    with inside.opened(folder, "manifest.jsonl") as file:
        file.seek(max(0, end - _TAIL))
        return file.read(min(end, _TAIL))
