"""The fields of a page that a spider class says in Python: its methods ``field_title``, ``field_license`` ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import ArgumentError, hint
from crawlers.kinds.html.rules.rules import FIELDS

if TYPE_CHECKING:
    from crawlers.kinds.html.mapping import Page

_PREFIX = "field_"
Methods = dict[str, Callable[["Page"], Any]]
"""By the field's name."""


def methods(spider: object) -> Methods:
    """Return the methods of a spider that say a field.

    Raises:
        ArgumentError: there is no such field.
    """
    names = [name.removeprefix(_PREFIX) for name in dir(type(spider)) if name.startswith(_PREFIX)]
    for name in names:
        if name not in FIELDS:
            sentence = f"{_PREFIX}{name}: there is no field {name!r}.{hint(name, FIELDS)}"
            raise ArgumentError(f"{sentence} There are: {', '.join(FIELDS)}.")
    return {name: getattr(spider, _PREFIX + name) for name in names}


def read(known: Methods, page: Page) -> dict[str, Any]:
    """Return the entries of the fields that the methods say, as the document has them.

    Raises:
        TypeError: one gives neither a text, nor a list of texts, nor ``None``.
    """
    given = {name: method(page) for name, method in known.items()}
    return {
        name: {"value": _checked(value, name), "by": _PREFIX + name, "confidence": 1.0}
        for name, value in given.items()
        if value is not None
    }


def _checked(value: Any, name: str) -> str | list[str]:
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{_PREFIX}{name} gave {type(value).__name__}, neither a text, a list of texts nor None")
    return value  # type: ignore[no-any-return]
