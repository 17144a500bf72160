"""What every spider of this project shares: declared arguments, a source's name, and failures that are reported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from inspect import getattr_static
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

import scrapy
from scrapy.exceptions import CloseSpider

from crawlers import arguments, signals
from crawlers.arguments import Argument
from crawlers.components.ledger import Records
from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.kind import registered
from crawlers.listing.crawl import Limits, RunState, remembering
from crawlers.listing.lister import Lister
from crawlers.listing.withdrawals import Withdrawals
from crawlers.records import curation
from crawlers.safety.addresses import host
from crawlers.safety.names import is_source
from crawlers.store.index import Index

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset, Kind
    from crawlers.listing.confirmation import Confirmation
    from crawlers.listing.dialect import Dialect

T = TypeVar("T")


def completion(spider: type[scrapy.Spider]) -> Callable[[Dataset], None] | None:
    """Return the method of a spider's class that completes items, if it has one.

    Raises:
        ArgumentError: it is not static, so that it could not be called without a crawl.
    """
    method: Callable[[Dataset], None] | None = getattr(spider, "complete_item", None)
    if method and not isinstance(getattr_static(spider, "complete_item"), staticmethod | classmethod):
        raise ArgumentError(f"{spider.__name__}.complete_item must be a static method: write @staticmethod above it.")
    return method


def source_name(text: str) -> str:
    """Return a text that is the name of a folder in OUTPUT_DIR.

    Raises:
        ValueError: it can't be one.
    """
    if not is_source(text):
        raise ValueError("a folder name of letters, digits, dots, dashes and underscores, at most 100")
    return text


def host_name(url: str) -> str:
    """Return an address's host as the name of a folder.

    >>> host_name("https://Data.example.org:8000/c"), host_name("http://[::1]/"), host_name("http://../c.ttl")
    ('data.example.org', '_1', 'host')
    """
    name = re.sub(r"[^a-z0-9._-]+", "_", urlsplit(url).hostname or "").lstrip(".") or "host"
    return f"_{name}" if name.startswith("index.sqlite") else name[:100]


def hosts(spider: Any) -> frozenset[str]:
    """Return the hosts of a spider's addresses, with their port where it is not the default; none of one of many hosts.

    Args:
        spider: a `CatalogueSpider`.
    """
    addresses = [] if spider.crosses_hosts else spider.start_urls or [getattr(spider, spider.address, None) or ""]
    return frozenset(filter(None, map(host, addresses)))


class CatalogueSpider(scrapy.Spider):
    """The base of the protocol spiders (`CKANSpider` ...); a catalogue inherits from one of those.

    #. A protocol declares its ``arguments`` on top of these.
    #. It sends its requests with an errback, and calls `failed` for whatever is missing because of a failure.
    #. It notes what it knows of the listing in `run_state`; which lists begin and end, in its `walks`.
    #. It calls `expect` for each document it will write: whatever is expected and never settled is reported as missing.

    Attributes:
        kind: the name of its `crawlers.kind.Kind`.
        crosses_hosts: whether it crawls many hosts; one that blocks it does not stop the others.
        listed_kind: the kind of document that each record of its listing becomes.
        has_time_series: whether its runs observe something that is counted day by day.
        address: the attribute, and argument, that locates the catalogue.
        other_addresses: the arguments that may be given in its place.
        arguments: the ``-a`` arguments of this spider, by name.
        given: those the user gave, as text; without Scrapyd's own, which start with ``_``.
        args: the value of every declared argument.
        source: the name of the source's folder.
        complete_item: a static method of yours that fills in what the record says in words of its own. It gets each
            item, whose ``document`` is the record, in crawls and whenever a document is read again.
    """

    kind: ClassVar[str] = ""
    crosses_hosts: ClassVar[bool] = False
    has_time_series: ClassVar[bool] = True
    listed_kind: ClassVar[Kind] = "dataset"
    complete_item: ClassVar[Callable[[Dataset], None] | None] = None
    address: ClassVar[str] = "portal"
    other_addresses: ClassVar[tuple[str, ...]] = ()
    arguments: ClassVar[dict[str, Argument]] = {
        "source": Argument(
            help="The name of the folder in OUTPUT_DIR; by default the spider's name, or the portal's host.",
            parse=source_name,
        ),
        "exclude": Argument(help='Datasets to leave out, as JSON: {"tag": ["test"]}.', parse=curation.exclude),
        "defaults": Argument(
            help='Values of fields that a dataset lacks, as JSON: {"license": "CC-BY-4.0"}.', parse=curation.set_fields
        ),
        "overrides": Argument(help="Values that replace those of a dataset, as JSON.", parse=curation.set_fields),
        "encoding": Argument(
            help="The encoding of the catalogue's texts, where it says another: windows-1251.", parse=arguments.encoding
        ),
        "max_datasets": Argument(help="Stop after this many datasets.", parse=arguments.positive),
        "max_resources": Argument(help="Stop after this many resources.", parse=arguments.positive),
    }

    def __init__(self, **given: str) -> None:
        super().__init__()
        self.args: dict[str, Any] = arguments.parse(self.name, self.arguments, given)
        self.given = {name: value for name, value in given.items() if not name.startswith("_")}
        self.limits = Limits(self.args.get("max_datasets"), self.args.get("max_resources"))

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        limit = str(crawler.settings.get("SHRINK_LIMIT", 0))
        if not re.fullmatch(r"0?\.[0-9]+|[01](\.0*)?", limit):
            raise ArgumentError(f"SHRINK_LIMIT={limit!r} is not a part of a catalogue, from 0 to 1.")
        spider = super().from_crawler(crawler, **given)
        crawler.signals.connect(spider.withdrawals.run_ended, signal=signals.run_ended)
        return spider

    @cached_property
    def source(self) -> str:
        """The spider's name if its class declares the catalogue, else the host's."""
        where = getattr(self, self.address, None)
        own = self.name if where is None or getattr(type(self), self.address) else host_name(where)
        return str(self.args["source"] or own)

    @property
    def place(self) -> str:
        return str(getattr(self, "portal", None) or getattr(self, self.address, None) or "")

    @property
    def encoding(self) -> str | None:
        """The encoding of the catalogue's texts, as the user declares it."""
        return self.args.get("encoding")

    @cached_property
    def records(self) -> Records:
        return Records(self.crawler)

    @cached_property
    def run_state(self) -> RunState:
        return RunState.from_crawler(self.crawler)

    @cached_property
    def withdrawals(self) -> Withdrawals:
        return Withdrawals(self)

    def failed(self, stage: signals.Stage, error: AnswerError, request: Request | None = None, **subject: Any) -> None:
        """Report that something is missing; it becomes one line of errors.jsonl.

        Args:
            subject: fields of `crawlers.signals.Failed`: http_status, dataset_id, dataset_name, dataset_title ....
        """
        failed = signals.Failed(
            stage=stage,
            kind=error.kind,
            error=str(error),
            url=request.url if request else None,
            attempts=request.meta.get("retry_times", 0) + 1 if request else None,
            **subject,
        )
        self.crawler.signals.send_catch_log(signals.record_failed, failed=failed)

    def guarded(self, output: Iterator[T], response: Response, record: Any) -> Iterator[T]:
        try:
            yield from output
        except (CloseSpider, AnswerError):
            raise
        except Exception as error:
            self.logger.exception("A record of %s could not be handled", response.url)
            fields = {"dataset_id": "id", "dataset_title": "title"}
            found = {field: record.get(name) for field, name in fields.items()} if isinstance(record, dict) else {}
            bug = AnswerError("bug", f"the record could not be handled: {type(error).__name__}: {error}")
            subject = {field: value for field, value in found.items() if isinstance(value, str)}
            self.failed("parse", bug, response.request, **subject)

    def request_failed(self, failure: Failure) -> None:
        """Report a request that failed; this is the errback of every request without its own."""
        request = failures.request(failure)
        self.failed("fetch", failures.from_failure(failure), request, http_status=failures.status(failure))

    def opened_index(self) -> Index:
        index = self.crawler.get_extension(Index)
        assert index is not None  # noqa: S101  # settings.py has it
        return index

    def expect(
        self, kind: str, dataset_id: str, resource_id: str | None = None, *, listed_by: Request | str | None
    ) -> bool:
        """Note that a document will be written, found unchanged, or reported as failed; return whether it is new.

        Args:
            listed_by: the request whose answer lists it, or what identifies that. The same request may list it again.
        """
        with remembering(self):
            return self.records.expect((kind, dataset_id, resource_id), self.records.request_names.get(listed_by))

    def seen(self, dataset_id: str, *, list_name: str, listed_by: Request | str | None) -> bool:
        with remembering(self):
            return self.records.see(dataset_id, list_name, self.records.request_names.get(listed_by))


class ListedSpider(CatalogueSpider):
    """A protocol inherits from this class, sets ``kind``, and says in `make_dialect` how its pages are read.

    Attributes:
        url: where the catalogue is; ``-a url=`` overrides it.
        gone: the questions about datasets that a whole listing lacks, of a kind that can ask for one.
        lister: what reads its pages.
    """

    address = "url"
    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "url": Argument(help="The catalogue's address.", parse=arguments.url),
    }
    url: str | None = None
    gone: Confirmation | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        address = self.args[self.address] or getattr(self, self.address)
        if address is None:
            kind = registered()[self.kind]
            message = f"spider {self.name} needs to know the {kind.title}: -a {kind.address}={kind.example}"
            raise ArgumentError(message)
        setattr(self, self.address, address)

    def make_dialect(self) -> Dialect[Any]:
        """Return what its pages are; the arguments are parsed."""
        raise NotImplementedError

    @cached_property
    def lister(self) -> Lister[Any]:
        return Lister(self, self.make_dialect(), self.withdrawals, self.gone)

    @property
    def portal(self) -> str | None:
        """The address that the user named: its host may be private."""
        return self.url

    async def start(self) -> AsyncIterator[Request]:
        for request in self.lister.begin():
            yield request
