"""The files of a page as resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.items import Resource
from crawlers.kinds.dcat.data_json.distribution import identify
from crawlers.kinds.html.mapping.field_reader import Entries
from crawlers.kinds.html.mapping.field_reader import license as license_of
from crawlers.kinds.html.schema_org.item import size
from crawlers.values.codes import code
from crawlers.values.formats import file_type

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
    return Resource(
        id="",
        availability=fields.read(code, "availability"),
        status=fields.read(code, "status"),
        documentation=fields.texts("documentation"),
        dataset_id=dataset_id,
        title=fields.text("title"),
        description=fields.markdown("description"),
        url=url,
        access_url=url,
        format=format_,
        media_type=media_type,
        size=fields.read(size, "size") or None,
        issued=fields.moment("issued"),
        modified=fields.moment("modified"),
        license=license_of(fields),
        document=fields.fields,
    )
