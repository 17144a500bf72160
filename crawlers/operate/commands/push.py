"""``scrapy push``: stores a plain folder, for several machines."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError, StoreUnreachableError
from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand, check_sources

if TYPE_CHECKING:
    from crawlers.fleet.store import Mirror

NOT_ALL = 1


class Command(ProjectCommand):
    reads_output = False
    interrupted = "Stopped: run the same command to continue."

    takes = "FOLDER s3://BUCKET/PREFIX|file:///FOLDER [SOURCE ...]"
    summary = "Store a folder, for several machines"
    description = (
        "Store what a folder has, such as an OUTPUT_DIR, in a store that several machines may share then. The "
        "same command stores what is new, and goes on after an interruption. Sources that the store has from "
        "elsewhere are refused. Exit code: 0 pushed, 1 not all was pushed, 130 interrupted."
    )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.mirrored import Counted
        from crawlers.store.contract import named
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
        here = opened(address, folder, tell=counted.count, keeps=True)
        here.check(creates=True)
        here.store.tell = print_error
        for name in names:
            if not here.may_push(name):
                raise OutputError(
                    f"{here.store.address} has [{name}] already, with runs that {here.folder} has not: name an empty "
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
    from crawlers.store.folder import lock

    held = lock(here.folder / source)
    try:
        with here.own(source):
            pass  # it stores all that there is
    finally:
        os.close(held)
