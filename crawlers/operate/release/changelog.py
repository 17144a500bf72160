"""What differs between two releases: datasets that were added, changed and removed, as JSON and as Markdown."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from crawlers.operate.release.tables import Records
from crawlers.operate.report.report import cut, plain
from crawlers.safety import strict_json
from crawlers.store.figures.formatting import counted, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from crawlers.operate.release.tables import Record, Row

FILES = ("changelog.json", "changelog.md")
STATUSES = ("added", "changed", "removed")
_MOST = 100  # of each kind, named in Markdown
_SHOWN = 6  # fields
Counts = dict[str, Counter[str]]
"""By source, then by status."""


def compared(before: Path | None, now: Path) -> Iterator[tuple[str, Row, list[str]]]:
    """Yield what differs: the status, the dataset's row, of a removed one its last, and what changed of it.

    Both releases are read once, in their order: what is in memory does not grow with them. Columns that only one of
    them has are of another version of the schema, and no change.

    Args:
        before: the folder of the tables of the release before; ``None`` if there is none: nothing differs.

    Raises:
        ExportError: a table can't be read.
    """
    if before is None:
        return
    older, newer = Records(before), Records(now)
    fields = [name for name in newer.fields if name in older.fields]
    of_resources = [name for name in newer.of_resources if name in older.of_resources]
    olds, news = iter(older), iter(newer)
    old, new = next(olds, None), next(news, None)
    while old or new:
        if new is None or (old and old.key < new.key):
            yield "removed", old.dataset, []  # type: ignore[union-attr]
            old = next(olds, None)
        elif old is None or new.key < old.key:
            yield "added", new.dataset, []
            new = next(news, None)
        else:
            if changed := _changed(old, new, fields, of_resources):
                yield "changed", new.dataset, changed
            old, new = next(olds, None), next(news, None)


def _changed(old: Record, new: Record, fields: list[str], of_resources: list[str]) -> list[str]:
    found = [name for name in fields if old.dataset[name] != new.dataset[name]]
    known = [[[row[name] for name in of_resources] for row in one.resources] for one in (old, new)]
    if known[0] != known[1] and "resources" not in found:
        found.append("resources")
    return found


def write(into: Path, now: Mapping[str, Any], before: Mapping[str, Any] | None, tables: Path | None) -> None:
    """Write both files.

    Args:
        into: the folder of the new release, which has its tables.
        now: its id and time.
        before: those of the release before.
        tables: the folder of the tables of that.

    Raises:
        ExportError: a table can't be read.
        OSError: a file can't be written.
    """
    counts: Counts = {}
    named: dict[str, list[tuple[Row, list[str]]]] = {status: [] for status in STATUSES}
    with (into / FILES[0]).open("wb") as file:
        head = strict_json.dumps({"release": now, "before": before}).rstrip().removesuffix(b"}").rstrip()
        file.write(head + b',\n  "datasets": [')
        between = b"\n    "
        for status, row, fields in compared(tables, into):
            counts.setdefault(row["source"], Counter())[status] += 1
            line = {"status": status, **{name: row.get(name) for name in ("source", "dataset_id", "title")}}
            file.write(between + strict_json.line(line | ({"fields": fields} if fields else {})).rstrip())
            between = b",\n    "
            if len(named[status]) < _MOST:
                named[status].append((row, fields))
        sums = {source: {status: found[status] for status in STATUSES} for source, found in counts.items()}
        total = {status: sum(found[status] for found in sums.values()) for status in STATUSES}
        last = strict_json.dumps({"counts": total, "sources": sums}).strip().removeprefix(b"{")
        file.write(b"\n  ],\n" + last.lstrip(b"\n") + b"\n")
    text = "\n".join(_markdown(now, before, sums, total, named)) + "\n"
    (into / FILES[1]).write_text(text, encoding="utf-8")


def _markdown(
    now: Mapping[str, Any],
    before: Mapping[str, Any] | None,
    sums: Mapping[str, Mapping[str, int]],
    total: Mapping[str, int],
    named: Mapping[str, list[tuple[Row, list[str]]]],
) -> Iterator[str]:
    yield f"# Release {plain(now['id'])}"
    yield ""
    if before is None:
        yield "The first release: there is none to compare it with."
        return
    if not sums:
        yield f"No dataset changed since release {plain(before['id'])}."
        return
    what = ", ".join(f"{number(total[status])} {status}" for status in STATUSES)
    yield f"Since release {plain(before['id'])}: {what}."
    yield ""
    yield "| Source | Added | Changed | Removed |"
    yield "|---|--:|--:|--:|"
    for source, found in sums.items():
        yield f"| {plain(source)} | {' | '.join(number(found[status]) for status in STATUSES)} |"
    for status in STATUSES:
        if not named[status]:
            continue
        yield ""
        yield f"## {status.capitalize()}"
        yield ""
        for row, fields in named[status]:
            more = f" and {len(fields) - _SHOWN} more" if len(fields) > _SHOWN else ""
            which = f": {', '.join(fields[:_SHOWN])}{more}" if fields else ""
            title = plain(cut(row.get("title") or row["dataset_id"]))
            yield f"- {title} ({plain(row['source'])}){which}"
        if left := total[status] - len(named[status]):
            yield f"- {counted(left, 'more dataset')}: changelog.json has all"
