"""The fields that the Humanitarian Data Exchange adds to CKAN's record."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from crawlers.items import Agent, Dataset, Period, Place
from crawlers.records.values import date

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.records.record import Record

_RANGE = re.compile(r"\[\s*(\S+)\s+TO\s+(\S+?)\s*\]")
_AMERICAN = re.compile(r"([0-9]{2})/([0-9]{2})/([0-9]{4})")
_FREQUENCIES = {
    "0": "UPDATE_CONT",
    "1": "DAILY",
    "7": "WEEKLY",
    "14": "BIWEEKLY",
    "30": "MONTHLY",
    "60": "BIMONTHLY",
    "90": "QUARTERLY",
    "120": "ANNUAL_3",
    "180": "ANNUAL_2",
    "365": "ANNUAL",
    "-1": "NEVER",
    "-2": "AS_NEEDED",
}


def recognised(record: dict[str, Any]) -> bool:
    """Return whether a package is one of HDX."""
    return "dataset_date" in record and "dataset_source" in record


def complete(dataset: Dataset, fields: Record) -> None:
    """Fill in what only HDX has: groups are places there, not themes. The record's own fields stay."""
    dataset.themes = fields.texts("theme")
    dataset.spatial = _joined(dataset.spatial, list(_places(fields)))
    dataset.temporal = fields.read(period, "dataset_date") or dataset.temporal
    dataset.frequency = fields.read(_FREQUENCIES.get, "data_update_frequency") or dataset.frequency
    dataset.provenance = _methodology(fields) or dataset.provenance
    dataset.caveats = fields.text("caveats")
    dataset.data_modified = fields.date("last_modified")
    if name := fields.text("dataset_source"):
        dataset.contacts.insert(0, Agent(name=name, role="creator"))
    if fields.text("is_requestdata_type") in {"true", "True"}:
        dataset.access_rights = "on request"
    if dataset.license:
        dataset.license.text = fields.text("license_other")


def period(text: str) -> Period | None:
    """Return the period of HDX's ``dataset_date``: Solr's range in UTC, or the American dates of older records.

    A start at midnight and an end a second before it are whole days; ``*`` is an open end.

    >>> period("[2010-06-30T00:00:00 TO 2026-01-31T23:59:59]"), period("[2019-10-22T00:00:00 TO *]")
    (Period(start='2010-06-30', end='2026-01-31'), Period(start='2019-10-22', end=None))
    >>> period("01/01/1992-07/15/2019"), period("07/15/2019")
    (Period(start='1992-01-01', end='2019-07-15'), Period(start='2019-07-15', end='2019-07-15'))
    >>> period("[2020-01-01T06:00:00 TO NOW]"), period("[* TO *]")
    (None, Period(start=None, end=None))
    """
    found = _RANGE.fullmatch(text)
    if not found:
        return _american(text)
    start, end = _day(found[1], "T00:00:00"), _day(found[2], "T23:59:59")
    readable = (start or found[1] == "*") and (end or found[2] == "*")
    return Period(start=start, end=end) if readable else None


def _day(moment: str, padding: str) -> str | None:
    day, _, rest = moment.partition(padding)
    return date(day if not rest.strip(".0Z") else moment)


def _american(text: str) -> Period | None:
    first, dash, last = text.partition("-")
    start = date(_AMERICAN.sub(r"\3-\1-\2", first))
    end = date(_AMERICAN.sub(r"\3-\1-\2", last)) if dash else start
    return Period(start=start, end=end) if start and end else None


def _methodology(fields: Record) -> str | None:
    methodology = fields.text("methodology")
    return fields.text("methodology_other") or methodology if methodology == "Other" else methodology


def _joined(own: list[Place], groups: list[Place]) -> list[Place]:
    """Return the record's places, with the codes of the groups of the same name, and the other groups."""
    codes = {place.name: place.code for place in groups}
    for place in own:
        place.code = place.code or codes.get(place.name)
    names = {place.name for place in own}
    return [*own, *(place for place in groups if place.name not in names)]


def _places(fields: Record) -> Iterator[Place]:
    """Yield the places of the groups; the name of a country's group is its ISO 3166-1 alpha-3 code in lower case."""
    for group in fields.objects("groups"):
        code = group.text("name", "id") or ""
        name = group.text("title", "display_name", "name")
        if name:
            yield Place(name=name, code=code.upper() if re.fullmatch(r"[A-Za-z]{3}", code) else None)
