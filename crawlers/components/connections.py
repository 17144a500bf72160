"""Scrapy's HTTP/1.1 client: with a limit on what comes before a body, and words for a certificate that fails."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from OpenSSL import SSL
from scrapy.exceptions import DownloadCancelledError, DownloadFailedError
from scrapy.utils.datatypes import LocalCache
from service_identity import CertificateError, VerificationError
from service_identity.hazmat import DNS_ID, IPAddress_ID, verify_service_identity
from service_identity.pyopenssl import extract_patterns
from twisted.internet.defer import fail
from twisted.internet.error import ConnectionLost
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator, IWriteDescriptor
from twisted.python.failure import Failure
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer  # type: ignore[import-untyped]

from crawlers.components.scrapy_internals import BODY, DONE, LenientFactory, LenientParser, LenientProtocol
from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from OpenSSL.crypto import X509
    from twisted.internet.defer import Deferred
    from twisted.internet.interfaces import IAddress
    from twisted.protocols.tls import TLSMemoryBIOProtocol
    from twisted.web.iweb import IResponse


MOST_HEADERS = 256 * 1024
"""Bytes of the status lines and headers of an answer, those of 1xx answers before it too; curl stops at 300 KB."""
MOST_DIGITS = 18
"""Of a Content-Length: a larger number fits no file system and no database."""


class HeadersTooLarge(AnswerError, DownloadCancelledError):  # noqa: N818
    """The answer's headers are too large; raised by the download handler, not retried."""

    def __init__(self, largest: int) -> None:
        super().__init__(
            "too_large", f"the answer's headers are larger than {largest} bytes, or one of them has no end"
        )


class BoundedFactory(LenientFactory):
    """What Scrapy's connection pool takes for its ``_factory``."""

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


# What is wrong with a server's TLS certificate: OpenSSL only says that it could not verify it

_TRUST = "if you trust it, name a file that has it in the environment variable SSL_CERT_FILE"
_ISSUER = ("is from an authority that this machine does not know", f"tell the operator; {_TRUST}")
_REASONS = {
    9: ("is not valid yet", "check this machine's clock, or tell the operator"),
    10: ("has expired", "tell the operator"),
    18: ("is self-signed", _TRUST),
    19: _ISSUER,
    20: _ISSUER,
    21: _ISSUER,
}
"""What OpenSSL's X509_V_ERR numbers mean, and what to do."""


class UntrustedCertificate(AnswerError):  # noqa: N818
    """The server's certificate is not trusted; raised by the download handler, not retried: it will be the same.

    Attributes:
        what: what is wrong with it: is self-signed.
        expires: when the server's own certificate ends; ``None`` if another one of the chain is not trusted.
    """

    expires: datetime | None = None

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__("connection", f"the portal's TLS certificate {reason}: {advice}")
        self.what = reason


@implementer(IPolicyForHTTPS)
class ExplainedTrust:
    """Scrapy's TLS policy, whose failures say what is wrong with the certificate.

    Args:
        excuses: whether a host may have any certificate.

    Attributes:
        excused: what is wrong with the certificates of such hosts, by host and port.
    """

    def __init__(self, policy: Any, excuses: Callable[[str], bool] = lambda _: False) -> None:
        self.policy = policy
        self.excuses = excuses
        self.excused: LocalCache[tuple[str, int], str] = LocalCache(limit=10_000)

    def creatorForNetloc(self, hostname: bytes, port: int) -> ExplainedConnections:  # noqa: N802  # Twisted's name
        host = hostname.decode("ascii")

        def excuse(error: UntrustedCertificate) -> bool:
            if self.excuses(host):
                self.excused[host, port] = error.what
            return self.excuses(host)

        return ExplainedConnections(self.policy.creatorForNetloc(hostname, port), host, excuse)


@implementer(IOpenSSLClientConnectionCreator)
class ExplainedConnections:
    """Twisted's connections to a host, verified as it does: OpenSSL the chain, service_identity the host's name."""

    def __init__(
        self, creator: Any, host: str, excuse: Callable[[UntrustedCertificate], bool] = lambda _: False
    ) -> None:
        self.creator = creator
        self.host = host
        self.excuse = excuse

    def clientConnectionForTLS(self, protocol: TLSMemoryBIOProtocol) -> SSL.Connection:  # noqa: N802
        """Return a connection whose handshake fails with an `UntrustedCertificate`."""
        connection: SSL.Connection = self.creator.clientConnectionForTLS(protocol)

        def verify(_: SSL.Connection, certificate: X509, number: int, depth: int, is_trusted: int) -> bool:
            error = self._error(certificate, number, depth, is_trusted=bool(is_trusted))
            if error and self.excuse(error):
                return True
            if error:
                error.expires = end(certificate) if depth == 0 else None
                protocol.failVerification(Failure(error))  # type: ignore[no-untyped-call]
            return error is None

        connection.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, verify)
        return connection

    def _error(self, certificate: X509, number: int, depth: int, *, is_trusted: bool) -> UntrustedCertificate | None:
        if not is_trusted:
            return UntrustedCertificate(*reason(number))
        try:
            if depth == 0:  # the host's own; the others are of those who vouch for it
                verify_service_identity(extract_patterns(certificate), [_identity(self.host)], [])
        except (VerificationError, CertificateError):
            return UntrustedCertificate(f"is not for {self.host}", "check the address, or tell the operator")
        return None


@contextmanager
def explained() -> Iterator[None]:
    """Say what is wrong with a certificate, or with headers, around a download.

    Raises:
        AnswerError: in place of Scrapy's error.
    """
    try:
        yield
    except DownloadFailedError as error:
        for failure in getattr(error.__cause__, "reasons", ()):
            if isinstance(failure.value, AnswerError):
                raise failure.value from None
        raise


def end(certificate: X509) -> datetime | None:
    """Return when a certificate ends; ``None`` if that can't be read."""
    try:
        return datetime.strptime((certificate.get_notAfter() or b"").decode(), "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def reason(number: int) -> tuple[str, str]:
    """Return what an X509_V_ERR says of a certificate, and what to do.

    >>> reason(10)
    ('has expired', 'tell the operator')
    >>> reason(23)[0]
    'is not trusted (OpenSSL verification error 23)'
    """
    return _REASONS.get(number, (f"is not trusted (OpenSSL verification error {number})", "tell the operator"))


def _identity(host: str) -> DNS_ID | IPAddress_ID:
    try:
        ip_address(host)
    except ValueError:
        return DNS_ID(host)
    return IPAddress_ID(host)
