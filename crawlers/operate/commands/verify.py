"""``scrapy verify``: compares the documents on disk with the manifests; nothing is changed."""

from __future__ import annotations

import argparse

from crawlers.exceptions import OutputError
from crawlers.operate.strict_command import ProjectCommand, check_sources


class Command(ProjectCommand):
    sources = slice(None)
    takes = "[SOURCE ...]"
    summary = "Compare the documents on disk with the manifests"
    description = (
        "Print documents that are damaged or missing, and files that no line of a manifest names. Nothing is "
        "changed. Exit code: 0 all is as the manifests say, 1 no such source, 3 something differs."
    )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.verification import verify
        from crawlers.store.index.index import sources_in

        output = self.path("OUTPUT_DIR")
        if not output.is_dir():
            raise OutputError(f"{output} is no folder: name another with -s OUTPUT_DIR=.")
        known = sources_in(output)
        self.tell_replaced(args)
        check_sources(args, known, output, OutputError)
        interval = self.settings.getfloat("LOGSTATS_INTERVAL")
        self.exitcode = verify(output, list(dict.fromkeys(args)) or known, interval)
        if not known:
            print(f"{output} holds no source: crawl one first, or name another folder with -s OUTPUT_DIR=.")
