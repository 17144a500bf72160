"""The crawls of other mirrors, as their leases tell: in running.json, where those who list runs look."""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from crawlers.records import moment
from crawlers.safety import inside, strict_json
from crawlers.safety.locks import is_crawled
from crawlers.store.bucket.lease import read

if TYPE_CHECKING:
    from crawlers.store.bucket.lease import Holder
    from crawlers.store.bucket.mirror import Mirror
    from crawlers.store.bucket.objects import Tagged

FILE = "running.json"


def note(mirror: Mirror, source: str) -> Holder | None:
    """Write what another mirror's crawl of a source says, or remove it if it has ended; return the lease.

    Raises:
        StoreError: the store can't be read, or the lease is damaged.
        OSError: the folder can't be written.
    """
    found = read(mirror.objects, f"leases/{source}.json")
    folder = mirror.folder / source
    if found:
        write(mirror, source, *found)
    if found and found[0].is_released and not is_crawled(folder):
        with suppress(OSError):
            inside.remove(folder, FILE)
    return found[0] if found else None


def write(mirror: Mirror, source: str, holder: Holder, tagged: Tagged) -> None:
    """Write what another mirror's crawl says, or said before it crashed.

    Args:
        tagged: the object of the lease.

    Raises:
        OSError: the folder can't be written.
    """
    if holder.running and not holder.is_released and holder.writer != mirror.places.writer:
        folder = mirror.folder / source
        folder.mkdir(parents=True, exist_ok=True)
        seen = {"elsewhere": True, "heartbeat": _here(mirror.now(), tagged.modified)}
        inside.write(folder, FILE, strict_json.dumps(holder.running | seen), ".running")


def _here(now: float | None, modified: float) -> str:
    """Return a time of the server's clock as this machine's clock has it.

    Args:
        now: the server's time; ``None`` if it is not known.
    """
    then = modified if now is None else time.time() - max(0.0, now - modified)
    return moment.written(datetime.fromtimestamp(then, UTC), "milliseconds")
