"""How a walk through a listing ended, and whether it listed everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlers.exceptions import AnswerError
from crawlers.kinds.html import turn
from crawlers.listing.completeness import Ending

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy.http import Response

    from crawlers.kinds.html.rules import Rules
    from crawlers.kinds.html.rules.rules import Kind
    from crawlers.kinds.html.walk_state import Place
    from crawlers.listing.completeness import Completeness
    from crawlers.listing.crawl import Crawl

GONE = (404, 410)
_ONE_PAGE = (
    "nothing shows that these are all: it is one page that leads to no other"
    " (if there is no other page, say next = false in [paging])"
)


class Conclusion:
    """Judges each walk that has ended, and the whole listing after the last one.

    Args:
        find_gone: yields the questions about what a whole listing lacks.
    """

    def __init__(
        self, crawl: Crawl, site: Rules, completeness: Completeness, find_gone: Callable[[], Iterator[Any]]
    ) -> None:
        self.crawl, self.site, self.completeness = crawl, site, completeness
        self.find_gone = find_gone
        self.paging = site.paging

    # What is wrong

    def fault(self, kind: str, message: str, request: Request | None) -> None:
        """Report why a listing was not read completely."""
        self.fail(AnswerError(kind, message), request)

    def fail(self, error: AnswerError, request: Request | None, status: int | None = None) -> None:
        self.crawl.failed("list", error, request, http_status=status)
        self.cut_short()

    def cut_short(self) -> None:
        """Record that a listing was not read to its end: datasets that it lacks may still exist."""
        self.crawl.run_state.is_cut_short = True

    def check(self, here: Place, after: Place, response: Response) -> None:
        """Report a gap between pages, a second page like the first, and a browser's page that ended too early.

        An empty page is the end or a failure; only the page behind it shows which.
        """
        request = response.request
        if here.gap and after.gap is None:
            message = f"page {here.gap} of {here.walk} lists no dataset or is not there, and later ones list some"
            self.fault("paging", message, request)
        if here.number == 2 and here.is_repeated_by(after) and self.paging.kind not in turn.BY_BROWSER:
            message = f"page 2 of {here.walk} lists what page 1 does: does [paging] name what turns the page?"
            self.fault("paging", message, request)
        if turn.is_short(response, here.number - 1):
            message = f"{here.walk} ended after fewer than the {here.number - 2} page turns that were possible before"
            self.fault("paging", message, request)

    def report_missing(self, place: Place, error: AnswerError, request: Request, status: int | None) -> None:
        """Report a counted page that did not come; if it is not found, only page 2: a later one may be the end."""
        if status not in GONE:
            self.fail(error, request, status)
        elif place.number == 2:
            message = f"there is no page 2 of {place.walk}: does [paging] name what turns the page?"
            self.fault("paging", message, request)

    def is_flawed(self, after: Place, request: Request | None, *, repeats: bool = False) -> bool:
        """Report what contradicts that a walk saw everything; return whether anything does.

        Args:
            repeats: whether the last page is the one before it again; of page 2 that has been reported.
        """
        if after.total is not None and after.seen > after.total:
            message = f"{after.walk} says it has {after.total} datasets, and listed {after.seen}"
            self.fault("count_mismatch", message, request)
        elif after.printed is not None and after.seen < after.printed:
            message = f"{after.walk} prints that it has {after.printed} datasets, and listed {after.seen}"
            self.fault("count_mismatch", message, request)
        elif after.seen < after.known:
            message = f"{after.walk} listed {after.known} datasets before its session ended, and {after.seen} after"
            self.fault("paging", message, request)
        elif repeats and self.paging.kind in turn.COUNTED and after.is_full and not after.is_all:
            if after.number > 3:
                self.fault("paging", f"{after.walk} gives the same page again after {after.seen} datasets", request)
        elif after.gap and after.gap > 1 and self.paging.kind in turn.PROMISED:
            self.fault("paging", f"{after.walk} leads to a page {after.gap} that lists no dataset", request)
        elif after.gap == 1 and not after.depth and len(self.site.start) > 1 and not after.leads:
            self.fault("no_datasets", f"{after.walk} has no link to a dataset", request)
        else:
            return False
        return True

    def is_shifted(self, after: Place) -> bool:
        """Return whether pages list datasets of earlier ones again, so that others may have been on none."""
        return not after.is_steady and after.total != after.seen and self.paging.kind in turn.READ_ONCE

    # The end

    def judge(self, after: Place, request: Request | None, found: Ending, response: Response | None = None) -> None:
        """Look for evidence that a walk is complete; a walk of one page waits until the last walk has ended."""
        if self.is_shifted(after):
            message = f"{after.walk} lists its {after.seen} datasets in another order on each look: some may be missing"
            self.fault("paging", message, request)
        elif not after.seen and after.leads:
            return  # it has no datasets of its own, and what it leads to was followed
        elif is_single(found, after, response):
            self.crawl.run_state.note("single_pages", after.walk, after.seen)
        elif not self.completeness.conclude(after.walk, found, request):
            self.cut_short()

    def _judge_single_pages(self) -> None:
        state = self.crawl.run_state
        for walk, seen in state.single_pages.items():
            if not self.completeness.conclude(walk, single_page(walk, seen, state.page_size), Request(walk)):
                self.cut_short()

    def stop(self, place: Place) -> Iterator[Request]:
        """End a walk because the user's limit is reached."""
        self.crawl.run_state.is_limited = True
        yield from self.end(place)

    def end(self, place: Place) -> Iterator[Request]:
        """End a walk; after the last one, yield the requests that confirm what is gone."""
        self.completeness.end(place.walk)
        if not self.completeness.open_lists:
            yield from self._finish()

    def _finish(self) -> Iterator[Request]:
        state, listed = self.crawl.run_state, self.crawl.records.expected
        if listed and not state.is_limited:
            self._judge_single_pages()
        if state.is_limited or state.is_cut_short:
            return
        state.expected = listed
        if listed:
            yield from self.find_gone()
        else:
            message = "the listing has no link to a dataset: look at [links] in the rules, or ask for a browser"
            self.crawl.failed("list", AnswerError("no_datasets", message))


def ending(
    kind: Kind, after: Place, response: Response | None = None, *, goes_on: bool = False, repeats: bool = False
) -> Ending:
    """Return how a walk ended.

    Args:
        kind: of paging, as the rules say.
        after: the place behind the last page.
        response: the last page; ``None`` when it was not there.
        goes_on: whether the last page has a link to a further one, which was not followed.
        repeats: whether the last page is the one before it again.
    """
    pages = after.number - 1
    is_turned, has_ended = turn.made(response) > 0 and kind in turn.BY_BROWSER, turn.has_ended(response, kind)
    is_followed = pages > 1 and kind in turn.PROMISED and not goes_on
    return Ending(
        listed=after.seen,
        subject=after.walk,
        total=after.total,
        has_pager_ended=is_followed or after.is_indexed or has_ended,
        is_last_page_short=pages > 1 and kind in turn.COUNTED and not (repeats and after.is_full),
        is_declared=kind == "none",
        left=_left(after.offered, pages - repeats, is_open=is_turned and not has_ended),
    )


def is_single(found: Ending, after: Place, response: Response | None = None) -> bool:
    """Return whether a walk was one page that shows nothing by itself, or one that a browser could not turn."""
    shown = found.has_pager_ended or found.is_last_page_short or found.is_declared or found.total is not None
    is_one = after.number == 2 or (response is not None and turn.is_unturned(response))
    return is_one and not shown and not found.left


def single_page(walk: str, listed: int, size: int) -> Ending:
    """Return how a walk of one page ended: it lists everything if longer pages led on; a full one shows nothing.

    Args:
        listed: the datasets of the page.
        size: the largest number of datasets on a page of this crawl that led to another page.
    """
    is_end = listed < size
    return Ending(listed=listed, subject=walk, has_pager_ended=is_end, left="" if is_end else _ONE_PAGE)


def _left(offered: int, pages: int, *, is_open: bool) -> str:
    """Return what the pager offers and the walk did not follow, as a clause."""
    if offered > pages:
        return f"its pager offers page {offered}, and {pages} {'was' if pages == 1 else 'were'} read"
    return "a further turn changes nothing, though nothing says that this is the last page" if is_open else ""
