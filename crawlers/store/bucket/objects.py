"""The objects of a store: conditional puts, listings, and answers that may be lost."""

from __future__ import annotations

import errno
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

from crawlers.exceptions import StoreError, StoreUnreachableError
from crawlers.s3.connection import failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from obstore.store import ObjectStore

T = TypeVar("T")

SETTING = "OUTPUT_DIR"
_FIRST, _LONGEST = 0.5, 15.0  # seconds between two tries
_PAGE = 1000  # objects that a listing's request gives
_IS_BUCKET = "<Code>NoSuchBucket<"


class Entry(NamedTuple):
    """An object in a listing.

    Args:
        name: relative to the prefix.
        modified: when it was put by the server's clock, in seconds since 1970.
        tag: its ETag.
    """

    name: str
    bytes: int
    modified: float
    tag: str


class Tagged(NamedTuple):
    """An object that may be replaced by other writers."""

    body: bytes
    tag: str
    modified: float


class Objects:
    """The objects below a prefix.

    Args:
        store: obstore's.
        address: as messages name it.
        timeout: seconds that a request may take, for messages.

    Attributes:
        patience: seconds for which a request is repeated while the server gives no answer.
        is_over: set when nothing is repeated any more.
        tell: called with a sentence when a request is repeated, once until there is an answer; and when a lease is
            waited for.
    """

    def __init__(self, store: ObjectStore, address: str, timeout: float = 0) -> None:
        self.store = store
        self.address = address
        self.timeout = timeout
        self.patience = 0.0
        self.is_over = threading.Event()
        self.tell: Callable[[str], None] = lambda _: None

    def impatient(self) -> Objects:
        """Return the same objects for requests that are not repeated for long: they would be obsolete by then."""
        made = Objects(self.store, self.address, self.timeout)
        made.tell = self.tell
        return made

    def get(self, name: str, largest: int) -> bytes | None:
        """Return an object; ``None`` if there is none.

        Args:
            largest: bytes that it may have.

        Raises:
            StoreError: the store can't be read, or the object is larger; so for the methods below.
        """
        found = self.tagged(name, largest)
        return found.body if found else None

    def tagged(self, name: str, largest: int) -> Tagged | None:
        """Return an object, its ETag and when it was put; ``None`` if there is none."""
        return self._asked(partial(self._get, name, largest))

    def _get(self, name: str, largest: int) -> Tagged | None:
        try:
            found = obstore.get(self.store, name)
        except FileNotFoundError as error:
            if _IS_BUCKET in str(error):
                raise
            return None
        if found.meta["size"] > largest:
            raise StoreError(f"{self.address}/{name} has {found.meta['size']} bytes, more than {largest}.")
        return Tagged(bytes(found.bytes()), found.meta["e_tag"] or "", found.meta["last_modified"].timestamp())

    def put(self, name: str, body: bytes) -> None:
        """Put an object whose name nobody else uses."""
        self._asked(lambda: obstore.put(self.store, name, body))

    def create(self, name: str, body: bytes) -> str | None:
        """Put an object if there is none; return its ETag, ``None`` if there is another one.

        If an answer is lost, the object may be this one: its body must be unlike all that others put there.
        """
        return self._put_if(name, body, None)

    def replace(self, name: str, body: bytes, tag: str) -> str | None:
        """Put an object in the place of the one with that ETag; return the new ETag, ``None`` if there is another one.

        Its body must be unlike all that others put there, as for `create`.
        """
        return self._put_if(name, body, tag)

    def _put_if(self, name: str, body: bytes, tag: str | None) -> str | None:
        def put() -> str | None:
            mode = "create" if tag is None else {"e_tag": tag}
            try:
                return obstore.put(self.store, name, body, mode=mode, use_multipart=False)["e_tag"]  # type: ignore[arg-type]
            except (AlreadyExistsError, PreconditionError):
                found = self._get(name, 2 * len(body))
                return found.tag if found and found.body == body else None

        return self._asked(put)

    def entries(self, below: str, after: str = "") -> Iterator[Entry]:
        """Yield the objects below a folder, in the order of their names.

        Args:
            after: a name; those up to it are left out.
        """
        is_last = False
        while not is_last:
            page = self._asked(partial(self._page, below, after))
            is_last = len(page) < _PAGE
            for found in page:
                after = found["path"]
                yield Entry(after, found["size"], found["last_modified"].timestamp(), found["e_tag"] or "")

    def _page(self, below: str, after: str) -> list[Any]:
        """Return a page of a listing, by one request."""
        listing = obstore.list(self.store, below or None, offset=after or None, chunk_size=_PAGE)
        return list(next(iter(listing), []))

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects; those that are not there are ignored."""
        for name in names:
            self._asked(partial(self._remove, name))

    def _remove(self, name: str) -> None:
        try:
            obstore.delete(self.store, name)
        except FileNotFoundError as error:
            if _IS_BUCKET in str(error):
                raise

    def _asked(self, ask: Callable[[], T]) -> T:
        """Ask until there is an answer, as long as patience lasts."""
        end, pause, is_told = time.monotonic() + self.patience, _FIRST, False
        while True:
            try:
                return ask()
            except (BaseError, FileNotFoundError) as error:
                found = failure(error, self.address, SETTING, self.timeout)
            if found.errno != errno.EAGAIN:
                raise StoreError(str(found.strerror))
            if time.monotonic() + pause > end or self.is_over.wait(pause):
                raise StoreUnreachableError(str(found.strerror))
            if not is_told:
                self.tell(f"{found.strerror} It is tried again for {self.patience:.0f} seconds.")
            is_told, pause = True, min(2 * pause, _LONGEST)
