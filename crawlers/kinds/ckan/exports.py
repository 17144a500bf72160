"""The documents that are requested besides the listing: which, from where, and how they are read."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.items import Export
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.dialect import Refusal, of_failure, refused
from crawlers.listing import json_answer
from crawlers.politeness import failures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset, Resource
    from crawlers.kinds.ckan.api import API
    from crawlers.kinds.ckan.dialect import Output
    from crawlers.listing.crawl import Crawl

LEVELS = {"snapshot": (), "dataset": ("dataset",), "resource": ("resource",), "both": ("dataset", "resource")}
"""Which exports each ``level`` requests; the listing's record of the dataset is written at every level."""

DOWNLOAD_METADATA = "download_metadata"
_ASKED = [field.name for field in fields(Export) if field.name not in ("document", "stored")]  # the rest is to come
_EXPECTED = {"id", "name", "title", "format", "url", "download_url"}  # an error's object has none of these


def wanted(dataset: Dataset, level: str, allowed: int) -> Iterator[Export]:
    """Yield the exports to request, without their documents yet.

    Args:
        allowed: how many of the dataset's resources the user's limit leaves.
    """
    about: dict[str, Any] = {
        "source": dataset.source,
        "dataset_id": dataset.id,
        "dataset_name": dataset.name,
        "dataset_title": dataset.title,
        "metadata_modified": dataset.metadata_modified,
    }
    if "dataset" in LEVELS[level]:
        yield Export(kind="dataset_metadata", **about)
    if "resource" in LEVELS[level]:
        for resource in filter(_has_id, dataset.resources[:allowed]):
            yield Export(
                kind="resource_metadata",
                resource_id=resource.id,
                resource_name=resource.title or resource.description,
                resource_format=resource.format,
                **about,
            )


def _has_id(resource: Resource) -> bool:
    return bool(resource.document and resource.document.get("id"))


def show(export: Export) -> tuple[str, dict[str, str]]:
    """Return CKAN's action for it, and the action's parameters."""
    if export.resource_id is None:
        return "package_show", {"id": export.dataset_id}
    return "resource_show", {"id": export.resource_id}


def download_metadata(portal: str, export: Export) -> str:
    """Return HDX's address for it (ocha-dap/hdx-ckan: ``/dataset/<id>/[resource/<id>/]download_metadata``)."""
    resource = f"/resource/{quote(export.resource_id, safe='')}" if export.resource_id is not None else ""
    return f"{portal}/dataset/{quote(export.dataset_id, safe='')}{resource}/download_metadata?format=json"


def read(response: Response, export: Export, *, action: bool) -> dict[str, Any]:
    """Return the document of an answer.

    Args:
        action: whether an action of the API answered, with its envelope.

    Raises:
        AnswerError: it is not a document, or not the one that was requested.
    """
    document = api.result(response) if action else json_answer.document(response)
    if not isinstance(document, dict) or _EXPECTED.isdisjoint(document) or "success" in document:
        raise AnswerError("refused", f"the portal answered {str(document)[:200]!r}, which is no metadata")
    asked = export.dataset_id if export.resource_id is None else export.resource_id
    if document.get("id", asked) != asked:
        raise AnswerError("refused", f"the portal answered with the metadata of {str(document['id'])[:100]!r}")
    return document


def in_its_place(record: dict[str, Any], export: Export, reason: str) -> dict[str, Any]:
    """Return CKAN's own record as a document that says why it replaces an export."""
    about = {
        "_fallback_reason": reason,
        "_note": "The portal's own export could not be had; this is its record in the CKAN API.",
    }
    if export.resource_id is None:
        return about | {"dataset": record}
    return about | {"dataset_id": export.dataset_id, "resource": record}


class Exports:
    """Requests a dataset's exports, and CKAN's own record in place of one that HDX does not give.

    Args:
        export: what is requested: package_show, or `DOWNLOAD_METADATA`.
    """

    def __init__(self, crawl: Crawl, portal_api: API, export: str) -> None:
        self.crawl = crawl
        self.api = portal_api
        self.export = export

    @property
    def is_own(self) -> bool:
        """Whether the portal has an export of its own, HDX's; else actions of the API are the exports."""
        return self.export == DOWNLOAD_METADATA

    def request(self, export: Export, variant: int) -> Request:
        """Return the request for an export.

        It comes before the next page of the listing, so no more than two pages' exports wait in memory.
        """
        keywords: dict[str, Any] = {
            "callback": self.parse,
            "errback": self.failed,
            "cb_kwargs": {"export": _plain(export), "variant": variant},
            "priority": 1,
        }
        if self.is_own:
            url = download_metadata(self.api.portal, export)
            return Request(url, headers={"Accept": "application/json"}, meta={"route": "export"}, **keywords)
        return self.api.variants[variant].request(*show(export), **keywords)

    def parse(self, response: Response, export: dict[str, Any], variant: int) -> Output:
        asked = Export(**export)
        try:
            document = read(response, asked, action=not self.is_own)
        except AnswerError as error:
            yield from self.not_given(asked, variant, refused(error, response), response.request)
            return
        source = self.export if self.is_own else show(asked)[0]
        yield replace(asked, document=document, metadata_source=source, metadata_url=response.url)

    def failed(self, failure: Failure) -> Output:
        request = failures.request(failure)
        asked, variant = Export(**request.cb_kwargs["export"]), request.cb_kwargs["variant"]
        yield from self.not_given(asked, variant, of_failure(failure), request)

    def not_given(self, asked: Export, variant: int, refusal: Refusal, request: Request | None) -> Output:
        """Request CKAN's own record in place of HDX's export; nothing can replace that record."""
        if not self.is_own:
            self.crawl.failed("fetch", refusal.error, request, http_status=refusal.status, **_subject(asked))
            return
        # Without the stamp the next run finds the replacement out of date, and requests the export again
        instead_of = asked if refusal.is_lasting else replace(asked, metadata_modified=None)
        yield self.api.variants[variant].request(
            *show(asked),
            callback=self.parse_fallback,
            errback=self.fallback_failed,
            cb_kwargs={"instead_of": _plain(instead_of), "reason": str(refusal.error)},
            priority=1,
            dont_filter=True,  # two datasets may list one resource, and each has its document
        )

    def parse_fallback(self, response: Response, instead_of: dict[str, Any], reason: str) -> Output:
        asked = Export(**instead_of)
        try:
            record = read(response, asked, action=True)
        except AnswerError as error:
            self.nothing_left(asked, reason, refused(error, response), response.request)
            return
        yield replace(
            asked,
            fallback=True,
            document=in_its_place(record, asked, reason),
            metadata_source=f"ckan_{show(asked)[0]}_fallback",
            metadata_url=response.url,
        )

    def fallback_failed(self, failure: Failure) -> None:
        request = failures.request(failure)
        asked, reason = Export(**request.cb_kwargs["instead_of"]), request.cb_kwargs["reason"]
        self.nothing_left(asked, reason, of_failure(failure), request)

    def nothing_left(self, asked: Export, reason: str, refusal: Refusal, request: Request | None) -> None:
        sentence = f"{self.export}: {reason}; {show(asked)[0]}: {refusal.error}"
        error = AnswerError(refusal.error.kind, sentence)
        self.crawl.failed("fetch", error, request, http_status=refusal.status, **_subject(asked))


def _plain(export: Export) -> dict[str, Any]:
    """Return what a request carries of its export; `asdict` copies deeply, which takes ten times as long."""
    return {name: getattr(export, name) for name in _ASKED}


def _subject(export: Export) -> dict[str, str | None]:
    return {
        "dataset_id": export.dataset_id,
        "dataset_name": export.dataset_name,
        "dataset_title": export.dataset_title,
        "resource_id": export.resource_id,
        "missing": export.kind,
    }
