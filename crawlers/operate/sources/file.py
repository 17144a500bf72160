"""Reads sources.toml; each invalid table gives one sentence that says what is wrong and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlers.exceptions import SourcesError, hint
from crawlers.operate.sources.duplicates import copied, only
from crawlers.operate.sources.project_context import project
from crawlers.operate.sources.table import source
from crawlers.store.sources_file import tables, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from crawlers.operate.sources.duplicates import Copied
    from crawlers.operate.sources.project_context import Known
    from crawlers.operate.sources.source import Source


@dataclass(frozen=True)
class SourcesFile:
    """sources.toml as a command uses it.

    Args:
        known: the known spiders and settings.
    """

    path: Path
    known: Known

    def read(self) -> tuple[dict[str, Source], dict[str, str]]:
        """Return the valid sources, and a sentence for each invalid table."""
        return read(self.path, self.known)

    def parse(self, content: str) -> tuple[dict[str, Source], dict[str, str]]:
        """Return the same of a text."""
        return reads(content, self.path, self.known)

    def check(self, names: Iterable[str], known: Collection[str]) -> None:
        """Check that tables of these names exist.

        Args:
            known: the names of all tables.

        Raises:
            SourcesError: there is no such source.
        """
        for name in names:
            if name not in known:
                existing = ", ".join(known) or "none"
                raise SourcesError(
                    f"{self.path} has no source {name[:100]!r}.{hint(name, known)} There are: {existing}."
                )


def load(path: Path, known: Known | None = None) -> dict[str, Source]:
    """Return the sources by name, in the order of the file.

    Args:
        known: the known spiders and settings; by default the project's.

    Raises:
        SourcesError: the file is not readable, or tables are invalid: a line for each.
    """
    found, mistakes = read(path, known)
    if mistakes:
        raise SourcesError("\n".join(mistakes.values()))
    return found


def read(path: Path, known: Known | None = None) -> tuple[dict[str, Source], dict[str, str]]:
    """Return the valid sources, and a sentence for each invalid table.

    Raises:
        SourcesError: the file is not readable, or not TOML.
    """
    return reads(text(path), path, known)


def reads(content: str, path: Path, known: Known | None = None) -> tuple[dict[str, Source], dict[str, str]]:
    """Return the valid sources of a text, and a sentence for each invalid table.

    Raises:
        SourcesError: it is not TOML.
    """
    known = known or project()
    found: dict[Copied, Source] = {}
    mistakes: dict[str, str] = {}
    for name, table in tables(content, path).items():
        try:
            one = source(name, table, known)
            only(one, found.setdefault(copied(one, known), one))
        except SourcesError as error:
            mistakes[name] = f"{path}: {error}"
    return {one.name: one for one in found.values()}, mistakes


def left_out(content: str, path: Path) -> set[str]:
    """Return the names of the tables that are disabled or not approved, valid or not.

    Raises:
        SourcesError: it is not TOML.
    """
    found = {name: table for name, table in tables(content, path).items() if isinstance(table, dict)}
    return {
        name
        for name, table in found.items()
        if table.get("enabled") is False or table.get("review") in ("open", "refused")
    }
