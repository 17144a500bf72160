"""A mail server: its address, and how to send through it."""

from __future__ import annotations

import smtplib
import ssl
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from typing import BinaryIO, Self
from urllib.parse import urlsplit

from crawlers.exceptions import ArgumentError
from crawlers.operate.notify.channel import NotificationError, connection_error

MAX_REPLY_BYTES = 64 * 1024
"""Bytes of all replies to one mail; a server sends some hundred."""
_PORTS = {"smtp": 25, "smtps": 465, "starttls": 587}


@dataclass(frozen=True, slots=True)
class Server:
    """A mail server.

    Args:
        scheme: smtp, smtps or starttls.
    """

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the server that NOTIFY_SMTP names.

        >>> Server.parse("localhost:25"), Server.parse("starttls://mail.example.org")
        (Server(scheme='smtp', host='localhost', port=25), Server(scheme='starttls', host='mail.example.org', port=587))

        Raises:
            ArgumentError: it is neither host:port nor a host with smtps:// or starttls://.
        """
        try:
            parts = urlsplit(text if "://" in text else f"smtp://{text}")
            port, host = parts.port, parts.hostname or ""
            host.encode("idna")  # fails if a label is empty or longer than 63
        except ValueError:
            port, host = 0, ""
        is_valid = host and port != 0 and text.isascii() and text.isprintable() and " " not in text
        if not is_valid or parts.scheme not in _PORTS or parts.path or parts.query or parts.fragment or "@" in text:
            raise ArgumentError(
                "NOTIFY_SMTP is neither host:port, smtps://host:465 nor starttls://host:587; "
                "user and password do not belong in it."
            )
        return cls(parts.scheme, host, port or _PORTS[parts.scheme])

    def send(self, message: EmailMessage, login: tuple[str, str] | None, timeout: float) -> None:
        """Send a mail.

        Raises:
            NotificationError: the server is unreachable, or refuses the sender or one of the recipients.
        """
        try:
            self._send(message, login, timeout)
        except smtplib.SMTPNotSupportedError:
            raise NotificationError("it does not support the encryption or the login that is configured") from None
        except smtplib.SMTPRecipientsRefused as error:
            codes = {code for code, _ in error.recipients.values()}
            raise _refused("it refuses all recipients", max(codes)) from None
        except smtplib.SMTPAuthenticationError as error:
            raise _refused("it refuses the login", error.smtp_code) from None
        except smtplib.SMTPResponseException as error:
            raise _refused("it refuses the mail", error.smtp_code) from None
        except smtplib.SMTPException as error:
            raise NotificationError(f"it closed the connection ({type(error).__name__})", is_temporary=True) from None
        except OSError as error:
            raise connection_error(error) from None
        except ValueError:  # an invalid base64 challenge, for example
            raise NotificationError("it does not speak SMTP") from None

    def _send(self, message: EmailMessage, login: tuple[str, str] | None, timeout: float) -> None:
        connection = self._connect(timeout)
        try:
            if self.scheme == "starttls":
                connection.starttls(context=ssl.create_default_context())
            if login:
                connection.login(*login)
            refused = connection.send_message(message)
            with suppress(OSError, NotificationError):  # it has accepted the mail: later errors do not matter
                connection.quit()
        finally:
            connection.close()
        if refused:
            raise NotificationError(f"it refuses {', '.join(sorted(refused))}; the other recipients got the mail")

    def _connect(self, timeout: float) -> smtplib.SMTP:
        if self.scheme == "smtps":
            return _BoundedSSL(self.host, self.port, timeout=timeout, context=ssl.create_default_context())
        return _Bounded(self.host, self.port, timeout=timeout)


class _Replies:
    """Limits the file that `smtplib` reads replies from, which has no limit of its own."""

    def __init__(self, file: BinaryIO, left: int) -> None:
        self.file, self.left = file, left

    def readline(self, size: int) -> bytes:
        line = self.file.readline(size)
        self.left -= len(line)
        if self.left < 0:
            raise NotificationError(f"its replies are larger than {MAX_REPLY_BYTES} bytes")
        return line

    def close(self) -> None:
        self.file.close()


class _Bounded(smtplib.SMTP):
    """A connection whose replies have a limit in total."""

    _left = MAX_REPLY_BYTES

    def getreply(self) -> tuple[int, bytes]:
        """Read a reply.

        Raises:
            NotificationError: the replies of this connection are too large.
        """
        if self.file is None and self.sock is not None:
            self.file = _Replies(self.sock.makefile("rb"), self._left)
        try:
            return super().getreply()
        finally:
            self._left = self.file.left if self.file else 0


class _BoundedSSL(_Bounded, smtplib.SMTP_SSL):
    """The same over TLS."""


def _refused(sentence: str, code: int) -> NotificationError:
    """Return the error for a reply code; 400 to 499 are temporary (RFC 5321, 4.2.1). Its text is not repeated."""
    if code < 0:  # what smtplib gives for a reply without a code
        return NotificationError("it does not speak SMTP")
    return NotificationError(f"{sentence} (SMTP {code})", is_temporary=400 <= code < 500)
