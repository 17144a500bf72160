"""The spider of every catalogue with a JSON API that a declaration describes."""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError, ArgumentError, RulesError
from crawlers.kinds.api import query
from crawlers.kinds.api.checks import CHECKS, UncheckedError
from crawlers.kinds.api.declaration import Variable
from crawlers.kinds.api.dialect import APIDialect, StaticTree
from crawlers.kinds.api.expressions import Template
from crawlers.kinds.api.file import lasting
from crawlers.kinds.api.mapping import Reading
from crawlers.kinds.api.query import Query
from crawlers.listing.answers import json_document
from crawlers.listing.confirmation import Fate, GoneRecords
from crawlers.listing.since import LAST, beginning, since
from crawlers.listing.spider import CatalogueSpider, ListedSpider
from crawlers.records.moment import now
from crawlers.safety import strict_json
from crawlers.safety.addresses import absolute, host

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.api.declaration import Declaration, Follow
    from crawlers.kinds.api.query import APICrawl

    Output = Iterator[Dataset | Request]


_GONE = (404, 410)
_MOST_PAGES = 100
_MOST_RECORDS = 10_000
"""Resources of one record; see `crawlers.kinds.api.mapping`."""


class APISpider(ListedSpider):
    """A catalogue with a JSON API.

    #. Inherit from this class in a module of its own in ``spiders/``, and say in the docstring who runs the catalogue.
    #. Set ``name``, ``portal`` and ``software``.

    Attributes:
        portal: what ``{portal}`` stands for in the declaration; ``-a portal=`` overrides it.
        software: the name of the declaration, or the path of its file; ``-a kind=`` overrides it.
        declaration: what it says.
        followed: what is requested for each record.
        secret_headers: the headers that have a secret, each with the environment variable it comes from.
        secret_addresses: where those headers are sent.
        query: what is asked for.
    """

    kind = "api"
    address = "portal"
    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "portal": Argument(help="The catalogue's address.", parse=arguments.portal),
        "kind": Argument(
            help="Which software it is: a declaration's name (opendatasoft), or the path of its file.",
            parse=arguments.text,
        ),
        "since": Argument(
            help="Only what changed since then: last (the last complete crawl), or a date, if the software can tell.",
            parse=since,
        ),
    }
    portal: str | None = None
    software: str | None = None

    @classmethod
    def declared(cls, given: Mapping[str, str]) -> list[str]:
        """Return the fields that the declaration fills; those of resources begin with ``resource.``."""
        found = lasting(given.get("kind") or str(cls.software))
        return [*found.fields, *(f"resource.{name}" for each in found.resources for name in each.fields)]

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        software = self.args["kind"] or self.software
        if software is None:
            raise ArgumentError(f"spider {self.name} needs to know the software: -a kind=opendatasoft")
        try:
            self.declaration: Declaration = lasting(software)
        except RulesError as error:
            raise ArgumentError(str(error)) from None
        if self.args["since"] not in (None, LAST) and not self.declaration.list.since:
            message = "can't filter by date (its declaration has no [list.since]): leave -a since= out"
            raise ArgumentError(f"spider {self.name}: {self.declaration.name} {message}")
        self.identity = {"declaration": hashlib.sha256(self.declaration.text.encode()).hexdigest()}
        headers = self.declaration.list.headers.items()
        self.secret_headers = {
            name: value.env for name, several in headers for value in several if isinstance(value, Variable)
        }
        self.query = Query(self.declaration, str(self.portal), self.limits.datasets)
        self.secret_addresses = [str(self.portal), self.query.address(self.declaration.list.url)]
        self.followed = Followed(self)
        if not self.declaration.list.walk:
            self.gone = GoneAPI(self, self.withdrawals)

    def make_dialect(self) -> APIDialect | StaticTree:
        return StaticTree(self) if self.declaration.list.walk else APIDialect(self)

    @cached_property
    def changed_since(self) -> str:
        return beginning(self) if self.args["since"] and self.declaration.list.since else ""

    async def start(self) -> AsyncIterator[Request]:
        if self.args["since"] and not self.declaration.list.since:
            self.logger.info("%s can't filter by date: everything is listed", self.declaration.name)
        if self.declaration.check:
            self.lister.walks.begin("datasets")
            yield Request(str(self.portal), self.parse_checked, errback=self.not_checked)
        else:
            for request in self.lister.begin():
                yield request

    # Before the first page

    def document(self, response: Response) -> Any:
        found = json_document(response, self.crawler.settings.getint("JSON_MAXSIZE"))
        if said := query.envelope_error(found) or query.refusal(found, self.declaration.list):
            raise AnswerError("refused", f"the portal refuses: {said}")
        return found

    def parse_checked(self, response: Response) -> Iterator[Request]:
        """Request the listing, unless the portal's page says that it is not this portal's."""
        try:
            CHECKS[str(self.declaration.check)](response)
        except AnswerError as error:
            self.unchecked(error, response.request)
            return
        yield from self.lister.begin()

    def not_checked(self, failure: Failure) -> None:
        """End the crawl: without the check, it is unknown whose datasets the API lists."""
        reason = f"the check {self.declaration.check} could not be made ({failures.from_failure(failure)})"
        self.unchecked(UncheckedError(reason), failures.request(failure), failures.status(failure))

    def unchecked(self, error: AnswerError, request: Request | None, status: int | None = None) -> None:
        self.lister.walks.end("datasets", "short")
        self.failed("start", error, request, http_status=status)

    # Records

    def parse_record(self, response: Response, record: Reading, allowed: int | None) -> Iterator[Any]:
        if self.followed.wanted:
            yield from self.followed.complete(response, record, allowed)
        else:
            yield self.item(record, allowed)

    def item(self, record: Reading, allowed: int | None, portal: str | None = None) -> Dataset:
        item = record.lazily(portal or str(self.portal), self.source, retrieved=now())
        if allowed is not None:
            item.resources = item.resources[:allowed]
        return item


class GoneAPI(GoneRecords):
    """Asks for the records by their ``metadata_url``, where the declaration's has their id."""

    by = "the API"
    crawl: APICrawl

    def question(self, dataset_id: str, about: dict[str, Any]) -> Request | None:
        request = super().question(dataset_id, about)
        query = self.crawl.query
        declared = query.declaration
        if request is None or {"id", *declared.names}.isdisjoint(declared.metadata_url.names):
            return None
        request.headers.update(query.headers())
        return request if host(request.url) in query.hosts else None

    def fate(self, response: Response, dataset_id: str, about: dict[str, Any]) -> Fate:
        """Return why a record is gone: it is not found, or is one that the declaration skips."""
        if response.status in _GONE:
            return Fate("not found")
        document, declared = self.crawl.document(response), self.crawl.query.declaration
        if query.text(document, declared.id) == dataset_id:
            is_skipped = bool(declared.skip and declared.skip.find(document))
            return Fate("no longer public" if is_skipped else None)
        texts = (each for each in query.inside(document) if isinstance(each, str | int | float))
        if not any(str(each) == dataset_id for each in texts if not isinstance(each, bool)):
            raise AnswerError("refused", "the answer is not the record")
        return Fate()


# What a declaration requests for each record: it is put into the record before that is kept


class Followed:
    """Completes records, one request after another; what a request carries is plain data, so it survives a kill.

    A dataset with the stamp of its document on disk is not requested again: what was put into that is taken.
    """

    def __init__(self, crawl: APICrawl) -> None:
        self.crawl, self.query = crawl, crawl.query
        self.wanted = crawl.query.declaration.follow

    def complete(self, response: Response, record: Reading, allowed: int | None) -> Output:
        """Yield the item of a record, or the request for what it lacks.

        Args:
            allowed: how many of its resources the user's limit leaves; ``None`` for all.
        """
        item = self.crawl.item(record, allowed)
        if stored := self.stored(item):
            yield self.item({**record.record, **stored}, allowed)
        else:
            yield from self.next(response.url, {"record": record.record, "place": 0, "allowed": allowed})

    def item(self, record: dict[str, Any], allowed: int | None) -> Dataset:
        """Return the item of a record into which something was put."""
        return self.crawl.item(Reading(record, self.query.declaration), allowed)

    def stored(self, item: Dataset) -> dict[str, Any] | None:
        """Return what earlier crawls put into the document on disk, if its stamp is the record's."""
        documents = self.crawl.opened_index().documents
        known = documents.get("dataset", item.id, None)
        is_same = known and item.metadata_modified and known.metadata_modified == item.metadata_modified
        if not known or not is_same or known.status == "withdrawn" or not documents.is_intact(known):
            return None
        document = strict_json.of_file(documents.folder, known.file)
        record, portal = Reading(item.document, self.query.declaration), self.query.portal
        names = [one.into for one in self.wanted if detail_address(one, record, portal, portal)]
        is_complete = isinstance(document, dict) and all(name in document for name in names)
        return {name: document[name] for name in names} if is_complete else None

    def next(self, url: str, asked: dict[str, Any]) -> Output:
        """Yield the next request that a record needs, or its item if it needs none.

        Args:
            url: of the last answer, to which addresses in the record are relative.
            asked: the record, and the place of the next of `wanted`.
        """
        record = Reading(asked["record"], self.query.declaration)
        for place in range(asked["place"], len(self.wanted)):
            address = detail_address(self.wanted[place], record, self.query.portal, url)
            if address:
                yield from self.ask(address, asked | {"place": place, "found": [], "pages": 0, "known": []})
                return
        yield self.item(asked["record"], asked["allowed"])

    def ask(self, address: str, asked: dict[str, Any]) -> Output:
        """Yield the request for an address; the item as it is if that is at a host that is not the catalogue's."""
        try:
            self.query.check_host(address)
        except AnswerError as error:
            yield from self.lacking(error, None, None, asked)
            return
        yield Request(
            address,
            self.parse,
            errback=self.failed,
            headers=self.query.headers(),
            cb_kwargs={"asked": asked},
            priority=1,  # before the next page of the listing, so that few records wait
            dont_filter=True,
        )

    def parse(self, response: Response, asked: dict[str, Any]) -> Output:
        wanted = self.wanted[asked["place"]]
        try:
            document = self.crawl.document(response)
            found = detail(wanted, document)
            link = _link(query.text(document, wanted.next), response.url)
            known = _known(asked, response.url, found, link)
        except AnswerError as error:
            yield from self.lacking(error, response.request, response.status, asked)
            return
        parts = found if isinstance(found, list) else [found]
        asked = asked | {"found": [*asked["found"], *parts], "pages": asked["pages"] + 1, "known": known}
        if link:
            yield from self.ask(link, asked)
            return
        value = asked["found"] if isinstance(found, list) else found
        record = asked["record"] | {wanted.into: value}
        yield from self.next(response.url, asked | {"record": record, "place": asked["place"] + 1})

    def failed(self, failure: Failure) -> Output:
        request = failures.request(failure)
        error, response = failures.from_failure(failure), getattr(failure.value, "response", None)
        if response is not None and error.kind == "http":
            error = query.worded(error, response.body, self.query.listing)
        yield from self.lacking(error, request, failures.status(failure), request.cb_kwargs["asked"])

    def lacking(self, error: AnswerError, request: Request | None, status: int | None, asked: dict[str, Any]) -> Output:
        """Report what a record lacks, and yield it: it replaces no document, and the next crawl requests it again."""
        record, wanted = asked["record"], self.wanted[asked["place"]]
        item = self.item(record, asked["allowed"])
        about = AnswerError(error.kind, f"{wanted.into} of the dataset can't be read: {error}")
        self.crawl.failed("fetch", about, request, http_status=status, dataset_id=item.id, dataset_title=item.title)
        item.metadata_modified, item.torn = None, True
        yield item


def detail_address(wanted: Follow, record: Reading, portal: str, url: str) -> str | None:
    """Return the address of what a record lacks; ``None`` if it needs nothing.

    Args:
        url: of the answer that has the record, to which addresses in it are relative.
    """
    if wanted.when and not wanted.when.find(record.record):
        return None
    if isinstance(wanted.url, Template):
        return wanted.url.address(record.names(portal))
    found = query.text(record.record, wanted.url)
    return absolute(found, url) if found else None


def detail(wanted: Follow, document: Any) -> Any:
    """Return what is wanted of an answer.

    Raises:
        AnswerError: it is not there.
    """
    found = wanted.records.find(document)
    if found is None:
        raise AnswerError("refused", f"the answer has nothing at {wanted.records.text}")
    return found


def _link(text: str | None, url: str) -> str | None:
    found = absolute(text, url) if text else None
    if text and not found:
        raise AnswerError("paging", f"the link to the next page is not an address: {text[:200]!r}")
    return found


def _known(asked: dict[str, Any], url: str, found: Any, link: str | None) -> list[str]:
    """Return digests of the addresses and pages that have come for a record; one that comes again is refused."""
    count = len(asked["found"]) + (len(found) if isinstance(found, list) else 1)
    here = [_digest(url), _digest(found)]
    if link is None:
        return []
    if _digest(link) in {*asked["known"], *here} or here[1] in asked["known"]:
        raise AnswerError("paging", f"the same pages come again after {asked['pages'] + 1}: {link[:200]}")
    if asked["pages"] + 1 >= _MOST_PAGES or count >= _MOST_RECORDS:
        message = f"after {asked['pages'] + 1} pages with {count} records there is still a next one: {link[:200]}"
        raise AnswerError("paging", message)
    return [*asked["known"], *here]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


class API(APISpider):
    """Any catalogue with a JSON API that a declaration describes, the one that -a portal= and -a kind= name."""

    name = "api"
