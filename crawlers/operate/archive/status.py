"""`scrapy archive status`: what the last look at each linked file found, by source, publisher or host."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from crawlers.safety.redact import safe_line
from crawlers.store.figures.formatting import number, size
from crawlers.store.run_text import table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from crawlers.operate.archive.holdings import Holdings

_GROUPS = {None: "NULL", "publisher": "publisher", "host": "host"}
_COUNTS = """
SELECT source, {group} AS part, state, error, http_status, count(*) AS files FROM files
GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, files DESC
"""
_LAST_COPIES = "SELECT source, {group} AS part, count(*) AS files FROM last_copies GROUP BY 1, 2"
_BYTES = """
SELECT source, part, count(*) AS blobs, sum(bytes) AS bytes, sum(linked * bytes) AS linked_bytes FROM (
    SELECT source, {group} AS part, count(*) AS linked, max(bytes) AS bytes
    FROM files JOIN (SELECT source, sha256, max(bytes) AS bytes FROM versions GROUP BY 1, 2) USING (source, sha256)
    GROUP BY source, part, sha256
) GROUP BY source, part
"""
_ALL_BYTES = """
SELECT count(*) AS blobs, sum(bytes) AS bytes FROM (
    SELECT max(bytes) AS bytes FROM versions WHERE source IN (SELECT value FROM json_each(?)) GROUP BY sha256
)
"""
_HEADING = ("kept", "unchanged", "alive", "broken", "unknown", "not data", "too large", "not taken", "failed here")
_ALWAYS = ("kept", "unchanged", "broken")
_HELD = ("last copies", "blobs", "bytes", "linked")


@dataclass(slots=True, kw_only=True)
class Row:
    """The files of a source, or of one publisher or host in it."""

    source: str
    part: str | None = None
    """The publisher or the host."""
    states: Counter[str] = field(default_factory=Counter)
    """Files by what the last look at them found."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Broken files by reason."""
    last_copies: int = 0
    blobs: int = 0
    """Different files that are held."""
    bytes: int = 0
    """Of these."""
    linked_bytes: int = 0
    """Of the same files, each counted as often as it is linked."""


def status(holdings: Holdings, names: list[str], opts: argparse.Namespace) -> int:
    """Print what each archive holds and lacks; return the exit code.

    Raises:
        ArchiveError: there is no such archive.
    """
    chosen = [holdings.archive(name) for name in names] or holdings.archives
    rows = [row for row in _rows(holdings, opts.by) if row.source in chosen]
    if opts.json:
        print(json.dumps([_plain(row, opts.by) for row in rows], indent=2))
        return 0
    columns = [name for name in _HEADING if name in _ALWAYS or any(row.states[name] for row in rows)]
    heading = ("archive", *([opts.by] if opts.by else []), "files", *columns, *_HELD)
    for line in table([heading, *(_cells(row, opts.by, columns) for row in rows)], colours=_has_colours()):
        print(line)
    for line in _broken(rows):
        print(line)
    print(_total(holdings, chosen))
    return 0


def _has_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _rows(holdings: Holdings, by: str | None) -> list[Row]:
    rows: dict[tuple[str, str | None], Row] = {}
    for found in holdings.rows(_COUNTS.format(group=_GROUPS[by])):
        key = found["source"], found["part"]
        row = rows.setdefault(key, Row(source=found["source"], part=found["part"]))
        row.states[_state(found["state"], found["error"])] += found["files"]
        if found["state"] == "broken":
            row.reasons[_reason(found["error"], found["http_status"])] += found["files"]
    for found in holdings.rows(_LAST_COPIES.format(group=_GROUPS[by])):
        rows[found["source"], found["part"]].last_copies = found["files"]
    for found in holdings.rows(_BYTES.format(group=_GROUPS[by])):
        row = rows[found["source"], found["part"]]
        row.blobs, row.bytes, row.linked_bytes = found["blobs"], found["bytes"] or 0, found["linked_bytes"] or 0
    return list(rows.values())


def _state(state: str, error: str | None) -> str:
    """Return the column in which a file counts."""
    names = {"too_large": "too large", "page": "not data"} if state == "not_taken" else {}
    return names.get(error or "", state.replace("_", " "))


def _reason(error: str | None, http_status: int | None) -> str:
    return f"HTTP {http_status}" if http_status and http_status >= 400 else (error or "not stated").replace("_", " ")


def _plain(row: Row, by: str | None) -> dict[str, Any]:
    states = {name.replace(" ", "_"): row.states[name] for name in _HEADING}
    held = {name: value for name, value in asdict(row).items() if name not in ("states", "reasons", "source", "part")}
    which = {"source": row.source} | ({by: row.part} if by else {})
    return which | {"files": row.states.total()} | states | {"broken_by_reason": dict(row.reasons)} | held


def _cells(row: Row, by: str | None, columns: list[str]) -> tuple[str, ...]:
    which = (row.source, *([row.part or "not stated"] if by else []))
    states = (number(row.states[name]) for name in columns)
    copies = number(row.last_copies)
    return (
        *which,
        number(row.states.total()),
        *states,
        copies,
        number(row.blobs),
        size(row.bytes),
        size(row.linked_bytes),
    )


def _broken(rows: list[Row]) -> Iterator[str]:
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update(row.reasons)
    if reasons:
        yield "Broken: " + ", ".join(f"{safe_line(reason)} {number(count)}" for reason, count in reasons.most_common())


def _total(holdings: Holdings, chosen: list[str]) -> str:
    """Return a line about all files of the chosen archives, older versions too; each counts once."""
    (found,) = holdings.rows(_ALL_BYTES, [json.dumps(chosen)])
    blobs = found["blobs"]
    return f"With older versions: {number(blobs)} {'file' if blobs == 1 else 'files'}, {size(found['bytes'] or 0)}."
