"""A table of a rules file, read key by key: a key that is left at the end is a mistake, and so is a wrong type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from crawlers.exceptions import RulesError, hint

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

T = TypeVar("T")
_WORDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number", dict: "a table"}


class Table:
    """
    Args:
        path: its place in the file, for messages: ``fields.title``; "" for the file itself.
    """

    def __init__(self, content: Mapping[str, Any], path: str = "") -> None:
        self.left = dict(content)
        self.path = path
        self.asked: list[str] = []

    def name(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def value(self, key: str) -> Any:
        self.asked.append(key)
        return self.left.pop(key, None)

    def typed(self, key: str, kind: type[T], default: T) -> T:
        value = self.value(key)
        if value is None:
            return default
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise RulesError(f"{self.name(key)} is not {_WORDS[kind]}.")
        return value

    def text(self, key: str) -> str | None:
        return self.typed(key, str, "").strip() or None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a text or a list of texts as a tuple."""
        value = self.value(key)
        values = [] if value is None else [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(value, str) and value.strip() for value in values):
            raise RulesError(f"{self.name(key)} is neither a text nor a list of texts.")
        return tuple(values)

    def number(self, key: str, default: int, least: int) -> int:
        value = self.typed(key, int, default)
        if value < least:
            raise RulesError(f"{self.name(key)} is {value}, and must be {least} or more.")
        return value

    def table(self, key: str) -> Table | None:
        value = self.value(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise RulesError(f"{self.name(key)} is not a table.")
        return Table(value, self.name(key))

    def end(self, known: Collection[str] = ()) -> None:
        """
        Raises:
            RulesError: a key is left that nobody asked for; the message names the ones there are.
        """
        names = sorted({*self.asked, *known})
        for key in self.left:
            raise RulesError(f"{self.name(key)} is unknown.{hint(key, names)} There are: {', '.join(names)}.")
