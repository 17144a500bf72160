"""The moments that users write: a date begins and ends in a source's time zone, a time has an offset."""

from __future__ import annotations

from datetime import UTC, timedelta
from zoneinfo import ZoneInfo

import pytest

from crawlers.exceptions import SourcesError
from crawlers.records.moment import beginning, end, written
from crawlers.store.sources_file import zone_of


@pytest.mark.parametrize(
    ("zone", "text", "begins", "ends"),
    [
        ("UTC", "2026-11-20", "2026-11-20T00:00:00.000Z", "2026-11-20T23:59:59.999Z"),
        ("Europe/Zurich", "2026-11-20", "2026-11-19T23:00:00.000Z", "2026-11-20T22:59:59.999Z"),
        ("America/New_York", "2026-11-20", "2026-11-20T05:00:00.000Z", "2026-11-21T04:59:59.999Z"),
        ("Europe/Zurich", "2026-03-29", "2026-03-28T23:00:00.000Z", "2026-03-29T21:59:59.999Z"),  # 23 hours
        ("Europe/Zurich", "2026-10-25", "2026-10-24T22:00:00.000Z", "2026-10-25T22:59:59.999Z"),  # 25 hours
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00.000Z", "2018-11-05T01:59:59.999Z"),  # without 00:00
        ("America/Havana", "2026-11-01", "2026-11-01T04:00:00.000Z", "2026-11-02T04:59:59.999Z"),  # 00:00 comes twice
        ("UTC", "2028-02-29", "2028-02-29T00:00:00.000Z", "2028-02-29T23:59:59.999Z"),
        ("Europe/Zurich", "2026-11-20T10:00Z", "2026-11-20T10:00:00.000Z", "2026-11-20T10:00:00.000Z"),
        ("Europe/Zurich", "2026-11-20T10:00:30.5-05:00", "2026-11-20T15:00:30.500Z", "2026-11-20T15:00:30.500Z"),
        ("UTC", "20261120T100000Z", "2026-11-20T10:00:00.000Z", "2026-11-20T10:00:00.000Z"),  # as a run is named
    ],
)
def test_a_date_is_a_day_of_its_zone_and_a_time_is_that_time(zone, text, begins, ends):
    meant = beginning(text, ZoneInfo(zone)), end(text, ZoneInfo(zone))
    assert tuple(written(each, "milliseconds") for each in meant) == (begins, ends)
    assert all(each.tzinfo is UTC for each in meant)


def test_a_day_ends_where_the_next_one_begins():
    zone = ZoneInfo("America/Sao_Paulo")
    assert end("2018-11-03", zone) + timedelta.resolution == beginning("2018-11-04", zone)


@pytest.mark.parametrize("read", [beginning, end])
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("2026-11-20T10:00", "'2026-11-20T10:00' has no offset: write a date such as 2026-11-20, or a time with"),
        ("2026-11-20 10:00", "has no offset"),
        ("2026-W47", "has no offset"),
        ("yesterday", "'yesterday' is neither a date nor a time: write a date such as"),
        ("", "'' is neither"),
        ("2026-11", "'2026-11' is neither"),
        ("٢٠٢٦-١١-٢٠", "is neither"),
        ("2026-02-30", "2026-02-30 is not a date: write"),
        ("0000-01-01", "0000-01-01 is not a date"),
        ("2026-11-20T25:00Z", "is neither"),
        ("0001-01-01T00:00+14:00", "is neither"),
        ("x" * 1000, "'" + "x" * 100 + "' is neither"),
    ],
)
def test_what_is_no_moment_is_told_in_a_sentence(read, text, sentence):
    with pytest.raises(ValueError, match=f"^.*{sentence.replace('+', '[+]')}"):
        read(text)


def test_the_ends_of_the_calendar_are_sentences_too():
    for read, text, zone in ((end, "9999-12-31", "UTC"), (beginning, "0001-01-01", "Asia/Tokyo")):
        with pytest.raises(ValueError, match="is not a date"):
            read(text, ZoneInfo(zone))


def test_the_zone_of_a_date_is_that_of_the_source(tmp_path):
    path = tmp_path / "sources.toml"
    assert zone_of(path, "far") is UTC  # without a file
    path.write_text('[far]\ntimezone = "Asia/Tokyo"\n[plain]\nspider = "hdx"\n[odd]\ntimezone = "Mars"\n')
    assert zone_of(path, "far") == ZoneInfo("Asia/Tokyo")
    assert [zone_of(path, name) for name in ("plain", "unlisted", None)] == [UTC, UTC, UTC]
    with pytest.raises(SourcesError, match=r"\[odd\]: timezone: 'Mars' is not a time zone"):
        zone_of(path, "odd")
    path.write_text("[far\n")
    with pytest.raises(SourcesError, match="is not TOML"):
        zone_of(path, "far")
