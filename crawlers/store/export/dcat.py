"""The catalogues of an export, as RDF/XML, Turtle and JSON-LD, a dataset at a time.

There is one for each source, and a catalogue of catalogues if there are several sources.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from io import BytesIO
from itertools import chain, groupby
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit
from xml.parsers.expat import ExpatError, ParserCreate

import orjson
from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple, parse, serialize
from pyoxigraph import Literal as OxigraphLiteral

from crawlers.items import Agent
from crawlers.records.rdf.dcat_context import PREFIXES, TERMS, context
from crawlers.records.rdf.document import document
from crawlers.records.rdf.terms import DCAT, DCT, FOAF, RDFS, TYPE, XSD, Graph, Literal, is_blank
from crawlers.store.export.description import description
from crawlers.store.export.nodes import Nodes, Taken, agent, iri, literal, minted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from crawlers.items import Dataset
    from crawlers.records.rdf.terms import Term

    Scores = Callable[[Dataset], Mapping[str, tuple[float, int]]]
    """Returns the points of a dataset by each metric, and of how many that is."""


DQV = "http://www.w3.org/ns/dqv#"
METRICS = "https://piveau.eu/ns/voc#"
"""The metrics by which data.europa.eu publishes its assessment: scoring, findabilityScoring ..."""


class ExportedCatalogue(NamedTuple):
    graph: Graph
    subject: str
    datasets: Iterator[tuple[Graph, str]]
    """Each dataset's graph and its IRI; read them before the next catalogue."""


def catalogues(
    datasets: Iterable[Dataset], profile: str = "dcat-ap", scores: Scores | None = None
) -> Iterator[ExportedCatalogue]:
    """Yield the catalogue of each source, then one of all sources if there are several, and none in DCAT-US.

    Args:
        datasets: grouped by source.
        profile: the name of the profile that the datasets have.
        scores: returns the points of a dataset, which are added as measurements.
    """
    subjects = []
    with Taken() as taken:
        for graph, subject, held in of_sources(datasets):
            taken.take(subject)
            subjects.append(subject)
            described = ((dataset, *description(dataset, taken, profile)) for dataset in held)
            yield ExportedCatalogue(
                graph,
                subject,
                ((_measured(nodes, name, scores and scores(dataset)), name) for dataset, nodes, name in described),
            )
    if len(subjects) != 1 and profile != "dcat-us":  # where a catalogue must have datasets
        about, subject = _catalogue("All sources", "The catalogues of all sources, as they were copied.", "Several")
        about.say(subject, DCAT + "catalog", *subjects)
        yield ExportedCatalogue(about.graph, subject, iter(()))


def of_sources(datasets: Iterable[Dataset]) -> Iterator[tuple[Graph, str, Iterator[Dataset]]]:
    """Yield the catalogue of each source, its name, and its datasets: read them before the next catalogue."""
    for source, held in groupby(datasets, key=lambda dataset: dataset.source):
        first = next(held)
        address = urlsplit(iri(first.metadata_url) or "")  # all that is known of the publisher
        publisher = address.hostname or source
        about, subject = _catalogue(source, f"The datasets of {publisher}, as they were copied.", publisher)
        if address.netloc and (home := iri(f"{address.scheme}://{address.netloc}/")):
            about.say(subject, FOAF + "homepage", about.node(home, FOAF + "Document"))
            about.say(home, DCT + "title", literal(publisher))
        yield about.graph, subject, chain([first], held)  # noqa: B031 -- the first one and the others


def _catalogue(title: str, text: str, publisher: str) -> tuple[Nodes, str]:
    about = Nodes()
    subject = about.node(minted("catalogue", title), DCAT + "Catalog")
    about.say(subject, DCT + "title", literal(title))
    about.say(subject, DCT + "description", literal(text))
    about.say(subject, DCT + "publisher", agent(about, Agent(name=publisher)))
    return about, subject


def _measured(nodes: Graph, subject: str, scores: Mapping[str, tuple[float, int]] | None) -> Graph:
    """Add what a dataset's metadata are worth, by the Data Quality Vocabulary and the metrics of data.europa.eu."""
    for metric, (points, known) in (scores or {}).items():
        if known:
            name = f"_:q{metric}"
            nodes[name] = {
                TYPE: [f"{DQV}QualityMeasurement"],
                f"{DQV}isMeasurementOf": [METRICS + metric],
                f"{DQV}value": [Literal(f"{points:.1f}", datatype=f"{XSD}decimal")],
                f"{RDFS}comment": [Literal(f"of {known} points that are known")],
            }
            if not is_blank(subject):  # a label of a blank node holds in all of a document
                nodes[name][f"{DQV}computedOn"] = [subject]
            nodes[subject].setdefault(f"{DQV}hasQualityMeasurement", []).append(name)
    return nodes


# As RDF/XML and Turtle

_PREFIXES = {
    name: PREFIXES[name]
    for name in ("dcat", "dct", "foaf", "geo", "geodcatap", "locn", "rdfs", "skos", "spdx", "vcard", "xsd")
}

_HEAD = re.compile(rb"""\A(?:<\?xml[^\n]*\n<rdf:RDF(?: xmlns:\w+="[^"]*")+>|(?:@prefix [^\n]*\n)+)""")
_PREFIX = re.compile(rb"""@prefix [^\n]*\n| xmlns:\w+="[^"]*\"""")


def _write(
    datasets: Iterable[Dataset],
    output: IO[bytes],
    *,
    format: RdfFormat,  # noqa: A002
    scores: Scores | None = None,
) -> None:
    into = cast("IO[bytes]", _InOrder(output))
    triples = _triples(_graphs(datasets, scores))
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


def _graphs(datasets: Iterable[Dataset], scores: Scores | None) -> Iterator[Graph]:
    for catalogue in catalogues(datasets, scores=scores):
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


rdf_xml = partial(_write, format=RdfFormat.RDF_XML)
turtle = partial(_write, format=RdfFormat.TURTLE)


# As JSON-LD, with the same terms as the documents on disk


def json_ld(
    datasets: Iterable[Dataset], output: IO[bytes], *, profile: str = "dcat-ap", scores: Scores | None = None
) -> None:
    """Write one object, whose ``@graph`` has the catalogues; each dataset is on a line of its own."""
    output.write(b'{"@context":' + orjson.dumps(context(TERMS.values(), PREFIXES)) + b',\n"@graph":[')
    for number, catalogue in enumerate(catalogues(datasets, profile, scores)):
        output.write(b",\n" if number else b"\n")
        output.write(_node(catalogue.graph, catalogue.subject).removesuffix(b"}") + b',"dataset":[')
        for position, (graph, subject) in enumerate(catalogue.datasets):
            output.write((b",\n" if position else b"\n") + _node(graph, subject))
        output.write(b"]}")
    output.write(b"]}\n")


def _node(graph: Graph, subject: str) -> bytes:
    """Return a node without its context, which the export has once."""
    node: dict[str, Any] = document(graph, subject)
    del node["@context"]
    return orjson.dumps(node)


dcat_us = partial(json_ld, profile="dcat-us")
