"""Walks a catalogue's listings, and knows when that is over."""

from __future__ import annotations

import os
import zipfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy import Request
from w3lib.url import canonicalize_url

from crawlers import arguments, browser, failures
from crawlers.arguments import Argument
from crawlers.catalogue import CatalogueSpider, host_name, source_name
from crawlers.exceptions import AnswerError, ArgumentError, RulesError
from crawlers.html import turn
from crawlers.html.answer import page_of
from crawlers.html.links import dataset_links, follow_links, foreign, total
from crawlers.html.place import Place
from crawlers.rules import load

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.html.links import Link
    from crawlers.html.turn import Turn
    from crawlers.items import Dataset
    from crawlers.mapping.html import Page
    from crawlers.rules import Rules

_MOST_STRANGERS = 100  # error lines for one page
PROJECT = Path(__file__).parent.parent.parent


class HTMLWalk(CatalogueSpider):
    """The part of `HTMLSpider` that walks the listings and asks for the datasets' pages.

    Attributes:
        rules: the rules file, as `rules_file` finds it; ``-a rules=`` goes before it.
        site: what the file says.
    """

    address = "rules"
    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "rules": Argument(help="The catalogue's rules file.", parse=arguments.text),
    }

    rules: str | None = None

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.rules = self.args["rules"] or self.rules
        if self.rules is None:
            raise ArgumentError(f"spider {self.name} needs to know the catalogue: -a rules=catalogues/example.toml")
        self.site: Rules = load(rules_file(self.rules))
        _check_source(self.site.source)
        self.start_urls = list(self.site.start)
        self.allowed_domains = list(self.site.hosts)
        self.identity = {"rules": self.site.digest}

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        spider = super().from_crawler(crawler, **given)
        if spider.site.cookies:
            crawler.settings.set("COOKIES_ENABLED", True, "spider")
        if spider.site.browser:
            browser.enable(crawler)
        return spider

    @property
    def portal(self) -> str:
        """The address that the user named: the host that may be private, and that credentials are for."""
        return self.site.start[0]

    @cached_property
    def source(self) -> str:
        own = self.name if type(self).rules else host_name(self.portal)
        return str(self.args["source"] or self.site.source or own)

    # Asking

    async def start(self) -> AsyncIterator[Request]:
        for same, address in {canonicalize_url(one): one for one in self.site.start}.items():
            self.noticed(same, list_name="walks", by="start")
            yield self.listing_request(turn.Turn(address), self.begun(Place(walk=address)))

    def begun(self, place: Place) -> Place:
        self.list_begun(place.walk)
        return place

    def listing_request(self, to: Turn, place: Place) -> Request:
        meta: dict[str, Any] = {} if to.body is None else {"page": place.number}
        if "listing" in self.site.browser:
            meta["browser"] = turn.browser(self.site.paging, to.times)
        form = {"Content-Type": "application/x-www-form-urlencoded"} if to.body is not None else {}
        return Request(
            to.url,
            method="GET" if to.body is None else "POST",
            body=to.body or b"",
            headers=form,
            callback=self.parse_listing,
            errback=self.listing_failed,
            cb_kwargs={"place": place.plain()},
            meta=meta,
            priority=0 if self.args["max_resources"] else 1,  # first: a listing that takes hours changes meanwhile
        )

    def dataset_request(self, link: Link, modified: str | None = None) -> Iterator[Request]:  # noqa: ARG002
        """What is asked for of a dataset that a listing has.

        Args:
            modified: the day its page last changed, if the listing says so.
        """
        yield from ()

    # A page of a listing

    def parse_listing(self, response: Response, place: dict[str, Any]) -> Iterator[Dataset | Request]:
        here = Place(**place)
        if "cached" in response.flags:
            self.provisional()
        try:
            page = page_of(response)
            links, strangers = foreign(dataset_links(page, self.site), self.site)
            after = here.after(links, total(page, self.site))
        except AnswerError as error:
            yield from self.not_listed(here, error, response.request, response.status)
            return
        if page.flaw:
            self.faulty("truncated", page.flaw, response.request)
        self.left_out(strangers, response.request)
        yield from self.datasets(links, after, response.request)
        if self.is_enough():
            yield from self.stopped(here)
            return
        yield from self.further(page, here)
        yield from self.turned(page, response, here, after)

    def stopped(self, here: Place) -> Iterator[Request]:
        """The user wants no more."""
        self.limited()
        yield from self.ended(here)

    def left_out(self, strangers: Sequence[Link], request: Request | None) -> None:
        if len(strangers) > _MOST_STRANGERS:
            message = f"{len(strangers)} links to datasets are not on one of the catalogue's hosts: see [links]"
            self.failed("list", AnswerError("offsite", message), request)
            return
        for link in strangers:
            message = f"{link.url} is not on one of the catalogue's hosts: name its host in `hosts` if it is a dataset"
            self.failed("list", AnswerError("offsite", message), request)

    def datasets(
        self, links: Sequence[Link], after: Place, request: Request | None, modified: Mapping[str, str] = {}
    ) -> Iterator[Request]:
        first = {link.id: link for link in reversed(links)}  # of several addresses with one id
        for link in filter(lambda link: first[link.id] is link, links):
            if self.is_enough() and not self.records.is_planned("dataset", link.id):  # which it is after a kill
                break
            if self.noticed(link.id, list_name=f"walk {after.walk}", by=request):
                after.seen += 1
                after.stale = 0
            if self.planned("dataset", link.id, by=request):
                yield from self.dataset_request(link, modified.get(link.id))
        self.listed(self.crawler.stats.get_value("catalogue/planned", 0))

    def is_enough(self) -> bool:
        """Whether the user wants no more."""
        datasets, resources = self.args["max_datasets"], self.args["max_resources"]
        stats = self.crawler.stats
        return bool(
            (datasets and stats.get_value("catalogue/planned", 0) >= datasets)
            or (resources and stats.get_value("catalogue/resources", 0) >= resources)
        )

    def further(self, page: Page, here: Place) -> Iterator[Request]:
        """The walks through the listings that this one leads to."""
        addresses = follow_links(page, self.site) if self.site.links.follow else []
        by = f"{here.walk} {here.number}"
        for address in addresses:
            if not (self.site.follows(address) and self.noticed(canonicalize_url(address), list_name="walks", by=by)):
                continue
            if here.depth >= self.site.links.depth:
                message = f"{address} is another listing, deeper than links.depth ({self.site.links.depth})"
                self.faulty("trap", message, None)
                return
            yield self.listing_request(turn.Turn(address), self.begun(Place(walk=address, depth=here.depth + 1)))

    # Where it goes on

    def turned(self, page: Page, response: Response, here: Place, after: Place) -> Iterator[Request]:
        self.check(here, after, response)
        following = None if self.is_end(response, here, after) else turn.following(page, self.site, after)
        if following and self.is_new(following, here):
            if here.number < self.site.paging.max_pages:
                yield self.listing_request(following, after)
                return
            message = f"the listing goes on beyond paging.max_pages ({here.number}): a calendar, a session id?"
            self.faulty("trap", message, response.request)
            yield from self.ended(here)
        else:
            yield from self.weighed(after, response.request)

    def check(self, here: Place, after: Place, response: Response) -> None:
        """An empty page is the end or a failure, which is seen from what comes behind it; the first again is none."""
        request = response.request
        if here.gap and after.gap is None:
            message = f"page {here.gap} of {here.walk} lists no dataset, and later ones do"
            self.faulty("paging", message, request)
        if here.number == 2 and _repeats(here, after) and self.site.paging.kind not in turn.BY_BROWSER:
            message = f"page 2 of {here.walk} lists what page 1 does: does [paging] name what turns the page?"
            self.faulty("paging", message, request)
        if turn.is_short(response, here.number - 1):
            message = f"{here.walk} could be turned {here.number - 2} times before, and now no more so often"
            self.faulty("paging", message, request)

    def is_end(self, response: Response, here: Place, after: Place) -> bool:
        """The button is gone, the page repeats, all are there, or nothing new came for too long."""
        return (
            (b"Page-End" in response.headers and self.site.paging.kind in turn.BY_BROWSER)
            or (_repeats(here, after) and here.number > 1)
            or after.stale >= (1 if after.is_all else self.site.paging.patience)
        )

    def is_new(self, to: Turn, here: Place) -> bool:
        """Whether the page was not asked for before: what the scheduler takes for the same request is the same."""
        if to.body is not None or to.times:
            return True
        self.noticed(canonicalize_url(here.walk), list_name="pages", by="")
        return self.noticed(canonicalize_url(to.url), list_name="pages", by=f"{here.walk} {here.number}")

    def weighed(self, after: Place, request: Request | None) -> Iterator[Request]:
        """A walk's end: what was seen against what was promised."""
        if after.total is not None and after.seen != after.total:
            message = f"{after.walk} says it has {after.total} datasets, and listed {after.seen}"
            self.faulty("count_mismatch", message, request)
        elif after.gap and after.gap > 1 and self.site.paging.kind in turn.PROMISED:
            self.faulty("paging", f"{after.walk} leads to a page {after.gap} that lists no dataset", request)
        elif after.gap == 1 and not after.depth and len(self.site.start) > 1 and not self.site.links.follow:
            self.faulty("no_datasets", f"{after.walk} has no link to a dataset", request)
        yield from self.ended(after)

    def faulty(self, kind: str, message: str, request: Request | None) -> None:
        self.failed("list", AnswerError(kind, message), request)
        self.cut_short()

    def listing_failed(self, failure: Failure) -> Iterator[Request]:
        request, status = failures.request(failure), failures.status(failure)
        place = Place(**request.cb_kwargs["place"])
        if status in (404, 410) and place.number > 1 and self.site.paging.kind in turn.COUNTED:
            if place.number == 2:
                message = f"there is no page 2 of {place.walk}: does [paging] name what turns the page?"
                self.faulty("paging", message, request)
            yield from self.weighed(place, request)
        else:
            yield from self.not_listed(place, failures.of(failure), request, status)

    def not_listed(
        self, place: Place, error: AnswerError, request: Request | None, status: int | None
    ) -> Iterator[Request]:
        self.failed("list", error, request, http_status=status)
        self.cut_short()
        yield from self.ended(place)

    def ended(self, place: Place) -> Iterator[Request]:
        """Nothing more of this walk is to come; after the last one what is gone can be told."""
        self.list_ended(place.walk)
        if all(state == "ended" for state in self.crawler.stats.get_value("catalogue/lists", {}).values()):
            yield from self.finished()

    def cut_short(self) -> None:
        """Some listing was not read to its end: what it lacks may be there."""
        self.crawler.stats.set_value("catalogue/cut_short", True)

    def finished(self) -> Iterator[Request]:
        listed = self.crawler.stats.get_value("catalogue/planned", 0)
        limited = self.crawler.stats.get_value("catalogue/limited")
        cut_short = self.crawler.stats.get_value("catalogue/cut_short")
        if not limited and not cut_short:
            self.expected(listed)
            if listed:
                yield from self.list_complete()
            else:
                message = "the listing has no link to a dataset: look at [links] in the rules, or ask for a browser"
                self.failed("list", AnswerError("no_datasets", message))

    def list_complete(self) -> Iterator[Request]:
        """What there is to do when every listing was read to its end."""
        yield from ()


def rules_file(name: str) -> Path:
    """Where a rules file is: against the working directory, below CRAWLERS_HOME, or else this project's own.

    This project may be an egg: what is in it is no `Path`, and can be read like one.

    Raises:
        RulesError: there is no such file, and the message names the places; or it can't be looked for.
    """
    path = Path(name)
    if path.is_absolute():
        return path
    home = Path(os.environ.get("CRAWLERS_HOME", "")).resolve()
    own = zipfile.Path(PROJECT, path.as_posix()) if PROJECT.is_file() else PROJECT / path
    try:
        found = next((place for place in (path, home / path, own) if place.exists()), None)
    except OSError as error:
        raise RulesError(f"The rules {name[:200]} can't be read: {error.strerror}.") from None
    if found is not None:
        return found  # type: ignore[return-value]
    there = " or ".join(dict.fromkeys(map(str, (Path.cwd(), home, PROJECT))))
    raise RulesError(f"The rules {path} can't be read: there is no such file in {there}.")


def _check_source(name: str | None) -> None:
    try:
        source_name(name or "source")
    except ValueError as error:
        raise ArgumentError(f"source = {name!r} in the rules is not {error}.") from None


def _repeats(here: Place, after: Place) -> bool:
    return bool(after.digest) and after.digest == here.digest
