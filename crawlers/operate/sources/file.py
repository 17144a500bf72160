"""sources.toml: read, checked and changed; each invalid table gives one sentence that says what is wrong and where."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from os.path import normpath
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from crawlers.arguments import Argument
from crawlers.exceptions import SourcesError
from crawlers.operate.console import MISTAKE, print_error
from crawlers.operate.sources import edit, keys
from crawlers.operate.sources.source import HARVESTS, Known, Source, project, read_source
from crawlers.operate.strict_command import ProjectCommand, check_sources
from crawlers.records import curation
from crawlers.store.sources_file import tables, text

_STATES: dict[str, tuple[dict[str, Any], str]] = {
    "enable": ({"enabled": True}, "is enabled."),
    "disable": ({"enabled": False}, "is disabled: --all and --due skip it."),
    "approve": ({"review": "approved"}, "is approved."),
    "refuse": ({"review": "refused"}, "is refused: no harvest takes it."),
}
"""What each verb writes into a table, and what it says."""
_CRAWLED = {"spider", "arguments", *curation.KEYS}
"""The keys that a spider may refuse."""


class ChangedError(SourcesError):
    """A table is not as it was when somebody began to change it."""


def digest(table: Any) -> str:
    """Return a hash of a table: it is another one if anything in the table was changed.

    >>> digest({"spider": "ckan", "enabled": True}) == digest({"enabled": True, "spider": "ckan"})
    True
    """
    return hashlib.sha256(json.dumps(table, sort_keys=True, default=str).encode()).hexdigest()


@dataclass(frozen=True)
class SourcesFile:
    """sources.toml; each change locks and replaces it.

    Args:
        known: the known spiders and settings; by default the project's.
    """

    path: Path
    known: Known = field(default_factory=project)

    def read(self) -> tuple[dict[str, Source], dict[str, str]]:
        """Return the valid sources in the order of the file, and a sentence for each invalid table.

        Raises:
            SourcesError: the file is not readable, or not TOML.
        """
        return self.parse(text(self.path))

    def parse(self, content: str) -> tuple[dict[str, Source], dict[str, str]]:
        """Return the same of a text.

        Raises:
            SourcesError: it is not TOML.
        """
        found: dict[Copied, Source] = {}
        mistakes: dict[str, str] = {}
        for name, table in tables(content, self.path).items():
            try:
                one = read_source(name, table, self.known)
                only(one, found.setdefault(copied(one, self.known), one))
            except SourcesError as error:
                mistakes[name] = f"{self.path}: {error}"
        return {one.name: one for one in found.values()}, mistakes

    def left_out(self, content: str) -> set[str]:
        """Return the names of a text's tables that are disabled or not approved, valid or not.

        Raises:
            SourcesError: it is not TOML.
        """
        found = {name: table for name, table in tables(content, self.path).items() if isinstance(table, dict)}
        return {
            name
            for name, table in found.items()
            if table.get("enabled") is False or table.get("review") in ("open", "refused")
        }

    def check(self, names: Iterable[str], known: Collection[str]) -> None:
        """Check that tables of these names exist.

        Args:
            known: the names of all tables.

        Raises:
            SourcesError: there is no such source.
        """
        check_sources(names, known, self.path, SourcesError)

    def named(self, names: Iterable[str]) -> dict[str, Source]:
        """Return the sources of these names.

        Raises:
            SourcesError: there is no such source, or its table is invalid.
        """
        names, (found, mistakes) = list(names), self.read()
        self.check(names, {**found, **mistakes})
        for name in names:
            if name in mistakes:
                raise SourcesError(mistakes[name])
        return {name: found[name] for name in names}

    def set_state(
        self, verb: str, names: Collection[str], why: str | None = None, seen: str | None = None
    ) -> list[str]:
        """Enable, disable, approve or refuse sources, all or none; return a sentence for each.

        Args:
            seen: as of `change`.

        Raises:
            SourcesError: there is no such source, it would be enabled and is invalid, the reason has several lines, or
                the file can't be written.
            CrawlersError: it would be enabled, and its spider refuses its arguments.
        """
        written, sentence = _STATES[verb]
        comment = {"review_comment": why} if "review" in written else {}
        self.change(names, written | comment, may_stay_invalid=verb != "enable", seen=seen)
        return [f"[{name}] {sentence}" for name in names]

    def change(
        self,
        names: Collection[str],
        changes: dict[str, Any],
        *,
        may_stay_invalid: bool = False,
        seen: str | None = None,
    ) -> None:
        """Change keys of several tables, all or none.

        Args:
            changes: the new values, as `crawlers.operate.sources.edit.update` takes them.
            may_stay_invalid: whether a table may be changed that is invalid for another reason.
            seen: the digest of the table that the user saw; by default any may be changed.

        Raises:
            ChangedError: the table is another one by now.
            SourcesError: there is no such source, a change makes a table invalid, or the file can't be written.
            CrawlersError: a spider refuses its arguments, if these are new, or the source is enabled.
        """

        def changed(content: str) -> str:
            found, before = self.parse(content)
            self.check(names, {**found, **before})
            for name in names:
                if seen is not None and digest(tables(content, self.path)[name]) != seen:
                    raise ChangedError(f"[{name}] was changed meanwhile: look at it again. Nothing was overwritten.")
                content = edit.update(content, name, changes)
            sources, after = self.parse(content)
            for name, mistake in after.items():
                if mistake != before.get(name) or (name in names and not may_stay_invalid):
                    raise SourcesError(mistake)
            is_ready = not _CRAWLED.intersection(changes) and not changes.get("enabled")
            for source in (sources[name] for name in names) if not is_ready else ():
                if source.enabled:
                    self.known.check_ready(source)
            return content

        edit.write(self.path, changed)


@dataclass(frozen=True)
class Call:
    """What the user asks `scrapy sources` for."""

    command: ProjectCommand
    verb: str
    names: list[str]
    opts: argparse.Namespace

    @cached_property
    def file(self) -> SourcesFile:
        return SourcesFile(self.command.path("SOURCES_FILE"))  # without -s, in which names may be mistyped

    @property
    def arguments(self) -> dict[str, str]:
        """Those of ``-a``.

        Raises:
            UsageError: one is not NAME=VALUE.
        """
        try:
            return dict(arglist_to_dict(self.opts.spargs))
        except ValueError:
            raise UsageError("-a is not NAME=VALUE", print_help=False) from None

    @property
    def settings(self) -> dict[str, str]:
        """Those of ``-s`` that a table may have."""
        return {name: value for name, value in arglist_to_dict(self.opts.set).items() if name not in HARVESTS}

    @property
    def folders(self) -> tuple[Path, Path, Path]:
        """OUTPUT_DIR, JOBS_DIR and LOGS_DIR."""
        output, jobs, logs = map(self.command.path, ("OUTPUT_DIR", "JOBS_DIR", "LOGS_DIR"))
        return output, jobs, logs

    @property
    def output(self) -> Path:
        return self.folders[0]

    @property
    def jobs(self) -> Path:
        return self.folders[1]


def report(mistakes: Mapping[str, str]) -> int:
    """Print what is wrong with tables; return the exit code."""
    for mistake in mistakes.values():
        print_error(mistake)
    return MISTAKE if mistakes else 0


# Two sources that would copy the same


Copied = tuple[str, frozenset[tuple[str, str]]]
"""What a source copies: its address, and the arguments that narrow it."""


def copied(source: Source, known: Known) -> Copied:
    """Return what a source copies; the same for two sources that copy the same."""
    spider, own = known.spiders[source.spider], _address_argument(source, known)
    rest = frozenset((name, value) for name, value in source.arguments.items() if name != own)
    return _plain(address(source, known) or "", spider.arguments[own]), rest


def address(source: Source, known: Known) -> str | None:
    """Return where a source's catalogue is: as its table says, else as its spider does."""
    spider = known.spiders[source.spider]
    return source.arguments.get(_address_argument(source, known)) or getattr(spider, spider.address, None)


def misplaced(source: Source, known: Known) -> str:
    """Return why a source's address is hardly one of its kind, as a sentence; empty if it may be one."""
    kind, where = known.kind_of(source.spider), address(source, known)
    return kind.misplaced(where) if kind and where else ""


def _address_argument(source: Source, known: Known) -> str:
    """Return the name of the argument that says where a source's catalogue is."""
    spider = known.spiders[source.spider]
    return next((name for name in spider.other_addresses if name in source.arguments), spider.address)


def only(source: Source, other: Source) -> None:
    """Check that a source is the only one that copies its catalogue.

    Raises:
        SourcesError: another source does.
    """
    if other is not source:
        raise SourcesError(
            f"[{source.name}] harvests what [{other.name}] does: the same address with the same arguments."
        )


def _plain(where: str, argument: Argument) -> str:
    """Return an address, or a file, as the spider understands it: host names are compared case-insensitively."""
    value = str(argument.parse(where))
    if "://" not in value:
        return normpath(Path.cwd() / value)
    parts = urlsplit(value)
    return parts._replace(netloc=parts.netloc.lower(), path=parts.path or "/").geturl()


# The verbs that change tables: each prints what it did


def set_state(call: Call) -> int:
    """Enable, disable, approve or refuse sources."""
    if call.verb == "refuse" and not call.opts.why:
        raise UsageError("--why is missing.", print_help=False)
    print("\n".join(call.file.set_state(call.verb, call.names, call.opts.why)))
    return 0


def schedule(call: Call) -> int:
    """Set when a source is due; ``none``: only when it is named."""
    name, *words = call.names
    when = " ".join(words)
    call.file.change([name], {"schedule": None if when.lower() == "none" else when})
    found = call.file.read()[0][name].schedule
    how = f"is due {found.text}, in {found.timezone}" if found else "has no schedule: --due skips it"
    print(f"[{name}] {how}.")
    return 0


def edit_table(call: Call) -> int:
    """Change keys of a source's table; an empty value removes a key."""
    (name, *words), opts = call.names, call.opts
    changes = keys.change(words)
    for key, given in {"arguments": call.arguments, "settings": call.settings}.items():
        if given:
            changes[key] = changes.get(key, {}) | {inner: value or None for inner, value in given.items()}
    for key in ("schedule", "contact"):
        if (value := getattr(opts, key)) is not None:
            changes[key] = value or None
    if not changes:
        raise UsageError(f"name what to change. The keys are: {', '.join(keys.KEYS)}.", print_help=False)
    call.file.change([name], changes)
    leaves = (leaf for key, change in changes.items() for leaf in edit.leaves(key, change))
    said = (f"{_short(path)} {'is removed' if value is None else f'= {_said(value)}'}" for path, value in leaves)
    print(f"[{name}] is changed: {', '.join(said)}.")
    return 0


def _short(path: tuple[str, ...]) -> str:
    """Return how -a and -s name a key of the two large tables; another one as edit does."""
    return ".".join(path[1:] if path[0] in ("arguments", "settings") else path)


def _said(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def remove(call: Call) -> int:
    """Remove tables; what was harvested stays."""
    file, names = call.file, dict.fromkeys(call.names)
    removed: dict[str, Source] = {}

    def without(content: str) -> str:
        found, mistakes = file.parse(content)
        file.check(names, {**found, **mistakes})
        removed.update(found)
        return reduce(edit.remove, names, content)

    edit.write(file.path, without)
    for name in names:
        print(f"[{name}] is removed from {file.path}.{_what_stays(call.output / name, removed.get(name), file.known)}")
    return 0


def _what_stays(folder: Path, source: Source | None, known: Known) -> str:
    harvested = f" Its documents stay in {folder}: scrapy sources purge {folder.name} deletes them."
    kind = known.kind_of(source.spider) if source else None
    rules = source.arguments.get(kind.address) if source and kind and kind.takes_file else None
    return (harvested if folder.exists() else "") + (
        f" Its rules stay in {rules}." if rules and Path(rules).exists() else ""
    )
