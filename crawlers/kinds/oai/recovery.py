"""What else can be requested when a repository does not give a page."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from crawlers.exceptions import AnswerError
from crawlers.kinds.oai.answer import OAIError
from crawlers.kinds.oai.cursor import LARGE, Cursor
from crawlers.listing.paging import PATIENCE
from crawlers.values.moment import moment

if TYPE_CHECKING:
    from datetime import timedelta

    from crawlers.kinds.oai.answer import Answer

ENDS = frozenset(("blocked", "robots", "dns", "connection", "forbidden_address", "offsite", "disk", "bug"))
"""Failures of the host, not of a page."""
_FAILURES = 3
_BARREN = 40
_PAGES = 20
"""Pages of a list that is begun a second time; a longer one is read in windows."""
_SUSPICIOUS = 1_000
"""Records after which a list that ends too early may have come to a limit of the server."""


class WindowsIgnoredError(AnswerError):
    """A repository gives records of other dates than those that were requested."""

    def __init__(self) -> None:
        super().__init__("paging", "the repository ignores from and until: it gives records of other dates")


class UnreadFormatError(AnswerError):
    """A repository lists and gives a format of whose records none can be read."""

    def __init__(self, prefix: str) -> None:
        super().__init__("unsupported", f"none of the first records in the format {prefix} can be read")


def another(here: Cursor, error: AnswerError) -> Cursor | None:
    """Return where the records may be that a page did not give; ``None`` if nothing else can be requested."""
    if isinstance(error, UnreadFormatError):
        return replace(here.restarted(), is_restarted=False, prefix=here.others[0], others=here.others[1:])
    if isinstance(error, OAIError) and error.code != "badResumptionToken":
        return _other_question(here, error.code)
    if is_final(here, error):
        return None
    is_refused = isinstance(error, OAIError) or error.kind in ("paging", "count_mismatch")
    if error.kind == "count_mismatch" and here.has_changed and not here.is_second:
        return here.restarted(is_second=True)
    there = replace(here, barren=here.barren + 1, failures=here.failures + (not is_refused))
    is_short = here.list_pages <= _PAGES or not here.is_dated
    if here.token and error.kind not in ("paging", "count_mismatch") and not here.is_restarted and is_short:
        return there.restarted()
    is_answered = bool(here.token or here.list_pages or not here.is_whole)
    is_limit = error.kind != "count_mismatch" or here.received >= _SUSPICIOUS
    return there.halved() if here.is_dated and is_answered and is_limit else None


def _other_question(here: Cursor, code: str) -> Cursor | None:
    """Return the cursor of the same page, requested as the repository's error suggests."""
    if code == "cannotDisseminateFormat" and here.others and not here.listed:
        return replace(here, prefix=here.others[0], others=here.others[1:])
    if code == "badArgument" and here.token and not here.has_prefix_beside:
        return replace(here, has_prefix_beside=True)
    if code == "badArgument" and (here.begin or here.until) and not here.token and not here.is_daily:
        return replace(here, is_daily=True)
    return None


def is_final(here: Cursor, error: AnswerError) -> bool:
    """Return whether an error ends the whole listing, not one list of it."""
    is_hopeless = here.failures >= _FAILURES or here.barren >= _BARREN
    return is_hopeless or error.kind in ENDS or isinstance(error, WindowsIgnoredError)


def fault(after: Cursor, last: Answer) -> AnswerError | None:
    """Return why a list that has ended, or repeats itself, may lack records; ``None`` if it is whole.

    Args:
        last: its last page. An empty one is an end, whatever token it has.
    """
    if last.is_none and not _is_proven(after):
        of = f" of {after.size}" if after.size and after.size > after.received else ""
        return AnswerError("paging", f"the repository answered a token with noRecordsMatch after {after.received}{of}")
    if after.size and after.received < after.size and after.size != LARGE:
        says = f"says that a list has {after.size} records (completeListSize)"
        return AnswerError("count_mismatch", f"the repository {says}, and gave {after.received} of them")
    if after.has_shrunk and not (after.is_second and after.is_restarted):
        message = "the repository's list became shorter while it was read, so records may have moved between its pages"
        return AnswerError("count_mismatch", message)
    if after.token and last.records and not after.size:
        message = f"the repository gives the same pages again after {after.received} records"
        return AnswerError("paging", message)
    return None


def _is_proven(after: Cursor) -> bool:
    """Return whether a list had its end when a token led to noRecordsMatch: some answer so to a dead one."""
    if after.list_pages <= 1:
        return True
    is_rest = after.begin == after.newest and after.received < after.fullest
    return after.received == after.size or is_rest


def check_dates(here: Cursor, answer: Answer, tolerance: timedelta) -> None:
    """Check that a window has records of its dates.

    Raises:
        WindowsIgnoredError: all its records are of other dates.
    """
    moments = [found for record in answer.records if (found := moment(record.datestamp))]
    begin, until = moment(here.begin), moment(here.until)
    is_before = [begin is not None and found < begin - tolerance for found in moments]
    is_behind = [until is not None and found > until + tolerance for found in moments]
    if moments and all(map(any, zip(is_before, is_behind, strict=True))):
        raise WindowsIgnoredError


def is_ended(after: Cursor) -> bool:
    """Return whether no further page of a list is requested."""
    return not after.token or after.stale >= PATIENCE
