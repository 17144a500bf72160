"""Where crawls run: what `Harvest` needs of processes here and of Scrapyd nodes alike."""

from __future__ import annotations

from typing import Protocol

from crawlers.harvest.job import Job


class Runner(Protocol):
    async def crawl(self, job: Job, /) -> str:
        """Runs a job until it is over, however it ends; returns where it was.

        Raises:
            HarvestError: it could not start.
        """

    async def busy(self, source: str, /) -> bool:
        """Whether there is a job of a source already, no matter who began it."""

    async def cancel(self, source: str, /) -> None:
        """Stops a source's crawl so that it can go on later; a second time, at once; a third may kill it."""

    async def close(self) -> None: ...
