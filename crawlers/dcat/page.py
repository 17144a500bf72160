"""What an answer holds: datasets to take, and where it goes on. RDF and data.json alike."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from crawlers.items import Dataset
from crawlers.rdf.reader import Fault
from crawlers.safety import strict_json

PATIENCE = 2
"""Pages in a row without a new dataset, before a walk is taken for a loop."""
MOST_PAGES = 20_000


@dataclass(slots=True)
class Place:
    """Where a walk through pages is; travels with the request.

    Args:
        listed: datasets on the pages before.
        resources: those of them.
        total: how many datasets the catalogue says it has.
        stale: pages in a row without a new dataset.
        empty: whether the page has no dataset at all, new or not.
        catalogue: whether one of the pages was a catalogue, be it an empty one.
        told: whether a page said where the next one is; from then on none is guessed.
        guessed: whether no page said that there is this one.
        hops: how many HTML pages led here.
    """

    number: int = 1
    listed: int = 0
    resources: int = 0
    total: int | None = None
    stale: int = 0
    empty: bool = False
    catalogue: bool = False
    told: bool = False
    guessed: bool = False
    hops: int = 0

    @property
    def is_fruitful(self) -> bool:
        """Whether it is worth while to go on."""
        return self.stale < PATIENCE and self.number <= MOST_PAGES

    @property
    def is_end(self) -> bool:
        """Whether a page without a next one may be the last: one that a page promised is not empty, or all known."""
        return self.number <= 2 or self.guessed or (not self.empty and not self.stale)

    @property
    def is_all(self) -> bool:
        """Whether as many were listed as there are said to be."""
        return self.total is not None and self.listed >= self.total

    def after(self, page: Page) -> Place:
        """The place behind a page, before any of its records is counted."""
        total = page.total()
        return replace(
            self,
            number=self.number + 1,
            total=self.total if total is None else total,
            stale=self.stale + 1,
            empty=True,
            catalogue=self.catalogue or page.is_catalogue(),
            told=self.told or total is not None,
        )

    def plain(self) -> dict[str, Any]:
        return asdict(self)


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

    def total(self) -> int | None:
        return None

    def undescribed(self) -> Iterator[str]:
        """The datasets that the page names, and says nothing of."""
        yield from ()

    def is_catalogue(self) -> bool:
        """Whether it is a catalogue, even an empty one."""
        return True

    def close(self) -> None:  # noqa: B027  # most hold nothing
        """Lets go of what it holds."""


def digest(identifier: str, document: Any) -> str:
    """An id and what is said under it: the same record again, or another with the same id."""
    return f"{identifier} {hashlib.sha256(strict_json.dumps(document)).hexdigest()}"
