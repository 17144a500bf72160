"""The spider of every catalogue with a JSON API that a declaration describes."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError, ArgumentError, RulesError
from crawlers.kinds.api import answers
from crawlers.kinds.api.checks import CHECKS, UncheckedError
from crawlers.kinds.api.declaration import Variable
from crawlers.kinds.api.dialect import APIDialect
from crawlers.kinds.api.file import lasting
from crawlers.kinds.api.follow import Followed
from crawlers.kinds.api.query import Query
from crawlers.kinds.api.static_tree import StaticTree
from crawlers.listing import json_answer
from crawlers.listing.confirmation import Fate, GoneRecords
from crawlers.listing.listed import ListedSpider
from crawlers.listing.since import LAST, beginning, since
from crawlers.listing.spider import CatalogueSpider
from crawlers.records.addresses import host
from crawlers.records.moment import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.api.declaration import Declaration
    from crawlers.kinds.api.mapping import Reading
    from crawlers.kinds.api.query import APICrawl

_GONE = (404, 410)


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
        found = json_answer.document(response, self.crawler.settings.getint("JSON_MAXSIZE"))
        if said := answers.envelope_error(found) or answers.refusal(found, self.declaration.list):
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
        if answers.text(document, declared.id) == dataset_id:
            is_skipped = bool(declared.skip and declared.skip.find(document))
            return Fate("no longer public" if is_skipped else None)
        if not _has(document, dataset_id):
            raise AnswerError("refused", "the answer is not the record")
        return Fate()


def _has(document: Any, text: str) -> bool:
    """Return whether a JSON value has a text, or a number that is written so, anywhere."""
    waiting = [document]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict | list):
            waiting += found.values() if isinstance(found, dict) else found
        elif not isinstance(found, bool) and str(found) == text:
            return True
    return False
