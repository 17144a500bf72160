"""What an answer holds: the records of a page of RDF or of a data.json, and where it leads."""

from __future__ import annotations

import gc
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from crawlers.items import Dataset, Flaw
from crawlers.kinds.dcat.catalogue import CATALOGUE, MAX_NODES, MENTIONED, SHARED_FACTOR, Catalogue
from crawlers.kinds.dcat.paging import Paging
from crawlers.records import data_json, dcat
from crawlers.records.dcat.datasets import has_lost, is_cut
from crawlers.records.lazy_dataset import LazyDataset
from crawlers.records.rdf.apart import reader
from crawlers.records.rdf.document import document, graph_of
from crawlers.records.rdf.reader import Fault
from crawlers.records.rdf.terms import is_blank
from crawlers.safety import bounds, strict_json

if TYPE_CHECKING:
    from crawlers.records.rdf.formats import Format
    from crawlers.records.rdf.terms import Graph

    Amend = Callable[[Dataset], None]

_SHOWN = 100
_TOO_LONG = Flaw(
    "its description is too long: nodes with many or long texts are named, and the document lacks what they say",
    "",
    "cut_value",
)
_TOO_MANY = Flaw(f"its description has more than {MAX_NODES} nodes: the document lacks the rest", "", "cut_value")
_TORN = Flaw(
    "a part of the file next to its description can't be read: it may be incomplete", "", "unreadable_statement"
)


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One dataset of a page.

    Args:
        key: tells the record from every other one: its IRI, or else its id and a hash of its content.
        id: the dataset's id; ``None`` if it has none.
        what: what messages call it; the same whenever the page is read.
        title: a title that it has, for messages.
        iri: its IRI, if it has one.
        is_mention: whether the page describes it in passing only; another page may list it.
        is_named: whether another dataset of the page names it, if it is described in passing.
        item: makes the item; one of RDF is mapped when a field of it is read, unless it may lack something. It raises
            an AnswerError where the record is too large.
    """

    key: str
    id: str | None
    what: str
    item: Callable[[], Dataset]
    title: str | None = None
    iri: str | None = None
    is_mention: bool = False
    is_named: bool = False


class CataloguePage(ABC):
    """The content of one answer.

    Attributes:
        source: the item's ``metadata_source``.
        faults: the places that can't be read.
        misread: what is in another encoding than it should be, as sentences; known when the page is read.
        paging: what the page says about further pages.
        nameless: how many records without an id were met so far.
        is_of_one: whether it describes one dataset and is no part of a catalogue: no list would name a lost one.
    """

    source: str
    is_of_one = False

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.misread: list[str] = []
        self.paging = Paging()
        self.nameless = 0

    def load(self) -> Iterator[None]:
        """Read the page; pause now and then, so that the caller can do something else meanwhile."""
        yield from ()

    @abstractmethod
    def records(self) -> Iterator[PageRecord]: ...

    @abstractmethod
    def is_first(self, identifier: str) -> bool:
        """Return whether no record of this page had that id before."""

    @property
    def is_torn(self) -> bool:
        """Whether more than statements of the page's datasets may be lost."""
        return bool(self.faults)

    def owner(self, fault: Fault) -> str | None:
        """Return the id of the dataset that a fault may belong to; known after the last of `records`."""
        return None

    def costs_a_statement(self, fault: Fault) -> bool:
        """Return whether a fault cost its dataset a statement at most, and no other one anything."""
        return False

    def has_lost(self, document: Any, before: Any) -> bool:
        """Return whether a document lacks statements that an older document of the same dataset has."""
        return False

    def catalogues(self) -> Iterator[str]:
        """Yield the catalogues that are parts of this one and whose contents are not here; after all records."""
        yield from ()

    def unknown_parts(self) -> Iterator[str]:
        """Yield the parts of the catalogue that may be catalogues, and that nothing here describes."""
        yield from ()

    def undescribed(self) -> Iterator[str]:
        """Yield the datasets that the page names and does not describe; after all records."""
        yield from ()

    def is_described(self, name: str) -> bool:
        """Return whether the page says anything about what has that name."""
        return True

    def is_catalogue(self) -> bool:
        """Return whether the page is a catalogue, even an empty one."""
        return True

    def close(self) -> None:  # noqa: B027  # most hold nothing
        """Release temporary files."""


class DataJSONPage(CataloguePage):
    """A data.json, of Project Open Data or DCAT-US.

    Args:
        content: the JSON value.
        faults: what is wrong with the file, as sentences.
        name: the source's.
    """

    source = "data_json"

    def __init__(self, content: Any, faults: list[str], *, name: str) -> None:
        super().__init__()
        self.faults = [Fault(message) for message in faults]
        self.content, self.name = content, name
        self.ids: set[str] = set()

    def records(self) -> Iterator[PageRecord]:
        return map(self._record, data_json.records(self.content))

    def _record(self, entry: data_json.Entry) -> PageRecord:
        if not isinstance(entry.value, dict):
            return PageRecord("", None, f"{entry.place}, which is not an object,", lambda: self._item({}, ""))
        identifier, title = data_json.identity(entry.value), entry.value.get("title")
        title = title[:_SHOWN] if isinstance(title, str) else None
        what = f"{entry.place}, {title!r}," if title else entry.place
        key = _key(identifier, entry.value) if identifier else ""
        return PageRecord(key, identifier, what, lambda: self._item(entry.value, identifier or ""), title)

    def _item(self, record: dict[str, Any], identifier: str) -> Dataset:
        mapping = partial(data_json.dataset, record, source=self.name, id=identifier)
        return _lazily(mapping, source=self.name, id=identifier, document=record)

    def catalogues(self) -> Iterator[str]:
        return data_json.linked_catalogues(self.content)

    def is_first(self, identifier: str) -> bool:
        is_new = identifier not in self.ids
        self.ids.add(identifier)
        return is_new


class RDFPage(CataloguePage):
    """A page of RDF.

    Args:
        file: the text, in UTF-8 where the format is text.
        base: the page's address, against which relative IRIs are resolved.
        name: the source's.
        language: the language of titles and descriptions, where there are several.
        catalogue: what the page is read into, if that is another than DCAT's.

    Attributes:
        owners: the datasets that faults may belong to: by the fault's number, how near it is, and the dataset's id.
        mapped: returns a dataset's description as DCAT has it, and what changes its item.
    """

    source = "rdf"

    def __init__(
        self,
        file: BinaryIO,
        format_: Format,
        base: str,
        *,
        name: str,
        language: str | None,
        catalogue: Catalogue | None = None,
    ) -> None:
        super().__init__()
        self.reader = reader(file, format_, base)
        self.faults = self.reader.faults
        self.catalogue = catalogue or Catalogue()
        self.paging = self.catalogue.paging
        self.name, self.language = name, language
        self.owners: dict[int, tuple[int, str]] = {}
        self.mapped: Callable[[Graph, str], tuple[Graph, Amend | None]] = lambda description, _: (description, None)

    def load(self) -> Iterator[None]:
        known, latest = 0, ""
        for _ in self.catalogue.read(self.reader):
            gc.freeze()  # what was read stays, so that the collector need not look at it again and again
            self._give(self.faults[known:], latest)
            known, latest = len(self.faults), self.catalogue.latest
            yield
        self._give(self.faults[known:], latest)
        self.misread += self.reader.misread
        self.catalogue.descriptions.budget += SHARED_FACTOR * self.reader.size

    @staticmethod
    def _give(faults: list[Fault], latest: str) -> None:
        """Add the dataset that was read last to the subjects that may lack something by the faults."""
        for fault in faults:
            if not fault.is_repaired:
                fault.subjects.append(latest)

    def records(self) -> Iterator[PageRecord]:
        return (self._record(number, subject) for number, subject in enumerate(self.catalogue.datasets(), 1))

    def record(self, subject: str) -> PageRecord:
        """Return the record of one dataset that the page describes, whose identity is its IRI."""
        return self._record(1, subject, subject)

    def held(self, written: Any, subject: str) -> PageRecord:
        """Return the record of a document that another page gave."""
        return self._record_of(1, subject, (graph_of(written), True))

    def _record(self, number: int, subject: str, identity: str | None = None) -> PageRecord:
        return self._record_of(number, subject, self.catalogue.description(subject), identity)

    def _record_of(
        self, number: int, subject: str, described: tuple[Graph, bool], identity: str | None = None
    ) -> PageRecord:
        description, is_everything = described
        mapped, amend = self.mapped(description, subject)
        identifier = identity or dcat.identity(mapped, subject)
        near = self._near(description, identifier)

        def dataset() -> Dataset:
            found = dcat.dataset(
                mapped, subject, source=self.name, language=self.language, amend=amend, is_whole=is_everything
            )
            return identified(found, identity) if identity else found

        def item() -> Dataset:
            bounds.STATEMENTS.check(sum(map(len, description[subject].values())))
            written = document(description, subject)
            is_torn = bool(self.faults) and (is_cut(description) or not all(map(self._is_of_a_statement, near)))
            if is_everything and not is_torn:
                return _lazily(dataset, source=self.name, id=identifier, document=written)
            found = dataset()
            found.document, found.torn = written, is_torn
            if not is_everything:
                found.flaws.append(_TOO_LONG if len(description) < MAX_NODES else _TOO_MANY)
            if is_torn:
                found.flaws.append(_TORN)
            return found

        if not is_blank(subject):
            is_mention = not identity and self.catalogue.is_mention(subject)
            is_named = is_mention and self.catalogue.roles.has(subject, MENTIONED)
            return PageRecord(subject, identifier, subject, item, iri=subject, is_mention=is_mention, is_named=is_named)
        key = _key(identifier, document(description, subject)) if identifier else ""
        title = (dcat.title(mapped.get(subject, {})) or "")[:_SHOWN]
        what = (
            f"dataset {number} of the page, {title!r}, which has no IRI,"
            if title
            else f"dataset {number} of the page, which has no IRI,"
        )
        return PageRecord(key, identifier, what, item, title or None)

    def _near(self, description: Graph, identifier: str | None) -> list[int]:
        """Return the numbers of the faults that may belong to a description; remember whose each is."""
        found = []
        for number, fault in enumerate(self.faults):
            near = next((at for at, subject in enumerate(fault.subjects) if subject in description), None)
            if near is not None:
                found.append(number)
                if identifier:
                    self.owners[number] = min(self.owners.get(number, (near, identifier)), (near, identifier))
        return found

    @property
    def is_torn(self) -> bool:
        return not all(map(self._is_of_a_statement, range(len(self.faults))))

    def _is_of_a_statement(self, number: int) -> bool:
        """Return whether reading went on behind a fault, and no dataset is lost, or a list would name it."""
        fault = self.faults[number]
        if fault.is_repaired:
            return True
        if self.is_of_one or not fault.is_passed:
            return fault.is_passed and fault.is_within
        is_of_list = any(self.catalogue.roles.has(subject, CATALOGUE) for subject in fault.subjects[:1])
        return self.catalogue.has_list and not is_of_list

    def owner(self, fault: Fault) -> str | None:
        owner = self.owners.get(self.faults.index(fault))
        return owner[1] if owner else None

    def costs_a_statement(self, fault: Fault) -> bool:
        is_owned = fault.is_repaired or self.owner(fault) is not None
        return is_owned and self._is_of_a_statement(self.faults.index(fault))

    def has_lost(self, document: Any, before: Any) -> bool:
        return has_lost(graph_of(document), graph_of(before))

    def is_first(self, identifier: str) -> bool:
        return self.catalogue.roles.add_id(identifier)

    def catalogues(self) -> Iterator[str]:
        return self.catalogue.catalogues()

    def unknown_parts(self) -> Iterator[str]:
        return self.catalogue.unknown_parts()

    def is_described(self, name: str) -> bool:
        return self.catalogue.is_described(name)

    def undescribed(self) -> Iterator[str]:
        return self.catalogue.undescribed()

    def is_catalogue(self) -> bool:
        return self.catalogue.is_catalogue or bool(self.paging.statements)

    def close(self) -> None:
        self.catalogue.close()
        gc.unfreeze()


def _lazily(mapping: Callable[[], Dataset], **known: Any) -> Dataset:
    """Return an item that is mapped when a field of it is read; neither vocabulary has names, or dates of records."""
    return LazyDataset(mapping, name=None, metadata_modified=None, **known)


def identified(dataset: Dataset, identity: str) -> Dataset:
    dataset.id = identity
    for resource in dataset.resources:
        resource.dataset_id = identity
    return dataset


def _key(identifier: str, content: Any) -> str:
    """Return what tells a record from another one with the same id."""
    return f"{identifier} {hashlib.sha256(strict_json.dumps(content)).hexdigest()}"
