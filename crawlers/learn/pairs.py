"""Labels that no markup marks and no table of words has: what stands before a value, in pairs that repeat."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlers.mapping.html.wording import key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.learn.sample import Sample

_LEVELS = 4
_LONGEST = 40  # characters
_MOST_INSIDE = 2  # elements in a label; a row of label and value has more
_LEAST = 3  # pairs that make a table of them


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The same as a `crawlers.mapping.html.labels.Label`, as far as the learner asks.

    Args:
        element: the label's.
        values: the element after it.
    """

    element: Any
    text: str
    key: str
    values: list[list[Any]]


def pairs(sample: Sample, elements: list[Any]) -> Iterator[Pair]:
    """What stands right before the elements or the boxes around them, the nearest first."""
    texts = sample.texts
    for here in _around(elements):
        before = here.getprevious()
        shown = texts.get(before, "") if before is not None else ""
        if (
            shown
            and len(before) < _MOST_INSIDE
            and _is_label(shown)
            and len(_table(sample)[_shape(before, here)]) >= _LEAST
        ):
            yield Pair(before, shown, key(shown), [[here]])


def _around(elements: list[Any]) -> list[Any]:
    shared = [elements[0], *elements[0].iterancestors()]
    for element in elements[1:]:
        own = {element, *element.iterancestors()}
        shared = [one for one in shared if one in own]
    return shared[:_LEVELS]


def _is_label(shown: str) -> bool:
    return len(shown) <= _LONGEST and not any(map(str.isdigit, shown)) and bool(key(shown))


def _table(sample: Sample) -> dict[Any, set[str]]:
    """The texts of elements that have the same shape, and so has what follows them."""
    if sample.pairs is None:
        found: dict[Any, set[str]] = defaultdict(set)
        for element, shown in sample.texts.items():
            after = element.getnext()
            if after is not None and _is_label(shown):
                found[_shape(element, after)].add(shown)
        sample.pairs = found
    return sample.pairs


def _shape(one: Any, other: Any) -> tuple[Any, ...]:
    return one.tag, one.get("class"), one.get("role"), other.tag, other.get("class"), other.get("role")
