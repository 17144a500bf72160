"""What the rules find on a dataset's page: the document that is kept."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus
from weakref import WeakKeyDictionary

from lxml import etree

from crawlers.kinds.html.mapping import confidence, rdfa
from crawlers.kinds.html.mapping.confidence import MOST_ABOVE, sureness
from crawlers.kinds.html.mapping.dates import date, is_either, is_told, period, shown_order
from crawlers.kinds.html.mapping.labels import MARKED, MOST, at, marks, marks_cell, text_of, text_pieces, unrepeated
from crawlers.kinds.html.mapping.vocabulary import has_colon, vocabulary
from crawlers.kinds.html.rules import compiled
from crawlers.records import schema_org, values
from crawlers.records.html_page import LONGEST, pieces, text, tidy
from crawlers.records.rdf.document import document as rdf_document
from crawlers.safety.addresses import without_session

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement

    from crawlers.items import Document
    from crawlers.kinds.html.mapping.labels import Label, Piece, Value
    from crawlers.kinds.html.mapping.vocabulary import Vocabulary
    from crawlers.kinds.html.rules import Resources, Rule, Rules
    from crawlers.records.html_page import Page


MOST_VALUES = 1_000
"""Values of one field."""

_MOST_TRIED = 20  # labels of one wording, until one has a value
_MOST_COMPARED = 3
_TEXTS = ("description", "provenance", "rights")
_FRAMES = etree.XPath(f"({'|'.join(f'descendant-or-self::{tag}[*]' for tag in (*MARKED, 'td'))})[position() <= {MOST}]")
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
MOST_RESOURCES = 2_000
_MOST_ELEMENTS = 100_000  # in all files' elements: one may be in another
_MOST_LINKS = 50
_LONGEST_LANGUAGE = 35  # RFC 5646


@dataclass(slots=True)
class Found:
    """What a rule finds.

    Attributes:
        values: elements, texts, or lists of both, as they stand on the page.
        label: of a label rule, as the page has it.
        confidence: how sure it is that this is the field; see `crawlers.kinds.html.mapping.confidence`.
    """

    values: list[Any] = field(default_factory=list)
    label: str | None = None
    confidence: float = confidence.SURE


class Search:
    """
    Args:
        rules: all that are asked for here.
        node: the element to look in; the whole page when it is ``None``.
    """

    def __init__(self, page: Page, rules: tuple[Rule, ...], node: HtmlElement | None = None) -> None:
        self.page = page
        self.rules = tuple(way for rule in rules for way in rule.ways)
        self.node = node
        self._places: dict[HtmlElement, float] = {}

    def find(self, rule: Rule) -> Found:
        """
        Raises:
            RulesError: an XPath can't be evaluated.
        """
        if rule.xpath is not None:
            return Found(
                self.page.find(rule.xpath, self.node, limit=MOST_VALUES + 1), None, confidence.of_selector(rule)
            )
        return self._by_label(rule) if rule.by_label else Found(list(rule.constant))

    @cached_property
    def _around(self) -> HtmlElement:
        return self.page.root if self.node is None else self.node

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return vocabulary(tuple(rule for rule in self.rules if rule.by_label))

    @cached_property
    def _equal(self) -> dict[str, list[Label]]:
        """Return the labels that have the words a rule looks for, by key.

        Nothing of the page is looked at until a rule asks for a label.
        """
        return self._listed(text_pieces(self._around, self._vocabulary.concerns))

    @cached_property
    def _marked(self) -> dict[str, list[Label]]:
        """Return all that the page marks as labels: one of them may be a misspelling."""
        marked = [
            piece
            for piece in text_pieces(self._around)
            if has_colon(piece.text) or (not piece.is_tail and (marks(piece.element) or marks_cell(piece.element)))
        ]
        frames = (piece for frame in _FRAMES(self._around) for piece in islice(text_pieces(frame), 1))
        by_key = self._listed([*marked, *frames])
        return {key: labels for key, labels in by_key.items() if labels[0].is_marked}

    def _listed(self, found: Iterable[Piece]) -> dict[str, list[Label]]:
        by_key: dict[str, list[Label]] = {}
        for label in islice(unrepeated(each for piece in found for each in at(piece, self._around)), MOST):
            by_key.setdefault(label.key, []).append(label)
        return by_key

    def _by_label(self, rule: Rule) -> Found:
        """Return a label's value in the main part; elsewhere only where that part has no such label, even empty."""
        elsewhere: list[tuple[list[Label], float]] = []
        is_in_main = False
        for labels, sure in self._wordings(rule):
            inside = [each for each in labels if self._place(each.element) > confidence.OUTSIDE]
            if inside and (found := self._valued(rule, inside, sure)):
                return found
            is_in_main = is_in_main or bool(inside)
            elsewhere.append((labels, sure))
        outside = () if is_in_main else elsewhere
        return next((found for labels, sure in outside if (found := self._valued(rule, labels, sure))), Found())

    def _wordings(self, rule: Rule) -> Iterator[tuple[list[Label], float]]:
        """Yield the labels that the rule may mean, the surest first; equally sure ones in page order."""
        words = self._vocabulary.sure[rule]
        equal: dict[float, list[Label]] = {}
        for key, labels in self._equal.items():
            if key in words:
                equal.setdefault(words[key], []).extend(labels)
        for sure in sorted(equal, reverse=True):
            yield equal[sure], sure
        likes = {key: self._vocabulary.likes(key, rule) for key in self._marked}
        for key in sorted(filter(likes.get, likes), key=lambda key: -likes[key]):
            yield self._marked[key], likes[key]

    def _valued(self, rule: Rule, labels: list[Label], sure: float) -> Found | None:
        labels = sorted(labels, key=self._rank)[:_MOST_TRIED] if len(labels) > 1 else labels
        first = next((label for label in labels if label.values), None)
        if first is None:
            return None
        if rule.date and len(labels) > 1 and not rule.attr and not rule.regex:
            labels = self._dated(rule, first, labels)
            first = labels[0]
        sure *= self._place(first.element)
        if rule.many:  # labels of the same wording in the same place: a label for each value
            place, key = first.element.getparent(), first.key
            same = (each for each in labels if each is first or (each.element.getparent() is place and each.key == key))
            return Found([value for each in same for value in each.values], first.text, sure)
        if len(labels) > 1 and self._are_several(first, labels):
            sure *= confidence.AMBIGUOUS
        if not (rule.name in _TEXTS or rule.html) or len(first.values) < 2:
            return Found(first.values, first.text, sure)
        paragraphs = [part for value in first.values for part in (*value, " ")]
        return Found([paragraphs], first.text, sure)

    def _dated(self, rule: Rule, first: Label, labels: list[Label]) -> list[Label]:
        """Return those with a date, if any in as good a place has one: "updated: yearly" has none."""
        place = self._place(first.element)
        near = [each for each in labels if each.values and self._place(each.element) == place]
        order, language = rule.date or "", self.page.language
        dated = [each for each in near if date(text_of(each.values[0]), language, order)]
        return dated or [first, *labels]

    def _are_several(self, first: Label, labels: list[Label]) -> bool:
        """Return whether another label that is as good has another value."""
        given, rank = text_of(first.values[0]), self._rank(first)
        others = [each for each in labels if each is not first and self._rank(each) == rank][:_MOST_COMPARED]
        return any(each.values and text_of(each.values[0]) != given for each in others)

    def _place(self, element: HtmlElement) -> float:
        """Return how sure it is that an element's place on the page is that of the dataset."""
        known, passed = self._places, []
        while element is not self._around and element not in known:
            passed.append(element)
            parent = element.getparent()
            if parent is None or len(passed) > MOST_ABOVE:
                break
            element = parent
        sure = known.get(element, 1.0)
        for each in reversed(passed):
            known[each] = sure = min(sure, sureness(each))
        return sure

    def _rank(self, label: Label) -> tuple[float, bool]:
        return -self._place(label.element), not label.is_marked


# One field, by its rule


def read(page: Page, rule: Rule, search: Search, language: str | None) -> dict[str, Any] | None:
    """Return the field's entry in the document; ``None`` where the page lacks it.

    Of several ways, the first one that is sure enough for an item counts; if none is, the first that finds anything.

    Args:
        search: finds what the rule's selector or label stands for.
        language: of the texts.

    Raises:
        RulesError: its XPath can't be evaluated.
    """
    unsure = None
    for entry in filter(None, (_entry(page, way, search, language) for way in rule.ways)):
        if entry["confidence"] >= confidence.LEAST:
            return entry
        unsure = unsure or entry
    return unsure


def _entry(page: Page, rule: Rule, search: Search, language: str | None) -> dict[str, Any] | None:
    """Return what one way finds."""
    found, wanted = search.find(rule), MOST_VALUES if rule.many else 1
    unequal: dict[str, None] = {}  # one more than is wanted, to show that there is more
    for each in _texts(page, rule, found.values):
        unequal[each] = None
        if len(unequal) > wanted:
            break
    if not unequal:
        return None
    order = _order(page, rule, list(unequal), language)
    sure = found.confidence * (confidence.AMBIGUOUS if len(unequal) > 1 and not rule.many else 1)
    texts = list(unequal) if rule.many else list(unequal)[:1]
    is_cut = len(texts) > MOST_VALUES or any(len(each) > LONGEST for each in texts)
    texts = [each[:LONGEST] for each in texts[:MOST_VALUES]]
    read = []
    for each in texts:
        value, factor = _value(rule, each, language, order)
        read.append(value)
        sure *= factor
    entry: dict[str, Any] = {"value": read if rule.many else read[0]}
    if read != texts:
        entry["text"] = texts if rule.many else texts[0]
    more = {
        "by": rule.by,
        "order": None if order == "auto" else order,
        "html": rule.html or None,
        "cut": is_cut or None,
        "label": found.label,
        "link": (_link(page, found.values[0]) or None) if rule.name in _LINKED else None,
        "confidence": round(sure * (confidence.CUT if is_cut else 1), 2),  # last, where readers look for it
    }
    return entry | {name: value for name, value in more.items() if value is not None}


def _value(rule: Rule, text: str, language: str | None, order: str) -> tuple[str, float]:
    """Return a date in ISO 8601, else the text as it is, and what makes it less sure as a factor."""
    if rule.date or rule.name in _DATES:
        if rule.name != "temporal":
            found = date(text, language, order)
        elif span := period(text, language, order):
            found = span.start if span.start == span.end else f"{span.start or '..'}/{span.end or '..'}"
        else:
            found = None
        is_ambiguous = order == "auto" and not is_told(language) and is_either(text, language)
        factor = (confidence.AMBIGUOUS if is_ambiguous else 1.0) if found else confidence.UNREADABLE
        return found or text if rule.date else text, factor
    return text, confidence.UNREADABLE if rule.name in _EMAILS and not values.email(text) else 1.0


def _order(page: Page, rule: Rule, texts: list[str], language: str | None) -> str:
    """Return the order of the numbers in its dates: where these are ambiguous, that of the page's other dates."""
    if rule.date not in (None, "auto"):
        return str(rule.date)
    if not (rule.date or rule.name in _DATES) or not any(is_either(each, language) for each in texts[:MOST_VALUES]):
        return "auto"
    if page not in _SHOWN_ORDERS:
        _SHOWN_ORDERS[page] = shown_order("".join(pieces(page.root)))
    return _SHOWN_ORDERS[page] or "auto"


def _texts(page: Page, rule: Rule, found: list[Any]) -> Iterator[str]:
    for value in found:
        for part in _parts(value) if rule.many and not rule.split and not rule.attr else (value,):
            written = (not rule.attr and rule.name in _ADDRESSED and _link(page, part)) or _written(page, rule, part)
            if not written and rule.name in _LINKED and not rule.attr:
                written = _pictured(page, part)
            for each in _matched(rule, written, part) if written else ():
                parts = (each,) if rule.split is None else each.split(rule.split)[: MOST_VALUES + 1]
                yield from parts if rule.split is None else filter(None, map(str.strip, parts))


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
            parts = (text(each) for each in islice(element.iter("a", "strong", "b", "p", "div"), MOST_VALUES))
            return next((each for each in parts if 0 < len(each) <= _LONGEST_NAME), None)
    return None


def _pictured(page: Page, value: Any) -> str | None:
    """Return the words of the pictures where the value has none, else the address of the only link."""
    images = (each for element in _elements(value) for each in islice(element.iter("img"), MOST_VALUES))
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
        return text_of(value)
    if isinstance(value, bool):
        return "true" if value else ""
    if isinstance(value, float):
        return f"{value:.15g}" if value - value == 0 else ""
    return text(value)


def _attribute(page: Page, rule: Rule, name: str, value: Any) -> str | None:
    """Return the attribute of the first element that has it: the one found, or one inside it; a text has none."""
    for element in _elements(value):
        for each in islice(element.iter(etree.Element), MOST_VALUES):
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
    if any(map(_has_to_change, element.iter(*_LINKS))):
        element = deepcopy(element)
        for each in filter(_has_to_change, element.iter(*_LINKS)):
            each.set(_LINKS[each.tag], _address(page, each.get(_LINKS[each.tag])))
    written = str(etree.tostring(element, encoding="unicode", method="html", with_tail=False))
    return written.partition(">")[2].rpartition("</")[0] if is_alone else written


def _has_to_change(link: HtmlElement) -> bool:
    given = link.get(_LINKS[link.tag])
    return bool(given) and not (given.lower().startswith(_KEPT) and without_session(given) == given)


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
    listed = list(islice(element.iter("li"), MOST_VALUES))
    if listed:
        return listed
    inner = element
    while len(inner) == 1 and _is_separator(inner.text) and _is_separator(inner[0].tail):
        inner = inner[0]
    children = list(islice(inner, MOST_VALUES))
    tags = {child.tag for child in children if child.tag != "br"}
    is_list = len(children) > 1 and len(tags) == 1 and tags.issubset(_ITEMS) and _is_separator(inner.text)
    return children if is_list and all(_is_separator(child.tail) for child in children) else []


def _is_separator(between: str | None) -> bool:
    return not between or _SEPARATORS.issuperset(between)


def _matched(rule: Rule, written: str, value: Any) -> list[str]:
    """Return what the regular expression finds, once, or each time where there are many.

    Args:
        value: what the text was written in; its text stands in for an address that is not UTF-8.
    """
    groups: Iterable[str | None] = (written,)
    if rule.regex is not None:
        matches = compiled(rule.regex).finditer(written[: LONGEST + 1])
        most = MOST_VALUES + 1 if rule.many else 1
        groups = (each[1] if each.re.groups else each[0] for each in islice(matches, most))
    decoded = (_decoded(each, value) for each in groups if each) if rule.decode else groups
    return [found for each in decoded if (found := tidy(each or ""))]


def _decoded(written: str, value: Any) -> str | None:
    try:
        found = unquote_plus(written, errors="strict")
    except UnicodeDecodeError:
        return None if isinstance(value, str) else _plain(value)
    return "".join(each for each in found if each.isprintable() or each.isspace())


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


def document(page: Page, rules: Rules) -> Document:
    """Return the page's fields as JSON, each with its value, source and confidence; missing ones are absent.

    ``flaws`` is there when something was cut. ``rdf`` is the page's RDFa; the spider puts linked RDF in its place.

    Raises:
        RulesError: an XPath of the rules can't be evaluated.
    """
    stated, flaws = (rules.language or page.language or "").strip(), list[str]()
    language = stated if 0 < len(stated) <= _LONGEST_LANGUAGE else None
    search = Search(page, (*rules.fields, *rules.extras))
    found: Document = {"url": page.url, "language": language}
    found["fields"] = _fields(page, rules.fields, search, language)
    found["extras"] = _fields(page, rules.extras, search, language)
    found["resources"] = _resources(page, rules.resources, language, flaws) if rules.resources else []
    records = schema_org.records(page.root, page.url, flaws) if rules.structured and page.structured else []
    if records and (record := schema_org.describing(records, page.url)):
        found["schema_org"] = record
    if rules.structured and (about := rdfa.described(page)):
        found["rdf"] = rdf_document(about.graph, about.name)
        flaws += [] if about.is_everything else ["its RDFa is too long: the rest is left out"]
    if flaws := [*filter(None, [page.flaw, page.misread]), *flaws]:
        found["flaws"] = list(dict.fromkeys(flaws))
    return found


def _fields(page: Page, rules: tuple[Rule, ...], search: Search, language: str | None) -> dict[str, Any]:
    return {rule.name: entry for rule in rules if (entry := read(page, rule, search, language))}


def _resources(page: Page, resources: Resources, language: str | None, flaws: list[str]) -> list[dict[str, Any]]:
    """Return the entries of the files; that their elements are too many is a flaw."""
    found, left = [], _MOST_ELEMENTS
    for node in page.find(resources.xpath, limit=MOST_RESOURCES):
        left -= 1 if isinstance(node, str) else sum(1 for _ in islice(node.iter(), left))
        if left <= 0:
            flaws.append("the files' elements are in one another: the further files are missing")
            break
        search = Search(page, resources.fields, node)
        entry = _fields(page, resources.fields, search, language)
        if not any(rule.name == "url" for rule in resources.fields):
            entry = _first_link(page, node) | entry
        if "url" in entry:
            found.append(entry)
    return found


def _first_link(page: Page, node: Any) -> dict[str, Any]:
    """Return the first link of an element, and its text."""
    links = page.find("descendant-or-self::a[@href]", node, limit=_MOST_LINKS) if not isinstance(node, str) else []
    for link in links:
        if address := page.absolute(link.get("href")):
            entry = {"url": {"value": without_session(address), "by": "first link", "confidence": 0.95}}
            if title := text(link)[:LONGEST]:
                entry["title"] = {"value": title, "by": "first link", "confidence": 0.95}
            return entry
    return {}
