"""A web site of one function on the loopback, for the answers that no portal should give."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.portal.counting import count


@dataclass(frozen=True)
class Asked:
    path: str
    headers: Message
    method: str = "GET"
    body: bytes = b""

    @property
    def action(self) -> str:
        return urlsplit(self.path).path.rpartition("/")[2]

    @property
    def id(self) -> str:
        return self.parameters.get("id", "")

    @property
    def parameters(self) -> dict[str, str]:
        """The query's, the last of each name."""
        return {
            name: values[-1] for name, values in parse_qs(urlsplit(self.path).query, keep_blank_values=True).items()
        }


@dataclass(frozen=True)
class Answer:
    """
    Args:
        body: bytes, or parts that are sent as they come, in chunks and without a length.
    """

    body: bytes | Iterator[bytes] = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


def redirect(location: str) -> Answer:
    return Answer(status=302, headers={"Location": location})


def result(value: Any) -> Answer:
    return Answer(json.dumps({"success": True, "result": value}).encode())


def listing(*records: dict[str, Any]) -> Answer:
    return result({"count": len(records), "results": list(records)})


class Site:
    """
    Args:
        host: the address to listen at, on the loopback.
        port: where; 0 for a free one.

    Attributes:
        asked: every request so far.
    """

    def __init__(self, answer: Callable[[Asked], Answer], host: str = "127.0.0.1", port: int = 0) -> None:
        self.asked: list[Asked] = []
        self.answer = answer
        self.server = ThreadingHTTPServer((host, port), _handler(self))
        self.port = self.server.server_port
        self.url = f"http://{host}:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            count()
            site.asked.append(Asked(self.path, self.headers, self.command, body))
            answer = site.answer(site.asked[-1])
            self.send_response_only(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if isinstance(answer.body, bytes):
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)
            else:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.chunks(answer.body)

        def chunks(self, parts: Iterator[bytes]) -> None:
            try:
                for part in parts:
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                self.wfile.write(b"0\r\n\r\n")
            except ConnectionError:  # cut, as it should be
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler
