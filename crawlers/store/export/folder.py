"""A source's folder as it was at a moment: its documents under their names of then, and the lines up to then."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from crawlers.exceptions import ExportError
from crawlers.safety import inside
from crawlers.safety.locks import alone
from crawlers.safety.redact import one_line
from crawlers.store import lines
from crawlers.store.figures.formatting import counted
from crawlers.store.history import Bodies, at
from crawlers.store.index import reports

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NAMED = 5  # documents
_SCRATCH = ".writing"


class Written(NamedTuple):
    """What was written.

    Args:
        documents: how many.
        lacking: the names of those whose bytes are not kept.
    """

    documents: int
    lacking: list[str]


def write(folder: Path, until: str, into: Path, *, is_partial: bool = False) -> Written:
    """Write a source's folder as it was; it appears once it is whole.

    Args:
        folder: the source's.
        until: the moment, in UTC, as lines have it, to the millisecond.
        into: the new folder; it may exist if it is empty.
        is_partial: whether it is written without the documents whose bytes are not kept.

    Raises:
        ExportError: nothing was there then, bytes are not kept, or it can't be written.
        OutputError: the source can't be read.
    """
    with _appearing(into) as new, Bodies(folder) as bodies, inside.Writer(new) as writer:
        count, lacking = 0, []
        for version in at(folder, until):
            body = bodies.body(version)
            if body is None:
                lacking.append(version.known.file)
            elif is_partial or not lacking:
                writer.write(version.known.file, body)
                count += 1
        if not count and not lacking:
            raise ExportError(f"{folder.name} had no documents at {until}.")
        if lacking and not is_partial:
            raise ExportError(_not_kept(folder.name, until, lacking))
        for file in lines.FILES:
            _write_lines(folder, file, until, new)
        _write_reports(folder, until, writer)
    return Written(count, lacking)


def _not_kept(source: str, until: str, lacking: list[str]) -> str:
    which = ", ".join(one_line(file) for file in lacking[:_NAMED])
    more = f" and {len(lacking) - _NAMED:,} more" if len(lacking) > _NAMED else ""
    what = counted(len(lacking), "document")
    return f"{source}, {what} of {until}: bytes not kept: {which}{more}. --partial writes the others."


def _write_lines(folder: Path, file: str, until: str, new: Path) -> None:
    """Write the lines that a file had; a damaged one is as old as those before it."""
    if not lines.size(folder, file):
        return
    with inside.replaced(new, file, _SCRATCH) as copy:
        was_there = True
        for line in _lines(folder, file):
            time = (lines.entry(line) or {}).get("time")
            was_there = time <= until if isinstance(time, str) else was_there
            if was_there:
                copy.write(line)


def _lines(folder: Path, file: str) -> Iterator[bytes]:
    """
    Raises:
        ExportError: they can't be read.
    """
    try:
        for _, line in lines.read(folder, file):
            if line:
                yield line
    except OSError as error:
        raise ExportError(f"{folder / (error.filename or file)} can't be read: {error.strerror}.") from None


def _write_reports(folder: Path, until: str, writer: inside.Writer) -> None:
    """Write the reports of the runs that were over: the items need their operator's arguments."""
    for name in reports.names(folder):
        try:
            body = inside.read(folder, f"runs/{name}.json")
            is_over = json.loads(body)["finished"] <= until
        except (*reports.UNREADABLE, KeyError, TypeError):
            continue
        if is_over:
            writer.write(f"runs/{name}.json", body)


@contextmanager
def _appearing(into: Path) -> Iterator[Path]:
    """Make a folder that has its name once it is whole; before, and after a kill, it is ``.<name>.exporting``.

    Another export into the folder waits meanwhile: then there is something.

    Raises:
        ExportError: there is something, or it can't be written.
    """
    into = into.absolute()
    try:
        into.parent.mkdir(parents=True, exist_ok=True)
        with alone(into):
            if into.is_symlink() or (into.exists() and (not into.is_dir() or any(into.iterdir()))):
                raise ExportError(f"{into} is not an empty folder: name another with -o FOLDER.")
            new = into.with_name(f".{into.name}.exporting")
            if new.exists():
                shutil.rmtree(new)  # of a killed export
            new.mkdir()
            try:
                yield new
                new.rename(into)
            finally:
                shutil.rmtree(new, ignore_errors=True)
    except OSError as error:
        raise ExportError(f"{error.filename or into} can't be written: {error.strerror or error}.") from None
