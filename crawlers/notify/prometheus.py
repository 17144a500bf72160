"""A text file for Prometheus' node_exporter: how the last run of each source went."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from crawlers.exceptions import ArgumentError
from crawlers.locks import alone
from crawlers.moment import seconds
from crawlers.notify.channel import NotToldError
from crawlers.notify.last_runs import LastRun, last_runs
from crawlers.notify.verdicts import VERDICTS
from crawlers.safety.line import safe_line
from crawlers.signals import KINDS, OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client import CollectorRegistry
    from scrapy.settings import BaseSettings

METRICS = {
    "run_timestamp_seconds": ("When the last run ended.", ["source", "spider"]),
    "complete_timestamp_seconds": ("When the last complete run ended.", ["source"]),
    "run_duration_seconds": ("How long the last run took, from its first start.", ["source"]),
    "run_datasets": ("Datasets that the portal said it has, that it listed, and that are on disk.", ["source", "what"]),
    "run_documents": ("What became of the documents in the last run.", ["source", "outcome"]),
    "run_errors": ("Errors of the last run.", ["source", "kind"]),
    "run_verdict": ("1 for the verdict on the last run, 0 for the others.", ["source", "verdict"]),
    "run_requests": ("Requests of the last run.", ["source"]),
}
"""What they mean and their labels; each name begins with ``catalogue_last_``."""

_PATIENCE = 5.0  # seconds; of two crawls that end at once, the later one reads both reports
_LARGEST = 2**63  # a portal may claim any number of datasets; a float does not take them all


@dataclass(frozen=True, slots=True)
class Prometheus:
    """
    Args:
        path: the file, whose folder is there.
        output: OUTPUT_DIR.
    """

    path: Path
    output: Path

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self | None:
        """
        Raises:
            ArgumentError: the file can't be written where it is to be.
        """
        name = settings.get("PROMETHEUS_FILE")
        if not name:
            return None
        path = Path(name)
        if path.is_dir() or not os.access(path.parent, os.W_OK | os.X_OK):
            raise ArgumentError(
                f"PROMETHEUS_FILE={name} can't be written: its folder must be there, and yours to write into."
            )
        return cls(path, Path(settings["OUTPUT_DIR"]))

    @property
    def name(self) -> str:
        return f"Prometheus' file {self.path}"

    def write(self, ended: dict[str, Any] | None = None) -> None:
        """Replaces the file by what the reports say now; a reader sees the old one or the new one.

        Raises:
            NotToldError: it can't be written.
        """
        from prometheus_client import write_to_textfile  # noqa: PLC0415 -- takes 40 ms, and few crawls have it

        try:
            with alone(self.path, _PATIENCE):
                write_to_textfile(str(self.path), _registry(last_runs(self.output, ended)))
                self.path.chmod(0o644)  # node_exporter is another user, whatever the umask
        except OSError as error:
            raise NotToldError(f"it can't be written ({error.strerror})") from None


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
    for kind in KINDS:
        yield "run_errors", (source, kind), _table(report, "errors").get(kind)
    for verdict in VERDICTS:
        yield "run_verdict", (source, verdict), int(report["verdict"] == verdict)


def _table(report: dict[str, Any], name: str) -> dict[str, Any]:
    value = report.get(name)
    return value if isinstance(value, dict) else {}
