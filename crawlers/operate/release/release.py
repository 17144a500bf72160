"""`scrapy release`: all that is known of the datasets, as files to publish; and whether a release is what it says.

A release is made beside its place and then put there in one step. Into a bucket it is uploaded beside its place, too;
then its objects are copied, metadata.json at the end: a release that was cut short there is finished by the next one.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import tempfile
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import AnswerError, ExportError
from crawlers.operate.place import Bucket, Folder, place_of
from crawlers.operate.release import changelog, pages, tables
from crawlers.operate.release.card import Card, Files
from crawlers.operate.release.figures import figures, metadata
from crawlers.safety import inside, strict_json
from crawlers.safety.locks import alone
from crawlers.safety.names import safe
from crawlers.safety.redact import one_line
from crawlers.store.export.tables import installed
from crawlers.store.figures.formatting import counted
from crawlers.store.index.database import connect, readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from crawlers.operate.place import Place

METADATA = "metadata.json"
SCHEMA = 1  # of metadata.json and of the columns of the tables
_CHUNK = 1024 * 1024
_PLACE = "FOLDER"  # as messages name the argument
_STAGE = ".releasing/"
_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
_HERE = -100  # AT_FDCWD


def release(output: Path, address: str, given: Mapping[str, str | None], spool: str | None) -> str:
    """Write a release; return a sentence about it.

    Args:
        output: OUTPUT_DIR, whose index is up to date.
        address: a folder, or ``s3://bucket/prefix``; a release that is there is replaced.
        given: title, license, publisher and url of the release.
        spool: the folder in which a release for a bucket is made; by default the system's.

    Raises:
        ExportError: there is nothing to release, something else is in the folder, or it can't be written.
        OutputError: the bucket can't be used.
    """
    installed()  # before anything is made
    place = place_of(address, _PLACE, spool)
    with _making(place, spool) as (made, before):
        with readable(output), closing(connect(output)) as db:
            db.execute("BEGIN")  # all is of one moment, whatever is written meanwhile
            found = figures(db)
            folders = _folders(found.names)
            for name in folders.values():
                (made / name).mkdir(parents=True)
            for table in tables.TABLES:
                tables.write(db, table, folders, made)
            parts = pages.write(db, found.names, made)
        card = Card(found, given)
        card.write_report(made)
        files = _files(made)
        news = _changes(made, files, {"id": found.id, "time": found.time}, before)
        card.write(made, files, parts, news)
        columns = {table.name: [field._asdict() for field in table.fields] for table in tables.TABLES}
        content = metadata(found, SCHEMA, columns) | {"files": _files(made)}
        (made / METADATA).write_bytes(strict_json.dumps(content))
    return f"{place.name}: {counted(found.totals['datasets'], 'dataset')} of run {found.id}. {news}"


def _folders(names: Sequence[str]) -> dict[str, str]:
    return {name: f"sources/{safe(name)}" for name in names}


def _files(folder: Path) -> Files:
    """Return the bytes and the SHA-256 of each file, by its name."""
    found = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        found[path.relative_to(folder).as_posix()] = {"bytes": path.stat().st_size, "sha256": digest}
    return found


# The release before


class Before:
    """The release that is in a place.

    Args:
        known: its metadata.json, read by `described`.
    """

    def __init__(self, place: Place, known: dict[str, Any]) -> None:
        self.place, self.known = place, known
        self.files: Files = known["files"]

    def fetch(self, names: Sequence[str], into: Path) -> None:
        """Copy files of it.

        Raises:
            ExportError: one of them is missing or damaged.
        """
        for name in names:
            digest = hashlib.sha256()
            try:
                with (into / name).open("wb") as file:
                    for chunk in self.place.chunks(name):
                        digest.update(chunk)
                        file.write(chunk)
            except FileNotFoundError:
                raise _broken(self.place, f"{name} is missing") from None
            if digest.hexdigest() != self.files[name]["sha256"]:
                raise _broken(self.place, f"{name} is not what {METADATA} says")

    def is_of(self, release: Mapping[str, Any], files: Files) -> bool:
        """Return whether it is the same release: of the same newest run, with the same tables."""
        same = (self.files.get(table.file) == files[table.file] for table in tables.TABLES)
        return self.known["id"] == release["id"] and all(same)


def described(place: Place, name: str = METADATA) -> dict[str, Any] | None:
    """Return the metadata.json of the release in a place; ``None`` if there is none.

    Args:
        name: what it is called there.

    Raises:
        ExportError: it can't be read, or is not one.
    """
    body = place.read(name)
    if body is None:
        return None
    try:
        known = strict_json.loads(body)
    except (ValueError, AnswerError):
        known = None
    if not isinstance(known, dict) or not isinstance(known.get("id"), str) or not _are_files(known.get("files")):
        raise _broken(place, f"its {name} is not one of a release")
    if known.get("schema") != SCHEMA:
        raise ExportError(f"{place.name} has a release of another version: name another folder.")
    return known


def _are_files(files: object) -> bool:
    return (
        isinstance(files, dict)
        and {*changelog.FILES, *(table.file for table in tables.TABLES)} <= {*files}
        and all(map(inside.is_inside, files))
        and all(isinstance(one, dict) and isinstance(one.get("sha256"), str) for one in files.values())
    )


def _broken(place: Place, why: str) -> ExportError:
    return ExportError(
        f"{place.name} has a broken release, {why}: see `scrapy release --check`, or name another folder."
    )


def _changes(made: Path, files: Files, now: Mapping[str, str], before: Before | None) -> str:
    """Write the changelog against the release before; return its sentence.

    Of the same release its changelog is kept: it stays one against the release before that.

    Raises:
        ExportError: the release before is broken.
    """
    if before and before.is_of(now, files):
        before.fetch(changelog.FILES, made)
    elif before:
        with tempfile.TemporaryDirectory(dir=made, prefix=".before-") as older:
            before.fetch([table.file for table in tables.TABLES], Path(older))
            was = {"id": before.known["id"], "time": before.known.get("time")}
            changelog.write(made, now, was, Path(older))
    else:
        changelog.write(made, now, None, None)
    return (made / changelog.FILES[1]).read_text(encoding="utf-8").split("\n")[2]


# Its place


@contextmanager
def _making(place: Place, spool: str | None) -> Iterator[tuple[Path, Before | None]]:
    """Yield an empty folder, and the release that is in the place; put the folder there when it is filled.

    Raises:
        ExportError: something else is in the place, or it can't be written.
    """
    try:
        if isinstance(place, Folder):
            with _beside(place) as pair:
                yield pair
        elif isinstance(place, Bucket):
            _finish(place)
            with tempfile.TemporaryDirectory(dir=spool, prefix="release-") as folder:
                made = Path(folder) / "release"
                made.mkdir()
                known = described(place)
                if known is None and not all(name.startswith(_STAGE) for name in place.names()):
                    raise ExportError(f"{place.name} is not empty and has no release: name another prefix.")
                yield made, Before(place, known) if known else None
                _upload(made, place)
    except OSError as error:
        raise ExportError(f"{error.filename or place.name} can't be written: {error.strerror or error}.") from None


@contextmanager
def _beside(place: Folder) -> Iterator[tuple[Path, Before | None]]:
    into = place.root.absolute()
    if not into.name:
        raise ExportError(f"{place.name} is no folder for a release: name a new one.")
    if not _is_utf8(into):
        raise ExportError(f"{one_line(place.name)} is not in UTF-8, which the tables need: name another folder.")
    into.parent.mkdir(parents=True, exist_ok=True)
    with alone(into):
        made, old = into.with_name(f".{into.name}.releasing"), _old(into)
        if old.is_dir() and not into.exists():
            old.rename(into)  # one that was killed had moved it away
        known = _replaceable(place, into)
        for left in (made, old):
            shutil.rmtree(left, ignore_errors=True)  # of a killed one
        made.mkdir()
        try:
            yield made, Before(place, known) if known else None
            _exchange(made, into)
        finally:
            shutil.rmtree(made, ignore_errors=True)


def _is_utf8(path: Path) -> bool:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _replaceable(place: Folder, into: Path) -> dict[str, Any] | None:
    """Return the metadata.json of the release in a folder; ``None`` if it is empty or does not exist.

    Raises:
        ExportError: there is something that is no part of a release.
    """
    if into.is_symlink() or (into.exists() and not into.is_dir()):
        raise ExportError(f"{place.name} is not a folder: name another.")
    there = _names(into)
    if not there:
        return None
    known = described(place)
    if known is None:
        raise ExportError(f"{place.name} is not empty and has no release: name another folder.")
    if others := there - {METADATA, *known["files"]}:
        raise ExportError(
            f"{place.name} has {one_line(min(others))}, which is no part of its release: move that elsewhere."
        )
    return known


def _names(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return {path.relative_to(folder).as_posix() for path in found}


def _exchange(made: Path, into: Path) -> None:
    """Put a folder in the place of another, in one step where the system can."""
    if not into.exists():
        made.rename(into)
        return
    with suppress(AttributeError, OSError):  # not Linux, or a file system that can't
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
        if renameat2(_HERE, os.fsencode(made), _HERE, os.fsencode(into), _EXCHANGE) == 0:
            return
    old = _old(into)
    into.rename(old)
    made.rename(into)
    shutil.rmtree(old)


def _old(into: Path) -> Path:
    """Return where the release before is for a moment, if two folders can't change places."""
    return into.with_name(f".{into.name}.before")


def _upload(made: Path, bucket: Bucket) -> None:
    """Upload a release beside its place, metadata.json at the end: then it is whole, and can be finished."""
    for name in (*(name for name in _files(made) if name != METADATA), METADATA):
        bucket.upload(_STAGE + name, made / name)
    _finish(bucket)


def _finish(bucket: Bucket) -> None:
    """Copy what is uploaded as a whole to its place, and remove what the release before had and this one lacks."""
    known = described(bucket, _STAGE + METADATA)
    if known is None:
        return
    files, before = [*known["files"]], described(bucket)
    for name in files:
        bucket.copy(_STAGE + name, name)
    bucket.delete([name for name in (before or {"files": ()})["files"] if name not in files])
    bucket.copy(_STAGE + METADATA, METADATA)
    bucket.delete([_STAGE + METADATA])
    bucket.delete([*bucket.names(_STAGE)])  # and what one that was cut short had, and this one lacks


# Whether it is what it says


def check(address: str) -> tuple[str, list[str]]:
    """Compare a release with its metadata.json; return a sentence about it, and one about each file that differs.

    Raises:
        ExportError: there is no release, or it can't be read.
        OutputError: the bucket can't be used.
    """
    place = place_of(address, _PLACE, None)
    known = described(place)
    if known is None:
        raise ExportError(f"{place.name} has no release: there is no {METADATA}.")
    found = []
    for name, said in known["files"].items():
        digest = hashlib.sha256()
        try:
            for chunk in place.chunks(name):
                digest.update(chunk)
        except FileNotFoundError:
            found.append(f"{one_line(name)} is missing.")
            continue
        if digest.hexdigest() != said["sha256"]:
            found.append(f"{one_line(name)} is not what {METADATA} says.")
    if isinstance(place, Folder):
        others = sorted(_names(place.root) - {METADATA, *known["files"]})
        found += [f"{one_line(name)} is no part of the release." for name in others]
    of = counted(len(known["files"]), "file")
    if found:
        return f"{place.name}: {len(found)} of {of} differ.", found
    return f"{place.name}: {of} as {METADATA} says.", found
