"""The datasets that a page describes in schema.org's words."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlers.records.html_page import text
from crawlers.records.linked import label
from crawlers.records.schema_org.jsonld import (
    Allowance,
    Context,
    Document,
    Graph,
    bare,
    base,
    documents,
    is_a,
    joined,
    named,
    types,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement


_MOST = 200_000  # values of JSON, or elements looked at: half a second at worst
_MOST_HEADINGS = 20
CUT = "@cut"
"""The key, with ``true``, of a record that is what stands before the fault of a script: it says less than is known."""
_BARE = {"@id", "@type", "url", "mainEntityOfPage", CUT}
_Record = dict[str, Any]


def records(root: HtmlElement, url: str, flaws: list[str] | None = None) -> list[_Record]:
    """Return every schema.org Dataset of a page's JSON-LD and microdata, the one that describes the page first.

    One shape for both: names without a prefix, ``@type``, ``@id``, objects in the place of references to them, absolute
    addresses. What is a dataset of the JSON-LD and of the microdata is one record, in which the JSON-LD prevails. A
    dataset that is only named is none.

    Args:
        root: the ``html`` element, as `crawlers.records.html_page.Page` has it.
        url: the page's address.
        flaws: takes a sentence for each script that can't be read.
    """
    flaws = [] if flaws is None else flaws
    found = [each for each in _united(_embedded(root, url, flaws)) if each.keys() - _BARE]
    if found and not any(_is_of(each, url) for each in found) and (own := _own(found, root, url)):
        own["mainEntityOfPage"] = url
    first = describing(found, url)
    return [first, *(each for each in found if each is not first)] if first else found


def of_rdf(document: dict[str, Any], url: str) -> _Record | None:
    """Return the record of a Dataset in RDF that is described in schema.org's words alone.

    Args:
        document: as `crawlers.records.rdf.document.document` writes it.
    """
    allowance = Allowance(_MOST)
    plain = Document(url, "", allowance).plain(document)
    if not is_a(plain, "Dataset") or any(":" in word for word in (*plain, *types(plain))):
        return None
    return next(Graph([plain], url, allowance).datasets(), None)


def describing(records: list[_Record], url: str) -> _Record | None:
    """Return the record of the page itself: by its addresses, or because it is the only one.

    Schemes, fragments and last slashes make no difference; of several that differ in nothing else none is taken. A
    single record is not taken when it describes another page of this site: a teaser, or the site's own.

    >>> describing([{"url": "http://example.org/a/"}, {"url": "http://example.org/b/"}], "https://example.org/b")
    {'url': 'http://example.org/b/'}
    >>> describing([{"@id": "https://example.org/#a"}, {"@id": "https://example.org/#b"}], "https://example.org/")
    >>> describing([{"url": "https://example.org/a"}], "https://example.org/b")
    >>> describing([{"@id": "https://doi.org/10.5072/a"}], "https://example.org/b")
    {'@id': 'https://doi.org/10.5072/a'}
    """
    here = bare(url)
    fits = [(each, [text for text in _addresses(each) if bare(text) == here]) for each in records]
    exact = [each for each, texts in fits if any("#" not in text for text in texts)]
    parts = [each for each, texts in fits if texts]
    alone = [each for each in records if len(records) == 1 and not _is_elsewhere(each, url)]
    for chosen in (exact[:1], parts, alone):
        if len(chosen) == 1:
            return chosen[0]
    return None


def _is_of(record: _Record, url: str) -> bool:
    return any(bare(text) == bare(url) for text in _addresses(record))


def _is_elsewhere(record: _Record, url: str) -> bool:
    """Return whether it names pages of this site, but not this one."""
    near = [text for text in _addresses(record) if _host(text) == _host(url)]
    return bool(near) and not _is_of(record, url)


def _host(address: str) -> str:
    return bare(address).partition("/")[0].removeprefix("www.")


def _own(records: list[_Record], root: HtmlElement, url: str) -> _Record | None:
    """Return the record with the page's canonical address; else the only one, if its name is the page's."""
    here = _canonical(root, url)
    found = [each for each in records if here and _is_of(each, here)]
    if not found and len(records) == 1 and _is_elsewhere(records[0], url):
        found = [each for each in records if _folded(label(each.get("name")) or "") in _headings(root)]
    return found[0] if len(found) == 1 else None


def _addresses(record: _Record) -> list[str]:
    return named(record, "@id", "url", "mainEntityOfPage")


def _embedded(root: HtmlElement, url: str, flaws: list[str]) -> Iterator[_Record]:
    cut = list[Any]()
    scripts, elements = list(documents(root, flaws, cut)), datasets(root)
    if not scripts and not elements and not cut:  # nearly always
        return
    here, reading, writing, looking = base(root, url), *(Allowance(_MOST) for _ in range(3))
    plain = [Document(here, f"{number}.", reading).plain(each) for number, each in enumerate([*scripts, *cut])]
    yield from Graph(plain[: len(scripts)], url, writing).datasets()
    yield from Microdata(root, here, looking).items(elements)
    yield from ({**each, CUT: True} for each in Graph(plain[len(scripts) :], url, writing).datasets())
    if reading.spent or writing.spent or looking.spent:
        flaws.append("the page has more structured data than is read of one")


def _united(found: Iterable[_Record]) -> list[_Record]:
    """Return each dataset once: a page may describe it twice."""
    unique: list[_Record] = []
    known: dict[tuple[str, str], _Record] = {}
    for record in found:
        keys = _keys(record)
        same = next((known[key] for key in keys if key in known and _are_one(known[key], record, key)), None)
        if same is None:
            unique.append(record)
        else:
            for name, value in record.items():
                if name != CUT:
                    same.setdefault(name, value)
        for key in keys:
            known.setdefault(key, record if same is None else same)
    return unique


def _keys(record: _Record) -> list[tuple[str, str]]:
    addresses = [(name, text) for name in ("@id", "url") for text in named(record, name)]
    name = label(record.get("name"))
    return [*addresses, ("name", name)] if name else addresses


def _are_one(first: _Record, second: _Record, key: tuple[str, str]) -> bool:
    """Return whether a shared key makes two records one: different addresses, or different ``@id``, outweigh it."""
    if key[0] == "@id":
        return True
    if key[0] == "url":
        return "@id" not in first or "@id" not in second
    return not named(first, "@id", "url") or not named(second, "@id", "url")


def _canonical(root: HtmlElement, url: str) -> str | None:
    """Return the address in ``<link rel="canonical">``; that of the site's start page does not count."""
    for link in root.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split() and link.get("href"):
            found = joined(base(root, url), link.get("href").strip())
            return found if "/" in bare(found) else None
    return None


def _headings(root: HtmlElement) -> set[str]:
    """Return the page's title and its highest headings, folded."""
    return {_folded(text(each)) for each in islice(root.iter("title", "h1"), _MOST_HEADINGS)} - {""}


def _folded(text: str) -> str:
    """Return a name to compare by.

    >>> _folded(" River  Levels")
    'river levels'
    """
    return " ".join(text.casefold().split())


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
