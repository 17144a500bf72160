"""The spider of a catalogue that is HTML alone."""

from __future__ import annotations

import os
import zipfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from scrapy import signals

from crawlers import arguments, browser
from crawlers.arguments import Argument
from crawlers.exceptions import ArgumentError, RulesError
from crawlers.kinds.html.conclusion import Conclusion
from crawlers.kinds.html.listed_datasets import ListedDatasets
from crawlers.kinds.html.pages import DatasetPages
from crawlers.kinds.html.rdf import LinkedRDF
from crawlers.kinds.html.rules import load
from crawlers.kinds.html.sitemap_walk import SitemapWalk
from crawlers.kinds.html.walk import Walk
from crawlers.kinds.html.withdrawals import GonePages
from crawlers.listing.spider import CatalogueSpider, host_name, source_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawlers.kinds.html.rules import Rules

PROJECT = Path(__file__).parents[3]


class HTMLSpider(CatalogueSpider):
    """A catalogue of HTML pages, read by a rules file.

    #. Write the rules, or let `scrapy learn` do it; try them with `scrapy try`.
    #. ``scrapy crawl html -a rules=FILE``; or inherit from this class in a module of its own in ``spiders/``, and set
       ``name`` and ``rules``.

    With ``-a since=last`` a dataset's page is requested only if it has changed, by its ETag, its Last-Modified or its
    sitemap's date. The page of a dataset that a complete listing lacks is requested, and the dataset is withdrawn if
    it is not there either.

    Attributes:
        rules: the rules file, as `rules_file` finds it; ``-a rules=`` overrides it.
        site: the content of the rules file.
    """

    kind = "html"
    address = "rules"
    asks_again_by_address = True  # so the addresses of pages are stored as they are
    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "rules": Argument(help="The catalogue's rules file.", parse=arguments.text),
        "since": Argument(
            help="last: only pages that have changed since they were read last.", parse=arguments.choice("last")
        ),
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
        self.listed_datasets = ListedDatasets(self)
        self.conclusion = Conclusion(self)
        self.walk, self.sitemap_walk = Walk(self), SitemapWalk(self)
        self.pages, self.linked_rdf = DatasetPages(self), LinkedRDF(self)
        self.gone = GonePages(self)

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        spider = super().from_crawler(crawler, **given)
        if spider.site.cookies:
            crawler.settings.set("COOKIES_ENABLED", True, "spider")
        if spider.site.browser:
            browser.enable(crawler)
        if spider.site.paging.kind == "sitemap" and spider.site.paging.address is None:
            crawler.signals.connect(spider.sitemap_walk.robots_read, signals.robots_parsed)
        return spider

    @property
    def portal(self) -> str:
        """The address that the user named: the host that may be private, and that credentials are for."""
        return self.site.start[0]

    @cached_property
    def source(self) -> str:
        own = self.name if type(self).rules else host_name(self.portal)
        return str(self.args["source"] or self.site.source or own)

    @property
    def encoding(self) -> str | None:
        return super().encoding or self.site.encoding

    async def start(self) -> AsyncIterator[Request]:
        walk = self.sitemap_walk if self.site.paging.kind == "sitemap" else self.walk
        for request in walk.start():
            yield request


def rules_file(name: str) -> Path:
    """Return where a rules file is: in the working directory, below CRAWLERS_HOME, or else in this project.

    This project may be an egg: what is in it is no `Path`, and can be read like one.

    Raises:
        RulesError: there is no such file, and the message names the places; or they cannot be read.
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
    places = " or ".join(dict.fromkeys(map(str, (Path.cwd(), home, PROJECT))))
    raise RulesError(f"The rules {path} can't be read: there is no such file in {places}.")


def _check_source(name: str | None) -> None:
    try:
        source_name(name or "source")
    except ValueError as error:
        raise ArgumentError(f"source = {name!r} in the rules is not {error}.") from None
