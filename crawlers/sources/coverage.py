"""Records field by field: how many have each, an example, and what none has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crawlers.safety.line import one_line

_TELLING = ("name", "title", "text", "uri", "id", "email", "value", "start", "end")
_LONGEST = 300
_LEFT_OUT = {"source", "resources", "metadata_source", "metadata_url", "metadata_modified", "retrieved", "dataset_id"}


@dataclass(frozen=True, slots=True)
class Coverage:
    """
    Args:
        name: the field; of a resource's ``resource.format``.
        count: how many of the records have it.
        of: how many there are.
    """

    name: str
    count: int
    of: int
    example: str


def coverage(records: list[dict[str, Any]]) -> list[Coverage]:
    """
    >>> coverage([{"title": "Rivers", "resources": [{"format": "CSV"}]}, {"title": "Lakes", "resources": []}])[0]
    Coverage(name='title', count=2, of=2, example='Rivers')
    """
    resources = [one for record in records for one in record.get("resources") or []]
    return [*_fields(records, ""), *_resources(records), *_fields(resources, "resource.")]


def _resources(records: list[dict[str, Any]]) -> list[Coverage]:
    counts = [len(record.get("resources") or []) for record in records]
    return [Coverage("resources", sum(map(bool, counts)), len(records), f"{sum(counts)} in all")] if records else []


def _fields(records: list[dict[str, Any]], prefix: str) -> list[Coverage]:
    names = dict.fromkeys(name for record in records for name in record if name not in _LEFT_OUT)
    found = []
    for name in names:
        values = [record[name] for record in records if record.get(name) not in (None, "", [], {})]
        found.append(Coverage(prefix + name, len(values), len(records), shown(values[0]) if values else ""))
    return found


def shown(value: Any) -> str:
    r"""A value on one line that can't do anything to a terminal.

    >>> shown([{"name": "OCHA\x1b[31m", "url": None}, "b"]), shown({"start": "2020", "end": None})
    ('OCHA[31m, b', '2020')
    """
    if isinstance(value, list):
        text = ", ".join(shown(one) for one in value[:5])
    elif isinstance(value, dict):
        told = [str(value[name]) for name in _TELLING if value.get(name) is not None]
        text = told[0] if told else ", ".join(str(one) for one in value.values() if one is not None)
    else:
        text = str(value)
    return one_line(text, _LONGEST)


def lines(found: list[Coverage], width: int) -> list[str]:
    """For a terminal of that width: what is there, and then, on a line of its own, what none has."""
    there = [one for one in found if one.count]
    names = max((len(one.name) for one in there), default=0)
    told = [f"  {one.name:<{names}}  {one.count:>4} of {one.of:<4}  {one.example}" for one in there]
    missing = [one.name for one in found if not one.count]
    lacking = [f"  in none: {', '.join(missing)}"] if missing else []
    return [_cut(line, width) for line in told] + lacking


def _cut(line: str, width: int) -> str:
    """
    >>> _cut("a long line", 8)
    'a long …'
    """
    return line if len(line) <= width else f"{line[: width - 1]}…"
