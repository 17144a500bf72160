"""The download of an archive's files: straight to disk, hashed as they come, resumed where they were cut.

A file of any size takes the memory of one network packet. DOWNLOAD_TIMEOUT holds for each MiB, so a server that drips
is given up, and a file of ARCHIVE_MAX_SIZE has at most that many times DOWNLOAD_TIMEOUT.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast
from urllib.parse import urldefrag, urlsplit

from scrapy.exceptions import ResponseDataLossError
from scrapy.http import Response
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.threads import deferToThread

from crawlers.archive.partial import DownloadedFile, Partial, Version, version
from crawlers.exceptions import AnswerError
from crawlers.scrapy_internals.http import abort, transport, wrap_twisted_exceptions
from crawlers.spool import SpoolingHandler, TooLarge
from crawlers.spool.agent import SpoolingAgent, say_unpacked
from crawlers.spool.body import Body, Limits
from crawlers.spool.certificates import explained
from crawlers.spool.response import DiskResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure
    from twisted.web.client import Response as TxResponse

    from crawlers.scrapy_internals.http import Result

_PACKED = re.compile(r"\.(?:gz|gzip|tgz|svgz|z|zst|zstd|tzst|br|bz2|tbz2?|xz|txz|lz4|lzma)", re.IGNORECASE)
_PACKED_TYPES = (b"application/gzip", b"application/x-gzip", b"application/zstd", b"application/x-bzip2")
_CONTENT_RANGE = re.compile(r"bytes\s+(\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.IGNORECASE)


class FileResponse(DiskResponse):
    """An answer to a request with ``archive`` in its meta, of a 2xx status: its ``body`` is empty.

    A download that was resumed has the status and headers of its last part, 206, and the flag ``resumed``.

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
    """The server has not continued a cut file where it was cut; raised by the handler, retried from the beginning."""

    def __init__(self, what: str) -> None:
        super().__init__("truncated", f"the cut download can't be resumed ({what})")


class FileBody(Body):
    """What Scrapy's reader writes into: the file, and with it the hashes."""

    def __init__(self, limits: Limits, encodings: Sequence[bytes], partial: Partial) -> None:
        super().__init__(limits, encodings)
        self.size = partial.size
        self._write = partial.write

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
        self._answer: TxResponse | None = None
        self._declared: int | None = None

    def download_request(self, request: Request) -> Deferred[Response]:
        """Ask for the rest of a cut file; the request itself stays as it is, for a retry has another rest."""
        if self._partial.version:
            self._range = {"Range": f"bytes={self._partial.size}-", "If-Range": self._partial.version.validator}
        request.headers.update(self._range)
        try:
            answer = super().download_request(request)
        finally:
            for name in self._range:
                del request.headers[name]
        return answer.addErrback(self._too_large, request.url)

    def _cb_bodyready(self, txresponse: TxResponse, request: Request) -> Result | Deferred[Result]:
        self._answer = txresponse
        if self._range and txresponse.code == 416:
            self._partial.restart(None)
            abort(transport(txresponse))
            raise WrongRangeError("HTTP 416")
        return super()._cb_bodyready(txresponse, request)

    def _begun(self, txresponse: TxResponse, request: Request) -> Body:
        if _is_packed(txresponse, request.url):
            txresponse.headers.removeHeader(b"Content-Encoding")
        encodings = self._encodings(txresponse)
        headers = _headers(txresponse)
        if self._range and txresponse.code == 206:
            self._declared = self._continued(headers, encodings)
        else:
            self._declared = txresponse.length if isinstance(txresponse.length, int) else None
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
        raise WrongRangeError(f"Content-Range: {headers.get('content-range', '')[:100]}")

    def _cb_bodydone(self, result: Result, url: str) -> Response:
        if self.body is None:
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
        cast("Body", self.body).end()
        if self._range and txresponse.code == 206 and self._partial.size != (self._declared or self._partial.size):
            raise ResponseDataLossError(f"{self._partial.size} of {self._declared} bytes came")
        if self._undoing:
            say_unpacked(txresponse, self._staying, self._partial.size)

    def _too_large(self, failure: Failure, url: str) -> Response:
        failure.trap(TooLarge)  # type: ignore[no-untyped-call]
        self._partial.restart(None)
        result: Any = {"txresponse": self._answer, "flags": ["too_large"]}
        return self._response(super(SpoolingAgent, self)._cb_bodydone(result, url), None)

    def _response(self, response: Response, file: DownloadedFile | None) -> FileResponse:
        if self._range and response.status == 206 and file:
            response.flags.append("resumed")
        received = self.body.received if self.body else 0
        return FileResponse.from_response(response, file=file, declared_size=self._declared, received=received)


class ArchiveHandler(SpoolingHandler):
    """Scrapy's own; the file that a request with ``archive`` in its meta asks for comes as a `FileResponse`.

    ``meta["archive"]`` is ``{"scratch": "<folder>", "max_size": <bytes, 0 = no limit>}``. The request should send
    ``Accept-Encoding: identity``: a file that is packed on its way can't be resumed. Answers to HEAD and those of
    other statuses than 2xx are ordinary ones. A file that was cut stays in the folder, and the next request
    for the same address resumes it (`Partial`); `crawlers.archive.partial.sweep` removes old ones.
    """

    async def download_request(self, request: Request) -> Response:
        wanted = request.meta.get("archive")
        if not wanted or request.method == "HEAD":
            return await super().download_request(request)
        with explained(), Partial(Path(wanted["scratch"]), _place(request)) as partial:
            if partial.version:
                await maybe_deferred_to_future(deferToThread(partial.read))
            agent = self._archive_agent(partial, wanted["max_size"])
            with wrap_twisted_exceptions():
                response = await maybe_deferred_to_future(agent.download_request(request))
        self._came(agent, request, response)
        return response

    def _archive_agent(self, partial: Partial, max_size: int) -> ArchiveAgent:
        options = self._agent_options() | {"fail_on_dataloss": True}
        return ArchiveAgent(Limits(above=0, most=max_size, folder=None), partial, **options)


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


def _fits(found: re.Match[str], headers: dict[str, str], ours: Version, size: int) -> bool:
    """Return whether a Content-Range goes on from our size to the end of our version: RFC 9110, 14.4 and 15.3.7."""
    total = ours.total if found[3] == "*" else int(found[3])
    theirs = version(ours.url, headers, total)
    is_ours = theirs is None or theirs.validator == ours.validator
    return is_ours and int(found[1]) == size <= int(found[2]) and total in (None, ours.total or total)


def _is_packed(txresponse: TxResponse, url: str) -> bool:
    """Return whether the file itself is a compressed one: servers state its format as an encoding, too."""
    types = txresponse.headers.getRawHeaders(b"Content-Type", [])
    kind = types[-1].partition(b";")[0].strip().lower() if types else b""
    return kind in _PACKED_TYPES or _PACKED.fullmatch(PurePosixPath(urlsplit(url).path).suffix) is not None
