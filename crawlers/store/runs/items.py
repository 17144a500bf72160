"""What a run wrote, marked or failed at, one by one, as manifest.jsonl and errors.jsonl say."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from crawlers.safety import inside, json_lines
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
    """Yield a run's items by time, read as they are asked for, from where the run began; a damaged line is left out."""
    if run.folder is None or run.run is None:
        return
    written, failed = (_lines(run.folder / f"{name}.jsonl", run.run, _begin(run, name)) for name in _FILES)
    yield from heapq.merge(map(_written, written), map(_failed, failed), key=lambda item: item.time)


def _begin(run: Run, name: str) -> int:
    """The size of a file when the run began, as its report says; 0 where it does not."""
    size = run.details.get(f"{name}_bytes")
    return size if isinstance(size, int) and size > 0 else 0


def _lines(path: Path, run: str, begin: int) -> Iterator[dict[str, Any]]:
    sought = run.encode()
    try:
        file = inside.opened(path.parent, path.name)
    except OSError:
        return
    with file:
        file.seek(_line_at(file, begin))
        for _, line in json_lines.lines(file):
            if line and sought in line and (entry := json_lines.entry(line)) and entry.get("run") == run:
                yield entry


def _line_at(file: BinaryIO, begin: int) -> int:
    """Where a line begins; 0 where the offset is no line's beginning: the file is another one by now."""
    if not begin or begin > os.fstat(file.fileno()).st_size:
        return 0
    file.seek(begin - 1)
    return begin if file.read(1) == b"\n" else 0


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
