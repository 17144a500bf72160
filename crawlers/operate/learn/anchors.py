"""What of an element's markup identifies it on other pages and next year, and how stable each is, from 0 to 1.

An id or a property is best; a class is good if it is a word; words of a grid are poor, because they describe the
layout; what a program made (hashes, numbers) is not used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.mapping.vocabulary import fields, key

if TYPE_CHECKING:
    from collections.abc import Iterator

ID = 0.93
PROPERTY = 0.93
NAMED = 0.85
HASHED = 0.7
LAYOUT = 0.6
UTILITY = 0.5
TAG = 0.55

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{1,59}")
_GENERATED = re.compile(
    r"(css|sc|jss|emotion|svelte|astro|tss|makeStyles|r|_ngcontent|_nghost)[-_]?[A-Za-z0-9-]*\d.*|css-\w+"
)
_HASH = re.compile(r"(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{5,}")
_COUNTED = re.compile(r"[A-Za-z]+[0-9]")
_UTILITY = re.compile(
    r"(col|cols|row|rows|container|grid|flex|d|[mp][trblxyse]?|w|h|g|gap|text|bg|border|rounded|shadow|float|pull|push"
    r"|align|justify|items|order|offset|span|clearfix|hidden|visible|show|hide|active|current|selected|first|last|odd"
    r"|even|left|right|center|top|bottom|inner|outer|wrapper|wrap|block|inline|fa|fas|far|icon|glyphicon|ng|js|is|has"
    r"|sr|lead|small|large|sm|md|lg|xl|xs|ml|mr|uk|pure|v|el)([-_](.*))?",
    re.IGNORECASE,
)
_WORDS = ("text", "icon", "block", "items", "order", "lead", "inner")
_COMPONENT = re.compile(
    r"(content|btn|button|display|well|panel|card|badge|list-group|list|table|field|item|ui|layout|column|box|section"
    r"|form|media|mdl|mat)([-_](.*))?",
    re.IGNORECASE,
)
_MACHINE_NAMES = re.compile(r"field[-_]name[-_]|views[-_]field[-_]", re.IGNORECASE)
_LONG_ID = re.compile(r"(?:^|_)ctl\d+|_PlaceHolder|_ContentPlaceHolder", re.IGNORECASE)
_SAID = ("title", "aria-label", "data-title", "data-th")  # attributes that may hold a hidden label
_LONGEST = 60  # characters of such a label
_PROPERTIES = ("itemprop", "property")
_DATA = tuple(f"data-{name}" for name in ["testid", "test", "qa", "cy", "field", "name", "role", "key", "label"])


@dataclass(frozen=True, slots=True)
class Anchor:
    """
    Args:
        css: the selector.
        stability: how likely it is to hold elsewhere.
    """

    css: str
    stability: float


def anchors(element: Any) -> list[Anchor]:
    """Return an element's anchors, the most stable first, the bare tag last."""
    found = [*_by_id(element), *_by_property(element), *_by_class(element), *_by_name(element)]
    found.append(Anchor(element.tag, NAMED if element.tag == "h1" else TAG))
    return sorted(found, key=lambda item: -item.stability)


def _by_id(element: Any) -> Iterator[Anchor]:
    name = element.get("id") or ""
    if _LONG_ID.search(name):
        tail = name.rpartition("_")[2]
        if stability(tail) >= HASHED:
            yield Anchor(f'[id$="_{tail}"]', 0.88)
    elif stability(name):
        yield Anchor(f"#{name}", ID if stability(name) >= HASHED else NAMED)


def _by_property(element: Any) -> Iterator[Anchor]:
    for name in _PROPERTIES:
        value = element.get(name) or ""
        if re.fullmatch(r"[A-Za-z][\w:./#-]{1,80}", value):
            social = value.startswith(("og:", "twitter:"))
            yield Anchor(f'{element.tag if social else ""}[{name}="{value}"]', HASHED if social else PROPERTY)
    for value in (element.get("rel") or "").split():
        if stability(value):
            yield Anchor(f'{element.tag}[rel~="{value}"]', NAMED)


def _by_name(element: Any) -> Iterator[Anchor]:
    for name in _DATA:
        value = element.get(name) or ""
        if stability(value):
            yield Anchor(f'[{name}="{value}"]', NAMED + 0.03)
    for name in _SAID:
        value = element.get(name) or ""
        if 0 < len(value) <= _LONGEST and not set(value) & set('"\\\n') and fields().get(key(value)):
            yield Anchor(f'[{name}="{value}"]', NAMED + 0.03)
    name = element.get("name") or ""
    if element.tag == "meta" and re.fullmatch(r"[A-Za-z][\w:.-]{1,80}", name):
        yield Anchor(f'meta[name="{name}"]', HASHED if name.startswith("twitter:") else NAMED)


def _by_class(element: Any) -> Iterator[Anchor]:
    for token in (element.get("class") or "").split()[:20]:
        how = stability(token)
        if how:
            yield Anchor(f".{token}", how)
        elif stem := _stem(token):
            yield Anchor(f'[class*="{stem}"]', HASHED)


def _stem(token: str) -> str | None:
    """Return the part of a class that a person named, without a bundler's hash.

    >>> _stem("FileRow__link__9QpZ1"), _stem("css-1n2h3k4")
    ('FileRow__link__', None)
    """
    found = re.fullmatch(r"([A-Za-z][A-Za-z]{2,}(?:[_-]{1,2}[A-Za-z]{2,})*_{1,2})[A-Za-z0-9]{4,8}", token)
    return found[1] if found and _HASH.fullmatch(token[len(found[1]) :]) else None


def stability(name: str) -> float:
    """Return how stable a class or an id is; 0 for what a program made or counted.

    >>> stability("license"), stability("col-md-6"), stability("css-1a2b3c"), stability("node-4711"), stability("h-3")
    (0.85, 0.5, 0, 0, 0.5)
    >>> stability("Meta_row__3xK2a"), stability("field-name-field-license"), stability("field-item")
    (0, 0.85, 0.6)
    """
    if not _NAME.fullmatch(name) or _GENERATED.fullmatch(name):
        return 0
    if _MACHINE_NAMES.match(name):
        return NAMED
    parts = re.split(r"[-_]+", name)
    utility, component = bool(_UTILITY.fullmatch(name)), bool(_COMPONENT.fullmatch(name))
    if any(_HASH.fullmatch(part) and not re.fullmatch(r"[A-Za-z]+[0-9]", part) for part in parts):
        return 0
    if sum(letter.isdigit() for letter in name) > (2 if utility else 1):
        return 0
    numbered = any(part.isdigit() for part in parts) or any(_COUNTED.fullmatch(part) for part in parts)
    if utility and name not in _WORDS:
        return UTILITY
    return LAYOUT if component or utility or numbered else NAMED
