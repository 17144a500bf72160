"""The catalogues of an export: one for each source, and a catalogue of catalogues if there are several sources."""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from crawlers.records.rdf.terms import DCAT, DCT, FOAF, Graph
from crawlers.store.export.description import description
from crawlers.store.export.iris import Taken, iri, minted
from crawlers.store.export.nodes import Nodes, literal, named_agent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.items import Dataset


class Catalogue(NamedTuple):
    graph: Graph
    subject: str
    datasets: Iterator[tuple[Graph, str]]
    """Each dataset's graph and its IRI; read them before the next catalogue."""


def catalogues(datasets: Iterable[Dataset], profile: str = "dcat-ap") -> Iterator[Catalogue]:
    """Yield the catalogue of each source, then one of all sources if there are several, and none in DCAT-US.

    Args:
        datasets: grouped by source.
        profile: the name of the profile that the datasets have.
    """
    subjects = []
    with Taken() as taken:
        for source, held in groupby(datasets, key=lambda dataset: dataset.source):
            first = next(held)
            graph, subject = of_source(source, first)
            subjects.append(taken.first(None, subject))
            yield Catalogue(graph, subject, (description(dataset, taken, profile) for dataset in chain([first], held)))
    if len(subjects) != 1 and profile != "dcat-us":  # where a catalogue must have datasets
        yield Catalogue(*_of_all(subjects), iter(()))


def of_source(source: str, dataset: Dataset) -> tuple[Graph, str]:
    """Return a source's catalogue; all that is known of its publisher is the address of a dataset."""
    address = urlsplit(iri(dataset.metadata_url) or "")
    publisher = address.hostname or source
    about, subject = _catalogue(source, f"The datasets of {publisher}, as they were copied.", publisher)
    if address.netloc and (home := iri(f"{address.scheme}://{address.netloc}/")):
        about.say(subject, FOAF + "homepage", about.node(home, FOAF + "Document"))
        about.say(home, DCT + "title", literal(publisher))
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
    about.say(subject, DCT + "publisher", named_agent(about, publisher))
    return about, subject
