"""A page that is open in the browser: how it is loaded, when it has come to rest, and what it shows."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from playwright.async_api import Error
from scrapy.exceptions import DownloadCancelledError

from crawlers.components.browser import scripts
from crawlers.components.browser.traffic import Gate, Traffic, close

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Page

    from crawlers.components.browser.guard import Guard

QUIET = 0.3  # seconds without a change after which a page has come to rest
QUIET_TEXT = 1.0  # the same where no link has changed: "Loading ..." is text
QUIET_CLOCK = 2.0  # the same on a page whose text never rests
LOOK = 0.1

State = tuple[int, int, int, int]


class LivePage:
    """
    Args:
        url: its address.
        way: what requests for further turns of this page have in common.
        guard: where it may lead.
        max_bytes: bytes that it may be, and may load until it is shown.

    Attributes:
        turns: how many were made.
        acted: when the server was last asked for something on purpose.
        latency: how long it took to answer.
        idle: how often a button that had turned the page was pressed in vain, although no request failed.
        is_shown: whether there is a page to see.
        clicked: the button that turned the page last: its text may have changed since.
    """

    def __init__(self, page: Page, url: str, way: str, guard: Guard, max_bytes: int) -> None:
        self.page = page
        self.url = url
        self.way = way
        self.guard = guard
        self.max_bytes = max_bytes
        self.gate = Gate(guard)
        self.traffic = Traffic(page, self.gate, max_bytes)
        self.turns = self.idle = 0
        self.acted = 0.0
        self.latency = 0.0
        self.is_shown = False
        self.clicked: ElementHandle | None = None

    @property
    def is_good(self) -> bool:
        """Whether the page is shown, and the server answered with it and not with an error."""
        return self.is_shown and self.gate.document is not None and self.gate.document.status < 400

    async def watch(self) -> None:
        """Begin to watch the page's requests, and to abort those that are not allowed."""
        session = await self.page.context.new_cdp_session(self.page)
        await self.gate.watch(self.page, session)
        await self.traffic.watch(session)

    async def load(self, seconds: float) -> None:
        """
        Raises:
            Error: it cannot be loaded, and the server did not say why.
        """
        self.acted = monotonic()
        limit = seconds * 1000
        try:
            await self.page.goto(self.url, wait_until="domcontentloaded", timeout=limit)
            self.is_shown = True
        except Error as error:
            document = self.gate.document
            if "interrupted by another navigation" in error.message:
                await self.page.wait_for_load_state("domcontentloaded", timeout=limit)
                self.is_shown = True
            elif document is None or (document.is_shown and document.status < 400):
                raise
        self.latency = monotonic() - self.acted
        self.gate.loading, self.gate.refused = False, None

    async def state(self) -> State | None:
        """Return the page's links and text, as numbers; ``None`` while it is between two documents."""
        try:
            found = await self.page.evaluate(scripts.STATE)
        except Error:
            if self.traffic.failure or self.page.is_closed():
                raise
            return None
        return tuple(found) if isinstance(found, list) and len(found) == 4 else None

    async def settled(self, wait: float, before: State | None = None) -> bool:
        """Wait until the page has changed and come to rest; return whether it has changed.

        Args:
            wait: seconds.
            before: its state before; a page that has just been loaded has none.
        """
        begun, links, text = monotonic(), 0, 0  # looks without a change: while the machine is busy, nothing is at rest
        last: State | None = None
        traffic = self.traffic
        while True:
            state = await self.state()
            links = links + 1 if _links(state) == _links(last) else 0
            text = text + 1 if state == last else 0
            last = state
            changed = before is None or (state is not None and state != before)
            if changed and state and not traffic.pending and _rests(state, before, links * LOOK, text * LOOK):
                return True
            if monotonic() - begun > wait and not traffic.is_navigating:
                return changed
            if traffic.lacking and not traffic.pending and text * LOOK >= QUIET_CLOCK:
                return changed
            await asyncio.sleep(LOOK)

    async def html(self) -> str:
        """
        Raises:
            DownloadCancelledError: it is larger than it may be.
        """
        html = await self.page.evaluate(scripts.HTML, self.max_bytes)
        if not isinstance(html, str) or len(html) > self.max_bytes:
            raise DownloadCancelledError(f"the page is larger than {self.max_bytes} characters")
        return html

    async def close(self) -> None:
        await close(self.page)


def _links(state: State | None) -> tuple[int, ...]:
    return state[:2] if state else ()


def _rests(state: State, before: State | None, links: float, text: float) -> bool:
    """Return whether the links, or the text, have been unchanged for long enough.

    Args:
        links: seconds without a change of the links.
        text: the same of the text.
    """
    if before is None:
        return text >= QUIET or links >= QUIET_CLOCK
    if _links(state) == _links(before):
        return text >= QUIET_TEXT
    return links >= (QUIET if state[1] >= before[1] else QUIET_TEXT)  # a list that is emptied is filled again
