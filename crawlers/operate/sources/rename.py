"""``scrapy sources rename``: another name for a source, its folder, its job, its logs and its archive.

The first step gives the table its new name and ``renamed_from``, with which no command takes it; the last one removes
that key. Each step may be repeated: after a kill the same command does the rest.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import OutputError, SourcesError
from crawlers.listing.spider import source_name
from crawlers.operate.console import print_error
from crawlers.operate.harvest.ledger import NAMING, Ledger
from crawlers.operate.sources import edit
from crawlers.operate.sources.places import Places, archive_of, idle
from crawlers.safety import inside, strict_json
from crawlers.store import lines, timeseries
from crawlers.store.index import captures
from crawlers.store.index.index import catch_up, rebuild

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.operate.sources.command import Call
    from crawlers.operate.sources.file import SourcesFile

_MARK = "renamed_from"


def rename(call: Call) -> int:
    """Rename a source.

    Raises:
        SourcesError: there is no such source, the new name is taken or no name, or a crawl of it runs.
    """
    old, new = call.names
    renaming = Renaming(call.file, old, new, call.output, call.jobs, call.logs)
    renaming.check()
    with idle(place for pair in renaming.pairs for place in pair):
        try:
            for step in STEPS:
                step(renaming)
        except (OSError, OutputError) as error:
            why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error).rstrip(".")
            raise SourcesError(f"[{old}] is not renamed yet ({why}): run the same command again.") from None
    print(f"[{old}] is [{new}] now, in {call.file.path}.")
    for path in renaming.pairs[0][1].existing:
        print(f"  {path}")
    return 0


@dataclass(frozen=True)
class Renaming:
    """What is renamed.

    Args:
        old: the source's name until now.
        new: its name from now on.
        output: OUTPUT_DIR.
        jobs: JOBS_DIR.
        logs: LOGS_DIR.
    """

    file: SourcesFile
    old: str
    new: str
    output: Path
    jobs: Path
    logs: Path

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """The old and the new name of the source, and of its archive."""
        return (self.old, self.new), (archive_of(self.old), archive_of(self.new))

    @property
    def pairs(self) -> list[tuple[Places, Places]]:
        """The old and the new places of the source, and of its archive."""
        places = (self.output, self.jobs, self.logs)
        return [(Places.named(old, *places), Places.named(new, *places)) for old, new in self.names]

    def check(self) -> None:
        """Check the names.

        Raises:
            SourcesError: the new one can't name a source, or the source is an archive.
        """
        try:
            source_name(self.new)
        except ValueError as error:
            raise SourcesError(f"{self.new[:200]!r} is not {error}.") from None
        if self.old.startswith(archive_of("")):
            raise SourcesError(f"[{self.old}] is an archive, named after its source: rename that.")
        if self.old == self.new:
            raise SourcesError(f"[{self.old}] has that name already.")


def begin(renaming: Renaming) -> None:
    """Give the tables their new names, and mark them: no command takes them until the last step."""
    edit.write(renaming.file.path, lambda content: _begun(renaming, content))


def _begun(renaming: Renaming, content: str) -> str:
    old, new, file = renaming.old, renaming.new, renaming.file
    tables = tomllib.loads(content) if file.parse(content) else {}
    if _mark(tables, new) == old:  # what was killed is finished
        return content
    file.check([old], tables)
    _check_free(renaming, tables)
    for before, after in renaming.names:
        if before in tables:
            content = edit.rename(content, before, after)
    if archive_of(old) in tables:
        content = edit.update(content, archive_of(new), {"arguments": {"of": new}})
    mistakes = file.parse(content)[1]
    if new in mistakes:
        raise SourcesError(mistakes[new])
    for before, after in renaming.names:
        if before in tables:
            content = edit.update(content, after, {_MARK: before})
    return content


def _mark(tables: dict[str, Any], name: str) -> str | None:
    table = tables.get(name)
    return table.get(_MARK) if isinstance(table, dict) else None


def _check_free(renaming: Renaming, tables: dict[str, Any]) -> None:
    """
    Raises:
        SourcesError: a source has the new name, or left something under it.
    """
    for _, place in renaming.pairs:
        if place.name in tables:
            raise SourcesError(f"{renaming.file.path} already has [{place.name}]: choose another name.")
        for path in place.existing:
            raise SourcesError(f"{path} exists: choose another name, or remove it: scrapy sources purge {place.name}")


def move(renaming: Renaming) -> None:
    """Move the folders, the jobs, the claims and the logs."""
    for old, new in renaming.pairs:
        if old.claim.exists() and old.claim.stat().st_size:  # an empty one was made by the lock of this command
            old.claim.replace(new.claim)
        old.claim.unlink(missing_ok=True)
        for before, after in ((old.folder, new.folder), (old.job, new.job), (old.logs, new.logs)):
            if before.exists() and not after.exists():
                after.parent.mkdir(parents=True, exist_ok=True)
                before.replace(after)


def rewrite(renaming: Renaming) -> None:
    """Rewrite what names the source within its files: run reports, time series, captures, its job."""
    for _, place in renaming.pairs:
        if place.folder.exists():
            _rewrite_reports(renaming, place)
            _rewrite_series(renaming, place)
            _rewrite_captures(renaming, place)
        if place.job.exists():
            Ledger(place.job).rename(dict(renaming.names))


def _rewrite_reports(renaming: Renaming, place: Places) -> None:
    for path in (place.folder / "runs").glob("*.json"):
        try:
            report = strict_json.loads(inside.read(place.folder, f"runs/{path.name}"))
            changed = _renamed(renaming, place, report)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue  # it is not a report: readers leave it out
        if changed != report:
            inside.write(place.folder, f"runs/{path.name}", strict_json.dumps(changed))


def _renamed(renaming: Renaming, place: Places, report: dict[str, Any]) -> dict[str, Any]:
    """Return a run report as the renamed source's.

    Raises:
        TypeError, KeyError, AttributeError: it is not a report.
    """
    new_names, arguments = dict(renaming.names), report["arguments"]
    given = {name: new_names.get(value, value) for name, value in arguments.items() if name in NAMING}
    found = report | {"source": place.name, "arguments": arguments | given}
    logs = {str(old.logs.resolve()): new.logs.resolve() for old, new in renaming.pairs}
    if isinstance(log := report.get("log"), str) and str(Path(log).parent) in logs:
        found["log"] = str(logs[str(Path(log).parent)] / Path(log).name)
    return found


def _rewrite_series(renaming: Renaming, place: Places) -> None:
    for file in timeseries.files(place.folder):
        with inside.opened(place.folder, file) as old, inside.replaced(place.folder, file) as new:
            new.writelines(_rewritten(renaming, old, file))


def _rewritten(renaming: Renaming, old: Any, file: str) -> Iterator[bytes]:
    new_names, year = dict(renaming.names), Path(file).stem
    for _, text in lines.split(old):
        found = timeseries.observation(text, year)
        if found and found.subject in new_names:
            yield timeseries.line(found._replace(subject=new_names[found.subject]))
        elif text is not None:
            yield text


def _rewrite_captures(renaming: Renaming, place: Places) -> None:
    if not (place.folder / captures.FILE).exists():
        return
    new_names = dict(renaming.names)
    with inside.opened(place.folder, captures.FILE) as old, inside.replaced(place.folder, captures.FILE) as new:
        for _, text in lines.split(old):
            entry = lines.entry(text)
            if entry and str(entry.get("source")) in new_names:
                new.write(strict_json.line(entry | {"source": place.name}))
            elif text is not None:
                new.write(text)


def index(renaming: Renaming) -> None:
    """Bring the index up to date: the rows of the old name go, those of the new one are read from its files."""
    catch_up(renaming.output, print_error)
    for _, place in renaming.pairs:
        if (place.folder / "manifest.jsonl").exists():
            rebuild(renaming.output, place.name, print_error)


def finish(renaming: Renaming) -> None:
    """Remove the marks from the tables: the sources may be harvested again."""

    def unmarked(content: str) -> str:
        tables = tomllib.loads(content)
        for before, after in reversed(renaming.names):
            if _mark(tables, after) == before:
                content = edit.update(content, after, {_MARK: None})
        return content

    edit.write(renaming.file.path, unmarked)


STEPS = (begin, move, rewrite, index, finish)
