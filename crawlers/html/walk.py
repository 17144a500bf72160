"""Walks a catalogue's listings, and knows when that is over."""

from __future__ import annotations

import os
import zipfile
from dataclasses import asdict, replace
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
from crawlers.html.ending import ending, is_single, single_page
from crawlers.html.letters import is_of, letters
from crawlers.html.links import dataset_links, follow_links, foreign, total
from crawlers.html.paging import counted
from crawlers.html.place import SECOND_LOOK, Place
from crawlers.listing.completeness import Ending
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

_GONE = (404, 410)
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
        if place.before is not None:
            meta["dont_cache"] = True
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
            dont_filter=place.before is not None,
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
            yield from self.listing(page_of(response), response, here)
        except AnswerError as error:
            yield from self.not_listed(here, error, response.request, response.status)

    def listing(self, page: Page, response: Response, here: Place) -> Iterator[Dataset | Request]:
        links, strangers = foreign(dataset_links(page, self.site), self.site)
        after = turn.seen_pager(page, here.after(links, total(page, self.site)))
        if page.flaw:
            self.faulty("truncated", page.flaw, response.request)
        if page.misread:
            self.logger.warning("%s: %s Its links are followed all the same", response.url, page.misread)
        self.left_out(strangers, response.request)
        yield from self.datasets(links, after, response.request)
        if self.is_enough():
            yield from self.stopped(here)
            return
        yield from self.further(follow_links(page, self.site) if self.site.links.follow else [], here, after)
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
        by = request if after.before is None else f"{after.name} {after.number}"
        first = {link.id: link for link in reversed(links)}  # of several addresses with one id
        known = 0
        for link in filter(lambda link: first[link.id] is link, links):
            if self.is_enough() and not self.records.is_planned("dataset", link.id):  # which it is after a kill
                break
            known += not self.is_new_to(after, link.id, by)
            if self.planned("dataset", link.id, by=by):
                yield from self.dataset_request(link, modified.get(link.id))
        after.repeated += known if not after.stale else 0
        self.listed(self.crawler.stats.get_value("catalogue/planned", 0))

    def is_new_to(self, after: Place, dataset_id: str, by: Request | str | None) -> bool:
        """Note that a walk has a dataset; return whether it had not before."""
        if self.noticed(dataset_id, list_name=f"walk {after.walk}", by=by):
            after.seen += 1
            is_new = True
        else:
            is_new = False
        if after.before is not None:
            is_new = self.noticed(dataset_id, list_name=after.name, by=by)
        after.stale = 0 if is_new else after.stale
        return is_new

    def is_enough(self) -> bool:
        """Whether the user wants no more."""
        datasets, resources = self.args["max_datasets"], self.args["max_resources"]
        stats = self.crawler.stats
        return bool(
            (datasets and stats.get_value("catalogue/planned", 0) >= datasets)
            or (resources and stats.get_value("catalogue/resources", 0) >= resources)
        )

    def further(self, addresses: Sequence[str], here: Place, after: Place) -> Iterator[Request]:
        """The walks through the listings that this one leads to."""
        by = f"{here.walk} {here.number}"
        after.leads = bool(addresses)
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
        is_end = self.is_end(response, here, after)
        following = None if is_end else turn.following(page, self.site, after)
        if following and self.is_new(following, here):
            yield from self.gone_on(following, here, after, response.request)
            return
        if not following and here.number == 1 and self.site.paging.kind == "next" and not self.site.links.follow:
            yield from self.indexed(page, here, after)
        repeats = _repeats(here, after) and self.site.paging.kind not in turn.BY_BROWSER
        goes_on = is_end and not repeats and turn.following(page, self.site, after) is not None
        found = ending(self.site.paging.kind, after, response, goes_on=goes_on, repeats=repeats)
        yield from self.weighed(after, response.request, found)

    def indexed(self, page: Page, here: Place, after: Place) -> Iterator[Request]:
        """Follow an index from A to Z, which is the pager of a listing that has no other."""
        found = letters(page)
        after.is_indexed = bool(found) and is_of(page.url, found) and all(map(self.site.follows, found))
        yield from self.further(found, here, after)

    def gone_on(self, following: Turn, here: Place, after: Place, request: Request | None) -> Iterator[Request]:
        if here.before is not None and here.number >= SECOND_LOOK:
            yield from self.weighed(after, request, Ending(**after.ending))
        elif here.number < self.site.paging.max_pages:
            self.crawler.stats.max_value("catalogue/page_size", after.size)
            after.said = following.said
            yield self.listing_request(following, after)
        else:
            message = f"the listing goes on beyond paging.max_pages ({here.number}): a calendar, a session id?"
            self.faulty("trap", message, request)
            yield from self.ended(here)

    def check(self, here: Place, after: Place, response: Response) -> None:
        """An empty page is the end or a failure, which is seen from what comes behind it; the first again is none."""
        request = response.request
        if here.gap and after.gap is None:
            message = f"page {here.gap} of {here.walk} lists no dataset or is not there, and later ones list some"
            self.faulty("paging", message, request)
        if here.number == 2 and _repeats(here, after) and self.site.paging.kind not in turn.BY_BROWSER:
            message = f"page 2 of {here.walk} lists what page 1 does: does [paging] name what turns the page?"
            self.faulty("paging", message, request)
        if turn.is_short(response, here.number - 1):
            message = f"{here.walk} could be turned {here.number - 2} times before, and now no more so often"
            self.faulty("paging", message, request)

    def is_end(self, response: Response, here: Place, after: Place) -> bool:
        """The button is gone, the page repeats, all are there, or nothing new came for too long.

        A browser's page that repeats is turned once more: many take the button away only after a click brought nothing.
        """
        return (
            (b"Page-End" in response.headers and self.site.paging.kind in turn.BY_BROWSER)
            or (_repeats(here, after) and here.number > 1 and self.site.paging.kind not in turn.BY_BROWSER)
            or after.stale >= (1 if after.is_all else self.site.paging.patience)
        )

    def is_new(self, to: Turn, here: Place) -> bool:
        """Whether the page was not asked for before: what the scheduler takes for the same request is the same."""
        if to.body is not None or to.times:
            return True
        self.noticed(canonicalize_url(here.walk), list_name="pages", by="")
        return self.noticed(canonicalize_url(to.url), list_name="pages", by=f"{here.walk} {here.number}")

    def weighed(self, after: Place, request: Request | None, found: Ending) -> Iterator[Request]:
        """Judge a walk that has ended, if need be after a second look at its pages."""
        if after.before is not None:
            found = replace(Ending(**after.ending), listed=after.seen)
        if self.is_flawed(after, request):
            yield from self.ended(after)
        elif self.is_shifted(after) and after.before is None:
            again = after.again(asdict(found))
            yield self.listing_request(turn.Turn(after.walk), again)
        else:
            self.judge(after, request, found)
            yield from self.ended(after)

    def is_flawed(self, after: Place, request: Request | None) -> bool:
        """Report what contradicts that a walk saw all there is; return whether anything does."""
        if after.total is not None and after.seen > after.total:
            message = f"{after.walk} says it has {after.total} datasets, and listed {after.seen}"
            self.faulty("count_mismatch", message, request)
        elif after.gap and after.gap > 1 and self.site.paging.kind in turn.PROMISED:
            self.faulty("paging", f"{after.walk} leads to a page {after.gap} that lists no dataset", request)
        elif after.gap == 1 and not after.depth and len(self.site.start) > 1 and not after.leads:
            self.faulty("no_datasets", f"{after.walk} has no link to a dataset", request)
        else:
            return False
        return True

    def is_shifted(self, after: Place) -> bool:
        """Whether pages list again what others had, so that some datasets may have been on none."""
        return not after.is_steady and after.total != after.seen and self.site.paging.kind in turn.READ_ONCE

    def judge(self, after: Place, request: Request | None, found: Ending) -> None:
        """Look for evidence; of a walk of one page, only when it is known how long other walks' pages are."""
        if self.is_shifted(after):
            message = f"{after.walk} lists its {after.seen} datasets in another order on each look: some may be missing"
            self.faulty("paging", message, request)
        elif not after.seen and after.leads:
            return  # it has no datasets of its own, and what it leads to was followed
        elif is_single(found, after):
            self.stats_table("catalogue/single_pages")[after.walk] = after.seen
        elif not self.conclude(after.walk, found, request):
            self.cut_short()

    def judge_single_pages(self) -> None:
        size = self.crawler.stats.get_value("catalogue/page_size", 0)
        for walk, seen in self.stats_table("catalogue/single_pages").items():
            if not self.conclude(walk, single_page(walk, seen, size), Request(walk)):
                self.cut_short()

    def faulty(self, kind: str, message: str, request: Request | None) -> None:
        self.failed("list", AnswerError(kind, message), request)
        self.cut_short()

    def listing_failed(self, failure: Failure) -> Iterator[Request]:
        request, status, error = failures.request(failure), failures.status(failure), failures.of(failure)
        place, is_gone = Place(**request.cb_kwargs["place"]), status in _GONE
        if place.number == 1 or self.site.paging.kind not in turn.COUNTED or not (is_gone or error.kind == "http"):
            yield from self.not_listed(place, error, request, status)
        elif is_gone and not (place.gap or place.is_all or request.meta.get("retry_times")):
            yield request.replace(dont_filter=True, meta={**request.meta, "retry_times": 1})
        else:
            self.report_missing(place, error, request, status)
            yield from self.passed(place, request)

    def report_missing(self, place: Place, error: AnswerError, request: Request, status: int | None) -> None:
        if status not in _GONE:
            self.failed("list", error, request, http_status=status)
            self.cut_short()
        elif place.number == 2:
            message = f"there is no page 2 of {place.walk}: does [paging] name what turns the page?"
            self.faulty("paging", message, request)

    def passed(self, place: Place, request: Request) -> Iterator[Request]:
        """Go on behind a counted page that is not there, which may be the end or a gap."""
        after = replace(place, number=place.number + 1, stale=place.stale + 1, gap=place.gap or place.number, digest="")
        if after.stale < self.site.paging.patience and not place.is_all:
            address = counted(place.walk, self.site.paging, after.number - 1)
            yield self.listing_request(turn.Turn(address), after)
        else:
            yield from self.weighed(after, request, ending(self.site.paging.kind, after))

    def not_listed(
        self, place: Place, error: AnswerError, request: Request | None, status: int | None
    ) -> Iterator[Request]:
        self.failed("list", error, request, http_status=status)
        self.cut_short()
        yield from self.ended(place)

    def ended(self, place: Place) -> Iterator[Request]:
        """Nothing more of this walk is to come; after the last one what is gone can be told."""
        self.list_ended(place.walk)
        if not self.open_lists:
            yield from self.finished()

    def cut_short(self) -> None:
        """Some listing was not read to its end: what it lacks may be there."""
        self.crawler.stats.set_value("catalogue/cut_short", True)

    def finished(self) -> Iterator[Request]:
        listed = self.crawler.stats.get_value("catalogue/planned", 0)
        limited = self.crawler.stats.get_value("catalogue/limited")
        if listed and not limited:
            self.judge_single_pages()
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
