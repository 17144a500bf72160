"""The licence of a dataset or of a file."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from crawlers.items import Dataset, License
from crawlers.records import values
from crawlers.records.dcat.description import properties, remembered
from crawlers.records.dcat.rights import RIGHTS
from crawlers.records.licenses import license as license_of
from crawlers.records.licenses import stated
from crawlers.records.rdf.terms import Literal, is_blank

if TYPE_CHECKING:
    from crawlers.records.dcat.description import Description

_LICENSES = tuple(name for name in properties(Dataset, "license") if name not in RIGHTS)
_IDS, _ADDRESSES, _TITLES, _TEXTS = (properties(License, name) for name in ("id", "uri", "title", "text"))
_ADDRESS = re.compile(r"https?://[^\s<>\"'()\[\]]*[^\s<>\"'()\[\].,;:]")
_LONGEST_TITLE = 300


def license(node: Description, *_: str) -> License | None:  # noqa: A001
    """Return what dct:license gives; else a statement of rights, which counts if SPDX knows it as a licence."""
    given = _best(node, *_LICENSES)
    if given or not (found := _best(node, *RIGHTS)):
        return given
    return found if found.id else None


def _best(node: Description, *predicates: str) -> License | None:
    """Return one that SPDX knows, then one with an address, then the first in the alphabet."""
    found = [License(**given) for term in node.terms(*predicates) if (given := _license(node.at(term)))]
    return min(found, key=_order) if len(found) > 1 else found[0] if found else None


def _order(license: License) -> tuple[bool, bool, str, str, str]:  # noqa: A002
    names = (license.id or "", license.uri or "", license.title or "")
    return (not license.id, not license.uri, *names)


@remembered
def _license(node: Description) -> dict[str, Any]:
    found = _read(node)
    return asdict(found) if found else {}


def _read(node: Description) -> License | None:
    term = node.term
    if isinstance(term, Literal):
        text = values.text(term.value) or ""
        found = _ADDRESS.search(text)
        return stated(text, found[0] if found else None, _LONGEST_TITLE)
    if is_blank(term):
        return _described(node, node.url(*_ADDRESSES))
    return _described(node, term) or License(uri=term)


def _described(node: Description, address: str | None) -> License | None:
    title, text = node.text(*_TITLES), node.text(*_TEXTS)
    found = license_of(node.text(*_IDS), address, title) or (text and license_of(None, None, text))
    if found:
        found.title, found.text = title, text
    return found or None
