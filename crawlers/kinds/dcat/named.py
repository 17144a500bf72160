"""The datasets that pages name and do not describe: each is requested by its own address, one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.frontier import same_host
from crawlers.records.addresses import absolute

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kinds.dcat.frontier import Ask, Frontier
    from crawlers.kinds.dcat.page import Page
    from crawlers.listing.crawl import Crawl

MAX_UNREAD = 20
"""Datasets in a row that were requested one by one and did not come."""
_WITHOUT = "without rdf"


class NamedDatasets:
    """Keeps the names in the ledger, says which dataset is requested next, and reports what does not come.

    Args:
        catalogue: the catalogue's address.
    """

    def __init__(self, crawl: Crawl, catalogue: str, frontier: Frontier) -> None:
        self.crawl, self.catalogue, self.frontier = crawl, catalogue, frontier
        self.has_any: bool | None = None  # to be looked up

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
        by = self.crawl.records.listed_by(name, "named") if self.has_any else None
        return by is not None and by.rpartition(" ")[0] == list_name

    def following(self, ask: Ask, by: str) -> Ask | None:
        """Return what the next dataset that is described nowhere is asked by.

        Args:
            by: the key of the request that this follows.
        """
        while ask.asked < self.limit and (name := self.frontier.take("named", by)):
            address = self._address(name)
            if address and not self.crawl.records.is_listed(name, "nodes") and self.frontier.is_new(address, by):
                return replace(ask, url=address, name=name, asked=ask.asked + 1, hops=0)
        return None

    def _address(self, name: str) -> str | None:
        """Return where a dataset may be requested; ``None`` if that is nowhere, or on another host."""
        address = absolute(name, self.catalogue)
        return address if address and same_host(address, self.catalogue) else None

    # What came, and what did not

    def came(self, name: str, page: Page, response: Response) -> None:
        """Note that a dataset's address was read; report one that the answer does not describe."""
        if page.is_described(name):
            self.crawl.seen(name, list_name="settled", listed_by=response.url)
        elif not self.crawl.records.is_listed(name, "nodes"):
            error = self.lost(name, "the answer from its address does not describe it")
            self.crawl.failed("list", error, response.request)

    def note_without(self, name: str, by: str) -> None:
        """Note that a dataset's address gave no RDF."""
        self.crawl.seen(name, list_name=_WITHOUT, listed_by=by)

    def lost(self, name: str, reason: str) -> AnswerError:
        """Return the error of a dataset that is not described; it is not reported again."""
        self.crawl.seen(name, list_name="settled", listed_by=None)
        return AnswerError("undescribed", f"the catalogue names the dataset {name}, and does not describe it: {reason}")

    def report(self, asked: int) -> int:
        """Report the datasets that are not described and were not reported; return how many are missing.

        Args:
            asked: how many were requested.
        """
        missing, without = 0, self._without_rdf()
        for name in self.crawl.records.listed("named", without="nodes"):
            if name in without:
                message = f"the catalogue names the dataset {name}, which has no RDF: its address gives none"
                self.crawl.failed("list", AnswerError("no_rdf", message), Request(str(self._address(name))))
                continue
            missing += 1
            if not self.crawl.records.is_listed(name, "settled"):
                self.crawl.failed("list", self.lost(name, self._reason(name, asked)))
        return missing

    def _without_rdf(self) -> set[str]:
        """Return the names whose addresses gave no RDF, if they are things without: never kept, and not the most."""
        names = list(self.crawl.records.listed(_WITHOUT))
        if len(names) > self.crawl.run_state.listed:  # the catalogue has its RDF elsewhere, or gives none today
            return set()
        return set(names) - self.crawl.opened_index().documents.described(names)

    def _reason(self, name: str, asked: int) -> str:
        """Return why a dataset was not requested, or what came."""
        if self.crawl.records.is_listed(name, _WITHOUT):
            return "an HTML page came instead of RDF"
        if absolute(name, self.catalogue) is None:
            return "its name is no web address"
        if self._address(name) is None:
            return "its address is on another host"
        if asked >= self.limit:
            return f"LINKED_DATASETS_MAX allows {self.limit} to be requested one by one"
        if self.crawl.records.is_listed(name, "chosen"):
            return "no answer from its address does"
        return "no more datasets were requested, because those before it did not come"
