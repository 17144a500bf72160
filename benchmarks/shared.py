"""What a store costs: a crawl into it against one into a folder, push and pull against files, a year of nights."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import time
from typing import TYPE_CHECKING

from deltalake import DeltaTable

from benchmarks.crawls import crawl, portal, scratch
from benchmarks.processes import Cost, Spread
from benchmarks.table import Row, against, compared
from crawlers.fleet.store import Mirror, Store, rows
from crawlers.fleet.store.table import Table
from crawlers.safety import inside
from crawlers.store.versions import Versions
from tests.buckets import Folder
from tests.seaweed import Seaweed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.portal.portal import Portal

DATASETS = 10_000
RUNS = 365
MANY = 300_000
PULLED = 20.0  # seconds
TIMES = 1.3
LOOK = 10.0  # milliseconds
PEAK = 260  # MiB


def stored(options: argparse.Namespace) -> Iterator[Row]:
    with scratch(options.folder) as folder, portal(DATASETS) as site, Seaweed(folder / "server") as server:
        os.environ.update(server.environment)
        costs = []
        for number in range(options.repeat):
            server.make_bucket(f"ours-{number}")
            costs.append(_crawls(site, folder / str(number), f"s3://ours-{number}/x"))
        yield from _compared(costs)
        yield from _moved(folder / "0" / "plain", folder, options.repeat)
    yield from _many(options)
    yield from _year(options)


def _crawls(site: Portal, folder: Path, address: str) -> list[Cost]:
    """Return what crawls cost: into a folder, again, into a store, again."""
    mirror = ("-s", f"OUTPUT_MIRROR={folder / 'mirror'}")
    outputs = (folder / "plain", folder / "plain", address, address)
    return [crawl("ckan", site, output, *mirror) for output in outputs]


def _compared(costs: list[list[Cost]]) -> Iterator[Row]:
    plain, again, kept, kept_again = (list(some) for some in zip(*costs, strict=True))
    yield Row(
        f"processor, {DATASETS:,} datasets, store",
        against(kept, plain, "cpu"),
        f"at most {TIMES:g}x",
        kept=compared(kept, plain, "cpu").median <= TIMES,
    )
    yield Row("again, nothing changed", against(kept_again, again, "cpu"))
    peak = max(cost.mebibytes for cost in kept)
    yield Row("peak, in MiB", against(kept, plain, "mebibytes").replace(" s", ""), f"at most {PEAK}", kept=peak <= PEAK)


def _moved(output: Path, folder: Path, repeat: int) -> Iterator[Row]:
    """Compare pushing and pulling a folder with writing its documents, by what each of them costs."""
    bodies = {f"datasets/{path.name}": path.read_bytes() for path in (output / "ours" / "datasets").iterdir()}
    each, places = _Each(len(bodies), repeat), iter(range(1000))
    yield each.row("write as files", lambda: _write(folder / f"written{next(places)}", bodies))
    yield each.row("push", lambda: _push(output, folder / f"store{next(places)}"))
    last = folder / f"store{next(places) - 1}"
    yield each.row("pull", lambda: _mirror(last, folder / f"copy{next(places)}").pull("ours"))
    size = sum(map(len, bodies.values())) / len(bodies)
    stored = sum(path.stat().st_size for path in last.rglob("*") if path.is_file()) / len(bodies)
    yield Row("bytes of a document, file, store with its line", f"{size:,.0f}, {stored:,.0f}")


def _write(folder: Path, bodies: dict[str, bytes]) -> None:
    folder.mkdir()
    with inside.Writer(folder) as writer:
        for file, body in bodies.items():
            writer.write(file, body)


def _push(output: Path, store: Path) -> None:
    shutil.rmtree(output / ".mirror", ignore_errors=True)
    with _mirror(store, output).own("ours"):
        pass


class _Each:
    """Measures the processor time of something, for each document."""

    def __init__(self, documents: int, repeat: int) -> None:
        self.documents = documents
        self.repeat = repeat

    def row(self, what: str, work: Callable[[], object]) -> Row:
        taken = [self._timed(work) / self.documents * 1e6 for _ in range(max(3, self.repeat))]
        found = Spread.of(taken)
        return Row(what, f"{found.median:.0f} ({found.low:.0f}..{found.high:.0f}) µs a document")

    def _timed(self, work: Callable[[], object]) -> float:
        begun = time.process_time()
        work()
        return time.process_time() - begun


def _many(options: argparse.Namespace) -> Iterator[Row]:
    """Measure what a new mirror of a large source costs."""
    with scratch(options.folder) as folder:
        table, offset = Table(_mirror(folder / "store", folder / "none").store, "hdx"), 0
        for number in range(0, MANY, 1000):
            batch = []
            for identifier in range(number, number + 1000):
                body = json.dumps({"id": identifier, "title": f"Title {identifier}", "notes": "notes " * 50}).encode()
                file, sha256 = f"datasets/id{identifier}.json", hashlib.sha256(body).hexdigest()
                line: dict[str, object] = {
                    "kind": "dataset",
                    "dataset_id": f"id{identifier}",
                    "metadata_file": file,
                    "sha256": sha256,
                }
                line |= {"bytes": len(body), "run": "20261120T030000Z", "status": "new"}
                text = json.dumps(line).encode() + b"\n"
                batch.append(rows.of_line("manifest.jsonl", offset, text)._replace(content=body))
                offset += len(text)
            table.commit(number // 1000 + 1, str(number), [*batch, rows.of_run({"status": "ended"})])
        taken = []
        for number in range(options.repeat):
            begun = time.process_time()
            _mirror(folder / "store", folder / f"copy{number}").pull("hdx")
            taken.append(time.process_time() - begun)
    found = Spread.of(taken)
    shown = f"{found.median:.1f} ({found.low:.1f}..{found.high:.1f}) s"
    yield Row(f"pull of {MANY:,} documents, processor", shown, f"at most {PULLED:g} s", kept=found.median <= PULLED)


def _year(options: argparse.Namespace) -> Iterator[Row]:
    """Measure what a source costs after a year of nights."""
    with scratch(options.folder) as folder:
        here, follows, looks = _mirror(folder / "store", folder / "one"), _mirror(folder / "store", folder / "two"), []
        nights = []
        for day in range(RUNS):
            run = f"2026{1 + day // 31:02d}{1 + day % 31:02d}T030000Z"
            begun = time.process_time()
            with here.own("hdx") as owner:
                made = Folder(here.folder / "hdx")
                made.write(f"id{day % 50:05d}", f"version {day}", run=run)
                made.report(run)
                owner.store(is_end=True)
                owner.tidy()
            nights.append((time.process_time() - begun) * 1000)
        follows.refresh()
        for _ in range(100):
            begun = time.process_time()
            follows.refresh(["hdx"])
            looks.append((time.process_time() - begun) * 1000)
        files = len(DeltaTable(str(folder / "store" / "hdx")).file_uris())
        with Versions.reading(follows.folder / "hdx") as found:
            versions = found.size().versions
    night, look = Spread.of(nights), Spread.of(looks)
    yield Row(f"a night, {RUNS} of them", f"{night.median:.0f} ({night.low:.0f}..{night.high:.0f}) ms, {files} files")
    yield Row("a look without news", f"{look.median:.1f} ms", f"at most {LOOK:g} ms", kept=look.median <= LOOK)
    yield Row("former versions of a new mirror", f"{versions}")


def _mirror(store: Path, folder: Path) -> Mirror:
    made = Mirror(Store.local(store, store.as_uri()), folder, keeps=True)
    made.check(creates=True)
    return made
