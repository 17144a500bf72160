"""Puts commits, and notes in the mirror's state what they say."""

from __future__ import annotations

import socket
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from crawlers.exceptions import TakenError
from crawlers.records import moment
from crawlers.store.bucket.contract import is_document
from crawlers.store.bucket.documents import stored, stored_alone
from crawlers.store.bucket.log import Commit
from crawlers.store.bucket.state import Stored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlers.store.bucket.changes import Read
    from crawlers.store.bucket.lease import Lease
    from crawlers.store.bucket.log import Growth, Logged, Part
    from crawlers.store.bucket.replay import Replay
    from crawlers.store.bucket.shelf import Shelf


Packed = tuple["Part", list[tuple[str, Stored]]]
"""A new pack, and the files that are in it."""
Uploaded = tuple["Part", int]
"""The object that a file has for itself, and when the file was written here, in nanoseconds."""


def packed(shelf: Shelf, read: Sequence[Read]) -> Packed:
    """Put files into a pack.

    Raises:
        StoreError: the store can't be written.
    """
    pack = shelf.put_pack([one.row for one in read])
    return pack, [(one.row.file, stored(one.row, pack.name, one.changed)) for one in read]


class Committing:
    """The writing end of a source's log.

    Args:
        replay: the reading end: the folder is at its last commit.
        lease: of the source.

    Attributes:
        run: the run that is stored.
        before: the fence of the owner before, as the log says; 0 if there was none.
    """

    def __init__(self, replay: Replay, lease: Lease) -> None:
        self.replay = replay
        self.lease = lease
        self.run: str | None = None
        self.before = 0

    def take(self) -> bool:
        """Put the first commit of a new owner; return whether its number was free.

        The log decides what the fence must be above: the lease may have been removed, and was new then.
        """
        self.before = self.replay.state.fact("fence", 0)
        self.lease.outdo(self.before)
        return self.put("taken", [])

    def uploaded(self, read: Sequence[Read]) -> dict[str, Uploaded]:
        """Put files into objects of their own, which no commit names yet.

        Raises:
            StoreError: the store can't be written.
        """
        put = self.replay.shelf.put_file
        return {one.row.file: (put(one.row.file, one.row.content), one.changed) for one in read}

    def store(
        self,
        read: Sequence[Read],
        removed: Sequence[str],
        ends: Mapping[str, int],
        others: Mapping[str, Uploaded] = MappingProxyType({}),
    ) -> None:
        """Put files and lines, and the commit that names them; nothing, if there is nothing.

        Args:
            read: documents, which go into one pack, and other files, which have objects of their own.
            removed: files that are gone.
            ends: where files that grow end, as for `Tails.new`.
            others: files that are uploaded already.

        Raises:
            TakenError: another node has taken the source: the objects are never read.
            StoreError: the store can't be written.
        """
        documents = [one for one in read if is_document(one.row.file)]
        packs = [packed(self.replay.shelf, documents)] if documents else []
        files = self.uploaded([one for one in read if not is_document(one.row.file)]) | dict(others)
        lines = dict(self.replay.tails.new(ends))
        if not (packs or files or lines or removed):
            return
        if not self.put("stored", packs, files=files, lines=lines, removed=removed):
            raise self.refused()

    def put(
        self,
        kind: Literal["taken", "stored", "whole"],
        packs: Sequence[Packed],
        *,
        kept: Sequence[Part] = (),
        files: Mapping[str, Uploaded] = MappingProxyType({}),
        lines: Mapping[str, Growth] = MappingProxyType({}),
        removed: Sequence[str] = (),
    ) -> bool:
        """Put a commit, and note what it says; return whether its number was free.

        Args:
            packs: new packs, and what is in them.
            kept: of a whole commit, the packs that stay.
            files: the parts of files with objects of their own, and when these were written here.
            lines: the files that have grown; of a whole commit, all that grow.
        """
        commit = msgspec.structs.replace(
            self._next(kind),
            packs=[*kept, *(pack for pack, _ in packs)],
            lines=dict(lines),
            files={file: part for file, (part, _) in files.items()},
            removed=list(removed),
        )
        logged = self._append(commit)
        if logged:
            with self.replay.state.changing():
                self._note(logged, packs, files)
        return logged is not None

    def _append(self, commit: Commit) -> Logged | None:
        """Put a commit so that `Replay` knows it as this mirror's, also if a kill comes before it is noted."""
        self.replay.state.note(putting=sha256(commit.body).hexdigest())
        return self.replay.log.append(commit)

    def _next(self, kind: Literal["taken", "stored", "whole"]) -> Commit:
        """Return the next commit, which has nothing yet."""
        state = self.replay.state
        return Commit(
            source=self.replay.source,
            number=state.head + 1,
            previous=state.fact("sha256", ""),
            fence=self.lease.fence,
            writer=self.replay.writer,
            node=socket.gethostname(),
            time=moment.now("milliseconds"),
            kind=kind,
            run=self.run,
        )

    def _note(self, logged: Logged, packs: Sequence[Packed], files: Mapping[str, Uploaded]) -> None:
        documents, state, commit = self.replay.documents, self.replay.state, logged.commit
        for pack, found in packs:
            documents.files.add_pack(pack)
            documents.files.put_all(found)
        others = {file: stored_alone(part, changed) for file, (part, changed) in files.items()}
        documents.files.put_all(list(others.items()))
        for file in commit.removed if commit.kind == "stored" else ():
            documents.files.remove(file)
        for file, growth in commit.lines.items():
            self.replay.lines.note(file, growth)
        if commit.kind == "whole":
            documents.files.keep([part.name for part in (*commit.packs, *commit.files.values())])
            state.note(whole=commit.number)
        state.advance(logged)

    def refused(self) -> TakenError:
        """Return who has put a commit in the place of this one's."""
        self.lease.until = 0.0
        found: Any = self.replay.log.read(self.replay.state.head + 1).commit
        return TakenError(
            f"[{self.replay.source}] was taken by {found.node} meanwhile (fence {found.fence}, ours is "
            f"{self.lease.fence}): nothing more is stored from here."
        )
