"""The requests that came to the tests' servers, whatever their processes: each is a byte at the end of one file."""

import os
from pathlib import Path

FILE = "REQUESTS_COUNTED_IN"


def count() -> None:
    """Count a request, if somebody counts."""
    if path := os.environ.get(FILE):
        with Path(path).open("ab", buffering=0) as file:
            file.write(b".")


def counted() -> int:
    return Path(os.environ[FILE]).stat().st_size
