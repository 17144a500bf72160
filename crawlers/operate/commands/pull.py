"""``scrapy pull``: makes a plain folder of what a store has."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError, StoreError, StoreUnreachableError
from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand, check_sources

if TYPE_CHECKING:
    from crawlers.fleet.store import Mirror
    from crawlers.operate.mirrored import Counted

DAMAGED = 3


class Command(ProjectCommand):
    reads_output = False
    interrupted = "Stopped: run the same command to continue."

    takes = "s3://BUCKET/PREFIX|file:///FOLDER FOLDER [SOURCE ...]"
    summary = "Make a plain folder of a store"
    description = (
        "Write what a store has into a folder, as a crawl of one machine leaves it. The same command pulls what "
        "is new, and goes on after an interruption. Exit code: 0 pulled, 1 not pulled, 3 without sources that are "
        "damaged or can't be written, 130 interrupted."
    )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.mirrored import Counted
        from crawlers.store.index import catch_up
        from crawlers.store.location import checked, opened

        if len(args) < 2:
            raise OutputError(f"scrapy pull takes {self.syntax()}.")
        address, folder, counted = checked(args[0]), Path(args[1]), Counted("pulled")
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"{folder} is a file: name a folder.")
        here = opened(address, folder, tell=counted.count, versions=self.settings.getbool("VERSIONS"), keeps=True)
        here.store.tell = print_error
        here.check(creates=False)
        if folder.exists() and any(folder.iterdir()) and not here.known.exists():
            raise OutputError(f"{folder} is not empty, and no copy of {address}: name another folder.")
        self.exitcode = 0
        known = here.sources()
        check_sources(args[2:], known, here.store.address, OutputError)
        for source in args[2:] or known:
            self._pull(here, source, counted)
        catch_up(folder, print_error)

    def _pull(self, here: Mirror, source: str, counted: Counted) -> None:
        """Pull a source; one that is damaged does not stop the others."""
        counted.begin(source)
        try:
            here.pull(source)
        except StoreUnreachableError:
            raise
        except StoreError as error:
            self.exitcode = DAMAGED
            print_error(error)
        else:
            print(counted.end())
