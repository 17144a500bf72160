"""A SPARQL endpoint on the loopback, backed by a store in memory, with what goes wrong at such."""

from collections.abc import Iterable
from itertools import islice
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyoxigraph
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Store, Triple

from tests.site import Answer, Asked, Site

DATA = "https://data.example.org"
DCAT, DCT, FOAF = "http://www.w3.org/ns/dcat#", "http://purl.org/dc/terms/", "http://xmlns.com/foaf/0.1/"
Term = NamedNode | BlankNode | Literal
XSD = "http://www.w3.org/2001/XMLSchema#"
A = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
GRAPH = f"{DATA}/graph"
JSON = "application/sparql-results+json"
FAULTS = (
    *("no_post", "no_count", "no_construct", "html", "html_page", "anytime", "partial", "ignores_filter", "odd_iri"),
    *("poison", "no_descriptions", "xml_only", "short_count", "collation", "no_blank_count", "no_blanks"),
)


def iri(number: int) -> str:
    return f"{DATA}/dataset/{number:04d}"


class Endpoint(Site):
    """
    Args:
        datasets: how many it has at first.
        blanks: how many more are blank nodes.
        max_rows: the number of rows and triples at which it cuts an answer without a word.
        sorted_limit: the LIMIT above which a sorted query is refused, as at Virtuoso.
        max_values: the datasets of a CONSTRUCT above which it runs out of time.
        sorted_triples: the number of triples, sorted by subject, at which it cuts an answer; 0 for none.
        graph: the named graph that has all; by default the default graph.
        faults: of `FAULTS`.
    """

    def __init__(
        self,
        datasets: int,
        *,
        blanks: int = 0,
        max_rows: int = 10_000,
        sorted_limit: int = 10_000,
        max_values: int = 1000,
        sorted_triples: int = 0,
        graph: str | None = None,
        faults: Iterable[str] = (),
    ) -> None:
        super().__init__(self.answered)
        self.store = Store()
        self.graph = NamedNode(graph) if graph else DefaultGraph()
        self.max_rows, self.sorted_limit, self.max_values = max_rows, sorted_limit, max_values
        self.sorted_triples = sorted_triples
        self.faults = {*faults}
        assert self.faults <= {*FAULTS}
        for number in range(datasets):
            self.put(number)
        for number in range(blanks):
            self.add(BlankNode(f"d{number}"), A, NamedNode(DCAT + "Dataset"))

    @property
    def endpoint(self) -> str:
        return f"{self.url}/sparql"

    def queries(self, word: str) -> list[str]:
        """The queries that begin with a word, as they were asked."""
        return [query for query in map(_query, self.asked) if query.startswith(word)]

    def put(self, number: int, *, title: str | None = None, modified: str | None = None) -> None:
        """Adds a dataset, or replaces it."""
        dataset, part = NamedNode(iri(number)), NamedNode(f"{iri(number)}/csv")
        self.remove(number)
        agent, checksum = NamedNode(f"{DATA}/agent"), BlankNode(f"c{number}")
        self.add(dataset, A, NamedNode(DCAT + "Dataset"))
        self.add(dataset, NamedNode(DCT + "title"), Literal(title or f"Dataset {number}", language="en"))
        self.add(dataset, NamedNode(DCT + "identifier"), Literal(f"id-{number}"))
        self.add(dataset, NamedNode(DCT + "publisher"), agent)
        self.add(dataset, NamedNode(DCT + "relation"), NamedNode(iri(number + 1)))
        self.add(dataset, NamedNode(DCAT + "distribution"), part)
        self.add(part, A, NamedNode(DCAT + "Distribution"))
        self.add(part, NamedNode(DCAT + "downloadURL"), NamedNode(f"{DATA}/{number}.csv"))
        self.add(part, NamedNode("http://spdx.org/rdf/terms#checksum"), checksum)
        self.add(checksum, NamedNode("http://spdx.org/rdf/terms#checksumValue"), Literal("ab" * 20))
        self.add(agent, NamedNode(FOAF + "name"), Literal("Office"))
        if modified:
            kind = "dateTime" if "T" in modified else "date"
            value = Literal(modified, datatype=NamedNode(XSD + kind)) if modified[0] == "2" else Literal(modified)
            self.add(dataset, NamedNode(DCT + "modified"), value)

    def remove(self, number: int) -> None:
        for subject in (NamedNode(iri(number)), NamedNode(f"{iri(number)}/csv")):
            for quad in list(self.store.quads_for_pattern(subject, None, None, None)):
                self.store.remove(quad)

    def add(self, subject: NamedNode | BlankNode, predicate: NamedNode, value: Term) -> None:
        self.store.add(Quad(subject, predicate, value, self.graph))

    def answered(self, asked: Asked) -> Answer:
        if not urlsplit(asked.path).path.endswith("/sparql"):
            return Answer(b"not here", 404)
        if asked.method == "POST" and "no_post" in self.faults:
            return Answer(b"use GET", 405)
        if "html" in self.faults or not _query(asked):
            return Answer(b"<!doctype html><html><title>Log in</title></html>", headers={"Content-Type": "text/html"})
        query = _query(asked)
        word = query.partition(" ")[0]
        if word in ("SELECT", "ASK"):
            return self._table(query, word)
        return self._graph(query, word)

    def _table(self, query: str, word: str) -> Answer:
        if self._is_refused(query):
            return Answer(b"Virtuoso 42000 Error: timeout", 500)
        limit = int(query.rpartition("LIMIT ")[2]) if "LIMIT " in query else 0
        if limit > self.sorted_limit:
            message = f"Virtuoso 22023 Error SR353: Sorted TOP clause specifies more then {limit} rows to sort."
            return Answer(message.encode(), 500)
        if "html_page" in self.faults and "LIMIT" in query:
            return Answer(b"<html>An error</html>", headers={"Content-Type": "text/html"})
        if "ignores_filter" in self.faults:
            query = query.replace("STR(?d) >", "STR(?d) !=")
        found: Any = self._collated(query, limit) if "ORDER BY" in query else self.store.query(query)
        if word == "ASK":
            return Answer(b'{"head": {}, "boolean": %s}' % str(bool(found)).lower().encode())
        rows = [_binding(name, row[name]) for row in found for name in (_variable(query),) if row[name] is not None]
        if "odd_iri" in self.faults and "LIMIT" in query and "FILTER(STR" not in query:
            rows.insert(0, '{"d": {"type": "uri", "value": "https://data.example.org/a b> . } #"}}')
        if "short_count" in self.faults and "COUNT" in query and "isIRI" in query:
            rows = ['{"n": {"type": "literal", "value": "99"}}']
        body = f'{{"head": {{}}, "results": {{"bindings": [{", ".join(rows[: self.max_rows])}]}}}}'
        return Answer(body.encode(), headers={"Content-Type": JSON})

    def _is_refused(self, query: str) -> bool:
        is_blank, is_count = "isBlank" in query, "COUNT" in query
        faults = {"no_blanks": is_blank, "no_count": is_count, "no_blank_count": is_blank and is_count}
        return any(is_met for fault, is_met in faults.items() if fault in self.faults)

    def _collated(self, query: str, limit: int) -> Any:
        if "collation" not in self.faults:
            return self.store.query(query)
        rows: Any = self.store.query(query.partition("ORDER BY")[0])
        return sorted(rows, key=lambda row: row["d"].value.casefold())[:limit]

    def _graph(self, query: str, word: str) -> Answer:
        count = query.partition("}")[0].count(f"<{DATA}/dataset/") if word == "DESCRIBE" else _values(query)
        if word == "CONSTRUCT" and "no_construct" in self.faults:
            return Answer(b"CONSTRUCT is not allowed", 400)
        if count > self.max_values:
            return Answer(b"timeout", 500)
        if "poison" in self.faults and f"<{iri(7)}>" in query:
            return Answer(b"java.lang.NullPointerException", 500)
        described: Any = self.store.query(query)
        triples = [] if "no_descriptions" in self.faults else list(islice(described, self.max_rows))
        if self.sorted_triples:
            triples = sorted(triples, key=lambda one: str(one.subject))[: self.sorted_triples]
        headers = {"Content-Type": "application/n-triples"}
        if "anytime" in self.faults and count > 5:
            triples, headers = triples[: len(triples) // 2], {**headers, "X-SQL-State": "S1TAT"}
        status = 206 if "partial" in self.faults and count > 5 else 200
        return Answer(_n_triples(triples), status, headers)


def _query(asked: Asked) -> str:
    text = asked.body.decode() if asked.method == "POST" else urlsplit(asked.path).query
    return parse_qs(text).get("query", [""])[0]


def _values(query: str) -> int:
    """How many datasets a CONSTRUCT is about."""
    return query.partition("VALUES ?s {")[2].partition("}")[0].count("<")


def _variable(query: str) -> str:
    return "n" if "COUNT" in query else "d"


def _binding(name: str, term: Term) -> str:
    kind = {NamedNode: "uri", BlankNode: "bnode"}.get(type(term), "literal")
    return f'{{"{name}": {{"type": "{kind}", "value": "{term.value}"}}}}'


def _n_triples(triples: list[Triple]) -> bytes:
    return pyoxigraph.serialize(triples, format=RdfFormat.N_TRIPLES) or b""
