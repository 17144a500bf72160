"""A catalogue that is a tree of files, such as folders or a static STAC: each has records, and names other files."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from crawlers.exceptions import AnswerError
from crawlers.listing.dialect import Dialect, repeated
from crawlers.listing.ladder import Again
from crawlers.listing.walk import Entry, Offer, restored
from crawlers.records.moment import now

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset
    from crawlers.listing.crawl import Crawl
    from crawlers.listing.dialect import Rung
    from crawlers.listing.walk import ListingPage, Walk

_WAITING, _CONTENTS, _RESOURCES = "waiting", "contents", "resources"
_SHOWN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of a tree.

    Args:
        url: its address.
        depth: how many others lead to it.
        is_leaf: whether it has records alone.
    """

    url: str
    depth: int = 0
    is_leaf: bool = False


F = TypeVar("F", bound=File)


class Tree(Dialect[F]):
    """Reads each file once; where the user sets a limit one after the other, so that few are read for nothing.

    Attributes:
        branches: the list of the ledger that has the files that may name others.
        most: how many of those are read.
        cuts: whether the dataset that reaches the limit of resources is kept with those alone that the limit leaves.
    """

    ladder: ClassVar[tuple[Rung, ...]] = (Again(when=("truncated", "not_json")),)
    branches: ClassVar[str] = "files"
    most: ClassVar[int] = 100_000
    cuts: ClassVar[bool] = True

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl

    # The files that one names

    @cached_property
    def branch_count(self) -> int:
        """How many files that may name others are read: to count them for each takes its time."""
        return self.crawl.records.count(self.branches)

    def offer(self, found: Iterable[F], page: ListingPage[F], walk: Walk[F], response: Response) -> Iterator[None]:
        """Add files that an answer names to its page, in steps; report those that are too deep, or too many."""
        for address in (walk.ask.url, response.url):
            self.crawl.seen(address, list_name="addresses", listed_by=walk.name)
        offers = [*page.offers]
        page.offers = offers
        for file in found:
            yield
            if not self._is_new(file, page, walk, response):
                continue
            if self.crawl.limits.is_set:
                self.crawl.seen(file.url, list_name=_WAITING, listed_by=json.dumps(asdict(file)))
            else:
                offers.append(Offer("walk", file.url, file))

    def _is_new(self, file: F, page: ListingPage[F], walk: Walk[F], response: Response) -> bool:
        """Return whether no other file named it, and it may be read; a file that is asked for again names the same."""
        if not self.crawl.seen(file.url, list_name="addresses", listed_by=walk.name):
            return False
        if file.is_leaf or self.crawl.records.is_listed(file.url, self.branches):
            return True
        if file.depth <= self.traits.deepest and self.branch_count < self.most:
            self.branch_count += self.crawl.seen(file.url, list_name=self.branches, listed_by=walk.name)
            return True
        most = f"more than {self.traits.deepest} {self.branches} deep, or there are more than {self.most}"
        error = AnswerError("trap", f"{file.url[:_SHOWN]} is not read: it is {most}")
        self.crawl.failed("list", error, response.request)
        page.gaps += 1
        return False

    def ended(self, walk: Walk[F]) -> Iterator[Any] | None:
        """Yield the next of the files that wait, unless the user wants no more."""
        records = self.crawl.records
        for address in records.pending(_WAITING, "begun", walk.name):
            if self.left() <= 0:
                self.crawl.run_state.is_limited = True
                return None
            ask = json.loads(records.listed_by(address, _WAITING) or "")
            return iter((restored({"ask": ask, "name": address}, self.asks),))
        return None

    # Their records

    def is_wanted(self, dataset_id: str) -> bool:
        """Return whether a dataset is before the user's limit."""
        return self.crawl.records.is_listed(dataset_id, _CONTENTS)

    def left(self) -> int:
        """Return how many more resources may be taken; 0 if no dataset may be taken either."""
        records, limits = self.crawl.records, self.crawl.limits
        if not limits.is_set:
            return sys.maxsize
        return limits.resources_left(datasets=records.count(_CONTENTS), resources=records.count(_RESOURCES))

    def entries(
        self, found: Iterable[Dataset], page: ListingPage[F], walk: Walk[F], response: Response
    ) -> Iterator[Entry]:
        """Yield the datasets of a file, up to the user's limit; of different ones with one id, the first."""
        known: dict[str, Dataset] = {}
        for dataset in found:
            if not page.is_limited:  # else what is behind it is not wanted, and may have faults of those that are
                entry = self._entry(dataset, page, walk, response, known)
                yield from self.crawl.guarded(entry, response, {"id": dataset.id})

    def _entry(
        self, dataset: Dataset, page: ListingPage[F], walk: Walk[F], response: Response, known: dict[str, Dataset]
    ) -> Iterator[Entry]:
        left = self.left()
        if left <= 0 and not self.is_wanted(dataset.id):
            page.is_limited = True
            return
        first = known.setdefault(dataset.id, dataset)
        if self._is_another(dataset, walk.name, is_first=first is dataset):
            self.crawl.failed("list", self.double(dataset, first, response), response.request, dataset_id=dataset.id)
            return
        allowed = self._allowed(dataset, left) if self.crawl.limits.resources else None
        page.is_limited = allowed is not None and allowed < len(dataset.resources)
        yield Entry(dataset.id, {"id": dataset.id}, allowed or 0, (dataset, allowed), self.aliases(dataset))

    def _is_another(self, dataset: Dataset, name: str, *, is_first: bool) -> bool:
        """Return whether an id was that of a dataset with other contents; after a kill those of a file may change.

        Args:
            name: the file's.
            is_first: whether no other dataset of the file's answer has the id.
        """
        digest = hashlib.sha256(repr(dataset.document).encode()).hexdigest()
        if self.crawl.seen(dataset.id, list_name=_CONTENTS, listed_by=f"{digest} {name}"):
            return False
        noted, _, of = (self.crawl.records.listed_by(dataset.id, _CONTENTS) or "").partition(" ")
        return noted != digest and not (is_first and of == name)

    def _allowed(self, dataset: Dataset, left: int) -> int:
        """Return how many resources of a dataset are kept, which are noted; after a kill, as many as before."""
        names, records = [f"{number} {dataset.id}" for number in range(len(dataset.resources))], self.crawl.records
        noted = sum(records.is_listed(name, _RESOURCES) for name in names)
        allowed = noted or (min(left, len(names)) if self.cuts else len(names))
        for name in names[:allowed]:
            self.crawl.seen(name, list_name=_RESOURCES, listed_by=None)
        return allowed

    def aliases(self, dataset: Dataset) -> tuple[str, ...]:
        """Return other ids of a dataset; one may be its id of before."""
        return ()

    def double(self, dataset: Dataset, first: Dataset, response: Response) -> AnswerError:
        """Return what is wrong with another dataset of an id.

        Args:
            first: the first one of that id in the same file.
        """
        if first is not dataset:
            return repeated(first.title, dataset.title, "the same file")
        return repeated(self.crawl.opened_index().documents.title(dataset.id), dataset.title, "another file")

    def items(self, response: Response, entry: Entry, allowed: int, walk: Walk[F], position: int) -> Iterator[Dataset]:
        dataset, kept = entry.reading
        if kept is not None:
            dataset.resources = dataset.resources[:kept]
        dataset.metadata_url, dataset.retrieved = response.url, now()
        yield dataset
