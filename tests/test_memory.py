"""memory.json: what a run must know of earlier ones."""

from __future__ import annotations

import json

from crawlers.store import folder


def test_what_is_remembered_is_recalled(tmp_path):
    folder.remember(tmp_path, "public", ["data.example.org"])
    folder.remember(tmp_path, "gone", {"days": ["2026-11-25"]})
    assert folder.recall(tmp_path, "public") == ["data.example.org"]
    assert json.loads((tmp_path / "memory.json").read_bytes()) == {
        "gone": {"days": ["2026-11-25"]},
        "public": ["data.example.org"],
    }


def test_none_forgets(tmp_path):
    folder.remember(tmp_path, "public", ["data.example.org"])
    folder.remember(tmp_path, "public", None)
    assert folder.recall(tmp_path, "public") is None


def test_a_file_that_is_missing_or_damaged_knows_nothing(tmp_path):
    assert folder.recall(tmp_path, "public") is None
    for text in ("", "[1]", "{", "[" * 100_000):
        (tmp_path / "memory.json").write_text(text)
        assert folder.recall(tmp_path, "public") is None
    folder.remember(tmp_path, "public", ["a"])
    assert folder.recall(tmp_path, "public") == ["a"]


def test_nothing_is_written_that_is_there_already(tmp_path):
    folder.remember(tmp_path, "public", ["a"])
    before = (tmp_path / "memory.json").stat().st_mtime_ns, (tmp_path / "memory.json").stat().st_ino
    folder.remember(tmp_path, "public", ["a"])
    assert ((tmp_path / "memory.json").stat().st_mtime_ns, (tmp_path / "memory.json").stat().st_ino) == before
