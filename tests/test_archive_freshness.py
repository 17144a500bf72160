"""When a file need not be asked for again, section by section of RFC 9111."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from crawlers.archive.freshness import LONGEST, YEAR, fresh_until
from crawlers.records.moment import moment

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)
DATE = ("Date", "Sun, 22 Nov 2026 12:00:00 GMT")
HOUR_AGO = ("Date", "Sun, 22 Nov 2026 11:00:00 GMT")
HOUR_ON = "Sun, 22 Nov 2026 13:00:00 GMT"


def seconds(*headers):
    """For how long an answer with these headers is fresh."""
    until = fresh_until(headers, NOW)
    return (moment(until) - NOW).total_seconds() if until else None


def control(value):
    return ("Cache-Control", value)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param([], None, id="4.2.2: nothing is guessed"),
        pytest.param(
            [DATE, ("Last-Modified", "Sun, 01 Nov 2020 12:00:00 GMT")], None, id="4.2.2: not from dates either"
        ),
        pytest.param([control("max-age=60")], 60, id="5.2.2.1: max-age"),
        pytest.param([control("public, MAX-AGE=60")], 60, id="5.2: names are in any case"),
        pytest.param([control('max-age="60"')], 60, id="5.2: both forms of an argument"),
        pytest.param([control("public"), control("max-age=60")], 60, id="5.2: several lines are one list"),
        pytest.param([control("max-age=0060")], 60, id="1.2.2: leading zeros"),
        pytest.param([control(f"max-age={10**12}")], LONGEST, id="1.2.2: more than can be represented"),
        pytest.param([control("max-age=" + "9" * 5000)], LONGEST, id="1.2.2: much more"),
        pytest.param([control("max-age=0")], None, id="5.2.2.1: no time at all"),
        pytest.param([control("max-age=-1")], None, id="4.2.1: a negative age is invalid, so stale"),
        pytest.param([control("max-age=abc")], None, id="4.2.1: a word is invalid, so stale"),
        pytest.param([control("max-age=1.5")], None, id="4.2.1: a fraction is invalid, so stale"),
        pytest.param([control("max-age")], None, id="4.2.1: no argument, so stale"),
        pytest.param([control("max-age=60, max-age=60")], 60, id="4.2.1: the same twice"),
        pytest.param([control("max-age=60, max-age=90")], None, id="4.2.1: two that differ, so stale"),
        pytest.param([control("max-age=abc"), ("Expires", HOUR_ON)], None, id="5.3: Expires does not mend max-age"),
        pytest.param([control("max-age=60"), ("Expires", HOUR_ON)], 60, id="5.3: max-age goes before Expires"),
        pytest.param([control("max-age=60"), ("Expires", "0")], 60, id="5.3: before an invalid one, too"),
        pytest.param([control("s-maxage=60")], None, id="5.2.2.10: s-maxage is for shared caches"),
        pytest.param([control("s-maxage=9, max-age=60")], 60, id="5.2.2.10: max-age beside it"),
        pytest.param([control("private, max-age=60")], 60, id="5.2.2.7: this is a private cache"),
        pytest.param([control("no-store, max-age=60")], None, id="5.2.2.5: no-store"),
        pytest.param([control("no-cache, max-age=60")], None, id="5.2.2.4: no-cache"),
        pytest.param([control('no-cache="Set-Cookie", max-age=60')], None, id="5.2.2.4: no-cache of some headers"),
        pytest.param([control("no-cache"), ("Expires", HOUR_ON)], None, id="5.2.2.4: no-cache, and Expires"),
        pytest.param([control("must-revalidate, max-age=60")], 60, id="5.2.2.2: must-revalidate counts when stale"),
        pytest.param([control("must-revalidate")], None, id="5.2.2.2: and gives no lifetime"),
        pytest.param(
            [control('a="no-store, max-age=9", max-age=60')], 60, id="5.2.3: unknown ones and what they quote"
        ),
        pytest.param([control("max-age=60"), ("Age", "20")], 40, id="4.2.3: Age is subtracted"),
        pytest.param([control("max-age=60"), ("Age", "60")], None, id="4.2: as old as fresh is stale"),
        pytest.param([control("max-age=60"), ("Age", "x")], 60, id="5.1: an invalid Age is ignored"),
        pytest.param([control("max-age=60"), ("Age", "20, 50")], 60, id="5.1: so is a list"),
        pytest.param([control("max-age=7200"), HOUR_AGO], 3600, id="4.2.3: apparent age, by Date"),
        pytest.param([control("max-age=7200"), HOUR_AGO, ("Age", "5")], 3600, id="4.2.3: the larger of both"),
        pytest.param([control("max-age=60"), ("Date", HOUR_ON)], 60, id="4.2.3: a Date to come makes nothing younger"),
        pytest.param([control("max-age=60"), ("Date", "now")], 60, id="4.2.3: an invalid Date gives no age"),
        pytest.param([DATE, ("Expires", HOUR_ON)], 3600, id="4.2.1: Expires minus Date"),
        pytest.param([HOUR_AGO, ("Expires", HOUR_ON)], 3600, id="4.2.1: Expires minus Date minus age"),
        pytest.param([("Expires", HOUR_ON)], 3600, id="4.2.1: without a Date, now"),
        pytest.param([("Date", "now"), ("Expires", HOUR_ON)], None, id="4.2.1: with an invalid Date, stale"),
        pytest.param([DATE, ("Expires", "0")], None, id="5.3: 0 is in the past"),
        pytest.param([DATE, ("Expires", "-1")], None, id="5.3: so is any invalid date"),
        pytest.param([DATE, ("Expires", "")], None, id="5.3: and none at all"),
        pytest.param([DATE, ("Expires", "Sun, 99 Nov 2026 13:00:00 GMT")], None, id="5.3: and a day that is none"),
        pytest.param([DATE, ("Expires", DATE[1])], None, id="5.3: now is stale"),
        pytest.param([DATE, ("Expires", HOUR_ON), ("Expires", "0")], None, id="4.2.1: two that differ"),
        pytest.param([DATE, ("Expires", "Fri, 31 Dec 9999 23:59:59 GMT")], LONGEST, id="5.3: beyond all days"),
        pytest.param([DATE, ("Expires", "Sunday, 22-Nov-26 13:00:00 GMT")], 3600, id="9110 5.6.7: RFC 850"),
        pytest.param([DATE, ("Expires", "Sun Nov 22 13:00:00 2026")], 3600, id="9110 5.6.7: asctime"),
        pytest.param([control("immutable")], YEAR, id="8246: immutable alone"),
        pytest.param([control("immutable, max-age=60")], 60, id="8246: immutable with max-age"),
        pytest.param([control("immutable"), DATE, ("Expires", HOUR_ON)], 3600, id="8246: immutable with Expires"),
        pytest.param([control("immutable, no-store")], None, id="8246: immutable with no-store"),
        pytest.param([control("max-age=60"), ("Vary", "Accept, *")], None, id="4.1: Vary: * never matches"),
        pytest.param([control("max-age=60"), ("Vary", "Accept-Encoding")], 60, id="4.1: the same headers are sent"),
        pytest.param([("Pragma", "no-cache"), control("max-age=60")], 60, id="5.4: Pragma means nothing in an answer"),
        pytest.param([["cache-control", "max-age=60"]], 60, id="pairs as a capture has them"),
    ],
)
def test_for_how_long_an_answer_is_fresh(headers, expected):
    assert seconds(*headers) == expected


def test_a_moment_is_in_utc():
    elsewhere = NOW.astimezone(tz=None)
    assert fresh_until([control("max-age=60")], elsewhere) == "2026-11-22T12:01:00Z"
    assert fresh_until([control("max-age=60")], NOW + timedelta(hours=1)) == "2026-11-22T13:01:00Z"
