"""``scrapy reindex``: rebuilds index.sqlite from the manifests, the documents and the run reports; then .figures."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from crawlers.exceptions import DamagedSourceError, OutputError
from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand

INCOMPLETE = 3


class Command(ProjectCommand):
    """Exit code: 0 rebuilt, 1 not rebuilt, 3 rebuilt without the documents, or sources, that could not be read."""

    summary = "Rebuild index.sqlite from the manifests"

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.mirrored import mend
        from crawlers.store.index.index import sources_in

        self.lost = 0
        output = self.path("OUTPUT_DIR")
        if args:
            raise OutputError(f"scrapy reindex takes no {args[0]!r}: it rebuilds the index of all sources.")
        self.tell_replaced()
        mend(self.settings, sources_in(output), self._report)
        self._rebuild(output, sources_in(output))
        self.exitcode = INCOMPLETE if self.lost else 0

    def _rebuild(self, output: Path, sources: list[str]) -> None:
        from crawlers.safety.locks import is_crawled
        from crawlers.store.columns import forget_all, update
        from crawlers.store.index.database import connect, readable, remove, usable
        from crawlers.store.index.index import rebuild

        busy = [source for source in sources if is_crawled(output / source)]
        if busy:
            raise OutputError(f"A crawl is writing into {output / busy[0]}: run scrapy reindex when it has ended.")
        with usable(output):
            remove(output)
        forget_all(output)
        self.interrupted = "index.sqlite is incomplete: run scrapy reindex again."
        for source in sources:
            try:
                print(f"{source}: {rebuild(output, source, self._report)} datasets")
            except DamagedSourceError as error:
                self._report(str(error))
        if not sources:
            print(f"{output} holds no source: crawl one first, or name another folder with -s OUTPUT_DIR=.")
            return
        with readable(output), closing(connect(output)) as db:
            update(db, output)

    def _report(self, sentence: str) -> None:
        self.lost += 1
        print_error(sentence)
