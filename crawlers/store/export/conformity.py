"""A description in a profile's terms: nothing is left out; values get the form and the class that shapes ask for."""

from __future__ import annotations

import re
from collections import deque
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from crawlers.records import values
from crawlers.records.formats import AUTHORITY, eu_file_type, media_type
from crawlers.records.languages import language
from crawlers.records.periods import frequency
from crawlers.records.places import place
from crawlers.records.rdf.authorities import authority
from crawlers.records.rdf.dcat_context import PREFIXES
from crawlers.records.rdf.terms import (
    DCAT,
    DCAT_US,
    DCT,
    ELI,
    FOAF,
    GEO,
    ORG,
    RDF,
    RDFS,
    SCHEMA,
    SCHEMA_HTTPS,
    SKOS,
    TYPE,
    VCARD,
    XSD,
    Literal,
    Term,
    is_blank,
)
from crawlers.records.tables import csv_rows
from crawlers.store.export import vocabularies
from crawlers.store.export.nodes import iri, minted, moment

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from crawlers.records.rdf.terms import Graph
    from crawlers.store.export.nodes import Nodes

# What an application profile of DCAT asks of each class: a table of properties, and the kinds of their values

_MORE = {"dcat-us": DCAT_US, "eli": ELI}


class ProfileRule(NamedTuple):
    """What the values of a property are.

    Attributes:
        value: text, word, string, literal, mailbox, moment, decimal, duration, count, hex, shape or node; else the IRI
            of their class.
        is_iri: whether only an IRI may stand there.
        is_needed: whether a node of the class must have it.
        most: how many values there may be; ``None`` for any number.
    """

    property: str
    value: str
    is_iri: bool
    is_needed: bool
    most: int | None


Profile = dict[str, list[ProfileRule]]
"""The rules of each class."""


@cache
def rules_of(name: str) -> Profile:
    """Return the rules of a profile: ``dcat-ap`` or ``dcat-us``."""
    found: Profile = {}
    for kind, property_, value, least, most in csv_rows(__package__, f"{name}.csv"):
        is_iri, value_ = value.startswith("IRI"), value.removeprefix("IRI").strip() or "node"
        rule = ProfileRule(_expanded(property_), _expanded(value_), is_iri, bool(least), int(most) if most else None)
        found.setdefault(_expanded(kind), []).append(rule)
    return found


def _expanded(name: str) -> str:
    """Return the IRI of ``dcat:Dataset``; a plain word stays one."""
    prefix, colon, last = name.partition(":")
    return (PREFIXES.get(prefix) or _MORE[prefix]) + last if colon else name


# A value as a profile asks for it: a literal of a datatype, a node of a class, an IRI of an authority's table

NAMES = (
    *(FOAF + "name", VCARD + "fn", SKOS + "prefLabel", RDFS + "label", DCT + "title", SCHEMA + "name"),
    *(SCHEMA_HTTPS + "name", VCARD + "organization-name", VCARD + "organisation-name"),
)
LABELS = (*NAMES, SKOS + "notation", DCT + "identifier", RDF + "value", DCT + "description")
_SHAPES = {
    GEO + "asWKT": GEO + "wktLiteral",
    GEO + "asGeoJSON": GEO + "geoJSONLiteral",
    GEO + "asGML": GEO + "gmlLiteral",
}
_NAMINGS = {
    FOAF + "Agent": FOAF + "name",
    VCARD + "Kind": VCARD + "fn",
    SKOS + "Concept": SKOS + "prefLabel",
    DCT + "Location": SKOS + "prefLabel",
    DCT + "LicenseDocument": DCT + "title",
    FOAF + "Document": DCT + "title",
}
"""The property that names a node of a class; rdfs:label that of any other."""
_DURATION = re.compile(
    r"-?P(?=[0-9T])(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?"
    r"(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?"
)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_COUNT = re.compile(r"([0-9]{1,18})(?:\.0*)?")
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})+")
_MAILBOX = re.compile(r"[^\s@<>]+@[^\s@<>]+")
_SPACE = re.compile(r"\s")


def label(nodes: Graph, term: Term) -> str | None:
    """Return what a literal says, or what a node is called."""
    if isinstance(term, Literal):
        return term.value
    node = nodes.get(term, {})
    found = (each.value for name in LABELS for each in node.get(name, ()) if isinstance(each, Literal))
    return next(found, None)


def names(nodes: Graph, subject: str) -> list[Literal]:
    """Return what a node is called, in all languages, by the first property that says it."""
    said = ([each for each in nodes.get(subject, {}).get(name, ()) if isinstance(each, Literal)] for name in NAMES)
    return next((found for found in said if any(each.value.strip() for each in found)), [])


def _only_name(nodes: Graph, subject: str) -> str | None:
    """Return a node's name if the node says nothing else, besides its class."""
    said = [each for name, found in nodes.get(subject, {}).items() if name != TYPE for each in found]
    called = names(nodes, subject)
    return called[0].value if len(said) == 1 and said == called else None


def literal_as(kind: str, nodes: Graph, term: Term) -> Literal | None:
    """Return a value as a literal of a kind; ``None`` if it is none.

    >>> literal_as("count", {}, Literal("1024.0")), literal_as("moment", {}, Literal("soon"))
    (Literal(value='1024', language=None, datatype='http://www.w3.org/2001/XMLSchema#nonNegativeInteger'), None)
    """
    if kind == "shape":
        return _shape(nodes, term)
    if kind == "word" and isinstance(term, str):
        return None
    is_name = kind == "literal" and isinstance(term, str) and not is_blank(term)
    text = term.value if isinstance(term, Literal) else label(nodes, term) or (term if is_name else None)
    if text is None:
        return None
    return _LITERALS[kind](term if isinstance(term, Literal) else Literal(text), text.strip())


def _typed(pattern: re.Pattern[str], datatype: str, group: int = 0) -> Callable[[Literal, str], Literal | None]:
    def read(_: Literal, text: str) -> Literal | None:
        found = pattern.fullmatch(text)
        return Literal(found[group], None, XSD + datatype) if found else None

    return read


def _moment(_: Literal, text: str) -> Literal | None:
    return moment(text) or moment(values.xsd_date(text))


_LITERALS: dict[str, Callable[[Literal, str], Literal | None]] = {
    "literal": lambda term, text: term if text else None,
    "string": lambda term, text: Literal(term.value) if text else None,
    "word": lambda term, text: Literal(term.value, term.language) if text else None,
    "text": lambda term, text: Literal(term.value, term.language) if text else None,
    "moment": _moment,
    "decimal": _typed(_DECIMAL, "decimal"),
    "duration": _typed(_DURATION, "duration"),
    "count": _typed(_COUNT, "nonNegativeInteger", 1),
    "hex": _typed(_HEX, "hexBinary"),
}


_FORMS = (*_LITERALS, "shape")
"""The kinds of values that are literals."""


def _shape(nodes: Graph, term: Term) -> Literal | None:
    """Return a geometry's text, which may have a node to itself; ``None`` if that has other notations, too."""
    if isinstance(term, Literal):
        return term
    node = nodes.get(term, {})
    written = [(name, each) for name, values in node.items() if name != TYPE for each in values]
    name, each = written[0] if len(written) == 1 else ("", "")
    if isinstance(each, Literal) and name in _SHAPES:
        return Literal(each.value, None, each.datatype or _SHAPES[name])
    return None


def mailbox(text: str) -> str | None:
    """Return a mail address as an IRI.

    >>> mailbox("ana@example.org"), mailbox("mailto: ana@example.org"), mailbox("ask us")
    ('mailto:ana@example.org', 'mailto:ana@example.org', None)
    """
    written = text.strip()
    written = written[7:].strip() if written[:7].lower() == "mailto:" else written
    return iri(f"mailto:{written}") if _MAILBOX.fullmatch(written) else None


def authority_iri(kind: str, text: str) -> str | None:
    """Return the IRI that an authority's table has for a text or for another table's IRI.

    >>> authority_iri(DCT + "Frequency", "http://purl.org/cld/freq/daily")
    'http://publications.europa.eu/resource/authority/frequency/DAILY'
    >>> authority_iri(DCT + "MediaTypeOrExtent", "csv"), authority_iri(DCT + "MediaTypeOrExtent", "text/csv")
    ('http://publications.europa.eu/resource/authority/file-type/CSV', 'https://www.iana.org/assignments/media-types/text/csv')
    """
    read = _TABLES.get(kind)
    return read(text.strip()) if read else None


def _frequency(text: str) -> str | None:
    code = frequency(text)
    return vocabularies.frequency(code) if code else None


def _language(text: str) -> str | None:
    tag = None if _SPACE.search(text) else language(text)
    return vocabularies.language(tag) if tag and "-" not in tag else None  # the EU's table has no regions


def _file_type(text: str) -> str | None:
    if named := media_type(text):
        return vocabularies.media_type(named)
    known = eu_file_type(text.removeprefix(AUTHORITY))
    return known.iri if known else None


def _media_type(text: str) -> str | None:
    known = media_type(text) or ((found := eu_file_type(text.removeprefix(AUTHORITY))) and found.media_type)
    return vocabularies.media_type(known) if known else None


_TABLES: dict[str, Callable[[str], str | None]] = {
    DCT + "Frequency": _frequency,
    DCT + "LinguisticSystem": _language,
    DCT + "MediaTypeOrExtent": _file_type,
    DCT + "MediaType": _media_type,
    DCT + "RightsStatement": values.access_right,
    DCT + "LicenseDocument": vocabularies.license,
}


def address(text: str, *, is_only: bool = False) -> str | None:
    """Return a text that is an address as an IRI.

    Args:
        is_only: whether nothing but an address stands there; it may have blanks.
    """
    first, *more = _SPACE.split(text.strip())
    return iri(text) if "://" in first and (is_only or not more) else None


# A description that conforms

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

    def _names(self, subject: str, rule: ProfileRule) -> list[Term]:
        if rule.property == VCARD + "hasEmail":
            return self.nodes.get(subject, {}).get(FOAF + "mbox", [])
        if rule.property not in _NAMES:
            return []
        known = None if is_blank(subject) else authority(subject)[0]
        return [*names(self.nodes, subject)] or ([Literal(known, "en")] if known else [])

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

    def _fits(self, term: Term, rule: ProfileRule, known: dict[tuple[str, str], bool]) -> bool:
        if rule.value in _FORMS:
            return literal_as(rule.value, self.nodes, term) is not None
        if rule.value == "mailbox":
            return mailbox(term.value if isinstance(term, Literal) else term) is not None
        if isinstance(term, Literal):
            found = address(term.value, is_only=rule.property in _ADDRESSES)
            is_text = bool(term.value) and rule.value not in _RESOURCES
            return found is not None if rule.value == "node" or rule.is_iri else is_text
        if rule.is_iri and is_blank(term):
            return False
        if rule.value == "node" or rule.value in self.nodes.get(term, {}).get(TYPE, ()):
            return True
        return rule.value not in _RESOURCES and self._is_possible(term, rule.value, known)

    def _apply(self, subject: str, rule: ProfileRule) -> None:
        node = self.nodes[subject]
        given = node[rule.property]
        if len(given) > 1 and self._are_one(given, rule):
            return
        node[rule.property] = list(dict.fromkeys(self._value(term, rule) for term in given))

    def _are_one(self, given: list[Term], rule: ProfileRule) -> bool:
        """Return whether values mean something together alone: too many of a form, translations, words to an IRI."""
        if rule.value in _FORMS:
            return rule.most is not None and len(given) > rule.most
        if rule.is_iri or rule.value in (*_TABLE_FIRST, *_RESOURCES, DCAT + "Distribution"):
            return False
        words = [each for each in given if isinstance(each, Literal)]
        return bool(words) and (len(words) < len(given) or any(each.language for each in words))

    def _value(self, term: Term, rule: ProfileRule) -> Term:
        """Return a value in the form that the profile asks for; as it is if there is none."""
        if rule.value in _FORMS:
            return literal_as(rule.value, self.nodes, term) or term
        if rule.value == "mailbox":
            return mailbox(term.value if isinstance(term, Literal) else term) or term
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

    def _node(self, term: Term, rule: ProfileRule) -> str | None:
        """Return a value as a node: an authority's if it has one for it."""
        if isinstance(term, str):
            is_named = rule.value in _TABLE_FIRST and term not in self.nodes and not is_blank(term)
            return (authority_iri(rule.value, term) if is_named else None) or term
        text = term.value.strip()
        found = address(text, is_only=rule.property in _ADDRESSES)
        is_more = "://" in text and (rule.value in _AGENTS or found is None)  # words and an address
        is_shape = rule.value == DCT + "Location" and not ((where := place(text)) and where.name)
        if not text or is_more or is_shape or (rule.value in _AGENTS and "@" in text):
            return None
        known = authority_iri(rule.value, text) or found
        if known or rule.is_iri or rule.value == "node" or rule.value in _RESOURCES:
            return known
        node = self.about.blank()
        self.about.say(node, _NAMINGS.get(rule.value, RDFS + "label"), term)
        return node

    def _bare_file(self, term: Term) -> Term:
        """Return a distribution that is written as an address, a text, as one that has it."""
        if isinstance(term, str) or not (found := address(term.value)):
            return term
        node = self.about.blank()
        self.about.say(node, DCAT + "accessURL", found)
        return node

    def _theme(self, term: Term) -> str | None:
        """Return the IRI of a theme: its own, the EU's of its label, of words else one that is made of them."""
        if isinstance(term, str):
            only = _only_name(self.nodes, term) if is_blank(term) else None
            return (only and vocabularies.theme(only)) or term
        text = term.value.strip()
        if not text:
            return None
        found = vocabularies.theme(text) or address(text)
        if found is None:
            found = minted("theme", text)
            self.about.say(found, SKOS + "prefLabel", term)
        return found
