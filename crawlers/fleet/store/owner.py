"""The owner of a source: it stores what changes in the source's folder, as the only one."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from crawlers.exceptions import OutputError, StoreError, TakenError
from crawlers.fleet.store import rows as made
from crawlers.fleet.store.rows import Row
from crawlers.fleet.store.source import RUNNING, Source, written
from crawlers.records import moment
from crawlers.safety import inside
from crawlers.safety.locks import take
from crawlers.store import lines
from crawlers.store.contract import LINES, is_document, is_other, others
from crawlers.store.folder import json_object
from crawlers.store.versions import Versions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from crawlers.fleet.store.mirror import Mirror

MOST = 1000
"""Lines of a file in a batch."""
BYTES = 4 * 1024 * 1024
"""Bytes of content from which on a batch takes no more."""
_LARGEST = 8 * 1024 * 1024  # bytes of running.json
_DAY = 24 * 3600
_LOOK = 1.0  # seconds between two looks at a source that another machine has
_TRIES = 3000  # a process that brings the folder up to date has the lock meanwhile, for 30 seconds
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def clock() -> float:
    """Return a number of seconds that never jumps, and counts while the machine sleeps or the process is stopped."""
    return time.clock_gettime(_CLOCK)


class Owner:
    """A source that this process may store.

    Args:
        mirror: where its folder is.
        source: the folder, and its table.
        lock: the descriptor that keeps other processes of this machine out.

    Attributes:
        is_rebuilt: whether a job that was begun here before can't go on: others had the source since, or what it had
            in the folder is lost.
        is_open: whether the store may say that the source is crawled from here.
        is_released: whether it was given back before the end: nothing more is stored.
        putting: held while a batch is committed.
    """

    def __init__(self, mirror: Mirror, source: Source, lock: int) -> None:
        self.mirror = mirror
        self.source = source
        self.lock: int | None = lock
        self.is_rebuilt = False
        self.run: str | None = None
        self.since = moment.now("milliseconds")
        self.stored = clock()
        self.is_open = False
        self.is_released = False
        self.putting = Lock()
        self.versions: Versions | None = None

    @property
    def name(self) -> str:
        return self.source.name

    @classmethod
    def take(cls, mirror: Mirror, name: str) -> Self:
        """Take a source: its folder is brought up to its table, and what was not stored is.

        A source that another machine has begun is waited for until OUTPUT_LEASE has passed without a batch.

        Raises:
            TakenError: another crawl has it, here or on another node.
            StoreError: the store can't be used, or what it has of the source is damaged.
        """
        lock = take(mirror.lock(name), tries=_TRIES)
        if lock is None:
            raise TakenError(f"[{name}] is used by another process of this machine: wait for it to end.")
        try:
            owner = cls(mirror, mirror.source(name), lock)
        except BaseException:
            os.close(lock)
            raise
        try:
            owner.begin()
        except BaseException:
            owner.close()
            raise
        return owner

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.store(is_end=True)
        finally:
            self.close()

    def begin(self) -> None:
        """Bring the folder up to date, and store what this machine had not stored.

        Raises:
            TakenError, StoreError: as `take`.
        """
        source = self.source
        source.catch_up()
        is_taken_over = self._wait()
        self.is_rebuilt = source.is_rebuilt or source.state.fact("own", 0) != source.state.batch
        with written(source.folder):
            for file in lines.FILES:
                with suppress(OSError):  # a damaged part stays; its readers report it
                    lines.finish(source.folder, file)
        if is_taken_over:
            self.mirror.note_running(source)  # the run that was left: the next crawl reports it
            self._put([])  # so that who had it stores nothing more
        else:
            self.is_open = self.source.is_open and not self.source.is_elsewhere
            self.store(is_end=True)
        self.stored = clock()

    def _wait(self) -> bool:
        """Wait until no other machine has the source; return whether one has left it without an end."""
        first = self.source.state.batch
        is_told = False
        while self.source.is_elsewhere:
            left = self.mirror.seconds - self.mirror.age(self.source)
            if left <= 0:
                return True
            node = str(self.source.told.get("node"))[:200]
            if self.source.state.batch != first:
                self.mirror.note_running(self.source)
                raise TakenError(f"[{self.name}] is taken by {node}: wait for it to end.")
            if not is_told:
                self.mirror.store.tell(
                    f"[{self.name}] is taken by {node}: waiting at most {left + _LOOK:.0f} seconds for a sign of life."
                )
            is_told = True
            time.sleep(min(_LOOK, max(left, 0.01)))
            self.source.catch_up()
        return False

    @property
    def is_held(self) -> bool:
        """Whether nobody else can have the source yet."""
        return clock() - self.stored < self.mirror.seconds

    # Storing

    def store(self, *, is_end: bool = False) -> None:
        """Store what the folder has and the store has not.

        Args:
            is_end: whether nobody changes the folder meanwhile: all files are looked at, and the source is given back.

        Raises:
            TakenError: another node has taken the source: nothing more is stored.
            StoreError: the store can't be written.
        """
        with written(self.source.folder):
            found, is_last = self._lines()
            while not is_last:
                self._put(found)
                found, is_last = self._lines()
            if is_end:
                for some, is_last in _batches(found, self._others()):
                    if (some or self.is_open) and not self._put(some, is_end=is_last):
                        self.store(is_end=True)  # the rest is what the folder has now
                        return
            elif found or clock() - self.stored >= self.mirror.beat:
                self._put(found)

    def _put(self, found: list[Row], *, is_end: bool = False) -> bool:
        """Commit a batch, and note it; return whether it has these rows, and not those of an earlier try.

        Raises:
            TakenError: another machine has committed one of that number.
            StoreError: the store can't be written, or what is known of it.
        """
        with self.putting, written(self.source.folder):
            if self.is_released:
                raise StoreError(f"[{self.name}] was given back: nothing more is stored from here.")
            return self._committed(found, is_end=is_end)

    def _committed(self, found: list[Row], *, is_end: bool) -> bool:
        state, number = self.source.state, self.source.state.batch + 1
        running = json_object(self.source.folder, RUNNING, _LARGEST) or {}
        running = {} if running.get("elsewhere") else running
        told = {
            "status": "ended" if is_end else "going" if self.is_open else "begun",
            "node": socket.gethostname(), "pid": os.getpid(), "since": self.since,
            "run": self.run or running.get("run"), "time": moment.now("milliseconds"), "running": running or None,
        }  # fmt: skip
        batch = [*found, made.of_run(told)]
        pending = state.fact("pending") or {}
        is_again = pending.get("batch") == number  # the answer was lost: it may have been put, with other rows
        token = pending["token"] if is_again else uuid4().hex
        state.note(pending={"batch": number, "token": token})
        begun, self.is_open = clock(), True
        done = self.source.table.commit(number, token, batch)
        if done is None:
            self.stored, self.is_open = float("-inf"), False
            node = self._other(number)
            raise TakenError(
                f"[{self.name}] was crawled by {node} meanwhile (batch {number}): nothing more is stored from here."
            )
        self.source.note(number, token, batch if done == "put" else self.source.table.batch(number))
        if done == "there" and not self.source.is_whole():  # a copy of this machine has put it
            self.stored, self.is_open = float("-inf"), False
            who = f"a copy of this machine (batch {number})"
            raise TakenError(f"[{self.name}] was crawled by {who}: nothing more is stored from here.")
        is_put = done == "put" or not is_again
        self.stored, self.is_open = begun, not (is_end and is_put)
        if found:
            self.mirror.tell(sum(row.content is not None for row in found))
        return is_put

    def _other(self, number: int) -> str:
        """Return the machine that has committed a batch."""
        with suppress(StoreError):
            told = next((lines.entry(row.text) for row in self.source.table.batch(number) if row.part == "run"), None)
            return str((told or {}).get("node"))[:200]
        return "another machine"

    def _lines(self) -> tuple[list[Row], bool]:
        """Return the next lines that are not stored, of all files, and whether these are the last ones."""
        found: list[Row] = []
        size, is_last = 0, True
        try:
            for file in LINES:
                count = 0
                for row in self._lines_of(file):
                    found.append(row)
                    count, size = count + 1, size + len(row.content or b"")
                    if count >= MOST or size >= BYTES:
                        is_last = False
                        break
        finally:
            self._close_versions()  # in the thread that opened them; a crawl goes on with them
        return found, is_last

    def _lines_of(self, file: str) -> Iterator[Row]:
        folder, offset = self.source.folder, self.source.state.end(file).offset
        try:
            inside.status(folder, file)
        except FileNotFoundError:
            return
        for length, text in lines.read(folder, file, offset):
            if text is None:
                raise StoreError(f"{folder / file} has a line of more than {lines.LONGEST} bytes: no store takes it.")
            if not text.endswith(b"\n"):
                return  # it is being written
            if file == LINES[0]:
                yield self._document(offset, text)
            else:
                yield made.of_line(file, offset, text)
            offset += length

    def _document(self, offset: int, text: bytes) -> Row:
        """Return the row of a document's line, with the document: from the versions if the file is newer already."""
        row = made.of_line(LINES[0], offset, text)
        if not (row.file and row.sha256 and is_document(row.file)):
            return row._replace(file=None)
        content: bytes | None = None
        with suppress(OSError):
            content = inside.read(self.source.folder, row.file)
        if content is None or hashlib.sha256(content).hexdigest() != row.sha256:
            content = self._version(row.sha256)
        length = row.length if content is None else len(content)
        return row._replace(content=content, length=length, fields=self._fields(row))

    def _version(self, sha256: str) -> bytes | None:
        with suppress(OutputError):
            return self._opened().body(sha256)
        return None

    def _fields(self, row: Row) -> str | None:
        """Return which fields a line changed, as JSON, where that is known."""
        if row.entry.get("status") == "new":
            return None
        with suppress(OutputError):
            found = self._opened().fields(row.key, str(row.entry.get("run")), str(row.entry.get("status")))
            return None if found is None else json.dumps(found, ensure_ascii=False)
        return None

    def _opened(self) -> Versions:
        if self.versions is None:
            self.versions = Versions.reading(self.source.folder)
        return self.versions

    def _close_versions(self) -> None:
        if self.versions:
            self.versions.close()
            self.versions = None

    def _others(self) -> Iterator[Row]:
        """Yield the reports, series and memories that the store lacks, then those that are gone."""
        state, folder = self.source.state, self.source.folder
        known, there = state.files(), set[str]()
        for file, status in others(folder):
            there.add(file)
            stored = known.get(file)
            if stored and stored.is_of(status):
                continue
            try:
                content = inside.read(folder, file)
            except OSError:
                continue
            row = made.of_file(file, content, status.st_mtime_ns)
            if stored and stored.sha256 == row.sha256:
                state.set_file(file, stored._replace(changed=status.st_mtime_ns))
            else:
                yield row
        for file in LINES:
            with suppress(OSError):
                if file not in known and not state.end(file).offset and not inside.size(folder, file):
                    yield made.of_file(file, b"", 0)
        yield from (Row("gone", file) for file in known if is_other(file) and file not in there)

    # What others may do with it then

    def empty(self) -> None:
        """Remove all that is stored of the source, and its folder; every mirror removes its own.

        Raises:
            TakenError: as `store`.
            StoreError: as `store`.
        """
        self._put([Row("gone", None)], is_end=True)
        self.source.table.empty(self.source.state.batch)
        self.source.remove_folder()

    def tidy(self) -> int:
        """Merge small files of the table, and remove those that nobody has needed for a week; return how many."""
        return self.source.table.tidy()

    def tidy_if_due(self, days: int = 0) -> None:
        """Merge small files of the table if there are many, and drop the bytes of versions that are old then.

        Args:
            days: how long versions are kept; 0: for ever.
        """
        if self.source.table.is_scattered():
            if days:
                self.forget(time.time() - days * _DAY)
            self.tidy()

    def forget(self, before: float) -> int:
        """Drop the bytes of versions that became former before a moment from the store; return how many.

        Args:
            before: seconds since 1970.
        """
        when = datetime.fromtimestamp(before, UTC)
        return self.source.table.forget(moment.written(when, "milliseconds"))

    def release(self) -> None:
        """Say that the source is free, if it was begun. A batch that a thread is storing comes first, and is the last.

        Raises:
            TakenError: another node has taken it.
            StoreError: the store can't be written: others wait until OUTPUT_LEASE has passed.
        """
        with self.putting, written(self.source.folder):
            self.is_released = True
            while self.is_open:  # a second time after a batch of an earlier try, which does not say so
                self._committed([], is_end=True)

    def reset(self) -> None:
        """Bring the folder up to what others have stored; what was never stored is kept aside.

        Raises:
            StoreError: the store can't be read.
        """
        self.source.catch_up()

    def close(self) -> None:
        """Let other processes of this machine have the source."""
        self.source.state.db.close()
        lock, self.lock = self.lock, None
        if lock is not None:
            os.close(lock)


def _batches(found: list[Row], others: Iterator[Row]) -> Iterator[tuple[list[Row], bool]]:
    """Yield rows by as many as go into a batch, the first ones with some lines, and whether they are the last."""
    some, size = found, sum(len(row.content or b"") for row in found)
    for row in others:
        if len(some) >= MOST + len(found) or size >= BYTES:
            yield some, False
            some, size = [], 0
        some.append(row)
        size += len(row.content or b"")
    yield some, True
