"""The files of a source's folder that come from packs and objects: written, kept, removed, restored."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from crawlers.safety import inside
from crawlers.store.bucket.contract import files as files_in
from crawlers.store.bucket.log import Part
from crawlers.store.bucket.state import Files, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from crawlers.store.bucket.packs import Row
    from crawlers.store.bucket.shelf import Shelf
    from crawlers.store.bucket.state import State

SCRATCH = ".pulling"
"""What a file is called until it is whole."""


class Documents:
    """The documents of a source, its reports and its time series.

    Args:
        folder: the source's.
        state: of the folder.
        shelf: its objects.
    """

    def __init__(self, folder: Path, state: State, shelf: Shelf) -> None:
        self.folder = folder
        self.state = state
        self.shelf = shelf
        self.files = Files(state)

    def unpack(self, pack: Part) -> int:
        """Write the files of a pack, and remember them; return how many were written.

        Raises:
            StoreError: the pack is damaged or missing.
            OSError: the folder can't be written.
        """
        count = 0
        with self.state.changing(), inside.Writer(self.folder, SCRATCH) as writer:
            for row in self.shelf.rows(pack):
                if self._stays(row.file, row.sha256):
                    self._note(row.file, stored(row, pack.name, _changed(self.folder, row.file)))
                else:
                    self._write(writer, row, pack.name)
                    count += 1
            self.files.add_pack(pack)
        return count

    def note(self, pack: Part) -> None:
        """Remember the files of a pack that this mirror has put: the folder has them, or newer ones, which stay.

        Raises:
            StoreError: as `unpack`.
        """
        with self.state.changing():
            for row in self.shelf.rows(pack):
                self._note(row.file, stored(row, pack.name, 0))
            self.files.add_pack(pack)

    def note_file(self, file: str, part: Part) -> None:
        """Remember a file that this mirror has put as an object of its own, as `note` does."""
        with self.state.changing():
            self._note(file, stored_alone(part, 0))

    def _note(self, file: str, new: Stored) -> None:
        """Remember where a file is; whether the folder still has that content is only known if it was known before."""
        known = self.files.get(file)
        is_same = known is not None and known.sha256 == new.sha256
        self.files.put_all([(file, new._replace(changed=known.changed) if known and is_same else new)])

    def fetch(self, file: str, part: Part, *, is_restored: bool = False) -> bool:
        """Write a file that has an object of its own; return ``False`` if it stays as it is.

        Args:
            is_restored: whether it is written in any case.
        """
        if is_kept := not is_restored and self._stays(file, part.sha256):
            self._note(file, stored_alone(part, _changed(self.folder, file)))
        else:
            inside.write(self.folder, file, self.shelf.file(part), SCRATCH)
            self.files.put_all([(file, stored_alone(part, _changed(self.folder, file)))])
        return not is_kept

    def _stays(self, file: str, sha256: str) -> bool:
        """Return whether a file stays as it is, where a commit names its content: it is the same, or newer.

        It is newer if the commit only repeats what was stored before. What others have stored replaces a file, also one
        that was never stored: then the folder has diverged.
        """
        known = self.files.get(file)
        is_same = known is not None and known.sha256 == sha256
        if known is not None and self.is_there(file, known):
            return is_same
        try:
            found = hashlib.sha256(inside.read(self.folder, file)).hexdigest()
        except FileNotFoundError:
            return False
        if found != sha256 and not is_same:
            self.state.diverge()
        return is_same or found == sha256

    def remove(self, files: Iterable[str]) -> None:
        """Remove files.

        Raises:
            OSError: one can't be removed.
        """
        with self.state.changing():
            for file in files:
                inside.remove(self.folder, file)
                self.files.remove(file)

    def forget(self, files: Iterable[str]) -> None:
        """Remember that files are not stored any more; those that the folder has stay."""
        with self.state.changing():
            for file in files:
                self.files.remove(file)

    def is_there(self, file: str, known: Stored) -> bool:
        """Return whether a file is as it was written here."""
        try:
            found = inside.status(self.folder, file)
        except OSError:
            return False
        return (found.st_size, found.st_mtime_ns) == (known.size, known.changed)

    def restore(self) -> None:
        """Remove the files that were never stored, and write the others as they are in the store.

        Raises:
            StoreError: the store can't be read.
        """
        for file, _ in list(files_in(self.folder)):
            if self.files.get(file) is None:
                inside.remove(self.folder, file)
        self.bring({file: known for file, known in self.files.each() if not self.is_there(file, known)})

    def lost(self) -> dict[str, Stored]:
        """Return the stored files that are not in the folder."""
        return {file: known for file, known in self.files.each() if not _changed(self.folder, file)}

    def bring(self, wanted: dict[str, Stored]) -> None:
        """Write stored files as they are in the store.

        Raises:
            StoreError: the store can't be read.
        """
        objects = {known.object for known in wanted.values()}
        for pack in (pack for pack, _ in self.files.packs() if pack.name in objects):
            with self.state.changing(), inside.Writer(self.folder, SCRATCH) as writer:
                for row in self.shelf.rows(pack):
                    if row.file in wanted and wanted[row.file].object == pack.name:
                        self._write(writer, row, pack.name)
        for file, known in wanted.items():
            if known.object.startswith("files/"):
                self.fetch(file, Part(known.object, known.size, known.sha256), is_restored=True)

    def _write(self, writer: inside.Writer, row: Row, pack: str) -> None:
        writer.write(row.file, row.content)
        self.files.put_all([(row.file, stored(row, pack, _changed(self.folder, row.file)))])


def stored(row: Row, pack: str, changed: int) -> Stored:
    """Return where a file is that is in a pack.

    Args:
        changed: when the file was written here, in nanoseconds.
    """
    return Stored(pack, row.sha256, len(row.content), changed, row.kind, row.dataset_id, row.resource_id)


def stored_alone(part: Part, changed: int) -> Stored:
    """Return where a file is that has an object of its own.

    Args:
        changed: as for `stored`.
    """
    return Stored(part.name, part.sha256, part.bytes, changed)


def _changed(folder: Path, file: str) -> int:
    """Return when a file was written; 0 if there is none."""
    try:
        return inside.status(folder, file).st_mtime_ns
    except OSError:
        return 0
