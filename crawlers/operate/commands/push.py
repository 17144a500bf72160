"""``scrapy push``: stores a plain folder in S3."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError, StoreUnreachableError, hint
from crawlers.operate.console import print_error
from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse

    from crawlers.store.bucket.mirror import Mirror

NOT_ALL = 1


class Command(ProjectCommand):
    """Exit code: 0 pushed, 1 not all was pushed, 130 interrupted."""

    reads_output = False
    interrupted = "Stopped: run the same command to continue."

    def syntax(self) -> str:
        return "FOLDER s3://BUCKET/PREFIX [SOURCE ...]"

    def short_desc(self) -> str:
        return "Store a folder in S3"

    def long_desc(self) -> str:
        return (
            "Store what a folder has, such as an OUTPUT_DIR, in a bucket that several machines may share then. The "
            "same command stores what is new, and goes on after an interruption. Sources that the store has from "
            "elsewhere are refused. Exit code: 0 pushed, 1 not all was pushed, 130 interrupted."
        )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlers.operate.mirrored import Counted
        from crawlers.store.location import checked, opened

        if len(args) < 2:
            raise OutputError(f"scrapy push takes {self.syntax()}.")
        folder, address, counted = Path(args[0]), checked(args[1]), Counted("pushed")
        names = _chosen(folder, args[2:])
        here = opened(address, folder, tell=counted.count)
        here.check(creates=True)
        here.objects.tell = print_error
        there = here.sources()
        for name in names:
            _check(here, name, is_there=name in there)
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
    """
    Raises:
        OutputError: it is being crawled, or can't be read or stored.
    """
    from crawlers.store.bucket.replay import written
    from crawlers.store.folder import lock

    held = lock(here.folder / source)
    try:
        with written(here.folder / source), here.own(source):
            pass  # it stores all that there is
    finally:
        os.close(held)


def _chosen(folder: Path, names: list[str]) -> list[str]:
    """Return the sources to push: the named ones, or all.

    Raises:
        OutputError: the folder has none, or none of that name; or a store can't have one of that name.
    """
    from crawlers.store.bucket.contract import named
    from crawlers.store.index.index import sources_in

    known = sources_in(folder)
    if not known:
        raise OutputError(f"{folder} has no source: name an OUTPUT_DIR.")
    for name in names:
        if name not in known:
            raise OutputError(f"{folder} has no source {name!r}.{hint(name, known)} There are: {', '.join(known)}.")
    return [named(name) for name in names or known]


def _check(here: Mirror, source: str, *, is_there: bool) -> None:
    """
    Raises:
        OutputError: the store has the source from elsewhere, or something newer.
    """
    from crawlers.store.bucket.plain import may_push

    if is_there and not may_push(here, source):
        raise OutputError(
            f"{here.objects.address} has [{source}] already, with runs that {here.folder} has not: name an empty "
            "prefix, or pull into an empty folder."
        )
