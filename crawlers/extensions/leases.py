"""The leases of a crawl whose output is in a store: of its source, and of the hosts that it asks."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from crawlers.exceptions import CrawlersError
from crawlers.extensions.waiting import in_thread
from crawlers.listing.spider import hosts
from crawlers.safety import inside
from crawlers.safety.names import safe

if TYPE_CHECKING:
    from crawlers.store.bucket.lease import Lease
    from crawlers.store.bucket.mirror import Mirror
    from crawlers.store.bucket.owner import Owner

_BEATS = 4  # renewals of a lease in its time
_LONGEST = 15.0  # seconds between two of them
_LARGEST = 8 * 1024 * 1024  # bytes of running.json
_MANY = {"archives": "The lock of all crawls of many hosts"}


class Leases:
    """The leases of a crawl.

    Args:
        owner: of the source.
        locks: of the hosts.

    Attributes:
        head: the last commit of the source.
    """

    def __init__(self, owner: Owner, locks: list[Lease]) -> None:
        self.owner = owner
        self.locks = locks
        self.head = owner.state.head

    @classmethod
    def take(cls, mirror: Mirror, spider: Any) -> Self:
        """Take the hosts that a spider asks, and its source; those that ask many hosts share a lock.

        Raises:
            TakenError: another crawl has one of them.
            StoreError: the store can't be used.
        """
        taken: list[Lease] = []
        named = {safe(host.replace(":", "_")): host for host in sorted(hosts(spider))} or _MANY
        try:
            for name, what in named.items():
                lock = mirror.lock_of(name, what)
                lock.take()
                taken.append(lock)
            return cls(mirror.own(spider.source), taken)
        except CrawlersError:
            _give_back(taken)
            with suppress(CrawlersError, OSError):
                mirror.note_running(spider.source)  # so that it is seen here that it runs elsewhere
            raise
        except KeyboardInterrupt:
            _give_back(taken)
            raise

    @property
    def is_held(self) -> bool:
        """Whether nobody else can crawl the source, or ask its hosts."""
        return all(lease.is_held for lease in (self.owner.lease, *self.locks))

    @property
    def interval(self) -> float:
        """Seconds after which they are renewed."""
        return min(_LONGEST, self.owner.mirror.seconds / _BEATS)

    async def renew(self) -> None:
        """Renew them.

        Raises:
            TakenError: another node has one of them.
            StoreError: the store can't be used now.
        """
        running = self._running()
        for lease in (self.owner.lease, *self.locks):
            await in_thread(partial(lease.renew, self.head, running))

    def _running(self) -> dict[str, Any] | None:
        """Return what running.json says, for other nodes."""
        try:
            found = json.loads(inside.read(self.owner.replay.folder, "running.json", _LARGEST))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def release(self) -> None:
        """Give them back; what can't be given back expires."""
        with suppress(CrawlersError):
            self.owner.release()
        _give_back(self.locks)

    def close(self) -> None:
        """Let other processes of this machine have them."""
        self.owner.close()
        for lock in self.locks:
            lock.close()


def _give_back(locks: list[Lease]) -> None:
    for lock in locks:
        with suppress(CrawlersError):
            lock.renew(0, is_released=True)
        lock.close()
