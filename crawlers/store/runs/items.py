"""What a run wrote, marked or failed at, one by one, as manifest.jsonl and errors.jsonl say."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from crawlers.safety import json_lines
from crawlers.store import compacted
from crawlers.store.runs.run import Run

_FILES = ("manifest", "errors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """
    Args:
        status: new, updated, withdrawn, restored; or failed.
        kind: the document's: dataset, dataset_metadata, resource_metadata; ``None`` of what failed.
        file: relative to the source's folder.
        error: one sentence; ``None`` unless it failed, as for the next two.
        error_kind: one of `crawlers.signals.KINDS`.
        stage: where it failed: start, list, fetch, parse, write.
    """

    time: str
    status: str
    kind: str | None = None
    dataset_id: str | None = None
    resource_id: str | None = None
    title: str | None = None
    file: str | None = None
    url: str | None = None
    error: str | None = None
    error_kind: str | None = None
    stage: str | None = None
    http_status: int | None = None


def items(run: Run) -> Iterator[Item]:
    """Yield a run's items by time, read as they are asked for; a damaged line is left out."""
    written, failed = (entries(run, name) for name in _FILES)
    yield from heapq.merge(map(_written, written), map(_failed, failed), key=lambda item: item.time)


def entries(run: Run, name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a run in manifest.jsonl or errors.jsonl; little else of the file is read.

    Args:
        name: manifest or errors.
    """
    if run.folder is None or run.run is None:
        return
    sought = run.run.encode()
    try:
        for line in compacted.between(run.folder, f"{name}.jsonl", *bounds(run.details, name)):
            if sought in line and (entry := json_lines.entry(line)) and entry.get("run") == run.run:
                yield entry
    except OSError:
        return


def bounds(report: Mapping[str, Any], name: str) -> tuple[int, int | None]:
    """Return where the lines of a run begin and end in a file, as its report says.

    A report of an older version, and that of a run that crashed, do not say where they end.

    >>> bounds({"errors_bytes": 70, "errors_end": 90}, "errors"), bounds({}, "errors")
    ((70, 90), (0, None))
    """
    begin, end = report.get(f"{name}_bytes"), report.get(f"{name}_end")
    return max(begin, 0) if isinstance(begin, int) else 0, end if isinstance(end, int) else None


def _written(line: dict[str, Any]) -> Item:
    return Item(
        time=_text(line, "time") or "",
        status=_text(line, "status") or "",
        kind=_text(line, "kind"),
        dataset_id=_text(line, "dataset_id"),
        resource_id=_text(line, "resource_id"),
        title=_text(line, "resource_name") or _text(line, "dataset_title") or _text(line, "dataset_name"),
        file=_text(line, "metadata_file"),
        url=_text(line, "metadata_url"),
    )


def _failed(line: dict[str, Any]) -> Item:
    status = line.get("http_status")
    return Item(
        time=_text(line, "time") or "",
        status="failed",
        dataset_id=_text(line, "dataset_id"),
        resource_id=_text(line, "resource_id"),
        title=_text(line, "dataset_name"),
        url=_text(line, "url"),
        error=_text(line, "error") or "",
        error_kind=_text(line, "kind"),
        stage=_text(line, "stage"),
        http_status=status if isinstance(status, int) else None,
    )


def _text(line: dict[str, Any], name: str) -> str | None:
    value = line.get(name)
    return value if isinstance(value, str) else None
