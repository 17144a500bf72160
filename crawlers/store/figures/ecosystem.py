"""Portals and extensions: as they are now, by their documents, and over time, by what was observed of them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.safety.redact import one_line
from crawlers.store import timeseries
from crawlers.store.figures.formatting import amount, natural
from crawlers.store.figures.series import Columns, Lines, slots, values
from crawlers.store.folder import json_object
from crawlers.store.index.database import output_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Mapping, Sequence


Row = dict[str, Any]

SHOWN = 200
"""Profiles in a table of the report."""
NAMED = 5
"""Profiles with a line of their own, and versions with a colour of their own."""
_TURNED = 50
_LARGEST = 1024 * 1024  # bytes of a document
_FILES = """
SELECT dataset_id, file FROM documents WHERE source = ? AND kind = ? AND status != 'withdrawn' ORDER BY dataset_id
"""
_HAS_SOME = "SELECT EXISTS (SELECT 1 FROM documents WHERE source = ? AND kind = ?)"
_STATES = {
    **dict.fromkeys(("up", "found"), "complete"),
    **dict.fromkeys(("down", "gone"), "failed"),
    "moved": "partial",
    "blocked": "blocked",
    **dict.fromkeys(("not_ckan", "other_forge"), "incomplete"),
}
"""The mark of each state; of others it is that of something that has not begun."""
_OTHER = "pending"
_MINOR = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}")
_REST = "other"


@dataclass(frozen=True, slots=True)
class Kind:
    """What is shown of a kind of profile.

    Args:
        noun: of several.
        version: the field that has its version, and its heading.
        figures: the headings of its most important numbers, by field; the first one is drawn.
    """

    noun: str
    version: tuple[str, str]
    figures: Mapping[str, str]


KINDS = {
    "site": Kind(
        "portals",
        ("ckan_version", "CKAN"),
        {"num_datasets": "Datasets", "num_resources": "Resources", "num_organizations": "Organizations"},
    ),
    "extension": Kind(
        "extensions",
        ("latest_release", "Release"),
        {"stars": "Stars", "forks": "Forks", "open_issues": "Open issues"},
    ),
}


def kinds(db: sqlite3.Connection, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the sources that have profiles, each with their kind."""
    for source in names:
        kind = kind_of(db, source)
        if kind:
            yield source, kind


def kind_of(db: sqlite3.Connection, source: str) -> str | None:
    """Return the kind of profile that a source has; ``None`` if it has other documents."""
    return next((kind for kind in KINDS if db.execute(_HAS_SOME, (source, kind)).fetchone()[0]), None)


def profiles(db: sqlite3.Connection, source: str, kind: str) -> list[Row]:
    """Return the profiles of a source as they are on disk, the largest first; one that can't be read is left out."""
    folder = output_of(db) / source
    rows = []
    for identifier, file in db.execute(_FILES, (source, kind)):
        if document := json_object(folder, file, _LARGEST):
            rows.append(_row(identifier, document, KINDS[kind]))
    return sorted(rows, key=lambda row: (-row["size"], natural(row["name"])))


def _row(identifier: str, document: Mapping[str, Any], kind: Kind) -> Row:
    state = _text(document.get("state")) or "unknown"
    figures = [_fact(document, name) for name in kind.figures]
    return {
        "id": identifier,
        "state": state.replace("_", " "),
        "style": _STATES.get(state, _OTHER),
        "name": _text(document.get("title")) or _text(document.get("name")) or identifier,
        **{name: _text(document.get(name)) for name in ("url", "reason", "checked", "country")},
        "place": _place(document.get("latitude"), document.get("longitude")),
        "version": _fact(document, kind.version[0]),
        "figures": figures,
        "size": figures[0]["number"] or 0,
    }


def _fact(document: Mapping[str, Any], name: str) -> Row:
    """Return a value as text, and if only an earlier run knew it, the day."""
    value, day, earlier = document.get(name), None, document.get("last_known")
    if value is None and isinstance(earlier, dict) and isinstance(known := earlier.get(name), dict):
        value, day = known.get("value"), _text(known.get("day"))
    number = value if _is_number(value) else None
    return {"text": _text(value) if number is None else amount(number), "day": day, "number": number}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < timeseries.LARGEST


def _text(value: Any) -> str | None:
    return one_line(value, 300) or None if isinstance(value, str) else None


def _place(latitude: Any, longitude: Any) -> tuple[float, float] | None:
    """Return a place on the map; ``None`` if it is not one.

    >>> _place(-1.29, 36.82), _place(True, 0), _place(91, 0), _place(None, "1")
    ((-1.29, 36.82), None, None, None)
    """
    if not _is_number(latitude) or not _is_number(longitude) or abs(latitude) > 90 or abs(longitude) > 180:
        return None
    return latitude, longitude


def with_trends(db: sqlite3.Connection, source: str, kind: str, rows: Sequence[Row]) -> list[Row]:
    """Return rows with the figure that is drawn as a small line."""
    days, figure = timeseries.days(db, source), next(iter(KINDS[kind].figures))
    known = values(db, source, days, [figure], [row["id"] for row in rows])
    return [{**row, "trend": Lines(days, {figure: known[figure, row["id"]]})} for row in rows]


def ecosystem(db: sqlite3.Connection, source: str, kind: str) -> Row:
    """Return what ``ecosystem.html`` shows of a source, without its table of profiles."""
    rows, shown, days = profiles(db, source, kind), KINDS[kind], timeseries.days(db, source)
    counts = Counter((row["state"], row["style"]) for row in rows)
    return {
        "source": source,
        "kind": kind,
        "noun": shown.noun,
        "version": shown.version[1],
        "figures": list(shown.figures.values()),
        "rows": rows,
        "states": [{"state": state, "style": style, "count": n} for (state, style), n in counts.most_common()],
        "turned": list(_turned(db, source, days)),
        "before": days[-2] if len(days) > 1 else None,
        "points": sorted((row for row in rows if row["place"]), key=lambda row: row["style"] != "complete"),
        "versions": _versions(db, source, days, shown.version[0]) if kind == "site" else None,
        "over_time": _states(db, source, days),
        "growth": _growth(db, source, days, rows, next(iter(shown.figures))),
    }


def with_profiles(db: sqlite3.Connection, source: str, kind: str) -> Row:
    """Return the same with the first profiles of the table, and their trends."""
    known = ecosystem(db, source, kind)
    return {**known, "first": with_trends(db, source, kind, known["rows"][:SHOWN])}


def _turned(db: sqlite3.Connection, source: str, days: Sequence[str]) -> Iterator[Row]:
    """Yield the profiles that had another state on the last day but one, at most a few."""
    before = {one.subject: one.value for one in timeseries.select(db, source, days[-2:-1], ["state"])}
    found = 0
    for one in timeseries.select(db, source, days[-1:], ["state"]):
        if before.get(one.subject, one.value) != one.value and found < _TURNED:
            found += 1
            states = (before[one.subject], one.value)
            yield {"id": one.subject, "states": [state.replace("_", " ") for state in states]}


def _versions(db: sqlite3.Connection, source: str, days: Sequence[str], metric: str) -> Columns:
    """Return the columns of the most frequent minor versions, the newest the darkest."""
    known = _tallies(db, source, days, metric, _minor)
    totals = sum(known.values(), Counter[str]())
    del totals[_REST]
    named = sorted((name for name, _ in totals.most_common(NAMED)), key=natural)
    styles = {name: f"heat{5 - number}" for number, name in enumerate(reversed(named))}
    for counts in known.values():
        for name in counts.keys() - styles.keys() - {_REST}:
            counts[_REST] += counts.pop(name)
    return Columns(days, known, {name: styles[name] for name in named} | {_REST: "pale"})


def _minor(version: str) -> str:
    found = _MINOR.match(version)
    return found[0] if found else _REST


def _states(db: sqlite3.Connection, source: str, days: Sequence[str]) -> Columns:
    known = _tallies(db, source, days, "state", str)
    there = {name for counts in known.values() for name in counts}
    ordered = [*(name for name in _STATES if name in there), *sorted(there - _STATES.keys())[:NAMED]]
    return Columns(days, known, {name: _STATES.get(name, _OTHER) for name in ordered})


def _tallies(
    db: sqlite3.Connection, source: str, days: Sequence[str], metric: str, name: Callable[[str], str]
) -> dict[str, Counter[str]]:
    """Return how many subjects had which value on the days that are drawn.

    Args:
        name: what a value counts as.
    """
    found: dict[str, Counter[str]] = {}
    for slot in slots(days):
        for value, number in timeseries.tally(db, source, slot.days[-1], metric):
            found.setdefault(slot.days[-1], Counter())[name(value)] += number
    return found


def _growth(db: sqlite3.Connection, source: str, days: Sequence[str], rows: Sequence[Row], figure: str) -> Lines:
    titles = Counter(row["name"] for row in rows[:NAMED])
    largest = {
        row["id"]: row["name"] if titles[row["name"]] == 1 else f"{row['name']} ({row['id']})" for row in rows[:NAMED]
    }
    known = values(db, source, days, [figure], list(largest))
    return Lines(days, {name: known[figure, identifier] for identifier, name in largest.items()})
