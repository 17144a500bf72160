"""`scrapy publish`, run as a process for a part of the ecosystem."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from crawlers.exceptions import HarvestError
from crawlers.listing.spider import host_name
from crawlers.publish.spider import PREFIX
from crawlers.safety.locks import is_crawled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PAUSE = 1.0  # seconds until it is checked again whether another publish has ended
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def wait_for_others(portal: str, output: Path) -> None:
    """Wait until no other publish writes to a portal."""
    while is_crawled(output / f"{PREFIX}{host_name(portal)}"):
        time.sleep(_PAUSE)


async def publish(words: Sequence[str], *, is_asking: bool) -> int:
    """Run `scrapy publish` to its end, and return its exit code; signals are passed on, so that it can stop well.

    Args:
        words: what follows ``scrapy publish``.
        is_asking: whether it asks on the terminal, which then sends it Ctrl-C itself.

    Raises:
        HarvestError: no process can be created.
    """
    warnings = [f"-W{option}" for option in sys.warnoptions]
    command = [sys.executable, *warnings, "-m", "scrapy", "publish", *words]
    try:
        process = await asyncio.create_subprocess_exec(*command, start_new_session=not is_asking)
    except OSError as error:
        raise HarvestError(f"no process can be created: {error.strerror}") from None
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            loop.add_signal_handler(number, _pass_on, process, number, is_asking)
    return await process.wait()


def _pass_on(process: asyncio.subprocess.Process, number: int, is_asking: bool) -> None:
    if not (is_asking and number == signal.SIGINT):
        with suppress(ProcessLookupError):
            process.send_signal(number)
