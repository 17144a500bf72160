"""One field of a page, by its rule."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import re2
from lxml import etree

from crawlers.kinds.html.mapping import adjacent_value, confidence
from crawlers.kinds.html.mapping.dates import date, is_either, is_told, shown_order
from crawlers.kinds.html.mapping.periods import period
from crawlers.kinds.html.mapping.search import MOST_VALUES as MOST
from crawlers.records import values
from crawlers.records.addresses import without_session
from crawlers.records.html_page import LONGEST, pieces, text, tidy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

    from crawlers.kinds.html.mapping.adjacent_value import Value
    from crawlers.kinds.html.mapping.search import Search
    from crawlers.kinds.html.rules import Rule
    from crawlers.records.html_page import Page

_ADDRESSES = frozenset(("href", "src", "action", "cite", "data", "poster", "resource", "about"))
_EMAILS = frozenset(f"{role}_email" for role in ("publisher", "creator", "maintainer", "contact"))
_LINKED = frozenset(("license", "publisher", "creator", "maintainer", "contact")) | _EMAILS
_ADDRESSED = frozenset(("documentation", "sample", "applicable_legislation", "hvd_categories"))
"""The fields whose value is where a link leads, not its words."""
_AGENTS = frozenset(("publisher", "creator", "maintainer", "contact"))
_NAMES = ("h1", "h2", "h3", "h4", "h5", "h6")
_LONGEST_NAME = 150  # characters of an organisation
_DATES = frozenset(("issued", "modified", "temporal"))
_SHOWN_ORDERS: WeakKeyDictionary[Page, str | None] = WeakKeyDictionary()
_ITEMS = ("li", "a", "span", "div", "p", "dd", "button", "i", "em", "b")
_SEPARATORS = frozenset(",;|/·•-–\u00a0 \t\r\n")
_LINKS = {"a": "href", "img": "src"}
_KEPT = ("http:", "https:", "mailto:", "ftp:")  # the rest is relative


def read(page: Page, rule: Rule, search: Search, language: str | None) -> dict[str, Any] | None:
    """Return the field's entry in the document; ``None`` where the page lacks it.

    Of several ways, the first one that is sure enough for an item counts; if none is, the first that finds anything.

    Args:
        search: finds what the rule's selector or label stands for.
        language: of the texts.

    Raises:
        RulesError: its XPath can't be evaluated.
    """
    entries = filter(None, (_entry(page, way, search, language) for way in rule.ways))
    unsure: list[dict[str, Any]] = []
    for entry in entries:
        if entry["confidence"] >= confidence.LEAST:
            return entry
        unsure.append(entry)
    return unsure[0] if unsure else None


def _entry(page: Page, rule: Rule, search: Search, language: str | None) -> dict[str, Any] | None:
    """Return what one way finds."""
    found = search.find(rule)
    texts = _unequal(_texts(page, rule, found.values), MOST if rule.many else 1)
    if not texts:
        return None
    reading = _Reading(rule, language, _order(page, rule, texts, language), found.confidence)
    entry = reading.entry(texts if rule.many else texts[:1], is_one_of=len(texts))
    if found.label is not None:
        entry["label"] = found.label
    if rule.name in _LINKED and (link := _link(page, found.values[0])):
        entry["link"] = link
    entry["confidence"] = entry.pop("confidence")  # last, where readers look for it
    return entry


def _order(page: Page, rule: Rule, texts: list[str], language: str | None) -> str:
    """Return the order of the numbers in its dates: where these are ambiguous, that of the page's other dates."""
    if rule.date not in (None, "auto"):
        return str(rule.date)
    if not (rule.date or rule.name in _DATES) or not any(is_either(each, language) for each in texts[:MOST]):
        return "auto"
    if page not in _SHOWN_ORDERS:
        _SHOWN_ORDERS[page] = shown_order("".join(pieces(page.root)))
    return _SHOWN_ORDERS[page] or "auto"


def _unequal(texts: Iterator[str], wanted: int) -> list[str]:
    """Return each text once, and one more than is wanted, to show that there is more."""
    found: dict[str, None] = {}
    for each in texts:
        found[each] = None
        if len(found) > wanted:
            break
    return list(found)


@dataclass(slots=True)
class _Reading:
    rule: Rule
    language: str | None
    order: str
    confidence: float

    def entry(self, texts: list[str], is_one_of: int) -> dict[str, Any]:
        is_cut = len(texts) > MOST or any(len(each) > LONGEST for each in texts)
        texts = [each[:LONGEST] for each in texts[:MOST]]
        if is_one_of > 1 and not self.rule.many:
            self.confidence *= confidence.AMBIGUOUS
        read = [self._value(each) for each in texts]
        entry: dict[str, Any] = {"value": read if self.rule.many else read[0]}
        if read != texts:
            entry["text"] = texts if self.rule.many else texts[0]
        entry["by"] = self.rule.by
        if self.order != "auto":
            entry["order"] = self.order
        if self.rule.html:
            entry["html"] = True
        if is_cut:
            entry["cut"] = True
            self.confidence *= confidence.CUT
        entry["confidence"] = round(self.confidence, 2)
        return entry

    def _value(self, text: str) -> str:
        """Return a date in ISO 8601; text that can't be read stays as it is."""
        if self.rule.date or self.rule.name in _DATES:
            found = self._date(text)
            if not found:
                self.confidence *= confidence.UNREADABLE
            elif self.order == "auto" and not is_told(self.language) and is_either(text, self.language):
                self.confidence *= confidence.AMBIGUOUS
            return found or text if self.rule.date else text
        if self.rule.name in _EMAILS and not values.email(text):
            self.confidence *= confidence.UNREADABLE
        return text

    def _date(self, text: str) -> str | None:
        if self.rule.name != "temporal":
            return date(text, self.language, self.order)
        found = period(text, self.language, self.order)
        if not found:
            return None
        if found.start == found.end:
            return found.start
        return f"{found.start or '..'}/{found.end or '..'}"


def _texts(page: Page, rule: Rule, found: list[Any]) -> Iterator[str]:
    for value in found:
        for part in _parts(value) if rule.many and not rule.split and not rule.attr else (value,):
            written = (not rule.attr and rule.name in _ADDRESSED and _link(page, part)) or _written(page, rule, part)
            if not written and rule.name in _LINKED and not rule.attr:
                written = _pictured(page, part)
            if written:
                yield from _split(rule, _matched(rule, written))


def _written(page: Page, rule: Rule, value: Any) -> str | None:
    if rule.attr:
        return _attribute(page, rule, rule.attr, value)
    if rule.html and not isinstance(value, str):
        return _html(page, value)
    return (_named(value) if rule.name in _AGENTS else None) or _plain(value)


def _named(value: Any) -> str | None:
    """Return the name in a box about an organisation: its heading; of a long box without one the first link or line."""
    for element in _elements(value):
        headings = (text(each) for each in islice(element.iter(*_NAMES), 1))
        if name := next(filter(None, headings), None):
            return name
        if len(_plain(value)) > _LONGEST_NAME:
            parts = (text(each) for each in islice(element.iter("a", "strong", "b", "p", "div"), MOST))
            return next((each for each in parts if 0 < len(each) <= _LONGEST_NAME), None)
    return None


def _pictured(page: Page, value: Any) -> str | None:
    """Return the words of the pictures where the value has none, else the address of the only link."""
    images = (each for element in _elements(value) for each in islice(element.iter("img"), MOST))
    words = (tidy(each.get("alt") or each.get("title") or "") for each in images)
    return " ".join(dict.fromkeys(filter(None, words))) or _link(page, value)


def _plain(value: Any) -> str:
    r"""
    >>> _plain(" a\n b "), _plain(3.0), _plain(0.5), _plain(True), _plain(False), _plain(float("nan"))
    ('a b', '3', '0.5', 'true', '', '')
    """
    if isinstance(value, str):
        return tidy(value)
    if isinstance(value, list):
        return adjacent_value.written(value)
    if isinstance(value, bool):
        return "true" if value else ""
    if isinstance(value, float):
        return f"{value:.15g}" if value - value == 0 else ""
    return text(value)


def _attribute(page: Page, rule: Rule, name: str, value: Any) -> str | None:
    """Return the attribute of the first element that has it: the one found, or one inside it; a text has none."""
    for element in _elements(value):
        for each in islice(element.iter(etree.Element), MOST):
            given = each.get(name)
            if given and (found := tidy(given)):
                return _address(page, found) if name in _ADDRESSES else found
    return tidy(value) if isinstance(value, str) and not (rule.xpath or "").endswith("text()") else None


def _address(page: Page, href: str) -> str:
    found = page.absolute(href)
    return without_session(found) if found else href


def _elements(value: Any) -> list[HtmlElement]:
    parts = value if isinstance(value, list) else [value]
    return [part for part in parts if etree.iselement(part)]


def _html(page: Page, value: Any) -> str:
    """Return the inside of an element, its links absolute."""
    parts: Value = value if isinstance(value, list) else [value]
    inside = [part if isinstance(part, str) else _markup(page, part, is_alone=len(parts) == 1) for part in parts]
    return "".join(inside).strip()


def _markup(page: Page, element: HtmlElement, *, is_alone: bool) -> str:
    if sum(map(len, pieces(element))) > LONGEST:
        return text(element)
    if any(_is_mended(each) for each in element.iter("a", "img")):
        element = _with_addresses(page, deepcopy(element))
    written = str(etree.tostring(element, encoding="unicode", method="html", with_tail=False))
    return written.partition(">")[2].rpartition("</")[0] if is_alone else written


def _is_mended(element: HtmlElement) -> bool:
    given = element.get(_LINKS[element.tag])
    return bool(given) and not (given.lower().startswith(_KEPT) and without_session(given) == given)


def _with_addresses(page: Page, copy: HtmlElement) -> HtmlElement:
    for each in copy.iter(*_LINKS):
        if _is_mended(each):
            each.set(_LINKS[each.tag], _address(page, each.get(_LINKS[each.tag])))
    return copy


def _parts(value: Any) -> list[Any]:
    """Return the items of a list: ``li``, or links with only commas between them; else the value alone."""
    elements = _elements(value)
    if len(elements) == 1 and (not isinstance(value, list) or len(value) == 1):
        return _items(elements[0]) or [value]
    if isinstance(value, list) and len(elements) > 1 and len({each.tag for each in elements}) == 1:
        texts = (part for part in value if isinstance(part, str))
        return list(elements) if all(_is_separator(each) for each in texts) else [value]
    return [value]


def _items(element: HtmlElement) -> list[HtmlElement]:
    listed = list(islice(element.iter("li"), MOST))
    if listed:
        return listed
    inner, only = element, None
    while (only := next(iter(inner), None)) is not None and only.getnext() is None and not _is_said(inner, only):
        inner = only
    children = list(islice(inner, MOST))
    return children if len(children) > 1 and _is_list(inner, children) else []


def _is_said(element: HtmlElement, only: HtmlElement) -> bool:
    return not (_is_separator(element.text) and _is_separator(only.tail))


def _is_list(element: HtmlElement, children: list[HtmlElement]) -> bool:
    if len({child.tag for child in children if child.tag != "br"}) != 1:
        return False
    if any(child.tag not in _ITEMS for child in children if child.tag != "br"):
        return False
    return _is_separator(element.text) and all(_is_separator(child.tail) for child in children)


def _is_separator(between: str | None) -> bool:
    return not between or _SEPARATORS.issuperset(between)


def _matched(rule: Rule, written: str) -> list[str]:
    """Return what the regular expression finds, once, or each time where there are many."""
    if rule.regex is None:
        return [written]
    matches = _pattern(rule.regex).finditer(written[: LONGEST + 1])
    groups = (each[1] if each.re.groups else each[0] for each in islice(matches, MOST + 1 if rule.many else 1))
    return [found for each in groups if (found := tidy(each or ""))]


@lru_cache(maxsize=1024)
def _pattern(regex: str) -> Any:
    return re2.compile(regex)


def _split(rule: Rule, texts: list[str]) -> list[str]:
    if rule.split is None:
        return texts
    return [found for each in texts for part in each.split(rule.split)[: MOST + 1] if (found := part.strip())]


def _link(page: Page, value: Any) -> str | None:
    """Return the only link of a value: a licence's address, or that of a person."""
    found = {
        link.get("href").strip()
        for element in _elements(value)
        for link in islice(element.iter("a"), 2)
        if (link.get("href") or "").strip()
    }
    if len(found) != 1:
        return None
    href = str(found.pop())
    if href.lower().startswith("mailto:"):
        return href
    address = page.absolute(href)
    return without_session(address) if address else None
