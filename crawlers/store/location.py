"""Where output is: in a folder, or in a store that several machines share and a folder mirrors.

All that reads and writes output knows OUTPUT_DIR only, which is a folder: `resolve` gives it the mirror's, and the
store's address to OUTPUT_STORE.
"""

from __future__ import annotations

import hashlib
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from crawlers.exceptions import OutputError, StoreUnreachableError
from crawlers.fleet import load
from crawlers.s3.address import is_address, parse
from crawlers.safety.inside import is_inside
from crawlers.safety.names import archive_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from scrapy.settings import BaseSettings


_LEASE = (1.0, 3600.0)  # seconds that it may last
_FILE = "file:"
_PREFIX = re.compile(r"[A-Za-z0-9._/+;-]*")
_NOT_IN_A_FOLDER = re.compile(r"[]%[|\\^]")
_BEFORE_REPORT = 8  # of the extensions: it takes the source, and brings its folder up to date


class Resolved:
    """The add-on that lets a crawl see the mirror of a store, also one that no command of this project starts."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Resolve OUTPUT_DIR, and let the crawl be stored, if that is asked for."""
        resolve(settings)
        if settings["OUTPUT_STORE"]:
            storing = load("storing", "OUTPUT_DIR").Storing
            settings.setdefault_in_component_priority_dict("EXTENSIONS", storing, _BEFORE_REPORT)


def resolve(settings: BaseSettings) -> None:
    """Let OUTPUT_DIR name a folder: if it names a store, the folder that mirrors it.

    Raises:
        OutputError: it is neither a folder nor the address of a store.
    """
    location = settings["OUTPUT_DIR"]
    if not is_store(location):
        return
    address = checked(str(location))
    priority = settings.getpriority("OUTPUT_DIR") or 0
    settings.set("OUTPUT_STORE", address, priority)
    settings.set("OUTPUT_DIR", str(Path(settings["OUTPUT_MIRROR"]).absolute() / folder_name(address)), priority)


def is_store(location: object) -> bool:
    """Return whether OUTPUT_DIR names a store rather than a folder.

    Raises:
        OutputError: it names something else.

    >>> is_store("s3://bucket/prefix"), is_store("file:///shared/europe"), is_store("output")
    (True, True, False)
    """
    return str(location or "").lower().startswith(_FILE) or is_address(location, "OUTPUT_DIR")


def checked(location: str) -> str:
    """Return an address as it is always written.

    Raises:
        OutputError: it is not the address of a store.

    >>> checked("s3://catalogues/europe/"), checked("file:///shared/europe/")
    ('s3://catalogues/europe', 'file:///shared/europe')
    """
    if location.lower().startswith(_FILE):
        folder = _path(location)
        if _NOT_IN_A_FOLDER.search(str(folder)):  # delta-rs fails at them, or reads another folder
            raise OutputError("OUTPUT_DIR has one of the signs % [ ] | \\ ^ in its path: choose another folder.")
        return folder.as_uri()
    bucket, prefix = parse(location, "OUTPUT_DIR")
    if not _PREFIX.fullmatch(prefix):  # delta-rs lists it otherwise than it reads it
        raise OutputError(
            "OUTPUT_DIR has a sign in its prefix that is no ASCII letter, digit or . _ - + ; /: choose another prefix."
        )
    return f"s3://{bucket}/{prefix}".rstrip("/")


def _path(location: str) -> Path:
    """Return the folder that a ``file:`` address names.

    Raises:
        OutputError: it names none.
    """
    found = unquote(location[len(_FILE) :])
    if not found.startswith("///") or found == "///" or "\0" in found or not is_inside(found.strip("/")):
        raise OutputError("OUTPUT_DIR is no file:///folder: the folder's whole path follows three slashes.")
    return Path(found[2:])


def folder_name(address: str) -> str:
    """Return the name of the folder that mirrors a store.

    >>> folder_name("s3://catalogues/europe/hdx")
    'catalogues-europe-hdx-a4acfe7c'
    """
    plain = "".join(
        char if char.isascii() and char.isalnum() else "-" for char in address.partition("://")[2].strip("/")
    )
    return f"{plain[:100]}-{hashlib.sha256(address.encode()).hexdigest()[:8]}"


def mirror(settings: BaseSettings, *, creates: bool = False, tell: Callable[[int], None] = lambda _: None) -> Any:
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
    found = opened(
        settings["OUTPUT_STORE"],
        Path(settings["OUTPUT_DIR"]),
        seconds=seconds(settings, "OUTPUT_LEASE", *_LEASE),
        interval=seconds(settings, "OUTPUT_STORE_INTERVAL"),
        versions=settings.getbool("VERSIONS"),
        tell=tell,
    )
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


def opened(address: str, folder: Path, **options: Any) -> Any:
    """Return a mirror of a store; no request is made yet.

    Args:
        folder: the mirror's.
        options: as for `Mirror`.

    Raises:
        ExtraError: a package is not installed.
        OutputError: the environment has no credentials.
    """
    engine = load("store", "OUTPUT_DIR")
    is_folder = address.startswith(_FILE)
    where = (
        engine.Store.local(_path(address), address)
        if is_folder
        else engine.Store.bucket(*parse(address, "OUTPUT_DIR"), address)
    )
    return engine.Mirror(where, folder, **options)


def bring_up(
    settings: BaseSettings,
    names: Collection[str] | None,
    lost: Callable[[str], None],
    *,
    damaged: Callable[[str], None] | None = None,
    creates: bool = False,
    known: Collection[str] = (),
    tell: Callable[[str], None] | None = None,
) -> list[str]:
    """Bring the mirror up to date, if output is in a store; return the sources that have changed.

    Args:
        names: of the sources; ``None``: all.
        lost: called with a sentence if the store gives no answer, so that the mirror may be behind.
        damaged: called with a sentence for each source that is damaged; by default ``lost``.
        creates: whether an empty prefix becomes a store.
        known: only these of all, with their archives, if the store has each of them.
        tell: called with a sentence about what is moved aside; by default ``lost``.

    Raises:
        StoreError: the store can't be used, or it gives no answer and the mirror has nothing.
    """
    try:
        found = mirror(settings, creates=creates)
        if found:
            found.store.tell = tell or lost
        if found and known:
            there = set(found.sources())
            if there.issuperset(known):
                names = sorted(there & {*known, *map(archive_of, known)})
        return found.refresh(names, damaged or lost) if found else []
    except StoreUnreachableError as error:
        folder = Path(settings["OUTPUT_DIR"])
        if not any(folder.glob("[!.]*/runs")):
            raise
        lost(f"{error} What follows is what {folder} had of it.")
        return []
