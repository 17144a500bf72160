"""The RDF that a dataset's page links to."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.answer import read
from crawlers.listing.spider import in_turns
from crawlers.records.rdf import formats
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset
    from crawlers.kinds.html.mapping import Page
    from crawlers.kinds.html.rules import Rules
    from crawlers.listing.crawl import Crawl
    from crawlers.signals import Stage

_MOST = 10_000  # datasets of one file that are searched for the page's own


def link(page: Page, rules: Rules) -> str | None:
    """Return the address of the page's RDF: the rule's, else that of ``<link rel="alternate">``."""
    if rules.rdf and rules.rdf.xpath:
        found = (_address(page, link, rules.rdf.attr or "href") for link in page.find(rules.rdf.xpath))
        return next((address for address in found if address), None)
    return next(filter(rules.follows, _alternates(page)), None) if rules.structured else None


def _address(page: Page, found: Any, attribute: str) -> str | None:
    return page.absolute(found if isinstance(found, str) else found.get(attribute) or "")


def _alternates(page: Page) -> list[str]:
    offered: dict[Any, str] = {}
    for element in page.find("//link[@href and @type and contains(concat(' ', @rel, ' '), ' alternate ')]"):
        format_ = formats.by_media_type(element.get("type"))
        address = page.absolute(element.get("href"))
        if format_ is not None and address:
            offered.setdefault(format_, address)
    return [offered[format_] for format_ in formats.FORMATS if format_ in offered]


class LinkedRDF:
    """Requests the RDF that a dataset's page links to, and adds its description to the page's document.

    The spider has it as an attribute: its callbacks are stored so.

    Args:
        items: yields the item of a page's document: `DatasetPages.items`.
    """

    def __init__(self, crawl: Crawl, site: Rules, items: Callable[..., Iterator[Dataset]]) -> None:
        self.crawl, self.site, self.items = crawl, site, items

    def request(self, link: str, about: dict[str, Any]) -> Request:
        """
        Args:
            about: the arguments of `items`.
        """
        return Request(
            link,
            headers={"Accept": formats.ACCEPT},
            callback=self.parse_rdf,
            errback=self.rdf_failed,
            cb_kwargs=about,
            meta={"spool": True},
            priority=1,
        )

    async def parse_rdf(self, response: Response, **about: Any) -> AsyncIterator[Dataset]:
        try:
            found = await self._description(response, about["found"])
        except AnswerError as error:
            for item in self._without_rdf("parse", error, response.request, None, about):
                yield item
            return
        if found:
            about["found"]["rdf"] = found
        items = self.items(response.request, **about)
        for item in self.crawl.guarded(items, response, {"id": about["dataset_id"]}):
            yield item

    async def _description(self, response: Response, found: dict[str, Any]) -> dict[str, Any] | None:
        most_json = self.crawl.crawler.settings.getint("JSON_MAXSIZE")
        of_many = bool(self.site.rdf)
        return await description(response, found, source=self.crawl.source, most_json=most_json, of_many=of_many)

    def rdf_failed(self, failure: Failure) -> Iterator[Dataset]:
        request, status = failures.request(failure), failures.status(failure)
        yield from self._without_rdf("fetch", failures.from_failure(failure), request, status, request.cb_kwargs)

    def _without_rdf(
        self, stage: Stage, error: AnswerError, request: Request | None, status: int | None, about: dict[str, Any]
    ) -> Iterator[Dataset]:
        """Keep a document on disk that has the RDF; else yield the item of what the page itself says.

        RDF that can't be read is a flaw of that item.
        """
        dataset_id = about["dataset_id"]
        if self._has_rdf(dataset_id):
            self.crawl.failed(stage, error, request, http_status=status, dataset_id=dataset_id, missing="dataset")
            return
        if error.kind == "invalid_rdf":
            error = AnswerError("unreadable_statement", f"the RDF that the page links to can't be read: {error}")
        self.crawl.failed(stage, error, request, http_status=status, dataset_id=dataset_id, field="rdf")
        yield from self.items(request, **about)

    def _has_rdf(self, dataset_id: str) -> bool:
        """Return whether the dataset's document on disk has RDF, which a new one would lack."""
        index = self.crawl.opened_index()
        known = index.documents.get("dataset", dataset_id, None)
        if known is None or known.status == "withdrawn":
            return False
        document = strict_json.of_file(index.folder, known.file)
        return isinstance(document, dict) and "rdf" in document


async def description(
    response: Response, found: dict[str, Any], *, source: str, most_json: int, of_many: bool
) -> dict[str, Any] | None:
    """Return the document of the dataset that a page describes; ``None`` when the RDF describes others.

    Args:
        found: what the page itself says.
        of_many: whether the file may describe several datasets; if not, such a file is the whole catalogue's.

    Raises:
        AnswerError: it is not RDF, or cannot be read to its end.
    """
    file = read(response, name=source, language=None, max_json=most_json)
    if file is None or file.source != "rdf":
        raise AnswerError("not_rdf", "the link to the dataset's RDF leads to something else")
    with closing(file):
        await in_turns(file.load())
        if file.faults:
            raise AnswerError("invalid_rdf", file.faults[0].message)
        if not of_many and len(list(islice(file.records(), 2))) > 1:
            return None
        items = (record.item() for record in islice(file.records(), _MOST))
        own = next((item for item in items if _is_of(item, found, response.url)), None)
    return own.document if own and isinstance(own.document, dict) else None


def _is_of(item: Dataset, found: dict[str, Any], link: str) -> bool:
    """Return whether an item is the page's dataset: by its address, by its file's, or by its title."""
    page = found["url"]
    titles = [found["fields"].get("title", {}).get("value"), (found.get("schema_org") or {}).get("name")]
    return (
        page in (item.uri, item.landing_page, item.identifier)
        or link.startswith(page.partition("?")[0].removesuffix(".html"))
        or _plain(item.title) in map(_plain, filter(None, titles))
    )


def _plain(text: Any) -> str:
    return " ".join(str(text or "").casefold().split())
