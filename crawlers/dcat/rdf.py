"""A page of RDF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from crawlers.dcat import paging
from crawlers.dcat.catalogue import MOST_NODES, TIMES, Catalogue
from crawlers.dcat.page import Page, Record, digest
from crawlers.mapping import dcat
from crawlers.mapping.dcat.document import document, graph_of
from crawlers.mapping.dcat.losses import has_lost, is_cut
from crawlers.rdf.reader import Reader
from crawlers.rdf.terms import is_blank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Dataset
    from crawlers.rdf.formats import Format
    from crawlers.rdf.reader import Fault
    from crawlers.rdf.terms import Graph


_TOO_LONG = "its description is too long: nodes with long texts are named, and what they say is left out"
_TOO_MANY = f"its description has more than {MOST_NODES} nodes: the rest is left out"
_TORN = "a part of the file next to its description can't be read: it may be incomplete"


class RDFPage(Page):
    """
    Attributes:
        owners: the datasets in whose descriptions the faults are: by fault, how near it is, and the dataset's id.
    """

    source = "rdf"

    def __init__(self, file: BinaryIO, format_: Format, base: str, *, name: str, language: str | None) -> None:
        super().__init__()
        self.reader = Reader(file, format_, base)
        self.faults = self.reader.faults
        self.catalogue = Catalogue()
        self.name, self.language = name, language
        self.owners: dict[int, tuple[int, str]] = {}

    def load(self) -> Iterator[None]:
        """Reads the page, a step at a time; of a fault it takes note which dataset had begun last."""
        known, begun = 0, ""
        for _ in self.catalogue.read(self.reader):
            for fault in self.faults[known:]:
                fault.subjects.append(begun)
            known, begun = len(self.faults), self.catalogue.begun
            yield
        for fault in self.faults[known:]:
            fault.subjects.append(begun)
        self.catalogue.budget += TIMES * self.reader.size

    def records(self) -> Iterator[Record]:
        return (self._record(number, subject) for number, subject in enumerate(self.catalogue.datasets(), 1))

    def _record(self, number: int, subject: str) -> Record:
        description, whole = self.catalogue.description(subject)
        identifier = dcat.identity(description, subject)
        torn = bool(self.faults) and self._is_torn(description, identifier)

        def item() -> Dataset:
            dataset = dcat.dataset(description, subject, source=self.name, language=self.language)
            dataset.document = document(description, subject)
            if not whole:
                dataset.flaws.append(_TOO_LONG if len(description) < MOST_NODES else _TOO_MANY)
            if torn:
                dataset.torn = True
                dataset.flaws.append(_TORN)
            return dataset

        if not is_blank(subject):
            return Record(subject, identifier, subject, item)
        key = digest(identifier, document(description, subject)) if identifier else ""
        return Record(key, identifier, f"dataset {number} of the page, which has no IRI,", item)

    def _is_torn(self, description: Graph, identifier: str | None) -> bool:
        """Whether a fault may have taken something from a description; the faults learn whose it is."""
        torn = is_cut(description)
        for number, fault in enumerate(self.faults):
            near = next((at for at, one in enumerate(fault.subjects) if one in description), None)
            if near is not None:
                torn = True
                if identifier:
                    self.owners[number] = min(self.owners.get(number, (near, identifier)), (near, identifier))
        return torn

    def torn(self, fault: Fault) -> str | None:
        owner = self.owners.get(self.faults.index(fault))
        return owner[1] if owner else None

    def lacks(self, document: Any, before: Any) -> bool:
        return has_lost(graph_of(document), graph_of(before))

    def is_first(self, identifier: str) -> bool:
        return self.catalogue.is_first(identifier)

    def following(self, here: str) -> str | None:
        return paging.stated(self.catalogue.paging, here)

    def total(self) -> int | None:
        return paging.total(self.catalogue.paging)

    def first(self, here: str) -> str | None:
        return paging.first(self.catalogue.paging, here)

    def last(self, here: str) -> str | None:
        return paging.last(self.catalogue.paging, here)

    def ways(self) -> Iterator[str]:
        return iter(self.catalogue.pages)

    def catalogues(self) -> Iterator[str]:
        return self.catalogue.catalogues()

    def is_ckan(self, here: str) -> bool:
        return self.catalogue.is_paged_collection and paging.is_numbered(self.catalogue.paging, here)

    def is_described(self, name: str) -> bool:
        return self.catalogue.is_described(name)

    def undescribed(self) -> Iterator[str]:
        return self.catalogue.undescribed()

    def is_catalogue(self) -> bool:
        return self.catalogue.is_catalogue or bool(self.catalogue.paging)

    def close(self) -> None:
        self.catalogue.close()
