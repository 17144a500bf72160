"""What the texts of a declaration are: JMESPath over JSON, or templates of addresses with names in braces."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import jmespath  # type: ignore[import-untyped]
from jmespath.exceptions import JMESPathError  # type: ignore[import-untyped]
from jmespath.lexer import Lexer  # type: ignore[import-untyped]

from crawlers.exceptions import RulesError, hint
from crawlers.kinds.api.compiled import compiled
from crawlers.kinds.api.functions import Functions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

_NAME = re.compile(r"\{(\w{1,60})\}")
_TEMPLATE = ("{portal}", "{host}", "https://", "http://")
_LONGEST = 4_000
_UNFILLED: tuple[Any, ...] = (None, "", [], {})


class ExpressionError(ValueError):
    """An expression met a value that it can't read: ``contains`` of null, ``join`` of a text."""


@dataclass(frozen=True, slots=True)
class Expression:
    """JMESPath that is compiled once; call it with the JSON it reads.

    Args:
        text: as the declaration has it.
    """

    text: str
    _search: Callable[[Any], Any] = field(repr=False, compare=False)

    def __call__(self, value: Any) -> Any:
        """
        Raises:
            ExpressionError: the value is not what the expression can read.
        """
        try:
            return self._search(value)
        except Exception as error:  # noqa: BLE001 -- JMESPath's functions raise anything when they meet any JSON
            why = " ".join(str(error).split())[:200]
            raise ExpressionError(f"{type(error).__name__}: {why}") from None

    def find(self, value: Any) -> Any:
        """Return what it finds; nothing where it can't read the value."""
        try:
            return self(value)
        except ExpressionError:
            return None


def expression(text: str, where: str, language: str = "en") -> Expression:
    """Return compiled JMESPath.

    Args:
        where: the key that has it, for messages.
        language: the one that ``lang()`` prefers.

    Raises:
        RulesError: it is not JMESPath, calls an unknown function, or has a fallback that can never be taken.
    """
    if len(text) > _LONGEST:
        raise RulesError(f"{where} has {len(text)} characters, and may have {_LONGEST}.")
    functions = Functions(language)
    try:
        tree = jmespath.compile(text).parsed
        find = compiled(tree, functions)
    except (JMESPathError, ValueError, RecursionError) as error:
        raise RulesError(f"{where} is not JMESPath: {_why(error)}: {text}") from None
    _check(tree, functions, where, text)
    return Expression(text, find)


def _why(error: Exception) -> str:
    return " ".join(str(error).split())[:160].rstrip(".:")


def _check(tree: dict[str, Any], functions: Functions, where: str, text: str) -> None:
    """Refuse what compiles but can't be meant."""
    for node in _nodes(tree):
        if node["type"] == "function_expression":
            _check_call(node, functions, where, text)
    if _is_fallback_in_pipe(text):
        raise RulesError(
            f"{where}: `a | b || c` is `a | (b || c)`, so c is looked up in what a gives. "
            f"Write `(a | b) || c`, or `a | (b || c)` if that is meant: {text}"
        )


def _check_call(node: dict[str, Any], functions: Functions, where: str, text: str) -> None:
    name, known = node["value"], functions.FUNCTION_TABLE
    if name not in known:
        raise RulesError(f"{where} calls {name}(), which is unknown.{hint(name, known)}: {text}")
    declared = known[name]["signature"]
    fits = len(node["children"]) == len(declared) or any(one.get("variadic") for one in declared)
    if not fits:
        raise RulesError(f"{where}: {name}() takes {len(declared)} values, not {len(node['children'])}: {text}")


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict) and "type" in node:
            yield node
            waiting += node.get("children") or []


def _is_fallback_in_pipe(text: str) -> bool:
    """Return whether ``||`` stands after ``|`` without a bracket of its own.

    >>> [_is_fallback_in_pipe(text) for text in ("a | [0] || b", "(a | [0]) || b", "a | (b || c)")]
    [True, False, False]
    >>> [_is_fallback_in_pipe(text) for text in ("a || b | [0]", "{x: a | b, y: c || d}", "'|' || b")]
    [False, False, False]
    """
    piped = [False]
    for token in Lexer().tokenize(text):
        match token["type"]:
            case "lparen" | "lbrace" | "lbracket" | "filter":
                piped.append(False)
            case "rparen" | "rbrace" | "rbracket" if len(piped) > 1:
                piped.pop()
            case "comma":
                piped[-1] = False
            case "pipe":
                piped[-1] = True
            case "or" if piped[-1]:
                return True
    return False


# Templates


@dataclass(frozen=True, slots=True)
class Template:
    """A text with names in braces: ``{portal}/dataset/{id}``.

    Args:
        text: as the declaration has it.
    """

    text: str
    _parts: list[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_parts", _NAME.split(self.text))

    @property
    def names(self) -> list[str]:
        """The names that it needs, each as often as it stands there."""
        return self._parts[1::2]

    def fill(self, values: Mapping[str, Any]) -> str | None:
        """Return the text with the values as they are; ``None`` where one of them is missing."""
        return self._filled(values, lambda _, value: value)

    def address(self, values: Mapping[str, Any]) -> str | None:
        """Return the address, its values percent-encoded, but for those that are addresses; ``None`` if one is missing.

        >>> Template("{portal}/dataset/{id}").address({"portal": "https://a.org/x", "id": "b/c ü"})
        'https://a.org/x/dataset/b%2Fc%20%C3%BC'
        """
        return self._filled(values, _encoded)

    def _filled(self, values: Mapping[str, Any], written: Callable[[str, str], str]) -> str | None:
        parts = self._parts.copy()
        for place in range(1, len(parts), 2):
            value = values.get(parts[place])
            if value in _UNFILLED or isinstance(value, bool | list | dict):
                return None
            parts[place] = written(parts[place], str(value))
        return "".join(parts)


def _encoded(name: str, value: str) -> str:
    return value if name in ("portal", "host") else quote(value, safe="", errors="replace")


def template(text: str, where: str, known: Collection[str]) -> Template:
    """
    Args:
        known: the names that may stand in braces.

    Raises:
        RulesError: nobody fills a name.
    """
    found = Template(text)
    for name in found.names:
        if name not in known:
            names = ", ".join(f"{{{each}}}" for each in sorted(known))
            raise RulesError(f"{where}: nobody fills {{{name}}}.{hint(name, known)} There are: {names}.")
    return found


def is_template(text: str) -> bool:
    """Return whether a text is the template of an address: no JMESPath begins so."""
    return text.startswith(_TEMPLATE)
