"""``scrapy sources show``: all that is known of one source."""

from __future__ import annotations

import json
import tomllib
from contextlib import closing
from typing import TYPE_CHECKING, Any

import tomlkit

from crawlers.exceptions import SourcesError
from crawlers.operate.console import print_error
from crawlers.operate.sources.listing import listed
from crawlers.operate.sources.places import Places, archive_of
from crawlers.safety.redact import one_line
from crawlers.store.figures.formatting import number
from crawlers.store.figures.overview import counts
from crawlers.store.index import catch_up
from crawlers.store.index.database import NAME, connect, readable
from crawlers.store.run_text import counted, judged, minute
from crawlers.store.runs import runs
from crawlers.store.sources_file import text
from crawlers.store.timeseries import held

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crawlers.operate.sources.command import Call
    from crawlers.store.runs import Run

_RUNS = 5
_NOTHING = {"datasets": 0, "withdrawn": 0, "resources": 0}


def show(call: Call) -> int:
    """Print a source: its table, its runs, what is on disk and where.

    Raises:
        SourcesError: there is no such source, or its table is invalid.
    """
    (name,), file = call.names, call.file
    found, mistakes = file.read()
    file.check([name], {**found, **mistakes})
    if name in mistakes:
        raise SourcesError(mistakes[name])
    facts = _facts(call, name)
    if call.opts.json:
        print(json.dumps(facts, indent=2, ensure_ascii=False, default=str))  # a table may have dates
    else:
        print("\n".join(_lines(facts)))
    return 0


def _facts(call: Call, name: str) -> dict[str, Any]:
    """Return what is known of a source, as JSON."""
    source = call.file.read()[0][name]
    (row,) = listed(call, {name: source})
    place, archive = (Places.named(one, call.output, call.jobs, call.logs) for one in (name, archive_of(name)))
    on_disk, archived = _counted(call, name)
    return {
        **row.plain(),
        "kind": call.file.known.spiders[source.spider].kind,
        "archive": source.archive,
        "publish": source.publish,
        "table": tomllib.loads(text(call.file.path))[name],
        "runs": [_run(run) for run in runs(call.output, name, limit=_RUNS, jobs=call.jobs)],
        "on_disk": on_disk,
        "archived": archived if archive.folder.exists() else None,
        "places": {
            label: str(path) if path.exists() else None
            for label, path in (
                *(("documents", place.folder), ("job", place.job), ("logs", place.logs)),
                ("archive", archive.folder),
            )
        },
    }


def _counted(call: Call, name: str) -> tuple[dict[str, int], dict[str, int]]:
    """Return the datasets, withdrawn ones and resources of a source; the files of its archive, and those held."""
    catch_up(call.output, lambda sentence: print_error(one_line(sentence, 2_000)))
    if not (call.output / NAME).exists():
        return _NOTHING, {}
    with readable(call.output), closing(connect(call.output)) as db:
        return counts(db, name), dict(held(db, archive_of(name)))


def _run(run: Run) -> dict[str, Any]:
    names = ("run", "state", "started", "finished", "listed", "counts", "errors", "flaws", "log")
    return {name: getattr(run, name) for name in names}


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield a source for a terminal."""
    rows = {
        "address": facts["address"],
        "spider": f"{facts['spider']}, kind {facts['kind']}",
        "enabled": "yes" if facts["enabled"] else "no",
        "review": ": ".join(filter(None, (facts["review"], facts["review_comment"]))),
        "next run": "now" if facts["due"] else facts["next"] and minute(facts["next"]),
        "on disk": _on_disk(facts["on_disk"]),
        "archived": _archived(facts["archived"]),
        **facts["places"],
    }
    yield facts["name"]
    yield from (f"  {label:<9}  {value or '-'}" for label, value in rows.items())
    yield "  table"
    yield from (f"    {line}" for line in tomlkit.dumps(facts["table"]).splitlines() if line)
    yield "  runs" if facts["runs"] else "  runs       never"
    for run in facts["runs"]:
        changes = ", ".join(f"{count} {name}" for name, count in run["counts"].items() if count)
        state = judged(run["state"], run["flaws"])
        yield "    " + "  ".join(filter(None, (minute(run["started"]), state, changes, counted(run["errors"]))))


def _on_disk(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number(found[name])} {name}" for name in _NOTHING)


def _archived(found: Mapping[str, int] | None) -> str | None:
    """Return how many files are held; an archive that looked at nothing has none."""
    return f"{number(found.get('held', 0))} of {number(found.get('files', 0))} files" if found is not None else None
