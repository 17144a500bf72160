"""The documents that are requested besides the listing: which, from where, and how they are read."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from scrapy import Request

from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.items import Export
from crawlers.kinds.ckan import api
from crawlers.kinds.ckan.dialect import Refusal, of_failure, refused
from crawlers.listing.answers import json_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.items import Dataset, Resource
    from crawlers.kinds.ckan.dialect import Output, PackageCrawl

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
    document = api.result(response) if action else json_document(response)
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

    def __init__(self, crawl: PackageCrawl, export: str) -> None:
        self.crawl = crawl
        self.export = export

    @property
    def is_own(self) -> bool:
        """Whether the portal has an export of its own, HDX's; else actions of the API are the exports."""
        return self.export == DOWNLOAD_METADATA

    def request(self, export: Export, variant: int, reason: str = "") -> Request:
        """Return the request for an export, or for CKAN's own record in its place.

        It comes before the next page of the listing, so no more than two pages' exports wait in memory.

        Args:
            reason: why the portal's own export could not be had.
        """
        keywords: dict[str, Any] = {
            "callback": self.parse,
            "errback": self.failed,
            "cb_kwargs": {"export": _plain(export), "variant": variant, "reason": reason},
            "priority": 1,
        }
        if self.is_own and not reason:
            url = download_metadata(self.crawl.api.portal, export)
            return Request(url, headers={"Accept": "application/json"}, meta={"route": "export"}, **keywords)
        keywords["dont_filter"] = bool(reason)  # two datasets may list one resource, and each has its document
        return self.crawl.api.variants[variant].request(*show(export), **keywords)

    def parse(self, response: Response, export: dict[str, Any], variant: int, reason: str) -> Output:
        asked, source = Export(**export), self.export
        is_action = bool(reason) or not self.is_own
        try:
            document = read(response, asked, action=is_action)
        except AnswerError as error:
            yield from self.not_given(asked, variant, reason, refused(error, response), response.request)
            return
        if is_action:
            source = show(asked)[0]
        if reason:
            document, source = in_its_place(document, asked, reason), f"ckan_{source}_fallback"
        asked = replace(asked, metadata_source=source, metadata_url=response.url)
        yield replace(asked, fallback=bool(reason), document=document)

    def failed(self, failure: Failure) -> Output:
        request = failures.request(failure)
        asked, variant, reason = (request.cb_kwargs[name] for name in ("export", "variant", "reason"))
        yield from self.not_given(Export(**asked), variant, reason, of_failure(failure), request)

    def not_given(self, asked: Export, variant: int, reason: str, refusal: Refusal, request: Request | None) -> Output:
        """Request CKAN's own record in place of HDX's export; nothing can replace that record."""
        error = refusal.error
        if self.is_own and not reason:
            # Without the stamp the next run finds the replacement out of date, and requests the export again
            instead_of = asked if refusal.is_lasting else replace(asked, metadata_modified=None)
            yield self.request(instead_of, variant, str(error))
            return
        if reason:
            error = AnswerError(error.kind, f"{self.export}: {reason}; {show(asked)[0]}: {error}")
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
