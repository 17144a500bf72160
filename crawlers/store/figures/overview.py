"""The data that overview.html and summary.md show."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from crawlers.causes import ADVICE, KINDS, of_run
from crawlers.exceptions import OutputError, SourcesError, hint, with_command
from crawlers.records.moment import moment
from crawlers.store.columns import opened
from crawlers.store.figures import contents, formatting, series
from crawlers.store.figures.contents import Described, descriptions
from crawlers.store.figures.ecosystem import kinds, with_profiles
from crawlers.store.figures.formatting import natural
from crawlers.store.index.database import output_of
from crawlers.store.versions import Versions

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from crawlers.store.columns import Columns
    from crawlers.store.runs import Run


def overview(
    db: sqlite3.Connection,
    named: Sequence[str] | None = None,
    now: datetime | None = None,
    current: Sequence[Run] = (),
    *,
    is_brief: bool = False,
) -> dict[str, Any]:
    """Return the variable ``overview`` of ``overview.html``, or of ``summary.md``.

    Args:
        db: the index, from `crawlers.store.index.database.connect`.
        named: the sources to show; all if there are none.
        now: UTC; by default this moment.
        current: the runs without a report (`crawlers.store.runs.unfinished`).
        is_brief: whether to return only what ``summary.md`` shows.

    Raises:
        SourcesError: a source does not exist.
    """
    names = chosen(db, named, {run.source for run in current})
    shown = [run for run in current if not named or run.source in named]
    with opened(db) as columns:
        return with_status(known(db, columns, names, now, is_brief=is_brief), shown)


def known(
    db: sqlite3.Connection, columns: Columns, names: str, now: datetime | None = None, *, is_brief: bool = False
) -> dict[str, Any]:
    """Return the part of the overview that takes long; `with_status` adds the sources' status of the moment.

    Args:
        columns: the tables of all sources.
        names: the sources, from `chosen`.
        now: UTC; by default this moment.
        is_brief: whether to return only the sources, their latest changes and their errors.
    """
    now, wanted = now or datetime.now(UTC), json.loads(names)
    described = descriptions(columns, wanted)
    found: dict[str, Any] = {
        "now": now.isoformat(timespec="seconds"),
        "sources": sources(db, described, names),
        "latest": latest(db, names),
        "errors": errors(db, names),
    }
    if is_brief:
        return found
    largest = sorted(found["sources"], key=lambda row: -row["datasets"])
    return {
        **found,
        "week": week(db, names, now),
        "growth": growth(db, names, now.date()),
        "series": series.growth(db, [row["source"] for row in largest]),
        "ecosystem": [with_profiles(db, source, kind) for source, kind in kinds(db, wanted)],
        "formats": contents.formats(columns, wanted),
        "licences": contents.licences(columns, wanted),
        "ages": list(contents.AGES.values()),
        "freshness": contents.freshness(described),
        "fields": list(contents.FIELDS.values()),
        "completeness": contents.completeness(described),
        "duplicates": contents.duplicates(columns, wanted),
    }


# The sources, and their runs

RUNS = 30  # shown of each source
_COUNTED = ("datasets", "withdrawn", "resources")
_DESCRIBED = ("datasets", "resources", "contactless", "late")
_COUNTS = ("new", "updated", "withdrawn", "restored", "failed")
_NAMES = "SELECT source FROM sources"
_LAST = """
    SELECT source, last_run, last_verdict, last_finished, last_complete FROM overview
    WHERE source IN (SELECT value FROM json_each(?)) ORDER BY source
"""
_WITHDRAWN = """
    SELECT source, count(*) FROM datasets INDEXED BY datasets_withdrawn
    WHERE source IN (SELECT value FROM json_each(?)) AND withdrawn = 1 GROUP BY 1
"""
_COUNTS_OF_ONE = """
    SELECT count(*) FILTER (WHERE withdrawn = 0) AS datasets, count(*) FILTER (WHERE withdrawn = 1) AS withdrawn,
        coalesce(sum(resources) FILTER (WHERE withdrawn = 0), 0) AS resources
    FROM datasets INDEXED BY datasets_withdrawn WHERE source = ?
"""
_SUCCESS = "SELECT max(finished) FROM runs WHERE source = ? AND verdict IN ('complete', 'partial')"
_LAST_COMPLETE = "SELECT max(started) FROM runs WHERE source = ? AND verdict = 'complete'"
_RUNS = """
    SELECT source, run, started, seconds, verdict, expected, listed, new, updated, withdrawn, restored, failed, since,
        (SELECT coalesce(sum(value), 0) FROM json_each(flaws)) AS flaws
    FROM runs WHERE source = ? ORDER BY finished DESC, run DESC LIMIT ?
"""
_GROWN = """
    SELECT run, sum(CASE status WHEN 'withdrawn' THEN -count ELSE count END) FROM daily_changes
    WHERE source = ? AND status IN ('new', 'restored', 'withdrawn') GROUP BY 1 ORDER BY 1
"""

Row = dict[str, Any]


def chosen(db: sqlite3.Connection, named: Sequence[str] | None = None, begun: Collection[str] = ()) -> str:
    """Return the names of the selected sources, as JSON for a query: those named, or all.

    Args:
        begun: sources that the index may not have yet.

    Raises:
        SourcesError: there is none of that name.
    """
    known = sorted({name for (name,) in db.execute(_NAMES)}.union(begun), key=natural)
    unknown = next((name for name in named or () if name not in known), None)
    if unknown is not None:
        meant = hint(unknown, known)
        raise SourcesError(f"The index has no source {unknown!r}.{meant} There are: {', '.join(known) or 'none'}.")
    return json.dumps(list(named or known))


def sources(db: sqlite3.Connection, known: Mapping[str, Described], names: str) -> list[Row]:
    """Return a row for each source: its last verdict, its counts, and its last runs, the oldest first.

    Args:
        known: the result of `crawlers.store.figures.contents.descriptions`.
        names: the sources, as JSON.
    """
    withdrawn = dict(db.execute(_WITHDRAWN, (names,)).fetchall())
    return [
        {
            **dict(row),
            **{name: getattr(known.get(row["source"], Described()), name) for name in _DESCRIBED},
            "withdrawn": withdrawn.get(row["source"], 0),
            **_former(output_of(db) / row["source"]),
            "history": _history(_runs(db, row["source"])),
        }
        for row in db.execute(_LAST, (names,))
    ]


def _former(folder: Path) -> Row:
    """Return the bytes of a source's former versions, and of the last seven days; ``None`` if they are damaged."""
    try:
        with Versions.reading(folder) as versions:
            found = versions.size()
    except OutputError:
        return {"former": None, "former_week": None}
    return {"former": found.bytes, "former_week": found.week}


def counts(db: sqlite3.Connection, source: str, known: Described | None = None) -> dict[str, int]:
    """Return how many datasets, withdrawn ones and resources a source has.

    Args:
        known: the source's in `crawlers.store.figures.contents.descriptions`; else the index counts its rows.
    """
    if known is None:
        return dict(db.execute(_COUNTS_OF_ONE, (source,)).fetchone())
    withdrawn = dict(db.execute(_WITHDRAWN, (json.dumps([source]),)).fetchall())
    return {"datasets": known.datasets, "withdrawn": withdrawn.get(source, 0), "resources": known.resources}


def figures(db: sqlite3.Connection, source: str, known: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the counts of a source, when its last complete run started, and when its last successful one ended.

    Args:
        known: the source's row of `sources`, whose counts are taken.
    """
    last = {"last_complete": _LAST_COMPLETE, "last_success": _SUCCESS}
    found = {name: known[name] for name in _COUNTED} if known else counts(db, source)
    return found | {name: db.execute(query, (source,)).fetchone()[0] for name, query in last.items()}


def _runs(db: sqlite3.Connection, source: str) -> list[Row]:
    """Return the last runs of a source, the oldest first, each with the number of datasets after it."""
    grown = db.execute(_GROWN, (source,)).fetchall()
    runs, held = [run for run, _ in grown], [0, *accumulate(change for _, change in grown)]
    rows = db.execute(_RUNS, (source, RUNS)).fetchall()
    return [{**dict(row), "held": held[bisect_right(runs, row["run"])]} for row in reversed(rows)]


def _history(runs: list[Row]) -> Row:
    last = (
        runs[-1]
        if runs
        else dict.fromkeys(("verdict", "seconds", "listed", "expected", "held", "since", "flaws", *_COUNTS))
    )
    for run in runs:
        run["title"] = _title(run)
    return {
        "runs": runs,
        "last": last,
        "durations": [run["seconds"] for run in runs if run["seconds"] is not None],
        "holdings": [run["held"] for run in runs],
    }


def _title(run: Row) -> str:
    """Return the tooltip of a run's mark: the moment, the verdict, and the counts that are not 0."""
    expected = "" if run["expected"] is None else f" of {run['expected']:,}"
    among = " that had changed" if run["since"] else ""
    changes = [f"{run[name]:,} {name}" for name in (*_COUNTS, "flaws") if run[name]]
    started = formatting.date(run["started"])
    is_quiet = run["verdict"] == "complete" and run["held"] and not (run["listed"] or run["expected"])
    seen = f"{run['listed'] or 0:,}{expected} datasets{among} listed"
    listed = f"{run['held']:,} datasets on disk" if is_quiet else seen
    what = [f"{started} {run['verdict']}", listed, *changes]
    return ", ".join([*what, formatting.duration(run["seconds"])])


NOTHING: Row = {
    **dict.fromkeys((*_DESCRIBED, "withdrawn", "former", "former_week"), 0),
    **dict.fromkeys(("last_run", "last_verdict", "last_finished", "last_complete")),
    "history": _history([]),
}
"""The row of a source that is not in the index yet."""


# Their status

TIMES = 3  # the usual time between runs
LEAST = timedelta(days=2)
_GAPS = 10  # the last ones say what is usual
_FEWEST = 2  # gaps; with fewer, nothing is usual


def overdue_since(starts: Sequence[str | None], now: str) -> str | None:
    """Return when the last of some runs began, if that is longer ago than usual; else ``None``.

    The schedule of the source may have stopped.

    >>> days = [f"2026-01-0{day}T03:00:00Z" for day in (1, 2, 3)]
    >>> overdue_since(days, "2026-01-05T12:00:00Z"), overdue_since(days, "2026-01-06T12:00:00Z")
    (None, '2026-01-03T03:00:00Z')
    """
    began = {start: found for start in starts if start and (found := moment(start))}
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(sorted(began.values()))][-_GAPS:]
    today = moment(now)
    if len(gaps) < _FEWEST or today is None:
        return None
    last = max(began, key=lambda start: began[start])
    return last if today - began[last] > max(timedelta(seconds=TIMES * median(gaps)), LEAST) else None


_BAD = ("failed", "blocked", "interrupted", "incomplete", None)  # the worst first; the last is only overdue
_SUMS = ("datasets", "resources", "withdrawn", "contactless", "former", "former_week")

NO_STATUS: Row = {
    **NOTHING,
    **dict.fromkeys(("state", "doing", "overdue", "last", "last_time", "advice", "command")),
    "dead": False,
    "reached": "",
    "reasons": [],
    "causes": [],
}
"""The row of a source whose runs are not known."""
UNLISTED: Row = {
    **dict.fromkeys(("mistake", "kind", "address", "enabled", "review", "review_comment", "schedule", "cron")),
    **dict.fromkeys(("timezone", "retry", "contact", "owner", "next", "reason", "last_run")),
    "arguments": {},
    "settings": {},
    "due": False,
}
"""What sources.toml says of a source that it does not have."""


_WITHOUT_TABLE: Row = dict.fromkeys(("state", "left_out", "command"))


def with_status(known: dict[str, Any], current: Sequence[Run]) -> dict[str, Any]:
    """Return the overview with the status of each source; those that need attention come first, the worst first.

    ``listed`` has all sources, those that sources.toml alone knows, too, once they are added: so many there are.

    Args:
        known: the result of `crawlers.store.figures.overview.known`, which is not changed.
        current: the runs without a report (`crawlers.store.runs.unfinished`).
    """
    runs: dict[str, list[Run]] = defaultdict(list)
    for run in current:
        runs[run.source].append(run)
    indexed = {row["source"]: row for row in known["sources"]}
    causes = _causes(known["errors"])
    rows = [
        _with_cause(
            _with_status(indexed.get(name, {**NOTHING, "source": name}), runs[name], known["now"])
            | {"causes": causes.get(name, [])}
        )
        for name in {**indexed, **runs}
    ]
    rows.sort(key=_order)
    return {
        **known,
        "sources": rows,
        "listed": [UNLISTED | _WITHOUT_TABLE | {"name": row["source"], "status": row} for row in rows],
        "mistake": None,
        "attention": [row for row in rows if row["reasons"]],
        "totals": {name: sum(row[name] or 0 for row in rows) for name in _SUMS},
        "whole": sum(row["state"] == "complete" for row in rows),
        "running": sum(row["doing"] == "running" for row in rows),
        "dead": [row["source"] for row in rows if row["dead"]],
    }


def _causes(errors: list[Row]) -> dict[str, list[tuple[str, int]]]:
    """Return the errors of each source's last run, as kinds and counts, the most frequent first."""
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for kind in errors:
        for one in kind["sources"]:
            found[one["source"]].append((kind["kind"], one["count"]))
    return {source: sorted(causes, key=lambda cause: (-cause[1], cause[0])) for source, causes in found.items()}


def _with_status(row: Row, current: list[Run], now: str) -> Row:
    dead = next((run for run in current if run.state == "interrupted"), None)
    doing = next((run.state for run in current if not run.over), None)
    state = dead.state if dead else row["last_verdict"]
    starts = [*(run["started"] for run in row["history"]["runs"]), *(run.started for run in current)]
    overdue = None if doing else overdue_since(starts, now)
    bad = [state] if state in _BAD[:-1] else []
    return {
        **row,
        "state": state,
        "doing": doing,
        "dead": bool(dead),
        "reached": _reached(dead) if dead else "",
        "overdue": overdue,
        "reasons": [*bad, f"no run since {formatting.date(overdue)[:10]}"] if overdue else bad,
        "last": dead.run if dead else row["last_run"],
        "last_time": (dead.finished or dead.started) if dead else row["last_finished"],
        "history": {**row["history"], "runs": _marks(row["history"]["runs"], current)},
    }


def _with_cause(row: Row) -> Row:
    """Return a row with what to do: what its last run's cause says; of one that is only overdue, to harvest it."""
    report = {"source": row["source"], "run": row["last"], "verdict": row["state"], "errors": dict(row["causes"])}
    found = of_run(report | ({"finish_reason": "died"} if row["dead"] else {}))
    if not found:
        return {**row, "advice": None, "command": with_command(f"scrapy harvest {row['source']}")}
    return {**row, "advice": found[0].advice, "command": found[0].command}


def _order(row: Row) -> tuple[bool, int, list[tuple[str, int]]]:
    worst = _BAD.index(row["state"] if row["state"] in _BAD else None)
    return not row["reasons"], worst if row["reasons"] else 0, natural(row["source"])


def _marks(runs: list[Row], current: list[Run]) -> list[Row]:
    """Return the marks of a source's runs; a resumed run has one mark."""
    begun = [run for run in current if run.run]
    names = {run.run for run in begun}
    marks = [
        {
            "run": run.run,
            "verdict": run.state,
            "title": f"{formatting.date(run.started)} {run.state}, {_reached(run)} listed so far",
        }
        for run in begun
    ]
    return [*(run for run in runs if run["run"] not in names), *marks][-RUNS:]


def _reached(run: Run) -> str:
    return f"{run.listed:,}{'' if run.expected is None else f' of {run.expected:,}'} datasets"


# What changed, and what is wrong

DAYS = 7
LATEST = 200
STATUSES = ("new", "updated", "withdrawn", "restored")
_WEEK = """
    SELECT day, source, status, sum(count) FROM daily_changes
    WHERE day >= ? AND source IN (SELECT value FROM json_each(?)) GROUP BY 1, 2, 3
"""
_LATEST = """
    SELECT time, source, dataset_id, seen.status, run, datasets.id IS NOT NULL AS known,
        substr(coalesce(title, name), 1, 1000) AS title, substr(landing_page, 1, 2001) AS page
    FROM (
        SELECT * FROM changes WHERE {chosen} ORDER BY time DESC, source DESC, dataset_id DESC, status DESC LIMIT ?2
    ) seen LEFT JOIN datasets USING (source, dataset_id)
    ORDER BY time DESC, source DESC, dataset_id DESC, seen.status DESC
"""  # in the order of the table's indexes, the one of all sources and the one of each
_OF_SOME = "+source IN (SELECT value FROM json_each(?1))"
_OF_ONE = "source = ?1"
_WITHDRAWN_DATASETS = """
    SELECT d.dataset_id, coalesce(d.title, d.name) AS title, d.publisher,
        (SELECT max(time) FROM changes c WHERE c.source = d.source AND c.dataset_id = d.dataset_id
            AND c.status = 'withdrawn') AS time
    FROM datasets d INDEXED BY datasets_withdrawn WHERE source = ? AND withdrawn = 1 ORDER BY 4 DESC, 1
"""


def week(db: sqlite3.Connection, names: str, now: datetime) -> dict[str, Any]:
    """Return the changes of the last days by status: for each day, today first, and for each source, most first."""
    days: dict[str, dict[str, int]] = {}
    for back in range(DAYS):
        days[(now - timedelta(days=back)).date().isoformat()] = dict.fromkeys(STATUSES, 0)
    sources: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(STATUSES, 0))
    for day, source, status, count in db.execute(_WEEK, (min(days), names)):
        if day in days and status in STATUSES:
            days[day][status] += count
            sources[source][status] += count
    return {
        "days": days,
        "drawn": series.Columns(sorted(days), days, series.CHANGES),
        "sources": dict(sorted(sources.items(), key=lambda item: -sum(item[1].values()))),
        "total": sum(sum(counts.values()) for counts in days.values()),
    }


def latest(db: sqlite3.Connection, names: str, limit: int = LATEST) -> list[dict[str, Any]]:
    """Return the latest changes of some sources; ``known`` is whether the index has the dataset."""
    sources = json.loads(names)
    chosen, value = (_OF_ONE, sources[0]) if len(sources) == 1 else (_OF_SOME, names)
    return [dict(row) for row in db.execute(_LATEST.format(chosen=chosen), (value, limit))]


def withdrawn(db: sqlite3.Connection, source: str) -> Iterator[dict[str, Any]]:
    """Yield the withdrawn datasets of a source, the last first."""
    return map(dict, db.execute(_WITHDRAWN_DATASETS, (source,)))


_BROKEN = "SELECT * FROM broken WHERE source IN (SELECT value FROM json_each(?)) ORDER BY count DESC, source"

_FLAWS = "SELECT kind, count(*) FROM flaws WHERE source = ? GROUP BY kind ORDER BY 2 DESC, kind"
_NEWEST = """
    SELECT dataset_id, coalesce(d.title, f.dataset_title) AS dataset_title, resource_id, field, f.kind, error, time,
        r.title AS resource_title, r.url AS resource_url, coalesce(r.format, r.media_type) AS resource_format
    FROM flaws f LEFT JOIN datasets d USING (source, dataset_id)
        LEFT JOIN resources r USING (source, dataset_id, resource_id)
    WHERE source = ?
    ORDER BY time DESC, dataset_id, resource_id, field LIMIT ?
"""


def flaws(db: sqlite3.Connection, source: str) -> list[tuple[str, int]]:
    """Return how many flaws of each kind a source has, the most frequent first."""
    return [(kind, count) for kind, count in db.execute(_FLAWS, (source,))]


def newest_flaws(db: sqlite3.Connection, source: str, limit: int) -> list[dict[str, Any]]:
    """Return the flaws of a source that appeared last."""
    return [dict(row) for row in db.execute(_NEWEST, (source, limit))]


def errors(db: sqlite3.Connection, names: str) -> list[dict[str, Any]]:
    """Return a row for each kind of error, the most frequent first; so are its sources."""
    found: dict[str, dict[str, Any]] = {}
    for row in db.execute(_BROKEN, (names,)):
        name = row["kind"]  # perhaps of another version: the index may be older
        kind = found.setdefault(
            name,
            {"kind": name, "count": 0, "sources": [], "meaning": KINDS.get(name, "")}
            | {"advice": with_command(ADVICE.get(name, ""))},
        )
        kind["count"] += row["count"]
        kind["sources"].append({"source": row["source"], "run": row["run"], "count": row["count"]})
    return sorted(found.values(), key=lambda kind: (-kind["count"], kind["kind"]))


# How many datasets there were on each day

POINTS = 90
ALL = "All sources"
_GROWTH = """
    SELECT source, day, datasets FROM growth WHERE source IN (SELECT value FROM json_each(?)) AND date(day) = day
"""


@dataclass(frozen=True, slots=True)
class Growth:
    """How many datasets there were.

    Args:
        days: in order, the first one before there was anything; a count is that at the day's end.
        counts: of each source, the largest first; those of all sources are before them if there are several.
    """

    days: list[date]
    counts: dict[str, list[int]]


def growth(db: sqlite3.Connection, names: str, today: date) -> Growth | None:
    """Return the growth of some sources; ``None`` if there never was a dataset."""
    known: dict[str, dict[date, int]] = defaultdict(dict)
    for source, day, datasets in db.execute(_GROWTH, (names,)):
        known[source][date.fromisoformat(day)] = datasets
    if not known:
        return None
    first = min(min(of_one) for of_one in known.values())
    days = _days(first - timedelta(days=1), max(today, first))  # from when there was nothing yet
    counts = {source: _counts(of_one, days) for source, of_one in known.items()}
    largest = sorted(counts, key=lambda source: (-counts[source][-1], source))
    total = {ALL: [sum(column) for column in zip(*counts.values(), strict=True)]} if len(counts) > 1 else {}
    return Growth(days, total | {source: counts[source] for source in largest})


def _days(first: date, last: date) -> list[date]:
    """Return as many days as a plot has room for, including both ends."""
    between = (last - first).days
    points = min(POINTS, between)
    return [first + timedelta(days=between * point // points) for point in range(points + 1)]


def _counts(known: dict[date, int], days: list[date]) -> list[int]:
    """Return the number of datasets at the end of each day; the days must be in order."""
    found, count, left = [], 0, sorted(known.items(), reverse=True)
    for day in days:
        while left and left[-1][0] <= day:
            count = left.pop()[1]
        found.append(count)
    return found
