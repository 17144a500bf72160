"""Scrapy's HTTP/1.1 client with a limit on what comes before a body: Twisted's own has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import fail
from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import IWriteDescriptor
from twisted.python.failure import Failure

from crawlers.components.scrapy_internals.http import BODY, DONE, LenientFactory, LenientParser, LenientProtocol
from crawlers.components.spool.errors import HeadersTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IAddress
    from twisted.web.iweb import IResponse

MOST_HEADERS = 256 * 1024
"""Bytes of the status lines and headers of an answer, those of 1xx answers before it too; curl stops at 300 KB."""
MOST_DIGITS = 18
"""Of a Content-Length: a larger number fits no file system and no database."""


class BoundedFactory(LenientFactory):
    """What Scrapy's connection pool takes for its ``_factory``.

    Args:
        permits: returns whether requests may be sent now.
    """

    def __init__(self, permits: Callable[[], bool], *more: Any) -> None:
        super().__init__(*more)  # type: ignore[no-untyped-call]
        self.permits = permits

    def buildProtocol(self, addr: IAddress | None) -> BoundedProtocol:  # noqa: N802
        made = BoundedProtocol(self._quiescentCallback)  # type: ignore[no-untyped-call]
        made.permits = self.permits
        return made


class LengthParser(LenientParser):
    """Takes an answer whose Content-Length makes no sense for one without: Twisted refuses it, browsers do not.

    The connection is closed after it, so nothing that follows such a body is taken for the next answer: RFC 9112, 6.3.
    """

    def allHeadersReceived(self) -> None:  # noqa: N802
        values = self.connHeaders.getRawHeaders(b"Content-Length", [])
        if values and length(values) is None:
            self.connHeaders.removeHeader(b"Content-Length")
            self.connHeaders.setRawHeaders(b"Connection", [b"close"])
        super().allHeadersReceived()  # type: ignore[no-untyped-call]


def length(values: Sequence[bytes]) -> int | None:
    """Return the number of bytes that Content-Length gives, once or several times; ``None`` if that is not clear.

    >>> length([b"42"]), length([b"42", b"042"]), length([b"42, 42"])
    (42, 42, 42)
    >>> length([b"42, 43"]), length([b"-1"]), length([b"abc"]), length([b"9" * 30])
    (None, None, None, None)
    """
    texts = [part.strip() for value in values for part in value.split(b",")]
    if not all(text.isdigit() and len(text) <= MOST_DIGITS for text in texts):
        return None
    numbers = {int(text) for text in texts}
    return numbers.pop() if len(numbers) == 1 else None


class BoundedProtocol(LenientProtocol):
    """Gives up an answer whose headers are larger than MOST_HEADERS, or have a line that Twisted takes for endless.

    Attributes:
        permits: asked right before a request is written; Twisted itself repeats some whose connection was lost.
    """

    permits: Callable[[], bool] = staticmethod(lambda: True)

    def request(self, request: Any) -> Deferred[IResponse]:
        if not self.permits():
            self.transport.abortConnection()  # type: ignore[union-attr]
            return fail(ConnectionLost("requests may not be sent now"))
        self._came = 0
        answer = super().request(request)
        transport: Any = getattr(self.transport, "transport", self.transport)  # below TLS
        if IWriteDescriptor.providedBy(transport):
            transport.doWrite()  # at once: else it waits for the items of this turn, and goes after a pause
        parser: Any = self._parser
        parser.__class__ = LengthParser  # as Scrapy sets its own: Twisted gives no choice
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
