"""The last lines on the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crawlers.quiet import nothing_changed

BLOCKED = (
    "blocked: the portal refuses this crawler. Set CONTACT (a user agent with a contact), "
    "an API token in the environment, or go slower: -s REQUESTS_PER_SECOND=0.5"
)


def summary(report: dict[str, Any], folder: Path, unwritten: str = "") -> str:
    """The verdict, the counts, and where the files are.

    Args:
        report: what is in runs/<run>.json.
        folder: the source's.
        unwritten: why the report is not there, though the run has ended.
    """
    counts, errors = report["counts"], report["errors"]
    lines = [f"{report['source']}: {report['verdict']}. {_documents(report)}."]
    if report["verdict"] == "blocked":
        lines.append(BLOCKED)
    if errors:
        kinds = ", ".join(f"{kind} {count}" for kind, count in errors.items())
        noun = "error" if counts["failed"] == 1 else "errors"
        lines.append(f"{counts['failed']} {noun} ({kinds}): see {folder / 'errors.jsonl'}.")
    if unwritten:
        path = folder / "runs" / f"{report['run']}.json"
        lines.append(f"{folder} has the documents and manifest.jsonl, but {path}, this run's report, {unwritten}.")
        lines.append("Without it the run counts as interrupted: see to what is in the way, then crawl again.")
    else:
        lines.append(
            f"{folder} has the documents and manifest.jsonl; this run's report is runs/{report['run']}.json there."
        )
    return "\n".join(lines)


def _documents(report: dict[str, Any]) -> str:
    quiet = nothing_changed(report)
    if quiet:
        return quiet[0].upper() + quiet[1:]
    counts, expected = report["counts"], report["expected"]
    datasets = f"{report['listed']} of {expected}" if expected is not None else str(report["listed"])
    became = ", ".join(f"{counts[name]} {name}" for name in ("new", "updated", "unchanged"))
    fallback = f" ({counts['fallback']} by fallback)" if counts["fallback"] else ""
    return f"{datasets} datasets listed; documents: {became}{fallback}"
