"""The hosts that the machines of a queue share: each is asked by one machine at a time.

A row of the queue's database says which machine has a host, and until when. A machine that gives no sign of life loses
it, whatever became of its process, its connection or the database; it has asked nothing more for half of that time.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import time
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg

from crawlers.exceptions import HarvestError
from crawlers.fleet.database import UTF8, failure
from crawlers.safety import locks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

logger = logging.getLogger(__name__)

_TABLE = """
CREATE TABLE IF NOT EXISTS catalogue_crawlers_hosts (
    host text PRIMARY KEY,
    node text NOT NULL,
    until timestamptz NOT NULL,
    wanted timestamptz
)
"""
_TAKE = """
INSERT INTO catalogue_crawlers_hosts AS known (host, node, until)
SELECT host, %(node)s, now() + %(lasts)s FROM unnest(%(hosts)s::text[]) AS host ORDER BY host
ON CONFLICT (host) DO UPDATE SET
    node = CASE WHEN known.node = EXCLUDED.node OR known.until < now() THEN EXCLUDED.node ELSE known.node END,
    until = CASE WHEN known.node = EXCLUDED.node OR known.until < now() THEN EXCLUDED.until ELSE known.until END,
    wanted = CASE WHEN known.node = EXCLUDED.node THEN known.wanted WHEN known.until < now() THEN NULL ELSE now() END
RETURNING host, node = %(node)s, coalesce(wanted > now() - interval '10 seconds', false)
"""
"""Takes those that are free, renews those that are ours, and notes that the others are wanted."""
_GIVE_BACK = """
DELETE FROM catalogue_crawlers_hosts
WHERE (node = %(node)s AND host = ANY(%(hosts)s)) OR until < now() - interval '1 day'
"""
_TABLE_LOCK = 0x686F7374  # any number that is always the same: crawls that begin together make the table once
_RENEWALS = 6  # in the time after which a machine loses its hosts
_LEAST = 1.0  # seconds without a sign of life
_PAUSE = 1.0  # seconds between two tries to get a host, or to reach the database
_END = 5.0  # seconds for the database at the end of a crawl
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # which goes on while the machine sleeps


def reach(address: str, seconds: float = 0.0) -> None:
    """Check that machines can share hosts by a queue, and create its table of hosts where there is none.

    Args:
        seconds: for which a database that does not answer is waited for: it may be restarting.

    Raises:
        HarvestError: it can't be reached, or used.
    """
    end, is_told = time.monotonic() + seconds, False
    while True:
        try:
            with psycopg.connect(address, connect_timeout=10, **UTF8) as connection:
                if connection.execute("SELECT to_regclass('catalogue_crawlers_hosts')").fetchone() == (None,):
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_TABLE_LOCK,))
                    connection.execute(_TABLE)
                connection.execute(_TAKE, {"node": "", "lasts": timedelta(0), "hosts": []})  # whether it may be written
        except psycopg.Error as error:
            if time.monotonic() >= end or not isinstance(error, psycopg.OperationalError):
                raise HarvestError(failure(address, error)) from None
            if not is_told:
                logger.warning("%s It is waited for, %d seconds at most.", failure(address, error), seconds)
            is_told = True
        else:
            return
        time.sleep(_PAUSE)


def machine(jobs: Path) -> str:
    """Return the name of the crawls that have the same locks of hosts: those of one machine with one JOBS_DIR.

    Raises:
        OSError: the folder can't be made.
    """
    jobs.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(jobs, os.O_RDONLY)
    try:
        return locks.identity(descriptor) or f"{socket.gethostname()}:{jobs.absolute()}"
    finally:
        os.close(descriptor)


class Hosts:
    """The hosts that a crawl has of those that the machines share.

    Within a machine, crawls have lock files (`crawlers.safety.locks.of_host`): who asks here for a host has that first,
    so what the table says of this machine is about this crawl, or about one that has ended.

    Args:
        address: of the queue.
        node: this machine.
        patience: seconds without a sign of life after which other machines get its hosts.
        only: the hosts that are shared; by default all.

    Attributes:
        wanted: the keys of the hosts that this crawl asks, or waits for.
        ours: until when it may ask those that it has.
        others: those that another machine has.
        called: those of ours that another machine waits for.
    """

    def __init__(self, address: str, node: str, patience: float, only: Iterable[str] | None = None) -> None:
        self.address, self.node, self.patience = address, node, max(_LEAST, patience)
        self.only = None if only is None else frozenset(map(_key, only))
        self.wanted: set[str] = set()
        self.ours: dict[str, float] = {}
        self.others: set[str] = set()
        self.called: set[str] = set()
        self.left: dict[str, Callable[[], None]] = {}
        self.news = asyncio.Event()
        self.is_over = self.is_lost = False
        self.renewed = 0.0
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to take, to renew and to give back."""
        self.task = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        """Give all hosts back, for no request is made any more; what can't be given back expires."""
        self.is_over = True
        self.news.set()
        if self.task:
            _, late = await asyncio.wait({self.task}, timeout=_END)
            for task in late:
                task.cancel()

    def may_ask(self, host: str) -> bool:
        """Return whether a host may be asked now; from now on it is wanted."""
        key = _key(host)
        if self.only is not None and key not in self.only:
            return True
        if key not in self.wanted:
            self.wanted.add(key)
            self.news.set()
        return time.clock_gettime(_CLOCK) < self.ours.get(key, 0.0)

    def why(self, host: str) -> str:
        """Return why a host may not be asked, if that is known yet."""
        key = _key(host)
        if self.is_lost or time.clock_gettime(_CLOCK) >= self.ours.get(key, math.inf):
            return "the queue gives no answer"
        return "another machine asks it" if key in self.others else ""

    def is_called(self, host: str) -> bool:
        """Return whether another machine waits for a host of ours."""
        return _key(host) in self.called

    def give_back(self, host: str, then: Callable[[], None]) -> None:
        """Let other machines have a host, and then other crawls of this one.

        Args:
            then: gives back its lock file: while that is ours, no other crawl of this machine has it in the table.
        """
        key = _key(host)
        for known in (self.wanted, self.others, self.called):
            known.discard(key)
        self.ours.pop(key, None)
        if self.is_over:
            then()
            return
        self.left[key] = then
        self.news.set()

    async def _run(self) -> None:
        while True:
            try:
                await self._work()
            except Exception as error:  # noqa: BLE001 -- whatever it is, hosts are not asked, and it is tried again
                if not self.is_lost:
                    sentence = failure(self.address, error)
                    logger.warning("%s Hosts that others may ask are not asked meanwhile.", sentence)
                self.is_lost = True
            finally:
                _release(self.left)
            if self.is_over:
                return
            await self._wait(_PAUSE)

    async def _work(self) -> None:
        """Do what there is to do until the crawl ends, or the connection."""
        interval = self.patience / _RENEWALS
        limits: dict[str, Any] = {"connect_timeout": 5, "tcp_user_timeout": max(1000, int(1000 * interval))}
        async with await psycopg.AsyncConnection.connect(self.address, autocommit=True, **limits, **UTF8) as connection:
            while not self.is_over:
                await self._settle(connection)
                await self._wait(_PAUSE if self.wanted - self.ours.keys() else interval)
            await self._delete(connection, self.wanted | self.left.keys())

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.news.wait(), 0 if self.is_over else seconds)
        self.news.clear()

    async def _settle(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Give back what is left, take what is wanted, and renew what is ours when it is time."""
        if self.left:
            left, self.left = self.left, {}
            try:
                await self._delete(connection, left)
            finally:
                _release(left)
        asked = time.clock_gettime(_CLOCK)
        hosts = self.wanted - self.ours.keys()
        if asked - self.renewed > self.patience / _RENEWALS / 2:
            self.renewed, hosts = asked, self.wanted
        if not hosts:
            return
        values = {"node": self.node, "lasts": timedelta(seconds=self.patience), "hosts": [*hosts]}
        rows = await (await connection.execute(_TAKE, values)).fetchall()
        self.is_lost = False
        for host, is_ours, is_called in rows:
            if host not in self.wanted:  # it was given back meanwhile
                continue
            for known in (self.others, self.called):
                known.discard(host)
            if not is_ours:
                self.ours.pop(host, None)
                self.others.add(host)
                continue
            self.ours[host] = asked + self.patience / 2
            if is_called:
                self.called.add(host)

    async def _delete(self, connection: psycopg.AsyncConnection[Any], hosts: Iterable[str]) -> None:
        await connection.execute(_GIVE_BACK, {"node": self.node, "hosts": [*hosts]})


def _release(left: dict[str, Callable[[], None]]) -> None:
    """Give back the lock files of hosts that were deleted, or expire: they are not deleted any more."""
    while left:
        left.popitem()[1]()


@lru_cache(maxsize=4096)
def _key(host: str) -> str:
    """Return the name of a host in the table: that of its lock file, which is short, and ASCII."""
    return locks.of_host(Path(), host).name.removesuffix(".lock")
