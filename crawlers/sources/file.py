"""Reads sources.toml, and says in one sentence for each table what is wrong with it and where."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import SourcesError
from crawlers.safety import inside
from crawlers.sources.known import project
from crawlers.sources.table import source
from crawlers.sources.twice import copied, only

if TYPE_CHECKING:
    from crawlers.sources.known import Known
    from crawlers.sources.source import Source
    from crawlers.sources.twice import Copied

_LARGEST = 10 * 1024 * 1024  # bytes


def load(path: Path, known: Known | None = None) -> dict[str, Source]:
    """The sources by name, in the order of the file.

    Args:
        known: the spiders and settings that there are; by default the project's.

    Raises:
        SourcesError: it can't be read, or says what it may not: a sentence for each table that does, a line each.
    """
    found, mistakes = read(path, known)
    if mistakes:
        raise SourcesError("\n".join(mistakes.values()))
    return found


def read(path: Path, known: Known | None = None) -> tuple[dict[str, Source], dict[str, str]]:
    """The sources that are as they should be, and a sentence for each table that is not.

    Raises:
        SourcesError: it can't be read, or is no TOML.
    """
    return reads(text(path), path, known)


def reads(content: str, path: Path, known: Known | None = None) -> tuple[dict[str, Source], dict[str, str]]:
    """
    Raises:
        SourcesError: it is no TOML.
    """
    known = known or project()
    found: dict[Copied, Source] = {}
    mistakes: dict[str, str] = {}
    for name, table in _content(content, path).items():
        try:
            one = source(name, table, known)
            only(one, found.setdefault(copied(one, known), one))
        except SourcesError as error:
            mistakes[name] = f"{path}: {error}"
    return {one.name: one for one in found.values()}, mistakes


def disabled(content: str, path: Path) -> set[str]:
    """The names of the tables that say so, be they right or not.

    Raises:
        SourcesError: it is no TOML.
    """
    tables = _content(content, path).items()
    return {name for name, table in tables if isinstance(table, dict) and table.get("enabled") is False}


def _content(content: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise SourcesError(f"{path} is no TOML: {error}.") from None
    except RecursionError:
        raise SourcesError(f"{path} is no list of sources: its tables are nested too deeply.") from None


def text(path: Path) -> str:
    """
    Raises:
        SourcesError: it can't be read.
    """
    try:
        where = Path(os.path.realpath(path, strict=True))  # it may be a link
        return inside.read(where.parent, where.name, _LARGEST).decode("utf-8-sig")  # as Notepad writes it
    except FileNotFoundError:
        raise SourcesError(f"There is no {path}: `scrapy sources add NAME URL` begins it.") from None
    except OSError as error:
        raise SourcesError(f"{path} can't be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SourcesError(f"{path} can't be read: the file is not UTF-8.") from None
