"""``scrapy sources purge``: deletes what a removed source has left: documents, index rows, jobs and logs."""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from os import walk
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError, SourcesError, hint
from crawlers.listing.spider import source_name
from crawlers.operate.sources.places import Places, archive_of, idle
from crawlers.safety.locks import LOCK
from crawlers.store.figures.formatting import number, size
from crawlers.store.index.index import drop, sources_in
from crawlers.store.sources_file import tables, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.operate.sources.command import Call


def purge(call: Call) -> int:
    """Delete what a source and its archive have left, after asking.

    Raises:
        SourcesError: sources.toml has the source, it is being crawled, nothing is left of it, or nobody approves.
    """
    (name,) = call.names
    left = _left(call, name)
    with idle(left):
        for line in _described(left):
            print(line)
        if not (call.opts.yes or approved("There is no terminal to ask on: add --yes to delete this.", "Delete this?")):
            print("Nothing was deleted.")
            return 0
        _delete(left, call.output)
    print(f"Deleted. {_OF_ARCHIVES}" if len(left) > 1 or name.startswith(archive_of("")) else "Deleted.")
    return 0


_OF_ARCHIVES = "The files of its archive stay in the store: scrapy archive prune removes those that no archive needs."


def _left(call: Call, name: str) -> list[Places]:
    """Return the places of the source, and of its archive, where something is left.

    Raises:
        SourcesError: the source is not removed, or nothing is left of it.
    """
    path = call.file.path
    known = tables(text(path), path) if path.exists() else {}
    if name in known:
        raise SourcesError(f"{path} still has [{name}]: scrapy sources remove {name} comes first.")
    for one, table in known.items():
        if name == archive_of(one) and isinstance(table, dict) and table.get("archive"):
            raise SourcesError(f"{path} has archive = true in [{one}], whose archive this is: remove that key first.")
    names = [one for one in (name, archive_of(name)) if one not in known and _is_name(one)]
    places = [Places.named(one, call.output, call.jobs, call.logs) for one in names]
    found = [place for place in places if place.existing]
    if not found:
        there = [one for one in sources_in(call.output) if one not in known]
        which = f" Without a table are: {', '.join(there)}." if there else ""
        raise SourcesError(f"Nothing is left of {name[:100]!r}.{hint(name, there)}{which}")
    return found


def _is_name(text: str) -> bool:
    with suppress(ValueError):
        return bool(source_name(text))
    return False


def _described(left: list[Places]) -> Iterator[str]:
    for place in left:
        for path in place.existing:
            count, volume = _extent(path)
            yield f"{path}: {number(count)} {'file' if count == 1 else 'files'}, {size(volume)}"


def _extent(folder: Path) -> tuple[int, int]:
    """Return how many files are below a folder, and their bytes; links are not followed."""
    count = volume = 0
    for above, _, names in walk(folder):
        for name in set(names) - {LOCK}:
            with suppress(OSError):
                volume += (Path(above) / name).lstat().st_size
                count += 1
    return count, volume


def approved(otherwise: str, question: str) -> bool:
    """Ask on the terminal; return whether the answer is yes.

    Raises:
        SourcesError: there is none; with the sentence for that.
    """
    if not sys.stdin.isatty():
        raise SourcesError(otherwise)
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _delete(left: list[Places], output: Path) -> None:
    """
    Raises:
        SourcesError: not all of it can be deleted.
    """
    try:
        for place in left:
            for path in place.existing:
                _delete_folder(path)
            place.claim.unlink(missing_ok=True)
        drop(output, [place.name for place in left])
    except OSError as error:
        raise SourcesError(f"{error.filename} can't be deleted: {error.strerror}.") from None
    except OutputError as error:
        raise SourcesError(f"The files are deleted, and the index is behind: {error}") from None


def _delete_folder(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    else:
        shutil.rmtree(path)
