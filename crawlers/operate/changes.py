"""The changes of datasets in the formats of `scrapy changes`."""

from __future__ import annotations

import csv
import heapq
import json
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO

from crawlers.operate import atom
from crawlers.operate.report.report import cut, plain
from crawlers.safety.redact import one_line
from crawlers.store.export.tables import cell
from crawlers.store.figures.changes import Wanted, rows
from crawlers.store.figures.formatting import counted, date, number
from crawlers.store.figures.overview import STATUSES

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from crawlers.store.figures.changes import Kept, Row

COLUMNS = ("time", "source", "dataset_id", "title", "name", "publisher", "status", "run", "fields")
"""What is told of a change, as in the dashboard's changes.csv."""
_MOST = 500  # rows of Markdown, of which GitHub takes 1 MiB; entries of a feed
_WIDEST = 200  # characters of a title


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of some sources' datasets, the newest first.

    Args:
        db: the index.
        kept: the sources' versions.
        since: from which moment on, in UTC as lines have it, of each source.
        statuses: new, updated, withdrawn, restored, or some of them.
        is_one: whether one source was asked for.
        dashboard: the address of the dashboard, if it has one.
    """

    db: sqlite3.Connection
    kept: Kept
    since: Mapping[str, str]
    statuses: Sequence[str]
    is_one: bool = False
    dashboard: str | None = None

    def __iter__(self) -> Iterator[Row]:
        return self._newest()

    def _newest(self, *, has_about: bool = False) -> Iterator[Row]:
        return self.kept.with_fields(heapq.merge(*self._each(has_about=has_about), key=_order, reverse=True))

    def _each(self, *, has_about: bool) -> Iterator[Iterator[sqlite3.Row]]:
        for source, moment in self.since.items():
            for status in self.statuses if {*self.statuses} < {*STATUSES} else ("",):
                yield rows(self.db, Wanted(source, status=status, since=moment), has_about=has_about)

    def entries(self, most: int) -> tuple[str | None, Iterator[atom.Entry]]:
        """Return when the newest change was written, and the newest ones as entries of a feed."""
        found = [*islice(self._newest(has_about=True), most)]
        made = (atom.entry_of(self.db, self.kept, row, self._page(row)) for row in found)
        return found[0]["time"] if found else None, made

    def _page(self, row: Row) -> str | None:
        if not self.dashboard:
            return None
        from crawlers.operate.dashboard import addresses  # noqa: PLC0415 -- few feeds have links

        return self.dashboard.rstrip("/") + addresses.versions(row["source"], row["dataset_id"], to=row["time"])


def _order(row: sqlite3.Row) -> tuple[str, ...]:
    return row["time"], row["source"], row["dataset_id"], row["status"]


def _write_table(found: Changes, file: TextIO) -> None:
    """Write a line for each change: a table's columns would have to be measured first."""
    counts: Counter[str] = Counter()
    for row in found:
        words = (row["time"], row["source"], row["status"], row["dataset_id"], _title(row), _fields(row))
        time, source, status, *rest = (one_line(word, _WIDEST) for word in words if word)
        print("  ".join((time, source, f"{status:<9}", *rest)), file=file)
        counts[row["status"]] += 1
    print(_sum(counts), file=file)


def _title(row: Row) -> str:
    return row["title"] or row["name"] or ""


def _fields(row: Row) -> str:
    return ", ".join(row["fields"] or ())


def _sum(counts: Counter[str]) -> str:
    found = [f"{counts[status]:,} {status}" for status in STATUSES if counts[status]]
    return f"{counted(counts.total(), 'change')}: {', '.join(found)}" if found else "No dataset changed."


def _write_json(found: Changes, file: TextIO) -> None:
    before = "["
    for row in found:
        file.write(f"{before}\n{json.dumps({name: row[name] for name in COLUMNS})}")
        before = ","
    file.write("[]\n" if before == "[" else "\n]\n")


def _write_csv(found: Changes, file: TextIO) -> None:
    """Write CSV as RFC 4180 has it; no cell is a formula, and none has several lines."""
    table = csv.writer(file)
    table.writerow(COLUMNS)
    for row in found:
        values: dict[str, Any] = row | {"fields": " | ".join(row["fields"] or ())}
        table.writerow([" ".join(cell(values[name]).split()) for name in COLUMNS])


def _write_markdown(found: Changes, file: TextIO) -> None:
    """Write GitHub's Markdown, such as for $GITHUB_STEP_SUMMARY: the newest changes, and how many there are."""
    counts: Counter[str] = Counter()
    for row in found:
        if not counts:
            _write_row(("Time", "Source", "Status", "Dataset", "Changed"), file)
            _write_row(("---",) * 5, file)
        counts[row["status"]] += 1
        if counts.total() <= _MOST:
            words = (row["source"], row["status"], cut(_title(row) or row["dataset_id"]), cut(_fields(row), _WIDEST))
            _write_row((date(row["time"]), *map(plain, words)), file)
    more = counts.total() - _MOST
    print(f"\n{_sum(counts)}" + (f". {number(more)} older ones are not shown." if more > 0 else ""), file=file)


def _write_row(cells: Sequence[str], file: TextIO) -> None:
    print(f"| {' | '.join(cells)} |", file=file)


def _write_atom(found: Changes, file: TextIO) -> None:
    """Write the newest changes as a feed."""
    updated, entries = found.entries(_MOST)
    source = next(iter(found.since)) if found.is_one else None
    which = "" if {*found.statuses} == {*STATUSES} else f" that are {' or '.join(found.statuses)}"
    of = [*(("source", source) if source else ("all",)), *(("status", ",".join(found.statuses)) if which else ())]
    feed = atom.Feed(of, f"Changes of {source or 'all sources'}{which}", updated)
    file.flush()
    atom.write(file.buffer, feed, entries)


FORMATS: dict[str, Callable[[Changes, TextIO], None]] = {
    "table": _write_table,
    "json": _write_json,
    "csv": _write_csv,
    "atom": _write_atom,
    "markdown": _write_markdown,
}
