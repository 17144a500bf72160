"""What the datasets of each source have: how many there are, of what age, and how many have each field."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from crawlers.store.columns.rows import BITS
from crawlers.store.index.views import FIELDS, STALE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlers.store.columns.tables import Columns

AGES = {"month": 30, "year": 365, "five years": 1825}
"""Days since a dataset was modified, by the name of its age; without a date it is ``unknown``, else ``older``."""

_CONTACT = 1 << BITS["contact"] | 1 << BITS["contact_email"]
_QUERY = f"""
    SELECT source, count(*), sum(resources), count(*) FILTER ((has & {_CONTACT}) = 0),
        count(*) FILTER (day || '~' < CASE frequency {{due}} END), count(*) - count(day),
        {{ages}}, {", ".join(f"sum((has >> {BITS[name]}) & 1)" for name in FIELDS)}
    FROM datasets WHERE source IN (SELECT unnest($names)) GROUP BY 1
"""  # noqa: S608  # the numbers above


class Described(NamedTuple):
    """The datasets of a source, without those that are withdrawn.

    Args:
        contactless: how many have no contact.
        late: how many should have been modified since, by their own frequency.
        ages: how many are of each age.
        fields: how many have each of `crawlers.store.index.views.FIELDS`.
    """

    datasets: int = 0
    resources: int = 0
    contactless: int = 0
    late: int = 0
    ages: Mapping[str, int] = {}
    fields: Mapping[str, int] = {}


def descriptions(columns: Columns, names: Sequence[str]) -> dict[str, Described]:
    """Return what the datasets of some sources have, in one look at them; a source without any is left out."""
    return {
        source: _described(counts) for source, *counts in columns.rows(_query(datetime.now(UTC).date()), names=names)
    }


def _query(today: date) -> str:
    due = " ".join(f"WHEN '{code}' THEN '{today - timedelta(days=days)}'" for code, days in STALE)
    ages = ", ".join(f"count(*) FILTER (day >= '{today - timedelta(days=days)}')" for days in AGES.values())
    return _QUERY.format(due=due, ages=ages)


def _described(counts: Sequence[int]) -> Described:
    datasets, resources, contactless, late, unknown, *rest = counts
    since = [*rest[: len(AGES)], datasets - unknown]
    younger = [0, *since]
    ages = dict(zip((*AGES, "older"), (more - less for less, more in zip(younger, since, strict=False)), strict=True))
    fields = dict(zip(FIELDS, rest[len(AGES) :], strict=True))
    return Described(datasets, resources, contactless, late, {**ages, "unknown": unknown}, fields)
