"""Responses whose body is in a temporary file."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import NotSupported
from scrapy.http import Response

if TYPE_CHECKING:
    from typing import BinaryIO

    from crawlers.components.spool.file import SpooledFile

_HEAD = 64 * 1024


class DiskResponse(Response):
    """An answer whose body is on disk: its ``body`` is empty, and copies share what is on disk."""

    def replace(self, *arguments: Any, cls: type[Response] | None = None, **keywords: Any) -> Response:  # type: ignore[override]
        """Return a copy with other attributes and the same file, always of this class: no other can have the file.

        With a ``body``, it is an ordinary response.
        """
        if keywords.get("body"):
            known = {name: getattr(self, name) for name in Response.attributes}
            return (cls or Response)(*arguments, **known | keywords)
        if cls is not None and not issubclass(cls, DiskResponse):
            keywords.pop("encoding", None)
            cls = None
        return super().replace(*arguments, cls=cls, **keywords)

    def to_dict(self) -> dict[str, Any]:
        """Refuse to be stored: the stored body would be empty.

        Raises:
            NotSupported: always.
        """
        raise NotSupported(f"{self} can't be stored: its body is in a temporary file")


class SpooledResponse(DiskResponse):
    """An answer too large for memory: read it with `open`, unpacked, as often as you like; its ``body`` is empty.

    Copies share the file. It is removed with the last response and reader of it, or with the process.

    Args:
        file: the body, without content encodings.
        received: the bytes received, with content encodings.
    """

    attributes: tuple[str, ...] = (*Response.attributes, "file", "received")

    def __init__(self, *arguments: Any, file: SpooledFile, received: int, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.file = file
        self.received = received

    @classmethod
    def from_response(cls, response: Response, file: SpooledFile, received: int) -> Self:
        """Return the same answer, with its body in the file."""
        known = {name: getattr(response, name) for name in Response.attributes}
        return cls(**known | {"body": b"", "file": file, "received": received})

    def open(self) -> BinaryIO:
        """Return a new reader of the body, at the beginning."""
        return self.file.open()

    @property
    def size(self) -> int:
        """The bytes that `open` returns."""
        return self.file.size

    @property
    def head(self) -> bytes:
        """The first 64 KiB."""
        with self.open() as reader:
            return reader.read(_HEAD)


def open_body(response: Response) -> BinaryIO:
    """Return the answer's body as a file, wherever it is kept."""
    return response.open() if isinstance(response, SpooledResponse) else io.BytesIO(response.body)
