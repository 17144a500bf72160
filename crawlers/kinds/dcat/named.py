"""The datasets that pages name and do not describe: each is requested by its own address, one after the other."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.answer import NoRDFError
from crawlers.kinds.dcat.frontier import same_host
from crawlers.kinds.dcat.records import PageRecords
from crawlers.listing.spider import in_turns
from crawlers.listing.walk import Walk, restored
from crawlers.politeness import failures
from crawlers.rdf import formats
from crawlers.resume.records import listed_by
from crawlers.values.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.dcat.frontier import Frontier
    from crawlers.kinds.dcat.page import Page
    from crawlers.listing.crawl import Crawl

MAX_UNREAD = 20
"""Datasets in a row that were requested one by one and did not come."""
MAX_HOPS = 2
"""HTML pages between an address and the RDF."""
_WITHOUT = "without rdf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A dataset that is requested by its own address; the step of its walk is the number of those requested.

    Args:
        name: its IRI.
        unread: how many of the last ones in a row did not come.
        hops: how many HTML pages led to its RDF.
    """

    name: str = ""
    unread: int = 0
    hops: int = 0


@dataclass(kw_only=True, eq=False)
class NamedDatasets:
    """Requests the datasets that are described nowhere, within bounds.

    Args:
        catalogue: the catalogue's address.
        read: returns the page in an answer; ``None`` for one of HTML.
        linked: returns the address of the RDF that a page of HTML links to, see `DCATDialect.linked`.
        end: does what there is to do at the end of the crawl: with the number of datasets that were named and
            did not come, and that were requested here.
        has_any: whether a page named one; ``None`` if that is to be looked up.
    """

    crawl: Crawl
    catalogue: str
    frontier: Frontier
    read: Callable[[Response], Page | None]
    linked: Callable[[Response, str, int], str]
    end: Callable[[int, int], None]
    has_any: bool | None = None

    @property
    def limit(self) -> int:
        """How many may be requested."""
        return self.crawl.crawler.settings.getint("LINKED_DATASETS_MAX")

    def add(self, page: Page, by: str) -> int:
        """Note the datasets that a page names; return how many of them no page named or described before."""
        records, new = self.crawl.records, 0
        for name in page.undescribed():
            is_new = self.crawl.seen(name, list_name="named", listed_by=by)
            new += is_new and not records.is_listed(name, "nodes")
            self.has_any = True
        return new

    def is_named(self, name: str, list_name: str) -> bool:
        """Return whether a page of a list named a dataset that it did not describe."""
        if self.has_any is None:
            self.has_any = self.crawl.records.count("named") > 0
        by = listed_by(self.crawl.records, name, "named") if self.has_any else None
        return by is not None and by.rpartition(" ")[0] == list_name

    def following(self, walk: Walk[Named]) -> Iterator[Request]:
        """Yield the request for a dataset that is described nowhere yet; if there is none, end the crawl."""
        ask = walk.ask
        while walk.step < self.limit and ask.unread < MAX_UNREAD and (name := self.frontier.take("named", walk.key)):
            address = absolute(name, self.catalogue)
            if address is None or not self._is_own(address) or self.crawl.records.is_listed(name, "nodes"):
                continue
            if not self.frontier.is_new(address, walk.key):
                continue
            if self.crawl.limits.is_reached(datasets=walk.earlier, resources=walk.resources):
                self.crawl.run_state.is_limited = True
            else:
                yield self._request(address, replace(walk, ask=replace(ask, name=name, hops=0), step=walk.step + 1))
            return
        self.end(self._report_all(walk), walk.step)

    async def answered(self, response: Response, walk: dict[str, Any]) -> AsyncIterator[Any]:
        """Yield the items that the answer for a dataset has, then the next request."""
        here = restored(walk, Named)
        self.frontier.note(response.url)
        if "cached" in response.flags:
            self.crawl.run_state.has_stale_answer = True
        try:
            page = self.read(response)
            if page is None:
                address = self.linked(response, here.key, here.ask.hops)
                yield self._request(address, replace(here, ask=replace(here.ask, hops=here.ask.hops + 1)))
                return
            with closing(page):
                await in_turns(page.load())
                for output in self._taken(response, page, here):
                    yield output
        except AnswerError as error:
            for output in self._lost(error, response.request, None, here):
                yield output

    def failed(self, failure: Failure) -> Iterator[Request]:
        """Report a dataset that did not come; yield the next request."""
        request = failures.request(failure)
        here = restored(request.cb_kwargs["walk"], Named)
        yield from self._lost(failures.from_failure(failure), request, failures.status(failure), here)

    def _taken(self, response: Response, page: Page, here: Walk[Named]) -> Iterator[Any]:
        name, records = here.ask.name, PageRecords(self.crawl, page, response, here, None, address=self.catalogue)
        for record in page.records():
            if records.is_enough():
                self.crawl.run_state.is_limited = True
                return
            yield from records.outside(record)
        records.report_faults()
        if page.is_described(name):
            self.crawl.seen(name, list_name="settled", listed_by=response.url)
        elif not self.crawl.records.is_listed(name, "nodes"):
            self._report(name, "the answer from its address does not describe it", response.request)
        ask, earlier = replace(here.ask, unread=0), records.earlier + records.new
        yield from self.following(replace(here, ask=ask, earlier=earlier, resources=records.resources))

    def _lost(
        self, error: AnswerError, request: Request | None, status: int | None, here: Walk[Named]
    ) -> Iterator[Request]:
        if isinstance(error, NoRDFError):
            self.crawl.seen(here.ask.name, list_name=_WITHOUT, listed_by=here.key)
        else:
            self._report(here.ask.name, str(error), request, status)
        yield from self.following(replace(here, ask=replace(here.ask, unread=here.ask.unread + 1)))

    def _request(self, address: str, walk: Walk[Named]) -> Request:
        given: dict[str, Any] = {"headers": {"Accept": formats.ACCEPT}, "meta": {"spool": True}}
        return Request(address, self.answered, errback=self.failed, cb_kwargs={"walk": walk.plain()}, **given)

    def _report(self, name: str, reason: str, request: Request | None = None, status: int | None = None) -> None:
        """Report a dataset that is not described."""
        self.crawl.seen(name, list_name="settled", listed_by=request)
        message = f"the catalogue names the dataset {name}, and does not describe it: {reason}"
        self.crawl.failed("list", AnswerError("undescribed", message), request, http_status=status)

    def _report_all(self, walk: Walk[Named]) -> int:
        """Report the datasets that are not described and were not reported; return how many are missing."""
        missing, without = 0, self._without_rdf()
        for name in self.crawl.records.listed("named", without="nodes"):
            if name in without:
                message = f"the catalogue names the dataset {name}, which has no RDF: its address gives none"
                self.crawl.failed("list", AnswerError("no_rdf", message), Request(str(absolute(name, self.catalogue))))
                continue
            missing += 1
            if not self.crawl.records.is_listed(name, "settled"):
                self._report(name, self._reason(name, walk))
        return missing

    def _without_rdf(self) -> set[str]:
        """Return the names whose addresses gave no RDF, if they are things without: never kept, and not the most."""
        names = list(self.crawl.records.listed(_WITHOUT))
        if len(names) > self.crawl.run_state.listed:  # the catalogue has its RDF elsewhere, or gives none today
            return set()
        return set(names) - self.crawl.opened_index().documents.described(names)

    def _reason(self, name: str, walk: Walk[Named]) -> str:
        """Return why a dataset was not requested."""
        address = absolute(name, self.catalogue)
        if address is None:
            return "its name is no web address"
        if not self._is_own(address):
            return "its address is on another host"
        if self.crawl.records.is_listed(name, _WITHOUT):
            return "an HTML page came instead of RDF"
        if walk.ask.unread >= MAX_UNREAD:
            return f"{MAX_UNREAD} datasets in a row were not available, and no more were requested"
        if walk.step >= self.limit:
            return f"LINKED_DATASETS_MAX allows {self.limit} to be requested one by one"
        return "no answer from its address does"

    def _is_own(self, address: str) -> bool:
        return same_host(address, self.catalogue)
