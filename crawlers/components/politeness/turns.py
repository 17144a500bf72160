"""Turns at hosts: a crawl asks none that another crawl is asking, of this machine or of those that share a queue."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Protocol

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


class Elsewhere(Protocol):
    """The hosts that this machine has of those that several machines share: `crawlers.fleet.hosts`."""

    def may_ask(self, host: str) -> bool:
        """Return whether a host is this machine's; from now on it is wanted."""

    def why(self, host: str) -> str:
        """Return why it is not, if that is known yet."""

    def is_called(self, host: str) -> bool:
        """Return whether another machine waits for a host of ours."""

    def give_back(self, host: str, then: Callable[[], None]) -> None:
        """Let other machines have a host, and then do what lets other crawls of this machine have it."""


@dataclass(slots=True)
class Turn:
    """A host that is ours.

    Args:
        descriptor: of its lock.
        slot: the downloader's, in which the requests wait.
        since: when it was taken.
        used: when a request to it was seen last.
        is_begun: whether it could be asked by now: other machines may have it longer than this one's crawls.
        touched: when the lock's file was; a crawl that waits for it touches it.
    """

    descriptor: int
    slot: Slot
    since: float
    used: float
    touched: int
    is_begun: bool = False

    @property
    def is_wanted(self) -> bool:
        """Whether another crawl of this machine waits for it."""
        return os.fstat(self.descriptor).st_mtime_ns != self.touched


class Turns:
    """The hosts that this crawl may ask now, by the locks that harvests take for the crawls of single portals.

    A host is given back some seconds after the last request to it, at once if another crawl waits for it, and after
    `TURN` seconds if one does; the system gives back those of a crawl that is killed. A crawl of one portal that a
    harvest has started has the lock from that. Where the locks can't be made, no crawl waits. Where machines share
    hosts, others' crawls count, too.

    Settings: JOBS_DIR, which has the locks; HOST_TURNS, which harvests set to False for the crawls of single portals.

    Args:
        tell: is told why a host waits, and ``None`` when it does no more.

    Attributes:
        waiting: the downloader's keys of the hosts that another crawl asks, and why they wait.
        leaving: the hosts that are being given back to other machines.
        elsewhere: the hosts that machines share, if they do.
    """

    def __init__(self, crawler: Crawler, tell: Callable[[str, str | None], None]) -> None:
        self.folder = Path(crawler.settings.get("JOBS_DIR") or "jobs")
        is_crawl = hasattr(crawler.spider, "crosses_hosts")  # no other command of Scrapy's
        self.is_needed = is_crawl and crawler.settings.getbool("HOST_TURNS", True)
        self.held: dict[str, Turn] = {}
        self.left: dict[str, float] = {}
        self.waiting: dict[str, str] = {}
        self.leaving: set[str] = set()
        self.clock = monotonic
        self.tell = tell
        self.elsewhere: Elsewhere | None = None
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
        if not (self.is_needed or self.elsewhere) or not slot.queue:
            return True
        key = slot.queue[0][0].meta["download_slot"]
        parts = [urlparse_cached(request) for request, _ in slot.queue]
        hosts = sorted({_named(f"{one.scheme}://{one.netloc}") for one in parts})
        lacking = next((host for host in hosts if not self._is_ours(host, slot)), None)
        if lacking is None:
            if key in self.waiting:
                del self.waiting[key]
                self.tell(key, None)
            return True
        why = self._why(lacking)
        is_coming = lacking in self.held and not why and not self._is_over(lacking)
        if not slot.transferring and not is_coming:
            self._let_go(slot, lacking)
        if why and why != self.waiting.get(key):
            self.waiting[key] = why
            self.tell(key, f"waits for its turn at {key}: {why}")
            logger.info("%s waits for its turn: %s", key, why)
        return False

    def _is_ours(self, host: str, slot: Slot) -> bool:
        is_ours_here = not self.is_needed or self._take(host, slot)
        is_ours = is_ours_here and (self.elsewhere is None or self.elsewhere.may_ask(host))
        turn = self.held.get(host)
        if is_ours and turn and not turn.is_begun:
            turn.is_begun, turn.since = True, self.clock()
        return is_ours

    def _why(self, host: str) -> str:
        """Return why a host is not ours; nothing if its turn has ended, or nobody knows yet."""
        if self.is_needed and host not in self.held:
            return "" if host in self.left or host in self.leaving else "another crawl of this machine asks it"
        return self.elsewhere.why(host) if self.elsewhere else ""

    def _let_go(self, slot: Slot, lacking: str) -> None:
        """Give back the hosts of a slot that lacks one: two crawls that have one each would wait for each other."""
        for host in [host for host, turn in self.held.items() if turn.slot is slot]:
            is_over = self._is_over(host)
            if is_over:
                self.left[host] = self.clock()
            if is_over or host != lacking:
                self._give_back(host)

    def _is_over(self, host: str) -> bool:
        return self.clock() - self.held[host].since >= TURN and self._is_wanted(host)

    def _is_wanted(self, host: str) -> bool:
        """Return whether another crawl waits for a host of ours, here or on another machine."""
        turn = self.held[host]
        return turn.is_wanted or (self.elsewhere is not None and turn.is_begun and self.elsewhere.is_called(host))

    def _take(self, host: str, slot: Slot) -> bool:
        turn = self.held.get(host)
        if turn is not None:
            turn.used = self.clock()
            if not turn.slot.active:
                turn.slot = slot
            return not self._is_over(host)
        if host in self.leaving or self.clock() - self.left.get(host, -_REST) < _REST:
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
            is_over = self._is_over(host) and not turn.slot.transferring
            turn.used = now if turn.slot.active and self.elsewhere else turn.used
            kept = (_REST if self.elsewhere else 0.0) if self._is_wanted(host) else _KEPT
            is_kept = now - turn.used < kept and len(self.held) <= _MOST
            if is_over or not (turn.slot.active or is_kept):
                self._give_back(host)
            if is_over:
                self.left[host] = now

    def _give_back(self, host: str) -> None:
        release = partial(locks.give_back, locks.of_host(self.folder, host), self.held.pop(host).descriptor)
        if self.elsewhere:
            self.leaving.add(host)
            self.elsewhere.give_back(host, partial(self._left, host, release))
        else:
            release()

    def _left(self, host: str, release: Callable[[], None]) -> None:
        """Let other crawls of this machine have a host that other machines may have by now."""
        release()
        self.leaving.discard(host)
        if host in self.left:
            self.left[host] = self.clock()
