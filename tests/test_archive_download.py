"""The files of an archive: how they come to disk, what is kept of a cut one, and how it is resumed."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import time

import pytest

from crawlers.archive.partial import OLD, Partial, sweep, version
from crawlers.exceptions import AnswerError

URL = "https://example.org/a.csv"
TAGGED = {"etag": '"1"'}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def cut(folder, data=b"abc", total=6, url=URL):
    """Leave a download that was cut."""
    with Partial(folder, url) as partial:
        partial.restart(version(url, TAGGED, total))
        partial.write(data)


# What is on disk of a download


def test_a_complete_file_is_hashed_and_deleted_with_the_last_reference(tmp_path):
    with Partial(tmp_path / "scratch", URL) as partial:
        partial.restart(None)
        partial.write(b"ab")
        partial.write(b"c")
        file = partial.finish()
    assert (file.size, file.head) == (3, b"abc")
    assert (file.sha256, file.md5) == (hashlib.sha256(b"abc").hexdigest(), hashlib.md5(b"abc").hexdigest())
    assert names(tmp_path / "scratch") == [file.path.name]
    del file
    gc.collect()
    assert names(tmp_path / "scratch") == []


def test_a_file_that_was_moved_stays(tmp_path):
    with Partial(tmp_path, URL) as partial:
        partial.write(b"abc")
        file = partial.finish()
    file.path.rename(tmp_path / "kept")
    file.discard()
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
    assert names(tmp_path) == [file.path.name]


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
        assert second.version is None
        with Partial(tmp_path, URL + "?2") as other:
            assert other.is_shared
    assert [name[64:] for name in names(tmp_path)] == [".json", ".part"]
    assert next(tmp_path.glob("*.part")).read_bytes() == b"abc"


def test_what_is_left_for_a_week_is_swept_and_nothing_else(tmp_path):
    cut(tmp_path)
    cut(tmp_path, url=URL + "?new")
    (tmp_path / "mine.part").write_bytes(b"")
    old = [path for path in tmp_path.iterdir() if path.name.startswith(hashlib.sha256(URL.encode()).hexdigest())]
    for path in [*old, tmp_path / "mine.part"]:
        os.utime(path, (0, time.time() - OLD - 60))
    assert sweep(tmp_path) == 2
    assert len(names(tmp_path)) == 3
    assert "mine.part" in names(tmp_path)
    assert sweep(tmp_path / "nowhere") == 0


def test_a_folder_that_can_not_be_written_is_said(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(AnswerError, match="temporary folder of ARCHIVE_STORE: File exists") as raised:
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
