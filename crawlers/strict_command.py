"""Commands that refuse what a user mistypes, where Scrapy takes it for a word or a setting of somebody's."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

if TYPE_CHECKING:
    import argparse
    from collections.abc import Container, Iterable, Mapping

_LIKE = 0.7
_CLOSE = 0.9
"""How like a known setting an unknown one is that must be meant as that: other people's components have some, too."""


class StrictCommand(ScrapyCommand):
    """A command for which an unknown option is a mistake; words that begin with a dash stand behind ``--``."""

    takes_known_settings_only = True
    """Whether a ``-s`` that is almost a known setting is refused before the command runs."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        self.parser = parser

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """
        Raises:
            UsageError: an option or a setting is mistyped.
        """
        self.refuse_options(args)
        known = dict(self.settings)  # type: ignore[arg-type]  # before -s adds to them
        mistake = misspelt(given(opts), known) if self.takes_known_settings_only else None
        if mistake:
            raise UsageError(mistake, print_help=False)
        super().process_options(args, opts)

    def refuse_options(self, args: list[str]) -> None:
        """Take ``--`` out of the words.

        Raises:
            UsageError: a word is an option that there is not.
        """
        end = args.index("--") if "--" in args else len(args)
        unknown = next((one for one in args[:end] if one.startswith("-") and one != "-"), None)
        if unknown:
            names = set(re.findall(r"--[a-z-]+", self.parser.format_help()))
            meant = difflib.get_close_matches(unknown.partition("=")[0], names, n=1, cutoff=_LIKE)
            raise UsageError(f"there is no option {unknown[:100]}." + (f" Did you mean {meant[0]}?" if meant else ""))
        del args[end : end + 1]


def given(opts: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of ``-s``; what is no NAME=VALUE is Scrapy's to refuse."""
    return dict(arglist_to_dict([one for one in opts.set if "=" in one]))


def misspelt(names: Iterable[str], known: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the first setting that can only be meant as a known one.

    >>> misspelt(["RETRY_TIME"], {"RETRY_TIMES": 5}), misspelt(["SENTRY_DSN"], {"RETRY_TIMES": 5})
    ('RETRY_TIME is no setting. Did you mean RETRY_TIMES?', None)
    """
    for name in unknown(names, known):
        meant = difflib.get_close_matches(name.upper(), known, n=1, cutoff=_CLOSE)
        if meant:
            return f"{name[:100]} is no setting. Did you mean {meant[0]}?"
    return None


def unknown(names: Iterable[str], known: Container[str]) -> list[str]:
    return [name for name in names if name not in known]
