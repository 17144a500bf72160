"""What a crawl offers to whatever works for its spider: the spider's edge, without the spider; and its limits."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from scrapy.exceptions import CloseSpider

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from logging import LoggerAdapter

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlers import signals
    from crawlers.components.ledger import Records
    from crawlers.items import Kind
    from crawlers.listing.state import RunState
    from crawlers.store.index import Index

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """The values of ``max_datasets`` and ``max_resources``; ``None`` means no limit.

    >>> Limits(datasets=5).is_reached(datasets=5, resources=9)
    True
    >>> Limits(resources=7).resources_left(datasets=1, resources=3)
    4
    """

    datasets: int | None = None
    resources: int | None = None

    @property
    def is_set(self) -> bool:
        """Whether the user set any limit."""
        return bool(self.datasets or self.resources)

    def is_reached(self, *, datasets: int, resources: int) -> bool:
        """Return whether no more datasets may be taken.

        Args:
            datasets: how many were taken.
            resources: how many resources those have.
        """
        return self.resources_left(datasets=datasets, resources=resources) <= 0

    def resources_left(self, *, datasets: int, resources: int) -> int:
        """Return how many more resources may be taken; 0 if no dataset may be taken either."""
        if self.datasets and datasets >= self.datasets:
            return 0
        return self.resources - resources if self.resources else sys.maxsize

    def rows(self, wanted: int, datasets: int) -> int:
        """Return how many datasets to request: those that are wanted, or as many as may still be taken."""
        return min(wanted, self.datasets - datasets) if self.datasets else wanted


class Crawl(Protocol):
    """A crawl, as a listing, a mapping or a question sees it; a `CatalogueSpider` is one.

    Attributes:
        name: the spider's.
        source: the name of the source's folder.
        place: the catalogue's address, for messages; empty if it has none.
        listed_kind: the kind of document that each record of the listing becomes.
        args: the value of every declared argument.
        given: the arguments that the user gave, as text.
        limits: how much the user wants.
        crawler: Scrapy's, for its settings and stats.
        run_state: what is known of the listing, stored with the job.
        records: the documents that are expected, and how each ended.
    """

    name: str

    @property
    def source(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def listed_kind(self) -> Kind: ...
    @property
    def args(self) -> Mapping[str, Any]: ...
    @property
    def given(self) -> Mapping[str, str]: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def logger(self) -> LoggerAdapter[Any]: ...
    @property
    def crawler(self) -> Crawler: ...
    @property
    def run_state(self) -> RunState: ...
    @property
    def records(self) -> Records: ...

    def opened_index(self) -> Index:
        """Return the index of the source, which is open while the crawl runs."""

    def failed(self, stage: signals.Stage, error: AnswerError, request: Request | None = None, **subject: Any) -> None:
        """Report that something is missing; it becomes one line of errors.jsonl."""

    def seen(self, dataset_id: str, *, list_name: str, listed_by: Request | str | None) -> bool:
        """Note that a list has a dataset; return whether no other request's answer listed it before."""

    def expect(
        self, kind: str, dataset_id: str, resource_id: str | None = None, *, listed_by: Request | str | None
    ) -> bool:
        """Note that a document will be written; return whether it is new."""

    def guarded(self, output: Iterator[T], response: Response, record: Any) -> Iterator[T]:
        """Yield the output of one record; if it breaks this project's own code, only that record is lost."""


@contextmanager
def remembering(crawl: Crawl) -> Iterator[None]:
    """Stop the crawl if the ledger can't be written.

    Raises:
        CloseSpider: the disk is full.
    """
    try:
        yield
    except OSError as error:
        crawl.failed("write", AnswerError("disk", str(error.strerror)))
        raise CloseSpider("disk") from None
