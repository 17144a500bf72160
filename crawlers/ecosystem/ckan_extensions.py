"""The extensions that a CKAN catalogue lists: the repository of each, and its figures at GitHub."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, Self
from urllib.parse import urlsplit

from scrapy import signals

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.ecosystem.github import GitHub
from crawlers.ecosystem.profiles import PackagesOfType, feed_fields
from crawlers.ecosystem.repositories import Repositories
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.items import Extension
from crawlers.kinds.ckan.api import API, identity
from crawlers.kinds.ckan.query import Query
from crawlers.kinds.ckan.spider import ROWS, PackageSpider
from crawlers.listing.lister import Lister
from crawlers.listing.spider import CatalogueSpider

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from crawlers.ecosystem.github import Output
    from crawlers.items import Kind
    from crawlers.kinds.ckan.dialect import Ask
    from crawlers.listing.walk import ListingPage, Walk


class ExtensionsSpider(PackageSpider):
    """The extensions that a catalogue lists as packages of the type extension.

    #. The listing notes which repository each package names.
    #. When it has ended, GitHub is asked about each repository once, and answers under the name that it has now.

    Attributes:
        catalogue: the catalogue's root; ``-a catalogue=`` overrides it.
        stopped: why the run ended before its work was done; empty if it did not.
    """

    address = "catalogue"
    crosses_hosts = True
    listed_kind: ClassVar[Kind] = "extension"
    arguments: ClassVar[dict[str, Argument]] = {
        **{name: CatalogueSpider.arguments[name] for name in ("source", "encoding", "max_datasets")},
        "catalogue": Argument(
            help="The CKAN portal that lists the extensions, as packages of the type extension.", parse=arguments.portal
        ),
        "rows": ROWS,
    }
    custom_settings: dict[str, Any] | None = {  # noqa: RUF012  # as Scrapy declares it
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,  # default 8; GitHub wants one request after the other
        "HTTPCACHE_ENABLED": True,  # default False; an unchanged answer of GitHub costs a token no quota
        "FEED_EXPORT_FIELDS": feed_fields(Extension),
    }
    catalogue: str | None = None
    stopped = ""
    repositories: Repositories
    github: GitHub
    secret_headers: dict[str, str]
    secret_addresses: list[str]

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.catalogue = self.portal = self.args["catalogue"] or self.catalogue
        if self.portal is None:
            message = f"spider {self.name} needs to know the catalogue: -a catalogue=https://ecosystem.ckan.org"
            raise ArgumentError(message)
        self.api = API(self.portal, Query())
        self.dialect = Extensions(self)
        self.lister = Lister(self, self.dialect, self.withdrawals)

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        super().update_settings(settings)
        access = {"crawlers.ecosystem.github_access.GitHubAccess": 580}  # sees a refusal before Blocked does
        settings.set("DOWNLOADER_MIDDLEWARES", settings.getdict("DOWNLOADER_MIDDLEWARES") | access, "spider")

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        spider = super().from_crawler(crawler, **given)
        settings, variable = crawler.settings, crawler.settings["GITHUB_TOKEN_ENV"]
        address, token = _api(settings["GITHUB_API"]), os.environ.get(variable, "").strip()
        if not (token.isascii() and token.isprintable()):
            raise ArgumentError(f"{variable} has characters in it that no token has.")
        spider.repositories = Repositories(spider, settings["GITHUB_HOST"].lower())
        spider.github = GitHub(spider.repositories, address, has_token=bool(token))
        spider.start_urls = [address]  # the user names it: it may be private
        spider.secret_headers = {"Authorization": f"Bearer {variable}"} if token else {}
        spider.secret_addresses = [address]
        if not token:
            spider.logger.warning("%s is not set: GitHub answers 60 requests an hour", variable)
        elif urlsplit(address).scheme != "https":
            spider.logger.warning("The token in %s goes to %s unencrypted", variable, address)
        crawler.signals.connect(spider.conclude, signals.spider_idle)
        return spider

    @property
    def reported(self) -> dict[str, Any]:
        states = self.repositories.profiles.counts()
        return {"repositories": states} | ({"stopped": self.stopped} if self.stopped else {})

    def parse_record(self, response: Response, record: Any, allowed: int, variant: int, position: int) -> Any:
        if identity(record) is None:
            message = f"record {position + 1} of the page has no id: it is not kept"
            self.failed("list", AnswerError("missing_id", message), response.request)
        else:
            self.records.settle((self.listed_kind, record["id"], None), "listed")  # packages are not written
            self.repositories.note(record)
        yield from ()

    def profile_all(self, walk: Walk[Ask]) -> Output:
        """Yield the profiles of packages without a repository at GitHub, and the first requests for the others."""
        self.lister.note_begun("repositories", walk)  # the rest is asked for after a kill in here
        self.run_state.walks.begin("repositories")
        yield from self.repositories.elsewhere()
        yield from self.github.ask(self.repositories.at_github())

    def conclude(self) -> None:
        """Mark what the catalogue does not list any more, when no request is left."""
        if self.run_state.walks.is_open("repositories"):
            self.run_state.walks.end("repositories", "stopped")
            if self.run_state.is_whole_listing:
                self.withdrawals.mark_missing()


class Extensions(PackagesOfType):
    """The packages of extensions; behind the last one come the repositories, even if the listing was not whole."""

    def __init__(self, spider: ExtensionsSpider) -> None:
        super().__init__(spider, "extension", identity)
        self.spider = spider

    def request(self, walk: Walk[Ask]) -> Request:
        request = super().request(walk)
        request.meta["dont_cache"] = True
        return request

    def read(self, response: Response, walk: Walk[Ask]) -> ListingPage[Ask]:
        page = super().read(response, walk)
        page.entries = iter(page.entries)  # each is noted before the next page is asked for, or the repositories are
        return page

    def whole(self, walk: Walk[Ask]) -> Iterator[Any]:
        if not self.crawl.limits.is_set:
            self.crawl.run_state.is_whole_listing = True
        return self.spider.profile_all(walk)

    def short(self, walk: Walk[Ask]) -> Iterator[Any]:
        return self.spider.profile_all(walk)

    def stopped(self, walk: Walk[Ask]) -> Iterator[Any]:
        return self.spider.profile_all(walk) if self.crawl.run_state.is_limited else iter(())


def _api(address: str) -> str:
    try:
        return arguments.url(address).rstrip("/")
    except ValueError as error:
        raise ArgumentError(f"GITHUB_API={address!r} is not {error}.") from None


class CKANExtensions(ExtensionsSpider):
    """The extensions of CKAN that a catalogue lists, by default CKAN's own, and their repositories at GitHub."""

    name = "ckan_extensions"
    catalogue = "https://ecosystem.ckan.org"
