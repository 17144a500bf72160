"""The scheduler that keeps its queue in the ledger."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections import Counter, deque
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.request import request_from_dict

from crawlers import signals
from crawlers.components.ledger import Job
from crawlers.components.scrapy_internals import requests_in_progress

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

WAITING, LEASED = range(2)
_AT_HAND = 256  # requests that this run has made, and need not read again
_SEE = "INSERT OR IGNORE INTO seen VALUES (?)"
_SEEN = "SELECT 1 FROM seen WHERE fingerprint = ?"
_ENQUEUE = "INSERT INTO requests (host, priority, state, request) VALUES (?, ?, 0, ?)"
_LEASE = """
UPDATE requests SET state = 1
WHERE id = (SELECT id FROM requests WHERE state = 0 AND host = ? ORDER BY priority DESC, id LIMIT 1)
RETURNING id, request
"""
_DONE = "DELETE FROM requests WHERE id = ?"
_DAMAGED = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
_UNRESTORABLE = (*_DAMAGED, ImportError, NameError)
"""What `restored_request` raises for a method or a class that is no longer there, or for a damaged row."""


class LedgerScheduler(BaseScheduler):
    """Scrapy's scheduler for crawls that survive a kill.

    A request is leased when the engine takes it, and done when the engine has let go of it: its callback has run, and
    the requests it made are queued here, the items it gave have been through the pipelines. Requests leased by a run
    that crashed are made again. Requests are JSON, never pickles: what JSON can't express is refused in a JOBDIR.

    Hosts take turns. In the crawl of a spider that has ``crosses_hosts = True``, each has at most twice as many
    requests in progress as it is sent in parallel (CONCURRENT_REQUESTS_PER_DOMAIN): a slow one holds up no other.

    A spider whose callbacks have new names has ``former_callbacks``, by the paths that a JOBDIR may still have.
    """

    def __init__(self, crawler: Crawler, job: Job) -> None:
        self.crawler = crawler
        self.job = job
        self.leased: dict[Request, int] = {}
        self.at_hand: dict[int | None, Request] = {}
        self.hosts = Hosts(0)
        self.closing: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler, Job.from_crawler(crawler))

    def open(self, spider: Spider) -> None:
        self.spider = spider
        self.job.execute("UPDATE requests SET state = ? WHERE state = ?", (WAITING, LEASED))
        is_shared, settings = getattr(spider, "crosses_hosts", False), self.crawler.settings
        limit = 2 * max(1, settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")) if is_shared else sys.maxsize
        self.hosts = Hosts(limit)  # requests of a listing are taken as they are made
        query = "SELECT host, count(*) FROM requests WHERE state = ? GROUP BY host ORDER BY min(id)"
        for host, count in self.job.db.execute(query, (WAITING,)):
            self.hosts.add(host, count)
        self.job.commit()  # a run that dies before its first answer has begun

    def close(self, reason: str) -> None:
        with contextlib.suppress(OSError):  # which has been reported
            self._settle()
            self.job.commit()

    def has_pending_requests(self) -> bool:
        return self.hosts.waiting.total() > 0

    def has_free_requests(self) -> bool:
        """Return whether a request waits whose host may be sent one more now."""
        return self.hosts.is_any_free()

    def enqueue_request(self, request: Request) -> bool:
        stored = None
        try:
            stored = stored_request(request, self.spider)
        except (TypeError, ValueError) as error:
            if self.job.path:
                sentence = f"the request can't be stored, so it was not made: {error}"
                self._report("fetch", "bug", sentence, request.url)
                return False
        again = request.dont_filter or "redirect_urls" in request.meta  # many may be sent to one place, a login
        number = None
        try:
            with self.job.changing(2):
                if again or self.job.db.execute(_SEE, (place_of(request, self.crawler),)).rowcount:
                    row = (host_of(request), request.priority, stored)
                    number = self.job.db.execute(_ENQUEUE, row).lastrowid
        except OSError as error:
            self._stop(error)
            return False
        self.crawler.stats.inc_value("scheduler/enqueued" if number else "dupefilter/filtered")
        if number is None:
            return False
        if stored is None or len(self.at_hand) < _AT_HAND:
            self.at_hand[number] = request
        self.hosts.add(host_of(request), 1)
        return True

    def next_request(self) -> Request | None:
        try:
            self._settle()
            self.job.commit_soon()
            while (host := self.hosts.turn()) is not None:  # an engine that gets none waits for seconds
                number, text = self.job.execute(_LEASE, (host,)).fetchone()
                self.hosts.take(host)
                request = self._restored(number, text)
                if request is not None:
                    self.leased[request] = number
                    self.hosts.active[host] += 1
                    self.crawler.stats.inc_value("scheduler/dequeued")
                    return request
        except OSError as error:
            self._stop(error)
        return None

    def _restored(self, number: int, text: str) -> Request | None:
        try:
            return self.at_hand.pop(number, None) or restored_request(text, self.spider)
        except _UNRESTORABLE as error:
            self.job.execute(_DONE, (number,))
            sentence = f"the stored request can't be restored, so it was not made: {type(error).__name__}: {error}"
            self._report("fetch", "bug", sentence, _address(text))
            return None

    def _settle(self) -> None:
        """The engine says what it still works on; there is no signal for the end of a request."""
        if self.job.broken:
            return
        working = requests_in_progress(self.crawler)
        for request in self.leased.keys() - working:
            self.job.execute(_DONE, (self.leased.pop(request),))
            self.hosts.active[host_of(request)] -= 1

    def _stop(self, error: OSError) -> None:
        """Nothing more is asked for that could not be remembered."""
        if self.closing is None:
            self._report("write", "disk", f"{error.strerror}: free some space, then run the same command again")
            engine = self.crawler.engine
            self.closing = asyncio.get_running_loop().create_task(engine.close_spider_async(reason="disk"))

    def _report(self, stage: signals.Stage, kind: str, error: str, url: str | None = None) -> None:
        self.spider.logger.error("%s: %s", url or kind, error)
        failed = signals.Failed(stage=stage, kind=kind, error=error, url=url)
        self.crawler.signals.send_catch_log(signals.record_failed, failed=failed)


def place_of(request: Request, crawler: Crawler) -> bytes:
    """Return what two requests have in common of which one is dropped: also the place in a list, if it has one."""
    plain: bytes = crawler.request_fingerprinter.fingerprint(request)
    return plain + str(request.meta.get("walk", "")).encode()


def is_made(request: Request, crawler: Crawler) -> bool:
    """Return whether a request was queued before, so that it would be dropped now."""
    known = Job.from_crawler(crawler).db.execute(_SEEN, (place_of(request, crawler),))
    return known.fetchone() is not None


class Hosts:
    """The hosts of waiting requests, which take turns.

    Args:
        limit: the requests of a host that may be in progress at once.

    Attributes:
        waiting: how many requests wait for each host.
        active: how many are in progress.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.waiting: Counter[str] = Counter()
        self.active: Counter[str] = Counter()
        self._turns: deque[str] = deque()

    def add(self, host: str, count: int) -> None:
        if count and not self.waiting[host]:
            self._turns.append(host)
        self.waiting[host] += count

    def turn(self) -> str | None:
        """Return the host whose turn it is; ``None`` if none has a request that may be made now."""
        for _ in range(len(self._turns)):
            host = self._turns[0]
            self._turns.rotate(-1)
            if self.active[host] < self.limit:
                return host
        return None

    def is_any_free(self) -> bool:
        """Return whether there is a host whose turn it may be."""
        return any(self.active[host] < self.limit for host in self.waiting)

    def take(self, host: str) -> None:
        self.waiting[host] -= 1
        if not self.waiting[host]:
            del self.waiting[host]
            self._turns.remove(host)


def host_of(request: Request) -> str:
    """Return what the downloader has a slot for."""
    return str(request.meta.get("download_slot") or urlparse_cached(request).hostname or "")


def stored_request(request: Request, spider: Spider) -> str:
    """Return the request as JSON.

    Raises:
        ValueError: its callback is not a method of the spider or of an object that the spider has, or JSON would change
            what it carries (a tuple, bytes).
        TypeError: it carries what JSON can't hold.
    """
    fields: dict[str, Any] = {name: getattr(request, name) for name in request.attributes}
    fields["callback"], fields["errback"] = _name(request.callback, spider), _name(request.errback, spider)
    fields["body"] = request.body.decode("latin-1")
    headers = request.headers.items()
    fields["headers"] = {name.decode("latin-1"): [one.decode("latin-1") for one in values] for name, values in headers}
    if type(request) is not Request:
        fields["_class"] = f"{type(request).__module__}.{type(request).__qualname__}"
    text = json.dumps(fields)
    if json.loads(text) != fields:
        raise ValueError("JSON would change its meta or cb_kwargs: use text, numbers, lists and dicts with text keys")
    return text


def _name(method: Any, spider: Spider) -> str | None:
    """Return the path of a method from the spider: ``parse``, or ``exports.parse`` for that of an object it has.

    Scrapy's own look-up of a method's name reads every attribute of the spider, for every request.
    """
    if method is None:
        return None
    name, owner = getattr(method, "__name__", ""), getattr(method, "__self__", spider)
    if owner is not spider:
        name = next((f"{own}.{name}" for own, value in vars(spider).items() if value is owner), "")
    try:
        found = attrgetter(name)(spider)
    except AttributeError:
        found = None
    if found != method:
        raise ValueError(f"{method!r} is not a method of {spider!r}, or of an object that it has")
    return name


def restored_request(text: str, spider: Spider) -> Request:
    """
    Raises:
        ValueError: the spider has no method of that name any more, or the row is damaged, as the other `_UNRESTORABLE`.
    """
    fields = json.loads(text)
    fields["body"] = fields["body"].encode("latin-1")
    headers = fields["headers"].items()
    fields["headers"] = {name.encode("latin-1"): [one.encode("latin-1") for one in values] for name, values in headers}
    former = getattr(spider, "former_callbacks", {})
    for name in ("callback", "errback"):
        path = former.get(fields[name], fields[name])
        fields[name] = path and attrgetter(path)(spider)
    return request_from_dict(fields)


def _address(text: str) -> str | None:
    try:
        url = json.loads(text)["url"]
    except _DAMAGED:
        return None
    return url if isinstance(url, str) else None
