"""What is tried when a page does not come: fewer records at once, the page again, the walk again."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy.spidermiddlewares.httperror import HttpError

from crawlers.exceptions import AnswerError
from crawlers.kinds.api import answers, paging
from crawlers.politeness import failures
from crawlers.safety import strict_json

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.api.declaration import Listing
    from crawlers.kinds.api.position import Position
    from crawlers.kinds.api.query import Query
    from crawlers.kinds.api.walks import Walks
    from crawlers.listing.crawl import Crawl

MOST_SKIPPED = 3
MOST_TRIES = 1
_LONGEST = 64 * 1024
_BROKEN = ("timeout", "truncated", "not_json", "connection", "too_large")
_XSRF = re.compile(r"XSRF-TOKEN=([A-Za-z0-9._-]{1,200})")


def from_failure(failure: Failure, listing: Listing) -> AnswerError:
    """Return what a failed request failed of, with the portal's own words where it says why."""
    error = failures.from_failure(failure)
    said = _words(failure.value.response, listing) if isinstance(failure.value, HttpError) else None
    return AnswerError(error.kind, f"{error}: {said}") if said and error.kind == "http" else error


def _words(response: Response, listing: Listing) -> str | None:
    """Return what the body of a refusal says."""
    try:
        page = strict_json.loads(response.body[:_LONGEST])
    except ValueError:
        return None
    found = answers.refusal(page, listing) if listing.error is not None else None
    message = page.get("message") if isinstance(page, dict) else None
    return answers.envelope_error(page) or found or (f"it says {message[:200]!r}" if isinstance(message, str) else None)


class Recovery:
    """Decides how the listing goes on from a page that did not come."""

    def __init__(self, crawl: Crawl, query: Query, walks: Walks) -> None:
        self.crawl, self.query, self.walks = crawl, query, walks
        self.declared = query.listing

    def instead(
        self, request: Request | None, here: Position, error: AnswerError, status: int | None, failure: Any
    ) -> Position | None:
        """Return the position to request instead; ``None`` if nothing helps.

        Args:
            failure: of the request, if that failed; an answer that can't be read has none.
        """
        if token := self.token(here, status, failure):
            return replace(here, xsrf=token, tries=here.tries + 1)
        if error.kind in ("not_json", "truncated") and here.tries < MOST_TRIES and here.size is None:
            return replace(here, tries=here.tries + 1)  # an answer that came is not retried as one that failed is
        if error.kind in _BROKEN or (status or 0) >= 500:
            if other := self.smaller(here):
                return other
            if self.can_skip(here):
                return self.skip(request, here, error)
        if error.kind not in (*_BROKEN, "http", "refused"):
            return None
        return self.behind(here, status) or self.renewed(here, status)

    def token(self, here: Position, status: int | None, failure: Any) -> str | None:
        """Return the token that a portal sets as a cookie and wants to get back with each POST."""
        if status != 403 or here.xsrf or self.declared.body is None or failure is None:
            return None
        cookies = failure.value.response.headers.getlist("Set-Cookie") if isinstance(failure.value, HttpError) else []
        found = (_XSRF.match(cookie.decode("latin-1")) for cookie in cookies)
        return next((match[1] for match in found if match), None)

    def smaller(self, here: Position) -> Position | None:
        asked = self.query.size(here)
        found = paging.smaller(here, asked, self.declared) if asked else None
        return replace(here, size=found[0], at=found[1], tries=0) if found else None

    def can_skip(self, here: Position) -> bool:
        """Return whether the record that does not come may be skipped: pages came, and not all of the last failed."""
        is_single = self.query.size(here) == 1 and paging.can_skip(self.declared)
        return is_single and here.listed > 0 and here.skipped < MOST_SKIPPED

    def skip(self, request: Request | None, here: Position, error: AnswerError) -> Position:
        """Report a record that the portal can't give, and go on behind it."""
        message = f"the portal can't give record {here.received + 1} of the listing: {error}"
        self.crawl.failed("list", AnswerError("refused", message), request, missing="dataset")
        lost, skipped = here.lost + 1, here.skipped + 1
        return replace(
            here,
            received=self.behind_skipped(here),
            at=(here.at or 0) + 1,
            lost=lost,
            skipped=skipped,
            tries=0,
            digest="",
        )

    def behind_skipped(self, here: Position) -> int:
        """Return how many records came, the one that is skipped included."""
        return max(here.received, (here.at or 0) + 1) if self.declared.paging.kind == "offset" else here.received + 1

    def is_behind_end(self, here: Position, status: int | None) -> bool:
        """Return whether a page was refused because the one before it was the last.

        Django's REST framework answers 404 behind the last page.
        """
        kind, walks = self.declared.paging.kind, self.walks
        if kind not in ("offset", "page") or here.listed == 0 or here.at is None:
            return False
        if here.counted is None:
            return kind == "page" and status == 404 and here.received % 1000 > 0
        is_refused = status is not None and 400 <= status < 500
        return is_refused and here.walk == "all" and walks.is_met(here) and here.received == here.total

    def behind(self, here: Position, status: int | None) -> Position | None:
        """Return a walk from the last stamp, as behind a window; ``None`` if it would be refused as this one."""
        restart = self.walks.restart
        is_new = here.received > 0 and here.seen is not None and here.seen != here.bound and not here.is_shuffled
        if restart is None or not is_new or here.walk not in ("all", "window") or (status or 0) >= 500:
            return None
        return here.behind()

    def renewed(self, here: Position, status: int | None) -> Position | None:
        """Return the beginning of the walk, if its tokens may have expired and new datasets came since it began."""
        kind = self.declared.paging.kind
        may_expire = kind == "token" or (kind == "next" and (status or 0) < 500)
        if not may_expire or here.at is None or here.size or here.listed <= (here.renewed or 0):
            return None
        return here.rewound(here.walk, renewed=here.listed)

    def enlarged(self, here: Position, after: Position) -> Position:
        """Return a position behind a small page that came: the next one may be larger."""
        rows = self.query.rows
        if here.size is None or rows is None or after.at is None:
            return after
        size, at = paging.larger(after, here.size, rows, self.declared)
        return replace(after, size=None if size == rows else size, at=at)
