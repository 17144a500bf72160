"""The observations of each run, for the source's time series."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import NotConfigured

from crawlers import signals
from crawlers.components.ledger import Records
from crawlers.extensions.report import Report
from crawlers.items import Extension, Site
from crawlers.safety import inside, strict_json
from crawlers.safety.names import Names
from crawlers.store import timeseries
from crawlers.store.figures import quality
from crawlers.store.index import Index, from_the_beginning
from crawlers.store.index.completeness import completeness

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class TimeSeries:
    """Writes what a run has observed, before its report: a run that has a report has its observations.

    The day is the one on which the run began. All runs of a day have one observation for each subject and metric.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.names = Names.from_settings(crawler.settings)
        self.shrink_limit = crawler.settings.getfloat("SHRINK_LIMIT")
        self.version = str(crawler.settings["VERSION"])

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not hasattr(crawler.spider, "source"):
            raise NotConfigured("the spider crawls no catalogue")
        if not getattr(crawler.spider, "has_time_series", True):
            raise NotConfigured
        series = cls(crawler)
        crawler.signals.connect(series.run_judged, signal=signals.run_judged)
        return series

    def run_judged(self, report: Mapping[str, Any], folder: Path) -> None:
        """Write the run's observations; what can't be written is a failure of the run."""
        try:
            is_new = timeseries.write(folder, report["started"][:10], self._measures(report, folder))
        except (OSError, sqlite3.Error) as error:
            self._fail(f"{folder / timeseries.FOLDER} can't be written ({error})")
            return
        index = self.crawler.get_extension(Index)
        try:
            if is_new and index:
                index.database.healing(lambda db: timeseries.catch_up(db, folder))
        except (OSError, sqlite3.Error) as error:
            logger.warning("index.sqlite lacks this run's observations (%s): the next reader adds them", error)

    def _fail(self, sentence: str) -> None:
        logger.error("The time series lacks this run: %s", sentence)
        report = self.crawler.get_extension(Report)
        if report:
            report.error_log.record_failed(signals.Failed(stage="write", kind="disk", error=sentence))

    def _measures(self, report: Mapping[str, Any], folder: Path) -> Iterator[timeseries.Measure]:
        records = Records(self.crawler)
        for kind in (Site.kind, Extension.kind):
            for identifier in records.received(kind):
                for metric, value in self._profile(folder, self.names.profile(kind, identifier)):
                    yield identifier, metric, value
        for metric, number in self._own(report).items():
            yield report["source"], metric, str(number)

    def _profile(self, folder: Path, file: str) -> Iterator[tuple[str, str]]:
        """Yield the metrics of a profile, which is on disk since this run received it."""
        try:
            document = strict_json.loads(inside.read(folder, file))
        except (OSError, ValueError) as error:
            logger.warning("%s is left out of the time series: %s", folder / file, error)
            return
        if isinstance(document, dict):
            yield from timeseries.measures(document)

    def _own(self, report: Mapping[str, Any]) -> dict[str, int | str]:
        """Return the source's own counts: of what it has if the run saw all of it, of what changed in any case."""
        index = self.crawler.get_extension(Index)
        try:
            if index and index.settle():
                return index.database.healing(lambda db: self._counts(db, report))
        except (OSError, sqlite3.Error) as error:
            logger.warning("The time series lacks this run's counts: %s", error)
        return {}

    def _counts(self, db: sqlite3.Connection, report: Mapping[str, Any]) -> dict[str, int | str]:
        counts = dict(timeseries.held(db, report["source"], self.version))
        held: dict[str, int | str] = {**counts}
        has_seen_all = self._has_seen_all(report, counts.get("datasets"))
        if has_seen_all and "resources" in held:  # all datasets are described
            held |= completeness(db, report["source"], self.version)
            held |= quality.observed(db, report["source"], self.version)
        found = held if has_seen_all else {}
        if "datasets" in held:
            changed = timeseries.changed(db, report["source"], report["started"][:10])
            found |= {status: number for status, number in changed.items() if number or has_seen_all}
        return found

    def _has_seen_all(self, report: Mapping[str, Any], datasets: int | None) -> bool:
        """Return whether what is on disk is what the source has, or nearly: a record that fails is not on disk."""
        if not from_the_beginning(report["arguments"]):
            return False
        is_nearly_all = datasets is not None and datasets >= (1 - self.shrink_limit) * report["listed"]
        return report["verdict"] == "complete" or bool(report["whole_listing"] and is_nearly_all)
