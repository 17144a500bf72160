"""A dataset's rows in the index: its item, with texts cut to lengths that a database should hold."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from crawlers.store.index.full_text import spaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from crawlers.items import Agent, Checksum, Dataset, License, Place, Relation, Service
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
    *("metadata_modified", "file", "creator", "creator_email", "maintainer", "maintainer_email"),
    *("country", "state", "city", "spatial_resolution", "temporal_resolution", "type", "status", "version_notes"),
    *("relations", "documentation", "sample", "applicable_legislation", "hvd_categories"),
    *("provenance", "caveats", "resource_titles", "details", "description", "spaced"),
)
"""The columns of `datasets` that are written, in the order of `Description.dataset`."""
RESOURCE = (
    *("source", "dataset_id", "position", "resource_id", "title", "url", "format", "media_type", "size"),
    *("license", "issued", "modified", "checksum", "description"),
    *("availability", "status", "services"),
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
    is_rare = any(_RARE(item))
    publisher, places, details = _name(item.publisher), _words(item), _details(item, is_rare=is_rare)
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
        *(_rare(item) if is_rare else _NONE),
        *(_text(item.provenance, LONG), _text(item.caveats, LONG)),
        *(titles, details, description, _spaced((*named, description, titles, details))),
    )
    return Description(dataset, resources)


_RARE = attrgetter(
    *("creator", "maintainer", "country", "state", "city", "spatial_resolution", "temporal_resolution", "type"),
    *("status", "version_notes", "relations", "documentation", "sample", "applicable_legislation", "hvd_categories"),
)
"""What most datasets lack."""
_NONE = (None,) * 17


def _rare(item: Dataset) -> Row:
    return (
        *(_name(item.creator), _email(item.creator), _name(item.maintainer), _email(item.maintainer)),
        *map(_short, (item.country, item.state, item.city)),
        *(item.spatial_resolution, *map(_short, (item.temporal_resolution, item.type, item.status))),
        *(_text(item.version_notes, LONG), _relations(item.relations)),
        *map(_list, (item.documentation, item.sample, item.applicable_legislation, item.hvd_categories)),
    )


def _resource(item: Dataset, position: int) -> Row:
    resource = item.resources[position]
    size = resource.size
    return (
        *(item.source, item.id, position, _short(resource.id), _short(resource.title), _short(resource.url)),
        *(_short(resource.format), _short(resource.media_type)),
        size if size is not None and -_INTEGER <= size < _INTEGER else None,
        *(_license(resource.license), _short(resource.issued), _short(resource.modified)),
        *(_checksum(resource.checksum), _short(resource.description)),
        *(_short(resource.availability), _short(resource.status), _services(resource.access_services)),
    )


def _text(text: str | None, longest: int) -> str | None:
    if not text:
        return None
    text = text[:longest]
    return text if text.isascii() and "\0" not in text else storable(text)


def storable(text: str) -> str:
    r"""Replace invalid characters: half a surrogate pair, which UTF-8 does not allow, and NUL, which ends a text in C.

    >>> storable("Côte\0 d’Ivoire \ud800")
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


def _email(agent: Agent | None) -> str | None:
    return _short(agent.email) if agent else None


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
    names = (
        {"name": place.name, "code": place.code, "uri": place.uri}
        if place.name or place.code or place.uri
        else {"geometry": str((place.geometry or {}).get("type", ""))}
        for place in islice(places, MOST)
    )
    return _objects(names)


def _words(item: Dataset) -> str | None:
    """Return the words of its places, for the full text."""
    named = [_short(word) for place in islice(item.spatial, MOST) for word in (place.name, place.code)]
    named += map(_short, (item.country, item.state, item.city))
    return " ".join(dict.fromkeys(filter(None, named))) or None


def _details(item: Dataset, *, is_rare: bool) -> str | None:
    """Return the words of what few datasets have: people, type, status, notes, relations, categories, services.

    Args:
        is_rare: whether it has any of `_RARE`.
    """
    given = [resource.access_services for resource in item.resources[:RESOURCES] if resource.access_services]
    if not given and not is_rare:
        return None
    services = [service for each in given for service in each[:MOST]]
    words = (
        *(_name(item.creator), _name(item.maintainer), item.type, item.status, item.version_notes),
        *(word for relation in item.relations[:MOST] for word in (relation.title, relation.uri)),
        *(*item.applicable_legislation[:MOST], *item.hvd_categories[:MOST]),
        *(word for service in services for word in (service.title, service.endpoint_url)),
    )
    return _text(" ".join(dict.fromkeys(filter(None, words))), LONG)


def _relations(relations: Sequence[Relation]) -> str | None:
    rows = ({"role": each.role, "uri": each.uri, "title": each.title} for each in islice(relations, MOST))
    return _objects(rows) if relations else None


def _services(services: Sequence[Service]) -> str | None:
    return _objects({"title": one.title, "url": one.endpoint_url or one.uri} for one in islice(services, MOST))


def _objects(rows: Iterable[Mapping[str, str | None]]) -> str | None:
    """Return what they have, as JSON."""
    return _json([{key: text for key, value in row.items() if (text := _short(value))} for row in rows])


def _json(value: list[Any]) -> str | None:
    return orjson.dumps(value).decode() if value else None
