"""Where the tables are: a prefix of a bucket, or a folder that all machines see; and answers that may be lost."""

from __future__ import annotations

import errno
import os
import re
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import obstore
from deltalake.exceptions import DeltaError
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import LocalStore

from crawlers.exceptions import OutputError, StoreError, StoreUnreachableError
from crawlers.s3.connection import Patience, connected, delta_options, failure
from crawlers.safety.names import is_source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from obstore.store import ObjectStore

T = TypeVar("T")

SETTING = "OUTPUT_DIR"
_TIMEOUT = 60.0  # seconds for a request
_FIRST, _LONGEST = 0.5, 15.0  # seconds between two tries
_SYSTEM = re.compile(r"\(os error (\d{1,5})\)")
_IS_BUCKET = "<Code>NoSuchBucket<"
ENGINE = (BaseError, DeltaError, OSError)
"""What obstore and delta-rs raise when the storage does not do what they want."""


class Found(NamedTuple):
    """A small object, and its ETag."""

    body: bytes
    tag: str


class Store:
    """A prefix of a bucket, or a folder.

    Args:
        objects: obstore's view of it.
        address: ``s3://bucket/prefix`` or ``file:///folder``, as messages name it.
        options: delta-rs' options for it.
        timeout: seconds that a request may take; 0 for a folder.

    Attributes:
        patience: seconds for which a request is repeated while the server gives no answer.
        is_over: set when nothing is repeated any more.
        tell: called with a sentence when a request is repeated, once until there is an answer; and when a source is
            waited for.
    """

    def __init__(
        self, objects: ObjectStore, address: str, options: Mapping[str, str] | None = None, timeout: float = 0
    ) -> None:
        self.objects = objects
        self.address = address
        self.options = dict(options or {})
        self.timeout = timeout
        self.patience = 0.0
        self.is_over = threading.Event()
        self.tell: Callable[[str], None] = lambda _: None

    @classmethod
    def local(cls, folder: Path, address: str) -> Self:
        """Return a store in a folder, which is made.

        Raises:
            OutputError: it can't be made.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return cls(LocalStore(folder), address)
        except (OSError, BaseError) as error:
            raise OutputError(f"{folder} can't be made ({getattr(error, 'strerror', None) or error}).") from None

    @classmethod
    def bucket(cls, bucket: str, prefix: str, address: str) -> Self:
        """Return a store in a bucket; no request is made.

        Raises:
            OutputError: the environment has no credentials, or its endpoint can't be used.
        """
        patience = Patience(_TIMEOUT, retries=2)
        objects = connected(bucket, prefix, patience, SETTING)
        return cls(objects, address, delta_options(patience), patience.timeout)

    @property
    def is_local(self) -> bool:
        """Whether it is a folder."""
        return not self.address.startswith("s3://")

    def sources(self) -> list[str]:
        """Return the names of the sources that have a table, in order.

        Raises:
            StoreError: the store can't be read; so for the methods below.
        """
        found = self.asked(lambda: obstore.list_with_delimiter(self.objects)["common_prefixes"])
        return sorted(name for name in (prefix.rstrip("/") for prefix in found) if is_source(name))

    def get(self, name: str, largest: int) -> Found | None:
        """Return an object; ``None`` if there is none.

        Args:
            largest: bytes that it may have.
        """
        return self.asked(partial(self._get, name, largest))

    def _get(self, name: str, largest: int) -> Found | None:
        try:
            found = obstore.get(self.objects, name)
        except FileNotFoundError as error:
            self._check_bucket(error)
            return None
        if found.meta["size"] > largest:
            raise StoreError(f"{self.address}/{name} has {found.meta['size']} bytes, more than {largest}.")
        return Found(bytes(found.bytes()), found.meta["e_tag"] or "")

    def first(self) -> str | None:
        """Return the name of an object; ``None`` if there is none."""

        def ask() -> str | None:
            try:
                page = next(iter(obstore.list(self.objects, chunk_size=1)), [])
            except FileNotFoundError as error:
                self._check_bucket(error)
                page = []
            return page[0]["path"] if page else None

        return self.asked(ask)

    def modified(self, name: str) -> float | None:
        """Return when an object was put by the server's clock, in seconds since 1970; ``None`` if there is none."""

        def ask() -> float | None:
            try:
                return obstore.head(self.objects, name)["last_modified"].timestamp()
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None

        return self.asked(ask)

    def create(self, name: str, body: bytes) -> bool:
        """Put an object if there is none; return whether it is there now with this body."""
        return self._put_if(name, body, "create")

    def replace(self, name: str, body: bytes, tag: str) -> bool:
        """Put an object in the place of the one with that ETag; return as `create`."""
        return self._put_if(name, body, {"e_tag": tag})

    def _put_if(self, name: str, body: bytes, mode: Any) -> bool:
        def put() -> bool:
            try:
                obstore.put(self.objects, name, body, mode=mode, use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                found = self._get(name, 2 * len(body))
                return found is not None and found.body == body
            return True

        return self.asked(put)

    def remove(self, below: str) -> None:
        """Remove all objects below a folder."""

        def ask() -> None:
            for page in obstore.list(self.objects, below):
                for found in page:
                    try:
                        obstore.delete(self.objects, found["path"])
                    except FileNotFoundError as error:
                        self._check_bucket(error)

        self.asked(ask)

    def asked(self, ask: Callable[[], T]) -> T:
        """Return an answer; ask until there is one, as long as patience lasts.

        Raises:
            StoreUnreachableError: patience is at its end.
            StoreError: the answer is no.
        """
        end, pause, is_told = time.monotonic() + self.patience, _FIRST, False
        while True:
            try:
                return ask()
            except ENGINE as error:
                found = self._failure(error)
            if found.errno != errno.EAGAIN:
                raise StoreError(str(found.strerror))
            if time.monotonic() + pause > end or self.is_over.wait(pause):
                raise StoreUnreachableError(str(found.strerror))
            if not is_told:
                self.tell(f"{found.strerror} It is tried again for {self.patience:.0f} seconds.")
            is_told, pause = True, min(2 * pause, _LONGEST)

    def _failure(self, error: Exception) -> OSError:
        found = failure(error, self.address, SETTING, self.timeout)
        number = _SYSTEM.search(str(error)) if self.is_local and found.errno == errno.EAGAIN else None
        if number is None:
            return found
        return OSError(errno.EIO, f"{self.address}: {os.strerror(int(number[1]))}; check the file system.")

    @staticmethod
    def _check_bucket(error: FileNotFoundError) -> None:
        if _IS_BUCKET in str(error):
            raise error
