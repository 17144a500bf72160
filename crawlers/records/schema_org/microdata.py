"""Microdata of a page, by the HTML standard's rules, in the shape of JSON-LD.

Written here, for extruct's needs rdflib to be imported, calls itself for each level of nesting, and looks for an id
through the whole page at each itemref.
"""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlers.records.html_page import text
from crawlers.records.schema_org.addresses import joined
from crawlers.records.schema_org.document import Context

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from crawlers.records.schema_org.document import Allowance

_DATASETS = etree.XPath("descendant-or-self::*[@itemscope and contains(@itemtype, 'schema.org/Dataset')]")
_DEEPEST = 12

_ADDRESSES = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    "object": "data",
}
_VALUES = {"meta": "content", "data": "value", "meter": "value"}

# By the standard these are addresses when they stand on a link; their authors mean its text, or both.
_TEXTS = {"alternateName", "description", "headline", "keywords", "name"}
_NAMED = {"author", "contributor", "creator", "license", "maintainer", "provider", "publisher", "sourceOrganization"}


def datasets(root: HtmlElement) -> list[HtmlElement]:
    """Return the elements of datasets in document order."""
    return [each for each in _DATASETS(root) if "Dataset" in _types(each)]


class Microdata:
    """
    Args:
        base: the address that relative ones are against.
        allowance: elements that are looked at, each time one is.
    """

    def __init__(self, root: HtmlElement, base: str, allowance: Allowance) -> None:
        self.root = root
        self.base = base
        self.allowance = allowance
        self.seen: set[HtmlElement] = set()

    def items(self, elements: list[HtmlElement]) -> Iterator[dict[str, Any]]:
        """Yield the items of elements that are no part of an earlier one; none once the allowance is spent."""
        for element in elements:
            if element not in self.seen:
                item = self._item(element, (element,))
                if self.allowance.spent:
                    return
                yield item

    @cached_property
    def _by_id(self) -> dict[str, HtmlElement]:
        return {each.get("id"): each for each in reversed(self.root.xpath("//*[@id]"))}

    def _item(self, element: HtmlElement, above: tuple[HtmlElement, ...]) -> dict[str, Any]:
        item: dict[str, Any] = {}
        if types := _types(element):
            item["@type"] = types[0] if len(types) == 1 else types
        if iri := (element.get("itemid") or "").strip():
            item["@id"] = joined(self.base, iri)
        found: dict[str, list[Any]] = {}
        for each in self._properties(element):
            for name in _names(each.get("itemprop")):
                value = self._value(each, name, above)
                if value not in (None, "", {}):
                    found.setdefault(name, []).append(value)
        item |= {name: values[0] if len(values) == 1 else values for name, values in found.items()}
        return item

    def _properties(self, item: HtmlElement) -> Iterator[HtmlElement]:
        """Yield elements below the item and its ``itemref``, each once, but not those of items inside it."""
        met: set[HtmlElement] = set()
        for root in self._roots(item):
            walk = etree.iterwalk(root, events=("start",))
            for _, element in walk:
                if not self.allowance.take():
                    return
                if element is root is item:
                    continue
                if element.get("itemprop") and element not in met:
                    met.add(element)
                    yield element
                if element.get("itemscope") is not None:
                    walk.skip_subtree()

    def _roots(self, item: HtmlElement) -> Iterator[HtmlElement]:
        yield item
        for name in (item.get("itemref") or "").split():
            if (element := self._by_id.get(name)) is not None:
                yield element

    def _value(self, element: HtmlElement, name: str, above: tuple[HtmlElement, ...]) -> Any:
        if element.get("itemscope") is not None:
            inside = element in above or len(above) >= _DEEPEST
            self.seen.add(element)
            return None if inside else self._item(element, (*above, element))
        if attribute := _ADDRESSES.get(element.tag):
            return self._linked(element, name, (element.get(attribute) or "").strip())
        if attribute := _VALUES.get(element.tag):
            return (element.get(attribute) or "").strip()
        given = element.get("datetime") if element.tag == "time" else element.get("content")
        return (given or "").strip() or self._text(element)

    def _linked(self, element: HtmlElement, name: str, address: str) -> Any:
        address = joined(self.base, address) if address else ""
        if element.tag not in ("a", "area") or name not in _TEXTS | _NAMED:
            return address
        words = self._text(element)
        if name in _TEXTS or not address:
            return words or address
        return {"name": words, "url": address} if words and words != address else address

    def _text(self, element: HtmlElement) -> str:
        elements = sum(1 for _ in islice(element.iter(), self.allowance.left + 1))
        return text(element) if self.allowance.take(elements) else ""


def _types(element: HtmlElement) -> list[str]:
    return _names(element.get("itemtype"))


def _names(tokens: str | None) -> list[str]:
    """
    >>> _names(" https://schema.org/Dataset http://schema.org/name keywords keywords")
    ['Dataset', 'name', 'keywords']
    """
    return list(dict.fromkeys(map(_CONTEXT.name, (tokens or "").split())))


_CONTEXT = Context()
