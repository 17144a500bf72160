"""All sources, of sources.toml and of those only on disk: each with its table, its last and its next run."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import SourcesError
from crawlers.operate.harvest import selection
from crawlers.operate.sources import file
from crawlers.operate.sources.duplicates import address
from crawlers.operate.sources.project_context import project
from crawlers.operate.sources.source import Listed
from crawlers.safety.redact import redact
from crawlers.store.figures.formatting import natural
from crawlers.store.figures.overview import NO_STATUS, figures
from crawlers.store.runs import last, sources

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping

    from crawlers.operate.sources.source import Source
    from crawlers.store.runs import Run

_NAMES = "SELECT source FROM sources"
_NOTHING: dict[str, Any] = {
    **dict.fromkeys(("mistake", "kind", "address", "enabled", "review", "review_comment", "schedule", "cron")),
    **dict.fromkeys(("timezone", "retry", "contact", "next", "reason", "last_run")),
    "arguments": {},
    "settings": {},
    "due": False,
}


class AllSources:
    """The sources.

    Args:
        db: the index.
        output: OUTPUT_DIR.
        jobs: JOBS_DIR, for runs that are queued.
        listed: sources.toml; if it is missing, only what is on disk is known.

    Raises:
        SourcesError: sources.toml can't be read.
    """

    def __init__(self, db: sqlite3.Connection, output: Path, jobs: Path | None, listed: Path | None) -> None:
        self.db = db
        self.output = output
        self.jobs = jobs
        self.tables, self.mistakes = file.read(listed, project()) if listed and listed.exists() else ({}, {})
        found = {name for (name,) in db.execute(_NAMES)}
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
            yield _NOTHING | row | figures(self.db, name, counted.get(name))

    def _listed(self, tables: Mapping[str, Source]) -> dict[str, dict[str, Any]]:
        now = datetime.now(UTC)
        found = {}
        for choice in selection.due(tables, self.output, self.jobs or Path(), now):
            source, time = choice.source, now if choice.is_taken else choice.time
            row = Listed(source, address(source, project()), choice.last, time, choice.is_taken).plain()
            kind = project().spiders[source.spider].kind
            found[source.name] = row | {"kind": kind, "reason": choice.reason, "last_run": choice.last}
        return found

    def _without_table(self, name: str) -> dict[str, Any]:
        run = last(self.output, name, jobs=self.jobs)
        mistake = self.mistakes.get(name)
        return {"name": name, "mistake": redact(mistake) if mistake else None, "last_run": run, **_of_run(run)}


def _of_run(run: Run | None) -> dict[str, Any]:
    names = ("spider", "state", "run", "started")
    return {name: getattr(run, name, None) for name in names} | {"arguments": run.arguments if run else {}}


def with_all(
    overview: dict[str, Any],
    *,
    db: sqlite3.Connection,
    output: Path,
    jobs: Path | None,
    listed: Path | None,
    names: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Return the overview with all sources, or with a sentence, its ``mistake``, if sources.toml can't be read.

    Args:
        overview: the result of `crawlers.store.figures.overview.with_status`, which is not changed.
        names: the sources to return; by default all. The other arguments are those of `AllSources`.
    """
    known, mistake = readable(db, output, jobs, listed)
    counted = {row["source"]: row for row in overview["sources"]}
    return with_sources(overview, known.described(names, counted)) | {"mistake": mistake}


def readable(
    db: sqlite3.Connection, output: Path, jobs: Path | None, listed: Path | None
) -> tuple[AllSources, str | None]:
    """Return the sources, without those of a sources.toml that can't be read; and why it can't be read."""
    try:
        return AllSources(db, output, jobs, listed), None
    except SourcesError as error:
        return AllSources(db, output, jobs, None), redact(str(error))


def with_sources(overview: dict[str, Any], rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the overview with all sources: those that need attention come first, then by name.

    A table that is invalid and a source that waits for its review need attention, too.

    Args:
        overview: the result of `crawlers.store.figures.overview.with_status`, which is not changed.
        rows: of `AllSources.described`.
    """
    attention = {row["source"]: row for row in overview["attention"]}
    status = {row["source"]: row for row in overview["sources"]}
    listed = []
    for row in rows:
        name, why = row["name"], left_out(row)
        shown = attention.get(name) or NO_STATUS | status.get(name, {"source": name})
        if why in _TO_DO:
            attention[name] = shown = shown | {"reasons": [*shown["reasons"], _TO_DO[why]]}
        if name in attention:
            attention[name] = shown = shown | {"command": command(row)}
        listed.append(with_command(row) | {"status": shown})
    order = {name: place for place, name in enumerate(attention)}
    listed.sort(key=lambda row: (order.get(row["name"], len(order)), natural(row["name"])))
    return {**overview, "attention": list(attention.values()), "listed": listed}


_TO_DO = {"invalid": "its table is invalid", "to be reviewed": "to be reviewed"}


def with_command(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with why no schedule harvests it, and with the command that comes next."""
    return row | {"left_out": left_out(row), "command": command(row)}


def left_out(row: Mapping[str, Any]) -> str:
    """Return why no schedule harvests a source; empty if one may.

    >>> left_out({"mistake": None, "enabled": True, "review": "open"}), left_out({"mistake": None, "enabled": None})
    ('to be reviewed', 'not in sources.toml')
    """
    if row["mistake"]:
        return "invalid"
    if row["enabled"] is None:
        return "not in sources.toml"
    if not row["enabled"]:
        return "disabled"
    return {"open": "to be reviewed", "refused": "refused"}.get(row["review"], "")


def command(row: Mapping[str, Any]) -> str:
    """Return the command that comes next for a source: it harvests it, or makes that possible.

    >>> command({"name": "hdx", "mistake": None, "enabled": True, "review": "open"})
    'scrapy sources approve hdx'
    >>> known = {"name": "old", "mistake": None, "enabled": None, "spider": "ckan", "arguments": {"q": "a b"}}
    >>> command(known)
    "scrapy crawl ckan -a 'q=a b'"
    """
    verbs = {"invalid": "sources validate", "disabled": "sources enable"}
    verbs |= dict.fromkeys(("to be reviewed", "refused"), "sources approve")
    why = left_out(row)
    if why == "not in sources.toml":
        given = (f"-a {shlex.quote(redact(f'{name}={value}'))}" for name, value in row["arguments"].items())
        return " ".join(["scrapy crawl", row["spider"], *given]) if row["spider"] else ""
    return f"scrapy {verbs.get(why, 'harvest')} {row['name']}"
