"""What a server says of itself in GetCapabilities; it may be wrong, so that each is only tried first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSIONS = {"http://www.opengis.net/cat/csw/2.0.2": "2.0.2", "http://www.opengis.net/cat/csw/3.0": "3.0.0"}
"""The versions of CSW that are read, by namespace."""
_ANSWERS = ("Capabilities", "GetRecordsResponse", "GetRecordByIdResponse")


class Capabilities(NamedTuple):
    """What the capabilities say.

    Args:
        version: 2.0.2 or 3.0.0.
        schemas: the output schemas of GetRecords.
        queryables: the properties that a filter or an order may name.
    """

    version: str
    schemas: frozenset[str] = frozenset()
    queryables: tuple[str, ...] = ()

    def queryable(self, name: str, prefix: str, default: str) -> str:
        """Return what the server calls a property: as it spells it, if possible with this prefix.

        >>> Capabilities("2.0.2", queryables=("dct:modified", "apiso:Modified")).queryable("modified", "apiso", "x")
        'apiso:Modified'
        """
        found = [text for text in self.queryables if text.rpartition(":")[2].lower() == name]
        return next((text for text in found if text.startswith(f"{prefix}:")), found[0] if found else default)


def is_csw(root: Any) -> bool:
    """Return whether the root element of an answer is a CSW's: capabilities, or records."""
    namespace, _, name = str(root.tag)[1:].partition("}")
    return namespace in VERSIONS and name in _ANSWERS


def read(root: Any) -> Capabilities | None:
    """Return what the root element of an answer says; ``None`` if it is not the capabilities of a CSW."""
    namespace, _, name = str(root.tag)[1:].partition("}")
    if namespace not in VERSIONS or name != "Capabilities":
        return None
    operation = next((one for one in root.iter("{*}Operation") if one.get("name") == "GetRecords"), None)
    if operation is None:
        return Capabilities(VERSIONS[namespace])
    schemas = {text for parameter, text in _values(operation, "Parameter") if parameter.lower() == "outputschema"}
    names = [text for constraint, text in _values(operation, "Constraint") if "queryables" in constraint.lower()]
    return Capabilities(VERSIONS[namespace], frozenset(schemas), tuple(filter(_is_name, names)))


def _values(operation: Any, kind: str) -> Iterator[tuple[str, str]]:
    for one in operation.iterchildren(f"{{*}}{kind}"):
        yield from ((one.get("name", ""), (value.text or "").strip()) for value in one.iter("{*}Value"))


def _is_name(text: str) -> bool:
    """Return whether a text is a property's name: it becomes a part of requests."""
    return len(text) < 100 and text.replace(":", "").replace("_", "").isalnum()
