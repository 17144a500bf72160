"""A mail server, by the way it is reached."""

from __future__ import annotations

import smtplib
import ssl
from contextlib import suppress
from dataclasses import dataclass
from email.message import EmailMessage
from typing import BinaryIO, Self
from urllib.parse import urlsplit

from crawlers.exceptions import ArgumentError
from crawlers.notify.channel import NotToldError, unreached

MOST_REPLIES = 64 * 1024
"""Bytes of all the replies to a mail; a server has some hundred."""
_PORTS = {"smtp": 25, "smtps": 465, "starttls": 587}


@dataclass(frozen=True, slots=True)
class Server:
    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        >>> Server.parse("localhost:25"), Server.parse("starttls://mail.example.org")
        (Server(scheme='smtp', host='localhost', port=25), Server(scheme='starttls', host='mail.example.org', port=587))

        Raises:
            ArgumentError: it is neither host:port nor smtps:// or starttls:// and a host.
        """
        try:
            parts = urlsplit(text if "://" in text else f"smtp://{text}")
            port, host = parts.port, parts.hostname or ""
            host.encode("idna")  # no part of it empty, or longer than 63
        except ValueError:
            port, host = 0, ""
        whole = host and port != 0 and text.isascii() and text.isprintable() and " " not in text
        if not whole or parts.scheme not in _PORTS or parts.path or parts.query or parts.fragment or "@" in text:
            raise ArgumentError(
                "NOTIFY_SMTP is neither host:port, smtps://host:465 nor starttls://host:587; "
                "user and password are no part of it."
            )
        return cls(parts.scheme, host, port or _PORTS[parts.scheme])

    def send(self, message: EmailMessage, login: tuple[str, str] | None, timeout: float) -> None:
        """
        Raises:
            NotToldError: it can't be reached, or does not take the mail from or for all of its addresses.
        """
        try:
            self._send(message, login, timeout)
        except smtplib.SMTPNotSupportedError:
            raise NotToldError("it does not offer the encryption or the login that is asked for") from None
        except smtplib.SMTPRecipientsRefused as error:
            codes = {code for code, _ in error.recipients.values()}
            raise _refused("it takes mail for none of the addresses", max(codes)) from None
        except smtplib.SMTPAuthenticationError as error:
            raise _refused("it refuses the login", error.smtp_code) from None
        except smtplib.SMTPResponseException as error:
            raise _refused("it refuses the mail", error.smtp_code) from None
        except smtplib.SMTPException as error:
            raise NotToldError(f"it broke off ({type(error).__name__})", again=True) from None
        except OSError as error:
            raise unreached(error) from None
        except ValueError:  # a challenge that is no base64, say
            raise NotToldError("it does not speak SMTP") from None

    def _send(self, message: EmailMessage, login: tuple[str, str] | None, timeout: float) -> None:
        connection = self._connect(timeout)
        try:
            if self.scheme == "starttls":
                connection.starttls(context=ssl.create_default_context())
            if login:
                connection.login(*login)
            refused = connection.send_message(message)
            with suppress(OSError, NotToldError):  # it has the mail: an error from here on is none
                connection.quit()
        finally:
            connection.close()
        if refused:
            raise NotToldError(f"it takes no mail for {', '.join(sorted(refused))}; the others have it")

    def _connect(self, timeout: float) -> smtplib.SMTP:
        if self.scheme == "smtps":
            return _BoundedSSL(self.host, self.port, timeout=timeout, context=ssl.create_default_context())
        return _Bounded(self.host, self.port, timeout=timeout)


class _Replies:
    """Stands before the file that `smtplib` reads replies from, which takes any number of lines."""

    def __init__(self, file: BinaryIO, left: int) -> None:
        self.file, self.left = file, left

    def readline(self, most: int) -> bytes:
        line = self.file.readline(most)
        self.left -= len(line)
        if self.left < 0:
            raise NotToldError(f"its replies are larger than {MOST_REPLIES} bytes")
        return line

    def close(self) -> None:
        self.file.close()


class _Bounded(smtplib.SMTP):
    _left = MOST_REPLIES

    def getreply(self) -> tuple[int, bytes]:
        """Read a reply.

        Raises:
            NotToldError: the replies of this connection are too large.
        """
        if self.file is None and self.sock is not None:
            self.file = _Replies(self.sock.makefile("rb"), self._left)
        try:
            return super().getreply()
        finally:
            self._left = self.file.left if self.file else 0


class _BoundedSSL(_Bounded, smtplib.SMTP_SSL):
    pass


def _refused(sentence: str, code: int) -> NotToldError:
    """Codes of 400 to 499 are of the moment (RFC 5321, 4.2.1); its words may say anything, so they are left out."""
    if code < 0:  # smtplib's, for an answer without one
        return NotToldError("it does not speak SMTP")
    return NotToldError(f"{sentence} (SMTP {code})", again=400 <= code < 500)
