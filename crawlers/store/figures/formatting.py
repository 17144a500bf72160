"""Human-readable numbers, sizes, durations and moments, and the natural order of names."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from urllib.parse import urlsplit

from crawlers.records.moment import moment
from crawlers.safety.names import NAMELESS, last_segment

NOTHING = "–"
_UNREADABLE = re.compile(
    rf"(?:[0-9a-f-]{{16,}}|[0-9]+)(?:\.\w{{1,8}})?|{'|'.join(sorted(NAMELESS))}", re.IGNORECASE
)  # what names no file: an id, a number, a verb
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_SPANS = (
    *((365 * 86400, "year", "years"), (30 * 86400, "month", "months"), (86400, "day", "days")),
    *((3600, "h", "h"), (60, "min", "min")),
)


def number(value: float | None) -> str:
    """
    >>> number(26456), number(None)
    ('26,456', '–')
    """
    return NOTHING if value is None else f"{value:,.0f}"


def counted(number: int, noun: str) -> str:
    """
    >>> counted(1, "dataset"), counted(26456, "dataset")
    ('1 dataset', '26,456 datasets')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def amount(value: float) -> str:
    """Return a number with its decimals, at most three.

    >>> amount(1234567.0), amount(0.25), amount(-3)
    ('1,234,567', '0.25', '-3')
    """
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def percent(part: float, total: float) -> str:
    """Return a share as a percentage that is never rounded to 0 or 100.

    >>> percent(1, 1000), percent(999, 1000), percent(1, 3), percent(0, 0)
    ('<1 %', '>99 %', '33 %', '–')
    """
    if not total:
        return NOTHING
    share = 100 * part / total
    if 0 < share < 1:
        return "<1 %"
    return ">99 %" if 99 < share < 100 else f"{share:.0f} %"


def size(value: float | None) -> str:
    """
    >>> size(4_000_000), size(999), size(0)
    ('4.0 MB', '999 B', '0 B')
    """
    if value is None:
        return NOTHING
    unit = 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit and value < 99.95 else f"{value:.0f} {_UNITS[unit]}"


def duration(seconds: float | None) -> str:
    """
    >>> duration(0.4), duration(59.6), duration(420), duration(4000), duration(200_000)
    ('0.4 s', '1 min', '7 min', '1 h 7 min', '2 d 7 h')
    """
    if seconds is None:
        return NOTHING
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = ((days, "d"), (hours, "h"), (0 if days else minutes, "min"))
    return " ".join(f"{value} {unit}" for value, unit in parts if value)


def date(value: str | None) -> str:
    """
    >>> date("2026-01-05T03:00:00.000Z"), date("2026-01"), date(None)
    ('2026-01-05 03:00', '2026-01', '–')
    """
    if not value:
        return NOTHING
    return value[:16].replace("T", " ") if _MOMENT.match(value) else value[:32]


def ago(value: str | None, now: str | None = None) -> str:
    """
    >>> ago("2026-01-05T03:00:00Z", "2026-01-05T08:20:00.000Z"), ago("2026-01-02T03:00:00Z", "2026-01-05T03:00:00Z")
    ('5 h ago', '3 days ago')
    """
    then, end = moment(value), moment(now) or datetime.now(UTC)
    if then is None:
        return NOTHING
    seconds = (end - then).total_seconds()
    for span, one, more in _SPANS:
        if seconds >= span:
            times = int(seconds // span)
            return f"{times} {one if times == 1 else more} ago"
    return "just now"


_PARTS = re.compile(r"([0-9]+)")


def resource_name(title: str | None, url: str | None, form: str | None) -> str:
    """Return what a resource is called: its title, else its file's name and format; never an id that nobody can read.

    >>> resource_name(None, "https://a.org/9f86d081884c7d659a2feaa0c55ad015/wells.csv", "CSV")
    'wells.csv'
    >>> resource_name(None, "https://a.org/download/wells?x=1", "XLSX"), resource_name("", "https://a.org/data/", "CSV")
    ('wells (XLSX)', 'CSV of a.org')
    >>> resource_name(None, "https://a.org/9f86d081884c7d659a2feaa0c55ad015", None), resource_name(None, None, None)
    ('a file of a.org', 'a file')
    """
    if title and title.strip():
        return title
    file, form = last_segment(url or "").strip(), (form or "").strip()
    if file and not _UNREADABLE.fullmatch(file):
        return f"{file} ({form})" if form and form.casefold() not in file.casefold() else file
    host = host_of(url or "")
    return (form or "a file") + (f" of {host}" if host else "")


def host_of(url: str) -> str:
    """Return the host of an address; "" if it has none."""
    try:
        return urlsplit(url[:2_000]).hostname or ""
    except ValueError:
        return ""


def natural(name: str) -> list[tuple[str, int]]:
    """Return the sort key of a name: numbers in it are compared as numbers.

    >>> sorted(["source-10", "source-2", "a", "2"], key=natural)
    ['2', 'a', 'source-2', 'source-10']
    """
    return [("", int(part)) if part.isdecimal() else (part, 0) for part in _PARTS.split(name) if part]
