"""The file .batch: which documents a crawl is writing, so that the next one compares those that a kill left behind."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from typing import TYPE_CHECKING

import orjson

from crawlers.safety import inside

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path
    from typing import BinaryIO

    from crawlers.store.index.documents import Documents, Key, Known

    Mark = tuple[str, str, str, str]
    """A document's key, and its file."""

FILE = ".batch"
_LARGEST = 64 * 1024 * 1024  # bytes
_ENOUGH = 64 * 1024  # bytes; marks of closed batches stay so long, for removing one takes as long as setting it


class OpenBatch:
    """Marks the documents of a batch on disk from before their files are written until their lines are.

    A crawl that is killed in between leaves a file that is not what the manifest's last line says. If it has the same
    size, and the portal gives the former record again, it would be taken for that record. Or it leaves a file that no
    line names: that of a new or a renamed dataset, which goes as soon as nothing would be lost.

    Args:
        folder: the source's.
        documents: what is known of its documents; from now on they are not intact if they are in `differing`.

    Attributes:
        differing: the files that are not what their last line says, or that none names, and their documents; they
            stay marked until these are written again.

    Raises:
        OSError: the file can't be read or written.
    """

    def __init__(self, folder: Path, documents: Documents) -> None:
        self.folder = folder
        self.open = self.size = 0
        self.differing = documents.differing = {}
        marked = _marked(folder)
        known = documents.some([*marked])
        for key, files in marked.items():
            self._compare(key, known.get(key), files)
        self.file: BinaryIO | None = None
        self._leave_only_differing()

    def _compare(self, key: Key, known: Known | None, files: set[str]) -> None:
        """Note which files of a document differ; one that no line names goes if that of its last line is there."""
        is_whole = known is None
        if known:
            sha256 = _sha256(self.folder, known.file)
            is_whole = sha256 == known.sha256
            if sha256 is not None and not is_whole:  # one that is missing is written again anyway
                self.differing[known.file] = key
        for file in files - {known.file if known else ""}:
            if is_whole:
                inside.remove(self.folder, file)
            elif _sha256(self.folder, file) is not None:
                self.differing[file] = key

    def begin(self, marks: Collection[Mark]) -> None:
        """Mark the documents of a batch: these files may be written.

        Raises:
            OSError: the file can't be written.
        """
        body = orjson.dumps(marks) + b"\n"
        self.file = self.file or inside.appended(self.folder, FILE)
        if self.file.write(body) != len(body):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.open += 1
        self.size += len(body)

    def end(self, files: Iterable[str]) -> None:
        """Note that the lines of these files are written, and that no other line of their batch will be.

        Raises:
            OSError: the file can't be written.
        """
        written = {key for file in files if (key := self.differing.pop(file, None))}
        for file in [file for file, key in self.differing.items() if key in written]:
            inside.remove(self.folder, file)
            del self.differing[file]
        self.open -= 1
        if self.size > _ENOUGH:
            self._leave_only_differing()

    def close(self) -> None:
        """Close the file, and remove it if nothing differs.

        Raises:
            OSError: the file can't be written.
        """
        self._leave_only_differing()
        if self.file:
            self.file.close()

    def _leave_only_differing(self) -> None:
        if self.open:
            return
        if self.differing:
            inside.write(
                self.folder, FILE, orjson.dumps([(*key, file) for file, key in self.differing.items()]) + b"\n"
            )
        else:
            inside.remove(self.folder, FILE)
        if self.file:
            self.file.close()
        self.file, self.size = None, 0


def _marked(folder: Path) -> dict[Key, set[str]]:
    """Return the documents that are marked, and their files; a line that is torn marks files that were not written."""
    marked: dict[Key, set[str]] = {}
    try:
        lines = inside.read(folder, FILE, _LARGEST).splitlines()
    except FileNotFoundError:
        return marked
    from crawlers.store.bucket.contract import is_document  # noqa: PLC0415 -- few crawls find a mark

    for line in lines:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for kind, dataset, resource, *files in filter(_is_mark, found if isinstance(found, list) else ()):
            marked.setdefault((kind, dataset, resource), set()).update(filter(is_document, files))
    return marked


def _is_mark(found: object) -> bool:
    """Return whether it is a document's key, with a file; earlier versions wrote none."""
    return isinstance(found, list) and len(found) in (3, 4) and all(isinstance(part, str) for part in found)


def _sha256(folder: Path, file: str) -> str | None:
    """Return the hash of a file, empty if it can't be read; ``None`` if it is missing."""
    try:
        return hashlib.sha256(inside.read(folder, file)).hexdigest()
    except FileNotFoundError:
        return None
    except OSError:
        return ""
