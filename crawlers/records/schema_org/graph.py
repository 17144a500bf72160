"""The nodes of a page's JSON-LD, and the datasets among them with what they refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.records.schema_org.document import Allowance

_Object = dict[str, Any]

# Where a page, a list or a catalogue has its datasets.
_LEADING = ("@graph", "mainEntity", "about", "dataset", "itemListElement", "item", "hasPart")
_DEEPEST = 12
_MENTIONED = ("@id", "@type", "name", "url")
_WHOLES = {"Dataset", "DataCatalog"}


class Graph:
    """
    Args:
        documents: as `crawlers.records.schema_org.document.Document` gives them.
        url: the page's, which a web page without an address has.
    """

    def __init__(self, documents: list[Any], url: str, allowance: Allowance) -> None:
        self.documents = documents
        self.url = url
        self.allowance = allowance
        self.nodes: dict[str, _Object] = {}
        self._collect()

    def datasets(self) -> Iterator[_Object]:
        """Yield the datasets in document order; nothing more once the allowance is spent."""
        for node, page in self._found():
            record = self._with_references(node, frozenset(), _DEEPEST)
            if self.allowance.spent:
                return
            if page and "mainEntityOfPage" not in record:
                record["mainEntityOfPage"] = page
            yield record

    def _collect(self) -> None:
        """Collect the nodes: objects with the same ``@id`` are one, wherever they stand."""
        waiting = list(reversed(self.documents))
        while waiting:
            value = waiting.pop()
            if isinstance(value, dict):
                if len(value) > 1 and "@id" in value:
                    node = self.nodes.setdefault(value["@id"], {})
                    for name, each in value.items():
                        node.setdefault(name, each)
                waiting += reversed(value.values())
            elif isinstance(value, list):
                waiting += reversed(value)

    def _found(self) -> Iterator[tuple[_Object, str | None]]:
        """Yield each dataset once, and the address of the page that calls it its main entity."""
        seen: set[int] = set()
        waiting: list[tuple[Any, str | None]] = [(each, None) for each in reversed(self.documents)]
        while waiting:
            value, page = waiting.pop()
            if isinstance(value, list):
                waiting += ((each, page) for each in reversed(value))
            if not isinstance(value, dict):
                continue
            node = self.nodes.get(value.get("@id", ""), value)
            if is_a(node, "Dataset"):
                if id(node) not in seen:
                    yield node, page
            elif id(node) not in seen:
                waiting += self._led_to(node)
            seen.add(id(node))

    def _led_to(self, node: _Object) -> Iterator[tuple[Any, str | None]]:
        for name in reversed(_LEADING):
            if name in node:
                yield node[name], self._address(node) if name == "mainEntity" else None

    def _address(self, page: _Object) -> str:
        given = page.get("url") or page.get("@id")
        return given if isinstance(given, str) and not given.startswith("_:") else self.url

    def _described(self, value: Any, above: frozenset[str], deepest: int) -> Any:
        if isinstance(value, list):
            self.allowance.take(len(value))
            found = (self._described(each, above, deepest - 1) for each in value) if deepest else ()
            return [each for each in found if each is not None]
        if not isinstance(value, dict):
            return value
        iri = value.get("@id", "")
        node = self.nodes.get(iri, value)
        if not _WHOLES.isdisjoint(types(node)):
            node = value if len(value) > 1 else {name: node[name] for name in _MENTIONED if name in node}
        if iri in above or not deepest or self.allowance.spent:
            return {"@id": iri} if iri and not iri.startswith("_:") else None
        return self._with_references(node, above, deepest - 1)

    def _with_references(self, node: _Object, above: frozenset[str], deepest: int) -> _Object:
        """Return a node with what it refers to in its place; references back to it are cut there."""
        self.allowance.take(len(node))
        if iri := node.get("@id"):
            above |= {iri}
        found = {name: self._described(each, above, deepest) for name, each in node.items()}
        if iri and iri.startswith("_:"):
            del found["@id"]
        return {name: each for name, each in found.items() if each is not None}


def types(node: _Object) -> list[str]:
    given = node.get("@type")
    return [each for each in (given if isinstance(given, list) else [given]) if isinstance(each, str)]


def is_a(node: _Object, type_: str) -> bool:
    return type_ in types(node)
