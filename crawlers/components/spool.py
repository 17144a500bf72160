"""A download handler that keeps large answers in temporary files, never in memory; for any Scrapy project.

Settings: ``DOWNLOAD_HANDLERS`` names `SpoolingHandler` for ``http`` and ``https``.
A request opts in with ``Request(url, meta={"spool": True})``; Scrapy handles all others as usual.
"""

from __future__ import annotations

import io
import weakref
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from tempfile import TemporaryFile
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import DownloadCancelledError, NotSupported, StopDownload
from scrapy.http import Response
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from crawlers.components.connections import BoundedFactory, ExplainedTrust, explained
from crawlers.components.content_encoding import GZIP, Encoding, NotUnpacked, undone
from crawlers.components.scrapy_internals import (
    ResponseReader,
    Result,
    ScrapyAgent,
    abort,
    finished,
    permits,
    set_buffer,
    set_protocol,
    transport,
    wrap_twisted_exceptions,
)
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from _typeshed import ReadableBuffer, WriteableBuffer
    from scrapy import Request
    from scrapy.crawler import Crawler
    from twisted.internet.base import DelayedCall
    from twisted.internet.defer import Deferred
    from twisted.web.client import Response as TxResponse


_BUFFER = 128 * 1024


class SpooledFile:
    """A temporary file without a name: written once, then read by any number of readers, each from its own place.

    It is deleted with the last object that can read it, or with the process.

    Args:
        folder: where it takes space; by default where Python puts temporary files (TMPDIR).

    Raises:
        AnswerError: of kind ``disk``, here and by `write`. No OSError, which Scrapy would retry.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.size = 0
        self._lock = Lock()
        try:
            self._file = TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise _disk(error) from error
        self.close = weakref.finalize(self, self._file.close)

    def write(self, data: ReadableBuffer) -> None:
        rest = memoryview(data)
        try:
            while rest:
                written = self._file.write(rest) or 0
                self.size += written
                rest = rest[written:]
        except OSError as error:
            raise _disk(error) from error

    def read_into(self, buffer: WriteableBuffer, place: int) -> int:
        with self._lock:
            self._file.seek(place)
            return self._file.readinto(buffer) or 0

    def open(self) -> BinaryIO:
        return io.BufferedReader(_Reader(self), _BUFFER)


class _Reader(io.RawIOBase):
    """Keeps the file while it is read."""

    def __init__(self, file: SpooledFile) -> None:
        super().__init__()
        self._spooled = file
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._spooled.read_into(buffer, self._place)
        self._place += count
        return count

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        place = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._spooled.size}[whence] + offset
        if place < 0:
            raise ValueError(f"{place} is before the beginning")
        self._place = place
        return place


def _disk(error: OSError) -> AnswerError:
    return AnswerError("disk", f"the answer can't be kept in a temporary file (SPOOL_DIR): {error.strerror}")


_HEAD = 64 * 1024


class DiskResponse(Response):
    """An answer whose body is on disk: its ``body`` is empty, and copies share what is on disk."""

    def replace(self, *arguments: Any, cls: type[Response] | None = None, **keywords: Any) -> Response:  # type: ignore[override]
        """Return a copy with other attributes and the same file, always of this class: no other can have the file.

        With a ``body``, it is an ordinary response.
        """
        if keywords.get("body"):
            known = {name: getattr(self, name) for name in Response.attributes}
            return (cls or Response)(*arguments, **known | keywords)
        if cls is not None and not issubclass(cls, DiskResponse):
            keywords.pop("encoding", None)
            cls = None
        return super().replace(*arguments, cls=cls, **keywords)

    def to_dict(self) -> dict[str, Any]:
        """Refuse to be stored: the stored body would be empty.

        Raises:
            NotSupported: always.
        """
        raise NotSupported(f"{self} can't be stored: its body is in a temporary file")


class SpooledResponse(DiskResponse):
    """An answer too large for memory: read it with `open`, unpacked, as often as you like; its ``body`` is empty.

    Copies share the file. It is removed with the last response and reader of it, or with the process.

    Args:
        file: the body, without content encodings.
        received: the bytes received, with content encodings.
    """

    attributes: tuple[str, ...] = (*Response.attributes, "file", "received")

    def __init__(self, *arguments: Any, file: SpooledFile, received: int, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.file = file
        self.received = received

    @classmethod
    def from_response(cls, response: Response, file: SpooledFile, received: int) -> Self:
        known = {name: getattr(response, name) for name in Response.attributes}
        return cls(**known | {"body": b"", "file": file, "received": received})

    def open(self) -> BinaryIO:
        return self.file.open()

    @property
    def size(self) -> int:
        """The bytes that `open` returns."""
        return self.file.size

    @property
    def head(self) -> bytes:
        """The first 64 KiB."""
        with self.open() as reader:
            return reader.read(_HEAD)


def open_body(response: Response) -> BinaryIO:
    """Return the answer's body as a file, wherever it is kept."""
    return response.open() if isinstance(response, SpooledResponse) else io.BytesIO(response.body)


T = TypeVar("T")


class TooLarge(AnswerError, DownloadCancelledError):  # noqa: N818
    """The answer has more bytes than SPOOL_MAXSIZE, sent or unpacked; raised by the download handler, not retried."""

    def __init__(self, largest: int, how: str = "") -> None:
        super().__init__("too_large", f"the answer is larger than SPOOL_MAXSIZE ({largest} bytes){how}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """
    Args:
        above: the bytes that are kept in memory; a body with more goes into a file.
        most: the bytes that may come, and the bytes that they may unpack to; 0 = no limit.
    """

    above: int
    most: int
    folder: str | None


class Body:
    """What Scrapy's reader writes into: it takes this for the buffer of a body.

    Args:
        is_looked_at: whether a body without encodings is unpacked if it begins like a gzip file, such as a dump's.

    Attributes:
        is_packed_file: whether it is such a file.
        received: the bytes that came.
        size: the bytes that they unpack to.
        file: None as long as they are in memory.
    """

    def __init__(self, limits: Limits, encodings: Sequence[bytes], *, is_looked_at: bool = False) -> None:
        self.limits = limits
        self.is_packed_file = False
        self.received = 0
        self.size = 0
        self.file: SpooledFile | None = None
        self._encoding = Encoding(encodings)
        self._is_looked_at = is_looked_at and not encodings
        self._memory = BytesIO()

    def write(self, data: bytes) -> None:
        """
        Raises:
            TooLarge, NotUnpacked, AnswerError: nothing more may be written.
        """
        if self._is_looked_at and not self.received and data.startswith(GZIP):
            self.is_packed_file, self._encoding = True, Encoding([b"gzip"])
        self.received += len(data)
        self._check(self.received)
        for part in self._encoding.decode(data):
            self.size += len(part)
            self._check(self.size, " when it is unpacked")
            self._keep(part)

    def _check(self, size: int, how: str = "") -> None:
        if self.limits.most and size > self.limits.most:
            raise TooLarge(self.limits.most, how)

    def _keep(self, part: bytes) -> None:
        if self.file:
            self.file.write(part)
        elif self.size <= self.limits.above:
            self._memory.write(part)
        else:
            self.file = SpooledFile(self.limits.folder)
            self.file.write(self._memory.getbuffer())
            self._memory = BytesIO()
            self.file.write(part)

    def getvalue(self) -> bytes:
        """Return the whole body, or nothing if it is in a file."""
        return self._memory.getvalue()

    def drop(self, why: T) -> T:
        """Release memory and disk at once; an errback."""
        self._memory = BytesIO()
        if self.file:
            self.file.close()
        return why

    def end(self) -> None:
        """
        Raises:
            NotUnpacked: it breaks off.
        """
        try:
            self._encoding.end()
        except NotUnpacked as error:
            raise self.drop(error) from None


class SpoolingAgent(ScrapyAgent):
    """Connections, proxies, TLS and signals are Scrapy's; the body of an answer that succeeds is spooled.

    Attributes:
        body: None for any other answer, which is kept as small as DOWNLOAD_MAXSIZE says.
        stride: bytes that renew DOWNLOAD_TIMEOUT when they came: a large body may take more than a minute.
    """

    stride: ClassVar[int] = 4 * 1024 * 1024

    def __init__(self, limits: Limits, *, unpack: bool, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.body: Body | None = None
        self._limits = limits
        self._unpack = unpack

    def _cb_bodyready(self, txresponse: TxResponse, request: Request) -> Result | Deferred[Result]:
        if not 200 <= txresponse.code < 300:
            return super()._cb_bodyready(txresponse, request)
        try:
            self.body = self._begun(txresponse, request)
        except AnswerError:
            abort(transport(txresponse))
            raise
        self._maxsize = self._warnsize = 0
        seconds = request.meta.get("download_timeout") or self._connectTimeout
        self._spool(txresponse, self.body, lambda: cast("DelayedCall", self._timeout_cl).reset(seconds))
        return super()._cb_bodyready(txresponse, request)

    def _begun(self, txresponse: TxResponse, request: Request) -> Body:
        self._refuse_beyond(cast("int | str", txresponse.length))
        encodings = self._encodings(txresponse)
        return Body(self._limits, encodings, is_looked_at=self._unpack and not self._staying)

    def _refuse_beyond(self, announced: int | str) -> None:
        if self._limits.most and isinstance(announced, int) and announced > self._limits.most:
            raise TooLarge(self._limits.most)

    def _encodings(self, txresponse: TxResponse) -> list[bytes]:
        """Return the content encodings to undo, the last one first."""
        self._undoing, self._staying = undone(txresponse.headers.getRawHeaders(b"Content-Encoding", []))
        return self._undoing if self._unpack else []

    def _spool(self, txresponse: TxResponse, body: Body, renew: Callable[[], None]) -> None:
        deliver = txresponse.deliverBody

        def spool(reader: ResponseReader) -> None:
            finished(reader).addErrback(body.drop)
            deliver(SpoolingReader(reader, body, renew, self.stride))  # type: ignore[no-untyped-call]

        txresponse.deliverBody = spool  # type: ignore[method-assign]

    def _cb_bodydone(self, result: Result, url: str) -> Response:
        body = self.body
        if body is None or not body.received:
            return super()._cb_bodydone(result, url)
        if not result.get("stop_download") and "dataloss" not in (result.get("flags") or ()):
            body.end()
        if self._unpack and (self._undoing or body.is_packed_file):
            say_unpacked(result["txresponse"], self._staying, body.size)
        try:
            return _spooled(super()._cb_bodydone(result, url), body)
        except StopDownload as stop:
            stop.response = _spooled(stop.response, body) if stop.response else None
            raise


class SpoolingReader(Protocol):
    """Stands before Scrapy's reader, whose buffer it changes, and ends the download when that can take no more.

    Args:
        renew: called for each `stride` bytes that came.
    """

    def __init__(self, reader: ResponseReader, body: Body, renew: Callable[[], None], stride: int) -> None:
        self.reader, self.body, self.renew, self.stride = reader, body, renew, stride
        self.renewed = 0
        set_buffer(reader, body)

    def connectionMade(self) -> None:  # noqa: N802
        self.reader.makeConnection(self.transport)  # type: ignore[no-untyped-call]

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        try:
            self.reader.dataReceived(data)
        except AnswerError as error:
            finished(self.reader).errback(Failure(error))  # type: ignore[no-untyped-call]
            abort(self.transport)
        if self.body.received - self.renewed >= self.stride and not finished(self.reader).called:
            self.renewed = self.body.received
            self.renew()

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802
        self.reader.connectionLost(reason)


def say_unpacked(txresponse: TxResponse, staying: list[bytes], size: int) -> None:
    txresponse.headers.removeHeader(b"Content-Encoding")
    if staying:
        txresponse.headers.setRawHeaders(b"Content-Encoding", staying)
    txresponse.length = size  # type: ignore[assignment]


def _spooled(response: Response, body: Body) -> Response:
    if body.file:
        return SpooledResponse.from_response(response, body.file, body.received)
    return body.drop(response)  # Twisted leaves the agent in a circle, which lives until garbage is collected


SPOOL_ABOVE = 32 * 1024 * 1024
SPOOL_MAXSIZE = 2 * 1024 * 1024 * 1024


class SpoolingHandler(HTTP11DownloadHandler):
    """Scrapy's own; a large answer to a request with ``spool`` in its meta is a `SpooledResponse`, and headers end.

    Settings: SPOOL_ABOVE, the bytes from which on an answer goes into a file; SPOOL_MAXSIZE, the bytes beyond which it
    is refused, sent or unpacked, in place of DOWNLOAD_MAXSIZE (0 = no limit; a request's ``download_maxsize`` goes
    first); SPOOL_DIR, where the files take space. Smaller answers are ordinary ones, unpacked all the same.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        set_protocol(self._pool, partial(BoundedFactory, partial(permits, crawler)))
        settings = crawler.settings
        self._above = min(settings.getint("SPOOL_ABOVE", SPOOL_ABOVE), self._default_maxsize or SPOOL_MAXSIZE)
        self._most = settings.getint("SPOOL_MAXSIZE", SPOOL_MAXSIZE)
        self._folder = settings.get("SPOOL_DIR") or None
        self._unpack = settings.getbool("COMPRESSION_ENABLED")
        self._counts = settings.getbool("DOWNLOADER_STATS")
        if settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"):
            self._contextFactory = ExplainedTrust(self._contextFactory)  # type: ignore[assignment]

    async def download_request(self, request: Request) -> Response:
        with explained():
            if not request.meta.get("spool"):
                return await super().download_request(request)
            most = request.meta.get("download_maxsize", self._most)
            limits = Limits(above=self._above, most=most, folder=self._folder)
            agent = SpoolingAgent(limits, unpack=self._unpack, **self._agent_options())
            with wrap_twisted_exceptions():
                response = await maybe_deferred_to_future(agent.download_request(request))
        self._came(agent, request, response)
        return response

    def _agent_options(self) -> dict[str, Any]:
        return {
            "contextFactory": self._contextFactory,
            "bindAddress": self._bind_address,
            "pool": self._pool,
            "maxsize": self._default_maxsize,
            "warnsize": self._default_warnsize,
            "fail_on_dataloss": self._fail_on_dataloss,
            "crawler": self._crawler,
            "tls_verbose_logging": self._tls_verbose_logging,
        }

    def _came(self, agent: SpoolingAgent, request: Request, response: Response) -> None:
        """Count the received bytes, since DownloaderStats only sees the body; keep caches from storing an empty one."""
        if agent.body and self._counts:
            self._crawler.stats.inc_value("downloader/response_bytes", agent.body.received - len(response.body))
        if isinstance(response, DiskResponse):
            request.meta["dont_cache"] = True
        if isinstance(response, SpooledResponse):
            self._crawler.stats.inc_value("spool/response_count")
            self._crawler.stats.inc_value("spool/response_bytes", response.size)
