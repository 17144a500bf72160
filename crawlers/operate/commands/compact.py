"""``scrapy compact``: moves the lines of old runs of a source's files into compressed ones."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from crawlers.exceptions import OutputError, StoreUnreachableError
from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand, check_sources


class Command(ProjectCommand):
    """Exit code: 0 compacted, or nothing to compact; 1 not all was compacted."""

    sources = slice(None)
    takes = "SOURCE ... | --all"
    summary = "Move old lines of manifests, errors and flaws into compressed files"
    description = (
        "All lines of manifest.jsonl, errors.jsonl and flaws.jsonl but those of the last run go into "
        "manifest-<run>.jsonl.zst, errors-<run>.jsonl.zst and flaws-<run>.jsonl.zst beside them, which everything "
        "that reads the files reads, too. Of a source in a store, small files are merged there, too, and those "
        "removed that nobody has needed for a week."
    )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--all", action="store_true", help="all sources")

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.mirrored import owning
        from crawlers.store.figures.formatting import counted
        from crawlers.store.index.index import sources_in

        output = self.path("OUTPUT_DIR")
        known = sources_in(output)
        check_sources(args, known, output, OutputError)
        if bool(args) == opts.all:
            raise OutputError("name the sources to compact, or all of them by --all.")
        self.exitcode = 0
        self.catch_up(args)  # before its offsets mean other files
        for name in args or known:
            try:
                with owning(self.settings, [name]) as owners:
                    self._compact(output / name)
                    for owner in owners.values():
                        print(f"{name}: merged in the store, {counted(owner.tidy(), 'old file')} removed")
            except StoreUnreachableError:
                raise
            except OutputError as error:
                self.exitcode = 1
                print_error(error)

    def _compact(self, folder: Path) -> None:
        from crawlers.store.figures.formatting import number, size
        from crawlers.store.folder import lock
        from crawlers.store.index.index import moved
        from crawlers.store.lines import FILES, compact

        try:
            held = lock(folder)
        except OutputError as error:
            self.exitcode = 1
            print_error(f"{folder.name}: {error}")
            return
        try:
            done = [found for file in FILES if (found := compact(folder, file))]
            moved(folder.parent, folder.name)
        except OSError as error:
            self.exitcode = 1
            print_error(f"{folder.name} was not compacted: {error.filename or folder}: {error.strerror or error}.")
            return
        finally:
            os.close(held)
        for one in done:
            lengths = f"{size(one.packed)} for {size(one.bytes)}"
            print(f"{folder.name}: {number(one.lines)} lines of {one.file} are in {one.part}, {lengths}")
        if not done:
            print(f"{folder.name}: its lines are all of one run")
