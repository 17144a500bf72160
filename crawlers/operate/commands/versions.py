"""``scrapy versions``: drops the bytes of former versions."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping
from contextlib import ExitStack

from crawlers.exceptions import OutputError, StoreUnreachableError
from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand, Verb, check_sources

_DAY = 24 * 3600


class Command(ProjectCommand):
    """Exit code: 0 pruned, or nothing to prune; 1 not all was pruned."""

    verbs: Mapping[str, Verb] = {"prune": Verb("")}
    sources = slice(1, None)
    takes = "prune [SOURCE ...] [--all] [--days N] [--dry-run]"
    summary = "Drop the bytes of versions that became former long ago"
    description = (
        "The lines of the manifest stay, and so does which fields changed. A store that several machines share is "
        "pruned, too. Exit code: 0 pruned, or nothing to prune; 1 not all was pruned."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--all", action="store_true", help="all sources")
        parser.add_argument("--days", metavar="N", help="keep those of the last N days (default: VERSIONS_KEEP_DAYS)")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be dropped")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.mirrored import owning
        from crawlers.store.figures.formatting import counted
        from crawlers.store.index.index import sources_in

        _, names = self.verb(args, opts)
        output = self.path("OUTPUT_DIR")
        known = sources_in(output)
        check_sources(names, known, output, OutputError)
        if bool(names) == opts.all:
            raise OutputError("name the sources whose versions are dropped, or all of them by --all.")
        before = time.time() - self._days(opts.days) * _DAY
        self.exitcode = 0
        for name in names or known:
            try:
                with owning(self.settings, () if opts.dry_run else [name]) as owners:
                    self._prune(name, before, is_tried=opts.dry_run)
                    for owner in owners.values():
                        if count := owner.forget(before):
                            print(f"{name}: {counted(count, 'version')} dropped from the store")
            except StoreUnreachableError:
                raise
            except (OSError, OutputError) as error:
                self.exitcode = 1
                print_error(f"{name}: {getattr(error, 'strerror', None) or error}")

    def _days(self, text: str | None) -> int:
        """
        Raises:
            OutputError: there is no number, or none of days.
        """
        if text is None:
            days = self.settings.getint("VERSIONS_KEEP_DAYS")
            if not days:
                raise OutputError("VERSIONS_KEEP_DAYS is 0, so versions are kept for ever: name the days by --days N.")
            return days
        if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= 100_000):
            raise OutputError(f"--days {text[:100]!r} is not a whole number from 1 to 100000.")
        return int(text)

    def _prune(self, name: str, before: float, *, is_tried: bool) -> None:
        """
        Raises:
            OutputError: the source is crawled, or its versions can't be read.
            OSError: its versions can't be written.
        """
        from crawlers.store.figures.formatting import counted, size
        from crawlers.store.folder import lock
        from crawlers.store.versions import FILE, Versions

        folder = self.path("OUTPUT_DIR") / name
        with ExitStack() as stack:
            if is_written := not is_tried and (folder / FILE).exists():
                stack.callback(os.close, lock(folder))
            with Versions.reading(folder) as versions:  # a damaged file is left as it is
                count, taken = versions.older(before)
            if is_written:
                with Versions.writing(folder) as versions:
                    versions.prune(before)
        print(f"{name}: {counted(count, 'version')} {'would be dropped' if is_tried else 'dropped'}, {size(taken)}")
