"""What goes before the work: commands and the first request of a crawl, to those of a stock Scrapy project."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.crawls import BENCHMARKS, ROOT, crawl, portal, scratch
from benchmarks.processes import LOOPBACK, SETTINGS, Cost, run
from benchmarks.table import Row, compared, median, times

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from pathlib import Path

DATASETS = 200
REPEAT = 5  # at least: a second each
OF_STOCK = 1.3
OF_VERSION = 1.1
LONGEST = 60  # seconds until a first request
CRAWLS = {"ckan": "portal=http://127.0.0.1:{}", "dcat": "url=http://127.0.0.1:{}/catalog.ttl"}


def startup(options: argparse.Namespace) -> Iterator[Row]:
    with scratch(options.folder) as folder:
        stock, output = stock_project(folder / "stock"), folder / "output"
        with portal(DATASETS) as site:
            crawl("ckan", site, output)
        where = ("-s", f"OUTPUT_DIR={output}")
        repeat = max(options.repeat, REPEAT)
        for words in (("--help",), ("jobs", *where), ("search", "water", *where)):
            peer = "--help" if words[0] == "--help" else "list"
            yield in_turns(
                f"scrapy {words[0]}, to `scrapy {peer}`", repeat, command(ROOT, *words), command(stock, peer)
            )
        bare = first_request(stock, "crawl", "bare", "-a", "urls=urls", "-a", "folder=.")
        for spider, address in CRAWLS.items():
            ours = first_request(ROOT, "crawl", spider, "-a", address, "-s", f"OUTPUT_DIR={folder / spider}")
            what = f"scrapy crawl {spider} until its first request"
            yield in_turns(f"{what}, to a minimal spider's", repeat, ours, bare)
            yield in_turns(f"{what}, to `scrapy version`", repeat, ours, command(ROOT, "version"), OF_VERSION)


def in_turns(what: str, repeat: int, ours: Callable[[], Cost], peer: Callable[[], Cost], most: float = OF_STOCK) -> Row:
    costs = [(ours(), peer()) for _ in range(repeat)]
    our, peers = [one for one, _ in costs], [other for _, other in costs]
    ratio = compared(our, peers, "cpu")
    figures = f"{median(our, 'cpu'):.2f} s to {median(peers, 'cpu'):.2f} s"
    return Row(what, f"{times(ratio)}: {figures}", f"at most {most}x", kept=ratio.median <= most)


def stock_project(folder: Path) -> Path:
    """Returns a project as `scrapy startproject` makes it, with a spider that does nothing."""
    run(["-m", "scrapy", "startproject", "stock", str(folder)], folder.parent)
    shutil.copy(BENCHMARKS / "bare_spider.py", folder / "stock" / "spiders")
    return folder


def command(folder: Path, *words: str) -> Callable[[], Cost]:
    return lambda: run(["-m", "scrapy", *words], folder)


def first_request(folder: Path, *words: str) -> Callable[[], Cost]:
    """Returns what measures a crawl that is killed as soon as it connects; ``{}`` in its words is the port."""

    def measured() -> Cost:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            if "urls=urls" in words:
                (folder / "urls").write_text(f"http://127.0.0.1:{port}/\n")
            return until_connected(server, folder, [word.format(port) for word in words])

    return measured


def until_connected(server: socket.socket, folder: Path, words: list[str]) -> Cost:
    environment = {name: value for name, value in os.environ.items() if name != SETTINGS} | LOOPBACK
    server.settimeout(LONGEST)
    process = subprocess.Popen([sys.executable, "-m", "scrapy", *words, "--nolog"], cwd=folder, env=environment)
    try:
        server.accept()[0].close()
    except TimeoutError:
        sys.exit(f"no request within {LONGEST} s of: scrapy {' '.join(words)}")
    finally:
        os.kill(process.pid, signal.SIGKILL)  # process.kill() would take its status, if it has ended
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(wall=0, cpu=usage.ru_utime + usage.ru_stime, mebibytes=usage.ru_maxrss / 2**10)
