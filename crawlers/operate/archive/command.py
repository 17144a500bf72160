"""What `scrapy archive` does: one function for each of its words."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from crawlers.exceptions import ArchiveError, DamagedError
from crawlers.operate.archive.holdings import Holdings
from crawlers.operate.console import print_error

if TYPE_CHECKING:
    import argparse

    from crawlers.operate.strict_command import ProjectCommand

DAMAGED = 3
_DEFAULTS = {"json": False, "by": None, "at": None, "output": None, "force": False, "sample": None, "yes": False}


class _Word(NamedTuple):
    """A word, and what may follow it.

    Args:
        code: the function, as ``module:name``; it takes the holdings, the names and the options.
        least: names that it needs.
        most: names that it takes.
    """

    code: str
    options: tuple[str, ...] = ()
    least: int = 0
    most: int = 10_000


_HERE = "crawlers.operate.archive"
_WORDS = {
    "status": _Word(f"{_HERE}.status:status", ("by", "json"), 0, 1),
    "get": _Word(f"{_HERE}.retrieval:get", ("at", "output", "force"), 1, 1),
    "verify": _Word(f"{_HERE}.verification:verify", ("sample",), 0, 1),
    "prune": _Word(f"{_HERE}.pruning:prune", ("yes",), 0, 0),
    "bag": _Word(f"{_HERE}.bag:bag", ("output", "force"), 1),
    "warc": _Word(f"{_HERE}.warc:warc", ("output", "force")),
}


def execute(command: ProjectCommand, args: list[str], opts: argparse.Namespace) -> int:
    """Do what the first word says; return the exit code.

    Raises:
        ArchiveError: there is no such word, or it takes other names or options.
        CrawlersError: a sentence for the user.
    """
    name, *names = args or [""]
    word = _WORDS.get(name)
    if word is None or not word.least <= len(names) <= word.most:
        raise ArchiveError(command.usage(args))
    _refuse_options(name, word, opts)
    module, _, function = word.code.partition(":")
    settings = command.settings
    assert settings is not None  # noqa: S101  # Scrapy sets them
    with Holdings(command.path("OUTPUT_DIR"), settings) as holdings:
        try:
            code = int(getattr(import_module(module), function)(holdings, names, opts))
        except DamagedError as error:
            print_error(error)
            return DAMAGED
        return code or (DAMAGED if holdings.damaged else 0)


def _refuse_options(name: str, word: _Word, opts: argparse.Namespace) -> None:
    """
    Raises:
        ArchiveError: an option is another word's.
    """
    other = [one for one, default in _DEFAULTS.items() if getattr(opts, one) != default and one not in word.options]
    if other:
        raise ArchiveError(f"scrapy archive {name} takes no --{other[0]}.")
