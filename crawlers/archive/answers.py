"""What comes when an address is asked for: a file, a page, an exception, capabilities, nothing, a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.exceptions import DownloadConnectionRefusedError
from scrapy.spidermiddlewares.httperror import HttpError
from w3lib.encoding import http_content_type_encoding
from w3lib.url import canonicalize_url

from crawlers.archive import findings
from crawlers.archive.content import is_page_promised, look
from crawlers.archive.download import FileResponse
from crawlers.archive.links import data_links
from crawlers.archive.looks import (
    NOT_TRUSTED,
    Asked,
    asked_about,
    header,
    leaves_a_capture,
    length,
    redirects,
    subjects_of,
)
from crawlers.archive.names import file_name
from crawlers.archive.requests import api_of
from crawlers.archive.services import exception, is_capabilities, service
from crawlers.archive.targets import ANY, AddressError, requestable
from crawlers.components.connections import UntrustedCertificate
from crawlers.components.politeness import failures
from crawlers.components.politeness.robots import Robots
from crawlers.exceptions import AnswerError
from crawlers.safety.redact import redact, without_logins
from crawlers.safety.resolver import ImpossibleHostError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.archive.requests import ArchiveCrawl, Requests
    from crawlers.items import Capture

_ACCEPTED = 202
_ANSWERS = (UntrustedCertificate, DownloadConnectionRefusedError)  # failures that a host has answered with
_LARGEST = 10 * 1024 * 1024  # bytes of a page that are searched
_NO_HEAD = ("http", "connection", "truncated", "timeout")
"""How servers that have the file fail at HEAD: with any status, or by closing the connection."""


class Answers:
    """Handles the answers to an archive's requests, and their failures."""

    def __init__(self, crawl: ArchiveCrawl, requests: Requests) -> None:
        self.crawl = crawl
        self.looks = crawl.looks
        self.requests = requests

    @leaves_a_capture
    async def file(self, response: Response, asked: Asked) -> AsyncIterator[Any]:
        """Yield the captures of a file, or of a page, and the requests for the data that the page links."""
        self.crawl.is_online = True
        if response.status == 304:
            found: Any = await self._not_modified(response, asked)
        elif response.status == _ACCEPTED:
            reason = "HTTP 202: the server has not made the file yet"
            found = self.looks.captures(asked, findings.CAUSES["unclear"], response, reason=reason)
        elif isinstance(response, FileResponse) and response.file is not None:
            found = await self._look_at(response, asked)
        else:
            found = self.looks.too_large(asked, response, self.crawl.max_size)
        for one in found:
            yield one

    async def _not_modified(self, response: Response, asked: Asked) -> Iterable[Request | Capture]:
        held = self.requests.held(asked)
        if held is None or not _is_conditional(response):
            reason = "HTTP 304 to a request that was not conditional"
            return self.looks.captures(asked, findings.CAUSES["unclear"], response, reason=reason)
        try:
            blob = await self.crawl.blobs.find(str(held.sha256))
        except OSError as error:
            reason = f"the store can't be asked: {error.strerror or error}"
            return self.looks.captures(asked, findings.CAUSES["disk"], response, reason=reason)
        if blob is None or blob.bytes != held.size or not _is_same_place(held, response):
            return [self.requests.whole_file(asked)]
        return self.looks.not_modified(asked, response, held)

    async def _look_at(self, response: FileResponse, asked: Asked) -> Iterator[Any]:
        assert response.file is not None  # noqa: S101  # parse asks
        hint = file_name(response.url, header(response, "Content-Disposition"))
        declared, claimed = header(response, "Content-Type"), subjects_of(asked)[0].format
        content = look(response.head, response.file.size, declared, hint, claimed)
        seen = {"found_type": content.found_type, "extension": content.extension, "finding": content.finding}
        if content.verdict == "file" or (content.verdict == "page" and asked["request_type"] == ANY):
            return self.looks.kept(asked, response, **seen)
        if content.verdict in ("page", "empty") and (request := self.requests.refreshed(response, asked)):
            return iter([request])
        if content.verdict == "page":
            refusal = None if asked["origin"] else await self._refusal(response)
            return self._search(response, asked, refusal, seen)
        cause, reason = "empty", "the file has no bytes"
        if content.verdict == "exception":
            cause = findings.cause_of_exception(content.detail or "")
            reason = f"an exception came instead of the file: {content.detail}"
        return self.looks.captures(asked, findings.CAUSES[cause], response, reason=reason, **seen)

    @leaves_a_capture
    def form(self, response: Response, asked: Asked) -> Iterator[Request | Capture]:
        """Yield the request that the form before a file makes."""
        self.crawl.is_online = True
        rule = self.crawl.forms.rule(requestable(subjects_of(asked)[0].url))
        assert rule is not None  # noqa: S101  # the first request was for its page
        try:
            method, url, body, content_type = rule.request(response)
        except AnswerError as error:
            yield from self.looks.captures(asked, findings.CAUSES["form"], response, reason=str(error))
            return
        headers = {"Content-Type": content_type} if content_type else {}
        yield self.requests.make(url, asked, self.file, method=method, headers=headers, body=body, after=response)

    async def failed(self, failure: Failure) -> AsyncIterator[Request | Capture]:
        """Yield another request for a file, if there is another way, or its captures; an errback."""
        async for one in self._failed(failure, failures.request(failure).cb_kwargs["asked"]):
            yield one

    @leaves_a_capture
    async def _failed(self, failure: Failure, asked: Asked) -> AsyncIterator[Request | Capture]:
        request, status = failures.request(failure), failures.status(failure)
        has_answered = status is not None or "redirect_urls" in request.meta or isinstance(failure.value, _ANSWERS)
        self.crawl.is_online |= has_answered
        error = failures.from_failure(failure)
        another = self.requests.another(request, asked, error.kind, status)
        if not another and error.kind in findings.OFFLINE and not isinstance(error, ImpossibleHostError):
            await self.crawl.any_answer()
        for one in another or self._lost(error, failure, asked):
            yield one

    def _lost(self, error: AnswerError, failure: Failure, asked: Asked) -> Iterator[Capture]:
        request, status, reason = failures.request(failure), failures.status(failure), redact(str(error))
        response = failure.value.response if isinstance(failure.value, HttpError) else None
        if status is not None and 300 <= status < 400:
            reason = f"it redirects to nothing that can be asked: {reason}"
        cause = findings.cause(error.kind, status, is_online=self.crawl.is_online, reason=reason)
        if isinstance(error, ImpossibleHostError):
            cause = "denied"
            reason = f"it redirects to nothing that can be asked: {reason}"
        given = {"reason": reason, "redirects": redirects(request, request.url)}
        given |= {"error": error.kind} if cause == "other" else {}
        if isinstance(failure.value, UntrustedCertificate):
            given |= {"finding": NOT_TRUSTED, "reason": f"{reason}; or except its host by ARCHIVE_VERIFY_HTTPS_EXCEPT"}
        yield from self.looks.captures(asked, findings.CAUSES[cause], response, **given)

    # Pages, which are searched for the data that they link

    async def _refusal(self, response: Response) -> str | None:
        """Return why robots.txt forbids to search a page; ``None`` if it does not."""
        robots = self.crawl.crawler.get_downloader_middleware(Robots)
        if robots is None or response.request is None:
            return None
        page = response.request.replace(url=response.url)
        rules = await robots.of_host(page)
        return rules.refusal(urlsplit(page.url).netloc, page.url, robots.agent(page))

    def _search(
        self, response: FileResponse, asked: Asked, refusal: str | None, seen: dict[str, Any]
    ) -> Iterator[Request | Capture]:
        """Yield the requests for the data that a page links, and the page's captures.

        Args:
            refusal: why it may not be searched.
            seen: fields of the captures.
        """
        links: list[str] = []
        if asked["origin"] is not None:
            reason = "an HTML page came instead of the file that another page links"
        elif refusal:
            reason = f"an HTML page came instead of a file, and it is not searched for links: {refusal}"
        else:
            known = {*map(canonicalize_url, (response.url, *_led_here(response, asked)))}
            try:
                links = [url for url in self._links(response) if canonicalize_url(url) not in known]
                reason = f"an HTML page came instead of a file; it links {len(links)} data files"
            except AnswerError as error:
                reason = f"an HTML page came instead of a file, and it is not searched for links: {error}"
        for url in links:
            yield from self._linked(url, response, asked)
        given = seen | {"reason": reason, "request_type": "page"}
        yield from self.looks.captures(asked, findings.CAUSES["page"], response, **given)

    def _links(self, response: FileResponse) -> list[str]:
        assert response.file is not None  # noqa: S101  # it was looked into
        with response.file.open() as file:
            body = file.read(_LARGEST)
        charset = http_content_type_encoding(header(response, "Content-Type"))
        return [without_logins(link.url) for link in data_links(body, response.url, charset, self.crawl.links_per_page)]

    def _linked(self, url: str, page: Response, asked: Asked) -> Iterator[Request | Capture]:
        subjects = (subject._replace(url=url, format=None) for subject in subjects_of(asked))
        due = [subject for subject in subjects if self.crawl.is_due(subject, f"{subject.resource_id} {url}")]
        if due:
            linked = asked_about(due, page.url)
            try:
                yield self.requests.file(url, linked, page)
            except AddressError as error:
                yield from self.looks.unasked(linked, error)

    # APIs, which are not dumped: their capabilities are kept, and say whether the service is alive

    @leaves_a_capture
    def capabilities(self, response: Response, asked: Asked, attempt: int) -> Iterator[Request | Capture]:
        """Yield the captures of an API's capabilities, or the next request for them."""
        self.crawl.is_online = True
        api, looks = api_of(asked), self.looks
        head = response.head if isinstance(response, FileResponse) else b""
        if isinstance(response, FileResponse) and response.file is not None and is_capabilities(api, head):
            yield from looks.kept(asked, response, found_type=header(response, "Content-Type"))
        elif attempt + 1 < len(api.addresses):
            yield self.requests.capabilities(api, asked, attempt + 1)
        else:
            said = exception(head)
            reason = f"the API answered with an exception: {said}" if said else "the API gives no capabilities"
            cause = findings.cause_of_exception(said or "")
            yield from looks.captures(asked, findings.CAUSES[cause], response, reason=reason)

    # Link checks

    @leaves_a_capture
    def check(self, response: Response, asked: Asked) -> Iterator[Request | Capture]:
        """Yield the captures of a link, as the answer's headers say: some servers give no length to HEAD but 0."""
        self.crawl.is_online = True
        declared = getattr(response, "declared_size", None)
        size = length(response) if declared is None else declared
        cause, reason = self._checked(response, asked, size)
        if cause == "empty" and response.request is not None and response.request.method == "HEAD":
            yield from self.one_byte(asked, "http")
        else:
            given = {"size": size, "reason": reason}
            yield from self.looks.captures(asked, findings.CAUSES[cause], response, **given)

    def _checked(self, response: Response, asked: Asked, size: int | None) -> tuple[str, str | None]:
        subject = subjects_of(asked)[0]
        hint = file_name(response.url, header(response, "Content-Disposition"))
        if response.status in (202, 304):
            return "unclear", f"HTTP {response.status} says nothing of the file"
        if size == 0 or response.status in (204, 205):
            return "empty", "the headers say that the file has no bytes"
        is_page = is_page_promised(header(response, "Content-Type"), hint, subject.format)
        if is_page and not (header(response, "Refresh") or service(response.url, subject.format)):  # APIs show pages
            return "page", "the headers say that it is an HTML page instead of a file"
        return "alive", None

    def one_byte(self, asked: Asked, kind: str) -> list[Request]:
        """Return the request for one byte of a file whose server refused HEAD."""
        if kind not in _NO_HEAD:
            return []
        url, ranged = requestable(subjects_of(asked)[0].url), {"Range": "bytes=0-0"}
        return [self.requests.make(url, asked, self.check, headers=ranged, max_size=1)]


def _led_here(response: Response, asked: Asked) -> list[str]:
    """Return the addresses that led to a page: many pages link the file that they stand for."""
    before = response.request.meta.get("redirect_urls", []) if response.request else []
    return [*before, *(subject.url for subject in subjects_of(asked))]


def _is_conditional(response: Response) -> bool:
    """Return whether the request of an answer had conditions: some servers answer 304 to anybody."""
    sent = response.request.headers if response.request else {}
    return "If-None-Match" in sent or "If-Modified-Since" in sent


def _is_same_place(held: Capture, response: Response) -> bool:
    """Return whether an answer comes from where the held file came from: a redirect may lead elsewhere now."""
    now = redirects(response.request, response.url)
    return [redact(url) for url in now[-1:]] == held.redirects[-1:]
