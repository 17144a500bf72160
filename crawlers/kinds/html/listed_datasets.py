"""The datasets that listings and sitemaps link to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from scrapy import Request

    from crawlers.kinds.html.links import Link
    from crawlers.kinds.html.pages import DatasetPages
    from crawlers.kinds.html.walk_state import Place
    from crawlers.listing.crawl import Crawl

_MOST_STRANGERS = 100  # error lines for one page


class ListedDatasets:
    """Plans the datasets that a listing links to, up to the user's limits."""

    def __init__(self, crawl: Crawl, pages: DatasetPages) -> None:
        self.crawl, self.pages = crawl, pages

    def requests(
        self, links: Sequence[Link], after: Place, request: Request | None, modified: Mapping[str, str] = {}
    ) -> Iterator[Request]:
        """Yield the requests for the datasets that no other page has listed.

        Args:
            after: the place behind the page; its counts are brought up to date.
            request: the page's own.
            modified: by dataset id, the day the dataset's page last changed, if the listing states it.
        """
        crawl = self.crawl
        listed_by = f"{after.name} {after.number}" if after.before is not None else self._page(after, request)
        first = {link.id: link for link in reversed(links)}  # of several addresses with one id
        known = 0
        for link in filter(lambda link: first[link.id] is link, links):
            if self.is_enough() and not crawl.records.is_planned("dataset", link.id):  # which it is after a kill
                break
            known += not self._is_new(after, link.id, listed_by)
            if crawl.expect("dataset", link.id, listed_by=listed_by):
                yield from self._in_session(after, self.pages.requests(link, modified.get(link.id)))
        after.repeated += known if not after.stale else 0
        crawl.run_state.count_listed(crawl.records.expected)

    def _in_session(self, after: Place, requests: Iterator[Request]) -> Iterator[Request]:
        """Yield requests with the cookies of the search that listed them, if it was one."""
        for request in requests:
            if after.session:
                request.meta["cookiejar"] = after.session
            yield request

    def _page(self, after: Place, request: Request | None) -> Request | str | None:
        """Return what identifies a page: behind a form its number, since the same page is requested otherwise again."""
        return f"walk {after.walk} {after.number}" if self.pages.site.form else request

    def _is_new(self, after: Place, dataset_id: str, listed_by: Request | str | None) -> bool:
        """Record that a walk lists a dataset; return whether it is the first time."""
        is_new = self.crawl.seen(dataset_id, list_name=after.first_name, listed_by=listed_by)
        after.seen += is_new
        if after.before is not None:
            is_new = self.crawl.seen(dataset_id, list_name=after.name, listed_by=listed_by)
        after.stale = 0 if is_new else after.stale
        return is_new

    def is_enough(self) -> bool:
        """Return whether a limit that the user set is reached."""
        datasets, resources = self.crawl.records.expected, self.crawl.run_state.resources
        return self.crawl.limits.is_reached(datasets=datasets, resources=resources)

    def report_offsite(self, strangers: Sequence[Link], request: Request | None) -> None:
        """Report the links to datasets on hosts that the rules do not name."""
        if len(strangers) > _MOST_STRANGERS:
            messages = [f"{len(strangers)} links to datasets are not on one of the catalogue's hosts: see [links]"]
        else:
            end = "is not on one of the catalogue's hosts: name its host in `hosts` if it is a dataset"
            messages = [f"{link.url} {end}" for link in strangers]
        for message in messages:
            self.crawl.failed("list", AnswerError("offsite", message), request)
