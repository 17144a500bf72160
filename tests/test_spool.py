"""Large answers in temporary files: what is read from them, what they cost, and what becomes of those that fail."""

from __future__ import annotations

import gc
import gzip
import hashlib
import itertools
import json
import os
import resource
import ssl
import subprocess
import sys
import time
import zlib
from datetime import UTC, datetime, timedelta
from io import SEEK_END, UnsupportedOperation
from ipaddress import ip_address

import brotli
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID
from scrapy.exceptions import DownloadCancelledError, NotSupported, ResponseDataLossError
from scrapy.http import HtmlResponse, Response, TextResponse

from crawlers.components.content_encoding import _SIP, Encoding, NotUnpacked, undone, zstd
from crawlers.components.spool import Body, Limits, SpooledFile, SpooledResponse, TooLarge
from crawlers.exceptions import AnswerError
from tests import forked
from tests.conftest import FAST, ROOT, json_lines
from tests.site import Answer, Site, redirect
from tests.waiting import HANG

MIB = 1024 * 1024
TURTLE = {"Content-Type": "text/turtle"}

PROBE = """
import gc
import hashlib
import json
import os
import resource
import time
from pathlib import Path
from scrapy import Request, Spider
from scrapy import signals
from scrapy.exceptions import StopDownload
from crawlers.components.politeness import failures
from crawlers.components.spool import SpooledResponse

def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def files():
    links = [os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return sum("(deleted)" in os.readlink(link) for link in links if os.path.islink(link))

class Probe(Spider):
    name = "probe"
    start_urls = [os.environ["PROBE_SITE"]]

    async def start(self):
        self.crawler.signals.connect(self.stop, signals.bytes_received)
        self.before = memory()
        self.begun = time.monotonic()
        for asked in json.loads(Path("requests.json").read_text()):
            yield Request(**asked, dont_filter=True, callback=self.parse, errback=self.failed)

    def stop(self, data, request):
        request.meta["came"] = request.meta.get("came", 0) + len(data)
        if request.meta.get("stop_at", 1 << 62) < request.meta["came"]:
            raise StopDownload(fail=request.meta["stop_fails"])

    def parse(self, response):
        spooled = isinstance(response, SpooledResponse)
        digest, size = hashlib.sha256(response.body), len(response.body)
        if spooled:
            with response.open() as body:
                while part := body.read(1 << 20):
                    digest.update(part)
                    size += len(part)
        yield {
            "url": response.url,
            "type": type(response).__name__,
            "sha256": digest.hexdigest(),
            "size": size,
            "head": response.head[:20].decode("latin-1") if spooled else None,
            "encoding": response.headers.get("Content-Encoding", b"").decode(),
            "length": response.headers.get("Content-Length", b"").decode(),
            "flags": response.flags,
            "files": files(),
            "names": os.listdir(self.settings["SPOOL_DIR"]),
            "seconds": time.monotonic() - self.begun,
            "memory": memory() - self.before,
        }

    def failed(self, failure):
        error = failures.from_failure(failure)
        response = getattr(failure.value, "response", None)
        yield {
            "failed": type(failure.value).__name__,
            "url": failure.request.url,
            "came": failure.request.meta.get("came", 0),
            "kind": error.kind,
            "error": str(error),
            "files": files(),
            "memory": memory() - self.before,
            "retries": failure.request.meta.get("retry_times", 0),
            "type": type(response).__name__ if response else None,
        }

    def closed(self, reason):
        gc.collect()
        left = {"files": files()}
        Path("stats.json").write_text(json.dumps(self.crawler.stats.get_stats() | left, default=str))
"""


SETTINGS = {
    "DOWNLOAD_HANDLERS": json.dumps(dict.fromkeys(("http", "https"), "crawlers.components.spool.SpoolingHandler")),
    "DOWNLOAD_MAXSIZE": str(64 * MIB),
    "TELNETCONSOLE_ENABLED": "0",
    "REMOTE_CONTROL_ENABLED": "0",
    "LOG_LEVEL": "INFO",
}


class Probe:
    """A spider of no project, with the handler in its settings."""

    def __init__(self, folder):
        self.folder = folder
        self.spool = folder / "spool"
        self.spool.mkdir()
        (folder / "probe.py").write_text(PROBE)

    def run(self, site, *requests, limit=None, environment=None, **settings):
        """What became of the requests; `stats` and `log` are the crawl's."""
        asked = [{"url": site.url, "meta": {"spool": True}} | one for one in requests or ({},)]
        (self.folder / "requests.json").write_text(json.dumps(asked))
        chosen = SETTINGS | {"SPOOL_DIR": str(self.spool)} | settings
        words = [f"-s{name}={value}" for name, value in chosen.items()]
        ran = forked.run(
            [sys.executable, "-W", "error", "-m", "scrapy", "runspider", "probe.py", "-O", "items.jsonl", *words],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT), "PROBE_SITE": site.url} | (environment or {}),
            capture_output=True,
            text=True,
            timeout=HANG,
            check=True,
            preexec_fn=limit,
        )
        self.log = ran.stderr
        self.stats = json.loads((self.folder / "stats.json").read_text())
        assert "Traceback" not in self.log, self.log
        return [json.loads(line) for line in (self.folder / "items.jsonl").read_text().splitlines()]


@pytest.fixture
def probe(tmp_path):
    return Probe(tmp_path)


PART = b"<https://example.org/a> a <http://www.w3.org/ns/dcat#Dataset> .\n" * 16384  # 1 MiB, near enough
SMALL = {"SPOOL_ABOVE": str(MIB)}


def parts(count):
    return itertools.repeat(PART, count)


def summed(count):
    whole = hashlib.sha256()
    for part in parts(count):
        whole.update(part)
    return whole.hexdigest()


def gzipped(count):
    packer = zlib.compressobj(1, wbits=31)
    for part in parts(count):
        yield packer.compress(part)
    yield packer.flush()


def raw_deflated(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": gzip.compress,
    "x-gzip": lambda data: gzip.compress(data[:MIB]) + gzip.compress(data[MIB:]),
    "deflate": zlib.compress,
    "Deflate": raw_deflated,
    "br": brotli.compress,
    "zstd": zstd.compress,
    "zstd, gzip": lambda data: gzip.compress(zstd.compress(data)),
}


def chunked(data, size=65536):
    return (data[place : place + size] for place in range(0, len(data), size))


def cut(chunks):
    """The connection ends in the middle."""
    yield from chunks
    raise ConnectionError


# Whole crawls: what comes


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_a_body_too_large_for_memory(probe, encoding):
    def answer(_):
        if encoding == "gzip":
            return Answer((one for one in gzipped(300) if one), headers=TURTLE | {"Content-Encoding": "gzip"})
        return Answer(parts(300), headers=TURTLE)

    with Site(answer) as site:
        [item] = probe.run(site)
    assert (item["type"], item["size"], item["sha256"]) == ("SpooledResponse", 300 * len(PART), summed(300))
    assert item["memory"] < 80, "megabytes, for a body of 300"
    assert (item["names"], item["files"], probe.stats["files"]) == ([], 1, 0)
    assert item["head"] == "<https://example.org"


def test_encodings_are_undone_while_it_comes(probe):
    bodies = {f"/{name}/{size}": (name, (PART * 4)[:size]) for name in PACKED for size in (100, 3 * MIB)}
    answers = {
        path: Answer(PACKED[name](body), headers=TURTLE | {"Content-Encoding": name})
        for path, (name, body) in bodies.items()
    }
    with Site(lambda asked: answers[asked.path.replace("%20", " ")]) as site:
        items = probe.run(site, *({"url": site.url + path} for path in answers), **SMALL)
    assert len(items) == len(bodies)
    for item in items:
        name, body = bodies[item["url"].removeprefix(site.url).replace("%20", " ")]
        assert item["type"] == ("TextResponse" if len(body) == 100 else "SpooledResponse")
        assert (item["size"], item["sha256"]) == (len(body), hashlib.sha256(body).hexdigest()), name
        assert (item["encoding"], item["length"]) == ("", str(len(body))), name
    sent = sum(len(answer.body) for answer in answers.values())
    assert sent < probe.stats["downloader/response_bytes"] < sent + 300 * len(items)


def test_a_gzip_file_is_unpacked_like_an_encoding(probe):
    """As a dump is published; without compression nothing is."""
    with Site(lambda _: Answer(gzip.compress(PART * 3), headers={"Content-Type": "application/gzip"})) as site:
        [item] = probe.run(site, **SMALL)
        [packed] = probe.run(site, **SMALL, COMPRESSION_ENABLED="0")
    assert (item["type"], item["sha256"], item["length"]) == ("SpooledResponse", summed(3), str(len(PART * 3)))
    assert packed["size"] == len(gzip.compress(PART * 3))


def test_only_who_asks_gets_it(probe):
    with Site(lambda _: Answer(PART * 3, headers=TURTLE)) as site:
        [item] = probe.run(site, {"meta": {}}, **SMALL)
    assert (item["type"], item["size"], item["files"]) == ("TextResponse", 3 * len(PART), 0)


def test_the_limit_of_all_others_stays(probe):
    with Site(lambda _: Answer(parts(3), headers=TURTLE)) as site:
        items = probe.run(site, {"meta": {}}, {}, DOWNLOAD_MAXSIZE=str(MIB))
    assert sorted(item.get("kind", item.get("type")) for item in items) == ["SpooledResponse", "too_large"]


def test_what_is_no_success_is_an_ordinary_answer(probe):
    with Site(lambda _: Answer(parts(3), status=404, headers=TURTLE)) as site:
        [item] = probe.run(site, {"meta": {"spool": True, "handle_httpstatus_all": True}}, **SMALL)
        assert (item["type"], item["size"]) == ("TextResponse", 3 * len(PART))
        [item] = probe.run(site, DOWNLOAD_MAXSIZE=str(MIB))
    assert item["kind"] == "too_large"


def test_a_redirect_is_followed(probe):
    with Site(lambda asked: redirect("/there") if asked.path == "/" else Answer(parts(3), headers=TURTLE)) as site:
        [item] = probe.run(site, **SMALL)
    assert (item["url"], item["type"]) == (f"{site.url}/there", "SpooledResponse")


def test_it_comes_through_a_proxy(probe):
    with Site(lambda _: Answer(parts(3), headers=TURTLE)) as site:
        [item] = probe.run(site, {"url": "http://example.org/a"}, environment={"http_proxy": site.url}, **SMALL)
    assert (item["type"], [asked.path for asked in site.asked]) == ("SpooledResponse", ["http://example.org/a"])


@pytest.fixture
def certificate(tmp_path):
    """One that nobody has signed."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "here")])
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, SHA256())
    )
    path = tmp_path / "certificate.pem"
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(signed.public_bytes(pem) + private)
    return path


@pytest.mark.parametrize("verified", ["0", "1"])
def test_it_comes_through_tls(probe, certificate, verified):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    site = Site(lambda _: Answer(parts(3), headers=TURTLE))
    site.server.socket = context.wrap_socket(site.server.socket, server_side=True)
    site.url = site.url.replace("http:", "https:")
    with site:
        [item] = probe.run(site, DOWNLOAD_VERIFY_CERTIFICATES=verified, RETRY_TIMES="0", **SMALL)
    assert item.get("type") == ("SpooledResponse" if verified == "0" else None)
    assert item.get("kind") == (None if verified == "0" else "connection")


def test_an_unknown_encoding_stays(probe):
    headers = TURTLE | {"Content-Encoding": "x-secret, gzip"}
    with Site(lambda _: Answer(gzip.compress(PART * 3), headers=headers)) as site:
        [item] = probe.run(site, **SMALL)
    assert (item["type"], item["encoding"], item["size"]) == ("SpooledResponse", "x-secret", 3 * len(PART))


def test_nothing_is_undone_where_scrapy_would_not(probe):
    packed = gzip.compress(PART * 3)
    with Site(lambda _: Answer(packed, headers=TURTLE | {"Content-Encoding": "gzip"})) as site:
        [item] = probe.run(site, COMPRESSION_ENABLED="0", SPOOL_ABOVE="100")
    assert (item["type"], item["encoding"], item["size"]) == ("SpooledResponse", "gzip", len(packed))


@pytest.mark.parametrize("policy", ["scrapy.extensions.httpcache.DummyPolicy", "crawlers.components.httpcache.Policy"])
def test_no_cache_keeps_an_empty_body_for_it(probe, policy):
    cache = {
        "HTTPCACHE_ENABLED": "1",
        "HTTPCACHE_DIR": str(probe.folder / "cache"),
        "HTTPCACHE_POLICY": policy,
        "HTTPCACHE_ALWAYS_STORE": "1",
    }
    with Site(lambda asked: Answer(PART * (3 if asked.path == "/" else 1), headers=TURTLE | {"ETag": "1"})) as site:
        for _ in range(2):
            items = probe.run(site, {}, {"url": f"{site.url}/small"}, SPOOL_ABOVE=str(2 * MIB), **cache)
            assert {item["size"] for item in items} == {len(PART), 3 * len(PART)}
    assert probe.stats.get("httpcache/hit", 0) + probe.stats.get("httpcache/invalidate", 0) == 1


@pytest.mark.slow
def test_a_slow_download_goes_on_as_long_as_much_comes(probe):
    def slowly():
        for _ in range(9):
            time.sleep(0.5)
            yield PART * 4

    with Site(lambda _: Answer(slowly(), headers=TURTLE)) as site:
        [item] = probe.run(site, DOWNLOAD_TIMEOUT="4", **SMALL)
    assert (item.get("type"), item["seconds"] > 4) == ("SpooledResponse", True)


def test_what_came_of_a_broken_answer_where_it_is_wanted(probe):
    packed = gzip.compress(os.urandom(3 * MIB))[: 2 * MIB]
    with Site(lambda _: Answer(cut([packed]), headers=TURTLE | {"Content-Encoding": "gzip"})) as site:
        [item] = probe.run(site, DOWNLOAD_FAIL_ON_DATALOSS="0", **SMALL)
    assert (item["type"], item["flags"], item["encoding"]) == ("SpooledResponse", ["dataloss"], "")
    assert item["size"] > 1.9 * MIB


@pytest.mark.parametrize("fails", [True, False])
def test_a_download_that_is_stopped_has_what_came(probe, fails):
    stop = {"spool": True, "stop_at": 2 * MIB, "stop_fails": fails}
    packed = b"".join(gzipped(300))
    with Site(lambda _: Answer(chunked(packed), headers=TURTLE | {"Content-Encoding": "gzip"})) as site:
        [item] = probe.run(site, {"meta": stop | {"stop_at": len(packed) // 2}}, **SMALL)
    assert item["type"] == "SpooledResponse"
    assert fails or item["flags"] == ["download_stopped"]


# Whole crawls: what fails


def test_what_is_larger_than_the_limit(probe):
    zeros = bytes(99_000_000)
    once = gzip.compress(zeros, 1)
    large = {
        "/announced": Answer(PART * 3),
        "/file.gz": Answer(once),
        "/gzip": Answer(once, headers={"Content-Encoding": "gzip"}),
        "/gzip2": Answer(gzip.compress(once), headers={"Content-Encoding": "gzip, gzip"}),
        "/br": Answer(brotli.compress(zeros, quality=1), headers={"Content-Encoding": "br"}),
        "/zstd": Answer(zstd.compress(zeros), headers={"Content-Encoding": "zstd"}),
    }
    with Site(lambda asked: large.get(asked.path) or Answer(itertools.repeat(PART))) as site:
        paths = [*large, "/endless"]
        items = probe.run(site, *({"url": site.url + path} for path in paths), SPOOL_MAXSIZE=str(2 * MIB), **SMALL)
    assert sorted(item["url"] for item in items) == sorted(site.url + path for path in paths)
    for item in items:
        unpacked = "" if item["url"].endswith(("announced", "endless")) else " when it is unpacked"
        assert (item["failed"], item["kind"], item["retries"]) == ("TooLarge", "too_large", 0)
        assert item["error"] == f"the answer is larger than SPOOL_MAXSIZE ({2 * MIB} bytes){unpacked}"
        assert item["memory"] < 40
        assert not (item["came"] and item["url"].endswith("announced"))
    assert items[-1]["files"] == 0


def test_nothing_more_is_sent_of_what_is_given_up(probe):
    sent = []

    def endless():
        for _ in range(2000):
            sent.append(len(PART))
            yield PART

    def late():
        time.sleep(1)
        yield PART

    with Site(lambda asked: Answer(endless() if asked.path == "/" else late(), headers=TURTLE)) as site:
        probe.run(site, {}, {"url": f"{site.url}/late"}, SPOOL_MAXSIZE=str(2 * MIB), **SMALL)
    assert sum(sent) < 50 * MIB


def test_a_request_may_have_a_limit_of_its_own(probe):
    with Site(lambda _: Answer(parts(3), headers=TURTLE)) as site:
        [item] = probe.run(site, {"meta": {"spool": True, "download_maxsize": 2 * MIB}}, **SMALL)
    assert item["kind"] == "too_large"


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MIB, 2 * MIB))


@pytest.mark.parametrize(
    ("keywords", "told"),
    [({"limit": small_files}, "File too large"), ({"SPOOL_DIR": "/nowhere"}, "No such file or directory")],
    ids=["full", "no folder"],
)
def test_a_disk_that_takes_no_more(probe, keywords, told):
    with Site(lambda _: Answer(parts(9), headers=TURTLE)) as site:
        [item] = probe.run(site, **SMALL, **keywords)
    assert (item["failed"], item["kind"], item["retries"], len(site.asked)) == ("AnswerError", "disk", 0, 1)
    assert item["error"] == f"the answer can't be kept in a temporary file (SPOOL_DIR): {told}"
    assert item["files"] == 0


def test_an_answer_that_breaks_off_is_asked_for_again(probe):
    with Site(lambda _: Answer(cut(parts(3)) if len(site.asked) == 1 else parts(3), headers=TURTLE)) as site:
        [item] = probe.run(site, **SMALL)
    assert (item["sha256"], item["files"], len(site.asked)) == (summed(3), 1, 2)


ZIPPED = gzip.compress(os.urandom(3 * MIB), 1)
BROKEN = {
    "/inside": Answer(ZIPPED[:-9], headers={"Content-Encoding": "gzip"}),
    "/sum": Answer(ZIPPED[:-9] + bytes(9), headers={"Content-Encoding": "gzip"}),
    "/name": Answer(PART * 3, headers={"Content-Encoding": "br"}),
    "/small": Answer(b"not packed", headers={"Content-Encoding": "gzip"}),
    "/deep": Answer(gzip.compress(gzip.compress(ZIPPED, 1), 1), headers={"Content-Encoding": "gzip, gzip, gzip"}),
}


def test_what_does_not_come_whole(probe):
    with Site(lambda asked: BROKEN.get(asked.path) or Answer(cut(parts(3)))) as site:
        paths = [*BROKEN, "/cut"]
        items = probe.run(site, *({"url": site.url + path} for path in paths), RETRY_TIMES="1", **SMALL)
    failed = {item["url"].removeprefix(site.url): item["failed"] for item in items}
    assert failed == dict.fromkeys(BROKEN, "NotUnpacked") | {"/cut": "ResponseDataLossError"}
    assert {(item["kind"], item["retries"]) for item in items} == {("truncated", 1)}
    assert (len(site.asked), items[-1]["files"]) == (2 * len(paths), 0)


def test_a_body_that_drips_ends(probe):
    def drops():
        yield from parts(3)
        while True:
            time.sleep(0.1)
            yield b" "

    with Site(lambda _: Answer(drops(), headers=TURTLE)) as site:
        [item] = probe.run(site, DOWNLOAD_TIMEOUT="1", RETRY_TIMES="0", **SMALL)
    assert (item["kind"], item["files"]) == ("timeout", 0)


PROJECT = """
import os
from scrapy import Request
from crawlers.listing.spider import CatalogueSpider

class Project(CatalogueSpider):
    name = "project"
    portal = os.environ["PROBE_SITE"]

    async def start(self):
        for path in ("large", "bomb", "private", "good"):
            yield Request(f"{self.portal}/{path}", meta={"spool": True}, callback=self.parse)

    def parse(self, response):
        self.logger.info("%s has %d bytes in a file", response.url, response.size)
"""


@pytest.mark.slow
def test_the_project_s_own_settings(tmp_path):
    answers = {
        "/large": lambda: Answer(itertools.repeat(PART)),
        "/bomb": lambda: Answer(gzip.compress(bytes(200_000_000), 1), headers={"Content-Encoding": "gzip"}),
        "/private": lambda: redirect("http://10.0.0.7/"),
        "/good": lambda: Answer(gzip.compress(PART * 80), headers=TURTLE | {"Content-Encoding": "gzip"}),
    }
    (tmp_path / "project.py").write_text(PROJECT)
    settings = FAST | {
        "ROBOTSTXT_OBEY": "0",
        "OUTPUT_DIR": str(tmp_path / "output"),
        "DOWNLOAD_HANDLERS": SETTINGS["DOWNLOAD_HANDLERS"],
        "SPOOL_MAXSIZE": str(99 * MIB),
    }
    with Site(lambda asked: answers[asked.path]()) as site:
        ran = subprocess.run(
            [sys.executable, "-W", "error", "-m", "scrapy", "crawl", "project", "-s", "SPIDER_MODULES=project"]
            + [f"-s{name}={value}" for name, value in settings.items()],
            cwd=tmp_path,
            env=os.environ
            | {
                "PYTHONPATH": f"{ROOT}:{tmp_path}",
                "SCRAPY_SETTINGS_MODULE": "crawlers.settings",
                "PROBE_SITE": site.url,
            },
            capture_output=True,
            text=True,
            timeout=HANG,
            check=False,
        )
    lines = json_lines(tmp_path / "output" / "project" / "errors.jsonl")
    kinds = {line["url"].removeprefix(site.url): line["kind"] for line in lines if line["url"]}
    assert kinds == {"/large": "too_large", "/bomb": "too_large", "http://10.0.0.7/": "forbidden_address"}, ran.stderr
    assert f"{80 * len(PART)} bytes in a file" in ran.stderr


# The file


def test_every_reader_has_its_own_place():
    file = SpooledFile()
    for number in range(3):
        file.write(bytes([number]) * 200_000)
    one, two = file.open(), file.open()
    assert one.read(3) == b"\0\0\0"
    assert two.seek(-2, SEEK_END) == 599_998
    assert (two.read(), two.read()) == (b"\2\2", b"")
    assert one.read(200_000)[-4:] == b"\0\1\1\1"
    assert (one.tell(), file.size, len(one.read())) == (200_003, 600_000, 399_997)
    with pytest.raises(ValueError, match="before the beginning"):
        one.seek(-1)
    with pytest.raises(UnsupportedOperation):
        one.write(b"x")


def test_a_disk_may_take_a_part():
    class Slow:
        def write(self, data):
            return raw.write(data[:10])

    file = SpooledFile()
    raw, file._file = file._file, Slow()
    file.write(bytes(range(25)))
    file._file = raw
    assert (file.open().read(), file.size) == (bytes(range(25)), 25)


@pytest.mark.slow
def test_the_file_lives_as_long_as_somebody_has_it():
    response = spooled(b"abc")
    raw, copy = response.file._file, response.copy()
    del response
    gc.collect()
    reader = copy.open()
    del copy
    gc.collect()
    assert (reader.read(), raw.closed) == (b"abc", False)
    del reader
    gc.collect()
    assert raw.closed


# The response


def spooled(data=b"abc", **keywords):
    file = SpooledFile()
    file.write(data)
    return SpooledResponse("https://example.org/a", file=file, received=2, **keywords)


def test_copies_share_the_file():
    response = spooled(status=203, headers={"A": "b"}, flags=["x"])
    other = response.replace(url="https://example.org/b")
    assert (other.file, other.status, other.headers, other.flags) == (response.file, 203, response.headers, ["x"])
    assert (other.url, other.received, other.size, other.body) == ("https://example.org/b", 2, 3, b"")


def test_no_other_class_can_have_the_file():
    """As HttpCompressionMiddleware asks for one, where an encoding stays."""
    other = spooled().replace(cls=HtmlResponse, body=b"", encoding=None)
    assert (type(other), other.head) == (SpooledResponse, b"abc")


def test_with_a_body_it_is_an_ordinary_response():
    html, plain = spooled().replace(cls=HtmlResponse, body=b"x", encoding="ascii"), spooled().replace(body=b"x")
    assert (type(html), html.body, type(plain), plain.body) == (HtmlResponse, b"x", Response, b"x")
    assert html.url == plain.url == "https://example.org/a"


def test_it_is_not_text_and_can_not_be_stored():
    assert not isinstance(spooled(), TextResponse)
    with pytest.raises(NotSupported, match="temporary file"):
        spooled().to_dict()


def test_the_head_is_the_first_64_kib():
    assert spooled(bytes(100_000)).head == bytes(65536)


# Encodings


def decoded(names, chunks):
    undoing = Encoding(undone([names.lower().encode()])[0])
    data = b"".join(part for chunk in chunks for part in undoing.decode(chunk))
    undoing.end()
    return data


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("size", [1, 7, _SIP, 10**9])
def test_the_size_of_chunks_does_not_matter(name, size):
    body = os.urandom(3000) + bytes(30_000 if size == 1 else 3_000_000)
    assert decoded(name, chunked(PACKED[name](body), size)) == body


@pytest.mark.parametrize("name", ["gzip", "deflate", "zstd"])
@pytest.mark.parametrize("rest", [b"junk", b"\0\0\0", b"\x1f", bytes(3 * _SIP)])
def test_what_follows_and_is_no_member_is_left_out(name, rest):
    assert decoded(name, [PACKED[name](b"abc") + rest, b"more"]) == b"abc"


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_members_follow_one_another(name):
    packed = PACKED[name](b"") + PACKED[name](b"abc") + PACKED[name](b"") + PACKED[name](b"def")
    assert decoded(name, [packed]) == decoded(name, chunked(packed, 1)) == b"abcdef"


@pytest.mark.parametrize("name", PACKED)
def test_nothing_may_be_missing(name):
    packed = PACKED[name](PART)
    for end in (1, len(packed) // 2, len(packed) - 1):
        with pytest.raises(NotUnpacked):
            decoded(name, [packed[:end]])


@pytest.mark.slow
def test_parts_are_small_whatever_they_unpack_to():
    for name in ("gzip", "deflate", "br", "zstd"):
        undoing = Encoding([name.encode()])
        assert max(map(len, undoing.decode(PACKED[name](bytes(20_000_000))))) <= 2 * MIB


# Bodies


@pytest.mark.parametrize(("size", "kept"), [(10, True), (11, False)])
def test_where_a_body_is_kept(size, kept):
    body = Body(Limits(above=10, most=0, folder=None), ())
    for _ in range(size):
        body.write(b"x")
    assert (body.getvalue(), body.file is None) == (b"x" * size if kept else b"", kept)


def test_its_failures_are_scrapy_s_and_this_project_s():
    assert {AnswerError, DownloadCancelledError} < set(TooLarge.__mro__)
    assert {AnswerError, ResponseDataLossError} < set(NotUnpacked.__mro__)
    assert (TooLarge(1).kind, NotUnpacked("x").kind) == ("too_large", "truncated")
