"""What a description lacks: of a file that can't be read whole, and of keys that no JSON-LD context defines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from crawlers.records.rdf.bundled import UNDEFINED
from crawlers.records.rdf.namespaces import DCAT

if TYPE_CHECKING:
    from crawlers.records.rdf.terms import Graph

_OWN = {DCAT + "distribution", DCAT + "distributions"}
"""What these lead to is described with the dataset; what others lead to often stands elsewhere."""


_MOST_KEYS, _LONGEST_KEY = 10, 100
"""Keys that a sentence names, and characters of each."""


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


def undefined_keys(description: Graph) -> str | None:
    """Return what to say of the keys that a JSON-LD context does not define; ``None`` if there are none.

    >>> undefined_keys({"_:a": {"https://a.org/dcat-ap.jsonld#colour": ["http://a.org/red"]}})
    "The JSON-LD context https://a.org/dcat-ap.jsonld does not define 'colour': what that says is only in the document."
    """
    iris = sorted(iri for iri in set().union(*description.values()) if UNDEFINED in iri)
    if not iris:
        return None
    keys = [repr(iri.partition("#")[2][:_LONGEST_KEY]) for iri in iris]
    if len(keys) > _MOST_KEYS:
        keys[_MOST_KEYS:] = [f"{len(keys) - _MOST_KEYS} more"]
    context = iris[0].partition("#")[0]
    return f"The JSON-LD context {context} does not define {', '.join(keys)}: what that says is only in the document."


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
