"""Brings a source's folder up to the last commit of its log; after a kill the same is done again."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from crawlers.exceptions import StoreError
from crawlers.safety.locks import LOCK
from crawlers.store.bucket.contract import FOLDERS
from crawlers.store.bucket.documents import Documents
from crawlers.store.bucket.growth import Lines
from crawlers.store.bucket.log import Log, MissingError
from crawlers.store.bucket.shelf import Shelf
from crawlers.store.bucket.tails import Tails

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from crawlers.store.bucket.log import Commit, Logged, Part
    from crawlers.store.bucket.objects import Objects
    from crawlers.store.bucket.state import State

_TRIES = 5  # of a listing whose objects are removed while they are read


class Replay:
    """A source's folder on its way to the last commit.

    Args:
        source: its name.
        folder: its folder, which nobody else changes meanwhile.
        state: of the folder.
        writer: the mirror, as its commits name it.
        tell: called with a number of files that were written.

    Attributes:
        is_rebuilt: whether something of the folder that was never stored is lost: others have stored something in its
            place, or somebody has removed files.
    """

    def __init__(
        self,
        objects: Objects,
        source: str,
        folder: Path,
        state: State,
        *,
        writer: str,
        tell: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.source = source
        self.folder = folder
        self.state = state
        self.writer = writer
        self.tell = tell
        self.log = Log(objects, source)
        self.shelf = Shelf(objects, source)
        self.documents = Documents(folder, state, self.shelf)
        self.lines = Lines(folder, state, self.shelf)
        self.tails = Tails(folder, state, self.shelf)
        self.is_rebuilt = False

    def catch_up(self) -> bool:
        """Bring the folder up to the last commit; return whether there was one that it did not have.

        What the folder has beyond that stays, unless others have stored something in its place.

        Raises:
            StoreError: the store can't be read, a commit or an object is damaged or missing, or the folder can't be
                written.
        """
        if self.state.head and not self.is_whole():
            self.state.forget()
            self.is_rebuilt = True
        for left in reversed(range(_TRIES)):
            try:
                with written(self.folder):
                    return self._catch_up()
            except MissingError:
                if not left:
                    raise
        raise AssertionError  # the last try returns or raises

    def bring_lost(self) -> None:
        """Write the stored files that somebody has removed from the folder.

        Raises:
            StoreError: as `catch_up`.
        """
        with written(self.folder):
            self.documents.bring(self.documents.lost())

    def is_whole(self) -> bool:
        """Return whether the folder is there, if anything is stored, and has all lines that are."""
        return self.lines.is_whole() and (self.folder.exists() or not self._has_any())

    def _has_any(self) -> bool:
        return next(self.documents.files.each(), None) is not None or bool(self.lines.growing.names())

    def _catch_up(self) -> bool:
        head = self.state.head
        there, whole = self.log.numbers(head)
        first = max(head + 1, whole)
        numbers = [number for number in there if number >= first]
        if numbers != list(range(first, first + len(numbers))) or (there and not numbers):
            raise StoreError(f"{self.log.objects.address}: the log of [{self.source}] has a gap behind commit {head}.")
        for number in numbers:
            self.apply(self.log.read(number))
        if self.state.fact("is_diverged"):
            self.reset()
        return bool(numbers)

    def apply(self, logged: Logged) -> None:
        """Bring the folder to a commit.

        Raises:
            StoreError: the commit does not follow on the last one, or an object of it is damaged or missing.
        """
        commit = logged.commit
        follows = commit.number == self.state.head + 1
        if follows or commit.kind != "whole":
            self._check(commit)
        if follows and logged.sha256 == self.state.fact("putting"):  # not a commit of its copy
            self._note(commit)
        else:
            self._write(commit)
        if commit.kind == "whole":
            with self.state.changing():
                self.documents.files.keep(_objects(commit))
            self.state.note(whole=commit.number)
        self.state.advance(logged)

    def _check(self, commit: Commit) -> None:
        follows = commit.previous == self.state.fact("sha256", "") and commit.number == self.state.head + 1
        if not follows or commit.fence < self.state.fact("fence", 0):
            raise StoreError(
                f"{self.log.objects.address}: commit {commit.number} of [{self.source}] does not follow on the others."
            )

    def _note(self, commit: Commit) -> None:
        """Remember a commit that this mirror has put, and was killed: the folder has what it says, or newer files."""
        if commit.kind == "taken":
            self.state.note(owned=commit.fence)
        for pack in self._new(commit):
            self.documents.note(pack)
        for file, part in commit.files.items():
            self.documents.note_file(file, part)
        for file, growth in commit.lines.items():
            self.lines.note_own(file, growth)
        self.documents.forget(commit.removed)
        if commit.kind == "whole":
            self.documents.forget(self.documents.files.outside(_objects(commit)))
            self.lines.forget(set(self.lines.growing.names()).difference(commit.lines))

    def _write(self, commit: Commit) -> None:
        """Write what a commit says."""
        if commit.packs or commit.files or commit.lines:
            self.folder.mkdir(parents=True, exist_ok=True)
        for pack in self._new(commit):
            self.tell(self.documents.unpack(pack))
        for file, part in commit.files.items():
            self.tell(int(self.documents.fetch(file, part)))
        for file, growth in commit.lines.items():
            self.lines.grow(file, growth)
        self.documents.remove(commit.removed)
        if commit.kind == "whole":
            self.documents.remove(self.documents.files.outside(_objects(commit)))
            self.lines.leave_only(commit.lines)
        if commit.is_empty:
            self.state.diverge()

    def _new(self, commit: Commit) -> list[Part]:
        """Return the packs that are not known yet."""
        return [pack for pack in commit.packs if not self.documents.files.has_pack(pack.name)]

    def reset(self) -> None:
        """Undo what was never stored.

        Raises:
            StoreError: the store can't be read.
            OSError: the folder can't be written.
        """
        self.lines.restore()
        self.documents.restore()
        if not self._has_any():
            _remove_empty(self.folder)
        self.state.note(is_diverged=False)
        self.is_rebuilt = True


@contextmanager
def written(folder: Path) -> Iterator[None]:
    """Let an error of the disk be a sentence about the folder that is written within.

    Raises:
        StoreError: that sentence.
    """
    try:
        yield
    except OSError as error:
        file = error.filename2 or error.filename
        place = f"{file}: " if file else ""
        raise StoreError(f"{folder} can't be brought up to date ({place}{error.strerror or error}).") from None
    except sqlite3.Error as error:
        raise StoreError(f"{folder} can't be brought up to date ({error}).") from None


def _objects(commit: Commit) -> set[str]:
    """Return the objects that a commit's files are in."""
    return {part.name for part in (*commit.packs, *commit.files.values())}


def _remove_empty(folder: Path) -> None:
    """Remove a folder without files; crawls keep out of it, for they lock the mirror first."""
    (folder / LOCK).unlink(missing_ok=True)
    for path in (*(folder / name for name in (*FOLDERS, "runs", "timeseries")), folder):
        with suppress(OSError):
            path.rmdir()
