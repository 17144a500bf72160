"""Where a walk through a listing is."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from crawlers.kinds.html.links import Link


SECOND_LOOK = 50
"""Pages of a listing that are looked at again where they seem to have shifted."""


@dataclass(slots=True)
class Place:
    """The state of a walk; it travels with the request for a listing's page.

    Args:
        walk: the address that the walk began at, which is its name.
        number: the page's, from 1.
        depth: how many links to further listings led here.
        seen: datasets on the pages before, each once.
        stale: pages in a row without a dataset that was new to the walk.
        gap: the first of the pages in a row without any dataset.
        total: how many datasets the listing says it has, where the rules say.
        printed: how many it prints for people: that contradicts, and shows nothing.
        digest: of the page before: what it linked to.
        link_text: the text of the link that led here, where its shape alone showed what it was.
        offered: the highest page that a pager has named so far.
        ahead: addresses of later pages, by their numbers: what a script loads may come without the pager.
        repeated: datasets that a page listed again beside new ones: the pages may have shifted.
        pages: digests of the first pages, in order.
        before: of the walk before this one, if this is the second look at its listing.
        ending: how the walk before this one ended.
        size: links to datasets on the page before.
        largest: those of the page that had most: a page is full if it has as many.
        leads: whether a page led to further listings.
        is_indexed: whether the page has an index from A to Z, and the whole index is followed.
        renewals: how often the form of the listing was sent again because its session had ended.
        is_in_session: whether the form was posted, so that its pages are of a session.
        session: names the session that the page is of, and its cookies.
        known: datasets that the listing had before its session ended.
    """

    walk: str
    number: int = 1
    depth: int = 0
    seen: int = 0
    stale: int = 0
    gap: int | None = None
    total: int | None = None
    printed: int | None = None
    digest: str = ""
    link_text: str = ""
    offered: int = 1
    ahead: dict[str, str] = field(default_factory=dict)
    repeated: int = 0
    pages: list[str] = field(default_factory=list)
    before: list[str] | None = None
    ending: dict[str, Any] = field(default_factory=dict)
    size: int = 0
    largest: int = 0
    leads: bool = False
    is_indexed: bool = False
    renewals: int = 0
    is_in_session: bool = False
    session: str = ""
    known: int = 0

    @property
    def name(self) -> str:
        """The list of what was seen: a second look has its own."""
        return self.first_name if self.before is None else f"second look {self.walk}"

    @property
    def first_name(self) -> str:
        """The list of what was seen by the first look; one that began again has its own."""
        return f"walk {self.walk}" + (f" renewed {self.renewals}" if self.renewals else "")

    @property
    def is_again(self) -> bool:
        """Whether the pages have been requested before."""
        return self.before is not None or self.renewals > 0

    @property
    def is_steady(self) -> bool:
        """Whether the pages are in order: none repeats what another had, or the second look saw the same."""
        return not self.repeated or (self.before is not None and self.pages == self.before[: len(self.pages)])

    @property
    def is_full(self) -> bool:
        """Whether the page before is as long as the longest one, so that it is not the last one."""
        return self.size >= self.largest

    @property
    def is_all(self) -> bool:
        """Whether as many were seen as the listing states."""
        return self.total is not None and self.seen >= self.total

    def is_repeated_by(self, after: Place) -> bool:
        """Return whether the page lists what the page before it did."""
        return bool(after.digest) and after.digest == self.digest

    def after(self, links: Sequence[Link], total: int | None) -> Place:
        """Return the place behind a page, before its new datasets are counted."""
        digest = _digest(links)
        return replace(
            self,
            number=self.number + 1,
            stale=self.stale + 1,
            gap=None if links else self.gap or self.number,
            total=self.total if total is None else total,
            digest=digest,
            size=len(links),
            largest=max(self.largest, len(links)),
            pages=[*self.pages, digest] if len(self.pages) < SECOND_LOOK else self.pages,
        )

    def second_look(self, ending: dict[str, Any]) -> Place:
        """Return the place before a second look at the same listing.

        Args:
            ending: how the first look ended.
        """
        kept = {
            name: getattr(self, name) for name in ("depth", "total", "printed", "seen", "renewals", "session", "known")
        }
        return Place(self.walk, **kept, before=self.pages, ending=ending)

    def renewed(self) -> Place:
        """Return the place before the listing, whose form is sent again."""
        known = max(self.seen, self.known)
        return Place(self.walk, depth=self.depth, renewals=self.renewals + 1, known=known)

    def plain(self) -> dict[str, Any]:
        """Return the place as JSON can hold it."""
        return asdict(self)


def _digest(links: Sequence[Link]) -> str:
    text = json.dumps([link.id for link in links])
    return hashlib.sha256(text.encode()).hexdigest()[:16] if links else ""
