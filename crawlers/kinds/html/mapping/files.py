"""The files of a page as resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.fields import specs
from crawlers.items import Resource
from crawlers.kinds.html.mapping.field_reader import BY_KIND, Entries
from crawlers.kinds.html.rules.rules import RESOURCE_FIELDS
from crawlers.records.data_json.item import identify
from crawlers.records.formats import file_type
from crawlers.records.schema_org.item import size

if TYPE_CHECKING:
    from crawlers.items import Document

_MOST = 2_000


def resources(document: Document, fields: Entries, dataset_id: str) -> list[Resource]:
    """Return a resource for each file, with an id that stays when the order changes, and that no other one has."""
    given = document.get("resources")
    listed = given[:_MOST] if isinstance(given, list) else []
    found = [
        _resource(Entries(each, fields.language, fields.flaws, f"resources[{number}]."), dataset_id)
        for number, each in enumerate(listed)
    ]
    identify(found, dataset_id)
    return found


def _resource(fields: Entries, dataset_id: str) -> Resource:
    url = fields.url("url")
    format_, media_type = file_type(fields.text("format"), fields.text("media_type"), url)
    found = {name: reader(fields, name) for name, reader in _READERS.items()}
    found |= {"url": url, "access_url": url, "format": format_, "media_type": media_type}
    found["size"] = fields.read(size, "size") or None
    return Resource(id="", dataset_id=dataset_id, document=fields.fields, **found)


_READERS = {
    name: BY_KIND.get(spec.kind, Entries.texts)
    for name, spec in specs(Resource).items()
    if name in RESOURCE_FIELDS and name not in {"url", "format", "media_type", "size"}  # which are read together
}
