"""Cron expressions as systemd's timers take them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cronsim import CronSim

if TYPE_CHECKING:
    from collections.abc import Collection

_WEEKDAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_DAYS, _MONTHS, _HOURS, _MINUTES = range(1, 32), range(1, 13), range(24), range(60)


def calendar(cron: str) -> list[str]:
    """Return the values of ``OnCalendar=`` for a valid cron expression, in UTC.

    As in cron, a day matches if its date or its weekday does, where both are given: that takes two values.

    Raises:
        ValueError: it has an L or a #, which only some programs know.

    >>> calendar("0 2 * * 0"), calendar("*/20 3 1 * 5")
    (['Sun *-*-* 02:00:00 UTC'], ['*-*-01 03:00,20,40:00 UTC', 'Fri *-*-* 03:00,20,40:00 UTC'])
    """
    parts = CronSim(cron, datetime.now(UTC))
    if not all(isinstance(one, int) and one >= 0 for one in (*parts.days, *parts.weekdays)):
        raise ValueError(f"{cron!r} has an L or a #, which GitHub, systemd and most crons do not know")
    time = f"{_listed(parts.hours, _HOURS)}:{_listed(parts.minutes, _MINUTES)}:00 UTC"
    months, days = _listed(parts.months, _MONTHS), _listed(parts.days, _DAYS)
    weekdays = ",".join(day for number, day in enumerate(_WEEKDAYS) if {number, number or 7} & set(parts.weekdays))
    weekday = "" if weekdays.count(",") == 6 else f"{weekdays} "
    if parts.day_and or not weekday or days == "*":
        return [f"{weekday}*-{months}-{days} {time}"]
    return [f"*-{months}-{days} {time}", f"{weekday}*-{months}-* {time}"]


def portable(cron: str) -> str:
    """Return a valid cron expression in which Sunday is 0, not 7: GitHub refuses that.

    >>> portable("0 2 * * 7"), portable("0 2 * * 5-7"), portable("*/7 3 * * *")
    ('0 2 * * 0', '0 2 * * 0,5,6', '*/7 3 * * *')
    """
    *before, weekdays = cron.split()
    if "7" not in weekdays:
        return cron
    known = CronSim(cron, datetime.now(UTC)).weekdays
    numbers = {number % 7 for number in known if isinstance(number, int)}
    return " ".join((*before, ",".join(map(str, sorted(numbers)))))


def _listed(numbers: Collection[int], every: range) -> str:
    """Return numbers with two digits; an asterisk for all."""
    return "*" if set(every) <= set(numbers) else ",".join(f"{number:02}" for number in sorted(numbers))
