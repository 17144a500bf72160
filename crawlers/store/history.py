"""What the manifest says of a source's former times: each document's versions, and the folder as it was."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self

from crawlers.exceptions import OutputError
from crawlers.safety import inside, sqlite
from crawlers.store import lines
from crawlers.store.index import manifest
from crawlers.store.index.documents import UNREADABLE, item_of
from crawlers.store.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from crawlers.items import Dataset
    from crawlers.store.index.known import Key, Known

KINDS = ("dataset", "dataset_metadata", "resource_metadata", "site", "extension")
"""Kinds of documents that have versions; the files of an archive are in its store."""
EXPORTS = ("dataset_metadata", "resource_metadata")
"""Those that are asked for besides a dataset's record."""
_TIME = (b'"time":"', b'"time": "')
"""As lines have it, also one with half a character, which Python's own writer wrote."""
_LONGEST_TIME = 30
_SOME = 1000  # lines
_NAMED = 5  # datasets
_LOOKED_AT = 50  # datasets of a name


@dataclass(frozen=True, slots=True)
class Version:
    """A line of the manifest: what became of a document in a run.

    Args:
        key: the document's: kind, dataset id, resource id or "".
        known: what the line says of it.
        time: when the line was written, in UTC.
        name: the dataset's.
        title: the dataset's.
        reason: why it was withdrawn.
        renamed_to: the id that it has now.
    """

    key: Key
    known: Known
    time: str
    name: str | None = None
    title: str | None = None
    reason: str | None = None
    renamed_to: str | None = None

    @property
    def status(self) -> str:
        return self.known.status

    @property
    def run(self) -> str:
        return self.known.run


def _version(line: bytes | None) -> Version | None:
    entry = lines.entry(line)
    found = manifest.line_of(entry)
    if entry is None or found is None or found[0][0] not in KINDS:
        return None
    key, known, time = found
    more = (entry.get(name) for name in ("dataset_name", "dataset_title", "reason", "renamed_to"))
    return Version(key, known, time, *(text if lines.is_text(text) else None for text in more))


def _read(folder: Path, is_wanted: Callable[[bytes], bool]) -> Iterator[tuple[Version, bytes]]:
    """Yield the lines that are wanted, in the order of writing; a line is parsed only then.

    Raises:
        OutputError: the manifest can't be read.
    """
    return _parsed(folder, (line for _, line in lines.read(folder, manifest.FILE) if line and is_wanted(line)))


def _parsed(folder: Path, found: Iterable[bytes]) -> Iterator[tuple[Version, bytes]]:
    with _readable(folder):
        for line in found:
            if version := _version(line):
                yield version, line


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise OutputError(f"{folder} has no manifest: nothing was crawled into it.") from None
    except OSError as error:
        raise OutputError(f"{folder / (error.filename or manifest.FILE)} can't be read ({error.strerror}).") from None


def _with(folder: Path, *beginnings: bytes) -> Iterator[Version]:
    return (version for version, _ in _parsed(folder, lines.containing(folder, manifest.FILE, beginnings)))


def of_dataset(folder: Path, given: str) -> list[Version]:
    """Return the versions of a dataset's documents, the oldest first: its own, and those of its exports.

    Args:
        folder: the source's.
        given: the dataset's id or name, or what one of them begins with, if only one dataset's does. One that has it
            now comes before those that are withdrawn, or had it once.

    Raises:
        OutputError: there is none, or there are several; or the manifest can't be read.
    """
    begun = (each for name in ("dataset_id", "dataset_name") for each in _beginnings(name, given, -1))
    found = [*_with(folder, *begun)]
    ids = [*dict.fromkeys(version.key[1] for version in found)]
    named = [*dict.fromkeys(version.key[1] for version in found if version.name == given)]
    chosen = [given] if given in ids else named or ids
    if len(chosen) > 1:
        is_meant = given.__eq__ if named else lambda text: text.startswith(given)
        chosen = _of_now(folder, [version for version in found if version.key[1] in {*chosen}], is_meant) or chosen
    if not given or not chosen:
        raise OutputError(f"{folder.name} has no dataset {given!r:.100}: `scrapy search` finds one by its words.")
    if len(chosen) > 1:
        which = ", ".join(chosen[:_NAMED]) + (f" and {len(chosen) - _NAMED} more" if len(chosen) > _NAMED else "")
        raise OutputError(f"{given!r:.100} is not one dataset of {folder.name} but {len(chosen)}: {which}.")
    return of_id(folder, chosen[0])


def _of_now(folder: Path, found: Iterable[Version], is_meant: Callable[[str], bool]) -> list[str]:
    """Return the ids of the datasets that are not withdrawn, and whose id or name is meant now.

    Args:
        found: the versions that were meant.
    """
    last = _last(found)
    if 0 < len(last) <= _LOOKED_AT:  # others have their id or name in too many places to look for
        last = _last(_with(folder, *(each for dataset_id in last for each in _beginnings("dataset_id", dataset_id))))
    there = [one for one in last.values() if is_meant(one.key[1]) or is_meant(one.name or "")]
    return [one.key[1] for one in there]


def _last(versions: Iterable[Version]) -> dict[str, Version]:
    """Return the last version of each dataset's record that is not withdrawn."""
    last = {version.key[1]: version for version in versions if version.key[0] not in EXPORTS}
    return {dataset_id: version for dataset_id, version in last.items() if version.status != "withdrawn"}


def of_id(folder: Path, dataset_id: str) -> list[Version]:
    """Return the versions of a dataset's documents as `of_dataset` does, by its whole id; none if there is none.

    Raises:
        OutputError: the manifest can't be read.
    """
    wanted = _with(folder, *_beginnings("dataset_id", dataset_id))
    return _with_origins(version for version in wanted if version.key[1] == dataset_id)


def _with_origins(versions: Iterable[Version]) -> list[Version]:
    """Return versions with the origins of withdrawn ones, whose lines have only where they were missing."""
    found: list[Version] = []
    last: dict[Key, Known] = {}
    for version in versions:
        known = version.known
        if known.status == "withdrawn" and (before := last.get(version.key)):
            known = known._replace(metadata_source=before.metadata_source, metadata_url=before.metadata_url)
        last[version.key] = known
        found.append(replace(version, known=known))
    return found


def last_at(versions: Sequence[Version], until: str) -> Version | None:
    """Return the last of a document's versions that was written by a moment; ``None`` if there was none then.

    Args:
        versions: in the order of writing.
        until: in UTC, as lines have it.
    """
    return next((version for version in reversed(versions) if version.time <= until), None)


def other_before(versions: Sequence[Version], version: Version) -> Version | None:
    """Return the last of a document's versions before one that has other bytes than that; ``None`` if none has."""
    earlier = versions[: versions.index(version)]
    return next((one for one in reversed(earlier) if one.known.sha256 != version.known.sha256), None)


def between(folder: Path, since: str = "", until: str = "9") -> Iterator[Version]:
    """Yield the versions that were written between two moments, in the order of writing.

    Args:
        folder: the source's.
        since, until: in UTC, as lines have them (`crawlers.records.moment.written`, to the millisecond); both count.

    Raises:
        OutputError: the manifest can't be read.
    """
    first, last = since.encode(), until.encode()
    wanted = _read(folder, lambda line: first <= _time(line) <= last)
    return (version for version, _ in wanted if since <= version.time <= until)


def _time(line: bytes) -> bytes:
    found = next((text for text in _TIME if text in line), b"")
    begin = line.find(found) + len(found)
    return line[begin : begin + _LONGEST_TIME].partition(b'"')[0]


def _beginnings(name: str, text: str, end: int | None = None) -> Iterator[bytes]:
    """Yield what a line that has a text under a name has, in both of the forms of `crawlers.safety.strict_json.line`.

    Args:
        end: -1 if the text is only the beginning of what a line has.
    """
    yield f'"{name}":{json.dumps(text, ensure_ascii=False)[:end]}'.encode("utf-8", "replace")
    yield f'"{name}": {json.dumps(text)[:end]}'.encode()


class Place(NamedTuple):
    """A place in the manifest: behind a line, which tells it from other manifests, and is found again if it is moved.

    Args:
        end: bytes of all lines up to there.
        long: bytes of the line.
        sha256: the line's.
    """

    end: int = 0
    long: int = 0
    sha256: str = ""


def after(folder: Path, place: Place, since: str = "") -> Iterator[tuple[Place, Version | None]]:
    """Yield what was appended behind a place in the order of writing, and the place behind each line.

    Lines are whole; ``None`` stands for one that is no version, or that was written before a moment.

    Args:
        folder: the source's.
        place: of the last line that was read; the whole manifest is read if it has another line there.
        since: in UTC, as lines have it; it counts if the whole manifest is read.

    Raises:
        OutputError: the manifest can't be read.
    """
    with _readable(folder):
        known = place.end > 0 and _is_at(folder, place)
        end, first = (place.end, b"") if known else (0, since.encode())
        for long, line in lines.read(folder, manifest.FILE, end):
            if line is not None and not line.endswith(b"\n"):
                return  # it is being written
            end += long
            found = _version(line) if line and _time(line) >= first else None
            yield Place(end, long, hashlib.sha256(line or b"").hexdigest()), found


def _is_at(folder: Path, place: Place) -> bool:
    found = next(lines.read(folder, manifest.FILE, place.end - place.long), None)
    return found is not None and hashlib.sha256(found[1] or b"").hexdigest() == place.sha256


_LAST = """
CREATE TABLE last (kind TEXT, dataset_id TEXT, resource_id TEXT, line BLOB, PRIMARY KEY (kind, dataset_id, resource_id))
WITHOUT ROWID;
"""


def at(folder: Path, until: str) -> Iterator[Version]:
    """Yield the documents as they were at a moment, by key, with the withdrawn ones; one that has no line yet was not.

    The lines go into a temporary database on disk: a source may have millions.

    Args:
        folder: the source's.
        until: in UTC, as lines have it; what was written then counts.

    Raises:
        OutputError: the manifest can't be read.
    """
    with closing(sqlite.temporary(_LAST)) as db:
        rows = ((*version.key, line) for version, line in _read(folder, lambda _: True) if version.time <= until)
        while some := list(islice(rows, _SOME)):
            db.executemany("INSERT OR REPLACE INTO last VALUES (?, ?, ?, ?)", some)
        for (line,) in db.execute("SELECT line FROM last ORDER BY kind, dataset_id, resource_id"):
            if version := _version(line):
                yield version


class Bodies:
    """The bytes of a source's versions: those on disk now, and the former ones.

    Args:
        folder: the source's.

    Raises:
        OutputError: versions.sqlite can't be read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.versions = Versions.reading(folder)
        self._hashes: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.versions.close()

    def body(self, version: Version) -> bytes | None:
        """Return the bytes of a version; ``None`` if they are not kept.

        Raises:
            OutputError: versions.sqlite is damaged.
        """
        sha256, body = version.known.sha256, self._read(version.known.file)
        return body if hashlib.sha256(body).hexdigest() == sha256 else self.versions.body(sha256)

    def _read(self, file: str) -> bytes:
        try:
            return inside.read(self.folder, file)
        except OSError:
            return b""

    def of_hash(self, sha256: str, files: Iterable[str]) -> bytes | None:
        """Return the bytes that have a hash; ``None`` if they are not kept.

        Args:
            files: of the documents that may have them now.

        Raises:
            OutputError: versions.sqlite is damaged.
        """
        if (former := self.versions.body(sha256)) is not None:
            return former
        bodies = (self._read(file) for file in files)
        return next((body for body in bodies if hashlib.sha256(body).hexdigest() == sha256), None)

    def has(self, version: Version) -> bool:
        """Return whether the bytes of a version are kept; no version is unpacked for that."""
        file = version.known.file
        if self.versions.has(version.known.sha256):
            return True
        if file not in self._hashes:
            self._hashes[file] = hashlib.sha256(self._read(file)).hexdigest()
        return self._hashes[file] == version.known.sha256

    def item(self, version: Version) -> Dataset | None:
        """Return the dataset that a version describes; ``None`` if its bytes are not kept, or nothing here reads them.

        Raises:
            OutputError: versions.sqlite is damaged.
        """
        body = self.body(version)
        if body is None or version.key[0] != "dataset":
            return None
        try:
            return item_of(body, self.folder, version.key[1], version.known)
        except UNREADABLE:
            return None

    def fields(self, version: Version) -> list[str] | None:
        """Return which fields a version changed; ``None`` if that is not known, as of one that is new."""
        return self.versions.fields(version.key, version.run, version.status)
