"""The files of a page as resources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.items import Resource
from crawlers.mapping.data_json.distribution import identify
from crawlers.mapping.dcat import formats
from crawlers.mapping.dcat.description import Description
from crawlers.mapping.html.entries import Entries
from crawlers.mapping.schema_org.sizes import size
from crawlers.rdf.namespaces import DCAT, DCT
from crawlers.rdf.terms import Literal

if TYPE_CHECKING:
    from crawlers.items import Document
    from crawlers.rdf import terms as rdf

_NOWHERE = Description({})
_FILE = {DCT + "format": "format", DCAT + "mediaType": "media_type"}
_MOST = 2_000


def resources(document: Document, fields: Entries, dataset_id: str) -> list[Resource]:
    """One for each file, with an id that stays when the order changes, and that no other one has."""
    given = document.get("resources")
    listed = given[:_MOST] if isinstance(given, list) else []
    found = [
        _resource(Entries(one, fields.language, fields.flaws, f"resources[{number}]."), dataset_id)
        for number, one in enumerate(listed)
    ]
    identify(found, dataset_id)
    return found


def _resource(fields: Entries, dataset_id: str) -> Resource:
    url = fields.url("url")
    format_, media_type = _type(fields, url)
    return Resource(
        id="",
        dataset_id=dataset_id,
        title=fields.text("title"),
        description=fields.markdown("description"),
        url=url,
        access_url=url,
        format=format_,
        media_type=media_type,
        size=fields.read(size, "size") or None,
        issued=fields.date("issued"),
        modified=fields.date("modified"),
        license=fields.license("license"),
        document=fields.fields,
    )


def _type(fields: Entries, url: str | None) -> tuple[str | None, str | None]:
    node: rdf.Node = {predicate: [Literal(text)] for predicate, name in _FILE.items() if (text := fields.text(name))}
    return formats.file_format(_NOWHERE, node, {}, url), formats.media_type(_NOWHERE, node)
