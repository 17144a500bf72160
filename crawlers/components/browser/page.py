"""A page that is open in the browser: how it is loaded, when it has come to rest, and what it shows."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urljoin

from playwright.async_api import Error
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)
from scrapy.http import Headers

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, ElementHandle, Page, Route
    from playwright.async_api import Request as BrowserRequest
    from playwright.async_api import Response as BrowserResponse

    from crawlers.components.browser.guard import Guard


# Failures, as the exceptions that Scrapy's retries and `crawlers.components.politeness.failures` know

_KNOWN: tuple[tuple[str, type[Exception]], ...] = (
    ("ERR_NAME_NOT_RESOLVED", CannotResolveHostError),
    ("ERR_CONNECTION_REFUSED", DownloadConnectionRefusedError),
    ("ERR_TIMED_OUT", DownloadTimeoutError),
    ("ERR_CONNECTION_TIMED_OUT", DownloadTimeoutError),
    ("ERR_CONTENT_LENGTH_MISMATCH", ResponseDataLossError),
    ("ERR_INCOMPLETE_CHUNKED_ENCODING", ResponseDataLossError),
)
"""https://source.chromium.org/chromium/chromium/src/+/main:net/base/net_error_list.h"""


_NOT_NETWORK = (
    *("ERR_ABORTED", "ERR_BLOCKED_BY", "ERR_NAME_NOT_RESOLVED", "ERR_FILE_NOT_FOUND", "ERR_INVALID_URL"),
    *("ERR_UNKNOWN_URL_SCHEME", "ERR_DISALLOWED_URL_SCHEME", "ERR_UNSAFE_PORT", "ERR_TOO_MANY_REDIRECTS"),
)
"""Failures that the guard or the page itself causes: only names that are pinned are resolved."""


def is_network_failure(failure: str) -> bool:
    """Return whether the network failed, not the guard or the page, so that a retry may succeed.

    >>> is_network_failure("net::ERR_CONNECTION_RESET"), is_network_failure("net::ERR_BLOCKED_BY_CLIENT")
    (True, False)
    """
    return failure.startswith("net::") and not failure.removeprefix("net::").startswith(_NOT_NETWORK)


def from_message(message: str) -> Exception:
    r"""Return the exception for what Playwright reports of a failed load.

    >>> from_message("Page.goto: net::ERR_CONNECTION_REFUSED at http://x/\nCall log: ...")
    DownloadConnectionRefusedError('net::ERR_CONNECTION_REFUSED at http://x/')
    >>> from_message("Page.content: Target crashed")
    DownloadFailedError('Target crashed')
    """
    first = message.strip().partition("\n")[0].removeprefix("Error: ")
    head, _, rest = first.partition(": ")
    sentence = rest if "." in head and " " not in head else first
    for code, exception in _KNOWN:
        if f"net::{code}" in sentence:
            return exception(sentence)
    return DownloadFailedError(sentence)


_REDIRECTS = (301, 302, 303, 307, 308)
_HTML = ("text/html", "application/xhtml+xml")
_DROPPED = {
    *(b"Content-Encoding", b"Content-Length", b"Transfer-Encoding", b"Etag", b"Last-Modified"),
    *(b"Page-Turns", b"Page-End", b"Page-Idle"),
}
"""Headers that describe the page as it was sent, which is not the page as it is shown; and the browser's own."""


@dataclass(frozen=True, slots=True)
class Document:
    """The head of an answer."""

    url: str
    status: int
    headers: list[tuple[str, str]]

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key.lower() == name), "")

    @property
    def location(self) -> str:
        """Where a redirect leads, as the server writes it; "" if the answer does not redirect."""
        return self.header("location") if self.status in _REDIRECTS else ""

    @property
    def leads_to(self) -> str:
        return urljoin(self.url, self.location)

    @property
    def is_page(self) -> bool:
        kind = self.header("content-type").partition(";")[0].strip().lower()
        attached = self.header("content-disposition").lower().startswith("attachment")
        return self.status not in (204, 205, 304) and (not kind or kind in _HTML) and not attached

    @property
    def is_shown(self) -> bool:
        return self.is_page and not self.location

    def scrapy_headers(self, turns: int, end: End | None, idle: int = 0) -> Headers:
        """Return the headers of Scrapy's response."""
        headers = Headers()
        for name, value in self.headers:
            headers.appendlist(name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
        for dropped in _DROPPED:
            headers.pop(dropped, None)
        if self.location:
            headers["Location"] = self.leads_to
        headers["Page-Turns"] = str(turns)
        if end:
            headers["Page-End"] = end
        if idle:
            headers["Page-Idle"] = str(idle)
        return headers


_CLOSE = 10.0
_NO_FAILURES = ("ERR_ABORTED", "ERR_HTTP_RESPONSE_CODE_FAILURE")  # of a page: a turn led to another; an empty answer
_WATCHED = ("document", "script", "xhr", "fetch", "stylesheet")
_PARTS = ("script", "xhr", "fetch")  # what a list is made of
_MOST_LACKING = 100


class Gate:
    """Decides where a page may lead, and reads the head of each document before the browser does.

    Attributes:
        document: what the server answered for the page that is shown, or, while ``loading``, for the requested one.
        loading: whether the page is being loaded, and was not turned yet.
        refused: why a turn was not allowed to lead where it did.
    """

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.document: Document | None = None
        self.refused: Exception | None = None
        self.loading = True

    async def watch(self, page: Page, session: CDPSession) -> None:
        await page.route("**", self._route)
        frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        session.on("Fetch.requestPaused", lambda event: self._read_head(session, frame, event))
        patterns = [{"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"}]
        await session.send("Fetch.enable", {"patterns": patterns})

    async def _route(self, route: Route, request: BrowserRequest) -> None:
        """Abort what is not allowed.

        Redirects do not pass here: `_read_head` sees those of pages, and names that are not pinned lead nowhere.
        """
        with suppress(Error):
            if self.guard.allows(request.url, request.resource_type):
                await route.fallback()
            else:
                if is_main(request):
                    self._refuse(request.url)
                await route.abort("aborted" if request.is_navigation_request() else "blockedbyclient")

    def _refuse(self, url: str) -> None:
        try:
            self.guard.check(url)
        except (AnswerError, CannotResolveHostError) as error:
            self.refused = self.refused or error

    async def _read_head(self, session: CDPSession, frame: str, event: dict[str, Any]) -> None:
        headers = [(header["name"], header["value"]) for header in event.get("responseHeaders", ())]
        found = Document(event["request"]["url"], event.get("responseStatusCode", 0), headers)
        is_wanted = self._is_wanted if event["frameId"] == frame else self._may_lead
        goes_on = not found.status or is_wanted(found)
        verb = "Fetch.continueRequest" if goes_on else "Fetch.failRequest"
        reason = {} if goes_on else {"errorReason": "Aborted"}
        with suppress(Error):
            await session.send(verb, {"requestId": event["requestId"], **reason})

    def _is_wanted(self, found: Document) -> bool:
        """Return whether the browser may load a document.

        A redirect of what Scrapy requested is left to Scrapy; one that a turn leads to is followed where it may lead.
        """
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


class Traffic:
    """Watches what a page requests: what is pending, what failed, how much came.

    Attributes:
        failure: why the page is of no use any more.
        errors: how many requests of its scripts were refused or failed, whatever the fault.
        lacking: what its scripts requested and did not get, through no fault of their own, and what came instead.
    """

    def __init__(self, page: Page, gate: Gate, max_bytes: int) -> None:
        self.page = page
        self.gate = gate
        self.max_bytes = max_bytes
        self.received = self.errors = 0
        self.pending: set[BrowserRequest] = set()
        self.lacking: dict[tuple[str, str], Document | Exception] = {}
        self.failure: Exception | None = None
        self.closing: asyncio.Task[None] | None = None

    async def watch(self, session: CDPSession) -> None:
        self.page.on("request", self._requested)
        self.page.on("response", self._answered)
        self.page.on("requestfinished", self._finished)
        self.page.on("requestfailed", self._failed)
        self.page.on("crash", self._crashed)
        self.page.on("popup", _close_window)
        session.on("Network.dataReceived", self._received)
        await session.send("Network.enable")

    def _requested(self, request: BrowserRequest) -> None:
        if request.resource_type in _WATCHED:
            self.pending.add(request)

    def _finished(self, request: BrowserRequest) -> None:
        self.pending.discard(request)

    def _failed(self, request: BrowserRequest) -> None:
        """Record a failed request; while the page is loaded, the load itself reports it, unless the page broke off."""
        self.pending.discard(request)
        error = from_message(f"{request.failure} at {request.url}")
        if is_part(request) and is_network_failure(request.failure or ""):
            self.errors += 1
            self._record_lacking(request, error)
        is_reported = self.gate.loading or any(code in str(error) for code in _NO_FAILURES)
        if is_main(request) and (isinstance(error, ResponseDataLossError) or not is_reported):
            self._give_up(error)

    def _answered(self, answer: BrowserResponse) -> None:
        """Record an error answer: the script may show what it has as if that were all. 404 may be the end."""
        if not is_part(answer.request):
            return
        self.errors += answer.status >= 400
        if answer.status == 429 or answer.status >= 500:
            instead = Document(answer.url, answer.status, list(answer.headers.items()))
            self._record_lacking(answer.request, instead)
        else:  # some scripts retry themselves
            self.lacking.pop(_name(answer.request), None)

    def _record_lacking(self, request: BrowserRequest, instead: Document | Exception) -> None:
        if len(self.lacking) < _MOST_LACKING:
            self.lacking[_name(request)] = instead

    def awaited(self) -> dict[str, str]:
        """Return the addresses that the page's scripts wait for, by the same without their queries."""
        return {request.url.partition("?")[0]: request.url for request in self.pending if is_part(request)}

    @property
    def is_navigating(self) -> bool:
        return any(is_main(request) for request in self.pending)

    def _crashed(self, _: Any) -> None:
        self.failure = self.failure or DownloadFailedError("the page crashed the browser")

    def _received(self, event: dict[str, Any]) -> None:
        self.received += event["dataLength"]
        if self.received > self.max_bytes:
            self._give_up(DownloadCancelledError(f"the page loads more than {self.max_bytes} bytes"))

    def _give_up(self, error: Exception) -> None:
        """Close the page, which ends whatever waits for it."""
        if self.failure is None:
            self.failure = error
            self.closing = asyncio.ensure_future(close(self.page))


async def close(page: Page) -> None:
    with suppress(Error, TimeoutError):
        await asyncio.wait_for(page.close(), _CLOSE)


async def _close_window(window: Page) -> None:
    with suppress(Error):
        await window.close()


def is_main(request: BrowserRequest) -> bool:
    """Return whether a request is for the page itself, not for a part of it or a frame."""
    return request.is_navigation_request() and request.frame.parent_frame is None


def is_part(request: BrowserRequest) -> bool:
    """Return whether the page's own scripts made a request, not a frame in it or a worker beside it."""
    try:
        return request.resource_type in _PARTS and request.frame.parent_frame is None
    except Error:
        return False


def _name(request: BrowserRequest) -> tuple[str, str]:
    return request.method, request.url


End = Literal["gone", "disabled", "unchanged", "false"]
"""Why a page has no further one."""

_OBJECT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
SCRIPTS = {name: f"given => {_OBJECT}.{name}(given)" for name in ("state", "html", "find", "scroll")}
"""What Playwright evaluates in a page: the functions of page.js."""

QUIET = 0.3  # seconds without a change after which a page has come to rest
QUIET_TEXT = 1.0  # the same where no link has changed: "Loading ..." is text
QUIET_CLOCK = 2.0  # the same on a page whose text never rests
LOOK = 0.1

State = tuple[int, int, int, int]


class LivePage:
    """
    Args:
        way: what requests for further turns of this page have in common.
        max_bytes: bytes that it may be, and may load until it is shown.

    Attributes:
        acted: when the server was last asked for something on purpose.
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
            found = await self.page.evaluate(SCRIPTS["state"])
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
        html = await self.page.evaluate(SCRIPTS["html"], self.max_bytes)
        if not isinstance(html, str) or len(html) > self.max_bytes:
            raise DownloadCancelledError(f"the page is larger than {self.max_bytes} characters")
        return html

    async def close(self) -> None:
        await close(self.page)


def _links(state: State | None) -> tuple[int, ...]:
    return state[:2] if state else ()


def _rests(state: State, before: State | None, links: float, text: float) -> bool:
    if before is None:
        return text >= QUIET or links >= QUIET_CLOCK
    if _links(state) == _links(before):
        return text >= QUIET_TEXT
    return links >= (QUIET if state[1] >= before[1] else QUIET_TEXT)  # a list that is emptied is filled again
