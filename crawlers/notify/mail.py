"""A mailbox that gets a notice as plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, localtime, make_msgid
from typing import TYPE_CHECKING, Self

from crawlers.exceptions import ArgumentError
from crawlers.notify.letter import letter, subject
from crawlers.notify.private import is_private
from crawlers.notify.secret import secret, variable
from crawlers.notify.smtp import Server

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawlers.notify.notice import Notice

_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """
    Args:
        to: who gets it.
        sender: from whom.
        server: by which server.
        login: user and password there.
    """

    to: tuple[str, ...]
    sender: str
    server: Server
    login: tuple[str, str] | None = field(default=None, repr=False)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Self | None:
        """
        Raises:
            ArgumentError: an address, the server or the login can't be used.
        """
        server = Server.parse(settings.get("NOTIFY_SMTP") or "")
        to = tuple(filter(None, (one.strip() for one in settings.getlist("NOTIFY_MAIL_TO"))))
        if not to:
            return None
        sender = (settings.get("NOTIFY_MAIL_FROM") or "").strip()
        if not sender:
            raise ArgumentError("NOTIFY_MAIL_TO needs NOTIFY_MAIL_FROM: the address that the mail comes from.")
        for setting, addresses in (("NOTIFY_MAIL_TO", to), ("NOTIFY_MAIL_FROM", (sender,))):
            _check(setting, addresses)
        return cls(to=to, sender=sender, server=server, login=_login(settings, server))

    @property
    def name(self) -> str:
        return f"the mail server {self.server.host}:{self.server.port}"

    def tell(self, notice: Notice, timeout: float) -> None:
        """
        Raises:
            NotToldError: the server can't be reached or does not take it.
        """
        self.server.send(self.message(notice), self.login, timeout)

    def message(self, notice: Notice) -> EmailMessage:
        message = EmailMessage(policy=SMTP)
        message["Subject"] = subject(notice)
        message["From"] = self.sender
        message["To"] = ", ".join(self.to)
        message["Date"] = format_datetime(localtime())
        message["Message-ID"] = make_msgid(domain=self.sender.rpartition("@")[2])
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(letter(notice), cte="quoted-printable")
        return message


def _check(setting: str, addresses: tuple[str, ...]) -> None:
    wrong = next((one for one in addresses if not _ADDRESS.fullmatch(one)), None)
    if wrong is not None:
        raise ArgumentError(f"{setting}: {wrong!r} is no mail address such as harvest@example.org.")


def _login(settings: BaseSettings, server: Server) -> tuple[str, str] | None:
    login, name = secret(settings, "NOTIFY_SMTP_LOGIN_ENV"), variable(settings, "NOTIFY_SMTP_LOGIN_ENV")
    if not login:
        return None
    user, colon, password = login.partition(":")
    if not (user and colon and password):
        raise ArgumentError(f"The environment variable {name} is not user:password.")
    if server.scheme == "smtp" and not is_private(server.host):
        raise ArgumentError(
            f"NOTIFY_SMTP: the password would go to {server.host}, which is public, unencrypted: "
            f"starttls://{server.host}:587 or smtps://{server.host}:465."
        )
    return user, password
