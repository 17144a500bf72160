"""What is wrong with a server's TLS certificate, in one sentence: OpenSSL only says that it could not verify it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from OpenSSL import SSL
from scrapy.exceptions import DownloadFailedError
from service_identity import CertificateError, VerificationError
from service_identity.hazmat import DNS_ID, IPAddress_ID, verify_service_identity
from service_identity.pyopenssl import extract_patterns
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.python.failure import Failure
from twisted.web.iweb import IPolicyForHTTPS
from zope.interface import implementer  # type: ignore[import-untyped]

from crawlers.exceptions import AnswerError

if TYPE_CHECKING:
    from OpenSSL.crypto import X509
    from twisted.protocols.tls import TLSMemoryBIOProtocol

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
        expires: when the server's own certificate ends; ``None`` if another one of the chain is not trusted.
    """

    expires: datetime | None = None

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__("connection", f"the portal's TLS certificate {reason}: {advice}")


@implementer(IPolicyForHTTPS)
class ExplainedTrust:
    """Scrapy's TLS policy, whose failures say what is wrong with the certificate."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy

    def creatorForNetloc(self, hostname: bytes, port: int) -> ExplainedConnections:  # noqa: N802  # Twisted's name
        """Return what makes connections to a host."""
        return ExplainedConnections(self.policy.creatorForNetloc(hostname, port), hostname.decode("ascii"))


@implementer(IOpenSSLClientConnectionCreator)
class ExplainedConnections:
    """Twisted's connections to a host, verified as it does: OpenSSL the chain, service_identity the host's name."""

    def __init__(self, creator: Any, host: str) -> None:
        self.creator = creator
        self.host = host

    def clientConnectionForTLS(self, protocol: TLSMemoryBIOProtocol) -> SSL.Connection:  # noqa: N802
        """Return a connection whose handshake fails with an `UntrustedCertificate`."""
        connection: SSL.Connection = self.creator.clientConnectionForTLS(protocol)

        def verify(_: SSL.Connection, certificate: X509, number: int, depth: int, is_trusted: int) -> bool:
            error = self._error(certificate, number, depth, is_trusted=bool(is_trusted))
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
