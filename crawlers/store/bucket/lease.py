"""A lease: an object with an owner, a fence and a time to live, which its owner renews.

Whether it has expired is judged by the server's clock, or by how long this machine has seen it unchanged, on its own
monotonic clock: clocks that differ do no harm.
"""

from __future__ import annotations

import math
import os
import socket
import time
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from crawlers.exceptions import StoreError, TakenError
from crawlers.records import moment
from crawlers.safety.locks import identity, take

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from crawlers.store.bucket.objects import Objects, Tagged

_TRIES = 3000  # hundredths of a second that readers, which bring a source up to date, are waited for
_LARGEST = 4 * 1024 * 1024  # bytes of a lease
_LONGEST = 3600.0  # seconds
_GRACE = 5.0  # seconds that an expired lease must be older: the server's times are whole seconds
_LOOK = 1.0  # seconds between two looks at a lease that may expire
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # which goes on while a machine sleeps


class Holder(msgspec.Struct, frozen=True):
    """What is in a lease.

    Args:
        writer: the mirror of the owner.
        node: its machine.
        since: when it took the lease, by its clock.
        seconds: how long the lease lasts after it was put.
        beat: how often it was renewed.
        head: the last commit of the source that the owner knows.
        is_released: whether the owner has given it back.
        running: the run, as in running.json.
        lock: the lock file that the owner has, by its `identity`.
    """

    writer: str
    fence: Annotated[int, msgspec.Meta(gt=0, lt=10_000_000_000)]
    node: str
    pid: int
    since: str
    seconds: float
    beat: int = 0
    head: int = 0
    is_released: bool = False
    running: dict[str, Any] | None = None
    lock: str = ""


def clock() -> float:
    """Return a number of seconds that never jumps, and counts while the machine sleeps or the process is stopped."""
    return time.clock_gettime(_CLOCK)


def read(objects: Objects, name: str) -> tuple[Holder, Tagged] | None:
    """Return a lease and its object; ``None`` if there is none.

    Raises:
        StoreError: the store can't be read, or the lease is damaged.
    """
    found = objects.tagged(name, _LARGEST)
    if found is None:
        return None
    try:
        return msgspec.json.decode(found.body, type=Holder), found
    except (msgspec.DecodeError, RecursionError) as error:
        raise StoreError(f"{objects.address}/{name} is damaged ({str(error)[:300]}): remove it.") from None


class Lease:
    """A lease that this process takes, renews and gives back.

    Args:
        name: of its object.
        what: what it is of, for messages.
        path: the lock file that keeps other processes of this machine out: who has it takes the lease of a process
            that had it before at once, for that one has ended.
        writer: the mirror that takes it.
        seconds: how long it lasts.
        now: the server's time; ``None`` if it does not say.

    Attributes:
        fence: higher than that of every owner before.
        before: the owner before, and its lease; ``None`` if there was none.
    """

    def __init__(
        self,
        objects: Objects,
        name: str,
        what: str,
        *,
        path: Path,
        writer: str,
        seconds: float,
        now: Callable[[], float | None],
    ) -> None:
        self.objects = objects
        self.name = name
        self.what = what
        self.path = path
        self.lock: int | None = None
        self.place = ""
        self.writer = writer
        self.seconds = seconds
        self.now = now
        self.tag = ""
        self.fence = 0
        self.before: tuple[Holder, Tagged] | None = None
        self.holder: Holder | None = None
        self.until = 0.0

    @property
    def is_held(self) -> bool:
        """Whether nobody else can have it yet."""
        return clock() < self.until

    def take(self) -> None:
        """Take the lease; one that its owner does not renew is waited for until it expires.

        Raises:
            TakenError: another process here has it; or another node, which renews it.
            StoreError: the store can't be used.
        """
        self.lock = take(self.path, tries=_TRIES)
        if self.lock is None:
            raise TakenError(f"{self.what} is used by another process of this machine: wait for it to end.")
        self.place = identity(self.lock)
        try:
            self._take()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let other processes of this machine have it."""
        lock, self.lock = self.lock, None
        if lock is not None:
            os.close(lock)

    def _take(self) -> None:
        first, begun = None, clock()
        while True:
            found = read(self.objects, self.name)
            left = self._left(*found, clock() - begun if first == found[1].tag else 0.0) if found else 0.0
            if found is None or left <= 0:
                if self._put(found):
                    return
                first, begun = "", clock()
                continue
            if first not in (None, "", found[1].tag):
                raise TakenError(f"{self.what} is taken by {found[0].node[:200]}: wait for it to end.")
            if first != found[1].tag:
                first, begun = found[1].tag, clock()
                self._tell(found[0], left)
            time.sleep(_LOOK)

    def _tell(self, holder: Holder, left: float) -> None:
        seconds = math.ceil(left + _LOOK)
        self.objects.tell(
            f"{self.what} is taken by {holder.node[:200]}: waiting at most {seconds} seconds for its lease to expire."
        )

    def _left(self, holder: Holder, found: Tagged, seen: float) -> float:
        """Return the seconds after which a lease can be taken.

        Args:
            seen: seconds for which it is known to be unchanged.
        """
        if holder.is_released or (holder.lock and (holder.writer, holder.lock) == (self.writer, self.place)):
            return 0.0
        now, lasts = self.now(), min(max(holder.seconds, 0.0), _LONGEST) + _GRACE
        return lasts - max(seen, 0.0 if now is None else now - found.modified)

    def _put(self, found: tuple[Holder, Tagged] | None) -> bool:
        fence = found[0].fence + 1 if found else 1
        since, node = moment.now("milliseconds"), socket.gethostname()
        holder = Holder(self.writer, fence, node, os.getpid(), since, self.seconds, lock=self.place)
        begun = clock()
        body = msgspec.json.encode(holder)
        tag = self.objects.replace(self.name, body, found[1].tag) if found else self.objects.create(self.name, body)
        if tag is None:
            return False
        self.tag, self.holder, self.fence, self.until = tag, holder, fence, begun + self.seconds
        self.before = found
        return True

    def outdo(self, fence: int) -> None:
        """Let the fence be higher than another one, which was given away before somebody removed the lease.

        Raises:
            TakenError: as `renew`.
            StoreError: as `renew`.
        """
        assert self.holder is not None  # noqa: S101  # it was taken
        if self.fence <= fence:
            self.fence = fence + 1
            self.holder = msgspec.structs.replace(self.holder, fence=self.fence)
            self.renew(self.holder.head)

    def renew(self, head: int, running: dict[str, Any] | None = None, *, is_released: bool = False) -> None:
        """Renew the lease, also an expired one that is still free; or give it back.

        Args:
            head: the last commit.
            running: what running.json has.

        Raises:
            TakenError: another node has it.
            StoreError: the store can't be used.
        """
        assert self.holder is not None  # noqa: S101  # it was taken
        holder = msgspec.structs.replace(
            self.holder, beat=self.holder.beat + 1, head=head, running=running, is_released=is_released
        )
        begun = clock()
        tag = self.objects.replace(self.name, msgspec.json.encode(holder), self.tag)
        if tag is None:
            tag = self.objects.replace(self.name, msgspec.json.encode(holder), self._own_tag())
        if tag is None:
            raise self._lost(None)
        self.tag, self.holder, self.until = tag, holder, 0.0 if is_released else begun + self.seconds

    def _own_tag(self) -> str:
        """Return the ETag that the lease has now: that of a renewal whose answer was lost.

        Raises:
            TakenError: another node has it.
        """
        found, own = read(self.objects, self.name), self.holder
        assert own is not None  # noqa: S101  # it was taken
        if found is None or (found[0].writer, found[0].fence, found[0].since) != (own.writer, own.fence, own.since):
            raise self._lost(found and found[0])
        return found[1].tag

    def _lost(self, holder: Holder | None) -> TakenError:
        self.until = 0.0
        return TakenError(f"{self.what} was taken by {holder.node[:200] if holder else 'another node'} meanwhile.")
