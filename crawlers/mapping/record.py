"""A record as a portal gave it, read field by field: any JSON may stand anywhere, and nothing here raises."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from crawlers.mapping import values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

FLAWS = 20
"""A broken record says this many times what is broken, then that there is more."""

_EMPTY: tuple[Any, ...] = (None, "", [], {})
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]+)*")
_LONGEST_NUMBER = 10**30
_TYPES = {str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object"}


class Record:
    """Typed reading of one JSON object.

    ``data`` is the object; CKAN's ``extras``, in whatever form, are read as if they were fields of it. What is of
    another type than it should be adds a sentence to ``flaws``, which the records inside this one share. ``path`` says
    where in the whole record this one stands: ``resources[3].``. Every getter takes names in order of preference and
    gives the first one's value.
    """

    __slots__ = ("data", "fields", "flaws", "path")

    def __init__(self, data: dict[str, Any], flaws: list[str] | None = None, path: str = "") -> None:
        self.data = data
        self.flaws: list[str] = [] if flaws is None else flaws
        self.path = path
        self.fields = data
        if "extras" in data:
            given = {name: value for name, value in data.items() if value or value not in _EMPTY}
            self.fields = self._extras() | given

    def value(self, name: str) -> Any:
        """The field as it is, ``None`` where it is absent or empty."""
        found = self.fields.get(name)
        return found if found or found not in _EMPTY else None

    def text(self, *names: str) -> str | None:
        for name in names:
            value = self.fields.get(name)
            if isinstance(value, str):
                text = values.text(value)
            else:
                text = None if value is None or value in _EMPTY else self._text(name, value)
            if text:
                return text
        return None

    def texts(self, *names: str) -> list[str]:
        """A list, a list as JSON or PostgreSQL write it, or one text: always a list without repetitions."""
        for name in names:
            value = self.value(name)
            if value is not None and (found := self._texts(name, value)):
                return found
        return []

    def read(self, reader: Callable[[str], T | None], *names: str) -> T | None:
        """The text as ``reader`` understands it; what it does not is no flaw, catalogues are full of "n/a"."""
        for name in names:
            if name in self.fields and (text := self.text(name)) and (found := reader(text)) is not None:
                return found
        return None

    def date(self, *names: str) -> str | None:
        return self.read(values.date, *names)

    def url(self, *names: str) -> str | None:
        return self.read(values.url, *names)

    def email(self, *names: str) -> str | None:
        return self.read(values.email, *names)

    def object(self, name: str) -> Record | None:
        value = self.value(name)
        if isinstance(value, dict):
            return Record(value, self.flaws, f"{self.path}{name}.")
        if value is not None:
            self._mistyped(name, value, "an object")
        return None

    def objects(self, name: str) -> Iterator[Record]:
        """The objects of a list; ``path`` keeps their position in it."""
        for position, value in self._objects(name):
            yield Record(value, self.flaws, f"{self.path}{name}[{position}].")

    def labels(self, name: str, *keys: str) -> list[str]:
        """One text for each object of a list, from the first of ``keys`` it has; old CKANs list bare texts."""
        found = (self._label(f"{name}[{position}]", value, keys) for position, value in enumerate(self._list(name)))
        return list(dict.fromkeys(filter(None, found)))

    def flaw(self, sentence: str) -> None:
        if sentence in self.flaws:
            return
        if len(self.flaws) < FLAWS:
            self.flaws.append(sentence)
        elif len(self.flaws) == FLAWS:
            self.flaws.append("the record has more flaws than these")

    def _list(self, name: str) -> list[Any]:
        value = self.value(name)
        if isinstance(value, list):
            return value
        if value is not None:
            self._mistyped(name, value, "a list")
        return []

    def _objects(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        for position, value in enumerate(self._list(name)):
            if isinstance(value, dict):
                yield position, value
            else:
                self._mistyped(f"{name}[{position}]", value, "an object")

    def _label(self, place: str, value: Any, keys: tuple[str, ...]) -> str | None:
        if not isinstance(value, dict):
            return self._text(place, value)
        for key in keys:
            inner = value.get(key)
            if inner and (text := self._text(f"{place}.{key}", inner)):
                return text
        if not any(value.get(key) for key in keys):
            self.flaw(f"{self.path}{place} has no {keys[-1]}")
        return None

    def _text(self, name: str, value: Any) -> str | None:
        if isinstance(value, str):
            return values.text(value)
        if isinstance(value, int | float):
            return _number(value)
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            return values.text("; ".join(value))
        found = _translation(value, str) if isinstance(value, dict) else None
        if not found:
            self._mistyped(name, value, "a text")
        return found and values.text(found)

    def _texts(self, name: str, value: Any) -> list[str]:
        if isinstance(value, str):
            value = _listed(value)
        if isinstance(value, dict):
            value = _translation(value, list) or value
        if not isinstance(value, list):
            value = [value]
        return list(dict.fromkeys(filter(None, [self._text(name, one) for one in value])))

    def _mistyped(self, name: str, value: Any, wanted: str) -> None:
        self.flaw(f"{self.path}{name} is {_TYPES.get(type(value), 'null')}, not {wanted}")

    def _extras(self) -> dict[str, Any]:
        """CKAN lists ``{key, value}``, versions before 2.0 gave one object."""
        value = self.data["extras"]
        if isinstance(value, dict):
            return value
        pairs = ((one.get("key"), one.get("value")) for _, one in self._objects("extras"))
        return {key: _unquoted(value) for key, value in pairs if isinstance(key, str)}


def parse(text: str) -> Any:
    """JSON inside a text, ``None`` where it is none.

    >>> parse('{"a": 1}')
    {'a': 1}
    >>> parse("[" * 100_000)
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _number(value: float) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    written = isfinite(value) if isinstance(value, float) else abs(value) < _LONGEST_NUMBER
    return str(value) if written else None


def _unquoted(value: Any) -> Any:
    """Old CKANs give extras as JSON: a text has its quotes about it."""
    if isinstance(value, str) and value[:1] == value[-1:] == '"':
        return parse(value) or value
    return value


def _listed(text: str) -> Any:
    text = text.strip()
    if text.startswith("[") and isinstance(found := parse(text), list):
        return found
    if text.startswith("{") and text.endswith("}"):
        return parse(text) or [one.strip(' "') for one in text[1:-1].split(",")]
    return text


def _translation(value: dict[str, Any], kind: type[T]) -> T | None:
    """Of ckanext-fluent's ``{"en": ..., "fr": ...}`` the English, else the first."""
    for key in ("en", *value):
        found = value.get(key)
        if found and isinstance(found, kind) and _LANGUAGE.fullmatch(key):
            return found
    return None
