"""Outages of the network here: of the portals that were up before a crawl, too many are not up after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crawlers.operate.ecosystem.profiles import profiles, read
from crawlers.store.export.target import target

if TYPE_CHECKING:
    from pathlib import Path

    from crawlers.items import Kind

_UP = ("up", "moved")


class Outage(NamedTuple):
    """How many portals were up before, and how many of them are not up now."""

    before: int
    lost: int

    @property
    def percent(self) -> float:
        return 100 * self.lost / self.before if self.before else 0.0


def remember(output: Path, source: str, kind: Kind, path: Path) -> None:
    """Write the files of the profiles that are up, a line for each.

    Raises:
        ExportError: they can't be written.
    """
    with target(path) as file:
        for profile in profiles(output, source, kind):
            if profile.document.get("state") in _UP:
                file.write(f"{profile.file}\n".encode())


def compare(folder: Path, path: Path) -> Outage:
    """Return how many of the profiles that were up are not now.

    Args:
        folder: the source's.
        path: what `remember` wrote.
    """
    before = lost = 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            before += 1
            lost += read(folder, line.rstrip("\n")).get("state") not in _UP
    return Outage(before, lost)
