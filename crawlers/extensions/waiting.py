"""Work that waits for others, beside a crawl: in a thread, and again and again."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from crawlers.exceptions import StoppedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Repeated:
    """Something that is done again and again, one after the other, until that is stopped."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self.work = work
        self.is_over = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    def start(self, seconds: float) -> None:
        """Do it after each number of seconds."""
        self.task = asyncio.ensure_future(self._repeat(seconds))

    async def _repeat(self, seconds: float) -> None:
        while not self.is_over.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self.is_over.wait(), seconds)
                return
            await self.work()

    async def stop(self) -> None:
        """Wait for what is under way, and do it no more."""
        self.is_over.set()
        if self.task:
            await self.task


async def in_thread(work: Callable[[], T]) -> T:
    """Do something that waits, in a thread that does not hold up the end of the process; return its result."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(value)  # type: ignore[arg-type]
        else:
            done.set_exception(error)

    def run() -> None:
        value, raised = None, None
        try:
            value = work()
        except BaseException as error:  # noqa: BLE001 -- it is raised where it is waited for
            raised = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, value, raised)

    threading.Thread(target=run, daemon=True).start()
    return await done


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """Do something that waits and holds up the event loop: SIGINT and SIGTERM end it, which Scrapy's handlers can't.

    Raises:
        StoppedError: one of them came.
    """
    is_main = threading.current_thread() is threading.main_thread()  # no other thread may set handlers
    taken = [number for number in _SIGNALS if is_main and signal.getsignal(number) is not signal.SIG_IGN]  # nohup
    before = {number: signal.signal(number, _interrupt) for number in taken}
    try:
        yield
    except KeyboardInterrupt:
        raise StoppedError("Stopped before the crawl began.") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt
