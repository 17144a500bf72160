"""A description as a profile wants it: values of the right kind, no more than there may be, and what is mandatory."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from crawlers.rdf.namespaces import DCAT, DCT, SKOS, TYPE, VCARD
from crawlers.rdf.terms import Literal, Term, is_blank
from crawlers.store.export import terms, vocabularies
from crawlers.store.export.completion import Completion
from crawlers.store.export.iris import minted

if TYPE_CHECKING:
    from crawlers.rdf.terms import Node
    from crawlers.store.export.nodes import Nodes
    from crawlers.store.export.profile import Profile, Rule

_LITERALS = ("literal", "text", "word", "string", "moment", "decimal", "duration", "count", "hex", "shape")
_THEMES = (DCAT + "theme", DCT + "subject")
_TABLE_FIRST = tuple(DCT + name for name in ("Frequency", "LinguisticSystem", "MediaTypeOrExtent", "MediaType"))
"""The classes whose values the EU's or IANA's tables name, whatever the source calls them."""


class Conformity:
    """Makes a description conform to a profile.

    Args:
        about: the description, which is changed.
        profile: the rules.
        preferred: the values to keep, by property, where the dataset has more than it may have.
        otherwise: the address of a file that has none: its dataset's page.
    """

    def __init__(self, about: Nodes, profile: Profile, preferred: Node, otherwise: str | None) -> None:
        self.about = about
        self.nodes = about.graph
        self.profile = profile
        self.preferred = preferred
        self.complete = Completion(about, otherwise)
        self.waiting: deque[tuple[str, str]] = deque()
        self.done: set[tuple[str, str]] = set()

    def reach(self, subject: str, kind: str) -> None:
        """Make a node, those that it refers to, and all others of a known class conform."""
        self.waiting.append((subject, kind))
        self._work()
        for other, node in list(self.nodes.items()):
            self.waiting += [(other, one) for one in node.get(TYPE, ()) if isinstance(one, str) and one in self.profile]
        self._work()

    def _work(self) -> None:
        while self.waiting:
            subject, kind = self.waiting.popleft()
            if (subject, kind) in self.done or subject not in self.nodes:
                continue
            self.done.add((subject, kind))
            if not self._is_possible(subject, kind):
                self.nodes[subject][TYPE] = [one for one in self.nodes[subject][TYPE] if one != kind]
                continue
            for rule in self.profile.get(kind, ()):
                if rule.property in self.nodes.get(subject, {}):
                    self._apply(subject, rule)

    def _is_possible(self, subject: str, kind: str) -> bool:
        """Return whether a node can be of a class, once what it must have is added as far as it is known."""
        self.complete.fill(subject, kind)
        node = self.nodes.get(subject, {})
        needed = (rule for rule in self.profile.get(kind, ()) if rule.is_needed)
        return all(
            rule.most != 0 and any(self._fits(term, rule) for term in node.get(rule.property, ())) for rule in needed
        )

    def _fits(self, term: Term, rule: Rule) -> bool:
        if rule.value in _LITERALS:
            return terms.literal_as(rule.value, self.nodes, term) is not None
        if isinstance(term, Literal):
            return rule.value == "node" and terms.address(term.value) is not None
        return not (rule.is_iri and is_blank(term))

    def _apply(self, subject: str, rule: Rule) -> None:
        node = self.nodes[subject]
        given = node.pop(rule.property)
        kept: dict[Term, None] = {}
        moved: dict[Term, None] = {}
        for term in self._first(given, rule) if rule.most else given:
            found = self._value(term, rule) if rule.most is None or len(kept) < rule.most else None
            if found is not None:
                kept[found] = None
            elif rule.instead:
                moved[term] = None
        if kept:
            node[rule.property] = list(kept)
        if moved and rule.instead:
            node[rule.instead] = list(dict.fromkeys(node.get(rule.instead, [])) | moved)
        if rule.instead and rule.instead in node:
            self._moved(subject, rule.instead)

    def _moved(self, subject: str, property_: str) -> None:
        """Apply the rule of a property that has got values; it may have been applied before."""
        for kind in self.nodes[subject].get(TYPE, ()):
            for rule in self.profile.get(str(kind), ()):
                if rule.property == property_ and rule.instead != property_ and rule.most != 0:
                    self._apply(subject, rule)
                    return

    def _first(self, given: list[Term], rule: Rule) -> list[Term]:
        """Return values with those to keep first."""
        wanted = self.preferred.get(rule.property, [])
        return sorted(given, key=lambda term: term not in wanted)

    def _value(self, term: Term, rule: Rule) -> Term | None:
        if rule.value in _LITERALS:
            return terms.literal_as(rule.value, self.nodes, term)
        if rule.value == "mailbox":
            return terms.mailbox(term.value if isinstance(term, Literal) else term)
        if rule.value == DCAT + "Distribution":
            term = self._bare_file(term)
        named = self._theme(term) if rule.is_iri and rule.property in _THEMES else self._node(term, rule)
        if named is None or (rule.is_iri and is_blank(named)):
            return None
        if rule.value == "node":
            return named
        if not self._is_possible(named, rule.value):
            return named if rule.is_iri or rule.value == VCARD + "Kind" else None
        self.about.node(named, rule.value)
        self.waiting.append((named, rule.value))
        return named

    def _node(self, term: Term, rule: Rule) -> str | None:
        """Return a value as a node: an authority's if it has one for it."""
        if isinstance(term, str):
            if rule.value not in _TABLE_FIRST:
                return term
            text = terms.label(self.nodes, term) if is_blank(term) else term
            return (terms.authority_iri(rule.value, text) if text else None) or term
        if not (text := term.value.strip()):
            return None
        known = terms.authority_iri(rule.value, text) or terms.address(text)
        if known or rule.is_iri or rule.value == "node":
            return known
        node = self.about.blank()
        self.about.say(node, terms.name_of(rule.value), term)
        return node

    def _bare_file(self, term: Term) -> Term:
        """Return a distribution that is written as an address, a text, as one that has it."""
        if isinstance(term, str) or not (found := terms.address(term.value)):
            return term
        node = self.about.blank()
        self.about.say(node, DCAT + "accessURL", found)
        return node

    def _theme(self, term: Term) -> str | None:
        """Return the IRI of a theme: its own, the EU's of its label, else one that is made of the label."""
        if isinstance(term, str) and not is_blank(term):
            return term
        text = (terms.label(self.nodes, term) or "").strip()
        if not text:
            return None
        found = vocabularies.theme(text) or terms.address(text)
        if found is None:
            found = minted("theme", text)
            self.about.say(found, SKOS + "prefLabel", term if isinstance(term, Literal) else Literal(text))
        return found
