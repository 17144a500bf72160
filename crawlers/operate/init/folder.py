"""Makes a folder of catalogues."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from crawlers.exceptions import InitError

if TYPE_CHECKING:
    from pathlib import Path

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


def make(folder: Path) -> list[Path]:
    """Write the files of a folder; return their paths.

    Raises:
        InitError: the folder has one of the files or their folders already, and nothing was written; or it can't be
            written into.
    """
    try:
        _check_free(folder)
        return [_written(folder / name, template) for name, template in FILES.items()]
    except OSError as error:
        raise InitError(f"{error.filename or folder} can't be written: {error.strerror}.") from None


def _check_free(folder: Path) -> None:
    """
    Raises:
        InitError: the folder has what would be written.
    """
    for name in dict.fromkeys(name.partition("/")[0] for name in FILES):
        path = folder / name
        if path.exists() or path.is_symlink():
            raise InitError(f"{path} exists already, and nothing was written: choose another folder.")


def _written(path: Path, template: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        file.write((files(__package__) / "template" / template).read_bytes())
    return path
