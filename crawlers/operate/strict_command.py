"""The bases of this project's commands: they refuse mistyped options and settings, which Scrapy accepts."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from crawlers.exceptions import CrawlersError, hint, with_command
from crawlers.operate.console import MISTAKE, print_error, reporting_errors
from crawlers.operate.mirrored import bring_up
from crawlers.operate.setting_types import invalid
from crawlers.records.moment import beginning, is_date
from crawlers.safety.redact import one_line

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import Settings

DAMAGED = 3
_LONGEST = 2_000  # characters of a sentence
_FORMS = re.compile(r" \| (?![^[]*\])")  # what stands between two of them; in brackets it is between two options
_LIKE = 0.7
_CLOSE = 0.9
"""How similar an unknown setting is to a known one to be a typing error: other components have settings, too."""


class Verb(NamedTuple):
    """A word that may come first in a command, and what may follow it.

    Args:
        code: the function that does it, as ``module:name``, which is imported when it is needed.
        options: those that it takes, by the names of their values, of the options that are some verbs' alone.
        least: names that it needs.
        most: names that it takes.
    """

    code: str
    options: Collection[str] = ()
    least: int = 0
    most: int = 10_000

    @property
    def function(self) -> Callable[..., int]:
        """The function, which returns the exit code."""
        module, _, name = self.code.partition(":")
        return getattr(import_module(module), name)  # type: ignore[no-any-return]


class StrictCommand(ScrapyCommand):
    """A command for which an unknown option is an error; words that begin with a dash follow ``--``."""

    takes: ClassVar[str] = ""
    """What may follow the command's name; empty: what Scrapy's own command says."""
    summary: ClassVar[str] = ""
    """What it does, in a line."""
    description: ClassVar[str] = ""
    """The same in full, with the exit codes."""
    settings: Settings  # Scrapy sets both before it asks for anything
    crawler_process: CrawlerProcessBase
    takes_known_settings_only = True
    """Whether a ``-s`` that is almost a known setting is refused before the command runs."""
    takes_valid_settings_only = True
    """Whether one with a value of another type is refused, too."""
    verbs: Mapping[str, Verb] = MappingProxyType({})
    """The words that may come first, of a command that has several."""
    misuse: Callable[[str], Exception] = CrawlersError
    """What is raised for a wrong verb, or for wrong words after it."""

    def syntax(self) -> str:
        return self.takes or super().syntax()

    def short_desc(self) -> str:
        return self.summary or super().short_desc()

    def long_desc(self) -> str:
        return self.description or super().long_desc()

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        self.parser = parser
        parse, shown, failed = parser.parse_known_args, parser.format_help, parser.error

        def parsed(args: Any = None, namespace: Any = None) -> Any:
            parser.usage = f"scrapy {self.name} {self.takes_of(args or [])}"
            return parse(args, namespace)

        # Scrapy shows a command its words only when they are parsed
        parser.parse_known_args = parsed  # type: ignore[method-assign]
        parser.format_help = lambda: with_command(shown())  # type: ignore[method-assign]
        parser.format_usage = self._usage_line  # type: ignore[method-assign]
        parser.error = lambda message: failed(with_command(message))  # type: ignore[method-assign]

    def _usage_line(self) -> str:
        return with_command(f"Usage: {self.parser.usage}\n")

    def takes_of(self, args: Iterable[str]) -> str:
        """Return what may follow the command's name; of a command with verbs, the verb that the words name."""
        name = next((word for word in args if word in self.verbs), None)
        parts = (part.partition(" ") for part in _FORMS.split(self.syntax()))
        of_verb = [f"{name} {rest}".strip() for first, _, rest in parts if name in first.split("|")]
        return " | ".join(of_verb) or self.syntax()

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        self.refuse_options(args)
        known, chosen = dict(self.settings), given(opts)  # before -s adds to them
        mistake = misspelt(chosen, known) if self.takes_known_settings_only else None
        if mistake:
            raise UsageError(mistake, print_help=False)
        super().process_options(args, opts)
        self._resolve_output()
        if self.takes_valid_settings_only and (mistake := invalid(chosen, known)):
            raise UsageError(mistake, print_help=False)

    def _resolve_output(self) -> None:
        """Let OUTPUT_DIR be a folder, also if it names a bucket; a wrong address ends the command."""
        if ":" in str(self.settings["OUTPUT_DIR"]):
            from crawlers.store.location import resolve  # noqa: PLC0415 -- all commands import this file

            try:
                resolve(self.settings)
            except CrawlersError as error:
                print_error(error)
                raise SystemExit(MISTAKE) from None

    def refuse_options(self, args: list[str]) -> None:
        """Remove ``--`` from the words; raise `UsageError` if one before it is an unknown option."""
        end = args.index("--") if "--" in args else len(args)
        unknown = next((word for word in args[:end] if word.startswith("-") and word != "-"), None)
        if unknown:
            names = set(re.findall(r"--[a-z-]+", self.parser.format_help()))
            meant = difflib.get_close_matches(unknown.partition("=")[0], names, n=1, cutoff=_LIKE)
            raise UsageError(f"there is no option {unknown[:100]}." + (f" Did you mean {meant[0]}?" if meant else ""))
        del args[end : end + 1]

    def verb(self, args: list[str], opts: argparse.Namespace) -> tuple[Verb, list[str]]:
        """Return the verb that comes first, and the names after it.

        Raises:
            Exception: a `misuse`: there is no such verb, or it takes other names or options.
        """
        name, *names = args or [""]
        verb = self.verbs.get(name)
        if verb is None or not verb.least <= len(names) <= verb.most:
            raise self.misuse(self.usage(args))
        others = {option for other in self.verbs.values() for option in other.options}.difference(verb.options)
        for option in sorted(others):
            default = self.parser.get_default(option)
            if getattr(opts, option, default) != default:  # a verb may have more that sources.toml alone can say
                written = "-a" if option == "spargs" else f"--{option.replace('_', '-')}"
                raise self.misuse(f"scrapy {self.name} {name} takes no {written}.")
        return verb, names

    @property
    def name(self) -> str:
        return self.__module__.rpartition(".")[2]

    def usage(self, args: list[str]) -> str:
        """Return what the command or its verb takes, as a message; before it, the verb that may have been meant."""
        return f"{self.unknown_verb(args)} scrapy {self.name} takes: {self.takes_of(args[:1])}".strip()

    def unknown_verb(self, args: list[str]) -> str:
        """Return the sentence about a verb that there is not, if one is like it; empty without."""
        meant = hint(args[0], self.verbs) if args and args[0] not in self.verbs else ""
        return f"There is no scrapy {self.name} {args[0][:100]}.{meant}" if meant else ""


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
    sources: ClassVar[slice] = slice(0)
    """Which of its words are the sources that it reads; it reads all if none is named."""
    interrupted: str = "Stopped."
    """The sentence when Ctrl-C or SIGTERM stops it."""
    takes_empty_store: ClassVar[bool] = False
    """Whether it has something to say if nothing was ever stored."""
    is_damaged = False

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Do what the command is for."""
        with reporting_errors(self):
            if self.reads_output:
                named = self.named(args, opts)
                bring_up(self.settings, named, damaged=self.tell_damage, creates=self.takes_empty_store)
            self.execute(args, opts)
        if self.is_damaged and not self.exitcode:
            self.exitcode = DAMAGED

    def named(self, args: list[str], opts: argparse.Namespace) -> list[str]:
        """Return the only sources that are read; none: all are."""
        return args[self.sources]

    def tell_damage(self, sentence: object) -> None:
        """Print which source can't be read."""
        self.is_damaged = True
        print_error(sentence)

    def catch_up(self, named: Collection[str] | None = None) -> None:
        """Bring the index up to date with the sources in OUTPUT_DIR.

        Raises:
            OutputError: there is no index that can be read, and none can be made.
        """
        from crawlers.store.index import catch_up  # noqa: PLC0415 -- all commands import this file

        told = lambda sentence: print_error(one_line(sentence, _LONGEST))  # noqa: E731
        self.is_damaged |= bool(catch_up(self.path("OUTPUT_DIR"), told, named))

    def tell_replaced(self, named: Collection[str] = ()) -> None:
        """Tell that sources that the index knows have no folder any more, but something else in its place."""
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
        return Path(self.settings[setting])

    def moment(
        self,
        option: str,
        text: str | None,
        source: str | None = None,
        read: Callable[[str, tzinfo], datetime] = beginning,
    ) -> datetime | None:
        """Return the moment that an option means, in UTC; ``None`` if it is not given.

        Args:
            option: its name, for the message: ``--since``.
            text: its value: a date, or a time with its offset.
            source: the one in whose time zone a date is; UTC if there is none, or several.
            read: `crawlers.records.moment.beginning` or ``end``, for a date.

        Raises:
            CrawlersError: the text is neither a date nor a time with its offset; or sources.toml can't be read.
        """
        from crawlers.store.sources_file import zone_of  # noqa: PLC0415 -- all commands import this file

        if text is None:
            return None
        try:
            return read(text, zone_of(self.path("SOURCES_FILE"), source if is_date(text) else None))
        except ValueError as error:
            raise self.misuse(f"{option} {error}.") from None


class UnrecordedCommand(StrictCommand):
    """A command that leaves nothing in OUTPUT_DIR, notifies nobody, and does not count for a schedule."""

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options, and disable what records a run."""
        from crawlers.operate.unrecorded import leave_nothing  # noqa: PLC0415 -- all commands import this file

        super().process_options(args, opts)
        leave_nothing(self.settings)


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


def check_sources(names: Iterable[str], known: Collection[str], where: object, error: type[Exception]) -> None:
    """Check that there are sources of these names.

    Args:
        where: what has the known ones, for the message.
        error: what is raised for the first name that is not known.
    """
    for name in names:
        if name not in known:
            there = ", ".join(known) or "none"
            raise error(f"{where} has no source {name[:100]!r}.{hint(name, known)} There are: {there}.")
