"""``scrapy init``: makes a folder of catalogues beside the installed package."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from crawlers.operate.strict_command import ProjectCommand

if TYPE_CHECKING:
    import argparse


class Command(ProjectCommand):
    reads_output = False

    def syntax(self) -> str:
        return "FOLDER"

    def short_desc(self) -> str:
        return "Make a folder for your catalogues"

    def long_desc(self) -> str:
        return (
            "Write scrapy.cfg, sources.toml, catalogues/ and spiders/ into a folder, in which all other commands work. "
            "Exit code: 0 written, 1 not written."
        )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        """Make the folder.

        Raises:
            InitError: it has one of the files already, or can't be written into.
        """
        from crawlers.operate.init.folder import make

        if len(args) != 1:
            raise UsageError("name one folder: init mine", print_help=False)
        for path in make(Path(args[0])):
            print(f"Wrote {path}.")
        print(f"Next: cd {shlex.quote(args[0])}, and catalogue-crawlers sources add NAME URL")
