"""What a crawl must remember about its listing so that it can be resumed: one typed object in the job."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from crawlers.components.ledger import Job
from crawlers.exceptions import JobError
from crawlers.listing.walks import Walks

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

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
