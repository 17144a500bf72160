"""The sources as people and programs see them: where each is, how its last run went, when the next one is due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from crawlers.moment import moment, written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.runs import Run
    from crawlers.sources.source import Source

_HEAD = ("name", "spider", "enabled", "schedule", "last run", "at", "next run", "address")


@dataclass(frozen=True, slots=True)
class Standing:
    """A source as it stands.

    Args:
        address: where its catalogue is.
        last: its last run, be it over or not.
        next: when it is due; ``None``: when it is named, or the run at work has ended.
        due: whether that is now.
    """

    source: Source
    address: str | None
    last: Run | None
    next: datetime | None
    due: bool

    def plain(self) -> dict[str, Any]:
        """For programs."""
        source = self.source
        return {
            "name": source.name,
            "spider": source.spider,
            "address": self.address,
            "enabled": source.enabled,
            "schedule": source.schedule.text if source.schedule else None,
            "cron": source.schedule.cron if source.schedule else None,
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
        source, last = self.source, self.last
        started = moment(last.started) if last else None
        following = "now" if self.due else f"{self.next:%Y-%m-%d %H:%M}" if self.next else "-"
        return (
            source.name,
            source.spider,
            "yes" if source.enabled else "no",
            source.schedule.text if source.schedule else "-",
            last.state if last else "never",
            f"{started:%Y-%m-%d %H:%M}" if started else "-",
            following,
            self.address or "-",
        )


def lines(standings: Iterable[Standing]) -> list[str]:
    """A table; times are UTC."""
    rows = [_HEAD, *(one.row() for one in standings)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
