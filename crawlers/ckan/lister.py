"""Lists a CKAN portal's datasets, each once and none missed."""

from __future__ import annotations

import hashlib
import json
import sys
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import parse_qs, urlsplit

from crawlers import arguments, failures
from crawlers.arguments import Argument
from crawlers.catalogue import CatalogueSpider
from crawlers.ckan import api
from crawlers.ckan.listing import Cursor, Page, Query, identity, resources
from crawlers.ckan.recovery import Refusal, another
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.index.scope import FILTERS
from crawlers.items import Dataset, Export
from crawlers.listing.completeness import Ending
from crawlers.safety.tokens import token

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    Found = Dataset | Export | Request
    Output = Iterator[Found | AsyncIterator[Found]]

PATIENCE = 2  # pages in a row without a new dataset, before a listing is taken for a loop


class CKANLister(CatalogueSpider):
    """The listing half of `CKANSpider`: asks for the pages and hands on their records.

    Attributes:
        portal: the portal's root; ``-a portal=`` overrides it.
        has_token: whether requests to the portal carry an API token.
        query: what is asked for.
        ways: the ways to ask, of which the cursor says the one that works.
    """

    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "portal": Argument(help="The portal's address.", parse=arguments.portal),
        "q": Argument(help="Only what this search finds: cod-ab-global, title:flood.", parse=arguments.text),
        "fq": Argument(help="A Solr filter: has_geodata:true -archived:true.", parse=arguments.text),
        "organization": Argument(help="Only this organisation's, by its name in addresses.", parse=arguments.text),
        "group": Argument(help="Only this group's, by its name in addresses; a country at HDX.", parse=arguments.text),
        "tag": Argument(help="Only datasets with this tag.", parse=arguments.text),
        "rows": Argument(
            help="Datasets a listing request; a portal may give fewer.", parse=arguments.positive, default="1000"
        ),
    }

    portal: str | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.portal = self.args["portal"] or self.root()
        self.has_token = False
        self.query = Query(**{name: self.args[name] for name in FILTERS})
        self.ways = api.ways(self.portal)
        self.first_refusal: Refusal | None = None
        self.limited_by_user = bool(self.args["max_datasets"] or self.args["max_resources"])

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        spider = super().from_crawler(crawler, **given)
        spider.has_token = bool(token(crawler.settings))
        spider.query = replace(spider.query, private=spider.has_token)
        return spider

    @classmethod
    def root(cls) -> str:
        """The portal that the class declares."""
        if cls.portal is None:
            raise ArgumentError(f"spider {cls.name} needs to know the portal: -a portal=https://demo.ckan.org")
        try:
            return arguments.portal(cls.portal)
        except ValueError as error:
            raise ArgumentError(f"spider {cls.name}: its portal, {cls.portal!r}, is not {error}.") from None

    async def start(self) -> AsyncIterator[Request]:
        cursor = self.beginning()
        self.list_begun(cursor.name)
        yield self.list_request(cursor)

    def beginning(self) -> Cursor:
        """Return where the listing begins."""
        return Cursor(rows=self.rows())

    # The listing

    def rows(self, listed: int = 0) -> int:
        """How many datasets to ask for when that many are listed: no more than the user wants."""
        most = self.args["max_datasets"]
        rows: int = self.args["rows"]
        return min(rows, most - listed) if most else rows

    def list_request(self, cursor: Cursor, *, again: bool = False) -> Request:
        """
        Args:
            again: it stands for one that failed, with all its retries: fewer are spent on it.
        """
        request = self.ways[cursor.way].request(
            "package_search",
            cursor.parameters(self.query),
            callback=self.parse_page,
            errback=self.list_failed,
            cb_kwargs={"cursor": cursor.plain()},
            meta={"max_retry_times": 1} if again else {},
        )
        if cursor.since or cursor.ids or cursor.counting:  # what is new can't come from a cache
            request.headers["Cache-Control"] = "no-cache"
        return request

    async def parse_page(self, response: Response, cursor: dict[str, Any]) -> AsyncIterator[Found]:
        """Hand on what a page leads to; what takes long comes as an iterator that lets other work go on meanwhile."""
        for found in self.read_page(response, Cursor(**cursor)):
            if isinstance(found, AsyncIterator):
                async for other in found:
                    yield other
            else:
                yield found

    def read_page(self, response: Response, here: Cursor) -> Output:
        try:
            page = Page.read(response)
        except AnswerError as error:
            yield from self.not_listed(response.request, here, Refusal.of_answer(error, response))
            return
        if self.led_astray(response, here):
            astray = AnswerError("refused", f"the portal redirected to another question, {response.url[:300]}")
            yield from self.not_listed(response.request, here, Refusal(astray, response.status))
        elif here.counting:
            yield from self.counted(response, here, page)
        elif here.skipping:
            yield from self.skip(response, here, page)
        elif here.last is not None and here.start is None and not page.follows(here.last):
            self.logger.info("%s does not page by id: going on by offset", self.portal)
            yield self.list_request(here.by_offset())
        else:
            yield from self.list_page(response, self.cursor_for(response, here, page), page)

    def cursor_for(self, response: Response, here: Cursor, page: Page) -> Cursor:  # noqa: ARG002
        """Return the cursor by which a page is read, which may turn out to be of another kind than was asked for."""
        return here

    def list_page(self, response: Response, here: Cursor, page: Page) -> Output:
        """The next page is asked for before this one's records are handled: none of those can end the listing."""
        taken = self.take(page.records, here, response.request)
        after = here.after(page, listed=len(taken), resources=sum(allowed for _, allowed in taken))
        if "cached" in response.flags:
            self.provisional()
        if not here.ids:
            self.expected(after.expected)
            self.listed(after.listed)
        if self.within_limits(after) <= 0:
            self.stopped_by_limit(after, taken)
        elif page.is_last(here) or self.loops(after):
            yield from self.end_of_list(response.request, after)
        else:
            rows = self.rows(0 if here.ids else after.listed)
            yield self.list_request(replace(after, rows=min(rows, here.rows * 10)))
        for position, (record, allowed) in enumerate(taken if not here.ids else []):
            yield from self.guarded(self.parse_record(response, record, allowed, here.way, position), response, record)

    @abstractmethod
    def parse_record(self, response: Response, record: Any, allowed: int, way: int, position: int) -> Output:
        """A record's item, and the requests for what else is wanted of it.

        Args:
            allowed: how many of its resources the user's limit leaves.
            way: which of `ways` the portal answers to.
            position: its place among those taken from its page.
        """

    def led_astray(self, response: Response, here: Cursor) -> bool:
        """Whether a redirect lost the question: another query, or a POST that became a GET."""
        request = response.request
        if request is None or "redirect_urls" not in request.meta:
            return False
        asked = self.list_request(here)
        question = parse_qs(urlsplit(asked.url).query), asked.method
        return (parse_qs(urlsplit(response.url).query), request.method) != question

    def loops(self, after: Cursor) -> bool:
        return after.stale >= PATIENCE and not after.second

    def take(self, records: list[Any], here: Cursor, request: Request | None) -> list[tuple[Any, int]]:
        """The records that were not listed before and are within the user's limits, and how many of their resources."""
        taken: list[tuple[Any, int]] = []
        left = self.within_limits(here)
        for record in records:
            if left <= 0:
                break
            identifier = identity(record)
            if self.is_new(identifier, here, request) if identifier else self.is_new_nameless(record, request):
                allowed = min(left, resources(record))
                taken.append((record, allowed))
                if self.limited_by_user:
                    here = replace(here, listed=here.listed + 1, resources=here.resources + allowed)
                    left = self.within_limits(here)
        return taken

    def is_new_nameless(self, record: Any, request: Request | None) -> bool:
        """At the end of a page it comes again at the head of the next, which begins behind the last id."""
        digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
        return self.noticed(f"sha256-{digest}", list_name="nameless", by=request)

    def is_new(self, identifier: str, here: Cursor, request: Request | None) -> bool:
        new = self.noticed(identifier, list_name=here.name, by=request)
        return new if here.ids else self.planned("dataset", identifier, by=request)

    def within_limits(self, here: Cursor) -> int:
        """How many more resources the user's limits leave; 0 when no dataset may be taken either."""
        datasets, most = self.args["max_datasets"], self.args["max_resources"]
        if here.ids:
            return sys.maxsize
        if datasets and here.listed >= datasets:
            return 0
        return most - here.resources if most else sys.maxsize

    def stopped_by_limit(self, after: Cursor, taken: list[tuple[Any, int]]) -> None:
        self.list_ended(after.name)
        cut = any(allowed < resources(record) for record, allowed in taken[-1:])
        if cut or after.expected is None or after.listed < after.expected:
            self.limited()

    def end_of_list(self, request: Request | None, after: Cursor) -> Output:
        """Asks once more how many there are, when fewer were listed than were promised, or none at all."""
        nothing = after.promised == 0 and not self.query.filtered and not after.since
        if (after.short() or nothing) and not after.second and not self.loops(after):
            yield self.list_request(replace(after, counting=True, skipping=None))
        else:
            yield from self.judge(request, after)

    def counted(self, response: Response, here: Cursor, page: Page) -> Output:
        count = page.count if page.count is not None else here.promised or 0  # no answer changes no promise
        if count > here.listed and here.start is None:
            self.logger.info("%s has %d datasets and listed %d: once more, by offset", self.portal, count, here.listed)
            yield self.list_request(here.again(count))
        else:
            yield from self.judge(response.request, replace(here, expected=count))

    def judge(self, request: Request | None, after: Cursor) -> Output:
        """Decide whether the list was whole; if not, report why."""
        if self.is_complete(request, after):
            if not after.ids:
                self.expected(after.listed if after.expected is None else after.expected)
            yield self.list_complete(after)
        elif not after.ids:
            self.expected(after.expected)

    def is_complete(self, request: Request | None, after: Cursor) -> bool:
        said, listed = after.expected, after.listed
        if self.loops(after):
            message = f"the portal gives the same pages again after {listed} of {said} datasets"
        elif said is not None and listed >= said and after.shifted:
            message = "the catalogue changed while it was paged by offset: some may be missing"
        else:
            ending = Ending(subject="the portal", listed=listed, total=said, is_last_page_short=True)
            return self.conclude(after.name, ending, request)
        self.list_ended(after.name)
        self.failed("list", AnswerError("paging", message), request)
        return False

    @abstractmethod
    def list_complete(self, after: Cursor) -> AsyncIterator[Found]:
        """Hand on what there is to do when everything the portal has was listed."""

    def skip(self, response: Response, here: Cursor, page: Page) -> Output:
        """Reports the record that the portal can't give, and goes on behind it."""
        ids = page.ids()
        if not ids:
            yield from self.end_of_list(response.request, here)
            return
        after = here.behind(ids[0])
        self.noticed(ids[0], list_name=here.name, by=response.request)
        if not here.ids:
            self.listed(after.listed)
        error = AnswerError("refused", f"the portal can't give this dataset's record: {here.skipping}")
        self.failed("list", error, response.request, dataset_id=ids[0], missing="dataset")
        yield self.list_request(replace(after, rows=min(self.rows(after.listed), 10)), again=True)

    def list_failed(self, failure: Failure) -> Output:
        request = failures.request(failure)
        yield from self.not_listed(request, Cursor(**request.cb_kwargs["cursor"]), Refusal.of_failure(failure))

    def not_listed(self, request: Request | None, here: Cursor, refusal: Refusal) -> Output:
        """Tries what may still help; else the listing ends here, and says why in the words of the first way asked."""
        if here.first and self.first_refusal is None:
            self.first_refusal = refusal
        there = another(here, refusal, len(self.ways)) or self.otherwise(here, refusal)
        if there:
            self.logger.info("%s: %s; trying another way to list it", self.portal, refusal.error)
            yield self.list_request(there, again=there.rows < here.rows or bool(there.skipping))
            return
        self.list_ended(here.name)
        blocked = refusal.error.kind == "blocked"
        cause = self.first_refusal if here.first and self.first_refusal and not blocked else refusal
        self.failed("list", cause.error, request, http_status=cause.status)

    def otherwise(self, here: Cursor, refusal: Refusal) -> Cursor | None:  # noqa: ARG002
        """Return where another list begins that can stand in for one that the portal refuses."""
        return None
