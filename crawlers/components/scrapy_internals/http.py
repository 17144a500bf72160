"""The private names of Scrapy's and Twisted's HTTP/1.1, in a module of their own: importing them takes 0.15 s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers.http11 import _LenientHTTP11ClientFactory as LenientFactory
from scrapy.core.downloader.handlers.http11 import _LenientHTTP11ClientProtocol as LenientProtocol
from scrapy.core.downloader.handlers.http11 import _LenientHTTPClientParser as LenientParser
from scrapy.core.downloader.handlers.http11 import _ResponseReader as ResponseReader
from scrapy.core.downloader.handlers.http11 import _ResultT as Result
from scrapy.core.downloader.handlers.http11 import _ScrapyAgent as ScrapyAgent
from scrapy.utils._download_handlers import wrap_twisted_exceptions
from twisted.web._newclient import BODY, DONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from twisted.internet.defer import Deferred
    from twisted.web.client import HTTPConnectionPool
    from twisted.web.client import Response as TxResponse

__all__ = ["BODY", "DONE", "LenientFactory", "LenientParser", "LenientProtocol", "ResponseReader", "Result"]
__all__ += ["ScrapyAgent", "abort", "finished", "set_buffer", "set_protocol", "transport", "wrap_twisted_exceptions"]


def set_protocol(pool: HTTPConnectionPool, factory: Callable[..., LenientFactory]) -> None:
    """Make the pool's connections with a factory of your own."""
    pool._factory = factory  # type: ignore[assignment]  # noqa: SLF001


def transport(response: TxResponse) -> Any:
    """Return the transport that an answer comes by."""
    return response._transport  # noqa: SLF001


def abort(transport: Any) -> None:
    """Close a transport's connection, unless the answer is complete and the connection has been given back."""
    if transport._producer is not None:  # noqa: SLF001
        transport._producer.abortConnection()  # noqa: SLF001


def finished(reader: ResponseReader) -> Deferred[Result]:
    """Return what fires when the reader has a body."""
    return reader._finished  # noqa: SLF001


def set_buffer(reader: ResponseReader, buffer: Any) -> None:
    """Make the reader write a body into a buffer of your own."""
    reader._bodybuf = buffer  # noqa: SLF001
