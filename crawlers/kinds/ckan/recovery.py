"""What to try when a page of a listing does not come: another variant of the API, offsets, fewer rows, a skip."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import api
from crawlers.politeness import failures

if TYPE_CHECKING:
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.kinds.ckan.cursor import Cursor

MOST_SKIPPED = 10  # records in a row that are skipped before the listing ends
_POST = re.compile(r"\bPOST\b|\brequest body\b|\bmethod not allowed\b", re.IGNORECASE)
_TOO_MUCH = ("timeout", "truncated", "too_large", "not_json", "refused")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a page did not come.

    Args:
        status: the HTTP status, if there was one.
        spoken: whether CKAN answered, in its own envelope: then another address does not help.
        date: the answer's ``Date`` header.
    """

    error: AnswerError
    status: int | None = None
    spoken: bool = False
    date: str | None = None

    @classmethod
    def from_failure(cls, failure: Failure) -> Refusal:
        response: Response | None = getattr(failure.value, "response", None)
        error = failures.from_failure(failure)
        if response is None or error.kind != "http":
            return cls(error, getattr(response, "status", None))
        reason = api.refusal(response)
        error = AnswerError("http", f"{error}: {reason}") if reason else error
        return cls(error, response.status, spoken=bool(reason), date=api.date(response))

    @classmethod
    def from_answer(cls, error: AnswerError, response: Response) -> Refusal:
        return cls(error, response.status, spoken=bool(api.refusal(response)), date=api.date(response))

    @property
    def final(self) -> bool:
        """Whether the portal would repeat its answer: a 4xx, but no time-out or rate limit."""
        return self.status is not None and 400 <= self.status < 500 and self.status not in (408, 429)

    @property
    def lasting(self) -> bool:
        """Whether what was requested does not exist."""
        return self.status in (404, 410) and self.error.kind != "blocked"

    @property
    def elsewhere(self) -> bool:
        """Whether this is no CKAN API, so that another variant may reach it."""
        return (not self.spoken or self.wants_post) and (self.final or self.error.kind in ("not_json", "refused"))

    @property
    def wants_post(self) -> bool:
        """Whether the portal says, in its own envelope, that it requires POST."""
        return self.status == 405 or bool(_POST.search(str(self.error)))

    @property
    def too_much(self) -> bool:
        """Whether less might come: a portal that fails on a page often manages a smaller one."""
        return self.error.kind in _TOO_MUCH or (self.status is not None and self.status >= 500)


def another(cursor: Cursor, refusal: Refusal, variants: int) -> Cursor | None:
    """Return where to continue; ``None`` if the listing ends here.

    Args:
        variants: how many variants of the API there are.
    """
    if refusal.error.kind == "blocked":
        return None
    if cursor.first and refusal.elsewhere:
        return replace(cursor, variant=cursor.variant + 1) if cursor.variant + 1 < variants else None
    if cursor.is_by_id and (refusal.final or refusal.error.kind == "refused"):
        return cursor.by_offset()
    if refusal.final or not refusal.too_much:
        return None
    return _less(cursor, refusal) or (cursor.by_offset() if cursor.is_by_id else None)


def _less(cursor: Cursor, refusal: Refusal) -> Cursor | None:
    if cursor.rows > 1:
        return replace(cursor, rows=max(1, cursor.rows // 10))
    if cursor.start is None and not cursor.skipping and not cursor.ids and cursor.skipped < MOST_SKIPPED:
        return replace(cursor, skipping=str(refusal.error))
    return None
