"""Where on a page the value stands that a user has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rapidfuzz import fuzz

from crawlers.learn.texts import normal

if TYPE_CHECKING:
    from crawlers.learn.sample import Place, Sample

_MOST = 60
_ALIKE = 92.0
_LONG = 40  # characters of a text that a user may have copied in part


def equal(sample: Sample, wanted: str) -> list[Place]:
    """The elements and attributes whose text is the value."""
    aim = normal(wanted)
    return [one for one in sample.places if aim and _near(one.text, wanted) and normal(one.text) == aim][:_MOST]


def addressed(sample: Sample, wanted: str) -> list[Place]:
    """The attributes whose address is the value, written in full or not."""
    links = [one for one in sample.places if one.attr in ("href", "src", "data-url", "content")]
    return [one for one in links if wanted in (one.text, sample.page.absolute(one.text))][:_MOST]


def containing(sample: Sample, wanted: str) -> list[Place]:
    """The smallest elements, and the attributes, whose text has the value in it."""
    aim = normal(wanted)
    found = [one for one in sample.places if aim and len(one.text) > len(aim) and aim in normal(one.text)]
    inner = {id(parent) for one in found if one.attr is None for parent in one.element.iterancestors()}
    smallest = [one for one in found if one.attr or id(one.element) not in inner]
    return sorted(smallest, key=lambda one: one.attr is not None)[:_MOST]


def alike(sample: Sample, wanted: str) -> list[Place]:
    """The elements whose text is nearly the value, or begins with it where that is long or ends in an ellipsis."""
    aim = normal(wanted.rstrip("….").rstrip())
    found = []
    for place in sample.places:
        text = normal(place.text)
        begun = len(aim) >= _LONG and text.startswith(aim)
        if begun or (_near(place.text, wanted) and fuzz.ratio(text, normal(wanted)) >= _ALIKE):
            found.append(place)
    return found[:_MOST]


def hints(sample: Sample, wanted: str, count: int = 3) -> list[str]:
    """The texts of the page that come nearest to a value that is not there."""
    aim = normal(wanted)
    texts = {place.text for place in sample.places if place.attr is None and len(place.text) <= 200}
    ranked = sorted(texts, key=lambda text: (-fuzz.ratio(normal(text), aim), text))
    return [text for text in ranked[:count] if fuzz.ratio(normal(text), aim) >= 50]


def elements(places: list[Place]) -> list[Any]:
    """Each element once, in the page's order."""
    return list(dict.fromkeys(place.element for place in places))


def _near(text: str, wanted: str) -> bool:
    """Whether it is worth comparing."""
    return abs(len(text) - len(wanted)) <= 20 + len(wanted) // 5
