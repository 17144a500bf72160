"""What a harvest says may find no ear any more: a pipe that is closed, a full disk, a terminal that is gone."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO


@contextmanager
def unheard() -> Iterator[None]:
    """Around whatever is said: what can't be written is lost, and what comes after it; the crawls go on."""
    with suppress(OSError):
        yield
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _silence(stream.fileno())


def open_streams() -> None:
    """Gives a harvest that was begun with closed ones (``>&-``) others, that nobody hears."""
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()


def _nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", closefd=False)


def _silence(descriptor: int) -> None:
    """Else Python tries once more when it ends, and makes it exit code 120."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
