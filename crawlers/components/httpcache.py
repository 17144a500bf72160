"""An HTTP cache that keeps only what may be used again, in one SQLite file; for any Scrapy project."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import zlib
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Self

from scrapy.downloadermiddlewares.httpcache import HttpCacheMiddleware
from scrapy.extensions.httpcache import RFC2616Policy
from scrapy.http.headers import Headers
from scrapy.utils.project import data_path
from scrapy.utils.request import fingerprint
from scrapy.utils.response import response_from_dict

from crawlers.components.politeness.failures import challenge
from crawlers.safety import sqlite
from crawlers.safety.sqlite import Identity, identity, is_damaged

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings


_NAMES = ("Accept", "Accept-Language")
_TURNS = ("kind", "text", "texts", "xpath", "script", "first", "step", "times")


class AcceptFingerprinter:
    """Scrapy's fingerprint, which differs where Accept or Accept-Language differ from DEFAULT_REQUEST_HEADERS.

    Scrapy adds its defaults after a request is scheduled. A header with the default value is therefore ignored: the
    fingerprint never changes, and without special headers it is Scrapy's own. Requests with different browser actions
    (``browser`` in a request's meta) have different fingerprints; their time limits do not count. Where the same form
    is sent for each page, ``page`` in the meta distinguishes the requests.
    """

    def __init__(self, settings: BaseSettings) -> None:
        defaults = Headers(settings.getdict("DEFAULT_REQUEST_HEADERS"))
        self.defaults = {name: defaults.get(name) for name in _NAMES}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings)

    def fingerprint(self, request: Request) -> bytes:
        headers = request.headers
        own = [name for name, default in self.defaults.items() if headers.get(name, default) != default]
        plain = fingerprint(request, include_headers=own or None)
        turns, page = request.meta.get("browser"), request.meta.get("page")
        if turns is None and page is None:
            return plain
        suffix = _described(turns or {}) + (b"" if page is None else b" page %d" % page)
        return hashlib.sha1(plain + suffix).digest()  # noqa: S324  # as Scrapy's


def _described(turns: dict[str, Any]) -> bytes:
    """
    >>> _described({"kind": "scroll", "wait": 3.0, "times": 2})
    b'{"kind": "scroll", "times": 2}'
    """
    given = {name: turns[name] for name in _TURNS if turns.get(name) is not None}
    return json.dumps(given, sort_keys=True).encode()


_VALIDATORS = ("If-None-Match", "If-Modified-Since")


class HttpCache(HttpCacheMiddleware):
    """The downloader middleware that answers from the cache, and asks the portal whether a copy still holds.

    Scrapy's gives an old copy when the connection fails, as if nothing had happened, and leaves a copy's validators on
    the request, which a redirect then takes to another address.
    """

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        copy = request.meta.get("cached_response")
        answer = super().process_response(request, response)
        _forget(request, copy)
        return answer

    def process_exception(self, request: Request, exception: Exception) -> None:  # type: ignore[override]
        _forget(request, request.meta.pop("cached_response", None))


def _forget(request: Request, copy: Response | None) -> None:
    if copy is not None:
        for name in _VALIDATORS:
            request.headers.pop(name, None)


_UNCERTAIN = {"dataloss", "partial", "download_stopped"}
_ENDS = {b"json": (b"}", b"]"), b"xml": (b">",)}
_SAYS_SOMETHING = (b"ETag", b"Last-Modified", b"Expires")


class Policy(RFC2616Policy):
    """Scrapy's RFC 2616 policy, for a copy of a catalogue that must not be wrong.

    #. Only whole answers are kept: 200 and 203, no redirects, no robot checks, nothing that broke off.
    #. An old copy never stands in for an answer that failed: the request is retried, and reported.
    #. Without a lifetime from the server, the copy is asked about each time (``If-None-Match``): no guesses from
       Last-Modified.
    #. HTTPCACHE_ALWAYS_STORE: an answer without caching headers is used until HTTPCACHE_EXPIRATION_SECS.
    """

    def should_cache_response(self, response: Response, request: Request) -> bool:
        return (
            response.status in (200, 203)
            and is_whole(response)
            and b"*" not in b",".join(response.headers.getlist("Vary"))
            and challenge(response) is None
            and super().should_cache_response(response, request)
        )

    def is_cached_response_fresh(self, cachedresponse: Response, request: Request) -> bool:
        if super().is_cached_response_fresh(cachedresponse, request):
            return True
        if not self.always_store or b"no-cache" in self._parse_cachecontrol(request):
            return False
        says = {b"max-age", b"no-cache"} & self._parse_cachecontrol(cachedresponse).keys()
        return not says and not any(name in cachedresponse.headers for name in _SAYS_SOMETHING)

    def is_cached_response_valid(self, cachedresponse: Response, response: Response, request: Request) -> bool:
        return response.status == 304

    def _compute_freshness_lifetime(self, response: Response, request: Request, now: float) -> float:
        if b"max-age" in self._parse_cachecontrol(response) or b"Expires" in response.headers:
            return super()._compute_freshness_lifetime(response, request, now)
        return 0


def is_whole(response: Response) -> bool:
    """Return whether the answer is complete: the last character of JSON and XML shows it, not their length."""
    if _UNCERTAIN.intersection(response.flags):
        return False
    kind = (response.headers.get("Content-Type") or b"").split(b";")[0].lower()
    last = response.body[-64:].rstrip()[-1:]
    return all(last in ends for name, ends in _ENDS.items() if name in kind)


logger = logging.getLogger(__name__)

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS responses
        (key BLOB PRIMARY KEY, time REAL NOT NULL, selected TEXT NOT NULL, about TEXT NOT NULL, body BLOB NOT NULL);
    CREATE INDEX IF NOT EXISTS responses_time ON responses (time);
"""
_ABOUT = ("url", "status", "encoding", "_class")
_FASTEST = 1  # JSON shrinks tenfold at any level


class SqliteStorage:
    """Stores responses by the fingerprint of their request, for any number of crawls in parallel.

    A damaged file is set aside and another is begun. One that can't be used costs one line in the log, and the crawl
    goes on without a cache.
    """

    def __init__(self, settings: BaseSettings) -> None:
        self.folder = data_path(settings["HTTPCACHE_DIR"], createdir=True)
        self.lifetime = settings.getint("HTTPCACHE_EXPIRATION_SECS")
        self.db: sqlite3.Connection | None = None

    def open_spider(self, spider: Spider) -> None:
        self.key = spider.crawler.request_fingerprinter.fingerprint
        self.path = Path(self.folder, f"{spider.name}.sqlite")
        self._open()
        if self.lifetime:
            self._execute("DELETE FROM responses WHERE time < ?", (time() - self.lifetime,))

    def close_spider(self, spider: Spider) -> None:
        if self.db:
            self.db.close()

    def retrieve_response(self, spider: Spider, request: Request) -> Response | None:
        """Raise for an unreadable row, which Scrapy takes for a miss and counts (httpcache/retrieve_error)."""
        if self.db is None:
            return None
        rows = self._execute(
            "SELECT time, selected, about, body FROM responses WHERE key = ? AND time > ?",
            (self.key(request), time() - self.lifetime if self.lifetime else 0),
        )
        if not rows:
            return None
        when, selected, about, body = rows[0]
        response = _response(about, body)
        if selected != _selected(request, response):
            return None
        request.meta["cache_timestamp"] = when
        return response

    def store_response(self, spider: Spider, request: Request, response: Response) -> None:
        if self.db is None:
            return
        row = self.key(request), time(), _selected(request, response), _about(response)
        body = zlib.compress(response.body, _FASTEST)
        self._execute("INSERT OR REPLACE INTO responses VALUES (?, ?, ?, ?, ?)", (*row, body))

    def _open(self, damaged: Identity | None = None) -> None:
        try:
            self.db = _connected(self.path, damaged)
            self.file = identity(self.path)
        except (OSError, sqlite3.Error) as error:
            self._give_up(error)

    def _execute(self, query: str, values: tuple[Any, ...]) -> list[Any]:
        """Return the rows; none if the file is damaged or can't be used, which the next request need not find out."""
        try:
            return self.db.execute(query, values).fetchall() if self.db else []
        except sqlite3.Error as error:
            old = self.db
            if is_damaged(error):
                self._open(self.file)
            else:
                self._give_up(error)
            if old:
                old.close()
        return []

    def _give_up(self, error: Exception) -> None:
        logger.warning("The HTTP cache %s can't be used (%s): the crawl goes on without it", self.path, error)
        self.db = None


def _connected(path: Path, damaged: Identity | None) -> sqlite3.Connection:
    def tell(reason: str, name: str) -> None:
        sentence = "The HTTP cache %s can't be used (%s): it was renamed to %s, and another is begun"
        logger.warning(sentence, path, reason, name)

    return sqlite.open_cache(path, partial(_laid_out, path), tell=tell, damaged=damaged)


def _laid_out(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)  # private metadata may be in it
    return sqlite.connect(path, _SCHEMA, patience=30)


def _about(response: Response) -> str:
    """All but the body, as JSON; headers are bytes, and Latin-1 keeps each of them."""
    values = response.to_dict()
    headers = {
        name.decode("latin-1"): [one.decode("latin-1") for one in some] for name, some in values["headers"].items()
    }
    return json.dumps({name: values[name] for name in _ABOUT if name in values} | {"headers": headers})


def _response(about: str, body: bytes) -> Response:
    values = json.loads(about)
    headers = {
        name.encode("latin-1"): [one.encode("latin-1") for one in some] for name, some in values["headers"].items()
    }
    return response_from_dict(values | {"headers": headers, "body": zlib.decompress(body)})


def _selected(request: Request, response: Response) -> str:
    """A hash of the headers that selected the answer: those that Vary names, and the credentials.

    Bodies are stored decoded, so that Accept-Encoding selects nothing.
    """
    vary = b",".join(response.headers.getlist("Vary")).lower().split(b",")
    names = {name.strip() for name in vary} - {b"accept-encoding", b""} | {b"authorization"}
    values = [(name, request.headers.getlist(name)) for name in sorted(names)]
    return hashlib.sha256(repr(values).encode()).hexdigest()
