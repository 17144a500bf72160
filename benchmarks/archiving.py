"""What an archive takes: many small files of many hosts, one large file, and a second run in which nothing changed."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.request import ProxyHandler, build_opener

from benchmarks.crawls import BENCHMARKS, ROOT, bare_scrapy, scratch
from benchmarks.file_hosts import names
from benchmarks.processes import Cost, run
from benchmarks.table import Row, against, compared, median

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

HOSTS = 200
BYTES = 20_000
LARGE = 100_000  # bytes of the large file for each dataset of --datasets: 2 GB of 20,000
SUMS = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1], shell=True))"


def archiving(options: argparse.Namespace) -> Iterator[Row]:
    files = options.datasets // 2
    ours, bare, plain, again, bare_again = [], [], [], [], []
    with file_hosts(HOSTS, files) as site:
        for _ in range(options.repeat):
            with scratch(options.folder) as folder:
                listed(site, folder)
                urls = "\n".join(f"http://{names(HOSTS)[n % HOSTS]}:{port(site)}/{n}.csv" for n in range(files))
                (folder / "urls").write_text(urls)
                ours.append(archive(folder))
                before = counted(site)
                again.append(archive(folder))
                assert counted(site) - before == files
                bare.append(bare_archive(folder))
                bare_again.append(bare_archive(folder, "-a", 'etag="1"'))
                plain.append(bare_downloads(folder))
                assert len(list((folder / "store").glob("sha256/*/*"))) == files
    yield promised("processor, to a minimal Scrapy's", "cpu", ours, bare, 1.4)
    yield promised("time, to a minimal Scrapy's", "wall", ours, bare, 1.1)
    yield Row("processor, to aiohttp's", against(ours, plain, "cpu"))
    yield Row("time, to aiohttp's", against(ours, plain, "wall"))
    yield promised("processor, of 304s alone, to the first", "cpu", again, ours, 0.4)
    yield Row("processor, of 304s alone, to Scrapy's", against(again, bare_again, "cpu"))
    yield Row("processor, Scrapy's of 304s, to its first", against(bare_again, bare, "cpu"))
    yield Row("peak", ", ".join(f"{median(costs, 'mebibytes'):.0f} MiB" for costs in (ours, again, bare, plain)))
    yield from large(options)


def large(options: argparse.Namespace) -> Iterator[Row]:
    size = options.datasets * LARGE // 65536 * 65536
    ours, tools, small = [], [], []
    with file_hosts(1, 1) as site:
        for _ in range(options.repeat):
            with scratch(options.folder) as folder:
                listed(site, folder)
                small.append(archive(folder))
            with scratch(options.folder) as folder:
                url = f"{site}/big?{size}"
                listed(site, folder, url)
                ours.append(archive(folder))
                command = f"curl -sS -o big '{url}' && sha256sum big && md5sum big"
                tools.append(run(["-c", SUMS, command], folder))
    yield promised(f"{size // 10**6} MB: time, to curl and sums", "wall", ours, tools, 1.5)
    growth = median(ours, "mebibytes") - median(small, "mebibytes")
    yield Row("its peak, over that of a small file", f"{growth:.0f} MiB", "at most 50 MiB", growth <= 50)


def promised(what: str, field: str, ours: list[Cost], others: list[Cost], most: float) -> Row:
    kept = compared(ours, others, field).median <= most
    return Row(what, against(ours, others, field), f"at most {most:g}x", kept=kept)


@contextmanager
def file_hosts(hosts: int, files: int) -> Iterator[str]:
    """Start the hosts; yield the address of the first."""
    command = [sys.executable, str(BENCHMARKS / "file_hosts.py"), str(hosts), str(files), str(BYTES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.1.1:{process.stdout.readline().strip()}"
        process.terminate()


def port(site: str) -> str:
    return site.rpartition(":")[2]


def counted(site: str) -> int:
    return int(build_opener(ProxyHandler({})).open(f"{site}/count").read())


def listed(site: str, folder: Path, url: str = "") -> None:
    """Crawl the catalogue of the files, or of one."""
    where = f"{site}/one.json?{url}" if url else f"{site}/data.json"
    crawl("dcat", folder, "-a", f"url={where}", "-a", "source=files")


def archive(folder: Path) -> Cost:
    allowed = ",".join(names(HOSTS))
    settings = (f"ARCHIVE_STORE={folder / 'store'}", "ARCHIVE_MAX_SIZE=0", f"ALLOWED_PRIVATE_HOSTS={allowed}")
    return crawl("archive", folder, "-a", "of=files", *(word for setting in settings for word in ("-s", setting)))


def crawl(spider: str, folder: Path, *arguments: str) -> Cost:
    settings = ("-s", "REQUESTS_PER_SECOND=0", "-s", f"OUTPUT_DIR={folder / 'output'}", "--nolog")
    return run(["-m", "scrapy", "crawl", spider, *settings, *arguments], ROOT)


def bare_archive(folder: Path, *options: str) -> Cost:
    (folder / "bare").mkdir(exist_ok=True)
    return bare_scrapy("bare_archive", folder, "-a", "urls=urls", "-a", "folder=bare", *options)


def bare_downloads(folder: Path) -> Cost:
    (folder / "plain").mkdir()
    return run([str(BENCHMARKS / "bare_downloads.py"), str(folder / "urls"), str(folder / "plain")], ROOT)
