"""What a notification says about a run, and whether its source was failing before."""

from __future__ import annotations

import json
import socket
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, get_args

from crawlers import causes
from crawlers.causes import ADVICE, KINDS
from crawlers.records.moment import seconds
from crawlers.safety.redact import safe_line
from crawlers.store import lines
from crawlers.store.run_text import counted, judged, left_out, looked_at, looks, minute, nothing_changed
from crawlers.store.runs import State, bounds, runs

VERDICTS = tuple(state for state in get_args(State) if state not in ("pending", "running"))

FIELDS = (
    *("source", "spider", "run", "verdict", "finish_reason", "expected", "listed"),
    *("datasets_on_disk", "unchanged_since", "counts", "errors", "flaws", "new_flaws"),
    *("started", "finished"),
)
"""The report's fields that a notification repeats."""


@dataclass(frozen=True, slots=True)
class Failures:
    """The failed runs directly before a run."""

    count: int = 0
    since: str | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A run and what to say about it.

    Args:
        report: runs/<run>.json; for a run that crashed without a report, what is known, and ``why``.
        is_listed: whether sources.toml has the source.
    """

    report: dict[str, Any]
    folder: Path
    before: Failures = field(default_factory=Failures)
    is_listed: bool = True

    @property
    def text(self) -> str:
        """Return the notice as one line."""
        what = self.not_started or f"{self.datasets[0].upper()}{self.datasets[1:]}{self._errors()}"
        return safe_line(f"{self.report['source']}: {self.state}. {what}", 1000).rstrip(".") + "."

    @property
    def is_failure(self) -> bool:
        """Return whether the run failed."""
        return self.report["verdict"] in FAILED

    @property
    def has_recovered(self) -> bool:
        """Return whether the run is the first successful one after failed ones."""
        return bool(self.before.count) and not self.is_failure

    @property
    def state(self) -> str:
        """Return the verdict, the flaws, and whether the source fails again or has recovered.

        >>> before = Failures(2, "2026-11-19T02:00:00Z")
        >>> Notice({"verdict": "failed"}, Path(), before).state, Notice({"verdict": "complete"}, Path(), before).state
        ('failed again (run 3 in a row since 2026-11-19 02:00)', 'recovered: complete after 2 failed runs')
        """
        verdict, count = judged(self.report["verdict"], self.report.get("flaws") or {}), self.before.count
        verdict += f", {self.new_flaws} of them new" if self.new_flaws else ""
        if self.has_recovered:
            return f"recovered: {verdict} after {count} failed {'run' if count == 1 else 'runs'}"
        since = minute(self.before.since)
        return f"{verdict} again (run {count + 1} in a row since {since})" if count else verdict

    @property
    def new_flaws(self) -> int:
        """How many flaws appeared in the run."""
        found = self.report.get("new_flaws")
        return found if isinstance(found, int) else 0

    @property
    def not_started(self) -> str | None:
        """Return why there was no crawl; ``None`` if there was one.

        >>> Notice({"finish_reason": "not started: there is no rules file"}, Path()).not_started
        'not started: there is no rules file'
        """
        reason = str(self.report.get("finish_reason"))
        return reason if reason.startswith("not started") else None

    @property
    def datasets(self) -> str:
        """Return how many datasets were listed or files looked at, or that nothing changed.

        >>> Notice({"listed": 300, "expected": 305}, Path()).datasets
        '300 of 305 datasets listed'
        """
        seen = looks(self.report)
        if seen and seen.noun != "file":
            return looked_at(self.report)
        unchanged = nothing_changed(self.report)
        if unchanged:
            return unchanged
        expected = self.report.get("expected")
        total = f" of {expected}" if expected is not None else ""
        what = "files looked at" if seen else f"datasets listed{left_out(self.report)}"
        return f"{self.report.get('listed') or 0}{total} {what}"

    @property
    def advice(self) -> str | None:
        """Return why the run is not complete, and what to do; ``None`` for one that needs nothing."""
        found = causes.of_run(self.report, is_listed=self.is_listed)
        return found[0].sentence if found else None

    @property
    def command(self) -> str | None:
        """Return the command that does what the advice says; ``None`` if none does."""
        found = causes.of_run(self.report, is_listed=self.is_listed)
        return (found and found[0].command) or None

    @property
    def host(self) -> str:
        return socket.gethostname()

    @property
    def seconds(self) -> float | None:
        """Return how long the run took, from its first start to its end."""
        return seconds(self.report.get("started"), self.report.get("finished"))

    @property
    def subject(self) -> str:
        """Return the mail's subject."""
        return safe_line(f"{self.report['source']}: {self.state}, {self.datasets}", 200)

    @property
    def message_id(self) -> None:
        """Return nothing: a notice is not sent again."""

    @property
    def is_for_contact(self) -> bool:
        """Return whether the source fails or has recovered."""
        return self.is_failure or self.has_recovered

    def plain(self) -> str:
        """Return the mail's text: what happened, what to do, where the files are, and the first errors."""
        return body(self)

    def html(self) -> None:
        """Return nothing: a notice is plain text."""

    def fields(self) -> dict[str, Any]:
        """Return the webhook's JSON; docs/notifications.md describes each field."""
        found = {"text": self.text} | {name: self.report.get(name) for name in FIELDS}
        found |= {"seconds": self.seconds, "host": self.host}
        found |= {"failed_before": self.before.count, "failing_since": self.before.since}
        return found | {name: text for name in ("advice", "command") if (text := getattr(self, name))}

    def _errors(self) -> str:
        errors = self.report.get("errors") or {}
        if not errors:
            return ""
        total = sum(errors.values())
        return f"; {total} {'error' if total == 1 else 'errors'} ({counted(errors)})"


FAILED = frozenset(("incomplete", "blocked", "failed", "interrupted"))
"""The verdicts of a run that failed."""
_SUCCESSFUL = frozenset(("complete", "partial"))
_MOST = 50  # runs that are looked at


def failures_before(report: dict[str, Any], folder: Path, verdicts: Collection[str]) -> Failures:
    """Return the failed runs before a run, among those with the same arguments.

    Args:
        verdicts: those that are notified of; a failed run with another one is passed over.
    """
    before = (
        run
        for run in runs(folder.parent, folder.name, limit=_MOST)
        if run.over and run.run != report.get("run") and run.arguments == report.get("arguments", run.arguments)
    )
    judged = (run for run in before if run.state in _SUCCESSFUL or run.state in verdicts)
    failed = list(takewhile(lambda run: run.state in FAILED, judged))
    return Failures(len(failed), failed[-1].started) if failed else Failures()


# The mail's text

LINES = 20
"""Error lines in a mail."""
_LONGEST = 64 * 1024  # bytes of an error line


def body(notice: Notice) -> str:
    """Return the text of a mail."""
    report = notice.report
    counts = [f"{count:>7} {safe_line(name)}" for name, count in (report.get("counts") or {}).items() if count]
    errors, flaws = (
        [
            f"{count:>7} {safe_line(kind)}: {KINDS.get(kind, 'see errors.jsonl.')} {ADVICE.get(kind, '')}".rstrip()
            for kind, count in (report.get(name) or {}).items()
        ]
        for name in ("errors", "flaws")
    )
    first = islice(_lines(notice, "errors"), LINES)
    appeared = islice((line for line in _lines(notice, "flaws") if line.get("status") == "new"), LINES)
    parts = (
        notice.text,
        safe_line(report.get("why"), 4096),
        "\n  ".join(filter(None, (notice.advice, notice.command))),
        _section("Documents:", counts),
        _section("Errors:", errors),
        _section("Flaws of records that are kept:", flaws),
        _files(notice),
        _section("The first lines of errors.jsonl:", map(_described, first)),
        _section("The first new flaws:", map(_described, appeared)),
    )
    return "\n\n".join(filter(None, parts)) + "\n"


def _section(heading: str, points: Any) -> str:
    text = "\n".join(f"  {point}" for point in points)
    return f"{heading}\n{text}" if text else ""


def _files(notice: Notice) -> str:
    report, folder = notice.report, notice.folder.resolve()
    times = f"Started {report.get('started')}, ended {report.get('finished')}, on {notice.host}."
    written = folder / "runs" / f"{report.get('run')}.json"
    lines = [safe_line(times), f"The files: {folder}"]
    if written.is_file():  # a run that crashed has none
        lines.append(f"The report: {written}")
    if report.get("log"):
        lines.append(f"Its log: {safe_line(report['log'], 4096)}")
    return "\n".join(lines)


def _lines(notice: Notice, name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a run, which begin where its report says; of flaws, those of killed crawls before it, too."""
    report, run = notice.report, notice.report.get("run")
    marks = (f'"run":{json.dumps(run)}'.encode(), f'"run": {json.dumps(run)}'.encode())
    with suppress(OSError):
        for raw in lines.between(notice.folder, f"{name}.jsonl", *bounds(report, name)):
            is_own = name == "flaws" or any(mark in raw for mark in marks)
            line = lines.entry(raw) if len(raw) < _LONGEST and is_own else None
            if line and (name == "flaws" or line.get("run") == run):
                yield line


def _described(line: dict[str, Any]) -> str:
    where = line.get("url") or line.get("dataset_id") or ""
    stage, kind, error = (safe_line(line.get(name)) for name in ("stage", "kind", "error"))
    return f"{stage} {kind} {safe_line(where)}\n    {error}"
