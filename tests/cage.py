"""A crawl in a cage: a folder in which it may write into ``output`` only, and limits to all that it takes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from resource import RLIMIT_AS, RLIMIT_CPU, RLIMIT_FSIZE
from typing import Any, Self

from crawlers.causes import KINDS
from tests import forked
from tests.conftest import ROOT, Crawl, options
from tests.waiting import HANG

MIB = 1 << 20
LIBRARIES = 200  # MiB of addresses, not of memory: those of all extras are imported before a test forks
UNMEANT = {"bug", "unaccounted"}
TURN = "turn/longest"


class Turns:
    """An extension that measures the turns of a crawl's reactor."""

    def __init__(self, stats: Any) -> None:
        loop: Any = asyncio.get_event_loop()
        once = loop._run_once

        def measured() -> None:
            begun = time.process_time()
            once()
            stats.max_value(TURN, round(time.process_time() - begun, 3))

        loop._run_once = measured

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        return cls(crawler.stats)


class Cage:
    """A folder in which a crawl may write into ``output`` only, a limit to all it takes, and what is wrong with it.

    Attributes:
        peak: the most memory that the last crawl and its children took beyond that of its imports, in MiB.
        turn: the seconds of the processor that the longest turn of its reactor took, in which it heeds no signal.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.peak = 0
        self.turn = 0.0
        for name in ("work", "temporary"):
            (folder / name).mkdir()

    def crawl(
        self,
        spider: str,
        *,
        seconds: int = 10,
        most: int = 150,
        longest: int = -1,
        settings: dict[str, str] | None = None,
        **arguments: str,
    ) -> Crawl:
        """
        Args:
            seconds: of processor time.
            most: of memory beyond that of its imports, in MiB.
            longest: bytes that a file may have.
        """
        own = {"RETRY_TIMES": "0", "EXTENSIONS_BASE": json.dumps({"tests.cage.Turns": 1})}
        words = options(self.folder / "output", own | (settings or {}), **arguments)
        limits = {RLIMIT_CPU: seconds, RLIMIT_AS: (4 * (most + 100) + LIBRARIES) * MIB, RLIMIT_FSIZE: longest}
        command = [sys.executable, "-W", "error", "-m", "scrapy", "crawl", spider, *words]
        crawl = Crawl(*self.run(command, limits, time.monotonic() + HANG), self.folder / "output" / "127.0.0.1")
        assert crawl.code in (0, 3, 4), crawl.log[-3000:]
        assert "Traceback" not in crawl.log, crawl.log[-3000:]
        assert self.peak < most
        self.turn = float(re.findall(rf"'{TURN}': ([0-9.]+)", crawl.log)[-1])
        self.check(crawl)
        return crawl

    def run(self, command: list[str], limits: dict[int, int], deadline: float) -> tuple[int, str]:
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "SCRAPY_SETTINGS_MODULE": "crawlers.settings",
            "TMPDIR": str(self.folder / "temporary"),
            "HOME": str(self.folder / "work"),
        }
        with (self.folder / "log").open("w+b") as log:
            streams = {"stdout": log, "stderr": log}
            process = forked.Popen(command, limits=limits, cwd=self.folder / "work", env=environment, **streams)
            begun, self.peak = memory(process.pid), 0
            while process.poll() is None:
                self.peak = max(self.peak, sum(map(memory, family(process.pid))) - begun)
                if time.monotonic() > deadline:
                    process.kill()
                time.sleep(0.01)
            log.seek(0)
            return process.returncode, log.read().decode("utf-8", "replace")

    def check(self, crawl: Crawl) -> None:
        """Nothing is anywhere else, all of it can be read, and nothing of it is this project's own mistake."""
        assert sorted(path.name for path in self.folder.iterdir()) == ["log", "output", "temporary", "work"]
        left = [*(self.folder / "work").rglob("*"), *(self.folder / "temporary").iterdir()]
        assert {path.relative_to(self.folder).as_posix() for path in left} <= {"work/jobs", "work/jobs/.hosts"}, left
        written = {path.name.lstrip(".").partition(".")[0] for path in (self.folder / "output").iterdir()}
        assert written <= {"127", "index", "figures"}
        known = {".lock", "datasets", "errors.jsonl", "flaws.jsonl", "manifest.jsonl", "runs", "timeseries"}
        assert {path.name for path in crawl.folder.iterdir()} <= known
        assert kinds(crawl).keys() <= KINDS.keys() - UNMEANT, crawl.errors[:3]
        for path in crawl.folder.glob("datasets/*"):
            assert re.fullmatch(r"[A-Za-z0-9-][A-Za-z0-9._-]*\.json", path.name)
        assert len(crawl.documents()) == len({line["metadata_file"] for line in lines(crawl, "manifest")})
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", crawl.log)


def memory(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:  # it has just ended
        return 0
    found = re.search(r"VmHWM:\s+([0-9]+) kB", status)
    return int(found[1]) // 1024 if found else 0


def family(process: int) -> list[int]:
    """A process, and what it has started."""
    try:
        found = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        found = ""
    return [process, *(each for child in found.split() for each in family(int(child)))]


def lines(crawl: Crawl, name: str) -> list[dict[str, str]]:
    """By line feeds alone: a title may have other ends of lines in it."""
    return [json.loads(line) for line in (crawl.folder / f"{name}.jsonl").read_bytes().split(b"\n")[:-1]]


def kinds(crawl: Crawl) -> Counter[str]:
    return Counter(error["kind"] for error in lines(crawl, "errors"))
