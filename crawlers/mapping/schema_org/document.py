"""A JSON-LD document in the plain shape of records: schema.org's words bare, addresses absolute, no contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.mapping.places import geometry
from crawlers.mapping.schema_org.addresses import resolved
from crawlers.mapping.schema_org.context import Context

if TYPE_CHECKING:
    from crawlers.mapping.schema_org.allowance import Allowance

_DEEPEST = 40


class Document:
    """
    Args:
        base: the address that relative ones are against.
        scope: tells the blank nodes of this document from those of another.

    >>> from crawlers.mapping.schema_org.allowance import Allowance
    >>> given = {"@context": {"s": "http://schema.org/"}, "@type": "s:Dataset", "s:name": [{"@value": "Rivers"}]}
    >>> Document("https://example.org/", "", Allowance(9)).plain(given)
    {'@type': 'Dataset', 'name': ['Rivers']}
    """

    def __init__(self, base: str, scope: str, allowance: Allowance) -> None:
        self.base = base
        self.scope = scope
        self.allowance = allowance

    def plain(self, value: Any, context: Context | None = None, name: str = "", deepest: int = _DEEPEST) -> Any:
        """``None`` for what is nested too deep, or too much."""
        if not self.allowance.take() or not deepest:
            return None
        context = context or Context()
        if isinstance(value, str):
            return resolved(name, value, self.base)
        if isinstance(value, list):
            found = [self.plain(one, context, name, deepest - 1) for one in value]
            return [one for one in found if one is not None]
        return self._object(value, context, name, deepest - 1) if isinstance(value, dict) else value

    def _object(self, value: dict[str, Any], context: Context, name: str, deepest: int) -> Any:
        if "coordinates" in value:  # GeoJSON, whose type is none of JSON-LD's
            return geometry(value)
        if "@context" in value:
            context = context.inner(value["@context"])
        for wrapped in ("@list", "@set", *(() if "@language" in value else ("@value",))):
            if wrapped in value:
                return self.plain(value[wrapped], context, name, deepest)
        found: dict[str, Any] = {}
        for term, one in value.items():
            if term != "@context" and (key := context.name(term)) not in found:
                plain = self._property(key, one, context, deepest)
                if plain is not None:
                    found[key] = plain
        return found

    def _property(self, key: str, value: Any, context: Context, deepest: int) -> Any:
        if key == "@type":
            return _types(value, context)
        if key == "@id":
            return self._id(value, context) if isinstance(value, str) else None
        return self.plain(value, context, key, deepest)

    def _id(self, value: str, context: Context) -> str | None:
        if value.startswith("_:"):
            return f"_:{self.scope}{value[2:]}"
        return resolved("@id", context.expanded(value), self.base) or None


def _types(value: Any, context: Context) -> str | list[str] | None:
    names = [context.name(one) for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
    return names if isinstance(value, list) else next(iter(names), None)
