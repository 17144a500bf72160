"""What five years of weekly time series cost: a week more, the report of them, and their peak to that of a year."""

from __future__ import annotations

import argparse
from datetime import date, timedelta
from typing import TYPE_CHECKING

from benchmarks.crawls import ROOT, scratch
from benchmarks.processes import Cost, Spread, run
from benchmarks.table import Row, median
from crawlers.items import Site
from tests import observed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PORTALS, METRICS = 700, 20
FIRST = date(2022, 1, 2)
ONE, FIVE = 51, 259
"""Weeks that there are already; each last year has 51 of them."""
SECONDS = {"write": 10, "index": 10, "report": 30}
TIMES_THE_PEAK = 1.1
_WEEK = """
import sys
from pathlib import Path
from benchmarks.series import measures
from crawlers.store.timeseries import write
write(Path(sys.argv[1]), sys.argv[2], measures(int(sys.argv[3])))
"""
_INDEX = "import sys; from pathlib import Path; from crawlers.store.index import catch_up; catch_up(Path(sys.argv[1]))"


def observed_for_years(options: argparse.Namespace) -> Iterator[Row]:
    costs = {weeks: _costs(weeks, options) for weeks in (ONE, FIVE)}
    for name, what in (("write", "writing a week"), ("index", "indexing it"), ("report", "the report")):
        wall = median(costs[FIVE][name], "wall")
        promise = f"at most {SECONDS[name]} s"
        yield Row(f"{what}, after {FIVE} weeks", f"{wall:.1f} s", promise, kept=wall <= SECONDS[name])
        yield Row(f"{what}, after {ONE}", f"{median(costs[ONE][name], 'wall'):.1f} s")
    for name in SECONDS:
        peaks = {weeks: Spread.of(cost.mebibytes for cost in group[name]).median for weeks, group in costs.items()}
        ratio = peaks[FIVE] / peaks[ONE]
        told = f"{ratio:.2f}x: {peaks[FIVE]:.0f} to {peaks[ONE]:.0f} MiB"
        yield Row(f"peak, {name}", told, f"at most {TIMES_THE_PEAK:g}x", kept=ratio <= TIMES_THE_PEAK)


def measures(week: int) -> Iterator[tuple[str, str, str]]:
    """Yield what one week's run observes."""
    for number in range(PORTALS):
        yield f"portal-{number:03}", "state", "up"
        yield f"portal-{number:03}", "ckan_version", f"2.{8 + number % 4}.{week % 5}"
        for metric in range(METRICS - 3):
            yield f"portal-{number:03}", f"num_of_{metric:02}", str(number * metric + week)
        yield f"portal-{number:03}", "num_datasets", str(100 * number + week)


def _costs(weeks: int, options: argparse.Namespace) -> dict[str, list[Cost]]:
    found: dict[str, list[Cost]] = {name: [] for name in SECONDS}
    with scratch(options.folder) as folder:
        source = observed.written(folder, "ckan_sites", map(_portal, range(PORTALS)))
        _fill(source, weeks)
        run(["-c", _INDEX, str(folder)], ROOT)
        for more in range(options.repeat):
            found["write"].append(run(["-c", _WEEK, str(source), _day(weeks + more), str(weeks + more)], ROOT))
            found["index"].append(run(["-c", _INDEX, str(folder)], ROOT))
            page = ["-m", "scrapy", "report", "-s", f"OUTPUT_DIR={folder}", "-o", str(folder / "report.html")]
            found["report"].append(run(page, ROOT))
    return found


def _portal(number: int) -> Site:
    facts = {"num_datasets": 100 * number, "ckan_version": "2.10.4", "latitude": number % 60, "longitude": number % 170}
    return observed.site(f"portal-{number:03}", **facts)


def _day(week: int) -> str:
    return (FIRST + timedelta(weeks=week)).isoformat()


def _fill(source: Path, weeks: int) -> None:
    """Write the files as the runs of many weeks leave them."""
    (source / "timeseries").mkdir()
    for week in range(weeks):
        path = source / "timeseries" / f"{_day(week)[:4]}.csv"
        header = "" if path.exists() else "day,subject,metric,value\r\n"
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(header)
            file.writelines(f"{_day(week)},{','.join(one)}\r\n" for one in sorted(measures(week)))
