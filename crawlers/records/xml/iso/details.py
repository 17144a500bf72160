"""What an ISO record says beyond what most catalogues do: relations, laws, resolutions, its state."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlers.records import values
from crawlers.records.relations import relation
from crawlers.records.resolutions import duration, metres

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Dataset, Relation
    from crawlers.records.xml.iso.part import Part

_LAW = re.compile(r"https?://data\.europa\.eu/eli/\S+")
_CATEGORY = re.compile(r"https?://data\.europa\.eu/bna/\S+")


def complete(item: Dataset, identification: Part, scope: str) -> None:
    """Fill in these fields.

    Args:
        scope: the code of what the record describes, which is the dataset's type.
    """
    item.type, item.status = scope, identification.line("status")
    item.relations = list(_relations(identification))
    item.documentation = list(filter(None, map(values.url, identification.texts("document"))))
    item.spatial_resolution = min(_distances(identification), default=None)
    item.temporal_resolution = next(filter(None, map(duration, identification.texts("duration"))), None)
    cited = list(_cited(identification))
    item.applicable_legislation = list(dict.fromkeys(filter(_LAW.fullmatch, cited)))
    item.hvd_categories = list(dict.fromkeys(filter(_CATEGORY.fullmatch, cited)))


def _relations(identification: Part) -> Iterator[Relation]:
    for each in identification.parts("associated"):
        code, anchor = next(each.values("code"), (None, None))
        written = (anchor or "", code or "", each.text("page") or "")
        address = next(filter(None, map(values.url, written)), None)
        title = each.line("title") or code
        if found := relation(address or "", each.text("type") or "relation", title if title != address else None):
            yield found


def _distances(identification: Part) -> Iterator[float]:
    """Yield the distances on the ground in metres; one in degrees is none."""
    for element in identification.find("distance"):
        for number in element.iterchildren("*"):
            unit = (number.get("uom") or "m").rpartition("#")[2].rpartition("/")[2]
            if found := metres(f"{(number.text or '').strip()} {unit}"):
                yield found


def _cited(identification: Part) -> Iterator[str]:
    """Yield the addresses of the keywords and of the constraints, as anchors or as texts."""
    parts = ("keywords", "keyword"), ("constraints", "other"), ("constraints", "use"), ("constraints", "reference_url")
    for part, name in parts:
        for each in identification.parts(part):
            yield from (written for pair in each.values(name) for written in pair if written)
