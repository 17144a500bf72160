"""What former versions of documents cost: a crawl that keeps them, to one that does not, and their bytes on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from backports import zstd

from benchmarks.crawls import crawl, portal, scratch
from benchmarks.table import Row, against, compared
from crawlers.store import history
from crawlers.store.versions import FILE

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.processes import Cost
    from tests.portal.portal import Portal

CHANGED = 0.01
MOST = 1.05  # of the processor time without versions, if a hundredth of the datasets changed
BYTES = 1.2  # of each former document compressed by itself
OFF = ("-s", "VERSIONS=False")


def former(options: argparse.Namespace) -> Iterator[Row]:
    some: tuple[list[Cost], list[Cost]] = ([], [])
    every: tuple[list[Cost], list[Cost]] = ([], [])
    with portal(options.datasets) as site, scratch(options.folder) as folder:
        ids = site.ids()
        for name in ("with", "without"):
            crawl("ckan", site, folder / name)
        for turn in range(options.repeat):
            for number, (costs, changed) in enumerate(((some, ids[:: round(1 / CHANGED)]), (every, ids))):
                edit(site, changed, f"Edition {turn}.{number}")
                costs[0].append(crawl("ckan", site, folder / "with"))
                costs[1].append(crawl("ckan", site, folder / "without", *OFF))
        kept, alone = sizes(folder / "with" / "ours")
    ratio = compared(*some, "cpu").median
    yield Row("1 % changed, to VERSIONS = False", against(*some, "cpu"), f"at most {MOST:g}x", kept=ratio <= MOST)
    yield Row("all changed, to VERSIONS = False", against(*every, "cpu"))
    yield Row(
        "bytes, to each former document by zstd -3",
        f"{kept / alone:.2f}x: {kept / 2**20:.1f} to {alone / 2**20:.1f} MiB",
        f"at most {BYTES:g}x",
        kept=kept <= BYTES * alone,
    )


def edit(site: Portal, ids: list[str], title: str) -> None:
    site.change(edit={one: {"title": title, "notes": f"{title}: what {one} is about."} for one in ids})


def sizes(folder: Path) -> tuple[int, int]:
    """Return the bytes of the versions' file, and those of each former version compressed by itself."""
    alone, seen = 0, set()
    now = {version.key: version.known.sha256 for version in history.at(folder, "9")}
    with history.Bodies(folder) as bodies:
        for version in history.between(folder):
            sha256 = version.known.sha256
            if sha256 != now[version.key] and sha256 not in seen:
                seen.add(sha256)
                alone += len(zstd.compress(bodies.body(version) or b"", 3))
    return (folder / FILE).stat().st_size, alone
