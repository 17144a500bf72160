"""The index brought up to date with what is on disk, for those who read it."""

from __future__ import annotations

import logging
from contextlib import closing
from typing import TYPE_CHECKING

from crawlers.damaged_database import identity
from crawlers.exceptions import IndexUnreadableError, OutputError
from crawlers.index import reports
from crawlers.index.behind import is_behind
from crawlers.index.database import NAME, forget, opened, transaction, usable
from crawlers.index.index import Index
from crawlers.index.reader import connect, readable
from crawlers.locks import is_crawled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

logger = logging.getLogger(__name__)


PATIENCE = 10.0  # seconds that a reader waits for another who writes
_SOURCES = "SELECT source FROM sources"


def catch_up(output: Path, lost: Callable[[str], None] = logger.warning, named: Collection[str] | None = None) -> None:
    """Brings index.sqlite up to date with every source in OUTPUT_DIR that nobody is crawling: their crawls do it.

    When nothing is behind it writes nothing. Where there is no source it makes no index.

    Args:
        lost: told, in a sentence, of each document that can't be read, while the others follow; and of an index that
            is behind, and can be read but not written.
        named: the sources that are asked about; all where there are none, or one that is not there.

    Raises:
        OutputError: there is no index that can be read, and none can be made.
    """
    sources = sources_in(output)
    asked = named if named and set(named) <= set(sources) else sources
    if not sources and not (output / NAME).exists():
        return
    try:
        with usable(output):
            before = identity(output / NAME)
            _bring_up(output, sources, asked, lost)
            if before and before != identity(output / NAME):  # it was damaged: the new one lacks the other sources
                _bring_up(output, sources, sources, lost)
    except OutputError as error:
        if not _is_readable(output):
            raise
        lost(f"{error} It is behind: what it says is old.")


def _bring_up(output: Path, sources: list[str], asked: Collection[str], lost: Callable[[str], None]) -> None:
    late, gone = _late(output, [source for source in asked if not is_crawled(output / source)], sources)
    for source in late:
        index = Index(output, source, PATIENCE, tell=lost)
        try:
            index.describe(lost)
        finally:
            index.close()
    if gone:
        with closing(opened(output, PATIENCE)) as db, transaction(db):
            for source in gone:
                forget(db, source)


def _late(output: Path, idle: list[str], sources: list[str]) -> tuple[list[str], list[str]]:
    """The sources that the index is behind, and those in it that have no folder any more."""
    try:
        with readable(output), closing(connect(output)) as db:
            gone = [source for (source,) in db.execute(_SOURCES) if source not in sources]
            return [source for source in idle if is_behind(db, output / source)], gone
    except IndexUnreadableError:
        return idle, []


def _is_readable(output: Path) -> bool:
    try:
        connect(output).close()
    except IndexUnreadableError:
        return False
    return True


def sources_in(output: Path) -> list[str]:
    """The sources that have a folder in OUTPUT_DIR, by name: one that never could start has run reports only."""
    written = {path.parent.name for path in output.glob("*/manifest.jsonl")}
    rest = (path for path in output.glob("*/runs") if path.parent.name not in written)
    return sorted(written.union(path.parent.name for path in rest if reports.names(path)))
