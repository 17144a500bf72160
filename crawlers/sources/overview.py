"""The sources as people and programs see them: where each is, how its last run went, when the next one is due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crawlers.sources.twice import address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.runs import Run
    from crawlers.sources.known import Known
    from crawlers.sources.source import Source

_HEAD = ("name", "spider", "enabled", "schedule", "last run", "at", "next run", "address")


@dataclass(frozen=True, slots=True)
class Standing:
    """A source as it stands.

    Args:
        last: its last run, be it over or not.
        next: when it is due; ``None``: when it is named.
        due: whether that is now.
    """

    source: Source
    address: str | None
    last: Run | None
    next: datetime | None
    due: bool

    @classmethod
    def of(cls, source: Source, known: Known, last: Run | None, now: datetime) -> Standing:
        following, due = None, False
        died = last is not None and last.state == "interrupted"  # the next harvest goes on with it
        if source.enabled and source.schedule and (last is None or last.over or died):
            due = died or source.schedule.due(_started(last), now)
            following = now.replace(microsecond=0) if due else source.schedule.after(now)
        return cls(source, address(source, known), last, following, due)

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
            "next": self.next.isoformat().replace("+00:00", "Z") if self.next else None,
            "due": self.due,
        }

    def row(self) -> tuple[str, ...]:
        source, last, started = self.source, self.last, _started(self.last)
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


def _started(run: Run | None) -> datetime | None:
    """When a run began, if its report says so."""
    try:
        found = datetime.fromisoformat(str(run.started)) if run else None
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found and found.tzinfo is None else found and found.astimezone(UTC)


def lines(standings: Iterable[Standing]) -> list[str]:
    """A table; times are UTC."""
    rows = [_HEAD, *(one.row() for one in standings)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
