"""DCAT-AP 3 as RDF/XML and Turtle, a dataset at a time."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from io import BytesIO
from typing import IO, TYPE_CHECKING, cast
from xml.parsers.expat import ExpatError, ParserCreate

from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple, parse, serialize
from pyoxigraph import Literal as OxigraphLiteral

from crawlers.records.rdf.dcat_context import PREFIXES
from crawlers.records.rdf.terms import DCAT
from crawlers.store.export.catalogue import catalogues

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.items import Dataset
    from crawlers.records.rdf.terms import Graph, Term

_PREFIXES = {
    name: PREFIXES[name]
    for name in ("dcat", "dct", "foaf", "geo", "geodcatap", "locn", "rdfs", "skos", "spdx", "vcard", "xsd")
}

_HEAD = re.compile(rb"""\A(?:<\?xml[^\n]*\n<rdf:RDF(?: xmlns:\w+="[^"]*")+>|(?:@prefix [^\n]*\n)+)""")
_PREFIX = re.compile(rb"""@prefix [^\n]*\n| xmlns:\w+="[^"]*\"""")


def write(datasets: Iterable[Dataset], output: IO[bytes], *, format: RdfFormat) -> None:  # noqa: A002
    into = cast("IO[bytes]", _InOrder(output))
    triples = _triples(_graphs(datasets))
    if format == RdfFormat.RDF_XML:
        triples = (each for each in triples if _has_xml_name(each.predicate))
    serialize(triples, into, format, prefixes=_PREFIXES)


@lru_cache(maxsize=1024)
def _has_xml_name(predicate: NamedNode) -> bool:
    """Return whether RDF/XML can write a property: no element is called ``2024``, and ``rdf:li`` means another one."""
    written = BytesIO()
    try:
        serialize([Triple(BlankNode(), predicate, OxigraphLiteral(""))], written, RdfFormat.RDF_XML)
        ParserCreate(namespace_separator=" ").Parse(written.getvalue(), True)
        return any(each.predicate == predicate for each in parse(written.getvalue(), RdfFormat.RDF_XML))
    except (OSError, SyntaxError, ExpatError):
        return False


class _InOrder:
    """Puts prefixes into the order of the alphabet; pyoxigraph writes them in another one every time."""

    def __init__(self, output: IO[bytes]) -> None:
        self.output = output
        self.begun = False

    def write(self, part: bytes) -> int:
        size = len(part)
        if not self.begun:
            self.begun = True
            part = _HEAD.sub(_sorted, bytes(part), count=1)
        self.output.write(part)
        return size

    def flush(self) -> None:
        self.output.flush()


def _sorted(head: re.Match[bytes]) -> bytes:
    prefixes = iter(sorted(_PREFIX.findall(head[0])))
    return _PREFIX.sub(lambda _: next(prefixes), head[0])


rdf_xml = partial(write, format=RdfFormat.RDF_XML)
turtle = partial(write, format=RdfFormat.TURTLE)


def _graphs(datasets: Iterable[Dataset]) -> Iterator[Graph]:
    for catalogue in catalogues(datasets):
        yield catalogue.graph
        for graph, subject in catalogue.datasets:
            listed: Graph = {catalogue.subject: {DCAT + "dataset": [subject]}}
            yield listed | graph


def _triples(graphs: Iterable[Graph]) -> Iterator[Triple]:
    for number, graph in enumerate(graphs):
        for subject, said in graph.items():
            node = _name(subject, number)
            for predicate, values in said.items():
                name = NamedNode(predicate)
                for value in values:
                    yield Triple(node, name, _term(value, number))


def _term(term: Term, number: int) -> NamedNode | BlankNode | OxigraphLiteral:
    if isinstance(term, str):
        return _name(term, number)
    if term.language:
        return OxigraphLiteral(term.value, language=term.language)
    return OxigraphLiteral(term.value, datatype=NamedNode(term.datatype) if term.datatype else None)


def _name(term: str, number: int) -> NamedNode | BlankNode:
    """A blank node's name is its own within its graph only, which is the number's."""
    return BlankNode(f"{term[2:]}g{number}") if term.startswith("_:") else NamedNode(term)
