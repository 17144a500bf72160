"""Feeds (``-O datasets.jsonl``, FEEDS): datasets or profiles; one that cannot be stored is always reported."""

from __future__ import annotations

import logging
import os
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.exceptions import NotConfigured
from scrapy.extensions import feedexport
from scrapy.extensions.feedexport import FeedSlot, apply_uri_params
from scrapy.utils.defer import ensure_awaitable
from w3lib.url import file_uri_to_path

from crawlers import signals
from crawlers.exceptions import ArgumentError
from crawlers.items import Dataset, Profile
from crawlers.safety.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

_PACKAGES = {"s3": "boto3", "gs": "google.cloud.storage"}
_REMOTE = (*_PACKAGES, "ftp", "ftps")


class DatasetFeeds:
    """The add-on that gives each feed without item classes of its own datasets and profiles, wherever FEEDS come from.

    Exports are documents on disk only.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """
        Raises:
            ArgumentError: a feed's options are not a table.
        """
        feeds = settings.getdict("FEEDS")
        for uri, options in feeds.items():
            if not isinstance(options, dict):
                raise ArgumentError(
                    f'The options of the feed {redact(str(uri))} are no table like {{"format": "csv"}}.'
                )
        if feeds:
            feeds = {uri: {"item_classes": [Dataset, Profile], **options} for uri, options in feeds.items()}
            settings.set("FEEDS", feeds, settings.getpriority("FEEDS") or 0)


class FeedExporter(feedexport.FeedExporter):
    """Scrapy's feeds; one that cannot be stored stops the crawl before any request, or becomes an error line.

    Raises:
        ArgumentError: a feed cannot be stored at its address.
    """

    def __init__(self, crawler: Crawler) -> None:
        for uri, options in crawler.settings.getdict("FEEDS").items():
            reason = unstorable(str(uri), options, crawler)
            if reason:
                raise ArgumentError(f"The feed {redact(str(uri))} can't be stored: {reason}.")
        try:
            super().__init__(crawler)
        except NotConfigured as error:
            if crawler.settings.getdict("FEEDS"):
                raise ArgumentError(f"The feeds can't be stored: {str(error) or 'the log says why'}.") from None
            raise

    def open_spider(self, spider: Spider) -> None:
        with self._reported("FEEDS"):
            super().open_spider(spider)

    def item_scraped(self, item: Any, spider: Spider) -> None:
        """Hand an item to each feed separately; a feed that fails is reported and gets no further items."""
        slots, left = self.slots, []
        for slot in slots:
            self.slots = [slot]
            with self._reported(slot.uri, slot):
                super().item_scraped(item, spider)
                left += self.slots
        self.slots = left

    async def _close_slot(self, slot: FeedSlot, spider: Spider) -> None:
        """Report a feed that is not stored: Scrapy only logs it."""
        store = slot.storage.store

        async def watched(file: IO[bytes]) -> None:
            try:
                await ensure_awaitable(store(file))
            except Exception as error:
                self._report(slot.uri, error)
                raise

        slot.storage.store = watched  # type: ignore[method-assign,assignment]
        with self._reported(slot.uri, slot):
            await super()._close_slot(slot, spider)

    @contextmanager
    def _reported(self, uri: str, slot: FeedSlot | None = None) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._report(uri, error)
            self._close(slot)
        except Exception as error:  # from a storage or an exporter, which may be third-party
            logger.exception("The feed %s failed", redact(uri))
            self._report(uri, error)
            self._close(slot)

    def _close(self, slot: FeedSlot | None) -> None:
        with suppress(OSError):  # it has been reported
            if slot and slot.file:
                slot.file.close()

    def _report(self, uri: str, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else f"{type(error).__name__}: {error}"
        sentence = redact(f"the feed {uri} could not be stored: {reason}")
        failed = signals.Failed(stage="write", kind="feed", error=sentence)
        self.crawler.signals.send_catch_log(signals.record_failed, failed=failed)


def unstorable(uri: str, options: Mapping[str, Any], crawler: Crawler) -> str | None:
    """Return why a feed can't be stored, in half a sentence; ``None`` if no obstacle is known.

    Local files are not created or changed.
    """
    storages, formats = (crawler.settings.getwithbase(name) for name in ("FEED_STORAGES", "FEED_EXPORTERS"))
    known = options.get("format", Path(uri).suffix.removeprefix("."))
    if formats.get(known) is None:
        names = ", ".join(sorted(name for name, exporter in formats.items() if exporter is not None))
        return f"there is no format {known!r}, but {names}"
    try:
        scheme = urlsplit(uri).scheme
        if storages.get(scheme) is None:
            return f"there is no storage for {scheme}: addresses"
        if scheme not in ("", "file"):
            return _remote(uri, scheme)
        own = options.get("uri_params") or crawler.settings["FEED_URI_PARAMS"]
        return None if own else _local(_path(uri, crawler.spider))  # only that function knows the final name
    except (ValueError, AttributeError) as error:
        return f"its name can't be read ({error})"


def _remote(uri: str, scheme: str) -> str | None:
    if scheme in _REMOTE and not urlsplit(uri).hostname:
        return "its address has no host or bucket"
    package = _PACKAGES.get(scheme)
    if package is None:
        return None
    with suppress(ModuleNotFoundError):  # a package that it is part of
        if find_spec(package) is not None:
            return None
    return f"the package {package.replace('.', '-')} is not installed"


class _Parameters(dict[str, Any]):
    """The parameters of a feed's name; only those in use are read from the spider, which has not started."""

    def __init__(self, spider: Spider | None) -> None:
        super().__init__(time="time", batch_time="time", batch_id=1)
        self.spider = spider

    def __missing__(self, name: str) -> Any:
        return getattr(self.spider, name)


def _path(uri: str, spider: Spider | None) -> Path:
    path = file_uri_to_path(uri) if uri.startswith("file:") else uri
    return Path(apply_uri_params(path, _Parameters(spider)))


def _local(path: Path) -> str | None:
    try:
        if path.is_dir():
            return "it is a folder"
        if path.is_file():
            path.open("ab").close()
        elif path.exists():  # a device or a pipe: opening it may block
            return None if os.access(path, os.W_OK) else "it can't be written"
        else:
            folder = next(folder for folder in path.absolute().parents if folder.exists())
            TemporaryFile(dir=folder).close()
    except OSError as error:
        return str(error.strerror)
    return None
