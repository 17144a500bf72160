"""JMESPath's tree as functions that call each other: what its interpreter finds, in a fraction of the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jmespath.visitor import Options, TreeInterpreter  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable

    from jmespath.functions import Functions  # type: ignore[import-untyped]

    Node = dict[str, Any]
    Find = Callable[[Any], Any]


def compiled(node: Node, functions: Functions) -> Find:
    """Return the function that finds what a node of JMESPath's tree says.

    Args:
        functions: what it may call.
    """
    if build := _BUILDERS.get(node["type"]):
        return build(node, functions)
    interpreter = TreeInterpreter(Options(custom_functions=functions))
    return lambda value: interpreter.visit(node, value)


def _children(node: Node, functions: Functions) -> list[Find]:
    return [compiled(child, functions) for child in node["children"]]


def _is_false(value: Any) -> bool:
    """Return whether a value counts as false: zero does not."""
    return not value and (value is False or value != 0)


def _current(*_: Any) -> Find:
    return lambda value: value


def _literal(node: Node, _: Functions) -> Find:
    literal = node["value"]
    return lambda _: literal


def _field(node: Node, _: Functions) -> Find:
    name = node["value"]
    return lambda value: value.get(name) if isinstance(value, dict) else None


def _index(node: Node, _: Functions) -> Find:
    place = node["value"]

    def find(value: Any) -> Any:
        return value[place] if isinstance(value, list) and -len(value) <= place < len(value) else None

    return find


def _chain(node: Node, functions: Functions) -> Find:
    """Each child is looked up in what the one before it found."""
    if all(child["type"] == "field" for child in node["children"]):
        return _path([child["value"] for child in node["children"]])
    first, *rest = _children(node, functions)

    def find(value: Any) -> Any:
        found = first(value)
        for step in rest:
            found = step(found)
        return found

    return find


def _path(names: list[str]) -> Find:
    def find(value: Any) -> Any:
        for name in names:
            if not isinstance(value, dict):
                return None
            value = value.get(name)
        return value

    return find


def _or(node: Node, functions: Functions) -> Find:
    first, second = _children(node, functions)

    def find(value: Any) -> Any:
        found = first(value)
        return second(value) if _is_false(found) else found

    return find


def _and(node: Node, functions: Functions) -> Find:
    first, second = _children(node, functions)

    def find(value: Any) -> Any:
        found = first(value)
        return found if _is_false(found) else second(value)

    return find


def _list(node: Node, functions: Functions) -> Find:
    parts = _children(node, functions)
    return lambda value: None if value is None else [part(value) for part in parts]


def _object(node: Node, functions: Functions) -> Find:
    parts = [(child["value"], compiled(child["children"][0], functions)) for child in node["children"]]
    return lambda value: None if value is None else {name: part(value) for name, part in parts}


def _flatten(node: Node, functions: Functions) -> Find:
    (base,) = _children(node, functions)

    def find(value: Any) -> list[Any] | None:
        found = base(value)
        if not isinstance(found, list):
            return None
        return [part for each in found for part in (each if isinstance(each, list) else (each,))]

    return find


def _projection(node: Node, functions: Functions) -> Find:
    base, each = _children(node, functions)

    def find(value: Any) -> list[Any] | None:
        found = base(value)
        if not isinstance(found, list):
            return None
        return [part for part in map(each, found) if part is not None]

    return find


def _function(node: Node, functions: Functions) -> Find:
    name, parts = node["value"], _children(node, functions)
    return lambda value: functions.call_function(name, [part(value) for part in parts])


_BUILDERS: dict[str, Callable[[Node, Functions], Find]] = {
    "current": _current,
    "identity": _current,
    "literal": _literal,
    "field": _field,
    "index": _index,
    "subexpression": _chain,
    "index_expression": _chain,
    "pipe": _chain,
    "or_expression": _or,
    "and_expression": _and,
    "multi_select_list": _list,
    "multi_select_dict": _object,
    "flatten": _flatten,
    "projection": _projection,
    "function_expression": _function,
}
"""The nodes that most expressions are made of; comparisons, filters and slices are left to the interpreter."""
