"""The period that a dataset covers, in the notations that catalogues use."""

from __future__ import annotations

import re
from datetime import date as day
from datetime import timedelta
from typing import TYPE_CHECKING

from crawlers.items import Period
from crawlers.mapping.dcat.dates import date
from crawlers.mapping.periods import period
from crawlers.rdf.namespaces import DCAT, DCT, RDF, RDFS, SCHEMA, SCHEMA_HTTPS, SCOVO, TIME
from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from crawlers.rdf.terms import Graph, Node, Term

_TEMPORAL = (DCT + "temporal", DCAT + "temporal", SCHEMA + "temporalCoverage", SCHEMA_HTTPS + "temporalCoverage")
_STARTS = (
    *(DCAT + "startDate", SCHEMA + "startDate", SCHEMA_HTTPS + "startDate"),
    *(TIME + "hasBeginning", SCOVO + "min"),
)
_ENDS = (
    *(DCAT + "endDate", SCHEMA + "endDate", SCHEMA_HTTPS + "endDate"),
    *(TIME + "hasEnd", SCOVO + "max"),
)
_INSTANTS = tuple(
    TIME + name for name in ("inXSDDateTimeStamp", "inXSDDateTime", "inXSDDate", "inXSDgYearMonth", "inXSDgYear")
)
_WORDS = (RDF + "value", RDFS + "label", DCT + "title")

_DCMI = re.compile(r"\b(start|end)\s*=\s*([^;\s]+)")
_CALENDAR = re.compile(r"https?://reference\.data\.gov\.uk/id/(?:gregorian-)?(year|month|day|interval|instant)/(\S+)")
_DURATION = re.compile(r"P(?:([0-9]{1,4})Y)?(?:([0-9]{1,4})M)?(?:([0-9]{1,4})W)?(?:([0-9]{1,6})D)?(?<!P)")
_MIDNIGHT = re.compile(r"(?:T00:00(?::00(?:\.0+)?)?(?:Z|\+00:00)?)?")
_PRECISIONS = {"year": 4, "month": 7, "day": 10}


def temporal(description: Graph, node: Node) -> Period | None:
    """From the start of the first period to the end of the last, open where one of them is open.

    An IRI is looked up in the description and never fetched; of those of reference.data.gov.uk the name tells the
    period. A period that ends before it starts is none.

    >>> temporal({}, {DCT + "temporal": [Literal("2016-01/2016-12-05")]})
    Period(start='2016-01', end='2016-12-05')
    >>> node = {SCHEMA + "startDate": [Literal("2016-01-01T00:00:00")]}
    >>> temporal({"_:a": node}, {DCT + "temporal": ["_:a"]})
    Period(start='2016-01-01T00:00:00Z', end=None)
    >>> temporal({}, {DCT + "temporal": ["http://reference.data.gov.uk/id/year/2012", Literal("2014")]})
    Period(start='2012', end='2014')
    """
    found = [
        one
        for predicate in _TEMPORAL
        if predicate in node
        for value in node[predicate]
        if (one := _period(description, value)) and not _is_reversed(one)
    ]
    return _envelope(found) if len(found) > 1 else found[0] if found else None


def _period(description: Graph, value: Term) -> Period | None:
    if isinstance(value, Literal):
        return _written(value.value)
    node = description.get(value)
    return (_described(description, node) if node else None) or _named(value)


def _written(text: str) -> Period | None:
    """
    >>> _written("start=1999-09-25; end=2000-06; scheme=W3C-DTF"), _written("2012-03-01T00:00:00/P1M")
    (Period(start='1999-09-25', end='2000-06'), Period(start='2012-03-01', end='2012-03-31'))
    """
    text = text.strip()
    if "=" in text:
        ends = dict(_DCMI.findall(text))
        return _between(date(ends.get("start", "")), date(ends.get("end", "")))
    first, _, last = text.partition("/")
    if last.strip().startswith("P"):
        return _lasting(first.strip(), last.strip())
    return period(text) or (period(zoned) if (zoned := date(text)) else None)


def _described(description: Graph, node: Node) -> Period | None:
    found = _between(
        min(_moments(description, node, _STARTS), default=None),
        max(_moments(description, node, _ENDS), default=None, key=_until),
    )
    if found:
        return found
    if moment := min(_moments({}, node, _INSTANTS), default=None):
        return Period(start=moment, end=moment)
    words = sorted(one.value for name in _WORDS for one in node.get(name, ()) if isinstance(one, Literal))
    return next((one for word in words if (one := _written(word))), None)


def _between(start: str | None, end: str | None) -> Period | None:
    return Period(start=start, end=end) if start or end else None


def _moments(description: Graph, node: Node, predicates: tuple[str, ...]) -> list[str]:
    for predicate in predicates:
        if predicate in node:
            found = [one for value in node[predicate] if (one := _moment(description, value))]
            if found:
                return found
    return []


def _moment(description: Graph, value: Term) -> str | None:
    """A date, or an instant of OWL-Time that has one."""
    if isinstance(value, Literal):
        return date(value.value)
    node = description.get(value)
    if node and (found := min(_moments({}, node, _INSTANTS), default=None)):
        return found
    named = _named(value)
    return named.start if named else None


def _named(iri: str) -> Period | None:
    """What the name of a period says that nothing else describes.

    >>> _named("http://reference.data.gov.uk/id/gregorian-interval/2012-04-01T00:00:00/P3M")
    Period(start='2012-04-01', end='2012-06-30')
    >>> _named("http://reference.data.gov.uk/id/month/2012-03"), _named("http://example.org/2012")
    (Period(start='2012-03', end='2012-03'), None)
    """
    found = _CALENDAR.fullmatch(iri)
    if not found:
        return None
    unit, name = found.groups()
    if unit == "interval":
        return _written(name)
    moment = date(name) if len(name) == _PRECISIONS.get(unit, len(name)) else None
    return _between(moment, moment)


def _lasting(start: str, duration: str) -> Period | None:
    """Whole days from a midnight on; anything finer is not told apart from a mistake.

    >>> _lasting("2012-01-01", "P1Y"), _lasting("2012-01-01T10:00:00", "P1D"), _lasting("2012-02", "P1M")
    (Period(start='2012-01-01', end='2012-12-31'), None, None)
    """
    found = _DURATION.fullmatch(duration)
    first = date(start[:10])
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


def _is_reversed(one: Period) -> bool:
    return bool(one.start and one.end) and one.start[:10] > _until(one.end)  # type: ignore[index]


def _until(end: str | None) -> str:
    """For comparing: a year ends after each of its days."""
    return f"{end or ''}~"


def _envelope(periods: list[Period]) -> Period | None:
    starts, ends = [one.start for one in periods], [one.end for one in periods]
    return _between(
        None if None in starts else min(filter(None, starts)),
        None if None in ends else max(filter(None, ends), key=_until),
    )
