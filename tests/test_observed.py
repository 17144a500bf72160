"""What was observed over time, as the report and the dashboard draw it: a gap stays a gap, and nothing is guessed."""

from __future__ import annotations

import json
import re
from contextlib import closing
from datetime import date, timedelta
from functools import cache
from typing import TYPE_CHECKING

import pytest
from lxml import html

from crawlers.items import Profile
from crawlers.operate.dashboard import addresses, app
from crawlers.operate.report.chart import draw_columns, draw_lines, path, segments, trend
from crawlers.store import timeseries
from crawlers.store.figures import series
from crawlers.store.figures.ecosystem import KINDS, ecosystem
from crawlers.store.figures.series import Columns, Lines, slots
from crawlers.store.index import catch_up
from crawlers.store.index.database import connect
from tests import observed
from tests.observed import weeks
from tests.test_report import HOSTILE, LINKS, check, check_text, report, words
from tests.test_timeseries import source

if TYPE_CHECKING:
    from pathlib import Path

    from flask.testing import FlaskClient

HERE = "http://127.0.0.1:8710"
DAILY = [(date(2020, 1, 1) + timedelta(days=number)).isoformat() for number in range(2000)]


def drawn(days: list[str], known: dict[str, float]) -> list[list[float]]:
    return [[value for _, value in segment] for segment in segments(slots(days), known)]


# Lines and columns


def test_a_line_ends_where_nothing_was_found_out():
    days = weeks(6)
    known = dict(zip(days, (1, 2, 3, 4, 5, 6), strict=True))
    assert drawn(days, known) == [[1, 2, 3, 4, 5, 6]]
    del known[days[2]]
    assert drawn(days, known) == [[1, 2], [4, 5, 6]]
    assert path(slots(days), known, 10) == "M0 90L20 80M60 60L80 50L100 40"


def test_a_line_ends_where_no_run_was_for_longer_than_usual():
    days = [*weeks(10), *(f"2027-01-{day:02}" for day in (3, 10))]
    assert drawn(days, dict.fromkeys(days, 1)) == [[1] * 10, [1, 1]]
    working_days = [day for day in DAILY[:100] if date.fromisoformat(day).weekday() < 5]
    assert len(drawn(working_days, dict.fromkeys(working_days, 1))) == 1, "nobody works on Sundays there"


def test_however_long_a_series_is_it_is_small_and_a_gap_of_a_day_is_seen():
    known = dict.fromkeys(DAILY, 1.0)
    assert len(slots(DAILY)) == series.POINTS
    assert len(drawn(DAILY, known)) == 1
    del known[DAILY[777]]
    assert len(drawn(DAILY, known)) == 2


def test_a_single_point_is_a_dot_and_two_say_something():
    days = weeks(3)
    assert path(slots(days), {days[1]: 5}, 10) == "M50 50h0"
    assert draw_lines(Lines(days[:1], {"a": {days[0]: 5}})) is None
    chart = draw_lines(Lines(days[:2], {"a": {days[0]: 5, days[1]: 9}}))
    assert chart is not None
    assert [mark.label for mark in chart.x] == days[:2]
    assert (chart.named[0].value, chart.rows) == (9, [[days[1], "9"], [days[0], "5"]])


def test_the_table_of_a_chart_has_what_is_known_and_no_more():
    days = weeks(3)
    chart = draw_lines(Lines(days, {"a": {days[0]: 5, days[2]: 1234.5}, "b": {days[1]: 0}}))
    assert chart is not None
    assert chart.rows == [[days[2], "1,234.5", "–"], [days[1], "–", "0"], [days[0], "5", "–"]]


def test_columns_are_as_high_as_their_numbers_and_missing_where_there_was_no_run():
    days = weeks(3)
    known = {days[0]: {"a": 3, "b": 5}, days[2]: {"b": 2}}
    plot = draw_columns(Columns(days, known, {"a": "heat1", "b": "heat2"}))
    assert plot is not None
    assert [part.path for part in plot.parts] == ["M0 62.5h8v37.5h-8z", "M0 0h8v62.5h-8zM92 75h8v25h-8z"]
    assert plot.rows == [[days[2], "0", "2"], [days[0], "3", "5"]]
    assert draw_columns(Columns(days, {}, {"a": "heat1"})) is None


def test_a_small_line_has_its_gaps_too():
    days = weeks(4)
    small = trend(Lines(days, {"a": {days[0]: 10, days[2]: 20, days[3]: 30}}))
    assert small is not None
    assert (small.path, small.least, small.most) == ("M0 20h0M66.67 10L100 0", 10, 30)
    assert trend(Lines(days, {"a": dict.fromkeys(days, 7)})) is None


# The report


@pytest.fixture(scope="module")
def portals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("observed")
    observed.ecosystem(output, portals=30, many=12, missed=(7,))
    town = source(output)
    for number, day in enumerate(weeks(12)):
        known = {"datasets": 300 + number, "new": 1} if number != 5 else {"new": 1}
        known |= {"format:CSV": 9 + number, "license:CC0-1.0": 4} if number != 5 else {}
        timeseries.write(town, day, ((town.name, name, str(value)) for name, value in known.items()))
    catch_up(output)
    return output


def test_the_report_draws_each_source_and_the_portals(portals):
    page = report(portals)
    check(page)
    titles = {words(one) for one in page.tree.iter("h3")}
    assert titles >= {"town", "Where the portals are", "Versions over time", "States over time", "Datasets over time"}
    assert "From 300 on 2026-01-04 to 311 on 2026-03-22: +11." in words(page.tree)
    assert {"#series", "#ecosystem-1"} <= set(page.links())
    (line,) = page.tree.xpath("//figure[.//h3='town']//path[contains(@class, 'series')]/@d")
    assert line.count("M") == 2, "the gap of the week in which a run did not see all"


def test_the_table_has_last_values_with_their_days(portals):
    rows = {row[0]: row[1:] for row in report(portals).rows("Portals of ckan_sites")}
    assert len(rows) == 30
    state, version, datasets, *others = rows["The data of portal-029"]
    assert (state, version) == ("downHTTP 503", "2.10.4 on 2026-03-15")
    assert "3,010 on 2026-03-15" in datasets
    assert others[:2] == ["–", "–"], "null, and not among the last known ones"
    assert rows["The data of portal-028"][:2] == ["up", "2.10.4"]


def test_the_columns_are_the_observations(portals):
    page, last = report(portals), weeks(12)[-1]
    with closing(connect(portals)) as db:
        found = dict(
            db.execute(
                "SELECT substr(value, 1, instr(substr(value, 3), '.') + 1), count(*) FROM observations "
                "WHERE metric = 'ckan_version' AND day = ? GROUP BY 1",
                (last,),
            ).fetchall()
        )
    rows = page.rows("Versions over time")
    heads = [words(one) for one in page.tree.xpath("//table[caption='Versions over time']/thead//th")]
    assert rows[0][0] == last
    shown = dict(zip(heads[1:], map(int, rows[0][1:]), strict=True))
    assert {name: number for name, number in shown.items() if number} == found
    assert [int(number) for number in page.rows("States over time")[0][1:]] == [24, 6]
    assert weeks(12)[7] not in {row[0] for row in rows}, "no run, no column"


def test_the_map_has_a_mark_where_a_portal_is(portals):
    page = report(portals)
    with closing(connect(portals)) as db:
        known = ecosystem(db, "ckan_sites", "site")
    marks = page.tree.xpath("//svg[@class='world']//use")
    assert len(marks) == len(known["points"]) == 26
    places = {(round(float(one.get("x")) + 2, 2), round(-float(one.get("y")) - 2, 2)): words(one) for one in marks}
    expected = {(row["place"][1], row["place"][0]): f"{row['name']}: {row['state']}" for row in known["points"]}
    assert places == expected
    assert "The data of portal-004: down" in places.values()
    assert len(page.rows("Where the portals are")) == 26
    assert "By the coordinates in the catalogue; 4 have none." in words(page.tree)


def test_portals_of_one_title_have_a_line_each(tmp_path):
    observed.ecosystem(tmp_path, portals=3, many=2)
    for file in (tmp_path / "ckan_sites" / "sites").iterdir():
        file.write_text(json.dumps(json.loads(file.read_text()) | {"title": "Open Data"}))
    catch_up(tmp_path)
    with closing(connect(tmp_path)) as db:
        known = ecosystem(db, "ckan_sites", "site")
    assert len(known["growth"].values) == len(known["rows"]) == 3
    assert all(label.startswith("Open Data (portal-00") for label in known["growth"].values)


def test_what_changed_its_state_is_named(portals):
    text = words(report(portals).tree)
    turned = re.search(r"Another state than on 2026-03-15: (.+?)\. Where", text)
    assert turned is not None
    assert "portal-004 (up → down)" in turned[1]


@pytest.mark.parametrize("weeks_", [0, 1, 2])
def test_a_short_series_is_shown_as_far_as_it_goes(tmp_path, weeks_):
    observed.ecosystem(tmp_path, portals=3, many=max(weeks_, 1))
    if not weeks_:
        (tmp_path / "ckan_sites" / "timeseries" / "2026.csv").unlink()
    catch_up(tmp_path)
    page = report(tmp_path)
    check(page)
    assert len(page.rows("Portals of ckan_sites")) == 3
    assert len(page.tree.xpath("//figure[.//h3='Versions over time']//svg[@role='img']")) == bool(weeks_)
    assert len(page.tree.xpath("//figure[.//h3='Datasets over time']//svg[@role='img']")) == (weeks_ == 2)


def test_extensions_have_their_own_columns(tmp_path):
    profiles = [
        observed.extension(f"ckan/ckanext-{number}", stars=number, latest_release="v1") for number in range(250)
    ]
    observed.written(tmp_path, "ckan_extensions", profiles)
    catch_up(tmp_path)
    page = report(tmp_path)
    check(page)
    rows = page.rows("Extensions of ckan_extensions")
    assert (len(rows), rows[0][:4]) == (200, ["ckan/ckanext-249", "found", "v1", "249"])
    assert "50 more are in the dashboard" in words(page.tree)


def hostile(output: Path) -> Path:
    """Portals whose every text is hostile, and documents that are none."""
    texts = [*HOSTILE.values(), *LINKS]
    made = []
    for number, text in enumerate(texts):
        facts = dict.fromkeys(("title", "state", "reason", "checked", "country", "ckan_version", "url"), text)
        known = {"num_datasets": {"value": text, "day": text}, "num_resources": text}
        made.append(observed.site(f"odd {number} {text[:20]}", **facts, num_datasets=None, last_known=known))
    numbers = (10**400, -5, 1e300, True, [1], {"a": 1})
    made += [observed.site(f"n{one}"[:20], num_datasets=one, latitude=one, longitude=one) for one in numbers]
    folder = observed.written(output, "ckan_sites", made)
    for day in weeks(3):
        found = [(one.id, metric, text) for one in made for metric, text in timeseries.measures(one.document or {})]
        timeseries.write(folder, day, found)
    max((folder / "sites").iterdir()).write_bytes(b"[")
    catch_up(output)
    return output


def test_hostile_profiles_are_shown_and_inert(tmp_path):
    page = report(hostile(tmp_path))
    check_text(page)
    assert len(page.rows("Portals of ckan_sites")) == len(HOSTILE) + len(LINKS) + 5
    assert "alert(1)" in words(page.tree)


# The dashboard


@cache
def client(output: Path) -> FlaskClient:
    return app(output).test_client()


def page(output: Path, address: str, status: int = 200) -> html.HtmlElement:
    answer = client(output).get(address, base_url=HERE)
    assert answer.status_code == status, answer.text[:2000]
    return html.document_fromstring(answer.text)


def test_a_source_of_profiles_has_pages_of_them(portals):
    first, second = (page(portals, f"/sources/ckan_sites{query}") for query in ("", "?page=2"))
    links = [one for two in (first, second) for one in two.xpath("//tbody//th/a/@href")]
    assert sorted(links) == sorted(addresses.profile("ckan_sites", f"portal-{number:03}") for number in range(30))
    assert {"Where the portals are", "Versions over time"} <= {words(one) for one in first.iter("h3")}
    assert "Completeness" not in words(first)


def test_a_profile_has_what_is_known_with_its_day_and_its_changes(portals):
    shown = page(portals, "/sources/ckan_sites/profiles/portal-029")
    facts = dict(zip(map(words, shown.iter("dt")), map(words, shown.iter("dd")), strict=True))
    assert facts["num datasets"] == "3010 on 2026-03-15"
    assert (facts["state"], facts["reason"]) == ("down", "HTTP 503")
    assert "num resources" not in facts, "null, and never known: it is not shown"
    assert "Resources" in {words(one) for one in shown.iter("h3")}
    rows = [[words(cell) for cell in row] for row in shown.xpath("//table[caption[contains(., 'State')]]/tbody/tr")]
    assert rows[0] == ["State", "down", "2026-03-22", "2026-03-22"]
    assert '"state": "down"' in words(shown)


@pytest.mark.parametrize("identifier", ["ckan/ckanext-dcat", "..", "a//b", 'x"><b>', "ü 測試"])
def test_whatever_its_id_a_profile_has_a_page(tmp_path, identifier):
    observed.written(tmp_path, "ckan_extensions", [observed.extension(identifier, stars=7)])
    catch_up(tmp_path)
    (link,) = page(tmp_path, "/sources/ckan_extensions").xpath("//tbody//th/a/@href")
    assert words(page(tmp_path, link).find(".//h1")) == identifier
    assert client(tmp_path).get("/sources/ckan_extensions/profiles", base_url=HERE).status_code == 302


def test_what_is_no_profile_is_not_found(portals):
    page(portals, "/sources/ckan_sites/profiles/portal-999", 404)
    page(portals, "/sources/town/profiles/portal-001", 404)


def test_a_profile_whose_document_is_gone_has_its_series(tmp_path):
    folder = observed.ecosystem(tmp_path, portals=2, many=3)
    (folder / "sites" / "portal-001.json").unlink()
    catch_up(tmp_path)
    shown = page(tmp_path, "/sources/ckan_sites/profiles/portal-001")
    assert "The document does not exist or is not readable." in words(shown)
    assert "Datasets" in {words(one) for one in shown.iter("h3")}


def test_a_catalogue_has_its_series(portals):
    shown = page(portals, "/sources/town")
    assert {"Datasets", "Changes", "Formats over time", "Licences over time"} <= {
        words(one) for one in shown.iter("h3")
    }
    assert len(shown.xpath("//figure[.//h3='Changes']//tbody/tr")) == 11, (
        "the first day, on which all was new, is left out"
    )


def test_a_catalogue_shows_which_fields_became_more_complete(tmp_path):
    """Per cent, since the number of datasets changes; no line for what did not change, no value without a total."""
    town = source(tmp_path)
    for number, day in enumerate(weeks(4)):
        known = {"datasets": 200 * (number + 1), "field:license": 50 * (number + 1) ** 2, "flaws": 9 - number}
        known |= {"field:title": 200 * (number + 1), "field:issued": 100, "field:resource.format": 7 * number}
        if number == 2:
            del known["datasets"]
        timeseries.write(town, day, ((town.name, name, str(value)) for name, value in known.items()))
    catch_up(tmp_path)
    shown = page(tmp_path, "/sources/town")
    (figure,) = shown.xpath("//figure[.//h3='Completeness over time']")
    assert [words(cell) for cell in figure.xpath(".//thead//th")] == ["Day", "licence", "issued"]
    rows = [[words(cell) for cell in row] for row in figure.xpath(".//tbody/tr")]
    assert [row[1:] for row in rows if row[0] != weeks(4)[2]] == [["100", "12.5"], ["50", "25"], ["25", "50"]]
    assert "From 9 on" in words(shown.xpath("//figure[.//h3='Flaws']")[0])


def test_hostile_profiles_have_pages(tmp_path):
    output = hostile(tmp_path)
    links = page(output, "/sources/ckan_sites").xpath("//tbody//th/a/@href")
    assert len(links) == len(HOSTILE) + len(LINKS) + 5
    for link in links:
        found = page(output, link)
        assert not found.xpath("//script[not(@src='/tables.js')] | //img | //@onerror | //@onload"), link
        assert not [one for one in found.xpath("//@href") if one.lower().startswith(("javascript:", "data:text"))], link


def test_each_kind_of_profile_is_shown():
    assert set(KINDS) == {kind.kind for kind in Profile.__subclasses__()}
