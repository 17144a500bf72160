"""Which time and which region a dataset is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlers.records.data_json.coverage import covered
from crawlers.records.periods import any_period, between
from crawlers.records.values import xsd_date

if TYPE_CHECKING:
    from crawlers.items import Period
    from crawlers.records.linked import LinkedRecord

_TIMES = ("temporalCoverage", "temporal", "datasetTimeInterval")
_PLACES = ("spatialCoverage", "spatial")
_MOST = 1000
_REGION = ("addressLocality", "addressRegion", "addressCountry")


def temporal(fields: LinkedRecord) -> Period | None:
    """Return the period from the first start to the last end: of intervals, dates, or objects with two ends."""
    return covered(fields, "temporalCoverage", fields.many(*_TIMES)[:_MOST], _described_period)


def _described_period(fields: LinkedRecord) -> Period | None:
    """Return the period of an object; its name counts where it has no ends."""
    texts = {name: fields.text(name) for name in ("startDate", "endDate")}
    if any(texts.values()):
        return between(xsd_date(texts["startDate"] or ""), xsd_date(texts["endDate"] or ""))
    return next(filter(None, map(any_period, sorted(fields.texts("name")))), None)


def region(fields: LinkedRecord) -> tuple[str | None, str | None, str | None]:
    """Return country, state and city: of the first place that has an address, or is inside of others that are named."""
    for where, value in fields.many(*_PLACES)[:_MOST]:
        if isinstance(value, dict):
            place = fields.node(where, value)
            addresses = (place.node(*given) for given in place.many("address") if isinstance(given[1], dict))
            for address in (*addresses, place):
                city, state, country_ = map(address.text, _REGION)
                if country_ or state or city:
                    return country_, state, city
    return None, None, None
