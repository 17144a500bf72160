"""When something was issued or changed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.mapping import values
from crawlers.rdf.namespaces import DC, DCT, SCHEMA, SCHEMA_HTTPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.mapping.dcat.description import Description, Predicates
    from crawlers.rdf.terms import Node

_ISSUED = (
    *(DCT + "issued", DCT + "created", DC + "issued"),
    *(SCHEMA + "datePublished", SCHEMA_HTTPS + "datePublished", SCHEMA + "dateCreated", SCHEMA_HTTPS + "dateCreated"),
)
_MODIFIED = (DCT + "modified", DC + "modified", SCHEMA + "dateModified", SCHEMA_HTTPS + "dateModified")
_ZONED = re.compile(r"([0-9]{4}(?:-[0-9]{2}){0,2})(?:Z|[+-][0-9]{2}:[0-9]{2})")
_TEMPLATE = re.compile(r"[{<$%]")
_SHOWN = 60


def issued(about: Description, node: Node) -> str | None:
    """The earliest of several; when it was created if nothing says when it was issued."""
    return min(_dates(about, node, _ISSUED), default=None)


def modified(about: Description, node: Node) -> str | None:
    """The latest of several."""
    return max(_dates(about, node, _MODIFIED), default=None)


def _dates(about: Description, node: Node, predicates: Predicates) -> list[str]:
    for predicate in predicates:
        if predicate in node and (found := list(_readable(about, node, predicate))):
            return found
    return []


def _readable(about: Description, node: Node, predicate: str) -> Iterator[str]:
    for text in about.texts(node[predicate]):
        found = date(text)
        if found and found[:10] <= about.tomorrow[: len(found)]:
            yield found
        elif (stripped := text.strip()) and not _TEMPLATE.search(stripped):
            wrong = "is in the future" if found else "is no date"
            about.flaws.add(f"{re.split('[/#]', predicate)[-1]} {stripped[:_SHOWN]!r} {wrong}")


def date(text: str) -> str | None:
    """As `crawlers.mapping.values.date`; XML Schema's days, months and years may have a zone too.

    >>> date("2016-12-14T18:59:02"), date("2016-12-14+01:00"), date("2016Z"), date("{{modified:toISO}}")
    ('2016-12-14T18:59:02Z', '2016-12-14', '2016', None)
    """
    found = values.date(text)
    if found or not (zoned := _ZONED.fullmatch(text.strip())):
        return found
    return values.date(zoned[1])
