"""The distributions of a record as resources, and what these are called."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields as fields_of
from hashlib import blake2b
from typing import TYPE_CHECKING

from crawlers.items import Checksum, Resource
from crawlers.mapping import values
from crawlers.mapping.checksums import checksum
from crawlers.mapping.data_json.dates import issued, modified
from crawlers.mapping.data_json.formats import file_type
from crawlers.mapping.data_json.identifiers import identity
from crawlers.mapping.data_json.licensing import license as license_of
from crawlers.mapping.data_json.node import Node
from crawlers.mapping.languages import languages
from crawlers.mapping.markup import markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

_INLINE = (("accessURL", "downloadURL", "format"), ("webService",))


def resources(fields: Node, dataset_id: str) -> list[Resource]:
    """One for each distribution, with an id of its own.

    The id is the distribution's, which DCAT-US 3.0 may give; 1.1 has none. So it is made of the dataset's id and the
    distribution's address and title, of all its fields where several share these, and counted where they are alike in
    everything: it stays when the order changes or others come and go, and is unique within the dataset.
    """
    found = [_resource(one, dataset_id) for one in fields.nodes("distribution")]
    if not found and "distribution" not in fields.data:
        found = _inline(fields, dataset_id)
    identify(found, dataset_id)
    return found


def _inline(fields: Node, dataset_id: str) -> list[Resource]:
    """POD 1.0 writes the file and the service it knows into the record itself."""
    found = ({name: fields.data[name] for name in names if fields.data.get(name)} for names in _INLINE)
    return [_resource(Node(one, fields.flaws), dataset_id) for one in found if one.keys() - {"format"}]


def _resource(fields: Node, dataset_id: str) -> Resource:
    download_url = fields.link("downloadURL")
    access_url = fields.link("accessURL", "accessService", "webService")
    if not download_url and not access_url:
        fields.flaw(f"{fields.path.removesuffix('.') or 'the record'} has no web address")
    url = download_url or access_url
    format_, media_type = file_type(fields, url)
    return Resource(
        id="",
        dataset_id=dataset_id,
        title=fields.text("title", "titleMap"),
        description=_description(fields),
        url=url,
        access_url=access_url,
        download_url=download_url,
        format=format_,
        media_type=media_type,
        size=fields.read(values.size, "byteSize") or None,
        checksum=_checksum(fields),
        issued=issued(fields),
        modified=modified(fields),
        license=license_of(fields),
        languages=languages(fields.texts("language")),
        rights=fields.words("rights", "accessRights"),
        conforms_to=fields.references("conformsTo"),
        document=fields.data,
    )


def _description(fields: Node) -> str | None:
    text = fields.text("description", "descriptionMap")
    return markdown(text) if text else None


def _checksum(fields: Node) -> Checksum | None:
    if "checksum" not in fields.fields:
        return None
    for one in fields.nodes("checksum", text=lambda text: {"checksumValue": text}):
        if found := checksum(one.text("checksumValue", "value"), one.text("algorithm")):
            return found
    return None


def identify(found: list[Resource], dataset_id: str) -> None:
    own = [identity(one.document or {}) or "" for one in found]
    by_address = [_digest(dataset_id, one.url, one.title) for one in found]
    counts, copies, taken = Counter((*own, *by_address)), Counter[str](), set[str]()
    for resource, *names in zip(found, own, by_address, strict=True):
        unique = next((name for name in names if name and counts[name] == 1), None)
        resource.id = _free(unique or _digest(dataset_id, *_fields(resource)), copies, taken)
        taken.add(resource.id)


def _fields(resource: Resource) -> Iterator[str]:
    return (repr(getattr(resource, one.name)) for one in fields_of(Resource) if one.name != "document")


def _digest(*parts: str | None) -> str:
    return blake2b(json.dumps(parts).encode("ascii"), digest_size=16).hexdigest()


def _free(name: str, copies: Counter[str], taken: set[str]) -> str:
    while True:
        copies[name] += 1
        found = name if copies[name] == 1 else f"{name}-{copies[name]}"
        if found not in taken:
            return found
