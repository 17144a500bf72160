"""The files of an archive: how they come to disk, what is kept of a cut one, and how it is resumed."""

from __future__ import annotations

import fcntl
import gc
import gzip
import hashlib
import json
import os
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest

from crawlers.archive import partial
from crawlers.archive.partial import HELD, OLD, Partial, memory, sweep, version
from crawlers.exceptions import AnswerError
from tests import forked
from tests.archives import Archives
from tests.conftest import ROOT, json_lines
from tests.portal.files import CHANGED, CSV, HTML, LENGTHS, MODIFIED, PATHS, Files, bomb, made
from tests.waiting import HANG, until

URL = "https://example.org/a.csv"
TAGGED = {"etag": '"1"'}


def names(folder):
    return sorted(path.name for path in folder.glob("*"))


@pytest.fixture(autouse=True)
def _another_process():
    """What this one knows of cut files is of another test."""
    partial._cut.cache_clear()


def cut(folder, data=b"abc", total=6, url=URL):
    """Leave a download that was cut."""
    with Partial(folder, url) as partial:
        partial.restart(version(url, TAGGED, total))
        partial.write(data)


# What is on disk of a download


def finished(folder, data):
    with Partial(folder, URL) as partial:
        partial.restart(None)
        for byte in (data[:2], data[2:]):
            partial.write(byte)
        return partial.finish()


def content(file):
    with file.open() as reader:
        return reader.read()


def test_a_small_file_is_in_memory_only_and_a_larger_one_is_deleted_with_the_last_reference(tmp_path):
    small, large = b"abc", b"x" * (HELD + 1)
    for data, left in ((small, 0), (large[:HELD], 0), (large, 1)):
        before = memory.free
        file = finished(tmp_path, data)
        assert (file.size, file.head) == (len(data), data[:65536])
        assert (file.sha256, file.md5) == (hashlib.sha256(data).hexdigest(), hashlib.md5(data).hexdigest())
        assert content(file) == data
        assert len(names(tmp_path)) == left
        assert before - memory.free == (0 if left else len(data))
        del file
        gc.collect()
        assert (names(tmp_path), memory.free) == ([], before)


def test_where_no_more_is_held_in_memory_small_files_are_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "free", 2)
    file = finished(tmp_path, b"abcd")
    assert (names(tmp_path), memory.free, content(file)) == ([file.content.name], 2, b"abcd")


def test_a_file_that_was_moved_stays(tmp_path):
    file = finished(tmp_path, b"x" * 2 * HELD)
    file.content.rename(tmp_path / "kept")
    del file
    gc.collect()
    assert names(tmp_path) == ["kept"]


def test_a_cut_file_is_resumed(tmp_path):
    cut(tmp_path)
    assert [name[64:] for name in names(tmp_path)] == [".json", ".part"]
    with Partial(tmp_path, URL) as partial:
        assert (partial.size, partial.version) == (3, version(URL, TAGGED, 6))
        partial.read()
        partial.write(b"def")
        file = partial.finish()
    assert file.sha256 == hashlib.sha256(b"abcdef").hexdigest()
    assert names(tmp_path) == [file.content.name]


def test_a_cut_file_is_begun_again_if_its_version_is_not_known(tmp_path):
    for spoil in (lambda path: path.unlink(), lambda path: path.write_bytes(b"{"), lambda path: path.write_bytes(b"3")):
        cut(tmp_path)
        spoil(next(tmp_path.glob("*.json")))
        with Partial(tmp_path, URL) as partial:
            assert (partial.size, partial.version) == (0, None)


@pytest.mark.parametrize("data", [b"abcdef", b"abcdefg"])
def test_a_file_that_has_all_its_bytes_is_begun_again(tmp_path, data):
    cut(tmp_path, data)
    with Partial(tmp_path, URL) as partial:
        assert (partial.size, partial.version) == (0, None)


def test_the_sidecar_of_another_address_counts_for_nothing(tmp_path):
    cut(tmp_path)
    sidecar = next(tmp_path.glob("*.json"))
    sidecar.write_text(json.dumps(json.loads(sidecar.read_text()) | {"url": "https://example.org/b.csv"}))
    with Partial(tmp_path, URL) as partial:
        assert partial.version is None


def test_two_downloads_of_an_address_share_no_file(tmp_path):
    cut(tmp_path)
    with Partial(tmp_path, URL) as first, Partial(tmp_path, URL) as second:
        assert first.path != second.path
        assert (first.size, second.size, second.version) == (3, 0, None)
        second.restart(version(URL, TAGGED, 6))
        second.write(b"xyz")
    assert [name[64:] for name in names(tmp_path)] == [".json", ".part"]
    assert next(tmp_path.glob("*.part")).read_bytes() == b"abc"


def test_what_is_left_for_a_week_is_swept_and_nothing_else(tmp_path):
    cut(tmp_path)
    cut(tmp_path, url=URL + "?new")
    (tmp_path / "mine.part").write_bytes(b"")
    old = [path for path in tmp_path.iterdir() if path.name.startswith(hashlib.sha256(URL.encode()).hexdigest())]
    for path in [*old, tmp_path / "mine.part"]:
        os.utime(path, (0, time.time() - OLD - 60))
    os.close(sweep(tmp_path))
    assert len(names(tmp_path)) == 3
    assert "mine.part" in names(tmp_path)


def test_what_no_download_can_resume_is_swept_at_once_unless_another_archive_may_write_it(tmp_path):
    cut(tmp_path)
    kept = names(tmp_path)
    other = hashlib.sha256(b"killed").hexdigest()
    left = [f"{other}.part", f"{other}-{'0' * 16}.part", f"{other}-{'0' * 16}.file"]
    for name in left:
        (tmp_path / name).write_bytes(b"x")
    ours = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(ours, fcntl.LOCK_SH)
    os.close(sweep(tmp_path))
    assert names(tmp_path) == sorted(kept + left)
    os.close(ours)
    used = sweep(tmp_path)
    assert names(tmp_path) == kept
    with pytest.raises(BlockingIOError):
        fcntl.flock(another := os.open(tmp_path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(another)
    os.close(used)


def test_a_folder_that_can_not_be_written_is_said(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(AnswerError, match="temporary folder of ARCHIVE_STORE: Not a directory") as raised:
        Partial(tmp_path / "file", URL)
    assert raised.value.kind == "disk"


DATED = {"last-modified": "Sun, 06 Nov 1994 08:49:37 GMT", "date": "Sun, 06 Nov 1994 08:49:38 GMT"}


@pytest.mark.parametrize(
    ("headers", "validator"),
    [
        (TAGGED, '"1"'),
        (DATED, DATED["last-modified"]),
        (DATED | TAGGED, '"1"'),
        ({}, None),
        ({"etag": 'W/"1"'}, None),
        (DATED | {"etag": 'W/"1"'}, None),  # RFC 9110, 13.1.5: no date where there is a tag
        (DATED | {"date": DATED["last-modified"]}, None),  # RFC 9110, 8.8.2.2
        ({"last-modified": DATED["last-modified"]}, None),
        (DATED | {"date": "now"}, None),
        ({"etag": "1"}, None),
        ({"etag": '"1"\r\nX: "2"'}, None),
        (TAGGED | {"accept-ranges": "none"}, None),
    ],
)
def test_what_tells_a_version(headers, validator):
    found = version(URL, headers, 6)
    assert (found and found.validator) == validator


# Downloads


SPIDER = """
import hashlib
import json
import os
import resource
from pathlib import Path
from scrapy import Request, Spider
from crawlers.archive.download import FileResponse
from crawlers.components.politeness import failures

class Probe(Spider):
    name = "probe"

    async def start(self):
        self.before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for asked in json.loads(Path("requests.json").read_text()):
            asked = {"headers": {"Accept-Encoding": "identity"}, "dont_filter": True} | asked
            yield Request(**asked, callback=self.parse, errback=self.failed)

    def parse(self, response):
        found = {"url": response.request.url, "type": type(response).__name__, "status": response.status}
        found |= {"sent": dict(response.request.headers.to_unicode_dict().items())}
        found |= {"flags": response.flags, "left": len(os.listdir("scratch")) if os.path.exists("scratch") else 0}
        found |= {"retries": response.request.meta.get("retry_times", 0)}
        found |= {"headers": dict(response.headers.to_unicode_dict().items())}
        found["text"] = len(response.body)
        found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self.before
        if isinstance(response, FileResponse):
            found |= {"declared": response.declared_size, "received": response.received, "body": len(response.body)}
        if getattr(response, "file", None):
            with response.file.open() as file:
                content = file.read()
            found |= {"size": response.file.size, "head": response.head.decode("latin-1")[:20]}
            found |= {"is_right": response.file.size == len(content)
                and response.file.sha256 == hashlib.sha256(content).hexdigest()
                and response.file.md5 == hashlib.md5(content).hexdigest()}
            found |= {"sha256": response.file.sha256}
        yield found

    def failed(self, failure):
        error = failures.from_failure(failure)
        yield {"url": failure.request.url, "failed": type(failure.value).__name__, "kind": error.kind,
               "error": str(error), "retries": failure.request.meta.get("retry_times", 0)}
"""
SETTINGS = {
    "DOWNLOAD_HANDLERS": json.dumps(dict.fromkeys(("http", "https"), "crawlers.archive.download.ArchiveHandler")),
    "DOWNLOAD_TIMEOUT": "60",
    "DOWNLOAD_MAXSIZE": "1000000",
    "HTTPERROR_ALLOW_ALL": "1",
    "LOG_LEVEL": "INFO",
    "RETRY_TIMES": "2",
    "TELNETCONSOLE_ENABLED": "0",
    "REMOTE_CONTROL_ENABLED": "0",
}


class Crawl:
    """A spider of no project, with the handler in its settings."""

    def __init__(self, folder):
        self.folder = folder
        self.scratch = folder / "scratch"
        (folder / "probe.py").write_text(SPIDER)

    def command(self, requests, settings):
        asked = [{"meta": {"archive": {"scratch": "scratch", "max_size": 0}}} | one for one in requests]
        (self.folder / "requests.json").write_text(json.dumps(asked))
        words = [f"-s{name}={value}" for name, value in (SETTINGS | settings).items()]
        return [sys.executable, "-W", "error", "-m", "scrapy", "runspider", "probe.py", "-O", "items.jsonl", *words]

    def run(self, *requests, **settings):
        """What became of each request, in their order."""
        ran = forked.run(
            self.command(requests, settings),
            cwd=self.folder,
            env=ENVIRONMENT,
            timeout=HANG,
            capture_output=True,
            text=True,
            check=False,
        )
        self.log = ran.stderr
        assert ran.returncode == 0, ran.stderr
        assert "Traceback" not in ran.stderr, ran.stderr
        found = {item["url"]: item for item in json_lines(self.folder / "items.jsonl")}
        return [found[one["url"]] for one in requests]

    def get(self, url, max_size=0, **settings):
        [found] = self.run(limited(url, max_size), **settings)
        return found


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def limited(url, max_size=0, **given):
    return {"url": url, "meta": {"archive": {"scratch": "scratch", "max_size": max_size}}} | given


@pytest.fixture
def crawl(tmp_path):
    return Crawl(tmp_path)


@pytest.fixture
def files():
    with Files(hosts=2) as hosts:
        yield hosts


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def ranges(files, path):
    return [asked.headers.get("range") for asked in files.requests(path)]


WHOLE = (
    {  # the paths whose file comes whole, with what it is
        "/ok.csv": CSV,
        "/chunked.csv": CSV,
        "/gzip.csv": CSV,
        "/deflate.csv": CSV,
        "/mislabelled.csv.gz": gzip.compress(CSV, mtime=0),
        "/packed.csv.gz": gzip.compress(CSV, mtime=0),
        "/empty.csv": b"",
        "/ok.foo": b"test",
        "/untyped": CSV,
        "/length-none.csv": CSV,
        "/length-short.csv": CSV[: len(CSV) // 2],
        "/name/long": CSV,
        "/name/control": CSV,
        "/redirect/3": CSV,
    }
    | {path: CSV for path in LENGTHS if path not in ("/length-short.csv", "/length-long.csv")}
)


def test_what_comes_whole(crawl, files):
    found = crawl.run(*(limited(files.url(path)) for path in WHOLE if not path.startswith("/redirect")))
    for item in found:
        path = urlsplit(item["url"]).path
        assert (item["type"], item["status"], item["body"], item["is_right"]) == ("FileResponse", 200, 0, True), path
        assert (item["size"], item["sha256"]) == (len(WHOLE[path]), sha256(WHOLE[path])), path
        assert item["head"] == WHOLE[path][:20].decode("latin-1"), path
        assert "Content-Encoding" not in item["headers"], path
    assert names(crawl.scratch) == []


CUT = {  # the ranges that each path is asked for, and what comes in the end
    "/cut-once.csv": ([None, "bytes=H-"], CSV),
    "/cut-dated.csv": ([None, "bytes=H-"], CSV),
    "/cut-ignored.csv": ([None, "bytes=H-"], CSV),
    "/cut-changed.csv": ([None, "bytes=H-"], CHANGED),
    "/cut-wrong-place.csv": ([None, "bytes=H-", None], CSV),
    "/cut-wrong-total.csv": ([None, "bytes=H-", None], CSV),
    "/cut-wrong-tag.csv": ([None, "bytes=H-", None], CSV),
    "/cut-no-tag.csv": ([None, "bytes=H-", None], CSV),
    "/cut-no-place.csv": ([None, "bytes=H-", None], CSV),
    "/cut-416.csv": ([None, "bytes=H-", None], CSV),
    "/cut-weak.csv": ([None, None], CSV),
}


def test_a_cut_download_goes_on_where_it_was_cut_or_begins_again(crawl, files):
    half = str(len(CSV) // 2)
    for item in crawl.run(*(limited(files.url(path)) for path in CUT)):
        path = urlsplit(item["url"]).path
        asked, content = CUT[path]
        assert ranges(files, path) == [one and one.replace("H", half) for one in asked], path
        assert (item["sha256"], item["is_right"], item["retries"]) == (sha256(content), True, len(asked) - 1), path
        is_resumed = path in ("/cut-once.csv", "/cut-dated.csv")
        assert (item["status"], item["flags"]) == (200, ["resumed"] if is_resumed else []), path
        assert item["headers"]["Content-Length"] == str(len(content)), path
        assert "Content-Range" not in item["headers"], path
        assert "Range" not in item["sent"], path
        assert item["declared"] == len(content), path
    assert names(crawl.scratch) == []
    assert [asked.headers.get("if-range") for asked in files.requests("/cut-once.csv")] == [None, '"1"']
    assert [asked.headers.get("if-range") for asked in files.requests("/cut-dated.csv")] == [None, MODIFIED]


def test_each_range_comes_nearer_to_the_end_and_the_next_crawl_goes_on(crawl, files):
    url, size = files.url("/cut-always.csv"), len(CSV)
    assert crawl.get(url)["failed"] == "ResponseDataLossError"
    assert ranges(files, "/cut") == [None, f"bytes={size // 2}-", f"bytes={size // 2 + -(-size // 2) // 2}-"]
    assert [name[64:] for name in names(crawl.scratch)] == [".json", ".part"]
    files.answers["/cut-always.csv"] = PATHS["/ok.csv"]
    item = crawl.get(url)
    assert (item["sha256"], item["flags"]) == (sha256(CSV), ["resumed"])
    assert item["received"] < size // 4
    assert names(crawl.scratch) == []


def test_a_range_that_is_answered_in_part_is_cut_too(crawl, files):
    item = crawl.get(files.url("/cut-short-range.csv"), RETRY_TIMES="20")
    half = len(CSV) // 2
    asked = [f"bytes={begin}-" for begin in range(half, len(CSV), 100)]
    assert ranges(files, "/cut-short") == [None, *asked]
    assert (item["sha256"], item["is_right"]) == (sha256(CSV), True)


BROKEN_OFF = ["/length-long.csv", "/chunked-cut.csv", "/half-gzip.csv"]
PARTS = ["/part.csv", "/part-unknown.csv", "/part-unplaced.csv"]


@pytest.mark.parametrize("path", [*BROKEN_OFF, *PARTS])
def test_what_is_broken_off_is_retried_and_fails(crawl, files, path):
    item = crawl.get(files.url(path))
    assert (item["kind"], item["retries"]) == ("truncated", 2)
    assert ranges(files, path) == [None, None, None]
    assert names(crawl.scratch) == []


TOO_LARGE = {  # the limit, and the bytes that the host declares
    "/promised.bin": (10**9, 10**10),
    "/ok.csv": (len(CSV) - 1, len(CSV)),
    "/length-none.csv": (len(CSV) - 1, None),
    "/endless.bin": (1_000_000, None),
    "/bomb.csv": (1_000_000, len(bomb())),
}


def test_what_is_too_large(crawl, files):
    found = crawl.run(*(limited(files.url(path), size) for path, (size, _) in TOO_LARGE.items()))
    for item, (path, (_, declared)) in zip(found, TOO_LARGE.items(), strict=True):
        assert (item["type"], item["status"], item["flags"]) == ("FileResponse", 200, ["too_large"]), path
        assert (item["declared"], "sha256" in item, item["retries"]) == (declared, False, 0), path
        assert item["headers"]["Content-Type"], path
    received = {urlsplit(item["url"]).path: item["received"] for item in found}
    assert received["/promised.bin"] == received["/ok.csv"] == 0
    assert received["/endless.bin"] < 1_100_000
    assert received["/bomb.csv"] < 70_000
    assert names(crawl.scratch) == []


def test_the_limit_itself_is_not_too_large(crawl, files):
    assert crawl.get(files.url("/ok.csv"), len(CSV))["sha256"] == sha256(CSV)


def test_a_resumed_file_can_be_too_large(crawl, files):
    path = "/cut-once.csv"
    crawl.get(files.url(path), RETRY_TIMES="0")
    item = crawl.get(files.url(path), len(CSV) - 1)
    assert (item["status"], item["flags"], item["declared"]) == (206, ["too_large"], len(CSV))
    assert names(crawl.scratch) == []


def test_other_statuses_are_ordinary_answers(crawl, files):
    paths = ["/status/404", "/status/410", "/status/403", "/status/304", "/redirect/file", "/redirect/missing"]
    for item in crawl.run(*(limited(files.url(path)) for path in paths), REDIRECT_ENABLED="0"):
        assert item["type"] != "FileResponse", item
        assert str(item["status"]) in item["url"] or item["status"] == 301
    assert names(crawl.scratch) == []


def test_a_part_that_is_all_of_a_file_is_whole(crawl, files):
    item = crawl.get(files.url("/part-of-all.csv"))
    assert (item["status"], item["flags"], item["sha256"]) == (200, [], sha256(CSV))
    assert "Content-Range" not in item["headers"]


ERRORS = {"/large-error.csv": 0, "/endless-error.csv": 0, "/bomb-error.csv": 0, "/no-gzip-error.csv": 0}
ERRORS["/small-error.csv"] = len(HTML)


def test_an_error_has_its_status_and_a_small_body(crawl, files):
    for item in crawl.run(*(limited(files.url(path)) for path in ERRORS), DOWNLOAD_MAXSIZE="64000000"):
        path = urlsplit(item["url"]).path
        assert (item.get("status"), item["text"], item["retries"]) == (404, ERRORS[path], 0), item
    assert item["memory"] < 30_000
    assert names(crawl.scratch) == []


def test_a_full_disk_stops_the_crawl_and_the_next_run_goes_on(tmp_path, files):
    archives = Archives(tmp_path, files)
    archives.list([f"/made/{number}?size=1100000" for number in range(12)])
    job = {"JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": "1"}
    full = archives.crawl(job | {"DOWNLOAD_HANDLERS": json.dumps({"http": "tests.full_disk.FullDisk"})})
    assert (full.code, full.report["verdict"], full.report["finish_reason"]) == (4, "failed", "disk")
    [line] = full.errors
    assert (line["stage"], line["kind"]) == ("write", "disk")
    assert line["error"].endswith("No space left on device: free some space, then run the same command again")
    assert archives.captures == []
    assert len(archives.asked()) <= 4, "nothing more is asked for"
    assert full.log.count("free some space, then run the same command again") == 1
    assert "Traceback" not in full.log
    again = archives.crawl(job)
    assert (again.code, again.report["captures"]) == (0, {"kept": 12}), again.log


def test_an_answer_to_head_is_an_ordinary_one_with_its_length(crawl, files):
    item = crawl.run(limited(files.url("/ok.csv"), method="HEAD"))[0]
    assert (item["type"], item["headers"]["Content-Length"]) == ("TextResponse", str(len(CSV)))
    assert not crawl.scratch.exists()


def test_a_range_of_the_request_is_its_own(crawl, files):
    item = crawl.run(limited(files.url("/ok.csv"), headers={"Range": "bytes=0-0"}))[0]
    assert (item["status"], item["flags"], item["size"], item["head"]) == (206, [], 1, "i")
    assert ranges(files, "/ok.csv") == ["bytes=0-0"]


def test_a_posted_form_gives_a_file(crawl, files):
    form = {"method": "POST", "body": "token=t0ken&accept=yes&format=csv&do=download"}
    item = crawl.run(limited(files.url("/form/accept"), **form))[0]
    assert item["sha256"] == sha256(CSV)


def test_the_same_address_twice_at_once(crawl, files):
    url = files.url("/made/a?size=500000&rate=2000000")
    item = crawl.run(limited(url), limited(url))
    assert [one["sha256"] for one in item] == [sha256(b"".join(made(500_000)))] * 2
    assert len(files.requests("/made")) == 2
    assert names(crawl.scratch) == []


@pytest.mark.parametrize("path", ["/drip.csv?seconds=0.05", "/drip-head.csv?seconds=0.05", "/silent.csv"])
def test_a_host_that_drips_is_given_up(crawl, files, path):
    item = crawl.get(files.url(path), DOWNLOAD_TIMEOUT="1", RETRY_TIMES="0")
    assert (item["failed"], item["kind"]) == ("DownloadTimeoutError", "timeout")
    assert names(crawl.scratch) == []


@pytest.mark.slow
def test_a_large_file_may_take_longer_than_the_timeout(crawl, files):
    item = crawl.get(files.url("/made/a?size=6000000&rate=2000000"), DOWNLOAD_TIMEOUT="2", RETRY_TIMES="0")
    assert (item["size"], item["is_right"]) == (6_000_000, True)


# Kills


@pytest.mark.slow
@pytest.mark.parametrize("moment", [HELD + 1, 2_000_000])
def test_a_download_is_resumed_after_a_kill(crawl, files, moment):
    url, size = files.url("/made/a?size=3000000&rate=3000000"), 3_000_000
    command = crawl.command([limited(url)], {})
    process = forked.Popen(command, cwd=crawl.folder, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    until(lambda: sum(path.stat().st_size for path in crawl.scratch.glob("*.part")) >= moment)
    process.kill()
    process.wait()
    [part] = crawl.scratch.glob("*.part")
    kept = part.stat().st_size
    assert moment <= kept < size
    item = crawl.get(url)
    assert ranges(files, "/made") == [None, f"bytes={kept}-"]
    assert (item["status"], item["flags"], item["received"]) == (200, ["resumed"], size - kept)
    assert (item["sha256"], item["is_right"]) == (sha256(b"".join(made(size))), True)
    assert names(crawl.scratch) == []


@pytest.mark.slow
def test_memory_is_flat(crawl, files):
    small, large = (crawl.get(files.url(f"/made/a?size={size}"))["memory"] for size in (1_000_000, 200_000_000))
    assert large - small < 30_000
