"""Places: names, IRIs and shapes, in whatever form publishers write them.

Several shapes of one place are alternatives: one that can be read is enough, and the others are no flaw. So are
several texts of one dataset. A value that is neither a name nor an IRI nor a shape on Earth is a flaw.
"""

from __future__ import annotations

import re
from itertools import chain
from reprlib import Repr
from typing import TYPE_CHECKING, Any

from crawlers.fields import specs
from crawlers.items import Place
from crawlers.records import values
from crawlers.records.geometries import MOST_WORK, WORDS, dcmi, geometry, is_box, is_geojson, work
from crawlers.records.linked import LinkedRecord, iri, label
from crawlers.records.record import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlers.records.record import Record

_MOST = 1_000
"""Places of a field."""
_SHOWN = 60
_LONGEST_NAME = 1_000
_NAMED = specs(Place)["name"]
_NAMES = (*_NAMED.data_json, *_NAMED.schema_org, *_NAMED.ckan, "geoLocationPlace")
_ADDRESS = ("streetAddress", "addressLocality", "addressRegion", "addressCountry")
_COUNTRY = re.compile(r"https?://publications\.europa\.eu/resource/authority/country/([A-Z]{3})")
_ALPHA_3 = re.compile(r"[A-Za-z]{3}")
_WORD = re.compile(r"[^\W\d_]|.*?\b(?!nan\b|inf)[^\W\d_]{2}", re.IGNORECASE | re.DOTALL)
_NOTATION = re.compile(
    r"[\[{<]|SRID=|(?:nan|inf(?:inity)?),\s*+(?:nan\b|inf|[-+.0-9])|(?:multi)?(?:point|linestring|polygon)$"
    r"|(?:(?:multi)?(?:point|linestring|polygon|curve|surface)|geometrycollection|envelope|bbox|box(?:[23]d)?|circle"
    r"|circularstring|curvepolygon|triangle)\s*+(?:zm|z|m)?\s*+(?:\(\s*+(?:[^a-z]|nan\b|inf|[a-z]++\s*+\(|$)|empty\b)",
    re.IGNORECASE,
)


def places(record: Record, *names: str) -> list[Place]:
    """Return the places that fields of a record give, each once; what can't be read is a flaw of the record."""
    return places_of(record, ((name, value) for name in names if (value := record.value(name)) is not None))


def places_of(record: Record, given: Iterable[tuple[str, Any]]) -> list[Place]:
    """Return the places of values.

    Args:
        record: takes the flaws.
        given: what the publisher wrote, in any form, each with the field's name.
    """
    found: list[Place | None] = []
    unread: list[tuple[str, Any]] = []
    left = MOST_WORK
    for where, value, written in chain.from_iterable(_each(record, *each) for each in given):
        left -= work(value, left)
        if left < 0:
            sentence = (
                f"{record.path}{where} and what follows: places of over {MOST_WORK} characters, the document has all"
            )
            record.flaw(sentence, where, "cut_value")
            break
        if isinstance(value, dict) and not is_geojson(value):
            found.append(_described(LinkedRecord(value, record.flaws, f"{record.path}{where}."), record, where))
            continue
        found.append(place(value))
        if not found[-1]:
            unread.append((where, written))
    known = [each for each in found if each]
    if not any(each.geometry for each in known):
        for where, written in unread:
            note(record, where, written)
    return list({repr(each): each for each in known}.values()) if len(known) > 1 else known


def note(record: Record, where: str, value: Any) -> None:
    """Add the flaw that a value is no place."""
    record.flaw(f"{record.path}{where} {shown(value)} is no place", where)


def shown(value: Any) -> str:
    """Return the beginning of a value, for a flaw."""
    if isinstance(value, str):
        return repr(value[:_SHOWN])
    try:
        return _SHORT.repr(value)[:_SHOWN]
    except ValueError:  # Python writes no more than 4,300 digits
        return "of many digits"


def place(value: Any) -> Place | None:
    """Return the place of a text, a list or GeoJSON.

    >>> place("POINT(15.4 47.1)").geometry, place("POINT(15.4 147.1)"), place("Graz").name
    ({'type': 'Point', 'coordinates': [15.4, 47.1]}, None, 'Graz')
    """
    if shape := geometry(value):
        return Place(geometry=shape)
    text = values.text(value) if isinstance(value, str) else None
    if not text or len(text) > _LONGEST_NAME:
        return None
    if text.startswith(("http://", "https://")):
        return Place(uri=text, code=country(text))
    return Place(name=text) if _WORD.match(text) and not _NOTATION.match(text) else None


def country(uri: str | None) -> str | None:
    """Return the ISO 3166-1 alpha-3 code that an IRI of the EU's vocabulary ends with."""
    found = _COUNTRY.fullmatch(uri or "")
    return found[1] if found else None


def _alpha_3(code: str | None) -> str | None:
    """Return a code of three letters in capitals; others are none of ISO 3166-1 alpha-3, such as a municipality's."""
    return code.upper() if code and _ALPHA_3.fullmatch(code) else None


def _each(record: Record, name: str, written: Any, deepest: int = 2) -> Iterator[tuple[str, Any, Any]]:
    """Yield the values of a list: where each stands, the value, and as it is written.

    A text may have a list or an object as JSON, or DCMI's components.
    """
    value = written
    if isinstance(written, str):
        value = parse(written) if written.lstrip()[:1] in ("{", "[") else dcmi(written) or None
        value = written if value is None else value
    if not deepest or not isinstance(value, list) or _is_one(value):
        if not _is_nothing(value):
            yield name, value, written
        return
    if len(value) > _MOST:
        sentence = f"{record.path}{name}: {len(value)} places, {_MOST} are read: the document has all"
        record.flaw(sentence, name, "cut_value")
    for position, part in enumerate(value[:_MOST]):
        yield from _each(record, f"{name}[{position}]", part, deepest - 1)


def _is_one(values: list[Any]) -> bool:
    """Return whether a list is one value: a box, or numbers that are none.

    >>> _is_one(["1.0", "2", "3", "4"]), _is_one([1, 2, 3]), _is_one(["01", "02", "03", "04"])  # which may be codes
    (True, True, False)
    """
    if not values or all(isinstance(each, str) and each.isdecimal() for each in values):
        return False
    return is_box(values) or all(isinstance(each, int | float) for each in values)


def _is_nothing(value: Any) -> bool:
    """
    >>> _is_nothing({"text": " ", "geom": None, "bbox": []}), _is_nothing({}), _is_nothing({"geom": 0})
    (True, True, False)
    """
    if isinstance(value, dict):
        return all(each in (None, [], {}) or _is_blank(each) for each in value.values())
    return value is None or _is_blank(value)


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _described(node: LinkedRecord, record: Record, where: str) -> Place | None:
    """Return the place of an object: under the words of DCAT, schema.org, DataCite, ckanext-dcat, or our own."""
    value = node.data
    uri = node.iri() or iri(node.text("uri")) or node.link("sameAs")
    name, code = node.text(*_NAMES) or _address(node), _alpha_3(node.text("code")) or country(uri)
    shape = geometry(value)
    if not shape and (unread := {word: value[word] for word in value if word in WORDS and value[word]}):
        word = next(iter(unread))
        note(record, f"{where}.{word}" if len(unread) == 1 else where, unread[word] if len(unread) == 1 else unread)
    elif not (shape or name or uri or code):
        found = place(label(value))
        if not found and not node.text("code"):  # of a country in two letters, of a municipality
            note(record, where, value)
        return found
    return Place(name=name, code=code, uri=uri, geometry=shape) if shape or name or uri or code else None


def _address(node: LinkedRecord) -> str | None:
    for where, value in node.many("address"):
        if not isinstance(value, dict):
            return node.as_text(where, value)
        return ", ".join(filter(None, map(node.node(where, value).text, _ADDRESS))) or None
    return None


_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxother = 3, _SHOWN, _SHOWN
