"""Where a walk through a listing is."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlers.html.links import Link


@dataclass(slots=True)
class Place:
    """Travels with the request for a listing's page.

    Args:
        walk: the address that the walk began at, which is its name.
        number: the page's, from 1.
        depth: how many links to further listings led here.
        seen: datasets on the pages before, each once.
        stale: pages in a row without a dataset that was new to the walk.
        gap: the first of the pages in a row without any dataset.
        total: how many datasets the listing says it has.
        digest: of the page before: what it linked to.
    """

    walk: str
    number: int = 1
    depth: int = 0
    seen: int = 0
    stale: int = 0
    gap: int | None = None
    total: int | None = None
    digest: str = ""

    @property
    def is_all(self) -> bool:
        """Whether as many were seen as there are said to be."""
        return self.total is not None and self.seen >= self.total

    def after(self, links: Sequence[Link], total: int | None) -> Place:
        """The place behind a page, before its new datasets are counted."""
        return replace(
            self,
            number=self.number + 1,
            stale=self.stale + 1,
            gap=None if links else self.gap or self.number,
            total=self.total if total is None else total,
            digest=_digest(links),
        )

    def plain(self) -> dict[str, Any]:
        return asdict(self)


def _digest(links: Sequence[Link]) -> str:
    text = json.dumps([link.id for link in links])
    return hashlib.sha256(text.encode()).hexdigest()[:16] if links else ""
