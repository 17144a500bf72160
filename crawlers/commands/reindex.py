"""``scrapy reindex``: makes index.sqlite anew from the manifests, the documents and the run reports."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from crawlers.commands._voice import speaking, tell
from crawlers.exceptions import OutputError
from crawlers.index import Index
from crawlers.index.current import sources_in
from crawlers.index.database import remove, usable
from crawlers.locks import is_crawled
from crawlers.strict_command import StrictCommand

if TYPE_CHECKING:
    import argparse

INCOMPLETE = 3


class Command(StrictCommand):
    """Exit code: 0 made, 1 not made, 3 made without the documents that could not be read."""

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def short_desc(self) -> str:
        return "Make index.sqlite anew from the manifests"

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self.lost = 0
        output = Path(self.settings["OUTPUT_DIR"])  # type: ignore[index]
        with speaking(self):
            if args:
                raise OutputError(f"scrapy reindex takes no {args[0]!r}: it makes the index of all sources.")
            self._make(output, sources_in(output))
            self.exitcode = INCOMPLETE if self.lost else 0

    def _make(self, output: Path, sources: list[str]) -> None:
        busy = [source for source in sources if is_crawled(output / source)]
        if busy:
            raise OutputError(f"A crawl is writing into {output / busy[0]}: make the index anew when it has ended.")
        with usable(output):
            remove(output)
        try:
            for source in sources:
                self._read(Index(output, source), output)
        except KeyboardInterrupt:
            print("index.sqlite is not whole: run scrapy reindex again.", file=sys.stderr)
            raise
        if not sources:
            print(f"{output} holds no source: there is nothing to index")

    def _read(self, index: Index, output: Path) -> None:
        with usable(output):
            index.read_reports()
            index.describe(self._tell)
            print(f"{index.source}: {sum(1 for _ in index.held())} datasets")
        index.close()

    def _tell(self, sentence: str) -> None:
        self.lost += 1
        tell(sentence)
