"""What commands do if output is in a store: they bring the mirror up to date, and store what they change in it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import CrawlersError
from crawlers.operate.console import print_error

if TYPE_CHECKING:
    from crawlers.fleet.store.owner import Owner

_FOLLOWED = 10.0  # seconds between two looks at what other nodes have stored


def _mirror(settings: Any, *, creates: bool = False) -> Any:
    """Return the mirror, if output is in a store; what it moves aside and whom it waits for is printed."""
    if not settings["OUTPUT_STORE"]:
        return None
    from crawlers.store.location import mirror  # noqa: PLC0415 -- few outputs are in a store

    found = mirror(settings, creates=creates)
    found.store.tell = print_error
    return found


def bring_up(
    settings: Any, names: Collection[str] = (), *, damaged: Callable[[str], None] = print_error, creates: bool = False
) -> None:
    """Bring the mirror up to date, if output is in a store.

    Args:
        names: of the sources, whose archives are brought up, too; without, or if one of them is not in the store:
            all, so that a message names those that there are.
        damaged: called with a sentence for each source that is damaged; the others are brought up to date.
        creates: whether an empty prefix becomes a store.

    Raises:
        StoreError: the store can't be used, or it gives no answer and the mirror has nothing.
    """
    if settings["OUTPUT_STORE"]:
        from crawlers.store import location  # noqa: PLC0415 -- few outputs are in a store

        location.bring_up(settings, None, print_error, damaged=damaged, creates=creates, known=names)


def look_again(
    settings: Any, names: Collection[str] | None = None, lost: Callable[[str], None] = print_error
) -> list[str]:
    """Bring the mirror up to date while something runs that goes on without; return the sources that have changed.

    Args:
        lost: called with a sentence if the mirror may be behind.
    """
    if not settings["OUTPUT_STORE"]:
        return []
    from crawlers.store import location  # noqa: PLC0415

    try:
        return location.bring_up(settings, names, lost, tell=print_error)
    except CrawlersError as error:
        lost(str(error))
        return []


def mend(settings: Any, names: Iterable[str], lost: Callable[[str], None]) -> None:
    """Write what somebody has removed from the mirror, if output is in a store.

    Args:
        lost: called with a sentence for what can't be brought again.
    """
    try:
        here = _mirror(settings)
    except CrawlersError as error:
        lost(str(error))
        return
    for name in names if here else ():
        try:
            with here.free(name) as source:
                if source:
                    source.bring_lost()
        except CrawlersError as error:
            lost(str(error))


@contextmanager
def owning(settings: Any, names: Iterable[str]) -> Iterator[dict[str, Owner]]:
    """Take sources, store what is changed in their folders within, and remove those whose folder is gone at the end.

    Without a store, nothing is taken.

    Raises:
        TakenError: one of them is crawled, here or on another node.
        StoreError: the store can't be used.
    """
    here = _mirror(settings, creates=True)
    if here is None:
        yield {}
        return
    with ExitStack() as stack:
        owners = {name: stack.enter_context(here.own(name)) for name in sorted(set(names))}
        yield owners
        for name, owner in owners.items():
            if not (here.folder / name).exists():
                owner.empty()


def store_rest(settings: Any, source: str) -> None:
    """Store the reports that a harvest has written or removed after a crawl; what can't be stored is stored later."""
    with suppress(CrawlersError):
        here = _mirror(settings)
        if here and here.has_rest(source):
            with here.own(source):
                pass  # it stores what there is


def stored(settings: Any, names: Iterable[str]) -> list[str]:
    """Return the sources among these that the store or the mirror has; without a store, none.

    Raises:
        StoreError: the store can't be read.
    """
    here = _mirror(settings)
    there = here.sources() if here else []
    return [name for name in names if here and (name in there or (here.folder / name).exists())]


def follow(settings: Any, changed: Callable[[list[str]], None]) -> None:
    """Bring the mirror up to date again and again, in a thread that ends with the process."""

    def look() -> None:
        while True:
            time.sleep(_FOLLOWED)
            found = look_again(settings, lost=lambda _: None)  # it was printed at the start
            if found:
                changed(found)

    if settings["OUTPUT_STORE"]:
        threading.Thread(target=look, daemon=True).start()


class Counted:
    """Prints how many files were read or stored, every ten seconds.

    Args:
        verb: such as "pulled".
    """

    def __init__(self, verb: str) -> None:
        self.verb = verb
        self.files = 0
        self.source = ""
        self.printed = time.monotonic()

    def begin(self, source: str) -> None:
        """Count the files of a source from now on."""
        self.source, self.files = source, 0

    def count(self, files: int) -> None:
        """Count files."""
        self.files += files
        if time.monotonic() - self.printed > _FOLLOWED:
            self.printed = time.monotonic()
            print_error(f"{self.source}: {self.files:,} files {self.verb} so far")

    def end(self) -> str:
        """Return the line about a source."""
        return f"{self.source}: {self.files:,} files {self.verb}" if self.files else f"{self.source}: nothing new"
