"""Periods of time as pages write them: two dates with a word or a sign between, open ends, school years."""

from __future__ import annotations

import re

from crawlers.items import Period
from crawlers.kinds.html.mapping.dates import LONGEST, MOST_FILLERS, YEAR, YEARS, date, latin
from crawlers.kinds.html.mapping.eras import in_common_era
from crawlers.kinds.html.mapping.normalise import key
from crawlers.records import periods

_SCHOOL_YEAR = re.compile(r"(?<![0-9./-])([0-9]{4})([/–—-])([0-9]{2})(?![0-9/-])")
_MOST_YEARS = 50
_DAY_ALONE = re.compile(r"[0-9]{1,2}\.?")
_DAY_FIRST = re.compile(r"^[0-9]{1,2}(?![0-9])")
_SINCE = re.compile(
    r"^(?:from|since|ab|seit|depuis|à partir de|desde|dal|vanaf|från|sedan|od|от|с|από)(?: dem| den| the| le| el)?\s+",
    re.IGNORECASE,
)
_OF = re.compile(r"^(?:von|vom|de la|du|de|des|del|da|van|fra)\s+", re.IGNORECASE)
_UNTIL = re.compile(
    r"^(?:until|till|up to|bis(?: zum)?|jusqu'(?:au|en|à)|hasta(?: el)?|fino (?:al|a)|até|tot(?: en met)?|til|do|až do"
    r"|până (?:la|în)|до|έως|ως)\s+",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"^(?:between|zwischen|entre|tra(?: il)?|tussen|mellan|mellem|mellom|między|mezi|между|μεταξύ)\s+(.+?)"
    r"\s+(?:and|und|et|y|e(?: il)?|en|och|og|a|и|και)\s+(.+)$",
    re.IGNORECASE,
)
_STRONG = (
    re.compile(
        r"\s+(?:to|until|till|through|bis|au|à|jusqu'au|al|a|hasta|fino al|até|tot|til|t/m|do|po|až|până la|по|до|έως"
        r"|ως|saakka)\s+",
        re.IGNORECASE,
    ),
    re.compile(r"\s+[-–—]\s+|\s*[–—]\s*"),
    re.compile(r"(?<=\s)/(?=\s)"),
)
_WEAK = (re.compile(r"\s*-\s*"), re.compile(r"\s*/\s*"))
_TODAY = (
    "now today present day date ongoing current heute jetzt laufend fortlaufend aktuell hui jour présent hoy "
    "actualidad presente oggi hoje atualidade heden nu dziś dzisiaj obecnie dnes danas danes prezent bugün сега "
    "сегодня сьогодні σήμερα tänään täna šodien"
)
_NOW = frozenset(map(key, _TODAY.split()))


def period(text: str, language: str | None = None, order: str = "auto") -> Period | None:
    """Return the period in a text; ``None`` where there is none, or it ends before it starts.

    >>> period("01.01.2019 - 31.12.2019"), period("2010–2015")
    (Period(start='2019-01-01', end='2019-12-31'), Period(start='2010', end='2015'))
    >>> period("von Januar 2018 bis März 2019"), period("2010/11"), period("März 2019"), period("ab 2012")
    (Period(start='2018-01', end='2019-03'), Period(start='2010', end='2011'), Period(start='2019-03', end='2019-03'), \
Period(start='2012', end=None))
    >>> period("Januar bis März 2020"), period("bis 2015"), period("2019 - heute")
    (Period(start='2020-01', end='2020-03'), Period(start=None, end='2015'), Period(start='2019', end=None))
    >>> period("2015 - 2010"), period("recently")
    (None, None)
    """
    if len(text) > 2 * LONGEST:
        return None
    text = in_common_era(latin(" ".join(text.split())), language)  # the time for a run of spaces is cubic
    if found := periods.period(text):
        return found
    if until := _UNTIL.match(text):
        end = date(text[until.end() :], language, order)
        return Period(end=end) if end else None
    if both := _BETWEEN.match(text):
        return _span(*_ends(both[1], both[2], language, order))
    since = _SINCE.match(text)
    rest = _OF.sub("", text[since.end() :] if since else text)
    return _school_year(rest) or _range(rest, language, order, is_open=since is not None)


def _range(text: str, language: str | None, order: str, *, is_open: bool) -> Period | None:
    """Return a period of two ends with something between them, else of one date."""
    for separator in (*_STRONG, *_WEAK):
        parts = separator.split(text)
        if len(parts) == 2:
            start, end = _ends(parts[0], parts[1], language, order)
            if start or separator in _STRONG:
                return _span(start, end)
    found = date(text, language, order)
    return Period(start=found, end=None if is_open else found) if found else None


def _ends(first: str, last: str, language: str | None, order: str) -> tuple[str | None, str | None]:
    """Return the start, ``None`` if one of them can't be read, and the end, ``None`` if there is none yet."""
    end = date(last, language, order)
    if not end and not _is_now(last):
        return None, None
    start = date(first, language, order)
    return start or (_completed(first, last, language, order) if end and len(end) > len("2020") else None), end


def _completed(first: str, last: str, language: str | None, order: str) -> str | None:
    """Return a start whose year, or month and year, stand only at the end: "1.-31. März 2020"."""
    first, year = first.strip(), YEAR.search(last)
    tried = [f"{first} {year[0]}"] if year else []
    if _DAY_ALONE.fullmatch(first):
        tried = [_DAY_FIRST.sub(first.rstrip("."), last.strip())]
    found = next(filter(None, (date(each, language, order) for each in tried)), None)
    return found if found and len(found) > len("2020") else None


def _is_now(text: str) -> bool:
    """
    >>> _is_now("à ce jour"), _is_now("to date"), _is_now(" "), _is_now("2 days today"), _is_now("soon")
    (True, True, True, False, False)
    """
    words = key(text).split()
    if not words or any(map(str.isdigit, text)):
        return not text.strip()
    return len(words) <= MOST_FILLERS and words[-1] in _NOW


def _school_year(text: str) -> Period | None:
    """
    >>> _school_year("Schuljahr 2019/20"), _school_year("2010-15").end, _school_year("2010-11"), _school_year("2010/09")
    (Period(start='2019', end='2020'), '2015', None, None)
    """
    found = _SCHOOL_YEAR.search(text)
    if not found or sum(map(str.isdigit, text)) != len("202021"):
        return None
    year, is_month = int(found[1]), 1 <= int(found[3]) <= 12
    years = (int(found[3]) - year) % 100
    if year not in YEARS or years > _MOST_YEARS or not years or (is_month and (years > 1 or found[2] == "-")):
        return None
    return Period(start=found[1], end=str(year + years))


def _span(start: str | None, end: str | None) -> Period | None:
    return None if start is None or _is_reversed(start, end) else Period(start=start, end=end)


def _is_reversed(start: str, end: str | None) -> bool:
    return end is not None and end[: min(len(start), len(end))] < start[: min(len(start), len(end))]
