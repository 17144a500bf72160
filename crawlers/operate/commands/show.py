"""``scrapy show``: a dataset as it is, or was at a moment."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse


class Command(ProjectCommand):
    sources = slice(1)
    takes = "SOURCE DATASET [--at TIME] [--raw]"
    summary = "Show a dataset as it is, or was at a moment"
    description = (
        "DATASET is an id, a name, or what one of them begins with. "
        "Exit code: 0 shown, 1 no such source, dataset or version, or its bytes are not kept."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--at", metavar="TIME", help="as it was then: 2026-11-20 (its end), 2026-11-20T10:00Z")
        parser.add_argument("--raw", action="store_true", help="the document's bytes")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.versions import opened, version_lines
        from crawlers.records.moment import end

        with opened(self, args) as history:
            version = history.need(self.moment("--at", opts.at, args[0], end), "--at")
            if opts.raw:
                sys.stdout.buffer.write(history.body(version))
                sys.stdout.buffer.flush()
                return
            for line in version_lines(history, version):
                print(line)
