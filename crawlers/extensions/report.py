"""The run report: the verdict of a crawl and its counts, written to runs/<run>.json when the crawl ends."""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import scrapy
from scrapy import signals as scrapy_signals
from scrapy.exceptions import NotConfigured
from scrapy.extensions.feedexport import FeedExporter

from crawlers import causes, signals
from crawlers.components.ledger import Job
from crawlers.exceptions import JobError
from crawlers.extensions.error_log import ErrorLog, now
from crawlers.extensions.versions import Former
from crawlers.listing.crawl import RunState
from crawlers.records import moment
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import redact
from crawlers.store import lines, runs
from crawlers.store.folder import folder, lock
from crawlers.store.index import Index
from crawlers.store.index.database import reading
from crawlers.store.lines import JSONLines
from crawlers.store.run_text import counted, judged, left_out, looked_at, looks, nothing_changed, published, way_back
from crawlers.store.runs import EXIT_CODES, RUN, Verdict, verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


_CHANGES = ("new", "updated", "withdrawn", "restored")
_STATS = {
    "requests": "downloader/request_count",
    "retries": "retry/count",
    "bytes": "downloader/response_bytes",
    "robots_exempt": "politeness/robots_exempt",
}


def run_report(
    report: Report,
    reason: str,
    counts: dict[str, int],
    errors: dict[str, int],
    *,
    flaws: dict[str, int] | None = None,
    datasets: int | None = None,
) -> dict[str, Any]:
    """Return what is in runs/<run>.json.

    Args:
        report: the run, whose verdict is ``None`` until it has ended.
        counts: how many documents are new, updated ...
        errors: how many failures there are of each kind.
        flaws: how many flaws of each kind stand after the run; ``None`` if that is not known.
        datasets: how many datasets are on disk; ``None`` if that is not known.
    """
    spider: Any = report.crawler.spider
    state, settings, job = report.state, report.crawler.settings, report.job.state
    is_quiet = report.verdict == "complete" and not any(map(counts.get, _CHANGES))
    since, log = spider.given.get("since"), settings.get("LOG_FILE")
    is_finished, not_kept = reason == "finished", 0
    if is_finished and spider.kind:
        not_kept = max(state.listed - report.error_log.records.kept(spider.listed_kind), 0)
    versions = {settings["BOT_NAME"]: settings["VERSION"], "scrapy": scrapy.__version__}
    return {
        "source": spider.source,
        "spider": spider.name,
        "run": report.run,
        "arguments": {name: redact(value) for name, value in spider.given.items()},
        "since": (state.since or None) if since in (None, "", "last") else since,  # None: everything was listed
        "started": report.started,
        **({"completed_by": spider.name} if getattr(spider, "complete_item", None) else {}),
        "finished": now(),
        "finish_reason": reason,
        "verdict": report.verdict,
        **{name: getattr(state, name) for name in ("expected", "listed", "excluded")},
        "not_kept": not_kept,
        "evidence": state.walks.evidence,
        "datasets_on_disk": datasets,
        "unchanged_since": job.get("last_change") if is_quiet else None,
        "counts": counts,
        "errors": errors,
        "flaws": flaws,
        "new_flaws": report.new_flaws,
        **{name: report.crawler.stats.get_value(stat, 0) for name, stat in _STATS.items()},
        "whole_listing": is_finished and state.is_whole_listing,
        "provisional": state.has_stale_answer,
        "validators": state.validators,
        "resumed": report.job.resumed,
        **{name: job[name] for name in ("manifest_bytes", "errors_bytes", "flaws_bytes")},
        **report.ends,
        **getattr(spider, "reported", {}),
        "log": str(Path(log).resolve()) if log else None,
        "versions": versions | {"python": platform.python_version()},
    }


def summary(report: dict[str, Any], folder: Path, unwritten: str = "") -> str:
    """Return the verdict, the counts, and where the files are.

    Args:
        unwritten: why the run, which has ended, has no report.
    """
    counts, errors, flaws = report["counts"], report["errors"], report.get("flaws") or {}
    lines = [f"{report['source']}: {judged(report['verdict'], flaws)}. {_documents(report)}."]
    if report["verdict"] == "blocked":
        lines.append(f"blocked: {causes.of_run(report)[0].sentence}")
    if report.get("stopped"):
        lines.append(report["stopped"])
    if errors:
        noun = "error" if counts["failed"] == 1 else "errors"
        lines.append(f"{counts['failed']} {noun} ({counted(errors)}): see {folder / 'errors.jsonl'}.")
    if flaws:
        what = "A record is kept with it" if sum(flaws.values()) == 1 else "The records are kept with them"
        lines.append(f"Flaws: {counted(flaws)}. {what}: see {folder / 'flaws.jsonl'}.")
    if unwritten:
        path = folder / "runs" / f"{report['run']}.json"
        lines.append(f"{folder} has the documents and manifest.jsonl, but {path}, this run's report, {unwritten}.")
        lines.append("Without it the run counts as interrupted: see to what is in the way, then crawl again.")
    else:
        what = "the journal of what is published" if "published" in report else "the documents and manifest.jsonl"
        lines.append(f"{folder} has {what}; this run's report is runs/{report['run']}.json there.")
    lines += way_back(report)
    return "\n".join(lines)


def _documents(report: dict[str, Any]) -> str:
    quiet = nothing_changed(report)
    if looks(report) is not None:
        return looked_at(report)
    if done := published(report):
        return done
    if quiet:
        return quiet[0].upper() + quiet[1:]
    counts, expected = report["counts"], report["expected"]
    datasets = f"{report['listed']} of {expected}" if expected is not None else str(report["listed"])
    datasets += " datasets listed" + left_out(report)
    became = ", ".join(f"{counts[name]} {name}" for name in ("new", "updated", "unchanged"))
    fallback = f" ({counts['fallback']} by fallback)" if counts["fallback"] else ""
    return f"{datasets}; documents: {became}{fallback}"


logger = logging.getLogger(__name__)

_LINES = ("manifest", "errors", "flaws")
_LATEST = 5  # reports
COUNTS = ("new", "updated", "unchanged", "withdrawn", "restored", "fallback")


class Report:
    """Locks the source's folder while it is crawled, judges the run, and writes its report.

    Attributes:
        run: this run's name, its start in UTC.
        started: when it started.
        error_log: the run's failures.
        former: keeps former versions of documents.
        verdict: known once the crawl has ended.
        outcome: the report, as far as it is known.
        new_flaws: how many flaws appeared since the report before; known once the run has ended.
        ends: how long manifest.jsonl, errors.jsonl and flaws.jsonl are, once all of the run's lines are written.
        unwritten: why there is no report file; empty once there is one.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.job = Job.from_crawler(crawler)
        self.state = RunState.from_crawler(crawler)
        self.folder = folder(crawler)
        self.lock = lock(self.folder)
        with reading(self.folder):
            self.run, self.started = _begin(self.job, self.folder)
        self.error_log = ErrorLog(crawler, self.folder, self.run)
        self.former = Former(crawler, self.folder, self.run, self.error_log)
        self.verdict: Verdict | None = None
        self.outcome: dict[str, Any] = {}
        self.new_flaws: int | None = None
        self.ends: dict[str, int] = {}
        self.unwritten = "was not written"
        self.feeds_closed = asyncio.Event()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Begin the run's report.

        Raises:
            NotConfigured: the spider crawls no catalogue, as in ``scrapy shell`` and ``scrapy fetch``.
        """
        if not hasattr(crawler.spider, "source"):
            raise NotConfigured("the spider crawls no catalogue")
        report = cls(crawler)
        crawler.signals.connect(report.spider_closed, signal=scrapy_signals.spider_closed)
        crawler.signals.connect(report.feeds_closed.set, signal=scrapy_signals.feed_exporter_closed)
        return report

    @property
    def path(self) -> Path:
        return self.folder / "runs" / f"{self.run}.json"

    @property
    def exit_code(self) -> int:
        """The exit code of ``scrapy crawl``."""
        code = EXIT_CODES[self.verdict or "interrupted"]
        return max(code, EXIT_CODES["failed"]) if self.unwritten else code

    @property
    def summary(self) -> str:
        return summary(self.outcome, self.folder, self.unwritten)

    async def spider_closed(self, reason: str) -> None:
        """Finish once all feeds are stored: one that failed is part of the verdict."""
        if self.crawler.get_extension(FeedExporter):
            await self.feeds_closed.wait()
        self.finish(reason)

    def finish(self, reason: str) -> None:
        """Judge the run and write its report; also called when a second signal stops the crawl at once."""
        try:
            self._judge(reason)
        except (OSError, sqlite3.Error) as error:
            logger.error("The documents can't be counted, because the ledger is damaged: %s", error)  # noqa: TRY400
            self.verdict, why = "failed", f"{reason}, and the ledger can't be read: {error}"
            known = self.outcome or run_report(self, "", dict.fromkeys((*COUNTS, "failed"), 0), {})  # of a heartbeat
            self.outcome = known | {"finished": now(), "finish_reason": why, "verdict": self.verdict}
        self.job.state |= {"verdict": self.verdict, "report": str(self.path)}
        try:
            inside.write(self.folder, f"runs/{self.run}.json", strict_json.dumps(self.outcome))
        except (OSError, ValueError) as error:
            self.unwritten = f"can't be written ({error})"
            logger.error("The run report %s %s", self.path, self.unwritten)  # noqa: TRY400
        else:
            self.unwritten = ""
        finally:
            self.job.finished = self.job.finished and not self.unwritten  # else the next start writes the report
            self._leave()

    def so_far(self) -> dict[str, Any]:
        """Return the report as it would be now, except for its end."""
        self._describe("running")
        return self.outcome

    def _judge(self, reason: str) -> None:
        datasets = None
        if reason == "finished":
            self.error_log.reconcile()
            datasets = _count_datasets(self.crawler)
        self._give_verdict(reason, datasets)
        self.crawler.signals.send_catch_log(signals.run_judged, report=self.outcome, folder=self.folder)
        self.ends = {f"{name}_end": lines.size(self.folder, f"{name}.jsonl") for name in _LINES}
        self.new_flaws = self.error_log.flaws.count_new(self.job.state["flaws_bytes"], self.ends["flaws_end"])
        self._give_verdict(reason, datasets)

    def _give_verdict(self, reason: str, datasets: int | None) -> None:
        blocked_hosts = self.crawler.stats.get_value("politeness/blocked_hosts")
        self.verdict = verdict(
            reason,
            expected=self.state.expected,
            listed=self.state.listed,
            limited=self.state.is_limited,
            errors={kind: count for kind, count in self.error_log.failures().items() if kind not in causes.FINDINGS},
            blocked=not getattr(self.crawler.spider, "crosses_hosts", False)
            and (self.job.state.get("blocked", False) or bool(blocked_hosts)),
        )
        self._describe(reason, datasets)

    def _describe(self, reason: str, datasets: int | None = None) -> None:
        errors, found = self.error_log.failures(), self.error_log.records.counts()
        counts = {name: found.get(name, 0) for name in COUNTS} | {"failed": sum(errors.values())}
        self.outcome = run_report(self, reason, counts, errors, flaws=self._flaws(), datasets=datasets)

    def _flaws(self) -> dict[str, int] | None:
        try:
            return self.error_log.flaws.counts()
        except (OSError, ValueError, sqlite3.Error) as error:
            logger.warning("The flaws can't be counted (%s)", error)
            return None

    def _leave(self) -> None:
        if self.crawler.settings["LOG_FILE"]:  # a terminal gets these lines anyway; Scrapyd's log would lack them
            logger.info("%s", self.summary)
        self.error_log.close()
        self.former.close()
        with suppress(OSError):
            (self.folder / ".writing").unlink(missing_ok=True)
        self.crawler.signals.send_catch_log(signals.run_ended, report=self.outcome, folder=self.folder)
        _add_to_index(self)
        os.close(self.lock)


def _begin(job: Job, folder: Path) -> tuple[str, str]:
    """Return the run's name and when it started; note in the ledger, before any request, where its lines begin.

    Torn last lines of the manifest, of errors.jsonl and of flaws.jsonl are cut off, before the index reads them.

    Raises:
        JobError: the ledger is damaged; it names the report's file.
    """
    for file in lines.FILES:
        lines.finish(folder, file)
    manifest = JSONLines(folder / "manifest.jsonl")
    job.state.setdefault("last_change", (manifest.last() or {}).get("time"))
    manifest.close()
    started: str = job.state.setdefault("started", now())
    run: str = job.state.setdefault("run", _name(folder, started))
    for name in _LINES[1:]:
        JSONLines(folder / f"{name}.jsonl").close()
    for name in _LINES:
        if f"{name}_bytes" not in job.state:
            job.state[f"{name}_bytes"] = lines.size(folder, f"{name}.jsonl")
    job.state["flaws_bytes"] = _told(folder, job.state["flaws_bytes"], is_new=not job.resumed)
    are_sizes = all(isinstance(job.state[f"{name}_bytes"], int) for name in _LINES)
    if not (isinstance(run, str) and RUN.fullmatch(run) and moment.moment(started) and are_sizes):
        raise JobError(f"{job.path} is damaged (state): choose another JOBDIR")
    return run, started


def _told(folder: Path, begin: Any, *, is_new: bool) -> Any:
    """Return where the flaws begin that no report has told: a crawl that was killed left some without one.

    Args:
        begin: where those of the job begin.
        is_new: whether the job begins now. Else another crawl may have told some of its own.
    """
    reports = sorted((folder / "runs").glob("*.json"), reverse=True)
    found = (runs.content(path).get("flaws_end") for path in reports[:_LATEST])  # that of a killed crawl has none
    end = next((end for end in found if isinstance(end, int)), None if reports else 0)
    if end is None or not isinstance(begin, int):
        return begin
    return min(end, begin) if is_new else max(end, begin)


def _name(folder: Path, started: str) -> str:
    name = moment.name(moment.moment(started))
    later = len(list((folder / "runs").glob(f"{name}*.json")))
    return f"{name}-{later + 1}" if later else name


def _count_datasets(crawler: Crawler) -> int | None:
    """Return how many datasets are on disk, by the index.

    The index is settled before the report is written: a finished run's datasets are always indexed.
    """
    index = crawler.get_extension(Index)
    try:
        return index.documents.count() if index and index.settle() else None
    except (OSError, ValueError, sqlite3.Error) as error:
        logger.warning("The datasets on disk can't be counted (%s)", error)
        return None


def _add_to_index(report: Report) -> None:
    """Add the report to the index last: if that fails, nothing is lost."""
    index = report.crawler.get_extension(Index)
    try:
        if index:
            index.read_report(report.outcome)
    except (OSError, ValueError, sqlite3.Error) as error:
        logger.warning("%s is left out of index.sqlite (%s)", report.path, error)
