"""Objects of JSON in which one thing may be a text, an object that says more of it, or a list of either."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

from crawlers.fields import specs
from crawlers.items import Agent, License, Relation
from crawlers.records import values
from crawlers.records.licenses import license as license_of
from crawlers.records.licenses import stated
from crawlers.records.periods import frequency
from crawlers.records.record import Record, is_language
from crawlers.records.values import relation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from crawlers.fields import Vocabulary

_LABELS = (
    *("@value", "prefLabel", "label", "title", "name", "fn", "notation", "description"),
    *("comment", "rdfs:comment", "attributionText", "@id"),
)
_ADDRESSES = ("accessURL", "downloadURL", "endpointURL", "@id", "@value", "url")
_LICENSE = {name: spec.data_json for name, spec in specs(License).items()}
_DEEPEST = 3
_NO_MOMENT = re.compile(r"R[0-9]*/|P[T0-9]|[{<$%]", re.IGNORECASE)
_SHOWN = 60
_IDENTIFIER = re.compile(r"[\w.+/-]+")
ADDRESS = re.compile(r"https?://[^\s<>\"'()]*[^\s<>\"'().,;:]")
"""A web address inside a text."""


class AgentNames:
    """What a vocabulary calls the properties of people and organisations.

    Args:
        parts: those of a person's name.
        above: the organisation that an agent without a name belongs to.
    """

    def __init__(self, vocabulary: Vocabulary, *, parts: tuple[str, ...], above: str = "") -> None:
        found = (specs(Agent)[name].names(vocabulary) for name in ("name", "uri", "email", "url"))
        self.names, (_, *self.iris), self.emails, self.pages = found  # the first IRI is an ``@id``
        self.parts, self.above = parts, above


class LinkedRecord(Record):
    """A `Record` whose values may be objects with a label, language maps, or lists of them."""

    __slots__ = ()

    def many(self, *names: str) -> list[tuple[str, Any]]:
        """Return each value of the first field that is not empty with its place, whether the field is a list or not."""
        for name in names:
            value = self.value(name)
            if isinstance(value, list):
                parts = enumerate(self.first(name, value))
                return [(f"{name}[{position}]", part) for position, part in parts if part is not None]
            if value is not None:
                return [(name, value)]
        return []

    def nodes(self, *names: str, text: Callable[[str], dict[str, Any] | None] | None = None) -> Iterator[Self]:
        """Yield the objects among these values; ``text`` makes an object of a text."""
        for place, value in self.many(*names):
            given = text(value) if text and isinstance(value, str) else value
            if isinstance(given, dict):
                yield self.node(place, given)
            elif given is not None:
                self.mistyped(place, value, "an object")

    def node(self, place: str, value: dict[str, Any]) -> Self:
        return type(self)(value, self.flaws, f"{self.path}{place}.")

    def link(self, *names: str) -> str | None:
        """Return the first web address: a text's own, or that of an object which names one."""
        for name in names:
            value = self.fields.get(name)
            if isinstance(value, str):
                if found := values.url(value):
                    return found
            elif value and (found := self._link(name)):
                return found
        return None

    def words(self, *names: str) -> str | None:
        """Return all statements of a list, each once."""
        return "\n\n".join(self.texts(*names)) or None

    def references(self, *names: str) -> list[str]:
        """Return what stands elsewhere by its IRI, else by its name."""
        for name in names:
            found = (iri(value) or self.as_text(place, value) for place, value in self.many(name))
            if references := list(dict.fromkeys(filter(None, found))):
                return references
        return []

    def email(self, *names: str) -> str | None:
        return next(filter(None, (values.email(text) for name in names for text in self.texts(name))), None)

    def iri(self) -> str | None:
        return iri(self.data)

    def moment(self, *names: str) -> str | None:
        """Return the first date that is not in the future; intervals and unfilled templates are not flaws."""
        for name in names:
            text = self.text(name) if name in self.fields else None
            found = values.date(text) if text else None
            if found and values.has_come(found):
                return found
            if text and not _NO_MOMENT.match(text) and not frequency(text):
                wrong = "in the future" if found else "no date"
                self.flaw(f"{self.path}{name} {text[:_SHOWN]!r} is {wrong}", name)
        return None

    def license(self) -> License | None:
        """Return the first licence that says anything: an address, a name, an object, or a licence's whole text."""
        return next(filter(None, (self._license(*given) for given in self.many("license"))), None)

    def agents(
        self, name: str, role: str, words: AgentNames, text: Callable[[str], dict[str, Any] | None]
    ) -> Iterator[Agent]:
        """Yield the people and organisations under a property; ``text`` makes an object of a text."""
        for node in self.nodes(name, text=text):
            agent = Agent(
                name=agent_name(node, words, text),
                uri=node.iri() or next(_addresses(node, words.iris), None),
                email=node.email(*words.emails),
                url=node.link(*words.pages),
                role=role,
            )
            if agent.name or agent.uri or agent.email or agent.url:
                yield agent

    def as_text(self, place: str, value: Any) -> str | None:
        found = label(value) if isinstance(value, dict | list) else None
        return found or super().as_text(place, value)

    def _license(self, place: str, value: Any) -> License | None:
        if isinstance(value, dict):
            given = self.node(place, value)
            name, title = given.text(*_LICENSE["id"]), given.text(*_LICENSE["title"], "@value")
            return license_of(name, given.link(*_LICENSE["uri"]) or iri(value), title)
        text = self.as_text(place, value)
        return _stated(text) if text else None

    def _link(self, name: str) -> str | None:
        for place, value in self.many(name):
            given = _address(value)
            if given is None:
                self.mistyped(place, value, "an address")
            elif found := values.url(given):
                return found
        return None


def agent_name(
    node: LinkedRecord, words: AgentNames, text: Callable[[str], dict[str, Any] | None], highest: int = 10
) -> str | None:
    """Return an agent's own name; a person's two parts; else the name of the organisation it belongs to."""
    if found := node.text(*words.names):
        return found
    if any(part in node.fields for part in words.parts):
        return " ".join(filter(None, map(node.text, words.parts))) or None
    above = node.nodes(words.above, text=text) if highest and words.above else ()
    return next(filter(None, (agent_name(part, words, text, highest - 1) for part in above)), None)


def _addresses(node: LinkedRecord, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        for _, value in node.many(name):
            if isinstance(value, str) and (found := values.url(value)):
                yield found


def _stated(text: str) -> License | None:
    """
    >>> _stated("https://creativecommons.org/publicdomain/zero/1.0/").id, _stated("CC-BY-4.0").id
    ('CC0-1.0', 'CC-BY-4.0')
    >>> _stated("U.S. Government Work").title, _stated("You may copy, so long as you " + "do so " * 50).text[:12]
    ('U.S. Government Work', 'You may copy')
    """
    if _IDENTIFIER.fullmatch(text):
        return license_of(text)
    address = ADDRESS.search(text)
    return stated(text, address[0] if address else None)


def iri(value: Any) -> str | None:
    """Return the ``@id`` of an object, or a text that is an IRI; blank nodes have none.

    >>> iri({"@id": "https://example.org/a"}), iri("urn:a:1"), iri("a: b"), iri("_:b0")
    ('https://example.org/a', 'urn:a:1', None, None)
    """
    given = value.get("@id") if isinstance(value, dict) else value
    text = values.text(given) if isinstance(given, str) else None
    return text if text and ":" in text and not text.startswith("_:") and not any(map(str.isspace, text)) else None


def label(value: Any, deepest: int = _DEEPEST) -> str | None:
    """Return the best-known name of something: the English one, else the first.

    >>> label({"@type": "Concept", "@id": "https://example.org/water", "prefLabel": {"fr": "Eau", "en": "Water"}})
    'Water'
    >>> label([{"@language": "fr", "@value": "Eau"}, {"@language": "en", "@value": "Water"}]), label({"@id": "urn:a"})
    ('Water', 'urn:a')
    """
    if isinstance(value, str):
        return values.text(value)
    if not deepest or not isinstance(value, list | dict):
        return None
    if isinstance(value, list):
        found = sorted(value, key=_is_foreign)
    else:
        named = [value[name] for name in _LABELS if name in value]
        found = named or [value[name] for name in ("en", *value) if name in value and is_language(name)]
    return next(filter(None, (label(part, deepest - 1) for part in found)), None)


def _is_foreign(value: Any) -> bool:
    language = value.get("@language") if isinstance(value, dict) else None
    return isinstance(language, str) and not language.startswith("en")


def _address(value: Any) -> str | None:
    if isinstance(value, dict):
        given = next((value[name] for name in _ADDRESSES if value.get(name)), None)
        value = given[0] if isinstance(given, list) else given
    return value if isinstance(value, str) else None


def related(fields: LinkedRecord, name: str, role: str) -> Iterator[Relation]:
    """Yield what the values of a field stand for: things with an IRI, a title or both."""
    for place, value in fields.many(name):
        title = label(value) if isinstance(value, dict) else None
        text = iri(value) or (fields.as_text(place, value) if title is None else None)
        if found := relation(text or "", role, title if title != text else None):
            yield found
