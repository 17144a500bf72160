"""Bring the index up to date with what is on disk, for those who read it."""

from __future__ import annotations

import logging
import os
from contextlib import closing
from typing import TYPE_CHECKING

from crawlers.exceptions import DamagedSourceError, IndexUnreadableError, OutputError
from crawlers.safety.damaged_database import identity
from crawlers.safety.locks import is_crawled
from crawlers.safety.names import is_source
from crawlers.store.index import captures, flaws, manifest, observations, reports
from crawlers.store.index.database import NAME, Database, transaction, usable
from crawlers.store.index.index import Index
from crawlers.store.index.reader import connect, readable
from crawlers.store.index.removal import forget

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection
    from pathlib import Path

logger = logging.getLogger(__name__)


PATIENCE = 10.0  # seconds that a reader waits for another writer
_SOURCES = "SELECT source FROM sources"
_DESCRIBED = "SELECT described FROM sources WHERE source = ?"


def catch_up(
    output: Path, lost: Callable[[str], None] = logger.warning, named: Collection[str] | None = None
) -> list[str]:
    """Bring index.sqlite up to date with every source in OUTPUT_DIR; those that are being crawled do so themselves.

    Nothing is written if every source is up to date. Without a source, no index is made. A source whose files can't be
    read stays as the index has it.

    Args:
        output: OUTPUT_DIR.
        lost: called with a sentence for each document that cannot be read (the others follow), for each source that
            cannot, and for an index that is behind, and can be read but not written.
        named: the sources to bring up to date; all, if there are none or one of them does not exist.

    Returns:
        the sources that can't be read.

    Raises:
        OutputError: there is no index that can be read, and none can be made.
    """
    sources = sources_in(output)
    asked = named if named and set(named) <= set(sources) else sources
    damaged: dict[str, str] = {}
    if not sources and not (output / NAME).exists():
        return []
    try:
        with usable(output):
            before = identity(output / NAME)
            damaged |= _bring_up(output, sources, asked, lost)
            if before and before != identity(output / NAME):  # it was damaged: the new one lacks the other sources
                damaged |= _bring_up(output, sources, sources, lost)
    except OutputError as error:
        if not _is_readable(output):
            raise
        lost(f"{error} It is behind: what follows may be old.")
    for sentence in damaged.values():
        lost(sentence)
    return list(damaged)


def rebuild(output: Path, source: str, lost: Callable[[str], None]) -> int:
    """Read all that a source has on disk into the index, also what only its run reports know; return its datasets.

    Args:
        lost: called with a sentence for each document that cannot be read; the others follow.

    Raises:
        OutputError: the index cannot be used.
    """
    index = Index(output, source)
    try:
        with usable(output):
            index.runs.read_reports()
            index.describe(lost)
            return sum(1 for _ in index.documents.held())
    finally:
        index.close()


def drop(output: Path, sources: Collection[str]) -> None:
    """Delete the rows of sources that have no folder any more, and what figures have of them.

    Raises:
        OutputError: the index cannot be used.
    """
    _forget_columns(output, sources)
    if not (output / NAME).exists():
        return
    with usable(output), closing(Database(output, patience=PATIENCE).db) as db:
        for source in sources:
            forget(db, source)


def _forget_columns(output: Path, sources: Collection[str]) -> None:
    from crawlers.store.columns import places  # noqa: PLC0415 -- sources are seldom removed

    places.forget(output, sources)


def moved(output: Path, source: str) -> None:
    """Note that lines of a source's manifest are in another file now; the index, if there is one, has read them all.

    Raises:
        OutputError: the index cannot be used.
    """
    if (output / NAME).exists():
        with usable(output), closing(Database(output, patience=PATIENCE).db) as db, transaction(db):
            manifest.moved(db, output / source)
            flaws.moved(db, output / source)


def _bring_up(output: Path, sources: list[str], asked: Collection[str], lost: Callable[[str], None]) -> dict[str, str]:
    """Return why sources can't be read, by their names; the others are brought up to date."""
    late, gone = _late(output, [source for source in asked if not is_crawled(output / source)], sources)
    damaged = {}
    for source in late:
        try:
            index = Index(output, source, PATIENCE, tell=lost)
        except DamagedSourceError as error:
            damaged[source] = str(error)
            continue
        try:
            index.describe(lost)
        except DamagedSourceError as error:
            damaged[source] = str(error)
        finally:
            index.close()
    damaged |= _replaced(output, gone)
    gone = [source for source in gone if source not in damaged]
    if gone:
        with closing(Database(output, patience=PATIENCE).db) as db:
            for source in gone:
                forget(db, source)
        _forget_columns(output, gone)
    return damaged


def _late(output: Path, idle: list[str], sources: list[str]) -> tuple[list[str], list[str]]:
    """Return the sources that the index is behind of, and those without a folder."""
    try:
        with readable(output), closing(connect(output)) as db:
            gone = [source for (source,) in db.execute(_SOURCES) if source not in sources]
            late = [source for source in idle if _may_be_behind(db, output / source)]
            return late, gone
    except IndexUnreadableError:
        return idle, []


def _may_be_behind(db: sqlite3.Connection, folder: Path) -> bool:
    try:
        return is_behind(db, folder)
    except OSError:
        return True


def is_behind(db: sqlite3.Connection, folder: Path) -> bool:
    """Return whether the index lacks something of a source, or has a report that is gone; takes no lock."""
    described = db.execute(_DESCRIBED, (folder.name,)).fetchone()
    if not described or not described[0] or manifest.read_to(db, folder) != manifest.size(folder):
        return True
    if captures.read_to(db, folder) != captures.size(folder) or observations.is_behind(db, folder):
        return True
    if flaws.read_to(db, folder) != flaws.size(folder):
        return True
    return reports.is_behind(db, folder)


def replaced(output: Path) -> dict[str, str]:
    """Return why sources that the index knows can't be read, by their names: something else is where their folder was.

    `sources_in` does not know of them. The index is opened only if there may be such: SQLite makes files for it.
    """
    if not _replaced(output, [path.name for path in output.glob("[!.]*") if is_source(path.name)]):
        return {}
    try:
        with readable(output), closing(connect(output)) as db:
            return _replaced(output, [source for (source,) in db.execute(_SOURCES)])
    except IndexUnreadableError:
        return {}


def _replaced(output: Path, sources: Collection[str]) -> dict[str, str]:
    return {
        source: f"{source}: {output / source} is not a folder: restore it from a backup, or remove it."
        for source in sources
        if os.path.lexists(output / source) and not (output / source).is_dir()
    }


def _is_readable(output: Path) -> bool:
    try:
        connect(output).close()
    except IndexUnreadableError:
        return False
    return True


def sources_in(output: Path) -> list[str]:
    """Return the sources that have a folder in OUTPUT_DIR, by name; one that never started has run reports only."""
    written = {path.parent.name for name in (manifest.FILE, captures.FILE) for path in output.glob(f"[!.]*/{name}")}
    rest = (path for path in output.glob("[!.]*/runs") if path.parent.name not in written)
    return sorted(written.union(path.parent.name for path in rest if reports.names(path.parent)))
