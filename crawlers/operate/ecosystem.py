"""The weekly run of the CKAN ecosystem: crawls of portals and extensions, CSV files, and what is published of them."""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crawlers import arguments
from crawlers.exceptions import ExportError, HarvestError
from crawlers.listing.spider import host_name
from crawlers.operate.console import print_error, print_lines
from crawlers.operate.harvest.crawls import Crawls, handle_signals
from crawlers.operate.harvest.fork_server import python
from crawlers.operate.harvest.harvest import COMPLETE, FAILED, INCOMPLETE, INTERRUPTED, NOTHING_STARTED, exit_code
from crawlers.operate.publish import check_approval
from crawlers.operate.sources.source import Known, Source
from crawlers.publish.spider import PREFIX
from crawlers.publish.targets import TARGETS
from crawlers.records.moment import moment, now
from crawlers.records.moment import name as moment_name
from crawlers.safety import inside, strict_json
from crawlers.safety.locks import is_crawled, take
from crawlers.safety.redact import safe_line
from crawlers.store.export.nodes import plain
from crawlers.store.export.output import target
from crawlers.store.export.tables import cell, straight
from crawlers.store.index import catch_up
from crawlers.store.index.database import connect, readable
from crawlers.store.runs import content, last

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawlers.items import Kind
    from crawlers.operate.strict_command import ProjectCommand

    Rows = Iterator[tuple[Any, ...]]


CATALOGUE = "https://ecosystem.ckan.org"
"""The catalogue of CKAN's own portals and extensions."""
STAGES = ("sites", "extensions", "publish", "timeseries")
"""What a run can leave out."""


_LONGEST = timedelta(days=1)  # after which an interrupted run begins again: what it has found out is old


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the ecosystem."""

    name: str
    spider: str
    kind: Kind

    def source(self, catalogue: str) -> Source:
        """Return the source, as a harvest crawls it."""
        return Source(name=self.spider, spider=self.spider, arguments={"catalogue": catalogue})


PARTS = (Part("sites", "ckan_sites", "site"), Part("extensions", "ckan_extensions", "extension"))


class Progress:
    """How far the run of a part is: a file in JOBS_DIR, which is locked by the run and outlives a kill.

    Attributes:
        begun: when the run began, as ISO 8601.
        known_up: the file with what was up before; it stays until a crawl is published, or could be.
    """

    def __init__(self, path: Path, descriptor: int, catalogue: str) -> None:
        self.descriptor = descriptor
        self.known_up = path.with_suffix(".up")
        known = content(path)
        begun = moment(known.get("begun"))
        is_recent = begun and datetime.now(UTC) - begun < _LONGEST
        self.begun = str(known["begun"]) if is_recent and known.get("catalogue") == catalogue else now("milliseconds")
        self._write({"begun": self.begun, "catalogue": catalogue})

    @classmethod
    def take(cls, jobs: Path, part: Part, catalogue: str) -> Self | None:
        """Return the progress of a part's run, from now on this process's; ``None`` if another one is at it.

        Raises:
            HarvestError: JOBS_DIR is not writable.
        """
        path = jobs / f"ecosystem-{part.name}.json"
        try:
            descriptor = take(path)
            return None if descriptor is None else cls(path, descriptor, catalogue)
        except OSError as error:
            raise HarvestError(f"{path} can't be written ({error.strerror}): set another -s JOBS_DIR=.") from None

    def end(self) -> None:
        """Record that the run is over: the next one begins again."""
        self._write({})

    def release(self) -> None:
        os.close(self.descriptor)

    def _write(self, known: dict[str, Any]) -> None:
        body = json.dumps(known).encode()
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, body, 0)


# The profiles of a source on disk

_PROFILES = """
SELECT file, last_seen FROM documents WHERE source = ? AND kind = ? AND status != 'withdrawn' ORDER BY dataset_id
"""


class Stored(NamedTuple):
    """A profile on disk.

    Args:
        seen: when it was last looked at, as ISO 8601.
    """

    file: str
    seen: str
    document: dict[str, Any]


def profiles(output: Path, source: str, kind: Kind) -> Iterator[Stored]:
    """Yield the profiles of a source, without withdrawn ones; one that can't be read is reported and left out."""
    catch_up(output, print_error, [source])
    if not (output / "index.sqlite").exists():
        return
    with readable(output), closing(connect(output)) as db:
        for file, seen in db.execute(_PROFILES, (source, kind)):
            if document := read(output / source, file):
                yield Stored(file, seen, document)


def read(folder: Path, file: str) -> dict[str, Any]:
    """Return a profile's document; an empty one, and a sentence on standard error, if it can't be read."""
    try:
        found = strict_json.loads(inside.read(folder, file))
    except (OSError, ValueError) as error:
        print_error(f"{folder / file} is left out: {error}")
        return {}
    return found if isinstance(found, dict) else {}


# Outages of the network here: of the portals that were up before a crawl, too many are not up after it

_UP = ("up", "moved")


class Outage(NamedTuple):
    """How many portals were up before, and how many of them are not up now."""

    before: int
    lost: int

    @property
    def percent(self) -> float:
        return 100 * self.lost / self.before if self.before else 0.0


def remember(output: Path, source: str, kind: Kind, path: Path) -> None:
    """Write the files of the profiles that are up, a line for each.

    Raises:
        ExportError: they can't be written.
    """
    with target(path) as file:
        for profile in profiles(output, source, kind):
            if profile.document.get("state") in _UP:
                file.write(f"{profile.file}\n".encode())


def compare(folder: Path, path: Path) -> Outage:
    """Return how many of the profiles that were up are not now."""
    before = lost = 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            before += 1
            lost += read(folder, line.rstrip("\n")).get("state") not in _UP
    return Outage(before, lost)


# The CSV files that the pipelines of the CKAN ecosystem had, with their columns; what is not known is empty


@dataclass(frozen=True, slots=True)
class Table:
    """A CSV file.

    Args:
        rows: returns the rows of a profile; takes it, and the catalogue's address.
    """

    file: str
    columns: tuple[str, ...]
    rows: Callable[[Stored, str], Rows]


def _site_urls(site: Stored, _: str) -> Rows:
    if site.document.get("url"):
        yield site.document.get("name"), site.document["url"]


def _ckan_stats(site: Stored, _: str) -> Rows:
    if site.document.get("url"):
        yield site.seen[:10], *map(site.document.get, _CKAN_STATS[1:])


def _url_list(extension: Stored, catalogue: str) -> Rows:
    known = (extension.document.get(field) or () for field in ("catalog_names", "catalog_ids"))
    for name, identifier in zip(*known, strict=False):
        yield (
            f"{catalogue}/extension/{name or identifier}",
            extension.document["url"] if _is_at_github(extension) else None,
        )


def _metadata(extension: Stored, _: str) -> Rows:
    if _is_at_github(extension):
        known = {column: extension.document.get(name) for column, name in _METADATA.items()}
        known["release_date"] = known["release_date"] and known["release_date"][:10]
        if known["discussions"] is not None:
            known["discussions"] = str(known["discussions"] > 0)  # whether, not how many
        yield f"{extension.seen[:19]}+00:00", *known.values()


def _is_at_github(extension: Stored) -> bool:
    return bool(extension.document.get("repository")) and extension.document.get("state") != "other_forge"


_CKAN_STATS = (
    *("tstamp", "name", "url", "num_datasets", "num_groups", "num_organizations", "ckan_version", "extensions"),
)
_METADATA = {
    "repository_name": "repository",
    "url": "url",
    "forks_count": "forks",
    "total_releases": "releases",
    "latest_release": "latest_release",
    "release_date": "release_date",
    "stars": "stars",
    "open_issues": "open_issues",
    "contributors_count": "contributors",
    "discussions": "discussions",
}
"""The fields of a profile, by the columns that they are called in the CSV file."""
TABLES: dict[Kind, tuple[Table, ...]] = {
    "site": (
        Table("site_urls.csv", ("name", "url"), _site_urls),
        Table("ckan_stats.csv", _CKAN_STATS, _ckan_stats),
    ),
    "extension": (
        Table("url_list.csv", ("catalog_url", "github_url"), _url_list),
        Table("dynamic_metadata_update.csv", ("tstamp", *_METADATA), _metadata),
    ),
}


def write(output: Path, source: str, kind: Kind, catalogue: str, folder: Path) -> str:
    """Write the CSV files of a kind of profile; return a sentence that names them.

    A reader sees the old files or the new ones.

    Args:
        catalogue: the address of the catalogue that lists them.
        folder: is made if there is none.

    Raises:
        ExportError: they can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"{folder} can't be made: {error.strerror}.") from None
    paths = [folder / table.file for table in TABLES[kind]]
    with ExitStack() as stack:
        files = [stack.enter_context(target(path)) for path in paths]
        for table, file in zip(TABLES[kind], files, strict=True):
            file.write(_line(table.columns))
        for profile in profiles(output, source, kind):
            for table, file in zip(TABLES[kind], files, strict=True):
                file.writelines(_line(row) for row in table.rows(profile, catalogue))
    return f"Wrote {' and '.join(map(str, paths))}."


def _line(values: tuple[Any, ...]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerow(map(_cell, values))
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    """Return a value as the pipelines wrote it; a text that a spreadsheet would run begins with an apostrophe.

    >>> _cell(["dcat", "harvest"]), _cell(0), _cell(None), _cell("=1+1")
    ('["dcat", "harvest"]', '0', '', "'=1+1")
    """
    if value is None or isinstance(value, str):
        return cell(value)
    return straight(plain(json.dumps(value, ensure_ascii=False)) or "")


# The run

_PAUSE = 1.0  # seconds until it is checked again whether another publish has ended


def wait_for_others(portal: str, output: Path) -> None:
    """Wait until no other publish writes to a portal."""
    while is_crawled(output / f"{PREFIX}{host_name(portal)}"):
        time.sleep(_PAUSE)


async def publish(words: Sequence[str], *, is_asking: bool) -> int:
    """Run `scrapy publish` to its end, and return its exit code; signals are passed on, so that it can stop well.

    Args:
        words: what follows ``scrapy publish``.
        is_asking: whether it asks on the terminal, which then sends it Ctrl-C itself.

    Raises:
        HarvestError: no process can be created.
    """
    command = [*python(), "-m", "scrapy", "publish", *words]
    try:
        process = await asyncio.create_subprocess_exec(*command, start_new_session=not is_asking)
    except OSError as error:
        raise HarvestError(f"no process can be created: {error.strerror}") from None

    def pass_on(number: int) -> None:
        if not (is_asking and number == signal.SIGINT):
            with suppress(ProcessLookupError):
                process.send_signal(number)

    handle_signals(pass_on)
    return await process.wait()


_MOST = 100  # per cent


class EcosystemRun:
    """One run.

    Raises:
        HarvestError: an option is wrong.
        PublishError: a terminal to ask on, or the token, is missing.
    """

    def __init__(self, settings: BaseSettings, opts: argparse.Namespace) -> None:
        self.opts = opts
        self.output, self.jobs, self.logs = (Path(settings[name]) for name in ("OUTPUT_DIR", "JOBS_DIR", "LOGS_DIR"))
        self.catalogue = _address("--catalogue", opts.catalogue or CATALOGUE)
        self.to = _address("--publish-to", opts.publish_to) if opts.publish_to else None
        self.limit = _percent(opts.max_down)
        self.crawls = Crawls(settings, Known(settings), opts.set, parallel=len(PARTS))
        self.is_asking = not (opts.yes or opts.dry_run)
        if self.to:
            check_approval(settings, opts)

    def run(self) -> int:
        """Crawl, and publish what may be published; return the exit code.

        Raises:
            CrawlersError: a sentence for the user.
        """
        with ExitStack() as stack:
            begun = {part: self._begin(part, stack) for part in PARTS if part.name not in self.opts.skip}
            under_way = {part: progress for part, progress in begun.items() if progress}
            done = [part for part, progress in under_way.items() if self._is_crawled(part, progress)]
            print_lines(f"{part.spider}: this run has crawled it already." for part in done)
            wanted = [part.source(self.catalogue) for part in under_way if part not in done]
            outcomes = self.crawls.run(wanted) if wanted else []
            if self.crawls.is_stopped:
                return INTERRUPTED
            return max(exit_code(outcomes), self._conclude(under_way, {one.source: one.state for one in outcomes}))

    def _begin(self, part: Part, stack: ExitStack) -> Progress | None:
        """Begin a part, or continue it where an interrupted run left it; return ``None`` if another run is at it."""
        progress = Progress.take(self.jobs, part, self.catalogue)
        if progress is None:
            print_lines([f"{part.spider}: another run is at work on it."])
            return None
        stack.callback(progress.release)
        if part.kind == "site" and not progress.known_up.exists():
            remember(self.output, part.spider, part.kind, progress.known_up)
        return progress

    def _is_crawled(self, part: Part, progress: Progress) -> bool:
        """Return whether a complete crawl of the catalogue has ended since the run began."""
        run = last(self.output, part.spider)
        ended, begun = moment(run.finished if run else None), moment(progress.begun)
        if run is None or ended is None or begun is None:
            return False
        return run.state == "complete" and ended >= begun and run.arguments.get("catalogue") == self.catalogue

    def _conclude(self, under_way: Mapping[Part, Progress], states: Mapping[str, str]) -> int:
        """Do what follows the crawls, of the parts that are complete; return the exit code."""
        code, complete = COMPLETE, [part for part, progress in under_way.items() if self._is_crawled(part, progress)]
        for part, progress in under_way.items():
            if states.get(part.spider) == "running":
                print_lines([f"{part.spider}: run this again when that crawl has ended."])
                code = INCOMPLETE
            elif part not in complete:
                run = last(self.output, part.spider)  # it may have ended before its work was done
                stopped = [safe_line(run.details["stopped"])] if run and run.details.get("stopped") else []
                print_lines([f"{part.spider} is not complete: nothing of it is published.", *stopped])
                progress.end()
        if any(self._is_outage(part, under_way[part]) for part in complete):
            for part in complete:
                under_way[part].end()
            return FAILED
        for part in complete:
            code = max(code, self._finish(part, under_way[part]))
            if code == INTERRUPTED:
                break
        return code

    def _is_outage(self, part: Part, progress: Progress) -> bool:
        if part.kind != "site":
            return False
        found = compare(self.output / part.spider, progress.known_up)
        share = f"{found.lost:,} of {found.before:,} portals that were up at the last run are not up now"
        if found.percent <= self.limit:
            print_lines([f"{part.spider}: {share}."] if found.before else [])
            return False
        print_error(
            f"Nothing is published: {share}, more than {self.limit:g} %. The network here may be the reason: check it "
            f"and run again. If they are down indeed, add --max-down {ceil(found.percent)}."
        )
        return True

    def _finish(self, part: Part, progress: Progress) -> int:
        """Write the CSV files of a part, and publish it; return the exit code."""
        print_lines([write(self.output, part.spider, part.kind, self.catalogue, self.opts.csv)])
        progress.known_up.unlink(missing_ok=True)
        code = self._publish(part) if self.to else COMPLETE
        if code != INTERRUPTED:
            progress.end()
        return code

    def _publish(self, part: Part) -> int:
        """Publish a part's records, then its time series unless that failed; return the exit code."""
        code = COMPLETE
        for what, stage in ((part.name, "publish"), ("timeseries", "timeseries")):
            if stage not in self.opts.skip and code < FAILED:
                wait_for_others(str(self.to), self.output)
                found = asyncio.run(publish(self._words(what, part), is_asking=self.is_asking))
                code = max(code, FAILED if found == NOTHING_STARTED else found)
        return code

    def _words(self, what: str, part: Part) -> list[str]:
        log = self.logs / f"publish-{what}" / f"{moment_name()}.log"
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HarvestError(f"{log} can't be written ({error.strerror}): set another -s LOGS_DIR=") from None
        settings = [word for setting in self.opts.set for word in ("-s", setting)]
        answer = ["--dry-run"] * self.opts.dry_run or ["--yes"] * self.opts.yes
        return [what, part.spider, "--to", str(self.to), *answer, *settings, "--logfile", str(log)]


def _address(option: str, text: str) -> str:
    try:
        return arguments.portal(text)
    except ValueError as error:
        raise HarvestError(f"{option} {text[:200]!r} is not {error}.") from None


def _percent(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not 0 <= found <= _MOST:
        raise HarvestError(f"--max-down {text[:100]!r} is not a percentage, from 0 to {_MOST}.")
    return found


def run(command: ProjectCommand, _: list[str], opts: argparse.Namespace) -> int:
    """Do a run; return the exit code."""
    return EcosystemRun(command.settings, opts).run()


def write_csv(command: ProjectCommand, names: list[str], _: argparse.Namespace) -> int:
    """Write the CSV files of the sources that have portals or extensions.

    Args:
        names: the folder, then the sources; by default all.

    Raises:
        HarvestError: there is none, or there are several.
    """
    folder, *wanted = names
    output, is_written = command.path("OUTPUT_DIR"), False
    for kind in TABLES:
        found = [name for name in TARGETS[f"{kind}s"].sources(output) if not wanted or name in wanted]
        if len(found) > 1:
            raise HarvestError(f"Several sources have {kind}s: {', '.join(found)}. Name the one that you mean.")
        for name in found:
            last_run, is_written = last(output, name), True
            catalogue = last_run.arguments.get("catalogue", CATALOGUE) if last_run else CATALOGUE
            print_lines([write(output, name, kind, catalogue, Path(folder))])
    if not is_written:
        raise HarvestError(f"{output} has no portals and no extensions: scrapy ecosystem run finds them.")
    return 0
