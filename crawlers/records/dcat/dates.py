"""When something was issued or changed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.records import values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.records.dcat.description import Description

_TEMPLATE = re.compile(r"[{<$%]")
_SHOWN = 60


def earliest(node: Description, *predicates: str) -> str | None:
    """Return the earliest of several dates of the first property that has any."""
    return min(_dates(node, predicates), default=None)


def latest(node: Description, *predicates: str) -> str | None:
    """Return the latest of several dates of the first property that has any."""
    return max(_dates(node, predicates), default=None)


def _dates(node: Description, predicates: tuple[str, ...]) -> list[str]:
    for name in predicates:
        if name in node.fields and (found := list(_readable(node, name))):
            return found
    return []


def _readable(node: Description, predicate: str) -> Iterator[str]:
    for text in node.spellings(node.fields[predicate]):
        found = values.xsd_date(text)
        if found and values.has_come(found):
            yield found
        elif (stripped := text.strip()) and not _TEMPLATE.search(stripped):
            wrong = "is in the future" if found else "is no date"
            name = re.split("[/#]", predicate)[-1]
            node.flaw(f"{name} {stripped[:_SHOWN]!r} {wrong}", name)
