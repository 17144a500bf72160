"""The list of sources, of sources.toml and of those only on disk, each with its last and next run; and all of one."""

from __future__ import annotations

import json
import shlex
import sqlite3
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from crawlers.exceptions import OutputError, SourcesError, with_command
from crawlers.operate.console import print_error
from crawlers.operate.harvest import selection
from crawlers.operate.sources.file import Call, SourcesFile, address, report
from crawlers.operate.sources.folders import Places
from crawlers.operate.sources.keys import missing
from crawlers.operate.sources.source import Known, Source, project
from crawlers.records.moment import moment, written
from crawlers.safety.names import archive_of
from crawlers.safety.redact import one_line, redact
from crawlers.store import timeseries
from crawlers.store.figures.formatting import natural, number, size
from crawlers.store.figures.overview import NO_STATUS, UNLISTED, counts, figures
from crawlers.store.index import catch_up
from crawlers.store.index.database import NAME, connect, readable
from crawlers.store.run_text import counted, judged, minute, table
from crawlers.store.runs import last, runs, sources
from crawlers.store.sources_file import text
from crawlers.store.versions import Versions

_HEAD = ("name", "spider", "enabled", "review", "schedule", "last run", "at", "next run", "address")


def print_list(call: Call) -> int:
    """Print the sources, and what is wrong with other tables."""
    found, mistakes = call.file.read()
    sources = listed(found, call.file.known, call.output, call.jobs)
    if call.opts.json:
        print(json.dumps([source.plain() for source in sources], indent=2))
    elif sources:
        print("\n".join(table([_HEAD, *(source.row() for source in sources)], colours=False)))
    elif not mistakes:
        print(with_command(f"{call.file.path} has no source yet: scrapy sources add NAME URL adds one."))
    return report(mistakes)


@dataclass(frozen=True, slots=True)
class Listed:
    """A source in the list.

    Args:
        choice: whether it is due now, and its last run, which may not be over.
        next: when it is due; ``None``: only when it is named, or after the run that is at work.
    """

    choice: selection.Choice
    address: str | None
    next: datetime | None

    def plain(self) -> dict[str, Any]:
        """Return the row as JSON."""
        source, schedule, last = self.choice.source, self.choice.source.schedule, self.choice.last
        return {
            "name": source.name,
            "spider": source.spider,
            "address": self.address,
            "enabled": source.enabled,
            "review": source.review,
            "review_comment": source.review_comment,
            "schedule": schedule.text if schedule else None,
            "cron": schedule.cron if schedule else None,
            "timezone": str(schedule.timezone) if schedule else None,
            "retry": [delay.total_seconds() for delay in schedule.retry] if schedule else None,
            "contact": source.contact,
            "owner": source.owner,
            "arguments": source.arguments,
            "settings": source.settings,
            **{name: getattr(last, name, None) for name in ("state", "run", "started")},
            "next": written(self.next) if self.next else None,
            "due": self.choice.is_taken,
        }

    def row(self) -> tuple[str, ...]:
        """Return the row of the table; times are UTC."""
        source, last = self.choice.source, self.choice.last
        started = moment(last.started) if last else None
        following = "now" if self.choice.is_taken else f"{self.next:%Y-%m-%d %H:%M}" if self.next else "-"
        return (
            source.name,
            source.spider,
            "yes" if source.enabled else "no",
            source.review,
            source.schedule.text if source.schedule else "-",
            last.state if last else "never",
            f"{started:%Y-%m-%d %H:%M}" if started else "-",
            following,
            self.address or "-",
        )


def listed(sources: Mapping[str, Source], known: Known, output: Path, jobs: Path) -> list[Listed]:
    """Return sources with their last and next run."""
    now = datetime.now(UTC)
    return [
        Listed(choice, address(choice.source, known), now if choice.is_taken else choice.time)
        for choice in selection.due(sources, output, jobs, now)
    ]


# All sources, of sources.toml and of those only on disk


class AllSources:
    """The sources.

    Args:
        jobs: JOBS_DIR, for runs that are queued.
        listed: sources.toml; if it is missing, only what is on disk is known.

    Raises:
        SourcesError: sources.toml can't be read.
    """

    def __init__(self, db: sqlite3.Connection, output: Path, jobs: Path | None, listed: Path | None) -> None:
        self.db = db
        self.output = output
        self.jobs = jobs
        self.tables, self.mistakes = SourcesFile(listed).read() if listed and listed.exists() else ({}, {})
        found = {name for (name,) in db.execute("SELECT source FROM sources")}
        self.names = sorted({*self.tables, *self.mistakes, *found, *sources(output)})

    def described(
        self, names: Iterable[str] | None = None, counted: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    ) -> Iterator[dict[str, Any]]:
        """Yield sources as JSON, with their figures in the index; ``last_run`` is a `Run`.

        Args:
            names: the sources to return; by default all.
            counted: the rows of `crawlers.store.figures.overview.sources` of those that are counted already.
        """
        chosen = self.names if names is None else list(names)
        known = self._listed({name: self.tables[name] for name in chosen if name in self.tables})
        for name in chosen:
            row = known[name] if name in known else self._without_table(name)
            yield UNLISTED | row | figures(self.db, name, counted.get(name))

    def _listed(self, tables: Mapping[str, Source]) -> dict[str, dict[str, Any]]:
        found = {}
        for one in listed(tables, project(), self.output, self.jobs or Path()):
            kind = project().spiders[one.choice.source.spider].kind
            about = {"kind": kind, "reason": one.choice.reason, "last_run": one.choice.last}
            found[one.choice.source.name] = one.plain() | about
        return found

    def _without_table(self, name: str) -> dict[str, Any]:
        run, mistake = last(self.output, name, jobs=self.jobs), self.mistakes.get(name)
        about = {key: getattr(run, key, None) for key in ("spider", "state", "run", "started")}
        about |= {"arguments": run.arguments if run else {}, "last_run": run}
        return {"name": name, "mistake": redact(with_command(mistake)) if mistake else None, **about}


def with_all(
    overview: dict[str, Any],
    *,
    db: sqlite3.Connection,
    output: Path,
    jobs: Path | None,
    listed: Path | None,
    names: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Return the overview with all sources: those that need attention come first, then by name.

    A table that is invalid and a source that waits for its review need attention, too. If sources.toml can't be read,
    ``mistake`` is a sentence that says why.

    Args:
        overview: the result of `crawlers.store.figures.overview.with_status`, which is not changed.
        names: the sources to return; by default all. The other arguments are those of `AllSources`.
    """
    known, mistake = read_all(db, output, jobs, listed)
    status = {row["source"]: row for row in overview["sources"]}
    attention = {row["source"]: row for row in overview["attention"]}
    rows = []
    for row in known.described(dict.fromkeys((*known.names, *status)) if names is None else names, status):
        name, why = row["name"], left_out(row)
        shown = attention.get(name) or NO_STATUS | status.get(name, {"source": name})
        if why in _TO_DO:
            attention[name] = shown = shown | {"reasons": [*shown["reasons"], _TO_DO[why]]}
        if name in attention and (why in _TO_DO or not shown["advice"]):
            attention[name] = shown = shown | {"advice": None, "command": command(row)}
        elif name in attention and why and shown["command"]:
            attention[name] = shown = shown | {"command": command(row)}
        rows.append(described_row(row) | {"status": shown})
    order = {name: place for place, name in enumerate(attention)}
    rows.sort(key=lambda row: (order.get(row["name"], len(order)), natural(row["name"])))
    return {**overview, "attention": list(attention.values()), "listed": rows, "mistake": mistake}


_TO_DO = {"invalid": "its table is invalid", "pending review": "pending review"}


def read_all(
    db: sqlite3.Connection, output: Path, jobs: Path | None, listed: Path | None
) -> tuple[AllSources, str | None]:
    """Return the sources, without those of a sources.toml that can't be read; and why it can't be read."""
    try:
        return AllSources(db, output, jobs, listed), None
    except SourcesError as error:
        return AllSources(db, output, jobs, None), redact(with_command(str(error)))


def described_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with why no schedule harvests it, and with the command that comes next."""
    return row | {"left_out": left_out(row), "command": command(row)}


def left_out(row: Mapping[str, Any]) -> str:
    """Return why no schedule harvests a source; empty if one may.

    >>> left_out({"mistake": None, "enabled": True, "review": "open"}), left_out({"mistake": None, "enabled": None})
    ('pending review', 'not in sources.toml')
    """
    if row["mistake"]:
        return "invalid"
    if row["enabled"] is None:
        return "not in sources.toml"
    if not row["enabled"]:
        return "disabled"
    return {"open": "pending review", "refused": "refused"}.get(row["review"], "")


def command(row: Mapping[str, Any]) -> str:
    """Return the command that comes next for a source: it harvests it, or makes that possible.

    >>> command({"name": "hdx", "mistake": None, "enabled": True, "review": "open"})
    'scrapy sources approve hdx'
    >>> known = {"name": "old", "mistake": None, "enabled": None, "spider": "ckan", "arguments": {"q": "a b"}}
    >>> command(known)
    "scrapy crawl ckan -a 'q=a b'"
    """
    verbs = {"invalid": "sources validate", "disabled": "sources enable"}
    verbs |= dict.fromkeys(("pending review", "refused"), "sources approve")
    why = left_out(row)
    if why == "not in sources.toml":
        given = (f"-a {shlex.quote(redact(f'{name}={value}'))}" for name, value in row["arguments"].items())
        return with_command(" ".join(["scrapy crawl", row["spider"], *given])) if row["spider"] else ""
    return with_command(f"scrapy {verbs.get(why, 'harvest')} {row['name']}")


_RUNS = 5
_SHOWN = ("run", "state", "started", "finished", "listed", "counts", "errors", "flaws", "log")  # of a run
_NO_COUNTS = {"datasets": 0, "withdrawn": 0, "resources": 0}


def show(call: Call) -> int:
    """Print a source: its table, its runs, what is on disk and where."""
    facts = _facts(call, call.file.named(call.names)[call.names[0]])
    if call.opts.json:
        print(json.dumps(facts, indent=2, ensure_ascii=False, default=str))  # a table may have dates
    else:
        print("\n".join(_lines(facts)))
    return 0


def _facts(call: Call, source: Source) -> dict[str, Any]:
    """Return what is known of a source, as JSON."""
    name = source.name
    (row,) = listed({name: source}, call.file.known, call.output, call.jobs)
    place, archive = (Places.named(one, *call.folders) for one in (name, archive_of(name)))
    on_disk, archived = _counted(call, name)
    return {
        **row.plain(),
        "kind": call.file.known.spiders[source.spider].kind,
        "archive": source.archive,
        "publish": source.publish,
        "table": (table := tomllib.loads(text(call.file.path))[name]),
        "not_set": missing(table),
        "runs": [
            {field: getattr(run, field) for field in _SHOWN}
            for run in runs(call.output, name, limit=_RUNS, jobs=call.jobs)
        ],
        "on_disk": on_disk,
        "archived": archived if archive.folder.exists() else None,
        "former_versions": _former(place.folder),
        "places": {
            label: str(path) if path.exists() else None
            for label, path in (
                *(("documents", place.folder), ("job", place.job), ("logs", place.logs)),
                ("archive", archive.folder),
            )
        },
    }


def _former(folder: Path) -> dict[str, int] | None:
    """Return what former versions take on disk; ``None`` if they can't be read."""
    try:
        with Versions.reading(folder) as versions:
            return versions.size()._asdict()
    except OutputError as error:
        print_error(error)
        return None


def _counted(call: Call, name: str) -> tuple[dict[str, int], dict[str, int]]:
    """Return the datasets, withdrawn ones and resources of a source; the files of its archive, and those held."""
    catch_up(call.output, lambda sentence: print_error(one_line(sentence, 2_000)))
    if not (call.output / NAME).exists():
        return _NO_COUNTS, {}
    with readable(call.output), closing(connect(call.output)) as db:
        return counts(db, name), dict(timeseries.archived(db, archive_of(name)))


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield a source for a terminal."""
    import tomlkit  # noqa: PLC0415 -- what only reads sources.toml needs it not

    archived = facts["archived"]  # empty of an archive that looked at nothing
    former = facts["former_versions"]
    files = [number(archived.get(name, 0)) for name in ("held", "files")] if archived is not None else []
    rows = {
        "address": facts["address"],
        "spider": f"{facts['spider']}, kind {facts['kind']}",
        "enabled": "yes" if facts["enabled"] else "no",
        "review": ": ".join(filter(None, (facts["review"], facts["review_comment"]))),
        "next run": "now" if facts["due"] else facts["next"] and minute(facts["next"]),
        "on disk": ", ".join(
            f"{number(count)} {name}" for name, count in facts["on_disk"].items() if name in _NO_COUNTS
        ),
        "archived": f"{' of '.join(files)} files" if files else None,
        "versions": former
        and f"{number(former['versions'])} former, {size(former['bytes'])}; {size(former['week'])} a week",
        **facts["places"],
    }
    yield facts["name"]
    yield from (f"  {label:<9}  {value or '-'}" for label, value in rows.items())
    yield "  table"
    yield from (f"    {line}" for line in tomlkit.dumps(facts["table"]).splitlines() if line)
    yield "  not set"
    yield from (f"    {key}: {default}" for key, default in facts["not_set"].items())
    yield "  runs" if facts["runs"] else "  runs       never"
    for run in facts["runs"]:
        changes = ", ".join(f"{count} {name}" for name, count in run["counts"].items() if count)
        state = judged(run["state"], run["flaws"])
        yield "    " + "  ".join(filter(None, (minute(run["started"]), state, changes, counted(run["errors"]))))
