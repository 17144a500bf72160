"""What comes when a file is asked for: the file, a page, an exception, nothing, a failure."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DownloadConnectionRefusedError
from scrapy.spidermiddlewares.httperror import HttpError

from crawlers.archive import findings
from crawlers.archive.content import look
from crawlers.archive.download import FileResponse
from crawlers.archive.looks import NOT_TRUSTED, Asked, header, leaves_a_capture, redirects, subjects_of
from crawlers.archive.names import file_name
from crawlers.archive.stated import ADDRESS
from crawlers.archive.targets import requestable
from crawlers.components.connections import UntrustedCertificate
from crawlers.components.politeness import failures
from crawlers.exceptions import AnswerError
from crawlers.safety.redact import redact
from crawlers.safety.resolver import ImpossibleHostError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlers.archive.spider import ArchiveSpider
    from crawlers.items import Capture


_ACCEPTED = 202
_ANSWERS = (UntrustedCertificate, DownloadConnectionRefusedError)  # failures that a host has answered with


class Files:
    """Handles the answers to requests for files, for a spider."""

    def __init__(self, spider: ArchiveSpider) -> None:
        self.spider = spider
        self.looks = spider.looks

    @leaves_a_capture
    async def parse(self, response: Response, asked: Asked) -> AsyncIterator[Any]:
        """Yield the captures of a file, or of a page, and the requests for the data that the page links."""
        self.spider.is_online = True
        if response.status == 304:
            found: Any = await self._not_modified(response, asked)
        elif response.status == _ACCEPTED:
            reason = "HTTP 202: the server has not made the file yet"
            found = self.looks.captures(asked, findings.CAUSES["unclear"], response, reason=reason)
        elif isinstance(response, FileResponse) and response.file is not None:
            found = await self._look_at(response, asked)
        else:
            found = self.looks.too_large(asked, response, self.spider.max_size)
        for one in found:
            yield one

    async def _not_modified(self, response: Response, asked: Asked) -> Iterable[Request | Capture]:
        held = self.spider.requests.held(asked)
        if held is None or not _is_conditional(response):
            reason = "HTTP 304 to a request that was not conditional"
            return self.looks.captures(asked, findings.CAUSES["unclear"], response, reason=reason)
        try:
            blob = await asyncio.to_thread(self.spider.blobs.get, str(held.sha256))
        except OSError as error:
            reason = f"the store can't be asked: {error.strerror or error}"
            return self.looks.captures(asked, findings.CAUSES["disk"], response, reason=reason)
        if blob is None or blob.bytes != held.size or not _is_same_place(held, response):
            return [self.spider.requests.whole_file(asked)]
        return self.looks.not_modified(asked, response, held)

    async def _look_at(self, response: FileResponse, asked: Asked) -> Iterator[Any]:
        assert response.file is not None  # noqa: S101  # parse asks
        hint = file_name(response.url, header(response, "Content-Disposition"))
        declared, claimed = header(response, "Content-Type"), subjects_of(asked)[0].format
        content = look(response.head, response.file.size, declared, hint, claimed)
        seen = {"found_type": content.found_type, "extension": content.extension, "finding": content.finding}
        if content.verdict == "file" or (content.verdict == "page" and asked["request_type"] == ADDRESS):
            return self.looks.kept(asked, response, **seen)
        if content.verdict in ("page", "empty") and (request := self.spider.requests.refreshed(response, asked)):
            return iter([request])
        if content.verdict == "page":
            refusal = None if asked["origin"] else await self.spider.pages.refusal(response)
            return self.spider.pages.search(response, asked, refusal, seen)
        cause, reason = "empty", "the file has no bytes"
        if content.verdict == "exception":
            cause = findings.cause_of_exception(content.detail or "")
            reason = f"an exception came instead of the file: {content.detail}"
        return self.looks.captures(asked, findings.CAUSES[cause], response, reason=reason, **seen)

    @leaves_a_capture
    def parse_form(self, response: Response, asked: Asked) -> Iterator[Request | Capture]:
        """Yield the request that the form before a file makes."""
        self.spider.is_online = True
        rule = self.spider.forms.rule(requestable(subjects_of(asked)[0].url))
        assert rule is not None  # noqa: S101  # the first request was for its page
        try:
            method, url, body, content_type = rule.request(response)
        except AnswerError as error:
            yield from self.looks.captures(asked, findings.CAUSES["form"], response, reason=str(error))
            return
        headers = {"Content-Type": content_type} if content_type else {}
        yield self.spider.requests.make(
            url, asked, self.parse, method=method, headers=headers, body=body, after=response
        )

    async def failed(self, failure: Failure) -> AsyncIterator[Request | Capture]:
        """Yield another request for a file, if there is another way, or its captures; an errback."""
        async for one in self._failed(failure, failures.request(failure).cb_kwargs["asked"]):
            yield one

    @leaves_a_capture
    async def _failed(self, failure: Failure, asked: Asked) -> AsyncIterator[Request | Capture]:
        request, status = failures.request(failure), failures.status(failure)
        self.spider.is_online |= status is not None or isinstance(failure.value, _ANSWERS)
        error = failures.from_failure(failure)
        another = self.spider.requests.another(request, asked, error.kind, status)
        if not another and error.kind in findings.OFFLINE and not isinstance(error, ImpossibleHostError):
            await self.spider.any_answer()
        for one in another or self._lost(error, failure, asked):
            yield one

    def _lost(self, error: AnswerError, failure: Failure, asked: Asked) -> Iterator[Capture]:
        request, status, reason = failures.request(failure), failures.status(failure), redact(str(error))
        response = failure.value.response if isinstance(failure.value, HttpError) else None
        if status is not None and 300 <= status < 400:
            reason = f"it redirects to nothing that can be asked: {reason}"
        cause = findings.cause(error.kind, status, is_online=self.spider.is_online, reason=reason)
        if isinstance(error, ImpossibleHostError):
            cause = "denied"
            reason = f"it redirects to nothing that can be asked: {reason}"
        given = {"reason": reason, "redirects": redirects(request, request.url)}
        given |= {"error": error.kind} if cause == "other" else {}
        if isinstance(failure.value, UntrustedCertificate):
            given |= {"finding": NOT_TRUSTED, "reason": f"{reason}; or except its host by ARCHIVE_VERIFY_HTTPS_EXCEPT"}
        yield from self.looks.captures(asked, findings.CAUSES[cause], response, **given)


def _is_conditional(response: Response) -> bool:
    """Return whether the request of an answer had conditions: some servers answer 304 to anybody."""
    sent = response.request.headers if response.request else {}
    return "If-None-Match" in sent or "If-Modified-Since" in sent


def _is_same_place(held: Capture, response: Response) -> bool:
    """Return whether an answer comes from where the held file came from: a redirect may lead elsewhere now."""
    now = redirects(response.request, response.url)
    return [redact(url) for url in now[-1:]] == held.redirects[-1:]
