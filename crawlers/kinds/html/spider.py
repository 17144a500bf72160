"""The spider of a catalogue that is HTML alone."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy import signals

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.components import browser
from crawlers.exceptions import ArgumentError, hint
from crawlers.kinds.html.dialect import Listings, Search
from crawlers.kinds.html.pages import DatasetPages, GonePages
from crawlers.kinds.html.rules import FIELDS, load
from crawlers.kinds.html.sitemaps import Sitemaps
from crawlers.listing.lister import Lister
from crawlers.listing.spider import CatalogueSpider, host_name, source_name
from crawlers.records import toml

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from crawlers.kinds.html.rules import Rules
    from crawlers.records.html_page import Page


_FIELD = "field_"
"""Before the field's name: a method of a spider class."""


class HTMLSpider(CatalogueSpider):
    """A catalogue of HTML pages, read by a rules file.

    #. Write the rules, or let `scrapy learn` do it; try them with `scrapy try`.
    #. ``scrapy crawl html -a rules=FILE``; or inherit from this class in a module of its own in ``spiders/``, and set
       ``name`` and ``rules``.

    With ``-a since=last`` a dataset's page is requested only if it has changed, by its ETag, its Last-Modified or its
    sitemap's date. The page of a dataset that a complete listing lacks is requested, and the dataset is withdrawn if
    it is not there either.

    A method ``field_license(self, page)`` of such a class says a field of a dataset's page in Python, in place of the
    rules: a text, a list of texts, or ``None`` if the rules may say it. Its argument is a
    `crawlers.records.html_page.Page`; `find` of it takes an XPath, and `crawlers.records.html_page.text`
    gives the text of an element.

    Attributes:
        rules: the rules file, as `crawlers.records.toml.find` finds it; ``-a rules=`` overrides it.
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
    gone: GonePages

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.rules = self.args["rules"] or self.rules
        if self.rules is None:
            raise ArgumentError(f"spider {self.name} needs to know the catalogue: -a rules=catalogues/example.toml")
        self.site: Rules = load(toml.needed(self.rules, "The rules"))
        try:
            source_name(self.site.source or "source")
        except ValueError as error:
            raise ArgumentError(f"source = {self.site.source!r} in the rules is not {error}.") from None
        self._own = [name.removeprefix(_FIELD) for name in dir(type(self)) if name.startswith(_FIELD)]
        for name in self._own:
            if name not in FIELDS:
                sentence = f"{_FIELD}{name}: there is no field {name!r}.{hint(name, FIELDS)}"
                raise ArgumentError(f"{sentence} There are: {', '.join(FIELDS)}.")
        self.start_urls = list(self.site.start)
        self.allowed_domains = list(self.site.hosts)
        self.identity = {"rules": self.site.digest}
        self.pages = DatasetPages(self, self.site, self.own_fields)
        self.linked_rdf = self.pages.linked_rdf
        self.gone = GonePages(self, self.withdrawals, self.pages)
        search = Search(self, self.site, self.site.form) if self.site.form else None
        self.sitemaps = Sitemaps(self, self.gone) if self.site.paging.kind == "sitemap" else None
        self.dialect = self.sitemaps or Listings(self, self.gone, search)
        self.lister: Lister[Any] = Lister(self, self.dialect, self.withdrawals)

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        spider = super().from_crawler(crawler, **given)
        if (spider.site.cookies or spider.site.form) and not crawler.settings.getbool("COOKIES_ENABLED"):
            crawler.settings.set("COOKIES_ENABLED", True, "spider")
        if spider.site.browser:
            browser.enable(crawler)
        if spider.sitemaps and spider.site.paging.address is None:
            crawler.signals.connect(spider.sitemaps.robots_read, signals.robots_parsed)
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

    def own_fields(self, page: Page) -> dict[str, Any]:
        """Return the entries of the fields that this class says by its own methods, as the document has them.

        Raises:
            TypeError: one gives neither a text, nor a list of texts, nor ``None``.
        """
        found = {}
        for name in self._own:
            value = getattr(self, _FIELD + name)(page)
            if value is None:
                continue
            if not all(isinstance(text, str) for text in (value if isinstance(value, list) else [value])):
                kind = type(value).__name__
                raise TypeError(f"{_FIELD}{name} gave {kind}, neither a text, a list of texts nor None")
            found[name] = {"value": value, "by": _FIELD + name, "confidence": 1.0}
        return found

    async def start(self) -> AsyncIterator[Request]:
        for walk in self.dialect.starts():
            for request in self.lister.begin(walk):
                yield request


class HTML(HTMLSpider):
    """Any catalogue of HTML pages, by the rules file that -a rules= gives."""

    name = "html"
