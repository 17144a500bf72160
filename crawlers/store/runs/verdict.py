"""Whether a crawl is complete: the one word a run is judged by, and the exit code that goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Verdict = Literal["complete", "partial", "incomplete", "blocked", "failed", "interrupted"]

EXIT_CODES: dict[Verdict, int] = {
    "complete": 0,
    "partial": 0,
    "incomplete": 3,
    "blocked": 4,
    "failed": 4,
    "interrupted": 130,
}

_LIMITS = ("closespider_timeout", "closespider_itemcount", "closespider_pagecount")


def verdict(
    finish_reason: str, *, expected: int | None, listed: int, limited: bool, blocked: bool, errors: Mapping[str, int]
) -> Verdict:
    """
    Args:
        finish_reason: Scrapy's: finished, shutdown, closespider_itemcount ...; rate_limit if an API's is used up.
        expected: how many datasets the portal said it has; None when it never said.
        listed: how many it listed.
        limited: whether a limit that the user set ended the listing.
        blocked: whether a block cut the listing short, or made the crawl leave the host alone.
        errors: how many error lines of each kind.

    >>> verdict("finished", expected=305, listed=305, limited=False, blocked=False, errors={})
    'complete'
    >>> verdict("finished", expected=305, listed=304, limited=False, blocked=False, errors={})
    'incomplete'
    >>> verdict("finished", expected=305, listed=304, limited=False, blocked=True, errors={"blocked": 1})
    'blocked'
    """
    if finish_reason == "shutdown":
        return "interrupted"
    if finish_reason in (*_LIMITS, "rate_limit"):
        return "incomplete" if errors or finish_reason == "rate_limit" else "partial"
    if finish_reason != "finished" or (expected is None and not listed and not blocked):
        return "failed"
    if blocked:
        return "blocked"
    if errors or not (limited or (expected is not None and listed >= expected)):
        return "incomplete"
    return "partial" if limited else "complete"
