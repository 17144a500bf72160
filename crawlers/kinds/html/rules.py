"""The rules of an HTML catalogue: a TOML file that a person can write, or `scrapy learn` does."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args
from urllib.parse import urljoin, urlsplit

import re2
from cssselect import SelectorError
from lxml import etree
from parsel.csstranslator import HTMLTranslator

from crawlers.exceptions import RulesError
from crawlers.fields import LISTS, specs
from crawlers.items import Dataset, Resource
from crawlers.kinds.dcat.rules import KEYS as TAUGHT
from crawlers.kinds.dcat.rules import RDFRules, stated
from crawlers.records import toml
from crawlers.records.toml import Table
from crawlers.safety.text import codec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


Where = Literal["listing", "datasets"]
"""The pages that a browser is asked for."""

_OF_PAGES = {name: spec for name, spec in specs(Dataset).items() if "html" not in spec.without}
FIELDS = tuple(
    f"{spec.one or name}{end}"
    for name, spec in _OF_PAGES.items()
    for end in (("", "_email") if spec.kind in {"agent", "agents"} else ("",))
)
"""What ``[fields]`` may name: the fields of `crawlers.items.Dataset`, and of its agents."""

MANY = tuple(name for name, spec in _OF_PAGES.items() if spec.kind in LISTS - {"agents"})
"""Those that are lists, ``many`` or not."""

RESOURCE_FIELDS = tuple(name for name, spec in specs(Resource).items() if "html" not in spec.without)
"""What ``[resources]`` may name: the fields of `crawlers.items.Resource`."""


Pattern = str
"""A regular expression of RE2."""
Encoding = str
"""The name of an encoding of texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How one field is found: by exactly one of ``css``, ``xpath``, ``labels``, ``constant``.

    Args:
        name: the field's.
        css: as written, for messages.
        xpath: what is evaluated; translated from ``css`` where that is given.
        labels: the texts beside or above the value; all synonyms of ``name`` when it is empty and `by_label`.
        by_label: whether the value stands at a label.
        constant: the values themselves.
        threshold: how alike a label must be, from 0 to 100.
        attr: the attribute that has the value, in place of the text.
        regex: an RE2 pattern over the text found; its first group, or all of it, is the value.
        decode: the value is a part of an address, in which ``%20`` and ``+`` are spaces.
        many: every element found is a value, not the first alone.
        split: what separates values within one text.
        date: the order of day, month and year in numbers: "dmy", "mdy", "ymd"; "auto" when the language tells.
        html: the value is the element's HTML, which becomes Markdown.
        required: a page without it is not a dataset.
        otherwise: the further ways, tried in order while the field is not found; a default is the last one.
    """

    name: str
    css: str | None = None
    xpath: str | None = None
    labels: tuple[str, ...] = ()
    by_label: bool = False
    constant: tuple[str, ...] = ()
    threshold: float = 85.0
    attr: str | None = None
    regex: str | None = None
    decode: bool = False
    many: bool = False
    split: str | None = None
    date: str | None = None
    html: bool = False
    required: bool = False
    otherwise: tuple[Rule, ...] = ()

    @property
    def ways(self) -> tuple[Rule, ...]:
        """All ways in which it is found, in order."""
        return (self, *self.otherwise)

    @property
    def by(self) -> str:
        """What finds it, as text: ``css h1``, ``label Lizenz``."""
        if self.css is not None:
            return f"css {self.css}"
        if self.xpath is not None:
            return f"xpath {self.xpath}"
        return f"label {' | '.join(self.labels) or self.name}" if self.by_label else "constant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """How a listing's links to datasets are found.

    Args:
        xpath: the elements that are links, or that contain them; every link of the page when it is ``None``.
        pattern: RE2; what a dataset's address matches somewhere.
        id: RE2; what of the address is the dataset's id, its first group.
        drop: query parameters that make no difference, besides the usual session ids.
        follow: XPath of the links to further listings, categories say.
        depth: how many of those lead from one to the next.
        total: where the listing says how many datasets there are.
    """

    css: str | None = None
    xpath: str | None = None
    pattern: Pattern | None = None
    id: Pattern | None = None
    drop: tuple[str, ...] = ()
    follow: str | None = None
    depth: int = 3
    total: Rule | None = None


Kind = Literal[
    "next", "numbers", "query", "path", "sitemap", "postback", "button", "buttons", "scroll", "script", "none"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paging:
    """How a listing goes on.

    Args:
        kind: which of the ways; the rest of the fields belong to one or another of them.
        text: of the link (next), the button (button) or the link that posts the form back (postback); the usual words
            of all languages when it is empty.
        css: the selector of that link, button or pager, as written.
        xpath: the same, as it is evaluated.
        address: the template with ``{page}`` (path), the sitemap's address (sitemap).
        query: the parameter's name.
        script: the JavaScript that turns the page; it gives ``false`` when there is no further one.
        first: the number of the first page; the one that the start address stands for.
        step: what is added for each page.
        max_pages: listing pages of a crawl; beyond it is taken for a trap.
        patience: pages in a row without a new dataset before the end is believed.
        wait: seconds that a page may take to change after a click.
    """

    kind: Kind = "next"
    text: str | None = None
    css: str | None = None
    xpath: str | None = None
    address: str | None = None
    query: str | None = None
    script: str | None = None
    first: int = 1
    step: int = 1
    max_pages: int = 10_000
    patience: int = 2
    wait: float = 10.0

    @property
    def in_browser(self) -> bool:
        return self.kind in ("button", "buttons", "scroll", "script")

    @property
    def is_counted(self) -> bool:
        """Whether no page shows that there is a next one."""
        return self.kind in ("query", "path")

    @property
    def is_promised(self) -> bool:
        """Whether a page shows that there is a next one."""
        return self.kind in ("next", "numbers", "postback")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchForm:
    """The form that a listing is behind.

    Args:
        css: the selector of the form, or of something in it or around it, as written.
        xpath: the same, as it is evaluated; without one the fields tell the form.
        button: the text or name of the button that is clicked; ``None`` for the first, ``False`` for none.
        fields: what is filled in, by the field's name; ``None`` for one that is not sent.
    """

    css: str | None = None
    xpath: str | None = None
    button: str | bool | None = None
    fields: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The files of a dataset: an element each.

    Args:
        fields: how each field is found within the element; without ``url`` its first link is, text and all.
    """

    css: str | None = None
    xpath: str
    fields: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRDF:
    """Where a dataset's page has its RDF, and what that says: the link is followed whatever the page itself has.

    Args:
        way: the elements that are the link; ``<link rel="alternate">`` where neither this nor ``link`` is given.
        link: what the link says, or the address with ``{id}`` or ``{url}``.
        content: of RDF that is not DCAT, what is what in it, as TOML has it; `taught` reads it.
    """

    way: Rule | None = None
    link: str | None = None
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def taught(self) -> RDFRules | None:
        return stated(self.content) if self.content else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """A rules file.

    Args:
        text: the file's own text.
        start: the addresses of the listings.
        hosts: every host that links may lead to; those of ``start`` among them.
        encoding: of the pages' texts, where they declare another.
        structured: whether schema.org and linked RDF go before the fields.
        form: the form that the listing is behind, on the pages of ``start``.
        rdf: the RDF of a dataset's page.
        extras: fields that no item has; they are in the document only.
    """

    text: str
    start: tuple[str, ...]
    hosts: tuple[str, ...]
    source: str | None = None
    language: str | None = None
    encoding: Encoding | None = None
    browser: frozenset[Where] = frozenset()
    cookies: bool = False
    structured: bool = True
    links: Links = field(default_factory=Links)
    paging: Paging = field(default_factory=Paging)
    form: SearchForm | None = None
    rdf: PageRDF | None = None
    fields: tuple[Rule, ...] = ()
    extras: tuple[Rule, ...] = ()
    resources: Resources | None = None

    @property
    def digest(self) -> str:
        """What tells these rules from others."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def follows(self, address: str) -> bool:
        """Return whether a link may lead there."""
        return (urlsplit(address).hostname or "") in self.hosts


class RulesTable(toml.Table):
    """A table of a rules file."""

    readers: ClassVar[toml.Readers] = toml.Table.readers | {
        "str": lambda table, key, _: table.text(key),
        "Pattern": lambda table, key, _: _pattern(table, key),
        "Encoding": lambda table, key, _: _encoding(table, key),
        "Rule": lambda table, key, _: _single(table, key),
    }


# How a file is read: a mistake is a `RulesError`, which says in one sentence what is wrong and where

_TRANSLATOR = HTMLTranslator()
_MOST = 2_000  # characters of a selector or a pattern
_CALLS = re.compile(r"([\w-]+)\s*\(")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_FUNCTIONS = {
    *("last", "position", "count", "id", "local-name", "namespace-uri", "name", "string", "concat", "starts-with"),
    *("contains", "substring-before", "substring-after", "substring", "string-length", "normalize-space", "translate"),
    *("boolean", "not", "true", "false", "lang", "number", "sum", "floor", "ceiling", "round"),
    *("text", "node", "comment", "processing-instruction", "and", "or", "div", "mod"),
}
_EMPTY = etree.fromstring("<html/>")
_QUIET = re2.Options()
_QUIET.log_errors = False
_MOST_WAYS = 10
_ORDERS = ("auto", "dmy", "mdy", "ymd")
_LONGEST_WAIT = 600
_COUNTED_UP = {
    "next": "numbers",
    "numbers": "numbers",
    "postback": "postback",
    "button": "buttons",
    "buttons": "buttons",
}
"""The way that is meant where the text of a link or button is a number: that of page 2 leads to no page 3."""
WAYS = tuple(kind for kind in get_args(Kind) if kind != "none")
LINK_KEYS = {"url": "href"}
"""The fields that are an address: the attribute that has it, where the rule names none."""


def load(path: Path) -> Rules:
    """
    Raises:
        RulesError: it can't be read, or is no rules file; the message names the file, the key and what it takes.
    """
    return toml.load(path, "The rules", loads)


def loads(text: str) -> Rules:
    """
    Raises:
        RulesError: it is not TOML, a key is unknown, or a value is not what the key takes.
    """
    with toml.located(text):
        rules = _rules(RulesTable(toml.table(text).left), text)
        _agree(rules)
    return rules


def _rules(file: RulesTable, text: str) -> Rules:
    start = file.texts("start")
    if not start:
        raise RulesError('start is missing: the address of the listing, start = "https://example.org/datasets".')
    for address in start:
        _check_start(address)
    return file.read(
        Rules,
        text=text,
        start=start,
        hosts=_hosts([*(urlsplit(item).hostname or "" for item in start), *file.texts("hosts")]),
        browser=_browser(file.value("browser")),
        structured=file.typed("structured", bool, True),
        links=_links(file),
        paging=file.part("paging", _paging) or Paging(),
        form=file.part("form", _form),
        rdf=_rdf(file),
        fields=file.part("fields", lambda table: _field_rules(table, FIELDS)) or (),
        extras=file.part("extras", lambda table: _field_rules(table, None)) or (),
        resources=file.part("resources", _resources),
    )


def _encoding(file: Table, key: str) -> str | None:
    found = file.text(key)
    if found and codec(found) is None:
        raise RulesError(f"{file.name(key)}: {found!r} is not an encoding of texts such as windows-1251.")
    return found


def _check_start(address: str) -> None:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise RulesError(f"start: {address!r} is not an http(s) address without user or password.")


def _hosts(names: list[str]) -> tuple[str, ...]:
    """Return the hosts as requested addresses write them.

    >>> _hosts(["Data.example.org", "bücher.example"])
    ('data.example.org', 'xn--bcher-kva.example')
    """
    found: dict[str, None] = {}
    for name in names:
        try:
            host = name.lower().encode("idna").decode()
        except UnicodeError:
            host = ""
        if not host or set(host) & set("/@?#* ") or re.fullmatch(r"[^:]*:[0-9]*", host):
            raise RulesError(f"hosts: {name!r} is not the name of a host such as data.example.org.")
        found[host] = None
    return tuple(found)


def _browser(value: Any) -> frozenset[Where]:
    every: frozenset[Where] = frozenset(get_args(Where))
    if value is None or isinstance(value, bool):
        return every if value else frozenset()
    if not isinstance(value, str) or value not in every:
        raise RulesError('browser is neither true, "listing" nor "datasets".')
    return frozenset([value])


def _links(file: RulesTable) -> Links:
    table = file.table("links")
    if table is None:
        raise RulesError('[links] is missing: which links lead to datasets, css = "h2 a" or pattern = "/dataset/".')
    css, xpath = selector(table)
    links = table.read(Links, css=css, xpath=xpath, follow=selector(table, "follow", None)[1])
    if not (links.xpath or links.pattern):
        raise RulesError("links needs css, xpath or pattern: what tells the links to datasets from others.")
    return links


def _form(table: RulesTable) -> SearchForm:
    css, xpath = selector(table)
    fields = table.table("fields")
    button = table.value("button")
    table.end()
    if button is True or not isinstance(button, str | bool | None) or button == "":
        raise RulesError("form.button is the text or the name of a button, or false if none is clicked.")
    for name, value in fields.left.items() if fields else ():
        if not isinstance(value, str) and value is not False:
            raise RulesError(f"form.fields.{name} is neither a text nor false, for a field that is not sent.")
    filled = ((name, None if value is False else value) for name, value in (fields.left if fields else {}).items())
    return SearchForm(css=css, xpath=xpath, button=button, fields=tuple(filled))


def _resources(table: RulesTable) -> Resources:
    css, xpath = selector(table)
    if xpath is None:
        raise RulesError('resources needs css or xpath: the element of each file, css = "ul.files li".')
    names = [name for name in RESOURCE_FIELDS if name in table.left]
    found = tuple(field_rule(name, table.value(name), table.name(name), LINK_KEYS) for name in names)
    table.end(RESOURCE_FIELDS)
    return Resources(css=css, xpath=xpath, fields=found)


def _rdf(file: RulesTable) -> PageRDF | None:
    """Return what ``rdf = "a.rdf"`` or a table ``[rdf]`` says."""
    value, where = file.value("rdf"), file.name("rdf")
    if value is None:
        return None
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    given = dict(value) if isinstance(value, dict) else {}
    content = {key: given.pop(key) for key in TAUGHT if key in given}
    link = given.pop("link", None)
    if not isinstance(link, str | None) or link == "":
        raise RulesError(f"{where}.link is neither what the link says nor an address with {{id}} or {{url}}.")
    way = None
    if isinstance(value, list):
        raise RulesError(f"{where} has one way only, and no default.")
    if given.keys() == {"attr"}:
        raise RulesError(f'{where}.attr needs css or xpath: rdf = {{ css = "a.rdf", attr = "href" }}.')
    if given and given.keys().isdisjoint(("css", "xpath", "label", "constant")):
        RulesTable(given, where).end(("css", "xpath", "attr", "link", *TAUGHT))
    if given or not (content or link):
        way = _way("rdf", given if isinstance(value, dict) else value, where, {}, (*TAUGHT, "link"))
        if link or not way.xpath or way.otherwise:
            raise RulesError(f'{where} is found by css or xpath, rdf = "a.rdf": it is a link.')
    found = PageRDF(way=way, link=link, content=content)
    if found.taught and not found.taught.says:
        raise RulesError(f"{where} says no class, no field and no resource: leave it out, or write [rdf.fields].")
    return found


def _agree(rules: Rules) -> None:
    """Refuse two parts that contradict each other."""
    if rules.paging.kind in ("button", "buttons", "scroll", "script") and "listing" not in rules.browser:
        raise RulesError(f'paging.{rules.paging.kind} is done by a browser: it needs browser = "listing".')
    if rules.paging.kind in ("postback", "sitemap") and "listing" in rules.browser:
        raise RulesError(f'paging.{rules.paging.kind} needs no browser: say browser = "datasets", or none.')
    if rules.form and rules.paging.kind not in ("next", "numbers", "postback", "none"):
        raise RulesError(f"paging.{rules.paging.kind} can't go on behind [form]: say next, numbers or postback.")
    if rules.form and "listing" in rules.browser:
        raise RulesError('[form] needs no browser: say browser = "datasets", or none.')
    if not (rules.fields or rules.structured or rules.rdf):
        raise RulesError("[fields] is missing, and without structured data nothing else describes a page.")


# ``[paging]``: the way in which a listing continues


def _paging(table: RulesTable) -> Paging:
    ways = [way for way in WAYS if way in table.left]
    if len(ways) > 1:
        raise RulesError(f"paging goes on in one way, not in {' and '.join(ways)}.")
    kind: Any = ways[0] if ways else "next"
    way = _paging_way(kind, table) if ways else {}
    if kind in _COUNTED_UP and str(way.get("text")).strip().isdecimal():
        way = {"kind": _COUNTED_UP[kind]}
    found = Paging(
        kind=way.pop("kind", kind),
        **way,
        first=table.number("first", 1, 0),
        step=table.number("step", 1, 1),
        max_pages=table.number("max_pages", 10_000, 1),
        patience=table.number("patience", 2, 1),
        wait=table.typed("wait", float, 10.0),
    )
    if not 0 < found.wait <= _LONGEST_WAIT:
        message = f"must be more than 0 and at most {_LONGEST_WAIT} seconds"
        raise RulesError(f"paging.wait is {found.wait:g}, and {message}.")
    table.end(WAYS)
    return found


def _paging_way(kind: str, table: RulesTable) -> dict[str, Any]:
    value = table.left[kind]
    if kind == "next" and value is False:
        table.value(kind)
        return {"kind": "none"}
    if value is True and kind not in ("query", "path", "script"):
        table.value(kind)
        return {}
    if isinstance(value, dict) and kind not in ("query", "path", "script", "sitemap"):
        way = table.required(kind)
        css, xpath = selector(way)
        way.end()
        if xpath is None:
            raise RulesError(f"{way.path} needs css or xpath.")
        return {"css": css, "xpath": xpath}
    text = table.text(kind)
    if kind not in ("query", "path", "script", "sitemap"):
        return {"text": text}
    if not text and kind != "sitemap":
        raise RulesError(f"paging.{kind} is empty.")
    if kind == "path" and "{page}" not in str(text):
        raise RulesError(f"paging.path is {text!r}, and has no {{page}} where the number goes.")
    if kind in ("path", "sitemap"):
        _check_address(str(text).replace("{page}", "1") if kind == "path" else str(text), f"paging.{kind}")
        return {"address": str(text)}
    return {kind: text}


def _check_address(text: str, where: str) -> None:
    """Refuse what is neither an absolute address nor one relative to the site's."""
    try:
        parts = urlsplit(urljoin("https://example.org/", text))
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and "{" not in text
    except ValueError:
        usable = False
    if not usable:
        raise RulesError(f"{where} is {text!r}, which is not an address.")


# The rule of one field: ``title = "h1"``, ``license = { label = "Lizenz" }``, or a list of such ways


def _field_rules(table: RulesTable, known: Sequence[str] | None) -> tuple[Rule, ...]:
    found = [name for name in table.left if known is None or name in known]
    rules = tuple(field_rule(name, table.value(name), table.name(name)) for name in found)
    table.end(known or ())
    return rules


def field_rule(name: str, value: Any, where: str, attributes: dict[str, str] | None = None) -> Rule:
    """
    Args:
        value: as TOML has it: a CSS selector, a table, or a list of these, which are tried in order.
        attributes: the attribute of a field whose rule names none.

    Raises:
        RulesError: a key is unknown, a way is none, or is several; or there are too many.
    """
    if not isinstance(value, list):
        return _way(name, value, where, attributes or {})
    if not 1 <= len(value) <= _MOST_WAYS:
        raise RulesError(f"{where} has {len(value)} ways: a list has from 1 to {_MOST_WAYS}.")
    ways = [_way(name, one, f"{where}[{number}]", attributes or {}) for number, one in enumerate(value, 1)]
    if any(way.otherwise for way in ways[:-1]):
        raise RulesError(f"{where}: only the last way has a default, for the ways after it are never tried.")
    further = tuple(each for way in ways[1:] for each in way.ways)
    required = any(way.required for way in ways)
    return replace(ways[0], required=required, otherwise=ways[0].otherwise + further)


def _single(table: Table, name: str) -> Rule | None:
    """Return the rule of what has one way only: a link, a number; ``None`` if there is none."""
    value = table.value(name)
    rule = None if value is None else field_rule(name, value, table.name(name))
    if rule and rule.otherwise:
        raise RulesError(f"{table.name(name)} has one way only, and no default.")
    return rule


def _way(name: str, value: Any, where: str, attributes: dict[str, str], known: Sequence[str] = ()) -> Rule:
    if isinstance(value, str):
        value = {"css": value}
    if not isinstance(value, dict):
        raise RulesError(f'{where} is neither a CSS selector nor a table such as {{ label = "Lizenz" }}.')
    table = RulesTable(value, where)
    css, xpath = selector(table)
    any_label = table.value("label") if table.left.get("label") is True else None
    labels, constant = table.texts("label"), table.texts("constant")
    ways = sum(map(bool, (xpath, labels or any_label, constant)))
    if ways != 1:
        raise RulesError(f"{where} needs one of css, xpath, label and constant, and has {ways}.")
    default, many = table.texts("default"), table.typed("many", bool, name in MANY)
    has_text = not xpath or "/@" in xpath or "text()" in xpath
    threshold, order = table.typed("threshold", float, 85.0), table.value("date")
    if not 50 <= threshold <= 100:
        raise RulesError(f"{table.name('threshold')} is {threshold:g}, and must be from 50 to 100.")
    if order is None or isinstance(order, bool):
        order = "auto" if order else None
    elif order not in _ORDERS:
        raise RulesError(f"{table.name('date')} is neither true nor one of {', '.join(_ORDERS[1:])}.")
    rule = Rule(
        name=name,
        css=css,
        xpath=xpath,
        labels=labels,
        by_label=bool(labels or any_label),
        constant=constant,
        threshold=threshold,
        attr=table.text("attr") or (None if has_text else attributes.get(name)),
        regex=_pattern(table, "regex"),
        decode=table.typed("decode", bool, False),  # the default, as in dict.get
        many=many,
        split=table.typed("split", str, "") or None,
        date=order,
        html=table.typed("html", bool, False),  # the default, as in dict.get
        required=table.typed("required", bool, name == "title"),
        otherwise=(Rule(name=name, constant=default, many=many),) if default else (),
    )
    table.end(known)
    return rule


# Selectors and patterns, tried out before any page is asked for


def selector(table: Table, css_key: str = "css", xpath_key: str | None = "xpath") -> tuple[str | None, str | None]:
    """Return the selector as written in CSS, if it is, and as XPath.

    Raises:
        RulesError: it is neither, or both are given.
    """
    css = table.text(css_key)
    xpath = table.text(xpath_key) if xpath_key else None
    if css and xpath:
        raise RulesError(f"{table.path} has both {css_key} and {xpath_key}: one of them finds the element.")
    if css:
        return css, from_css(css, table.name(css_key))
    return None, _checked_xpath(xpath, table.name(str(xpath_key))) if xpath else None


def from_css(css: str, where: str) -> str:
    """
    >>> from_css("h1", "fields.title")
    'descendant-or-self::h1'
    """
    _check_text(css, where)
    try:
        return str(_TRANSLATOR.css_to_xpath(css))
    except (SelectorError, ValueError) as error:
        raise RulesError(f"{where} is not a CSS selector: {error}.") from None


def _check_text(text: str, where: str) -> None:
    if len(text) > _MOST:
        raise RulesError(f"{where} is longer than {_MOST} characters.")
    if not text.isprintable():
        raise RulesError(f"{where} has a character that can't be seen: {text[:100]!r}.")


def _checked_xpath(xpath: str, where: str) -> str:
    _check_text(xpath, where)
    unknown = set(_CALLS.findall(_QUOTED.sub("''", xpath))) - _FUNCTIONS
    if unknown:
        raise RulesError(f"{where} is not XPath 1.0: there is no function {min(unknown)}().")
    try:
        etree.XPath(xpath)(_EMPTY)
    except etree.XPathError as error:  # its syntax; or a function or a prefix that is not known
        raise RulesError(f"{where} is not an XPath: {error}.") from None
    return xpath


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    return re2.compile(pattern)


def _pattern(table: Table, key: str) -> str | None:
    """Return a regular expression of RE2, whose time is linear in the text whatever the pattern."""
    text = table.text(key)
    if text is None:
        return None
    if len(text) > _MOST:
        raise RulesError(f"{table.name(key)} is longer than {_MOST} characters.")
    try:
        re2.compile(text, _QUIET)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise RulesError(f"{table.name(key)} is not a regular expression of RE2: {reason}.") from None
    return text
