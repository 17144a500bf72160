"""The documents that are asked for besides the listing: which, where, and how they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from crawlers.ckan import api
from crawlers.exceptions import AnswerError
from crawlers.items import Export

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

    from crawlers.items import Dataset, Resource

LEVELS = {"snapshot": (), "dataset": ("dataset",), "resource": ("resource",), "both": ("dataset", "resource")}
"""Which exports each ``level`` asks for; the listing's record of the dataset is written at every level."""

DOWNLOAD_METADATA = "download_metadata"
_EXPECTED = {"id", "name", "title", "format", "url", "download_url"}  # an error's object has none of these


def wanted(dataset: Dataset, level: str, resources: list[Resource]) -> Iterator[Export]:
    """The exports to ask for, without their documents yet.

    Args:
        resources: those of the dataset's resources that are within the user's limit.
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
        for resource in filter(_has_id, resources):
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
    """CKAN's action for it, and the action's parameters."""
    if export.resource_id is None:
        return "package_show", {"id": export.dataset_id}
    return "resource_show", {"id": export.resource_id}


def download_metadata(portal: str, export: Export) -> str:
    """HDX's address for it (ocha-dap/hdx-ckan: ``/dataset/<id>/[resource/<id>/]download_metadata``)."""
    resource = f"/resource/{quote(export.resource_id, safe='')}" if export.resource_id is not None else ""
    return f"{portal}/dataset/{quote(export.dataset_id, safe='')}{resource}/download_metadata?format=json"


def read(response: Response, export: Export, *, action: bool) -> dict[str, Any]:
    """The document of an answer.

    Args:
        action: whether an action of the API answered, with its envelope.

    Raises:
        AnswerError: it is no document, or that of something else.
    """
    document = api.result(response) if action else api.document(response)
    if not isinstance(document, dict) or _EXPECTED.isdisjoint(document) or "success" in document:
        raise AnswerError("refused", f"the portal answered {str(document)[:200]!r}, which is no metadata")
    asked = export.dataset_id if export.resource_id is None else export.resource_id
    if document.get("id", asked) != asked:
        raise AnswerError("refused", f"the portal answered with the metadata of {str(document['id'])[:100]!r}")
    return document


def in_its_place(record: dict[str, Any], export: Export, reason: str) -> dict[str, Any]:
    """CKAN's own record as a document that says why it stands where an export should."""
    about = {
        "_fallback_reason": reason,
        "_note": "The portal's own export could not be had; this is its record in the CKAN API.",
    }
    if export.resource_id is None:
        return about | {"dataset": record}
    return about | {"dataset_id": export.dataset_id, "resource": record}
