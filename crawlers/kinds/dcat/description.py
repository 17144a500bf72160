"""The description of one dataset: its node, and the nodes of the graph that belong to it; and two of them as one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from crawlers.records.rdf.graphs import Order
from crawlers.records.rdf.terms import DCAT, DCT, FOAF, PROV, SKOS, TYPE, is_blank
from crawlers.safety import bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from crawlers.records.rdf.graphs import Nodes
    from crawlers.records.rdf.terms import Graph, Node, Term

    Said = dict[tuple[str, str], set[tuple[object, ...]]]

OTHER_DATASETS = {
    *(DCAT + name for name in ("servesDataset", "inSeries", "first", "last", "prev", "next", "hasVersion")),
    *(DCT + name for name in ("hasPart", "isPartOf", "relation", "source", "references", "isReferencedBy")),
    *(DCT + name for name in ("hasVersion", "isVersionOf", "replaces", "isReplacedBy", "requires", "isRequiredBy")),
    FOAF + "primaryTopic",
    PROV + "wasDerivedFrom",
}
"""Predicates whose values are often other datasets."""
_BEYOND = {  # thesauri never end; what a dataset is part of is not part of it
    *(
        SKOS + name
        for name in ("broader", "narrower", "related", "hasTopConcept", "topConceptOf", "member", "memberList")
    ),
    *(OTHER_DATASETS - {DCT + "hasPart"}),
    TYPE,
}
_SEPARATE = {DCAT + name for name in ("Dataset", "DatasetSeries", "Catalog", "CatalogRecord")}
MAX_NODES = 50_000
"""Nodes of one description; the largest dataset met has 8,327 resources."""
MAX_TEXT = 16 << 20
"""Characters of the nodes of one description, besides the dataset's own."""
SHARED_TEXT, SHARED_FACTOR = 64 << 20, 20
"""Characters of all descriptions of a file: these, and 20 times its bytes. Nodes that datasets share are repeated."""
_LITTLE_TEXT = 64 << 10  # characters of each description beyond that
_MAX_DISTANCE = 4  # named nodes from the dataset: distribution, service, agent, its organisation
_RELATED = 3  # blank nodes in a row, of something that the dataset has to do with
_MAX_NEIGHBOURS = 100  # named ones of a named node; one that has more is a hub, which describes no dataset


class Descriptions:
    """Collects the descriptions of a graph's datasets, within bounds.

    Args:
        nodes: the graph.
        is_listed: whether a node without a type is listed as a dataset.
        classes: of datasets, besides DCAT's.

    Attributes:
        budget: the characters that all descriptions together may still have; beyond it, long nodes are only named.
    """

    def __init__(self, nodes: Nodes, is_listed: Callable[[str], bool], classes: Collection[str] = ()) -> None:
        self.nodes = nodes
        self.is_listed = is_listed
        self.separate = _SEPARATE.union(classes)
        self.budget = SHARED_TEXT

    def description(self, subject: str, others: Iterable[str] = ()) -> tuple[Graph, bool]:
        """Return the dataset's node and what belongs to it or to the others, and whether that is everything.

        At most `MAX_NODES` and `bounds.STATEMENTS` are taken. A node with more statements or a longer text than what
        is left is only named.
        """
        found: Graph = {}
        room, values, is_everything = self.room(), bounds.STATEMENTS.most, True
        waiting, related = deque([(subject, 0), *((other, 1) for other in others)]), deque[tuple[str, int]]()
        while waiting or related:
            current, distance = (waiting or related).popleft()
            if current in found:
                continue
            node = self.nodes.node(current)
            if not node or (found and self._is_separate(current, node)):
                continue
            if len(found) >= MAX_NODES:
                return found, False
            neighbours, length, count = _neighbours(node, distance)
            values -= count
            if found and (length > room or values < 0):
                is_everything = False
                continue
            room -= length if found else 0
            self.budget -= length
            found[current] = node
            for each in neighbours:
                (related if each[1] > _MAX_DISTANCE else waiting).append(each)
        return found, is_everything

    def room(self) -> int:
        """Return how many characters the next description may have, besides the dataset's own."""
        return MAX_TEXT if self.budget > 0 else _LITTLE_TEXT

    def _is_separate(self, subject: str, node: Node) -> bool:
        """Return whether a node is a dataset or a catalogue of its own."""
        types = node.get(TYPE)
        return not self.separate.isdisjoint(types) if types else self.is_listed(subject)


def _neighbours(node: Node, distance: int) -> tuple[list[tuple[str, int]], int, int]:
    """Return the nodes that may belong to a node, each with its distance; how many characters and values it has."""
    blanks: list[tuple[str, int]] = []
    named: list[tuple[str, int]] = []
    length = count = 0
    for predicate, values in node.items():
        count += len(values)
        leads_on = predicate not in _BEYOND
        for value in values:
            if type(value) is not str:
                length += len(value[0])
                continue
            length += len(value)
            if value[:2] != "_:":
                named += [(value, distance + 1)] if leads_on else []
            elif leads_on:
                blanks.append((value, distance + (distance > _MAX_DISTANCE)))
            elif predicate in OTHER_DATASETS:
                blanks.append((value, max(distance, _MAX_DISTANCE) + 1))
    if distance > _MAX_DISTANCE + _RELATED:
        return [], length, count
    if distance >= _MAX_DISTANCE or (distance and len(named) > _MAX_NEIGHBOURS):
        return blanks, length, count
    return blanks + named, length, count


def is_part(description: Graph, whole: Graph) -> bool:
    """Return whether another description of the same dataset says all that a description says.

    >>> title = {"http://a.org/1": {"http://a.org/title": ["http://a.org/a"]}}
    >>> is_part(title, title), is_part({"http://a.org/1": {}}, title), is_part(title, {"http://a.org/1": {}})
    (True, True, False)
    """
    return _is_within(_said(description), _said(whole))


def is_newer(description: Graph, other: Graph, iri: str) -> bool:
    """Return whether a description is a later version of another: of a later date, and with all of its properties."""
    said = [each.get(iri, {}).get(DCT + "modified", ()) for each in (other, description)]
    before, now = (max((str(getattr(date, "value", date)) for date in dates), default="") for dates in said)
    return before < now and _said(other).keys() <= _said(description).keys()


def joined(first: Graph, second: Graph) -> Graph | None:
    """Return two descriptions of a dataset as one; ``None`` if they contradict each other, as two versions of it do.

    One may say all that the other says, and more; else each has properties of its own, and none that both have differs.
    """
    known, said = _said(first), _said(second)
    if _is_within(said, known):
        return first
    if _is_within(known, said):
        return second
    if any(known.get(place, values) != values and place[1] != TYPE for place, values in said.items()):
        return None
    found = {subject: dict(node) for subject, node in first.items()}
    names = {blank: f"{blank}-{len(first)}" for blank in _blanks(second)}
    waiting, met = [place for place in said if place not in known or place[1] == TYPE], set[str]()
    for subject, name in waiting:  # it grows by the blank nodes that are named
        values = second[subject][name]
        into = found.setdefault(names.get(subject, subject), {})
        into[name] = [*dict.fromkeys((*into.get(name, ()), *(_renamed(value, names) for value in values)))]
        for blank in names.keys() & {value for value in values if isinstance(value, str)} - met:
            met.add(blank)
            waiting += [(blank, each) for each in second.get(blank, ())]
    return found


def _is_within(said: Said, known: Said) -> bool:
    return all(values <= known.get(place, set()) for place, values in said.items())


def _said(description: Graph) -> Said:
    """Return the values by named node and property; a blank node is what it says."""
    order = Order(description, dict.fromkeys(_blanks(description), 1))
    return {
        (subject, name): set(map(order.rank, values))
        for subject, node in description.items()
        if not is_blank(subject)
        for name, values in node.items()
    }


def _blanks(description: Graph) -> set[str]:
    """Return the blank nodes, also those of which nothing is said."""
    values = (value for node in description.values() for each in node.values() for value in each)
    return {str(blank) for blank in (*description, *values) if is_blank(blank)}


def _renamed(value: Term, names: dict[str, str]) -> Term:
    return names.get(value, value) if isinstance(value, str) else value
