"""``scrapy init``: makes a folder of catalogues beside the installed package."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from scrapy.exceptions import UsageError

from crawlers.exceptions import InitError
from crawlers.operate.strict_command import ProjectCommand

FILES = {
    "scrapy.cfg": "scrapy.cfg",
    "sources.toml": "sources.toml",
    "requirements.txt": "requirements.txt",
    ".gitignore": "gitignore",
    "catalogues/README.md": "catalogues.md",
    "spiders/__init__.py": "package",
    "spiders/hdx.py": "spider",
}
"""The files of a folder, and their templates."""


class Command(ProjectCommand):
    reads_output = False

    takes = "FOLDER"
    summary = "Make a folder for your catalogues"
    description = (
        "Write scrapy.cfg, sources.toml, catalogues/ and spiders/ into a folder, in which all other commands work. "
        "Exit code: 0 written, 1 not written."
    )

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        """Make the folder."""
        if len(args) != 1:
            raise UsageError("name one folder: init mine", print_help=False)
        for path in make(Path(args[0])):
            print(f"Wrote {path}.")
        print(f"Next: cd {shlex.quote(args[0])}, and catalogue-crawlers sources add NAME URL")


def make(folder: Path) -> list[Path]:
    """Write the files of a folder; return their paths.

    Raises:
        InitError: the folder has one of the files or their folders already, and nothing was written; or it can't be
            written into.
    """
    from importlib.resources import files

    try:
        for name in dict.fromkeys(name.partition("/")[0] for name in FILES):
            path = folder / name
            if path.exists() or path.is_symlink():
                raise InitError(f"{path} exists already, and nothing was written: choose another folder.")
        for name, template in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("xb") as file:
                file.write((files("crawlers.operate") / "templates/init" / template).read_bytes())
    except OSError as error:
        raise InitError(f"{error.filename or folder} can't be written: {error.strerror}.") from None
    return [folder / name for name in FILES]
