"""A description as DCAT has it: what the rules find becomes the values of DCAT's properties. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.items import Agent
from crawlers.kinds.dcat.rules.fields import ADDRESSES, AGENTS, ALSO, FILES, OF_DATASETS, OF_RESOURCES, PLAIN
from crawlers.kinds.dcat.rules.paths import MOST, links
from crawlers.records import values
from crawlers.records.dcat.agents import agent, email, in_their_order
from crawlers.records.dcat.description import Description
from crawlers.records.dcat.distributions import DISTRIBUTIONS
from crawlers.records.rdf.terms import DCAT, DCT, Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlers.items import Dataset
    from crawlers.kinds.dcat.rules.paths import Links, Ways
    from crawlers.kinds.dcat.rules.rules import Parts, RDFRules
    from crawlers.records.rdf.terms import Graph, Node, Term

_READERS = {"data_modified": values.xsd_date, "uri": values.text, "url": values.url, "email": email}
_NAMELESS = "_:found"
_VALUE = DCT + "title"  # a property that a text, a date or an address is read by, whatever it is


class Translation:
    """What the rules make of the description of one dataset.

    A field whose paths lead nowhere is mapped as if the rules did not say it.

    Args:
        description: the statements about the dataset and the nodes that belong to it.
        subject: the dataset.
        language: the tag of the texts to prefer.

    Attributes:
        graph: the description in which DCAT's properties have what the rules found.
    """

    def __init__(self, rules: RDFRules, description: Graph, subject: str, language: str | None = None) -> None:
        self.rules = rules
        self.subject = subject
        self.links = links(description)
        self.original = description
        self.language = language
        known = values_of(self.links, subject, rules.fields, OF_DATASETS)
        files = files_of(rules, self.links, subject)
        self.graph = {**description, **self._files(files)}
        node = translated(self.graph.get(subject, {}), known, OF_DATASETS)
        if rules.resources.each and files:
            node = {name: each for name, each in node.items() if name not in FILES} | {DCAT + "distribution": files}
        self.graph[subject] = node

    def _files(self, files: list[Term]) -> Graph:
        """Return the nodes of the files, each with what the rules say of it."""
        nodes: Graph = {}
        for term in files:
            if isinstance(term, str):
                known = values_of(self.links, term, self.rules.resources.fields, OF_RESOURCES)
                node = translated(self.original.get(term, {}), known, OF_RESOURCES)
                if self.rules.resources.each and not is_blank(term) and ADDRESSES.isdisjoint(node):
                    node[DCAT + "downloadURL"] = [term]
                nodes[term] = node
        return nodes

    def amend(self, item: Dataset) -> None:
        """Set the fields of an item that are not values of one of DCAT's properties."""
        for field, rule in self.rules.agents.items():
            if found := self._agents(rule, AGENTS[field]):
                self._set_agents(item, field, found)
        for field in PLAIN:
            if terms := self.links.values(self.subject, self.rules.fields.get(field, ())):
                setattr(item, field, _read(field, self._with(terms)))

    def _set_agents(self, item: Dataset, field: str, found: list[Agent]) -> None:
        if field == "contacts":
            item.contacts = found
            return
        setattr(item, field, found[0])
        item.contacts = [each for each in item.contacts if each.role != AGENTS[field]]

    def _agents(self, rule: Parts, role: str) -> list[Agent]:
        terms = self.links.values(self.subject, rule.each) if rule.each else [self.subject]
        found = [self._agent(term, rule, role) for term in terms]
        return in_their_order(found)

    def _agent(self, term: Term, rule: Parts, role: str) -> Agent:
        found = agent(Description(self.original, term, self.language), role) if rule.each else Agent(role=role)
        for field, ways in rule.fields.items():
            if terms := self.links.values(term, ways):
                setattr(found, field, _read(field, self._with(terms)))
        return found

    def _with(self, terms: list[Term]) -> Description:
        """Return a node that has these values."""
        node = Description(self.original, _NAMELESS, self.language)
        node.fields = {_VALUE: terms}
        return node


def files_of(rules: RDFRules, links: Links, subject: str) -> list[Term]:
    """Return the files of a dataset that the rules say something of."""
    if rules.resources.each:
        return links.values(subject, rules.resources.each)
    if not rules.resources.fields:
        return []
    node = links.node(subject)
    return [term for name in DISTRIBUTIONS for term in node.get(name, ())][:MOST]


def values_of(
    links: Links, term: Term, rules: Mapping[str, Ways], properties: Mapping[str, str]
) -> dict[str, list[Term]]:
    """Return what the paths of each field lead to, of those that are one of these properties."""
    return {field: each for field, ways in rules.items() if field in properties and (each := links.values(term, ways))}


def translated(node: Node, known: Mapping[str, list[Term]], properties: Mapping[str, str]) -> Node:
    """Return a node in which DCAT's properties have what the rules found.

    Args:
        known: what was found of each field.
        properties: the DCAT property of each field.
    """
    left_out = frozenset().union(*(ALSO.get(field, frozenset()) for field in known))
    kept = {name: each for name, each in node.items() if name not in left_out}
    return kept | {properties[field]: each for field, each in known.items()}


def _read(field: str, node: Description) -> str | None:
    """Return the value of a field, of a dataset or of an agent, that is one text."""
    reader = _READERS.get(field)
    return node.read(reader, _VALUE) if reader else _text(node)


def _text(node: Description) -> str | None:
    """Return a text, or what a node is called."""
    found = node.text(_VALUE)
    labels = (node.label(term) for term in node.terms(_VALUE) if not isinstance(term, Literal))
    return found or next(filter(None, labels), None)
