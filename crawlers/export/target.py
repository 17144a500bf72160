"""Where an export goes: a file that is there when it is whole, or standard output."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from crawlers.exceptions import ExportError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def target(path: Path | None) -> Iterator[IO[bytes]]:
    """
    Args:
        path: written beside itself and renamed at the end; ``None`` for standard output.

    Raises:
        ExportError: it can't be written.
    """
    try:
        if path is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with _renamed(path) as file:
                yield file
    except BrokenPipeError:  # whoever reads has read enough
        raise
    except OSError as error:
        raise ExportError(f"{path or 'standard output'} can't be written: {error.strerror or error}.") from None


@contextmanager
def _renamed(path: Path) -> Iterator[IO[bytes]]:
    scratch = path.with_name(f".{path.name}.writing")
    try:
        with scratch.open("wb") as file:
            yield file
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
