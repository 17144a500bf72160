"""The order in which values are written: the same for the same description, whatever its blank nodes are called."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from crawlers.records.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from crawlers.records.rdf.terms import Graph, Term

_MAX_WORK = 200_000  # edges looked at, so that large regular nets take a bounded time


class Order:
    """The order of the values of a description.

    Args:
        nodes: the description.
        references: how often it refers to each blank node.
    """

    def __init__(self, nodes: Graph, references: Mapping[str, int]) -> None:
        self.nodes = nodes
        self.references = references
        self._keys: dict[str, tuple[str, str]] | None = None

    def rank(self, value: Term) -> tuple[int, str, str, str]:
        """Return a sort key: texts by language, then IRIs, then blank nodes by what the description says about them."""
        if isinstance(value, Literal):
            return 0, value.language or "", value.value, value.datatype or ""
        if is_blank(value):
            return 2, *self.key(value), ""
        return 1, value, "", ""

    def key(self, blank: str) -> tuple[str, str]:
        """Return a blank node's sort key."""
        if self._keys is None:
            self._keys = _Colours(self.nodes, self.references).keys()
        return self._keys[blank]


class _Colours:
    """Colours blank nodes until different ones have different colours (colour refinement).

    Those that are trees are distinguished by their content, the others by their neighbours as well. If several are
    still alike, one of them gets a colour of its own, until all are distinguished or the bound of work is reached.
    """

    def __init__(self, nodes: Graph, references: Mapping[str, int]) -> None:
        self.nodes = nodes
        self.references = references
        self.blanks = {*references, *filter(is_blank, nodes)}
        self.within: dict[str, list[tuple[str, str]]] = {blank: [] for blank in self.blanks}
        self.about: dict[str, list[tuple[str, str]]] = {blank: [] for blank in self.blanks}
        for subject, predicate, blank in self._edges():
            self.about[blank].append((predicate, subject))
            if subject in self.blanks:
                self.within[subject].append((predicate, blank))
        self.texts: dict[str, str] = {}
        self.colours: dict[str, str] = {}

    def _edges(self) -> Iterator[tuple[str, str, str]]:
        for subject, node in self.nodes.items():
            for predicate, values in node.items():
                for value in values:
                    if isinstance(value, str) and value.startswith("_:"):
                        yield subject, predicate, value

    def keys(self) -> dict[str, tuple[str, str]]:
        """Return a sort key for each blank node: its content, and its colour."""
        knotted = self._describe_trees()
        shared = sorted({*knotted, *(blank for blank, count in self.references.items() if count > 1)})
        self.texts.update({blank: self._text(blank) for blank in knotted})
        self.colours.update({blank: _digest(self.texts[blank]) for blank in knotted})
        if shared:
            self._distinguish(shared)
        return {blank: (self.texts[blank], self.colours[blank]) for blank in self.blanks}

    def _describe_trees(self) -> list[str]:
        """Describe trees from the leaves up; return the nodes in a circle, and those above one."""
        open_ends = {blank: len(within) for blank, within in self.within.items()}
        ready = [blank for blank, count in open_ends.items() if not count]
        while ready:
            blank = ready.pop()
            self.texts[blank] = self._text(blank)
            self.colours[blank] = _digest(self.texts[blank])
            for _, subject in self.about[blank]:
                if subject in open_ends:
                    open_ends[subject] -= 1
                    if not open_ends[subject]:
                        ready.append(subject)
        return [blank for blank in self.blanks if blank not in self.texts]

    def _text(self, blank: str) -> str:
        node = self.nodes.get(blank, {})
        content = ((name, sorted(self._value(value, blank) for value in values)) for name, values in node.items())
        return repr(sorted(content))

    def _value(self, value: Term, blank: str) -> tuple[str, ...]:
        if isinstance(value, Literal):
            return "literal", value.language or "", value.value, value.datatype or ""
        if not value.startswith("_:"):
            return "iri", value
        return "blank", "itself" if value == blank else self.colours.get(value, "")

    def _distinguish(self, shared: list[str]) -> None:
        work = _MAX_WORK
        edges = len(self.blanks) + sum(map(len, self.about.values()))
        while work > 0:
            work -= edges * self._refine(work // edges)
            alike = self._alike(shared)
            if not alike:
                return
            self.colours[alike] = _digest(self.colours[alike] + "first")

    def _refine(self, max_rounds: int) -> int:
        """Refine the colours until a round adds none; return how many rounds that took."""
        for count in range(max_rounds):
            before = len(set(self.colours.values()))
            self.colours = {blank: self._colour(blank) for blank in self.blanks}
            if len(set(self.colours.values())) == before:
                return count + 1
        return max(max_rounds, 1)

    def _colour(self, blank: str) -> str:
        within = sorted((predicate, self.colours[value]) for predicate, value in self.within[blank])
        about = sorted((predicate, self.colours.get(subject, subject)) for predicate, subject in self.about[blank])
        return _digest(repr((self.colours[blank], within, about)))

    def _alike(self, shared: list[str]) -> str | None:
        """Return one node of the first group that still has one colour."""
        groups: dict[str, list[str]] = {}
        for blank in shared:
            groups.setdefault(self.colours[blank], []).append(blank)
        several = [colour for colour, group in groups.items() if len(group) > 1]
        return groups[min(several)][0] if several else None


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=12).hexdigest()
