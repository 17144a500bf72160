"""What it takes to keep the queue in the ledger: time to Scrapy's own queues on disk and in memory, and memory."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.crawls import LEDGER, bare_scrapy, portal, scratch
from benchmarks.processes import Cost
from benchmarks.table import Row, against, compared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.portal.portal import Portal

REQUESTS = 20_000
TIMES_SCRAPY = 1.15
FEW, MANY = 100_000, 1_000_000
FLAT = 1.1  # the peak of a process differs a little from run to run
JOB = ("-s", "JOBDIR=job")

QUEUES = {
    "ledger": (*LEDGER, *JOB),
    "disk": JOB,
    "temporary": LEDGER,
    "memory": (),
}


def ledger(options: argparse.Namespace) -> Iterator[Row]:
    costs: dict[str, list[Cost]] = {name: [] for name in QUEUES}
    with portal(1) as site:
        for _ in range(options.repeat):
            for name, settings in QUEUES.items():
                costs[name].append(queued(site, options.folder, *settings))
    for field, what in (("wall", "time"), ("cpu", "processor")):
        yield Row(
            f"{what}, to Scrapy's queue in JOBDIR",
            against(costs["ledger"], costs["disk"], field),
            f"at most {TIMES_SCRAPY:g}x",
            kept=compared(costs["ledger"], costs["disk"], field).median <= TIMES_SCRAPY,
        )
        yield Row(f"{what}, to its queue in memory", against(costs["ledger"], costs["memory"], field))
        yield Row(f"{what} without JOBDIR, to the same", against(costs["temporary"], costs["memory"], field))
    yield from waiting(options)


def queued(site: Portal, within: Path, *settings: str) -> Cost:
    with scratch(within) as folder:
        return bare_scrapy("bare_queue", folder, "-a", f"portal={site.url}", "-a", f"requests={REQUESTS}", *settings)


def waiting(options: argparse.Namespace) -> Iterator[Row]:
    few, many = waiting_peak(FEW, options.folder), waiting_peak(MANY, options.folder)
    yield Row(
        f"peak, {MANY} requests waiting to {FEW}",
        f"{many / few:.2f}x: {many:.0f} to {few:.0f} MiB",
        f"the same (to {FLAT:g}x)",
        kept=many / few <= FLAT,
    )


def waiting_peak(requests: int, within: Path) -> float:
    with scratch(within) as folder:
        return bare_scrapy("bare_backlog", folder, "-a", f"requests={requests}", *LEDGER, *JOB).mebibytes
