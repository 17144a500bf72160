"""A way to tell somebody, how it fails, and how often it is tried."""

from __future__ import annotations

import socket
import ssl
import time
from typing import TYPE_CHECKING, Protocol

from crawlers.exceptions import CrawlersError

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.notify.notice import Notice

TRIES = 3


class NotToldError(CrawlersError):
    """Nobody was told; raised by a channel. Its text names no secret.

    Args:
        reason: half a sentence, for the log.
        again: whether it may go better the next time.
    """

    def __init__(self, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


class Channel(Protocol):
    """
    Attributes:
        name: what the log calls it; no secret is in it.
    """

    @property
    def name(self) -> str: ...

    def tell(self, notice: Notice, timeout: float) -> None:
        """
        Raises:
            NotToldError: it did not get through.
        """


def tried(tell: Callable[[float], None], seconds: float) -> None:
    """Calls it three times at most, with a pause, within so many seconds.

    Args:
        tell: takes the seconds that it may wait.

    Raises:
        NotToldError: the last of them.
    """
    end = time.monotonic() + seconds
    for left in reversed(range(TRIES)):
        try:
            tell(max(min(seconds / TRIES, end - time.monotonic()), 0.1))
        except NotToldError as error:
            if not (left and error.again):
                raise
            time.sleep(seconds / 30)
        else:
            return


def unreached(error: OSError) -> NotToldError:
    """Why nobody was reached, without the address that was asked."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return NotToldError(f"its certificate is not trusted ({error.verify_message})")
    if isinstance(error, TimeoutError):
        return NotToldError("it did not answer in time", again=True)
    if isinstance(error, socket.gaierror):
        return NotToldError("its name can't be resolved", again=True)
    return NotToldError(f"it can't be reached ({error.strerror or type(error).__name__})", again=True)
