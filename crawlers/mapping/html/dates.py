"""Dates as pages write them, into ISO 8601 that is as precise as they are."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from crawlers.items import Period
from crawlers.mapping import periods, values
from crawlers.mapping.html.months import month
from crawlers.mapping.html.wording import key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_LONGEST = 200
_YEARS = range(1000, 2200)
_CENTURY = 69  # POSIX: 69 is 1969, 68 is 2068
_MOST_FILLERS = 3

_ISO = re.compile(
    r"(?<![0-9])[0-9]{4}-[0-9]{2}"
    r"(?:-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}[0-9:.]*(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?)?(?![0-9-])"
)
_CJK = re.compile(r"([0-9]{4})\s?[年년]\s?(?:([0-9]{1,2})\s?[月월]\s?(?:([0-9]{1,2})\s?[日일])?)?")
_YEAR_FIRST = re.compile(r"(?<![0-9./-])([0-9]{4})([./-])\s?([0-9]{1,2})(?:\2\s?([0-9]{1,2}))?(?![0-9/-])")
_YEAR_LAST = re.compile(r"(?<![0-9./-])([0-9]{1,2})(\s?[./-])\s?([0-9]{1,2})\2\s?([0-9]{4}|[0-9]{2})(?![0-9/-])")
_MONTH_YEAR = re.compile(r"(?<![0-9./-])([0-9]{1,2})\s?[./-]\s?([0-9]{4})(?![0-9./-])")
_TIME = re.compile(
    r"(?<![0-9:.])([01]?[0-9]|2[0-3])[:h]([0-5][0-9])(?::([0-5][0-9]))?(?:\.[0-9]+)?"
    r"(?:\s?([ap])\.?\s?m\b\.?)?\s?(Z\b|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})?(?![0-9:])",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"[0-9]+|[^\W\d_]+")
_YEAR = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")
_FILLERS = frozenset(
    (
        *(
            "a",
            "an",
            "ant",
            "al",
            "am",
            "at",
            "d",
            "da",
            "dag",
            "de",
            "del",
            "den",
            "der",
            "di",
            "dia",
            "do",
            "e",
            "el",
        ),
        *("er", "ga", "gada", "ger", "g", "go", "h", "i", "in", "ko", "kl", "la", "le", "m", "men", "mh", "n", "na"),
        *("nd", "o", "of", "on", "os", "r", "rd", "rok", "roku", "s", "st", "t", "ta", "th", "the", "v", "y", "z"),
        *("г", "год", "года", "рік", "року", "от", "та", "на", "у", "в", "του", "της", "την", "στις"),
    )
)
_BETWEEN = re.compile(
    r"\s+[-–—]\s+|\s*[–—]\s*|(?<=[0-9]{4})\s*-\s*(?=\D*[0-9]{4}|[0-9]{1,2}[./])|\s*/\s*(?=[0-9]{4})|\s+(?:to|until|till"
    r"|through|bis|au|à|jusqu'au|al|a|hasta|fino al|até|tot|til|till|t/m|do|po|až|până la|по|до|έως|ως|saakka)\s+",
    re.IGNORECASE,
)
_FROM = re.compile(
    r"^(?:from|since|von|ab|seit|du|de|des|depuis|desde|del|dal|da|van|vanaf|fra|från|od|de la|от|с|από)\s+",
    re.IGNORECASE,
)


def date(text: str, language: str | None = None, order: str = "auto") -> str | None:
    """The date in a text; ``None`` where there is none, or several that differ.

    Args:
        language: of the page, for the names of months, and for the order of numbers: en-US has the month first.
        order: of the numbers: "dmy", "mdy", "ymd" or "auto".

    >>> date("12. März 2020"), date("le 3 avril 2019"), date("März 2020"), date("2019"), date("2020-03")
    ('2020-03-12', '2019-04-03', '2020-03', '2019', '2020-03')
    >>> date("03/04/2020"), date("03/04/2020", "en-US"), date("03/04/2020", order="mdy"), date("12.3.2020, 14:05 Uhr")
    ('2020-04-03', '2020-03-04', '2020-03-04', '2020-03-12T14:05Z')
    >>> date("2020. március 12."), date("2020年3月12日"), date("Mar 5, 2020 3:07 PM"), date("٣ مارس ٢٠٢٠", "ar")
    ('2020-03-12', '2020-03-12', '2020-03-05T15:07Z', '2020-03-03')
    >>> date("31.02.2020"), date("yesterday"), date("12 March"), date("1 May 2019 and 2 May 2019")
    (None, None, None, None)
    """
    if found := values.date(text):
        return found if _is_year(found) else None
    text = _latin(text[: _LONGEST + 1])
    if len(text) > _LONGEST:
        return None
    time = _TIME.search(text)
    rest = text[: time.start()] + " " + text[time.end() :] if time else text
    found = _day(rest, language, order)
    if not found and (iso := {found for one in _ISO.findall(text) if (found := values.date(one))}):
        return iso.pop() if len(iso) == 1 else None
    return _with_time(found, time) if found and time and len(found) == len("2020-01-01") else found


def period(text: str, language: str | None = None, order: str = "auto") -> Period | None:
    """
    >>> period("01.01.2019 - 31.12.2019"), period("2010–2015")
    (Period(start='2019-01-01', end='2019-12-31'), Period(start='2010', end='2015'))
    >>> period("von Januar 2018 bis März 2019"), period("2010/2015"), period("März 2019"), period("ab 2012")
    (Period(start='2018-01', end='2019-03'), Period(start='2010', end='2015'), Period(start='2019-03', end='2019-03'), \
Period(start='2012', end=None))
    >>> period("2015 - 2010"), period("recently")
    (None, None)
    """
    if len(text) > 2 * _LONGEST:
        return None
    if found := periods.period(text):
        return found
    since = _FROM.match(text.strip())
    parts = _BETWEEN.split(_FROM.sub("", text.strip()))
    if len(parts) > 2:
        return None
    ends = [date(part, language, order) for part in parts]
    if ends[0] is None or (ends[-1] is None and parts[-1].strip()) or _is_reversed(ends[0], ends[-1]):
        return None
    return Period(start=ends[0], end=None if since and len(parts) == 1 else ends[-1])


def _is_reversed(start: str, end: str | None) -> bool:
    return end is not None and end[: min(len(start), len(end))] < start[: min(len(start), len(end))]


def _latin(text: str) -> str:
    """With the digits of ASCII."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.digit(one)) if one.isdecimal() else one for one in text).replace("\u00a0", " ")


def _day(text: str, language: str | None, order: str) -> str | None:
    """The first notation that there is."""
    notations: tuple[Callable[[], Iterable[str | None]], ...] = (
        lambda: (_written(one[1], one[2], one[3]) for one in _CJK.finditer(text)),
        lambda: (_written(one[1], one[3], one[4]) for one in _YEAR_FIRST.finditer(text)),
        lambda: (_numbers(one, language, order) for one in _YEAR_LAST.finditer(text)),
        lambda: _named(text, language),
        lambda: (_written(one[2], one[1]) for one in _MONTH_YEAR.finditer(text)),
        lambda: _years(text),
    )
    for notation in notations:
        if found := set(notation()):
            return found.pop() if len(found) == 1 else None
    return None


def _years(text: str) -> Iterator[str | None]:
    """A year that stands alone, but for a word or two."""
    found = _YEAR.findall(text)
    if len(_TOKEN.findall(text)) <= _MOST_FILLERS and len(re.findall(r"[0-9]+", text)) == len(found):
        yield from (_written(year) for year in found)


def _numbers(found: re.Match[str], language: str | None, order: str) -> str | None:
    first, second, year = found[1], found[3], found[4]
    if len(year) == 2:
        if order == "auto":
            return None
        if order == "ymd":
            return _written(_full(first), second, year)
        year = _full(year)
    is_american = order == "mdy" or (order == "auto" and (language or "").replace("_", "-").lower() == "en-us")
    month_, day = (first, second) if is_american else (second, first)
    return _written(year, month_, day) or (_written(year, day, month_) if order == "auto" else None)


def _full(year: str) -> str:
    """
    >>> _full("69"), _full("68")
    ('1969', '2068')
    """
    return f"19{year}" if int(year) >= _CENTURY else f"20{year}"


def _named(text: str, language: str | None) -> Iterator[str | None]:
    """Dates with a month's name: its day and year are beside it, with no more than short words between."""
    tokens = _TOKEN.findall(text)
    names = [place for place, token in enumerate(tokens) if token[0].isalpha() and month(key(token), language)]
    for place in names:
        near = [*_numbers_from(tokens, place, -1), *_numbers_from(tokens, place, 1)]
        years = [one for one in near if len(one) == 4]
        days = [one for one in near if len(one) <= 2]
        if len(years) == 1:
            day = days[0] if len(days) == 1 else None
            yield _written(years[0], str(month(key(tokens[place]), language)), day) if len(days) <= 1 else None


def _numbers_from(tokens: list[str], place: int, step: int) -> Iterator[str]:
    place += step
    fillers = numbers = 0
    while 0 <= place < len(tokens) and fillers <= _MOST_FILLERS and numbers < 2:
        token = tokens[place]
        if token[0].isdigit():
            numbers, fillers = numbers + 1, 0
            yield token
        elif key(token) in _FILLERS:
            fillers += 1
        else:
            return
        place += step


def _written(year: str, month_: str | None = None, day: str | None = None) -> str | None:
    """
    >>> _written("2020", "3", "7"), _written("2020", "3"), _written("2020"), _written("2020", "13")
    ('2020-03-07', '2020-03', '2020', None)
    """
    if len(year) != 4:
        return None
    text = "-".join([year, *(one.zfill(2) for one in (month_, day) if one)])
    found = values.date(text)
    return found if found and _is_year(found) else None


def _is_year(found: str) -> bool:
    return int(found[:4]) in _YEARS


def _with_time(day: str, time: re.Match[str]) -> str:
    hour, minute, second, half, zone = time.groups()
    if half:
        hour = str(int(hour) % 12 + (12 if half.lower() == "p" else 0))
    written = f"{day}T{hour.zfill(2)}:{minute}" + (f":{second}" if second else "") + (zone or "")
    return values.date(written) or day
