"""What to try when a page of a listing can't be had: another way to ask, offsets, fewer rows, the record behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crawlers import failures
from crawlers.ckan import api
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.ckan.listing import Cursor

MOST_SKIPPED = 10  # records in a row that a portal can't give before its listing is given up
_POST = re.compile(r"\bPOST\b|\brequest body\b|\bmethod not allowed\b", re.IGNORECASE)
_TOO_MUCH = ("timeout", "truncated", "too_large", "not_json", "refused")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a page did not come.

    Args:
        status: the HTTP status, if there was one.
        spoken: whether it was CKAN that answered, in its own envelope: then another address is no use.
        date: the answer's ``Date`` header.
    """

    error: AnswerError
    status: int | None = None
    spoken: bool = False
    date: str | None = None

    @classmethod
    def of_failure(cls, failure: Failure) -> Refusal:
        response: Response | None = getattr(failure.value, "response", None)
        error = failures.of(failure)
        if response is None or error.kind != "http":
            return cls(error, getattr(response, "status", None))
        said = api.refusal(response)
        error = AnswerError("http", f"{error}: {said}") if said else error
        return cls(error, response.status, spoken=bool(said), date=api.date(response))

    @classmethod
    def of_answer(cls, error: AnswerError, response: Response) -> Refusal:
        return cls(error, response.status, spoken=bool(api.refusal(response)), date=api.date(response))

    @property
    def final(self) -> bool:
        """Whether the portal would say the same again: a 4xx, but no time-out or rate limit."""
        return self.status is not None and 400 <= self.status < 500 and self.status not in (408, 429)

    @property
    def lasting(self) -> bool:
        """Whether what was asked for is not there at all."""
        return self.status in (404, 410) and self.error.kind != "blocked"

    @property
    def elsewhere(self) -> bool:
        """Whether this is no CKAN API, so that another way to ask may reach it."""
        return (not self.spoken or self.wants_post) and (self.final or self.error.kind in ("not_json", "refused"))

    @property
    def wants_post(self) -> bool:
        """Whether the portal says, in its own envelope, that an action is to be asked for by POST."""
        return self.status == 405 or bool(_POST.search(str(self.error)))

    @property
    def too_much(self) -> bool:
        """Whether less might be given: a portal that breaks over a page often manages a smaller one."""
        return self.error.kind in _TOO_MUCH or (self.status is not None and self.status >= 500)


def another(cursor: Cursor, refusal: Refusal, ways: int) -> Cursor | None:
    """Where to go on, or ``None`` when the listing ends here.

    Args:
        ways: how many ways there are to ask this portal.
    """
    if refusal.error.kind == "blocked":
        return None
    if cursor.first and refusal.elsewhere:
        return replace(cursor, way=cursor.way + 1) if cursor.way + 1 < ways else None
    by_id = cursor.last is not None and cursor.start is None
    if by_id and (refusal.final or refusal.error.kind == "refused"):
        return cursor.by_offset()
    if refusal.final or not refusal.too_much:
        return None
    return _less(cursor, refusal) or (cursor.by_offset() if by_id else None)


def _less(cursor: Cursor, refusal: Refusal) -> Cursor | None:
    if cursor.rows > 1:
        return replace(cursor, rows=max(1, cursor.rows // 10))
    if cursor.start is None and not cursor.skipping and not cursor.ids and cursor.skipped < MOST_SKIPPED:
        return replace(cursor, skipping=str(refusal.error))
    return None
