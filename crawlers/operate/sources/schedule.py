"""When a source is due: a cron expression, or daily, weekly or monthly, by the source's name; and its retries."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim, CronSimError

WORDS = ("daily", "weekly", "monthly")

_DAY = 24 * 60  # minutes
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTH = 28  # days that every month has
_TIME = r"([01]?[0-9]|2[0-3]):([0-5][0-9])"
_LONGEST = 100  # characters of a cron expression
_AHEAD = timedelta(hours=1)  # that clocks may differ by
_BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)
_CRON = '"minute hour day month weekday", as in cron, such as "15 3 * * 1-5"'
_TAKES = f'neither daily, weekly or monthly ("daily 01:00-05:00", "weekly sun", "monthly 3") nor {_CRON}'
_DELAY = re.compile(r"([1-9][0-9]{0,3})(min|h|d)")
_UNITS = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


@dataclass(frozen=True, slots=True)
class Schedule:
    """A source's schedule.

    Args:
        text: as in sources.toml: ``"15 3 * * 1-5"``, ``"daily"``, ``"weekly"``, ``"monthly"``.
        cron: the same as a cron expression, in which the source's name decides the moment of daily, weekly, monthly.
        timezone: the one that its hours are in.
        retry: how long after a failed or incomplete run it is due again, for each such run before its next time.
    """

    text: str
    cron: str
    timezone: tzinfo = UTC
    retry: tuple[timedelta, ...] = ()

    @property
    def has_window(self) -> bool:
        """Return whether the schedule names hours: ``"daily 01:00-05:00"``."""
        words = self.text.split()
        return words[0].lower() in WORDS and ":" in words[-1]

    def after(self, moment: datetime) -> datetime:
        """Return the first time after a moment at which it is due, both in UTC.

        A time that the clocks skip is due at once after the gap; one that they repeat is due the first time.
        """
        utc = moment.astimezone(UTC)
        times = CronSim(self.cron, utc.astimezone(self.timezone))
        return next(time for found in times if (time := found.astimezone(UTC)) > utc)  # within a repeated hour

    def due(self, last_started: datetime | None, now: datetime) -> bool:
        """Return whether a run is due: a time of the schedule has passed since the last start, or there was no start.

        A start more than an hour in the future comes from a wrong clock and does not count.
        """
        return last_started is None or last_started - now > _AHEAD or self.after(last_started) <= now


def parse(text: str, name: str, timezone: tzinfo = UTC, retry: tuple[timedelta, ...] = ()) -> Schedule:
    """Return the schedule that a text describes.

    Args:
        name: the source's; it spreads daily, weekly and monthly sources, so that not all are due together.

    Raises:
        ValueError: the text is not a schedule; the message says what is valid.

    >>> parse("daily 01:00-05:00", "hdx").cron, parse("15 3 * * 1-5", "hdx").cron
    ('40 3 * * *', '15 3 * * 1-5')
    """
    words = text.split()
    if words and words[0].lower() in WORDS:
        return Schedule(text, spread(words, name), timezone, retry)
    if len(words) != 5 or len(text) > _LONGEST:  # a sixth field would be seconds
        raise ValueError(f"{text[:_LONGEST]!r} is {_TAKES}")
    if not _occurs(words):
        raise ValueError(f"{text!r} never occurs: those months have no such day")
    return Schedule(text, " ".join(words), timezone, retry)


def delays(texts: Iterable[str]) -> tuple[timedelta, ...]:
    """Return the delays that texts describe.

    Raises:
        ValueError: a text is not a delay.

    >>> delays(["30min", "6h", "1d"])
    (datetime.timedelta(seconds=1800), datetime.timedelta(seconds=21600), datetime.timedelta(days=1))
    """
    found = [(text, _DELAY.fullmatch(text)) for text in texts]
    for text, delay in found:
        if delay is None:
            raise ValueError(f'{text[:_LONGEST]!r} is not a number of minutes, hours or days: "30min", "6h", "1d"')
    return tuple(int(delay[1]) * _UNITS[delay[2]] for _, delay in found if delay)


def _occurs(words: list[str]) -> bool:
    """Return whether a cron expression matches any moment."""
    minute, hour, day, month, weekday = words
    for every in (
        f"{minute} {hour} {day} * {weekday}",
        f"0 0 1 {month} *",
    ):  # each occurs, if it is valid
        try:
            CronSim(every, _BEGINNING)
        except (CronSimError, ValueError) as error:
            part = str(error).removeprefix("Bad ") if isinstance(error, CronSimError) else "a number"
            raise ValueError(f"{' '.join(words)!r} is not {_CRON}: its {part} can't be read") from None
    try:
        return next(CronSim(" ".join(words), _BEGINNING), None) is not None
    except CronSimError:
        return False


def spread(words: list[str], name: str) -> str:
    """Return the cron expression of a moment that the source's name decides: always the same one.

    Args:
        words: one of `WORDS`; then, optionally, a weekday or a day of the month, and a window.

    Raises:
        ValueError: the words are wrong; the message says what is valid.

    >>> spread(["weekly", "sun", "22:00-02:00"], "hdx"), spread(["monthly", "3", "04:30"], "hdx")
    ('40 0 * * 1', '30 4 3 * *')
    """
    kind, *rest = (word.lower() for word in words)
    begin, length = _window(rest.pop(), kind) if rest and ":" in rest[-1] else (0, _DAY)
    days = _days(kind, rest, passes_midnight=begin + length > _DAY)
    which, minute = divmod(_share(name, len(days) * length), length)
    later, moment = divmod(begin + minute, _DAY)
    day = days[which] + later
    date = {"daily": "* * *", "weekly": f"* * {day % 7}", "monthly": f"{day} * *"}[kind]
    return f"{moment % 60} {moment // 60} {date}"


def _share(name: str, slots: int) -> int:
    """Return one of some slots; names are spread evenly over them."""
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:8]) * slots >> 64


def _window(text: str, kind: str) -> tuple[int, int]:
    """Return the start of a window in minutes since midnight, and its length."""
    found = re.fullmatch(f"{_TIME}(?:-{_TIME})?", text, re.ASCII)
    if not found:
        raise ValueError(f'{text!r} is neither a time nor a window, as in "{kind} 01:00-05:00"')
    begin = int(found[1]) * 60 + int(found[2])
    if found[3] is None:
        return begin, 1
    length = (int(found[3]) * 60 + int(found[4]) - begin) % _DAY
    return begin, length or _DAY


def _days(kind: str, rest: list[str], *, passes_midnight: bool) -> list[int]:
    """Return the days on which a run may start: weekdays with Sunday as 0, or days of the month."""
    if kind == "daily" and not rest:
        return [0]
    if kind == "weekly" and (not rest or (len(rest) == 1 and rest[0] in _WEEKDAYS)):
        return [_WEEKDAYS.index(day) for day in rest] or list(range(7))
    last = _MONTH - passes_midnight
    if kind == "monthly" and (not rest or (len(rest) == 1 and rest[0] in map(str, range(1, last + 1)))):
        return [int(day) for day in rest] or list(range(1, last + 1))
    takes = {"daily": "no day", "weekly": f"one of {', '.join(_WEEKDAYS)}", "monthly": f"a day from 1 to {last}"}
    raise ValueError(f"{' '.join((kind, *rest))!r}: {kind} takes {takes[kind]}, and a window such as 01:00-05:00")
