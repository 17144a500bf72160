"""The format of a distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.records import formats
from crawlers.records.rdf.namespaces import DC, DCAT, DCT, GEODCATAP, SCHEMA, SCHEMA_HTTPS
from crawlers.records.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
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
