"""Where and when the data of a record are from."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from crawlers.items import Period, Place
from crawlers.records import values
from crawlers.records.geometries import box as rectangle
from crawlers.records.geometries import degrees, fault
from crawlers.records.periods import between, envelope, is_reversed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawlers.records.xml.iso.part import Part

_OPEN = ("now", "unknown", "before", "after", "..")
_SHOWN = 60
_SIDES = ("west", "south", "east", "north")


def places(identification: Part, names: Iterable[str]) -> list[Place]:
    """Return the boxes and the named places, each once.

    Args:
        names: of places that keywords give.
    """
    boxes = (_box(each) for each in identification.parts("box"))
    codes = (_named(text, address) for text, address in identification.values("place"))
    found = [*boxes, *codes, *map(_named, names)]
    return list({repr(place): place for place in found if place}.values())


def _named(text: str | None, address: str | None = None) -> Place:
    if text and (uri := values.url(text)):
        return Place(uri=address or uri)
    return Place(name=text, uri=address)


def _box(box: Part) -> Place | None:
    texts = [box.text(side) for side in _SIDES]
    if not any(texts) or box.text("is_inside") in ("false", "0"):
        return None
    sides = [degrees(text) for text in texts]
    if wrong := fault(sides):
        written = ", ".join(str(text)[:20] for text in texts)
        box.context.flaws.flaw(f"the box {written} (west, south, east, north) {wrong}", "spatial")
        return None
    return Place(geometry=rectangle(*sides))


def period(identification: Part) -> Period | None:
    """Return the period from the earliest start to the latest end; it is open where one of several is open."""
    flaw = partial(identification.context.flaws.flaw, place="temporal")
    found = []
    for time in identification.find("time"):
        each = _period(time, flaw)
        if each and is_reversed(each):
            flaw(f"the period from {each.start} to {each.end} ends before it starts")
        elif each:
            found.append(each)
    if len(found) < 2:
        return found[0] if found else None
    joined = envelope(found)
    return between(joined.start, joined.end)


def _period(time: Any, flaw: Callable[[str], None]) -> Period | None:
    """Return the period of a gml:TimePeriod or gml:TimeInstant; a position that is "now" or "unknown" is open."""
    if time.tag.endswith("}TimeInstant"):
        moment = _moment(time, flaw, "{*}timePosition")
        return between(moment, moment)
    return between(_moment(time, flaw, "{*}beginPosition", "{*}begin"), _moment(time, flaw, "{*}endPosition", "{*}end"))


def _moment(time: Any, flaw: Callable[[str], None], *tags: str) -> str | None:
    for position in time.iterdescendants(*tags):
        text = " ".join("".join(position.itertext()).split())
        if found := values.xsd_date(text):
            return found
        if text and text not in _OPEN:
            flaw(f"the period's {position.tag.rpartition('}')[2]} {text[:_SHOWN]!r} is no date")
    return None
