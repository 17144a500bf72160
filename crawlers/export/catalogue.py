"""The catalogues that an export is: one a source, and one of those when there are several."""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from crawlers.export.description import description
from crawlers.export.iris import Taken, iri, minted
from crawlers.export.literals import literal
from crawlers.export.nodes import Nodes
from crawlers.rdf.namespaces import DCAT, DCT, FOAF
from crawlers.rdf.terms import Graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.items import Dataset


class Catalogue(NamedTuple):
    graph: Graph
    subject: str
    datasets: Iterator[tuple[Graph, str]]
    """Each dataset's graph and its IRI; to be taken before the next catalogue is."""


def catalogues(datasets: Iterable[Dataset]) -> Iterator[Catalogue]:
    """
    Args:
        datasets: those of a source stand together.
    """
    subjects = []
    with Taken() as taken:
        for source, held in groupby(datasets, key=lambda one: one.source):
            first = next(held)
            graph, subject = _of_source(source, first)
            subjects.append(taken.first(None, subject))
            yield Catalogue(graph, subject, (description(one, taken) for one in chain([first], held)))
    if len(subjects) != 1:
        yield Catalogue(*_of_all(subjects), iter(()))


def _of_source(source: str, one: Dataset) -> tuple[Graph, str]:
    """Of who publishes the catalogue no more is known than the address of its datasets."""
    address = urlsplit(iri(one.metadata_url) or "")
    publisher = address.hostname or source
    about, subject = _catalogue(source, f"The datasets of {publisher}, as they were copied.", publisher)
    if address.netloc and (home := iri(f"{address.scheme}://{address.netloc}/")):
        about.say(subject, FOAF + "homepage", about.node(home, FOAF + "Document"))
    return about.graph, subject


def _of_all(subjects: list[str]) -> tuple[Graph, str]:
    about, subject = _catalogue("All sources", "The catalogues of all sources, as they were copied.", "Several")
    about.say(subject, DCAT + "catalog", *subjects)
    return about.graph, subject


def _catalogue(title: str, text: str, publisher: str) -> tuple[Nodes, str]:
    about = Nodes()
    subject = about.node(minted("catalogue", title), DCAT + "Catalog")
    about.say(subject, DCT + "title", literal(title))
    about.say(subject, DCT + "description", literal(text))
    agent = about.node(None, FOAF + "Agent")
    about.say(agent, FOAF + "name", literal(publisher))
    about.say(subject, DCT + "publisher", agent)
    return about, subject
