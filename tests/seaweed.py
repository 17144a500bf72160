"""A real S3 server on the loopback: SeaweedFS, with one user, whose buckets are folders of its filer."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Event, Thread
from typing import Any, Self
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from tests.ports import free_port
from tests.waiting import until

KEY, SECRET = "tester", "not-a-secret"
USER = {"name": "tester", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]}
PORTS = ("master", "volume", "filer", "s3")


class Seaweed:
    """An S3 server that keeps its files in a folder until the process ends.

    Attributes:
        url: the S3 endpoint.
        environment: what a client of it has in its environment.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        for _ in range(5):  # another may take a port first
            self.ports = {f"{name}.{kind}": free_port() for name in PORTS for kind in ("port", "port.grpc")}
            self.url = f"http://127.0.0.1:{self.ports['s3.port']}"
            self.environment = environment(self.url)
            if self._start():
                return self
        raise RuntimeError(f"SeaweedFS does not start: {(self.folder / 'log').read_text()}")

    def __exit__(self, *_: object) -> None:
        if self.process:
            self.process.kill()  # a polite end takes it ten seconds
            self.process.wait(30)

    def _start(self) -> bool:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "s3.json").write_text(json.dumps({"identities": [USER]}))
        options = {name: str(port) for name, port in self.ports.items()} | {
            "ip": "127.0.0.1",
            "ip.bind": "127.0.0.1",
            "dir": str(self.folder),
            "master.peers": "none",
            "master.volumeSizeLimitMB": "64",
            "volume.max": "1000",
            "s3.config": str(self.folder / "s3.json"),
            "s3.autoCreateBucket": "false",
            "s3.port.iceberg": "0",
            "s3.port.lance": "0",
        }
        words = ["-logtostderr", "server", "-s3", "-filer", *(f"-{name}={value}" for name, value in options.items())]
        with (self.folder / "log").open("ab") as log:
            program = Path(sys.executable).with_name("weed")
            self.process = subprocess.Popen([program, *words], cwd=self.folder, stdout=log, stderr=log)
        return bool(until(self.answers, unless=lambda: self.process is not None and self.process.poll() is not None))

    def answers(self) -> bool:
        """Return whether S3 answers, and a bucket can be made."""
        try:
            build_opener(ProxyHandler({})).open(self.url, timeout=60).close()
        except HTTPError as error:
            return error.code == 403 and self._makes_buckets()  # 403 is S3's answer to a stranger
        except OSError:
            return False
        return False

    def _makes_buckets(self) -> bool:
        try:
            self.make_bucket(f"first-{self.process.pid if self.process else 0}")
        except OSError:
            return False
        return True

    def make_bucket(self, name: str) -> None:
        self.ask("POST", f"buckets/{name}/")

    def files(self, bucket: str) -> dict[str, int]:
        """Return the size of every object, and of every part of an upload that has not ended, by its path."""
        return dict(self._below(f"buckets/{bucket}"))

    def _below(self, folder: str) -> Iterator[tuple[str, int]]:
        found = json.loads(self.ask("GET", f"{folder}/?limit=10000", Accept="application/json"))
        for entry in found["Entries"] or ():
            path = entry["FullPath"].lstrip("/")
            if entry["Mode"] >> 31:  # Go's bit of a folder
                yield from self._below(path)
            else:
                yield path.split("/", 2)[2], entry["FileSize"]

    def ask(self, method: str, path: str, **headers: str) -> bytes:
        with self._open(method, path, headers) as answer:
            return bytes(answer.read())

    def headers(self, path: str) -> dict[str, str]:
        """Return the headers of a file."""
        with self._open("HEAD", path, {}) as answer:
            return dict(answer.headers)

    def _open(self, method: str, path: str, headers: dict[str, str]) -> Any:
        url = f"http://127.0.0.1:{self.ports['filer.port']}/{path}"
        return build_opener(ProxyHandler({})).open(Request(url, method=method, headers=headers), timeout=60)


def environment(url: str) -> dict[str, str]:
    """Return what S3's clients read in their environment."""
    names = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": url}
    return names | {"AWS_REGION": "us-east-1"}


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seaweed]:
    """Start one S3 server for all tests of a process."""
    with Seaweed(tmp_path_factory.mktemp("seaweed")) as server:
        yield server


class Faults(ThreadingTCPServer):
    """A proxy before an S3 server, one request a connection, that fails as it is told.

    Attributes:
        planned: for each method, the faults of its next requests: a status, ``stall`` (no answer), ``cut`` (the
            connection breaks in the middle of the body), ``lose`` (it breaks before the answer to what was done).
        asked: the request lines that came.
        ahead: seconds that the dates of its answers are.
        seen: called with each request line, before the request goes on and after it was done, before its answer.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # a table is read by many connections at once

    def __init__(self, behind: str) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.behind = urlsplit(behind)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.planned: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self.ahead = 0.0
        self.seen: Callable[[str], object] = lambda _: None
        self.stopped = Event()

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.shutdown()
        self.server_close()

    def count(self, method: str) -> int:
        return sum(line.startswith(f"{method} ") for line in self.asked)


_DATE = re.compile(rb"\r\nDate: ([^\r]+)\r\n")


class _Exchange(StreamRequestHandler):
    """One request: its fault, or the server's answer."""

    server: Faults

    def handle(self) -> None:
        line, *headers = iter(lambda: self.rfile.readline().strip(), b"")
        self.server.asked.append(line.decode())
        self.server.seen(line.decode())
        length = next((int(one[15:]) for one in headers if one.lower().startswith(b"content-length:")), 0)
        planned = self.server.planned.get(line.decode().split()[0])
        fault = planned.pop(0) if planned else ""
        if fault.isdigit():
            self.rfile.read(length)
            self.wfile.write(f"HTTP/1.1 {fault} Fault\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        elif fault == "stall":
            self.server.stopped.wait(600)
        else:
            length = length // 2 if fault == "cut" else length
            with suppress(ConnectionError):  # who asked was killed
                self._pass([line, *headers, b"Connection: close", b"", b""], length, fault)

    def _pass(self, head: list[bytes], length: int, fault: str) -> None:
        behind = self.server.behind
        with socket.create_connection((behind.hostname, behind.port)) as server:
            server.sendall(b"\r\n".join(head))
            while length and (part := self.rfile.read(min(length, 65536))):
                server.sendall(part)
                length -= len(part)
            part = b"" if fault == "cut" or length else server.recv(65536)  # else who asked was killed
            self.server.seen(head[0].decode())
            while part:
                if fault != "lose":
                    self.wfile.write(_DATE.sub(self._dated, part) if self.server.ahead else part)
                part = server.recv(65536)

    def _dated(self, found: re.Match[bytes]) -> bytes:
        date = parsedate_to_datetime(found[1].decode()) + timedelta(seconds=self.server.ahead)
        return b"\r\nDate: " + format_datetime(date, usegmt=True).encode() + b"\r\n"
