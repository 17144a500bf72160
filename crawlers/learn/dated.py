"""Dates as a user types them and as a page shows them."""

from __future__ import annotations

from crawlers.mapping.html.dates import date

_ORDERS = ("auto", "dmy", "mdy", "ymd")
_DAY = len("2020-03-12")
_LONGEST = 100  # characters


def is_date(text: str, language: str | None = None) -> bool:
    return any(_day(text, language, order) for order in _ORDERS)


def same_date(one: str, other: str, language: str | None = None) -> bool:
    """Whether both name the same day, month or year, in any notation.

    >>> same_date("12. März 2020", "2020-03-12", "de"), same_date("2020", "2020-03-12"), same_date("x", "x")
    (True, False, False)
    """
    return any(_is_same(one, other, language, order) for order in _ORDERS)


def _is_same(one: str, other: str, language: str | None, order: str) -> bool:
    first = _day(one, language, order)
    return first is not None and first == _day(other, language, order)


def _day(text: str, language: str | None, order: str) -> str | None:
    found = date(text, language, order) if len(text) <= _LONGEST else None
    return found[:_DAY] if found else None


def orders(texts: list[str], seen: str, language: str | None = None) -> list[str]:
    """The orders that dates in numbers may be in, the likely one first; none where no order makes a difference.

    Args:
        texts: as pages show them, that of the sample first.
        seen: what a user typed for the first one.

    >>> orders(["31.03.2020"], ""), orders(["03/04/20"], "03/04/20"), orders(["03/04/20"], "2020-03-04")
    (['dmy'], ['dmy', 'mdy', 'ymd'], ['mdy'])
    >>> orders(["12 March 2020"], "")
    []
    """
    readable = [text for text in texts if is_date(text, language)]
    ways = ("mdy", "dmy", "ymd") if (language or "").replace("_", "-").lower() == "en-us" else _ORDERS[1:]
    read = {way: tuple(_day(text, language, way) for text in readable) for way in ways}
    if len(set(read.values())) < 2:
        return []
    fitting = [way for way in ways if None not in read[way]]
    meant = [way for way in fitting if readable[0] == texts[0] and _is_same(texts[0], seen, language, way)] or fitting
    return [way for number, way in enumerate(meant) if read[way] not in [read[one] for one in meant[:number]]]


def order(texts: list[str], seen: str, language: str | None = None) -> bool | str:
    """What ``date`` is to be: an order where the numbers tell, or the user's own notation does, or none can't be read.

    >>> order(["03/31/2020"], "03/31/2020"), order(["03/04/2020"], "2020-03-04"), order(["3. April 2020"], "2020-04-03")
    ('mdy', 'mdy', True)
    >>> order(["03/04/2020"], "03/04/2020"), order(["03.04.20"], "03.04.20")
    (True, 'dmy')
    """
    found = orders(texts, seen, language)
    readable = [text for text in texts if is_date(text, language)]
    is_needed = len(found) == 1 or not all(_day(text, language, "auto") for text in readable)
    return found[0] if found and is_needed else True


def unread(texts: list[str], language: str | None, order: bool | str) -> str | None:
    """The first text that is no date in that order.

    >>> unread(["12.03.20", "yesterday"], "de", "dmy"), unread(["12.03.20"], "de", True), unread(["2020"], "de", True)
    ('yesterday', '12.03.20', None)
    """
    return next((text for text in texts if not _day(text, language, _named(order))), None)


def taken(texts: list[str], seen: str, language: str | None, order: bool | str) -> str | None:
    """The day that the first text is taken for, where other orders give others.

    >>> taken(["12.03.20"], "12.03.20", "de", "dmy"), taken(["12.03.20"], "2020-03-12", "de", "dmy")
    ('2020-03-12', None)
    >>> taken(["12.03.2020"], "", "de", True)
    """
    is_settled = len(orders(texts, seen, language)) < 2 or _is_usual(texts[0])
    return None if is_settled else _day(texts[0], language, _named(order))


def _named(order: bool | str) -> str:
    return order if isinstance(order, str) else "auto"


def _is_usual(text: str) -> bool:
    """Whether it has dots and a whole year: those that write so put the day first."""
    return text.count(".") >= 2 and len(text.strip().rpartition(".")[2]) >= len("2020")
