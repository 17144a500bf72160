"""A notice by mail: what happened, what to do, where the files are, and the first errors."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, localtime, make_msgid
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from crawlers.exceptions import ArgumentError
from crawlers.operate.notify.channel import is_private, secret
from crawlers.operate.notify.smtp import Server
from crawlers.safety.redact import safe_line
from crawlers.signals import KINDS
from crawlers.store import lines
from crawlers.store.runs import bounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from crawlers.operate.notify.notice import Notice

LINES = 20
"""Error lines in a mail."""
_LONGEST = 64 * 1024  # bytes of an error line
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,253}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mail:
    """The channel that sends a notice as plain text.

    Args:
        to: the recipients.
        contact: the source's, who gets only the mail of its failures, and of its recovery.
        sender: the address that the mail comes from.
        server: the mail server.
        login: user and password there.
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
    def name(self) -> str:
        return f"the mail server {self.server.host}:{self.server.port}"

    def send(self, notice: Notice, timeout: float) -> None:
        """Send a notice.

        Raises:
            NotificationError: the server is unreachable or refuses the mail.
        """
        self.server.send(self.message(notice), self.login, timeout)

    def message(self, notice: Notice) -> EmailMessage:
        """Return a notice as a mail."""
        message = EmailMessage(policy=SMTP)
        message["Subject"] = safe_line(f"{notice.report['source']}: {notice.state}, {notice.datasets}", 200)
        message["From"] = self.sender
        message["To"] = ", ".join(self.to)
        if self.contact and (notice.is_failure or notice.has_recovered):
            message["Cc"] = self.contact
        message["Date"] = format_datetime(localtime())
        message["Message-ID"] = make_msgid(domain=self.sender.rpartition("@")[2])
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(body(notice), cte="quoted-printable")
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


def body(notice: Notice) -> str:
    """Return the text of a mail."""
    report = notice.report
    counts = [f"{count:>7} {safe_line(name)}" for name, count in (report.get("counts") or {}).items() if count]
    errors, flaws = (
        [f"{count:>7} {safe_line(kind)}: {_meaning(kind)}" for kind, count in (report.get(name) or {}).items()]
        for name in ("errors", "flaws")
    )
    first = islice(_lines(notice, "errors"), LINES)
    appeared = islice((line for line in _lines(notice, "flaws") if line.get("status") == "new"), LINES)
    parts = (
        notice.text,
        safe_line(report.get("why"), 4096),
        notice.advice,
        _section("Documents:", counts),
        _section("Errors:", errors),
        _section("Flaws of records that are kept:", flaws),
        _files(notice),
        _section("The first lines of errors.jsonl:", map(_described, first)),
        _section("The first new flaws:", map(_described, appeared)),
    )
    return "\n\n".join(filter(None, parts)) + "\n"


def _section(heading: str, lines: Any) -> str:
    text = "\n".join(f"  {line}" for line in lines)
    return f"{heading}\n{text}" if text else ""


def _meaning(kind: str) -> str:
    return KINDS.get(kind, "see errors.jsonl.")


def _files(notice: Notice) -> str:
    report, folder = notice.report, notice.folder.resolve()
    times = f"Started {report.get('started')}, ended {report.get('finished')}, on {notice.host}."
    written = folder / "runs" / f"{report.get('run')}.json"
    lines = [safe_line(times), f"The files: {folder}"]
    if written.is_file():  # a run that crashed has none
        lines.append(f"The report: {written}")
    if report.get("log"):
        lines.append(f"Its log: {safe_line(report['log'], 4096)}")
    return "\n".join(lines)


def _lines(notice: Notice, name: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a run, which begin where its report says; of flaws, those of killed crawls before it, too.

    Args:
        name: errors or flaws.
    """
    report, run = notice.report, notice.report.get("run")
    marks = (f'"run":{json.dumps(run)}'.encode(), f'"run": {json.dumps(run)}'.encode())
    with suppress(OSError):
        for raw in lines.between(notice.folder, f"{name}.jsonl", *bounds(report, name)):
            is_own = name == "flaws" or any(mark in raw for mark in marks)
            line = _object(raw) if len(raw) < _LONGEST and is_own else {}
            if line and (name == "flaws" or line.get("run") == run):
                yield line


def _object(raw: bytes) -> dict[str, Any]:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return line if isinstance(line, dict) else {}


def _described(line: dict[str, Any]) -> str:
    where = line.get("url") or line.get("dataset_id") or ""
    stage, kind, error = (safe_line(line.get(name)) for name in ("stage", "kind", "error"))
    return f"{stage} {kind} {safe_line(where)}\n    {error}"
