"""What every spider of this project shares: declared arguments, a source's name, and failures that are reported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import scrapy
from scrapy.exceptions import CloseSpider

from crawlers import arguments, failures, signals
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.index import Index
from crawlers.listing import completeness
from crawlers.resume import Records

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.listing.completeness import Ending


T = TypeVar("T")


def source_name(text: str) -> str:
    """The name of a folder in OUTPUT_DIR."""
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}", text) or text.startswith("index.sqlite"):
        raise ValueError("a folder name of letters, digits, dots, dashes and underscores, at most 100")
    return text


def host_name(url: str) -> str:
    """The host as the name of a folder.

    >>> host_name("https://Data.example.org:8000/c"), host_name("http://[::1]/"), host_name("http://../c.ttl")
    ('data.example.org', '_1', 'host')
    """
    name = re.sub(r"[^a-z0-9._-]+", "_", urlsplit(url).hostname or "").lstrip(".") or "host"
    return f"_{name}" if name.startswith("index.sqlite") else name[:100]


class CatalogueSpider(scrapy.Spider):
    """The base of the protocol spiders (`CKANSpider` ...); a catalogue inherits from one of those.

    #. A protocol declares its ``arguments`` on top of these.
    #. It sends its requests with an errback, and calls `failed` for whatever is missing because of a failure.
    #. It says what it knows of the listing: `list_begun`, `expected`, `listed`, `limited`, `list_ended`.
    #. It says what it has `planned`: whatever is planned and never ends is reported as missing.

    Attributes:
        address: the attribute, and argument, that says where the catalogue is.
        arguments: the ``-a`` arguments of this spider, by name.
        given: those the user gave, as text; without Scrapyd's own, which start with ``_``.
        args: the value of every declared argument.
        source: the name of the source's folder.
    """

    address: ClassVar[str] = "portal"
    arguments: ClassVar[dict[str, Argument]] = {
        "source": Argument(
            help="The name of the folder in OUTPUT_DIR; by default the spider's name, or the portal's host.",
            parse=source_name,
        ),
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
        self._names: WeakKeyDictionary[Request, str] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        limit = str(crawler.settings.get("SHRINK_LIMIT", 0))
        if not re.fullmatch(r"0?\.[0-9]+|[01](\.0*)?", limit):
            raise ArgumentError(f"SHRINK_LIMIT={limit!r} is not a part of a catalogue, from 0 to 1.")
        return super().from_crawler(crawler, **given)

    @cached_property
    def source(self) -> str:
        """The catalogue's own name where a class declares it, else its host's."""
        where = getattr(self, self.address, None)
        own = self.name if where is None or getattr(type(self), self.address) else host_name(where)
        return str(self.args["source"] or own)

    @property
    def encoding(self) -> str | None:
        """The encoding that the user says the catalogue's texts are in."""
        return self.args["encoding"]  # type: ignore[no-any-return]

    @cached_property
    def records(self) -> Records:
        return Records(self.crawler)

    def failed(self, stage: signals.Stage, error: AnswerError, request: Request | None = None, **subject: Any) -> None:
        """Reports that something is missing; becomes one line of errors.jsonl.

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
        """The output of one record; should it break this project's own code, that record is lost and no other."""
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
        """The errback of every request that has none of its own."""
        request = failures.request(failure)
        self.failed("fetch", failures.of(failure), request, http_status=failures.status(failure))

    def expected(self, count: int | None) -> None:
        """How many datasets the portal says there are, as far as is known now."""
        self.crawler.stats.set_value("catalogue/expected", count)

    def listed(self, count: int) -> None:
        """How many datasets have been listed, failed ones included."""
        self.crawler.stats.max_value("catalogue/listed", count)

    def limited(self) -> None:
        """A limit that the user set leaves datasets out."""
        self.crawler.stats.set_value("catalogue/limited", True)

    @cached_property
    def open_lists(self) -> set[str]:
        """The lists that have begun and not ended."""
        return {name for name, state in self.stats_table("catalogue/lists").items() if state != "ended"}

    def stats_table(self, name: str) -> dict[str, Any]:
        """Return a table among the crawl's numbers, to be changed in place: thousands of copies take quadratic time."""
        stats = self.crawler.stats
        if (found := stats.get_value(name)) is None:
            stats.set_value(name, found := {})
        return found  # type: ignore[no-any-return]

    def list_begun(self, name: str) -> None:
        """A list is asked for, unless a job that goes on has asked for it before."""
        if self.stats_table("catalogue/lists").setdefault(name, "begun") == "begun":
            self.open_lists.add(name)

    def list_ended(self, name: str) -> None:
        """Nothing more of it is to come, for whatever reason."""
        self.open_lists.discard(name)
        self.stats_table("catalogue/lists")[name] = "ended"

    def conclude(self, name: str, ending: Ending, request: Request | None = None) -> bool:
        """Judge a list that has ended; return whether something shows that it was whole.

        Without evidence it is an error line, and the run is incomplete.

        Args:
            name: the list's, as in `list_begun`.
            request: whose answer ended it.
        """
        self.list_ended(name)
        try:
            word = completeness.evidence(ending)
        except AnswerError as error:
            self.failed("list", error, request)
            return False
        self.stats_table("catalogue/evidence")[name] = word
        return True

    def provisional(self) -> None:
        """However complete this run gets, the next ``since=last`` begins where this one did."""
        self.crawler.stats.set_value("catalogue/provisional", True)

    def whole_listing(self) -> None:
        """Everything the portal has was listed, whatever is wrong with single records."""
        self.crawler.stats.set_value("catalogue/whole_listing", True)

    def validated(self, validators: dict[str, str]) -> None:
        """The headers by which a later run may ask whether anything has changed since."""
        self.crawler.stats.set_value("catalogue/validators", validators)

    def opened_index(self) -> Index:
        index = self.crawler.get_extension(Index)
        assert index is not None  # noqa: S101  # settings.py has it
        return index

    def is_too_much(self, gone: int, known: int) -> bool:
        """Whether so much of the catalogue is gone at once that it is not believed, which is then reported."""
        limit = self.crawler.settings.getfloat("SHRINK_LIMIT")
        if gone <= limit * known:
            return False
        self.failed("list", _shrunk(gone, known, limit))
        return True

    def withdraw(self, dataset_id: str, url: str, reason: signals.Reason = "not found") -> None:
        """Mark a dataset that the portal no longer has.

        Args:
            url: where it was asked for.
            reason: what the portal says became of it.
        """
        self.crawler.signals.send_catch_log(signals.dataset_withdrawn, dataset_id=dataset_id, url=url, reason=reason)

    def planned(self, kind: str, dataset_id: str, resource_id: str | None = None, *, by: Request | str | None) -> bool:
        """Promises that a document will be written, found unchanged, or reported as failed.

        Args:
            by: the request whose answer lists it, or what tells that from others.

        Returns:
            Whether it was not listed before, by another request.
        """
        with self.remembering():
            return self.records.plan((kind, dataset_id, resource_id), self._name(by))

    def noticed(self, dataset_id: str, *, list_name: str, by: Request | str | None) -> bool:
        """Takes note that a list has a dataset; whether it had not before, in the answer to another request."""
        with self.remembering():
            return self.records.notice(dataset_id, list_name, self._name(by))

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """What can't be remembered is not begun.

        Raises:
            CloseSpider: the disk is full.
        """
        try:
            yield
        except OSError as error:
            self.failed("write", AnswerError("disk", str(error.strerror)))
            raise CloseSpider("disk") from None

    def _name(self, request: Request | str | None) -> str:
        if request is None or isinstance(request, str):
            return request or ""
        if request not in self._names:  # one request lists a hundred thousand datasets
            self._names[request] = self.crawler.request_fingerprinter.fingerprint(request).hex()
        return self._names[request]


def _shrunk(gone: int, known: int, limit: float) -> AnswerError:
    share = gone / known
    message = (
        f"{gone} of {known} datasets are no longer listed ({share:.1%}), more than SHRINK_LIMIT allows ({limit:.1%}): "
        f"nothing is withdrawn. If they are gone indeed: -s SHRINK_LIMIT={share + 0.001:.3f}"
    )
    return AnswerError("shrink", message)
