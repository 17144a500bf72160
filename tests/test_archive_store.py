"""Where an archive keeps its files: a folder, and a real S3 server, which may fail."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from scrapy.settings import BaseSettings

from crawlers.archive.blobs import Blobs, key
from crawlers.archive.partial import sweep
from crawlers.archive.store import open_blobs
from crawlers.exceptions import OutputError
from crawlers.safety import inside
from tests.conftest import ROOT
from tests.seaweed import Faults, Seaweed, seaweed
from tests.waiting import HANG, until

__all__ = ["seaweed"]

MIB = 1024 * 1024
NUMBERS = count(1)
slow = pytest.mark.slow

Written = Callable[..., tuple[Path, str]]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    """Writes a file as a download does: ``path, sha256 = written(b"...")``."""

    def write(body: bytes) -> tuple[Path, str]:
        path = tmp_path / f"download-{next(NUMBERS)}"
        path.write_bytes(body)
        path.chmod(0o600)
        return path, hashlib.sha256(body).hexdigest()

    return write


def opened(store: Path | str, **settings: object) -> Blobs:
    return open_blobs(BaseSettings({"ARCHIVE_STORE": str(store)} | settings))


def put(blobs: Blobs, path: Path, sha256: str) -> bool:
    async def in_a_loop() -> bool:
        return await blobs.put(path, sha256)

    return asyncio.run(in_a_loop())


def put_all(blobs: list[Blobs], files: list[tuple[Path, str]]) -> list[bool]:
    async def in_a_loop() -> list[bool]:
        return await asyncio.gather(*(one.put(*file) for one, file in zip(blobs, files, strict=True)))

    return asyncio.run(in_a_loop())


@pytest.fixture
def bucket(seaweed: Seaweed, tmp_path: Path) -> Callable[..., Blobs]:
    """Opens a new bucket, or one by name: ``bucket()``, ``bucket("name", url=faults.url, timeout=1.0)``."""
    from crawlers.archive.s3 import open_bucket  # noqa: PLC0415
    from crawlers.s3.connection import Patience  # noqa: PLC0415

    os.environ.update(seaweed.environment)

    def open_(name: str = "", url: str = seaweed.url, **patience: float) -> Blobs:
        if not name:
            name = f"bucket-{next(NUMBERS)}"
            seaweed.make_bucket(name)
        os.environ["AWS_ENDPOINT_URL"] = url
        given = {"pause": 0.01, "retries": 2} | patience
        return open_bucket(f"s3://{name}/kept/here", str(tmp_path), Patience(**given))  # type: ignore[arg-type]

    return open_


@pytest.fixture(params=["folder", pytest.param("s3", marks=slow)])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "folder":
        return opened(tmp_path / "archive")
    opened_bucket: Blobs = request.getfixturevalue("bucket")()
    return opened_bucket


# Both stores


def test_a_file_is_moved_into_the_store(blobs, written):
    path, sha256 = written(b"a,b\n1,2\n")
    assert put(blobs, path, sha256)
    assert not path.exists()
    with blobs.open(sha256) as file:
        assert file.read() == b"a,b\n1,2\n"
    blob = blobs.get(sha256)
    assert blob is not None
    assert (blob.sha256, blob.bytes) == (sha256, 8)
    assert abs(blob.modified - ROOT.stat().st_atime) < 10 * 365 * 86400
    assert [(one.sha256, one.bytes) for one in blobs] == [(sha256, 8)]


def test_a_file_that_is_there_is_not_stored_twice(blobs, written):
    assert put(blobs, *written(b"x"))
    path, sha256 = written(b"x")
    assert not put(blobs, path, sha256)
    assert not path.exists()
    assert [(one.sha256, one.bytes) for one in blobs] == [(sha256, 1)]


def test_of_writers_at_the_same_time_one_stores_the_file(blobs, written):
    files = [written(b"the same") for _ in range(8)]
    assert Counter(put_all([blobs] * 8, files)) == {True: 1, False: 7}
    assert [path for path, _ in files if path.exists()] == []
    assert len(list(blobs)) == 1


def test_an_empty_file_is_stored(blobs, written):
    path, sha256 = written(b"")
    assert put(blobs, path, sha256)
    with blobs.open(sha256) as file:
        assert file.read() == b""
    assert blobs.get(sha256).bytes == 0


def test_a_damaged_blob_is_replaced(blobs, written):
    path, sha256 = written(b"whole")
    _, other = written(b"torn")
    assert put(blobs, path, sha256)
    torn, _ = written(b"torn")
    blobs.remove(sha256)
    assert put(blobs, torn, sha256)  # nobody re-hashes here: verify does
    assert put(blobs, written(b"whole")[0], sha256)
    with blobs.open(sha256) as file:
        assert file.read() == b"whole"
    assert blobs.get(other) is None


def test_a_blob_is_a_stream_that_can_seek(blobs, written):
    body = b"".join(b"%07d\n" % number for number in range(200_000))  # 1.6 MB: several requests
    path, sha256 = written(body)
    put(blobs, path, sha256)
    with blobs.open(sha256) as file:
        assert file.seekable()
        assert file.read(8) == b"0000000\n"
        assert file.readline() == b"0000001\n"
        assert file.seek(8 * 150_000) == 1_200_000
        assert file.read(8) == b"0150000\n"
        assert file.seek(-8, os.SEEK_END) == len(body) - 8
        assert file.read() == b"0199999\n"
        assert file.read(1) == b""
        assert file.seek(-16, os.SEEK_CUR) == len(body) - 16
        assert file.read(8) == b"0199998\n"
        file.seek(0)
        assert hashlib.file_digest(file, "sha256").hexdigest() == sha256
        with pytest.raises((ValueError, OSError)):
            file.seek(-1)


def test_a_blob_that_is_not_there(blobs, written):
    _, sha256 = written(b"never stored")
    assert blobs.get(sha256) is None
    with pytest.raises(FileNotFoundError):
        blobs.open(sha256)
    blobs.remove(sha256)


def test_a_removed_blob_is_gone(blobs, written):
    kept, gone = written(b"kept"), written(b"gone")
    put_all([blobs] * 2, [kept, gone])
    blobs.remove(gone[1])
    assert [one.sha256 for one in blobs] == [kept[1]]
    assert blobs.get(gone[1]) is None


def test_all_blobs_are_listed(blobs, written):
    files = [written(b"%d" % number) for number in range(60)]
    put_all([blobs] * 60, files)
    assert sorted(one.sha256 for one in blobs) == sorted(sha256 for _, sha256 in files)


def test_the_folder_for_downloads_is_there_and_closed_to_others(blobs):
    assert blobs.scratch.is_dir()
    assert stat.S_IMODE(blobs.scratch.stat().st_mode) == 0o700


# A folder


def test_a_damaged_blob_of_the_same_size_is_replaced(tmp_path, written):
    blobs = opened(tmp_path / "archive")
    path, sha256 = written(b"whole")
    put(blobs, path, sha256)
    (tmp_path / "archive" / key(sha256)).write_bytes(b"whale")
    path, _ = written(b"whole")
    assert not put(blobs, path, sha256)
    assert not path.exists()
    assert (tmp_path / "archive" / key(sha256)).read_bytes() == b"whole"


def test_the_layout_on_disk(tmp_path, written):
    blobs = opened(tmp_path / "archive")
    path, sha256 = written(b"x")
    put(blobs, path, sha256)
    assert key(sha256) == f"sha256/{sha256[:2]}/{sha256}"
    assert [one.relative_to(tmp_path / "archive").as_posix() for one in _files(tmp_path / "archive")] == [key(sha256)]
    assert blobs.scratch == tmp_path / "archive" / "tmp"
    assert blobs.location == str(tmp_path / "archive")


@pytest.mark.parametrize(("folder", "file"), [(0o755, 0o644), (0o750, 0o640), (0o700, 0o600)])
def test_who_may_read_the_folder_may_read_the_files(tmp_path, written, folder, file):
    store = tmp_path / "archive"
    store.mkdir(mode=folder)
    store.chmod(folder)
    path, sha256 = written(b"x")
    put(opened(store), path, sha256)
    assert stat.S_IMODE((store / key(sha256)).stat().st_mode) == file


def test_a_file_of_the_folder_that_is_no_blob_is_not_listed(tmp_path, written):
    blobs = opened(tmp_path / "archive")
    path, sha256 = written(b"x")
    put(blobs, path, sha256)
    shard = (tmp_path / "archive" / key(sha256)).parent
    (shard / "notes.txt").write_text("mine")
    (shard.parent / "README").write_text("mine")
    assert [one.sha256 for one in blobs] == [sha256]


def test_a_link_is_not_followed(tmp_path, written):
    blobs = opened(tmp_path / "archive")
    path, sha256 = written(b"x")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "archive" / "sha256").mkdir()
    (tmp_path / "archive" / "sha256" / sha256[:2]).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        put(blobs, path, sha256)
    assert path.exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_no_name_leads_out_of_the_folder(tmp_path, written):
    blobs = opened(tmp_path / "archive")
    with pytest.raises(OSError, match="leads out of its folder"):
        blobs.open("../../etc/passwd")
    with pytest.raises(OSError, match="leads out of its folder"):
        put(blobs, written(b"x")[0], "../../../x")


def test_what_cannot_be_stored_stays_where_it_was(tmp_path, written, monkeypatch):
    blobs = opened(tmp_path / "archive")
    path, sha256 = written(b"x")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(inside, "settle", full)
    with pytest.raises(OSError, match=r"can't be moved into .*archive: No space left on device\.") as raised:
        put(blobs, path, sha256)
    assert raised.value.errno == 28
    assert path.read_bytes() == b"x"
    with pytest.raises(OSError, match="No space left"):
        put(blobs, b"x", sha256)  # type: ignore[arg-type]
    assert list(blobs.scratch.iterdir()) == []


@pytest.mark.parametrize("is_held", [True, False])
def test_a_blob_is_on_the_disk_before_it_has_its_name_and_so_is_the_name(tmp_path, written, monkeypatch, is_held):
    blobs, did = opened(tmp_path / "archive"), []
    path, sha256 = written(b"x")
    rename, fsync = os.replace, os.fsync

    def synced(descriptor: int) -> None:
        did.append(("sync", str(Path(f"/proc/self/fd/{descriptor}").readlink())))
        fsync(descriptor)

    def renamed(source: Path, name: str, **where: int) -> None:
        did.append(("rename", str(source)))
        rename(source, name, **where)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    put(blobs, b"x" if is_held else path, sha256)  # type: ignore[arg-type]
    store = tmp_path / "archive"
    *made, content, named, folder = did
    assert made == [("sync", str(store)), ("sync", str(store / "sha256"))]  # the folders are new, too
    assert (content[0], named, folder) == ("sync", ("rename", content[1]), ("sync", str((store / key(sha256)).parent)))
    assert content[1].startswith(str(blobs.scratch)) if is_held else content[1] == str(path)


PUTS = """
import asyncio, hashlib, sys
from pathlib import Path
from crawlers.archive.store import FolderBlobs
from crawlers.archive.partial import Partial, sweep

async def put_many(blobs):
    sweep(blobs.scratch)
    for number in range(1_000_000):
        with Partial(blobs.scratch, str(number)) as partial:
            partial.write(b"%d" % (number % 10) * (number * 60_000))  # the first 17 fit into memory
            file = partial.finish()
        await blobs.put(file.content, file.sha256)

asyncio.run(put_many(FolderBlobs(Path(sys.argv[1]))))
"""


def test_after_a_kill_every_blob_is_whole(tmp_path):
    store = tmp_path / "archive"
    for _ in range(3):
        seen = len(_files(store / "sha256"))
        process = subprocess.Popen([sys.executable, "-c", PUTS, store], cwd=ROOT)
        until(lambda seen=seen: len(_files(store / "sha256")) > seen + 20)
        process.send_signal(signal.SIGKILL)
        assert process.wait(HANG) == -signal.SIGKILL
        for path in _files(store / "sha256"):
            assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
        os.close(sweep(store / "tmp"))
        assert _files(store / "tmp") == []
        for path in _files(store / "sha256")[::2]:
            path.unlink()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"file/archive can't be made \(Not a directory\)"):
        opened(tmp_path / "file" / "archive")


@pytest.mark.parametrize("store", ["", "gs://bucket/x", "https://user:password@host/x", "s3://", "s3://UPPER/x"])
def test_a_store_that_is_none(store):
    with pytest.raises(OutputError, match=r"ARCHIVE_STORE (must|is n)") as raised:
        opened(store)
    assert "password" not in str(raised.value)


@pytest.mark.parametrize("store", ["s3://key:secret@bucket/x", "s3://bucket/../x", "s3://bucket/x?y", "s3://b"])
def test_a_bucket_that_is_none(store):
    with pytest.raises(OutputError, match="ARCHIVE_STORE is no s3://bucket/prefix") as raised:
        opened(store)
    assert "secret" not in str(raised.value)


def test_a_store_in_a_folder_does_not_import_obstore(tmp_path):
    program = "import sys; from pathlib import Path; from crawlers.archive.store import FolderBlobs\n"
    program += "FolderBlobs(Path(sys.argv[1])); sys.exit('obstore' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program, tmp_path], cwd=ROOT, check=False).returncode == 0


# S3, without a server


def test_credentials_come_from_the_environment():
    os.environ.pop("AWS_ACCESS_KEY_ID", None)
    os.environ["AWS_SECRET_ACCESS_KEY"] = ""
    with pytest.raises(OutputError, match=r"has no AWS_ACCESS_KEY_ID and no AWS_SECRET_ACCESS_KEY\."):
        opened("s3://bucket")


def test_a_server_elsewhere_must_be_asked_by_https():
    os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_ENDPOINT_URL": "http://192.0.2.1:9000"}
    with pytest.raises(OutputError, match="AWS_ENDPOINT_URL is not encrypted"):
        opened("s3://bucket")


# S3


@slow
def test_a_large_file_comes_in_parts(bucket, seaweed, written):
    with Faults(seaweed.url) as server:
        blobs = bucket(url=server.url)
        path, sha256 = written(os.urandom(64 * MIB))
        assert put(blobs, path, sha256)
        assert server.count("PUT") == 13  # of 5 MiB
        assert blobs.get(sha256).bytes == 64 * MIB
        with blobs.open(sha256) as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == sha256
        assert server.count("GET") < 20  # they grow to 8 MiB


@slow
def test_a_file_that_is_there_is_not_sent(bucket, seaweed, written):
    body = os.urandom(6 * MIB)
    with Faults(seaweed.url) as server:
        blobs = bucket(url=server.url)
        put(blobs, *written(body))
        sent = server.count("PUT"), server.count("POST")
        assert not put(blobs, *written(body))
        assert (server.count("PUT"), server.count("POST")) == sent


@slow
def test_of_two_programs_one_stores_the_file(bucket, seaweed, written):
    seaweed.make_bucket("shared")
    programs = [bucket("shared") for _ in range(8)]
    files = [written(b"the same for all") for _ in programs]
    assert Counter(put_all(programs, files)) == {True: 1, False: 7}
    assert len(list(programs[0])) == 1


@slow
def test_a_file_of_the_bucket_that_is_no_blob_is_not_listed(bucket, seaweed, written):
    seaweed.make_bucket("mixed")
    blobs = bucket("mixed")
    put(blobs, *written(b"x"))
    seaweed.ask("PUT", "buckets/mixed/kept/here/sha256/notes/x.txt")
    assert len(list(blobs)) == 1
    assert len(seaweed.files("mixed")) == 2


@slow
def test_files_are_served_as_attachments(bucket, seaweed, written):
    seaweed.make_bucket("served")
    path, sha256 = written(b"<script>")
    put(bucket("served"), path, sha256)
    headers = seaweed.headers(f"buckets/served/kept/here/{key(sha256)}")
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == "attachment"


@slow
def test_a_bucket_that_is_not_there(bucket):
    with pytest.raises(OutputError, match=r"^s3://nowhere/kept/here: there is no such bucket; .*ARCHIVE_STORE\.$"):
        bucket("nowhere")


@slow
@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_wrong_credentials(bucket, seaweed, name):
    locked = f"bucket-{next(NUMBERS)}"
    seaweed.make_bucket(locked)
    os.environ[name] = "wrong-and-private"
    with pytest.raises(
        OutputError, match=r"access is denied \(\w+\); check AWS_ACCESS_KEY_ID and AWS_SECRET"
    ) as raised:
        bucket(locked)
    assert "private" not in str(raised.value)


@slow
def test_a_server_that_is_not_there(bucket):
    with pytest.raises(OutputError, match="the server can't be reached; check AWS_ENDPOINT_URL"):
        bucket("any", url="http://127.0.0.1:1")


@slow
@pytest.mark.parametrize("size", [1000, 12 * MIB], ids=["one request", "parts"])
@pytest.mark.parametrize(
    "planned",
    [
        {"PUT": ["503", "503"]},
        {"PUT": ["500"], "HEAD": ["503"]},
        {"PUT": ["cut"]},
        {"PUT": ["lose"]},
        {"PUT": ["stall"]},
        {"HEAD": ["lose", "cut"]},
        {"POST": ["lose"]},
        {"POST": ["", "503", "lose"]},
    ],
    ids=json.dumps,
)
def test_what_fails_for_a_moment_is_repeated(bucket, seaweed, written, planned, size):
    with Faults(seaweed.url) as server:
        blobs = bucket(url=server.url, timeout=2.0)
        server.planned = {method: list(faults) for method, faults in planned.items()}
        path, sha256 = written(os.urandom(size))
        assert put(blobs, path, sha256)
        assert not path.exists()
        with blobs.open(sha256) as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == sha256


@slow
@pytest.mark.parametrize("size", [1000, 12 * MIB], ids=["one request", "parts"])
@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("503", "the server answered 503 Service Unavailable"),
        ("403", "access is denied; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
        ("301", "the bucket is in another region; correct AWS_REGION"),
        ("cut", "the connection broke before the answer came"),
        ("stall", "no answer came within 0.5 seconds"),
    ],
)
def test_what_keeps_failing_is_an_error(bucket, seaweed, written, size, *, fault, why):
    name = f"bucket-{next(NUMBERS)}"
    seaweed.make_bucket(name)
    with Faults(seaweed.url) as server:
        blobs = bucket(name, url=server.url, timeout=0.5)
        body = os.urandom(size)
        path, sha256 = written(body)
        server.planned = {"PUT": [fault] * 1000, "POST": ([fault] * 1000 if size == 1000 else [])}
        with pytest.raises(OSError, match=f"^.*{re.escape(blobs.location)}: {re.escape(why)}\\.$"):
            put(blobs, path, sha256)
        assert path.read_bytes() == body
        assert 1 <= server.count("PUT") <= 3 * 3 * 3
        assert bucket(name).get(sha256) is None
        assert seaweed.files(name) == {}


@slow
def test_a_read_that_fails_is_repeated_and_then_an_error(bucket, seaweed, written):
    with Faults(seaweed.url) as server:
        blobs = bucket(url=server.url, timeout=2.0)
        path, sha256 = written(os.urandom(MIB))
        put(blobs, path, sha256)
        for faults in (["503", "lose"], ["stall"]):
            server.planned = {"GET": list(faults)}
            with blobs.open(sha256) as file:
                assert hashlib.file_digest(file, "sha256").hexdigest() == sha256
        server.planned = {"GET": ["503"] * 100}
        with blobs.open(sha256) as file, pytest.raises(OSError, match="503 Service Unavailable"):
            file.read()
        assert len(server.planned["GET"]) >= 90
        with pytest.raises(OSError, match="503 Service Unavailable"):
            list(blobs)
        server.planned = {"HEAD": ["503"] * 100, "DELETE": ["503"] * 100}
        with pytest.raises(OSError, match="503 Service Unavailable"):
            blobs.get(sha256)
        with pytest.raises(OSError, match="503 Service Unavailable"):
            blobs.remove(sha256)


MEMORY = """
import asyncio, sys
from pathlib import Path
from crawlers.archive.s3 import open_bucket
from crawlers.s3.connection import Patience

def peak():  # resource's ru_maxrss has the parent's peak in it, for a process that was forked
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024

async def put_all(blobs, folder):
    await asyncio.gather(*(blobs.put(path, path.name) for path in Path(folder).iterdir()))

blobs = open_bucket(sys.argv[1], sys.argv[2], Patience())
before = peak()
asyncio.run(put_all(blobs, sys.argv[2]))
put = peak()
for blob in blobs:
    with blobs.open(blob.sha256) as file:
        while file.read(65536):
            pass
print(before, put - before, peak() - put)
"""


@slow
@pytest.mark.parametrize(("files", "size"), [(1, 200), (25, 8), (50, 4)], ids=["one", "of 8 MiB", "of 4 MiB"])
def test_putting_200_mib_costs_no_memory(bucket, seaweed, tmp_path, files, size):
    name = f"bucket-{next(NUMBERS)}"
    seaweed.make_bucket(name)
    folder = tmp_path / "downloads"
    folder.mkdir()
    for _ in range(files):
        body = os.urandom(size * MIB)
        (folder / hashlib.sha256(body).hexdigest()).write_bytes(body)
    words = [sys.executable, "-c", MEMORY, f"s3://{name}", folder]
    done = subprocess.run(words, cwd=ROOT, env=os.environ | seaweed.environment, capture_output=True, check=True)
    _, put_cost, read_cost = map(int, done.stdout.split())
    assert put_cost < 50, done.stdout
    assert read_cost < 30, done.stdout
    assert list(folder.iterdir()) == []


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
