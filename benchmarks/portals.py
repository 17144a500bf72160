"""What a crawl of portals takes, a tenth of them dead, silent, slow, blocked or broken, to a loop of ten threads."""

from __future__ import annotations

import csv
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from benchmarks.crawls import BENCHMARKS, ROOT, scratch
from benchmarks.processes import Cost, run
from benchmarks.table import Row, against, compared
from tests.portal import sites
from tests.portal.sites import CKAN, Portals

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from tests.portal.sites import Behaviour

PORTALS = 700
LATENCY = 0.1  # seconds of each answer
SLOW = 3.0  # of those of a slow portal
MOST = 1.1  # of the loop's time
ODD: list[tuple[str, Behaviour | None]] = [
    ("down", None),
    ("down", sites.hang),
    ("up", sites.slow(SLOW, CKAN())),
    ("blocked", sites.forbidden),
    ("not_ckan", sites.html),
    ("down", None),
    ("down", sites.hang),
    ("down", sites.cut),
    ("blocked", sites.challenge_202),
    ("down", sites.unavailable),
]
"""The portals that are odd, in turns: the state of each, and what answers; nothing listens where it is ``None``."""
FIGURES = ("num_datasets", "num_resources", "num_groups", "num_organizations", "ckan_version")


def visited(options: argparse.Namespace) -> Iterator[Row]:
    """Compare the crawl with the loop; the figures of both with what the portals have."""
    behaviours, truth = portals(PORTALS)
    ours: list[Cost] = []
    loops: list[Cost] = []
    asked, states = Counter[str](), Counter[bool]()
    figures: dict[str, Counter[str]] = {}
    with Portals({host: one for host, one in behaviours.items() if one}) as served:
        for _ in range(options.repeat):
            with scratch(options.folder) as folder:
                listed(served, behaviours, folder / "sites.csv")
                for name, take, costs in (("ours", crawled, ours), ("loop", looped, loops)):
                    served.log.clear()
                    costs.append(take(folder))
                    asked[name] = len(served.log)
                states += Counter(site["state"] == truth[site["id"]]["state"] for site in found(folder))
                figures = {"ours": judged(found(folder), truth), "loop": judged(found_by_loop(folder), truth)}
    kept = compared(ours, loops, "wall").median <= MOST
    yield Row(f"time of {PORTALS} portals, to a loop's", against(ours, loops, "wall"), f"at most {MOST:g}x", kept=kept)
    yield Row("processor", against(ours, loops, "cpu"))
    yield Row("requests that arrive, to the loop's", f"{asked['ours']} to {asked['loop']}")
    yield Row("portals with a wrong state", str(states[False]), "none", kept=not states[False])
    for what in ("wrong", "missing"):
        told = f"{figures['ours'][what]}; the loop {figures['loop'][what]}"
        yield Row(f"figures that are {what}", told, "none", kept=not figures["ours"][what])


def portals(count: int) -> tuple[dict[str, Behaviour | None], dict[str, dict[str, Any]]]:
    """Return what answers at each address, and what is true of it."""
    behaviours: dict[str, Behaviour | None] = {}
    truth: dict[str, dict[str, Any]] = {}
    for number in range(count):
        host, portal = f"127.1.{number // 200}.{number % 200 + 1}", healthy(number)
        state, behaviours[host] = "up", sites.slow(LATENCY, portal)
        if number % 10 == 9:
            state, behaviours[host] = ODD[number // 10 % len(ODD)]
            portal = CKAN()
        figures = {name: getattr(portal, name.removeprefix("num_")) for name in FIGURES[:-1]}
        known = figures | {"ckan_version": portal.version}
        truth[host] = (known if state == "up" else dict.fromkeys(FIGURES)) | {"state": state}
    return behaviours, truth


def healthy(number: int) -> CKAN:
    """Return a portal with figures of its own; some have more organisations than CKAN lists at once."""
    organizations = 1000 + number if number % 50 == 0 else number % 40
    version = None if number % 7 == 0 else f"2.{number % 6 + 6}.{number % 5}"
    return CKAN(number + 2, 3 * number + 1, number % 30, organizations, version)


def listed(served: Portals, hosts: dict[str, Any], path: Path) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("name", "url"), *((host, served.url(host)) for host in hosts)])


def crawled(folder: Path) -> Cost:
    settings = ("-s", "REQUESTS_PER_SECOND=0", "-s", f"OUTPUT_DIR={folder / 'output'}", "--nolog")
    return run(["-m", "scrapy", "crawl", "ckan_sites", "-a", f"sites={folder / 'sites.csv'}", *settings], ROOT)


def looped(folder: Path) -> Cost:
    return run([str(BENCHMARKS / "bare_portals.py"), str(folder / "sites.csv"), str(folder / "found.csv")], ROOT)


def found(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_bytes()) for path in (folder / "output" / "ckan_sites" / "sites").iterdir()]


def found_by_loop(folder: Path) -> list[dict[str, Any]]:
    with (folder / "found.csv").open(newline="") as file:
        return [{"id": row["name"], **row} for row in csv.DictReader(file)]


def judged(profiles: list[dict[str, Any]], truth: dict[str, dict[str, Any]]) -> Counter[str]:
    """Return how many figures are wrong, and how many are missing that a portal has."""
    counts = Counter[str](missing=len(FIGURES) * (len(truth) - len(profiles)))
    for profile in profiles:
        for name in FIGURES:
            given, true = profile[name], truth[profile["id"]][name]
            if given in (None, ""):
                counts["missing"] += true is not None
            else:
                counts["wrong"] += str(given) != str(true)
    return counts
