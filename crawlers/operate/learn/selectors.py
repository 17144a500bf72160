"""CSS selectors that find only the given elements of a page, the stable ones first, positions last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.kinds.html.rules import from_css
from crawlers.operate.learn.anchors import TAG, Anchor, anchors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from crawlers.operate.learn.sample import Sample

_LEVELS = 8
_MOST = 40
_CROWD = 100
_PATH = 0.45
_POSITION = 0.3
_FIRST = 0.65
_MOST_NAMES = 4


@dataclass(frozen=True, slots=True)
class Selector:
    """
    Args:
        by: "id", "property", "class", "tag", "path" or "position".
    """

    css: str
    stability: float
    by: str


def single(sample: Sample, element: Any) -> list[Selector]:
    """Return selectors of a single element."""
    found = [*_own(sample, [element]), *_below(sample, [element]), *_path(sample, element)]
    return _best(found)


def several(sample: Sample, elements: list[Any]) -> list[Selector]:
    """Return selectors of elements that are alike, such as the tags of a dataset."""
    compound = _in_parents(elements)
    return _best([*_own(sample, elements, compound), *_below(sample, elements, compound)])


@dataclass(frozen=True, slots=True)
class First:
    """The first of several elements that are alike."""

    xpath: str
    stability: float


def first(sample: Sample, element: Any) -> Iterator[First]:
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
            yield First(f"(//{xpath})[1]", round(stability * _FIRST, 3))


def _in_parents(elements: list[Any]) -> list[Anchor]:
    """Return the elements by what each of their parents has in common, such as ``h3 > a``."""
    parents = [element.getparent() for element in elements]
    if None in parents or len(set(parents)) < 2:
        return []
    inner = _common(elements)
    made = [Anchor(f"{outer.css} > {item.css}", _together(outer, item)) for outer in _common(parents) for item in inner]
    return made[:_MOST]


def _best(found: list[Selector]) -> list[Selector]:
    unique = {selector.css: selector for selector in reversed(found)}
    return sorted(unique.values(), key=lambda selector: (-selector.stability, len(selector.css)))[:_MOST]


def _common(elements: list[Any]) -> list[Anchor]:
    every = [anchors(element) for element in elements[:50]]
    return [anchor for anchor in every[0] if all(anchor in others for others in every[1:])]


def _own(sample: Sample, elements: list[Any], more: Sequence[Anchor] = ()) -> Iterator[Selector]:
    for anchor in [*_common(elements), *more]:
        if sample.is_only(anchor.css, elements):
            yield Selector(anchor.css, anchor.stability, _by(anchor))
        elif anchor.css.startswith((".", "[")) and sample.is_only(f"{elements[0].tag}{anchor.css}", elements):
            css = f"{elements[0].tag}{anchor.css}"
            yield Selector(css, round(anchor.stability * 0.98, 3), _by(anchor))


def _below(sample: Sample, elements: list[Any], more: Sequence[Anchor] = ()) -> Iterator[Selector]:
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
                        yield Selector(css, _together(outer, anchor), _by(outer, anchor))


def _together(outer: Anchor, inner: Anchor) -> float:
    return round(min(outer.stability, inner.stability + 0.1) * 0.97, 3)


def _path(sample: Sample, element: Any) -> Iterator[Selector]:
    """Yield paths from the nearest ancestor that a selector finds; a step needs a position if it is not alone."""
    steps: list[str] = []
    positions = 0
    for here in [element, *ancestors([element])][:_LEVELS]:
        for anchor in anchors(here)[:4] if steps else ():
            css = f"{anchor.css} > {' > '.join(reversed(steps))}"
            if len(sample.css(anchor.css)) == 1 and sample.is_only(css, [element]):
                base, by = (_POSITION, "position") if positions else (_PATH, "path")
                yield Selector(css, round(base - 0.02 * (len(steps) + positions), 3), by)
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
    if (
        "itemprop" in css
        or "property" in css
        or "data-" in css
        or "rel~" in css
        or "title=" in css
        or "-label=" in css
        or css.startswith("meta")
    ):
        return "property"
    return "class" if css.startswith((".", "[class")) else "tag"
