"""What is told of a run."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawlers.moment import seconds
from crawlers.quiet import nothing_changed
from crawlers.safety.line import safe_line

ADVICE = {
    "incomplete": "Something is missing. Run the same command again: only what is missing or changed is asked for.",
    "blocked": "The portal refuses this crawler. Set CONTACT, an API token in the environment, or go slower: "
    "-s REQUESTS_PER_SECOND=0.5.",
    "failed": "The run did not get through, so nothing was withdrawn. errors.jsonl and the log say why.",
    "interrupted": "The run was stopped. The same command, with the same JOBDIR, goes on where it was.",
}
"""What to do, by verdict."""

DIED = "The run died. The same command, with the same JOBDIR, goes on where it was."

UNSTARTED = "Nothing was asked for. Mend what it says; `scrapy sources validate` shows whether it starts."

FIELDS = (
    *("source", "spider", "run", "verdict", "finish_reason", "expected", "listed"),
    *("datasets_on_disk", "unchanged_since", "counts", "errors"),
    *("started", "finished"),
)
"""What is told as it is in the report."""


@dataclass(frozen=True, slots=True)
class Notice:
    """
    Args:
        report: what is in runs/<run>.json; of a run that died without one, what is known, and ``why``.
        folder: the source's.
    """

    report: dict[str, Any]
    folder: Path

    @property
    def text(self) -> str:
        """All of it in one line."""
        what = self.unstarted or f"{self.datasets[0].upper()}{self.datasets[1:]}{self._errors()}"
        return safe_line(f"{self.report['source']}: {self.report['verdict']}. {what}", 1000).rstrip(".") + "."

    @property
    def unstarted(self) -> str | None:
        """Why there was no crawl, when there was none.

        >>> Notice({"finish_reason": "not started: there is no rules file"}, Path()).unstarted
        'not started: there is no rules file'
        """
        reason = str(self.report.get("finish_reason"))
        return reason if reason.startswith("not started") else None

    @property
    def datasets(self) -> str:
        """
        >>> Notice({"listed": 300, "expected": 305}, Path()).datasets
        '300 of 305 datasets listed'
        """
        quiet = nothing_changed(self.report)
        if quiet:
            return quiet
        expected = self.report.get("expected")
        of = f" of {expected}" if expected is not None else ""
        return f"{self.report.get('listed') or 0}{of} datasets listed"

    @property
    def advice(self) -> str | None:
        if self.unstarted:
            return UNSTARTED
        return DIED if self.report.get("finish_reason") == "died" else ADVICE.get(self.report["verdict"])

    @property
    def host(self) -> str:
        return socket.gethostname()

    @property
    def seconds(self) -> float | None:
        """How long the run took, from its first start to its end."""
        return seconds(self.report.get("started"), self.report.get("finished"))

    def fields(self) -> dict[str, Any]:
        """The webhook's JSON; docs/notifications.md describes each."""
        found = {"text": self.text} | {name: self.report.get(name) for name in FIELDS}
        found |= {"seconds": self.seconds, "host": self.host}
        return found | ({"advice": self.advice} if self.advice else {})

    def _errors(self) -> str:
        errors = self.report.get("errors") or {}
        if not errors:
            return ""
        kinds = ", ".join(f"{kind} {count}" for kind, count in errors.items())
        total = sum(errors.values())
        return f"; {total} {'error' if total == 1 else 'errors'} ({kinds})"
