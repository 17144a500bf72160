"""A whole commit sums up a log, so that it is read by few requests; what nobody needs any more is removed."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

from crawlers.safety import inside
from crawlers.store.bucket.changes import Read, packfuls
from crawlers.store.bucket.committing import packed
from crawlers.store.bucket.contract import is_document
from crawlers.store.bucket.log import Part
from crawlers.store.bucket.packs import MOST, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.store.bucket.committing import Committing
    from crawlers.store.bucket.documents import Documents
    from crawlers.store.bucket.state import Stored

COMMITS = 50
"""Commits after which a whole one follows."""
KEPT = 24 * 3600.0
"""Seconds that objects stay after nobody needs them: a reader may be on its way."""
_HALF = MOST // 2  # files from which on a pack is not packed again
_MUCH = 8 * 1024 * 1024  # bytes from which on it is not, either
_SMALL = 1024 * 1024  # bytes of a file up to which it goes into a pack


def sum_up(committing: Committing) -> bool:
    """Put a whole commit; return ``False`` if the folder is not as it is stored.

    Small packs, and those that are needed for less than half, are packed again, with the small files that have
    objects of their own.

    Raises:
        TakenError: another node has taken the source.
        StoreError: the store can't be written.
    """
    documents, lines, shelf = committing.replay.documents, committing.replay.lines, committing.replay.shelf
    kept = [pack for pack, live in documents.files.packs() if _stays(pack, live)]
    names = {pack.name for pack in kept}
    rest = [(file, stored) for file, stored in documents.files.each() if stored.object not in names]
    large = {file: stored for file, stored in rest if not is_document(file) and stored.size > _SMALL}
    small = [(file, stored) for file, stored in rest if file not in large]
    packs = [packed(shelf, some) for some in packfuls(_read(documents, small))]
    if sum(len(files) for _, files in packs) != len(small):
        return False  # the folder lacks a file, or has another one: what is stored stays as it is
    is_put = committing.put(
        "whole",
        packs,
        kept=kept,
        files={file: (_part(stored), stored.changed) for file, stored in large.items()},
        lines={file: committing.replay.tails.merged(file) for file in lines.growing.names()},
        removed=documents.files.dead(names),
    )
    if not is_put:
        raise committing.refused()
    return True


def empty(committing: Committing) -> None:
    """Put a whole commit that has nothing: the source is removed.

    Raises:
        TakenError: another node has taken the source.
        StoreError: the store can't be written.
    """
    documents, lines = committing.replay.documents, committing.replay.lines
    if not committing.put("whole", []):
        raise committing.refused()
    with committing.replay.state.changing():
        for file, _ in documents.files.each():
            documents.files.remove(file)
        documents.files.keep([])
        for file in lines.growing.names():
            lines.growing.remove(file)


def clean(committing: Committing, kept: float = KEPT) -> int:
    """Remove the objects and commits that nobody needs since the last whole commit; return how many.

    Args:
        kept: seconds that they stay.

    Raises:
        StoreError: the store can't be read or written.
    """
    replay = committing.replay
    oldest = (committing.lease.now() or time.time()) - kept
    names = {pack.name for pack, _ in replay.documents.files.packs()}
    names |= {stored.object for _, stored in replay.documents.files.each()}
    names |= {one.name for file in replay.lines.growing.names() for one in replay.lines.growing.segments(file)}
    removed = replay.log.clean(replay.state.fact("whole", 0), oldest)
    return removed + replay.shelf.clean(names, oldest)


def _stays(pack: Part, live: int) -> bool:
    return 2 * live >= pack.files and (pack.files >= _HALF or pack.bytes >= _MUCH)


def _read(documents: Documents, files: list[tuple[str, Stored]]) -> Iterator[Read]:
    for file, stored in files:
        if not documents.is_there(file, stored):
            return
        content = inside.read(documents.folder, file)
        if hashlib.sha256(content).hexdigest() != stored.sha256:
            return
        yield Read(Row(*stored[-3:], file, stored.sha256, content), stored.changed)


def _part(stored: Stored) -> Part:
    return Part(stored.object, stored.size, stored.sha256)
