"""The distributions of a record as resources, and their ids."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

from crawlers.items import Checksum, Resource
from crawlers.records import values
from crawlers.records.data_json.catalogue import identity
from crawlers.records.data_json.details import BY_KIND
from crawlers.records.formats import file_type, protocol
from crawlers.records.linked import LinkedRecord
from crawlers.records.record import Fields
from crawlers.records.values import checksum

if TYPE_CHECKING:
    from collections.abc import Iterator

_TELLING = (
    *("id", "dataset_id", "title", "description", "url", "access_url", "download_url", "format", "media_type", "size"),
    *("checksum", "issued", "modified", "license", "languages", "rights", "conforms_to"),
)
"""The fields that tell resources of one address and title apart; never add one, or ids on disk change."""
_INLINE = (("accessURL", "downloadURL", "format"), ("webService",))


def resources(fields: LinkedRecord, dataset_id: str) -> list[Resource]:
    """Return a resource for each distribution, with an id of its own.

    The id is the distribution's, which DCAT-US 3.0 may give; 1.1 has none. So it is made of the dataset's id and the
    distribution's address and title, of all its fields where several share these, and counted where they are alike in
    everything: it stays when the order changes or others come and go, and is unique within the dataset.
    """
    found = [_resource(each, dataset_id) for each in fields.nodes("distribution")]
    if not found and "distribution" not in fields.data:
        found = _inline(fields, dataset_id)
    identify(found, dataset_id)
    return found


def _inline(fields: LinkedRecord, dataset_id: str) -> list[Resource]:
    """Return the file and the service that POD 1.0 writes into the record itself."""
    found = ({name: fields.data[name] for name in names if fields.data.get(name)} for names in _INLINE)
    return [_resource(LinkedRecord(each, fields.flaws), dataset_id) for each in found if each.keys() - {"format"}]


def _resource(fields: LinkedRecord, dataset_id: str) -> Resource:
    download_url = fields.link("downloadURL")
    access_url = fields.link("accessURL", "accessService", "webService")
    if not download_url and not access_url:
        what = fields.path.removesuffix(".") or "the record"
        fields.flaw(f"{what} has no web address", "accessURL", "missing_value")
    url = download_url or access_url
    found = Resource(id="", dataset_id=dataset_id, url=url, document=fields.data, **_DISTRIBUTION.read(fields))
    found.access_url, found.download_url = access_url, download_url
    format_, found.media_type = file_type(found.format, found.media_type, url)
    found.format = _protocol(fields) or format_
    return found


def _protocol(fields: LinkedRecord) -> str | None:
    """Return the protocol of the first service."""
    services = fields.nodes("accessService", text=lambda _: None)
    return protocol(standard for service in services for standard in service.references("conformsTo"))


def _checksums(fields: LinkedRecord) -> Iterator[Checksum]:
    for given in fields.nodes("checksum", text=lambda text: {"checksumValue": text}):
        if found := checksum(given.text("checksumValue", "value"), given.text("algorithm")):
            yield found


_DISTRIBUTION = Fields.of(
    Resource,
    "data_json",
    BY_KIND,
    {
        "size": lambda fields, *names: fields.read(values.size, *names) or None,
        "checksum": lambda fields, *_: next(_checksums(fields), None),
        "rights": LinkedRecord.words,
    },
    without=("url", "access_url", "download_url"),
)


def identify(found: list[Resource], dataset_id: str) -> None:
    """Give each resource its id; see `resources`."""
    own = [identity(each.document or {}) or "" for each in found]
    by_address = [_digest(dataset_id, each.url, each.title) for each in found]
    counts, copies, taken = Counter((*own, *by_address)), Counter[str](), set[str]()
    for resource, *names in zip(found, own, by_address, strict=True):
        unique = next((name for name in names if name and counts[name] == 1), None)
        resource.id = _free(unique or _digest(dataset_id, *_fields(resource)), copies, taken)
        taken.add(resource.id)


def _fields(resource: Resource) -> Iterator[str]:
    return (repr(getattr(resource, name)) for name in _TELLING)


def _digest(*parts: str | None) -> str:
    return blake2b(json.dumps(parts).encode("ascii"), digest_size=16).hexdigest()


def _free(name: str, copies: Counter[str], taken: set[str]) -> str:
    while True:
        copies[name] += 1
        found = name if copies[name] == 1 else f"{name}-{copies[name]}"
        if found not in taken:
            return found
