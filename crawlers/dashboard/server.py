"""The app on the loopback, until a signal ends it."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from typing import TYPE_CHECKING, Any

from waitress.server import create_server  # type: ignore[import-untyped]  # it has no types

from crawlers.exceptions import CrawlersError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from flask import Flask

HOST = "127.0.0.1"
_THREADS = 8
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_WARMED = 5.0  # seconds between looks at whether the overview is to be made anew


class DashboardError(CrawlersError):
    """The dashboard can't be reached at the port that was asked for; raised by `Server`."""


class Server:
    """
    Args:
        port: 0 for a free one.

    Raises:
        DashboardError: the port is taken, or no port.
    """

    def __init__(self, app: Flask, port: int) -> None:
        self.app = app
        own = _listening(port)
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # that somebody waits for a thread is no news
        self.server: Any = create_server(app, sockets=[own], threads=_THREADS, ident=None)
        self.url = f"http://{HOST}:{own.getsockname()[1]}/"

    def run(self, ready: Callable[[], None]) -> None:
        """Until SIGINT or SIGTERM.

        Args:
            ready: called once requests can be made; they wait until it returns.
        """
        over = threading.Event()
        for one in _SIGNALS:
            signal.signal(one, _end)
        try:
            ready()
            threading.Thread(target=self._warm, args=(over,), daemon=True).start()
            self.server.run()
        except KeyboardInterrupt:  # before it took requests
            pass
        finally:
            over.set()
            self.server.close()

    def _warm(self, over: threading.Event) -> None:
        """The overview is made when the index has changed, not when somebody waits for it."""
        while not over.is_set():
            self.app.extensions["site"].warm()
            over.wait(_WARMED)


def _listening(port: int) -> socket.socket:
    """
    >>> _listening(99_999)
    Traceback (most recent call last):
    ...
    crawlers.dashboard.server.DashboardError: There is no port 99999: name one of 1 to 65535, or 0 for a free one.
    """
    if not 0 <= port < 65536:
        raise DashboardError(f"There is no port {port}: name one of 1 to 65535, or 0 for a free one.")
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise DashboardError(f"Port {port} of {HOST} can't be had ({reason}): name another with --port.") from None


def _end(_number: int, _frame: FrameType | None) -> None:
    """A second signal does not interrupt the end, which takes some seconds at most."""
    for one in _SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt
