"""What every page needs: the folders, the index and the templates."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import OrderedDict
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from flask import request
from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader
from werkzeug.exceptions import BadRequest

from crawlers.causes import ADVICE, KINDS
from crawlers.exceptions import CrawlersError, IndexUnreadableError, OutputError, with_command
from crawlers.operate.dashboard import addresses
from crawlers.operate.report.report import environment
from crawlers.operate.sources.listing import with_all
from crawlers.records.moment import beginning, end, is_date, written
from crawlers.safety.sqlite import identity
from crawlers.store.columns import opened
from crawlers.store.figures.formatting import natural
from crawlers.store.figures.overview import chosen, known, with_status
from crawlers.store.index import catch_up
from crawlers.store.index.database import NAME, connect
from crawlers.store.runs import sources, unfinished
from crawlers.store.sources_file import zone_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator
    from datetime import tzinfo
    from pathlib import Path

    from flask import Response

    from crawlers.archive.blobs import Blobs
    from crawlers.store.columns import Columns
    from crawlers.store.runs import Run


_NAMES = "SELECT source FROM sources"
_DATASET = "SELECT 1 FROM datasets WHERE source = ? AND dataset_id = ?"


class Site:
    """The folders that the dashboard shows.

    Args:
        output: OUTPUT_DIR.
        jobs: JOBS_DIR, for the runs that a harvest has queued.
        logs: LOGS_DIR; no log is shown without it.
        open_blobs: opens the archive's store; no file is served without it.
        listed: sources.toml; no source that has not run is known without it.
        url: where others reach the dashboard, for the links in feeds; by default the address that was asked.
    """

    def __init__(
        self,
        output: Path,
        jobs: Path | None,
        logs: Path | None,
        open_blobs: Callable[[], Blobs] | None = None,
        listed: Path | None = None,
        *,
        url: str = "",
    ) -> None:
        self.output = output
        self.jobs = jobs
        self.logs = logs
        self.open_blobs = open_blobs
        self.listed = listed
        self.url = url.rstrip("/")
        self.opened: Blobs | None = None
        self.templates = _templates()
        self.remembered = Remembered(output)
        self.modified = Modified()
        self.file = identity(output / NAME)

    @contextmanager
    def index(self) -> Iterator[sqlite3.Connection]:
        """Open the index read-only while a page is made.

        Raises:
            IndexUnreadableError: there is none, or it is of another version.
        """
        db = connect(self.output)
        try:
            yield db
        finally:
            db.close()

    def overview(self, current: list[Run], *, is_brief: bool = False) -> dict[str, Any]:
        """Return what ``overview.html`` shows.

        Args:
            current: the runs without a report, as they are now.
            is_brief: whether to return only the sources, their latest changes and their errors.
        """
        make = partial(self._known, partial(known, is_brief=is_brief))
        found = with_status(self.remembered.get(("overview", is_brief), make), current)
        with self.index() as db:
            return with_all(found, db=db, output=self.output, jobs=self.jobs, listed=self.listed)

    def unfinished(self, source: str | None = None) -> list[Run]:
        """Return the runs without a report, of one source or of all."""
        return unfinished(self.output, self.jobs, source)

    def blobs(self) -> Blobs:
        """Return the archive's store, which is opened when the first file is asked for.

        Raises:
            OutputError: there is none, or it can't be used.
        """
        if self.open_blobs is None:
            raise OutputError("this dashboard has none.")
        if self.opened is None:
            self.opened = self.open_blobs()
        return self.opened

    def warm(self) -> None:
        """Compile the pages, and make the overview before it is requested if the index is readable."""
        for name in self.templates.list_templates(filter_func=_is_page):
            self.templates.get_template(name)
        with suppress(CrawlersError, sqlite3.Error):
            self._complete()
            self.overview([])

    def _complete(self) -> None:
        """Bring the index up to date if its file was replaced: the crawl that did so wrote only its own source."""
        found = identity(self.output / NAME)
        if found != self.file:
            self.file = found
            catch_up(self.output)

    def sources(self, db: sqlite3.Connection) -> list[str]:
        """Return the sources in the index, and those whose first run is still running."""
        return sorted({name for (name,) in db.execute(_NAMES)} | set(sources(self.output)), key=natural)

    def described(self, keys: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return the datasets, each a source and an id, that have a page because the index has them."""
        try:
            with self.index() as db:
                return {key for key in set(keys) if db.execute(_DATASET, key).fetchone()}
        except (IndexUnreadableError, sqlite3.DatabaseError):
            return set()

    def since(self, text: str, source: str = "") -> str:
        """Return the moment that ``?since=`` means, in UTC and in milliseconds, as files have it; "" if it is empty.

        Args:
            text: a date, or a time with its offset, whose plus a browser may have made a blank.
            source: the one in whose time zone a date is; UTC for all.

        Raises:
            BadRequest: the text is neither.
            SourcesError: sources.toml can't be read.
        """
        return self._moment("since", beginning, text, source)

    def until(self, text: str, source: str = "") -> str:
        """Return the moment that ``?until=`` means, as `since` does: of a date, its end."""
        return self._moment("until", end, text, source)

    def _moment(self, name: str, read: Callable[[str, tzinfo], datetime], text: str, source: str) -> str:
        try:
            zone = zone_of(self.listed, source) if self.listed and is_date(text) else UTC
            return written(read(text.replace(" ", "+"), zone), "milliseconds") if text else ""
        except ValueError as error:
            raise BadRequest(f"{name}: {error}.") from None

    def conditional(self, answer: Response, etag: str = "") -> Response:
        """Return an answer to a program with its version, or 304 if the program has that one.

        Args:
            etag: the hash of what it has; by default it is computed.
        """
        if etag:
            answer.set_etag(etag)
        else:
            answer.add_etag()
        if changed := self.modified.when(request.full_path, answer.get_etag()[0] or ""):
            answer.last_modified = changed
        answer.headers["Cache-Control"] = "private, no-cache"  # it may be kept, and is asked about before it is used
        answer.make_conditional(request)
        return answer

    def render(self, template: str, **known: Any) -> str:
        """Return a page."""
        return self.templates.get_template(template).render(known)

    def _known(self, make: Callable[[sqlite3.Connection, Columns, str], dict[str, Any]]) -> dict[str, Any]:
        with self.index() as db, opened(db) as columns:
            return make(db, columns, chosen(db))


def _is_page(template: str) -> bool:
    return template.endswith(".html") and "/" not in template


def _templates() -> Environment:
    """Return the dashboard's templates, which override the report's; "report/style.css" is the report's own."""
    made = environment()
    reports = made.loader
    own = PackageLoader("crawlers.operate.dashboard")
    made.loader = ChoiceLoader([own, reports, PrefixLoader({"report": reports})]) if reports else own
    made.globals.update(
        source_href=addresses.source,
        dataset_href=addresses.dataset,
        profile_href=addresses.profile,
        run_href=addresses.run,
        versions_href=addresses.versions,
        quality_href=addresses.quality,
        file_href=addresses.file,
        files_href=lambda name, value: addresses.here("/files", **{name: value}),
        here=addresses.here,
        meanings=KINDS,
        advice={kind: with_command(advice) for kind, advice in ADVICE.items()},
        query="",
        feed=None,
        page="",
        sources_page="/sources",
        login=None,
        still="",
    )
    return made


Value = TypeVar("Value")

OLDEST = 600.0  # seconds: the meaning of "last month" changes with time
SHARE = 20  # while a crawl writes, a result is used for this multiple of the time it took
LEAST = 2.0  # seconds that it is used at least
_ENTRIES = 32
_ADDRESSES = 1000


@dataclass(frozen=True, slots=True)
class _Entry:
    value: Any
    stamp: tuple[tuple[int, int], ...]
    made: float
    took: float

    def serves(self, stamp: tuple[tuple[int, int], ...]) -> bool:
        age = time.monotonic() - self.made
        return age < (OLDEST if stamp == self.stamp else max(LEAST, SHARE * self.took))


class Remembered:
    """The results that were used last, by name.

    One request at a time computes a result, and the old one is used meanwhile. Results do not block each other.
    """

    def __init__(self, output: Path) -> None:
        self.files = (output / "index.sqlite", output / "index.sqlite-wal")
        self.entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._making: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()
        self._changing = threading.Lock()  # held for moments, to change the two above

    def get(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Return the result of a name; compute it if there is none, or if the index has changed since."""
        with self._changing:
            entry = self._entry(name)
            making = self._making.setdefault(name, threading.Lock())
        if entry and entry.serves(self._stamp()):
            return entry.value  # type: ignore[no-any-return]
        if not making.acquire(blocking=entry is None) and entry:
            return entry.value  # type: ignore[no-any-return]
        try:
            entry = self.entries.get(name)
            return entry.value if entry and entry.serves(self._stamp()) else self._make(name, make)
        finally:
            making.release()

    def _entry(self, name: Hashable) -> _Entry | None:
        if name in self.entries:
            self.entries.move_to_end(name)
        return self.entries.get(name)

    def _make(self, name: Hashable, make: Callable[[], Value]) -> Value:
        stamp, begun = self._stamp(), time.monotonic()
        value = make()
        made = time.monotonic()
        with self._changing:
            self.entries[name] = _Entry(value, stamp, made, made - begun)
            while len(self.entries) > _ENTRIES:
                self.entries.popitem(last=False)
        return value

    def _stamp(self) -> tuple[tuple[int, int], ...]:
        """Return the files' times and sizes, which each write changes; SQLite's counter needs an open connection."""
        return tuple(_changed(file) for file in self.files)


class Modified:
    """When what an address answers was found to have changed, for the addresses that were asked for last.

    An answer is made of many files and of the time of day, so no file's time says it.
    """

    def __init__(self) -> None:
        self.known: OrderedDict[str, tuple[str, int]] = OrderedDict()
        self._changing = threading.Lock()

    def when(self, address: str, etag: str, now: float | None = None) -> datetime | None:
        """Return when an address began to answer this, in whole seconds; ``None`` if it answered more in that second.

        Args:
            now: in seconds since 1970; by default this moment.
        """
        second = int(time.time() if now is None else now)
        with self._changing:
            before, since = self.known.pop(address, ("", 0))
            if etag != before:
                since = max(second, since + 1)  # no two answers have one time
            self.known[address] = etag, since
            while len(self.known) > _ADDRESSES:
                self.known.popitem(last=False)
        return datetime.fromtimestamp(since, UTC) if since <= second else None


def _changed(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size
