"""When something was published or changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.mapping.data_json.dates import read_date

if TYPE_CHECKING:
    from crawlers.mapping.data_json.node import Node


def issued(fields: Node) -> str | None:
    """When it was published; when it was created if nothing says that."""
    return _first(fields, "datePublished", "dateIssued", "uploadDate", "dateCreated")


def modified(fields: Node) -> str | None:
    return _first(fields, "dateModified")


def _first(fields: Node, *names: str) -> str | None:
    return next((found for name in names if name in fields.fields and (found := read_date(fields, name))), None)
