"""``-a since=``: the moment after which only changes are requested, by what earlier crawls stored."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from crawlers.arguments import Argument
from crawlers.records.moment import moment, now, seconds, written
from crawlers.store.index import listing, scope

if TYPE_CHECKING:
    from crawlers.listing.crawl import Crawl

LAST = "last"
FULL_LISTING_DAYS = 7.0
OVERLAP = timedelta(hours=1)  # a portal's search index lags behind its database


def since(text: str) -> str:
    """Return ``last``, or a date, or a time in UTC.

    >>> since("2026-11-01")
    '2026-11-01T00:00:00Z'
    """
    if text == LAST:
        return text
    if re.fullmatch(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?Z?)?", text):
        try:
            return f"{datetime.fromisoformat(text.removesuffix('Z')).isoformat(timespec='seconds')}Z"
        except ValueError:
            pass
    raise ValueError("last, a date such as 2026-11-01, or a time in UTC such as 2026-11-01T06:00:00Z")


SINCE = Argument(help="Only what changed since then: last (the last complete crawl), or a date.", parse=since)


def base(crawl: Crawl) -> str:
    """Return when the crawl began that ``since=last`` builds on; empty if everything is to be listed.

    It is fixed for a job, however often that is resumed.
    """
    state = crawl.run_state
    if state.since is None:
        last = crawl.opened_index().runs.last_complete(scope(crawl.name, crawl.given))
        reason = why_everything(crawl, last)
        known = "" if reason else str(last)
        crawl.logger.info("%s", f"{reason}: everything is listed" if reason else f"Only what changed since {known}")
        state.since = known
    return state.since


def why_everything(crawl: Crawl, last: str | None) -> str | None:
    """Return why the whole catalogue is listed; ``None`` if what changed is enough."""
    if last is None:
        return "There was no complete crawl of this before"
    if crawl.limits.is_set:
        return "since=last does not go with max_datasets or max_resources"
    if crawl.opened_index().documents.differing:
        return "A crawl was killed while it wrote documents"
    if crawl.crawler.settings.getbool("VERIFY_DOCUMENTS"):
        return "VERIFY_DOCUMENTS asks for all documents"
    days = crawl.crawler.settings.getfloat("FULL_LISTING_DAYS", FULL_LISTING_DAYS)
    full = crawl.opened_index().runs.last_complete(listing(scope(crawl.name, crawl.given)))
    if days <= 0 or _is_recent(full, days):
        return None
    when = f"The last full listing was on {full[:10]}" if full else "There was no full listing before"
    return f"{when}, and FULL_LISTING_DAYS asks for one every {days:g} days"


def beginning(crawl: Crawl) -> str:
    """Return the moment since which changes are requested, as ISO 8601 in UTC; empty if everything is listed.

    What ``since=last`` builds on is widened by `OVERLAP`.
    """
    given = crawl.args.get("since")
    if given != LAST:
        crawl.run_state.since = given or ""
        return given or ""
    known = moment(base(crawl))
    return written(known - OVERLAP) if known else ""


def _is_recent(begun: str | None, days: float) -> bool:
    """Return whether a moment is at most `days` days ago; one in the future came from a wrong clock."""
    age = seconds(begun, now("milliseconds"))
    return age is not None and 0 <= age <= days * 86_400
