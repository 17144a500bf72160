"""What `scrapy sources` does: its verbs, what each may be given, and where its code is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from crawlers.operate.console import MISTAKE, print_error
from crawlers.operate.mirrored import stored
from crawlers.operate.sources.file import SourcesFile
from crawlers.operate.sources.options import HARVESTS
from crawlers.operate.sources.places import archive_of
from crawlers.operate.sources.project_context import project

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from pathlib import Path

    from crawlers.operate.strict_command import ProjectCommand

_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("country", "kind", "known", "schedule", "contact", "rules", "why", "show")),
    **dict.fromkeys(("json", "force", "review", "yes"), False),
    "spargs": [],
}
_FLAGS = {"spargs": "-a"}


class _Verb(NamedTuple):
    """A verb, and what may follow it.

    Args:
        code: the function, as ``module:name`` in this package; it takes a `Call` and returns the exit code.
        options: those that it takes.
        least: names that it needs.
        most: names that it takes.
    """

    code: str
    options: tuple[str, ...] = ()
    least: int = 0
    most: int = 10_000


_HERE = "crawlers.operate.sources"
_ADD = ("known", "schedule", "contact", "spargs", "rules", "force", "review", "yes")
_VERBS = {
    "list": _Verb("listing:print_list", ("json",), 0, 0),
    "known": _Verb("listing:print_known", ("json", "country", "kind"), 0, 1),
    "add": _Verb("add_table:add", (*_ADD, "country", "kind"), 1, 3),
    "validate": _Verb("validation:validate", ("show",)),
    "enable": _Verb("changes:enable", (), 1),
    "disable": _Verb("changes:disable", (), 1),
    "approve": _Verb("changes:approve", ("why",), 1),
    "refuse": _Verb("changes:refuse", ("why",), 1),
    "edit": _Verb("changes:edit", ("schedule", "contact", "spargs"), 1, 1),
    "schedule": _Verb("changes:schedule", (), 2),
    "rename": _Verb("rename:rename", (), 2, 2),
    "attach": _Verb("attach:attach", (), 2, 2),
    "remove": _Verb("changes:remove", (), 1),
    "purge": _Verb("purge:purge", ("yes",), 1, 1),
    "show": _Verb("show:show", ("json",), 1, 1),
}


@dataclass(frozen=True)
class Call:
    """What the user asks for.

    Args:
        names: the words after the verb.
    """

    command: ProjectCommand
    names: list[str]
    opts: argparse.Namespace

    @cached_property
    def file(self) -> SourcesFile:
        return SourcesFile(self.command.path("SOURCES_FILE"), project())  # without -s, in which names may be mistyped

    @property
    def settings(self) -> dict[str, str]:
        """Those of ``-s`` that a table may have."""
        return {name: value for name, value in arglist_to_dict(self.opts.set).items() if name not in HARVESTS}

    @property
    def output(self) -> Path:
        return self.command.path("OUTPUT_DIR")

    @property
    def jobs(self) -> Path:
        return self.command.path("JOBS_DIR")

    @property
    def logs(self) -> Path:
        return self.command.path("LOGS_DIR")


def execute(command: ProjectCommand, args: list[str], opts: argparse.Namespace) -> int:
    """Do what the first word says; return the exit code.

    Raises:
        CrawlersError: a sentence for the user.
        UsageError: there is no such verb, or it takes other names or options.
    """
    name, *names = args or ["list"]
    verb = _VERBS.get(name)
    if verb is None or not verb.least <= len(names) <= verb.most:
        raise UsageError(command.usage(args), print_help=False)
    for option, default in _DEFAULTS.items():
        if getattr(opts, option) != default and option not in verb.options:
            raise UsageError(f"scrapy sources {name} takes no {_FLAGS.get(option, f'--{option}')}.", print_help=False)
    module, _, function = verb.code.partition(":")
    return int(getattr(import_module(f"{_HERE}.{module}"), function)(Call(command, names, opts)))


def changed_folders(settings: Any, words: list[str]) -> list[str]:
    """Return the sources whose folders a verb changes, of those that a store has; ``rename`` makes others.

    Raises:
        StoreError: the store can't be read.
    """
    verb, *names = words or [""]
    if verb not in ("rename", "attach", "purge") or not names:
        return []
    there = stored(settings, [names[0], archive_of(names[0])])
    if verb == "rename":
        there += [archive_of(names[1]) if name != names[0] else names[1] for name in there if len(names) > 1]
    return there[:1] if verb == "attach" else there


def renamed(words: list[str]) -> list[str]:
    """Return the names that a source and its archive have no more after ``rename``; of other verbs, none."""
    return [words[1], archive_of(words[1])] if words[:1] == ["rename"] and len(words) > 1 else []


def report(mistakes: Mapping[str, str]) -> int:
    """Print what is wrong with tables; return the exit code."""
    for mistake in mistakes.values():
        print_error(mistake)
    return MISTAKE if mistakes else 0
