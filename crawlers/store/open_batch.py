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

    from crawlers.store.index.documents import Documents, Key

FILE = ".batch"
_LARGEST = 64 * 1024 * 1024  # bytes
_ENOUGH = 64 * 1024  # bytes; marks of closed batches stay so long, for removing one takes as long as setting it


class OpenBatch:
    """Marks the documents of a batch on disk from before their files are written until their lines are.

    A crawl that is killed in between leaves a file that is not what the manifest's last line says. If it has the same
    size, and the portal gives the former record again, it would be taken for that record.

    Args:
        folder: the source's.
        documents: what is known of its documents; from now on they are not intact if they are in `differing`.

    Attributes:
        differing: the files that are not what their last line says, and their documents; they stay marked until they
            are written again.

    Raises:
        OSError: the file can't be read or written.
    """

    def __init__(self, folder: Path, documents: Documents) -> None:
        self.folder = folder
        self.open = self.size = 0
        self.differing = documents.differing = {
            known.file: key
            for key, known in documents.some(_marked(folder)).items()
            if _differs(folder, known.file, known.sha256)
        }
        self.file: BinaryIO | None = None
        self._leave_only_differing()

    def begin(self, keys: Collection[Key]) -> None:
        """Mark the documents of a batch: their files may be written.

        Raises:
            OSError: the file can't be written.
        """
        body = orjson.dumps(keys) + b"\n"
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
        for file in files:
            self.differing.pop(file, None)
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
            inside.write(self.folder, FILE, orjson.dumps([*self.differing.values()]) + b"\n")
        else:
            inside.remove(self.folder, FILE)
        if self.file:
            self.file.close()
        self.file, self.size = None, 0


def _marked(folder: Path) -> set[Key]:
    """Return the documents that are marked; a line that is torn marks files that were not written."""
    keys: set[Key] = set()
    try:
        lines = inside.read(folder, FILE, _LARGEST).splitlines()
    except FileNotFoundError:
        return keys
    for line in lines:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, list):
            keys.update((kind, dataset, resource) for kind, dataset, resource in filter(_is_key, found))
    return keys


def _is_key(found: object) -> bool:
    return isinstance(found, list) and len(found) == 3 and all(isinstance(part, str) for part in found)


def _differs(folder: Path, file: str, sha256: str) -> bool:
    """Return whether a file is there and is not what its line says; one that is missing is written again anyway."""
    try:
        return hashlib.sha256(inside.read(folder, file)).hexdigest() != sha256
    except FileNotFoundError:
        return False
    except OSError:
        return True
