"""daily, weekly and monthly as cron expressions, at a moment that the source's name gives: always the same one."""

from __future__ import annotations

import hashlib
import re

WORDS = ("daily", "weekly", "monthly")

_DAY = 24 * 60  # minutes
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTH = 28  # the days that every month has
_TIME = r"([01]?[0-9]|2[0-3]):([0-5][0-9])"


def spread(words: list[str], name: str) -> str:
    """
    Args:
        words: one of `WORDS`; then, if the user wants, a weekday or a day of the month, and a window.

    Raises:
        ValueError: names what it takes.

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
    """One of some slots: names fall into all of them alike."""
    digest = hashlib.sha256(name.encode()).digest()
    return int.from_bytes(digest[:8]) * slots >> 64


def _window(text: str, kind: str) -> tuple[int, int]:
    """Where it begins, in minutes since midnight, and how long it is."""
    found = re.fullmatch(f"{_TIME}(?:-{_TIME})?", text, re.ASCII)
    if not found:
        raise ValueError(f'{text!r} is neither a time nor a window, as in "{kind} 01:00-05:00"')
    begin = int(found[1]) * 60 + int(found[2])
    if found[3] is None:
        return begin, 1
    length = (int(found[3]) * 60 + int(found[4]) - begin) % _DAY
    return begin, length or _DAY


def _days(kind: str, rest: list[str], *, passes_midnight: bool) -> list[int]:
    """Those on which it may begin: weekdays with Sunday as 0, or days of the month."""
    if kind == "daily" and not rest:
        return [0]
    if kind == "weekly" and (not rest or (len(rest) == 1 and rest[0] in _WEEKDAYS)):
        return [_WEEKDAYS.index(one) for one in rest] or list(range(7))
    last = _MONTH - passes_midnight
    if kind == "monthly" and (not rest or (len(rest) == 1 and rest[0] in map(str, range(1, last + 1)))):
        return [int(one) for one in rest] or list(range(1, last + 1))
    takes = {"daily": "no day", "weekly": f"one of {', '.join(_WEEKDAYS)}", "monthly": f"a day from 1 to {last}"}
    raise ValueError(f"{' '.join((kind, *rest))!r}: {kind} takes {takes[kind]}, and a window such as 01:00-05:00")
