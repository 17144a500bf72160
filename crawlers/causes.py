"""Why something is missing, and what to do: every page, mail and message has it from error_kinds.toml."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.exceptions import with_command

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXTS = tomllib.loads(files("crawlers").joinpath("error_kinds.toml").read_text(encoding="utf-8"))
_OF_LINES = {kind: texts for kind, texts in _TEXTS.items() if not texts.get("of_run")}

KINDS: dict[str, str] = {kind: texts["meaning"] for kind, texts in _OF_LINES.items()}
"""What can be in the ``kind`` of an error or of a flaw, and what it means."""

ADVICE: dict[str, str] = {kind: texts["advice"] for kind, texts in _OF_LINES.items()}
"""What an operator does about each kind."""

FLAWS: dict[str, str] = {kind: texts["otherwise"] for kind, texts in _OF_LINES.items() if "otherwise" in texts}
"""The kinds of flaws, and the kind of error that each is if its dataset's document is not kept."""

FINDINGS = tuple(kind for kind, texts in _OF_LINES.items() if not texts["missing"] and kind not in FLAWS)
"""The kinds of errors that say something about the files a catalogue links: nothing of the catalogue is missing."""

_SUCCESSFUL = ("complete", "partial", "pending", "running")


class Cause(NamedTuple):
    """Why a run is not complete.

    Args:
        kind: of error; or ``not_started``, ``crashed``, ``interrupted``, ``unexplained``.
        lines: how many of errors.jsonl are of it; of some causes there are none.
        meaning: a sentence.
        advice: what to do, a sentence.
        command: the command that does it; empty if none does.
    """

    kind: str
    lines: int
    meaning: str
    advice: str
    command: str

    @property
    def sentence(self) -> str:
        """What happened, and what to do."""
        return f"{self.meaning} {self.advice}".strip()


def of_run(report: Mapping[str, Any]) -> list[Cause]:
    """Return why a run is not complete: what decided it first, then the kinds of its errors, the most frequent first.

    Args:
        report: what is in runs/<run>.json; of it, ``source``, ``spider``, ``run``, ``verdict``, ``finish_reason`` and
            ``errors`` are read.

    >>> report = {"source": "town", "verdict": "incomplete", "errors": {"http": 40, "shrink": 1, "broken_link": 9}}
    >>> [(cause.kind, cause.lines, cause.command) for cause in of_run(report)]
    [('shrink', 1, 'scrapy sources accept-shrink town'), ('http', 40, 'scrapy harvest town')]
    >>> [cause.kind for cause in of_run({"verdict": "failed"})], of_run({"verdict": "complete"})
    (['unexplained'], [])
    """
    verdict, reason = report.get("verdict"), str(report.get("finish_reason") or "")
    errors = report.get("errors") or {}
    if verdict in _SUCCESSFUL or verdict is None:
        return []
    if reason.startswith("not started"):
        return [_cause("not_started", 0, report)]
    found = sorted((kind for kind in errors if kind not in FINDINGS), key=lambda kind: (-errors[kind], kind))
    found.sort(key=lambda kind: not _TEXTS.get(kind, {}).get("decides"))
    if verdict in ("blocked", "interrupted"):
        first = "crashed" if reason == "died" else str(verdict)
        found = [first, *(kind for kind in found if kind != first)]
    return [_cause(kind, errors.get(kind, 0), report) for kind in found or ("unexplained",)]


def _cause(kind: str, lines: int, report: Mapping[str, Any]) -> Cause:
    """Return a cause; of a kind of another version only its name."""
    texts = _TEXTS.get(kind, {"meaning": "", "advice": ""})
    about = {name: report.get(name) or name.upper() for name in ("source", "spider", "run")}
    advice, command = with_command(texts["advice"]), texts.get("command", "").format_map(about)
    return Cause(kind, lines, texts["meaning"], advice, with_command(command))
