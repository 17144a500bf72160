"""A source's documents against its manifest: those that a killed crawl was writing, and all of them."""

from __future__ import annotations

import errno
import hashlib
import json
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Self

import orjson

from crawlers.safety import inside, sqlite
from crawlers.safety.redact import has_login
from crawlers.store.contract import FOLDERS, is_document
from crawlers.store.index import manifest
from crawlers.store.lines import JSONLines

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from crawlers.store.index.documents import Documents
    from crawlers.store.index.known import Key, Known

    Mark = tuple[str, str, str, str]
    """A document's key, and its file."""

OPEN_BATCH = ".batch"
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
        self.file: JSONLines | None = None
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
        self.file = self.file or JSONLines(self.folder / OPEN_BATCH)
        self.file.extend([body])
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
                self.folder, OPEN_BATCH, orjson.dumps([(*key, file) for file, key in self.differing.items()]) + b"\n"
            )
        else:
            inside.remove(self.folder, OPEN_BATCH)
        if self.file:
            self.file.close()
        self.file, self.size = None, 0


def _marked(folder: Path) -> dict[Key, set[str]]:
    """Return the documents that are marked, and their files; a line that is torn marks files that were not written."""
    marked: dict[Key, set[str]] = {}
    try:
        lines = inside.read(folder, OPEN_BATCH, _LARGEST).splitlines()
    except FileNotFoundError:
        return marked
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


# The whole folder

_SCHEMA = """
CREATE TABLE last (
    kind TEXT, dataset_id TEXT, resource_id TEXT, file TEXT, sha256 TEXT, bytes INTEGER,
    PRIMARY KEY (kind, dataset_id, resource_id)
) WITHOUT ROWID;
"""
_LAST = "INSERT OR REPLACE INTO last VALUES (?, ?, ?, ?, ?, ?)"
_SOME = 1000  # lines


class Difference(NamedTuple):
    """What is not as the manifest says.

    Args:
        word: ``missing``, ``damaged``, ``unreadable``, or ``unreferenced``: no line names it.
        file: relative to the source's folder.
        reason: why it is unreadable.
    """

    word: str
    file: str
    reason: str = ""


class Comparison:
    """Compares a source's documents with the last lines of its manifest; nothing is changed.

    The lines go into a temporary database on disk: a source may have millions.

    Args:
        folder: the source's.

    Attributes:
        documents: how many the manifest has.
        bytes: of those that were read.
        logins: how many of them have ``user:password@`` in an address, which earlier versions kept.

    Raises:
        OSError: the manifest can't be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bytes = self.logins = self.damaged_lines = 0
        self.db = sqlite.temporary(_SCHEMA)
        try:
            self._read_lines()
        except BaseException:
            self.db.close()
            raise
        self.documents, self.size = self.db.execute("SELECT count(*), coalesce(sum(bytes), 0) FROM last").fetchone()
        self.db.execute("CREATE INDEX files ON last (file)")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.db.close()

    def _read_lines(self) -> None:
        rows = []
        for _, line in manifest.entries(self.folder, 0):
            if line is None:
                self.damaged_lines += 1
                continue
            key, known, _ = line
            if key[0] != "file":  # those of an archive are in its store
                rows.append((*key, known.file, known.sha256, known.bytes))
            if len(rows) == _SOME:
                self.db.executemany(_LAST, rows)
                rows.clear()
        self.db.executemany(_LAST, rows)

    def differences(self) -> Iterator[Difference | None]:
        """Yield what differs, and ``None`` after each document that was read.

        Raises:
            OSError: a folder can't be read.
        """
        if self.damaged_lines:
            yield Difference("unreadable", manifest.FILE, f"damaged lines: {self.damaged_lines}")
        for file, sha256, size in self.db.execute("SELECT file, sha256, bytes FROM last ORDER BY file"):
            if found := self._compared(file, sha256, size):
                yield found
            yield None
        yield from self.unreferenced()

    def _compared(self, file: str, sha256: str, size: int) -> Difference | None:
        try:
            body = inside.read(self.folder, file, min(size, inside.LARGEST))
        except FileNotFoundError:
            return Difference("missing", file)
        except OSError as error:
            if error.errno == errno.EFBIG and size <= inside.LARGEST:
                return Difference("damaged", file)
            return Difference("unreadable", file, error.strerror or str(error))
        self.bytes += len(body)
        self.logins += has_login(body)
        return Difference("damaged", file) if hashlib.sha256(body).hexdigest() != sha256 else None

    def expected(self) -> Iterator[tuple[str, str]]:
        """Yield the documents that the manifest has, and their SHA-256."""
        yield from self.db.execute("SELECT DISTINCT file, sha256 FROM last ORDER BY file")

    def unreferenced(self) -> Iterator[Difference]:
        """Yield the files that no line names.

        Raises:
            OSError: a folder can't be read.
        """
        for below in FOLDERS:
            with suppress(FileNotFoundError):
                for name, _ in inside.statuses(self.folder, below):
                    file = f"{below}/{name}"
                    if not self.db.execute("SELECT 1 FROM last WHERE file = ?", (file,)).fetchone():
                        yield Difference("unreferenced", file)
