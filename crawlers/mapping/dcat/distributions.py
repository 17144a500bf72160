"""The files and services of a dataset."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import unquote

from crawlers.items import Resource
from crawlers.mapping import values
from crawlers.mapping.checksums import checksum as checksum_of
from crawlers.mapping.dcat.dates import issued, modified
from crawlers.mapping.dcat.description import in_order
from crawlers.mapping.dcat.formats import file_format, media_type
from crawlers.mapping.dcat.identities import identifiers
from crawlers.mapping.dcat.languages import languages
from crawlers.mapping.dcat.licenses import license as license_of
from crawlers.mapping.dcat.rights import access_rights, rights
from crawlers.mapping.dcat.standards import conforms_to
from crawlers.mapping.markup import markdown
from crawlers.rdf.namespaces import DC, DCAT, DCT, FOAF, RDFS, SCHEMA, SCHEMA_HTTPS, SPDX, TYPE
from crawlers.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from crawlers.items import Checksum
    from crawlers.mapping.dcat.description import Description
    from crawlers.rdf.terms import Node, Term

_DISTRIBUTIONS = (
    *(DCAT + "distribution", DCAT + "distributions"),
    *(SCHEMA + "distribution", SCHEMA_HTTPS + "distribution"),
)
_TITLE = (DCT + "title", DC + "title", RDFS + "label", SCHEMA + "name", SCHEMA_HTTPS + "name")
_DESCRIPTION = (
    *(DCT + "description", DCT + "abstract", DC + "description"),
    *(SCHEMA + "description", SCHEMA_HTTPS + "description"),
)
_DOWNLOAD_URL = (DCAT + "downloadURL", SCHEMA + "contentUrl", SCHEMA_HTTPS + "contentUrl")
_ACCESS_URL = (DCAT + "accessURL",)
_ENDPOINT = (DCAT + "endpointURL",)
_SIZE = (DCAT + "byteSize",)
_ALGORITHM = (SPDX + "algorithm",)
_FILE = (DCT + "format", DCAT + "mediaType", DCAT + "downloadURL", DCAT + "accessURL", DCAT + "byteSize")
_NO_FILES = {DCAT + "Dataset", DCAT + "DatasetSeries", DCAT + "Catalog", DCAT + "CatalogRecord", DCAT + "DataService"}
_SHOWN = 60
_HASH = re.compile(r"md|sha|blake|crc|adler|ripemd|whirlpool", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?E\+?[0-9]{1,2}", re.IGNORECASE)


def distributions(about: Description, node: Node) -> list[Term]:
    """The values of dcat:distribution, each once, and the parts that are files."""
    found = [term for predicate in _DISTRIBUTIONS for term in node.get(predicate, ())]
    found += [term for term in node.get(DCT + "hasPart", ()) if _is_file(about.node(term))]
    return list(dict.fromkeys(found))


def _is_file(part: Node) -> bool:
    types = part.get(TYPE, ())
    if not _NO_FILES.isdisjoint(types):
        return False
    return DCAT + "Distribution" in types or FOAF + "Document" in types or any(one in part for one in _FILE)


def resources(about: Description, terms: list[Term], dataset_id: str) -> list[Resource]:
    """By IRI, then by title: the same order whatever the source's."""
    found = [(term, _resource(about, term, dataset_id)) for term in terms]
    if len(found) > 1:
        found.sort(key=_order)
    _distinguish([one for _, one in found])
    return [one for _, one in found]


def _order(found: tuple[Term, Resource]) -> tuple[str, str, str, str]:
    term, resource = found
    iri = "" if isinstance(term, Literal) or is_blank(term) else term
    return (iri, resource.title or "", resource.url or "", repr(resource) if not iri else "")


def _distinguish(resources: list[Resource]) -> None:
    """Those that share an id, and so what it is made of, are told apart by their place."""
    taken: set[str] = set()
    places: Counter[str] = Counter()
    for resource in resources:
        id_ = resource.id
        while resource.id in taken:
            places[id_] += 1
            resource.id = f"{id_}-{places[id_] + 1}"
        taken.add(resource.id)


def _resource(about: Description, term: Term, dataset_id: str) -> Resource:
    node = about.node(term)
    service = _service(about, node)
    download_url = about.read(node, _DOWNLOAD_URL, values.url)
    access_url = about.read(node, _ACCESS_URL, values.url) or about.read(service, _ENDPOINT, values.url)
    url = download_url or access_url or _own_address(term, node)
    resource = Resource(
        id=_id(about, term, dataset_id, url),
        dataset_id=dataset_id,
        url=url,
        access_url=access_url,
        download_url=download_url,
        format=file_format(about, node, service, url),
        media_type=media_type(about, node) if node else None,
        issued=issued(about, node),
        modified=modified(about, node),
        languages=languages(about, node),
        rights=rights(about, node) or access_rights(about, node),
        conforms_to=conforms_to(about, node),
        license=license_of(about, node),
        size=about.read(node, _SIZE, _size) or None,
        checksum=_checksum(about, node),
    )
    resource.title = about.text(node, _TITLE) or _title(url, resource.format)
    resource.description = _description(about, node)
    if not url:
        about.flaws.add(f"distribution {(resource.title or resource.id)[:_SHOWN]!r} has no address")
    return resource


def _description(about: Description, node: Node) -> str | None:
    text = about.text(node, _DESCRIPTION)
    return markdown(text) or None if text else None


def _service(about: Description, node: Node) -> Node:
    """The service that gives the data, the first that is described."""
    services = node.get(DCAT + "accessService")
    return next(filter(None, map(about.node, in_order(services))), {}) if services else {}


def _own_address(term: Term, node: Node) -> str | None:
    """A document is found under its IRI, a distribution is not; a bare text is an address or nothing."""
    if isinstance(term, Literal):
        return values.url(term.value)
    return values.url(term) if FOAF + "Document" in node.get(TYPE, ()) else None


def _id(about: Description, term: Term, dataset_id: str, url: str | None) -> str:
    """The IRI, else the identifier, else a hash of address and titles: the labels of blank nodes change."""
    if isinstance(term, Literal):
        return values.text(term.value) or dataset_id
    if not is_blank(term):
        return term
    if len(found := identifiers(about.nodes, term)) == 1 and found[0] != dataset_id:
        return found[0]
    titles = (one.value for one in about.terms(about.node(term), _TITLE) if isinstance(one, Literal))
    content = "\0".join((dataset_id, url or "", *sorted(titles)))
    return hashlib.blake2b(content.encode(errors="replace"), digest_size=12).hexdigest()


def _title(url: str | None, format_: str | None) -> str | None:
    """
    >>> _title("https://a.org/files/Bev%C3%B6lkerung.csv", "CSV"), _title("https://a.org/get.do?id=3", "CSV")
    ('Bevölkerung.csv', 'CSV resource')
    >>> _title("https://a.org", None)
    """
    path = url.partition("://")[2].partition("#")[0] if url else ""
    folder, _, last = path.rpartition("/")
    if folder and "." in last and "?" not in path:
        return values.text(unquote(last))
    return f"{format_} resource" if format_ else None


def _size(text: str) -> int | None:
    """
    >>> _size("147253.0"), _size("1.2E6"), _size("50 MB"), _size("-1")
    (147253, 1200000, None, None)
    """
    text = text.strip()
    return int(float(text)) if _NUMBER.fullmatch(text) else values.size(text) or None


def _checksum(about: Description, node: Node) -> Checksum | None:
    """The longest of several."""
    found = [_spdx(about, about.node(term)) for term in node.get(SPDX + "checksum", ())]
    return max((one for one in found if one), key=lambda one: (len(one.value), one.value), default=None)


def _spdx(about: Description, node: Node) -> Checksum | None:
    algorithm = about.read(node, _ALGORITHM, _algorithm)
    return about.read(node, (SPDX + "checksumValue",), lambda value: checksum_of(value, algorithm))


def _algorithm(text: str) -> str | None:
    """The last part of an IRI, the last two where it is a bare number.

    >>> _algorithm("http://spdx.org/rdf/terms#checksumAlgorithm_sha1"), _algorithm("http://a.de/hashAlgorithms/sha/256")
    ('sha1', 'sha256')
    >>> _algorithm("http://a.org/algorithms/7")
    """
    parts = re.split(r"[/#_]", text.strip())
    name = "".join(parts[-2:]) if parts[-1].isdigit() else parts[-1]
    return name if _HASH.match(name) else None
