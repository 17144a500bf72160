"""What a source has on disk: where it is, the locks that keep crawls out of it, its end and its other name."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from os import walk
from pathlib import Path
from typing import Any

from crawlers.exceptions import OutputError, SourcesError, hint
from crawlers.listing.spider import source_name
from crawlers.operate.console import print_error
from crawlers.operate.harvest.job import NAMING, Ledger, jobdir
from crawlers.operate.mirrored import stored
from crawlers.operate.notify import outbox
from crawlers.operate.sources import edit
from crawlers.operate.sources.file import Call, SourcesFile
from crawlers.safety import inside, strict_json
from crawlers.safety.locks import LOCK, take
from crawlers.safety.names import archive_of
from crawlers.store import lines, timeseries
from crawlers.store.figures.formatting import counted, size
from crawlers.store.index import captures
from crawlers.store.index.index import catch_up, drop, rebuild, sources_in
from crawlers.store.runs import at_work
from crawlers.store.sources_file import tables, text

_TRIES = 30  # a process that checks whether a crawl runs holds a shared lock for a moment


@dataclass(frozen=True)
class Places:
    """The places of one source."""

    name: str
    folder: Path
    job: Path
    claim: Path
    logs: Path

    @classmethod
    def named(cls, name: str, output: Path, jobs: Path, logs: Path) -> Places:
        return cls(name, output / name, jobdir(jobs, name), jobs / f"{name}.lock", logs / name)

    @property
    def existing(self) -> list[Path]:
        """The folders that exist."""
        return [path for path in (self.folder, self.job, self.logs) if path.exists()]


@contextmanager
def idle(places: Iterable[Places]) -> Iterator[None]:
    """Keep crawls and harvests out of sources meanwhile.

    Raises:
        SourcesError: one of them is being crawled, or can't be locked.
    """
    with ExitStack() as stack:
        for place in places:
            busy = f"[{place.name}] is being crawled: run the same command again when that has ended."
            run = at_work(place.folder)
            if run and run.state == "running":
                raise SourcesError(busy)
            for lock in (place.claim, *([place.folder / LOCK] if place.folder.exists() else [])):
                try:
                    descriptor = take(lock, tries=_TRIES)
                except OSError as error:
                    raise SourcesError(f"{lock} can't be locked: {error.strerror}.") from None
                if descriptor is None:
                    raise SourcesError(busy)
                stack.callback(os.close, descriptor)
        yield


# Purge


def purge(call: Call) -> int:
    """Delete what a source and its archive have left, after asking."""
    (name,) = call.names
    left = _left(call, name)
    with idle(left):
        for path in (path for place in left for path in place.existing):
            count, volume = extent(path)
            print(f"{path}: {counted(count, 'file')}, {size(volume)}")
        if not (call.opts.yes or approved("There is no terminal to ask on: add --yes to delete this.", "Delete this?")):
            print("Nothing was deleted.")
            return 0
        try:
            for place in left:
                for path in place.existing:
                    if path.is_symlink() or not path.is_dir():
                        path.unlink()
                    else:
                        shutil.rmtree(path)
                place.claim.unlink(missing_ok=True)
            drop(call.output, [place.name for place in left])
        except OSError as error:
            raise SourcesError(f"{error.filename} can't be deleted: {error.strerror}.") from None
        except OutputError as error:
            raise SourcesError(f"The files are deleted, and the index is behind: {error}") from None
    stay = "The files of its archive stay in the store: scrapy archive prune removes those that no archive needs."
    print(f"Deleted. {stay}" if len(left) > 1 or name.startswith(archive_of("")) else "Deleted.")
    return 0


def _left(call: Call, name: str) -> list[Places]:
    """Return the places of the source, and of its archive, where something is left."""
    path = call.file.path
    known = tables(text(path), path) if path.exists() else {}
    if name in known:
        raise SourcesError(f"{path} still has [{name}]: scrapy sources remove {name} comes first.")
    for one, table in known.items():
        if name == archive_of(one) and isinstance(table, dict) and table.get("archive"):
            raise SourcesError(f"{path} has archive = true in [{one}], whose archive this is: remove that key first.")
    names = [one for one in (name, archive_of(name)) if one not in known and _is_name(one)]
    places = [Places.named(one, *call.folders) for one in names]
    found = [place for place in places if place.existing]
    if not found:
        there = [one for one in sources_in(call.output) if one not in known]
        which = f" Without a table are: {', '.join(there)}." if there else ""
        raise SourcesError(f"Nothing is left of {name[:100]!r}.{hint(name, there)}{which}")
    return found


def _is_name(text: str) -> bool:
    with suppress(ValueError):
        return bool(source_name(text))
    return False


def extent(folder: Path) -> tuple[int, int]:
    """Return how many files are below a folder, and their bytes; links are not followed."""
    count = volume = 0
    for above, _, names in walk(folder):
        for name in set(names) - {LOCK}:
            with suppress(OSError):
                volume += (Path(above) / name).lstat().st_size
                count += 1
    return count, volume


def approved(otherwise: str, question: str) -> bool:
    """Ask on the terminal; return whether the answer is yes.

    Raises:
        SourcesError: there is none; with the sentence for that.
    """
    if not sys.stdin.isatty():
        raise SourcesError(otherwise)
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


# Rename

_MARK = "renamed_from"


def rename(call: Call) -> int:
    """Rename a source."""
    old, new = call.names
    renaming = Renaming(call.file, old, new, *call.folders)
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
    """The change of a source's name, and of its folder, its job, its logs and its archive.

    The first step gives the table its new name and ``renamed_from``, with which no command takes it; the last one
    removes that key.
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

    # The steps: each may be repeated, after a kill the same command does the rest

    def begin(self) -> None:
        """Give the tables their new names, and mark them: no command takes them until the last step."""
        edit.write(self.file.path, self._begun)

    def _begun(self, content: str) -> str:
        tables = tomllib.loads(content) if self.file.parse(content) else {}
        if _mark(tables, self.new) == self.old:  # what was killed is finished
            return content
        self.file.check([self.old], tables)
        self._check_free(tables)
        for before, after in self.names:
            if before in tables:
                content = edit.rename(content, before, after)
        if archive_of(self.old) in tables:
            content = edit.update(content, archive_of(self.new), {"arguments": {"of": self.new}})
        mistakes = self.file.parse(content)[1]
        if self.new in mistakes:
            raise SourcesError(mistakes[self.new])
        for before, after in self.names:
            if before in tables:
                content = edit.update(content, after, {_MARK: before})
        return content

    def _check_free(self, tables: Collection[str]) -> None:
        for _, place in self.pairs:
            if place.name in tables:
                raise SourcesError(f"{self.file.path} already has [{place.name}]: choose another name.")
            for path in place.existing:
                remove = f"remove it: scrapy sources purge {place.name}"
                raise SourcesError(f"{path} exists: choose another name, or {remove}")

    def move(self) -> None:
        """Move the folders, the jobs, the claims and the logs."""
        for old, new in self.pairs:
            if old.claim.exists() and old.claim.stat().st_size:  # an empty one was made by the lock of this command
                old.claim.replace(new.claim)
            old.claim.unlink(missing_ok=True)
            for before, after in ((old.folder, new.folder), (old.job, new.job), (old.logs, new.logs)):
                if before.exists() and not after.exists():
                    after.parent.mkdir(parents=True, exist_ok=True)
                    before.replace(after)
        outbox.rename(self.jobs, self.old, self.new)

    def rewrite(self) -> None:
        """Rewrite what names the source within its files: run reports, time series, captures, its job."""
        new_names = dict(self.names)
        for _, place in self.pairs:
            if place.folder.exists():
                self._rewrite_reports(place)
                for file in timeseries.files(place.folder):
                    _rewrite_lines(place.folder, file, partial(_observed, new_names, Path(file).stem))
                if (place.folder / captures.FILE).exists():
                    _rewrite_lines(place.folder, captures.FILE, partial(_captured, new_names, place.name))
            if place.job.exists():
                Ledger(place.job).rename(new_names)

    def _rewrite_reports(self, place: Places) -> None:
        new_names = dict(self.names)
        logs = {str(old.logs.resolve()): new.logs.resolve() for old, new in self.pairs}
        for path in (place.folder / "runs").glob("*.json"):
            try:
                report = strict_json.loads(inside.read(place.folder, f"runs/{path.name}"))
                arguments = report["arguments"]
                given = {name: new_names.get(value, value) for name, value in arguments.items() if name in NAMING}
                changed = report | {"source": place.name, "arguments": arguments | given}
                if isinstance(log := report.get("log"), str) and str(Path(log).parent) in logs:
                    changed["log"] = str(logs[str(Path(log).parent)] / Path(log).name)
            except (ValueError, TypeError, KeyError, AttributeError):
                continue  # it is not a report: readers leave it out
            if changed != report:
                inside.write(place.folder, f"runs/{path.name}", strict_json.dumps(changed))

    def index(self) -> None:
        """Bring the index up to date: the rows of the old name go, those of the new one are read from its files."""
        catch_up(self.output, print_error)
        for _, place in self.pairs:
            if (place.folder / "manifest.jsonl").exists():
                rebuild(self.output, place.name, print_error)

    def finish(self) -> None:
        """Remove the marks from the tables: the sources may be harvested again."""

        def unmarked(content: str) -> str:
            tables = tomllib.loads(content)
            for before, after in reversed(self.names):
                if _mark(tables, after) == before:
                    content = edit.update(content, after, {_MARK: None})
            return content

        edit.write(self.file.path, unmarked)


STEPS = (Renaming.begin, Renaming.move, Renaming.rewrite, Renaming.index, Renaming.finish)


def _mark(tables: dict[str, Any], name: str) -> str | None:
    table = tables.get(name)
    return table.get(_MARK) if isinstance(table, dict) else None


def _rewrite_lines(folder: Path, file: str, changed: Callable[[bytes], bytes | None]) -> None:
    """Rewrite a file of lines; those for which there is no other one stay as they are."""
    with inside.opened(folder, file) as old, inside.replaced(folder, file) as new:
        for _, line in lines.split(old):
            if line is not None:
                new.write(changed(line) or line)


def _observed(new_names: Mapping[str, str], year: str, line: bytes) -> bytes | None:
    found = timeseries.observation(line, year)
    if found is None or found.subject not in new_names:
        return None
    return timeseries.line(found._replace(subject=new_names[found.subject]))


def _captured(new_names: Mapping[str, str], source: str, line: bytes) -> bytes | None:
    entry = lines.entry(line)
    return strict_json.line(entry | {"source": source}) if entry and str(entry.get("source")) in new_names else None


# What a store has of them


def changed_folders(settings: Any, words: list[str]) -> list[str]:
    """Return the sources whose folders a verb changes, of those that a store has; ``rename`` makes others.

    Args:
        words: the verb, and the names after it.

    Raises:
        StoreError: the store can't be read.
    """
    verb, *names = words
    if verb not in ("rename", "attach", "purge") or not names:
        return []
    there = stored(settings, [names[0], archive_of(names[0])])
    if verb == "rename":
        there += [archive_of(names[1]) if name != names[0] else names[1] for name in there if len(names) > 1]
    return there[:1] if verb == "attach" else there


def renamed(words: list[str]) -> list[str]:
    """Return the names that a source and its archive have no more after ``rename``; of other verbs, none."""
    return [words[1], archive_of(words[1])] if words[0] == "rename" and len(words) > 1 else []
