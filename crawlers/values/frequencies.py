"""Frequencies into codes of the EU's vocabulary, http://publications.europa.eu/resource/authority/frequency."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from crawlers.values.tables import toml_table

_LONGEST = 200

_DURATION = re.compile(r"(?:R[0-9]*/)?(P(?:T?[0-9.]+[YMWDHS])+)", re.IGNORECASE)


def _key(words: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", words).casefold()))


@cache
def _codes() -> dict[str, str]:
    """Return the code of each word's key; ``P0.5M`` and ``P05M`` have the same key, but no source writes the second."""
    table = toml_table(__package__, "frequencies.toml")
    words = [(word, code) for by_code in table.values() for code in by_code for word in (code, *by_code[code])]
    return {_key(word): code for word, code in words}


def frequency(text: str) -> str | None:
    """Return the code of a code or URI of the EU, Dublin Core or ISO 19115, of an ISO 8601 duration, or of words.

    >>> [frequency(text) for text in ("annually", "jährlich", "R/P1Y", "P0.5M", "ANNUAL_2", "as needed")]
    ['ANNUAL', 'ANNUAL', 'ANNUAL', 'MONTHLY_2', 'ANNUAL_2', 'AS_NEEDED']
    >>> frequency("http://purl.org/cld/freq/threeTimesAYear"), frequency("at full moon")
    ('ANNUAL_3', None)
    >>> frequency("http://a.org/codes.xml#MD_MaintenanceFrequencyCode_weekly"), frequency("freq:semiweekly")
    ('WEEKLY', 'WEEKLY_2')
    >>> frequency("年１回"), frequency("随時"), frequency("四半期ごと")
    ('ANNUAL', 'AS_NEEDED', 'QUARTERLY')
    """
    return _frequency(text) if len(text) <= _LONGEST else None


@lru_cache(maxsize=512)
def _frequency(text: str) -> str | None:
    duration = _DURATION.fullmatch(text.strip())
    word = duration[1] if duration else re.split(r"[/#:]|FrequencyCode_", text.strip().rstrip("/"))[-1]
    return _codes().get(_key(word))
