"""The spider of every catalogue that publishes DCAT."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request
from scrapy.http import HtmlResponse

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.kinds.dcat.answer import NO_RDF, alternate, open_body, read
from crawlers.kinds.dcat.changes import Changes
from crawlers.kinds.dcat.page import RDFPage
from crawlers.kinds.dcat.records import PageRecords
from crawlers.kinds.dcat.walk import Walk
from crawlers.kinds.dcat.walk_state import Listing, Place, request_key
from crawlers.listing import other_answers
from crawlers.listing.crawl import remembering
from crawlers.listing.spider import CatalogueSpider, in_turns
from crawlers.rdf import formats

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.dcat.page import Page

MAX_HOPS = 2
"""HTML pages between the address given and the RDF."""
_MAX_HTML = 2_000_000  # bytes; a link to the RDF stands near the beginning
_LOOKS = {"modified": 2, "first": 3}  # what tells the request for a page that is read again from the first one


class DCATSpider(CatalogueSpider):
    """A catalogue that publishes DCAT: one file, many pages, a single dataset, or a data.json.

    #. Inherit from this class in a module of its own in ``spiders/``, and say in the docstring who runs the catalogue.
    #. Set ``name`` and ``url``; that is all most catalogues need.

    With ``-a since=last`` a catalogue in one file is downloaded only if it has changed, by its ETag or Last-Modified.
    A dataset is withdrawn when two complete listings in a row did not have it: unlike CKAN's, a catalogue's RDF can't
    be queried for one dataset.

    An answer is read by `crawlers.kinds.dcat.answer`; its records become items in `PageRecords`; `Walk` says which
    request follows; `Changes` compares with the last complete crawl.

    Attributes:
        url: the catalogue's RDF, or a page that links to it; ``-a url=`` overrides it.
        rules: a file in ``catalogues/`` that says which property is which field; ``-a rules=`` overrides it.
    """

    kind = "dcat"
    address = "url"
    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "url": Argument(help="The catalogue's RDF or data.json, or a page that links to it.", parse=arguments.url),
        "rules": Argument(
            help="A file in catalogues/ that says which property is which field, for RDF that is not DCAT.",
            parse=arguments.text,
        ),
        "language": Argument(
            help="The language of titles and descriptions where there are several: fr, de.", parse=arguments.language
        ),
        "since": Argument(
            help="last: only if the catalogue has changed since the last complete crawl.",
            parse=arguments.choice("last"),
        ),
    }

    url: str | None = None
    rules: str | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.url = self.args["url"] or self.url
        if self.url is None:
            raise ArgumentError(
                f"spider {self.name} needs to know the catalogue: -a url=https://example.org/catalog.ttl"
            )
        self.rules = self.args["rules"] or self.rules
        self.make_page: Callable[..., RDFPage] = RDFPage
        if self.rules:
            self._follow(self.rules)

    def _follow(self, file: str) -> None:
        """Read pages by the rules of a file; few catalogues need any, so what reads them is imported here."""
        from crawlers.kinds.dcat.rules import lasting  # noqa: PLC0415
        from crawlers.kinds.dcat.rules.page import TaughtPage  # noqa: PLC0415

        rules = lasting(file)
        self.identity = {"rules": rules.digest}
        self.make_page = partial(TaughtPage, rules)

    @property
    def portal(self) -> str | None:
        """The address that the user named: its host may be private, and gets the credentials."""
        return self.url

    @cached_property
    def changes(self) -> Changes:
        return Changes(self, str(self.url), self.completeness, self.withdrawals)

    @cached_property
    def walk(self) -> Walk:
        return Walk(self, str(self.url), self.page_request, self.completeness, self.changes)

    async def start(self) -> AsyncIterator[Request]:
        """Yield the request for the catalogue's first page."""
        self.completeness.begin("pages")
        place = Place(listing=Listing(start=str(self.url)))
        self.walk.frontier.is_new(str(self.url), "start", place)
        request = self.page_request(str(self.url), place)
        yield self.changes.conditional(request) if self.args["since"] else request

    def page_request(self, url: str, place: Place) -> Request:
        """Return the request for a page."""
        look = place.listing.look
        again = {"page": _LOOKS[look], "dont_cache": True} if look else {}  # or it is filtered as known
        return Request(
            url,
            headers={"Accept": formats.ACCEPT},
            callback=self.parse_page,
            errback=self.page_failed,
            cb_kwargs={"place": place.plain()},
            meta={"spool": True, **again},
        )

    async def parse_page(self, response: Response, place: dict[str, Any]) -> AsyncIterator[Dataset | Request]:
        """Yield the items of a page, then the request that follows it."""
        here = Place.from_plain(place)
        if response.status == 304:
            self.seen(response.url, list_name="pages", listed_by=None)
            self.changes.keep_all()
            return
        if here.number == 1 and not here.hops:
            self.changes.note_validators(response)
        if "cached" in response.flags:
            self.run_state.has_stale_answer = True
        self.walk.frontier.note(response, here)
        max_json = self.crawler.settings.getint("JSON_MAXSIZE")
        try:
            language = self.args["language"]
            page = read(response, name=self.source, language=language, max_json=max_json, make=self.make_page)
            if page is None:
                yield self._linked(response, here)
                return
            with closing(page):
                await self._load(page)
                for output in self._outputs(response, here, page):
                    yield output
        except AnswerError as error:
            for request in self.walk.skip(error, response.request, here):
                yield request

    def page_failed(self, failure: Failure) -> Iterator[Request]:
        """Report a page that did not come; yield the request that follows it, if there is one."""
        return self.walk.fail(failure)

    def _linked(self, response: Response, here: Place) -> Request:
        """Return the request for the RDF that an HTML page links to.

        Raises:
            AnswerError: it links to none.
        """
        body = open_body(response).read(_MAX_HTML)
        address = alternate(HtmlResponse(response.url, headers=response.headers, body=body))
        is_first = self.walk.frontier.is_new
        if address is None or here.hops >= MAX_HOPS or not is_first(address, request_key(response, here), here):
            other = other_answers.named(response, "a catalogue", spider="dcat")
            raise AnswerError("not_rdf", other or f"an HTML page came instead of RDF: {NO_RDF}")
        self.logger.info("%s is an HTML page: going on to %s", response.url, address)
        return self.page_request(address, replace(here, hops=here.hops + 1))

    async def _load(self, page: Page) -> None:
        """Read a page. A large one takes seconds, in which signals and time-outs are handled, too.

        Raises:
            CloseSpider: the disk is full.
        """
        with remembering(self):
            await in_turns(page.load())

    def _outputs(self, response: Response, here: Place, page: Page) -> Iterator[Dataset | Request]:
        after = here.after(page)
        if not after.listing.branch:
            self.run_state.expected = after.listing.total
        records = PageRecords(self, str(self.url), page, response, after)
        try:
            for record in page.records():
                if self.walk.is_limit_reached(after):
                    self.walk.stop(after)
                    return
                yield from records.items(record)
        finally:
            records.count()
            records.report_faults()
        yield from self.walk.follow(response, after, page)
