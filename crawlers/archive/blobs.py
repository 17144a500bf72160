"""What an archive keeps files in: one blob for each SHA-256."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, Protocol

from crawlers.exceptions import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO


_KEY = re.compile(r"sha256/([0-9a-f]{2})/(\1[0-9a-f]{62})")


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
    """

    location: str

    @property
    def scratch(self) -> Path:
        """Return the folder that downloads are written into, which is made; from there a local store renames them.

        Raises:
            OutputError: it can't be made.
        """

    async def put(self, content: bytes | Path, sha256: str) -> bool:
        """Store bytes, or move a complete file into the store; return whether it was not there yet.

        The blob is there as a whole afterwards, or not at all, also if the power fails. One that is there with another
        size is damaged, and replaced; a folder replaces any. After a kill between this call and the next step, a
        repeated call returns that it was there.

        Raises:
            OSError: it can't be stored; the sentence says why (``strerror``), and the file is where it was.
        """

    def open(self, sha256: str) -> BinaryIO:
        """Return a reader of a blob: a stream that can seek, and is never in memory as a whole.

        Raises:
            FileNotFoundError: there is none.
            OSError: it can't be read.
        """

    def get(self, sha256: str) -> Blob | None:
        """Return what is known of a blob; ``None`` if it is not there.

        Raises:
            OSError: the store can't be read; so for the methods below.
        """

    async def find(self, sha256: str) -> Blob | None:
        """Return what `get` does, without holding up others where that takes long."""

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


def named_by(path: str) -> str | None:
    """Return the SHA-256 of the blob that a path relative to ARCHIVE_STORE is for; ``None`` for anything else.

    >>> named_by("sha256/ab/ab" + 62 * "0") == "ab" + 62 * "0", named_by("sha256/ab/notes.txt")
    (True, None)
    """
    found = _KEY.fullmatch(path)
    return found[2] if found else None


def make_folder(folder: Path, mode: int) -> None:
    """Make a folder where there is none.

    Raises:
        OutputError: it can't be made.
    """
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder} can't be made ({error.strerror}): check ARCHIVE_STORE and SPOOL_DIR.") from None
