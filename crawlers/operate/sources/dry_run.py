"""A dry run: crawls some records of a source into a temporary folder, and shows which fields they have."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import ArgumentError, SourcesError
from crawlers.extensions.public_hosts import NAME as PUBLIC_HOSTS
from crawlers.operate.harvest.job import setting_text
from crawlers.operate.notify import Notifications
from crawlers.safety.redact import one_line, redact
from crawlers.store.folder import recall, remember

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from crawlers.operate.sources.project_context import Known
    from crawlers.operate.sources.source import Source

RECORDS = 20
SECONDS = 600
_QUIET = {"NOTIFY_VERDICTS": "", "PROMETHEUS_FILE": "", "HTTPCACHE_ENABLED": "False", "FEEDS": "{}", "FEED_URI": ""}
"""A dry run notifies nobody, and writes no file of a harvest."""
_MAX_ERRORS = 1000
_PATIENCE = 10  # seconds for a crawl to end after SIGTERM
_TITLES = ("name", "title", "text", "uri", "id", "email", "value", "start", "end")
_LONGEST = 300
_LEFT_OUT = {"source", "resources", "metadata_source", "metadata_url", "metadata_modified", "retrieved", "dataset_id"}


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a dry run found.

    Args:
        verdict: the run's.
        expected: how many datasets the catalogue states; ``None`` if it states none.
        records: the items.
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


def dry_run(source: Source, known: Known, settings: Mapping[str, str], output: Path) -> DryRun:
    """Crawl some records of a source into a temporary folder.

    Args:
        settings: those that override the source's own.
        output: OUTPUT_DIR, whose folder of the source knows whether the portal was public.

    Raises:
        SourcesError: the crawl did not start, or did not end in time.
    """
    _check_notifications(source, known, settings)
    with TemporaryDirectory(prefix="sources-") as name:
        folder = Path(name)
        written = folder / "output" / source.name
        written.mkdir(parents=True)
        remember(written, PUBLIC_HOSTS, recall(output / source.name, PUBLIC_HOSTS))
        code, said = _run(command(source, known, settings, folder))
        reports = sorted((written / "runs").glob("*.json"))
        if not reports:
            reason = redact(said.strip().splitlines()[-1][:500]) if said.strip() else f"exit code {code}"
            raise _not_started(source, reason)
        report = json.loads(reports[-1].read_bytes())
        found = (_kinds(written / name) for name in ("errors.jsonl", "flaws.jsonl"))
        return DryRun(report["verdict"], report["expected"], _records(folder), *found)


def _check_notifications(source: Source, known: Known, settings: Mapping[str, str]) -> None:
    """Check the notifications, which the dry run disables but a harvest uses.

    Raises:
        SourcesError: one of them is not usable, so a harvest would not start.
    """
    chosen = known.settings.copy()
    chosen.setdict({**source.settings, **settings}, priority="cmdline")
    try:
        Notifications.from_settings(chosen)
    except ArgumentError as error:
        raise _not_started(source, str(error)) from None


def _not_started(source: Source, reason: str) -> SourcesError:
    return SourcesError(f"[{source.name}]: the dry run did not start: {reason}")


def command(source: Source, known: Known, settings: Mapping[str, str], folder: Path) -> list[str]:
    """Return the command line of a crawl that writes a few records into a folder."""
    declared = known.spiders[source.spider].arguments
    given = {name: value for name, value in source.arguments.items() if name != "since"}
    limit = min(RECORDS, int(given.get("max_datasets", RECORDS)))
    given |= {"source": source.name, "max_datasets": str(limit)}
    given |= {"level": "snapshot"} if "level" in declared else {}
    chosen = {**{name: setting_text(value) for name, value in source.settings.items()}, **settings, **_QUIET}
    chosen |= {"OUTPUT_DIR": str(folder / "output"), "JOBDIR": str(folder / "job"), "LOG_FILE": str(folder / "log")}
    return [
        *(sys.executable, "-m", "scrapy", "crawl", source.spider, "-O", str(folder / "items.jsonl")),
        *(word for name, value in given.items() for word in ("-a", f"{name}={value}")),
        *(word for name, value in chosen.items() for word in ("-s", f"{name}={value}")),
    ]


def _run(words: list[str]) -> tuple[int, str]:
    """Run a command; return its exit code and its stderr."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")  # noqa: S603  # our own command
    try:
        _, output = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise SourcesError(f"The dry run took longer than {SECONDS} seconds and was stopped.") from None
    finally:
        _end(process)
    return process.returncode, output


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _records(folder: Path) -> list[dict[str, Any]]:
    path = folder / "items.jsonl"
    return list(_lines(path)) if path.exists() else []


def _kinds(path: Path) -> dict[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    for _, line in zip(range(_MAX_ERRORS), _lines(path) if path.exists() else (), strict=False):
        count, first = found.get(line["kind"], (0, line["error"]))
        found[line["kind"]] = count + 1, first
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        yield from map(json.loads, file)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many records have a field.

    Args:
        name: the field's name; for a field of resources ``resource.format``.
        count: how many of the records have it.
        total: how many records there are.
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
    resources = [resource for record in records for resource in record.get("resources") or []]
    return [*_fields(records, ""), *_resources(records), *_fields(resources, "resource.")]


def _resources(records: list[dict[str, Any]]) -> list[Coverage]:
    counts = [len(record.get("resources") or []) for record in records]
    return [Coverage("resources", sum(map(bool, counts)), len(records), f"{sum(counts)} in all")] if records else []


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
