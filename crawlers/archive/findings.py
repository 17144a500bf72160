"""What a look at a file means: ckanext-archiver's statuses, whether the link is broken, and since when.

The numbers and words are those of ckanext-archiver (https://github.com/ckan/ckanext-archiver).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from crawlers.records.moment import moment

if TYPE_CHECKING:
    from datetime import datetime

    from crawlers.items import Capture, State

STATUSES = {
    0: "Archived successfully",
    1: "Content has not changed",
    10: "URL invalid",
    11: "URL request failed",
    12: "Download error",
    21: "Chose not to download",
    22: "Download failure",
    23: "System error during archival",
}
"""Its status_id, in words."""

OF_THE_BLOB = (
    *("sha256", "md5", "size", "kept_at", "found_type", "extension", "name", "etag", "last_modified", "fresh_until"),
)
"""The fields of a capture that are about the blob that is held."""

_NOT_SURE = (401, 402, 403, 407, 408, 425, 429, 451)
"""HTTP statuses below 500 after which the file may still be there, for others or later."""


class Finding(NamedTuple):
    """What a look at a file found.

    Args:
        status: one of `STATUSES`.
        is_broken: ``None`` if that is not known.
    """

    state: State
    status: int
    is_broken: bool | None


KEPT = Finding("kept", 0, is_broken=False)
UNCHANGED = Finding("unchanged", 1, is_broken=False)
ALIVE = Finding("alive", 0, is_broken=False)
INVALID = Finding("broken", 10, is_broken=True)
FAILED = Finding("broken", 11, is_broken=True)
NO_CONTENT = Finding("broken", 12, is_broken=True)
NOT_TAKEN = Finding("not_taken", 21, is_broken=None)
NOT_SURE = Finding("unknown", 11, is_broken=None)
CUT = Finding("unknown", 22, is_broken=None)
FAILED_HERE = Finding("failed_here", 23, is_broken=None)

_BY_KIND = {
    "timeout": NOT_SURE,
    "blocked": NOT_SURE,
    "truncated": CUT,
    "too_large": NOT_TAKEN,
    "robots": NOT_TAKEN,
    "forbidden_address": NOT_TAKEN,
    "disk": FAILED_HERE,
    "bug": FAILED_HERE,
}


def of_failure(kind: str, http_status: int | None, *, is_online: bool, reason: str = "") -> Finding:
    """Return what a failed request means.

    Args:
        kind: one of `crawlers.causes.KINDS`.
        http_status: of the answer, if there was one.
        reason: its sentence, which tells a robots.txt that disallows from one that is unreachable.
        is_online: whether any host has answered in this run; else our own network may be the reason.

    >>> of_failure("http", 404, is_online=True).state, of_failure("http", 503, is_online=True).state
    ('broken', 'unknown')
    >>> of_failure("dns", None, is_online=True).state, of_failure("dns", None, is_online=False).state
    ('broken', 'unknown')
    """
    if kind == "http" and http_status is not None:
        return NOT_SURE if http_status >= 500 or http_status in _NOT_SURE else FAILED
    is_offline = kind in ("dns", "connection") and not is_online
    if is_offline or (kind == "robots" and "is unreachable" in reason):
        return NOT_SURE
    return _BY_KIND.get(kind, FAILED)


def settle(look: Capture, last: Capture | None, now: datetime, broken_after: float) -> None:
    """Complete a look by what the last one of the same file knew: what is held, and how long it has failed.

    Args:
        look: has its ``time``.
        broken_after: days after which an unknown file counts as broken.
    """
    if look.sha256 is None:
        _keep_blob(look, last)
    else:
        is_same = last is not None and last.sha256 == look.sha256
        look.kept_at = last.kept_at if is_same and last else look.time
        if is_same and look.state == "kept":
            look.state, look.status = UNCHANGED.state, UNCHANGED.status
    look.last_success = last.last_success if last else None
    if look.state in ("kept", "unchanged", "alive"):
        look.last_success = look.time
    elif _is_the_files_own(look):
        _count(look, last, now, broken_after)
    elif last is not None and look.state != "not_taken":
        look.first_failure, look.failure_count = last.first_failure, last.failure_count


def _is_the_files_own(look: Capture) -> bool:
    """Return whether a failure is the file's: not if it was not asked for, or nothing is reachable from here."""
    is_our_network = look.error in ("dns", "connection")
    was_not_asked = look.error == "blocked" and look.http_status is None
    return look.state == "broken" or (look.state == "unknown" and not (is_our_network or was_not_asked))


def _keep_blob(look: Capture, last: Capture | None) -> None:
    """Say of a look that kept nothing what is held, with the validators of that: those of the answer are another's."""
    if last is not None and last.sha256:
        for name in OF_THE_BLOB:
            setattr(look, name, getattr(last, name))
    else:
        look.etag = look.last_modified = None


def _count(look: Capture, last: Capture | None, now: datetime, broken_after: float) -> None:
    look.first_failure = (last and last.first_failure) or look.time
    look.failure_count = (last.failure_count if last else 0) + 1
    since = moment(look.first_failure)
    is_old = since is not None and now >= since + timedelta(days=broken_after)
    if look.state == "unknown" and is_old:
        look.state, look.is_broken = "broken", True
