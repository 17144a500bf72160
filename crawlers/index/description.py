"""A dataset's rows in the index: its item, cut to what a database should hold of a portal's text."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from crawlers.index.spaced import spaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from crawlers.index.known import Known
    from crawlers.items import Agent, Checksum, Dataset, License, Place, Resource

Row = tuple[Any, ...]

SHORT = 2_000  # characters of a name, an address, a title
LONG = 20_000  # of a description, or of all titles of a dataset's resources
MOST = 200  # keywords, places, languages ...
RESOURCES = 1_000
_INTEGER = 2**63  # SQLite's end

DATASET = (
    *("source", "dataset_id", "withdrawn", "sha256", "name", "title", "identifier", "uri", "landing_page"),
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
    dataset: Row
    resources: list[Row]


def describe(item: Dataset, known: Known) -> Description:
    """The rows of a dataset whose document is the one that is known."""
    resources = [_resource(one, item, position) for position, one in enumerate(item.resources[:RESOURCES])]
    titles = _text(" ".join(row[4] for row in resources if row[4]), LONG)
    description = _text(item.description, LONG)
    publisher, places = _name(item.publisher), _words(item.spatial)
    named = (_short(item.title), _short(item.name), publisher, places, *map(_short, item.keywords[:MOST]))
    formats = sorted({row[6] for row in resources if row[6]})
    period = item.temporal
    dataset = (
        *(item.source, item.id, int(known.status == "withdrawn"), known.sha256),
        *map(_short, (item.name, item.title, item.identifier, item.uri, item.landing_page)),
        *map(_short, (item.issued, item.modified, item.data_modified, item.version, item.frequency)),
        *(publisher, _first(map(_name, item.contacts)), _first(_short(one.email) for one in item.contacts)),
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


def _resource(resource: Resource, item: Dataset, position: int) -> Row:
    size = resource.size
    return (
        *(item.source, item.id, position, _short(resource.id), _short(resource.title), _short(resource.url)),
        *(_short(resource.format), _short(resource.media_type)),
        size if size is not None and -_INTEGER <= size < _INTEGER else None,
        *(_license(resource.license), _short(resource.issued), _short(resource.modified)),
        *(_checksum(resource.checksum), _short(resource.description)),
    )


def _text(text: str | None, most: int) -> str | None:
    if not text:
        return None
    text = text[:most]
    return text if text.isascii() and "\0" not in text else _storable(text)


def _storable(text: str) -> str:
    r"""Without what is no character: half a surrogate pair, which is no UTF-8, and NUL, where C programs see the end.

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
    """Those that have what `spaced` spaces."""
    found = ((text, spaced(text)) for text in texts if text and not text.isascii())
    return _text("\n".join(apart for text, apart in found if apart != text), LONG)


def _list(values: Sequence[str]) -> str | None:
    return _json([one for one in map(_line, values[:MOST]) if one]) if values else None


def _line(text: str) -> str | None:
    """Without line breaks: in JSON they would be letters to the full text."""
    short = _short(text)
    return " ".join(short.split()) if short else None


def _places(places: Sequence[Place]) -> str | None:
    """What a place is called; of one without a name which geometry it has. Its outline stays in the document."""
    if not places:
        return None
    names = [
        {"name": _short(one.name), "code": _short(one.code), "uri": _short(one.uri)}
        if one.name or one.code or one.uri
        else {"geometry": _short(str((one.geometry or {}).get("type", "")))}
        for one in islice(places, MOST)
    ]
    return _json([{key: value for key, value in one.items() if value} for one in names])


def _words(places: Sequence[Place]) -> str | None:
    named = (_short(word) for one in islice(places, MOST) for word in (one.name, one.code))
    return " ".join(dict.fromkeys(filter(None, named))) or None


def _json(value: list[Any]) -> str | None:
    return orjson.dumps(value).decode() if value else None
