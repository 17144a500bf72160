"""The same exports with no framework: aiohttp, eight requests at a time, a file an answer.

python benchmarks/bare_fetch.py FILE FOLDER
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import aiohttp

if TYPE_CHECKING:
    from collections.abc import Iterator

AT_ONCE = 8  # as CONCURRENT_REQUESTS_PER_DOMAIN, Scrapy's default


async def fetch(session: aiohttp.ClientSession, urls: Iterator[str], folder: Path) -> None:
    for url in urls:
        async with session.get(url) as response:
            document = await response.json()
        name = urlsplit(url).path.strip("/").replace("/", "_")
        with (folder / f"{name}.json").open("w") as file:
            json.dump(document, file, indent=2)


async def main(urls: list[str], folder: Path) -> None:
    left = iter(urls)
    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(fetch(session, left, folder) for _ in range(AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).read_text().splitlines(), Path(sys.argv[2])))
