"""A text file for Prometheus' node_exporter: how the last run of each source went."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

from crawlers.exceptions import ArgumentError
from crawlers.items import State
from crawlers.operate.notify.channel import NotificationError
from crawlers.operate.notify.notice import VERDICTS
from crawlers.records.moment import seconds
from crawlers.safety.locks import alone
from crawlers.safety.redact import safe_line
from crawlers.signals import FLAWS, KINDS, OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import CollectorRegistry
    from scrapy.settings import BaseSettings

    from crawlers.store.figures.runs import LastRun

METRICS = {
    "datasets": ("Datasets on disk that are not withdrawn, by the last run that knows it.", ["source"]),
    "last_success_timestamp_seconds": ("When the last complete or partial run ended.", ["source"]),
    "last_run_timestamp_seconds": ("When the last run ended.", ["source", "spider"]),
    "last_complete_timestamp_seconds": ("When the last complete run ended.", ["source"]),
    "last_run_duration_seconds": ("How long the last run took, from its first start.", ["source"]),
    "last_run_datasets": (
        "Datasets that the portal states, that it listed, that are excluded, on disk.",
        ["source", "what"],
    ),
    "last_run_documents": ("Documents of the last run by outcome.", ["source", "outcome"]),
    "last_run_files": ("Files that the last run of an archive looked at, by what it found.", ["source", "state"]),
    "last_run_errors": ("Errors of the last run.", ["source", "kind"]),
    "last_run_flaws": ("Flaws of records that are kept, after the last run.", ["source", "kind"]),
    "last_run_verdict": ("1 for the last run's verdict, 0 for the others.", ["source", "verdict"]),
    "last_run_requests": ("Requests of the last run.", ["source"]),
}
"""Each metric's meaning and labels; its name begins with ``catalogue_``."""

_PATIENCE = 5.0  # seconds; if two crawls end together, the later one reads both reports
_LARGEST = 2**63  # a portal may claim any number of datasets; a float can't hold them all


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

        from crawlers.store.figures.runs import last_runs  # noqa: PLC0415

        try:
            with alone(self.path, _PATIENCE):
                write_to_textfile(str(self.path), _registry(last_runs(self.output, ended)))
                self.path.chmod(0o644)  # node_exporter runs as another user
        except OSError as error:
            raise NotificationError(f"it can't be written ({error.strerror})") from None


def _registry(runs: Iterator[LastRun]) -> CollectorRegistry:
    from prometheus_client import CollectorRegistry, Gauge  # noqa: PLC0415

    registry = CollectorRegistry()
    gauges = {
        name: Gauge(f"catalogue_{name}", meaning, labels, registry=registry)
        for name, (meaning, labels) in METRICS.items()
    }
    for run in runs:
        for name, labels, value in _values(run):
            if isinstance(value, int | float) and abs(value) < _LARGEST:
                gauges[name].labels(*labels).set(value)
    return registry


def _values(run: LastRun) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    report, source = run.report, safe_line(run.source, 100)
    yield "last_run_timestamp_seconds", (source, safe_line(report.get("spider"), 100)), run.finished
    yield "datasets", (source,), run.datasets
    yield "last_success_timestamp_seconds", (source,), run.success
    yield "last_complete_timestamp_seconds", (source,), run.complete
    yield "last_run_duration_seconds", (source,), seconds(report.get("started"), report.get("finished"))
    yield "last_run_requests", (source,), report.get("requests")
    for name in ("expected", "listed", "excluded"):
        yield "last_run_datasets", (source, name), report.get(name)
    yield "last_run_datasets", (source, "on disk"), report.get("datasets_on_disk")
    for outcome in OUTCOMES:
        yield "last_run_documents", (source, outcome), _table(report, "counts").get(outcome)
    for state in get_args(State):
        yield "last_run_files", (source, state), _table(report, "captures").get(state)
    for kind in KINDS:
        name = "flaws" if kind in FLAWS else "errors"
        yield f"last_run_{name}", (source, kind), _table(report, name).get(kind)
    for verdict in VERDICTS:
        yield "last_run_verdict", (source, verdict), int(report["verdict"] == verdict)


def _table(report: dict[str, Any], name: str) -> dict[str, Any]:
    value = report.get(name)
    return value if isinstance(value, dict) else {}
