"""Texts, statements and names, in the forms that schema.org allows for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.mapping import values
from crawlers.mapping.markup import markdown

if TYPE_CHECKING:
    from crawlers.mapping.data_json.node import Node

_BETWEEN_KEYWORDS = re.compile(r"(?<![0-9]),|,(?![0-9])|;")
_FREE = {"true": "accessible for free", "false": "not accessible for free"}


def title(fields: Node) -> str | None:
    """In one line."""
    found = fields.text("name", "headline", "alternateName")
    return " ".join(found.split()) if found else None


def description(fields: Node) -> str | None:
    text = fields.text("description", "abstract", "disambiguatingDescription")
    return markdown(text) if text else None


def keywords(fields: Node) -> list[str]:
    return parted(fields.texts("keywords"))


def parted(found: list[str]) -> list[str]:
    """A text that stands alone is a list with commas; of several each is one keyword, commas or not.

    >>> parted(["water, 1,5 m; flood"]), parted(["a, b", "c"])
    (['water', '1,5 m', 'flood'], ['a, b', 'c'])
    """
    if len(found) == 1:
        found = [text for part in _BETWEEN_KEYWORDS.split(found[0]) if (text := values.text(part))]
    return list(dict.fromkeys(found))


def access_rights(fields: Node) -> str | None:
    """``conditionsOfAccess``; ``isAccessibleForFree``, a boolean or schema.org's IRI of one, says no more than that."""
    if conditions := fields.words("conditionsOfAccess"):
        return conditions
    free = (fields.text("isAccessibleForFree") or "").rpartition("/")[2].lower()
    return _FREE.get(free)


def rights(fields: Node) -> str | None:
    return fields.words("usageInfo") or fields.words("copyrightNotice")


def provenance(fields: Node) -> str | None:
    """What the dataset was made from."""
    return "\n\n".join(fields.references("isBasedOn") or fields.references("isBasedOnUrl")) or None
