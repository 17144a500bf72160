"""A dry run: some records of a source, crawled into a temporary folder that is gone afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import ArgumentError, SourcesError
from crawlers.notify import Notifications
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crawlers.sources.known import Known
    from crawlers.sources.source import Source

RECORDS = 20
SECONDS = 600
_QUIET = {"NOTIFY_VERDICTS": "", "PROMETHEUS_FILE": "", "HTTPCACHE_ENABLED": "False", "FEEDS": "{}", "FEED_URI": ""}
"""Nobody is told of a dry run, and it writes no file of a harvest's."""
_MOST_ERRORS = 1000
_PATIENCE = 10  # seconds for a crawl to end that was told to


@dataclass(frozen=True, slots=True)
class Trial:
    """
    Args:
        verdict: the run's.
        expected: how many datasets the catalogue says it has.
        records: the items that came.
        errors: how many of each kind, and the first sentence of each.
    """

    verdict: str
    expected: int | None
    records: list[dict[str, Any]]
    errors: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        return self.verdict in ("complete", "partial")


def trial(source: Source, known: Known, settings: Mapping[str, str]) -> Trial:
    """
    Args:
        settings: what goes before the source's own.

    Raises:
        SourcesError: the crawl did not start, or did not come to an end.
    """
    _check_notifications(source, known, settings)
    with TemporaryDirectory(prefix="sources-") as name:
        folder = Path(name)
        code, said = _ended(command(source, known, settings, folder))
        reports = sorted((folder / "output" / source.name / "runs").glob("*.json"))
        if not reports:
            reason = redact(said.strip().splitlines()[-1][:500]) if said.strip() else f"it ended with {code}"
            raise _unstarted(source, reason)
        report = json.loads(reports[-1].read_bytes())
        return Trial(report["verdict"], report["expected"], _records(folder), _errors(folder / "output" / source.name))


def _check_notifications(source: Source, known: Known, settings: Mapping[str, str]) -> None:
    """The dry run is spared them, a harvest is not.

    Raises:
        SourcesError: a harvest would not start, for one of them can't be used.
    """
    chosen = known.settings.copy()
    chosen.setdict({**source.settings, **settings}, priority="cmdline")
    try:
        Notifications.from_settings(chosen)
    except ArgumentError as error:
        raise _unstarted(source, str(error)) from None


def _unstarted(source: Source, reason: str) -> SourcesError:
    return SourcesError(f"[{source.name}]: the dry run did not start: {reason}")


def command(source: Source, known: Known, settings: Mapping[str, str], folder: Path) -> list[str]:
    """The crawl of a few records that are written nowhere else."""
    declared = known.spiders[source.spider].arguments
    given = {name: value for name, value in source.arguments.items() if name != "since"}
    most = min(RECORDS, int(given.get("max_datasets", RECORDS)))
    given |= {"source": source.name, "max_datasets": str(most)}
    given |= {"level": "snapshot"} if "level" in declared else {}
    chosen = {**{name: _text(value) for name, value in source.settings.items()}, **settings, **_QUIET}
    chosen |= {"OUTPUT_DIR": str(folder / "output"), "JOBDIR": str(folder / "job"), "LOG_FILE": str(folder / "log")}
    return [
        *(sys.executable, "-m", "scrapy", "crawl", source.spider, "-O", str(folder / "items.jsonl")),
        *(word for name, value in given.items() for word in ("-a", f"{name}={value}")),
        *(word for name, value in chosen.items() for word in ("-s", f"{name}={value}")),
    ]


def _text(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def _ended(words: list[str]) -> tuple[int, str]:
    """Its exit code, and what it said."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")  # noqa: S603  # ours
    try:
        _, said = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise SourcesError(f"The dry run took longer than {SECONDS} seconds, and was ended.") from None
    finally:
        _end(process)
    return process.returncode, said


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


def _errors(folder: Path) -> dict[str, tuple[int, str]]:
    found: dict[str, tuple[int, str]] = {}
    path = folder / "errors.jsonl"
    for _, line in zip(range(_MOST_ERRORS), _lines(path) if path.exists() else (), strict=False):
        count, first = found.get(line["kind"], (0, line["error"]))
        found[line["kind"]] = count + 1, first
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        yield from map(json.loads, file)
