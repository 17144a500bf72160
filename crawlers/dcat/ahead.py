"""What a walk has still to ask for: kept in the ledger, so that a crawl that was killed asks for the same."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawlers.resume import Records

MOST = 100_000
"""Of one list that are held in memory."""
_CHOSEN = "chosen"


class Ahead:
    """Lists of addresses; each address is given once.

    Args:
        records: the ledger's.
    """

    def __init__(self, records: Records) -> None:
        self.records = records
        self.waiting: dict[str, deque[str]] = {}

    def add(self, name: str, address: str, by: str) -> None:
        """Put an address on a list.

        Args:
            by: what identifies the request whose answer names it.
        """
        if self.records.notice(address, name, by) and len(self.waiting.get(name, ())) < MOST:
            self.waiting.get(name, deque()).append(address)

    def take(self, name: str, by: str) -> str | None:
        """Return the next address of a list; the same for the same request after a kill.

        Args:
            by: what identifies the request whose answer it follows.
        """
        if name not in self.waiting:
            self.waiting[name] = deque(islice(self.records.pending(name, _CHOSEN, by), MOST))
        waiting = self.waiting[name]
        while waiting:
            address = waiting.popleft()
            if self.records.notice(address, _CHOSEN, by):
                return address
        return None
