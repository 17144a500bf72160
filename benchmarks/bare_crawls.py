"""What crawls take when nothing but the crawls is paid for: one process crawls portal after portal.

python benchmarks/bare_crawls.py FOLDER ADDRESS ...

They have the arguments and settings that a harvest gives them.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # it is run as a script, from any folder

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings

from crawlers.operate.commands.crawl import GARBAGE


def main(folder: Path, addresses: list[str]) -> None:
    settings = get_project_settings()
    paths = {"OUTPUT_DIR": str(folder / "output"), "LOG_FILE": str(folder / "crawls.log")}
    settings.setdict({**paths, "REQUESTS_PER_SECOND": 0, "CRAWL_DELAY_MAX": 0}, "cmdline")
    process = AsyncCrawlerProcess(settings)
    gc.freeze()
    gc.set_threshold(*GARBAGE)
    asyncio.get_event_loop().create_task(crawl(process, folder, addresses)).add_done_callback(lambda _: process.stop())
    process.start()


async def crawl(process: AsyncCrawlerProcess, folder: Path, addresses: list[str]) -> None:
    for number, address in enumerate(addresses):
        process.settings.set("JOBDIR", str(folder / "jobs" / f"s{number}"), "cmdline")
        await process.crawl("ckan", portal=address, source=f"s{number}", since="last")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
