"""Plain folders and a store: what is pulled into one, and what may be pushed from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError
from crawlers.store.bucket.log import Log
from crawlers.store.bucket.state import State

if TYPE_CHECKING:
    from crawlers.store.bucket.mirror import Mirror


def pull(mirror: Mirror, source: str) -> None:
    """Bring a plain folder up to a source, which no crawl has changed since the last time.

    Raises:
        OutputError: the folder was changed since.
        StoreError: the store can't be read, what it has of the source is damaged, or the folder can't be written.
    """
    with State(mirror.places.state(source)) as state:
        replay = mirror.replay(source, state)
        state.keeps = f"{replay.folder} was changed since it was pulled: name another folder."
        if replay.tails.has_more() and not state.fact("is_pulled"):
            raise OutputError(state.keeps)
        state.note(is_pulled=True)  # until it ends, lines may be there that are not noted
        replay.catch_up()
        state.note(is_pulled=False)


def may_push(mirror: Mirror, source: str) -> bool:
    """Return whether a folder has all that is stored of a source: nobody else has stored anything of it since.

    Raises:
        StoreError: the store can't be read, or a commit is damaged.
    """
    with State(mirror.places.state(source)) as state:
        log = Log(mirror.objects, source)
        there = log.numbers(state.head).there
        return not there or (len(there) == 1 and log.read(there[0]).sha256 == state.fact("putting"))
