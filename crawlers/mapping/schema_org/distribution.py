"""The downloads of a dataset as resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.items import Checksum, Resource
from crawlers.mapping import values
from crawlers.mapping.checksums import checksum
from crawlers.mapping.data_json.distribution import identify
from crawlers.mapping.data_json.formats import file_type
from crawlers.mapping.data_json.licensing import license as license_of
from crawlers.mapping.data_json.node import Node
from crawlers.mapping.languages import languages
from crawlers.mapping.schema_org.dates import issued, modified
from crawlers.mapping.schema_org.sizes import size
from crawlers.mapping.schema_org.texts import description, rights, title

if TYPE_CHECKING:
    from collections.abc import Iterator

_LISTS = ("distribution", "encoding", "associatedMedia")
_CHECKSUMS = ("sha256", "sha512", "sha1", "md5")


def resources(fields: Node, dataset_id: str) -> list[Resource]:
    """One for each distribution; a text is its address.

    The ids are made as those of a data.json's distributions: they stay when the order changes, and are unique.
    """
    found = [_resource(one, dataset_id) for one in fields.nodes(*_LISTS, text=_written)]
    identify(found, dataset_id)
    return found


def _written(text: str) -> dict[str, Any] | None:
    """
    >>> _written("https://example.org/a.csv"), _written("on request")
    ({'contentUrl': 'https://example.org/a.csv'}, {'name': 'on request'})
    """
    return {"contentUrl": text} if values.url(text) else {"name": text}


def _resource(fields: Node, dataset_id: str) -> Resource:
    download_url = fields.link("contentUrl")
    access_url = fields.link("url", "embedUrl") or (None if download_url else values.url(fields.iri() or ""))
    if not download_url and not access_url:
        fields.flaw(f"{fields.path.removesuffix('.')} has no web address")
    format_, media_type = file_type(_type(fields), download_url or access_url)
    return Resource(
        id="",
        dataset_id=dataset_id,
        title=title(fields),
        description=description(fields),
        url=download_url or access_url,
        access_url=access_url,
        download_url=download_url,
        format=format_,
        media_type=media_type,
        size=fields.read(size, "contentSize", "fileSize") or None,
        checksum=next(_checksums(fields), None),
        issued=issued(fields),
        modified=modified(fields),
        license=license_of(fields),
        languages=languages(fields.texts("inLanguage")),
        rights=rights(fields),
        conforms_to=fields.references("conformsTo"),
        document=fields.data,
    )


def _type(fields: Node) -> Node:
    given = {
        name: fields.text(property_) for name, property_ in (("format", "encodingFormat"), ("mediaType", "fileFormat"))
    }
    return Node({name: text for name, text in given.items() if text}, fields.flaws)


def _checksums(fields: Node) -> Iterator[Checksum]:
    for name in _CHECKSUMS:
        if name in fields.fields and (found := checksum(fields.text(name), name)):
            yield found
