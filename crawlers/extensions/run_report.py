"""What is in runs/<run>.json, and the last lines on the terminal."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy

from crawlers.extensions.error_log import now
from crawlers.safety.redact import redact
from crawlers.store.runs.words import counted, judged, left_out, looked_at, looks, nothing_changed, published, way_back

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawlers.extensions.report import Report

BLOCKED = (
    "blocked: the portal refuses this crawler. Set CONTACT (a user agent with a contact), "
    "an API token in the environment, or go slower: -s REQUESTS_PER_SECOND=0.5"
)
_CHANGES = ("new", "updated", "withdrawn", "restored")


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
        reason: Scrapy's finish reason; "running" until there is one.
        counts: how many documents are new, updated ...
        errors: how many failures there are of each kind.
        flaws: how many flaws of each kind stand after the run; ``None`` if that is not known.
        datasets: how many datasets are on disk; ``None`` if that is not known.
    """
    state, is_quiet = report.state, report.verdict == "complete" and not any(map(counts.get, _CHANGES))
    return {
        **_beginning(report, report.crawler.spider),
        "finished": now(),
        "finish_reason": reason,
        "verdict": report.verdict,
        **{name: getattr(state, name) for name in ("expected", "listed", "excluded")},
        "not_kept": _not_kept(report, report.crawler.spider) if reason == "finished" else 0,
        "evidence": state.walks.evidence,
        "datasets_on_disk": datasets,
        "unchanged_since": report.job.state.get("last_change") if is_quiet else None,
        "counts": counts,
        "errors": errors,
        "flaws": flaws,
        "new_flaws": report.new_flaws,
        **{name: report.crawler.stats.get_value(stat, 0) for name, stat in _STATS.items()},
        "whole_listing": reason == "finished" and state.is_whole_listing,
        **_for_the_next_run(report),
        **_environment(report.crawler.settings),
    }


_STATS = {
    "requests": "downloader/request_count",
    "retries": "retry/count",
    "bytes": "downloader/response_bytes",
    "robots_exempt": "politeness/robots_exempt",
}


def _beginning(report: Report, spider: Any) -> dict[str, Any]:
    return {
        "source": spider.source,
        "spider": spider.name,
        "run": report.run,
        "arguments": {name: redact(value) for name, value in spider.given.items()},
        "since": _since(spider.given, report.state.since),
        "started": report.started,
        **({"completed_by": spider.name} if getattr(spider, "complete_item", None) else {}),
    }


def _not_kept(report: Report, spider: Any) -> int:
    """Return how many datasets were listed and have no document; 0 for a spider that crawls no catalogue."""
    if not spider.kind:
        return 0
    return max(report.state.listed - report.error_log.records.kept(spider.listed_kind), 0)


def _since(given: dict[str, str], decided: str | None) -> str | None:
    """Return the moment after which only changes were requested; ``None`` if everything was listed."""
    since = given.get("since")
    return (decided or None) if since in (None, "", "last") else since


def _for_the_next_run(report: Report) -> dict[str, Any]:
    sizes = {name: report.job.state[name] for name in ("manifest_bytes", "errors_bytes", "flaws_bytes")}
    answers = {"provisional": report.state.has_stale_answer, "validators": report.state.validators}
    own = getattr(report.crawler.spider, "reported", {})
    return {**answers, "resumed": report.job.resumed, **sizes, **report.ends, **own}


def _environment(settings: BaseSettings) -> dict[str, Any]:
    log, own = settings.get("LOG_FILE"), {settings["BOT_NAME"]: settings["VERSION"]}
    versions = own | {"scrapy": scrapy.__version__, "python": platform.python_version()}
    return {"log": str(Path(log).resolve()) if log else None, "versions": versions}


def summary(report: dict[str, Any], folder: Path, unwritten: str = "") -> str:
    """Return the verdict, the counts, and where the files are.

    Args:
        report: what is in runs/<run>.json.
        folder: the source's.
        unwritten: why the run, which has ended, has no report.
    """
    counts, errors, flaws = report["counts"], report["errors"], report.get("flaws") or {}
    lines = [f"{report['source']}: {judged(report['verdict'], flaws)}. {_documents(report)}."]
    if report["verdict"] == "blocked":
        lines.append(BLOCKED)
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
