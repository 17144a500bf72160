"""What of a record changes although nobody edits it: counters, and the order of lists that mean sets."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple, Self


class Volatile(NamedTuple):
    """The fields of a kind's documents that change without an edit.

    A field is named by its path; lists are passed through: ``resources.tracking_summary`` is that of each resource.

    Args:
        counters: what moves by itself: views, downloads, scores.
        sets: lists whose order has no meaning: tags, groups.
        inner: the paths on the way to these.
    """

    counters: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    inner: frozenset[str] = frozenset()

    @classmethod
    def named(cls, counters: Iterable[str] = (), sets: Iterable[str] = ()) -> Self:
        """Return the fields of these names."""
        both = frozenset(counters), frozenset(sets)
        steps = [path.split(".") for path in both[0] | both[1]]
        return cls(*both, frozenset(".".join(each[:end]) for each in steps for end in range(len(each))))

    def without_counters(self) -> Self:
        """Return the sets alone."""
        return self.named(sets=self.sets)

    def essence(self, document: dict[str, Any], leaving_out: Collection[str] = ()) -> str:
        """Return the rest of a document as text; two records with the same text are equal.

        Args:
            leaving_out: more fields to leave out, at the top of the document.

        Raises:
            RecursionError: it is nested too deep.

        >>> volatile = Volatile.named(["views", "files.hits"], ["tags"])
        >>> volatile.essence({"tags": ["b", "a"], "views": 5, "files": [{"hits": 2, "id": 1}]})
        '{"files": [{"id": 1}], "tags": ["a", "b"]}'
        """
        kept = {name: value for name, value in document.items() if name not in leaving_out}
        return json.dumps(self._settled(kept, ""), sort_keys=True)

    def _settled(self, value: Any, path: str) -> Any:
        if isinstance(value, dict) and path in self.inner:
            paths = {name: f"{path}.{name}" if path else name for name in value}
            return {name: self._settled(value[name], at) for name, at in paths.items() if at not in self.counters}
        if isinstance(value, list) and (path in self.inner or path in self.sets):
            each = [self._settled(one, path) if isinstance(one, dict) else one for one in value]
            return sorted(each, key=_text) if path in self.sets else each
        return value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
