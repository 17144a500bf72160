"""``scrapy push``: stores a plain folder in S3."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError, StoreUnreachableError
from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand, check_sources

if TYPE_CHECKING:
    from crawlers.store.bucket.mirror import Mirror

NOT_ALL = 1


class Command(ProjectCommand):
    reads_output = False
    interrupted = "Stopped: run the same command to continue."

    takes = "FOLDER s3://BUCKET/PREFIX [SOURCE ...]"
    summary = "Store a folder in S3"
    description = (
        "Store what a folder has, such as an OUTPUT_DIR, in a bucket that several machines may share then. The "
        "same command stores what is new, and goes on after an interruption. Sources that the store has from "
        "elsewhere are refused. Exit code: 0 pushed, 1 not all was pushed, 130 interrupted."
    )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.mirrored import Counted
        from crawlers.store.bucket.contract import named
        from crawlers.store.bucket.plain import may_push
        from crawlers.store.index.index import sources_in
        from crawlers.store.location import checked, opened

        if len(args) < 2:
            raise OutputError(f"scrapy push takes {self.syntax()}.")
        folder, address, counted = Path(args[0]), checked(args[1]), Counted("pushed")
        known = sources_in(folder)
        if not known:
            raise OutputError(f"{folder} has no source: name an OUTPUT_DIR.")
        check_sources(args[2:], known, folder, OutputError)
        names = [named(name) for name in args[2:] or known]
        here = opened(address, folder, tell=counted.count)
        here.check(creates=True)
        here.objects.tell = print_error
        there = here.sources()
        for name in names:
            if name in there and not may_push(here, name):
                raise OutputError(
                    f"{here.objects.address} has [{name}] already, with runs that {here.folder} has not: name an empty "
                    "prefix, or pull into an empty folder."
                )
        for name in names:
            counted.begin(name)
            try:
                _push(here, name)
            except StoreUnreachableError:
                raise
            except OutputError as error:
                self.exitcode = NOT_ALL
                print_error(f"{name} was not pushed: {error}")
            else:
                print(counted.end())


def _push(here: Mirror, source: str) -> None:
    from crawlers.store.bucket.replay import written
    from crawlers.store.folder import lock

    held = lock(here.folder / source)
    try:
        with written(here.folder / source), here.own(source):
            pass  # it stores all that there is
    finally:
        os.close(held)
