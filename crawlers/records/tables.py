"""The tables of words and names that stand in TOML and CSV files beside their readers, for translators to edit."""

from __future__ import annotations

import csv
import tomllib
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def toml_table(package: str, name: str) -> dict[str, Any]:
    """Return a package's TOML file; the package may be in a zipped egg.

    >>> toml_table("crawlers.records", "frequencies.toml")["de"]["DAILY"]
    ['täglich']
    """
    return tomllib.loads(_text(package, name))


def csv_rows(package: str, name: str) -> Iterator[list[str]]:
    """Yield the rows of a package's CSV file, without its comments and its header.

    >>> next(csv_rows("crawlers.records", "languages.csv"))
    ['ar', 'ar ara arabic العربية']
    """
    rows = csv.reader(line for line in _text(package, name).splitlines() if not line.startswith("#"))
    next(rows)
    yield from rows


def _text(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
