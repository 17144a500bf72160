"""What the names in a JSON-LD document stand for, as far as schema.org's words go; nothing is fetched for it."""

from __future__ import annotations

import re
from collections import ChainMap
from itertools import islice
from typing import Any

SCHEMA = "https://schema.org/"

_WORD = re.compile(r"https?://(?:www\.)?schema\.org/([A-Za-z][\w-]*)", re.IGNORECASE)
_NAMES_SCHEMA = re.compile(r"(?:https?:)?(?://)?(?:www\.)?schema\.org(?:[/#].*)?", re.IGNORECASE | re.DOTALL)
_CUSTOMARY = {"schema": SCHEMA}
_ALIASES = {"id": "@id", "type": "@type"}  # schema.org's own context has them
_MOST = 20  # contexts of one object
_DEEPEST = 4  # terms that stand for terms


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
        """That of an object whose ``@context`` this is; names without a prefix are a named context's."""
        parts = list(islice(given, _MOST)) if isinstance(given, list) else [given]
        terms, vocabulary = self.terms, self.vocabulary
        if named := [one for one in parts if isinstance(one, str)]:
            vocabulary = SCHEMA if any(map(_NAMES_SCHEMA.fullmatch, named)) else f"{named[-1]}#"
        for part in parts:
            if isinstance(part, dict):
                terms = terms.new_child(part)
                given_vocabulary = part.get("@vocab")
                vocabulary = given_vocabulary if isinstance(given_vocabulary, str) else vocabulary
        return Context(terms, vocabulary)

    def name(self, term: str) -> str:
        """Of schema.org's words the bare one, whatever the document calls it."""
        if self.vocabulary == SCHEMA and term in _ALIASES and term not in self.terms:
            return _ALIASES[term]
        iri = self.iri(term)
        if word := _WORD.fullmatch(iri):
            return word[1]
        return iri if iri.startswith("@") or ":" not in term else term

    def iri(self, term: str, deepest: int = _DEEPEST) -> str:
        if term.startswith("@"):
            return term
        defined = self._defined(term)
        if defined and defined != term and deepest:
            return self.iri(defined, deepest - 1)
        return self.expanded(term) if ":" in term else self.vocabulary + term

    def expanded(self, address: str) -> str:
        """An IRI with a prefix written out; any other text as it is."""
        prefix, _, rest = address.partition(":")
        space = self._defined(prefix) or _CUSTOMARY.get(prefix)
        return space + rest if space and rest and not rest.startswith("//") else address

    def _defined(self, term: str) -> str | None:
        found = self.terms.get(term)
        if isinstance(found, dict):
            found = found.get("@id")
        return found if isinstance(found, str) else None
