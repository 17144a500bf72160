"""Whether a listing was whole: the only rule that calls a crawl complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from scrapy import Request

    from crawlers.listing.crawl import Crawl
    from crawlers.listing.walks import Walks

Evidence = str
"""What shows that a listing was whole; stands in the run report: total, file, pager, short_page, rules; see `less`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a listing ended, as its spider saw it.

    Args:
        listed: how many distinct ids the listing gave.
        subject: what the sentences of an error line call the listing.
        total: how many datasets the catalogue says it has; ``None`` if it gives no total.
        absent: how many more it counts, and does not have, as it says of each.
        is_at_least: the total is the number behind which the server gives nothing, so that there may be more.
        is_one_file: the catalogue is one file or one answer, read to its end without error, that names no further page.
        has_pager_ended: the last page has no way on although an earlier page had one.
        is_last_page_short: the last page of an API was empty, or shorter than asked for.
        is_declared: the user says that there is only this page (``next = false`` in the rules).
        left: what a page offered and the crawl neither followed nor kept, as one clause; empty if nothing was left.
    """

    listed: int
    subject: str = "the catalogue"
    total: int | None = None
    absent: int = 0
    is_at_least: bool = False
    is_one_file: bool = False
    has_pager_ended: bool = False
    is_last_page_short: bool = False
    is_declared: bool = False
    left: str = ""


def evidence(ending: Ending) -> Evidence:
    """Return what shows that the listing was whole.

    Raises:
        AnswerError: fewer datasets were listed than the catalogue says it has (count_mismatch), or nothing shows that
            these were all (unproven).

    >>> evidence(Ending(listed=305, total=305)), evidence(Ending(listed=17, has_pager_ended=True))
    ('total', 'pager')
    >>> evidence(Ending(listed=17))
    Traceback (most recent call last):
    ...
    crawlers.exceptions.AnswerError: the catalogue listed 17 datasets, and nothing shows that these are all
    """
    if ending.total is not None and (shown := _total(ending.total, ending)):
        return shown
    if ending.is_declared:
        return "rules"
    shown = next((word for word, is_shown in _signs(ending) if is_shown), None)
    if ending.left or shown is None:
        reason = ending.left or "nothing shows that these are all"
        raise AnswerError("unproven", f"{ending.subject} listed {ending.listed} datasets, and {reason}")
    return shown


def _total(total: int, ending: Ending) -> Evidence | None:
    if ending.listed < total:
        message = f"{ending.subject} says it has {total} datasets, and listed {ending.listed}"
        raise AnswerError("count_mismatch", message)
    if not ending.is_at_least:
        return less(ending.absent)
    if ending.listed == total:
        message = f"{ending.subject} listed {total} datasets, and never gives more: there may be others"
        raise AnswerError("unproven", message)
    return None


def less(absent: int) -> Evidence:
    """Return the total as evidence, where the catalogue counts some that it does not have.

    >>> less(0), less(2)
    ('total', 'total less 2 that the portal does not have')
    """
    return f"total less {absent} that the portal does not have" if absent else "total"


def _signs(ending: Ending) -> tuple[tuple[Evidence, bool], ...]:
    return (
        ("file", ending.is_one_file),
        ("pager", ending.has_pager_ended),
        ("short_page", ending.is_last_page_short),
    )


class Completeness:
    """The lists of a crawl: which have begun, which have ended, and what shows that each was whole.

    That is remembered in the crawl's `run_state`.
    """

    def __init__(self, crawl: Crawl) -> None:
        self.crawl = crawl

    @property
    def walks(self) -> Walks:
        return self.crawl.run_state.walks

    @property
    def open_lists(self) -> set[str]:
        """The lists that have begun and not ended."""
        return self.walks.open

    def begin(self, name: str) -> None:
        """Note that a list is requested, unless it was requested before the crawl was resumed."""
        self.walks.begin(name)

    def end(self, name: str) -> None:
        """Note that nothing more of a list will come, for whatever reason."""
        self.walks.end(name, "short")

    def conclude(self, name: str, ending: Ending, request: Request | None = None) -> bool:
        """Judge a list that has ended; return whether something shows that it was whole.

        Without evidence an error is reported, and the run is incomplete.

        Args:
            name: the list's, as in `begin`.
            request: the request whose answer ended it.
        """
        self.end(name)
        try:
            word = evidence(ending)
        except AnswerError as error:
            self.crawl.failed("list", error, request)
            return False
        self.walks.end(name, "whole", evidence=word, total=ending.total, listed=ending.listed)
        return True
