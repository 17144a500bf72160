"""The spider of every catalogue that publishes DCAT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.dcat.walk import DCATWalk
from crawlers.index import listing, scope
from crawlers.listing.completeness import Ending

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy import Request
    from scrapy.http import Response

    from crawlers.dcat.place import Place
    from crawlers.index import Held
    from crawlers.items import Dataset

_HARMLESS = {"invalid_record"}
"""The failure of a record that is there, and kept; any other may hide one."""


class DCATSpider(DCATWalk):
    """A catalogue that publishes DCAT: one file, many pages, a single dataset, or a data.json.

    #. Inherit from this class in a module of its own in ``spiders/``, and say in the docstring who runs the catalogue.
    #. Set ``name`` and ``url``; that is all most catalogues need.

    With ``-a since=last`` a catalogue in one file is asked for only if it has changed, by its ETag or Last-Modified.
    What is gone is withdrawn when two whole listings in a row did not have it: unlike CKAN's, a catalogue's RDF can't
    be asked for one dataset.

    Attributes:
        url: the catalogue's RDF, or a page that leads to it; ``-a url=`` goes before it.
    """

    arguments: ClassVar[dict[str, Argument]] = DCATWalk.arguments | {
        "since": Argument(
            help="last: only if the catalogue has changed since the last complete crawl.",
            parse=arguments.choice("last"),
        ),
    }

    async def start(self) -> AsyncIterator[Request]:
        async for request in super().start():
            yield self.conditional(request) if self.args["since"] else request

    def conditional(self, request: Request) -> Request:
        """Asks for the catalogue on the condition that it is not the one on disk, if that is there as it should be."""
        index = self.opened_index()
        validators = index.validators(scope(self.name, self.given))
        if not validators or not all(index.is_whole(held.dataset_id) for held in index.held()):
            return request
        names = {"ETag": "If-None-Match", "Last-Modified": "If-Modified-Since"}
        headers = {names[name]: value for name, value in validators.items()}
        meta = {"handle_httpstatus_list": [304], "dont_cache": True}
        return request.replace(headers={**request.headers, **headers}, meta={**request.meta, **meta})

    async def parse_page(self, response: Response, place: dict[str, Any]) -> AsyncIterator[Dataset | Request]:
        if response.status == 304:
            self.noticed(response.url, list_name="pages", by=None)
            self.not_changed()
            return
        if place["number"] == 1 and not place["hops"]:
            found = {name: (response.headers.get(name) or b"").decode("latin-1") for name in ("ETag", "Last-Modified")}
            self.validated({name: value for name, value in found.items() if value})
        async for output in super().parse_page(response, place):
            yield output

    def not_changed(self) -> None:
        """What the last complete crawl saw is there still."""
        last = self.last_listing()
        seen = [held.dataset_id for held in self.known() if not (last and held.seen < last)]
        for dataset_id in seen:
            self.records.end(("dataset", dataset_id, None), "unchanged")
        self.expected(len(seen))
        self.listed(len(seen))
        self.provisional()
        self.conclude("pages", Ending(listed=len(seen), is_one_file=True))
        self.logger.info("The catalogue has not changed since the last complete crawl")

    def list_complete(self, after: Place) -> None:
        if after.number > 2:
            self.validated({})  # of the first page they say nothing about the others
        provisional = self.crawler.stats.get_value("catalogue/provisional")  # an answer from a cache tells nothing new
        limited = self.args["max_datasets"] or self.args["max_resources"]
        if limited or provisional or set(self.records.failures()) - _HARMLESS:
            return
        known, missing = 0, []
        for known, held in enumerate(self.known(), 1):  # noqa: B007  # how many there are
            if not self.records.is_planned("dataset", held.dataset_id):
                missing.append(held)
        if self.is_too_much(len(missing), known):
            return
        self.whole_listing()
        last = self.last_listing()
        gone = [held.dataset_id for held in missing if last and held.seen < last]  # nor did the listing before have it
        for dataset_id in gone:
            self.withdraw(dataset_id, str(self.url))
        if len(gone) < len(missing):
            what = len(missing) - len(gone)
            self.logger.info("%d datasets are gone; if the next whole listing lacks them too, they are withdrawn", what)

    def last_listing(self) -> str | None:
        return self.opened_index().last_complete(listing(scope(self.name, self.given)))

    def known(self) -> Iterator[Held]:
        """The datasets on disk that are this catalogue's: another may be in the same folder."""
        pages = {address.partition("?")[0] for address in (*self.records.listed("pages"), str(self.url))}
        for held in self.opened_index().held():
            if held.metadata_url and held.metadata_url.partition("?")[0] in pages:
                yield held
