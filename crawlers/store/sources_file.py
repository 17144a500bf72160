"""sources.toml as a file: its text and its tables; what a table may have, `crawlers.operate.sources` knows."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from crawlers.exceptions import SourcesError
from crawlers.safety import inside

_LARGEST = 10 * 1024 * 1024  # bytes


def text(path: Path) -> str:
    """Return the text of sources.toml.

    Raises:
        SourcesError: it is not readable.
    """
    try:
        where = Path(os.path.realpath(path, strict=True))  # it may be a symbolic link
        return inside.read(where.parent, where.name, _LARGEST).decode("utf-8-sig")  # as Notepad writes it
    except FileNotFoundError:
        raise SourcesError(f"There is no {path}: `scrapy sources add NAME URL` creates it.") from None
    except OSError as error:
        raise SourcesError(f"{path} can't be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SourcesError(f"{path} can't be read: the file is not UTF-8.") from None


def tables(content: str, path: Path) -> dict[str, Any]:
    """Return the tables by name; one may be no table at all.

    Args:
        content: of the file.
        path: the file's, for messages.

    Raises:
        SourcesError: it is not TOML.
    """
    try:
        return tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise SourcesError(f"{path} is not TOML: {error}.") from None
    except ValueError:  # Python's, of what is TOML
        raise SourcesError(f"{path} has a number with too many digits.") from None
    except RecursionError:
        raise SourcesError(f"{path} is not a list of sources: its tables are nested too deeply.") from None
