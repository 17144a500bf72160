"""The graph of one answer, read by rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.kinds.dcat.catalogue import NOTED, ROLE_OF_TYPE, TYPED, Catalogue
from crawlers.kinds.dcat.description import MAX_NODES
from crawlers.kinds.dcat.rules.extract import Extract
from crawlers.kinds.dcat.rules.referring import Referring
from crawlers.records.rdf.terms import TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.kinds.dcat.rules.rules import RDFRules
    from crawlers.records.rdf.apart import ReaderApart
    from crawlers.records.rdf.reader import Reader
    from crawlers.records.rdf.terms import Graph, Node, Triple


class TaughtCatalogue(Catalogue):
    """A graph in which rules say what is a dataset and what belongs to it.

    Args:
        rules: the rules.
    """

    def __init__(self, rules: RDFRules) -> None:
        super().__init__()
        self.rules = rules
        self.referring = Referring()
        self.noted = NOTED | rules.inverse
        self.descriptions.separate |= rules.classes
        if rules.classes:
            others = {each: role for each, role in ROLE_OF_TYPE.items() if role != TYPED}
            self.role_of_type = others | dict.fromkeys(rules.classes, TYPED)

    def read(self, reader: Reader | ReaderApart) -> Iterator[None]:
        yield from super().read(reader)
        self.referring.filled()

    def note(self, triple: Triple) -> None:
        subject, predicate, value = triple
        if predicate in self.rules.inverse and isinstance(value, str):
            self.referring.add(value, predicate, subject)
        if predicate in NOTED:
            super().note(triple)

    def is_dataset(self, subject: str, node: Node, roles: int) -> bool:
        if self.rules.classes and not roles & TYPED:
            return False
        return super().is_dataset(subject, node, roles) or (node.keys() == {TYPE} and self._is_referred_to(subject))

    def _is_referred_to(self, subject: str) -> bool:
        """Return whether all that is stated of a node is stated by others, from which a path of the rules leads."""
        return any(next(self.referring.find(subject, name), None) for name in self.rules.inverse)

    def description(self, subject: str) -> tuple[Graph, bool]:
        """Return the dataset's node and what belongs to it, with all that the paths go through."""
        room = self.descriptions.room()
        extract = Extract(self.rules, self.nodes.node, self.referring.find, largest=MAX_NODES, room=room)
        extract.read(subject)
        found, is_everything = self.descriptions.description(subject, extract.ends)
        self.descriptions.budget -= extract.length
        return {**extract.graph, **found}, is_everything and extract.is_everything

    def close(self) -> None:
        super().close()
        self.referring.close()
