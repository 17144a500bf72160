"""Where a fact goes in a record of the catalogue, and in which form: a field of its schema, or an extra."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlers.exceptions import AnswerError
from crawlers.publish.record import as_moment, extras, is_same
from crawlers.records.tables import toml_table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from crawlers.publish.portal import Portal
    from crawlers.publish.record import Record

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
    """Return the rules for a kind of profile: site or extension."""
    found = toml_table(__package__, "fields.toml")[kind]
    return tuple(Rule(fact, tuple(one["names"]), one.get("form", "")) for fact, one in found.items())


async def read_schema(portal: Portal, kind: str) -> Schema:
    """Return the schema of the records of a type, as ckanext-scheming says; empty if the portal does not have it.

    Raises:
        AnswerError: the portal does not answer.
    """
    try:
        answer = await portal.read("scheming_dataset_schema_show", {"type": kind})
    except AnswerError as error:
        if error.kind != "refused":
            raise
        answer = None
    found = (answer or {}).get("dataset_fields")
    declared = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return {str(one.get("field_name")): _choices(one.get("choices")) for one in declared}


def _choices(found: Any) -> list[Any]:
    return [one.get("value") for one in found if isinstance(one, dict)] if isinstance(found, list) else []


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
    """Return the name of the field, and whether it is an extra."""
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
