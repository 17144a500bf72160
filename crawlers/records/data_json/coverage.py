"""Which time a dataset is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlers.records.periods import any_period, between, envelope, is_reversed
from crawlers.records.values import xsd_date

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawlers.items import Period
    from crawlers.records.linked import LinkedRecord


def temporal(fields: LinkedRecord) -> Period | None:
    """Return the period from the start of the first one to the end of the last, in any notation that DCAT has."""
    return covered(fields, "temporal", fields.many("temporal"), _described)


def covered(
    fields: LinkedRecord,
    name: str,
    given: Sequence[tuple[str, Any]],
    described: Callable[[LinkedRecord], Period | None],
) -> Period | None:
    """Return the period that values cover together.

    Args:
        name: the field's, for the flaw.
        given: the values, and where each stands.
        described: reads an object.
    """
    if not given:
        return None
    nodes = [described(fields.node(place, value)) for place, value in given if isinstance(value, dict)]
    texts = (fields.as_text(place, value) for place, value in given if not isinstance(value, dict))
    found = [each for each in (*nodes, *(any_period(text) for text in texts if text)) if each and not is_reversed(each)]
    joined = envelope(found) if found else None
    if joined is None or not (joined.start or joined.end):
        fields.flaw(f"{name} is no period", name)
        return None
    return joined


def _described(fields: LinkedRecord) -> Period | None:
    """Return the period of an object with two ends, or with a period for its label."""
    start, end, named = fields.text("startDate", "start"), fields.text("endDate", "end"), fields.text("@value", "label")
    return between(xsd_date(start or ""), xsd_date(end or "")) or (any_period(named) if named else None)
