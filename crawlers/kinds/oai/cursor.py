"""Where the listing of a repository stands: in one list of all records, or in windows of their datestamps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

from crawlers.listing import paging
from crawlers.values.moment import moment, written

if TYPE_CHECKING:
    from crawlers.kinds.oai.answer import Answer

LARGE = 10_000
"""Records in a list that is read in windows instead: tokens die in long lists, and some servers end them here."""
_FIRST = timedelta(days=30)
_FARTHEST = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor(paging.Cursor):
    """A page of a list. A list has a window, or holds all records.

    Args:
        prefix: the metadataPrefix.
        others: the prefixes to request if the repository does not give this one.
        is_daily: whether the repository takes days only, as its granularity says.
        earliest: its earliestDatestamp.
        since: the moment after which changes are wanted; empty if all records are.
        begin: the window's ``from``; empty if it has none.
        until: the window's ``until``; empty if it has none, so that no other window follows.
        token: of this page; empty for the first page of a list.
        has_prefix_beside: whether the metadataPrefix is sent with the token, as pycsw asks for.
        attempt: how many lists were begun before this one.
        list_pages: how many pages of this list have come.
        received: how many records this list gave, known ones included.
        size: how many it has, as the repository says; the largest number that it said.
        has_changed: whether the repository said another size on another page of this list.
        has_shrunk: whether that was a smaller one: what is behind it moved up, and may be on no page.
        is_second: whether this list was read before, and changed meanwhile.
        is_sorted: whether the datestamps of this list have ascended so far.
        newest: the last datestamp of this list.
        fullest: how many records the largest page had.
        total: how many the list of all records has, as the repository says.
        apart: how many deleted records have come, and how many that describe services.
        is_dated: whether all records have a datestamp, so that windows find them.
        is_restarted: whether this list was begun a second time, and has not given a new record since.
        failures: failed requests since the last page.
        barren: lists that failed since the last new record.
        is_torn: whether a part of the records did not come.
    """

    prefix: str = "oai_dc"
    others: list[str] = field(default_factory=list)
    is_daily: bool = False
    earliest: str = ""
    since: str = ""
    begin: str = ""
    until: str = ""
    token: str = ""
    has_prefix_beside: bool = False
    attempt: int = 0
    list_pages: int = 0
    received: int = 0
    size: int | None = None
    has_changed: bool = False
    has_shrunk: bool = False
    is_second: bool = False
    is_sorted: bool = True
    newest: str = ""
    fullest: int = 0
    total: int | None = None
    apart: int = 0
    is_dated: bool = True
    is_restarted: bool = False
    failures: int = 0
    barren: int = 0
    is_torn: bool = False

    @property
    def question(self) -> dict[str, str]:
        """The arguments of ListRecords."""
        prefix = {"metadataPrefix": self.prefix}
        if self.token:
            return {"resumptionToken": self.token} | (prefix if self.has_prefix_beside else {})
        window = {"from": self.begin, "until": self.until}
        return prefix | {name: text[:10] if self.is_daily else text for name, text in window.items() if text}

    @property
    def number(self) -> int:
        """The number of the page, which no page of another list has."""
        return self.attempt * 1_000_000 + self.list_pages

    @property
    def is_whole(self) -> bool:
        """Whether the list holds all records that are wanted, not those of a window."""
        return not self.until and self.begin == self.since

    @property
    def living(self) -> int | None:
        """How many records the repository says that it has, without the deleted ones and the services that came."""
        return max(self.total - self.apart, 0) if self.total else None

    def behind(self, answer: Answer, *, has_new: bool, is_repeated: bool) -> Self:
        """Return the cursor behind a page of its list."""
        size = max(filter(None, (self.size, answer.size)), default=None)
        moments = [written(found) for record in answer.records if (found := moment(record.datestamp))]
        is_other = self.size is not None and answer.size not in (None, self.size, self.size - self.received)
        return replace(
            self,
            token=answer.token,
            list_pages=self.list_pages + 1,
            received=self.received + (0 if is_repeated else len(answer.records)),
            size=size,
            has_changed=self.has_changed or is_other,
            has_shrunk=self.has_shrunk or (is_other and answer.size != size),
            is_sorted=self.is_sorted
            and moments == sorted(moments)
            and self.newest <= min(moments, default=self.newest),
            newest=max(moments, default=self.newest),
            fullest=max(self.fullest, len(answer.records)),
            total=size if self.is_whole else self.total,
            is_dated=self.is_dated and all(moment(record.datestamp) for record in answer.records),
            stale=self.stale + 1 if is_repeated or not answer.records else 0,
            is_restarted=self.is_restarted and not has_new,
            failures=0,
            barren=0 if has_new else self.barren,
        )

    def restarted(self, *, is_second: bool = False) -> Self:
        """Return the cursor of the list's first page.

        Args:
            is_second: whether that is because the list changed while it was read.
        """
        fresh = replace(self, token="", list_pages=0, received=0, size=None, stale=0, is_restarted=True)
        fresh = replace(fresh, has_changed=False, has_shrunk=False, is_sorted=True, newest="")
        fresh = replace(fresh, is_second=self.is_second or is_second)
        return replace(fresh, attempt=self.attempt + 1)

    def rest(self) -> Self | None:
        """Return the cursor of what is not older than the newest record; ``None`` if that would not shorten the list.

        It holds all the rest only if the records come in the order of their datestamps.
        """
        is_further = bool(self.newest) and self.is_sorted and self.is_dated and self.newest > self.begin
        return replace(self.restarted(), is_restarted=False, begin=self.newest) if is_further else None

    def halved(self) -> Self | None:
        """Return the cursor of a window of half the length, or of the first window; ``None`` if there is none.

        If the records of a window come in the order of their datestamps, it ends before those of the last one's
        moment: as many could be listed. Else many records of one moment are listed again with each half.
        """
        start, length = self._start(), self._length()
        last = moment(self.newest) if self.is_sorted and self.until else None
        half = min(length / 2, _FIRST) if not self.until else length / 2
        end = max(last - self._granule - start, self._granule) if last else half
        return self._window(start, end) if end < length else None

    def narrowed(self) -> Self | None:
        """Return the cursor of a window that is expected to hold `LARGE` records; ``None`` if there is none."""
        return self._window(self._start(), self._length() * min(LARGE / (self.size or LARGE), 0.5))

    def next_window(self) -> Self | None:
        """Return the cursor of the next window, twice as long if this one had one page; ``None`` if it was the last."""
        end = moment(self.until)
        if end is None:
            return None
        length = max(self._length() * (2 if self.list_pages <= 1 else 1), self._granule)
        return self._window(end, length, begin=written(end))

    @property
    def _granule(self) -> timedelta:
        return timedelta(days=1) if self.is_daily else timedelta(seconds=1)

    def _start(self) -> datetime:
        return moment(self.begin or self.earliest) or _FARTHEST

    def _length(self) -> timedelta:
        return (moment(self.until) or datetime.now(UTC)) - self._start()

    def _window(self, start: datetime, length: timedelta, **changes: str) -> Self | None:
        """Return the cursor of a window, which ends where the next one begins: servers disagree on what an end is.

        The first window has no beginning, for there may be records before the earliestDatestamp.
        """
        end = start + length // self._granule * self._granule
        if end <= start:
            return None
        until = written(end) if end < datetime.now(UTC) else ""
        return replace(self.restarted(), is_restarted=False, is_second=False, until=until, **changes)  # type: ignore[arg-type]
