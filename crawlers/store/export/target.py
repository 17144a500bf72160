"""The target of an export: a file that appears once it is complete, a pipe or a device, or standard output."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from crawlers.exceptions import ExportError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_STREAMS = ("/dev/", "/proc/")  # /dev/stdout is a link, perhaps to a file that a shell has opened


@contextmanager
def target(path: Path | None) -> Iterator[IO[bytes]]:
    """Open the target of an export.

    Args:
        path: a regular file is written beside itself and renamed at the end, also behind a symbolic link, which stays;
            a pipe or a device is written into. ``None`` for standard output.

    Raises:
        ExportError: it cannot be written, or the path names no file.
    """
    if path and not path.name:  # "", "." or "/"
        raise ExportError("-o names no file: give one, or - for standard output.")
    try:
        if path is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        else:
            with path.open("wb") if _is_stream(path) else _renamed(path.resolve()) as file:
                yield file
    except BrokenPipeError:  # the reader has read enough
        raise
    except OSError as error:
        raise ExportError(f"{path or 'standard output'} can't be written: {error.strerror or error}.") from None


def _is_stream(path: Path) -> bool:
    """Return whether a path must be written into and never replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or os.path.abspath(path).startswith(_STREAMS)  # noqa: PTH100


@contextmanager
def _renamed(path: Path) -> Iterator[IO[bytes]]:
    scratch = path.with_name(f".{path.name}.writing")
    scratch.unlink(missing_ok=True)  # of a killed export, or planted
    try:
        with os.fdopen(os.open(scratch, _NEW, 0o666), "wb") as file:
            yield file
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)
