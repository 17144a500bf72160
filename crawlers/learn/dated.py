"""Dates as a user types them and as a page shows them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.mapping.html.dates import date

if TYPE_CHECKING:
    from collections.abc import Iterable

_NUMBERS = re.compile(r"([0-9]{1,2})[./-] ?([0-9]{1,2})[./-] ?[0-9]{4}")
_ORDERS = ("auto", "dmy", "mdy")
_DAY = len("2020-03-12")


def is_date(text: str, language: str | None = None) -> bool:
    return len(text) <= 100 and date(text, language) is not None


def same_date(one: str, other: str, language: str | None = None) -> bool:
    """Whether both name the same day, month or year, in any notation.

    >>> same_date("12. März 2020", "2020-03-12", "de"), same_date("2020", "2020-03-12"), same_date("x", "x")
    (True, False, False)
    """
    if len(one) > 100 or len(other) > 100:
        return False
    return any(_in_order(one, other, language, order) for order in _ORDERS)


def _in_order(one: str, other: str, language: str | None, order: str) -> bool:
    first, second = date(one, language, order), date(other, language, order)
    return first is not None and second is not None and first[:_DAY] == second[:_DAY]


def order(texts: Iterable[str], seen: str, language: str | None = None) -> bool | str:
    """What ``date`` is to be: "mdy" or "dmy" where the numbers tell, or the user's own notation does.

    >>> order(["03/31/2020"], "03/31/2020"), order(["03/04/2020"], "2020-03-04"), order(["3. April 2020"], "2020-04-03")
    ('mdy', 'mdy', True)
    """
    for text in texts:
        found = _NUMBERS.search(text)
        if found and int(found[1]) > 12:
            return "dmy"
        if found and int(found[2]) > 12:
            return "mdy"
        if found and text != seen and found[1] != found[2]:
            ways = [way for way in ("dmy", "mdy") if date(text, language, way) == date(seen, language)]
            if ways:
                return ways[0]
    return True
