"""A table of a declaration: its keys take texts, addresses and expressions, and a mistake is named with its key."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, TypeVar

from crawlers.exceptions import RulesError, hint
from crawlers.kinds.api.declaration import Header
from crawlers.kinds.api.expressions import Expression, Template, expression, is_template, template
from crawlers.records import toml
from crawlers.records.values import url
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from dataclasses import Field

    from crawlers.kinds.api.declaration import Filler, Sought

T = TypeVar("T")

PORTAL = frozenset(("portal", "host"))
"""The names that any template may have."""
SECRETS = (
    'which never stands in a file: send it as a header, from the environment: headers = { X-Token = { env = "NAME" } }.'
)
"""The end of the sentence about a secret in a declaration."""
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")
_BEGINNING = re.compile(r"\{portal\}(?:[/?#]|$)|https?://.")


class Table(toml.Table):
    """
    Args:
        path: its place in the file, for messages.
        language: the one that ``lang()`` prefers.
    """

    def __init__(self, content: Mapping[str, Any], path: str = "", language: str = "en") -> None:
        super().__init__(content, path)
        self.language = language

    def table(self, key: str) -> Table | None:
        found = super().table(key)
        return None if found is None else Table(found.left, found.path, self.language)

    def part(self, key: str, read: Callable[[Table], T]) -> T | None:
        """Return what is read of a table; ``None`` if there is none."""
        found = self.table(key)
        return None if found is None else read(found)

    def required(self, key: str) -> Table:
        found = self.table(key)
        if found is None:
            raise RulesError(f"[{self.name(key)}] is missing.")
        return found

    def tables(self, key: str) -> Iterator[Table]:
        value = [] if key not in self.left else self.value(key)
        found = [value] if isinstance(value, dict) else value
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise RulesError(f"{key} is not a table: write [[{key}]].")
        yield from (Table(one, f"{key}[{place}]", self.language) for place, one in enumerate(found))

    def read(self, kind: type[T], known: Collection[str] = PORTAL, /, **given: Any) -> T:
        """Return what the whole table says as a dataclass: each field is a key, and its type says what that takes.

        Args:
            known: the names that its templates may have.
            given: the fields that were read otherwise.
        """
        for field in fields(kind):  # type: ignore[arg-type]
            if field.name not in given:
                given[field.name] = self._field(field, known)
        self.end()
        return kind(**given)

    def _field(self, field: Field[Any], known: Collection[str]) -> Any:
        if field.name in self.left:
            return _READERS[str(field.type).removesuffix(" | None")](self, field.name, known)
        return self.needed(field.name) if field.default is MISSING else self.value(field.name) or field.default

    def text(self, key: str) -> str | None:
        """Return a text; ``None`` if there is none.

        Raises:
            RulesError: it is empty, which nobody means.
        """
        is_given, text = key in self.left, super().text(key)
        if is_given and text is None:
            raise RulesError(f"{self.name(key)} is empty: write a value, or leave it out.")
        return text

    def needed(self, key: str) -> str:
        text = self.text(key)
        if text is None:
            raise RulesError(f"{self.name(key)} is missing.")
        return text

    def choice(self, key: str, names: Collection[str]) -> str | None:
        value = self.text(key)
        if value is not None and value not in names:
            message = f"{self.name(key)} is {value!r}, and must be one of {', '.join(names)}.{hint(value, names)}"
            raise RulesError(message)
        return value

    def template(self, key: str, known: Collection[str]) -> Template:
        """
        Args:
            known: the names that it may have.
        """
        found = template(self.needed(key), self.name(key), known)
        _check_address(found, self.name(key))
        return found

    def address(self, key: str, known: Collection[str] = PORTAL) -> Template:
        """Return the template of a web address."""
        return address(self.needed(key), self.name(key), known)

    def expression(self, key: str) -> Expression:
        return expression(self.needed(key), self.name(key), self.language)

    def optional(self, key: str) -> Expression | None:
        """Return an expression; ``None`` if there is none."""
        return self.expression(key) if key in self.left else self.value(key)

    def sought(self, key: str) -> Sought | None:
        """Return an expression, or the header that ``{ header = "Link" }`` names; ``None`` if there is none."""
        if not isinstance(self.left.get(key), dict):
            return self.optional(key)
        table = self.required(key)
        name = table.needed("header")
        table.end()
        if not _HEADER.fullmatch(name):
            raise RulesError(f"{table.name('header')} is {name[:80]!r}, and must be the name of a header: Link.")
        return Header(header=name)

    def filler(self, key: str, known: Collection[str]) -> Filler:
        """Return a template if the text begins as one, else an expression."""
        is_address = isinstance(text := self.left.get(key), str) and is_template(text.strip())
        return self.template(key, known) if is_address else self.expression(key)

    def fields(self, names: Collection[str], known: Collection[str]) -> dict[str, Filler]:
        self.asked += names
        return {name: self.filler(name, known) for name in list(self.left) if name in names}


_READERS: dict[str, Callable[[Table, str, Collection[str]], Any]] = {
    "str": lambda table, key, _: table.needed(key),
    "int": lambda table, key, _: table.number(key, 1, 1),
    "bool": lambda table, key, _: table.typed(key, bool, False),
    "tuple[str, ...]": lambda table, key, _: table.texts(key),
    "Expression": lambda table, key, _: table.expression(key),
    "Sought": lambda table, key, _: table.sought(key),
    "Template": lambda table, key, known: table.address(key, known),
    "Filler": lambda table, key, known: table.filler(key, known),
}
"""What reads a key that is there, by the type of its field."""


def address(text: str, where: str, known: Collection[str]) -> Template:
    """Return the template of a web address.

    Raises:
        RulesError: what it makes could not be requested.
    """
    found = template(text, where, known)
    _check_address(found, where)
    filled = {"portal": "https://example.org", "host": "example.org"}
    made = found.address(dict.fromkeys(found.names, "x") | filled)
    if not _BEGINNING.match(text) or not made or not url(made):
        raise RulesError(f"{where} is {text[:80]!r}, and must begin with {{portal}}/, https:// or http://.")
    return found


def _check_address(found: Template, where: str) -> None:
    """Refuse a template that says a user's password, or the value of a parameter that is one."""
    text = found.fill(dict.fromkeys(found.names, " ")) or ""
    if redact(text) != text:
        raise RulesError(f"{where} may have a secret, {SECRETS}")
