"""The period that a dataset covers, in the notations that catalogues use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.items import Dataset, Period
from crawlers.records.dcat.description import properties
from crawlers.records.periods import any_period, between, envelope, is_reversed, until
from crawlers.records.rdf.namespaces import DCT, RDF, RDFS, TIME
from crawlers.records.rdf.terms import Literal
from crawlers.records.values import xsd_date

if TYPE_CHECKING:
    from crawlers.records.rdf.terms import Graph, Node, Term

_TEMPORAL = properties(Dataset, "temporal")
_STARTS, _ENDS = properties(Period, "start"), properties(Period, "end")
_INSTANTS = tuple(
    TIME + name for name in ("inXSDDateTimeStamp", "inXSDDateTime", "inXSDDate", "inXSDgYearMonth", "inXSDgYear")
)
_WORDS = (RDF + "value", RDFS + "label", DCT + "title")

_CALENDAR = re.compile(r"https?://reference\.data\.gov\.uk/id/(?:gregorian-)?(year|month|day|interval|instant)/(\S+)")
_PRECISIONS = {"year": 4, "month": 7, "day": 10}


def temporal(description: Graph, node: Node) -> Period | None:
    """Return the period from the start of the first one to the end of the last, open where one is open.

    An IRI is looked up in the description and never fetched; of those of reference.data.gov.uk the name tells the
    period. A period that ends before it starts is none.

    >>> temporal({}, {DCT + "temporal": [Literal("2016-01/2016-12-05")]})
    Period(start='2016-01', end='2016-12-05')
    >>> node = {"http://schema.org/startDate": [Literal("2016-01-01T00:00:00")]}
    >>> temporal({"_:a": node}, {DCT + "temporal": ["_:a"]})
    Period(start='2016-01-01T00:00:00Z', end=None)
    >>> temporal({}, {DCT + "temporal": ["http://reference.data.gov.uk/id/year/2012", Literal("2014")]})
    Period(start='2012', end='2014')
    """
    found = [
        each
        for predicate in _TEMPORAL
        if predicate in node
        for value in node[predicate]
        if (each := _period(description, value)) and not is_reversed(each)
    ]
    if len(found) < 2:
        return found[0] if found else None
    joined = envelope(found)
    return between(joined.start, joined.end)


def _period(description: Graph, value: Term) -> Period | None:
    if isinstance(value, Literal):
        return any_period(value.value)
    node = description.get(value)
    return (_described(description, node) if node else None) or _named(value)


def _described(description: Graph, node: Node) -> Period | None:
    found = between(
        min(_moments(description, node, _STARTS), default=None),
        max(_moments(description, node, _ENDS), default=None, key=until),
    )
    if found:
        return found
    if moment := min(_moments({}, node, _INSTANTS), default=None):
        return Period(start=moment, end=moment)
    words = sorted(each.value for name in _WORDS for each in node.get(name, ()) if isinstance(each, Literal))
    return next((each for word in words if (each := any_period(word))), None)


def _moments(description: Graph, node: Node, predicates: tuple[str, ...]) -> list[str]:
    for predicate in predicates:
        if predicate in node:
            found = [each for value in node[predicate] if (each := _moment(description, value))]
            if found:
                return found
    return []


def _moment(description: Graph, value: Term) -> str | None:
    """Return a date, or that of an instant of OWL-Time."""
    if isinstance(value, Literal):
        return xsd_date(value.value)
    node = description.get(value)
    if node and (found := min(_moments({}, node, _INSTANTS), default=None)):
        return found
    named = _named(value)
    return named.start if named else None


def _named(iri: str) -> Period | None:
    """Return the period that its IRI tells.

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
        return any_period(name)
    moment = xsd_date(name) if len(name) == _PRECISIONS.get(unit, len(name)) else None
    return between(moment, moment)
