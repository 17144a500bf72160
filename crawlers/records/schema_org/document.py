"""A JSON-LD document in the plain shape of records: schema.org's words bare, addresses absolute, no contexts."""

from __future__ import annotations

import re
from collections import ChainMap
from itertools import islice
from typing import Any

from crawlers.records.geometries import geometry, is_geojson
from crawlers.records.schema_org.addresses import resolved

SCHEMA = "https://schema.org/"

_WORD = re.compile(r"https?://(?:www\.)?schema\.org/([A-Za-z][\w-]*)", re.IGNORECASE)
_NAMES_SCHEMA = re.compile(r"(?:https?:)?(?://)?(?:www\.)?schema\.org(?:[/#].*)?", re.IGNORECASE | re.DOTALL)
_CUSTOMARY = {"schema": SCHEMA}
_ALIASES = {"id": "@id", "type": "@type"}  # schema.org's own context has them
_MOST = 20  # contexts of one object
_DEEPEST_TERM = 4  # terms that stand for terms
_DEEPEST = 40


class Context:
    """
    >>> plain, prefixed = Context(), Context().inner([{"s": "http://schema.org/", "title": {"@id": "s:name"}}])
    >>> plain.name("name"), plain.name("http://www.schema.org/name"), plain.name("schema:name"), plain.name("type")
    ('name', 'name', 'name', '@type')
    >>> prefixed.name("s:name"), prefixed.name("title"), prefixed.name("dct:title")
    ('name', 'name', 'dct:title')
    >>> Context().inner({"@vocab": "http://www.w3.org/ns/dcat#"}).name("Dataset")
    'http://www.w3.org/ns/dcat#Dataset'
    """

    __slots__ = ("terms", "vocabulary")

    def __init__(self, terms: ChainMap[str, Any] | None = None, vocabulary: str = SCHEMA) -> None:
        self.terms: ChainMap[str, Any] = ChainMap() if terms is None else terms
        self.vocabulary = vocabulary

    def inner(self, given: Any) -> Context:
        """Return the context of an object with this ``@context``; names without a prefix are a named context's."""
        parts = list(islice(given, _MOST)) if isinstance(given, list) else [given]
        terms, vocabulary = self.terms, self.vocabulary
        if named := [each for each in parts if isinstance(each, str)]:
            vocabulary = SCHEMA if any(map(_NAMES_SCHEMA.fullmatch, named)) else f"{named[-1]}#"
        for part in parts:
            if isinstance(part, dict):
                terms = terms.new_child(part)
                given_vocabulary = part.get("@vocab")
                vocabulary = given_vocabulary if isinstance(given_vocabulary, str) else vocabulary
        return Context(terms, vocabulary)

    def name(self, term: str) -> str:
        """Return schema.org's words without a prefix, whatever the document calls them."""
        if self.vocabulary == SCHEMA and term in _ALIASES and term not in self.terms:
            return _ALIASES[term]
        iri = self.iri(term)
        if word := _WORD.fullmatch(iri):
            return word[1]
        return iri if iri.startswith("@") or ":" not in term else term

    def iri(self, term: str, deepest: int = _DEEPEST_TERM) -> str:
        if term.startswith("@"):
            return term
        defined = self._defined(term)
        if defined and defined != term and deepest:
            return self.iri(defined, deepest - 1)
        return self.expanded(term) if ":" in term else self.vocabulary + term

    def expanded(self, address: str) -> str:
        """Return an IRI with its prefix written out; any other text as it is."""
        prefix, _, rest = address.partition(":")
        space = self._defined(prefix) or _CUSTOMARY.get(prefix)
        return space + rest if space and rest and not rest.startswith("//") else address

    def _defined(self, term: str) -> str | None:
        found = self.terms.get(term)
        if isinstance(found, dict):
            found = found.get("@id")
        return found if isinstance(found, str) else None


class Allowance:
    """
    >>> allowance = Allowance(3)
    >>> allowance.take(2), allowance.take(2), allowance.take(0)
    (True, False, False)
    """

    __slots__ = ("left",)

    def __init__(self, amount: int) -> None:
        self.left = amount

    def take(self, amount: int = 1) -> bool:
        """Take an amount; return whether that much was left. Once it was not, nothing is."""
        self.left = max(-1, self.left - amount)
        return self.left >= 0

    @property
    def spent(self) -> bool:
        return self.left < 0


class Document:
    """
    Args:
        base: the address that relative ones are against.
        scope: tells the blank nodes of this document from those of another.

    >>> given = {"@context": {"s": "http://schema.org/"}, "@type": "s:Dataset", "s:name": [{"@value": "Rivers"}]}
    >>> Document("https://example.org/", "", Allowance(9)).plain(given)
    {'@type': 'Dataset', 'name': ['Rivers']}
    """

    def __init__(self, base: str, scope: str, allowance: Allowance) -> None:
        self.base = base
        self.scope = scope
        self.allowance = allowance

    def plain(self, value: Any, context: Context | None = None, name: str = "", deepest: int = _DEEPEST) -> Any:
        """Return a value in plain shape; ``None`` for what is nested too deep, or too large."""
        if not self.allowance.take() or not deepest:
            return None
        context = context or Context()
        if isinstance(value, str):
            return resolved(name, value, self.base)
        if isinstance(value, list):
            found = [self.plain(each, context, name, deepest - 1) for each in value]
            return [each for each in found if each is not None]
        return self._object(value, context, name, deepest - 1) if isinstance(value, dict) else value

    def _object(self, value: dict[str, Any], context: Context, name: str, deepest: int) -> Any:
        if "coordinates" in value and is_geojson(value):  # its type is none of JSON-LD's
            given = value["coordinates"]
            return {
                "type": value["type"],
                "coordinates": given if geometry(value) else self.plain(given, deepest=deepest),
            }
        if "@context" in value:
            context = context.inner(value["@context"])
        for wrapped in ("@list", "@set", *(() if "@language" in value else ("@value",))):
            if wrapped in value:
                return self.plain(value[wrapped], context, name, deepest)
        found: dict[str, Any] = {}
        for term, each in value.items():
            if term != "@context" and (key := context.name(term)) not in found:
                plain = self._property(key, each, context, deepest)
                if plain is not None:
                    found[key] = plain
        return found

    def _property(self, key: str, value: Any, context: Context, deepest: int) -> Any:
        if key == "@type":
            return _types(value, context)
        if key == "@id":
            return self._id(value, context) if isinstance(value, str) else None
        return self.plain(value, context, key, deepest)

    def _id(self, value: str, context: Context) -> str | None:
        if value.startswith("_:"):
            return f"_:{self.scope}{value[2:]}"
        return resolved("@id", context.expanded(value), self.base) or None


def _types(value: Any, context: Context) -> str | list[str] | None:
    names = [context.name(each) for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    return names if isinstance(value, list) else next(iter(names), None)
