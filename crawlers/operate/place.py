"""Where files go that others fetch: a folder, or a bucket in S3. The bags of an archive and releases are written so."""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import IO, TYPE_CHECKING, BinaryIO

from crawlers.exceptions import ExportError
from crawlers.s3.address import is_address, need, parse
from crawlers.store.export.output import target

if TYPE_CHECKING:
    from collections.abc import Iterator

_LARGEST = 64 * 1024 * 1024  # bytes of what is read at once
_CHUNK = 1024 * 1024
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
    ".zip": "application/zip",
}


class Place(ABC):
    """Where files go.

    Attributes:
        name: as messages name it.
    """

    name: str

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """Return a small file; ``None`` if there is none, or it can't be one of ours.

        Raises:
            ExportError: it can't be read.
        """

    @abstractmethod
    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a file.

        Raises:
            FileNotFoundError: there is none.
            ExportError: it can't be read.
        """

    @abstractmethod
    def size(self, name: str) -> int | None:
        """Return how many bytes a file has; ``None`` if there is none.

        Raises:
            ExportError: that can't be found out.
        """

    @abstractmethod
    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file for writing, which is there as a whole afterwards, or not at all.

        Raises:
            ExportError: it can't be written.
        """

    def write(self, name: str, body: bytes) -> None:
        """Write a small file."""
        with self.open(name) as file:
            file.write(body)


class Folder(Place):
    """A folder."""

    def __init__(self, root: Path) -> None:
        self.root, self.name = root, str(root)

    def read(self, name: str) -> bytes | None:
        try:
            with self._file(name) as file:
                return file.read(_LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(name, error) from None

    def chunks(self, name: str) -> Iterator[bytes]:
        try:
            with self._file(name) as file:
                while chunk := file.read(_CHUNK):
                    yield chunk
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._unreadable(name, error) from None

    def size(self, name: str) -> int | None:
        try:
            return (self.root / name).stat().st_size
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(name, error) from None

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        path = self.root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ExportError(f"{path.parent} can't be made: {error.strerror}.") from None
        with target(path) as file:
            yield file

    def _file(self, name: str) -> BinaryIO:
        path = self.root / name
        if not S_ISREG(path.stat().st_mode):  # a folder, or a pipe that nobody writes into
            raise FileNotFoundError(name)
        return path.open("rb")

    def _unreadable(self, name: str, error: OSError) -> ExportError:
        return ExportError(f"{self.root / name} can't be read: {error.strerror}.")


class Bucket(Place):
    """A bucket.

    Args:
        option: what names it, for messages.
        spool: the folder for what is to be uploaded; by default the system's.

    Raises:
        OutputError: it is not the address of a bucket, or can't be used.
    """

    def __init__(self, address: str, option: str, spool: str | None) -> None:
        need(option, "obstore")
        from crawlers.s3.connection import Patience, connected  # noqa: PLC0415  # obstore takes long to import

        bucket, prefix = parse(address, option)
        self.name, self.spool, self.option = f"s3://{bucket}/{prefix}".rstrip("/"), spool, option
        self.timeout = Patience().timeout
        self.store = connected(bucket, prefix, Patience(), option)

    def read(self, name: str) -> bytes | None:
        import obstore  # noqa: PLC0415

        with self._failures():
            try:
                found = obstore.get(self.store, name)
                return bytes(found.bytes()) if found.meta["size"] <= _LARGEST else None
            except FileNotFoundError as error:
                self._check_bucket(error)
                return None

    def chunks(self, name: str) -> Iterator[bytes]:
        import obstore  # noqa: PLC0415

        with self._failures():
            try:
                found = obstore.get(self.store, name)
            except FileNotFoundError as error:
                self._check_bucket(error)
                found = None
            for chunk in found.stream(_CHUNK) if found else ():
                yield bytes(chunk)
        if found is None:
            raise FileNotFoundError(name)

    def size(self, name: str) -> int | None:
        import obstore  # noqa: PLC0415

        with self._failures():
            try:
                return obstore.head(self.store, name)["size"]
            except FileNotFoundError:
                return None

    @contextmanager
    def open(self, name: str) -> Iterator[IO[bytes]]:
        with tempfile.NamedTemporaryFile(dir=self.spool, prefix="spool-") as file:
            yield file
            file.flush()
            self.upload(name, Path(file.name))

    def upload(self, name: str, path: Path) -> None:
        """Write a file that is on disk.

        Raises:
            ExportError: it can't be written.
        """
        import obstore  # noqa: PLC0415

        attributes = {"Content-Type": _TYPES.get(Path(name).suffix, "application/octet-stream")}
        with self._failures():
            obstore.put(self.store, name, path, attributes=attributes)

    def copy(self, name: str, to: str) -> None:
        """Copy an object within the bucket; one that is there is replaced at once.

        Raises:
            ExportError: it can't be copied.
        """
        import obstore  # noqa: PLC0415

        with self._failures():
            obstore.copy(self.store, name, to)

    def names(self, prefix: str = "") -> Iterator[str]:
        """Yield the names of the objects.

        Args:
            prefix: the beginning of their names, up to a slash.

        Raises:
            ExportError: they can't be listed.
        """
        import obstore  # noqa: PLC0415

        with self._failures():
            for some in obstore.list(self.store, prefix or None):
                yield from (one["path"] for one in some)

    def delete(self, names: list[str]) -> None:
        """Delete objects; those that are gone already are passed over.

        Raises:
            ExportError: they can't be deleted.
        """
        import obstore  # noqa: PLC0415

        with self._failures():
            if names:
                obstore.delete(self.store, names)

    @staticmethod
    def _check_bucket(error: FileNotFoundError) -> None:
        if "<Code>NoSuchBucket<" in str(error):
            raise error

    @contextmanager
    def _failures(self) -> Iterator[None]:
        from obstore.exceptions import BaseError  # noqa: PLC0415

        from crawlers.s3.connection import failure  # noqa: PLC0415

        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            raise ExportError(str(failure(error, self.name, self.option, self.timeout).strerror)) from None


def place_of(address: str, option: str, spool: str | None) -> Place:
    """Return the place that a word names: a folder, or ``s3://bucket/prefix``.

    Args:
        option: what gave the word, for messages.
        spool: the folder for what is to be uploaded; by default the system's.

    Raises:
        OutputError: it is neither a folder nor the address of a bucket, or the bucket can't be used.
    """
    return Bucket(address, option, spool) if is_address(address, option) else Folder(Path(address))
