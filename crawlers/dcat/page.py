"""What an answer holds: datasets to take, and where it goes on. RDF and data.json alike."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from crawlers.items import Dataset
from crawlers.rdf.reader import Fault
from crawlers.safety import strict_json


@dataclass(frozen=True, slots=True)
class Record:
    """
    Args:
        key: what tells it from every other record: its IRI, or else its id and what it says.
        id: the dataset's id; ``None`` when it has none.
        what: what people know it by; the same whenever the page is read.
        item: makes the item.
    """

    key: str
    id: str | None
    what: str
    item: Callable[[], Dataset]


class Page(ABC):
    """
    Attributes:
        source: the item's ``metadata_source``.
        faults: what could not be read.
        repairs: what had to be mended before it could be read.
        nameless: how many records had no id so far.
    """

    source: str

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.repairs: list[str] = []
        self.nameless = 0

    def load(self) -> Iterator[None]:
        """Reads the page, a step at a time."""
        yield from ()

    @abstractmethod
    def records(self) -> Iterator[Record]: ...

    @abstractmethod
    def is_first(self, identifier: str) -> bool:
        """Whether no record of this page had that id before."""

    def torn(self, fault: Fault) -> str | None:  # noqa: ARG002
        """Return the id of the dataset in whose description a fault is; known when all `records` have come."""
        return None

    def lacks(self, document: Any, before: Any) -> bool:  # noqa: ARG002
        """Return whether a document lacks what an older one of the same dataset has."""
        return False

    def following(self, here: str) -> str | None:  # noqa: ARG002
        """The next page's address, if the page says it."""
        return None

    def first(self, here: str) -> str | None:  # noqa: ARG002
        """Return the address of the first page, where the page names that and no next one."""
        return None

    def last(self, here: str) -> str | None:  # noqa: ARG002
        """Return the address of the last page, if that is neither this page nor the first one."""
        return None

    def total(self) -> int | None:
        return None

    def is_ckan(self, here: str) -> bool:  # noqa: ARG002
        """Return whether ckanext-dcat made it, which can be asked for what was modified since a time."""
        return False

    def ways(self) -> Iterator[str]:
        """Further pages in no order, as TREE and LDES have them."""
        yield from ()

    def catalogues(self) -> Iterator[str]:
        """The catalogues that are parts of this one, and whose contents are not on the page; after all records."""
        yield from ()

    def undescribed(self) -> Iterator[str]:
        """The datasets that the page names, and says nothing of; after all records."""
        yield from ()

    def is_described(self, name: str) -> bool:  # noqa: ARG002
        """Return whether the page says anything of what has a name."""
        return True

    def is_catalogue(self) -> bool:
        """Whether it is a catalogue, even an empty one."""
        return True

    def close(self) -> None:  # noqa: B027  # most hold nothing
        """Lets go of what it holds."""


def digest(identifier: str, document: Any) -> str:
    """An id and what is said under it: the same record again, or another with the same id."""
    return f"{identifier} {hashlib.sha256(strict_json.dumps(document)).hexdigest()}"
