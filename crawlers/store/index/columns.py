"""The columns of `datasets` and `resources` that fields of the items become, by the kind of each field."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson

from crawlers.fields import specs
from crawlers.items import Dataset, Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from crawlers.items import Agent, Checksum, License, Period, Place, Relation, Service

    Cell = Callable[[Any], Any]
    Form = tuple[tuple[str, "ValueType", Cell, str], ...]

ValueType = Literal["text", "real", "integer", "list", "objects"]

SHORT = 2_000  # characters of a name, an address, a title
ADDRESS = 8_000  # characters of an address that may be asked for
LONG = 20_000  # of a description, or of all titles of a dataset's resources
MOST = 200  # keywords, places, languages ...
_INTEGER = 2**63  # SQLite's end


def long(text: str | None) -> str | None:
    """Return a text as the index has it: as much as a database should hold."""
    if not text:
        return None
    text = text[:LONG]
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


def short(text: str | None) -> str | None:
    """Return a name or an address as the index has it."""
    if not text:  # most of a dataset's fields
        return None
    return text if len(text) <= SHORT and text.isascii() and "\0" not in text else long(text[:SHORT])


def address(text: str | None) -> str | None:
    """Return an address as the index has it: with one character more than is asked for, if it is longer."""
    return long(text[: ADDRESS + 1]) if text else None


def name(agent: Agent | None) -> str | None:
    """Return what a person or an organisation is called."""
    return short(agent.name or agent.uri) if agent else None


def as_json(value: list[Any]) -> str | None:
    return orjson.dumps(value).decode() if value else None


def _first_name(agents: Sequence[Agent]) -> str | None:
    return next(filter(None, map(name, agents)), None)


def _first_email(agents: Sequence[Agent]) -> str | None:
    return next(filter(None, (short(agent.email) for agent in agents)), None)


def _email(agent: Agent) -> str | None:
    return short(agent.email)


def _license(license_: License) -> str | None:
    return short(license_.id or license_.title or license_.uri)


def _checksum(checksum: Checksum) -> str | None:
    return short(f"{checksum.algorithm}:{checksum.value}")


def _start(period: Period) -> str | None:
    return short(period.start)


def _end(period: Period) -> str | None:
    return short(period.end)


def _number(value: float) -> float | None:
    return value if -_INTEGER <= value < _INTEGER else None


def _list(values: Sequence[str]) -> str | None:
    return as_json(list(filter(None, map(line, values[:MOST]))))


def line(text: str) -> str | None:
    """Return a text without line breaks: in JSON the full text would take them for letters."""
    found = short(text)
    return " ".join(found.split()) if found else None


def _places(places: Sequence[Place]) -> str | None:
    """Return the names of places, or the type of geometry of a place without a name; outlines are left out."""
    return _objects(
        {"name": place.name, "code": place.code, "uri": place.uri}
        if place.name or place.code or place.uri
        else {"geometry": str((place.geometry or {}).get("type", ""))}
        for place in islice(places, MOST)
    )


def _relations(relations: Sequence[Relation]) -> str | None:
    return _objects({"role": one.role, "uri": one.uri, "title": one.title} for one in islice(relations, MOST))


def _services(services: Sequence[Service]) -> str | None:
    return _objects({"title": one.title, "url": one.endpoint_url or one.uri} for one in islice(services, MOST))


def _objects(rows: Iterable[Mapping[str, str | None]]) -> str | None:
    """Return what they have, as JSON."""
    return as_json([{key: text for key, value in row.items() if (text := short(value))} for row in rows])


_OF_PLACES = (
    "{says} Name, code (ISO 3166-1 alpha-3) and uri of each, or the type of its outline (`geometry`);"
    " outlines are in the document."
)
_SHORT: Form = (("", "text", short, "{says}"),)
_LIST: Form = (("", "list", _list, "{says}"),)
FORMS: dict[str, Form] = {
    **dict.fromkeys(("text", "code", "frequency", "moment", "duration", "stamp", "iri"), _SHORT),
    "address": (("", "text", address, "{says}"),),
    **dict.fromkeys(("addresses", "references", "labels", "languages"), _LIST),
    "markdown": (("", "text", long, "{says}"),),
    "license": (
        ("", "text", _license, "{says} The SPDX identifier, else the source's own, its title or its address."),
    ),
    "checksum": (("", "text", _checksum, "{says} The algorithm, a colon, the value."),),
    "agent": (
        ("", "text", name, "{says} A name, else an address."),
        ("_email", "text", _email, "The {one}'s e-mail address."),
    ),
    "agents": (
        ("", "text", _first_name, "The first {one}'s name, else address."),
        ("_email", "text", _first_email, "The first e-mail address of a {one}."),
    ),
    "period": (("_start", "text", _start, "{says} Its start."), ("_end", "text", _end, "{says} Its end.")),
    "metres": (("", "real", _number, "{says}"),),
    "size": (("", "integer", _number, "{says}"),),
    "places": (
        (
            "",
            "objects",
            _places,
            _OF_PLACES,
        ),
    ),
    "relations": (("", "objects", _relations, "{says} Role, uri and title of each."),),
    "services": (("", "objects", _services, "{says} Title and url of each."),),
}
"""What a field of each kind becomes: columns, by what their names have behind the field's, and what gives the cell."""


class Column(NamedTuple):
    """A column that a field becomes, or a part of the field.

    Args:
        field: the field's name.
        type: of its values; lists and objects are JSON.
        says: what it has, as a sentence.
        cell: gives what is stored of a value that is not empty.
    """

    name: str
    field: str
    type: ValueType
    says: str
    cell: Cell

    @property
    def declared(self) -> str:
        """Its declaration in SQL."""
        return f"{self.name} {'TEXT' if self.type in {'list', 'objects'} else self.type.upper()}"

    @property
    def described(self) -> str:
        """What it has, for those who ask the index."""
        return f"{self.says} JSON." if self.type in {"list", "objects"} else self.says


def _columns(item: type) -> tuple[Column, ...]:
    """Return the columns of an item's fields; long texts are last, so that SQLite need not pass over them."""
    found = [
        Column(f"{one}{end}", field, type_, says.format(says=spec.says, one=one), short if spec.brief else cell)
        for field, spec in specs(item).items()
        if "index" not in spec.without
        for one in (spec.one or field,)
        for end, type_, cell, says in FORMS[spec.kind]
    ]
    return tuple(sorted(found, key=lambda column: column.cell is long))


DATASETS = _columns(Dataset)
RESOURCES = _columns(Resource)
LISTS = ("formats", *(column.name for column in DATASETS if column.type in {"list", "objects"}))
"""The columns of `datasets` that are lists, as JSON."""
