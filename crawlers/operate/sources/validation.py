"""``scrapy sources validate``: what a crawl of a source would find."""

from __future__ import annotations

import json
import shutil
import signal
from typing import TYPE_CHECKING

from scrapy.exceptions import UsageError

from crawlers import signals
from crawlers.exceptions import CrawlersError
from crawlers.operate.sources.command import report
from crawlers.operate.sources.dry_run import RECORDS, coverage, dry_run, lines
from crawlers.operate.sources.duplicates import misplaced
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from crawlers.operate.sources.command import Call
    from crawlers.operate.sources.dry_run import DryRun
    from crawlers.operate.sources.source import Source

NOT_RIGHT = 3
_LONGEST = 1000  # characters of a line


def validate(call: Call) -> int:
    """Crawl some records of each source, and print what was found."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM ends the dry run, too, without a traceback
    shown, file, names = _number(call.opts.show), call.file, call.names
    found, mistakes = file.read()
    file.check(names, {**found, **mistakes})
    code = report({name: mistake for name, mistake in mistakes.items() if not names or name in names})
    chosen = [source for source in found.values() if source.name in names or (not names and _is_wanted(source))]
    for source in chosen:
        code = _try(call, source, shown) or code
    if not chosen and not names:
        print(f"{file.path} has no enabled source: there is nothing to validate.")
    return code


def _is_wanted(source: Source) -> bool:
    """Return whether a source is validated unnamed: also one that somebody has yet to review."""
    return source.enabled and source.review != "refused"


def _number(text: str | None) -> int:
    """Return how many records are shown.

    Raises:
        UsageError: it is not a number.
    """
    if text is None:
        return 0
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text[:9]) <= RECORDS:
        raise UsageError(f"--show {text[:100]!r} is not a whole number from 1 to {RECORDS}.", print_help=False)
    return int(text)


def _try(call: Call, source: Source, shown: int) -> int:
    """Validate a source; return the exit code.

    Args:
        shown: how many records are printed as they are.
    """
    known = call.file.known
    try:
        found = dry_run(source, known, call.settings, call.output)
    except CrawlersError as error:
        return report({source.name: str(error)})
    named = getattr(known.spiders[source.spider], "declared", None)
    declared = named(source.arguments) if named else ()
    print("\n".join(_described(source, found, declared, misplaced(source, known))), flush=True)
    for record in found.records[:shown]:
        print(redact(json.dumps(record, indent=2, ensure_ascii=False)), flush=True)
    return 0 if found.is_successful else NOT_RIGHT


def _described(source: Source, found: DryRun, declared: Collection[str], hint: str) -> Iterator[str]:
    """Yield what a dry run found, for a terminal.

    Args:
        declared: the fields that the source's declaration fills.
        hint: why its address may be wrong, as a sentence.
    """
    total = "" if found.expected is None else f" of {found.expected}"
    yield f"{source.name}: {found.verdict}, {len(found.records)}{total} datasets crawled"
    width = shutil.get_terminal_size((120, 24)).columns
    yield from lines(coverage(found.records), width, declared)
    if hint and not found.is_successful:
        yield f"  ! {hint}"
    for mark, kinds in (("!", found.errors), ("~", found.flaws)):
        for kind, (count, first) in kinds.items():
            yield redact(f"  {mark} {kind} ({count}): {signals.KINDS.get(kind, '')} First: {first}")[:_LONGEST]
