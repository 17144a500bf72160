"""Where an archive keeps its files: one blob for each SHA-256, in a folder or in S3."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO


class Blob(NamedTuple):
    """A stored file.

    Args:
        bytes: its size.
        modified: when it was stored, in seconds since 1970.
    """

    sha256: str
    bytes: int
    modified: float


class Blobs(Protocol):
    """A store of blobs.

    Attributes:
        location: ARCHIVE_STORE, as messages name it.
        scratch: the folder that downloads are written into; from there a local store renames them.
    """

    location: str
    scratch: Path

    async def put(self, path: Path, sha256: str) -> bool:
        """Move a complete file into the store; return whether it was not there yet.

        Raises:
            OSError: it can't be stored; the sentence says why.
        """

    def open(self, sha256: str) -> BinaryIO:
        """Return a reader of a blob, as a stream.

        Raises:
            FileNotFoundError: there is none.
            OSError: it can't be read.
        """

    def get(self, sha256: str) -> Blob | None:
        """Return what is known of a blob; ``None`` if it is not there."""

    def __iter__(self) -> Iterator[Blob]:
        """Yield all blobs."""

    def remove(self, sha256: str) -> None:
        """Delete a blob, if it is there."""


def key(sha256: str) -> str:
    """Return where a blob is, relative to ARCHIVE_STORE.

    >>> key("ab12")
    'sha256/ab/ab12'
    """
    return f"sha256/{sha256[:2]}/{sha256}"
