"""Croissant 1.0, which loaders of machine learning read: a document a dataset, JSON Lines."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

from crawlers.export.file_types import file_type
from crawlers.export.iris import iri, minted
from crawlers.export.literals import plain
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.items import Agent, Dataset, Resource

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
# As the specification has it, word for word: readers compare it.
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_HASHES = ("md5", "sha256")


def write(datasets: Iterable[Dataset], output: IO[bytes]) -> None:
    """A line a dataset: the export of one dataset is a Croissant file as it is."""
    for dataset in datasets:
        output.write(strict_json.line(_document(dataset)))


def _document(one: Dataset) -> dict[str, Any]:
    files = list(_files(one))
    title = plain(one.title) or plain(one.name) or one.id
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "@id": iri(one.uri) or minted(one.source, one.id),
        "conformsTo": CONFORMS_TO,
    } | _present(
        name=title,
        description=plain(one.description) or title,
        url=iri(one.landing_page) or iri(one.uri),
        license=_license(one),
        version=plain(one.version),
        dateCreated=one.issued,
        datePublished=one.issued or one.modified,
        dateModified=one.modified,
        keywords=one.keywords,
        inLanguage=one.languages,
        creator=[_agent(agent) for agent in one.contacts if agent.role == "creator"] or _publisher(one),
        publisher=_publisher(one),
        isLiveDataset=any(not file.keys() & set(_HASHES) for file in files) or None,
        distribution=files,
    )


def _present(**properties: Any) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if value not in (None, "", [])}


def _license(one: Dataset) -> str | None:
    found = one.license
    return (iri(found.uri) or plain(found.id) or plain(found.title)) if found else None


def _publisher(one: Dataset) -> list[dict[str, Any]]:
    return [_agent(one.publisher)] if one.publisher else []


def _agent(one: Agent) -> dict[str, Any]:
    name = plain(one.name) or plain(one.email) or one.uri or one.url
    return {"@type": "sc:Organization"} | _present(name=name, email=plain(one.email), url=iri(one.url) or iri(one.uri))


def _files(one: Dataset) -> Iterator[dict[str, Any]]:
    """What has no address is no file."""
    given: set[str] = set()
    for position, resource in enumerate(one.resources):
        address = iri(resource.download_url) or iri(resource.url) or iri(resource.access_url)
        if address:
            name = resource.id if resource.id not in given else f"{resource.id}-{position}"
            given.add(name)
            yield _file(resource, name, address)


def _file(one: Resource, name: str, address: str) -> dict[str, Any]:
    known = file_type(one.format)
    checksum = {one.checksum.algorithm: one.checksum.value} if one.checksum else {}
    return {"@type": "cr:FileObject", "@id": plain(name) or address} | _present(
        name=plain(one.title) or plain(name),
        description=plain(one.description),
        contentUrl=address,
        contentSize=f"{one.size} B" if one.size else None,
        encodingFormat=one.media_type or (known.media_type if known else "application/octet-stream"),
        **{algorithm: value for algorithm, value in checksum.items() if algorithm in _HASHES},
    )
