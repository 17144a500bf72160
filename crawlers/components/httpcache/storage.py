"""The cache's file: HTTPCACHE_DIR/<spider>.sqlite. No pickles; a kill loses no more than the answer being written."""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
import zlib
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any

from scrapy.utils.project import data_path
from scrapy.utils.response import response_from_dict

from crawlers.safety import damaged_database
from crawlers.safety.damaged_database import Identity, identity, is_damaged

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

_SCHEMA = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
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
    return damaged_database.opened(path, partial(_laid_out, path), tell=partial(_tell, path), damaged=damaged)


def _tell(path: Path, reason: str, name: str) -> None:
    logger.warning(
        "The HTTP cache %s can't be used (%s): it was renamed to %s, and another is begun", path, reason, name
    )


def _laid_out(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)  # private metadata may be in it
    db = sqlite3.connect(path, timeout=30, isolation_level=None)
    try:
        db.executescript(_SCHEMA)
    except sqlite3.Error:
        db.close()
        raise
    return db


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
