"""sources.toml as a file: its text, its tables, their time zones; the rest of them `crawlers.operate.sources` knows."""

from __future__ import annotations

import os
import tomllib
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from crawlers.exceptions import SourcesError, hint
from crawlers.safety import inside

_LARGEST = 10 * 1024 * 1024  # bytes
_LONGEST = 100  # characters of a name in a message


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


def is_listed(path: Path, source: str) -> bool:
    """Return whether sources.toml has a table of a source; ``False`` if it can't be read."""
    try:
        return source in tables(text(path), path)
    except SourcesError:
        return False


def zone(name: str) -> tzinfo:
    """Return the time zone of a name.

    Raises:
        ValueError: there is none on this machine.
    """
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # a name that is a path, or a folder's
        meant = hint(name, available_timezones())
        raise ValueError(f'{name[:_LONGEST]!r} is not a time zone.{meant} An example is "Europe/Zurich"') from None


def zone_of(path: Path, source: str | None) -> tzinfo:
    """Return the time zone that a date means for a source: that of its schedule.

    Args:
        path: of sources.toml.
        source: its name; UTC for all sources, for one that has no zone, and for one that is not listed.

    Raises:
        SourcesError: the file is there and can't be read, or names a time zone that does not exist.
    """
    return zone_in(listed(path) if source else {}, source)


def listed(path: Path) -> dict[str, Any]:
    """Return the tables as `tables` does; none if there is no file.

    Raises:
        SourcesError: the file is there and can't be read.
    """
    return tables(text(path), path) if path.exists() else {}


def zone_in(found: dict[str, Any], source: str | None) -> tzinfo:
    """Return the time zone that a date means for a source, as `zone_of` does, by the tables.

    Raises:
        SourcesError: its table names one that does not exist.
    """
    table = found.get(source) if source else None
    name = table.get("timezone") if isinstance(table, dict) else None
    try:
        return zone("UTC" if name is None else str(name))
    except ValueError as error:
        raise SourcesError(f"[{source}]: timezone: {error}.") from None
