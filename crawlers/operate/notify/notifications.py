"""All notifications of a run, as the settings configure them, and the extension that sends them."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

from scrapy.exceptions import NotConfigured

from crawlers import signals
from crawlers.causes import FLAWS, KINDS
from crawlers.exceptions import ArgumentError
from crawlers.items import State
from crawlers.operate.notify.channels import Channel, Letter, Mail, NotificationError, Webhook, with_retries
from crawlers.operate.notify.notice import VERDICTS, Notice, failures_before
from crawlers.records.moment import seconds
from crawlers.safety.locks import alone
from crawlers.safety.redact import safe_line
from crawlers.signals import OUTCOMES
from crawlers.store.sources_file import is_listed

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from crawlers.store.figures.runs import LastRun


logger = logging.getLogger(__name__)

LONGEST = 45.0  # seconds; a crawl that waits sends no heartbeat, and counts as crashed after a minute


class Notify:
    """An extension: notifies a webhook, a mailbox and Prometheus; off when none is configured.

    It works when the run's report is written, before the command ends, within NOTIFY_TIMEOUT seconds. A notification
    that fails is a warning; the crawl's exit code stays the same.

    Raises:
        ArgumentError: a setting or an environment variable is not usable; before any request.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.notifications = Notifications.from_settings(crawler.settings)
        if not self.notifications:
            raise NotConfigured
        crawler.signals.connect(self.run_ended, signal=signals.run_ended)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the extension of a crawl of a catalogue."""
        if not hasattr(crawler.spider, "source"):
            raise NotConfigured  # scrapy shell, fetch
        return cls(crawler)

    def run_ended(self, report: dict[str, Any], folder: Path) -> None:
        """Send the notifications, and log those that fail."""
        for sentence in self.notifications.send(report, folder):
            logger.warning("%s", sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifications:
    """The channels that the settings configure.

    Args:
        verdicts: the verdicts that the channels are notified of.
        sources: sources.toml.
        prometheus: the file, which is written after every run.
        seconds: how long the end of a crawl may wait for all channels together.
    """

    verdicts: frozenset[str]
    flaws: bool
    sources: Path
    channels: tuple[Channel, ...]
    prometheus: Prometheus | None
    seconds: float

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self:
        """Return what the settings configure.

        Raises:
            ArgumentError: a setting or an environment variable is not usable; the text says which, and no secret.
        """
        found = (Webhook.from_settings(settings), Mail.from_settings(settings))
        return cls(
            verdicts=_verdicts(settings),
            flaws=settings.getbool("NOTIFY_FLAWS"),
            sources=Path(settings["SOURCES_FILE"]),
            channels=tuple(channel for channel in found if channel),
            prometheus=Prometheus.from_settings(settings),
            seconds=patience(settings),
        )

    def __bool__(self) -> bool:
        return bool(self.channels or self.prometheus)

    def send(self, report: dict[str, Any], folder: Path) -> list[str]:
        """Send the notifications of a run.

        Args:
            report: runs/<run>.json; source, run and verdict at least.

        Returns:
            A sentence for each notification that failed.
        """
        failures = []
        try:
            if self.prometheus:
                self.prometheus.write(report)
        except NotificationError as error:
            failures = [(self.prometheus, error)]
        notice = Notice(report, folder)
        if self.channels:
            before = failures_before(report, folder, self.verdicts)
            notice = Notice(report, folder, before, is_listed=is_listed(self.sources, report["source"]))
        is_news = report["verdict"] in self.verdicts or notice.has_recovered or (self.flaws and notice.new_flaws)
        channels = self.channels if is_news else ()
        failed = [*failures, *send_all(channels, notice, self.seconds)]
        told = f"was not notified that {report['source']} is {report['verdict']}"
        return [f"{one.name[0].upper()}{one.name[1:]} {told}: {reason}." for one, reason in failed if one]


def notify(settings: BaseSettings, report: dict[str, Any], folder: Path) -> list[str]:
    """Send the notifications of a run outside its crawl: the crawl crashed, for example. See `Notifications.send`.

    Raises:
        ArgumentError: a setting or an environment variable is not usable.
    """
    return Notifications.from_settings(settings).send(report, folder)


def send_all(channels: Sequence[Channel], letter: Letter, seconds: float) -> list[tuple[Channel, NotificationError]]:
    """Use all channels in parallel; return those that failed or took too long, each with the reason."""
    late = NotificationError(f"it was not done within {seconds:g} s", is_in_doubt=True)
    failures = dict.fromkeys(channels, late)

    def send(channel: Channel) -> None:
        try:
            with_retries(lambda timeout: channel.send(letter, timeout), seconds)
        except NotificationError as error:
            failures[channel] = error
        else:
            del failures[channel]

    threads = [threading.Thread(target=send, args=[channel], daemon=True) for channel in channels]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
    return list(failures.items())


def _verdicts(settings: BaseSettings) -> frozenset[str]:
    found = frozenset(filter(None, (word.strip() for word in settings.getlist("NOTIFY_VERDICTS"))))
    wrong = sorted(found.difference(VERDICTS))
    if wrong:
        raise ArgumentError(f"NOTIFY_VERDICTS: {wrong[0]!r} is not a verdict. There are: {', '.join(VERDICTS)}.")
    return found


def patience(settings: BaseSettings) -> float:
    """Return how long all channels together may take, in seconds.

    Raises:
        ArgumentError: NOTIFY_TIMEOUT is not usable.
    """
    try:
        seconds = float(settings.get("NOTIFY_TIMEOUT", 30))
    except (TypeError, ValueError):
        seconds = 0
    if not 0 < seconds <= LONGEST:
        raise ArgumentError(f"NOTIFY_TIMEOUT takes seconds, more than 0 and {LONGEST:g} at most.")
    return seconds


# The file for Prometheus' node_exporter: how the last run of each source went


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
    """The file for Prometheus."""

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
