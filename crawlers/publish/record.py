"""CKAN's records compared: what CKAN itself changes between two readings, and how it stores a value, does not count."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from crawlers.records.moment import moment, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Record = dict[str, Any]

STAMPS = frozenset(("metadata_modified", "revision_id", "revision_timestamp", "tracking_summary", "position", "_id"))
"""What CKAN changes by itself, or with any other change of the record; a stamp does not move with every change."""
DERIVED = frozenset(
    ("display_name", "isopen", "license_title", "license_url", "num_resources", "num_tags", "organization")
)
"""What CKAN makes of other fields: ``organization`` of ``owner_org``, ``isopen`` of ``license_id``."""
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}")
_MIDNIGHT = "T00:00:00Z"


def is_nothing(value: Any) -> bool:
    """Return whether CKAN treats a value as absent: a field may be missing, ``None`` or empty."""
    return value is None or (isinstance(value, str | list | dict) and not value)


def is_same(first: Any, second: Any) -> bool:
    """Return whether two values are one value, which CKAN may store as a text.

    >>> is_same(25, "25"), is_same(True, "TRUE"), is_same(["dcat"], '["dcat"]'), is_same(None, "")
    (True, True, True, True)
    >>> is_same("2026-11-15T10:00:00Z", "2026-11-15T10:00:00.000000"), is_same("2.10", "2.1"), is_same(0, None)
    (True, False, False)
    """
    return bool(_canonical(first) == _canonical(second))


def _canonical(value: Any) -> Any:
    if is_nothing(value):
        return None
    if isinstance(value, str):
        return _canonical_text(value.strip())
    if isinstance(value, list):
        return [_canonical(one) for one in value]
    if isinstance(value, dict):
        return {name: _canonical(one) for name, one in sorted(value.items()) if not is_nothing(one)}
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).lower()


def _canonical_text(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower()
    if text[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):
            return _canonical(json.loads(text))
    if _MOMENT.match(text) and (when := moment(text)):
        return written(when, "auto").replace("+00:00", "Z").removesuffix(_MIDNIGHT)
    return text


def as_moment(text: Any) -> str | None:
    """Return a moment as CKAN's dates take it, in UTC and without a zone; ``None`` for anything else.

    >>> as_moment("2026-11-15T11:00:00+01:00"), as_moment("2026-11-15"), as_moment("2026")
    ('2026-11-15T10:00:00', '2026-11-15T00:00:00', None)
    """
    when = moment(text)
    return when.replace(tzinfo=None).isoformat(timespec="seconds") if when else None


def extras(record: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a record's extras by their keys."""
    listed = (record or {}).get("extras")
    entries = listed if isinstance(listed, list) else []
    return {str(one["key"]): one.get("value") for one in entries if isinstance(one, dict) and "key" in one}


def with_extras(record: Mapping[str, Any], changed: Mapping[str, Any]) -> list[Record]:
    """Return a record's extras with some values changed: all others stay, in their order, and new ones follow.

    CKAN's package_patch replaces the list as a whole.

    Args:
        changed: texts by key.

    >>> with_extras({"extras": [{"key": "zone", "value": "north"}, {"key": "stars", "value": "1"}]}, {"stars": "2"})
    [{'key': 'zone', 'value': 'north'}, {'key': 'stars', 'value': '2'}]
    """
    return [{"key": key, "value": value} for key, value in {**extras(record), **changed}.items()]


def differences(first: Record | None, second: Record | None) -> list[str]:
    """Return the names of the fields in which two readings of a record differ; ``extras.KEY`` for an extra.

    Args:
        first: ``None`` if the record is not there; the second reading, too.

    >>> before = {"id": "a", "stars": 1, "extras": [{"key": "zone", "value": "n"}], "metadata_modified": "2026"}
    >>> differences(before, {**before, "stars": "1", "metadata_modified": "2027"}), differences(before, None)
    ([], ['the record'])
    >>> differences(before, {"id": "a", "stars": 2})
    ['extras.zone', 'stars']
    """
    if first is None or second is None:
        return [] if first is second else ["the record"]
    before, now = _compared(first), _compared(second)
    return sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))


def _compared(record: Record) -> Record:
    """Return the fields that count, each in the form in which it is compared."""
    fields = {name: value for name, value in record.items() if name not in STAMPS | DERIVED and name != "extras"}
    for name in ("tags", "groups"):
        if isinstance(fields.get(name), list):
            fields[name] = sorted(_names(fields[name]))
    if isinstance(fields.get("resources"), list):
        fields["resources"] = [_compared(one) if isinstance(one, dict) else one for one in fields["resources"]]
    fields |= {f"extras.{key}": value for key, value in extras(record).items()}
    return {name: _canonical(value) for name, value in fields.items() if not is_nothing(value)}


def _names(entries: Iterable[Any]) -> list[str]:
    """Return the names of tags or groups, whose other fields are records of their own."""
    return [str(one.get("name") or one.get("id")) if isinstance(one, dict) else str(one) for one in entries]
