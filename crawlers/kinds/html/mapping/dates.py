"""Dates as pages write them, into ISO 8601 that is as precise as they are."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import TYPE_CHECKING

from crawlers.kinds.html.mapping.eras import in_common_era
from crawlers.kinds.html.mapping.months import month
from crawlers.kinds.html.mapping.normalise import key
from crawlers.records import values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LONGEST = 200
YEARS = range(1000, 2200)
_CENTURY = 69  # POSIX: 69 is 1969, 68 is 2068
MOST_FILLERS = 3
_MOST_SHOWN = 1_000
_UNTOLD = frozenset(("en", "en-ca", "en-ph"))

_ISO = re.compile(
    r"(?<![0-9])[0-9]{4}-[0-9]{2}"
    r"(?:-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}[0-9:.]*(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?)?(?![0-9-])"
)
_CJK = re.compile(r"([0-9]{4})\s?[年년]\s?(?:([0-9]{1,2})\s?[月월]\s?(?:([0-9]{1,2})\s?[日일])?)?")
_YEAR_FIRST = re.compile(r"(?<![0-9./-])([0-9]{4})([./-])\s?([0-9]{1,2})(?:\2\s?([0-9]{1,2}))?(?![0-9/-])")
_YEAR_LAST = re.compile(r"(?<![0-9./-])([0-9]{1,2})(\s?[./-])\s?([0-9]{1,2})\2\s?([0-9]{4}|[0-9]{2})(?![0-9/-])")
_MONTH_YEAR = re.compile(r"(?<![0-9./-])([0-9]{1,2})\s?[./-]\s?([0-9]{4})(?![0-9./-])")
_ROMAN = re.compile(r"(?<![0-9./-])([0-9]{1,2})([./-])\s?(I{1,3}|I?V|VI{1,3}|I?X|XI{1,2})\2\s?([0-9]{4})(?![0-9/-])")
_ROMANS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
_TIME = re.compile(
    r"(?<![0-9:.])(오전|오후|上午|下午|午前|午後)?\s?([01]?[0-9]|2[0-3])[:h]([0-5][0-9])(?::([0-5][0-9]))?(?:\.[0-9]+)?"
    r"(?:\s?(?:([apπμ])\.?\s?[mμ]\b\.?|([صم])\b))?\s?(Z\b|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})?(?![0-9:])",
    re.IGNORECASE,
)
_OCLOCK = re.compile(r"(?<!\w)klo?\.?\s?([01]?[0-9]|2[0-3])\.([0-5][0-9])(?![0-9.])", re.IGNORECASE)
_AFTER_NOON = frozenset(("오후", "下午", "午後", "p", "μ", "م"))
_TOKEN = re.compile(r"[0-9]+|(?:[^\W\d_]|[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e])+")  # Thai vowels are no letters to `re`
YEAR = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")
_SHORT = (
    "a an ant al am at d da dag de del den der di dia do e el er ga gada ger g go h i in ko kl la le m men mh n na "
    "nd o of on os r rd rok roku s st t ta th the v y z г год года рік року от та на у в του της την στις"
)
_FILLERS = frozenset(_SHORT.split())
_BEFORE = (
    "vor bis before until till avant antes prima przed før före voor ennen до преди πριν před prije pred până hasta "
    "até fino jusqu tot til"
)
_NOT_AT = frozenset(map(key, _BEFORE.split()))


def date(text: str, language: str | None = None, order: str = "auto") -> str | None:
    """Return the date in a text; ``None`` where there is none, or several that differ.

    Args:
        language: of the page, for the names of months, and for the order of numbers: en-US has the month first.
        order: of the numbers: "dmy", "mdy", "ymd" or "auto".

    >>> date("12. März 2020"), date("le 3 avril 2019"), date("März 2020"), date("2019"), date("2020-03")
    ('2020-03-12', '2019-04-03', '2020-03', '2019', '2020-03')
    >>> date("03/04/2020"), date("03/04/2020", "en-US"), date("03/04/2020", order="mdy"), date("12.3.2020, 14:05 Uhr")
    ('2020-04-03', '2020-03-04', '2020-03-04', '2020-03-12T14:05Z')
    >>> date("2020. március 12."), date("2020年3月12日"), date("Mar 5, 2020 3:07 PM"), date("٣ مارس ٢٠٢٠", "ar")
    ('2020-03-12', '2020-03-12', '2020-03-05T15:07Z', '2020-03-03')
    >>> date("令和2年3月12日"), date("๑๒ มีนาคม ๒๕๖๓"), date("พ.ศ. 2563"), date("R2.3.12", "ja")
    ('2020-03-12', '2020-03-12', '2020', '2020-03-12')
    >>> date("31.02.2020"), date("yesterday"), date("12 March"), date("1 May 2019 and 2 May 2019")
    (None, None, None, None)
    """
    text = in_common_era(latin(text[: LONGEST + 1]), language)
    if found := values.date(text):
        return found if _is_year(found) else None
    if len(text) > LONGEST:
        return None
    text = _OCLOCK.sub(r" \1:\2", text)
    time = _TIME.search(text)
    rest = text[: time.start()] + " " + text[time.end() :] if time else text
    found = _day(rest, language, order)
    if not found and (iso := {found for each in _ISO.findall(text) if (found := values.date(each))}):
        return iso.pop() if len(iso) == 1 else None
    return _with_time(found, time) if found and time and len(found) == len("2020-01-01") else found


def latin(text: str) -> str:
    """Return the text with ASCII digits."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.digit(each)) if each.isdecimal() else each for each in text).replace("\u00a0", " ")


def _day(text: str, language: str | None, order: str) -> str | None:
    """Return the date in the first notation that the text has."""
    notations: tuple[Callable[[], Iterable[str | None]], ...] = (
        lambda: (_written(each[1], each[2], each[3]) for each in _CJK.finditer(text)),
        lambda: map(_year_first, _YEAR_FIRST.finditer(text)),
        lambda: (_numbers(each, language, order) for each in _YEAR_LAST.finditer(text)),
        lambda: _named(text, language, order),
        lambda: (_written(each[4], str(_ROMANS.index(each[3]) + 1), each[1]) for each in _ROMAN.finditer(text)),
        lambda: (_written(each[2], each[1]) for each in _MONTH_YEAR.finditer(text)),
        lambda: _years(text),
    )
    for notation in notations:
        if found := set(notation()):
            return found.pop() if len(found) == 1 else None
    return None


def _year_first(found: re.Match[str]) -> str | None:
    """Return a date; 2010/11 is more likely a school year than a month."""
    is_two = found[2] == "/" and not found[4] and int(found[3]) == (int(found[1]) + 1) % 100
    return None if is_two else _written(found[1], found[3], found[4])


def _years(text: str) -> Iterator[str | None]:
    """Yield a year that stands alone, except for a word or two."""
    found, tokens = YEAR.findall(text), _TOKEN.findall(text)
    if any(key(token) in _NOT_AT for token in tokens[: MOST_FILLERS + 1]):
        return
    if len(tokens) <= MOST_FILLERS and len(re.findall(r"[0-9]+", text)) == len(found):
        yield from (_written(year) for year in found)


def _numbers(found: re.Match[str], language: str | None, order: str) -> str | None:
    first, second, year = found[1], found[3], found[4]
    if len(year) == 2:
        if order == "auto":
            return None
        if order == "ymd":
            return _written(_full(first), second, year)
        year = _full(year)
    month_, day = (first, second) if _is_american(order, language) else (second, first)
    return _written(year, month_, day) or (_written(year, day, month_) if order == "auto" else None)


def is_either(text: str, language: str | None) -> bool:
    """Return whether a text has a date that is ambiguous: day or month first, and the language does not tell.

    >>> is_either("03/04/2020", "en"), is_either("03/04/2020", "en-US"), is_either("03.04.2020", "en")
    (True, False, False)
    >>> is_either("13/04/2020", "en"), is_either("04/04/2020", None)
    (False, False)
    """
    return not _is_american("auto", language) and any(
        each[2].strip() != "." and each[1] != each[3] and int(each[1]) <= 12 and int(each[3]) <= 12
        for each in _YEAR_LAST.finditer(text[:LONGEST])
    )


def is_told(language: str | None) -> bool:
    """Return whether the language tells if the month is first: English alone does not.

    >>> is_told("de"), is_told("en-GB"), is_told("en"), is_told(None)
    (True, True, False, False)
    """
    return (language or "en").replace("_", "-").lower() not in _UNTOLD


def shown_order(text: str) -> str | None:
    """Return the order that all unambiguous dates of a text have: "dmy" or "mdy".

    >>> shown_order("03/04/2020 05/31/2020"), shown_order("31/05/2020"), shown_order("31/05/2020 05/31/2020")
    ('mdy', 'dmy', None)
    """
    found = set()
    for each in islice(_YEAR_LAST.finditer(text), _MOST_SHOWN):
        if each[2].strip() != "." and (int(each[1]) > 12) != (int(each[3]) > 12):
            found.add("dmy" if int(each[1]) > 12 else "mdy")
    return found.pop() if len(found) == 1 else None


def _is_american(order: str, language: str | None) -> bool:
    return order == "mdy" or (order == "auto" and (language or "").replace("_", "-").lower() == "en-us")


def _full(year: str) -> str:
    """
    >>> _full("69"), _full("68")
    ('1969', '2068')
    """
    return f"19{year}" if int(year) >= _CENTURY else f"20{year}"


def _named(text: str, language: str | None, order: str) -> Iterator[str | None]:
    """Yield dates with a month's name: day and year are beside it, with only short words between."""
    tokens = _TOKEN.findall(text)
    names = [place for place, token in enumerate(tokens) if token[0].isalpha() and month(key(token), language)]
    for place in names:
        near = [*[*_numbers_from(tokens, place, -1)][::-1], *_numbers_from(tokens, place, 1)]
        if order != "auto" and len(near) == 2:
            near = _full_year(near, 0 if order == "ymd" else 1)
        years = [each for each in near if len(each) == 4]
        days = [each for each in near if len(each) <= 2]
        if len(years) == 1:
            day = days[0] if len(days) == 1 else None
            yield _written(years[0], str(month(key(tokens[place]), language)), day) if len(days) <= 1 else None


def _full_year(numbers: list[str], place: int) -> list[str]:
    """
    >>> _full_year(["12", "20"], 1), _full_year(["12", "2020"], 1), _full_year(["2020", "12"], 1)
    (['12', '2020'], ['12', '2020'], ['2020', '12'])
    """
    is_short = len(numbers[place]) == 2 and len(numbers[1 - place]) <= 2
    return [_full(each) if is_short and at == place else each for at, each in enumerate(numbers)]


def _numbers_from(tokens: list[str], place: int, step: int) -> Iterator[str]:
    place += step
    fillers = numbers = 0
    while 0 <= place < len(tokens) and fillers <= MOST_FILLERS and numbers < 2:
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
    text = "-".join([year, *(each.zfill(2) for each in (month_, day) if each)])
    found = values.date(text)
    return found if found and _is_year(found) else None


def _is_year(found: str) -> bool:
    return int(found[:4]) in YEARS


def _with_time(day: str, time: re.Match[str]) -> str:
    before, hour, minute, second, half, arabic, zone = time.groups()
    if half := before or half or arabic:
        hour = str(int(hour) % 12 + (12 if half.casefold() in _AFTER_NOON else 0))
    written = f"{day}T{hour.zfill(2)}:{minute}" + (f":{second}" if second else "") + (zone or "")
    return values.date(written) or day
