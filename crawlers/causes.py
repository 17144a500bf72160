"""Why something is missing, and what to do: every page, mail and message has it from error_kinds.toml."""

from __future__ import annotations

import shlex
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


def of_run(report: Mapping[str, Any], *, is_listed: bool = True) -> list[Cause]:
    """Return why a run is not complete: what decided it first, then the kinds of its errors, the most frequent first.

    Args:
        report: what is in runs/<run>.json, or what is left of it; of it, ``source``, ``spider``, ``arguments``,
            ``run``, ``verdict``, ``finish_reason``, ``errors`` and ``published`` are read.
        is_listed: whether sources.toml has the source: else commands about its table do not help.

    >>> report = {"source": "town", "verdict": "incomplete", "errors": {"http": 40, "shrink": 1, "broken_link": 9}}
    >>> [(cause.kind, cause.lines, cause.command) for cause in of_run(report)]
    [('shrink', 1, 'scrapy sources accept-shrink town'), ('http', 40, 'scrapy harvest town')]
    >>> [cause.kind for cause in of_run({"verdict": "failed"})], of_run({"verdict": "complete"})
    (['unexplained'], [])
    """
    verdict, reason = report.get("verdict"), str(report.get("finish_reason") or "")
    given = report.get("errors")
    errors = {kind: n for kind, n in given.items() if isinstance(n, int)} if isinstance(given, dict) else {}
    if verdict in _SUCCESSFUL or verdict is None:
        return []
    if reason.startswith("not started"):
        return [_cause("not_started", 0, report, is_listed=is_listed)]
    found = sorted((kind for kind in errors if kind not in FINDINGS), key=lambda kind: (-errors[kind], kind))
    found.sort(key=lambda kind: not _TEXTS.get(kind, {}).get("decides"))
    if verdict in ("blocked", "interrupted") and not (found and _TEXTS.get(found[0], {}).get("decides")):
        found.insert(0, "crashed" if reason == "died" else str(verdict))
    return [_cause(kind, errors.get(kind, 0), report, is_listed=is_listed) for kind in found or ("unexplained",)]


def _cause(kind: str, lines: int, report: Mapping[str, Any], *, is_listed: bool) -> Cause:
    """Return a cause; of a kind of another version only its name."""
    texts = _TEXTS.get(kind, {"meaning": "", "advice": ""})
    about = {name: report.get(name) or name.upper() for name in ("source", "spider", "run")}
    command = texts.get("command", "").format_map(about)
    if not is_listed and command.startswith(("scrapy harvest ", "scrapy sources ")):
        accepts = f" -s ACCEPT_SHRINK={about['run']}" if kind == "shrink" else ""
        command = "" if command.startswith("scrapy sources validate") else _crawl(report, accepts)
    return Cause(kind, lines, texts["meaning"], with_command(texts["advice"]), with_command(command))


def _crawl(report: Mapping[str, Any], more: str) -> str:
    """Return the command that crawled a source that is not in sources.toml; empty if none did, as of a publish."""
    given, spider = report.get("arguments"), report.get("spider")
    if not (isinstance(given, dict) and spider) or "published" in report:
        return ""
    words = (f"-a {shlex.quote(f'{name}={value}')}" for name, value in given.items())
    return " ".join(("scrapy crawl", str(spider), *words)) + more
