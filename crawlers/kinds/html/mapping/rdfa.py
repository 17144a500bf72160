"""RDFa 1.1 of a page, as triples: RDFa Core's processing (https://www.w3.org/TR/rdfa-core/#s_sequence) without lists.

Written here: extruct reads it by pyRdfa3 and rdflib, which takes seven times as long; docs/dependencies.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from crawlers.records.html_page import text
from crawlers.records.rdf.dcat_context import PREFIXES
from crawlers.records.rdf.graphs import reached
from crawlers.records.rdf.terms import DCAT, DCT, SCHEMA, SCHEMA_HTTPS, TYPE, Graph, Literal, Term

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lxml.html import HtmlElement

    from crawlers.records.html_page import Page

DATASETS = frozenset((DCAT + "Dataset", SCHEMA + "Dataset", SCHEMA_HTTPS + "Dataset"))
_INITIAL = PREFIXES | {"dc": DCT, "dcterms": DCT}
_ROOM = 10_000_000
"""Characters that are read and said, and `_STEP` for each element: what stands in others, or is written short, is read
and said many times.
"""
_STEP = 20
_LONGEST = 100_000  # characters of a literal
_LONGEST_SPACE = 1_000  # characters of what begins IRIs
_MOST_PREFIXES = 200
_CURIES = ("about", "resource")
_WHERE = ("resource", "href", "src")
_WHOLE = ("html", "head", "body")
"""The elements that speak of the page."""
_SAYS = ("property", "rel", "rev", "typeof", "about", "resource", "href", "src")


@dataclass(frozen=True, slots=True)
class _Context:
    """What an element has from those around it.

    Attributes:
        subject: what is spoken of.
        object: what the elements within speak of.
        waiting: the predicates of a ``rel`` or ``rev`` without an object, and whether they lead backwards.
    """

    subject: str
    object: str
    vocab: str | None = None
    prefixes: dict[str, str] = field(default_factory=dict)
    language: str | None = None
    waiting: tuple[tuple[str, bool], ...] = ()


class Described(NamedTuple):
    """What a page's RDFa says of a dataset, that one's name, and whether all of the page was read."""

    graph: Graph
    name: str
    is_everything: bool


def described(page: Page) -> Described | None:
    """Return what a page's RDFa says of the dataset that it describes: its own or the only one."""
    if not page.find("//*[@typeof]", limit=1):
        return None
    graph, is_everything = triples(page)
    datasets = [name for name, node in graph.items() if DATASETS.intersection(map(str, node.get(TYPE, ())))]
    own = [name for name in datasets if name.partition("#")[0] == page.url] or datasets
    if len(own) != 1:
        return None
    names = (own[0], *reached(graph, own))
    return Described({name: graph[name] for name in names if name in graph}, own[0], is_everything)


def triples(page: Page) -> tuple[Graph, bool]:
    """Return what a page says, and whether that is everything."""
    reader = _Reader(page)
    waiting = [(page.root, _Context(page.url, page.url, language=page.language))]
    while waiting and reader.room > 0:
        element, context = waiting.pop()
        inner = reader.read(element, context)
        waiting += [(child, inner) for child in reversed(element) if isinstance(child.tag, str)]
    return reader.graph, reader.room > 0


class _Reader:
    def __init__(self, page: Page) -> None:
        self.page = page
        self.base = page.base if len(page.base) <= _LONGEST_SPACE else page.url
        self.graph: Graph = {}
        self.blanks = 0
        self.room = _ROOM

    def read(self, element: HtmlElement, context: _Context) -> _Context:
        """Note what an element says; return what the elements within have from it."""
        self.room -= _STEP
        context = _scoped(element, context)
        given = element.attrib
        if not any(name in given for name in _SAYS):
            return context
        rels = [(attr, written) for attr in ("rel", "rev") if (written := _linked(element, attr)) is not None]
        subject, object_, typed = (self._linking if rels else self._plain)(element, context)
        for name in self._iris(given.get("typeof"), context) if typed else ():
            self._say(str(typed), TYPE, name)
        links = [(name, attr == "rev") for attr, written in rels for name in self._iris(written, context)]
        pending: tuple[tuple[str, bool], ...] = ()
        if links and object_:
            self._link(subject, object_, links)
        elif links:
            object_, pending = self._blank(), tuple(links)
        self._properties(element, context, subject, typed, is_literal=bool(rels))
        self._link(context.subject, subject, context.waiting)
        return replace(context, subject=subject, object=object_ or subject, waiting=pending)

    def _plain(self, element: HtmlElement, context: _Context) -> tuple[str, str | None, str | None]:
        """Return the subject, the object and what has the types, of an element without ``rel``."""
        given, about = element.attrib, self._where(element, context, ("about",))
        if "property" in given and "content" not in given and "datatype" not in given:
            subject = about or context.object
            if "typeof" not in given:
                return subject, None, None
            typed = about or self._where(element, context, _WHERE) or self._blank()
            return subject, typed, typed
        found = about or self._where(element, context, _WHERE)
        is_new = "typeof" in given and element.tag not in _WHOLE
        subject = found or (self._blank() if is_new else context.object)
        return subject, None, subject if "typeof" in given else None

    def _linking(self, element: HtmlElement, context: _Context) -> tuple[str, str | None, str | None]:
        """Return the same of an element with ``rel`` or ``rev``."""
        about = self._where(element, context, ("about",))
        object_ = self._where(element, context, _WHERE)
        if "typeof" in element.attrib and not about:
            object_ = object_ or self._blank()
            return context.object, object_, object_
        return about or context.object, object_, about if "typeof" in element.attrib else None

    def _properties(
        self, element: HtmlElement, context: _Context, subject: str, typed: str | None, *, is_literal: bool
    ) -> None:
        names = self._iris(element.get("property"), context)
        if not names:
            return
        given = element.attrib
        is_literal = is_literal or "content" in given or "datatype" in given
        value: Term | None = None if is_literal else self._where(element, context, _WHERE)
        if value is None and not is_literal and typed and "about" not in given:
            value = typed
        value = value or self._literal(element, context)
        for name in names:
            self._say(subject, name, value)

    def _where(self, element: HtmlElement, context: _Context, names: tuple[str, ...]) -> str | None:
        """Return the first address that one of the attributes has."""
        for name in names:
            written = element.get(name)
            found = None if written is None else self._iri(written.strip(), context, is_curie=name in _CURIES)
            if found:
                return found
        return None

    def _iri(self, written: str, context: _Context, *, is_curie: bool) -> str | None:
        written = written.removeprefix("[").removesuffix("]") if is_curie else written
        if is_curie and written.startswith("_:"):
            return f"_:r{written[2:]}"
        known = _curie(written, context) if is_curie else None
        if known or not written:
            return known or self.page.url
        try:
            return urljoin(self.base, written)
        except ValueError:
            return None

    def _link(self, subject: str, object_: str, links: Iterable[tuple[str, bool]]) -> None:
        for name, is_backwards in links:
            self._say(*((object_, name, subject) if is_backwards else (subject, name, object_)))

    def _say(self, subject: str, predicate: str, value: Term) -> None:
        self.room -= len(subject) + len(predicate) + len(value if isinstance(value, str) else value.value)
        if self.room < 0:
            return
        values = self.graph.setdefault(subject, {}).setdefault(predicate, [])
        if value not in values[-100:]:
            values.append(value)

    def _blank(self) -> str:
        self.blanks += 1
        return f"_:a{self.blanks}"

    def _iris(self, written: str | None, context: _Context) -> list[str]:
        """Return the IRIs of terms, CURIEs and IRIs; words without a vocabulary are nothing."""
        found = list(_iris(written, context)) if written else []
        self.room -= sum(map(len, found))
        return found

    def _literal(self, element: HtmlElement, context: _Context) -> Literal:
        given = element.attrib
        shown = given.get("content", given.get("datetime") if element.tag == "time" else None)
        if shown is None:
            within = islice(element.iter() if len(element) else (element,), max(self.room, 0))
            self.room -= sum(_STEP + len(each.text or "") + len(each.tail or "") for each in within)
            shown = text(element) if self.room > 0 else ""
        datatype = next(iter(self._iris(given.get("datatype"), context)), None)
        return Literal(shown[:_LONGEST], None if datatype else context.language, datatype)


def _scoped(element: HtmlElement, context: _Context) -> _Context:
    given = element.attrib
    if "vocab" in given:
        vocab = given["vocab"].strip()
        context = replace(context, vocab=vocab if 0 < len(vocab) <= _LONGEST_SPACE else None)
    if "prefix" in given:
        both = context.prefixes | dict(_prefixes(given["prefix"]))
        context = replace(context, prefixes=dict(islice(both.items(), _MOST_PREFIXES)))
    language = given.get("lang")
    return replace(context, language=language.strip() or None) if language is not None else context


def _prefixes(written: str) -> Iterator[tuple[str, str]]:
    r"""
    >>> dict(_prefixes("ex: https://a.org/ns# Dct:\nhttp://purl.org/dc/terms/"))
    {'ex': 'https://a.org/ns#', 'dct': 'http://purl.org/dc/terms/'}
    """
    for name, iri in pairwise(written[:_LONGEST].split()):
        if name.find(":") == len(name) - 1 and len(iri) <= _LONGEST_SPACE:
            yield name[:-1].casefold(), iri


def _linked(element: HtmlElement, attr: str) -> str | None:
    """Return the ``rel`` or ``rev``; HTML's own words in it are none beside a ``property``, which speaks then."""
    written: str | None = element.get(attr)
    if written is None or "property" not in element.attrib:
        return written
    return " ".join(word for word in written.split() if ":" in word) or None


def _iris(written: str, context: _Context) -> Iterator[str]:
    for word in written[:_LONGEST].split():
        if ":" not in word and context.vocab:
            yield context.vocab + word
        elif ":" in word:
            yield _curie(word, context) or word


def _curie(written: str, context: _Context) -> str | None:
    prefix, colon, rest = written.partition(":")
    space = context.prefixes.get(prefix.casefold()) or _INITIAL.get(prefix.casefold())
    return space + rest if space and colon and not rest.startswith("//") else None
