"""Where a mirror keeps what it knows of its store: in a folder beside the sources."""

from __future__ import annotations

import hashlib
import os
import uuid
from functools import cached_property
from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError
from crawlers.safety import inside

if TYPE_CHECKING:
    from pathlib import Path

STATES = ".mirror"
"""The folder, in OUTPUT_DIR."""


class Places:
    """The files that a mirror needs besides the output.

    Args:
        folder: OUTPUT_DIR.
        address: of the store.
    """

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder / STATES / hashlib.sha256(address.encode()).hexdigest()[:16]

    @cached_property
    def writer(self) -> str:
        """The mirror's own name, which is made once.

        Raises:
            OutputError: the folder can't be written; so for the methods below.
        """
        self._make()
        path = self.folder / "writer"
        if not path.exists():
            inside.write(self.folder, path.name, uuid.uuid4().hex.encode(), f".{os.getpid()}")
        return path.read_text()[:100]

    def state(self, source: str) -> Path:
        """Return the database of a source."""
        return self._make() / f"{source}.sqlite"

    def lock(self, source: str) -> Path:
        """Return the lock file of a source."""
        return self._make() / f"{source}.lock"

    def removed(self) -> Path:
        """Return where folders of removed sources go, so that a kill leaves no half of one in its place."""
        return self._make() / "removed"

    def lock_of(self, name: str) -> Path:
        """Return the lock file of something else."""
        return self._make() / "locks" / f"{name}.lock"

    def _make(self) -> Path:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{self.folder} can't be made ({error.strerror}): check OUTPUT_MIRROR.") from None
        return self.folder
