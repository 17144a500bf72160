"""The download of an archive's files: straight to disk, hashed as they come, resumed where they were cut.

A file of any size takes the memory of one network packet. DOWNLOAD_TIMEOUT holds for each MiB, so a server that drips
is given up, and a file of ARCHIVE_MAX_SIZE has at most that many times DOWNLOAD_TIMEOUT.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast
from urllib.parse import urldefrag, urlsplit

from scrapy.exceptions import CloseSpider, IgnoreRequest, ResponseDataLossError
from scrapy.http import Response
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.threads import deferToThread

from crawlers import signals
from crawlers.archive import cookies
from crawlers.archive.partial import DiskFullError, DownloadedFile, Partial, Version, version
from crawlers.components.connections import ExplainedTrust, explained
from crawlers.components.content_encoding import GZIP, Encoding, NotUnpacked
from crawlers.components.scrapy_internals import abort, transport, wrap_twisted_exceptions
from crawlers.components.spool import Body, DiskResponse, Limits, SpoolingAgent, SpoolingHandler, TooLarge, say_unpacked
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import NoReturn

    from scrapy import Request
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure
    from twisted.web.client import Response as TxResponse

    from crawlers.components.scrapy_internals import Result

logger = logging.getLogger(__name__)

UNTRUSTED = "untrusted_certificate"
"""Where a request's meta says what is wrong with a certificate of its chain that was accepted."""
RANGE = "range"
"""Where a request's meta has the headers that asked for the rest of a cut file."""
_PACKED = re.compile(r"\.(?:gz|gzip|tgz|svgz|z|zst|zstd|tzst|br|bz2|tbz2?|xz|txz|lz4|lzma)", re.IGNORECASE)
_PACKED_TYPES = (b"application/gzip", b"application/x-gzip", b"application/zstd", b"application/x-bzip2")
_ERROR_LIMITS = Limits(above=1024 * 1024, most=1024 * 1024, folder=None)  # of an answer that is not 2xx
_CONTENT_RANGE = re.compile(r"bytes\s+(\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.IGNORECASE)


class FileResponse(DiskResponse):
    """An answer to a request with ``archive`` in its meta, of a 2xx status: its ``body`` is empty.

    A download that was resumed has the flag ``resumed`` and the headers of its last part, but for its length: it is
    whole, so its status is 200.

    Args:
        file: the whole body, without content encodings; ``None`` if it is too large: the flag is then ``too_large``.
        declared_size: its bytes as the server declares them, with content encodings; ``None`` if it does not.
        received: the bytes that came, with content encodings.

    Attributes:
        head: the first 64 KiB of the file.
    """

    attributes: tuple[str, ...] = (*Response.attributes, "file", "declared_size", "received")

    def __init__(
        self,
        *arguments: Any,
        file: DownloadedFile | None,
        declared_size: int | None,
        received: int,
        **keywords: Any,
    ) -> None:
        super().__init__(*arguments, **keywords)
        self.file, self.declared_size, self.received = file, declared_size, received
        self.head = file.head if file else b""

    @classmethod
    def from_response(cls, response: Response, **added: Any) -> Self:
        """Return the same answer, with its body in a file."""
        known = {name: getattr(response, name) for name in Response.attributes}
        return cls(**known | {"body": b""} | added)


class WrongRangeError(AnswerError, ResponseDataLossError):
    """The server has sent another part of the file than the rest or the whole; raised by the handler, and retried.

    The next request asks for the whole file.

    Args:
        sentence: what came instead.
    """

    def __init__(self, sentence: str) -> None:
        super().__init__("truncated", sentence)


class FileBody(Body):
    """What Scrapy's reader writes into: the file, and with it the hashes."""

    def __init__(self, limits: Limits, encodings: Sequence[bytes], partial: Partial) -> None:
        super().__init__(limits, encodings)
        self.size = partial.size
        self._write = partial.write
        self._is_gzip = list(encodings) == [b"gzip"]

    def write(self, data: bytes) -> None:
        """Take what is called gzip, and does not begin so, for what it is: such servers send the file itself."""
        if self._is_gzip and not self.received and not GZIP.startswith(data[: len(GZIP)]):
            self._encoding = Encoding([])
        super().write(data)

    def _keep(self, part: bytes) -> None:
        self._write(part)


class ArchiveAgent(SpoolingAgent):
    """Writes the body of an answer that succeeds into a file.

    Args:
        partial: the file, with the bytes that are there already.
    """

    stride: ClassVar[int] = 1024 * 1024

    def __init__(self, limits: Limits, partial: Partial, **keywords: Any) -> None:
        super().__init__(limits, unpack=True, **keywords)
        self._partial = partial
        self._range: dict[str, str] = {}
        self._is_part_wanted = False
        self._answer: TxResponse | None = None
        self._declared: int | None = None

    def download_request(self, request: Request) -> Deferred[Response]:
        """Ask for the rest of a cut file; the request itself stays as it is, for a retry has another rest."""
        self._is_part_wanted = "Range" in request.headers
        if self._partial.version:
            self._range = {"Range": f"bytes={self._partial.size}-", "If-Range": self._partial.version.validator}
        request.meta[RANGE] = self._range
        request.headers.update(self._range)
        try:
            answer = super().download_request(request)
        finally:
            for name in self._range:
                del request.headers[name]
        return answer.addErrback(self._without_body, request.url)

    def _cb_bodyready(self, txresponse: TxResponse, request: Request) -> Result | Deferred[Result]:
        self._answer = txresponse
        if self._range and txresponse.code == 416:
            self._partial.restart(None)
            abort(transport(txresponse))
            raise WrongRangeError("the cut download can't be resumed (HTTP 416)")
        if not 200 <= txresponse.code < 300:
            self._limit_error(txresponse)
        return super()._cb_bodyready(txresponse, request)

    def _limit_error(self, txresponse: TxResponse) -> None:
        """Keep no more of an error's page than shows what it is: hundreds of hosts are asked in parallel."""
        self._maxsize = self._warnsize = 0
        self.body = Body(_ERROR_LIMITS, self._encodings(txresponse))
        self._spool(txresponse, self.body, lambda: None)

    def _begun(self, txresponse: TxResponse, request: Request) -> Body:
        if _is_packed(txresponse, request.url):
            txresponse.headers.removeHeader(b"Content-Encoding")
        encodings = self._encodings(txresponse)
        headers = _headers(txresponse)
        if self._range and txresponse.code == 206:
            self._declared = self._continued(headers, encodings)
        else:
            self._declared = txresponse.length if isinstance(txresponse.length, int) else None
            if txresponse.code == 206 and not self._is_part_wanted:
                _refuse_part(headers)
            self._partial.restart(None if encodings else self._version(txresponse, request, headers))
        self._refuse_beyond(self._declared or 0)
        return FileBody(self._limits, encodings, self._partial)

    def _version(self, txresponse: TxResponse, request: Request, headers: dict[str, str]) -> Version | None:
        """Return what can be resumed, should it be cut; a part that the request asks for can't be."""
        if txresponse.code != 200 or request.method != "GET" or request.body or "Range" in request.headers:
            return None
        return version(self._partial.url, headers, self._declared)

    def _continued(self, headers: dict[str, str], encodings: list[bytes]) -> int | None:
        """Return the bytes of the whole file, if known, whose rest begins where ours was cut.

        Raises:
            WrongRangeError: it is another part, or a part of another version.
        """
        ours = cast("Version", self._partial.version)
        found = _CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
        if found and not encodings and _fits(found, headers, ours, self._partial.size):
            return ours.total if found[3] == "*" else int(found[3])
        self._partial.restart(None)
        raise WrongRangeError(f"the cut download can't be resumed ({_range_of(headers)})")

    def _cb_bodydone(self, result: Result, url: str) -> Response:
        if not isinstance(self.body, FileBody):
            return super()._cb_bodydone(result, url)
        is_whole = not result.get("stop_download") and "dataloss" not in (result.get("flags") or ())
        if is_whole:
            self._end(result["txresponse"])
        response = super(SpoolingAgent, self)._cb_bodydone(result, url)
        return self._response(response, self._partial.finish() if is_whole else None)

    def _end(self, txresponse: TxResponse) -> None:
        """
        Raises:
            NotUnpacked, ResponseDataLossError: something is missing at the end.
        """
        self.body.end()  # type: ignore[union-attr]
        if self._range and txresponse.code == 206 and self._partial.size != (self._declared or self._partial.size):
            raise ResponseDataLossError(f"{self._partial.size} of {self._declared} bytes came")
        if self._undoing:
            say_unpacked(txresponse, self._staying, self._partial.size)

    def _without_body(self, failure: Failure, url: str) -> Response:
        """Return the answer whose file is too large, or whose error can't be read: an errback."""
        is_error = self._answer is not None and not 200 <= self._answer.code < 300
        failure.trap(TooLarge, *([NotUnpacked] if is_error else []))  # type: ignore[no-untyped-call]
        result: Any = {"txresponse": self._answer, "flags": [] if is_error else ["too_large"]}
        response = super(SpoolingAgent, self)._cb_bodydone(result, url)
        if is_error:
            return response
        self._partial.restart(None)
        return self._response(response, None)

    def _response(self, response: Response, file: DownloadedFile | None) -> FileResponse:
        if response.status == 206 and file and not self._is_part_wanted:
            response = _as_whole(response, file.size)
            response.flags += ["resumed"] if self._range else []
        received = self.body.received if self.body else 0
        return FileResponse.from_response(response, file=file, declared_size=self._declared, received=received)


class ArchiveHandler(SpoolingHandler):
    """Scrapy's own; the file that a request with ``archive`` in its meta asks for comes as a `FileResponse`.

    ``meta["archive"]`` is ``{"scratch": "<folder>", "max_size": <bytes, 0 = no limit>}``. The request should send
    ``Accept-Encoding: identity``: a file that is packed on its way can't be resumed. Answers to HEAD and those of
    other statuses than 2xx are ordinary ones. A file that was cut stays in the folder, and the next request
    for the same address resumes it (`Partial`); `crawlers.archive.partial.sweep` removes old ones. A full disk stops
    the crawl. Of other statuses' bodies at most 1 MiB is taken: a larger one, or one that can't be unpacked, is empty.
    """

    is_disk_full = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if isinstance(self._contextFactory, ExplainedTrust):
            excepted = {one.strip().lower() for one in crawler.settings.getlist("ARCHIVE_VERIFY_HTTPS_EXCEPT")}
            is_any = not crawler.settings.getbool("ARCHIVE_VERIFY_HTTPS", True)
            self._contextFactory.excuses = lambda host: is_any or host in excepted

    async def download_request(self, request: Request) -> Response:
        cookies.send(request)
        try:
            response = await self._asked(request)
        finally:
            request.headers.pop("Cookie", None)
        cookies.keep(request, response)
        self._note_certificate(request)
        return response

    async def _asked(self, request: Request) -> Response:
        wanted = request.meta.get("archive")
        if not wanted or request.method == "HEAD":
            return await super().download_request(request)
        try:
            return await self._download(request, Path(wanted["scratch"]), wanted["max_size"])
        except DiskFullError as error:
            self._stop(request, error)

    def _note_certificate(self, request: Request) -> None:
        """Note what is wrong with the certificate of a host that may have any: redirects carry it to the capture."""
        parts = urlparse_cached(request)
        excused = getattr(self._contextFactory, "excused", {}).get((parts.hostname, parts.port or 443))
        if excused and parts.scheme == "https":
            request.meta[UNTRUSTED] = f"{parts.hostname} has one that {excused}"

    async def _download(self, request: Request, scratch: Path, max_size: int) -> Response:
        with explained(), Partial(scratch, _place(request)) as partial:
            if partial.version:
                await maybe_deferred_to_future(deferToThread(partial.read))
            agent = self._archive_agent(partial, max_size)
            with wrap_twisted_exceptions():
                response = await maybe_deferred_to_future(agent.download_request(request))
        self._came(agent, request, response)
        return response

    def _stop(self, request: Request, error: DiskFullError) -> NoReturn:
        """Stop the crawl; the request is queued again for its next run, for nothing was found out about the file.

        Raises:
            IgnoreRequest: always.
        """
        sentence = f"{error}: free some space, then run the same command again"
        if not self.is_disk_full:  # many downloads notice it
            self.is_disk_full = True
            logger.error("%s", sentence)
            failed = signals.Failed(stage="write", kind=error.kind, error=sentence)
            self._crawler.signals.send_catch_log(signals.record_failed, failed=failed)
        repeated = request.replace(dont_filter=True)
        request.errback = lambda _: _close_spider(repeated)
        raise IgnoreRequest(sentence) from error

    def _archive_agent(self, partial: Partial, max_size: int) -> ArchiveAgent:
        options = self._agent_options() | {"fail_on_dataloss": True}
        return ArchiveAgent(Limits(above=0, most=max_size, folder=None), partial, **options)


def _close_spider(repeated: Request) -> Iterator[Request]:
    """Yield the request that the next run makes, and stop this one.

    Raises:
        CloseSpider: always.
    """
    yield repeated
    raise CloseSpider("disk")


def _place(request: Request) -> str:
    """Return what names the file: the address; another one for what is not simply asked for."""
    if request.method == "GET" and not request.body and "Range" not in request.headers:
        return urldefrag(request.url)[0]
    return f"{request.method} {request.url} {request.body!r} {request.headers.get('Range')!r}"


def _headers(txresponse: TxResponse) -> dict[str, str]:
    """Return the last value of each header, by its name in lower case."""
    return {
        name.decode("latin-1").lower(): values[-1].decode("latin-1")
        for name, values in txresponse.headers.getAllRawHeaders()
    }


def _refuse_part(headers: dict[str, str]) -> None:
    """
    Raises:
        WrongRangeError: a part came that nobody asked for, or one that does not say that it is the whole file.
    """
    found = _CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
    if not found or int(found[1]) != 0 or found[3] != str(int(found[2]) + 1):
        raise WrongRangeError(f"a part of the file came, and the whole was asked for ({_range_of(headers)})")


def _range_of(headers: dict[str, str]) -> str:
    return f"Content-Range: {headers.get('content-range', '')[:100]}"


def _as_whole(response: Response, size: int) -> Response:
    """Return the answer with the last part of a file as one with the whole file."""
    headers = response.headers.copy()
    headers.pop("Content-Range", None)
    headers["Content-Length"] = str(size)
    return response.replace(status=200, headers=headers)


def _fits(found: re.Match[str], headers: dict[str, str], ours: Version, size: int) -> bool:
    """Return whether a Content-Range goes on from our size to the end of our version: RFC 9110, 14.4 and 15.3.7.

    A part without a validator may be of any version: servers that ignore If-Range send those of the next one.
    """
    total = ours.total if found[3] == "*" else int(found[3])
    theirs = version(ours.url, headers, total)
    is_ours = theirs is not None and theirs.validator == ours.validator
    return is_ours and int(found[1]) == size <= int(found[2]) and total in (None, ours.total or total)


def _is_packed(txresponse: TxResponse, url: str) -> bool:
    """Return whether the file itself is a compressed one: servers state its format as an encoding, too."""
    types = txresponse.headers.getRawHeaders(b"Content-Type", [])
    kind = types[-1].partition(b";")[0].strip().lower() if types else b""
    return kind in _PACKED_TYPES or _PACKED.fullmatch(PurePosixPath(urlsplit(url).path).suffix) is not None
