"""The format of a distribution: what the source calls it, else what its type, its service or its address tells."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from crawlers.mapping import values
from crawlers.rdf.namespaces import DC, DCAT, DCT, GEODCATAP, SCHEMA, SCHEMA_HTTPS

if TYPE_CHECKING:
    from crawlers.mapping.dcat.description import Description
    from crawlers.rdf.terms import Node, Term

_FORMATS = (DCT + "format", DC + "format")
_MEDIA_TYPES = (DCAT + "mediaType", SCHEMA + "encodingFormat", SCHEMA_HTTPS + "encodingFormat")
_PROTOCOLS = (GEODCATAP + "serviceProtocol",)
_CONFORMS_TO = (DCT + "conformsTo",)

_OGC = re.compile(r"\b(wms|wmts|wfs|wcs|wps|csw|sos|sta)\b", re.IGNORECASE)
_OGC_STANDARD = re.compile(r"https?://www\.(?:opengeospatial\.org/standards|opengis\.net/def/serviceType/ogc)/([\w-]+)")
_OGC_QUERY = re.compile(r"[?&]service=(wms|wmts|wfs|wcs|wps|csw|sos)(?:&|$)", re.IGNORECASE)
_SUFFIX = re.compile(r"://[^/?#]+/(?:[^?#]*/)?[^/?#]*\.([A-Za-z0-9]{1,8})(?:[?#]|$)")
_PROGRAMS = {"php", "asp", "aspx", "jsp", "jspx", "do", "cgi", "action", "ashx", "svc", "exe", "dll"}
_TREES = {"application", "audio", "chemical", "font", "image", "message", "model", "multipart", "text", "video"}

# Where the media type's last part is not what people call the format: the EU's codes of file types.
_CODES = {
    "application/geo+json": "GEOJSON",
    "application/vnd.geo+json": "GEOJSON",
    "application/geopackage+sqlite3": "GPKG",
    "application/gml+xml": "GML",
    "application/ld+json": "JSON_LD",
    "application/msword": "DOC",
    "application/n-triples": "RDF_N_TRIPLES",
    "application/octet-stream": "BIN",
    "application/rdf+xml": "RDF_XML",
    "application/vnd.google-earth.kml+xml": "KML",
    "application/vnd.google-earth.kmz": "KMZ",
    "application/vnd.ms-excel": "XLS",
    "application/vnd.ms-powerpoint": "PPT",
    "application/vnd.oasis.opendocument.spreadsheet": "ODS",
    "application/vnd.oasis.opendocument.text": "ODT",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "PPTX",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "XLSX",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "DOCX",
    "application/vnd.shp": "SHP",
    "application/x-7z-compressed": "7Z",
    "application/x-netcdf": "NETCDF",
    "application/x-shapefile": "SHP",
    "application/x-zip-compressed": "ZIP",
    "text/plain": "TXT",
    "text/tab-separated-values": "TSV",
    "text/turtle": "RDF_TURTLE",
}


def file_format(about: Description, node: Node, service: Node, url: str | None) -> str | None:
    """By the service's protocol, dct:format, dcat:mediaType, the address's query or suffix: the first that tells."""
    return (
        _protocol(about, service)
        or _stated(about, node.get(_FORMATS[0]) or about.terms(node, _FORMATS))
        or _stated(about, about.terms(node, _MEDIA_TYPES))
        or (_by_address(url) if url else None)
    )


def media_type(about: Description, node: Node) -> str | None:
    """dcat:mediaType, else a dct:format that is a media type."""
    return about.read(node, _MEDIA_TYPES, _media_type) or about.read(node, _FORMATS, _media_type)


def _protocol(about: Description, service: Node) -> str | None:
    if not service:
        return None
    standards = sorted(
        found[1].upper()
        for text in about.texts(about.terms(service, _CONFORMS_TO))
        if (found := _OGC_STANDARD.match(text))
    )
    return about.read(service, _PROTOCOLS, _protocol_name) or next(iter(standards), None)


def _protocol_name(text: str) -> str | None:
    """
    >>> _protocol_name("http://www.opengeospatial.org/standards/wms"), _protocol_name("OGC API - Features")
    ('WMS', 'OGC API - Features')
    """
    ogc = _OGC.search(text)
    return ogc[1].upper() if ogc else _last_part(text)


def _stated(about: Description, terms: list[Term]) -> str | None:
    """Of several a label, then the EU's code, then a media type."""
    found = [one for term in terms if (text := _spelling(about, term)) and (one := _format(text))]
    return min(found)[1] if found else None


def _spelling(about: Description, term: Term) -> str | None:
    label = about.label(term)
    return label or (term if isinstance(term, str) and not term.startswith("_:") else None)


@lru_cache(maxsize=1024)
def _format(text: str) -> tuple[int, str] | None:
    """How good a name it is, 0 the best, and the name.

    >>> _format("GeoJSON"), _format("http://publications.europa.eu/resource/authority/file-type/CSV")
    ((0, 'GeoJSON'), (1, 'CSV'))
    >>> _format("https://www.iana.org/assignments/media-types/application/json"), _format("application/vnd.ms-excel")
    ((2, 'JSON'), (2, 'XLS'))
    """
    if "/file-type/" in text:
        rank, name = 1, _last_part(text)
    elif media := _media_type(text):
        rank, name = 2, _of_media_type(media)
    else:
        rank, name = (3, _last_part(text)) if "://" in text else (0, values.text(text.strip().removeprefix(".")))
    return (rank, name) if name else None


def _of_media_type(media: str) -> str:
    known = _CODES.get(media)
    if known:
        return known
    last = media.partition("/")[2]
    return last.upper() if last.isalnum() else last


@lru_cache(maxsize=1024)
def _media_type(text: str) -> str | None:
    """
    >>> _media_type("http://www.iana.org/assignments/media-types/text/csv"), _media_type("SHP/ZIP"), _media_type("CSV")
    ('text/csv', None, None)
    """
    found = values.media_type(text)
    return found if found and found.partition("/")[0] in _TREES else None


def _last_part(text: str) -> str | None:
    return values.text(re.split(r"[/#]", text.strip().rstrip("/"))[-1]) if "://" in text else values.text(text)


def _by_address(url: str) -> str | None:
    """
    >>> _by_address("https://a.org/ows?SERVICE=WMS&VERSION=1.3.0"), _by_address("https://a.org/files/wells.csv?v=2")
    ('WMS', 'CSV')
    >>> _by_address("https://a.org"), _by_address("https://a.org/index.php?id=3"), _by_address("https://a.org/v1.2")
    (None, None, None)
    """
    if "=" in url and (query := _OGC_QUERY.search(url)):
        return query[1].upper()
    found = _SUFFIX.search(url)
    suffix = found[1].lower() if found else ""
    return suffix.upper() if suffix and not suffix.isdigit() and suffix not in _PROGRAMS else None
