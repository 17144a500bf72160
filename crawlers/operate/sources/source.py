"""A source: a catalogue that is harvested under a name of yours; and the list of sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from crawlers.operate.sources.schedule import Schedule
from crawlers.records.moment import moment, written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.store.runs import Run

Review = Literal["open", "approved", "refused"]
_OF_ARCHIVES = ("ARCHIVE_", "ALLOWED_PRIVATE_HOSTS", "CONTACT", "DOWNLOAD_TIMEOUT", "FORMS_FILE", "LOG_", "NOTIFY_")
"""The settings of a source that its archive has, too, by their beginning."""
REVIEWS = ("open", "approved", "refused")
_HEAD = ("name", "spider", "enabled", "review", "schedule", "last run", "at", "next run", "address")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table of sources.toml.

    Args:
        name: the table's name, and the folder's in OUTPUT_DIR.
        arguments: the spider's ``-a``, as text; ``source`` is the name.
        settings: Scrapy's ``-s``, as text or lists of texts.
        schedule: when it is due; ``None``: only when it is named.
        contact: whom to ask at the catalogue if something is wrong; a mail address may get the mail of its failures.
        enabled: whether ``--all`` and ``--due`` take it.
        archive: whether a harvest archives its files, too, after its crawl.
        review: whether it was approved; ``--all`` and ``--due`` take no other, and a refused one is never harvested.
        review_comment: why.
        publish: how `scrapy publish datasets` makes packages of its datasets: ``organization``, and as JSON ``fields``.
    """

    name: str
    spider: str
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    schedule: Schedule | None = None
    contact: str | None = None
    enabled: bool = True
    archive: bool = False
    review: Review = "approved"
    review_comment: str | None = None
    publish: dict[str, str] = field(default_factory=dict)

    @property
    def left_out(self) -> str:
        """Why ``--all`` and ``--due`` leave it out; empty if they take it."""
        if not self.enabled:
            return "disabled"
        return {"open": "to be reviewed", "refused": "refused", "approved": ""}[self.review]

    @property
    def archived(self) -> Source:
        """The source that its archive is; what was agreed with one portal does not hold for other hosts."""
        settings = {name: value for name, value in self.settings.items() if name.startswith(_OF_ARCHIVES)}
        return Source(
            name=f"archive-of-{self.name}",
            spider="archive",
            arguments={"of": self.name},
            settings=settings,
            contact=self.contact,
        )

    @property
    def crawl_settings(self) -> dict[str, Any]:
        """Return the settings of its crawls: its own, and its contact."""
        return self.settings | ({"SOURCE_CONTACT": self.contact} if self.contact else {})


@dataclass(frozen=True, slots=True)
class Listed:
    """A source in the list.

    Args:
        address: where its catalogue is.
        last: its last run, which may not be over.
        next: when it is due; ``None``: only when it is named, or after the run that is at work.
        due: whether it is due now.
    """

    source: Source
    address: str | None
    last: Run | None
    next: datetime | None
    due: bool

    def plain(self) -> dict[str, Any]:
        """Return the row as JSON."""
        source = self.source
        return {
            "name": source.name,
            "spider": source.spider,
            "address": self.address,
            "enabled": source.enabled,
            "review": source.review,
            "review_comment": source.review_comment,
            **_plain(source.schedule),
            "contact": source.contact,
            "arguments": source.arguments,
            "settings": source.settings,
            "state": self.last.state if self.last else None,
            "run": self.last.run if self.last else None,
            "started": self.last.started if self.last else None,
            "next": written(self.next) if self.next else None,
            "due": self.due,
        }

    def row(self) -> tuple[str, ...]:
        """Return the row of the table."""
        source, last = self.source, self.last
        started = moment(last.started) if last else None
        following = "now" if self.due else f"{self.next:%Y-%m-%d %H:%M}" if self.next else "-"
        return (
            source.name,
            source.spider,
            "yes" if source.enabled else "no",
            source.review,
            source.schedule.text if source.schedule else "-",
            last.state if last else "never",
            f"{started:%Y-%m-%d %H:%M}" if started else "-",
            following,
            self.address or "-",
        )


def _plain(schedule: Schedule | None) -> dict[str, Any]:
    if schedule is None:
        return dict.fromkeys(("schedule", "cron", "timezone", "retry"))
    retry = [delay.total_seconds() for delay in schedule.retry]
    return {"schedule": schedule.text, "cron": schedule.cron, "timezone": str(schedule.timezone), "retry": retry}


def table(sources: Iterable[Listed]) -> list[str]:
    """Return the list as the lines of a table; times are UTC."""
    rows = [_HEAD, *(source.row() for source in sources)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
