"""The spider of every CKAN portal."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from scrapy import Request

from crawlers import arguments
from crawlers.arguments import Argument
from crawlers.catalogue import CatalogueSpider
from crawlers.ckan import api, exports
from crawlers.ckan.listing import Cursor, Page, Query, identity, resources
from crawlers.ckan.recovery import Refusal, another
from crawlers.exceptions import AnswerError, ArgumentError
from crawlers.items import Dataset, Export
from crawlers.mapping import ckan as mapping

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    Output = Iterator[Dataset | Export | Request]

PATIENCE = 2  # pages in a row without a new dataset, before a listing is taken for a loop
FILTERS = ("q", "fq", "organization", "group", "tag")


class CKANSpider(CatalogueSpider):
    """A CKAN portal, all of it or what a query finds.

    #. Inherit from this class in a module of its own in ``spiders/``, and say in the docstring who runs the portal.
    #. Set ``name`` and ``portal``; that is all most portals need.
    #. Set ``export`` and ``level`` if the portal has an export that says more than its API.

    Attributes:
        portal: the portal's root, https://example.org or https://example.org/data; ``-a portal=`` goes before it.
        export: what ``level`` asks for: CKAN's ``package_show`` (``resource_show`` for resources), or HDX's
            ``download_metadata``, which falls back to those.
        level: the default of ``-a level=``.
    """

    arguments: ClassVar[dict[str, Argument]] = CatalogueSpider.arguments | {
        "portal": Argument(help="The portal's address.", parse=arguments.portal),
        "q": Argument(help="Only what this search finds: cod-ab-global, title:flood.", parse=arguments.text),
        "fq": Argument(help="A Solr filter: has_geodata:true -archived:true.", parse=arguments.text),
        "organization": Argument(help="Only this organisation's, by its name in addresses.", parse=arguments.text),
        "group": Argument(help="Only this group's, by its name in addresses; a country at HDX.", parse=arguments.text),
        "tag": Argument(help="Only datasets with this tag.", parse=arguments.text),
        "level": Argument(
            help="Besides the listing: nothing (snapshot), an export per dataset, per resource, or both.",
            parse=arguments.choice(*exports.LEVELS),
        ),
        "rows": Argument(
            help="Datasets a listing request; a portal may give fewer.", parse=arguments.positive, default="1000"
        ),
    }

    portal: str | None = None
    export = "package_show"
    level = "snapshot"

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        root = self.args["portal"] or self.portal
        if root is None:
            raise ArgumentError(f"spider {self.name} needs to know the portal: -a portal=https://demo.ckan.org")
        self.portal = arguments.portal(root)
        self.level = self.args["level"] or self.level
        self.query = Query(**{name: self.args[name] for name in FILTERS})
        self.ways = api.ways(self.portal)
        self.first_refusal: Refusal | None = None

    @property
    def source(self) -> str:
        own = self.name if type(self).portal else urlsplit(self.portal).hostname
        return str(self.args["source"] or own)

    async def start(self) -> AsyncIterator[Request]:
        yield self.list_request(Cursor(rows=self.rows()))

    # The listing

    def rows(self, listed: int = 0) -> int:
        """How many datasets to ask for when that many are listed: no more than the user wants."""
        most = self.args["max_datasets"]
        rows: int = self.args["rows"]
        return min(rows, most - listed) if most else rows

    def list_request(self, cursor: Cursor, *, again: bool = False) -> Request:
        """
        Args:
            again: it stands for one that failed, with all its retries: fewer are spent on it.
        """
        return self.ways[cursor.way].request(
            "package_search",
            cursor.parameters(self.query),
            callback=self.parse_page,
            errback=self.list_failed,
            cb_kwargs={"cursor": cursor.plain()},
            meta={"max_retry_times": 1} if again else {},
        )

    def parse_page(self, response: Response, cursor: dict[str, Any]) -> Output:
        here = Cursor(**cursor)
        try:
            page = Page.read(response)
        except AnswerError as error:
            yield from self.not_listed(response.request, here, Refusal.of_answer(error, response))
            return
        if here.skipping:
            yield from self.skip(response, here, page)
        elif here.last is not None and here.start is None and not page.follows(here.last):
            self.logger.info("%s does not page by id: going on by offset", self.portal)
            yield self.list_request(here.by_offset())
        else:
            yield from self.list_page(response, here, page)

    def list_page(self, response: Response, here: Cursor, page: Page) -> Output:
        """The next page is asked for before this one's records are handled: none of those can end the listing."""
        taken = self.take(page.records, here, response.request)
        after = here.after(page, listed=len(taken), resources=sum(allowed for _, allowed in taken))
        self.expected(after.expected)
        self.listed(after.listed)
        if self.within_limits(after) <= 0:
            self.stopped_by_limit(after, taken)
        elif page.is_last(here) or after.stale >= PATIENCE:
            self.end_of_list(response.request, after)
        else:
            yield self.list_request(replace(after, rows=min(self.rows(after.listed), here.rows * 10)))
        for position, (record, allowed) in enumerate(taken):
            yield from self.parse_record(response, record, allowed, here.way, position)

    def take(self, records: list[Any], here: Cursor, request: Request | None) -> list[tuple[Any, int]]:
        """The records that were not listed before and are within the user's limits, and how many of their resources."""
        taken: list[tuple[Any, int]] = []
        for record in records:
            left = self.within_limits(here)
            if left <= 0:
                break
            identifier = identity(record)
            if identifier is None or self.planned("dataset", identifier, by=request):
                allowed = min(left, resources(record))
                taken.append((record, allowed))
                here = replace(here, listed=here.listed + 1, resources=here.resources + allowed)
        return taken

    def within_limits(self, here: Cursor) -> int:
        """How many more resources the user's limits leave; 0 when no dataset may be taken either."""
        datasets, most = self.args["max_datasets"], self.args["max_resources"]
        if datasets and here.listed >= datasets:
            return 0
        return most - here.resources if most else sys.maxsize

    def stopped_by_limit(self, after: Cursor, taken: list[tuple[Any, int]]) -> None:
        self.list_ended()
        cut = any(allowed < resources(record) for record, allowed in taken[-1:])
        if cut or after.expected is None or after.listed < after.expected:
            self.limited()

    def end_of_list(self, request: Request | None, after: Cursor) -> None:
        """The portal's count against what it listed; a difference is an error line, whatever its cause."""
        self.list_ended()
        expected, listed = after.expected, after.listed
        if expected is not None and listed >= expected and not after.shifted:
            return
        if after.stale >= PATIENCE:
            error = AnswerError(
                "paging", f"the portal gives the same pages again after {listed} of {expected} datasets"
            )
        elif expected is not None and listed >= expected:
            error = AnswerError("paging", "the catalogue changed while it was paged by offset: some may be missing")
        else:
            said = "not say how many datasets it has" if expected is None else f"say that it has {expected} datasets"
            error = AnswerError("count_mismatch", f"the portal does {said}, and listed {listed}")
        self.failed("list", error, request)

    def skip(self, response: Response, here: Cursor, page: Page) -> Output:
        """Reports the record that the portal can't give, and goes on behind it."""
        ids = page.ids()
        if not ids:
            self.end_of_list(response.request, here)
            return
        after = here.behind(ids[0])
        self.listed(after.listed)
        error = AnswerError("refused", f"the portal can't give this dataset's record: {here.skipping}")
        self.failed("list", error, response.request, dataset_id=ids[0], missing="dataset")
        yield self.list_request(replace(after, rows=min(self.rows(after.listed), 10)), again=True)

    def list_failed(self, failure: Failure) -> Output:
        request: Request = failure.request  # type: ignore[attr-defined]
        yield from self.not_listed(request, Cursor(**request.cb_kwargs["cursor"]), Refusal.of_failure(failure))

    def not_listed(self, request: Request | None, here: Cursor, refusal: Refusal) -> Output:
        """Tries what may still help; else the listing ends here, and says why in the words of the first way asked."""
        if here.first and self.first_refusal is None:
            self.first_refusal = refusal
        there = another(here, refusal, len(self.ways))
        if there:
            self.logger.info("%s: %s; trying another way to list it", self.portal, refusal.error)
            yield self.list_request(there, again=there.rows < here.rows or bool(there.skipping))
            return
        self.list_ended()
        cause = self.first_refusal if here.first and self.first_refusal else refusal
        self.failed("list", cause.error, request, http_status=cause.status)

    # A record and its exports

    def parse_record(self, response: Response, record: Any, allowed: int, way: int, position: int) -> Output:
        """
        Args:
            allowed: how many of its resources the user's limit leaves.
            position: its place among those taken from its page.
        """
        if identity(record) is None:
            name = record.get("name") if isinstance(record, dict) else None
            message = f"record {position + 1} of the page, {str(name)[:100]!r}, has no id: it is not kept"
            error = AnswerError("missing_id", message)
            self.failed("list", error, response.request, dataset_name=name if isinstance(name, str) else None)
            return
        dataset = mapping.dataset(record, source=self.source, portal=str(self.portal))
        dataset.metadata_source = "package_search"
        dataset.metadata_url = response.url
        dataset.retrieved = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        wanted = list(exports.wanted(dataset, self.level, dataset.resources[:allowed]))
        for export in wanted:
            self.planned(export.kind, export.dataset_id, export.resource_id, by=response.request)
        yield dataset
        for export in wanted:
            yield self.export_request(export, way)

    def export_request(self, export: Export, way: int) -> Request:
        """Before the next page of the listing: what waits in memory is never more than two pages' exports."""
        keywords: dict[str, Any] = {
            "callback": self.parse_export,
            "errback": self.export_failed,
            "cb_kwargs": {"export": asdict(export), "way": way},
            "priority": 1,
        }
        if self.export == exports.DOWNLOAD_METADATA:
            url = exports.download_metadata(str(self.portal), export)
            return Request(url, headers={"Accept": "application/json"}, **keywords)
        return self.ways[way].request(*exports.show(export), **keywords)

    def parse_export(self, response: Response, export: dict[str, Any], way: int) -> Output:
        asked = Export(**export)
        try:
            document = exports.read(response, asked, action=self.export != exports.DOWNLOAD_METADATA)
        except AnswerError as error:
            yield from self.no_export(asked, way, Refusal(error, response.status), response.request)
            return
        source = self.export if self.export == exports.DOWNLOAD_METADATA else exports.show(asked)[0]
        yield replace(asked, document=document, metadata_source=source, metadata_url=response.url)

    def export_failed(self, failure: Failure) -> Output:
        request: Request = failure.request  # type: ignore[attr-defined]
        asked, way = Export(**request.cb_kwargs["export"]), request.cb_kwargs["way"]
        yield from self.no_export(asked, way, Refusal.of_failure(failure), request)

    def no_export(self, asked: Export, way: int, refusal: Refusal, request: Request | None) -> Output:
        """HDX's export has CKAN's own record to fall back to; CKAN's has not."""
        if self.export != exports.DOWNLOAD_METADATA:
            self.failed("fetch", refusal.error, request, http_status=refusal.status, **_subject(asked))
            return
        yield self.ways[way].request(
            *exports.show(asked),
            callback=self.parse_fallback,
            errback=self.fallback_failed,
            cb_kwargs={"instead_of": asdict(asked if refusal.lasting else _again(asked)), "reason": str(refusal.error)},
            priority=1,
        )

    def parse_fallback(self, response: Response, instead_of: dict[str, Any], reason: str) -> Output:
        asked = Export(**instead_of)
        try:
            record = exports.read(response, asked, action=True)
        except AnswerError as error:
            self.nothing_left(asked, reason, Refusal(error, response.status), response.request)
            return
        yield replace(
            asked,
            fallback=True,
            document=exports.in_its_place(record, asked, reason),
            metadata_source=f"ckan_{exports.show(asked)[0]}_fallback",
            metadata_url=response.url,
        )

    def fallback_failed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]
        asked, reason = Export(**request.cb_kwargs["instead_of"]), request.cb_kwargs["reason"]
        self.nothing_left(asked, reason, Refusal.of_failure(failure), request)

    def nothing_left(self, asked: Export, reason: str, refusal: Refusal, request: Request | None) -> None:
        sentence = f"{self.export}: {reason}; {exports.show(asked)[0]}: {refusal.error}"
        error = AnswerError(refusal.error.kind, sentence)
        self.failed("fetch", error, request, http_status=refusal.status, **_subject(asked))


def _again(asked: Export) -> Export:
    """Without the stamp, so that the next run finds what stands in an export's place out of date, and asks again."""
    return replace(asked, metadata_modified=None)


def _subject(export: Export) -> dict[str, str | None]:
    return {
        "dataset_id": export.dataset_id,
        "dataset_name": export.dataset_name,
        "resource_id": export.resource_id,
        "missing": export.kind,
    }
