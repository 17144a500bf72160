"""``scrapy release``: the metadata of all sources as files to publish."""

from __future__ import annotations

import argparse

from crawlers.operate.console import print_error
from crawlers.operate.mirrored import bring_up
from crawlers.operate.strict_command import ProjectCommand

_DIFFERS = 3
_GIVEN = ("title", "license", "publisher", "url")


class Command(ProjectCommand):
    reads_output = False  # --check does not

    takes = "FOLDER|s3://BUCKET/PREFIX [--title TEXT] [--license URL] [--publisher NAME] [--url URL] | --check FOLDER"
    summary = "Write the metadata of all sources as files to publish: Parquet, reports, changes, a page to search"
    description = (
        "A release that is there is replaced as a whole, and its changes are told; the same OUTPUT_DIR gives the same "
        "bytes. --check compares a release with its metadata.json. Exit code: 0 written, or right, 1 not written, "
        "3 a source can't be read, or a file is not as it should be."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--check", action="store_true", help="compare each file with its SHA-256")
        parser.add_argument("--title", metavar="TEXT", help="what the release is called (default: Catalogue metadata)")
        parser.add_argument("--license", metavar="URL", help="the licence that you give it (default: none is stated)")
        parser.add_argument("--publisher", metavar="NAME", help="who publishes it")
        parser.add_argument("--url", metavar="URL", help="where it is published")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.release import release
        from crawlers.store.export.output import held_sources

        given = {name: getattr(opts, name) for name in _GIVEN}
        if len(args) != 1 or (opts.check and any(given.values())):
            raise self.misuse(self.usage(args))
        if opts.check:
            sentence, differing = release.check(args[0])
            for each in differing:
                print(each)
            print(sentence)
            self.exitcode = _DIFFERS if differing else 0
            return
        bring_up(self.settings, damaged=self.tell_damage)
        output = self.path("OUTPUT_DIR")
        held_sources(output)
        self.tell_replaced()
        self.catch_up()
        print(release.release(output, args[0], given, self.settings["SPOOL_DIR"]))
        if self.is_damaged:
            print_error("What can't be read is in the release as it was read last.")
