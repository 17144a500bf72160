"""When something was issued or changed."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from crawlers.mapping import values
from crawlers.mapping.frequencies import frequency

if TYPE_CHECKING:
    from crawlers.mapping.data_json.node import Node

_NO_MOMENT = re.compile(r"R[0-9]*/|P[T0-9]|[{<$%]", re.IGNORECASE)
_SHOWN = 60


def issued(fields: Node) -> str | None:
    return read_date(fields, "issued") or read_date(fields, "created")


def modified(fields: Node) -> str | None:
    """An interval is none (`crawlers.mapping.data_json.item` reads it as a frequency), nor is an unfilled template."""
    return read_date(fields, "modified")


def read_date(fields: Node, name: str) -> str | None:
    text = fields.text(name)
    found = values.date(text) if text else None
    if found and has_come(found):
        return found
    if text and not _NO_MOMENT.match(text) and not frequency(text):
        fields.flaw(f"{fields.path}{name} {text[:_SHOWN]!r} is {'in the future' if found else 'no date'}")
    return None


def has_come(date: str) -> bool:
    """A day is added, for the zones east of UTC.

    >>> has_come("2020-03"), has_come("2999")
    (True, False)
    """
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%d")
    return date[:10] <= tomorrow[: len(date)]
