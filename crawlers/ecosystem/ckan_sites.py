"""CKAN portals: which there are, whether they answer, and their figures."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy.spiderloader import get_spider_loader

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.components.httpcache import AcceptFingerprinter
from crawlers.ecosystem import site_list
from crawlers.ecosystem.profiles import PackagesOfType, Profiles, feed_fields
from crawlers.ecosystem.visits import Answers, APISearch, Visit
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.items import Site
from crawlers.kinds.ckan.api import API
from crawlers.kinds.ckan.query import Query
from crawlers.kinds.ckan.spider import ROWS, PackageSpider
from crawlers.listing.lister import Lister
from crawlers.listing.spider import source_name
from crawlers.records.moment import now
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlers.kinds.ckan.dialect import Ask, Output
    from crawlers.listing.walk import Walk


class SiteFingerprinter(AcceptFingerprinter):
    """REQUEST_FINGERPRINTER_CLASS of a crawl of portals: the site that a request is about counts, too."""

    def fingerprint(self, request: Request) -> bytes:
        """Return a hash that two requests for the same address share only if they are about the same site."""
        plain = super().fingerprint(request)
        visit = request.cb_kwargs.get("visit")
        if visit is None:
            return plain
        return hashlib.sha1(plain + str(visit["site"]["id"]).encode(), usedforsecurity=False).digest()


STATES = ("up", "moved", "down", "blocked", "not_ckan", "unknown")
_LONGEST = 1000  # characters of a reason


class Sites(PackagesOfType):
    """The packages of portals; a catalogue that has none at all is an error."""

    def whole(self, walk: Walk[Ask]) -> Iterator[Any] | None:
        if walk.listed:
            return None
        self.crawl.failed("list", AnswerError("refused", "the catalogue lists no package of the type site"))
        return iter(())


class SitesSpider(PackageSpider):
    """The CKAN portals that a catalogue, a CSV file or sources.toml lists; each becomes a `crawlers.items.Site`."""

    address = "catalogue"
    other_addresses = ("sites", "sources")
    crosses_hosts = True
    listed_kind = "site"
    arguments: ClassVar[dict[str, Argument]] = {
        "source": Argument(help="The name of the folder in OUTPUT_DIR; by default the spider's.", parse=source_name),
        "catalogue": Argument(
            help="A CKAN catalogue whose packages of the type site are portals.", parse=arguments.portal
        ),
        "sites": Argument(help="A CSV file of portals, with the columns name and url.", parse=Path),
        "sources": Argument(help="A sources.toml whose CKAN sources are the portals.", parse=Path),
        "rows": ROWS,
        "max_datasets": Argument(help="Stop after this many portals.", parse=arguments.positive),
    }
    custom_settings: dict[str, Any] | None = {  # noqa: RUF012  # as Scrapy declares it
        "CONCURRENT_REQUESTS": 10,  # default 16; how many portals are asked at the same time
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,  # default 8; a portal is asked one thing after another
        "AUTOTHROTTLE_ENABLED": False,  # with few requests to each host there is nothing to learn from
        "DOWNLOAD_TIMEOUT": 15,  # default 60; each answer is small
        "DOWNLOAD_MAXSIZE": 16 * 1024 * 1024,  # default 64 MiB; times the portals that are asked at once
        "DOWNLOAD_WARNSIZE": 0,
        "RETRY_TIMES": 2,  # default 5
        "RETRY_AFTER_MAX": 60.0,  # default an hour; a run does not wait that long for one portal
        "REQUEST_FINGERPRINTER_CLASS": "crawlers.ecosystem.ckan_sites.SiteFingerprinter",
        "HTTPCACHE_ENABLED": False,
        "FEED_EXPORT_FIELDS": feed_fields(Site),
    }
    catalogue: str | None = None
    start_urls: list[str]

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        chosen = [name for name in (self.address, *self.other_addresses) if self.args[name]]
        if len(chosen) != 1:
            raise ArgumentError(
                f"spider {self.name} takes its portals from one list: -a catalogue=https://ecosystem.ckan.org, "
                f"-a sites=sites.csv or -a sources=sources.toml"
            )
        self.catalogue = self.portal = self.args["catalogue"]
        self.api = API(self.catalogue or "", Query())
        self.dialect = Sites(self, "site", site_list.name_of)
        self.lister = Lister(self, self.dialect, self.withdrawals)
        self.profiles = Profiles(self, STATES)
        self.answers = Answers(self.end)
        self.search = APISearch(self, self.answers, self.end)
        self.listed: list[site_list.Listed] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        spider = super().from_crawler(crawler, **given)
        if spider.args["sites"]:
            spider.listed = site_list.of_file(spider.args["sites"])
        elif spider.args["sources"]:
            spider.listed = site_list.of_sources(spider.args["sources"], get_spider_loader(crawler.settings))
        if not (spider.catalogue or spider.listed):
            raise ArgumentError(f"{spider.args['sites'] or spider.args['sources']} has no portal.")
        spider.start_urls = [site["url"] for site in spider.listed]  # the user named these hosts
        return spider

    @property
    def source(self) -> str:
        """The name that the user gives, or the spider's: profiles of all lists look the same."""
        return str(self.args["source"] or self.name)

    @property
    def reported(self) -> dict[str, Any]:
        return {"portals": self.profiles.counts()}

    # The list

    async def start(self) -> AsyncIterator[Any]:
        """Yield the first page of the catalogue, or the first request to each portal of a file."""
        if self.catalogue:
            for request in self.lister.begin():
                yield request
            return
        self.run_state.walks.begin("sites")
        wanted = self.listed[: self.args["max_datasets"]]
        for site in wanted:
            self.expect("site", site["id"], listed_by="file")
            if not self.records.is_settled(("site", site["id"], None)):  # before a kill
                for one in self.search.begin(Visit(site=site)):
                    yield one
            await asyncio.sleep(0)
        self.run_state.count_listed(len(wanted))
        self.conclude(is_all=wanted == self.listed)

    def conclude(self, *, is_all: bool) -> None:
        """Judge the list of a file, which was read to its end."""
        self.run_state.expected, self.run_state.is_limited = len(self.listed), not is_all
        if is_all:
            self.run_state.walks.end("sites", "whole", evidence="file", listed=len(self.listed))
            self.withdrawals.mark_missing()
        else:
            self.run_state.walks.end("sites", "stopped")

    def parse_record(self, response: Response, record: Any, allowed: int, variant: int, position: int) -> Output:
        self.search.is_online = True
        if site_list.name_of(record) is None:
            message = f"record {position + 1} of the page has no name: its portal is not visited"
            self.failed("list", AnswerError("missing_id", message), response.request)
            return
        yield from self.search.begin(Visit(site=site_list.of_package(record, response.url)))

    # The end of a visit

    def end(self, visit: Visit, state: str, reason: str | None) -> Iterator[Request | Site]:
        reason = redact(reason)[:_LONGEST] if reason else None
        site = Site(source=self.source, state=state, reason=reason, checked=now(), **visit.site)
        yield from self.profiles.take(site)  # type: ignore[misc]


class CKANSites(SitesSpider):
    """The CKAN portals that a catalogue lists, or a file: their versions, sizes, and whether they answer."""

    name = "ckan_sites"
