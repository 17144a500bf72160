"""A dataset's rows in the index: its item, with texts cut to lengths that a database should hold."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from crawlers.store.index.full_text import spaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawlers.items import Agent, Checksum, Dataset, License, Place
    from crawlers.store.index.documents import Known

Row = tuple[Any, ...]

SHORT = 2_000  # characters of a name, an address, a title
LONG = 20_000  # of a description, or of all titles of a dataset's resources
MOST = 200  # keywords, places, languages ...
RESOURCES = 1_000
_INTEGER = 2**63  # SQLite's end

DATASET = (
    *("source", "dataset_id", "withdrawn", "sha256", "flaws", "name", "title", "identifier", "uri", "landing_page"),
    *("issued", "modified", "data_modified", "version", "frequency", "publisher", "contact", "contact_email"),
    *("license", "access_rights", "rights", "temporal_start", "temporal_end", "keywords", "themes", "languages"),
    *("spatial", "places", "conforms_to", "resources", "formats", "metadata_source", "metadata_url"),
    *("metadata_modified", "file", "provenance", "caveats", "resource_titles", "description", "spaced"),
)
"""The columns of `datasets` that are written, in the order of `Description.dataset`."""
RESOURCE = (
    *("source", "dataset_id", "position", "resource_id", "title", "url", "format", "media_type", "size"),
    *("license", "issued", "modified", "checksum", "description"),
)


class Description(NamedTuple):
    """The rows of a dataset and of its resources."""

    dataset: Row
    resources: list[Row]


def describe(item: Dataset, known: Known) -> Description:
    """Return the rows of a dataset, whose document is the known one."""
    resources = [_resource(item, position) for position in range(min(len(item.resources), RESOURCES))]
    titles = _text(" ".join(row[4] for row in resources if row[4]), LONG)
    description = _text(item.description, LONG)
    publisher, places = _name(item.publisher), _words(item.spatial)
    named = (_short(item.title), _short(item.name), publisher, places, *map(_short, item.keywords[:MOST]))
    formats = sorted({row[6] for row in resources if row[6]})
    period = item.temporal
    dataset = (
        *(item.source, item.id, int(known.status == "withdrawn"), known.sha256, len(item.flaws)),
        *map(_short, (item.name, item.title, item.identifier, item.uri, item.landing_page)),
        *map(_short, (item.issued, item.modified, item.data_modified, item.version, item.frequency)),
        *(publisher, _first(map(_name, item.contacts)), _first(_short(contact.email) for contact in item.contacts)),
        *(_license(item.license), _short(item.access_rights), _short(item.rights)),
        *map(_short, (period.start, period.end) if period else (None, None)),
        *map(_list, (item.keywords, item.themes, item.languages)),
        *(_places(item.spatial), places, _list(item.conforms_to)),
        *(len(item.resources), _json(formats[:MOST])),
        *(known.metadata_source, _short(known.metadata_url), known.metadata_modified, known.file),
        *(_text(item.provenance, LONG), _text(item.caveats, LONG)),
        *(titles, description, _spaced((*named, description, titles))),
    )
    return Description(dataset, resources)


def _resource(item: Dataset, position: int) -> Row:
    resource = item.resources[position]
    size = resource.size
    return (
        *(item.source, item.id, position, _short(resource.id), _short(resource.title), _short(resource.url)),
        *(_short(resource.format), _short(resource.media_type)),
        size if size is not None and -_INTEGER <= size < _INTEGER else None,
        *(_license(resource.license), _short(resource.issued), _short(resource.modified)),
        *(_checksum(resource.checksum), _short(resource.description)),
    )


def _text(text: str | None, longest: int) -> str | None:
    if not text:
        return None
    text = text[:longest]
    return text if text.isascii() and "\0" not in text else _storable(text)


def _storable(text: str) -> str:
    r"""Replace invalid characters: half a surrogate pair, which UTF-8 does not allow, and NUL, which ends a text in C.

    >>> _storable("Côte\0 d’Ivoire \ud800")
    'Côte\ufffd d’Ivoire ?'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _short(text: str | None) -> str | None:
    if not text:  # most of a dataset's fields
        return None
    return text if len(text) <= SHORT and text.isascii() and "\0" not in text else _text(text, SHORT)


def _name(agent: Agent | None) -> str | None:
    return _short(agent.name or agent.uri) if agent else None


def _first(texts: Iterable[str | None]) -> str | None:
    return next(filter(None, texts), None)


def _license(license_: License | None) -> str | None:
    return _short(license_.id or license_.title or license_.uri) if license_ else None


def _checksum(checksum: Checksum | None) -> str | None:
    return _short(f"{checksum.algorithm}:{checksum.value}") if checksum else None


def _spaced(texts: Iterable[str | None]) -> str | None:
    """Return the texts that `spaced` changes, changed."""
    found = ((text, spaced(text)) for text in texts if text and not text.isascii())
    return _text("\n".join(apart for text, apart in found if apart != text), LONG)


def _list(values: Sequence[str]) -> str | None:
    return _json(list(filter(None, map(_line, values[:MOST])))) if values else None


def _line(text: str) -> str | None:
    """Return a text without line breaks: in JSON the full text would take them for letters."""
    short = _short(text)
    return " ".join(short.split()) if short else None


def _places(places: Sequence[Place]) -> str | None:
    """Return the names of places, or the type of geometry of a place without a name; outlines are left out."""
    if not places:
        return None
    names = [
        {"name": _short(place.name), "code": _short(place.code), "uri": _short(place.uri)}
        if place.name or place.code or place.uri
        else {"geometry": _short(str((place.geometry or {}).get("type", "")))}
        for place in islice(places, MOST)
    ]
    return _json([{key: value for key, value in name.items() if value} for name in names])


def _words(places: Sequence[Place]) -> str | None:
    named = (_short(word) for place in islice(places, MOST) for word in (place.name, place.code))
    return " ".join(dict.fromkeys(filter(None, named))) or None


def _json(value: list[Any]) -> str | None:
    return orjson.dumps(value).decode() if value else None
