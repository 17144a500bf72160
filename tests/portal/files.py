"""Hosts of files on the loopback, with every fault that an archive meets: each path is a file or a fault.

    with Files(hosts=3) as files:
        crawl(files.url("/ok.csv"), files.url("/cut-once.csv", host=1))
        assert [asked.headers.get("range") for asked in files.requests("/cut-once.csv")] == [None, "bytes=500-"]

`python tests/portal/files.py --hosts 3` serves them until it is interrupted. `PATHS` lists what there is.
"""

import argparse
import gzip
import io
import itertools
import json
import re
import sys
import threading
import time
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, parse_qsl, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # it is run as a script, from any folder

from tests.portal.counting import count

CSV = b"id,name,value\n" + b"".join(b"%d,town %d,%d\n" % (n, n, n * n) for n in range(60))
CHANGED = CSV.replace(b"town", b"city")
HTML = b"<!DOCTYPE html>\n<html><head><title>Not the file</title></head><body><p>Sign in</p></body></html>\n"
MODIFIED = "Tue, 01 Sep 2026 08:00:00 GMT"
TAGS = {CSV: '"1"', CHANGED: '"2"'}
CLOSING = threading.Event()


@dataclass(frozen=True)
class Asked:
    """A request.

    Attributes:
        host: the address that was asked, 127.0.0.1 ...
        path: with its query.
        headers: by name in lower case.
        before: how often that path was asked for before, by GET or POST.
    """

    method: str
    host: str
    path: str
    headers: dict[str, str]
    body: bytes
    time: float
    before: int = 0
    sites: tuple[str, ...] = ()

    @property
    def query(self) -> dict[str, str]:
        return {name.lower(): values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()}


@dataclass
class Reply:
    """An answer.

    Args:
        body: bytes, or parts that are sent as they come; without a length, the connection is closed after them.
        headers: pairs. A Content-Length is added to bytes, unless there is one or `bare` is set.
        sent: bytes of the body after which the connection is closed; ``None`` for all.
        bare: no Content-Length, and the connection is closed at the end.
        chunked: the body is sent in chunks.
        head: parts of what is sent instead of status line and headers.
    """

    body: bytes | Iterator[bytes] = b""
    status: int = 200
    headers: list[tuple[str, str]] = field(default_factory=list)
    sent: int | None = None
    bare: bool = False
    chunked: bool = False
    head: Iterator[bytes] | None = None

    def start(self) -> bytes:
        headers = [("Date", formatdate(usegmt=True)), *self.headers]
        known = {name.lower() for name, _ in headers}
        if self.chunked:
            headers.append(("Transfer-Encoding", "chunked"))
        elif isinstance(self.body, bytes) and not self.bare and "content-length" not in known:
            headers.append(("Content-Length", str(len(self.body))))
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        return f"HTTP/1.1 {self.status} {_phrase(self.status)}\r\n{lines}\r\n".encode("latin-1")

    @property
    def closes(self) -> bool:
        framed = self.chunked or any(name.lower() == "content-length" for name, _ in self.headers)
        return self.sent is not None or self.bare or not (framed or isinstance(self.body, bytes))

    def parts(self) -> Iterator[bytes]:
        parts = [self.body[: self.sent]] if isinstance(self.body, bytes) else self.body
        for part in parts:
            yield b"%x\r\n%b\r\n" % (len(part), part) if self.chunked and part else part
        if self.chunked:
            yield b"0\r\n\r\n"


Answer = Callable[[Asked], Reply]
PATHS: dict[str, Answer] = {}
"""What answers each path; a path that ends with / answers all below it."""


def at(*paths: str) -> Callable[[Answer], Answer]:
    def register(answer: Answer) -> Answer:
        PATHS.update(dict.fromkeys(paths, answer))
        return answer

    return register


def _phrase(status: int) -> str:
    return next((known.phrase for known in HTTPStatus if known == status), "Odd")


# What a healthy host does


def file(
    asked: Asked, body: bytes = CSV, media_type: str = "text/csv", *headers: tuple[str, str], tag: str | None = None
) -> Reply:
    """Return a file as a web server gives it: with validators, conditional requests and ranges."""
    tag = TAGS.get(body, f'"{zlib.crc32(body):x}"') if tag is None else tag
    validators = [*headers, *([("ETag", tag)] if tag else []), ("Last-Modified", MODIFIED)]
    if is_unchanged(asked, tag):
        return Reply(status=304, headers=validators)
    about = [("Content-Type", media_type), ("Accept-Ranges", "bytes"), *validators]
    begin = wanted_range(asked, tag)
    if begin is None:
        return Reply(body, headers=about)
    if begin >= len(body):
        return Reply(status=416, headers=[("Content-Range", f"bytes */{len(body)}")])
    last = wanted_last(asked, len(body))
    place = ("Content-Range", f"bytes {begin}-{last}/{len(body)}")
    return Reply(body[begin : last + 1], 206, [*about, place])


def is_unchanged(asked: Asked, tag: str) -> bool:
    tags = asked.headers.get("if-none-match")
    if tags is not None:
        return bool(tag) and tag in tags
    return asked.headers.get("if-modified-since") == MODIFIED


def wanted_range(asked: Asked, tag: str) -> int | None:
    """Return the byte that a range begins with; ``None`` if there is none, or it is of another version."""
    found = re.fullmatch(r"bytes=(\d+)-\d*", asked.headers.get("range", ""))
    return int(found[1]) if found and asked.headers.get("if-range", tag) in (tag, MODIFIED) else None


def wanted_last(asked: Asked, size: int) -> int:
    last = asked.headers["range"].rpartition("-")[2]
    return min(int(last), size - 1) if last else size - 1


def made(size: int, begin: int = 0) -> Iterator[bytes]:
    """Yield the bytes of a made file: lines of 16 bytes, numbered, from the 4,096th on again and again."""
    block = b"".join(b"%015d\n" % number for number in range(4096))
    for place in range(begin - begin % len(block), size, len(block)):
        yield block[max(0, begin - place) : size - place]


@at("/ok.csv")
def _ok(asked: Asked) -> Reply:
    return file(asked)


@at("/made/")
def _made(asked: Asked) -> Reply:
    """Answer with ?size= bytes (20,000), at most ?rate= bytes a second."""
    size, rate = int(asked.query.get("size", 20_000)), float(asked.query.get("rate", 0))
    tag = f'"made-{size}"'
    begin = wanted_range(asked, tag)
    headers = [("Content-Type", "text/plain"), ("ETag", tag), ("Content-Length", str(size - (begin or 0)))]
    parts = paced(made(size, begin or 0), rate) if rate else made(size, begin or 0)
    if is_unchanged(asked, tag):
        return Reply(status=304, headers=[("ETag", tag)])
    if begin is None:
        return Reply(parts, headers=headers)
    return Reply(parts, 206, [*headers, ("Content-Range", f"bytes {begin}-{size - 1}/{size}")])


def paced(parts: Iterator[bytes], rate: float) -> Iterator[bytes]:
    for part in parts:
        yield part
        CLOSING.wait(len(part) / rate)


def zipped() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo("ok.csv"), CSV)
    return packed.getvalue()


GEOJSON = {
    "type": "FeatureCollection",
    "features": [
        {"type": "Feature", "properties": {"name": "a"}, "geometry": {"type": "Point", "coordinates": [1, 2]}}
    ],
}
KINDS: dict[str, tuple[bytes, str]] = {
    "/ok.json": (json.dumps([{"id": 1}]).encode(), "application/json"),
    "/ok.geojson": (json.dumps(GEOJSON).encode(), "application/geo+json"),
    "/ok.pdf": (b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n", "application/pdf"),
    "/ok.zip": (zipped(), "application/zip"),
    "/ok.xml": (b"<?xml version='1.0'?>\n<rows><row id='1'/></rows>\n", "application/xml"),
    "/ok.foo": (b"test", "application/foo"),
    "/plain.csv": (CSV, "text/plain"),
    "/octets.csv": (CSV, "application/octet-stream"),
    "/upper.csv": (CSV, "TEXT/CSV; Charset=UTF-8"),
    "/html.csv": (HTML, "text/html; charset=utf-8"),
    "/html-as-csv.csv": (HTML, "text/csv"),
    "/html-as-octets.zip": (HTML, "application/octet-stream"),
    "/empty.csv": (b"", "text/csv"),
    "/packed.csv.gz": (gzip.compress(CSV, mtime=0), "application/gzip"),
}
"""Files by their path, with the type that the host says."""


@at(*KINDS)
def _kinds(asked: Asked) -> Reply:
    return file(asked, *KINDS[urlsplit(asked.path).path])


@at("/untyped")
def _untyped(_: Asked) -> Reply:
    return Reply(CSV)


# Cut downloads; the first answer to each path is half the file


HALF = len(CSV) // 2


def cut(asked: Asked, body: bytes = CSV, **keywords: Any) -> Reply:
    reply = file(asked, body, **keywords)
    reply.sent = len(reply.body) // 2 if isinstance(reply.body, bytes) else 0
    return reply


@at("/cut-once.csv")
def _cut_once(asked: Asked) -> Reply:
    return file(asked) if asked.before else cut(asked)


@at("/cut-always.csv")
def _cut_always(asked: Asked) -> Reply:
    """Answer with half of what is asked for, so each range comes nearer to the end."""
    return cut(asked)


@at("/cut-dated.csv")
def _cut_dated(asked: Asked) -> Reply:
    return file(asked, tag="") if asked.before else cut(asked, tag="")


@at("/cut-weak.csv")
def _cut_weak(asked: Asked) -> Reply:
    return file(asked, tag='W/"1"') if asked.before else cut(asked, tag='W/"1"')


@at("/cut-ignored.csv")
def _cut_ignored(asked: Asked) -> Reply:
    """Ignore ranges."""
    return Reply(CSV, headers=[("Content-Type", "text/csv"), ("ETag", '"1"')], sent=None if asked.before else HALF)


@at("/cut-changed.csv")
def _cut_changed(asked: Asked) -> Reply:
    """Answer with another version from the second request on."""
    return file(asked, CHANGED) if asked.before else cut(asked)


@at(
    "/cut-wrong-place.csv",
    "/cut-wrong-total.csv",
    "/cut-wrong-tag.csv",
    "/cut-no-tag.csv",
    "/cut-no-place.csv",
    "/cut-416.csv",
)
def _cut_wrong(asked: Asked) -> Reply:
    """Answer a range wrongly: its place, its length, another version or one that is not named, no place, not at all."""
    if not asked.before:
        return cut(asked)
    if "range" not in asked.headers:
        return file(asked)
    size = len(CSV)
    tag, place = {
        "/cut-wrong-place.csv": ('"1"', f"bytes 0-{size - 1}/{size}"),
        "/cut-wrong-total.csv": ('"1"', f"bytes {HALF}-{size}/{size + 1}"),
        "/cut-wrong-tag.csv": ('"2"', f"bytes {HALF}-{size - 1}/{size}"),
        "/cut-no-tag.csv": ("", f"bytes {HALF}-{size - 1}/{size}"),
        "/cut-no-place.csv": ('"1"', ""),
        "/cut-416.csv": ('"1"', f"bytes */{size}"),
    }[asked.path]
    given = [("Content-Type", "text/csv"), ("ETag", tag), ("Content-Range", place)]
    headers = [(name, value) for name, value in given if value]
    return Reply(CHANGED[HALF:], 416 if "416" in asked.path else 206, headers)


@at("/part.csv", "/part-unknown.csv", "/part-unplaced.csv", "/part-of-all.csv")
def _part(asked: Asked) -> Reply:
    """Answer with 206 and the first half, although the whole was asked for; or with the whole, as a part."""
    size = len(CSV)
    place = {
        "/part.csv": f"bytes 0-{HALF - 1}/{size}",
        "/part-unknown.csv": f"bytes 0-{HALF - 1}/*",
        "/part-unplaced.csv": "",
        "/part-of-all.csv": f"bytes 0-{size - 1}/{size}",
    }[asked.path]
    headers = [("Content-Type", "text/csv"), *([("Content-Range", place)] if place else [])]
    return Reply(CSV if "all" in asked.path else CSV[:HALF], 206, headers)


@at("/large-error.csv", "/endless-error.csv", "/bomb-error.csv", "/no-gzip-error.csv", "/small-error.csv")
def _large_error(asked: Asked) -> Reply:
    """Answer 404 with a page of 3 MB, without end, of 100 kB that unpack to 100 MB, not in gzip as said, small."""
    packed = ("Content-Encoding", "gzip")
    bodies: dict[str, tuple[bytes | Iterator[bytes], list[tuple[str, str]]]] = {
        "/large-error.csv": (HTML * 30_000, []),
        "/endless-error.csv": (itertools.repeat(HTML), []),
        "/bomb-error.csv": (bomb(), [packed]),
        "/no-gzip-error.csv": (HTML, [packed]),
        "/small-error.csv": (gzip.compress(HTML, mtime=0), [packed]),
    }
    body, headers = bodies[asked.path]
    return Reply(body, 404, [("Content-Type", "text/html"), *headers])


@at("/cut-short-range.csv")
def _cut_short_range(asked: Asked) -> Reply:
    """Answer a range with its first 100 bytes only, as a host may."""
    if not asked.before:
        return cut(asked)
    begin = wanted_range(asked, '"1"') or 0
    last = min(begin + 99, len(CSV) - 1)
    place = ("Content-Range", f"bytes {begin}-{last}/{len(CSV)}")
    return Reply(CSV[begin : last + 1], 206, [("Content-Type", "text/csv"), ("ETag", '"1"'), place])


# Lengths


LENGTHS: dict[str, list[str]] = {
    "/length-abc.csv": ["abc"],
    "/length-twice.csv": [str(len(CSV)), str(len(CSV))],
    "/length-list.csv": [f"{len(CSV)}, {len(CSV)}"],
    "/length-two.csv": ["10", str(len(CSV))],
    "/length-two-list.csv": [f"10, {len(CSV)}"],
    "/length-negative.csv": ["-1"],
    "/length-absurd.csv": [str(10**30)],
    "/length-empty.csv": [""],
    "/length-plus.csv": [f"+{len(CSV)}"],
    "/length-short.csv": [str(HALF)],
    "/length-long.csv": [str(len(CSV) + 1)],
}
"""The Content-Length that each path states; the body is always CSV, and the connection is closed after it."""


@at(*LENGTHS)
def _lengths(asked: Asked) -> Reply:
    stated = [("Content-Length", value) for value in LENGTHS[asked.path]]
    return Reply(CSV, headers=[("Content-Type", "text/csv"), *stated], bare=True)


@at("/length-none.csv")
def _length_none(_: Asked) -> Reply:
    return Reply(CSV, headers=[("Content-Type", "text/csv")], bare=True)


@at("/chunked.csv")
def _chunked(_: Asked) -> Reply:
    return Reply(iter([CSV[:10], CSV[10:]]), headers=[("Content-Type", "text/csv")], chunked=True)


@at("/chunked-cut.csv")
def _chunked_cut(_: Asked) -> Reply:
    return Reply(iter([b"100\r\nid,name\n"]), headers=[("Transfer-Encoding", "chunked")])


@at("/promised.bin")
def _promised(_: Asked) -> Reply:
    """Promise 10 GB."""
    return Reply(made(1_000_000), headers=[("Content-Type", "text/plain"), ("Content-Length", str(10**10))])


@at("/endless.bin")
def _endless(_: Asked) -> Reply:
    """Send without a length and without end."""
    return Reply(itertools.repeat(b"0" * 65_536), headers=[("Content-Type", "text/plain")])


# Slow hosts


@at("/drip.csv")
def _drip(asked: Asked) -> Reply:
    """Send a byte every ?seconds= (1), with a length."""
    parts = paced((bytes([byte]) for byte in CSV), 1 / float(asked.query.get("seconds", 1)))
    return Reply(parts, headers=[("Content-Type", "text/csv"), ("Content-Length", str(len(CSV)))])


@at("/drip-head.csv")
def _drip_head(asked: Asked) -> Reply:
    """Send the headers a byte every ?seconds= (1)."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\n"
    return Reply(head=paced((bytes([byte]) for byte in head), 1 / float(asked.query.get("seconds", 1))))


@at("/silent.csv")
def _silent(_: Asked) -> Reply:
    """Take the request and send nothing."""
    CLOSING.wait()
    return Reply(head=iter([]))


@at("/slow.csv")
def _slow(asked: Asked) -> Reply:
    """Answer after ?seconds= (1)."""
    CLOSING.wait(float(asked.query.get("seconds", 1)))
    return file(asked)


# Content encodings


@at("/gzip.csv", "/mislabelled.csv.gz", "/half-gzip.csv", "/no-gzip.csv")
def _gzip(asked: Asked) -> Reply:
    """Answer in gzip, asked for or not: right, for a file that is one itself, broken off, not at all."""
    packed = gzip.compress(CSV, mtime=0)
    bodies = {"/half-gzip.csv": packed[: len(packed) // 2], "/no-gzip.csv": CSV}
    return Reply(bodies.get(asked.path, packed), headers=[("Content-Type", "text/csv"), ("Content-Encoding", "gzip")])


@at("/deflate.csv")
def _deflate(_: Asked) -> Reply:
    return Reply(zlib.compress(CSV), headers=[("Content-Type", "text/csv"), ("Content-Encoding", "deflate")])


@at("/bomb.csv")
def _bomb(_: Asked) -> Reply:
    """Send 100 kB that unpack to 100 MB."""
    return Reply(bomb(), headers=[("Content-Type", "text/csv"), ("Content-Encoding", "gzip")])


@cache
def bomb() -> bytes:
    return gzip.compress(b"0" * 100_000_000)


# File names


NAMES = {
    "/name/dots": 'attachment; filename="../../../../etc/passwd"',
    "/name/windows": 'attachment; filename="C:\\\\Windows\\\\system32\\\\cmd.exe"',
    "/name/long": f'attachment; filename="{"n" * 10_000}.csv"',
    "/name/control": 'attachment; filename="a\x01b\x7f\tc.csv"',
    "/name/utf-8": "attachment; filename*=UTF-8''B%C3%BCcher%20%E2%82%AC.csv; filename=\"B?cher.csv\"",
    "/name/broken": 'attachment; filename="unclosed.csv',
    "/name/empty": 'attachment; filename=""',
    "/name/slash": 'attachment; filename="a/b\\\\c.csv"',
    "/name/reserved": 'attachment; filename="CON.csv"',
    "/name/good": 'attachment; filename="Towns 2026.csv"',
}


@at(*NAMES)
def _names(asked: Asked) -> Reply:
    return file(asked, CSV, "text/csv", ("Content-Disposition", NAMES[asked.path]))


# Statuses, redirects, validators


@at("/status/")
def _status(asked: Asked) -> Reply:
    """Answer with the status /status/NNN; ?after= is its Retry-After, ?times= how often before the file comes."""
    if asked.before >= int(asked.query.get("times", sys.maxsize)):
        return file(asked)
    after = [("Retry-After", asked.query["after"])] if "after" in asked.query else []
    return Reply(HTML, int(urlsplit(asked.path).path.rpartition("/")[2]), [("Content-Type", "text/html"), *after])


@at("/head-405.csv", "/head-501.csv", "/head-404.csv", "/head-closes.csv")
def _head(asked: Asked) -> Reply:
    """Answer GET, but no HEAD."""
    if asked.method != "HEAD":
        return file(asked)
    return Reply(bare=True, head=iter([b""])) if "closes" in asked.path else Reply(status=int(asked.path[6:9]))


def redirected(location: str, status: int = 301) -> Reply:
    return Reply(status=status, headers=[("Location", location)])


@at("/redirect/")
def _redirect(asked: Asked) -> Reply:
    """Redirect to ?to=, or by name; /redirect/N takes N steps to /ok.csv; /redirect/other leads to the last host."""
    name = urlsplit(asked.path).path.rpartition("/")[2]
    if "to" in asked.query:
        return redirected(asked.query["to"], int(asked.query.get("status", 302)))
    if name.isdigit():
        return redirected(f"/redirect/{int(name) - 1}" if int(name) > 1 else "/ok.csv", 302)
    return redirected(
        {
            "ok": "/ok.csv",
            "loop": "/redirect/loop",
            "pair": "/redirect/riap",
            "riap": "/redirect/pair",
            "file": "file:///etc/passwd",
            "ftp": "ftp://127.0.0.1/ok.csv",
            "data": "data:text/csv,a",
            "private": "http://10.255.255.1/ok.csv",
            "metadata": "http://169.254.169.254/latest/meta-data/",
            "broken": "http://[/",
            "empty": "",
            "missing": "/status/404",
            "other": f"{asked.sites[-1]}/ok.csv",
        }[name]
    )


# What a browser gets


@at("/cookie.csv")
def _cookie(asked: Asked) -> Reply:
    """Answer with the file to those who bring the cookie that the first answer sets, and redirects itself to."""
    if "seen=1" in asked.headers.get("cookie", ""):
        return file(asked)
    cookie = ("Set-Cookie", "seen=1; Path=/; HttpOnly")
    return Reply(status=302, headers=[cookie, ("Location", asked.query.get("to", "/cookie.csv"))])


@at("/refresh.csv")
def _refresh(asked: Asked) -> Reply:
    """Answer with a page whose header Refresh leads to ?to= (the file)."""
    to = asked.query.get("to", "/ok.csv?refreshed")
    return Reply(HTML, headers=[("Content-Type", "text/html"), ("Refresh", f"0; url={to}")])


ERRORS = {
    "/error-s3.csv": b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code><Message>No such key.</Message></Error>",
    "/error-soap.csv": b'<s:Envelope xmlns:s="s"><s:Body><s:Fault><faultstring>down</faultstring></s:Fault></s:Body>',
    "/error-arcgis.csv": b'{"status": "Failed", "progressInPercent": 0}',
}
"""Error documents under HTTP 200, by their path."""


@at(*ERRORS)
def _errors(asked: Asked) -> Reply:
    return Reply(ERRORS[asked.path], headers=[("Content-Type", "application/octet-stream")])


@at("/garbage.csv", "/closes.csv")
def _garbage(asked: Asked) -> Reply:
    """Answer with what is not HTTP; with nothing."""
    return Reply(bare=True, head=iter([b"\0\1 not http\r\n\r\n" if "garbage" in asked.path else b""]))


@at("/wms-lower")
def _wms_lower(asked: Asked) -> Reply:
    """Answer to parameters whose names are in lower case alone."""
    return _wms(asked) if "service=" in asked.path else xml(OGC_ERROR)


@at("/etag/gone.csv")
def _etag_gone(asked: Asked) -> Reply:
    """Answer with the file once, then with 404 and the same ETag."""
    return Reply(HTML, 404, [("Content-Type", "text/html"), ("ETag", '"1"')]) if asked.before else file(asked)


@at("/etag/stuck.csv")
def _etag_stuck(asked: Asked) -> Reply:
    """Answer 304 to the old ETag, though the file has changed; who asks plainly sees it."""
    return file(asked, CHANGED if asked.before else CSV, tag='"1"')


@at("/etag/new.csv")
def _etag_new(asked: Asked) -> Reply:
    """Answer with the same bytes under a new ETag each time."""
    headers = [("Content-Type", "text/csv"), ("ETag", f'"{asked.before}"')]
    return Reply(CSV, headers=headers)


@at("/etag/changing.csv")
def _etag_changing(asked: Asked) -> Reply:
    """Answer with another version from the second request on, as it should be."""
    return file(asked, CHANGED if asked.before else CSV)


@at("/etag/unasked.csv")
def _etag_unasked(_: Asked) -> Reply:
    """Answer 304 to whoever asks."""
    return Reply(status=304)


CACHE: dict[str, list[tuple[str, str]]] = {
    "/cache/max-age.csv": [("Cache-Control", "public, max-age=86400")],
    "/cache/aged.csv": [("Cache-Control", "max-age=86400"), ("Age", "86400")],
    "/cache/immutable.csv": [("Cache-Control", "immutable")],
    "/cache/no-store.csv": [("Cache-Control", "no-store, max-age=86400")],
    "/cache/no-cache.csv": [("Cache-Control", "no-cache"), ("Expires", "Fri, 01 Jan 2100 00:00:00 GMT")],
    "/cache/expires.csv": [("Expires", "Fri, 01 Jan 2100 00:00:00 GMT")],
    "/cache/expired.csv": [("Expires", "0")],
    "/cache/shared.csv": [("Cache-Control", "s-maxage=86400")],
}
"""Files by their path, with the cache headers that they have."""


@at(*CACHE)
def _cache(asked: Asked) -> Reply:
    return file(asked, CSV, "text/csv", *CACHE[asked.path])


# Services


def xml(text: str, media_type: str = "text/xml") -> Reply:
    return Reply(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode(), headers=[("Content-Type", media_type)])


def as_json(content: Any, media_type: str = "application/json") -> Reply:
    return Reply(json.dumps(content).encode(), headers=[("Content-Type", media_type)])


OGC_ERROR = (
    '<ServiceExceptionReport version="1.3.0"><ServiceException>no layers</ServiceException></ServiceExceptionReport>'
)
OWS_ERROR = (
    '<ows:ExceptionReport xmlns:ows="http://www.opengis.net/ows/1.1" version="2.0.0"><ows:Exception '
    'exceptionCode="NoApplicableCode"><ows:ExceptionText>down</ows:ExceptionText></ows:Exception></ows:ExceptionReport>'
)
WMS = {
    "1.3.0": '<WMS_Capabilities xmlns="http://www.opengis.net/wms" version="1.3.0"><Service><Name>WMS</Name></Service>'
    "<Capability/></WMS_Capabilities>",
    "1.1.1": '<WMT_MS_Capabilities version="1.1.1"><Service><Name>OGC:WMS</Name></Service><Capability/>'
    "</WMT_MS_Capabilities>",
}
WFS = (
    '<wfs:WFS_Capabilities xmlns:wfs="http://www.opengis.net/wfs/2.0" version="2.0.0"><wfs:FeatureTypeList/>'
    "</wfs:WFS_Capabilities>"
)
EDMX = '<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0"><edmx:DataServices/></edmx:Edmx>'
SERVICE_DESCRIPTION = (
    "@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .\n[] a sd:Service ; sd:endpoint <> .\n"
)


@at("/wms", "/wms-1.1.1")
def _wms(asked: Asked) -> Reply:
    """Answer GetCapabilities; without a version, in the newest; /wms-1.1.1 knows that version only."""
    if asked.query.get("request", "").lower() != "getcapabilities" or asked.query.get("service", "").upper() != "WMS":
        return xml(OGC_ERROR)
    known = "1.1.1" if asked.path.startswith("/wms-1.1.1") else asked.query.get("version", "1.3.0")
    return xml(WMS.get(known, WMS["1.3.0"]))


@at("/wms-exception", "/wfs-exception")
def _exception(asked: Asked) -> Reply:
    """Answer with an exception under 200, whatever is asked for."""
    return xml(OGC_ERROR if asked.path.startswith("/wms") else OWS_ERROR)


@at("/wfs")
def _wfs(asked: Asked) -> Reply:
    return xml(WFS if asked.query.get("request", "").lower() == "getcapabilities" else OWS_ERROR)


@at("/arcgis/rest/services/")
def _arcgis(asked: Asked) -> Reply:
    """Answer f=json as ArcGIS does, its errors under 200; without it, with a page."""
    if "json" not in asked.query.get("f", ""):
        return Reply(HTML, headers=[("Content-Type", "text/html")])
    if "Broken" in asked.path:
        return as_json({"error": {"code": 500, "message": "Service Broken not started", "details": []}})
    return as_json({"currentVersion": 11.2, "serviceDescription": "Towns", "layers": [{"id": 0, "name": "towns"}]})


@at("/ogcapi", "/ogcapi/")
def _ogcapi(asked: Asked) -> Reply:
    links = [{"rel": "self", "href": "/ogcapi"}, {"rel": "conformance", "href": "/ogcapi/conformance"}]
    links += [{"rel": "data", "href": "/ogcapi/collections"}]
    if "conformance" in asked.path:
        return as_json({"conformsTo": ["http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core"]})
    if "collections" in asked.path:
        return as_json({"collections": [{"id": "towns", "links": []}], "links": links})
    return as_json({"title": "Towns", "links": links})


@at("/sparql", "/sparql-broken")
def _sparql(asked: Asked) -> Reply:
    if "broken" in asked.path:
        return Reply(b"Virtuoso 37000 Error", 500, [("Content-Type", "text/plain")])
    if "query" in asked.query:
        return as_json({"head": {}, "boolean": True}, "application/sparql-results+json")
    return Reply(SERVICE_DESCRIPTION.encode(), headers=[("Content-Type", "text/turtle")])


@at("/odata", "/odata/")
def _odata(asked: Asked) -> Reply:
    if "$metadata" in asked.path or "%24metadata" in asked.path:
        return xml(EDMX, "application/xml")
    return as_json({"@odata.context": "$metadata", "value": [{"name": "Towns", "kind": "EntitySet", "url": "Towns"}]})


# Pages


@at("/page.html")
def _page(asked: Asked) -> Reply:
    """Answer with a page that links data: of this host, of another, forbidden by robots.txt, and what is none."""
    links = {
        "/ok.csv": "Towns (CSV)",
        "ok.json": "Towns (JSON)",
        "/ok.zip?download=1": "All of it",
        f"{asked.sites[-1]}/ok.geojson": "Towns on a map",
        "/private/secret.csv": "Not for robots (CSV)",
        "/about.html": "About",
        "mailto:a@example.org": "Write to us",
        "javascript:void(0)": "Print",
        "file:///etc/passwd": "passwd.csv",
        "#top": "Top",
    }
    items = "".join(f'<li><a href="{href}">{text}</a></li>\n' for href, text in links.items())
    text = f"<!DOCTYPE html>\n<html><head><title>Towns</title></head><body><ul>\n{items}</ul></body></html>\n"
    return Reply(text.encode(), headers=[("Content-Type", "text/html; charset=utf-8")])


@at("/about.html")
def _about(_: Asked) -> Reply:
    return Reply(HTML, headers=[("Content-Type", "text/html")])


@at("/robots.txt")
def _robots(_: Asked) -> Reply:
    return Reply(b"User-agent: *\nDisallow: /private/\n", headers=[("Content-Type", "text/plain")])


@at("/private/")
def _private(asked: Asked) -> Reply:
    return file(asked)


@at("/captcha.csv")
def _captcha(_: Asked) -> Reply:
    body = HTML.replace(b"Sign in", b"Please confirm that you are not a robot")
    return Reply(body, headers=[("Content-Type", "text/html")])


@at("/challenge.csv")
def _challenge(_: Asked) -> Reply:
    return Reply(HTML, 403, [("Content-Type", "text/html"), ("cf-mitigated", "challenge")])


FORM = b"""<!DOCTYPE html>
<html><head><title>Licence</title></head><body>
<form action="/form/search"><input name="q"></form>
<form id="licence" method="post" action="/form/accept">
<input type="hidden" name="token" value="t0ken"><input type="checkbox" name="accept" value="yes">
<select name="format"><option value="csv">CSV</option><option value="html">HTML</option></select>
<button name="do" value="download">Download</button><button name="do" value="cancel">Cancel</button>
</form></body></html>
"""


@at("/form/file.csv", "/form/search")
def _form(_: Asked) -> Reply:
    """Answer with the form that comes before the file, and with the cookie of its session."""
    return Reply(FORM, headers=[("Content-Type", "text/html; charset=utf-8"), ("Set-Cookie", "session=t0ken")])


@at("/form/accept")
def _accept(asked: Asked) -> Reply:
    """Answer with the file to those who posted the form's token and accepted."""
    posted = dict(parse_qsl(asked.body.decode("latin-1")))
    wanted = {"token": "t0ken", "accept": "yes", "format": "csv", "do": "download"}
    if asked.method != "POST" or not wanted.items() <= posted.items():
        return _form(asked)
    return Reply(CSV, headers=[("Content-Type", "text/csv"), ("Content-Disposition", 'attachment; filename="t.csv"')])


# The hosts


class Files:
    """The hosts 127.0.0.1, 127.0.0.2 ..., each on a free port, all with the same paths.

    Attributes:
        log: every request to any of them, in the order they came.
        answers: what answers a path instead of `PATHS`: ``files.answers["/ok.csv"] = lambda asked: Reply(status=404)``.
    """

    def __init__(self, hosts: int = 1, port: int = 0) -> None:
        self.log: list[Asked] = []
        self.answers: dict[str, Answer] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._servers = [Server((f"127.0.0.{number}", port), self) for number in range(1, hosts + 1)]

    @property
    def sites(self) -> tuple[str, ...]:
        return tuple("http://{}:{}".format(*server.server_address[:2]) for server in self._servers)

    def url(self, path: str = "/ok.csv", host: int = 0) -> str:
        return self.sites[host] + path

    def requests(self, path: str = "") -> list[Asked]:
        """Return the requests whose path begins so."""
        return [asked for asked in self.log if asked.path.startswith(path)]

    def reset(self) -> None:
        """Forget all requests: the next one for a path is its first."""
        with self._lock:
            self.log = []
            self._counts.clear()

    def take(self, method: str, host: str, path: str, headers: dict[str, str], body: bytes) -> Asked:
        """Note a request."""
        count()
        with self._lock:
            before = self._counts[host, path]
            self._counts[host, path] += method != "HEAD"
            asked = Asked(method, host, path, headers, body, time.time(), before, self.sites)
            self.log.append(asked)
        return asked

    def answer(self, asked: Asked) -> Reply:
        place = urlsplit(asked.path).path
        above = (place[: end + 1] for end in range(len(place) - 1, -1, -1) if place[end] == "/")
        found = next((self.answers.get(name) or PATHS.get(name) for name in (place, *above) if self._has(name)), None)
        return found(asked) if found else Reply(HTML, 404, [("Content-Type", "text/html")])

    def _has(self, name: str) -> bool:
        return name in self.answers or name in PATHS

    def __enter__(self) -> Self:
        CLOSING.clear()
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        CLOSING.set()
        for server in self._servers:
            server.shutdown()
            server.server_close()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], files: Files) -> None:
        super().__init__(address, Handler)
        self.files = files

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no error of the host."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def reply(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        host = str(self.server.server_address[0])
        reply = self.server.files.answer(self.server.files.take(self.command, host, self.path, headers, body))
        for part in [reply.start()] if reply.head is None else reply.head:
            self.wfile.write(part)
        if self.command != "HEAD" and reply.head is None and reply.status not in (204, 304):
            for part in reply.parts():
                self.wfile.write(part)
        self.close_connection = self.close_connection or reply.closes or reply.head is not None

    def do_GET(self) -> None:
        self.reply()

    def do_HEAD(self) -> None:
        self.reply()

    def do_POST(self) -> None:
        self.reply()

    def log_message(self, *_: object) -> None:
        """Write no line per request."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=1, help="127.0.0.1, 127.0.0.2 ...")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options = parser.parse_args()
    with Files(options.hosts, options.port) as files:
        print("\n".join(files.sites), flush=True)
        CLOSING.wait()


if __name__ == "__main__":
    main()
