"""A mirror: a plain folder with what a store has, brought up to date before it is read."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from crawlers.exceptions import StoreError, StoreUnreachableError
from crawlers.safety.locks import take
from crawlers.store.bucket import changes, mark, running
from crawlers.store.bucket.contract import named, source_of
from crawlers.store.bucket.lease import Lease, clock
from crawlers.store.bucket.owner import Owner
from crawlers.store.bucket.places import Places
from crawlers.store.bucket.replay import Replay, written
from crawlers.store.bucket.state import State

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from crawlers.store.bucket.lease import Holder
    from crawlers.store.bucket.objects import Entry, Objects


class Mirror:
    """A store's mirror.

    Args:
        objects: the store's.
        folder: OUTPUT_DIR, as all that follows sees it.
        seconds: how long a lease lasts.
        tell: called with a number of files that were read or stored.

    Raises:
        OutputError: the folder can't be written.
    """

    def __init__(
        self, objects: Objects, folder: Path, *, seconds: float = 60.0, tell: Callable[[int], None] = lambda _: None
    ) -> None:
        self.objects = objects
        self.folder = folder
        self.seconds = seconds
        self.tell = tell
        self.places = Places(folder, objects.address)
        self.offset: float | None = None

    def check(self, *, creates: bool) -> None:
        """Check that the store can be used; nothing is changed if not.

        Args:
            creates: whether an empty prefix becomes a store.

        Raises:
            StoreError: its schema is another one, the prefix has other objects, or the clocks differ.
            StoreUnreachableError: it gives no answer.
        """
        now = mark.check(self.objects, creates=creates)
        self.offset = None if now is None else now - clock()

    def now(self) -> float | None:
        """Return the server's time, in seconds since 1970; ``None`` if it has not said it."""
        return None if self.offset is None else clock() + self.offset

    def lease(self, source: str) -> Lease:
        """Return the lease of a source, which is not taken yet."""
        return self._lease(f"leases/{source}.json", f"[{source}]", self.places.lock(source))

    def lock_of(self, name: str, what: str) -> Lease:
        """Return a lease of something else, which is not taken yet.

        Args:
            name: a part of a file name.
            what: what it is of, for messages.
        """
        return self._lease(f"locks/{name}.json", what, self.places.lock_of(name))

    def _lease(self, name: str, what: str, path: Path) -> Lease:
        objects = self.objects.impatient()
        return Lease(objects, name, what, path=path, writer=self.places.writer, seconds=self.seconds, now=self.now)

    def own(self, source: str) -> Owner:
        """Take a source.

        Raises:
            OutputError: no source can have its name in a store.
            TakenError: another crawl has it.
            StoreError: the store can't be used.
        """
        return Owner.take(self, named(source))

    def sources(self) -> dict[str, Entry]:
        """Return the leases of all sources in the store, by one request for a thousand.

        Raises:
            StoreError: the store can't be read.
        """
        found = ((source_of(entry.name), entry) for entry in self.objects.entries("leases"))
        return {source: entry for source, entry in found if source}

    def refresh(self, names: Collection[str] | None = None, lost: Callable[[str], None] | None = None) -> list[str]:
        """Bring sources up to date, but for those that are crawled here; return those that have changed.

        One request is made if nothing has changed.

        Args:
            names: of the sources; ``None``: all.
            lost: called with a sentence for a source that is damaged; without, that is raised.

        Raises:
            StoreError: the store can't be read.
        """
        changed = []
        for source, entry in self.sources().items():
            if names is None or source in names:
                try:
                    with written(self.folder / source):
                        changed += [source] * self._refresh(source, entry)
                except StoreUnreachableError:
                    raise
                except StoreError as error:
                    if lost is None:
                        raise
                    lost(str(error))
        return changed

    def _refresh(self, source: str, entry: Entry) -> bool:
        with self.free(source) as replay:
            if replay is None:
                return False
            state = replay.state
            if state.fact("lease") == entry.tag and not state.fact("is_open") and replay.is_whole():
                return False
            holder = self.note_running(source)
            is_new = replay.catch_up()
            state.note(lease=entry.tag, is_open=holder is None or not holder.is_released)
            return is_new

    @contextmanager
    def free(self, source: str) -> Iterator[Replay | None]:
        """Keep crawls of this machine out of a source, and yield its folder on its way; ``None`` if one has it."""
        lock = take(self.places.lock(source))
        if lock is None:
            yield None
            return
        try:
            with State(self.places.state(source)) as state:
                yield self.replay(source, state)
        finally:
            os.close(lock)

    def replay(self, source: str, state: State) -> Replay:
        """Return what brings a source's folder up to date."""
        return Replay(self.objects, source, self.folder / source, state, writer=self.places.writer, tell=self.tell)

    def has_rest(self, source: str) -> bool:
        """Return whether the folder of a source has reports that are not stored, or lacks some that are."""
        with State(self.places.state(source)) as state:
            return changes.has_other_reports(self.replay(source, state).documents)

    def note_running(self, source: str) -> Holder | None:
        """Note what another mirror's crawl of a source says; return the lease.

        Raises:
            StoreError: the store can't be read, the lease is damaged, or the folder can't be written.
        """
        with written(self.folder / source):
            return running.note(self, source)
