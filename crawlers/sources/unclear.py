"""Whether an answer leaves open what is at an address: from a host that is busy or closed nothing follows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy.http import Response

from crawlers.exceptions import AnswerError
from crawlers.sources.sniff import counted, sniff

if TYPE_CHECKING:
    from crawlers.sources.detect import Answer

OVER = {"dns", "connection", "timeout", "blocked", "forbidden_address"}
"""Of these the host is not to be had, and is asked no more."""
_BUSY = re.compile(r"HTTP (408|425|429|5\d\d)\b")


class RefusalError(AnswerError):
    """An HTTP error, with the answer itself: CKAN says in JSON that it does not want to.

    Args:
        error: what it is for people.
    """

    def __init__(self, error: AnswerError, response: Response) -> None:
        super().__init__(error.kind, str(error))
        self.response = response


def unclear(answer: Answer) -> str | None:
    """Why it may be there all the same, for people; ``None`` when the answer says what is there, or that nothing is."""
    if isinstance(answer, Response):
        return "CKAN's API refuses" if _refuses(answer) else None
    if isinstance(answer, RefusalError) and _refuses(answer.response):
        return f"CKAN's API refuses ({answer})"
    return str(answer) if answer.kind in OVER or _BUSY.match(str(answer)) else None


def _refuses(response: Response) -> bool:
    return sniff(response).kind == "ckan" and counted(response) is None
