"""What a crawl does before it replaces a document, or marks it: it keeps the former version."""

from __future__ import annotations

import hashlib
import logging
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any

from crawlers.exceptions import OutputError
from crawlers.items import Dataset
from crawlers.records import moment
from crawlers.safety import inside, strict_json
from crawlers.safety.redact import writable
from crawlers.store.difference import changed_fields, changed_names
from crawlers.store.index.documents import UNREADABLE, item_of
from crawlers.store.versions import FILE, Versions

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler

    from crawlers.extensions.error_log import ErrorLog
    from crawlers.items import Document, Export, Profile, Status
    from crawlers.store.index.known import Key, Known

    Item = Dataset | Export | Profile

logger = logging.getLogger(__name__)
_DAY = 24 * 3600


class Former:
    """Keeps former versions of a source's documents, in versions.sqlite: ``VERSIONS``.

    Args:
        folder: the source's.
        run: the run's name.
        error_log: where it is reported that versions can't be kept: then no document is replaced.
    """

    def __init__(self, crawler: Crawler, folder: Path, run: str, error_log: ErrorLog) -> None:
        self.folder, self.run, self.error_log = folder, run, error_log
        self.is_on = crawler.settings.getbool("VERSIONS")
        self.days = crawler.settings.getint("VERSIONS_KEEP_DAYS")
        self.refusal: OSError | None = None

    @cached_property
    def versions(self) -> Versions:
        """The file, made when the first version is kept."""
        return Versions.writing(self.folder)

    def keep(self, key: Key, known: Known, status: Status, after: Item | None = None) -> None:
        """Keep a document's version on disk.

        Args:
            key: the document's.
            known: the version on disk.
            status: of the document from now on.
            after: the item that replaces it; ``None`` if the document stays as it is.

        Raises:
            NotWritten: it can't be kept; that is reported.
        """
        if not self.is_on:
            return
        with self.error_log.writing(self.folder / FILE):
            if self.refusal:  # the crawl is being stopped: another try would wait for the same lock
                raise self.refusal
            body = self._on_disk(known)
            try:
                fields = self._fields(key, known, body, after) if after else []
                now = moment.now("milliseconds")
                self.versions.keep(key, known, body, replaced=now, run=self.run, status=status, fields=fields)
            except OSError as error:
                self.refusal = error
                raise

    def _on_disk(self, known: Known) -> bytes | None:
        """Return the document, unless a killed crawl has replaced it: then its version is kept already."""
        try:
            body = inside.read(self.folder, known.file)
        except OSError:
            return None
        return body if hashlib.sha256(body).hexdigest() == known.sha256 else None

    def _fields(
        self, key: Key, known: Known, on_disk: bytes | None, after: Dataset | Export | Profile
    ) -> list[str] | None:
        """Return which fields another record changes; ``None`` if the former one can't be read."""
        try:
            body = self.versions.body(known.sha256) if on_disk is None else on_disk
            if body is None:
                return None
            if isinstance(after, Dataset):
                return changed_fields(item_of(body, self.folder, key[1], known), after)
            return changed_names(_document(writable(body)), _document(after.document))
        except (OutputError, *UNREADABLE):
            return None
        except Exception:
            logger.exception("What changed in %s can't be said", known.file)
            return None

    def close(self) -> None:
        """Drop what is older than ``VERSIONS_KEEP_DAYS``, and close the file, if it is open."""
        if not self.is_on:
            return
        try:
            if 0 < self.days * _DAY < time.time() and not self.refusal and (self.folder / FILE).exists():
                self.versions.prune(time.time() - self.days * _DAY)
        except OSError as error:
            logger.warning("%s can't be pruned: %s", self.folder / FILE, error.strerror)
        if "versions" in vars(self):
            self.versions.close()


def _document(found: Any) -> Document | bytes:
    return strict_json.loads(found) if isinstance(found, bytes) else found  # type: ignore[no-any-return]
