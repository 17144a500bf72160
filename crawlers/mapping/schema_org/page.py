"""The datasets that a page describes in schema.org's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.mapping.data_json.node import label
from crawlers.mapping.schema_org.addresses import bare, base, named
from crawlers.mapping.schema_org.allowance import Allowance
from crawlers.mapping.schema_org.document import Document
from crawlers.mapping.schema_org.graph import Graph
from crawlers.mapping.schema_org.headings import canonical, folded, headings
from crawlers.mapping.schema_org.microdata import Microdata, datasets
from crawlers.mapping.schema_org.scripts import documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement

_MOST = 200_000  # values of JSON, or elements looked at: half a second at worst
_BARE = {"@id", "@type", "url", "mainEntityOfPage"}
_Record = dict[str, Any]


def records(root: HtmlElement, url: str, flaws: list[str] | None = None) -> list[_Record]:
    """Every schema.org Dataset of a page, from its JSON-LD and its microdata, that which describes the page first.

    One shape for both: names without a prefix, ``@type``, ``@id``, objects in the place of references to them, absolute
    addresses. What is a dataset of the JSON-LD and of the microdata is one record, in which the JSON-LD prevails. A
    dataset that is only named is none.

    Args:
        root: the ``html`` element, as `crawlers.mapping.html.page.Page` has it.
        url: the page's address.
        flaws: takes a sentence for each script that can't be read.
    """
    flaws = [] if flaws is None else flaws
    found = [one for one in _united(_embedded(root, url, flaws)) if one.keys() - _BARE]
    if found and not any(_is_of(one, url) for one in found) and (own := _own(found, root, url)):
        own["mainEntityOfPage"] = url
    first = describing(found, url)
    return [first, *(one for one in found if one is not first)] if first else found


def describing(records: list[_Record], url: str) -> _Record | None:
    """The record of the page itself: by ``@id``, ``url`` or ``mainEntityOfPage``, or because it is the only one.

    Schemes, fragments and last slashes make no difference; of several that differ in nothing else none is taken, nor is
    the only one when it is of another page of this site: a teaser, or the site's own.

    >>> describing([{"url": "http://example.org/a/"}, {"url": "http://example.org/b/"}], "https://example.org/b")
    {'url': 'http://example.org/b/'}
    >>> describing([{"@id": "https://example.org/#a"}, {"@id": "https://example.org/#b"}], "https://example.org/")
    >>> describing([{"url": "https://example.org/a"}], "https://example.org/b")
    >>> describing([{"@id": "https://doi.org/10.5072/a"}], "https://example.org/b")
    {'@id': 'https://doi.org/10.5072/a'}
    """
    here = bare(url)
    fits = [(one, [text for text in _addresses(one) if bare(text) == here]) for one in records]
    whole = [one for one, texts in fits if any("#" not in text for text in texts)]
    parts = [one for one, texts in fits if texts]
    alone = [one for one in records if len(records) == 1 and not _is_elsewhere(one, url)]
    for chosen in (whole[:1], parts, alone):
        if len(chosen) == 1:
            return chosen[0]
    return None


def _is_of(record: _Record, url: str) -> bool:
    return any(bare(text) == bare(url) for text in _addresses(record))


def _is_elsewhere(record: _Record, url: str) -> bool:
    """Whether it names pages of this site, and this one is none of them."""
    near = [text for text in _addresses(record) if _host(text) == _host(url)]
    return bool(near) and not _is_of(record, url)


def _host(address: str) -> str:
    return bare(address).partition("/")[0].removeprefix("www.")


def _own(records: list[_Record], root: HtmlElement, url: str) -> _Record | None:
    """That which names the page's canonical address; else the only one, if it is called as the page is."""
    here = canonical(root, url)
    found = [one for one in records if here and _is_of(one, here)]
    if not found and len(records) == 1 and _is_elsewhere(records[0], url):
        found = [one for one in records if folded(label(one.get("name")) or "") in headings(root)]
    return found[0] if len(found) == 1 else None


def _addresses(record: _Record) -> list[str]:
    return named(record, "@id", "url", "mainEntityOfPage")


def _embedded(root: HtmlElement, url: str, flaws: list[str]) -> Iterator[_Record]:
    scripts, elements = list(documents(root, flaws)), datasets(root)
    if not scripts and not elements:  # nearly always
        return
    here, reading, writing, looking = base(root, url), *(Allowance(_MOST) for _ in range(3))
    plain = [Document(here, f"{number}.", reading).plain(one) for number, one in enumerate(scripts)]
    yield from Graph(plain, url, writing).datasets()
    yield from Microdata(root, here, looking).items(elements)
    if reading.spent or writing.spent or looking.spent:
        flaws.append("the page has more structured data than is read of one")


def _united(found: Iterable[_Record]) -> list[_Record]:
    """A dataset that a page describes twice is one."""
    unique: list[_Record] = []
    known: dict[tuple[str, str], _Record] = {}
    for record in found:
        keys = _keys(record)
        same = next((known[key] for key in keys if key in known and _are_one(known[key], record, key)), None)
        if same is None:
            unique.append(record)
        else:
            for name, value in record.items():
                same.setdefault(name, value)
        for key in keys:
            known.setdefault(key, record if same is None else same)
    return unique


def _keys(record: _Record) -> list[tuple[str, str]]:
    addresses = [(name, text) for name in ("@id", "url") for text in named(record, name)]
    name = label(record.get("name"))
    return [*addresses, ("name", name)] if name else addresses


def _are_one(first: _Record, second: _Record, key: tuple[str, str]) -> bool:
    """Two addresses are two datasets, though they share a name; two ``@id``, though they share an address."""
    if key[0] == "@id":
        return True
    if key[0] == "url":
        return "@id" not in first or "@id" not in second
    return not named(first, "@id", "url") or not named(second, "@id", "url")
