"""Failures, newest first: the lines of errors.jsonl, of one source or merged from all."""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.safety import inside
from crawlers.store import lines
from crawlers.store.lines import Budget, backwards
from crawlers.store.runs import bounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from crawlers.store.runs import Run

_FILE = "errors.jsonl"
MOST = 16 * 1024 * 1024  # bytes that are read for a page, of all sources together


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter of error lines; an empty text matches all."""

    kind: str = ""
    run: str = ""


def newest(output: Path, sources: Iterable[str], wanted: Wanted, budget: Budget) -> Iterator[dict[str, Any]]:
    """Yield the error lines that match the filter, each with its ``source``."""
    files = [_source_lines(output, source, wanted, budget) for source in sources]
    return heapq.merge(*files, key=lambda line: line["time"], reverse=True)


def of_run(run: Run, budget: Budget) -> Iterator[dict[str, Any]]:
    """Yield the error lines of a run that has a report, the newest first; nothing else of the file is read."""
    if run.folder is None or run.run is None:
        return
    begin, end = bounds(run.details, "errors")
    try:
        moved = lines.packed(run.folder, _FILE) - lines.doubled(run.folder, _FILE)
    except OSError:
        budget.damaged.add(run.source)
        return
    if begin >= moved:
        texts = backwards(run.folder / _FILE, budget, begin - moved, None if end is None else end - moved)
    else:
        texts = _newest_first(run.folder, budget)
    yield from _read_all(texts, run.source, Wanted(run=run.run))


def _source_lines(output: Path, source: str, wanted: Wanted, budget: Budget) -> Iterator[dict[str, Any]]:
    yield from _read_all(_newest_first(output / source, budget), source, wanted)


def _read_all(texts: Iterable[bytes], source: str, wanted: Wanted) -> Iterator[dict[str, Any]]:
    for text in texts:
        line = _read(text, wanted)
        if line is not None:
            yield {**line, "source": source}


def _newest_first(folder: Path, budget: Budget) -> Iterator[bytes]:
    """Yield the lines of errors.jsonl, then those of its compressed parts, the newest first.

    A source whose lines can't be read is noted in the budget.
    """
    try:
        if (folder / _FILE).exists():
            inside.size(folder, _FILE)
        yield from backwards(folder / _FILE, budget, lines.doubled(folder, _FILE))
        for part in reversed(lines.parts(folder, _FILE)):
            if not budget.take(lines.length(folder, part)):
                return
            yield from reversed([text for _, text in lines.unpacked(folder, part) if text])
    except OSError:
        budget.damaged.add(folder.name)


def _read(text: bytes, wanted: Wanted) -> dict[str, Any] | None:
    """Return a line if it is valid and matches the filter; most others are recognised without being parsed."""
    if wanted.kind.encode() not in text or wanted.run.encode() not in text:
        return None
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(line, dict) or not isinstance(line.get("time"), str):
        return None
    fits = wanted.kind in ("", line.get("kind")) and wanted.run in ("", line.get("run"))
    return dict.fromkeys(_FIELDS) | line if fits else None


_FIELDS = (
    *("time", "run", "stage", "kind", "url", "http_status", "attempts"),
    *("dataset_id", "dataset_name", "resource_id", "error"),
)
