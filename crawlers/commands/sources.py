"""``scrapy sources``: the catalogues that are harvested, in sources.toml."""

from __future__ import annotations

import json
import shutil
import signal
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from crawlers import signals
from crawlers.commands._probe import probe
from crawlers.commands._voice import MISTAKE, speaking, tell
from crawlers.exceptions import CrawlersError, SourcesError, hint
from crawlers.harvest import choice
from crawlers.safety.redact import redact
from crawlers.sources import edit, overview
from crawlers.sources.adding import Adding, ready
from crawlers.sources.coverage import coverage
from crawlers.sources.coverage import lines as covered
from crawlers.sources.file import read, reads, text
from crawlers.sources.kept import kept
from crawlers.sources.known import project
from crawlers.sources.overview import Standing
from crawlers.sources.setting import HARVESTS
from crawlers.sources.trial import Trial, trial
from crawlers.sources.twice import address
from crawlers.strict_command import StrictCommand

if TYPE_CHECKING:
    import argparse

    from crawlers.sources.learned import Learned
    from crawlers.sources.source import Source

NOT_RIGHT = 3
_LONGEST = 1000  # characters of what an address gave


class Command(StrictCommand):
    """Exit code: 0 done, 1 a mistake, 3 a dry run that is neither complete nor partial."""

    requires_project = True
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    takes_known_settings_only = False  # those of a table are checked with it

    def syntax(self) -> str:
        return "[--json] | add NAME [SPIDER] URL | validate [NAME ...] | enable|disable|remove NAME ..."

    def short_desc(self) -> str:
        return "List the sources of sources.toml; add, validate, enable, disable and remove them"

    def long_desc(self) -> str:
        return (
            "Without arguments: the sources with their last verdict and when they are due. add finds out what an "
            "address is, and writes the table, with -s in it. validate crawls at most 20 records of each into a "
            "temporary folder, and shows what would come. Exit code: 0 done, 1 a mistake, 3 a dry run that went wrong."
        )

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--json", action="store_true", help="the list, for programs")
        group = parser.add_argument_group(title="Adding")
        group.add_argument("--schedule", metavar="WHEN", help='"daily", "weekly sun 01:00-05:00", "15 3 * * *"')
        group.add_argument("--contact", metavar="TEXT", help="whom to ask at the catalogue; for people")
        group.add_argument("-a", dest="spargs", action="append", default=[], metavar="NAME=VALUE", help="an argument")
        group.add_argument(
            "--rules", metavar="FILE", help="where learned rules go; default: catalogues/NAME.toml beside sources.toml"
        )
        group.add_argument("--force", action="store_true", help="write the table whatever is found at the address")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        self.exitcode = 0
        self.path = Path(self.settings["SOURCES_FILE"])  # type: ignore[index]
        self.given = arglist_to_dict(opts.set)
        with speaking(self):
            self.known = project()  # without -s, in which names may be mistyped
            self._run(args, opts)

    def _run(self, args: list[str], opts: argparse.Namespace) -> None:
        word, *names = args or ["list"]
        does = {"validate": self._validate, "enable": self._enable, "disable": self._disable, "remove": self._remove}
        if word == "list" and not names:
            self._list(opts.json)
        elif word == "add" and len(names) in (2, 3):
            self._add(names, opts)
        elif word in does and (names or word == "validate"):
            does[word](names)
        else:
            raise UsageError(f"scrapy sources {self.syntax()}", print_help=False)

    # The list

    def _list(self, as_json: bool) -> None:
        found, mistakes = read(self.path, self.known)
        output, now = Path(self.settings["OUTPUT_DIR"]), datetime.now(UTC)  # type: ignore[index]
        jobs = Path(self.settings["JOBS_DIR"])  # type: ignore[index]
        standings = [
            Standing(one.source, address(one.source, self.known), one.last, now if one.taken else one.time, one.taken)
            for one in choice.due(found, output, jobs, now)
        ]
        if as_json:
            print(json.dumps([one.plain() for one in standings], indent=2))
        elif standings:
            print("\n".join(overview.lines(standings)))
        elif not mistakes:
            print(f"{self.path} has no source yet: scrapy sources add NAME URL adds one.")
        self._told(mistakes)

    def _told(self, mistakes: dict[str, str]) -> None:
        for mistake in mistakes.values():
            tell(mistake)
            self.exitcode = MISTAKE

    # Adding

    def _add(self, names: list[str], opts: argparse.Namespace) -> None:
        name, address, spider = names[0], names[-1], names[1] if len(names) == 3 else None
        self._is_new(name, text(self.path) if self.path.exists() else "")
        rules = Path(opts.rules or self.path.parent / "catalogues" / f"{name}.toml")
        adding = Adding(name, spider, address, self._table(opts), rules, self.known, force=opts.force)
        source = self._found(adding)
        learned = adding.learned.rules if adding.learned else None
        with kept(rules, learned) if learned else nullcontext():
            edit.write(self.path, lambda before: self._added(before, source))
        self._say_added(adding, source)

    def _added(self, before: str, source: Source) -> str:
        """
        Raises:
            SourcesError: another has written such a source meanwhile; or it would harvest what another does.
        """
        self._is_new(source.name, before)
        content = edit.add(before, source)
        _, mistakes = reads(content, self.path, self.known)
        if source.name in mistakes:
            raise SourcesError(mistakes[source.name])
        return content

    def _is_new(self, name: str, content: str) -> None:
        """
        Raises:
            SourcesError: there is a source of that name; or the file is no list of sources.
        """
        found, mistakes = reads(content, self.path, self.known)
        if name in {**found, **mistakes}:
            raise SourcesError(f"{self.path} has [{name}] already: choose another name, or edit the file.")

    def _table(self, opts: argparse.Namespace) -> dict[str, Any]:
        """
        Raises:
            UsageError: an option is no name=value.
        """
        try:
            arguments = arglist_to_dict(opts.spargs)
        except ValueError:
            raise UsageError("-a is no NAME=VALUE", print_help=False) from None
        settings = {name: value for name, value in self.given.items() if name not in HARVESTS}
        table = {"schedule": opts.schedule, "contact": opts.contact, "arguments": arguments, "settings": settings}
        return {name: value for name, value in table.items() if value}

    def _found(self, adding: Adding) -> Source:
        if adding.is_file:
            return adding.with_rules()
        if adding.force:
            return adding.forced()
        try:
            return probe(self, adding.address, adding.asking())
        finally:
            for line in adding.detection.lines():
                print(redact(line)[:_LONGEST])

    def _say_added(self, adding: Adding, source: Source) -> None:
        where = ", ".join(f"{name} = {value}" for name, value in source.arguments.items()) or "its own address"
        print(redact(f"[{source.name}] is written to {self.path}: spider {source.spider}, {where}."))
        folder = Path(self.settings["OUTPUT_DIR"]) / source.name  # type: ignore[index]
        if folder.exists():
            print(f"{folder} is there already, and what is in it stays: of another catalogue, remove it first.")
        for other in adding.others:
            print(redact(f"Spider dcat could harvest it too: scrapy sources add NAME dcat {other.address}"))
        if not source.enabled and not adding.learned:
            print(f"It is disabled: write {adding.rules}, then: scrapy sources enable {source.name}")
        if adding.learned:
            print(redact(_learned(adding.learned, adding))[:_LONGEST])
        if source.enabled:
            print(f"See what would come: scrapy sources validate {source.name}")

    # Trying

    def _validate(self, names: list[str]) -> None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that the dry run ends too, without a trace
        found, mistakes = read(self.path, self.known)
        self._check(names, {**found, **mistakes})
        self._told({name: one for name, one in mistakes.items() if not names or name in names})
        asked = [source for source in found.values() if source.name in names or (not names and source.enabled)]
        for source in asked:
            self._try(source)
        if not asked and not names:
            print(f"{self.path} has no enabled source: there is nothing to try.")

    def _try(self, source: Source) -> None:
        settings = {name: value for name, value in self.given.items() if name not in HARVESTS}
        try:
            came = trial(source, self.known, settings)
        except CrawlersError as error:
            self._told({source.name: str(error)})
            return
        print("\n".join(_shown(source, came)), flush=True)
        if not came.is_right:
            self.exitcode = self.exitcode or NOT_RIGHT

    # Switching, removing

    def _enable(self, names: list[str]) -> None:
        self._switch(names, enabled=True)

    def _disable(self, names: list[str]) -> None:
        self._switch(names, enabled=False)

    def _switch(self, names: list[str], *, enabled: bool) -> None:
        def change(content: str) -> str:
            found, mistakes = reads(content, self.path, self.known)
            self._check(names, {**found, **mistakes})
            for name in names:
                if enabled:
                    self._ready(name, found, mistakes)
                content = edit.enable(content, name, enabled)
            return content

        edit.write(self.path, change)
        for name in names:
            print(f"[{name}] is {'enabled' if enabled else 'disabled: --all and --due leave it out'}.")

    def _ready(self, name: str, found: dict[str, Source], mistakes: dict[str, str]) -> None:
        """
        Raises:
            CrawlersError: it could not be harvested.
        """
        if name in mistakes:
            raise SourcesError(mistakes[name])
        ready(found[name], self.known)

    def _remove(self, names: list[str]) -> None:
        gone: dict[str, Source] = {}

        def change(content: str) -> str:
            found, mistakes = reads(content, self.path, self.known)
            self._check(names, {**found, **mistakes})
            gone.update(found)
            return reduce(edit.remove, dict.fromkeys(names), content)

        edit.write(self.path, change)
        for name in dict.fromkeys(names):
            print(f"[{name}] is gone from {self.path}.{self._what_stays(name, gone.get(name))}")

    def _what_stays(self, name: str, source: Source | None) -> str:
        folder = Path(self.settings["OUTPUT_DIR"]) / name  # type: ignore[index]
        rules = source and source.arguments.get("rules")
        harvested = f" What was harvested stays in {folder}." if folder.exists() else ""
        return harvested + (f" Its rules stay in {rules}." if rules and Path(rules).exists() else "")

    def _check(self, names: list[str], known: dict[str, Any]) -> None:
        """
        Raises:
            SourcesError: there is no such source.
        """
        for name in names:
            if name not in known:
                meant, there = hint(name, known), ", ".join(known) or "none"
                raise SourcesError(f"{self.path} has no source {name[:100]!r}.{meant} There are: {there}.")


def _learned(learned: Learned, adding: Adding) -> str:
    then = f"then: scrapy sources enable {adding.name}"
    if learned.rules is None:
        pages = f"{adding.address} --list LISTING" if learned.is_dataset else f"PAGE --list {adding.address}"
        pages += " --browser" if learned.in_browser else ""
        return (
            f"It is disabled, for its rules could not be learned: {learned.says}. Learn them from a dataset's page: "
            f"scrapy learn {pages} -o {adding.rules}, {then}"
        )
    if learned.doubt:
        return f"{adding.rules} has what was learned. It is disabled: {learned.doubt}. Look at the rules, {then}"
    return f"{adding.rules} has what was learned: {learned.says}."


def _shown(source: Source, came: Trial) -> list[str]:
    """What a dry run gave, for a terminal."""
    of = "" if came.expected is None else f" of {came.expected}"
    head = f"{source.name}: {came.verdict}, {len(came.records)}{of} datasets looked at"
    width = shutil.get_terminal_size((120, 24)).columns
    errors = [
        redact(f"  ! {kind} ({count}): {signals.KINDS.get(kind, '')} First: {first}")[:_LONGEST]
        for kind, (count, first) in came.errors.items()
    ]
    return [head, *covered(coverage(came.records), width), *errors]
