"""When a source is due: a cron expression, or daily, weekly, monthly at a moment of its own. All in UTC."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from crawlers.sources.spread import WORDS, spread

_LONGEST = 100  # characters of a cron expression
_AHEAD = timedelta(hours=1)  # that clocks may differ
_BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)
_CRON = '"minute hour day month weekday", as in cron, such as "15 3 * * 1-5"'
_TAKES = f'neither daily, weekly or monthly ("daily 01:00-05:00", "weekly sun", "monthly 3") nor {_CRON}'


@dataclass(frozen=True, slots=True)
class Schedule:
    """
    Args:
        text: as sources.toml has it: ``"15 3 * * 1-5"``, ``"daily"``, ``"weekly"``, ``"monthly"``.
        cron: what it comes to: the spread words become a cron expression by the source's name.
    """

    text: str
    cron: str

    @property
    def has_window(self) -> bool:
        """Whether the user names the hours: ``"daily 01:00-05:00"``."""
        words = self.text.split()
        return words[0].lower() in WORDS and ":" in words[-1]

    def after(self, moment: datetime) -> datetime:
        """The first time it is due after a moment, both in UTC."""
        return next(CronSim(self.cron, moment.astimezone(UTC)))

    def due(self, last_started: datetime | None, now: datetime) -> bool:
        """Whether a run is to begin: a time has come since the last began, be it one or many; or there was none.

        A start that is more than an hour ahead was told by a clock that was wrong, and is none.
        """
        return last_started is None or last_started - now > _AHEAD or self.after(last_started) <= now


def parse(text: str, name: str) -> Schedule:
    """
    Args:
        name: the source's: it spreads daily, weekly and monthly, so that not all come at once.

    Raises:
        ValueError: names what it takes.

    >>> parse("daily 01:00-05:00", "hdx").cron, parse("15 3 * * 1-5", "hdx").cron
    ('40 3 * * *', '15 3 * * 1-5')
    """
    words = text.split()
    if words and words[0].lower() in WORDS:
        return Schedule(text, spread(words, name))
    if len(words) != 5 or len(text) > _LONGEST:  # a sixth would be seconds
        raise ValueError(f"{text[:_LONGEST]!r} is {_TAKES}")
    if not _comes(words):
        raise ValueError(f"{text!r} never comes: those months have no such day")
    return Schedule(text, " ".join(words))


def _comes(words: list[str]) -> bool:
    """
    Raises:
        ValueError: it is no cron expression.
    """
    minute, hour, day, month, weekday = words
    for every in (f"{minute} {hour} {day} * {weekday}", f"0 0 1 {month} *"):  # each half comes, if it can be read
        try:
            CronSim(every, _BEGINNING)
        except (CronSimError, ValueError) as error:
            part = str(error).removeprefix("Bad ") if isinstance(error, CronSimError) else "a number"
            raise ValueError(f"{' '.join(words)!r} is not {_CRON}: its {part} can't be read") from None
    try:
        return next(CronSim(" ".join(words), _BEGINNING), None) is not None
    except CronSimError:
        return False
