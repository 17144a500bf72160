"""What a description has lost: of a file that can't be read whole, some datasets are there in part."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from crawlers.rdf.namespaces import DCAT

if TYPE_CHECKING:
    from crawlers.rdf.terms import Graph

_OWN = {DCAT + "distribution", DCAT + "distributions"}
"""What these lead to is described with the dataset; what others lead to often stands elsewhere."""


def is_cut(description: Graph) -> bool:
    """Return whether a description names a blank node or a distribution without describing it.

    >>> is_cut({"http://a.org/1": {DCAT + "distribution": ["http://a.org/1.csv"]}})
    True
    >>> is_cut({"http://a.org/1": {DCAT + "theme": ["http://a.org/rivers"]}})
    False
    """
    for node in description.values():
        for predicate, values in node.items():
            for value in values:
                named = isinstance(value, str) and (predicate in _OWN or value.startswith("_:"))
                if named and value not in description:
                    return True
    return False


def has_lost(now: Graph, before: Graph) -> bool:
    """Return whether a description has fewer statements of some property than an older one of the same dataset.

    >>> before = {"http://a.org/1": {"http://a.org/title": ["http://a.org/a"], "http://a.org/is": ["http://a.org/b"]}}
    >>> has_lost({"http://a.org/1": {"http://a.org/title": ["http://a.org/c"]}}, before), has_lost(before, before)
    (True, False)
    """
    return bool(_statements(before) - _statements(now))


def _statements(description: Graph) -> Counter[str]:
    """Return how many statements there are of each property."""
    counts: Counter[str] = Counter()
    for node in description.values():
        for predicate, values in node.items():
            counts[predicate] += len(values)
    return counts
