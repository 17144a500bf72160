"""CSS selectors that find only the given elements of a page, the stable ones first, positions last."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.kinds.html.mapping.vocabulary import fields, key
from crawlers.kinds.html.rules import from_css
from crawlers.operate.learn.candidates import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlers.operate.learn.sample import Sample


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
_OF_PROPERTIES = (*_PROPERTIES, "data-", "rel~", "title=", "-label=")
_DATA = tuple(f"data-{name}" for name in ["testid", "test", "qa", "cy", "field", "name", "role", "key", "label"])


class Anchor(NamedTuple):
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


_LEVELS = 8
_MOST = 40
_CROWD = 100
_PATH = 0.45
_POSITION = 0.3
_FIRST = 0.65
_MOST_NAMES = 4


def single(sample: Sample, element: Any) -> list[Candidate]:
    """Return selectors of a single element."""
    return _best([*_own(sample, [element]), *_below(sample, [element]), *_path(sample, element)])


def several(sample: Sample, elements: list[Any]) -> list[Candidate]:
    """Return selectors of elements that are alike, such as the tags of a dataset."""
    compound = _in_parents(elements)
    return _best([*_own(sample, elements, compound), *_below(sample, elements, compound)])


def first(sample: Sample, element: Any) -> Iterator[Candidate]:
    """Yield XPaths of an element that is the first of its kind, on the page or in a named part of it."""
    inner = anchors(element)[:_MOST_NAMES]
    scoped = [
        (f"{outer.css} {anchor.css}", _together(outer, anchor))
        for ancestor in ancestors([element])[:_LEVELS]
        for outer in anchors(ancestor)[:_MOST_NAMES]
        if outer.stability > TAG or ancestor.tag in ("main", "article", "header")
        for anchor in inner
    ]
    for css, stability in [*((item.css, item.stability) for item in inner), *scoped]:
        found = sample.css(css)
        if len(found) > 1 and found[0] is element:
            xpath = from_css(css, css).removeprefix("descendant-or-self::").replace("/descendant::", "//")
            yield Candidate({"xpath": f"(//{xpath})[1]"}, round(stability * _FIRST, 3), "first")


def _in_parents(elements: list[Any]) -> list[Anchor]:
    """Return the elements by what each of their parents has in common, such as ``h3 > a``."""
    parents = [element.getparent() for element in elements]
    if None in parents or len(set(parents)) < 2:
        return []
    inner = _common(elements)
    made = [Anchor(f"{outer.css} > {item.css}", _together(outer, item)) for outer in _common(parents) for item in inner]
    return made[:_MOST]


def _best(found: list[Candidate]) -> list[Candidate]:
    unique = {each.table["css"]: each for each in reversed(found)}
    return sorted(unique.values(), key=lambda each: (-each.stability, len(each.table["css"])))[:_MOST]


def _common(elements: list[Any]) -> list[Anchor]:
    every = [anchors(element) for element in elements[:50]]
    return [anchor for anchor in every[0] if all(anchor in others for others in every[1:])]


def _own(sample: Sample, elements: list[Any], more: Sequence[Anchor] = ()) -> Iterator[Candidate]:
    for anchor in [*_common(elements), *more]:
        if sample.is_only(anchor.css, elements):
            yield Candidate({"css": anchor.css}, anchor.stability, _by(anchor))
        elif anchor.css.startswith((".", "[")) and sample.is_only(f"{elements[0].tag}{anchor.css}", elements):
            css = f"{elements[0].tag}{anchor.css}"
            yield Candidate({"css": css}, round(anchor.stability * 0.98, 3), _by(anchor))


def _below(sample: Sample, elements: list[Any], more: Sequence[Anchor] = ()) -> Iterator[Candidate]:
    """Yield selectors of a named ancestor and what is below it."""
    inner = [
        anchor
        for anchor in [*_common(elements), *more]
        if anchor.stability <= TAG or not sample.is_only(anchor.css, elements)
    ]
    for ancestor in ancestors(elements)[:_LEVELS]:
        parent = all(element.getparent() is ancestor for element in elements)
        for outer in anchors(ancestor):
            if outer.stability <= TAG and ancestor.tag not in ("main", "article", "header"):
                continue
            for anchor in inner:
                for css in (f"{outer.css} {anchor.css}", f"{outer.css} > {anchor.css}" if parent else ""):
                    if css and sample.is_only(css, elements):
                        yield Candidate({"css": css}, _together(outer, anchor), _by(outer, anchor))


def _together(outer: Anchor, inner: Anchor) -> float:
    return round(min(outer.stability, inner.stability + 0.1) * 0.97, 3)


def _path(sample: Sample, element: Any) -> Iterator[Candidate]:
    """Yield paths from the nearest ancestor that a selector finds; a step needs a position if it is not alone."""
    steps: list[str] = []
    positions = 0
    for here in [element, *ancestors([element])][:_LEVELS]:
        for anchor in anchors(here)[:4] if steps else ():
            css = f"{anchor.css} > {' > '.join(reversed(steps))}"
            if len(sample.css(anchor.css)) == 1 and sample.is_only(css, [element]):
                base, by = (_POSITION, "position") if positions else (_PATH, "path")
                yield Candidate({"css": css}, round(base - 0.02 * (len(steps) + positions), 3), by)
        step, counted = _step(here)
        if step is None:
            return
        steps.append(step)
        positions += counted


def _step(element: Any) -> tuple[str | None, bool]:
    """Return a tag with its position among others of the same tag; ``None`` if there are too many."""
    parent = element.getparent()
    alike = [] if parent is None else [child for child in parent if child.tag == element.tag]
    if len(alike) > _CROWD:
        return None, True
    if len(alike) < 2:
        return element.tag, False
    return f"{element.tag}:nth-of-type({alike.index(element) + 1})", True


def ancestors(elements: list[Any]) -> list[Any]:
    """Return the ancestors that all elements share, the nearest first, without ``html`` and ``body``."""
    shared = list(elements[0].iterancestors())
    for element in elements[1:]:
        own = set(element.iterancestors())
        shared = [ancestor for ancestor in shared if ancestor in own]
    return [ancestor for ancestor in shared if ancestor.tag not in ("html", "body")]


def _by(*parts: Anchor) -> str:
    css = parts[-1].css
    if css.startswith(("#", "[id")):
        return "id"
    if css.startswith("meta") or any(each in css for each in _OF_PROPERTIES):
        return "property"
    return "class" if css.startswith((".", "[class")) else "tag"
