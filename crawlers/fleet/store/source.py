"""A source's folder on this machine, which follows the source's table; after a kill the same is done again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import time
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import uuid4

from crawlers.exceptions import OutputError, StoreError
from crawlers.fleet.store.rows import PARTS, Row, check
from crawlers.fleet.store.state import DamagedStateError, End, State, Stored, Subject
from crawlers.fleet.store.table import Table
from crawlers.safety import inside, sqlite
from crawlers.safety.locks import LOCK
from crawlers.safety.sqlite import transaction
from crawlers.store import lines
from crawlers.store.comparison import OPEN_BATCH
from crawlers.store.contract import LINES, is_document, is_other, others
from crawlers.store.index.known import Known
from crawlers.store.versions import FILE as VERSIONS
from crawlers.store.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from crawlers.fleet.store.store import Store
    from crawlers.fleet.store.table import Window

T = TypeVar("T")

SCRATCH = ".pulling"
"""What a file is called until it is whole."""
RUNNING = "running.json"
_OF_A_CRAWL = frozenset({LOCK, RUNNING, OPEN_BATCH, SCRATCH, ".heartbeat", ".running", ".writing"})
_Key = tuple[str, str, str]


class DivergedError(Exception):
    """The folder has something that the store has not, and others have stored something since."""


class Places(NamedTuple):
    """Where a source is on this machine.

    Args:
        folder: the source's.
        state: the database of what is known of it.
        anew: the folder in which it is built anew.
        left: the folder for what only the old folder had.
    """

    folder: Path
    state: Path
    anew: Path
    left: Path


class Source:
    """A source's folder, on its way to the last batch of its table.

    Args:
        store: where the table is.
        places: where the folder is.
        tell: called with a number of files that were written.
        versions: whether former versions are kept.
        keeps: the sentence of an error, where the folder must stay as it is if it has diverged; else empty.

    Attributes:
        is_rebuilt: whether something of the folder that was never stored is in `Places.left`.
    """

    def __init__(
        self,
        store: Store,
        places: Places,
        state: State,
        *,
        tell: Callable[[int], None] = lambda _: None,
        versions: bool = True,
        keeps: str = "",
    ) -> None:
        self.store = store
        self.places = places
        self.folder = places.folder
        self.name = self.folder.name
        self.state = state
        self.tell = tell
        self.versions = versions
        self.keeps = keeps
        self.table = Table(store, self.name)
        self.is_rebuilt = False

    # Who stored last

    @property
    def told(self) -> dict[str, Any]:
        """What the last batch said of who stored it."""
        return lines.entry((self.state.fact("run") or "").encode()) or {}

    @property
    def is_open(self) -> bool:
        """Whether a crawl stored the last batch that has not ended."""
        return bool(self.state.batch) and self.told.get("status") != "ended"

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is another machine's."""
        return self.is_open and self.state.fact("own", 0) != self.state.batch

    # Following the table

    def settle(self) -> None:
        """Find out whether the batch is stored that was being committed when this machine was cut off, and note that.

        Raises:
            StoreError: the store can't be read.
        """
        pending = self.state.fact("pending")
        if not pending or self.table.last() < pending["batch"]:
            return  # if the batch comes later after all, the next one of its number has its token
        if self.table.token(pending["batch"]) == pending["token"]:
            self.note(pending["batch"], pending["token"], self.table.batch(pending["batch"]))
        else:
            self.state.note(pending=None)

    def catch_up(self) -> bool:
        """Bring the folder up to the last batch; return whether there was one that it did not have.

        What the folder has beyond that stays, unless others have stored something since.

        Raises:
            OutputError: the folder has diverged, and must stay as it is.
            StoreError: the store can't be read, or the folder can't be written.
        """
        with written(self.folder):
            return self._with_state(self._catch_up)

    def _with_state(self, do: Callable[[], T]) -> T:
        """Return what is done; if the state is damaged, all is done again with an empty one."""
        try:
            return do()
        except (DamagedStateError, sqlite3.DatabaseError) as error:
            if not (isinstance(error, DamagedStateError) or sqlite.is_damaged(error)):
                raise
            if self.keeps:
                raise OutputError(f"{self.places.state} is damaged ({error}): name another folder.") from None
        self.state.db.close()
        sqlite.set_aside(self.places.state)
        self.state = State(self.places.state)
        return do()

    def _catch_up(self) -> bool:
        if self.folder.exists():
            self._tell_left()
        self.settle()
        last, batch = self.table.last(), self.state.batch
        if not last:
            if batch:  # somebody has removed the table: what the folder has is stored again
                self._forget()
            return False
        why = self._obstacle(last)
        try:
            if not why and last > batch:
                self._follow()
        except DivergedError as error:
            why = str(error)
        if why and self.keeps:
            raise OutputError(self.keeps)
        if why:
            self._rebuild(why)
        if self.versions and not self.keeps and self._lacks_versions():
            self._bring_versions()
        return last > batch

    def _follow(self) -> None:
        self.state.note(is_begun=True)
        for window in self.table.after(self.state.batch):
            self._apply(window)

    def _forget(self) -> None:
        with transaction(self.state.db):
            self.state.forget()
            self.state.note(batch=0, own=0, token="", run=None, pending=None)

    def _obstacle(self, last: int) -> str:
        """Return why the folder can't be brought up to a batch as it is; nothing if it can."""
        batch = self.state.batch
        if not batch:
            return "what it had is of elsewhere" if self._has_any() and not self.state.fact("is_begun") else ""
        if not self.is_whole():
            return "it lacked lines"
        is_behind, table = batch < last, self.table.id
        is_other = batch > last or self.state.fact("table", table) != table
        if is_other or (is_behind and self.table.token(batch) not in (None, self.state.fact("token"))):
            return "the store has another history"
        return "a crawl was killed" if is_behind and (self.folder / OPEN_BATCH).exists() else ""

    def _has_any(self) -> bool:
        """Return whether the folder has lines or files."""
        return any((self.folder / file).exists() for file in LINES) or any(True for _ in others(self.folder))

    def is_whole(self) -> bool:
        """Return whether the folder begins with the lines that are stored, as far as lengths and a few bytes tell."""
        return all(self._begins_with(file, self.state.end(file)) for file in LINES) and (
            self.folder.exists() or not self.state.fact("is_filled")
        )

    def _begins_with(self, file: str, end: End) -> bool:
        if not end.offset:
            return True
        try:
            here = end.offset - lines.packed(self.folder, file)
            if here <= 0:
                return here == 0 or lines.size(self.folder, file) >= end.offset
            begin = lines.doubled(self.folder, file)
            found = lines.tail(self.folder, file, begin + here, begin)
            return inside.size(self.folder, file) >= begin + here and end.tail.endswith(found[-len(end.tail) :])
        except OSError:
            return False

    def has_more(self) -> bool:
        """Return whether the folder has lines or files that are not stored, or lacks some that are."""
        return not self.is_whole() or self._has_other_lines() or self.has_other_files()

    def _has_other_lines(self) -> bool:
        """Return whether the folder has whole lines that are not stored."""
        for file in LINES:
            with suppress(OSError):
                for _, text in lines.read(self.folder, file, self.state.end(file).offset):
                    if text is None or text.endswith(b"\n"):
                        return True
        return False

    def has_other_files(self) -> bool:
        """Return whether the folder has other reports, series or memories than the store."""
        known = self.state.files()
        there = dict(others(self.folder))
        is_new = any(file not in known or not known[file].is_of(status) for file, status in there.items())
        return is_new or any(file not in there and is_other(file) for file in known)

    # What a window of batches says

    def _apply(self, window: Window) -> None:
        """Write what some batches say, and note it.

        Raises:
            DivergedError: the folder has something else there; nothing was written.
            StoreError: they have what no crawl writes.
        """
        rows = window.rows
        emptied = max((at for at, row in enumerate(rows) if row.part == "gone" and row.file is None), default=-1)
        if emptied >= 0:
            self._remove()
            rows = rows[emptied + 1 :]
        texts = {file: self._text(file, [row for row in rows if row.part == part]) for file, part in PARTS.items()}
        files = {row.file: row for row in rows if row.part in ("file", "gone") and row.file}
        self._check(texts, files.values())
        if is_filled := any(row.part != "run" for row in rows):
            self.folder.mkdir(parents=True, exist_ok=True)
        documents = self._documents([row for row in rows if row.part == "document"])
        ends = {file: self._append(file, text) for file, text in texts.items() if text}
        changed = {file: self._write(file, row) for file, row in files.items()}
        run = next((row for row in reversed(rows) if row.part == "run"), None)
        with transaction(self.state.db):
            self.state.set_subjects(documents.items())
            for file, end in ends.items():
                self.state.set_end(file, end)
            for file, stored in changed.items():
                self._note_file(file, stored)
            is_filled |= emptied < 0 and bool(self.state.fact("is_filled"))
            facts = {"batch": window.last, "token": window.token, "table": self.table.id}
            self.state.note(**facts, run=run and run.line, is_filled=is_filled)
            if any(row.part == "document" and row.entry["status"] != "new" for row in rows):
                self._note_former()

    def _note_former(self) -> None:
        self.state.note(has_former=True, **({} if self.versions else {"lacks_former": True}))

    def _text(self, file: str, rows: Iterable[Row]) -> bytes:
        """Return the lines of a file, each of which follows on the one before."""
        end, texts = self.state.end(file).offset, []
        for row in rows:
            if row.offset != end:
                raise StoreError(f"[{self.name}] is damaged in {self.store.address} (lines of {file} are missing).")
            texts.append(row.text)
            end += len(texts[-1])
        return b"".join(texts)

    def _check(self, texts: Mapping[str, bytes], files: Iterable[Row]) -> None:
        """Check that the folder has nothing of its own where others have stored something."""
        for file, text in texts.items():
            if not text.startswith(self._beyond(file, len(text))):
                raise DivergedError(f"{file} has lines that are not stored")
        known = self.state.files()
        for row in files:
            if not (is_other(str(row.file)) or (row.part == "file" and row.file in LINES)):
                raise self._outside(row)
            if row.file in LINES:
                continue
            with suppress(FileNotFoundError):
                status = inside.status(self.folder, str(row.file))
                stored = known.get(str(row.file))
                if stored and stored.is_of(status):
                    continue
                found = hashlib.sha256(inside.read(self.folder, str(row.file))).hexdigest()
                if found not in {row.sha256, stored.sha256 if stored else None}:
                    raise DivergedError(f"{row.file} is another one than the one that is stored")

    def _beyond(self, file: str, most: int) -> bytes:
        """Return what a file has beyond what is stored, at most a byte more than is to come."""
        end = self.state.end(file).offset
        with suppress(OSError):
            lines.finish(self.folder, file)
        try:
            here = end - lines.packed(self.folder, file)
            if here < 0:
                raise DivergedError(f"{file} has lines that are not stored")
            with inside.opened(self.folder, file) as now:
                now.seek(here)
                return now.read(most + 1)
        except FileNotFoundError:
            return b""

    def _append(self, file: str, text: bytes) -> End:
        end = self.state.end(file)
        with inside.appended(self.folder, file) as now:
            here = end.offset - lines.packed(self.folder, file)
            if now.seek(0, os.SEEK_END) < here + len(text):
                now.truncate(here)
                rest = memoryview(text)
                while rest:
                    rest = rest[now.write(rest) :]
                os.fsync(now.fileno())
        return _grown(end, text)

    def _write(self, file: str, row: Row) -> Stored | None:
        """Write a file, or remove it; return it as it is stored, ``None`` if it is gone."""
        if row.part == "gone":
            inside.remove(self.folder, file)
            return None
        self._check_content(row)
        if file in LINES:
            inside.appended(self.folder, file).close()
            return Stored(row.sha256 or "", 0, 0)
        inside.write(self.folder, file, row.content or b"", SCRATCH)
        self.tell(1)
        return Stored(row.sha256 or "", row.length or 0, inside.status(self.folder, file).st_mtime_ns)

    def _note_file(self, file: str, stored: Stored | None) -> None:
        if stored is None:
            self.state.remove_file(file)
        else:
            self.state.set_file(file, stored)

    def _documents(self, rows: list[Row]) -> dict[_Key, Subject]:
        """Keep the versions that become former, and write the documents; return what is known of them now."""
        found: dict[_Key, Subject] = {}
        contents: dict[str, Row] = {}
        removed: set[str] = set()
        former: Versions | None = None
        try:
            subjects = [(row.key, row) for row in rows if _is_subject(row)]
            known = self.state.known(key for key, _ in subjects)
            new = {str(row.file) for key, row in subjects if key not in known}
            for key, row in subjects:
                self._check_document(row)
                file = str(row.file)
                before = found.get(key) or known.get(key)
                if before and self.versions and (before.sha256 != row.sha256 or row.entry["status"] != "new"):
                    former = former or Versions.writing(self.folder)
                    self._keep(former, key, before, row, contents.get(before.file))
                if before and before.file != file:
                    removed.add(before.file)
                    contents.pop(before.file, None)
                if row.content is not None and not (before and self._is_there(before, row) and file not in contents):
                    contents[file] = row
                removed.discard(file)
                if self._is_lost(before, row):  # an older one has its name
                    contents.pop(file, None)
                    removed.add(file)
                found[key] = _subject(row)
            if contents:
                with inside.Writer(self.folder, SCRATCH) as writer:
                    for file, row in contents.items():
                        writer.write(file, row.content or b"", is_new=file in new)
            for file in removed:
                inside.remove(self.folder, file)
        finally:
            if former:
                former.close()
        self.tell(len(contents))
        return found

    def _is_lost(self, before: Subject | None, row: Row) -> bool:
        """Return whether the bytes of a version that a line makes the newest are nowhere."""
        is_new = before is not None and before.sha256 != row.sha256
        return is_new and row.content is None and self._on_disk(_subject(row)) is None

    def _is_there(self, before: Subject, row: Row) -> bool:
        """Return whether a document is on disk as a line repeats it, as far as its length tells."""
        if (before.file, before.sha256) != (row.file, row.sha256):
            return False
        with suppress(OSError):
            return inside.size(self.folder, before.file) == before.bytes
        return False

    def _keep(self, former: Versions, key: _Key, before: Subject, row: Row, written: Row | None) -> None:
        """Keep the version that a line makes a former one."""
        is_new = written is not None and written.sha256 == before.sha256
        body = written.content if written is not None and is_new else self._on_disk(before)
        known = Known(before.file, before.sha256, before.bytes, None, "new", before.run, "")
        status, run, replaced = (str(row.entry[name] or "") for name in ("status", "run", "time"))
        with suppress(ValueError):  # a time that no crawl wrote
            former.keep(key, known, body, replaced=replaced, run=run, status=status, fields=_fields(row.fields))

    def _on_disk(self, known: Subject) -> bytes | None:
        try:
            body = inside.read(self.folder, known.file)
        except OSError:
            return None
        return body if hashlib.sha256(body).hexdigest() == known.sha256 else None

    def _check_document(self, row: Row) -> None:
        if not is_document(str(row.file)):
            raise self._outside(row)
        self._check_content(row)

    def _outside(self, row: Row) -> StoreError:
        return StoreError(
            f"[{self.name}] is damaged in {self.store.address} ({str(row.file)[:300]!r} is not a valid path in a "
            "source's folder)."
        )

    def _check_content(self, row: Row) -> None:
        try:
            check(row)
        except StoreError as error:
            raise StoreError(f"[{self.name}] is damaged in {self.store.address} ({error}).") from None

    def _remove(self) -> None:
        """Remove the folder of a source that was removed elsewhere; one that has more than was stored is kept aside."""
        if self.folder.exists():
            if self.has_more():
                if self.keeps:
                    raise OutputError(self.keeps)
                self.is_rebuilt = True
                self.store.tell(
                    f"[{self.name}] was removed from {self.store.address}. What this machine had is in {self._leave()}."
                )
            self.remove_folder()
        with transaction(self.state.db):
            self.state.forget()

    def remove_folder(self) -> None:
        """Remove the folder, so that a kill leaves no half of it."""
        removed = self.places.left.with_name("removed") / uuid4().hex
        removed.parent.mkdir(exist_ok=True)
        with suppress(OSError):  # there is none, or it can't be moved: a mount point, say
            self.folder.rename(removed)
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(removed.parent, ignore_errors=True)  # also what a killed removal left

    # What this machine has stored itself

    def note(self, batch: int, token: str, rows: Iterable[Row]) -> None:
        """Note a batch that this machine has stored: the folder has what it says, or newer files, which stay."""
        state, of_part = self.state, dict[str, list[Row]]()
        for row in rows:
            of_part.setdefault(row.part, []).append(row)
        documents = [row for row in of_part.get("document", ()) if _is_subject(row)]
        gone = [row.file for row in of_part.get("gone", ())]
        facts: dict[str, Any] = {"batch": batch, "own": batch, "token": token, "pending": None, "table": self.table.id}
        for row in of_part.get("run", ()):
            facts["run"] = row.line
        if set(of_part) != {"run"}:
            facts["is_filled"] = None not in gone
        with transaction(state.db):
            if None in gone:
                state.forget()
            if any(row.entry.get("status") != "new" for row in documents):
                self._note_former()
            for file, part in PARTS.items():
                if part in of_part:
                    text = b"".join(row.text for row in of_part[part])
                    state.set_end(file, _grown(state.end(file), text))
            state.set_subjects((row.key, _subject(row)) for row in documents)
            for row in of_part.get("file", ()):
                changed = int(row.entry.get("changed") or 0)
                state.set_file(str(row.file), Stored(row.sha256 or "", row.length or 0, changed))
            for file_gone in filter(None, gone):
                state.remove_file(file_gone)
            state.note(**facts)

    # Anew

    def _rebuild(self, why: str) -> None:
        """Build the folder anew from the table, beside the old one, and put it in its place.

        Raises:
            StoreError: the store can't be read; the old folder stays.
        """
        anew, path = self.places.anew, self.places.anew.with_name(f"{self.name}.sqlite")
        shutil.rmtree(anew, ignore_errors=True)
        _remove_database(path)
        anew.parent.mkdir(exist_ok=True)
        with State(path) as state:
            built = Source(
                self.store, self.places._replace(folder=anew, state=path), state, tell=self.tell, versions=self.versions
            )
            built.catch_up()
            left = self._new_left() if self.folder.exists() else None
            told = [left.parent.name, why] if left else self.state.fact("left")
            for each in (state, self.state):
                each.note(left=told)
            state.db.execute("PRAGMA journal_mode = DELETE")
        if left:
            self._move(left)
        if anew.exists():
            anew.rename(self.folder)
        self.state.db.close()  # its log is gone then: the old one would be taken for the new one's
        path.rename(self.places.state)
        self.state = State(self.places.state)
        self.is_rebuilt = True
        self._tell_left()

    def _tell_left(self) -> None:
        """Tell what is left of a folder that was brought up anew, and remove what the new one has, too."""
        if not (told := self.state.fact("left")):
            return
        when, why = told
        left = self.places.left / when / self.name
        if left.exists() and _keeps(left, self.folder):
            self.store.tell(
                f"[{self.name}] was brought up anew from {self.store.address}: {why}. What only this machine had is in "
                f"{left}."
            )
        self.state.note(left=None)

    def _leave(self) -> Path:
        """Move the folder away; return where it is then."""
        left = self._new_left()
        self._move(left)
        return left

    def _new_left(self) -> Path:
        """Return where the folder may be moved to."""
        now, number = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), 0
        while (left := self.places.left / f"{now}{f'-{number}' if number else ''}" / self.name).exists():
            number += 1
        return left

    def _move(self, left: Path) -> None:
        left.parent.mkdir(parents=True, exist_ok=True)
        self.folder.rename(left)

    def _lacks_versions(self) -> bool:
        """Return whether versions.sqlite lacks some that are stored, as far as it is known."""
        if not self.state.fact("has_former"):
            return False
        is_whole = (self.folder / VERSIONS).exists() and not self.state.fact("lacks_former")
        return not is_whole or not self._damaged_versions() <= {*self.state.fact("damaged_former", ())}

    def _damaged_versions(self) -> set[str]:
        """Return the names of those that were damaged, each of which another was begun for."""
        return {path.name for path in self.folder.glob(f"{VERSIONS}.damaged-*")}

    def _bring_versions(self) -> None:
        """Make versions.sqlite from the table, or add what it lacks."""
        self.state.note(lacks_former=True)  # until all are there
        with closing(Versions.writing(self.folder)) as kept:
            for row, then in self.table.former():
                if _is_subject(row) and row.content is not None:
                    self._check_content(row)
                    before = _subject(row)
                    later = {"status": then.status, "run": then.run, "time": then.replaced}
                    self._keep(kept, row.key, before, row._replace(fields=then.fields, entry=later), row)
        self.state.note(lacks_former=False, damaged_former=sorted(self._damaged_versions()))

    def _mend_versions(self) -> None:
        """Let versions.sqlite be made anew if it can't be read."""
        try:
            with Versions.reading(self.folder) as kept:
                kept.size()
        except OutputError:
            sqlite.set_aside(self.folder / VERSIONS, keeps_others=True)

    def _lost(self) -> Iterator[tuple[str, str]]:
        """Yield the stored documents and files that are not in the folder, and the hash of each."""
        yield from ((each.file, each.sha256) for each in self.state.subjects() if not _exists(self.folder, each.file))
        yield from ((file, row.sha256) for file, row in self.state.files().items() if not _exists(self.folder, file))

    def bring_lost(self) -> None:
        """Write the stored documents and files that somebody has removed from the folder.

        Raises:
            StoreError: the store can't be read, or the folder can't be written.
        """
        with written(self.folder):
            self._mend_versions()
            self._with_state(self._bring_lost)

    def _bring_lost(self) -> None:
        self._catch_up()
        wanted: dict[str, list[str]] = {}
        for file, sha256 in self._lost():
            if is_document(file) or is_other(file):
                wanted.setdefault(sha256, []).append(file)
        self.folder.mkdir(parents=True, exist_ok=True)
        with inside.Writer(self.folder, SCRATCH) as writer:
            for row in self.table.contents(wanted):
                self._check_content(row)
                for file in wanted[str(row.sha256)]:
                    writer.write(file, row.content or b"")


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


def _grown(end: End, text: bytes) -> End:
    return End(end.offset + len(text), (end.tail + text[-lines.TAIL :])[-lines.TAIL :])


def _is_subject(row: Row) -> bool:
    """Return whether a row is of a document that a crawl wrote."""
    return bool(row.file and row.sha256 and row.entry.get("kind") and row.entry.get("dataset_id"))


def _subject(row: Row) -> Subject:
    return Subject(str(row.file), row.sha256 or "", row.length or 0, str(row.entry.get("run") or ""))


def _fields(text: str | None) -> list[str] | None:
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return [str(name) for name in found] if isinstance(found, list) else None


def _exists(folder: Path, file: str) -> bool:
    try:
        inside.status(folder, file)
    except OSError:
        return False
    return True


def _remove_database(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


def _keeps(left: Path, anew: Path) -> bool:
    """Remove from a folder what the new one has, too, or a crawl has for itself; return whether something is left."""
    if left.is_symlink():
        return True  # what it leads to is not ours to remove
    for file in LINES:
        if _begins_alike(left, file, anew):
            for name in (file, *lines.parts(left, file)):
                (left / name).unlink(missing_ok=True)
    if not _has_other_versions(left, anew):
        _remove_database(left / VERSIONS)
    for path in [path for path in left.rglob("*") if path.is_symlink() or not path.is_dir()]:
        file = str(path.relative_to(left))
        is_kept = file in LINES or path.name.endswith(".jsonl.zst") or path.name.startswith(VERSIONS)
        if file in _OF_A_CRAWL or (not is_kept and _is_same(left, anew, file)):
            path.unlink()
    for path in (*(path for path in left.rglob("*") if path.is_dir()), left, left.parent):
        with suppress(OSError):  # something is in it
            path.rmdir()
    return left.exists()


def _is_same(left: Path, anew: Path, file: str) -> bool:
    try:
        return inside.read(left, file) == inside.read(anew, file)
    except OSError:
        return False


def _begins_alike(left: Path, file: str, anew: Path) -> bool:
    """Return whether all lines of a file are in the new one, at its beginning."""
    try:
        if lines.size(left, file) > lines.size(anew, file):
            return False
        there = lines.read(anew, file)
        return all(line == next(there, None) for line in lines.read(left, file))
    except OSError:
        return not (left / file).exists()


def _has_other_versions(left: Path, anew: Path) -> bool:
    """Return whether a folder keeps versions that the new one lacks."""
    if not (left / VERSIONS).exists():
        return False
    try:
        with (
            closing(sqlite.connect_existing(left / VERSIONS, "mode=rw", patience=1)) as db,
            Versions.reading(anew) as now,
        ):
            return any(not now.has(sha256) for sha256 in Versions(left, db).kept())
    except (OutputError, sqlite3.Error):
        return True
