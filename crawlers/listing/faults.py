"""Why a page did not come: a fault of the host, of the question, or of the page; and what a rung is that may help.

A fault *of the host* has no rung: that host is stopped. A fault *of the question* is the portal's refusal, in words of
its own or with a 4xx: only another question helps. A fault *of the page* is met by the whole ladder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from scrapy.http import Response

    from crawlers.listing.walk import Walk

OF_HOST = frozenset(("blocked", "robots", "dns", "forbidden_address", "offsite", "ignored", "disk", "bug"))
"""The error kinds that no other request to the host cures."""
LASTING = frozenset(("too_large", "timeout", "truncated"))
"""Later pages stay small after one of these."""
_PARTIAL = 206


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a page did not come.

    Args:
        error: what is reported.
        status: the HTTP status, if an answer came.
        is_spoken: whether the portal refused in words of its own protocol.
        about: the codes and names that those words have.
        is_first: whether no page came before.
        is_of_page: whether a smaller page may help, whatever the portal says of this one.
        has_waited: whether the host said when to come again (Retry-After), and was obeyed.
        is_help: whether it was but a help before the list, which is asked for all the same: the list decides.
    """

    error: AnswerError
    status: int | None = None
    is_spoken: bool = False
    about: str = ""
    is_first: bool = False
    is_of_page: bool = False
    has_waited: bool = False
    is_help: bool = False

    @property
    def is_of_host(self) -> bool:
        """Whether no other request to the host helps: it is closed, unknown, or asks for a pause without end."""
        is_unreached = self.error.kind == "connection" and self.is_first
        is_waiting = self.status == 429 or (self.status == 503 and self.has_waited)
        return self.error.kind in OF_HOST or is_unreached or (is_waiting and not self.is_help)

    @property
    def is_of_question(self) -> bool:
        """Whether the portal would repeat its answer to this question: a 4xx, or a refusal in words of its own."""
        is_refused = self.status is not None and 400 <= self.status < 500 and self.status not in (408, 429)
        return not self.is_of_page and (self.is_spoken or is_refused or self.error.kind == "refused")


def check_whole(response: Response) -> None:
    """
    Raises:
        AnswerError: the answer is a part of what was asked for.
    """
    unit = (response.headers.get("Content-Range") or b"bytes").split()[0]
    if response.status == _PARTIAL and unit.lower() == b"bytes":  # else a page of records, as PostgREST's
        raise AnswerError("truncated", "the answer is a part, as it says itself (HTTP 206)")


class Rung(Protocol):
    """Something that may help.

    Attributes:
        name: for the log and `Walk.tried`.
        most: how often it is taken without progress.
    """

    @property
    def name(self) -> str: ...
    @property
    def most(self) -> int: ...

    def instead(self, walk: Walk[Any], fault: Fault, dialect: Any) -> Walk[Any] | None:
        """Return the walk that is tried instead; ``None`` if this does not help here."""
