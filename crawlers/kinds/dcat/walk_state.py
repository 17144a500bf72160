"""The state of a walk through a catalogue; it travels with the requests."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

from crawlers.kinds.dcat import paging
from crawlers.listing.completeness import Ending

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.kinds.dcat.page import Page

MAX_STALE = 2
"""Pages in a row without a new dataset, before a walk is taken for a loop."""
MAX_STALE_NODES = 50
"""The same for pages that are read in no order."""
MAX_PAGES = 20_000
MAX_SECOND_PAGES = 50
"""Pages of a second look."""

Way = Literal["page", "node", "dataset"]
Look = Literal["", "modified", "first"]


@dataclass(slots=True)
class Listing:
    """The state of the listing of one catalogue: the one that the user named, or one that is a part of it.

    Args:
        branch: the catalogue's address; empty for the one that the user named.
        depth: how many catalogues contain it.
        start: the address of its first page.
        started: when that page came, by its server's clock, less an hour.
        pages: how many of its pages have come.
        counted: how many datasets are on them.
        named_before: how many datasets were named and not described when its listing began.
        total: how many datasets it says it has.
        stale: how many pages in a row had no new dataset.
        is_empty: whether the page has no dataset at all, new or not.
        is_catalogue: whether one of the pages was a catalogue, even an empty one.
        has_paging: whether a page said where the next one is; from then on no page number is guessed.
        is_guessed: whether the page was requested by its number only, and no page names it.
        is_behind_gap: whether the guessed page before this one was not found.
        had_next: whether an earlier page led to a further one.
        is_ckan: whether ckanext-dcat made the pages.
        has_repeats: whether the page has a dataset that another page had before.
        shifted: how many of the pages before have one.
        look: which second look this is, if it is one.
        looked: how many pages of it have come.
        left: what a page names and was not read, as a clause.
        is_looping: whether its pages repeat, or end in an empty one that a page named.
        has_gaps: whether something of the catalogue could not be read; an error line says what.
        is_broken: whether a page of it did not come.
    """

    branch: str = ""
    depth: int = 0
    start: str = ""
    started: str = ""
    pages: int = 0
    counted: int = 0
    named_before: int = 0
    total: int | None = None
    stale: int = 0
    is_empty: bool = False
    is_catalogue: bool = False
    has_paging: bool = False
    is_guessed: bool = False
    is_behind_gap: bool = False
    had_next: bool = False
    is_ckan: bool = False
    has_repeats: bool = False
    shifted: int = 0
    look: Look = ""
    looked: int = 0
    left: str = ""
    is_looping: bool = False
    has_gaps: bool = False
    is_broken: bool = False

    @property
    def name(self) -> str:
        """The name of the catalogue's list of pages."""
        return f"the pages of {self.branch}" if self.branch else "pages"

    @property
    def pages_name(self) -> str:
        """The name of the list of requested addresses; a second look has its own."""
        return f"pages {self.look}".strip()

    @property
    def is_all(self) -> bool:
        """Whether as many datasets were listed as the catalogue says it has."""
        return self.total is not None and self.counted >= self.total

    @property
    def has_shifted(self) -> bool:
        """Whether datasets came twice on some pages; what is on every page belongs to all of them."""
        return 0 < self.shifted + self.has_repeats < self.pages - 1

    def request_key(self, address: str) -> str:
        """Return what identifies the request for a page: its address, and which look at it that is."""
        return f"{address} ({self.look})" if self.look else address

    def after(self, page: Page, *, is_page: bool) -> Self:
        """Return the state behind an answer, before any of its records is counted.

        Args:
            is_page: whether the answer is one of the catalogue's pages, and not a single dataset.
        """
        moved = replace(self, is_empty=True)
        if self.look:
            return replace(moved, looked=self.looked + 1)
        if not is_page:
            return moved
        total = page.paging.total()
        return replace(
            moved,
            pages=self.pages + 1,
            has_repeats=False,
            shifted=self.shifted + self.has_repeats,
            total=self.total if total is None else total,
            stale=self.stale + 1,
            is_catalogue=self.is_catalogue or page.is_catalogue(),
            has_paging=self.has_paging or total is not None,
        )

    def second_look(self, named: int) -> tuple[str, Self] | None:
        """Return where a second look begins, and its state, if the pages shifted while they were read.

        Args:
            named: how many datasets are named and not described so far.
        """
        if self.total is None:
            is_short = self.has_shifted and not self.is_looping
        else:
            is_short = self.ending(named).listed < self.total
        if self.pages < 2 or self.has_gaps or self.is_broken or not is_short or self.look == "first":
            return None
        begun = replace(self, stale=0, looked=0, is_guessed=False, is_behind_gap=False)
        if self.is_ckan and not self.look:
            return paging.modified_since(self.start, self.started), replace(begun, look="modified")
        return self.start, replace(begun, look="first")

    def ending(self, named: int) -> Ending:
        """Return how the listing ended.

        Args:
            named: how many datasets are named and not described so far; those of this catalogue are listed, too.
        """
        return Ending(
            listed=self.counted + max(0, named - self.named_before),
            subject=f"the catalogue {self.branch}" if self.branch else "the catalogue",
            total=self.total,
            is_one_file=self.pages == 1 and not self.had_next,
            has_pager_ended=self.had_next and not self.is_guessed,
            is_last_page_short=self.is_guessed and self.is_empty,
            left=self.left,
        )


@dataclass(slots=True)
class Place:
    """Where a walk is.

    Each answer leads to one request: to the pages of a catalogue, then to those of the catalogues that are parts of it,
    then to the datasets that are only named.

    Args:
        number: how many answers came before, plus one.
        listed: how many datasets were on them.
        resources: how many resources those have.
        hops: how many HTML pages led here.
        way: how the address was found: page after page, as a TREE node, or as the address of a dataset.
        name: the dataset that is requested.
        requested: how many datasets were requested one by one.
        unread: how many of the last ones in a row did not come.
        short: how many datasets fewer than they said the catalogues have listed.
        listing: the state of the catalogue whose pages these are.
    """

    number: int = 1
    listed: int = 0
    resources: int = 0
    hops: int = 0
    way: Way = "page"
    name: str = ""
    requested: int = 0
    unread: int = 0
    short: int = 0
    listing: Listing = field(default_factory=Listing)

    @classmethod
    def from_plain(cls, values: dict[str, Any]) -> Self:
        """Return the place that `plain` wrote."""
        return cls(**{**values, "listing": Listing(**values["listing"])})

    def plain(self) -> dict[str, Any]:
        """Return the place as JSON values."""
        return asdict(self)

    @property
    def is_fruitful(self) -> bool:
        """Whether a next page may have new datasets."""
        if self.listing.look:
            return self.listing.looked < MAX_SECOND_PAGES and not self.listing.is_all
        return self.listing.stale < MAX_STALE and self.number <= MAX_PAGES

    @property
    def is_end(self) -> bool:
        """Whether a page without a next one may be the last: one that a page named is not empty, or all known."""
        listing = self.listing
        if listing.look or self.way == "node":
            return True
        return listing.pages <= 1 or listing.is_guessed or not (listing.is_empty or listing.stale)

    def with_listing(self, **changes: Any) -> Self:
        """Return the place with changes in the state of its catalogue."""
        return replace(self, listing=replace(self.listing, **changes))

    def after(self, page: Page) -> Self:
        """Return the place behind an answer, before any of its records is counted."""
        return replace(self, number=self.number + 1, listing=self.listing.after(page, is_page=self.way != "dataset"))

    def within(self, address: str, depth: int, named: int) -> Place:
        """Return the place before the first page of a catalogue that is a part of another."""
        listing = Listing(branch=address, depth=depth, start=address, named_before=named)
        return Place(self.number, self.listed, self.resources, short=self.short, listing=listing)


def request_key(response: Response, place: Place) -> str:
    """Return what identifies the request for a page, wherever it was redirected to."""
    request = response.request
    requested = response.url if request is None else str(request.meta.get("redirect_urls", [request.url])[0])
    return place.listing.request_key(requested)
