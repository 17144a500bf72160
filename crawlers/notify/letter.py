"""A notice as a letter: what happened, what to do, where the files are, and the first errors."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlers.safety import inside
from crawlers.safety.line import safe_line
from crawlers.signals import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from crawlers.notify.notice import Notice

LINES = 20
_LONGEST = 64 * 1024  # of an error line, in bytes


def subject(notice: Notice) -> str:
    return safe_line(f"{notice.report['source']}: {notice.report['verdict']}, {notice.datasets}", 200)


def letter(notice: Notice) -> str:
    why = safe_line(notice.report.get("why"), 4096)
    parts = [notice.text, why, notice.advice, *_counts(notice), *_errors(notice), _files(notice), *_lines(notice)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _counts(notice: Notice) -> Iterator[str]:
    counts = notice.report.get("counts") or {}
    if counts:
        yield "\n".join(["Documents:", *(f"  {count:>7} {safe_line(name)}" for name, count in counts.items() if count)])


def _errors(notice: Notice) -> Iterator[str]:
    errors = notice.report.get("errors") or {}
    if errors:
        yield "\n".join(
            ["Errors:", *(f"  {count:>7} {safe_line(kind)}: {_meaning(kind)}" for kind, count in errors.items())]
        )


def _meaning(kind: str) -> str:
    return KINDS.get(kind, "see errors.jsonl.")


def _files(notice: Notice) -> str:
    report = notice.report
    times = f"Started {report.get('started')}, ended {report.get('finished')}, on {notice.host}."
    folder = notice.folder.resolve()
    written = folder / "runs" / f"{report.get('run')}.json"
    lines = [safe_line(times), f"The files: {folder}"]
    if written.is_file():  # a run that died has none
        lines.append(f"The report: {written}")
    if report.get("log"):
        lines.append(f"Its log: {safe_line(report['log'], 4096)}")
    return "\n".join(lines)


def _lines(notice: Notice) -> Iterator[str]:
    found = list(islice(_lines_of(notice.folder / "errors.jsonl", notice.report.get("run")), LINES))
    if found:
        yield "\n".join(["The first lines of errors.jsonl:", *map(_line, found)])


def _lines_of(path: Path, run: str | None) -> Iterator[dict[str, Any]]:
    """The error lines of a run; the file has those of every run, and is read a line at a time."""
    marks = (f'"run":{json.dumps(run)}'.encode(), f'"run": {json.dumps(run)}'.encode())
    try:
        with inside.opened(path.parent, path.name) as file:
            for body in iter(lambda: file.readline(_LONGEST), b""):
                line = _read(body) if any(mark in body for mark in marks) else None
                if line and line.get("run") == run:
                    yield line
    except OSError:
        return


def _read(body: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None


def _line(line: dict[str, Any]) -> str:
    where = line.get("url") or line.get("dataset_id") or ""
    stage, kind, error = (safe_line(line.get(name)) for name in ("stage", "kind", "error"))
    return f"  {stage} {kind} {safe_line(where)}\n    {error}"
