"""Frequencies into codes of the EU's vocabulary, http://publications.europa.eu/resource/authority/frequency."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from crawlers.records.tables import toml_table

_LONGEST = 200

_DURATION = re.compile(r"P((?:T?[0-9]{1,6}(?:\.[0-9]{1,6})?[YMWDHS])+)", re.IGNORECASE)
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
    found = _DURATION.fullmatch(duration.strip())
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
    return _codes().get(_length(word) if _DURATION.fullmatch(word) else _key(word))
