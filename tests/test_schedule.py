"""When sources are due: cron, and the words that spread them; caught up once, never several times."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta, timezone

import pytest

from crawlers.operate.harvest.job import read_claim, see
from crawlers.operate.harvest.selection import due, named
from crawlers.operate.sources.schedule import delays, parse
from crawlers.operate.sources.source import Source
from crawlers.store.sources_file import zone

NAMES = [f"source-{number}" for number in range(1000)]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def moments(text: str) -> list[datetime]:
    """When each of a thousand sources is due first."""
    return [parse(text, name).after(at("2026-11-01")) for name in NAMES]


@pytest.mark.parametrize(
    ("text", "after", "due"),
    [
        ("15 3 * * 1-5", "2026-11-20 03:15", "2026-11-23 03:15"),
        ("15 3 * * MON-FRI", "2026-11-20 03:14:59", "2026-11-20 03:15"),
        ("*/10 * * * *", "2026-11-20 23:51", "2026-11-21 00:00"),
        ("0 0 29 2 *", "2026-11-20", "2028-02-29"),
        ("30 2 31 * *", "2026-11-20", "2026-12-31 02:30"),
        ("daily 04:05", "2026-11-20 04:05", "2026-11-21 04:05"),
        ("weekly sun 4:05", "2026-11-20", "2026-11-22 04:05"),
        ("monthly 3 04:05", "2026-11-20", "2026-12-03 04:05"),
        ("Weekly SUN 04:05", "2026-11-20", "2026-11-22 04:05"),
    ],
)
def test_after(text, after, due):
    assert parse(text, "hdx").after(at(after)) == at(due)


def test_other_clocks_are_read_as_utc():
    here = datetime(2026, 11, 20, 5, 0, tzinfo=timezone(timedelta(hours=2)))
    assert parse("daily 03:30", "hdx").after(here) == at("2026-11-20 03:30")


@pytest.mark.parametrize("text", ["daily", "weekly", "monthly", "daily 01:00-05:00", "weekly sun 22:00-02:00"])
def test_a_name_has_its_moment_and_keeps_it(text):
    assert parse(text, "hdx") == parse(text, "hdx")
    assert parse(text, "hdx").cron != parse(text, "wpdx").cron


def test_daily_is_spread_evenly():
    hours = Counter(moment.hour for moment in moments("daily"))
    assert set(hours) == set(range(24))
    assert max(hours.values()) <= 70  # 42 on average
    assert min(hours.values()) >= 20
    assert max(Counter(moment.minute for moment in moments("daily")).values()) <= 40  # 17 on average


def test_weekly_is_spread_over_the_week():
    days = Counter(moment.weekday() for moment in moments("weekly"))
    assert len(days) == 7
    assert max(days.values()) <= 190  # 143 on average


def test_monthly_is_spread_over_the_days_that_every_month_has():
    days = Counter(moment.day for moment in moments("monthly"))
    assert set(days) == set(range(1, 29))
    assert max(days.values()) <= 65  # 36 on average


def test_a_window_is_kept_and_filled():
    found = moments("daily 01:00-05:00")
    assert {moment.hour for moment in found} == {1, 2, 3, 4}
    assert max(Counter(moment.hour for moment in found).values()) <= 310


def test_a_window_passes_midnight():
    found = moments("weekly sun 22:00-02:00")
    assert {(moment.strftime("%a"), moment.hour) for moment in found} == {
        *(("Sun", 22), ("Sun", 23), ("Mon", 0), ("Mon", 1)),
    }
    monthly = moments("monthly 22:00-02:00")
    assert max(moment.day for moment in monthly) <= 28


@pytest.mark.parametrize(
    ("text", "says"),
    [
        *((text, "neither daily, weekly or monthly") for text in ("", "hourly", "@daily", "1 2 3", "* * * * * *")),
        ("61 3 * * *", "its minute can't be read"),
        ("1 24 * * *", "its hour can't be read"),
        ("1 2 * * someday", "its day-of-week can't be read"),
        ("9" * 90 + " 3 * * *", "its minute can't be read"),
        ("*/0 3 * * *", "its minute can't be read"),
        ("² 3 * * *", "its minute can't be read"),
        (f"{'1,' * 500}1 3 * * *", "neither daily"),
        ("0 0 31 2 *", "never occurs"),
        ("0 0 30 2 *", "never occurs"),
        ("0 0 31 4,6,9,11 *", "never occurs"),
        ("daily 3", "daily takes no day"),
        ("daily sun 01:00-05:00", "daily takes no day"),
        ("weekly sunday", "weekly takes one of sun, mon"),
        ("weekly sun mon", "weekly takes one of"),
        ("monthly 29", "a day from 1 to 28"),
        ("monthly 0", "a day from 1 to 28"),
        ("monthly 28 22:00-02:00", "a day from 1 to 27"),
        ("daily 25:00", "neither a time nor a window"),
        ("daily 01:00-", "neither a time nor a window"),
        ("daily 01:00-05:00 sun", "daily takes no day"),
    ],
)
def test_what_is_no_schedule(text, says):
    with pytest.raises(ValueError, match=says):
        parse(text, "hdx")


@pytest.mark.parametrize(
    ("text", "has_window"),
    [
        ("daily", False),
        ("weekly sun", False),
        ("15 3 * * *", False),
        ("Daily 01:00-05:00", True),
        ("monthly 3 04:30", True),
    ],
)
def test_who_names_hours(text, has_window):
    assert parse(text, "hdx").has_window is has_window


def test_a_new_source_waits_for_its_window(tmp_path):
    """A harvest that never falls into the window finds it due all the same, once it has passed."""
    source = Source(name="hdx", spider="hdx", schedule=parse("daily 01:00-05:00", "hdx"))
    noon, window = datetime(2026, 11, 20, 12, tzinfo=UTC), datetime(2026, 11, 21, 3, 40, tzinfo=UTC)

    def due_at(now):
        (choice,) = due({"hdx": source}, tmp_path / "output", tmp_path / "jobs", now)
        return choice.is_taken, choice.is_waiting, choice.time

    assert due_at(noon) == (False, True, window)
    assert due_at(window + timedelta(hours=2)) == (False, True, window + timedelta(days=1)), "nobody saw it before"
    see(tmp_path / "jobs", "hdx")
    seen = read_claim(tmp_path / "jobs", "hdx").seen
    see(tmp_path / "jobs", "hdx")
    assert read_claim(tmp_path / "jobs", "hdx").seen == seen
    assert due_at(seen)[0] is False
    assert due_at(seen + timedelta(days=1, minutes=1))[0] is True
    assert [choice.reason for choice in named({"hdx": source}, ["hdx"])] == ["named"]


def test_due_when_never_harvested():
    assert parse("monthly 3", "hdx").due(None, at("2026-11-20"))


def test_due_once_when_its_time_has_come():
    schedule = parse("daily 04:00", "hdx")
    started = at("2026-11-20 04:00:20")
    assert not schedule.due(started, at("2026-11-20 04:00:50"))
    assert not schedule.due(started, at("2026-11-21 03:59:59"))
    assert schedule.due(started, at("2026-11-21 04:00"))


def test_a_start_in_the_future_is_none():
    schedule = parse("daily 04:00", "hdx")
    now = at("2026-11-20 15:00")
    assert schedule.due(at("2099-01-01"), now)
    assert schedule.due(now + timedelta(minutes=61), now)
    assert not schedule.due(now + timedelta(minutes=1), now)


def test_missed_times_are_caught_up_once():
    schedule = parse("daily 04:00", "hdx")
    now = at("2026-11-20 15:00")
    assert schedule.due(at("2026-11-13 04:00"), now)
    assert not schedule.due(now, now + timedelta(minutes=1))
    assert not schedule.due(now, at("2026-11-21 03:59"))
    assert schedule.due(now, at("2026-11-21 04:00"))


ZURICH = zone("Europe/Zurich")


@pytest.mark.parametrize(
    ("text", "after", "due"),
    [
        ("30 2 * * *", "2026-01-10 12:00", "2026-01-11 01:30"),
        ("30 2 * * *", "2026-07-10 12:00", "2026-07-11 00:30"),
        ("30 2 * * *", "2026-03-28 12:00", "2026-03-29 01:00"),  # 02:30 does not exist: after the gap
        ("30 2 * * *", "2026-03-29 01:00:10", "2026-03-30 00:30"),
        ("30 2 * * *", "2026-10-24 12:00", "2026-10-25 00:30"),  # 02:30 exists twice: the first one
        ("30 2 * * *", "2026-10-25 00:30:10", "2026-10-26 01:30"),
        ("30 2 * * *", "2026-10-25 01:10", "2026-10-26 01:30"),  # a late start, in the repeated hour
        ("*/30 * * * *", "2026-10-25 00:50", "2026-10-25 01:00"),
        ("weekly sun 02:30", "2026-10-24 12:00", "2026-10-25 00:30"),
    ],
)
def test_hours_of_a_time_zone(text, after, due):
    """Clocks change on 2026-03-29 and 2026-10-25, at 01:00 UTC."""
    assert parse(text, "hdx", ZURICH).after(at(after)) == at(due)


@pytest.mark.parametrize("day", ["2026-03-29", "2026-10-25"])
def test_a_night_when_clocks_change_has_one_run(day):
    schedule, ran = parse("30 2 * * *", "hdx", ZURICH), at(f"{day} 00:00") - timedelta(hours=12)
    starts = []
    for minutes in range(0, 24 * 60, 5):
        now = at(f"{day} 00:00") + timedelta(minutes=minutes)
        if schedule.due(ran, now):
            starts.append(ran := now)
    assert len(starts) == 1


@pytest.mark.parametrize("name", ["Zurich", "Europe/Zürich", "../etc/passwd", "Europe", "/etc/localtime", "x" * 300])
def test_what_is_no_time_zone(name):
    with pytest.raises(ValueError, match="is not a time zone"):
        zone(name)


@pytest.mark.parametrize("text", ["1", "h", "0h", "1 h", "1w", "-1h", "1.5h", "99999h"])
def test_what_is_no_delay(text):
    with pytest.raises(ValueError, match="is not a number of minutes, hours or days"):
        delays([text])
