"""The queries: count the datasets, list their IRIs from one IRI on, describe some of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from scrapy import FormRequest, Request

from crawlers.kinds.dcat.catalogue import OTHER_DATASETS
from crawlers.records.rdf.graphs import valid_iri
from crawlers.records.rdf.terms import DCAT, DCT, TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable


ANY = "any"
"""The value of ``-a graph=`` for all named graphs."""
ASK = f"ASK {{ ?d a <{DCAT}Dataset> }}"
ASK_GRAPHS = f"ASK {{ GRAPH ?g {{ ?d a <{DCAT}Dataset> }} }}"

_LONGEST = 4000  # characters of an IRI
_ESCAPES = {ord(character): f"\\{name}" for character, name in zip('\\"\n\r\t', '\\"nrt', strict=True)}
_CONTROLS = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_NOT_FOLLOWED = " ".join(f"<{name}>," for name in sorted((TYPE, *OTHER_DATASETS))).rstrip(",")
_PARTS = " ".join(f"<{name}>" for name in (DCAT + "distribution", DCAT + "contactPoint", DCT + "publisher"))
_MODIFIED = f"<{DCT}modified>"


def is_usable(iri: str) -> bool:
    """Return whether a query can name an IRI: no blanks, quotes, braces or angle brackets, and not too long.

    >>> is_usable("https://example.org/1"), is_usable("https://example.org/a b"), is_usable("a>;DROP ALL")
    (True, False, False)
    """
    return len(iri) <= _LONGEST and ":" in iri and valid_iri(iri) == iri


def text(value: str) -> str:
    r"""Return a text as a literal of a query.

    >>> print(text('a" || "\\'))
    "a\" || \"\\"
    """
    return f'"{_CONTROLS.sub("", value.translate(_ESCAPES))}"'


def count(graph: str | None, since: str, *, is_blank: bool = False) -> str:
    """Return the query for the number of datasets: those with an IRI, or the blank nodes."""
    return f"SELECT (COUNT(DISTINCT ?d) AS ?n) WHERE {{ {_datasets(graph, since, is_blank=is_blank)} }}"


def blank(graph: str | None, since: str) -> str:
    """Return the query for one dataset that is a blank node, for endpoints that do not count."""
    return f"SELECT ?d WHERE {{ {_datasets(graph, since, is_blank=True)} }} LIMIT 1"


def page(graph: str | None, since: str, last: str, rows: int) -> str:
    """Return the query for the next IRIs of datasets.

    The order is by IRI, and a page begins behind the last IRI: an offset skips and repeats, and Virtuoso refuses one
    above 10,000.

    Args:
        graph: a named graph, `ANY` of them, or ``None`` for the default graph.
        since: only those modified on this day or later, or without a date; empty for all.
        last: the last IRI of the page before; empty for the first page.
    """
    behind = f" FILTER(STR(?d) > {text(last)})" if last else ""
    return f"SELECT DISTINCT ?d WHERE {{ {_datasets(graph, since)}{behind} }} ORDER BY ?d LIMIT {rows}"


def _datasets(graph: str | None, since: str, *, is_blank: bool = False) -> str:
    """Return the pattern of all datasets.

    Dates are compared as texts, by day: a comparison of values fails where one is a date and the other a time.
    """
    pattern, day = f"?d a <{DCAT}Dataset>", text(since[:10])
    changed = ""
    if since:
        pattern += f" . OPTIONAL {{ ?d {_MODIFIED} ?m }}"
        changed = f' FILTER(!BOUND(?m) || STR(?m) >= {day} || !REGEX(STR(?m), "^[0-9][0-9][0-9][0-9]-"))'
    return f"{_in_graph(pattern, graph)} FILTER({'isBlank' if is_blank else 'isIRI'}(?d)){changed}"


def construct(iris: Iterable[str], graph: str | None) -> str:
    """Return the query for the descriptions of datasets: their statements, and those of the nodes two steps away.

    Each solution is one triple, so that a cut answer is found by its number of triples.
    """
    return f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ {_statements(iris, graph)} }}"


def count_statements(iris: Iterable[str], graph: str | None) -> str:
    """Return the query for the number of triples that the answer to `construct` has if it is whole."""
    return f"SELECT (COUNT(*) AS ?n) WHERE {{ {{ {_statements(iris, graph)} }} }}"


def _statements(iris: Iterable[str], graph: str | None) -> str:
    values = _values(iris)
    near, far = f"?a NOT IN ({_NOT_FOLLOWED})", f"?b NOT IN ({_NOT_FOLLOWED})"
    steps = (
        f"VALUES ?s {{ {values} }} {_in_graph('?s ?p ?o', graph)}",
        f"VALUES ?d {{ {values} }} {_in_graph('?d ?a ?s . ?s ?p ?o', graph)} FILTER({near})",
        f"VALUES ?d {{ {values} }} {_in_graph('?d ?a ?m . ?m ?b ?s . ?s ?p ?o', graph)} FILTER({near} && {far})",
    )
    union = " UNION ".join(f"{{ {step} }}" for step in steps)
    return f"SELECT DISTINCT ?s ?p ?o WHERE {{ {union} }}"


def describe(iris: Iterable[str], graph: str | None) -> str:
    """Return the query that endpoints answer which refuse CONSTRUCT: what a description holds is up to the endpoint."""
    parts = f"VALUES ?a {{ {_PARTS} }} OPTIONAL {{ {_in_graph('?d ?a ?s', graph)} }}"
    return f"DESCRIBE ?d ?s WHERE {{ VALUES ?d {{ {_values(iris)} }} {parts} }}"


def _values(iris: Iterable[str]) -> str:
    return " ".join(f"<{iri}>" for iri in iris)


def _in_graph(pattern: str, graph: str | None) -> str:
    if graph is None:
        return pattern
    name = "?g" if graph == ANY else f"<{graph}>"
    return f"GRAPH {name} {{ {pattern} }}"


_ROWS = "application/sparql-results+json, application/json;q=0.9"
_GRAPH = "application/n-triples, text/turtle;q=0.9, application/rdf+xml;q=0.8, application/ld+json;q=0.5"


class Endpoint(NamedTuple):
    """An endpoint.

    Args:
        url: its address.
        graph: the named graph with the catalogue; ``any`` for all; ``None`` for the default graph.
    """

    url: str
    graph: str | None = None

    def request(self, query: str, method: str, *, is_graph: bool = False, **keywords: Any) -> Request:
        """Return the request for a query.

        Args:
            method: POST sends it as a form; GET as a parameter, for endpoints that refuse POST.
            is_graph: whether the answer is RDF, which may be large; else it is a table.
            keywords: of the request: callback ....
        """
        keywords |= {"headers": {"Accept": _GRAPH if is_graph else _ROWS}, "meta": {"spool": True} if is_graph else {}}
        if method == "POST":
            return FormRequest(self.url, formdata={"query": query}, **keywords)
        return Request(f"{self.url}{'&' if '?' in self.url else '?'}{urlencode({'query': query})}", **keywords)
