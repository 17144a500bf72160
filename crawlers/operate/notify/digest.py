"""A digest: which datasets of some sources were added, changed, withdrawn and restored, as a mail and as JSON."""

from __future__ import annotations

import socket
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from crawlers.exceptions import CrawlersError
from crawlers.records import moment
from crawlers.safety.redact import safe_line
from crawlers.store.figures.tally import GROUPS, Tally
from crawlers.store.history import Place
from crawlers.store.index.database import connect, readable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from jinja2 import Environment

    from crawlers.store.figures.tally import Became

SHOWN = 20
"""Datasets of a source that are named in each group."""
MOST = 400
"""Datasets that are named in a digest: of what is beyond, the numbers are told."""
_FIELDS = 10  # fields that are named of a dataset
_LONGEST = 200  # characters of a title
_PAGE = "SELECT landing_page, uri FROM datasets WHERE source = ? AND dataset_id = ?"


class Told(NamedTuple):
    """What of a source was told.

    Args:
        time: until when.
        place: up to where in its manifest; the manifest's beginning if only the time is known.
    """

    time: datetime
    place: Place = Place()

    @classmethod
    def parse(cls, given: Any) -> Self | None:
        """Return what a file says; ``None`` if it says nothing that can be read."""
        if not isinstance(given, dict) or (time := moment.moment(given.get("time"))) is None:
            return None
        end, long, sha256 = given.get("end"), given.get("long"), given.get("sha256")
        if isinstance(end, int) and isinstance(long, int) and isinstance(sha256, str) and 0 < long <= end:
            return cls(time, Place(end, long, sha256))
        return cls(time)

    def fields(self) -> dict[str, Any]:
        return {"time": moment.written(self.time, "milliseconds"), **self.place._asdict()}


class Entry(NamedTuple):
    """A dataset that a digest names.

    Args:
        title: the dataset's, or its name or id, on one line.
        fields: which of its fields changed; empty if that is not known, or it is new.
        url: its page on the dashboard, or the portal's; ``None`` if neither is known.
    """

    id: str
    title: str
    fields: list[str]
    url: str | None


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed in a source.

    Args:
        counts: the datasets of each group.
        first: those that are named.
        url: the page of the source's changes on the dashboard.
        end: up to where the manifest was read.
        listed: the datasets that `scrapy changes` lists: it leaves exports and profiles out.
        damage: a sentence if it can't be read which fields changed; else empty.
    """

    source: str
    counts: dict[str, int]
    first: dict[str, list[Entry]]
    url: str | None
    end: Place
    listed: int
    damage: str = ""

    @property
    def text(self) -> str:
        """Return the counts: ``12 added, 1,340 changed``."""
        return counted(self.counts)

    def groups(self) -> Iterator[tuple[str, list[Entry], int]]:
        """Yield each group of which datasets are named, with them, and how many are not."""
        for group in GROUPS:
            if named := self.first[group]:
                yield group, named, self.counts[group] - len(named)

    @property
    def is_whole(self) -> bool:
        """Whether all datasets are named."""
        return sum(self.counts.values()) == sum(map(len, self.first.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What changed in some sources.

    Args:
        id: what tells it from others, also when it is sent again.
        period: daily or weekly.
        zone: the one that its times are shown in.
        quiet: how many sources have no changes.
    """

    id: str
    period: str
    zone: tzinfo
    since: datetime
    until: datetime
    changes: list[Changes]
    quiet: int = 0

    @property
    def counts(self) -> dict[str, int]:
        """Return the datasets of each group, of all sources together."""
        return {group: sum(one.counts.get(group, 0) for one in self.changes) for group in GROUPS}

    @property
    def span(self) -> str:
        """Return from when until when, in its zone."""
        since, until = (when.astimezone(self.zone) for when in (self.since, self.until))
        return f"from {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} {self.zone}"

    @property
    def title(self) -> str:
        """Return the digest as one line, without anything that a portal wrote."""
        names = [one.source for one in self.changes]
        where = names[0] if len(names) == 1 else f"{len(names):,} sources"
        return safe_line(f"{where}: {counted(self.counts)}", 200)

    @property
    def still(self) -> str:
        """Return how many sources have no changes; empty if all have some."""
        return f"Nothing changed in {self.quiet:,} other source{'s' * (self.quiet != 1)}." if self.quiet else ""

    @property
    def subject(self) -> str:
        """Return the mail's subject."""
        return safe_line(f"{self.title} ({self.period} digest)", 200)

    @property
    def message_id(self) -> str:
        """Return its id."""
        return self.id

    @property
    def is_for_contact(self) -> bool:
        """Return that a source's contact does not get it."""
        return False

    def plain(self) -> str:
        """Return the mail's text."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"What changed {self.span}."
        for one in self.changes:
            yield from ("", f"{one.source}: {one.text}")
            if one.url:
                yield one.url
            for group, entries, more in one.groups():
                yield f"  {group.capitalize()}:"
                for entry in entries:
                    fields = ", ".join(entry.fields)
                    yield f"    {entry.title} ({fields})" if fields else f"    {entry.title}"
                    if entry.url:
                        yield f"      {entry.url}"
                if more:
                    yield f"    and {more:,} more"
        if self.still:
            yield from ("", self.still)
        if self.rest:
            yield from ("", ": ".join(self.rest))
        yield ""

    @property
    def short(self) -> Digest:
        """Return the digest without anything that a portal wrote: the numbers only."""
        return replace(self, changes=[replace(one, first={group: [] for group in GROUPS}) for one in self.changes])

    @property
    def rest(self) -> tuple[str, str] | None:
        """Return which datasets a command lists, and the command; ``None`` if all are named, or it lists none."""
        short = [one for one in self.changes if not one.is_whole]
        listed = [one for one in short if one.listed]
        if not listed:
            return None
        are_all = all(one.listed == sum(one.counts.values()) for one in short)
        name = f" {listed[0].source}" if len(listed) == 1 else ""
        return (
            "All of them" if are_all else "Their own records",
            f"scrapy changes{name} --since {moment.written(self.since)}",
        )

    def html(self) -> str:
        """Return the mail's text as HTML; what portals wrote is escaped."""
        return _templates().get_template("digest.html").render(digest=self)

    def fields(self) -> dict[str, Any]:
        """Return the webhook's JSON; docs/notifications.md describes each field."""
        sources = [
            {
                "source": one.source,
                **{group: one.counts.get(group, 0) for group in GROUPS},
                "url": one.url,
                "first": {group: [entry._asdict() for entry in entries] for group, entries, _ in one.groups()},
            }
            for one in self.changes
        ]
        times = {name: moment.written(when) for name, when in (("since", self.since), ("until", self.until))}
        text = f"{self.title}. What changed {self.span}."
        found = {"text": text, "digest": self.period, "id": self.id, **times, "host": socket.gethostname()}
        return found | self.counts | {"sources": sources, "quiet": self.quiet}


def counted(counts: Mapping[str, int]) -> str:
    """Return the counts that are not 0.

    >>> counted({"added": 12, "changed": 1340, "withdrawn": 0})
    '12 added, 1,340 changed'
    """
    return ", ".join(f"{counts[group]:,} {group}" for group in GROUPS if counts.get(group))


@cache
def _templates() -> Environment:
    from crawlers.operate.jinja import templates  # noqa: PLC0415 -- few harvests send a digest

    made = templates("crawlers.operate.notify")
    made.filters["thousands"] = "{:,}".format
    return made


# What changed in a source


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads what changed in sources; memory does not grow with the number of changes.

    Args:
        output: OUTPUT_DIR.
        dashboard: its address; empty if it is not known.
    """

    output: Path
    dashboard: str = ""

    def changes(self, source: str, told: Told, shown: int = SHOWN) -> Changes:
        """Return what changed in a source.

        Args:
            told: what was told before.
            shown: how many datasets of each group are named, at most.

        Raises:
            OutputError: the manifest can't be read.
        """
        since = moment.written(told.time, "milliseconds")
        with Tally(self.output / source, told.place, since) as tally:
            first = {group: [self._entry(source, one) for one in tally.first(group, shown)] for group in GROUPS}
            return Changes(source, tally.counts, first, self._address(source), tally.end, tally.listed, tally.damage)

    def _entry(self, source: str, one: Became) -> Entry:
        named = [safe_line(field, 60) for field in one.fields[:_FIELDS]]
        more = [f"{len(one.fields) - len(named):,} more"] if len(one.fields) > len(named) else []
        title = safe_line(one.title, _LONGEST) or "(no title)"
        return Entry(one.id, title, [*named, *more], self._page(source, one.what, one.id))

    def _page(self, source: str, what: str, name: str) -> str | None:
        from crawlers.operate.dashboard import addresses  # noqa: PLC0415 -- Flask takes 100 ms, and few harvests need it
        from crawlers.operate.report.report import link  # noqa: PLC0415

        if self.dashboard:
            page = addresses.dataset if what == "dataset" else addresses.profile
            return f"{self.dashboard.rstrip('/')}{page(source, name)}"
        with suppress(CrawlersError), readable(self.output), closing(connect(self.output)) as db:
            for row in db.execute(_PAGE, (source, name)):
                return next(filter(None, map(link, row)), None)
        return None

    def _address(self, source: str) -> str | None:
        from crawlers.operate.dashboard import addresses  # noqa: PLC0415

        return f"{self.dashboard.rstrip('/')}{addresses.here('/changes', source=source)}" if self.dashboard else None
