"""What of a catalogue's graph the rules read for one dataset, so that its document has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.kinds.dcat.rules.paths import Links
from crawlers.kinds.dcat.rules.translation import files_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawlers.kinds.dcat.rules.rules import RDFRules
    from crawlers.records.rdf.terms import Graph, Node, Term


class Extract:
    """The statements that the paths of the rules go through, within bounds.

    Args:
        rules: the rules.
        node: returns what the catalogue says of a node.
        referring: returns the nodes that have a node as the value of a property.
        largest: how many statements are taken.
        room: how many characters they may have.

    Attributes:
        graph: the statements.
        ends: where the paths lead.
        is_everything: whether nothing was too much.
        length: how many characters the statements have.
    """

    def __init__(
        self,
        rules: RDFRules,
        node: Callable[[str], Node],
        referring: Callable[[str, str], Iterable[str]],
        *,
        largest: int,
        room: int,
    ) -> None:
        self.rules = rules
        self.links = Links(node, referring, self._note)
        self.largest, self.room = largest, room
        self.graph: Graph = {}
        self.ends: dict[str, None] = {}
        self.is_everything = True
        self.length = 0
        self.noted: set[tuple[str, str, Term]] = set()

    def read(self, subject: str) -> None:
        """Follow the paths of one dataset."""
        follow = self.links.values
        for ways in self.rules.fields.values():
            self._end(follow(subject, ways))
        for rule in self.rules.agents.values():
            starts: list[Term] = follow(subject, rule.each) if rule.each else [subject]
            self._end(starts)
            for ways in rule.fields.values():
                for each in starts:
                    self._end(follow(each, ways))
        files = files_of(self.rules, self.links, subject)
        self._end(files)
        for ways in self.rules.resources.fields.values():
            for each in files:
                self._end(follow(each, ways))
        self.is_everything &= self.links.room > 0

    def _end(self, terms: list[Term]) -> None:
        self.ends |= dict.fromkeys(each for each in terms if isinstance(each, str))

    def _note(self, subject: str, name: str, value: Term) -> bool:
        statement = (subject, name, value)
        if statement in self.noted:
            return True
        length = len(value if isinstance(value, str) else value.value)
        if len(self.noted) >= self.largest or self.length + length > self.room:
            self.is_everything = False
            return False
        self.noted.add(statement)
        self.length += length
        self.graph.setdefault(subject, {}).setdefault(name, []).append(value)
        return True
