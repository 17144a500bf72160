"""Backups: a folder with all that can't be crawled again, taken while crawls run, and its way back.

SHA256SUMS, which `sha256sum --check` reads, too, is written last: a backup without it was not finished.

A source is copied in the order in which a crawl relies on its files: its job, its reports, its lines, its documents,
its versions. So the copy is what a crawl that is killed leaves, and the next crawl continues.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from crawlers.archive.blobs import key
from crawlers.archive.store import open_blobs
from crawlers.exceptions import BackupError, OutputError, SourcesError
from crawlers.operate.harvest.job import Ledger
from crawlers.s3.address import is_address
from crawlers.safety import inside, sqlite
from crawlers.safety.locks import is_crawled
from crawlers.store import lines
from crawlers.store.comparison import Comparison
from crawlers.store.contract import FOLDERS, LINES
from crawlers.store.folder import json_object
from crawlers.store.sources_file import tables, text
from crawlers.store.versions import FILE as VERSIONS
from crawlers.store.versions import Versions

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

SUMS = "SHA256SUMS"
ABOUT = "backup.json"
FORMAT = 1
"""The layout of a backup; one of a later format is refused."""
_SUM = re.compile(r"([0-9a-f]{64})  ([^\n]+)\n")
_SCHEMA = "CREATE TABLE sums (file TEXT PRIMARY KEY, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL) WITHOUT ROWID;"
_SCRATCH = ".copying"
_BLOCK = 1024 * 1024
_PATIENCE = 30.0  # seconds to wait for another writer of a database
_ROUNDS = 20  # times that the lines of a source are read while a crawl writes documents
_PAUSE = 0.5  # seconds between them
_CACHES = (".", "index.sqlite", "__pycache__")
"""What names of caches begin with; those of locks and unfinished files, too."""
_LOGS = ("-wal", "-shm", "-journal")  # of databases
_COMPACTED = 3  # times that lines are copied again because a compaction moved some


@dataclass(frozen=True, slots=True)
class Places:
    """Where a project has what a backup takes.

    Args:
        folders: the folders, by their name in a backup.
        files: the files, by their name in a backup.
        archive: the folder of the archive's files; ``None`` if it is a bucket.
    """

    folders: dict[str, Path]
    files: dict[str, Path]
    archive: Path | None

    @classmethod
    def of(cls, settings: BaseSettings) -> Places:
        """Return the places that settings name; ``catalogues/`` and the other files are beside sources.toml."""
        sources, store = Path(settings["SOURCES_FILE"]), settings["ARCHIVE_STORE"]
        home = sources.parent
        output, jobs = Path(settings["OUTPUT_DIR"]), Path(settings["JOBS_DIR"])
        return cls(
            {"output": output, "jobs": jobs, "catalogues": home / "catalogues", "spiders": home / "spiders"},
            {
                "sources.toml": sources,
                "users.toml": home / "users.toml",
                "audit.jsonl": home / "audit.jsonl",
                "forms.toml": Path(settings["FORMS_FILE"]),
            },
            None if not store or is_address(str(store), "ARCHIVE_STORE") else Path(store),
        )

    def place(self, file: str) -> tuple[Path, str]:
        """Return the folder that a file of a backup belongs in, and its path there.

        Raises:
            BackupError: it is no file of a backup.
        """
        below, _, rest = file.partition("/")
        folders = self.folders | ({"archive": self.archive} if self.archive else {})
        if inside.is_inside(file) and rest and below in folders:
            return folders[below], rest
        if file in self.files:
            return self.files[file].parent, self.files[file].name
        where = "" if below != "archive" else ": restore the files of an archive with -s ARCHIVE_STORE=FOLDER"
        raise BackupError(
            f"The backup has {file[:200]}, for which this project has no folder{where}. Nothing was restored."
        )


class Sums:
    """The SHA-256 and the size of each file of a backup; on disk, for there may be millions."""

    def __init__(self) -> None:
        self.db = sqlite.temporary(_SCHEMA)

    def __setitem__(self, file: str, found: tuple[str, int]) -> None:
        self.db.execute("INSERT OR REPLACE INTO sums VALUES (?, ?, ?)", (file, *found))

    def __delitem__(self, file: str) -> None:
        self.db.execute("DELETE FROM sums WHERE file = ?", (file,))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        yield from self.db.execute("SELECT file, sha256 FROM sums ORDER BY file")

    def get(self, file: str) -> str | None:
        """Return the SHA-256 of a file; ``None`` if the backup does not have it."""
        row = self.db.execute("SELECT sha256 FROM sums WHERE file = ?", (file,)).fetchone()
        return row[0] if row else None

    def has_any(self, below: str) -> bool:
        """Return whether there is a file below a folder."""
        where = (f"{below}/", f"{below}0")  # 0 follows / in ASCII
        return bool(
            self.db.execute("SELECT EXISTS (SELECT 1 FROM sums WHERE file > ? AND file < ?)", where).fetchone()[0]
        )

    def total(self) -> tuple[int, int]:
        """Return how many files there are, and their bytes."""
        return self.db.execute("SELECT count(*), coalesce(sum(bytes), 0) FROM sums").fetchone()  # type: ignore[no-any-return]


@dataclass
class Backup:
    """A backup that is being made.

    Args:
        folder: the backup's; new, or empty.
        places: what is copied.
        tell: called with a sentence for each thing that can't be copied.

    Attributes:
        left_out: how many things could not be copied.

    Raises:
        BackupError: the folder has something already, or lies in what is copied.
    """

    folder: Path
    places: Places
    tell: Callable[[str], None]
    left_out: int = 0
    sums: Sums = field(default_factory=Sums)

    def __post_init__(self) -> None:
        here = self.folder.resolve()
        for place in (*self.places.folders.values(), self.places.archive):
            if place and here.is_relative_to(place.resolve()):
                raise BackupError(f"{self.folder} is in {place}, which is copied: name a folder elsewhere.")
        if (self.folder / SUMS).exists():
            raise BackupError(f"{self.folder} has a backup already: name a new folder for each.")
        if self.folder.is_dir() and any(self.folder.iterdir()):
            raise BackupError(
                f"{self.folder} is not empty: name a new folder, or remove a backup that was not finished."
            )
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # it has hashes of passwords

    # What is copied

    def project(self) -> None:
        """Copy the sources, the declarations, the spiders, the users and what they did."""
        for name, path in self.places.files.items():
            self._copy(path.parent, path.name, name)
        for below in ("catalogues", "spiders"):
            place = self.places.folders[below]
            for file in files(place):
                self._copy(place, file, f"{below}/{file}")

    def elsewhere(self) -> Iterator[str]:
        """Yield the rules files of sources.toml that are in none of the places: they are not copied."""
        path = self.places.files["sources.toml"]
        try:
            known = tables(text(path), path)
        except SourcesError:  # it is copied as it is
            return
        for name, table in known.items():
            arguments = table.get("arguments") if isinstance(table, dict) else None
            for value in arguments.values() if isinstance(arguments, dict) else ():
                file = path.parent / value if isinstance(value, str) and value.endswith(".toml") else None
                if file and file.is_file() and not self._is_copied(file):
                    yield f"[{name}]: {file}"

    def _is_copied(self, file: Path) -> bool:
        places = (self.places.folders[below].resolve() for below in ("catalogues", "spiders"))
        return any(file.resolve().is_relative_to(place) for place in places)

    def sources(self) -> Iterator[tuple[str, int, int]]:
        """Copy each source and its unfinished job; yield its name, its files and their bytes."""
        output, jobs = self.places.folders["output"], self.places.folders["jobs"]
        for file in files(output, is_deep=False):
            self._copy(output, file, f"output/{file}")
        for name in sorted(_folders(output) | _folders(jobs)):
            before = self.sums.total()
            self._job(jobs / name, f"jobs/{name}")
            if (output / name).is_dir():
                self._source(output / name, f"output/{name}")
            now = self.sums.total()
            if now != before:
                yield name, now[0] - before[0], now[1] - before[1]
        for name in sorted(_folders(jobs / ".jobs")):
            self._job(jobs / ".jobs" / name, f"jobs/.jobs/{name}")

    def archive(self, settings: BaseSettings, *, is_copied: bool) -> tuple[int, int]:
        """Copy the archive's files; or only count them.

        Returns:
            How many there are, and their bytes.
        """
        if self.places.archive is not None and not self.places.archive.exists():
            return 0, 0
        blobs, count, volume = open_blobs(settings), 0, 0
        for blob in blobs:
            count, volume = count + 1, volume + blob.bytes
            if is_copied:
                file = f"archive/{key(blob.sha256)}"
                with self._reading(where := f"{blobs.location}/{key(blob.sha256)}"), blobs.open(blob.sha256) as content:
                    if not self._put(content, file, wanted=blob.sha256):
                        self._leave_out(f"{where} is damaged")
        return count, volume

    def finish(self, about: Mapping[str, Any]) -> None:
        """Write the list of hashes: from now on the backup is one."""
        body = json.dumps({"format": FORMAT, **about, "left_out": self.left_out}, indent=2).encode() + b"\n"
        inside.write(self.folder, ABOUT, body)
        self.sums[ABOUT] = hashlib.sha256(body).hexdigest(), len(body)
        os.sync()  # what the list names is on the disk before the list
        with inside.replaced(self.folder, SUMS, _SCRATCH) as new:
            new.writelines(f"{sha256}  {file}\n".encode() for file, sha256 in self.sums)

    # One source

    def _job(self, folder: Path, name: str) -> None:
        if (folder / "ledger.sqlite").exists() and not Ledger(folder).finished():
            for file in files(folder):
                self._copy(folder, file, f"{name}/{file}")

    def _source(self, folder: Path, name: str) -> None:
        rest = [file for file in files(folder, without=FOLDERS) if not _is_of_lines(file) and file != VERSIONS]
        for file in sorted(rest, key=lambda file: file != "running.json"):  # a run is running, or reported, or both
            self._copy(folder, file, f"{name}/{file}")
        differing: list[tuple[str, str]] = []
        for _ in range(_ROUNDS):
            self._copy_lines(folder, name)
            differing = list(self._copy_documents(folder, name))
            self._copy(folder, VERSIONS, f"{name}/{VERSIONS}")
            differing = [one for one in differing if not self._take_former(name, *one)]
            if not differing or not is_crawled(folder):
                break
            time.sleep(_PAUSE)  # the crawl writes the lines of these documents
        for file, _ in differing:
            self._leave_out(f"{folder / file} is missing, or not as the manifest says")

    def _copy_lines(self, folder: Path, name: str) -> None:
        """Copy the lines; again, if a compaction moved some meanwhile."""
        for _ in range(_COMPACTED):
            parts = [part for file in lines.FILES for part in lines.parts(folder, file)]
            for file in (*parts, *LINES):
                self._copy(folder, file, f"{name}/{file}")
            if parts == [part for file in lines.FILES for part in lines.parts(folder, file)]:
                return

    def _copy_documents(self, folder: Path, name: str) -> Iterator[tuple[str, str]]:
        """Copy the documents that the copied lines name; yield those that are others now, with their SHA-256."""
        copy = self.folder / name
        with self._reading(str(folder)), Comparison(copy) as comparison:
            for other in list(comparison.unreferenced()):  # it has another name since the round before
                inside.remove(copy, other.file)
                del self.sums[f"{name}/{other.file}"]
            for file, sha256 in comparison.expected():
                if self.sums.get(f"{name}/{file}") == sha256:
                    continue
                try:
                    with inside.opened(folder, file) as content:
                        is_same = self._put(content, f"{name}/{file}", wanted=sha256)
                except OSError:
                    is_same = False
                if not is_same:
                    yield file, sha256

    def _take_former(self, name: str, file: str, sha256: str) -> bool:
        """Copy a document that was replaced since its line was copied: its former bytes are kept."""
        try:
            with Versions.reading(self.folder / name) as versions:
                body = versions.body(sha256)
        except OutputError:
            return False
        return body is not None and self._put(io.BytesIO(body), f"{name}/{file}", wanted=sha256)

    # One file

    def _copy(self, folder: Path, file: str, name: str) -> None:
        """Copy a file as it is at one moment: a database by SQLite, lines up to the last whole one."""
        with self._reading(str(folder / file)):
            if file.endswith(".sqlite"):
                self._copy_database(folder, file, name)
                return
            with inside.opened(folder, file) as content:
                end = os.fstat(content.fileno()).st_size
                if name.endswith(".jsonl"):
                    end = lines.line_start(content, end)
                    content.seek(0)
                    self._put(content, name, end=end)
                else:
                    self._put(content, name)

    def _copy_database(self, folder: Path, file: str, name: str) -> None:
        inside.status(folder, file)  # it is no link
        scratch = self.folder / _SCRATCH
        scratch.unlink(missing_ok=True)
        with (
            closing(sqlite.connect_existing(folder / file, "mode=rw", patience=_PATIENCE)) as source,
            closing(sqlite3.connect(scratch, isolation_level=None)) as copy,
        ):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # it is one file
        scratch.chmod((folder / file).stat().st_mode & 0o777)
        with scratch.open("rb") as content:
            sha256 = hashlib.file_digest(content, "sha256").hexdigest()
            size = content.tell()
        inside.move(self.folder, name, scratch)
        self.sums[name] = sha256, size

    def _put(self, content: BinaryIO, name: str, *, end: int | None = None, wanted: str | None = None) -> bool:
        found = copied(content, self.folder, name, end=end, wanted=wanted)
        if found:
            self.sums[name] = found
        return found is not None

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Leave out what can't be read, and say so; what is not there is not missing."""
        try:
            yield
        except FileNotFoundError:
            return
        except OSError as error:
            self._leave_out(f"{what} can't be read ({error.strerror or error})")
        except sqlite3.Error as error:
            if sqlite.code(error) == sqlite3.SQLITE_FULL:
                raise BackupError(_unwritten(self.folder, str(error))) from None
            self._leave_out(f"{what} can't be read ({error})")

    def _leave_out(self, what: str) -> None:
        self.left_out += 1
        self.tell(f"{what}: it is not in the backup.")


def copied(
    content: BinaryIO, folder: Path, file: str, *, end: int | None = None, wanted: str | None = None
) -> tuple[str, int] | None:
    """Copy a file, so that a reader sees all of it or nothing; return its SHA-256 and its bytes.

    Args:
        content: what is read.
        file: where it goes, relative to the folder; folders above it are made where there are none.
        end: bytes that are copied; by default all.
        wanted: the SHA-256 that it must have; of another one nothing is kept, and ``None`` is returned.

    Raises:
        OSError: it can't be read.
        BackupError: it can't be written.
    """
    digest, size, scratch = hashlib.sha256(), 0, folder / _SCRATCH
    with _writing(folder):
        scratch.unlink(missing_ok=True)
        new = scratch.open("xb", buffering=0)
    with new:
        while block := content.read(_BLOCK if end is None else min(_BLOCK, end - size)):
            digest.update(block)
            size += len(block)
            with _writing(folder):
                rest = memoryview(block)
                while rest:
                    rest = rest[new.write(rest) :]
        with suppress(OSError, AttributeError):  # it is in memory, or in a bucket
            os.fchmod(new.fileno(), os.fstat(content.fileno()).st_mode & 0o777)
    if wanted and digest.hexdigest() != wanted:
        scratch.unlink()
        return None
    with _writing(folder):
        inside.move(folder, file, scratch)
    return digest.hexdigest(), size


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BackupError(_unwritten(folder, error.strerror or str(error))) from None


def _unwritten(folder: Path, why: str) -> str:
    return f"{folder} can't be written ({why}): nothing there is finished. Make room, or name another folder."


def files(folder: Path, without: Iterable[str] = (), *, is_deep: bool = True) -> Iterator[str]:
    """Yield the files below a folder, by their path there, and links; no caches, locks and unfinished files.

    Args:
        without: folders directly in it that are passed over.
        is_deep: whether those in the folders below it are yielded.
    """
    for above, below, names in os.walk(folder):
        skipped = set(without) if Path(above) == folder else set()
        below[:] = sorted(name for name in below if is_deep and not _is_cache(name) and name not in skipped)
        links = [name for name in below if (Path(above) / name).is_symlink()]
        for name in sorted(names + links):
            if not _is_cache(name) and not name.endswith(_LOGS):
                yield str((Path(above) / name).relative_to(folder))


def _is_cache(name: str) -> bool:
    return name.startswith(_CACHES)


def _is_of_lines(file: str) -> bool:
    return file in LINES or any(file.endswith(".zst") and lines.file_of(file) == one for one in lines.FILES)


def _folders(above: Path) -> set[str]:
    try:
        return {path.name for path in above.iterdir() if path.is_dir() and not _is_cache(path.name)}
    except FileNotFoundError:
        return set()


# The way back


def read(folder: Path) -> tuple[dict[str, Any], Sums]:
    """Return what a backup says of itself, and its hashes, all of which were compared.

    Raises:
        BackupError: it was not finished, was changed or damaged, or is of a later version.
    """
    sums, wrong = Sums(), []
    try:
        with inside.opened(folder, SUMS) as content:
            for number, (_, line) in enumerate(lines.split(content), 1):
                found = _SUM.fullmatch((line or b"").decode(errors="replace"))
                if not found:
                    raise BackupError(f"{folder / SUMS}: line {number} is damaged. Take another backup.")
                sums[found[2]] = found[1], 0
    except FileNotFoundError:
        raise BackupError(f"{folder} has no {SUMS}: it is no backup, or one that was not finished.") from None
    except OSError as error:
        raise BackupError(f"{folder / SUMS} can't be read ({error.strerror}).") from None
    for file, sha256 in sums:
        if _sha256(folder, file) != sha256:
            wrong.append(file)
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise BackupError(
            f"{folder / wrong[0]} is missing or damaged{more}. Nothing was restored: take another backup."
        )
    about = json_object(folder, ABOUT, _BLOCK)
    if about.get("format") != FORMAT:
        raise BackupError(f"{folder} is of another version of this program, which can restore it.")
    del sums[ABOUT]
    return about, sums


def check_places(sums: Sums, places: Places) -> None:
    """Check that nothing is where the files belong, but what an earlier call has restored.

    Raises:
        BackupError: there is something else.
    """
    fills = {"output": places.folders["output"], "jobs": places.folders["jobs"], "archive": places.archive}
    for file, sha256 in sums:
        where, name = places.place(file)
        if os.path.lexists(where / name) and _sha256(where, name) != sha256:
            raise BackupError(
                f"{where / name} exists, and is another file than in the backup. Nothing was restored: move it away."
            )
    for below, folder in fills.items():
        for file in files(folder) if folder else ():
            if sums.has_any(below) and sums.get(f"{below}/{file}") is None:
                raise BackupError(f"{folder} is not empty: it has {file}. Nothing was restored: name an empty folder.")


def restore(folder: Path, places: Places) -> tuple[dict[str, Any], int, int]:
    """Copy a backup's files to where they belong, after all were compared.

    Returns:
        What the backup says of itself, how many files it has, and the bytes that were copied now.

    After a kill, the same call continues.

    Raises:
        BackupError: the backup can't be used, a place is not empty, or can't be written.
    """
    about, sums = read(folder)
    check_places(sums, places)
    count = volume = 0
    for file, sha256 in sums:
        where, name = places.place(file)
        if not os.path.lexists(where / name):
            with _writing(where):
                where.mkdir(parents=True, exist_ok=True)
                if file.startswith("jobs/"):
                    (where / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                with inside.opened(folder, file) as content:
                    found = copied(content, where, name, wanted=sha256)
            except OSError as error:
                raise BackupError(f"{folder / file} can't be read ({error.strerror}).") from None
            if found is None:
                raise BackupError(f"{folder / file} has changed since it was compared.")
            volume += found[1]
        count += 1
    os.sync()
    return about, count, volume


def rebind(about: Mapping[str, Any], places: Places) -> None:
    """Let the jobs know where OUTPUT_DIR is now: they are resumed there only."""
    jobs, output = places.folders["jobs"], str(places.folders["output"].resolve())
    for path in (*jobs.glob("*/ledger.sqlite"), *jobs.glob(".jobs/*/ledger.sqlite")):
        Ledger(path.parent).move(str(about.get("output")), output)


def _sha256(folder: Path, file: str) -> str | None:
    try:
        with inside.opened(folder, file) as content:
            return hashlib.file_digest(cast("Any", content), "sha256").hexdigest()
    except OSError:
        return None
