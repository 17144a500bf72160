"""Turns at hosts: a crawl asks none that another crawl of this machine is asking."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.httpobj import urlparse_cached

from crawlers.safety import addresses, locks

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.core.downloader import Slot
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

TURN = 300.0
"""Seconds after which a host is left to others who wait for it."""
_REST = 2.0  # seconds that they have to take it; a harvest looks every half second
_LOOK = 0.5  # seconds between looks at which hosts are asked no more
_KEPT, _MOST = 10.0, 256  # seconds that a host stays ours which nobody else wants, as its next request comes soon
_named = lru_cache(maxsize=4096)(addresses.host)  # hosts are few, and asked about at each look at a slot


@dataclass(slots=True)
class Turn:
    """A host that is ours.

    Args:
        descriptor: of its lock.
        slot: the downloader's, in which the requests wait.
        since: when it was taken.
        used: when a request to it was seen last.
        touched: when the lock's file was; a crawl that waits for it touches it.
    """

    descriptor: int
    slot: Slot
    since: float
    used: float
    touched: int

    @property
    def is_wanted(self) -> bool:
        """Whether another crawl waits for it."""
        return os.fstat(self.descriptor).st_mtime_ns != self.touched


class Turns:
    """The hosts that this crawl may ask now, by the locks that harvests take for the crawls of single portals.

    A host is given back some seconds after the last request to it, at once if another crawl waits for it, and after
    `TURN` seconds if one does; the system gives back those of a crawl that is killed. A crawl of one portal that a
    harvest has started has the lock from that. Where the locks can't be made, no crawl waits.

    Settings: JOBS_DIR, which has the locks; HOST_TURNS, which harvests set to False for the crawls of single portals.

    Args:
        tell: is told why a host waits, and ``None`` when it does no more.

    Attributes:
        waiting: the downloader's keys of the hosts that another crawl asks.
    """

    def __init__(self, crawler: Crawler, tell: Callable[[str, str | None], None]) -> None:
        self.folder = Path(crawler.settings.get("JOBS_DIR") or "jobs")
        is_crawl = hasattr(crawler.spider, "crosses_hosts")  # no other command of Scrapy's
        self.is_needed = is_crawl and crawler.settings.getbool("HOST_TURNS", True)
        self.held: dict[str, Turn] = {}
        self.left: dict[str, float] = {}
        self.waiting: set[str] = set()
        self.clock = monotonic
        self.tell = tell
        if self.is_needed:
            self.looks = create_looping_call(self.look)
            self.looks.start(_LOOK, now=False)
            crawler.signals.connect(self.end, signals.engine_stopped)

    def end(self) -> None:
        """Give all hosts back."""
        self.looks.stop()
        for host in list(self.held):
            self._give_back(host)

    def may_ask(self, slot: Slot) -> bool:
        """Return whether the hosts of all requests that wait in a slot are ours; take those that are free."""
        if not self.is_needed or not slot.queue:
            return True
        key = slot.queue[0][0].meta["download_slot"]
        parts = [urlparse_cached(request) for request, _ in slot.queue]
        hosts = sorted({_named(f"{one.scheme}://{one.netloc}") for one in parts})
        lacking = next((host for host in hosts if not self._take(host, slot)), None)
        if lacking is None:
            if key in self.waiting:
                self.waiting.remove(key)
                self.tell(key, None)
            return True
        is_ours = lacking in self.held or lacking in self.left
        if not slot.transferring:
            self._let_go(slot)
        if key not in self.waiting and not is_ours:
            self.waiting.add(key)
            self.tell(key, f"waits for its turn at {key}: another crawl of this machine asks it")
            logger.info("%s waits for its turn: another crawl of this machine asks it (HOST_TURNS)", key)
        return False

    def _let_go(self, slot: Slot) -> None:
        """Give back the hosts of a slot that lacks one: two crawls that have one each would wait for each other."""
        for host in [host for host, turn in self.held.items() if turn.slot is slot]:
            if self._is_over(self.held[host]):
                self.left[host] = self.clock()
            self._give_back(host)

    def _is_over(self, turn: Turn) -> bool:
        return self.clock() - turn.since >= TURN and turn.is_wanted

    def _take(self, host: str, slot: Slot) -> bool:
        turn = self.held.get(host)
        if turn is not None:
            turn.used = self.clock()
            if not turn.slot.active:
                turn.slot = slot
            return not self._is_over(turn)
        if self.clock() - self.left.get(host, -_REST) < _REST:
            return False
        self.left.pop(host, None)
        path = locks.of_host(self.folder, host)
        try:
            descriptor = locks.take(path, tries=1)
        except OSError as error:
            logger.warning("Other crawls may ask %s at the same time: its lock can't be made (%s)", host, error)
            self.is_needed = False
            return True
        if descriptor is None:
            return locks.is_inherited(path)  # from a harvest that began before an update: it sets no HOST_TURNS
        now = self.clock()
        self.held[host] = Turn(descriptor, slot, now, now, os.fstat(descriptor).st_mtime_ns)
        return True

    def look(self) -> None:
        """Give back the hosts that are asked no more, and those whose turn has ended."""
        now = self.clock()
        for host, turn in list(self.held.items()):
            is_over = self._is_over(turn) and not turn.slot.transferring
            is_kept = now - turn.used < _KEPT and len(self.held) <= _MOST and not turn.is_wanted
            if is_over or not (turn.slot.active or is_kept):
                self._give_back(host)
            if is_over:
                self.left[host] = now

    def _give_back(self, host: str) -> None:
        locks.give_back(locks.of_host(self.folder, host), self.held.pop(host).descriptor)
