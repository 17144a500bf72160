"""A repository's ``ckan_ecosystem.yaml``, in which an extension describes itself: read without running or growing."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import yaml

NAME = "ckan_ecosystem.yaml"
_LONGEST = 64 * 1024  # characters
_NODES = 10_000
_DEPTH = 50
_BITS = 63  # of a whole number


def read(text: Any, *, is_cut: bool = False) -> dict[str, Any]:
    r"""Return what a file says, else its text and what is wrong with it; without a file, nothing but that.

    Args:
        text: the file's; ``None`` if there is no such file, or no text in it.
        is_cut: whether the forge gives only the beginning.

    >>> read("type: extension\nsince: 2024-05-01")["ckan_ecosystem"]
    {'type': 'extension', 'since': '2024-05-01'}
    >>> read("a: &x [1]\nb: *x")["ckan_ecosystem_error"]
    'ckan_ecosystem.yaml is not read: it has aliases'
    """
    if not isinstance(text, str):
        return _facts()
    if is_cut or len(text) > _LONGEST:
        return _facts(error=f"it has more than {_LONGEST} characters")
    try:
        _check(text)
        found = _plain(yaml.safe_load(text))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return _facts(text=text, error=" ".join(str(error).split()))
    except (LookupError, AttributeError, TypeError):  # PyYAML's, where a tag claims what the value is not: !!int ""
        return _facts(text=text, error="a value is not of its type")
    if not isinstance(found, dict):
        return _facts(text=text, error="it has no names and values")
    return _facts(found)


def _facts(found: dict[str, Any] | None = None, text: str | None = None, error: str | None = None) -> dict[str, Any]:
    sentence = error and f"{NAME} is not read: {error}"
    return {"ckan_ecosystem": found, "ckan_ecosystem_text": text, "ckan_ecosystem_error": sentence}


def _check(text: str) -> None:
    """Refuse what would grow when it is written as JSON, or is too deep to be read.

    Raises:
        ValueError: it has aliases, or too many nodes.
    """
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it has aliases")  # noqa: TRY004
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if number > _NODES or depth > _DEPTH:
            raise ValueError(f"it has more than {_NODES} nodes or {_DEPTH} levels")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, set):
        return sorted(map(str, value))  # it has no order of its own
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, date):  # a datetime, too
        return value.isoformat()
    if isinstance(value, int | float):
        return _number(value)
    return value if value is None or isinstance(value, str) else str(value)


def _number(value: float) -> float | None:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value.bit_length() > _BITS:
        raise ValueError("a number in it is too large")
    return value
