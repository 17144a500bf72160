"""Where the files of each source are: in OUTPUT_DIR/.figures; or in a temporary folder, where that can't be written."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import FiguresError
from crawlers.safety.names import safe

if TYPE_CHECKING:
    from collections.abc import Collection

FOLDER = ".figures"


def roots(output: Path) -> list[Path]:
    """Return the folders that the files of sources are below, the first one to be written into first.

    Raises:
        FiguresError: there is no place for temporary files.
    """
    return [output.resolve() / FOLDER, temporary()]


def temporary() -> Path:
    """Return a folder that is removed when this process ends.

    Raises:
        FiguresError: there is no place for one.
    """
    try:
        return _temporary(os.getpid())
    except OSError as error:
        raise FiguresError(f"Figures need a folder for temporary files: {error.strerror}.") from None


@lru_cache(maxsize=1)
def _temporary(process: int) -> Path:
    made = Path(tempfile.mkdtemp(prefix="figures-")).resolve()
    atexit.register(lambda: discard(made) if os.getpid() == process else None)  # a fork leaves it to its parent
    return made


def of_source(root: Path, source: str) -> Path:
    """Return the folder of a source below a root."""
    return root / safe(source)


def discard(folder: Path) -> None:
    """Remove a folder; a link is not followed."""
    shutil.rmtree(folder, ignore_errors=True)


def forget(output: Path, sources: Collection[str]) -> None:
    """Remove the files of sources that are gone."""
    if not (output / FOLDER).is_symlink():
        for source in sources:
            discard(of_source(output / FOLDER, source))


def forget_all(output: Path) -> None:
    """Remove the files of all sources."""
    discard(output / FOLDER)
