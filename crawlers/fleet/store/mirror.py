"""A mirror: a plain folder with what a store has, brought up to date before it is read."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError, StoreError, StoreUnreachableError
from crawlers.fleet.store import mark
from crawlers.fleet.store.owner import Owner, clock
from crawlers.fleet.store.source import RUNNING, Places, Source, written
from crawlers.fleet.store.state import DamagedStateError, State
from crawlers.records import moment
from crawlers.safety import inside, sqlite, strict_json
from crawlers.safety.locks import is_crawled, take
from crawlers.store.contract import named

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from crawlers.fleet.store.store import Store

STATES = ".mirror"
"""The folder, in OUTPUT_DIR, of what is known of a store."""
_BEATS = 3  # signs of life in the time of a lease
_TRIES = 300  # another reader has the lock meanwhile, for 3 seconds


class Mirror:
    """A store's mirror.

    Args:
        store: where the tables are.
        folder: OUTPUT_DIR, as all that follows sees it.
        seconds: OUTPUT_LEASE: without a batch for so long, a source that was begun is another machine's to take.
        interval: OUTPUT_STORE_INTERVAL.
        versions: whether former versions are kept: VERSIONS.
        tell: called with a number of files that were read or stored.
        keeps: whether sources that have diverged stay as they are: a folder that is pushed or pulled.

    Raises:
        OutputError: the folder can't be written.
    """

    def __init__(
        self,
        store: Store,
        folder: Path,
        *,
        seconds: float = 60.0,
        interval: float = 30.0,
        versions: bool = True,
        tell: Callable[[int], None] = lambda _: None,
        keeps: bool = False,
    ) -> None:
        self.store = store
        self.folder = folder
        self.seconds = seconds
        self.beat = min(interval, seconds / _BEATS)
        self.versions = versions
        self.tell = tell
        self.keeps = keeps
        self.known = folder / STATES / hashlib.sha256(store.address.encode()).hexdigest()[:16]
        self.offset: float | None = None

    def check(self, *, creates: bool) -> None:
        """Check that the store can be used; nothing is changed if not.

        Args:
            creates: whether an empty prefix becomes a store.

        Raises:
            StoreError: its schema is another one, the prefix has other objects, or the clocks differ.
            StoreUnreachableError: it gives no answer.
        """
        now = mark.check(self.store, creates=creates)
        self.offset = None if now is None else now - clock()

    def now(self) -> float:
        """Return the server's time, in seconds since 1970; this machine's, if it has not said it."""
        return time.time() if self.offset is None else clock() + self.offset

    def age(self, source: Source) -> float:
        """Return the seconds since something was last stored of a source."""
        return source.table.age(self.now())

    def lock(self, name: str) -> Path:
        """Return the lock file of a source."""
        return self._made() / f"{name}.lock"

    def _made(self) -> Path:
        try:
            self.known.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.known} can't be made ({error.strerror}): check OUTPUT_MIRROR.") from None
        return self.known

    def source(self, name: str) -> Source:
        """Return a source; the caller has its lock, and closes its state.

        Raises:
            OutputError: its state is damaged, and its folder must stay as it is.
            StoreError: its state can't be used.
        """
        known, folder = self._made(), self.folder / name
        places = Places(folder, known / f"{name}.sqlite", known / "anew" / name, known / "left")
        keeps = f"{folder} was changed since it was pulled, or pushed: name another folder." if self.keeps else ""
        try:
            state = State(places.state)
        except DamagedStateError as error:
            if self.keeps:
                raise OutputError(f"{places.state} is damaged ({error}): name another folder.") from None
            sqlite.set_aside(places.state)
            state = State(places.state)
        return Source(self.store, places, state, tell=self.tell, versions=self.versions, keeps=keeps)

    def own(self, name: str) -> Owner:
        """Take a source.

        Raises:
            OutputError: no source can have its name in a store.
            TakenError: another crawl has it.
            StoreError: the store can't be used.
        """
        return Owner.take(self, named(name))

    def sources(self) -> list[str]:
        """Return the names of all sources in the store, by one request for a thousand.

        Raises:
            StoreError: the store can't be read.
        """
        return self.store.sources()

    @contextmanager
    def free(self, name: str) -> Iterator[Source | None]:
        """Keep crawls of this machine out of a source, and yield it; ``None`` if one has it."""
        lock = take(self.lock(name), tries=1 if is_crawled(self.folder / name) else _TRIES)
        if lock is None:
            yield None
            return
        try:
            source = self.source(name)
            try:
                yield source
            finally:
                source.state.db.close()
        finally:
            os.close(lock)

    def refresh(self, names: Collection[str] | None = None, lost: Callable[[str], None] | None = None) -> list[str]:
        """Bring sources up to date, but for those that are crawled here; return those that have changed.

        Args:
            names: of the sources; ``None``: all.
            lost: called with a sentence for a source that is damaged; without, that is raised.

        Raises:
            StoreError: the store can't be read.
        """
        changed = []
        for name in self.sources() if names is None else map(named, names):
            try:
                changed += [name] * self._refresh(name)
            except StoreUnreachableError:
                raise
            except StoreError as error:
                if lost is None:
                    raise
                lost(str(error))
        return changed

    def _refresh(self, name: str) -> bool:
        with self.free(name) as source:
            if source is None:
                return False
            is_new = source.catch_up()
            if is_new or source.state.fact("is_elsewhere"):
                self.note_running(source)
            return is_new

    def has_rest(self, name: str) -> bool:
        """Return whether the folder of a source has reports that are not stored, or lacks some that are."""
        with self.free(name) as source:
            return source is not None and source.has_other_files()

    def pull(self, name: str) -> None:
        """Bring a plain folder up to a source, which no crawl has changed since the last time.

        Raises:
            OutputError: the folder was changed since, or is in use.
            StoreError: the store can't be read, what it has of the source is damaged, or the folder can't be written.
        """
        with self.free(name) as source:
            if source is None:
                raise OutputError(f"{self.folder / name} is used by another process: wait for it to end.")
            source.catch_up()
            if source.has_more():
                raise OutputError(source.keeps)

    def may_push(self, name: str) -> bool:
        """Return whether a folder has all that is stored of a source: nobody else has stored anything of it since.

        Raises:
            StoreError: the store can't be read.
        """
        with self.free(name) as source:
            if source is None:
                return True
            source.settle()
            return source.table.last() <= source.state.batch

    def note_running(self, source: Source) -> None:
        """Write what another machine's crawl of a source says to running.json, where those who list runs look.

        Raises:
            StoreError: the store can't be read, or the folder can't be written.
        """
        running, is_elsewhere = source.told.get("running"), source.is_elsewhere
        with written(source.folder):
            if is_elsewhere and isinstance(running, dict):
                source.folder.mkdir(parents=True, exist_ok=True)
                then = datetime.fromtimestamp(time.time() - max(0.0, self.age(source)), UTC)
                seen = {"elsewhere": True, "heartbeat": moment.written(then, "milliseconds")}
                with suppress(ValueError):  # no JSON of a crawl
                    inside.write(source.folder, RUNNING, strict_json.dumps(running | seen), ".running")
            elif not is_crawled(source.folder) and source.state.fact("is_elsewhere"):
                with suppress(OSError):
                    inside.remove(source.folder, RUNNING)
            source.state.note(is_elsewhere=is_elsewhere)
