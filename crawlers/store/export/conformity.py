"""A description in a profile's terms: nothing is left out; values get the form and the class that shapes ask for."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from crawlers.records.places import place
from crawlers.records.rdf.authorities import authority
from crawlers.records.rdf.terms import DCAT, DCT, FOAF, ORG, SKOS, TYPE, VCARD, Literal, Term, is_blank
from crawlers.store.export import terms, vocabularies
from crawlers.store.export.iris import minted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from crawlers.store.export.nodes import Nodes
    from crawlers.store.export.profile import Profile, Rule

_LITERALS = ("literal", "text", "word", "string", "moment", "decimal", "duration", "count", "hex", "shape")
_THEMES = (DCAT + "theme", DCT + "subject")
_TABLE_FIRST = tuple(DCT + name for name in ("Frequency", "LinguisticSystem", "MediaTypeOrExtent", "MediaType"))
"""The classes whose values the EU's or IANA's tables name, whatever the source calls them."""
_NAMES = (FOAF + "name", SKOS + "prefLabel", DCT + "title", VCARD + "fn")
"""The properties that may repeat what another one calls a node."""
_ADDRESSES = (DCAT + "accessURL", DCAT + "downloadURL", DCAT + "endpointURL")
_AGENTS = (FOAF + "Agent", VCARD + "Kind", ORG + "Organization")
_RESOURCES = {DCAT + name for name in ("Dataset", "DatasetSeries", "DataService", "Catalog")}
"""Classes that the source or the item alone can give: a crawl takes nodes of them for members of the catalogue."""


class Conformity:
    """Brings a description as near to a profile as it comes without a value that nobody gave.

    A value keeps its property, and stays as it is if the profile has no form for it. A node gets a class if it then
    has all that the profile asks of the class, or if it is the item's.

    Args:
        about: the description, which is changed.
        profile: the rules.
        own: the classes that the source gave to the nodes that it described itself.
    """

    def __init__(self, about: Nodes, profile: Profile, own: Mapping[str, Collection[Term]]) -> None:
        self.about = about
        self.nodes = about.graph
        self.profile = profile
        self.own = own
        self.waiting: deque[tuple[str, str]] = deque()
        self.done: set[tuple[str, str]] = set()

    def reach(self, subject: str, kind: str) -> None:
        """Make a node, those that it refers to, and all others of a known class conform."""
        self.waiting.append((subject, kind))
        self._work()
        for other, node in list(self.nodes.items()):
            for one in [each for each in node.get(TYPE, ()) if isinstance(each, str) and each in self.profile]:
                if (other, one) in self.done or self._keeps(other, one):
                    self.waiting.append((other, one))
                else:
                    node[TYPE].remove(one)
        self._work()

    def _keeps(self, subject: str, kind: str) -> bool:
        """Return whether a node keeps a class that no property asks for: a source's word, or a harmless one."""
        if kind in _RESOURCES or kind in self.own.get(subject, ()):
            return True
        is_more = not _RESOURCES.isdisjoint(map(str, self.nodes[subject][TYPE]))  # a dataset, and its own landing page
        return not is_more and (is_blank(subject) or self._is_possible(subject, kind))

    def _work(self) -> None:
        while self.waiting:
            subject, kind = self.waiting.popleft()
            if (subject, kind) in self.done or subject not in self.nodes:
                continue
            self.done.add((subject, kind))
            self._name(subject, kind)
            for rule in self.profile.get(kind, ()):
                if rule.property in self.nodes[subject]:
                    self._apply(subject, rule)

    def _name(self, subject: str, kind: str) -> None:
        """Repeat what a node is called under the property that the profile asks for."""
        for rule in self.profile.get(kind, ()):
            if rule.is_needed and rule.property not in self.nodes[subject]:
                self.about.say(subject, rule.property, *self._names(subject, rule))

    def _names(self, subject: str, rule: Rule) -> list[Term]:
        if rule.property == VCARD + "hasEmail":
            return self.nodes.get(subject, {}).get(FOAF + "mbox", [])
        if rule.property not in _NAMES:
            return []
        known = None if is_blank(subject) else authority(subject)[0]
        return [*terms.names(self.nodes, subject)] or ([Literal(known, "en")] if known else [])

    def _is_possible(self, subject: str, kind: str, known: dict[tuple[str, str], bool] | None = None) -> bool:
        """Return whether a node has what the profile asks of a class, so that the class adds no violation.

        Args:
            known: what is known of others; of those that are asked about, that they have.
        """
        known = {} if known is None else known
        if (subject, kind) not in known:
            known[subject, kind] = True
            known[subject, kind] = self._has_all(subject, kind, known)
        return known[subject, kind]

    def _has_all(self, subject: str, kind: str, known: dict[tuple[str, str], bool]) -> bool:
        node = self.nodes.get(subject, {})
        for rule in self.profile.get(kind, ()):
            given = node.get(rule.property) or (self._names(subject, rule) if rule.is_needed else [])
            if (rule.is_needed and not given) or (rule.most is not None and len(given) > rule.most):
                return False
            if not all(self._fits(term, rule, known) for term in given):
                return False
        return True

    def _fits(self, term: Term, rule: Rule, known: dict[tuple[str, str], bool]) -> bool:
        if rule.value in _LITERALS:
            return terms.literal_as(rule.value, self.nodes, term) is not None
        if rule.value == "mailbox":
            return terms.mailbox(term.value if isinstance(term, Literal) else term) is not None
        if isinstance(term, Literal):
            found = terms.address(term.value, is_only=rule.property in _ADDRESSES)
            is_text = bool(term.value) and rule.value not in _RESOURCES
            return found is not None if rule.value == "node" or rule.is_iri else is_text
        if rule.is_iri and is_blank(term):
            return False
        if rule.value == "node" or rule.value in self.nodes.get(term, {}).get(TYPE, ()):
            return True
        return rule.value not in _RESOURCES and self._is_possible(term, rule.value, known)

    def _apply(self, subject: str, rule: Rule) -> None:
        node = self.nodes[subject]
        given = node[rule.property]
        if len(given) > 1 and self._are_one(given, rule):
            return
        node[rule.property] = list(dict.fromkeys(self._value(term, rule) for term in given))

    def _are_one(self, given: list[Term], rule: Rule) -> bool:
        """Return whether values mean something together alone: too many of a form, translations, words to an IRI."""
        if rule.value in _LITERALS:
            return rule.most is not None and len(given) > rule.most
        if rule.is_iri or rule.value in (*_TABLE_FIRST, *_RESOURCES, DCAT + "Distribution"):
            return False
        words = [each for each in given if isinstance(each, Literal)]
        return bool(words) and (len(words) < len(given) or any(each.language for each in words))

    def _value(self, term: Term, rule: Rule) -> Term:
        """Return a value in the form that the profile asks for; as it is if there is none."""
        if rule.value in _LITERALS:
            return terms.literal_as(rule.value, self.nodes, term) or term
        if rule.value == "mailbox":
            return terms.mailbox(term.value if isinstance(term, Literal) else term) or term
        if rule.value == DCAT + "Distribution":
            term = self._bare_file(term)
        named = self._theme(term) if rule.is_iri and rule.property in _THEMES else self._node(term, rule)
        if named is None or rule.value == "node" or (rule.is_iri and is_blank(named)):
            return term if named is None else named
        if self.own and isinstance(term, Literal) and is_blank(named) and not self._is_possible(named, rule.value):
            del self.nodes[named]
            return term
        if rule.value in self.nodes.get(named, {}).get(TYPE, ()) or self._may_be(named, rule.value):
            self.about.node(named, rule.value)
            self.waiting.append((named, rule.value))
        return named

    def _may_be(self, subject: str, kind: str) -> bool:
        if kind in _RESOURCES:
            return False
        is_items = subject in self.nodes and not self.own
        return is_items or self._is_possible(subject, kind)

    def _node(self, term: Term, rule: Rule) -> str | None:
        """Return a value as a node: an authority's if it has one for it."""
        if isinstance(term, str):
            is_named = rule.value in _TABLE_FIRST and term not in self.nodes and not is_blank(term)
            return (terms.authority_iri(rule.value, term) if is_named else None) or term
        text = term.value.strip()
        found = terms.address(text, is_only=rule.property in _ADDRESSES)
        is_more = "://" in text and (rule.value in _AGENTS or found is None)  # words and an address
        is_shape = rule.value == DCT + "Location" and not ((where := place(text)) and where.name)
        if not text or is_more or is_shape or (rule.value in _AGENTS and "@" in text):
            return None
        known = terms.authority_iri(rule.value, text) or found
        if known or rule.is_iri or rule.value == "node" or rule.value in _RESOURCES:
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
        """Return the IRI of a theme: its own, the EU's of its label, of words else one that is made of them."""
        if isinstance(term, str):
            only = terms.only_name(self.nodes, term) if is_blank(term) else None
            return (only and vocabularies.theme(only)) or term
        text = term.value.strip()
        if not text:
            return None
        found = vocabularies.theme(text) or terms.address(text)
        if found is None:
            found = minted("theme", text)
            self.about.say(found, SKOS + "prefLabel", term)
        return found
