"""What the webhook and the mail have in common: their error, their retries, their secrets, and when to encrypt."""

from __future__ import annotations

import os
import re
import socket
import ssl
import time
from typing import TYPE_CHECKING, Protocol

from crawlers.exceptions import ArgumentError, CrawlersError
from crawlers.safety.resolver import is_public, spelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

    from crawlers.operate.notify.notice import Notice

TRIES = 3


class NotificationError(CrawlersError):
    """A notification failed; raised by a channel. Its text contains no secret.

    Args:
        reason: half a sentence, for the log.
        is_temporary: whether a retry may succeed.
    """

    def __init__(self, reason: str, *, is_temporary: bool = False) -> None:
        super().__init__(reason)
        self.is_temporary = is_temporary


class Channel(Protocol):
    """A way to send a notice.

    Attributes:
        name: what the log calls it; it contains no secret.
    """

    @property
    def name(self) -> str: ...

    def send(self, notice: Notice, timeout: float) -> None:
        """Send a notice.

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
    end = time.monotonic() + seconds
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
