"""A CKAN portal on the loopback, HDX's exports included, that can be told to fail.

    python tests/portal/server.py --port 8000 --datasets 305 --fault unavailable=1

prints its address when it listens and serves until SIGTERM.
"""

import argparse
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # it is run as a script, from any folder

from tests.portal import actions, control, datastore, writes
from tests.portal.actions import Portal
from tests.portal.catalogue import Catalogue
from tests.portal.control import Log
from tests.portal.counting import count
from tests.portal.faults import Faults, UnknownFaultError, names
from tests.portal.message import Answer, Request, page

WRITERS = (datastore, writes)  # importing them registers their actions
HOST = "127.0.0.1"
LOCALES = ("/en", "/de")
LONGEST_BODY = 10_000_000
POLLED = 0.05  # seconds until an end is noticed
CONTROL = "/_portal/"
ROBOTS = b"User-agent: *\nDisallow: /dataset/rate/\nDisallow: /revision/\nDisallow: /api/\nCrawl-Delay: 10\n"


class Site:
    """Takes a request, gives the answer: faults first, then the portal."""

    def __init__(self, portal: Portal, log: Log, *, prefix: str = "", latency: float = 0.0) -> None:
        self.portal = portal
        self.log = log
        self.prefix = prefix
        self.latency = latency

    def answer(self, request: Request) -> Answer:
        request.path = self.below_prefix(request.path)
        if request.path.startswith(CONTROL):
            return control.perform(self.portal, self.log, request, request.path.removeprefix(CONTROL))
        count()
        self.log.add(request)
        if self.latency:
            time.sleep(self.latency)
        faults = self.portal.faults
        return faults.answer(request, faults.instead(request) or self.route(request))

    def below_prefix(self, path: str) -> str:
        """The path as the portal knows it; empty outside of the prefix, but for what stands at a host's root."""
        if path == "/robots.txt" or path.startswith(CONTROL):
            return path
        if not path.startswith(f"{self.prefix}/"):
            return ""
        path = path.removeprefix(self.prefix)
        locales = () if "no_locale" in self.portal.faults.on else LOCALES
        return next((path.removeprefix(one) for one in locales if path.startswith(f"{one}/")), path)

    def route(self, request: Request) -> Answer:
        answer = page(404)
        match [unquote(part) for part in request.path.split("/")[1:]]:
            case ["api", *version, "action", name] if version == self.api_version():
                answer = actions.perform(self.portal, name, request)
            case ["dataset", key, "download_metadata"]:
                answer = actions.dataset_export(self.portal, request, key)
            case ["dataset", _, "resource", resource_id, "download_metadata"]:
                answer = actions.resource_export(self.portal, request, resource_id)
            case ["dataset", key]:
                answer = actions.dataset_page(self.portal, key)
            case ["robots.txt"]:
                answer = Answer(200, ROBOTS, "text/plain; charset=utf-8")
        return answer

    def api_version(self) -> list[str]:
        return [] if "old" in self.portal.faults.on else ["3"]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, site: Site, *, quiet: bool = True) -> None:
        super().__init__((HOST, port), Handler)
        self.site = site
        self.quiet = quiet
        self.connections: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def begin(self) -> None:
        threading.Thread(target=self.serve_forever, args=(POLLED,), daemon=True).start()

    def end(self) -> None:
        """End as a process does: nobody listens any more, and what is connected is cut off."""
        self.shutdown()
        self.server_close()
        for connection in list(self.connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error of the portal."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}{self.site.prefix}"


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.reply()

    def do_POST(self) -> None:
        self.reply()

    def reply(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length <= LONGEST_BODY else None
        answer = page(413) if body is None else self.server.site.answer(self.asked(body))
        self.close_connection = self.close_connection or answer.closes or body is None
        self.wfile.write(answer.encoded())
        if not self.server.quiet:
            sys.stderr.write(f"{answer.status} {self.command} {self.path}\n")

    def asked(self, body: bytes) -> Request:
        path, _, query = self.path.partition("?")
        agent, host, token = (self.headers.get(name, "") for name in ("User-Agent", "Host", "Authorization"))
        return Request(self.command, self.path, path, query, body, agent, host, token)


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=f"faults: {', '.join(names())}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--datasets", type=int, default=305)
    parser.add_argument("--resources", type=int, default=3, help="of each dataset")
    parser.add_argument("--rows-max", type=int, default=100, help="a listing's longest page")
    parser.add_argument("--prefix", default="", help="where the portal lives on its host, like /data")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME[=VALUE]")
    parser.add_argument("--latency", type=float, default=0.0, metavar="SECONDS", help="before every answer")
    parser.add_argument("--until-eof", action="store_true", help="end when stdin ends, as it does with the parent")
    parser.add_argument("--no-log", action="store_true", help="remember no request")
    parser.add_argument("--quiet", action="store_true", help="write no line per request")
    return parser.parse_args(words)


def built(options: argparse.Namespace) -> Site:
    catalogue = Catalogue(options.resources)
    catalogue.grow(options.datasets)
    faults = Faults(catalogue)
    for fault in options.fault:
        faults.switch(*fault.split("=", 1))
    portal = Portal(catalogue, faults, rows_max=options.rows_max)
    return Site(portal, Log(kept=not options.no_log), prefix=options.prefix.rstrip("/"), latency=options.latency)


def wait_for_end_of_input(done: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 65_536):
        pass
    done.set()


def main() -> None:
    options, done = arguments(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if options.until_eof:
        threading.Thread(target=wait_for_end_of_input, args=(done,), daemon=True).start()
    try:
        server = Server(options.port, built(options), quiet=options.quiet)
    except UnknownFaultError as error:
        sys.exit(str(error))
    server.begin()
    print(server.address, flush=True)
    done.wait()


if __name__ == "__main__":
    main()
