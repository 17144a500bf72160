"""An object of a data.json, in which one thing may be a text, an object that says more of it, or a list of either."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.mapping import values
from crawlers.mapping.data_json.identifiers import iri
from crawlers.mapping.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LABELS = ("@value", "prefLabel", "label", "title", "name", "fn", "notation", "description", "@id")
_ADDRESSES = ("accessURL", "downloadURL", "endpointURL", "@id", "@value", "url")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*")
_DEEPEST = 3


def label(value: Any, deepest: int = _DEEPEST) -> str | None:
    """The text by which people know it: the English one, else the first.

    >>> label({"@type": "Concept", "@id": "https://example.org/water", "prefLabel": {"fr": "Eau", "en": "Water"}})
    'Water'
    >>> label([{"@language": "fr", "@value": "Eau"}, {"@language": "en", "@value": "Water"}]), label({"@id": "urn:a"})
    ('Water', 'urn:a')
    """
    if isinstance(value, str):
        return values.text(value)
    if not deepest:
        return None
    if isinstance(value, list):
        return _first(sorted(value, key=_is_foreign), deepest)
    if not isinstance(value, dict):
        return None
    named = [value[name] for name in _LABELS if name in value] or _translations(value)
    return _first(named, deepest)


def _translations(value: dict[str, Any]) -> list[Any]:
    return [value[name] for name in ("en", *value) if name in value and _LANGUAGE.fullmatch(name)]


def _first(found: list[Any], deepest: int) -> str | None:
    return next(filter(None, (label(one, deepest - 1) for one in found)), None)


def _is_foreign(value: Any) -> bool:
    language = value.get("@language") if isinstance(value, dict) else None
    return isinstance(language, str) and not language.startswith("en")


def _address(value: Any) -> str | None:
    if isinstance(value, dict):
        given = next((value[name] for name in _ADDRESSES if value.get(name)), None)
        value = given[0] if isinstance(given, list) else given
    return value if isinstance(value, str) else None


class Node(Record):
    """A `Record` whose texts may be objects with a label, language maps, or lists of them."""

    __slots__ = ()

    def many(self, *names: str) -> list[tuple[str, Any]]:
        """Each value of the first field that is not empty, and its place, whether the field is a list or not."""
        for name in names:
            value = self.value(name)
            if isinstance(value, list):
                return [(f"{name}[{position}]", one) for position, one in enumerate(value) if one is not None]
            if value is not None:
                return [(name, value)]
        return []

    def nodes(self, *names: str, text: Callable[[str], dict[str, Any] | None] | None = None) -> Iterator[Node]:
        """The objects among these values; ``text`` makes one of a text."""
        for place, value in self.many(*names):
            given = text(value) if text and isinstance(value, str) else value
            if isinstance(given, dict):
                yield self.node(place, given)
            elif given is not None:
                self._mistyped(place, value, "an object")

    def node(self, place: str, value: dict[str, Any]) -> Node:
        return Node(value, self.flaws, f"{self.path}{place}.")

    def written(self, place: str, value: Any) -> str | None:
        """One value as a text."""
        return self._text(place, value)

    def link(self, *names: str) -> str | None:
        """The first web address: a text's own, or that of an object which names one."""
        for name in names:
            value = self.fields.get(name)
            if isinstance(value, str):
                if found := values.url(value):
                    return found
            elif value and (found := self._link(name)):
                return found
        return None

    def words(self, *names: str) -> str | None:
        """All statements of a list, each but once."""
        return "\n\n".join(self.texts(*names)) or None

    def references(self, name: str) -> list[str]:
        """What stands elsewhere, by its IRI, else by its name."""
        found = (iri(value) or self.written(place, value) for place, value in self.many(name))
        return list(dict.fromkeys(filter(None, found)))

    def email(self, *names: str) -> str | None:
        return next(filter(None, (values.email(text) for name in names for text in self.texts(name))), None)

    def iri(self) -> str | None:
        return iri(self.data)

    def _link(self, name: str) -> str | None:
        for place, value in self.many(name):
            given = _address(value)
            if given is None:
                self._mistyped(place, value, "an address")
            elif found := values.url(given):
                return found
        return None

    def _text(self, name: str, value: Any) -> str | None:
        found = label(value) if isinstance(value, dict | list) else None
        return found or super()._text(name, value)
