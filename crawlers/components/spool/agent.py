"""Scrapy's agent for one request, with another buffer for the body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from scrapy.exceptions import StopDownload
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from crawlers.components.scrapy_internals.http import (
    ResponseReader,
    Result,
    ScrapyAgent,
    abort,
    finished,
    set_buffer,
    transport,
)
from crawlers.components.spool.body import Body, Limits
from crawlers.components.spool.encoding import undone
from crawlers.components.spool.errors import TooLarge
from crawlers.components.spool.response import SpooledResponse
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response
    from twisted.internet.base import DelayedCall
    from twisted.internet.defer import Deferred
    from twisted.web.client import Response as TxResponse


class SpoolingAgent(ScrapyAgent):
    """Connections, proxies, TLS and signals are Scrapy's; the body of an answer that succeeds is spooled.

    Args:
        unpack: undo content encodings.

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
        """Return what takes the body.

        Raises:
            AnswerError: the body is not wanted.
        """
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
    """Make the headers agree with the body."""
    txresponse.headers.removeHeader(b"Content-Encoding")
    if staying:
        txresponse.headers.setRawHeaders(b"Content-Encoding", staying)
    txresponse.length = size  # type: ignore[assignment]


def _spooled(response: Response, body: Body) -> Response:
    if body.file:
        return SpooledResponse.from_response(response, body.file, body.received)
    return body.drop(response)  # Twisted leaves the agent in a circle, which lives until garbage is collected
