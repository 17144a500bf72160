"""Hosts of files on the loopback, to be archived: they count what they are asked.

python benchmarks/file_hosts.py HOSTS FILES BYTES

prints the port when it listens at 127.0.1.1, 127.0.1.2 ...; each host has /data.json, a catalogue of FILES files of
BYTES bytes at all of them, none of them fresh; /one.json?ADDRESS, a catalogue of one file; /big?BYTES, that
file; and /count, the requests for files.
"""

from __future__ import annotations

import asyncio
import json
import sys

BLOCK = bytes(range(32, 96)) * 1024
PER_DATASET = 50


class Hosts(asyncio.Protocol):
    """A connection; keeps it open, takes one request after another."""

    counted = 0
    catalogue = b""
    is_paused = False
    left = 0
    size = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.waiting = b""

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        while b"\r\n\r\n" in self.waiting:
            head, _, self.waiting = self.waiting.partition(b"\r\n\r\n")
            self.transport.writelines(self.answer(head))

    def answer(self, head: bytes) -> list[bytes]:  # noqa: PLR0911
        path = head.split(b" ", 2)[1].decode()
        if path == "/robots.txt":
            return [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"]
        if path == "/data.json":
            return answered(self.catalogue, "Content-Type: application/json")
        if path.startswith("/one.json?"):
            return answered(catalogue([path[10:]]), "Content-Type: application/json")
        if path == "/count":
            return answered(str(Hosts.counted).encode(), "Content-Type: text/plain")
        Hosts.counted += 1
        if path.startswith("/big?"):
            size = int(path[5:])
            self.big(size)
            return []
        number = int(path.strip("/").split(".")[0])
        more = "Cache-Control: no-cache"
        if b"if-none-match" in head.lower():
            return [f'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n{more}\r\n\r\n'.encode()]
        body = b"%d," % number + BLOCK[: self.size - len(str(number)) - 1]
        return answered(body, f'Content-Type: text/csv\r\nETag: "1"\r\n{more}')

    def big(self, size: int) -> None:
        """Send a file as fast as it is taken."""
        self.transport.write(header(200, "Content-Type: text/plain", size))
        self.left = size
        self.transport.set_write_buffer_limits(high=1 << 20)
        self.resume_writing()

    def pause_writing(self) -> None:
        self.is_paused = True

    def resume_writing(self) -> None:
        self.is_paused = False
        while self.left and not self.is_paused:
            self.left -= len(BLOCK)
            self.transport.write(BLOCK)


def header(status: int, more: str, size: int) -> bytes:
    return f"HTTP/1.1 {status} OK\r\n{more}\r\nContent-Length: {size}\r\n\r\n".encode()


def answered(body: bytes, more: str) -> list[bytes]:
    return [header(200, more, len(body)), body]


def catalogue(addresses: list[str]) -> bytes:
    datasets = [
        {
            "identifier": f"d{first}",
            "title": f"Dataset {first}",
            "distribution": [{"downloadURL": one, "format": "CSV"} for one in addresses[first : first + PER_DATASET]],
        }
        for first in range(0, len(addresses), PER_DATASET)
    ]
    context = "https://project-open-data.cio.gov/v1.1/schema"
    return json.dumps({"conformsTo": context, "dataset": datasets}).encode()


def names(hosts: int) -> list[str]:
    return [f"127.0.{1 + number // 250}.{1 + number % 250}" for number in range(hosts)]


async def main(hosts: int, files: int, size: int) -> None:
    loop = asyncio.get_running_loop()
    first = await loop.create_server(Hosts, names(1), 0)
    port = first.sockets[0].getsockname()[1]
    others = await loop.create_server(Hosts, names(hosts)[1:], port) if hosts > 1 else first
    addresses = [f"http://{names(hosts)[number % hosts]}:{port}/{number}.csv" for number in range(files)]
    Hosts.catalogue, Hosts.size = catalogue(addresses), size
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    others.close()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
