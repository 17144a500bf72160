"""Runs in human-readable form: lines, tables, durations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from crawlers.causes import ADVICE, KINDS, of_run
from crawlers.records.moment import moment
from crawlers.safety.redact import safe_line
from crawlers.store.runs import Item, Run

_WIDEST = 4000  # characters
_COLOURS = {
    **dict.fromkeys(("complete", "partial", "new", "restored"), 32),
    **dict.fromkeys(("incomplete", "interrupted", "left", "withdrawn"), 33),
    **dict.fromkeys(("blocked", "failed", "not started"), 31),
    **dict.fromkeys(("pending", "running", "updated"), 36),
}


def sentence(run: Run) -> str:
    """Return a run in one line: the state, the flaws, the datasets, the documents, the errors."""
    state = judged(run.state, run.flaws)
    if looks(run.details) is not None:
        return f"{state}. {looked_at(run.details)}."
    if done := published(run.details):
        return f"{state}. {done}."
    quiet = nothing_changed(run.details)
    if quiet:
        return f"{state}. {quiet[0].upper()}{quiet[1:]}."
    became = ", ".join(f"{run.counts.get(name, 0)} {name}" for name in ("new", "updated", "unchanged"))
    gone = f", {run.counts['withdrawn']} withdrawn" if run.counts.get("withdrawn") else ""
    wrong = f" Errors: {counted(run.errors)}." if run.errors else ""
    return f"{state}. {listed(run)} datasets listed{left_out(run.details)}; documents: {became}{gone}.{wrong}"


def judged(state: str, flaws: Mapping[str, int]) -> str:
    """Return a verdict, and how many flaws stand: the catalogue may be whole and untidy.

    >>> judged("complete", {"missing_value": 11, "repaired_text": 1}), judged("complete", {})
    ('complete, 12 flaws', 'complete')
    """
    count = sum(flaws.values())
    return f"{state}, {count} {'flaw' if count == 1 else 'flaws'}" if count else state


_NOUNS = {"captures": "file", "portals": "portal", "repositories": "repository"}
"""What a run looked at, by the field of its report that has the states."""


class Looks(NamedTuple):
    """What a run found that looks at something else than a catalogue's records: an archive's, or one of profiles.

    Args:
        noun: what it looked at: file, portal, repository.
        states: how many are in which state.
    """

    noun: str
    states: dict[str, int]

    @property
    def plural(self) -> str:
        return "repositories" if self.noun == "repository" else f"{self.noun}s"

    @property
    def found(self) -> str:
        return ", ".join(f"{count} {state}" for state, count in self.states.items())


def looked_at(report: Mapping[str, Any]) -> str:
    """Return what a run found, by the states of what it looked at.

    >>> looked_at({"listed": 3, "captures": {"kept": 2, "broken": 1}})
    '3 files: 2 kept, 1 broken'
    >>> looked_at({"listed": 5, "repositories": {"found": 3, "gone": 1}})
    '4 repositories: 3 found, 1 gone'
    """
    noun, states = seen = looks(report) or Looks("file", {})
    count = report["listed"] if noun == "file" else sum(states.values())
    return f"{count} {noun if count == 1 else seen.plural}" + (f": {seen.found}" if states else "")


def published(report: Mapping[str, Any]) -> str | None:
    """Return what a publish did, by the states of its records; ``None`` for any other run.

    >>> found = {"title": "sites of ecosystem", "phase": "published", "as_wanted": 3, "records": {"left_out": 2}}
    >>> published({"published": found})
    'sites of ecosystem, published: 2 left out, 3 as wanted'
    """
    found = report.get("published")
    if not isinstance(found, dict) or not isinstance(found.get("records"), dict):
        return None
    states = [f"{count} {str(state).replace('_', ' ')}" for state, count in found["records"].items() if count]
    listed = ", ".join([*states, f"{found.get('as_wanted')} as wanted"])
    return f"{found.get('title')}, {found.get('phase')}: {listed}"


def way_back(report: Mapping[str, Any]) -> list[str]:
    """Return the line that says how a publish is undone, or finished if it is not over.

    >>> way_back({"published": {"run": "20261122T030000Z", "phase": "published", "records": {"done": 2}}})
    ['To undo it: scrapy publish --rollback 20261122T030000Z']
    """
    found = report.get("published") or {}
    if found.get("phase") in ("publishing", "undoing"):
        return ["It is not over: the same command goes on where it was stopped."]
    is_undoable = found.get("phase") == "published" and found["records"].get("done")
    return [f"To undo it: scrapy publish --rollback {found['run']}"] if is_undoable else []


def looks(report: Mapping[str, Any]) -> Looks | None:
    """Return what an archive's run, or one of profiles, looked at and found; ``None`` for the run of a catalogue.

    >>> looks({"captures": {"not_taken": 2, "alive": 0}})
    Looks(noun='file', states={'not taken': 2})
    """
    for name, noun in _NOUNS.items():
        found = report.get(name)
        if isinstance(found, dict):
            return Looks(noun, {str(state).replace("_", " "): count for state, count in found.items() if count})
    return None


def listed(run: Run) -> str:
    """
    >>> quiet = {"unchanged_since": "2026-11-20T04:00:12.000Z", "datasets_on_disk": 2977}
    >>> listed(Run(source="a", run="b", state="complete", expected=0, details=quiet))
    '2,977 on disk'
    """
    if not run.listed and not run.expected and nothing_changed(run.details):
        return f"{run.details['datasets_on_disk']:,} on disk"
    return str(run.listed) if run.expected is None else f"{run.listed} of {run.expected}"


def left_out(report: Mapping[str, Any]) -> str:
    """Return how many of the listed datasets the operator excludes, and how many were not kept, as the end of a clause.

    >>> left_out({"excluded": 3, "not_kept": 2}), left_out({})
    (', 3 of them excluded, 2 of them not kept', '')
    """
    counts = {"excluded": report.get("excluded"), "not kept": report.get("not_kept")}
    return "".join(f", {count} of them {why}" for why, count in counts.items() if isinstance(count, int) and count)


def counted(kinds: Mapping[str, int]) -> str:
    """
    >>> counted({"http": 3, "timeout": 1})
    'http 3, timeout 1'
    """
    return ", ".join(f"{kind} {count}" for kind, count in kinds.items())


def duration(seconds: float | None) -> str:
    """
    >>> duration(4.21), duration(423), duration(7384), duration(None)
    ('4 s', '7 min 3 s', '2 h 3 min', '')
    """
    if seconds is None or seconds < 0:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def minute(time: str | None) -> str:
    """
    >>> minute("2026-11-20T03:00:01.250Z")
    '2026-11-20 03:00'
    """
    return (time or "")[:16].replace("T", " ")


def table(rows: Sequence[Sequence[str]], *, colours: bool) -> Iterator[str]:
    """Yield the lines of a table with columns of equal width; the first row is the heading.

    Control characters in cells are removed.

    >>> list(table([("run", "state"), ("1", "complete")], colours=False))
    ['run  state', '1    complete']
    """
    cells = [[safe_line(cell, _WIDEST) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        line = [coloured(cell, cell.ljust(width), colours=colours) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(line).rstrip()


def coloured(state: str, text: str, *, colours: bool) -> str:
    """Return a text in the colour of a state, if colours are on and the state has one."""
    return f"\x1b[{_COLOURS[state]}m{text}\x1b[0m" if colours and state in _COLOURS else text


def described(run: Run, *, is_listed: bool = True) -> Iterator[str]:
    """Yield the lines of a report, one for each field with a value.

    Args:
        is_listed: whether sources.toml has the source.
    """
    arguments = " ".join(f"{name}={value}" for name, value in run.arguments.items())
    yield from _field("spider", f"{run.spider or ''} {arguments}")
    yield from _field("started", f"{minute(run.started)} UTC, took {duration(run.seconds) or 'less than a second'}")
    yield from _field("ended", str(run.details.get("finish_reason") or ""))
    yield from _field("process", run.where or "")
    yield from _field("waits", run.why if run.state == "running" else "")
    yield from _field("pace", "" if run.pace is None else f"{run.pace:.2f} requests per second")
    yield from _counts(run)
    for name, kinds in (("errors", run.errors), ("flaws", run.flaws)):
        for kind, count in kinds.items():
            yield from _field(name, f"{count} {kind}: {KINDS.get(kind, '')}")
            yield from _field("advice", ADVICE.get(kind, ""))
    about = run.details | {"verdict": run.state, "source": run.source, "run": run.run}
    for cause in of_run(about, is_listed=is_listed)[:1]:
        yield from _field("cause", cause.sentence if not cause.lines else "")
        yield from _field("command", cause.command)
    yield from _field("requests", f"{run.requests}, {run.retries} of them retries; {run.bytes} bytes")
    yield from _field("resumed", "yes" if run.resumed else "")
    yield from _field("log", run.log or "")
    yield from _field("report", str(run.report or ""))


def _counts(run: Run) -> Iterator[str]:
    seen = looks(run.details)
    if done := published(run.details):
        yield from _field("published", done)
    elif seen is None:
        yield from _field("datasets", nothing_changed(run.details) or f"{listed(run)} listed{left_out(run.details)}")
        yield from _field("documents", ", ".join(f"{count} {name}" for name, count in run.counts.items() if count))
    else:
        yield from _field(seen.plural, f"{listed(run) if seen.noun == 'file' else sum(seen.states.values())} looked at")
        yield from _field("found", seen.found)


def _field(name: str, text: str) -> Iterator[str]:
    if text.strip():
        yield f"  {name:<10} {safe_line(text, _WIDEST)}"


def item_line(item: Item, *, colours: bool) -> str:
    """Return one line of an item; names from a portal cannot control the terminal."""
    status = coloured(item.status, f"{item.status:<9}", colours=colours)
    subject = item.resource_id or item.dataset_id
    words: tuple[str | None, ...] = (item.kind, subject, item.title)
    if item.status == "failed":
        words = (f"{item.stage}/{item.error_kind}", subject, item.error, item.url)
    return f"{status} {'  '.join(safe_line(word, _WIDEST) for word in words if word)}"


def nothing_changed(report: Mapping[str, Any]) -> str | None:
    """Return what a run that changed nothing found; ``None`` for any other run.

    "0 of 0 datasets listed" would read as if the catalogue were gone.

    Args:
        report: what is in runs/<run>.json.

    >>> report = {"unchanged_since": "2026-11-20T04:00:12.000Z", "datasets_on_disk": 2977, "expected": 0, "listed": 0}
    >>> nothing_changed(report)
    'nothing changed since 2026-11-20 04:00 UTC; 2,977 datasets on disk'
    >>> nothing_changed(report | {"expected": 305, "listed": 305, "datasets_on_disk": 305})
    'nothing changed since 2026-11-20 04:00 UTC; 305 datasets on disk, 305 of 305 listed'
    """
    since, datasets = moment(report.get("unchanged_since")), report.get("datasets_on_disk")
    if since is None or not isinstance(datasets, int):
        return None
    on_disk = f"{datasets:,} {'dataset' if datasets == 1 else 'datasets'} on disk"
    return f"nothing changed since {since:%Y-%m-%d %H:%M} UTC; {on_disk}{_listed(report)}"


def _listed(report: Mapping[str, Any]) -> str:
    listed, expected = report.get("listed"), report.get("expected")
    if not listed:
        return ""
    return f", {listed} listed" if expected is None else f", {listed} of {expected} listed"
