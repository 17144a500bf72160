"""What the profiles of 2,000 extensions cost at GitHub: requests and quota, the first time and when nothing changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import ProxyHandler, build_opener

from benchmarks.crawls import ROOT, scratch
from benchmarks.processes import Cost, run
from benchmarks.table import Row
from tests.portal.github import TOKEN

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

PART = 10  # of --datasets: 2,000 of 20,000


def profiled(options: argparse.Namespace) -> Iterator[Row]:
    count = options.datasets // PART
    for name, token, most in (("with a token", TOKEN, count * 1.1), ("without a token", "", count * 7)):
        with github(count) as (catalogue, api), scratch(options.folder) as folder:
            first, cost = crawl(folder, catalogue, api, token), spent(api)
            again = crawl(folder, catalogue, api, token)
            later = {resource: used(spent(api), cost, resource) for resource in ("core", "graphql")}
        yield row(name, {resource: used(cost, {}, resource) for resource in ("core", "graphql")}, first, most)
        yield row(f"{name}, unchanged", later, again, most)


def row(name: str, cost: dict[str, tuple[int, int]], crawl: Cost, most: float) -> Row:
    requests = sum(asked for asked, _ in cost.values())
    points = f"{cost['core'][1]:,} requests of the quota, {cost['graphql'][1]} points of GraphQL"
    text = f"{requests:,} requests: {points}; {crawl.cpu:.0f} s, {crawl.mebibytes:.0f} MiB"
    return Row(name, text, f"at most {most:,.0f} requests", requests <= most)


def used(now: dict[str, Any], before: dict[str, Any], resource: str) -> tuple[int, int]:
    """Return the requests and the points since then."""
    was = before.get(resource, {"requests": 0, "points": 0})
    found = now.get(resource, was)
    return found["requests"] - was["requests"], found["points"] - was["points"]


@contextmanager
def github(count: int) -> Iterator[tuple[str, str]]:
    """Start a catalogue of extensions and their GitHub; yield their addresses."""
    command = [sys.executable, str(ROOT / "tests" / "portal" / "github.py"), "--repositories", str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        catalogue, api = process.stdout.readline().split()
        yield catalogue, api
        process.terminate()


def spent(api: str) -> dict[str, Any]:
    found: dict[str, Any] = json.load(build_opener(ProxyHandler({})).open(f"{api}/spent"))
    return found


def crawl(folder: Path, catalogue: str, api: str, token: str) -> Cost:
    os.environ["GITHUB_TOKEN"] = token
    settings = (f"OUTPUT_DIR={folder / 'output'}", f"HTTPCACHE_DIR={folder / 'cache'}", f"GITHUB_API={api}")
    words = [word for setting in (*settings, "REQUESTS_PER_SECOND=0") for word in ("-s", setting)]
    return run(["-m", "scrapy", "crawl", "ckan_extensions", "-a", f"catalogue={catalogue}", "--nolog", *words], ROOT)
