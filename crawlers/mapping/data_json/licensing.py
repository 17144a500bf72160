"""Licences, given as an address, a name, an object, or their whole text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.mapping.data_json.identifiers import iri
from crawlers.mapping.licenses import license as license_of

if TYPE_CHECKING:
    from crawlers.items import License, Resource
    from crawlers.mapping.data_json.node import Node

_LONGEST_NAME = 200
_IDENTIFIER = re.compile(r"[\w.+/-]+")
_ADDRESS = re.compile(r"https?://[^\s<>\"'()]*[^\s<>\"'().,;:]")


def license(fields: Node) -> License | None:  # noqa: A001
    """The first that says anything."""
    return next(filter(None, (_license(fields, *one) for one in fields.many("license"))), None)


def inherited(rights: str | None, resources: list[Resource]) -> License | None:
    """Of a dataset without one: a known licence that its rights point to, else its distributions' only one."""
    for address in _ADDRESS.findall(rights or ""):
        found = license_of(None, address)
        if found and found.id:
            return found
    given = {one.license.id or repr(one.license): one.license for one in resources if one.license}
    return next(iter(given.values())) if len(given) == 1 else None


def _license(fields: Node, where: str, value: Any) -> License | None:
    if isinstance(value, dict):
        one = fields.node(where, value)
        name, title = one.text("identifier", "notation"), one.text("title", "label", "prefLabel", "name", "@value")
        return license_of(name, one.link("accessURL", "url") or iri(value), title)
    text = fields.written(where, value)
    return _written(text) if text else None


def _written(text: str) -> License | None:
    """
    >>> _written("https://creativecommons.org/publicdomain/zero/1.0/").id, _written("CC-BY-4.0").id
    ('CC0-1.0', 'CC-BY-4.0')
    >>> _written("U.S. Government Work").title, _written("You may copy, so long as you " + "do so " * 50).text[:12]
    ('U.S. Government Work', 'You may copy')
    """
    if _IDENTIFIER.fullmatch(text):
        return license_of(text)
    address = _ADDRESS.search(text)
    found = license_of(None, address[0] if address else None, text if not address or address[0] != text else None)
    if found and found.title and len(text) > _LONGEST_NAME:
        found.title, found.text = None, text
    return found
