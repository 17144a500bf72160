"""Croissant 1.0, which machine learning libraries load: JSON Lines, a document for each dataset."""

from __future__ import annotations

from importlib import resources
from typing import IO, TYPE_CHECKING, Any

from crawlers.records.formats import eu_file_type
from crawlers.safety import strict_json
from crawlers.store.export.nodes import iri, minted, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.items import Agent, Dataset, Resource

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
CONTEXT = strict_json.loads(resources.files(__package__).joinpath("croissant.context.json").read_bytes())
"""Copied from the specification word for word: readers compare it."""
_HASHES = ("md5", "sha256")


def write(datasets: Iterable[Dataset], output: IO[bytes]) -> None:
    """Write one line for each dataset: the export of a single dataset is a valid Croissant file."""
    for dataset in datasets:
        output.write(strict_json.line(_document(dataset)))


def _document(dataset: Dataset) -> dict[str, Any]:
    files = list(_files(dataset))
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "@id": iri(dataset.uri) or minted(dataset.source, dataset.id),
        "conformsTo": CONFORMS_TO,
    } | _present(
        name=plain(dataset.title) or plain(dataset.name),
        description=plain(dataset.description),
        url=iri(dataset.landing_page) or iri(dataset.uri),
        license=_license(dataset),
        version=plain(dataset.version),
        datePublished=dataset.issued,
        dateModified=dataset.modified,
        keywords=dataset.keywords,
        inLanguage=dataset.languages,
        creator=[_agent(agent) for agent in dataset.contacts if agent.role == "creator"],
        publisher=[_agent(dataset.publisher)] if dataset.publisher else [],
        isLiveDataset=any(not file.keys() & set(_HASHES) for file in files) or None,
        distribution=files,
    )


def _present(**properties: Any) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if value not in (None, "", [])}


def _license(dataset: Dataset) -> str | None:
    found = dataset.license
    return (iri(found.uri) or plain(found.id) or plain(found.title)) if found else None


def _agent(agent: Agent) -> dict[str, Any]:
    return {"@type": "sc:Organization"} | _present(
        name=plain(agent.name), email=plain(agent.email), url=iri(agent.url) or iri(agent.uri)
    )


def _files(dataset: Dataset) -> Iterator[dict[str, Any]]:
    given: set[str] = set()
    for position, resource in enumerate(dataset.resources):
        address = iri(resource.download_url) or iri(resource.url) or iri(resource.access_url)
        if address:
            name = resource.id if resource.id not in given else f"{resource.id}-{position}"
            given.add(name)
            yield _file(resource, name, address)


def _file(resource: Resource, name: str, address: str) -> dict[str, Any]:
    known = eu_file_type(resource.format)
    checksum = {resource.checksum.algorithm: resource.checksum.value} if resource.checksum else {}
    return {"@type": "cr:FileObject", "@id": plain(name) or address} | _present(
        name=plain(resource.title) or plain(name),
        description=plain(resource.description),
        contentUrl=address,
        contentSize=f"{resource.size} B" if resource.size else None,
        encodingFormat=resource.media_type or (known.media_type if known else "application/octet-stream"),
        **{algorithm: value for algorithm, value in checksum.items() if algorithm in _HASHES},
    )
