"""The spider of every CKAN portal."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request

from crawlers import arguments, failures
from crawlers.arguments import Argument
from crawlers.ckan import exports
from crawlers.ckan.incremental import CKANIncremental
from crawlers.ckan.listing import identity
from crawlers.ckan.recovery import Refusal
from crawlers.exceptions import AnswerError
from crawlers.items import Export
from crawlers.mapping import ckan as mapping
from crawlers.moment import now

if TYPE_CHECKING:
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.ckan.lister import Output


class CKANSpider(CKANIncremental):
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

    arguments: ClassVar[dict[str, Argument]] = CKANIncremental.arguments | {
        "level": Argument(
            help="Besides the listing: nothing (snapshot), an export per dataset, per resource, or both.",
            parse=arguments.choice(*exports.LEVELS),
        ),
    }

    export = "package_show"
    level: str = "snapshot"

    def __init__(self, **given: str) -> None:
        super().__init__(**given)
        self.level = self.args["level"] or self.level

    def parse_record(self, response: Response, record: Any, allowed: int, way: int, position: int) -> Output:
        if identity(record) is None:
            about = _about(record)
            name = str(about["dataset_name"])[:100]
            message = f"record {position + 1} of the page, {name!r}, has no id: it is not kept"
            self.failed("list", AnswerError("missing_id", message), response.request, **about)
            return
        dataset = mapping.dataset(record, source=self.source, portal=str(self.portal))
        dataset.metadata_source = "package_show" if "/package_show" in response.url else "package_search"
        dataset.metadata_url = response.url
        dataset.retrieved = now()
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
            return Request(url, headers={"Accept": "application/json"}, meta={"route": "export"}, **keywords)
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
        request = failures.request(failure)
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
            dont_filter=True,  # two datasets may list one resource, and each has its document
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
        request = failures.request(failure)
        asked, reason = Export(**request.cb_kwargs["instead_of"]), request.cb_kwargs["reason"]
        self.nothing_left(asked, reason, Refusal.of_failure(failure), request)

    def nothing_left(self, asked: Export, reason: str, refusal: Refusal, request: Request | None) -> None:
        sentence = f"{self.export}: {reason}; {exports.show(asked)[0]}: {refusal.error}"
        error = AnswerError(refusal.error.kind, sentence)
        self.failed("fetch", error, request, http_status=refusal.status, **_subject(asked))


def _again(asked: Export) -> Export:
    """Without the stamp, so that the next run finds what stands in an export's place out of date, and asks again."""
    return replace(asked, metadata_modified=None)


def _about(record: Any) -> dict[str, str | None]:
    """What an error line can say of a record that has no identity."""
    found = record if isinstance(record, dict) else {}
    texts = {name: found.get(name) for name in ("name", "title")}
    return {f"dataset_{name}": value if isinstance(value, str) else None for name, value in texts.items()}


def _subject(export: Export) -> dict[str, str | None]:
    return {
        "dataset_id": export.dataset_id,
        "dataset_name": export.dataset_name,
        "dataset_title": export.dataset_title,
        "resource_id": export.resource_id,
        "missing": export.kind,
    }
