"""The same files with no framework: aiohttp, two requests at a time for each host, streamed, with the two hashes.

python benchmarks/bare_downloads.py FILE FOLDER
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

if TYPE_CHECKING:
    from collections.abc import Iterator

AT_ONCE = 200


async def download(session: aiohttp.ClientSession, urls: Iterator[tuple[int, str]], folder: Path) -> None:
    for number, url in urls:
        sha256, md5, path = hashlib.sha256(), hashlib.md5(), folder / f"{number}.part"
        async with session.get(url) as response:
            with path.open("wb") as file:
                async for data in response.content.iter_chunked(65536):
                    sha256.update(data)
                    md5.update(data)
                    file.write(data)
        path.rename(folder / sha256.hexdigest())
        (folder / f"{sha256.hexdigest()}.md5").write_text(md5.hexdigest())


async def main(urls: list[str], folder: Path) -> None:
    left = iter(enumerate(urls))
    connector = aiohttp.TCPConnector(limit=AT_ONCE, limit_per_host=2)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(download(session, left, folder) for _ in range(AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).read_text().splitlines(), Path(sys.argv[2])))
