"""The JSON-LD of a page: its scripts parsed, in the plain shape of records, and the datasets among its nodes."""

from __future__ import annotations

import json
import re
from collections import ChainMap
from contextlib import suppress
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin

from crawlers.fields import specs
from crawlers.items import Dataset
from crawlers.records.geometries import geometry, is_geojson
from crawlers.safety.addresses import absolute

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement


_TYPE = "application/ld+json"
_LONGEST = 4 << 20  # of all scripts of a page: as JSON it takes thirty times that
_BEFORE = re.compile(r"(?:[\s\ufeff;]|//|/\*|\*/|<!--|<!\[CDATA\[)*+", re.IGNORECASE)
_LOOSE = " \t\r\n\f;,/*\ufeff"
_ENDS = 4  # a comment in a section in a comment
_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|(,)(?=\s*+[}\]])', re.DOTALL)


def documents(root: HtmlElement, flaws: list[str], cut: list[Any]) -> Iterator[Any]:
    """Yield the JSON of each script; one that can't be read adds a sentence to ``flaws``, what is whole to ``cut``."""
    left = _LONGEST
    for script in root.iter("script"):
        if not _is_json_ld(script.get("type")):
            continue
        text = script.text or ""
        left -= len(text)
        if left < 0:
            flaws.append(f"the page's JSON-LD is over {_LONGEST >> 20} MiB long, and is not read any further")
            return
        if bare := _unwrapped(text):
            try:
                yield _parsed(bare)
            except ValueError as error:
                flaws.append(f"a JSON-LD script can't be read: {error}")
                cut += _before(error)


def _is_json_ld(type_: str | None) -> bool:
    """
    >>> _is_json_ld(' Application/LD+JSON; profile="x"'), _is_json_ld("application/json"), _is_json_ld(None)
    (True, False, False)
    """
    return (type_ or "").partition(";")[0].strip().lower() == _TYPE


def _unwrapped(text: str) -> str:
    r"""Return a script without the comment or CDATA section around it, and a semicolon after it.

    >>> _unwrapped("//<![CDATA[\n {} \n//]]>"), _unwrapped("<!-- [] -->"), _unwrapped("/*<![CDATA[*/{};/*]]>*/")
    ('{}', '[]', '{}')
    """
    bare = text[_BEFORE.match(text).end() :]  # type: ignore[union-attr]
    for _ in range(_ENDS):
        bare = bare.rstrip(_LOOSE).removesuffix("]]>").removesuffix("-->")
    return bare


def _parsed(text: str) -> Any:
    r"""
    Raises:
        ValueError: it can't be parsed, or is nested too deep.

    >>> _parsed('{"a": "1\n2, ]", "b": [1, 2,],}'), _parsed("{&quot;a&quot;: &quot;R&amp;D&quot;}")
    ({'a': '1\n2, ]', 'b': [1, 2]}, {'a': 'R&D'})
    """
    if "&quot;" in text and '"' not in text:
        text = unescape(text)
    try:
        return _loads(text)
    except ValueError:
        mended = _TRAILING_COMMA.sub(lambda found: "" if found[1] else found[0], text)
        if len(mended) == len(text):
            raise
    return _loads(mended)


def _before(error: ValueError) -> Iterator[Any]:
    r"""Yield what stands whole before the place where a script can't be read; a value's list that isn't is left out.

    >>> broken = '{"a": {"b": "x, y", "c": ["1", "2 "or" 3"]}, "d": 4}'
    >>> try: _loads(broken)
    ... except ValueError as error: print(*_before(error))
    {'a': {'b': 'x, y'}}
    """
    if not isinstance(error, json.JSONDecodeError):
        return
    open_, end, closing, key, outermost = "", 0, "", "", 0
    for sign in _SIGN.finditer(error.doc, 0, error.pos):
        if (mark := sign[0]) in _CLOSING:
            open_ = _CLOSING[mark] + open_
            if mark == "[" and len(open_) > 1 and key not in _LEADING:
                outermost = outermost or len(open_)
        elif mark in "]}":
            open_ = open_[1:]
        elif mark != ",":
            key = mark[1:-1]
        outermost = outermost if len(open_) >= outermost else 0
        if len(open_) > _DEEPEST:
            break
        if mark in "{[]}," and not outermost:
            end, closing = sign.end() - (mark == ","), open_
    with suppress(ValueError):
        yield _loads(error.doc[:end] + closing)


def _loads(text: str) -> Any:
    """Return parsed JSON; raw line breaks in texts are accepted."""
    try:
        return json.loads(text, strict=False, parse_constant=lambda _: None)
    except RecursionError:
        raise ValueError("nested too deep") from None


_CLOSING = {"{": "}", "[": "]"}
_SIGN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[{}\[\],]', re.DOTALL)
_HTML = frozenset(specs(Dataset)["description"].names("schema_org"))
_TAG = re.compile(r"<[a-z/!]", re.IGNORECASE)
_ADDRESS = re.compile(r"\s*[a-z][a-z0-9+.-]*+://\S+\s*", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
SCHEMA = "https://schema.org/"

_WORD = re.compile(r"https?://(?:www\.)?schema\.org/([A-Za-z][\w-]*)", re.IGNORECASE)
_NAMES_SCHEMA = re.compile(r"(?:https?:)?(?://)?(?:www\.)?schema\.org(?:[/#].*)?", re.IGNORECASE | re.DOTALL)
_CUSTOMARY = {"schema": SCHEMA}
_ALIASES = {"id": "@id", "type": "@type"}  # schema.org's own context has them
_MOST = 20  # contexts of one object
_DEEPEST_TERM = 4  # terms that stand for terms
_DEEPEST = 40


class Context:
    """
    >>> plain, prefixed = Context(), Context().inner([{"s": "http://schema.org/", "title": {"@id": "s:name"}}])
    >>> plain.name("name"), plain.name("http://www.schema.org/name"), plain.name("schema:name"), plain.name("type")
    ('name', 'name', 'name', '@type')
    >>> prefixed.name("s:name"), prefixed.name("title"), prefixed.name("dct:title")
    ('name', 'name', 'dct:title')
    >>> Context().inner({"@vocab": "http://www.w3.org/ns/dcat#"}).name("Dataset")
    'http://www.w3.org/ns/dcat#Dataset'
    """

    __slots__ = ("terms", "vocabulary")

    def __init__(self, terms: ChainMap[str, Any] | None = None, vocabulary: str = SCHEMA) -> None:
        self.terms: ChainMap[str, Any] = ChainMap() if terms is None else terms
        self.vocabulary = vocabulary

    def inner(self, given: Any) -> Context:
        """Return the context of an object with this ``@context``; names without a prefix are a named context's."""
        parts = list(islice(given, _MOST)) if isinstance(given, list) else [given]
        terms, vocabulary = self.terms, self.vocabulary
        if named := [each for each in parts if isinstance(each, str)]:
            vocabulary = SCHEMA if any(map(_NAMES_SCHEMA.fullmatch, named)) else f"{named[-1]}#"
        for part in parts:
            if isinstance(part, dict):
                terms = terms.new_child(part)
                given_vocabulary = part.get("@vocab")
                vocabulary = given_vocabulary if isinstance(given_vocabulary, str) else vocabulary
        return Context(terms, vocabulary)

    def name(self, term: str) -> str:
        """Return schema.org's words without a prefix, whatever the document calls them."""
        if self.vocabulary == SCHEMA and term in _ALIASES and term not in self.terms:
            return _ALIASES[term]
        iri = self.iri(term)
        if word := _WORD.fullmatch(iri):
            return word[1]
        return iri if iri.startswith("@") or ":" not in term else term

    def iri(self, term: str, deepest: int = _DEEPEST_TERM) -> str:
        if term.startswith("@"):
            return term
        defined = self._defined(term)
        if defined and defined != term and deepest:
            return self.iri(defined, deepest - 1)
        return self.expanded(term) if ":" in term else self.vocabulary + term

    def expanded(self, address: str) -> str:
        """Return an IRI with its prefix written out; any other text as it is."""
        prefix, _, rest = address.partition(":")
        space = self._defined(prefix) or _CUSTOMARY.get(prefix)
        return space + rest if space and rest and not rest.startswith("//") else address

    def _defined(self, term: str) -> str | None:
        found = self.terms.get(term)
        if isinstance(found, dict):
            found = found.get("@id")
        return found if isinstance(found, str) else None


class Allowance:
    """
    >>> allowance = Allowance(3)
    >>> allowance.take(2), allowance.take(2), allowance.take(0)
    (True, False, False)
    """

    __slots__ = ("left",)

    def __init__(self, amount: int) -> None:
        self.left = amount

    def take(self, amount: int = 1) -> bool:
        """Take an amount; return whether that much was left. Once it was not, nothing is."""
        self.left = max(-1, self.left - amount)
        return self.left >= 0

    @property
    def spent(self) -> bool:
        return self.left < 0


class Document:
    """
    Args:
        base: the address that relative ones are against.
        scope: tells the blank nodes of this document from those of another.

    >>> given = {"@context": {"s": "http://schema.org/"}, "@type": "s:Dataset", "s:name": [{"@value": "Rivers"}]}
    >>> Document("https://example.org/", "", Allowance(9)).plain(given)
    {'@type': 'Dataset', 'name': ['Rivers']}
    """

    def __init__(self, base: str, scope: str, allowance: Allowance) -> None:
        self.base = base
        self.scope = scope
        self.allowance = allowance

    def plain(self, value: Any, context: Context | None = None, name: str = "", deepest: int = _DEEPEST) -> Any:
        """Return a value in plain shape; ``None`` for what is nested too deep, or too large."""
        if not self.allowance.take() or not deepest:
            return None
        context = context or Context()
        if isinstance(value, str):
            return resolved(name, _decoded(value, name), self.base)
        if isinstance(value, list):
            found = [self.plain(each, context, name, deepest - 1) for each in value]
            return [each for each in found if each is not None]
        return self._object(value, context, name, deepest - 1) if isinstance(value, dict) else value

    def _object(self, value: dict[str, Any], context: Context, name: str, deepest: int) -> Any:
        if "coordinates" in value and is_geojson(value):  # its type is none of JSON-LD's
            given = value["coordinates"]
            return {
                "type": value["type"],
                "coordinates": given if geometry(value) else self.plain(given, deepest=deepest),
            }
        if "@context" in value:
            context = context.inner(value["@context"])
        for wrapped in ("@list", "@set", *(() if "@language" in value else ("@value",))):
            if wrapped in value:
                return self.plain(value[wrapped], context, name, deepest)
        found: dict[str, Any] = {}
        for term, each in value.items():
            if term != "@context" and (key := context.name(term)) not in found:
                plain = self._property(key, each, context, deepest)
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


def _decoded(text: str, name: str = "") -> str:
    """Return a property's text with its entities decoded; those of HTML are left to what reads its tags.

    Args:
        name: the property's; one that may be HTML is decoded where it is read as that.

    >>> _decoded("R&amp;D, trees <9 m"), _decoded("<p>a &lt; b</p>"), _decoded("a &amp;lt; b", "description")
    ('R&D, trees <9 m', '<p>a &lt; b</p>', 'a &amp;lt; b')
    >>> _decoded("https://a.org/?a=1&copy=2&amp;b=3&lang;=4")
    'https://a.org/?a=1&copy=2&b=3&lang;=4'
    """
    if "&" not in text or name in _HTML or _TAG.search(text):
        return text
    if name in LINKS or _ADDRESS.fullmatch(text):
        return text.replace("&amp;", "&")
    return _ENTITY.sub(lambda found: unescape(found[0]), text)


def _types(value: Any, context: Context) -> str | list[str] | None:
    names = [context.name(each) for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    return names if isinstance(value, list) else next(iter(names), None)


_Object = dict[str, Any]

# Where a page, a list or a catalogue has its datasets.
_LEADING = ("@graph", "mainEntity", "about", "dataset", "itemListElement", "item", "hasPart")
_DEEPEST_NODE = 12
_MENTIONED = ("@id", "@type", "name", "url")
_WHOLES = {"Dataset", "DataCatalog"}


class Graph:
    """
    Args:
        documents: as `crawlers.records.schema_org.jsonld.Document` gives them.
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
            record = self._with_references(node, frozenset(), _DEEPEST_NODE)
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


LINKS = ("@id", "url", "contentUrl", "embedUrl")
"""Properties whose texts are addresses and nothing else."""

_MAYBE_LINKS = ("sameAs", "license", "mainEntityOfPage", "isBasedOn")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|_:|www\.|.*\s", re.DOTALL)
_RELATIVE = re.compile(r"\.{0,2}/|[#?]")


def base(root: HtmlElement, url: str) -> str:
    """Return the address that relative links of a page are resolved against."""
    given = next((each.get("href") for each in root.iter("base") if each.get("href")), None)
    return (absolute(given, url) if given else None) or url


def resolved(name: str, text: str, base: str) -> str:
    """Return a property's text, as an absolute address if it is a relative one.

    >>> resolved("url", "b?c", "https://example.org/a/"), resolved("@id", "#data", "https://example.org/a")
    ('https://example.org/a/b?c', 'https://example.org/a#data')
    >>> resolved("license", "CC-BY", "https://example.org/"), resolved("url", "www.example.org", "https://a.org/")
    ('CC-BY', 'www.example.org')
    """
    text = text.strip()
    link = name in LINKS and text and not _ABSOLUTE.match(text)
    if link or (name in _MAYBE_LINKS and _RELATIVE.match(text)):
        return joined(base, text)
    return text


def joined(base: str, text: str) -> str:
    try:
        return urljoin(base, text)
    except ValueError:
        return text


def bare(address: str) -> str:
    """Return a key of an address: without scheme, fragment or last slash, the host in lower case.

    >>> bare("http://Example.org/a%20b/#top"), bare("https://example.org")
    ('example.org/a b', 'example.org')
    """
    host, _, path = address.strip().partition("#")[0].partition("://")[2].partition("/")
    return f"{host.lower()}/{unquote(path)}".rstrip("/")


def named(record: dict[str, Any], *names: str) -> list[str]:
    """Return the addresses under these properties, as texts or as objects that have one."""
    values = [each for name in names for each in _listed(record.get(name))]
    given = [each.get("@id") or each.get("url") if isinstance(each, dict) else each for each in values]
    return [each for each in given if isinstance(each, str) and "://" in each]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
