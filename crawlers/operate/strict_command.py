"""The bases of this project's commands: they refuse mistyped options and settings, which Scrapy accepts."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from crawlers.exceptions import CrawlersError, hint
from crawlers.operate.console import MISTAKE, print_error, reporting_errors
from crawlers.operate.mirrored import bring_up
from crawlers.operate.setting_types import invalid
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Container, Iterable, Mapping

DAMAGED = 3
_LONGEST = 2_000  # characters of a sentence
_LIKE = 0.7
_CLOSE = 0.9
"""How similar an unknown setting is to a known one to be a typing error: other components have settings, too."""


class StrictCommand(ScrapyCommand):
    """A command for which an unknown option is an error; words that begin with a dash follow ``--``."""

    takes_known_settings_only = True
    """Whether a ``-s`` that is almost a known setting is refused before the command runs."""
    takes_valid_settings_only = True
    """Whether one with a value of another type is refused, too."""
    verbs: ClassVar[tuple[str, ...]] = ()
    """The words that may come first, of a command that has several."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        self.parser = parser

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options.

        Raises:
            UsageError: an option or a setting is mistyped.
        """
        self.refuse_options(args)
        known, chosen = dict(self.settings), given(opts)  # type: ignore[arg-type]  # before -s adds to them
        mistake = misspelt(chosen, known) if self.takes_known_settings_only else None
        if mistake:
            raise UsageError(mistake, print_help=False)
        super().process_options(args, opts)
        self._resolve_output()
        if self.takes_valid_settings_only and (mistake := invalid(chosen, known)):
            raise UsageError(mistake, print_help=False)

    def _resolve_output(self) -> None:
        """Let OUTPUT_DIR be a folder, also if it names a bucket; a wrong address ends the command."""
        if ":" in str(self.settings["OUTPUT_DIR"]):  # type: ignore[index]
            from crawlers.store.location import resolve  # noqa: PLC0415 -- all commands import this file

            try:
                resolve(self.settings)  # type: ignore[arg-type]
            except CrawlersError as error:
                print_error(error)
                raise SystemExit(MISTAKE) from None

    def refuse_options(self, args: list[str]) -> None:
        """Remove ``--`` from the words.

        Raises:
            UsageError: a word is an unknown option.
        """
        end = args.index("--") if "--" in args else len(args)
        unknown = next((word for word in args[:end] if word.startswith("-") and word != "-"), None)
        if unknown:
            names = set(re.findall(r"--[a-z-]+", self.parser.format_help()))
            meant = difflib.get_close_matches(unknown.partition("=")[0], names, n=1, cutoff=_LIKE)
            raise UsageError(f"there is no option {unknown[:100]}." + (f" Did you mean {meant[0]}?" if meant else ""))
        del args[end : end + 1]

    def usage(self, args: list[str]) -> str:
        """Return what the command takes, as a message; before it, the verb that a mistyped one may have meant."""
        name = self.__module__.rpartition(".")[2]
        meant = hint(args[0], self.verbs) if args and args[0] not in self.verbs else ""
        mistake = f"There is no scrapy {name} {args[0][:100]}.{meant} " if meant else ""
        return f"{mistake}scrapy {name} takes: {self.syntax()}"


class ProjectCommand(StrictCommand):
    """A command of this project: no log, and an error is a sentence and an exit code.

    Attributes:
        is_damaged: whether a source can't be read: the others can, and the exit code is `DAMAGED` if it were 0.
    """

    requires_project = True
    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}
    reads_output: ClassVar[bool] = True
    """Whether it reads OUTPUT_DIR, so that a mirror is brought up to date first."""
    interrupted: str = "Stopped."
    """The sentence when Ctrl-C or SIGTERM stops it."""
    takes_empty_store: ClassVar[bool] = False
    """Whether it has something to say if nothing was ever stored."""
    is_damaged = False

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Do what the command is for."""
        with reporting_errors(self):
            if self.reads_output:
                bring_up(self.settings, damaged=self.tell_damage, creates=self.takes_empty_store)
            self.execute(args, opts)
        if self.is_damaged and not self.exitcode:
            self.exitcode = DAMAGED

    def tell_damage(self, sentence: object) -> None:
        """Print which source can't be read."""
        self.is_damaged = True
        print_error(sentence)

    def catch_up(self, named: Collection[str] | None = None) -> None:
        """Bring the index up to date with the sources in OUTPUT_DIR.

        Args:
            named: the sources; by default all.

        Raises:
            OutputError: there is no index that can be read, and none can be made.
        """
        from crawlers.store.index import catch_up  # noqa: PLC0415 -- all commands import this file

        told = lambda sentence: print_error(one_line(sentence, _LONGEST))  # noqa: E731
        self.is_damaged |= bool(catch_up(self.path("OUTPUT_DIR"), told, named))

    def tell_replaced(self, named: Collection[str] = ()) -> None:
        """Tell that sources that the index knows have no folder any more, but something else in its place.

        Args:
            named: the sources; by default all.
        """
        from crawlers.store.index.index import replaced  # noqa: PLC0415 -- all commands import this file

        for source, sentence in replaced(self.path("OUTPUT_DIR")).items():
            if not named or source in named:
                self.tell_damage(sentence)

    def execute(self, args: list[str], opts: argparse.Namespace) -> None:
        """Do what the command is for.

        Raises:
            CrawlersError: a sentence for the user.
        """
        raise NotImplementedError

    def path(self, setting: str) -> Path:
        """Return the path that a setting names."""
        return Path(self.settings[setting])  # type: ignore[index]


class UnrecordedCommand(StrictCommand):
    """A command that leaves nothing in OUTPUT_DIR, notifies nobody, and does not count for a schedule."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options, and disable what records a run."""
        from crawlers.operate.unrecorded import leave_nothing  # noqa: PLC0415 -- all commands import this file

        super().process_options(args, opts)
        leave_nothing(self.settings)  # type: ignore[arg-type]


def given(opts: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of ``-s``; Scrapy itself refuses a word without ``=``."""
    return dict(arglist_to_dict([word for word in opts.set if "=" in word]))


def misspelt(names: Iterable[str], known: Mapping[str, Any]) -> str | None:
    """Return a message for the first setting that must be a known one with a typing error.

    >>> misspelt(["RETRY_TIME"], {"RETRY_TIMES": 5}), misspelt(["SENTRY_DSN"], {"RETRY_TIMES": 5})
    ('RETRY_TIME is not a setting. Did you mean RETRY_TIMES?', None)
    """
    for name in unknown(names, known):
        meant = difflib.get_close_matches(name.upper(), known, n=1, cutoff=_CLOSE)
        if meant:
            return f"{name[:100]} is not a setting. Did you mean {meant[0]}?"
    return None


def unknown(names: Iterable[str], known: Container[str]) -> list[str]:
    """Return the names that are not known."""
    return [name for name in names if name not in known]
