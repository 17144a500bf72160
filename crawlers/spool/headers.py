"""Scrapy's HTTP/1.1 client with a limit on what comes before a body: Twisted's own has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.python.failure import Failure

from crawlers.scrapy_internals.http import BODY, DONE, LenientFactory, LenientProtocol
from crawlers.spool.errors import HeadersTooLarge

if TYPE_CHECKING:
    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IAddress
    from twisted.web.iweb import IResponse

MOST_HEADERS = 256 * 1024
"""Bytes of the status lines and headers of an answer, those of 1xx answers before it too; curl stops at 300 KB."""


class BoundedFactory(LenientFactory):
    """What Scrapy's connection pool takes for its ``_factory``."""

    def buildProtocol(self, addr: IAddress | None) -> BoundedProtocol:  # noqa: ARG002, N802
        return BoundedProtocol(self._quiescentCallback)  # type: ignore[no-untyped-call]


class BoundedProtocol(LenientProtocol):
    """Gives up an answer whose headers are larger than MOST_HEADERS, or have a line that Twisted takes for endless."""

    def request(self, request: Any) -> Deferred[IResponse]:
        self._came = 0
        answer = super().request(request)
        parser: Any = self._parser
        parser.lineLengthExceeded = lambda _: self._refuse()
        return answer

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        super().dataReceived(data)  # type: ignore[no-untyped-call]
        parser: Any = self._parser
        if parser is not None and parser.state not in (BODY, DONE):
            self._came += len(data)
            if self._came > MOST_HEADERS:
                self._refuse()

    def _refuse(self) -> None:
        self.transport.abortConnection()  # type: ignore[union-attr]
        self._disconnectParser(Failure(HeadersTooLarge(MOST_HEADERS)))  # type: ignore[no-untyped-call]
