"""Where a walk through a catalogue is."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from crawlers.listing.completeness import Ending

if TYPE_CHECKING:
    from crawlers.dcat.page import Page

PATIENCE = 2
"""Pages in a row without a new dataset, before a walk is taken for a loop."""
MOST_PAGES = 20_000
MOST_BARREN = 50
"""Pages in a row without a new dataset, of pages that are read in no order."""
MOST_AGAIN = 50
"""Pages of a second look."""

Way = Literal["page", "node", "dataset"]
Look = Literal["", "modified", "first"]


@dataclass(slots=True)
class Place:
    """Where a walk through pages is; travels with the request.

    One request leads to the next: to the pages of a catalogue, then to those of the catalogues that are parts of it,
    then to the datasets that are only linked.

    Args:
        number: which page of all that are asked for it is.
        listed: datasets on all pages before.
        resources: those of them.
        hops: how many HTML pages led here.
        way: how it was found: page after page, as a TREE node, or as the address of a dataset.
        name: the dataset that is asked for.
        asked: how many datasets were asked for one by one.
        unread: how many of them did not come, in a row.
        short: how many datasets catalogues have listed fewer than they said.
        branch: the address of the catalogue whose pages these are; empty for the one that the user named.
        depth: how many catalogues that one is in.
        start: the address of its first page.
        begun: when that came, by its server's clock.
        pages: how many pages of it have come.
        counted: datasets on them.
        named: how many datasets were only named before it began.
        total: how many datasets it says it has.
        stale: pages in a row without a new dataset.
        empty: whether the page has no dataset at all, new or not.
        catalogue: whether one of the pages was a catalogue, be it an empty one.
        told: whether a page said where the next one is; from then on none is guessed.
        guessed: whether no page said that there is this one.
        missed: whether the guessed page before this one was not there.
        turned: whether an earlier page had a way on.
        ckan: whether ckanext-dcat made the pages.
        repeated: whether the page has a dataset that another had before.
        shifted: how many of the pages before have one.
        look: which second look this is, if it is one.
        looked: how many pages of it have come.
        left: what a page names and was not read, as a clause.
        repeats: whether its pages repeat, or end in an empty one that was promised.
        lacking: whether something of the catalogue could not be read, of which an error line tells.
        broken: whether a page of it did not come.
    """

    number: int = 1
    listed: int = 0
    resources: int = 0
    hops: int = 0
    way: Way = "page"
    name: str = ""
    asked: int = 0
    unread: int = 0
    short: int = 0
    branch: str = ""
    depth: int = 0
    start: str = ""
    begun: str = ""
    pages: int = 0
    counted: int = 0
    named: int = 0
    total: int | None = None
    stale: int = 0
    empty: bool = False
    catalogue: bool = False
    told: bool = False
    guessed: bool = False
    missed: bool = False
    turned: bool = False
    ckan: bool = False
    repeated: bool = False
    shifted: int = 0
    look: Look = ""
    looked: int = 0
    left: str = ""
    repeats: bool = False
    lacking: bool = False
    broken: bool = False

    @property
    def list_name(self) -> str:
        """The name of the catalogue's list of pages."""
        return f"the pages of {self.branch}" if self.branch else "pages"

    @property
    def pages_name(self) -> str:
        """The name of the list of addresses that were asked for: another look has its own."""
        return f"pages {self.look}".strip()

    @property
    def is_fruitful(self) -> bool:
        """Whether it is worth while to go on to a next page."""
        if self.look:
            return self.looked < MOST_AGAIN and not self.is_all
        return self.stale < PATIENCE and self.number <= MOST_PAGES

    @property
    def is_end(self) -> bool:
        """Whether a page without a next one may be the last: one that a page promised is not empty, or all known."""
        if self.look or self.way == "node":
            return True
        return self.pages <= 1 or self.guessed or (not self.empty and not self.stale)

    @property
    def is_all(self) -> bool:
        """Whether as many were listed as there are said to be."""
        return self.total is not None and self.counted >= self.total

    def by(self, address: str) -> str:
        """What identifies the request for a page: its address, and which look at it that is."""
        return f"{address} ({self.look})" if self.look else address

    @property
    def has_shifted(self) -> bool:
        """Whether datasets came twice, and not on every page, as what belongs to all of them does."""
        return 0 < self.shifted + self.repeated < self.pages - 1

    def after(self, page: Page) -> Place:
        """The place behind a page, before any of its records is counted."""
        moved = replace(self, number=self.number + 1, empty=True, lacking=self.lacking or bool(page.faults))
        if self.look:
            return replace(moved, looked=self.looked + 1)
        if self.way == "dataset":
            return moved
        total = page.total()
        return replace(
            moved,
            pages=self.pages + 1,
            repeated=False,
            shifted=self.shifted + self.repeated,
            total=self.total if total is None else total,
            stale=self.stale + 1,
            catalogue=self.catalogue or page.is_catalogue(),
            told=self.told or total is not None,
        )

    def within(self, address: str, depth: int, named: int) -> Place:
        """The place before the first page of a catalogue that is a part of another."""
        return Place(
            number=self.number,
            listed=self.listed,
            resources=self.resources,
            short=self.short,
            branch=address,
            depth=depth,
            start=address,
            named=named,
        )

    def ending(self, named: int) -> Ending:
        """How the catalogue's list ended.

        Args:
            named: how many datasets are only named by now; this catalogue's are listed, too.
        """
        return Ending(
            listed=self.counted + max(0, named - self.named),
            subject=f"the catalogue {self.branch}" if self.branch else "the catalogue",
            total=self.total,
            is_one_file=self.pages == 1 and not self.turned,
            has_pager_ended=self.turned and not self.guessed,
            is_last_page_short=self.guessed and self.empty,
            left=self.left,
        )

    def plain(self) -> dict[str, Any]:
        return asdict(self)
