"""The owner of a source: it has the lease, and stores what changes in the source's folder."""

from __future__ import annotations

import shutil
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from crawlers.exceptions import TakenError
from crawlers.store import lines
from crawlers.store.bucket import changes, running, summary
from crawlers.store.bucket.committing import Committing
from crawlers.store.bucket.replay import Replay
from crawlers.store.bucket.state import State

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from crawlers.store.bucket.changes import Read
    from crawlers.store.bucket.committing import Uploaded
    from crawlers.store.bucket.lease import Lease
    from crawlers.store.bucket.mirror import Mirror

_TRIES = 100  # to put the first commit, while a late writer puts its last one
_ALL: Mapping[str, int] = MappingProxyType({})
_NONE: Mapping[str, Uploaded] = MappingProxyType({})


class Owner:
    """A source that this process may store.

    Args:
        mirror: where its folder is.
        source: its name.
        lease: of the source.

    Attributes:
        committing: the writing end of its log.
        is_rebuilt: whether a job that was begun here before can't go on: others had the source since, or what it had
            in the folder is lost.
    """

    def __init__(self, mirror: Mirror, source: str, lease: Lease) -> None:
        self.mirror = mirror
        self.source = source
        self.lease = lease
        self.is_rebuilt = False
        self.state = State(mirror.places.state(source))
        folder, writer = mirror.folder / source, mirror.places.writer
        self.replay = Replay(mirror.objects, source, folder, self.state, writer=writer, tell=mirror.tell)
        self.committing = Committing(self.replay, lease)

    @classmethod
    def take(cls, mirror: Mirror, source: str) -> Self:
        """Take a source: its lease, and its folder as it is in the store.

        Raises:
            TakenError: another crawl has it, here or on another node.
            StoreError: the store can't be used, or what it has of the source is damaged.
        """
        lease = mirror.lease(source)
        lease.take()
        owner = cls(mirror, source, lease)
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
            self.release()
        finally:
            self.close()

    def begin(self) -> None:
        """Bring the folder up to date, fence off the owner before, and store what this mirror had not stored.

        Raises:
            StoreError: as `take`.
        """
        last = 0
        for _ in range(_TRIES):
            self.replay.catch_up()
            last = self.state.fact("owned", 0)
            if self.committing.take():
                break
        else:
            raise TakenError(f"[{self.source}] is written by another process.")
        before = self.lease.before
        self.is_rebuilt = self.replay.is_rebuilt or self.committing.before != last
        for file in lines.FILES:
            with suppress(OSError):  # a damaged part stays; its readers report it
                lines.finish(self.replay.folder, file)
        was_closed = self.state.fact("closed", 0) == self.state.fact("owned", 0)
        self.state.note(owned=self.lease.fence)
        if before:
            running.write(self.mirror, self.source, *before)
        self.store(is_end=not was_closed)
        self.state.note(closed=0)

    def store(self, *, is_end: bool = False) -> None:
        """Store what the folder has and the store has not.

        Args:
            is_end: whether nobody changes the folder meanwhile: all files are looked at, and a long log is summed up.

        Raises:
            TakenError: another node has taken the source: nothing more is stored.
            StoreError: the store can't be written.
        """
        documents = self.replay.documents
        parts = _uploaded_parts(self.committing)
        end, is_last = self._stored_lines(), False
        while not is_last:
            chunk = changes.by_lines(documents, end)
            end, is_last = chunk.end, chunk.is_last
            ends = {changes.MANIFEST: self._place(chunk)}
            now = {part: each for part, each in parts.items() if ends.get(lines.file_of(part), 0) >= 0}
            parts = {part: each for part, each in parts.items() if part not in now}
            self._put(chunk.read, chunk.removed, ends, now)
        if is_end:
            for some in changes.packfuls(changes.by_look(documents)):
                self._put(some)
            self._put([], changes.gone(documents))
            self.state.note(closed=self.lease.fence)
            if self.state.head - self.state.fact("whole", 0) >= summary.COMMITS and summary.sum_up(self.committing):
                summary.clean(self.committing)

    def _stored_lines(self) -> int:
        """Return the bytes of the manifest's lines that are stored, counting all that were ever written."""
        grown = self.replay.lines.growing.get(changes.MANIFEST)
        return grown.written if grown else 0

    def _place(self, chunk: changes.Chunk) -> int:
        """Return where the lines of a chunk end in the manifest as it is now; it may have more by now.

        A manifest that was rewritten is stored with its last lines: until then, none of it is.
        """
        if not chunk.is_last and self.replay.tails.is_rewritten(changes.MANIFEST):
            return -1
        return max(0, chunk.end - lines.packed(self.replay.lines.folder, changes.MANIFEST))

    def _put(
        self,
        read: list[Read],
        removed: Sequence[str] = (),
        ends: Mapping[str, int] = _ALL,
        parts: Mapping[str, Uploaded] = _NONE,
    ) -> None:
        self.committing.store(read, removed, ends, parts)
        if read or parts:
            self.mirror.tell(len(read) + len(parts))

    def sum_up(self, kept: float = summary.KEPT) -> int:
        """Sum up the log, and remove what nobody needs; return how many objects that were.

        Args:
            kept: seconds that they stay.

        Raises:
            TakenError: as `store`.
            StoreError: as `store`.
        """
        is_summed = self.state.head == self.state.fact("whole", 0) or summary.sum_up(self.committing)
        return summary.clean(self.committing, kept) if is_summed else 0

    def empty(self) -> None:
        """Remove all that is stored of the source, and its folder; every mirror removes its own.

        Raises:
            TakenError: as `store`.
            StoreError: as `store`.
        """
        folder, removed = self.replay.folder, self.mirror.places.removed()
        summary.empty(self.committing)
        with suppress(OSError):  # there is none, or it can't be moved: a mount point, say
            removed.mkdir(exist_ok=True)
            folder.rename(removed / f"{self.source}.{uuid4().hex}")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(removed, ignore_errors=True)  # also what a killed removal left

    def release(self) -> None:
        """Give the lease back.

        Raises:
            TakenError: another node has taken it.
            StoreError: the store can't be written: the lease expires.
        """
        self.lease.renew(self.state.head, is_released=True)
        self.state.note(lease=self.lease.tag)

    def reset(self) -> None:
        """Undo what was never stored.

        Raises:
            StoreError: the store can't be read.
        """
        self.replay.reset()

    def close(self) -> None:
        """Let other processes of this machine have the source."""
        self.state.db.close()
        self.lease.close()


def _uploaded_parts(committing: Committing) -> dict[str, Uploaded]:
    """Upload the new compressed parts of lines: the commit that names one has the lines behind it, too."""
    found: dict[str, Uploaded] = {}
    for some in changes.packfuls(changes.parts(committing.replay.documents)):
        found |= committing.uploaded(some)
    return found
