"""Machines with folders of their own, which share a store."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from crawlers.fleet.store import Mirror
from crawlers.store.location import folder_name, opened
from tests import forked
from tests.buckets import contents, documents
from tests.conftest import FAST, ROOT, Crawl, scrapy

_NUMBERS = count(1)


@dataclass
class Node:
    """A machine with its own folders, and a store that others use too.

    Args:
        folder: with its mirror, its jobs and its logs.
        address: of the store.
    """

    folder: Path
    address: str
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def output(self) -> Path:
        """Its mirror."""
        return self.folder / "mirror" / folder_name(self.address)

    def options(self, **settings: str) -> list[str]:
        folders = {f"{name.upper()}_DIR": str(self.folder / name) for name in ("jobs", "logs")}
        given = {**FAST, **folders, "OUTPUT_DIR": self.address, "OUTPUT_MIRROR": str(self.folder / "mirror")}
        given |= {"HEARTBEAT_INTERVAL": "0.2", "OUTPUT_LEASE": "2", "SOURCES_FILE": str(self.folder / "sources.toml")}
        return [
            word for name, value in {**given, **self.settings, **settings}.items() for word in ("-s", f"{name}={value}")
        ]

    def run(self, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return scrapy(words[0], *self.options(**settings), *words[1:])

    def crawl(self, site: Any, *words: str, spider: str = "hdx", **settings: str) -> Crawl:
        ran = self.run("crawl", spider, "-a", f"portal={site.url}", *words, **settings)
        return Crawl(ran.returncode, ran.stderr, self.output / spider)

    def begin(self, site: Any, *words: str, spider: str = "hdx", **settings: str) -> subprocess.Popen[str]:
        """Start a crawl."""
        command = [sys.executable, "-W", "error", "-m", "scrapy", "crawl", spider, "-a", f"portal={site.url}"]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return forked.Popen([*command, *self.options(**settings), *words], cwd=ROOT, text=True, **pipes)

    def mirror(self) -> Mirror:
        """Return another mirror of the store, which is empty."""
        return opened(self.address, self.folder / f"other{next(_NUMBERS)}")

    def stored(self) -> dict[str, bytes]:
        """Return what is in the store, as another machine reads it."""
        other = self.mirror()
        other.check(creates=False)
        other.refresh()
        return contents(other.folder)

    def has_stored(self, least: int) -> bool:
        """Return whether so many documents are stored by now."""
        other = self.mirror()
        return bool(other.sources()) and other.refresh() != [] and len(documents(contents(other.folder))) >= least
