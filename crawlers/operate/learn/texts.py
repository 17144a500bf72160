"""Texts compared as people do, the patterns that cut a value out of a text, and what a user has seen of a field."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import re2

from crawlers.kinds.html.mapping.dates import date

if TYPE_CHECKING:
    from collections.abc import Iterator


SEPARATORS = (",", ";", "|", "·", "•", " / ", "/", " - ")
"""What stands between values within one text, the usual ones first."""

_EDGES = " \t:：.,;|·•–-*\"'“”„«»()[]"
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff]")


def normal(text: str) -> str:
    r"""Return a text in one line, without case, invisible characters and surrounding punctuation.

    >>> normal(" Lizenz:\u00a0 "), normal("CC\u00adBY"), normal("Straße")
    ('lizenz', 'ccby', 'strasse')
    """
    text = _UNSEEN.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return " ".join(text.split()).strip(_EDGES)


def split(text: str, separator: str) -> list[str]:
    """
    >>> split("a, b,, c", ",")
    ['a', 'b', 'c']
    """
    return [part for item in text.split(separator) if (part := " ".join(item.split()))]


def shortened(text: str, length: int = 60) -> str:
    r"""Return a text in one line for a terminal, without control characters.

    >>> shortened("a" * 70, 10), shortened("a\x1b[31m b")
    ('aaaaaaaaa…', 'a\ufffd[31m b')
    """
    text = "".join(item if item.isprintable() else "\ufffd" for item in " ".join(text.split()))
    return text if len(text) <= length else f"{text[: length - 1]}…"


def escaped(text: str) -> str:
    r"""Return a text as a pattern of RE2, with as few backslashes as possible.

    >>> escaped("a-b_c.d")
    'a-b_c\\.d'
    """
    return re.sub(r"\\([-_/ %~@!,=&:;<>\"'#])", r"\1", str(re2.escape(text)))


_WORDS_BEFORE = 2
_SIGNS = "()[]{}<>|,;·•–"
_LONGEST_WORD = 60
EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
_SHAPES = (
    (re.compile(EMAIL), f"({EMAIL})"),
    (re.compile(r"\d{4}-\d{2}-\d{2}"), r"(\d{4}-\d{2}-\d{2})"),
    (re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{4}"), r"(\d{1,2}[./-]\d{1,2}[./-]\d{4})"),
    (re.compile(r"\d{1,2}\.? [^\W\d]+ \d{4}"), r"(\d{1,2}\.? [\pL]+ \d{4})"),
    (re.compile(r"[^\W\d]+ \d{1,2}, \d{4}"), r"([\pL]+ \d{1,2}, \d{4})"),
)


def patterns(text: str, wanted: str) -> Iterator[tuple[str, float]]:
    r"""Yield RE2 patterns that find a value in a text by what surrounds it, and how stable each is.

    >>> next(patterns("Licence: CC BY 4.0 (details)", "CC BY 4.0"))[0]
    'Licence:\\s*(.+?)\\s*\\('
    """
    start = text.casefold().find(wanted.casefold())
    if start < 0 or len(text) > 100_000:
        return
    before, after = text[:start], text[start + len(wanted) :]
    if not before.strip() and not after.strip():
        return
    for shape, pattern in _SHAPES:
        if shape.fullmatch(wanted):
            yield f"{_before(before)}{pattern}", 0.9
            yield pattern, 0.75
    if before.endswith(".") and not after and " " not in text:
        yield r"\.(\w+)$", 0.85
    yield from _enclosed(before.rstrip()[-1:], after.lstrip()[:1])
    end = _after(after)
    yield f"{_before(before)}{f'(.+?){end}' if end else '(.+)'}", 0.85
    if after.strip() and before.strip():
        yield f"{_before(before)}(.+)", 0.6


def _enclosed(start: str, end: str) -> Iterator[tuple[str, float]]:
    """Yield the patterns of a value between two signs, such as brackets."""
    if start in _SIGNS and end in _SIGNS and start and end:
        opening, closing = escaped(start), escaped(end)
        inner = f"([^{opening}{closing}]+)"
        yield rf"{opening}\s*{inner}{closing}", 0.8
        yield rf"{opening}\s*{inner}{closing}\s*$", 0.8


def _before(text: str) -> str:
    """Return the pattern of the last words before the value, with any numbers."""
    if not text.strip():
        return r"^\s*"
    words = text.split()[-_WORDS_BEFORE:]
    return r"\s+".join(_general(word) for word in words) + (r"\s*" if text[-1:].isspace() or words else "")


def _after(text: str) -> str:
    """Return the pattern of the sign or word that ends the value."""
    if not text.strip():
        return ""
    found = re.match(r"\s*([^\w\s]|\S+)", text)
    return rf"\s*{_general(found[1])}" if found else ""


def _general(word: str) -> str:
    word = word[-_LONGEST_WORD:]
    return re.sub(r"\d+", lambda _: r"\d+", escaped(word)) if any(map(str.isdigit, word)) else escaped(word)


DATES = ("issued", "modified", "resource.issued", "resource.modified")
EMAILS = ("publisher_email", "creator_email", "maintainer_email", "contact_email")


_ORDERS = ("auto", "dmy", "mdy", "ymd")
_DAY = len("2020-03-12")
_LONGEST_DATE = 100  # characters


def is_date(text: str, language: str | None = None) -> bool:
    return any(_day(text, language, order) for order in _ORDERS)


def same_date(text: str, other: str, language: str | None = None) -> bool:
    """Return whether two texts name the same day, month or year, in any notation.

    >>> same_date("12. März 2020", "2020-03-12", "de"), same_date("2020", "2020-03-12"), same_date("x", "x")
    (True, False, False)
    """
    return any(_is_same(text, other, language, order) for order in _ORDERS)


def _is_same(text: str, other: str, language: str | None, order: str) -> bool:
    first = _day(text, language, order)
    return first is not None and first == _day(other, language, order)


def _day(text: str, language: str | None, order: str) -> str | None:
    found = date(text, language, order) if len(text) <= _LONGEST_DATE else None
    return found[:_DAY] if found else None


def date_orders(texts: list[str], seen: str, language: str | None = None) -> list[str]:
    """Return the possible orders of numeric dates, the likely one first; none if the order makes no difference.

    Args:
        texts: as pages show them, that of the sample first.
        seen: what a user typed for the first one.

    >>> date_orders(["31.03.2020"], ""), date_orders(["03/04/20"], "03/04/20"), date_orders(["03/04/20"], "2020-03-04")
    (['dmy'], ['dmy', 'mdy', 'ymd'], ['mdy'])
    >>> date_orders(["12 March 2020"], "")
    []
    """
    readable = [text for text in texts if is_date(text, language)]
    ways = ("mdy", "dmy", "ymd") if (language or "").replace("_", "-").lower() == "en-us" else _ORDERS[1:]
    read = {way: tuple(_day(text, language, way) for text in readable) for way in ways}
    if len(set(read.values())) < 2:
        return []
    fitting = [way for way in ways if None not in read[way]]
    meant = [way for way in fitting if readable[0] == texts[0] and _is_same(texts[0], seen, language, way)] or fitting
    return [way for number, way in enumerate(meant) if read[way] not in [read[item] for item in meant[:number]]]


def date_order(texts: list[str], seen: str, language: str | None = None) -> bool | str:
    """Return the rule's ``date``: an order if the numbers or the user's notation prove it or reading needs it; or True.

    >>> date_order(["03/31/2020"], "03/31/2020"), date_order(["03/04/2020"], "2020-03-04")
    ('mdy', 'mdy')
    >>> date_order(["3. April 2020"], "2020-04-03"), date_order(["03/04/2020"], "03/04/2020")
    (True, True)
    >>> date_order(["03.04.20"], "03.04.20")
    'dmy'
    """
    found = date_orders(texts, seen, language)
    readable = [text for text in texts if is_date(text, language)]
    is_needed = len(found) == 1 or not all(_day(text, language, "auto") for text in readable)
    return found[0] if found and is_needed else True


def unreadable_date(texts: list[str], language: str | None, order: bool | str) -> str | None:
    """Return the first text that is not a date in this order.

    >>> unreadable_date(["12.03.20", "yesterday"], "de", "dmy"), unreadable_date(["12.03.20"], "de", True)
    ('yesterday', '12.03.20')
    >>> unreadable_date(["2020"], "de", True)
    """
    return next((text for text in texts if not _day(text, language, _order_name(order))), None)


def ambiguous_day(texts: list[str], seen: str, language: str | None, order: bool | str) -> str | None:
    """Return the day that the first text is read as, if other orders give another day.

    >>> ambiguous_day(["12.03.20"], "12.03.20", "de", "dmy"), ambiguous_day(["12.03.20"], "2020-03-12", "de", "dmy")
    ('2020-03-12', None)
    >>> ambiguous_day(["12.03.2020"], "", "de", True)
    """
    first = texts[0]
    is_usual = first.count(".") >= 2 and len(first.strip().rpartition(".")[2]) >= len(
        "2020"
    )  # then the day comes first
    is_settled = is_usual or len(date_orders(texts, seen, language)) < 2
    return None if is_settled else _day(first, language, _order_name(order))


def _order_name(order: bool | str) -> str:
    return order if isinstance(order, str) else "auto"
