"""The channels of notices and digests, a webhook and mail: what they have in common, and how each sends a letter."""

from __future__ import annotations

import hashlib
import os
import re
import smtplib
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, localtime, make_msgid
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, Self
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from crawlers.exceptions import ArgumentError, CrawlersError
from crawlers.safety import strict_json
from crawlers.safety.resolver import is_public, spelled

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


TRIES = 3


class NotificationError(CrawlersError):
    """A notification failed; raised by a channel. Its text contains no secret.

    Args:
        reason: half a sentence, for the log.
        is_temporary: whether a retry may succeed.
        is_refused: whether it is the letter that was refused, which another one may not be.
        is_in_doubt: whether the letter may have been delivered nevertheless.
        is_delivered: whether it was, but not to all.
    """

    def __init__(
        self,
        reason: str,
        *,
        is_temporary: bool = False,
        is_refused: bool = False,
        is_in_doubt: bool = False,
        is_delivered: bool = False,
    ) -> None:
        super().__init__(reason)
        self.is_temporary = is_temporary
        self.is_refused = is_refused
        self.is_in_doubt = is_in_doubt
        self.is_delivered = is_delivered


class Letter(Protocol):
    """What a channel sends: a notice, or a digest."""

    @property
    def subject(self) -> str:
        """The mail's subject, without line breaks."""

    @property
    def message_id(self) -> str | None:
        """What tells the letter from others, also if it is sent again; ``None`` if it never is."""

    @property
    def is_for_contact(self) -> bool:
        """Whether a source's contact may get the mail, too."""

    def plain(self) -> str:
        """Return the mail's text."""

    def html(self) -> str | None:
        """Return the mail's text as HTML; ``None`` if it has none."""

    def fields(self) -> dict[str, Any]:
        """Return the webhook's JSON."""


class Channel(Protocol):
    """A way to send a letter.

    Attributes:
        kind: ``mail`` or ``webhook``.
        name: what the log calls it; it contains no secret.
        whom: what tells who gets its letters from others; it contains no secret.
    """

    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def whom(self) -> str: ...

    def send(self, letter: Letter, timeout: float) -> None:
        """Send a letter.

        Raises:
            NotificationError: it was not delivered.
        """


def with_retries(send: Callable[[float], None], seconds: float) -> None:
    """Call a function at most three times, with a pause between, until it succeeds.

    Args:
        send: takes the seconds that it may wait.
        seconds: for all calls together.

    Raises:
        NotificationError: the last one, or the first that no retry can cure.
    """
    end = time.monotonic() + seconds * 0.97  # the last one says why before nobody waits for it any more
    for left in reversed(range(TRIES)):
        try:
            send(max(min(seconds / TRIES, end - time.monotonic()), 0.1))
        except NotificationError as error:
            if not (left and error.is_temporary):
                raise
            time.sleep(seconds / 30)
        else:
            return


def connection_error(error: OSError) -> NotificationError:
    """Return why a connection failed, without the address."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return NotificationError(f"its certificate is not trusted ({error.verify_message})")
    if isinstance(error, TimeoutError):
        return NotificationError("it did not answer in time", is_temporary=True)
    if isinstance(error, socket.gaierror):
        return NotificationError("its name can't be resolved", is_temporary=True)
    return NotificationError(f"it is unreachable ({error.strerror or type(error).__name__})", is_temporary=True)


def is_private(host: str) -> bool:
    """Return whether no address of a host is public, so that unencrypted traffic to it stays local.

    A name that can't be resolved leads nowhere, so it is private.

    >>> is_private("127.0.0.1"), is_private("::1"), is_private("8.8.8.8")
    (True, True, False)
    """
    literal = spelled(host)
    return not any(map(is_public, [literal] if literal else _addresses(host)))


def _addresses(host: str) -> list[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]).partition("%")[0] for *_, address in found]


def secret(settings: BaseSettings, setting: str) -> tuple[str, str]:
    """Return the name of the environment variable that a setting names, and its value; empty where there is none.

    Raises:
        ArgumentError: the setting is not a variable's name, perhaps it is the secret itself; or the value is not
            printable ASCII. The text contains no secret.
    """
    name = str(settings.get(setting) or "")
    if name and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ArgumentError(
            f"{setting} takes the name of an environment variable, not its value: settings must contain no secrets."
        )
    value = os.environ.get(name, "").strip() if name else ""
    if not re.fullmatch(r"[ -~]*", value):
        raise ArgumentError(f"The environment variable {name} has characters that are not printable ASCII.")
    return name, value


# The webhook


_ADDRESS_OR_TIME = frozenset((401, 403, 404, 405, 407, 408, 410, 421, 425, 429))
"""Statuses that say nothing of what was posted (RFC 9110, 15.5): another address, secret or hour may cure them."""
_IN_DOUBT = frozenset((500, 502, 504))
"""Statuses of a server that failed when it may have read the post (RFC 9110, 15.6)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """The channel that posts a letter as JSON to an address.

    Args:
        address: often a secret.
        proxies: whether to use a proxy of the environment.
    """

    address: str = field(repr=False)
    agent: str
    proxies: bool = True

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self | None:
        """Return the webhook; ``None`` if the environment variable is not set.

        Raises:
            ArgumentError: the environment variable has no usable address.
        """
        name, address = secret(settings, "NOTIFY_WEBHOOK_ENV")
        if not address:
            return None
        _check(name, address)
        agent = f"{settings['BOT_NAME']}/{settings['VERSION']}"
        return cls(address=address, agent=agent, proxies=settings.getbool("HTTPPROXY_ENABLED", True))

    @property
    def kind(self) -> str:
        return "webhook"

    @property
    def name(self) -> str:
        return f"the webhook at {urlsplit(self.address).hostname}"

    @property
    def whom(self) -> str:
        return hashlib.sha256(self.address.encode()).hexdigest()

    def send(self, letter: Letter, timeout: float) -> None:
        """Post a letter.

        Raises:
            NotificationError: the host is unreachable, or its status is not 2xx.
        """
        headers = {"Content-Type": "application/json", "User-Agent": self.agent}
        request = Request(self.address, strict_json.line(letter.fields()), headers, method="POST")  # noqa: S310  # checked
        try:
            with self._opener().open(request, timeout=timeout) as answer:
                _check_status(answer.status)
        except HTTPException as error:
            reason = f"it does not speak HTTP ({type(error).__name__})"
            raise NotificationError(reason, is_temporary=True, is_in_doubt=True) from None
        except URLError as error:
            raise connection_error(error.reason if isinstance(error.reason, OSError) else error) from None
        except OSError as error:  # it has the request
            doubt = connection_error(error)
            doubt.is_in_doubt = True
            raise doubt from None
        except ValueError:  # an invalid name of a proxy, for example
            raise NotificationError("its name can't be resolved") from None

    def _opener(self) -> OpenerDirector:
        """Return an opener that follows no redirect and raises nothing for an error status."""
        opener = OpenerDirector()
        https = HTTPSHandler(context=ssl.create_default_context())
        for handler in (ProxyHandler(None if self.proxies else {}), HTTPHandler(), https):
            opener.add_handler(handler)
        return opener


def _check_status(status: int) -> None:
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise NotificationError(f"it redirects (HTTP {status}), which is not followed: configure its target")
    raise NotificationError(
        f"it answered HTTP {status}",
        is_temporary=status == 429 or status >= 500,
        is_refused=400 <= status < 500 and status not in _ADDRESS_OR_TIME,
        is_in_doubt=status in _IN_DOUBT,
    )


def _check(name: str, address: str) -> None:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and " " not in address
        (parts.hostname or "").encode("idna")  # fails if a label is empty or longer than 63
    except ValueError:
        usable = False
    if not usable or parts.username is not None or parts.password is not None:
        raise ArgumentError(f"The environment variable {name} has no http(s) address without user and password.")
    if parts.scheme == "http" and not is_private(parts.hostname or ""):
        raise ArgumentError(
            f"The environment variable {name} has an http address at {parts.hostname}, which is public: use https."
        )


# Mail


_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """The channel that sends a letter as mail: as plain text, and as HTML if the letter has it.

    Args:
        contact: the source's, who gets only the mail of its failures, and of its recovery.
    """

    to: tuple[str, ...]
    contact: str | None = None
    sender: str
    server: Server
    login: tuple[str, str] | None = field(default=None, repr=False)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self | None:
        """Return the mail channel; ``None`` if NOTIFY_MAIL_TO is empty.

        Raises:
            ArgumentError: an address, the server or the login is not usable.
        """
        server = Server.parse(settings.get("NOTIFY_SMTP") or "")
        to = tuple(filter(None, (address.strip() for address in settings.getlist("NOTIFY_MAIL_TO"))))
        if not to:
            return None
        sender = (settings.get("NOTIFY_MAIL_FROM") or "").strip()
        if not sender:
            raise ArgumentError("NOTIFY_MAIL_TO needs NOTIFY_MAIL_FROM: the address that the mail comes from.")
        for setting, addresses in (("NOTIFY_MAIL_TO", to), ("NOTIFY_MAIL_FROM", (sender,))):
            wrong = next((address for address in addresses if not _ADDRESS.fullmatch(address)), None)
            if wrong is not None:
                raise ArgumentError(f"{setting}: {wrong!r} is not a mail address such as harvest@example.org.")
        contact = settings.get("SOURCE_CONTACT") if settings.getbool("NOTIFY_SOURCE_CONTACT") else None
        known = contact if contact and _ADDRESS.fullmatch(contact) and contact not in to else None
        return cls(to=to, contact=known, sender=sender, server=server, login=_login(settings, server))

    @property
    def kind(self) -> str:
        return "mail"

    @property
    def name(self) -> str:
        return f"the mail server {self.server.host}:{self.server.port}"

    @property
    def whom(self) -> str:
        return ", ".join(self.to)

    def send(self, letter: Letter, timeout: float) -> None:
        """Send a letter.

        Raises:
            NotificationError: the server is unreachable or refuses the mail.
        """
        self.server.send(self.message(letter), self.login, timeout)

    def message(self, letter: Letter) -> EmailMessage:
        """Return a letter as a mail."""
        domain, html = self.sender.rpartition("@")[2], letter.html()
        message = EmailMessage(policy=SMTP)
        message["Subject"] = letter.subject
        message["From"] = self.sender
        message["To"] = ", ".join(self.to)
        if self.contact and letter.is_for_contact:
            message["Cc"] = self.contact
        message["Date"] = format_datetime(localtime())
        message["Message-ID"] = f"<{letter.message_id}@{domain}>" if letter.message_id else make_msgid(domain=domain)
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(letter.plain(), cte="quoted-printable")
        if html:
            message.add_alternative(html, subtype="html", cte="quoted-printable")
        return message


def _login(settings: BaseSettings, server: Server) -> tuple[str, str] | None:
    name, login = secret(settings, "NOTIFY_SMTP_LOGIN_ENV")
    if not login:
        return None
    user, _, password = login.partition(":")
    if not (user and password):
        raise ArgumentError(f"The environment variable {name} is not user:password.")
    if server.scheme == "smtp" and not is_private(server.host):
        raise ArgumentError(
            f"NOTIFY_SMTP: the password would go unencrypted to {server.host}, which is public: use "
            f"starttls://{server.host}:587 or smtps://{server.host}:465."
        )
    return user, password


# The mail server


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
        except smtplib.SMTPDataError as error:
            refused = _refused("it refuses the mail", error.smtp_code)
            refused.is_refused = error.smtp_code >= 400
            raise refused from None
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
            who = ", ".join(sorted(refused))
            raise NotificationError(f"it refuses {who}; the other recipients got the mail", is_delivered=True)

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

    def data(self, msg: Any) -> tuple[int, bytes]:
        """Give the server the mail, once: a reply that does not come leaves in doubt whether it has it (RFC 1047).

        Raises:
            NotificationError: the connection broke, or the reply took too long.
        """
        try:
            return super().data(msg)
        except smtplib.SMTPServerDisconnected:
            pass
        except OSError as error:
            if isinstance(error, smtplib.SMTPException):
                raise
        raise NotificationError("it did not say whether it took the mail", is_in_doubt=True)


class _BoundedSSL(_Bounded, smtplib.SMTP_SSL):
    """The same over TLS."""


def _refused(sentence: str, code: int) -> NotificationError:
    """Return the error for a reply code; 400 to 499 are temporary (RFC 5321, 4.2.1). Its text is not repeated."""
    if code < 0:  # what smtplib gives for a reply without a code
        return NotificationError("it does not speak SMTP")
    return NotificationError(f"{sentence} (SMTP {code})", is_temporary=400 <= code < 500)
