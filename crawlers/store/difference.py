"""What differs between two versions of a document: the item's fields, then the record's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.fields import specs
from crawlers.items import Dataset, Resource

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN = "document."
"""What the name of a field of the record itself begins with."""


def changed_fields(before: Dataset, after: Dataset) -> list[str]:
    """Return the names of the fields that differ; if none does, those of the record itself.

    >>> from crawlers.items import Dataset
    >>> one = Dataset(source="town", id="a", title="Rivers", document={"extras": []})
    >>> changed_fields(one, Dataset(source="town", id="a", title="The rivers", keywords=["water"]))
    ['title', 'keywords']
    >>> changed_fields(one, Dataset(source="town", id="a", title="Rivers", document={"extras": [1]}))
    ['document.extras']
    """
    names = [name for name in specs(Dataset) if getattr(before, name) != getattr(after, name)]
    if [*_said(before.resources)] != [*_said(after.resources)]:
        names.append("resources")
    return names or changed_names(before.document, after.document)


def _said(resources: list[Resource]) -> Iterator[list[Any]]:
    """Yield what each resource says, without its part of the document."""
    names = ("id", *specs(Resource))
    for resource in resources:
        yield [getattr(resource, name) for name in names]


def changed_names(before: Any, after: Any) -> list[str]:
    """Return the names that differ in two records, each with `OWN` before it; none for records that are no objects.

    >>> changed_names({"a": 1, "b": 2}, {"a": 1, "c": 3}), changed_names(b"<a/>", b"<b/>")
    (['document.b', 'document.c'], [])
    """
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return []
    names = [*before, *(name for name in after if name not in before)]
    return [f"{OWN}{name}" for name in names if name not in before or name not in after or before[name] != after[name]]
