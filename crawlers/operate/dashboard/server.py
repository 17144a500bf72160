"""The web server of the dashboard, on the loopback, until a signal ends it."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from typing import TYPE_CHECKING, Any

from waitress import wasyncore  # type: ignore[import-untyped]  # it has no types
from waitress.server import create_server  # type: ignore[import-untyped]

from crawlers.exceptions import CrawlersError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from flask import Flask

HOST = "127.0.0.1"
LARGEST = 64 * 1024
"""Bytes of a request's body."""
_THREADS = 8
_CONNECTIONS = 500  # at once, most of them idle: a browser keeps some open for each of its tabs
_IDLE = 30  # seconds until one of these is closed
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_WARMED = 5.0  # seconds between checks whether the overview is out of date


class DashboardError(CrawlersError):
    """The dashboard can't start: its port is not available, or its password is not set."""


class Server:
    """The server of an app.

    Args:
        app: the dashboard.
        port: 0 for a free one.

    Raises:
        DashboardError: the port is taken, or no port.
    """

    def __init__(self, app: Flask, port: int) -> None:
        self.app = app
        own = _listening(port)
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # waiting requests are normal
        proxy = {"trusted_proxy": HOST, "trusted_proxy_headers": {"x-forwarded-proto"}}  # it says whether https is used
        self.connections: dict[int, Any] = {}
        self.server: Any = create_server(
            app,
            map=self.connections,
            sockets=[own],
            threads=_THREADS,
            connection_limit=_CONNECTIONS,
            channel_timeout=_IDLE,
            cleanup_interval=_IDLE // 3,
            asyncore_use_poll=True,  # select knows no more than 1,024 files
            ident=None,
            max_request_body_size=LARGEST,
            **proxy,
        )
        self.url = f"http://{HOST}:{own.getsockname()[1]}/"

    def run(self, ready: Callable[[], None]) -> None:
        """Serve until SIGINT or SIGTERM.

        Args:
            ready: called when requests are accepted; they wait until it returns.
        """
        over = threading.Event()
        for number in _SIGNALS:
            signal.signal(number, _end)
        try:
            ready()
            threading.Thread(target=self._warm, args=(over,), daemon=True).start()
            self.server.run()
        except KeyboardInterrupt:  # before it took requests
            pass
        finally:
            over.set()
            wasyncore.close_all(self.connections)

    def _warm(self, over: threading.Event) -> None:
        """Make the overview when the index has changed, not when a reader waits for it."""
        while not over.is_set():
            self.app.extensions["site"].warm()
            over.wait(_WARMED)


def _listening(port: int) -> socket.socket:
    """Return a socket that listens on a port.

    >>> _listening(99_999)
    Traceback (most recent call last):
    ...
    crawlers.operate.dashboard.server.DashboardError: There is no port 99999: name one from 1 to 65535, or 0 for any.
    """
    if not 0 <= port < 65536:
        raise DashboardError(f"There is no port {port}: name one from 1 to 65535, or 0 for any.")
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise DashboardError(f"Port {port} of {HOST} is not available ({reason}): name another with --port.") from None


def _end(_number: int, _frame: FrameType | None) -> None:
    """Stop; ignore a second signal, for stopping takes some seconds at most."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
