"""CKAN's records: compared, and filled: what CKAN itself changes between two readings does not count."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.records.moment import moment, written
from crawlers.records.tables import toml_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


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
    listed = (record or {}).get("extras")
    entries = listed if isinstance(listed, list) else []
    return {str(one["key"]): one.get("value") for one in entries if isinstance(one, dict) and "key" in one}


def with_extras(record: Mapping[str, Any], changed: Mapping[str, Any]) -> list[Record]:
    """Return a record's extras with some values changed: all others stay, in their order, and new ones follow.

    CKAN's package_patch replaces the list as a whole.

    Args:
        changed: texts by key; ``None`` takes the extra away.

    >>> record = {"extras": [{"key": "zone", "value": "north"}, {"key": "stars", "value": "1"}]}
    >>> with_extras(record, {"zone": None, "stars": "2"})
    [{'key': 'stars', 'value': '2'}]
    """
    gone = {key for key, value in changed.items() if value is None}
    return [{"key": key, "value": value} for key, value in {**extras(record), **changed}.items() if key not in gone]


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


# Where a fact goes in a record of the catalogue, and in which form: a field of its schema, or an extra

Schema = dict[str, list[Any]]
"""The fields that ckanext-scheming declares for a type of record, each with its choices; it has none if any goes."""


class Rule(NamedTuple):
    """Where a fact goes.

    Args:
        fact: its name in the profile.
        names: of the field, the usual one first.
        form: date, moment or any; empty if the fact is written as it is.
    """

    fact: str
    names: tuple[str, ...]
    form: str = ""


@cache
def rules(kind: str) -> tuple[Rule, ...]:
    found = toml_table(__package__, "fields.toml")[kind]
    return tuple(Rule(fact, tuple(one["names"]), one.get("form", "")) for fact, one in found.items())


def placed(record: Record, facts: Mapping[str, Any], rules: Collection[Rule], schema: Schema) -> tuple[Record, Record]:
    """Return the values of the fields, and of the extras, that a record is to have. What is not known has none.

    Args:
        record: as it is; it shows where its catalogue keeps a field.
        facts: of the profile.

    >>> record = {"stars": "3", "extras": [{"key": "forks", "value": "1"}]}
    >>> facts = {"stars": 4, "forks": 2, "archived": None}
    >>> placed(record, facts, rules("extension"), {})
    ({'stars': 4}, {'forks': '2'})
    """
    fields, found = {}, {}
    for rule in rules:
        name, is_extra = _place(record, rule.names, schema)
        before = extras(record).get(name) if is_extra else record.get(name)
        value = _formed(facts.get(rule.fact), rule.form)
        if value is None or _is_order_only(before, value):
            continue
        value = _chosen(value, before, schema.get(name, []))
        if is_extra:
            found[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        elif value is not None:
            fields[name] = value
    return fields, found


def _place(record: Record, names: tuple[str, ...], schema: Schema) -> tuple[str, bool]:
    known = extras(record)
    for where, is_extra in ((record, False), (known, True), (schema, False)):
        found = next((name for name in names if name in where), None)
        if found:
            return found, is_extra
    return names[0], True


def _formed(value: Any, form: str) -> Any:
    """
    >>> _formed("2026-11-15T10:00:00Z", "date"), _formed("2026-11-15T10:00:00Z", "moment"), _formed(3, "any")
    ('2026-11-15', '2026-11-15T10:00:00', True)
    >>> _formed(0, "any"), _formed("soon", "date"), _formed([], "")
    (None, None, None)
    """
    if value is None or value in ("", []):
        return None
    if form == "any":
        return True if value else None
    if form:
        when = as_moment(value)
        return when and when[:10] if form == "date" else when
    return value


def _chosen(value: Any, before: Any, choices: list[Any]) -> Any:
    """Return a value as the schema's choices have it, or spelled as before; ``None`` if no choice is that.

    >>> _chosen(True, None, ["TRUE", "FALSE"]), _chosen(True, "False", []), _chosen("x", "", ["a"]), _chosen(3, "2", [])
    ('TRUE', 'True', None, 3)
    """
    if choices:
        return next((choice for choice in choices if is_same(choice, value)), None)
    if isinstance(value, bool) and isinstance(before, str):
        spelled = str(value)
        return spelled.upper() if before.isupper() else spelled if before.istitle() else spelled.lower()
    return value


def _is_order_only(before: Any, value: Any) -> bool:
    """Return whether two lists differ in their order at most: portals list their extensions in any."""
    if not isinstance(before, list) or not isinstance(value, list):
        return False
    return sorted(map(str, before)) == sorted(map(str, value))
