"""What a page requests from the server, where it may lead, and what comes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from playwright.async_api import Error
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadFailedError,
    ResponseDataLossError,
)

from crawlers.components.browser.document import Document
from crawlers.components.browser.errors import from_message, is_network_failure
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page, Route
    from playwright.async_api import Request as BrowserRequest
    from playwright.async_api import Response as BrowserResponse

    from crawlers.components.browser.guard import Guard

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

    Args:
        max_bytes: bytes that the page may load.

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
