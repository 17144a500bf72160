"""A part of an ISO 19115 record, read by the names that the table of paths gives to what it has."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlers.exceptions import AnswerError
from crawlers.records import values
from crawlers.records.languages import language as tag_of
from crawlers.records.record import Record
from crawlers.records.tables import csv_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

Path = tuple[str, tuple[tuple[bool, str], ...]]
"""The local name of a child, and the steps below it: whether at any depth, and the tag."""

_VOCABULARIES = {
    "http://www.isotc211.org/2005/gmd": "iso19139",
    "http://standards.iso.org/iso/19115/-3/mdb/1.0": "iso19115_3",
    "http://standards.iso.org/iso/19115/-3/mdb/2.0": "iso19115_3",
}
_NIL = {
    "iso19139": "{http://www.isotc211.org/2005/gco}nilReason",
    "iso19115_3": "{http://standards.iso.org/iso/19115/-3/gco/1.0}nilReason",
}
_HREF = "{http://www.w3.org/1999/xlink}href"
_ROOTS = "I_Metadata", "D_Metadata"


def vocabulary(root: Any) -> str | None:
    """Return the vocabulary of a record; ``None`` for any other element.

    The namespace of the children decides: profiles have a root of their own (gmi, che) with children in gmd.
    """
    if not root.tag.endswith(_ROOTS):
        return None
    namespaces = (etree.QName(child).namespace for child in root.iterchildren("*"))
    return next((found for namespace in namespaces if (found := _VOCABULARIES.get(namespace))), None)


class Context:
    """What the parts of one record share.

    Args:
        language: the tag of the texts to prefer; by default the one the record is written in.

    Raises:
        AnswerError: the record is in no known vocabulary.
    """

    def __init__(self, root: Any, language: str | None) -> None:
        name = vocabulary(root)
        if name is None:
            raise AnswerError("unsupported", f"this ISO record is in an unknown namespace: {root.tag[:200]}")
        self.paths, self.nil = _paths(name), _NIL[name]
        self.root = root
        self.language = language and language.partition("-")[0]
        self.flaws = Record({})
        self._locales: dict[str, str] | None = None

    def locales(self) -> dict[str, str]:
        """Return the language of each locale by its id."""
        if self._locales is None:
            locales = Part([self.root], "record", self).parts("locale")
            found = {each.elements[0].get("id"): tag_of(each.text("language") or "") for each in locales}
            self._locales = {id_: tag for id_, tag in found.items() if id_ and tag}
        return self._locales


class Part:
    """Reads one element, or several of one name as if they were one.

    Args:
        name: what the table calls the part.

    Attributes:
        children: the elements' children by local name: most names of the table are absent, and cost one look-up.
    """

    __slots__ = ("children", "context", "elements", "paths")

    def __init__(self, elements: list[Any], name: str, context: Context) -> None:
        self.elements, self.context = elements, context
        self.paths = context.paths[name]
        self.children: dict[str, list[Any]] = {}
        for element in elements:
            for child in element.iterchildren("*"):
                self.children.setdefault(child.tag.rpartition("}")[2], []).append(child)

    def find(self, name: str) -> list[Any]:
        """Return the elements that a name of the table leads to."""
        first, steps = self.paths[name]
        found = self.children.get(first)
        if not found:
            return []
        for is_deep, tag in steps:
            below: list[Any] = []
            for element in found:
                below += element.iterdescendants(tag) if is_deep else element.iterchildren(tag)
            if not below:
                return below
            found = below
        return found

    def parts(self, name: str, kind: str | None = None) -> Iterator[Part]:
        """Yield a part for each element.

        Args:
            kind: what the table calls such a part; by default the same name.
        """
        for element in self.find(name):
            yield Part([element], kind or name, self.context)

    def all(self, name: str) -> Part:
        """Return all elements as one part."""
        return Part(self.find(name), name, self.context)

    def values(self, name: str) -> Iterator[tuple[str | None, str | None]]:
        """Yield the text and the web address of each element that has any of them."""
        for element in self.find(name):
            words, address = text(element, self.context), link(element)
            if words or address:
                yield words, address

    def texts(self, name: str) -> list[str]:
        """Return the texts, each once."""
        found = self.find(name)
        return list(dict.fromkeys(filter(None, [text(each, self.context) for each in found]))) if found else []

    def text(self, name: str) -> str | None:
        """Return the first text that is not empty."""
        for element in self.find(name):
            if found := text(element, self.context):
                return found
        return None

    def line(self, name: str) -> str | None:
        """Return the first text as one line."""
        found = self.text(name)
        return " ".join(found.split()) if found else None


@cache
def _paths(name: str) -> dict[str, dict[str, Path]]:
    """Return the paths of a vocabulary, by part and name."""
    found: dict[str, dict[str, Path]] = {}
    for part, field, *paths in csv_rows(__package__, "paths.csv"):
        path = dict(zip(("iso19139", "iso19115_3"), paths, strict=True))[name]
        first, *steps = path.split("/")
        found.setdefault(part, {})[field] = first, tuple(map(_step, steps))
    return found


def _step(step: str) -> tuple[bool, str]:
    name = step.removeprefix("..")
    return step != name, name if name == "*" else f"{{*}}{name}"


@cache
def codes(name: str) -> dict[str, str]:
    """Return the meanings of a list's codes."""
    return {code: meaning for list_, code, meaning in csv_rows(__package__, "codes.csv") if list_ == name}


# Values


def text(element: Any, context: Context) -> str | None:
    """Return an element's text: in the preferred language, else the record's own, else any translation.

    A code is its ``codeListValue``. Whatever has a ``nilReason`` is absent.
    """
    own = None if element.get(context.nil) else _own_text(element)
    if own and not context.language:
        return own
    translations = [each for each in element.iterdescendants("{*}LocalisedCharacterString") if each.text]
    if not translations:
        return own
    wanted = (each for each in translations if context.language and _language(each, context) == context.language)
    chosen = next(wanted, None)
    if chosen is None and own:
        return own
    return values.text((chosen if chosen is not None else translations[0]).text)


def _own_text(element: Any) -> str | None:
    for child in element.iterchildren("*"):
        code = child.get("codeListValue") or child.text
        if code and (found := values.text(code)):
            return found
    return values.text(element.text or "")


def _language(localised: Any, context: Context) -> str | None:
    name = localised.get("locale", "").removeprefix("#")
    tag = context.locales().get(name) or tag_of(name)
    return tag and tag.partition("-")[0]


def link(element: Any) -> str | None:
    """Return the web address that an anchor has beside its text."""
    for child in element.iterchildren("*"):
        if (href := child.get(_HREF)) and (address := values.url(href)):
            return address
    return None
