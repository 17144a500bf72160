"""What `scrapy sources` does: it lists, adds, validates and changes the tables of sources.toml."""

from __future__ import annotations

import json
import shutil
import signal
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError
from scrapy.utils.conf import arglist_to_dict

from crawlers import signals
from crawlers.exceptions import CrawlersError, SourcesError
from crawlers.kind import registered
from crawlers.operate.console import MISTAKE, print_error
from crawlers.operate.harvest import selection
from crawlers.operate.sources import edit
from crawlers.operate.sources.duplicates import address
from crawlers.operate.sources.file import SourcesFile
from crawlers.operate.sources.options import HARVESTS
from crawlers.operate.sources.project_context import project
from crawlers.operate.sources.source import Listed, table
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from crawlers.operate.sources.dry_run import DryRun
    from crawlers.operate.sources.project_context import Known
    from crawlers.operate.sources.source import Source
    from crawlers.operate.strict_command import ProjectCommand

NOT_RIGHT = 3
_LONGEST = 1000  # characters of a line


def execute(command: ProjectCommand, args: list[str], opts: argparse.Namespace) -> int:
    """Do what the first word says; return the exit code.

    Raises:
        CrawlersError: a sentence for the user.
        UsageError: there is no such word, or it takes other ones.
    """
    word, *names = args or ["list"]
    file = SourcesFile(command.path("SOURCES_FILE"), project())  # without -s, in which names may be mistyped
    settings = {name: value for name, value in arglist_to_dict(opts.set).items() if name not in HARVESTS}
    output = command.path("OUTPUT_DIR")
    if word == "list" and not names:
        return _list(file, output, command.path("JOBS_DIR"), as_json=opts.json)
    if word == "validate":
        return _validate(file, names, settings)
    if word == "add" and len(names) in (2, 3):
        from crawlers.operate.sources.add_table import add  # noqa: PLC0415 -- it learns rules, and loads pages in a browser

        add(command, file, names, opts, settings)
    elif word in ("enable", "disable") and names:
        _switch(file, names, enabled=word == "enable")
    elif word == "remove" and names:
        _remove(file, names, output)
    else:
        raise UsageError(f"scrapy sources {command.syntax()}", print_help=False)
    return 0


def _list(file: SourcesFile, output: Path, jobs: Path, *, as_json: bool) -> int:
    found, mistakes = file.read()
    now = datetime.now(UTC)
    sources = [
        Listed(one.source, address(one.source, file.known), one.last, now if one.is_taken else one.time, one.is_taken)
        for one in selection.due(found, output, jobs, now)
    ]
    if as_json:
        print(json.dumps([source.plain() for source in sources], indent=2))
    elif sources:
        print("\n".join(table(sources)))
    elif not mistakes:
        print(f"{file.path} has no source yet: scrapy sources add NAME URL adds one.")
    return _report(mistakes)


def _report(mistakes: Mapping[str, str]) -> int:
    """Print what is wrong with tables; return the exit code."""
    for mistake in mistakes.values():
        print_error(mistake)
    return MISTAKE if mistakes else 0


def _validate(file: SourcesFile, names: list[str], settings: Mapping[str, str]) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM ends the dry run, too, without a traceback
    found, mistakes = file.read()
    file.check(names, {**found, **mistakes})
    code = _report({name: mistake for name, mistake in mistakes.items() if not names or name in names})
    chosen = [source for source in found.values() if source.name in names or (not names and source.enabled)]
    for source in chosen:
        code = _try(file, source, settings) or code
    if not chosen and not names:
        print(f"{file.path} has no enabled source: there is nothing to validate.")
    return code


def _try(file: SourcesFile, source: Source, settings: Mapping[str, str]) -> int:
    """Validate a source; return the exit code."""
    from crawlers.operate.sources.dry_run import dry_run  # noqa: PLC0415 -- with all that notifies

    try:
        found = dry_run(source, file.known, settings)
    except CrawlersError as error:
        return _report({source.name: str(error)})
    print("\n".join(_described(source, found)), flush=True)
    return 0 if found.is_successful else NOT_RIGHT


def _described(source: Source, found: DryRun) -> list[str]:
    """Return what a dry run found, for a terminal."""
    from crawlers.operate.sources.dry_run import coverage, lines  # noqa: PLC0415

    total = "" if found.expected is None else f" of {found.expected}"
    head = f"{source.name}: {found.verdict}, {len(found.records)}{total} datasets crawled"
    width = shutil.get_terminal_size((120, 24)).columns
    errors = [
        redact(f"  ! {kind} ({count}): {signals.KINDS.get(kind, '')} First: {first}")[:_LONGEST]
        for kind, (count, first) in found.errors.items()
    ]
    return [head, *lines(coverage(found.records), width), *errors]


def _switch(file: SourcesFile, names: list[str], *, enabled: bool) -> None:
    from crawlers.operate.sources.add import ready  # noqa: PLC0415 -- it learns rules

    def change(content: str) -> str:
        found, mistakes = file.parse(content)
        file.check(names, {**found, **mistakes})
        for name in names:
            if enabled and name in mistakes:
                raise SourcesError(mistakes[name])
            if enabled:
                ready(found[name], file.known)
            content = edit.enable(content, name, enabled)
        return content

    edit.write(file.path, change)
    for name in names:
        print(f"[{name}] is {'enabled' if enabled else 'disabled: --all and --due skip it'}.")


def _remove(file: SourcesFile, names: list[str], output: Path) -> None:
    removed: dict[str, Source] = {}

    def change(content: str) -> str:
        found, mistakes = file.parse(content)
        file.check(names, {**found, **mistakes})
        removed.update(found)
        return reduce(edit.remove, dict.fromkeys(names), content)

    edit.write(file.path, change)
    for name in dict.fromkeys(names):
        print(f"[{name}] is removed from {file.path}.{_what_stays(output / name, removed.get(name), file.known)}")


def _what_stays(folder: Path, source: Source | None, known: Known) -> str:
    rules = _rules(source, known) if source else None
    harvested = f" Its documents stay in {folder}." if folder.exists() else ""
    return harvested + (f" Its rules stay in {rules}." if rules and Path(rules).exists() else "")


def _rules(source: Source, known: Known) -> str | None:
    """Return the rules file of a source; ``None`` if its spider takes an address instead."""
    spider = known.spiders.get(source.spider)
    kind = registered().get(spider.kind) if spider else None
    return source.arguments.get(kind.address) if kind and kind.takes_file else None
