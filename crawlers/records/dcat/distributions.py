"""The files and services of a dataset."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote

from crawlers.items import Resource
from crawlers.records import formats, values
from crawlers.records.dcat.description import Description, earliest, in_order, latest, properties
from crawlers.records.dcat.details import BY_KIND
from crawlers.records.dcat.identities import identifiers
from crawlers.records.dcat.terms import access_rights, conforms_to, rights
from crawlers.records.rdf.terms import (
    DC,
    DCAT,
    DCT,
    FOAF,
    GEODCATAP,
    SCHEMA,
    SCHEMA_HTTPS,
    SPDX,
    TYPE,
    Literal,
    iris,
    is_blank,
)
from crawlers.records.record import Fields
from crawlers.records.values import checksum as checksum_of
from crawlers.safety import bounds

if TYPE_CHECKING:
    from crawlers.items import Checksum
    from crawlers.records.dcat.description import Description
    from crawlers.records.rdf.terms import Term


_FORMATS = (DCT + "format", DC + "format")
_MEDIA_TYPES = (DCAT + "mediaType", SCHEMA + "encodingFormat", SCHEMA_HTTPS + "encodingFormat")


FORMATS = (*_MEDIA_TYPES, *_FORMATS)


def file_format(node: Description, service: Description | None, url: str | None) -> str | None:
    """Return the first format found: the service's protocol, dct:format, dcat:mediaType, or by the address."""
    return (
        (_protocol(service) if service else None)
        or _stated(node, node.fields.get(_FORMATS[0]) or node.terms(*_FORMATS))
        or _stated(node, node.terms(*_MEDIA_TYPES))
        or (formats.format_of_address(url) if url else None)
    )


def _protocol(service: Description) -> str | None:
    named = service.read(formats.protocol_name, GEODCATAP + "serviceProtocol")
    return named or formats.protocol(service.texts(DCT + "conformsTo"))


def media_type(node: Description, *_: str) -> str | None:
    """Return dcat:mediaType, else a dct:format that is a media type."""
    return node.read(formats.stated_media_type, *_MEDIA_TYPES) or node.read(formats.media_type, *_FORMATS)


def _stated(node: Description, terms: list[Term]) -> str | None:
    labels = (node.label(term) or (None if isinstance(term, Literal) or is_blank(term) else term) for term in terms)
    return formats.best_format(labels)


DISTRIBUTIONS = (
    *(DCAT + "distribution", DCAT + "distributions"),
    *(SCHEMA + "distribution", SCHEMA_HTTPS + "distribution"),
)
_TITLE = properties(Resource, "title")
_ACCESS_URL = DCAT + "accessURL"
_ACCESS_SERVICE = DCAT + "accessService"
_SIZE = DCAT + "byteSize"
_HAS_PART = DCT + "hasPart"
_FILE = (DCT + "format", DCAT + "mediaType", DCAT + "downloadURL", _ACCESS_URL, _SIZE)
_NO_FILES = {DCAT + "Dataset", DCAT + "DatasetSeries", DCAT + "Catalog", DCAT + "CatalogRecord", DCAT + "DataService"}
_SHOWN = 60
_HASH = re.compile(r"md|sha|blake|crc|adler|ripemd|whirlpool", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?E\+?[0-9]{1,2}", re.IGNORECASE)


def distributions(node: Description) -> list[Description]:
    """Return the values of dcat:distribution, each once, and the parts that are files."""
    found = [term for predicate in DISTRIBUTIONS for term in node.fields.get(predicate, ())]
    found += [term for term in node.fields.get(_HAS_PART, ()) if _is_file(node.at(term))]
    each, most = list(dict.fromkeys(found)), bounds.ENTRIES.most
    if len(each) > most:
        sentence = f"the dataset has {len(each):,} distributions: the first {most:,} in their order are read"
        node.flaw(f"{sentence}; the document names all", "distribution", "cut_value")
        each = in_order(each)[:most]
    return [node.at(term) for term in each]


def _is_file(part: Description) -> bool:
    types = part.terms(TYPE)
    if not _NO_FILES.isdisjoint(types):
        return False
    return DCAT + "Distribution" in types or FOAF + "Document" in types or any(name in part.fields for name in _FILE)


def resources(nodes: list[Description], dataset_id: str) -> list[Resource]:
    """Return the distributions by IRI, then by title: in the same order whatever the source's."""
    found = [(node.term, _resource(node, dataset_id)) for node in nodes]
    if len(found) > 1:
        found.sort(key=_order)
    _distinguish([each for _, each in found])
    return [each for _, each in found]


def _order(found: tuple[Term, Resource]) -> tuple[str, str, str, str]:
    term, resource = found
    iri = "" if isinstance(term, Literal) or is_blank(term) else term
    return (iri, resource.title or "", resource.url or "", repr(resource) if not iri else "")


def _distinguish(resources: list[Resource]) -> None:
    """Number those that share an id, and so what it is made of."""
    taken: set[str] = set()
    places: Counter[str] = Counter()
    for resource in resources:
        id_ = resource.id
        while resource.id in taken:
            places[id_] += 1
            resource.id = f"{id_}-{places[id_] + 1}"
        taken.add(resource.id)


def _resource(node: Description, dataset_id: str) -> Resource:
    service, found = _service(node), _FIELDS.read(node)
    access_url = found.get("access_url") or (service.url(DCAT + "endpointURL") if service else None)
    url = found.get("download_url") or access_url or _own_address(node)
    found |= {"url": url, "access_url": access_url, "format": file_format(node, service, url)}
    resource = Resource(id=_id(node, dataset_id, url), dataset_id=dataset_id, **found)
    resource.title = resource.title or _title(url, resource.format)
    if not url:
        resource.stated_url = _stated_url(node)
        sentence = f"distribution {(resource.title or resource.id)[:_SHOWN]!r} has no address"
        node.flaw(sentence, "accessURL", "missing_value", resource.id)
    return resource


def _service(node: Description) -> Description | None:
    """Return the service that gives the data, the first that is described."""
    services = node.fields.get(_ACCESS_SERVICE)
    return next((each for each in map(node.at, in_order(services)) if each.fields), None) if services else None


def _own_address(node: Description) -> str | None:
    """Return a bare text that is an address, or a document's IRI; a distribution is not found under its IRI."""
    if isinstance(node.term, Literal):
        return values.url(node.term.value)
    return values.url(node.term) if FOAF + "Document" in node.terms(TYPE) else None


def _stated_url(node: Description) -> str | None:
    """Return what stands where an address should."""
    terms = in_order(node.terms(DCAT + "downloadURL", _ACCESS_URL))
    given = (term.value if isinstance(term, Literal) else term for term in terms if not is_blank(term))
    return next(filter(None, map(values.text, given)), None)


def _id(node: Description, dataset_id: str, url: str | None) -> str:
    """Return the IRI, else the identifier, else a hash of address and titles: the labels of blank nodes change."""
    term = node.term
    if isinstance(term, Literal):
        return values.text(term.value) or dataset_id
    if not is_blank(term):
        return term
    if len(found := identifiers(node.nodes, term)) == 1 and found[0] != dataset_id:
        return found[0]
    titles = (each.value for each in node.terms(*_TITLE) if isinstance(each, Literal))
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


def _checksum(node: Description, name: str) -> Checksum | None:
    """Return the longest of several checksums."""
    found = [_spdx(node.at(term)) for term in node.fields[name]]
    return max((each for each in found if each), key=lambda each: (len(each.value), each.value), default=None)


def _spdx(node: Description) -> Checksum | None:
    algorithm = node.read(_algorithm, SPDX + "algorithm")
    return node.read(lambda value: checksum_of(value, algorithm), SPDX + "checksumValue")


@lru_cache(maxsize=64)  # there are few
def _algorithm(text: str) -> str | None:
    """Return the last part of an IRI, the last two where it is a bare number.

    >>> _algorithm("http://spdx.org/rdf/terms#checksumAlgorithm_sha1"), _algorithm("http://a.de/hashAlgorithms/sha/256")
    ('sha1', 'sha256')
    >>> _algorithm("http://a.org/algorithms/7")
    """
    parts = text.strip().replace("#", "/").replace("_", "/").split("/")
    name = "".join(parts[-2:]) if parts[-1].isdigit() else parts[-1]
    return name if _HASH.match(name) else None


_FIELDS = Fields.of(
    Resource,
    "rdf",
    BY_KIND,
    {
        "media_type": media_type,
        "size": lambda node, *names: node.read(_size, *names) or None,
        "checksum": _checksum,
        "issued": earliest,
        "modified": latest,
        "rights": lambda node, *_: rights(node) or access_rights(node),
        "conforms_to": conforms_to,
    },
    without=("url", "format"),
    spelled=iris,
)
