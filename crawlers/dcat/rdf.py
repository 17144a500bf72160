"""A page of RDF."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from crawlers.dcat import paging
from crawlers.dcat.catalogue import Catalogue
from crawlers.dcat.page import Page, Record, digest
from crawlers.mapping import dcat
from crawlers.mapping.dcat.document import document
from crawlers.rdf.reader import Reader
from crawlers.rdf.terms import is_blank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Dataset
    from crawlers.rdf.formats import Format


class RDFPage(Page):
    source = "rdf"

    def __init__(self, file: BinaryIO, format_: Format, base: str, *, name: str, language: str | None) -> None:
        super().__init__()
        self.reader = Reader(file, format_, base)
        self.faults = self.reader.faults
        self.catalogue = Catalogue()
        self.name, self.language = name, language

    def load(self) -> Iterator[None]:
        return self.catalogue.read(self.reader)

    def records(self) -> Iterator[Record]:
        return (self._record(number, subject) for number, subject in enumerate(self.catalogue.datasets(), 1))

    def _record(self, number: int, subject: str) -> Record:
        description, whole = self.catalogue.description(subject)
        identifier = dcat.identity(description, subject)

        def item() -> Dataset:
            dataset = dcat.dataset(description, subject, source=self.name, language=self.language)
            dataset.document = document(description, subject)
            if not whole:
                dataset.flaws.append(f"its description has more than {len(description)} nodes: the rest is left out")
            return dataset

        if not is_blank(subject):
            return Record(subject, identifier, subject, item)
        key = digest(identifier, document(description, subject)) if identifier else ""
        return Record(key, identifier, f"dataset {number} of the page, which has no IRI,", item)

    def is_first(self, identifier: str) -> bool:
        return self.catalogue.is_first(identifier)

    def following(self, here: str) -> str | None:
        return paging.stated(self.catalogue.paging, here)

    def total(self) -> int | None:
        return paging.total(self.catalogue.paging)

    def undescribed(self) -> Iterator[str]:
        return self.catalogue.undescribed()

    def is_catalogue(self) -> bool:
        return self.catalogue.is_catalogue or bool(self.catalogue.paging)

    def close(self) -> None:
        self.catalogue.close()
