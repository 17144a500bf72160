"""A page that is open in the browser: how it is loaded, when it has come to rest, and what it shows."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from playwright.async_api import Error
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadFailedError,
    ResponseDataLossError,
)

from crawlers.browser import scripts
from crawlers.browser.errors import is_the_networks, of
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, ElementHandle, Page, Route
    from playwright.async_api import Request as BrowserRequest
    from playwright.async_api import Response as BrowserResponse

    from crawlers.browser.guard import Guard

QUIET = 0.3  # seconds without a change after which a page has come to rest
QUIET_TEXT = 1.0  # the same where no link has changed: "Loading ..." is text
QUIET_CLOCK = 2.0  # the same on a page whose text never rests
LOOK = 0.1
_CLOSE = 10.0
_REDIRECTS = (301, 302, 303, 307, 308)
_HTML = ("text/html", "application/xhtml+xml")
_NO_FAILURES = ("ERR_ABORTED", "ERR_HTTP_RESPONSE_CODE_FAILURE")  # of a page: a turn led to another; an empty answer
_WATCHED = ("document", "script", "xhr", "fetch", "stylesheet")
_PARTS = ("script", "xhr", "fetch")  # what a list is made of
_MOST_LACKING = 100

State = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Document:
    """What the server said of the page itself."""

    url: str
    status: int
    headers: list[tuple[str, str]]

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def location(self) -> str:
        return self.header("location") if self.status in _REDIRECTS else ""

    @property
    def leads_to(self) -> str:
        return urljoin(self.url, self.location)

    @property
    def is_page(self) -> bool:
        """Whether there is something to show."""
        kind = self.header("content-type").partition(";")[0].strip().lower()
        attached = self.header("content-disposition").lower().startswith("attachment")
        return self.status not in (204, 205, 304) and (not kind or kind in _HTML) and not attached

    @property
    def is_shown(self) -> bool:
        return self.is_page and not self.location


@dataclass(eq=False)
class LivePage:
    """
    Args:
        way: what requests for further turns of this page have in common.
        most: bytes that it may be, and may load until it is shown.

    Attributes:
        turns: how many were made.
        acted: when the server was last asked for something on purpose.
        latency: how long it took to answer.
        document: what it said of the page that is shown, or, while ``loading``, of the one that is asked for.
        shown: whether there is a page to see.
        refused: where a turn led that it may not lead.
        failure: why the page is not worth anything any more.
        clicked: the button that turned the page last: it may be called something else by now.
        lacking: what its scripts asked for and did not get, through no fault of their own, and what came instead.
    """

    page: Page
    url: str
    way: str
    guard: Guard
    most: int
    turns: int = 0
    acted: float = 0.0
    latency: float = 0.0
    document: Document | None = None
    failure: Exception | None = None
    refused: Exception | None = None
    shown: bool = False
    loading: bool = True
    received: int = 0
    pending: set[BrowserRequest] = field(default_factory=set)
    lacking: dict[tuple[str, str], Document | Exception] = field(default_factory=dict)
    closing: asyncio.Task[None] | None = None
    clicked: ElementHandle | None = None

    @property
    def is_good(self) -> bool:
        """Whether the server says that this is the page, and no error."""
        return self.document is not None and self.document.status < 400

    async def watch(self) -> None:
        """Sees to it that nothing is asked for that may not be."""
        await self.page.route("**", self._route)
        self.page.on("request", self._begins)
        self.page.on("response", self._hears)
        self.page.on("requestfinished", self._ends)
        self.page.on("requestfailed", self._fails)
        self.page.on("crash", self._crashes)
        self.page.on("popup", self._shut)
        session = await self.page.context.new_cdp_session(self.page)
        frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        session.on("Fetch.requestPaused", lambda event: self._answers(session, frame, event))
        session.on("Network.dataReceived", self._comes)
        patterns = [{"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"}]
        await session.send("Fetch.enable", {"patterns": patterns})
        await session.send("Network.enable")

    async def load(self, seconds: float) -> None:
        """
        Raises:
            Error: it can't be loaded, and the server did not say why.
        """
        self.acted = monotonic()
        try:
            await self.page.goto(self.url, wait_until="domcontentloaded", timeout=seconds * 1000)
            self.shown = True
        except Error as error:
            if "interrupted by another navigation" in error.message:
                await self.page.wait_for_load_state("domcontentloaded", timeout=seconds * 1000)
                self.shown = True
            elif self.document is None or (self.document.is_shown and self.document.status < 400):
                raise
        self.latency = monotonic() - self.acted
        self.loading, self.refused = False, None

    # What the page asks for

    async def _route(self, route: Route, asked: BrowserRequest) -> None:
        """Redirects don't come by here: `_answers` sees those of pages, and names that are not pinned lead nowhere."""
        with suppress(Error):
            if self.guard.allows(asked.url, asked.resource_type):
                await route.fallback()
            else:
                if self._is_main(asked):
                    self._refuse(asked.url)
                await route.abort("aborted" if asked.is_navigation_request() else "blockedbyclient")

    def _refuse(self, url: str) -> None:
        try:
            self.guard.check(url)
        except (AnswerError, CannotResolveHostError) as error:
            self.refused = self.refused or error

    def _begins(self, asked: BrowserRequest) -> None:
        if asked.resource_type in _WATCHED:
            self.pending.add(asked)

    def _ends(self, asked: BrowserRequest) -> None:
        self.pending.discard(asked)

    def _fails(self, asked: BrowserRequest) -> None:
        """While it is loaded, the load itself says what went wrong, but for a page that broke off."""
        self.pending.discard(asked)
        error = of(f"{asked.failure} at {asked.url}")
        if _is_part(asked) and is_the_networks(asked.failure or ""):
            self._lacks(asked, error)
        told = self.loading or any(code in str(error) for code in _NO_FAILURES)
        if self._is_main(asked) and (isinstance(error, ResponseDataLossError) or not told):
            self._give_up(error)

    def _hears(self, answer: BrowserResponse) -> None:
        """A script that is told to come later shows what it has, as if there were no more; 404 may be the end."""
        if not _is_part(answer.request):
            return
        if answer.status == 429 or answer.status >= 500:
            self._lacks(answer.request, Document(answer.url, answer.status, list(answer.headers.items())))
        else:  # some scripts ask again themselves
            self.lacking.pop(_name(answer.request), None)

    def _lacks(self, asked: BrowserRequest, instead: Document | Exception) -> None:
        if len(self.lacking) < _MOST_LACKING:
            self.lacking[_name(asked)] = instead

    def waits(self) -> dict[str, str]:
        """What its scripts wait for: the addresses, by the same without their queries."""
        return {asked.url.partition("?")[0]: asked.url for asked in self.pending if _is_part(asked)}

    def _crashes(self, _: Any) -> None:
        self.failure = self.failure or DownloadFailedError("the page crashed the browser")

    async def _shut(self, window: Page) -> None:
        with suppress(Error):
            await window.close()

    def _is_main(self, asked: BrowserRequest) -> bool:
        return asked.is_navigation_request() and asked.frame.parent_frame is None

    @property
    def navigates(self) -> bool:
        return any(self._is_main(asked) for asked in self.pending)

    # What comes

    async def _answers(self, session: CDPSession, frame: str, event: dict[str, Any]) -> None:
        """Looks at the head of each page before the browser does."""
        said = [(one["name"], one["value"]) for one in event.get("responseHeaders", ())]
        found = Document(event["request"]["url"], event.get("responseStatusCode", 0), said)
        wanted = self._is_wanted if event["frameId"] == frame else self._may_lead
        goes_on = not found.status or wanted(found)
        verb = "Fetch.continueRequest" if goes_on else "Fetch.failRequest"
        reason = {} if goes_on else {"errorReason": "Aborted"}
        with suppress(Error):
            await session.send(verb, {"requestId": event["requestId"], **reason})

    def _is_wanted(self, found: Document) -> bool:
        """A redirect of what Scrapy asked for is Scrapy's; one that a turn leads to is followed, where it may be."""
        if self.loading:
            self.document = found
            return found.is_shown
        if not self._may_lead(found):
            self._refuse(found.leads_to)
            return False
        if found.is_shown:
            self.document = found
        return found.is_page or bool(found.location)

    def _may_lead(self, found: Document) -> bool:
        return not found.location or self.guard.allows(found.leads_to, "document")

    def _comes(self, event: dict[str, Any]) -> None:
        self.received += event["dataLength"]
        if self.received > self.most:
            self._give_up(DownloadCancelledError(f"the page loads more than {self.most} bytes"))

    def _give_up(self, error: Exception) -> None:
        """Closes the page, which ends whatever waits for it."""
        if self.failure is None:
            self.failure = error
            self.closing = asyncio.ensure_future(self.close())

    # When it rests

    async def state(self) -> State | None:
        """Its links and its text, as numbers; ``None`` while it is between two documents."""
        try:
            found = await self.page.evaluate(scripts.STATE)
        except Error:
            if self.failure or self.page.is_closed():
                raise
            return None
        return tuple(found) if isinstance(found, list) and len(found) == 4 else None

    async def settled(self, wait: float, before: State | None = None) -> bool:
        """Waits until the page has changed and come to rest; whether it has changed.

        Args:
            before: what it was; a page that has just been loaded has nothing to differ from.
        """
        begun, links, text = monotonic(), 0, 0  # looks without a change: while the machine is busy, nothing is at rest
        last: State | None = None
        while True:
            state = await self.state()
            links = links + 1 if _links(state) == _links(last) else 0
            text = text + 1 if state == last else 0
            last = state
            changed = before is None or (state is not None and state != before)
            if changed and state and not self.pending and _rests(state, before, links * LOOK, text * LOOK):
                return True
            if monotonic() - begun > wait and not self.navigates:
                return changed
            if self.lacking and not self.pending and text * LOOK >= QUIET_CLOCK:
                return changed
            await asyncio.sleep(LOOK)

    # What it shows

    async def html(self) -> str:
        """
        Raises:
            DownloadCancelledError: it is larger than it may be.
        """
        html = await self.page.evaluate(scripts.HTML, self.most)
        if not isinstance(html, str) or len(html) > self.most:
            raise DownloadCancelledError(f"the page is larger than {self.most} characters")
        return html

    async def close(self) -> None:
        with suppress(Error, TimeoutError):
            await asyncio.wait_for(self.page.close(), _CLOSE)


def _is_part(asked: BrowserRequest) -> bool:
    """Whether it is for the page itself, and not for a frame in it or a worker beside it."""
    try:
        return asked.resource_type in _PARTS and asked.frame.parent_frame is None
    except Error:
        return False


def _name(asked: BrowserRequest) -> tuple[str, str]:
    return asked.method, asked.url


def _links(state: State | None) -> tuple[int, ...]:
    return state[:2] if state else ()


def _rests(state: State, before: State | None, links: float, text: float) -> bool:
    """Whether so many seconds without a change are enough."""
    if before is None:
        return text >= QUIET or links >= QUIET_CLOCK
    if _links(state) == _links(before):
        return text >= QUIET_TEXT
    return links >= (QUIET if state[1] >= before[1] else QUIET_TEXT)  # a list that is emptied is filled again
