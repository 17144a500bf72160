"""A crawl, as what works for its spider sees it: its edge, its limits, and what it knows of its lists and its run."""

from __future__ import annotations

import asyncio
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property, wraps
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

from scrapy.exceptions import CloseSpider

from crawlers.components.ledger import Job
from crawlers.exceptions import AnswerError, JobError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
    from logging import LoggerAdapter

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

    from crawlers import signals
    from crawlers.components.ledger import Records
    from crawlers.items import Kind
    from crawlers.store.index import Index

P = ParamSpec("P")
T = TypeVar("T")

TURN = 0.1
"""Seconds after which something long lets other work go on."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The values of ``max_datasets`` and ``max_resources``; ``None`` means no limit.

    >>> Limits(datasets=5).is_reached(datasets=5, resources=9)
    True
    >>> Limits(resources=7).resources_left(datasets=1, resources=3)
    4
    """

    datasets: int | None = None
    resources: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether the user set any limit."""
        return bool(self.datasets or self.resources)

    def is_reached(self, *, datasets: int, resources: int) -> bool:
        """Return whether no more datasets may be taken.

        Args:
            datasets: how many were taken.
            resources: how many resources those have.
        """
        return self.resources_left(datasets=datasets, resources=resources) <= 0

    def resources_left(self, *, datasets: int, resources: int) -> int:
        """Return how many more resources may be taken; 0 if no dataset may be taken either."""
        if self.datasets and datasets >= self.datasets:
            return 0
        return self.resources - resources if self.resources else sys.maxsize

    def rows(self, wanted: int, datasets: int) -> int:
        """Return how many datasets to request: those that are wanted, or as many as may still be taken."""
        return min(wanted, self.datasets - datasets) if self.datasets else wanted


class Crawl(Protocol):
    """A crawl, as a listing, a mapping or a question sees it; a `CatalogueSpider` is one.

    Attributes:
        name: the spider's.
        source: the name of the source's folder.
        place: the catalogue's address, for messages; empty if it has none.
        listed_kind: the kind of document that each record of the listing becomes.
        args: the value of every declared argument.
        given: the arguments that the user gave, as text.
        limits: how much the user wants.
        crawler: Scrapy's, for its settings and stats.
        run_state: what is known of the listing, stored with the job.
        records: the documents that are expected, and how each ended.
    """

    name: str

    @property
    def source(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def listed_kind(self) -> Kind: ...
    @property
    def args(self) -> Mapping[str, Any]: ...
    @property
    def given(self) -> Mapping[str, str]: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def logger(self) -> LoggerAdapter[Any]: ...
    @property
    def crawler(self) -> Crawler: ...
    @property
    def run_state(self) -> RunState: ...
    @property
    def records(self) -> Records: ...

    def opened_index(self) -> Index:
        """Return the index of the source, which is open while the crawl runs."""

    def failed(self, stage: signals.Stage, error: AnswerError, request: Request | None = None, **subject: Any) -> None:
        """Report that something is missing; it becomes one line of errors.jsonl."""

    def seen(self, dataset_id: str, *, list_name: str, listed_by: Request | str | None) -> bool:
        """Note that a list has a dataset; return whether no other request's answer listed it before."""

    def expect(
        self, kind: str, dataset_id: str, resource_id: str | None = None, *, listed_by: Request | str | None
    ) -> bool:
        """Note that a document will be written; return whether it is new."""

    def guarded(self, output: Iterator[T], response: Response, record: Any) -> Iterator[T]:
        """Yield the output of one record; if it breaks this project's own code, only that record is lost."""


@contextmanager
def remembering(crawl: Crawl) -> Iterator[None]:
    """Stop the crawl if the ledger can't be written.

    Raises:
        CloseSpider: the disk is full.
    """
    try:
        yield
    except OSError as error:
        crawl.failed("write", AnswerError("disk", str(error.strerror)))
        raise CloseSpider("disk") from None


# Turns for other work


async def in_turns(steps: Generator[object, None, T] | Iterator[object]) -> T:
    """Take all steps of something long; signals, time-outs and other answers have their turn several times a second.

    Returns:
        the value of the generator, if it is one that returns something.
    """
    turn = monotonic() + TURN
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if monotonic() >= turn:
            await asyncio.sleep(0)
            turn = monotonic() + TURN


async def flat(outputs: Iterable[Any]) -> AsyncIterator[Any]:
    """Yield what a callback yields; ``None`` is but a pause.

    Signals, time-outs and other answers have their turn several times a second.
    """
    turn = monotonic() + TURN
    for found in outputs:
        if found is not None:
            yield found
        if monotonic() >= turn:
            await asyncio.sleep(0)
            turn = monotonic() + TURN


def callback(outputs: Callable[P, Iterator[Any]]) -> Callable[P, AsyncIterator[Any]]:
    """Make a callback, or an errback, of a method that yields much: what `flat` makes of it."""

    @wraps(outputs)
    def flattened(*args: P.args, **keywords: P.kwargs) -> AsyncIterator[Any]:
        return flat(outputs(*args, **keywords))

    return flattened


# What a crawl knows of its lists and its run

State = Literal["open", "whole", "short", "stopped", "single"]

_MOST = 2**63 - 1  # SQLite's largest number; a portal may say any
_BEGIN = "INSERT OR IGNORE INTO walks (name, tree, state) VALUES (?, ?, 'open')"
_END = """
INSERT INTO walks (name, state, evidence, total, listed) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
state = excluded.state, evidence = excluded.evidence, total = excluded.total, listed = excluded.listed
"""


class Walks:
    """Which lists have begun, how each ended, and what shows that it was whole.

    A request that is repeated after a kill begins and ends the same lists as before. The files of a tree are lists of
    their own in the ledger alone: there may be many, and the tree is told as one.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.job, self.stats = Job.from_crawler(crawler), crawler.stats
        self.stats.set_value("catalogue/lists", self.lists)
        self.stats.set_value("catalogue/evidence", self.evidence)

    @cached_property
    def lists(self) -> dict[str, str]:
        """``begun`` or ``ended`` for each list."""
        found = self.job.db.execute("SELECT name, state FROM walks WHERE tree = '' ORDER BY rowid")
        return {name: "begun" if state == "open" else "ended" for name, state in found}

    @cached_property
    def evidence(self) -> dict[str, str]:
        """What shows that a list was whole, for each that was."""
        query = "SELECT name, evidence FROM walks WHERE state = 'whole' AND tree = '' ORDER BY rowid"
        return dict(self.job.db.execute(query))

    def is_open(self, name: str) -> bool:
        """Return whether a list has begun and not ended."""
        return self.lists.get(name) == "begun"

    def has_ended(self, name: str) -> bool:
        """Return whether a list was read to its end, or given up."""
        return self.lists.get(name) == "ended"

    def waiting(self, tree: str = "") -> Iterator[str]:
        """Yield the lists that have begun and not ended, besides a tree itself."""
        query = "SELECT name FROM walks WHERE state = 'open' AND name != ?"
        return (row[0] for row in self.job.db.execute(query, (tree,)))

    def begin(self, name: str, tree: str = "") -> bool:
        """Note that a list is requested; return whether it was not before.

        Args:
            tree: the name of the tree whose file it is, which is open until it is ended itself.
        """
        is_new = bool(self.job.execute(_BEGIN, (name, tree)).rowcount)
        if is_new and tree:
            self.begin(tree)
            self.go_on(tree)
        elif is_new:
            self.lists[name] = "begun"
        return is_new

    def end(
        self, name: str, state: State, *, evidence: str = "", total: int | None = None, listed: int | None = None
    ) -> None:
        """Note that nothing more of a list will come.

        Args:
            evidence: what shows that it was whole.
            total: how many datasets it should have; of a ``single`` page, which is judged at the end, how long it is.
            listed: how many it gave.
        """
        if name in self.lists:
            self.lists[name] = "ended"
            self.evidence.pop(name, None)
            if state == "whole":
                self.evidence[name] = evidence
        total = None if total is None else min(total, _MOST)
        self.job.execute(_END, (name, state, evidence, total, listed))

    @property
    def lacking(self) -> int:
        """How many datasets fewer than they should have the lists that have ended gave."""
        query = "SELECT coalesce(sum(max(total - listed, 0)), 0) FROM walks WHERE state <> 'single'"
        return int(self.job.db.execute(query).fetchone()[0])

    def go_on(self, name: str, tree: str = "") -> None:
        """Note that a list goes on that had ended before a kill: another answer came to the same request."""
        for each in filter(None, (name, tree)):
            if not self.is_open(each):
                self.job.execute("UPDATE walks SET state = 'open' WHERE name = ?", (each,))
            if self.has_ended(each):
                self.lists[each] = "begun"
                self.evidence.pop(each, None)

    def singles(self) -> list[tuple[str, int, int]]:
        """Return the single pages that are still to be judged: name, length, and how many datasets each gave."""
        return self.job.db.execute("SELECT name, total, listed FROM walks WHERE state = 'single'").fetchall()

    @property
    def is_short(self) -> bool:
        """Whether a list was not read to its end, or nothing shows that it was."""
        return self.job.db.execute("SELECT 1 FROM walks WHERE state = 'short' LIMIT 1").fetchone() is not None


_STATES: WeakKeyDictionary[Crawler, RunState] = WeakKeyDictionary()
_STATS = {
    "is_limited": "limited",
    "is_whole_listing": "whole_listing",
    "has_stale_answer": "provisional",
    "is_cut_short": "cut_short",
    "access": "token",
}
"""Fields whose public number has another name; it stands in docs/reading-a-crawl.md."""


def stat(name: str) -> str:
    """Return the name of the number that a field of the state is published as."""
    return f"catalogue/{_STATS.get(name, name)}"


class _Published:
    """Keeps what publishes the fields, and the ledger's lists, out of the fields that are stored."""

    __slots__ = ("stats", "walks")

    stats: StatsCollector | None
    walks: Walks


@dataclass(eq=False)
class RunState(_Published):
    """The state of a listing: its fields are stored with every commit of the job and published as ``catalogue/`` stats.

    Args:
        expected: how many datasets the portal says it has, as far as is known now.
        listed: how many datasets have been listed, failed ones included.
        excluded: how many of them the operator excludes.
        is_limited: whether a limit of the user's leaves datasets or resources out.
        is_whole_listing: whether everything the portal has was listed, whatever is wrong with single records.
        has_stale_answer: whether an answer came from a cache, or stands in for one that is to be requested again; the
            next ``since=last`` then begins where this one did.
        validators: the headers for a later run's conditional request.
        since: the moment after which only changes are requested; empty if everything is listed, ``None`` if undecided.
        access: what a portal says of the API token: accepted, refused or unknown; ``None`` if it was not asked.
        resources: how many resources the datasets' pages have.
        is_cut_short: whether a list was not read to its end, so that what it lacks may still be there.
        page_size: the largest number of datasets on a page that led to another page.
    """

    expected: int | None = None
    listed: int = 0
    excluded: int = 0
    is_limited: bool = False
    is_whole_listing: bool = False
    has_stale_answer: bool = False
    validators: dict[str, str] = field(default_factory=dict)
    since: str | None = None
    access: str | None = None
    resources: int = 0
    is_cut_short: bool = False
    page_size: int = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the crawler's state, restored from its job when it is first requested.

        Raises:
            JobError: the job is damaged, or can't be used for the reasons that `Job.from_crawler` names.
        """
        if crawler not in _STATES:
            job = Job.from_crawler(crawler)
            try:
                state = cls(**job.state.get("listing", {}))
            except TypeError:
                raise JobError(f"{job.path} is damaged (state): choose another JOBDIR") from None
            job.state["listing"] = vars(state)
            state.stats, state.walks = crawler.stats, Walks(crawler)
            for known in fields(cls):
                if value := getattr(state, known.name):
                    setattr(state, known.name, value)  # publishes it
            _STATES[crawler] = state
        return _STATES[crawler]  # type: ignore[return-value]

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name not in _Published.__slots__ and (stats := getattr(self, "stats", None)):
            stats.set_value(stat(name), value)

    def count_listed(self, count: int) -> None:
        """Note how many datasets have been listed so far; a page that is handled again after a kill counts once."""
        self.listed = max(self.listed, count)
