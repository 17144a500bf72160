"""Where output is: in a folder, or in a store in S3 that a folder mirrors.

All that reads and writes output knows OUTPUT_DIR only, which is a folder: `resolve` gives it the mirror's, and the
store's address to OUTPUT_STORE.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING

from crawlers.exceptions import OutputError, StoreUnreachableError
from crawlers.s3.address import is_address, need, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from scrapy.settings import BaseSettings

    from crawlers.store.bucket.mirror import Mirror

_LEASE = (1.0, 3600.0)  # seconds that it may last
_TIMEOUT = 60.0  # seconds for a request


class Resolved:
    """The add-on that lets a crawl see the mirror of a store, also one that no command of this project starts."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Resolve OUTPUT_DIR."""
        resolve(settings)


def resolve(settings: BaseSettings) -> None:
    """Let OUTPUT_DIR name a folder: if it names a bucket, the folder that mirrors it.

    Raises:
        OutputError: it is neither a folder nor the address of a bucket.
    """
    location = settings["OUTPUT_DIR"]
    if not is_address(location, "OUTPUT_DIR"):
        return
    address = checked(str(location))
    priority = settings.getpriority("OUTPUT_DIR") or 0
    settings.set("OUTPUT_STORE", address, priority)
    settings.set("OUTPUT_DIR", str(Path(settings["OUTPUT_MIRROR"]).absolute() / folder_name(address)), priority)


def checked(location: str) -> str:
    """Return an address as it is always written.

    Raises:
        OutputError: it is not the address of a bucket.
    """
    bucket, prefix = parse(location, "OUTPUT_DIR")
    return f"s3://{bucket}/{prefix}".rstrip("/")


def folder_name(address: str) -> str:
    """Return the name of the folder that mirrors a store.

    >>> folder_name("s3://catalogues/europe/hdx")
    'catalogues-europe-hdx-a4acfe7c'
    """
    plain = "".join(char if char.isascii() and char.isalnum() else "-" for char in address.removeprefix("s3://"))
    return f"{plain[:100]}-{hashlib.sha256(address.encode()).hexdigest()[:8]}"


def mirror(
    settings: BaseSettings, *, creates: bool = False, tell: Callable[[int], None] = lambda _: None
) -> Mirror | None:
    """Return the mirror of the store, which was checked; ``None`` if output is in a folder.

    Args:
        creates: whether an empty prefix becomes a store.
        tell: called with a number of files that were read or stored.

    Raises:
        StoreError: the store can't be used; nothing was changed.
        OutputError: as `opened`.
    """
    if not settings["OUTPUT_STORE"]:
        return None
    lasts = seconds(settings, "OUTPUT_LEASE", *_LEASE)
    found = opened(settings["OUTPUT_STORE"], Path(settings["OUTPUT_DIR"]), seconds=lasts, tell=tell)
    found.check(creates=creates)
    return found


def seconds(settings: BaseSettings, name: str, lowest: float = 0.0, highest: float = math.inf) -> float:
    """Return the seconds that a setting has; commands that read do not check their settings.

    Raises:
        OutputError: it has none, or too few or too many.
    """
    value = settings[name]
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = math.nan
    if not lowest <= found <= highest or math.isinf(found):
        wanted = f"from {lowest:g} to {highest:g}" if highest < math.inf else f"from {lowest:g} on"
        raise OutputError(f"{name}={str(value)[:100]} is not a number of seconds {wanted}.")
    return found


def opened(
    address: str, folder: Path, *, seconds: float = 60.0, tell: Callable[[int], None] = lambda _: None
) -> Mirror:
    """Return a mirror of a store; no request is made yet.

    Args:
        folder: the mirror's.
        seconds: how long its leases last.
        tell: as for `mirror`.

    Raises:
        OutputError: a package is not installed, or the environment has no credentials.
    """
    need("OUTPUT_DIR", "obstore", "pyarrow")
    from crawlers.s3.connection import Patience, connected  # noqa: PLC0415 -- obstore takes long to import
    from crawlers.store.bucket.mirror import Mirror  # noqa: PLC0415
    from crawlers.store.bucket.objects import SETTING, Objects  # noqa: PLC0415

    patience = Patience(_TIMEOUT, retries=2)
    store = connected(*parse(address, SETTING), patience, SETTING)
    return Mirror(Objects(store, address, patience.timeout), folder, seconds=seconds, tell=tell)


def bring_up(
    settings: BaseSettings,
    names: Collection[str] | None,
    lost: Callable[[str], None],
    *,
    damaged: Callable[[str], None] | None = None,
    creates: bool = False,
) -> list[str]:
    """Bring the mirror up to date, if output is in a store; return the sources that have changed.

    Args:
        names: of the sources; ``None``: all.
        lost: called with a sentence if the store gives no answer, so that the mirror may be behind.
        damaged: called with a sentence for each source that is damaged; by default ``lost``.
        creates: whether an empty prefix becomes a store.

    Raises:
        StoreError: the store can't be used, or it gives no answer and the mirror has nothing.
    """
    try:
        found = mirror(settings, creates=creates)
        return found.refresh(names, damaged or lost) if found else []
    except StoreUnreachableError as error:
        folder = Path(settings["OUTPUT_DIR"])
        if not any(folder.glob("[!.]*/runs")):
            raise
        lost(f"{error} What follows is what {folder} had of it.")
        return []
