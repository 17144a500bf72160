"""The licence of a dataset or of a file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.items import License
from crawlers.mapping import values
from crawlers.mapping.dcat.rights import RIGHTS
from crawlers.mapping.licenses import license as license_of
from crawlers.rdf.namespaces import DCT, FOAF, OWL, RDFS, SCHEMA, SCHEMA_HTTPS
from crawlers.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.mapping.dcat.description import Description, Predicates
    from crawlers.rdf.terms import Node, Term

_CC = "http://creativecommons.org/ns#"
_LICENSES = (DCT + "license", DCT + "#license", _CC + "license", SCHEMA + "license", SCHEMA_HTTPS + "license")
"""The second is how CKAN's JSON-LD context for data.json spells it."""
_TITLES = (RDFS + "label", DCT + "title", SCHEMA + "name", SCHEMA_HTTPS + "name")
_TEXTS = (DCT + "description", RDFS + "comment")
_ADDRESSES = (
    *(FOAF + "page", SCHEMA + "url", SCHEMA_HTTPS + "url"),
    *(OWL + "sameAs", RDFS + "seeAlso", DCT + "source", DCT + "identifier"),
)
_ADDRESS = re.compile(r"https?://[^\s<>\"'()\[\]]*[^\s<>\"'()\[\].,;:]")
_LONGEST_TITLE = 300


def license(about: Description, node: Node) -> License | None:  # noqa: A001
    """Under dct:license; some publish it as a statement of rights, which counts if SPDX knows it."""
    stated = _best(about, node, _LICENSES)
    if stated or not (found := _best(about, node, RIGHTS)):
        return stated
    return found if found.id else None


def agreed(licenses: Iterable[License | None]) -> License | None:
    """The licence of the distributions that have one, if it is the same.

    >>> agreed([License(id="CC0-1.0"), None]), agreed([License(id="CC0-1.0"), License(id="CC-BY-4.0")])
    (License(id='CC0-1.0', uri=None, title=None, text=None), None)
    """
    found = {one.id or (one.uri, one.title, one.text): one for one in licenses if one}
    return next(iter(found.values())) if len(found) == 1 else None


def _best(about: Description, node: Node, predicates: Predicates) -> License | None:
    """One that SPDX knows, then one with an address, then by the alphabet."""
    terms = about.terms(node, predicates)
    found = [one for term in terms if (one := _license(about, term))]
    return min(found, key=_order) if len(found) > 1 else found[0] if found else None


def _order(license: License) -> tuple[bool, bool, str, str, str]:  # noqa: A002
    names = (license.id or "", license.uri or "", license.title or "")
    return (not license.id, not license.uri, *names)


def _license(about: Description, term: Term) -> License | None:
    if isinstance(term, Literal):
        return _written(term.value)
    node = about.node(term)
    if is_blank(term):
        return _described(about, node, about.read(node, _ADDRESSES, values.url))
    return _described(about, node, term) or License(uri=term)


def _described(about: Description, node: Node, address: str | None) -> License | None:
    title, text = (about.text(node, _TITLES), about.text(node, _TEXTS)) if node else (None, None)
    found = license_of(None, address, title) or (text and license_of(None, None, text))
    if found:
        found.title, found.text = title, text
    return found or None


def _written(text: str) -> License | None:
    """An address in the text tells more than the words about it; a likeness of words tells nothing."""
    text = values.text(text) or ""
    found = _ADDRESS.search(text)
    address, rest = (found[0], text != found[0]) if found else (None, True)
    license = license_of(None, address, text if rest else None)  # noqa: A001
    if license and license.title and len(license.title) > _LONGEST_TITLE:
        license.title, license.text = None, text
    return license
