"""The spider of every CKAN portal."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.kinds.ckan import api, exports, mapping, query
from crawlers.kinds.ckan.access import Access
from crawlers.kinds.ckan.api import identity
from crawlers.kinds.ckan.dialect import Ask
from crawlers.kinds.ckan.exports import Exports
from crawlers.kinds.ckan.incremental import Changes, Incremental, is_cheaper_whole
from crawlers.kinds.ckan.query import Query
from crawlers.kinds.ckan.withdrawals import Ghosts, Gone
from crawlers.listing.lister import Lister
from crawlers.listing.since import SINCE
from crawlers.listing.spider import CatalogueSpider
from crawlers.listing.walk import Walk
from crawlers.records.moment import now
from crawlers.safety.tokens import token
from crawlers.store.index.reports import FILTERS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from crawlers.kinds.ckan.api import API
    from crawlers.kinds.ckan.dialect import Found, Output, Packages


ROWS = Argument(
    help="Datasets per listing request; a portal may return fewer.", parse=arguments.positive, default="1000"
)
"""The argument ``rows``, which the listing needs."""


class PackageSpider(CatalogueSpider):
    """A spider that lists packages with package_search: `CKANSpider` for one, which takes them as datasets.

    Attributes:
        portal: whose packages they are.
        api: how the portal is asked.
        dialect: what its pages are.
        lister: what reads them.
    """

    portal: str | None = None
    api: API
    dialect: Packages
    lister: Lister[Ask]

    async def start(self) -> AsyncIterator[Any]:
        for request in self.lister.begin():
            yield request

    def parse_page(self, response: Response, **_: Any) -> AsyncIterator[Found]:
        """Yield what the first page of a listing leads to; for scrapy parse."""
        return self.lister.answered(response, self.dialect.first().plain())

    @abstractmethod
    def parse_record(self, response: Response, record: Any, allowed: int, variant: int, position: int) -> Output:
        """Yield what a record leads to, see `PackageCrawl`."""


class CKANSpider(PackageSpider):
    """A CKAN portal, all of it or what a query finds.

    #. Inherit from this class in a module of its own in ``spiders/``, and say in the docstring who runs the portal.
    #. Set ``name`` and ``portal``; that is all most portals need.
    #. Set ``export`` and ``level`` if the portal has an export that says more than its API.

    Attributes:
        portal: the portal's root, https://example.org or https://example.org/data; ``-a portal=`` overrides it.
        export: what ``level`` requests: CKAN's ``package_show`` (``resource_show`` for resources), or HDX's
            ``download_metadata``, which falls back to those.
        level: the default of ``-a level=``.
        changes: the records that have changed.
        gone: the questions about what is no longer listed.
        ghosts: those about ids that are listed without a dataset.
        access: the question whether the token is accepted.
        exports: the documents besides the listing.
    """

    kind = "ckan"
    address = "portal"
    arguments: ClassVar[dict[str, Argument]] = PackageSpider.arguments | {
        "portal": Argument(help="The portal's address.", parse=arguments.portal),
        "q": Argument(help="Only what this search finds: cod-ab-global, title:flood.", parse=query.search),
        "fq": Argument(help="A Solr filter: has_geodata:true -archived:true.", parse=query.filter_query),
        "organization": Argument(help="Only this organisation's, by its name in addresses.", parse=arguments.text),
        "group": Argument(help="Only this group's, by its name in addresses; a country at HDX.", parse=arguments.text),
        "tag": Argument(help="Only datasets with this tag.", parse=arguments.text),
        "rows": ROWS,
        "since": SINCE,
        "level": Argument(
            help="Besides the listing: nothing (snapshot), an export per dataset, per resource, or both.",
            parse=arguments.choice(*exports.LEVELS),
        ),
    }

    export = "package_show"
    level: str = "snapshot"
    dialect: Datasets
    gone: Gone
    ghosts: Ghosts

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.portal = self.args["portal"] or self.root()
        self.level = self.args["level"] or self.level
        self.api = api.API(str(self.portal), Query(**{name: self.args[name] for name in FILTERS}))
        self.dialect = Datasets(self)
        self.lister = Lister(self, self.dialect, self.withdrawals)
        self.access = Access(self, self.go_on)
        self.gone = Gone(self, self.access)
        self.ghosts = Ghosts(self, self.access, self.lister)
        self.changes = Changes(self, self.dialect, self.ghosts, self.gone)
        self.exports = Exports(self, self.export)

    @classmethod
    def from_crawler(cls, crawler: Crawler, **given: str) -> Self:
        spider = super().from_crawler(crawler, **given)
        spider.api.query = replace(spider.api.query, private=bool(token(crawler.settings)))
        return spider

    @classmethod
    def root(cls) -> str:
        """Return the portal that the class declares."""
        if cls.portal is None:
            raise ArgumentError(f"spider {cls.name} needs to know the portal: -a portal=https://demo.ckan.org")
        try:
            return arguments.portal(cls.portal)
        except ValueError as error:
            raise ArgumentError(f"spider {cls.name}: its portal, {cls.portal!r}, is not {error}.") from None

    def parse_record(self, response: Response, record: Any, allowed: int, variant: int, position: int) -> Output:
        """Yield a record's item, and the requests for its exports."""
        if identity(record) is None:
            about = _about(record)
            name = str(about["dataset_name"])[:100]
            message = f"record {position + 1} of the page, {name!r}, has no id: it is not kept"
            self.failed("list", AnswerError("missing_id", message), response.request, **about)
            return
        dataset = mapping.lazily(
            record,
            source=self.source,
            portal=str(self.portal),
            metadata_source="package_show" if "/package_show" in response.url else "package_search",
            metadata_url=response.url,
            retrieved=now(),
        )
        wanted = list(exports.wanted(dataset, self.level, allowed))
        for export in wanted:
            self.expect(export.kind, export.dataset_id, export.resource_id, listed_by=response.request)
        yield dataset
        for export in wanted:
            yield self.exports.request(export, variant)

    def list_complete(self, walk: Walk[Ask]) -> Output:
        """Yield what there is to do when a list was whole: list the ids, ask about the token, then `follow`."""
        if walk.ask.since and not self.limits.is_set:
            yield from self.lister.begin(self.dialect.walk(Ask(variant=walk.ask.variant, fields="id")))
            return
        if not (walk.is_of_ids or walk.ask.since or self.limits.is_set):
            self.run_state.is_whole_listing = True
        if question := self.access.question(walk):
            yield question
        else:
            yield from self.follow(walk)

    def go_on(self, walk: Walk[Ask]) -> Output:
        """Yield what waited for the portal's word about the token."""
        return self.ghosts.explain(walk) if walk.ask.instead_of else self.list_complete(walk)

    def follow(self, walk: Walk[Ask]) -> Output:
        """Yield the requests for what has changed, which look for what is gone at their end, or for that."""
        changed, is_of_stamps = self.records.count("changed") if walk.is_of_ids else 0, walk.ask.fields == "stamps"
        if is_of_stamps and is_cheaper_whole(changed, walk):
            reason = f"{changed} of {walk.listed} datasets have changed"
            yield from self.lister.begin(self.dialect.everything(walk.ask.variant, reason))
        elif changed or is_of_stamps:
            yield from self.changes.begin(changed, walk)
        elif not self.limits.is_set:
            yield from self.gone.find(walk)


class Datasets(Incremental):
    """A portal's datasets: all, what changed, or the ids that show what did; and what explains a difference."""

    def __init__(self, spider: CKANSpider) -> None:
        super().__init__(spider, spider.level)
        self.spider = spider

    def explained(self, walk: Walk[Ask]) -> Iterator[Any] | None:
        if walk.ask.instead_of:
            return self.spider.ghosts.explain(walk)
        is_list_of_all = walk.lap == 1 and not walk.is_of_ids
        return self.spider.ghosts.list_ids(walk) if is_list_of_all and not walk.has_moved else None

    def short(self, walk: Walk[Ask]) -> Iterator[Any]:
        return self.spider.ghosts.unexplained(walk) if walk.ask.instead_of else iter(())

    def whole(self, walk: Walk[Ask]) -> Iterator[Any]:
        return self.spider.list_complete(walk)


def _about(record: Any) -> dict[str, str | None]:
    """Return what an error line can say of a record that has no identity."""
    found = record if isinstance(record, dict) else {}
    texts = {name: found.get(name) for name in ("name", "title")}
    return {f"dataset_{name}": value if isinstance(value, str) else None for name, value in texts.items()}


class CKAN(CKANSpider):
    """Any CKAN portal, the one that -a portal= names."""

    name = "ckan"
