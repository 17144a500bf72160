"""``scrapy archive``: the files that were archived, and what is known of them."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from crawlers.operate.strict_command import ProjectCommand, Verb
from crawlers.safety.names import ARCHIVE_OF

_IN = "crawlers.operate.archive"


class Command(ProjectCommand):
    verbs: Mapping[str, Verb] = {
        "status": Verb(f"{_IN}.status:status", ("by", "json"), 0, 1),
        "get": Verb(f"{_IN}.retrieval:get", ("at", "output", "force"), 1, 1),
        "verify": Verb(f"{_IN}.verification:verify", ("sample",), 0, 1),
        "prune": Verb(f"{_IN}.pruning:prune", ("yes",), 0, 0),
        "bag": Verb(f"{_IN}.collection:bag", ("output", "force", "each", "to")),
        "warc": Verb(f"{_IN}.warc:warc", ("output", "force")),
    }

    takes = (
        "status [SOURCE] [--by publisher|host] [--json] | get DATASET|RESOURCE|URL [--at DATE] [-o FILE] | "
        "verify [--sample N|PERCENT] [SOURCE] | prune [--yes] | bag DATASET ... -o x.zip | "
        "bag --each --to FOLDER|s3://BUCKET/PREFIX [SOURCE ...] | warc [SOURCE|DATASET ...] -o x.warc.gz"
    )
    summary = "Count, take out, verify, prune and pack the files of an archive"
    description = (
        "`scrapy crawl archive -a of=SOURCE` fills an archive. status counts its files; get writes one, or those "
        "of a dataset; verify hashes what is stored again; prune lists, and with --yes removes, what is not "
        "needed; bag and warc pack files with their provenance. Exit code: 0 right, 1 not done, 3 gaps or damage."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="status: print JSON")
        parser.add_argument("--by", choices=("publisher", "host"), help="status: a row for each publisher or host")
        parser.add_argument("--at", metavar="DATE", help="get: the file as it was held then, such as 2026-11-20")
        parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="get, bag, warc: the file; - for stdout")
        parser.add_argument("--each", action="store_true", help="bag: a bag for each dataset, with pages to browse")
        parser.add_argument("--to", metavar="PLACE", help="bag: the folder, or s3://bucket/prefix, for --each")
        parser.add_argument("--force", action="store_true", help="get, bag, warc: overwrite the file")
        parser.add_argument("--sample", metavar="N|PERCENT", help="verify: hash only some files: 100, or 5%%")
        parser.add_argument("--yes", action="store_true", help="prune: remove what it lists")

    def named(self, args: list[str], opts: argparse.Namespace) -> list[str]:
        """Return the sources whose archives are read; other verbs may name datasets, which any source may have."""
        names = args[1:] if args[:1] in (["status"], ["verify"]) or getattr(opts, "each", False) else []
        return [name.removeprefix(ARCHIVE_OF) for name in names]

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.archive.command import execute
        from crawlers.operate.archive.holdings import archives
        from crawlers.operate.mirrored import owning

        pruned = archives(self.path("OUTPUT_DIR")) if args[:1] == ["prune"] and opts.yes else []
        with owning(self.settings, pruned):
            self.exitcode = execute(self, args, opts)
