"""What a look at a file means: ckanext-archiver's statuses, whether the link is broken, and since when.

The numbers and words are those of ckanext-archiver (https://github.com/ckan/ckanext-archiver).
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, cast

from crawlers.records.moment import moment
from crawlers.records.tables import csv_rows

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

_FIELDS = ("cause", "error", "state", "status", "then", "says")
ROWS = [dict(zip(_FIELDS, row, strict=True)) for row in csv_rows(__package__, "causes.csv")]
"""What causes.csv says."""
OFFLINE = ("dns", "timeout")
"""The kinds of failures that our own network may be the reason of."""
_GONE = (400, 404, 410, 416)
"""HTTP errors that say that there is no such file; after others it may still be there, for others or later."""
_FOR_NOW = re.compile(r"(?:401|403|429|498|499|5\d\d|SlowDown|ServiceUnavailable|InternalError|RequestTimeout)(?=:|$)")
"""How exceptions begin that say the same under HTTP 200, with the codes of ArcGIS and S3."""


class Finding(NamedTuple):
    """What a look at a file found.

    Args:
        status: one of `STATUSES`.
        is_broken: ``None`` if that is not known.
        error: as the capture has it; ``None`` for a success.
    """

    state: State
    status: int
    is_broken: bool | None
    error: str | None


_IS_BROKEN = {"broken": True, "kept": False, "unchanged": False, "alive": False}
CAUSES = {
    row["cause"]: Finding(
        cast("State", row["state"]), int(row["status"]), _IS_BROKEN.get(row["state"]), row["error"] or None
    )
    for row in ROWS
}
"""What is found, by its cause: causes.csv says when each is so."""


def table() -> str:
    """Return the table that docs/archive.md has of states and causes."""
    lines = ["| `state` | `status` | `error` | When |", "|---|---|---|---|"]
    for row in ROWS:
        state = f"`{row['state']}`, then `{row['then']}`" if row["then"] else f"`{row['state']}`"
        error = f"`{row['error']}`" if row["error"] else ""
        lines.append(f"| {state} | {row['status']} | {error} | {row['says']} |")
    return "\n".join(lines)


def cause(kind: str, http_status: int | None, *, is_online: bool, reason: str = "") -> str:
    """Return the cause of a failed request, one of `CAUSES`.

    Args:
        kind: one of `crawlers.causes.KINDS`.
        http_status: of the answer, if there was one.
        is_online: whether any host has answered in this run; else our own network may be the reason.
        reason: its sentence, which tells a robots.txt that disallows from one that is unreachable.

    >>> cause("http", 404, is_online=True), cause("http", 503, is_online=True)
    ('denied', 'refused')
    >>> cause("dns", None, is_online=True), cause("dns", None, is_online=False)
    ('dns', 'offline')
    """
    if kind == "http":
        return "refused" if http_status is not None and http_status >= 400 and http_status not in _GONE else "denied"
    if kind in OFFLINE and not is_online:  # what else fails, fails at a host
        return "offline"
    if kind == "robots" and "is unreachable" in reason:
        return "robots_unreachable"
    if kind == "too_large":  # only what comes before a body fails so
        return "headers"
    return kind if kind in CAUSES else "other"


def cause_of_exception(said: str) -> str:
    """Return the cause of an exception that came under HTTP 200, by what it says.

    >>> cause_of_exception("499: Token Required"), cause_of_exception("NoSuchKey: No key.")
    ('refused', 'exception')
    """
    return "refused" if _FOR_NOW.match(said) else "exception"


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
            look.state, look.status, *_ = CAUSES["unchanged"]
    look.last_success = last.last_success if last else None
    if look.state in ("kept", "unchanged", "alive"):
        look.last_success = look.time
    elif _is_the_files_own(look):
        _count(look, last, now, broken_after)
    elif last is not None and look.state != "not_taken":
        look.first_failure, look.failure_count = last.first_failure, last.failure_count


def _is_the_files_own(look: Capture) -> bool:
    """Return whether a failure is the file's: not if it was not asked for, or nothing is reachable from here."""
    was_not_asked = look.error == "blocked" and look.http_status is None
    return look.state == "broken" or (look.state == "unknown" and look.error != "offline" and not was_not_asked)


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
