"""What a portal is asked: by a first crawl, by one that finds nothing changed, and by one for what has changed."""

from __future__ import annotations

import argparse
import json
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.crawls import PAGE, crawl, crawl_exports, portal, scratch
from benchmarks.table import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.portal.portal import Portal

UNCHANGED = 300
EXPORT = "/download_metadata"

CHANGED = 0.01  # of the datasets
LATER = "2999-01-01T00:00:00.000000"
SPARE = 5  # requests of a re-run, besides two for each page of a first crawl
SINCE_LAST = ("-a", "since=last")


def requests(options: argparse.Namespace) -> Iterator[Row]:
    with portal(options.datasets, log=True) as site, scratch(options.folder) as folder:
        asked = asked_by_crawl(site, folder)
    most = ceil(options.datasets / PAGE) + 1
    yield Row(f"for a snapshot of {options.datasets} datasets", str(asked), f"at most {most}", kept=asked <= most)
    with portal(UNCHANGED, log=True) as site, scratch(options.folder) as folder:
        crawl_exports(site, folder)
        first = site.counts()
        site.reset()
        crawl_exports(site, folder)
        again = site.counts()
    yield Row(f"for {UNCHANGED} datasets and their exports", asked_for(first))
    yield Row("again, nothing having changed", asked_for(again), "no export", kept=exports(again) == 0)


def exports(counts: dict[str, int]) -> int:
    return sum(count for path, count in counts.items() if path.endswith(EXPORT))


def asked_for(counts: dict[str, int]) -> str:
    return f"{exports(counts)} for exports, {sum(counts.values()) - exports(counts)} for the listing"


def rerun(options: argparse.Namespace) -> Iterator[Row]:
    most = 2 * ceil(options.datasets / PAGE) + SPARE
    with portal(options.datasets, log=True) as site, scratch(options.folder) as folder:
        yield Row(f"requests of a first crawl of {options.datasets}", str(asked_by_crawl(site, folder)))
        yield Row("again, nothing having changed", str(asked_by_crawl(site, folder)))
        yield Row("since=last, nothing having changed", str(asked_by_crawl(site, folder, *SINCE_LAST)))
        changed = change(site)
        asked = asked_by_crawl(site, folder, *SINCE_LAST)
        found = updated(folder / "ours")
    yield Row(f"since=last, {changed} having changed", str(asked), f"at most {most}", kept=asked <= most)
    yield Row("of these were found", str(found), "all", kept=found == changed)


def updated(folder: Path) -> int:
    """How many documents the last run brought up to date."""
    report = max((folder / "runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    number: int = json.loads(report.read_bytes())["counts"]["updated"]
    return number


def change(site: Portal) -> int:
    """Edits some of the datasets; how many."""
    ids = site.ids()
    changed = ids[:: round(1 / CHANGED)]
    site.change(edit={one: {"title": "Changed", "metadata_modified": LATER} for one in changed})
    return len(changed)


def asked_by_crawl(site: Portal, output: Path, *arguments: str) -> int:
    site.reset()
    crawl("ckan", site, output, *arguments)
    return sum(site.counts().values())
