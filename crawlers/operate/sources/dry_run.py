"""``scrapy sources validate``: crawls some records into a temporary folder, and shows which fields they have."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scrapy.exceptions import UsageError

from crawlers import causes
from crawlers.exceptions import ArgumentError, CrawlersError, SourcesError
from crawlers.extensions.public_hosts import NAME as PUBLIC_HOSTS
from crawlers.operate.harvest.job import Job, setting_text
from crawlers.operate.notify import Notifications
from crawlers.operate.sources.file import Call, misplaced, report
from crawlers.operate.sources.source import Known, Source
from crawlers.safety.redact import one_line, redact
from crawlers.store.folder import recall, remember

NOT_RIGHT = 3
"""The exit code of a dry run that is neither complete nor partial."""
RECORDS = 20
SECONDS = 600
_QUIET = {
    "NOTIFY_VERDICTS": "",
    "PROMETHEUS_FILE": "",
    "HTTPCACHE_ENABLED": "False",
    "FEEDS": "{}",
    "FEED_URI": "",
    "HOST_TURNS": "False",
    "QUEUE": "",
}
"""A dry run notifies nobody, writes no file of a harvest, and waits for no crawl of its host: somebody waits for it."""
_MAX_ERRORS = 1000
_PATIENCE = 10  # seconds for a crawl to end after SIGTERM
_TITLES = ("name", "title", "text", "uri", "id", "email", "value", "start", "end")
_LONGEST = 300  # characters of a value
_LONGEST_LINE = 1000
_LEFT_OUT = {"source", "resources", "metadata_source", "metadata_url", "metadata_modified", "retrieved", "dataset_id"}


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a dry run found.

    Args:
        expected: how many datasets the catalogue states; ``None`` if it states none.
        errors: the number of each kind, and the first message of each.
        flaws: the same of what could not be read of records that are kept.
    """

    verdict: str
    expected: int | None
    records: list[dict[str, Any]]
    errors: dict[str, tuple[int, str]] = field(default_factory=dict)
    flaws: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def is_successful(self) -> bool:
        return self.verdict in ("complete", "partial")


def dry_run(source: Source, known: Known, settings: Mapping[str, str], output: Path, most: int = RECORDS) -> DryRun:
    """Crawl some records of a source into a temporary folder.

    Args:
        settings: those that override the source's own.
        output: OUTPUT_DIR, whose folder of the source knows whether the portal was public.
        most: records, at most.

    Raises:
        SourcesError: the crawl did not start, or did not end in time.
    """
    told = f"[{source.name}]: the dry run did not start"
    chosen = known.settings.copy()
    chosen.setdict({**source.settings, **settings}, priority="cmdline")
    try:
        Notifications.from_settings(chosen)  # which the dry run disables but a harvest uses
    except ArgumentError as error:
        raise SourcesError(f"{told}: {error}") from None
    with TemporaryDirectory(prefix="sources-") as name:
        folder = Path(name)
        written = folder / "output" / source.name
        written.mkdir(parents=True)
        remember(written, PUBLIC_HOSTS, recall(output / source.name, PUBLIC_HOSTS))
        code, said = _run(command(source, known, settings, folder, most))
        reports = sorted((written / "runs").glob("*.json"))
        if not reports:
            reason = redact(said.strip().splitlines()[-1][:500]) if said.strip() else f"exit code {code}"
            raise SourcesError(f"{told}: {reason}")
        run = json.loads(reports[-1].read_bytes())
        found = (_kinds(written / name) for name in ("errors.jsonl", "flaws.jsonl"))
        return DryRun(run["verdict"], run["expected"], list(_read_lines(folder / "items.jsonl")), *found)


def command(source: Source, known: Known, settings: Mapping[str, str], folder: Path, most: int = RECORDS) -> list[str]:
    """Return the command line of a crawl that writes a few records into a folder."""
    given = {name: value for name, value in source.arguments.items() if name != "since"}
    limit = min(most, int(given.get("max_datasets", most)))
    given |= {"source": source.name, "max_datasets": str(limit)}
    given |= {"level": "snapshot"} if "level" in known.spiders[source.spider].arguments else {}
    chosen = {**{name: setting_text(value) for name, value in source.settings.items()}, **settings, **_QUIET}
    chosen |= {"OUTPUT_DIR": str(folder / "output"), "JOBDIR": str(folder / "job"), "LOG_FILE": str(folder / "log")}
    job = Job(source=source.name, spider=source.spider, arguments=given, settings=chosen)
    return [sys.executable, "-m", "scrapy", *job.words, "-O", str(folder / "items.jsonl")]


def _run(words: list[str]) -> tuple[int, str]:
    """Run a command; return its exit code and its stderr."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")  # noqa: S603  # our own command
    try:
        _, output = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise SourcesError(f"The dry run took longer than {SECONDS} seconds and was stopped.") from None
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.communicate(timeout=_PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
    return process.returncode, output


def _kinds(path: Path) -> dict[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    for line in islice(_read_lines(path), _MAX_ERRORS):
        count, first = found.get(line["kind"], (0, line["error"]))
        found[line["kind"]] = count + 1, first
    return found


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        with path.open("rb") as file:
            yield from map(json.loads, file)


# Which fields records have


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many records have a field.

    Args:
        name: the field's name; for a field of resources ``resource.format``.
    """

    name: str
    count: int
    total: int
    example: str


def coverage(records: list[dict[str, Any]]) -> list[Coverage]:
    """Return the coverage of each field of the records and their resources.

    >>> coverage([{"title": "Rivers", "resources": [{"format": "CSV"}]}, {"title": "Lakes", "resources": []}])[0]
    Coverage(name='title', count=2, total=2, example='Rivers')
    """
    each = [record.get("resources") or [] for record in records]
    count = Coverage("resources", sum(map(bool, each)), len(records), f"{sum(map(len, each))} in all")
    resources = [resource for those in each for resource in those]
    return [*_fields(records, ""), *([count] if records else []), *_fields(resources, "resource.")]


def _fields(records: list[dict[str, Any]], prefix: str) -> list[Coverage]:
    names = dict.fromkeys(name for record in records for name in record if name not in _LEFT_OUT)
    found = []
    for name in names:
        values = [record[name] for record in records if record.get(name) not in (None, "", [], {})]
        found.append(Coverage(prefix + name, len(values), len(records), shown(values[0]) if values else ""))
    return found


def shown(value: Any) -> str:
    r"""Return a value as one line without characters that act on a terminal.

    >>> shown([{"name": "OCHA\x1b[31m", "url": None}, "b"]), shown({"start": "2020", "end": None})
    ('OCHA[31m, b', '2020')
    """
    if isinstance(value, list):
        text = ", ".join(shown(item) for item in value[:5])
    elif isinstance(value, dict):
        titles = [str(value[name]) for name in _TITLES if value.get(name) is not None]
        text = titles[0] if titles else ", ".join(str(item) for item in value.values() if item is not None)
    else:
        text = str(value)
    return one_line(text, _LONGEST)


def lines(found: list[Coverage], width: int, declared: Collection[str] = ()) -> list[str]:
    """Return a line for each field that some record has, cut to a width; then one line with the fields of none.

    Args:
        declared: fields that the user's own declaration fills: those that no record has come first, in a line of their
            own.
    """
    present = [field for field in found if field.count]
    names = max((len(field.name) for field in present), default=0)
    rows = [f"  {field.name:<{names}}  {field.count:>4} of {field.total:<4}  {field.example}" for field in present]
    missing = [field.name for field in found if not field.count]
    wrong = ", ".join(name for name in missing if name in declared)
    others = ", ".join(name for name in missing if name not in declared)
    first = [f"  declared, but in none: {wrong}"] if wrong else []
    return [*first, *(_cut(row, width) for row in rows), *([f"  in none: {others}"] if others else [])]


def _cut(line: str, width: int) -> str:
    """Return a line that fits a width.

    >>> _cut("a long line", 8)
    'a long …'
    """
    return line if len(line) <= width else f"{line[: width - 1]}…"


# The verb


def validate(call: Call) -> int:
    """Crawl some records of each source, and print what was found."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM ends the dry run, too, without a traceback
    file, names, shown = call.file, call.names, call.opts.show or "0"
    if call.opts.show is not None and not (shown.isascii() and shown.isdecimal() and 1 <= int(shown[:9]) <= RECORDS):
        raise UsageError(f"--show {shown[:100]!r} is not a whole number from 1 to {RECORDS}.", print_help=False)
    found, mistakes = file.read()
    file.check(names, {**found, **mistakes})
    code = report({name: mistake for name, mistake in mistakes.items() if not names or name in names})
    unnamed = {one.name for one in found.values() if one.enabled and one.review != "refused"}  # open ones, too
    chosen = [source for source in found.values() if source.name in (names or unnamed)]
    for source in chosen:
        code = _validate(call, source, int(shown)) or code
    if not chosen and not names:
        print(f"{file.path} has no enabled source: there is nothing to validate.")
    return code


def _validate(call: Call, source: Source, shown: int) -> int:
    """Print what a dry run of a source finds, and as many records as they are; return the exit code."""
    known = call.file.known
    try:
        found = dry_run(source, known, call.settings, call.output)
    except CrawlersError as error:
        return report({source.name: str(error)})
    total = "" if found.expected is None else f" of {found.expected}"
    said = [f"{source.name}: {found.verdict}, {len(found.records)}{total} datasets crawled"]
    declared = getattr(known.spiders[source.spider], "declared", lambda _: ())(source.arguments)
    said += lines(coverage(found.records), shutil.get_terminal_size((120, 24)).columns, declared)
    hint = misplaced(source, known)
    said += [f"  ! {hint}"] if hint and not found.is_successful else []
    for mark, kinds in (("!", found.errors), ("~", found.flaws)):
        for kind, (count, first) in kinds.items():
            line = f"  {mark} {kind} ({count}): {causes.KINDS.get(kind, '')} First: {first}"
            said.append(redact(line)[:_LONGEST_LINE])
    said += [redact(json.dumps(record, indent=2, ensure_ascii=False)) for record in found.records[:shown]]
    print("\n".join(said), flush=True)
    return 0 if found.is_successful else NOT_RIGHT
