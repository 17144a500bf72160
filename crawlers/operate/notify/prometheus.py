"""A text file for Prometheus' node_exporter: how the last run of each source went."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

from crawlers.exceptions import ArgumentError
from crawlers.items import State
from crawlers.operate.notify.channel import NotificationError
from crawlers.operate.notify.notice import VERDICTS
from crawlers.safety import inside, strict_json
from crawlers.safety.line import safe_line
from crawlers.safety.locks import alone
from crawlers.signals import KINDS, OUTCOMES
from crawlers.values.moment import moment, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import CollectorRegistry
    from scrapy.settings import BaseSettings

METRICS = {
    "run_timestamp_seconds": ("When the last run ended.", ["source", "spider"]),
    "complete_timestamp_seconds": ("When the last complete run ended.", ["source"]),
    "run_duration_seconds": ("How long the last run took, from its first start.", ["source"]),
    "run_datasets": ("Datasets that the portal states, that it listed, and that are on disk.", ["source", "what"]),
    "run_documents": ("Documents of the last run by outcome.", ["source", "outcome"]),
    "run_files": ("Files that the last run of an archive looked at, by what it found.", ["source", "state"]),
    "run_errors": ("Errors of the last run.", ["source", "kind"]),
    "run_verdict": ("1 for the last run's verdict, 0 for the others.", ["source", "verdict"]),
    "run_requests": ("Requests of the last run.", ["source"]),
}
"""Each metric's meaning and labels; its name begins with ``catalogue_last_``."""

SOURCES = 10_000
REPORTS = 400
"""How many reports are searched for a complete run: more than a year of nights."""
_PATIENCE = 5.0  # seconds; if two crawls end together, the later one reads both reports
_LARGEST = 2**63  # a portal may claim any number of datasets; a float can't hold them all
_LARGEST_REPORT = 16 * 1024 * 1024  # bytes
_RUN = re.compile(r"([0-9]{8}T[0-9]{6}Z)(?:-([0-9]{1,6}))?")


@dataclass(frozen=True, slots=True)
class Prometheus:
    """The file for Prometheus.

    Args:
        path: the file; its folder exists.
        output: OUTPUT_DIR.
    """

    path: Path
    output: Path

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self | None:
        """Return the file that PROMETHEUS_FILE names; ``None`` if it is empty.

        Raises:
            ArgumentError: the file can't be written there.
        """
        name = settings.get("PROMETHEUS_FILE")
        if not name:
            return None
        path = Path(name)
        if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
            raise ArgumentError(f"PROMETHEUS_FILE={name} can't be written: its folder must exist and be writable.")
        return cls(path, Path(settings["OUTPUT_DIR"]))

    @property
    def name(self) -> str:
        return f"Prometheus' file {self.path}"

    def write(self, ended: dict[str, Any] | None = None) -> None:
        """Replace the file by what the reports say now; a reader sees the old one or the new one.

        Args:
            ended: the report of a run that may not be on disk: it crashed, or the disk is full.

        Raises:
            NotificationError: it can't be written.
        """
        from prometheus_client import write_to_textfile  # noqa: PLC0415 -- takes 40 ms, and few crawls need it

        try:
            with alone(self.path, _PATIENCE):
                write_to_textfile(str(self.path), _registry(last_runs(self.output, ended)))
                self.path.chmod(0o644)  # node_exporter runs as another user
        except OSError as error:
            raise NotificationError(f"it can't be written ({error.strerror})") from None


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last run of a source.

    Args:
        source: its folder's name.
        report: of its last run.
        finished: when that ended, in seconds since 1970.
        complete: when its last complete run ended.
    """

    source: str
    report: dict[str, Any]
    finished: float | None
    complete: float | None


def last_runs(output: Path, ended: dict[str, Any] | None = None) -> Iterator[LastRun]:
    """Yield the last run of each source, by the reports on disk.

    Args:
        output: OUTPUT_DIR.
        ended: see `Prometheus.write`.
    """
    names = {path.parent.name for path in islice(output.glob("*/runs"), SOURCES)}
    names |= {ended["source"]} if ended else set()
    for name in sorted(names):
        reports = list(_reports(output / name / "runs", ended if ended and ended["source"] == name else None))
        if reports:
            last = max(reports, key=lambda report: str(report.get("finished")))  # an older run may have been resumed
            complete = next((_finished(report) for report in reports if report["verdict"] == "complete"), None)
            yield LastRun(name, last, _finished(last), complete)


def _finished(report: dict[str, Any]) -> float | None:
    found = moment(report.get("finished"))
    return found.timestamp() if found else None


def _reports(folder: Path, ended: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Yield a source's reports, newest first, up to the last complete one."""
    runs = {path.stem: path for path in folder.glob("*.json") if _RUN.fullmatch(path.stem)}
    own = {str(ended["run"]): ended} if ended and _RUN.fullmatch(str(ended.get("run"))) else {}
    for run in sorted({*runs, *own}, key=_order, reverse=True)[:REPORTS]:
        report = own.get(run) or _read(runs[run])
        if report:
            yield report
            if report["verdict"] == "complete":
                return


def _order(run: str) -> tuple[str, int]:
    """Return the sort key of a run's name.

    >>> sorted(["20261120T030000Z-10", "20261120T030000Z-2", "20261120T030000Z"], key=_order)
    ['20261120T030000Z', '20261120T030000Z-2', '20261120T030000Z-10']
    """
    start, _, number = run.partition("-")
    return start, int(number or 1)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        report = strict_json.loads(inside.read(path.parent.parent, f"runs/{path.name}", _LARGEST_REPORT))
    except (OSError, ValueError):
        return None
    return report if isinstance(report, dict) and report.get("verdict") in VERDICTS else None


def _registry(runs: Iterator[LastRun]) -> CollectorRegistry:
    from prometheus_client import CollectorRegistry, Gauge  # noqa: PLC0415

    registry = CollectorRegistry()
    gauges = {
        name: Gauge(f"catalogue_last_{name}", meaning, labels, registry=registry)
        for name, (meaning, labels) in METRICS.items()
    }
    for run in runs:
        for name, labels, value in _values(run):
            if isinstance(value, int | float) and abs(value) < _LARGEST:
                gauges[name].labels(*labels).set(value)
    return registry


def _values(run: LastRun) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    report, source = run.report, safe_line(run.source, 100)
    yield "run_timestamp_seconds", (source, safe_line(report.get("spider"), 100)), run.finished
    yield "complete_timestamp_seconds", (source,), run.complete
    yield "run_duration_seconds", (source,), seconds(report.get("started"), report.get("finished"))
    yield "run_requests", (source,), report.get("requests")
    for what, name in (("expected", "expected"), ("listed", "listed"), ("on disk", "datasets_on_disk")):
        yield "run_datasets", (source, what), report.get(name)
    for outcome in OUTCOMES:
        yield "run_documents", (source, outcome), _table(report, "counts").get(outcome)
    for state in get_args(State):
        yield "run_files", (source, state), _table(report, "captures").get(state)
    for kind in KINDS:
        yield "run_errors", (source, kind), _table(report, "errors").get(kind)
    for verdict in VERDICTS:
        yield "run_verdict", (source, verdict), int(report["verdict"] == verdict)


def _table(report: dict[str, Any], name: str) -> dict[str, Any]:
    value = report.get(name)
    return value if isinstance(value, dict) else {}
