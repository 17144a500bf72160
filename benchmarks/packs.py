"""What a store in S3 costs: packs against files, a crawl into a store against one into a folder, a log of a year."""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import obstore
from obstore.store import MemoryStore

from benchmarks.crawls import crawl, portal, scratch
from benchmarks.processes import Cost, Spread
from benchmarks.table import Row, against, compared
from crawlers.safety import inside
from crawlers.store.bucket import packs
from crawlers.store.bucket.mirror import Mirror
from crawlers.store.bucket.objects import Objects
from tests.buckets import Folder
from tests.seaweed import Seaweed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.portal.portal import Portal

DATASETS = 10_000
RUNS = 365
TIMES = 1.3
FEW = 150  # requests
_BLOCK = 512  # bytes, of which the operating system counts a file's


def stored(options: argparse.Namespace) -> Iterator[Row]:
    with scratch(options.folder) as folder, portal(DATASETS) as site, Seaweed(folder / "server") as server:
        os.environ.update(server.environment)
        costs = []
        for number in range(options.repeat):
            server.make_bucket(f"ours-{number}")
            costs.append(_crawls(site, folder / str(number), f"s3://ours-{number}/x"))
        yield from _compared(costs)
        yield from _packs(folder / "0" / "plain" / "ours" / "datasets", folder, options.repeat)
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
    yield Row("peak, in MiB", against(kept, plain, "mebibytes").replace(" s", ""))


def _packs(documents: Path, folder: Path, repeat: int) -> Iterator[Row]:
    """Compare files with packs of them, by what each document costs."""
    paths = sorted(documents.iterdir())
    rows = [_row(path) for path in paths]
    groups = [rows[first : first + packs.MOST] for first in range(0, len(rows), packs.MOST)]
    bodies = [packs.packed(group) for group in groups]
    each = _Each(len(rows), repeat)
    yield each.row("write as files", lambda: _write(folder / "written", rows))
    yield each.row("write as packs", lambda: [packs.packed(group) for group in groups])
    yield each.row("read files", lambda: [path.read_bytes() for path in paths])
    yield each.row("read packs", lambda: [len(row.content) for body in bodies for row in packs.unpacked(body, "")])
    if find_spec("duckdb"):
        yield each.row("write as packs by DuckDB, rows from Python", lambda: _by_duckdb(groups[0], folder), groups[0])
    size = sum(len(row.content) for row in rows) / len(rows)
    on_disk = sum(path.stat().st_blocks * _BLOCK for path in paths) / len(rows)
    packed = sum(map(len, bodies)) / len(rows)
    yield Row("bytes of a document, file, disk, pack", f"{size:,.0f}, {on_disk:,.0f}, {packed:,.0f}")


def _row(path: Path) -> packs.Row:
    body = path.read_bytes()
    identifier = path.stem.partition("__")[0]
    return packs.Row("dataset", identifier, None, f"datasets/{path.name}", hashlib.sha256(body).hexdigest(), body)


def _write(folder: Path, rows: list[packs.Row]) -> None:
    folder.mkdir(exist_ok=True)
    with inside.Writer(folder) as writer:
        for row in rows:
            writer.write(row.file, row.content)


def _by_duckdb(rows: list[packs.Row], folder: Path) -> None:
    import duckdb  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 -- it need not be there

    db: Any = duckdb.connect(config={"threads": 1})
    db.execute("CREATE TABLE t (kind TEXT, dataset_id TEXT, resource_id TEXT, file TEXT, sha256 TEXT, content BLOB)")
    db.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
    db.execute(f"COPY t TO '{folder / 'duck.parquet'}' (FORMAT parquet, COMPRESSION zstd)")
    db.close()


class _Each:
    """Measures the processor time of something, for each document."""

    def __init__(self, documents: int, repeat: int) -> None:
        self.documents = documents
        self.repeat = repeat

    def row(self, what: str, work: Callable[[], object], documents: list[packs.Row] | None = None) -> Row:
        number = len(documents) if documents else self.documents
        taken = [self._timed(work) / number * 1e6 for _ in range(max(3, self.repeat))]
        found = Spread.of(taken)
        return Row(what, f"{found.median:.0f} ({found.low:.0f}..{found.high:.0f}) µs a document")

    def _timed(self, work: Callable[[], object]) -> float:
        begun = time.process_time()
        work()
        return time.process_time() - begun


def _year(options: argparse.Namespace) -> Iterator[Row]:
    """Count what a new mirror asks for after a year of daily runs."""
    with scratch(options.folder) as folder:
        store = MemoryStore()
        here = _mirror(store, folder / "one")
        for day in range(RUNS):
            run = f"2026{1 + day // 31:02d}{1 + day % 31:02d}T030000Z"
            with here.own("hdx"):
                made = Folder(here.folder / "hdx")
                made.write(f"id{day % 50:05d}", f"version {day}", run=run)
                made.report(run)
        get, asked = obstore.get, list[str]()

        def counted(store: MemoryStore, name: str, **more: Any) -> Any:
            asked.append(name)
            return get(store, name, **more)

        obstore.get = counted  # type: ignore[assignment]
        _mirror(store, folder / "two").refresh()
        obstore.get = get
    yield Row(f"requests of a new mirror, {RUNS} runs", f"{len(asked)}", f"at most {FEW}", kept=len(asked) <= FEW)


def _mirror(store: MemoryStore, folder: Path) -> Mirror:
    made = Mirror(Objects(store, "s3://ours/x"), folder)
    made.check(creates=True)
    return made
