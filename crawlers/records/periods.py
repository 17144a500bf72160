"""Periods of time, in the notations that catalogues use."""

from __future__ import annotations

import re
import unicodedata
from datetime import date as day
from datetime import timedelta
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from crawlers.items import Period
from crawlers.records.tables import toml_table
from crawlers.records.values import date, xsd_date

if TYPE_CHECKING:
    from collections.abc import Sequence


_OPEN = ("", "..", "*")
_DCMI = re.compile(r"\b(start|end)\s*=\s*([^;\s]+)")
_DURATION = re.compile(r"P(?:([0-9]{1,4})Y)?(?:([0-9]{1,4})M)?(?:([0-9]{1,4})W)?(?:([0-9]{1,6})D)?(?<!P)")
_MIDNIGHT = re.compile(r"(?:T00:00(?::00(?:\.0+)?)?(?:Z|\+00:00)?)?")


def period(text: str) -> Period | None:
    """Return an ISO 8601 interval, or the period of one date: a year or a month is a period too.

    >>> period("2016-01-01/2016-12-05"), period("2016/..")
    (Period(start='2016-01-01', end='2016-12-05'), Period(start='2016', end=None))
    >>> period("2016-03"), period("lately"), period("/")
    (Period(start='2016-03', end='2016-03'), None, None)
    """
    first, slash, last = (part.strip() for part in text.partition("/"))
    if not slash:
        last = first
    start, end = date(first), date(last)
    readable = (start or first in _OPEN) and (end or last in _OPEN)
    return between(start, end) if readable else None


def any_period(text: str) -> Period | None:
    """Return the period of a text in any notation: as `period`, DCMI's, or a date and a duration.

    >>> any_period("start=1999-09-25; end=2000-06; scheme=W3C-DTF"), any_period("2012-03-01T00:00:00/P1M")
    (Period(start='1999-09-25', end='2000-06'), Period(start='2012-03-01', end='2012-03-31'))
    """
    text = text.strip()
    if "=" in text:
        ends = dict(_DCMI.findall(text))
        return between(xsd_date(ends.get("start", "")), xsd_date(ends.get("end", "")))
    first, _, last = text.partition("/")
    if last.strip().startswith("P"):
        return _lasting(first.strip(), last.strip())
    return period(text) or (period(zoned) if (zoned := xsd_date(text)) else None)


def between(start: str | None, end: str | None) -> Period | None:
    return Period(start=start, end=end) if start or end else None


def is_reversed(each: Period) -> bool:
    return bool(each.start and each.end) and each.start[:10] > until(each.end)  # type: ignore[index]


def until(end: str | None) -> str:
    """Return a key to compare ends by: a year ends after each of its days."""
    return f"{end or ''}~"


def envelope(periods: Sequence[Period]) -> Period:
    """Return the period from the first start to the last end; it is open where one of the periods is open.

    >>> envelope([Period(start="2010", end="2012-05"), Period(start="2009", end="2012")])
    Period(start='2009', end='2012')
    >>> envelope([Period(start="2010"), Period(end="2012")])
    Period(start=None, end=None)
    """
    starts, ends = [each.start for each in periods], [each.end for each in periods]
    return Period(
        start=None if None in starts else min(filter(None, starts)),
        end=None if None in ends else max(filter(None, ends), key=until),
    )


def _lasting(start: str, duration: str) -> Period | None:
    """Return whole days that begin at midnight; a finer duration is more likely a mistake.

    >>> _lasting("2012-01-01", "P1Y"), _lasting("2012-01-01T10:00:00", "P1D"), _lasting("2012-02", "P1M")
    (Period(start='2012-01-01', end='2012-12-31'), None, None)
    """
    found = _DURATION.fullmatch(duration)
    first = xsd_date(start[:10])
    if not found or not first or len(first) != 10 or not _MIDNIGHT.fullmatch(start[10:]):
        return None
    years, months, weeks, days = (int(number or 0) for number in found.groups())
    try:
        last = _months_later(day.fromisoformat(first), 12 * years + months) + timedelta(days=7 * weeks + days - 1)
    except (ValueError, OverflowError):
        return None
    return Period(start=first, end=last.isoformat())


def _months_later(start: day, months: int) -> day:
    years, month = divmod(start.month - 1 + months, 12)
    return start.replace(year=start.year + years, month=month + 1)


_LONGEST = 200

_INTERVAL = re.compile(r"P((?:T?[0-9]{1,6}(?:\.[0-9]{1,6})?[YMWDHS])+)", re.IGNORECASE)
_PART = re.compile(r"(T?)([0-9.]+)([YMWDHS])")
_UNITS = {
    "Y": (12, 0),
    "M": (1, 0),
    "W": (0, 7 * 86_400),
    "D": (0, 86_400),
    "TH": (0, 3600),
    "TM": (0, 60),
    "TS": (0, 1),
}
"""Each part of a duration in months and in seconds, which no number of them turns into each other."""


def _key(words: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", words).casefold()))


@cache
def _codes() -> dict[str, str]:
    table = toml_table(__package__, "frequencies.toml")
    words = [(word, code) for by_code in table.values() for code in by_code for word in (code, *by_code[code])]
    return {_key(word) if word not in table["durations"].get(code, ()) else _length(word): code for word, code in words}


def _length(duration: str) -> str:
    """Return a duration in one spelling, as months and seconds.

    >>> _length("P1Y") == _length("P12M") == _length("P0Y12M0DT0H"), _length("P1W") == _length("PT168H")
    (True, True)
    """
    found = _INTERVAL.fullmatch(duration.strip())
    months, seconds, is_time = 0.0, 0.0, False
    for begins_time, number, unit in _PART.findall(found[1].upper() if found else ""):
        is_time = is_time or bool(begins_time)
        in_months, in_seconds = _UNITS.get(f"T{unit}" if is_time else unit, (0, 0))
        months, seconds = months + float(number) * in_months, seconds + float(number) * in_seconds
    return f"{months:.2f} {seconds:.0f}"


def frequency(text: str) -> str | None:
    """Return the code of a code or URI of the EU, Dublin Core, SDMX or ISO 19115, of an ISO 8601 duration, or of words.

    >>> [frequency(text) for text in ("annually", "jährlich", "R/P1Y", "P0.5M", "ANNUAL_2", "as needed")]
    ['ANNUAL', 'ANNUAL', 'ANNUAL', 'MONTHLY_2', 'ANNUAL_2', 'AS_NEEDED']
    >>> frequency("http://purl.org/cld/freq/threeTimesAYear"), frequency("at full moon")
    ('ANNUAL_3', None)
    >>> frequency("http://a.org/codes.xml#MD_MaintenanceFrequencyCode_weekly"), frequency("freq:semiweekly")
    ('WEEKLY', 'WEEKLY_2')
    >>> frequency("http://purl.org/linked-data/sdmx/2009/code#freq-W"), frequency("P0Y0M14DT0H0M0S")
    ('WEEKLY', 'BIWEEKLY')
    >>> frequency("年１回"), frequency("随時"), frequency("四半期ごと")
    ('ANNUAL', 'AS_NEEDED', 'QUARTERLY')
    """
    return _frequency(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=512)
def _frequency(text: str) -> str | None:
    word = re.split(r"[/#:]|FrequencyCode_", text.strip().rstrip("/"))[-1]
    return _codes().get(_length(word) if _INTERVAL.fullmatch(word) else _key(word))
