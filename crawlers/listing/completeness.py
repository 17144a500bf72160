"""Whether a listing was whole: the one rule by which any crawl may be called complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from crawlers.exceptions import AnswerError

Evidence = Literal["total", "file", "pager", "short_page", "rules"]
"""What shows that a listing was whole; stands in the run report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a listing ended, as its spider saw it.

    Args:
        listed: how many distinct ids the listing gave.
        subject: what the sentences of an error line call the listing.
        total: how many datasets the catalogue says it has; ``None`` if it says nothing.
        is_one_file: the catalogue is one file or one answer, read to its end without error, that names no further page.
        has_pager_ended: the last page has no way on although an earlier page had one.
        is_last_page_short: the last page of an API was empty, or shorter than asked for.
        is_declared: the user says that there is only this page (``next = false`` in the rules).
        left: what a page offered and the crawl neither followed nor kept, as one clause; empty if nothing was left.
    """

    listed: int
    subject: str = "the catalogue"
    total: int | None = None
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
    if ending.total is not None:
        return _total(ending.total, ending)
    if ending.is_declared:
        return "rules"
    shown = next((word for word, is_shown in _signs(ending) if is_shown), None)
    if ending.left or shown is None:
        reason = ending.left or "nothing shows that these are all"
        raise AnswerError("unproven", f"{ending.subject} listed {ending.listed} datasets, and {reason}")
    return shown


def _total(total: int, ending: Ending) -> Evidence:
    if ending.listed < total:
        message = f"{ending.subject} says it has {total} datasets, and listed {ending.listed}"
        raise AnswerError("count_mismatch", message)
    return "total"


def _signs(ending: Ending) -> tuple[tuple[Evidence, bool], ...]:
    return (
        ("file", ending.is_one_file),
        ("pager", ending.has_pager_ended),
        ("short_page", ending.is_last_page_short),
    )
