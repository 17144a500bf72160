"""Headers without end, and encodings within encodings: what a crawl takes of them."""

from __future__ import annotations

import gzip
import itertools
import socketserver
import threading
from contextlib import suppress

import pytest
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.web._newclient import Request, ResponseDone
from twisted.web.http import PotentialDataLoss
from twisted.web.http_headers import Headers

from crawlers.components.connections import MOST_HEADERS, BoundedProtocol, HeadersTooLarge
from crawlers.components.content_encoding import NotUnpacked, unpacked
from crawlers.exceptions import AnswerError
from tests.site import Answer
from tests.test_safety import errors, measured, site_of

KIB = 1024


def received(*parts):
    """What a client makes of an answer, how many bytes it took, and whether it let go of the connection."""
    protocol, outcome = BoundedProtocol(lambda _: None), []
    transport = StringTransport()
    protocol.makeConnection(transport)
    asked = Request(b"GET", b"/", Headers({b"Host": [b"example.org"]}), None)
    protocol.request(asked).addBoth(outcome.append)
    taken = 0
    for part in parts:
        if outcome or transport.disconnected:
            break
        protocol.dataReceived(part)
        taken += len(part)
    return (outcome or [None])[0], taken, transport.disconnected


def test_a_request_that_may_not_be_sent_is_not_written():
    protocol, outcome, transport = BoundedProtocol(lambda _: None), [], StringTransport()
    protocol.permits = lambda: False
    protocol.makeConnection(transport)
    asked = Request(b"GET", b"/", Headers({b"Host": [b"example.org"]}), None)
    protocol.request(asked).addBoth(outcome.append)
    assert isinstance(outcome[0].value, ConnectionLost)
    assert (transport.value(), transport.disconnected) == (b"", True)


OK = b"HTTP/1.1 200 OK\r\n"
ENDLESS = {
    "headers": (OK, itertools.repeat(b"X: y\r\n" * 1000)),
    "one header": (OK, itertools.repeat(b"X" * 1000)),
    "a folded header": (OK + b"X: y\r\n", itertools.repeat(b" y\r\n" * 1000)),
    "a status line": (b"HTTP/1.1 200 ", itertools.repeat(b"O" * 1000)),
    "1xx": (b"", itertools.repeat(b"HTTP/1.1 102 Processing\r\nX: y\r\n\r\n" * 100)),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_headers_without_end(name):
    start, rest = ENDLESS[name]
    failure, taken, closed = received(start, *itertools.islice(rest, 1000))
    assert isinstance(failure.value.reasons[0].value, HeadersTooLarge)
    assert (closed, taken <= MOST_HEADERS + 64 * KIB) == (True, True)


def test_many_headers_are_no_headers_without_end():
    headers = b"".join(b"X-%d: %s\r\n" % (number, b"y" * 1000) for number in range(200))
    response, _, closed = received(OK, headers, b"Content-Length: 0\r\n\r\n")
    assert (response.code, closed, len(list(response.headers.getAllRawHeaders()))) == (200, False, 200)


class Collected(Protocol):
    """Takes a body."""

    def __init__(self):
        self.body, self.end = b"", None

    def dataReceived(self, data):
        self.body += data

    def connectionLost(self, reason=connectionDone):
        self.end = reason.type


UNCLEAR = [[b"abc"], [b"0, 5"], [b"0", b"5"], [b"-1"], [b""], [b"9" * 30], [b"+3"], [b"0x3"]]


@pytest.mark.parametrize("lengths", UNCLEAR, ids=repr)
@pytest.mark.parametrize("body", [b"HTTP/1.1 200 OK\r\n\r\n", b"3\r\nabc\r\n0\r\n\r\n"])
def test_a_connection_is_not_used_again_after_a_length_without_sense(lengths, body):
    free, found = [], []
    protocol, transport, taken = BoundedProtocol(free.append), StringTransport(), Collected()
    protocol.makeConnection(transport)
    protocol.request(Request(b"GET", b"/", Headers({b"Host": [b"a"]}), None, persistent=True)).addCallback(found.append)
    is_chunked = body.startswith(b"3")
    protocol.dataReceived(OK + b"".join(b"Content-Length: %b\r\n" % value for value in lengths))
    protocol.dataReceived((b"Transfer-Encoding: chunked\r\n" if is_chunked else b"") + b"\r\n")
    found[0].deliverBody(taken)
    protocol.dataReceived(body)
    if not is_chunked:
        protocol.connectionLost(Failure(ConnectionDone()))
    assert (taken.body, taken.end) == ((b"abc", ResponseDone) if is_chunked else (body, PotentialDataLoss))
    assert free == []
    assert transport.disconnecting or not is_chunked


@pytest.mark.parametrize("lengths", [[b"3"], [b"3", b"3"], [b"3, 003"]])
def test_a_connection_is_used_again_after_a_length_that_is_clear(lengths):
    free, taken = [], Collected()
    protocol, transport = BoundedProtocol(free.append), StringTransport()
    protocol.makeConnection(transport)
    protocol.request(Request(b"GET", b"/", Headers({b"Host": [b"a"]}), None, persistent=True)).addCallback(
        lambda response: response.deliverBody(taken)
    )
    protocol.dataReceived(OK + b"".join(b"Content-Length: %b\r\n" % value for value in lengths) + b"\r\nabc")
    assert (taken.body, free, transport.disconnecting) == (b"abc", [protocol], False)


def test_trailers_without_end():
    start = OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
    response, _, _ = received(start)
    protocol = BoundedProtocol(lambda _: None)
    transport = StringTransport()
    protocol.makeConnection(transport)
    protocol.request(Request(b"GET", b"/", Headers({b"Host": [b"example.org"]}), None)).addErrback(lambda _: None)
    protocol.dataReceived(start)
    for _ in range(1000):
        if transport.disconnecting or transport.disconnected:
            break
        protocol.dataReceived(b"X: y\r\n" * 100)
    assert response.code == 200
    assert transport.disconnecting or transport.disconnected


class Flood(socketserver.StreamRequestHandler):
    def handle(self):
        self.rfile.readline()
        with suppress(ConnectionError):
            self.wfile.write(OK)
            for _ in range(4096):  # 800 MiB
                self.wfile.write(b"X-Header: y\r\n" * 16384)
                self.server.sent += 13 * 16384


@pytest.mark.slow
def test_a_crawl_does_not_take_headers_without_end(output):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Flood) as server:
        server.sent, server.daemon_threads, server.block_on_close = 0, True, False
        server.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        code, log, _, megabytes = measured(output, server)
        server.shutdown()
    assert (code, [error["kind"] for error in errors(output)]) == (4, ["too_large"]), log
    assert "headers are larger than 262144 bytes" in errors(output)[0]["error"]
    assert megabytes < 200
    assert server.sent < 32 << 20, "what lay in the sockets, and no second try"


# Encodings within encodings


@pytest.mark.slow
def test_gzip_in_gzip_takes_the_memory_of_one(output):
    bomb = gzip.compress(gzip.compress(bytes(63 << 20), 0), 9)  # 64 KiB, whose layers are of 63 MiB each
    with site_of(lambda _: Answer(bomb, headers={"Content-Encoding": "gzip, gzip"})) as site:
        code, _, _, megabytes = measured(output, site, RETRY_TIMES="0")
    assert (code, [error["kind"] for error in errors(output)]) == (3, ["not_json"])
    assert megabytes < 340


def test_layers_are_undone_together():
    text = bytes(range(256)) * 1000
    assert unpacked([gzip.compress(gzip.compress(text))], [b"gzip", b"gzip"], 0) == text
    with pytest.raises(AnswerError, match=r"larger than DOWNLOAD_MAXSIZE \(1000 bytes\)"):
        unpacked([gzip.compress(gzip.compress(text))], [b"gzip", b"gzip"], 1000)
    with pytest.raises(NotUnpacked, match="it breaks off"):
        unpacked([gzip.compress(gzip.compress(text)[:-20])], [b"gzip", b"gzip"], 0)
    with pytest.raises(NotUnpacked, match="3 encodings on top of each other"):
        unpacked([b""], [b"gzip"] * 3, 0)
