"""What of a record moves although nobody edits it: as kinds declare it, and as two records are compared."""

from __future__ import annotations

import json

import pytest

from crawlers.kind import registered, volatile
from crawlers.kinds.api.file import load, shipped
from crawlers.records.volatile import Volatile
from crawlers.store.index.documents import _is_same_but_for

DECLARED = Volatile.named(["views", "resources.hits", "metas.explore.score"], ["tags", "resources.labels"])
BEFORE = {"views": 1, "tags": ["a", "b"], "resources": [{"id": 1, "hits": 5, "labels": [{"n": 1}, {"n": 2}]}, "x"]}


def same(before, now, declared=DECLARED, stamp=None):
    return _is_same_but_for(stamp, declared, before, now)


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        ({}, True),
        ({"views": 2}, True),
        ({"views": None}, True),
        ({"tags": ["b", "a"]}, True),
        ({"tags": ["b", "a", "a"]}, False),
        ({"tags": ["a"]}, False),
        ({"tags": "ab"}, False),
        ({"resources": [{"id": 1, "labels": [{"n": 2}, {"n": 1}]}, "x"]}, True),
        ({"resources": [{"id": 1, "hits": 6, "labels": [{"n": 1}, {"n": 3}]}, "x"]}, False),
        ({"resources": ["x", {"id": 1, "hits": 5, "labels": [{"n": 1}, {"n": 2}]}]}, False),
        ({"resources": [{"id": True, "hits": 5, "labels": [{"n": 1}, {"n": 2}]}, "x"]}, False),
        ({"resources": [{"id": 1.0, "hits": 5, "labels": [{"n": 1}, {"n": 2}]}, "x"]}, False),
        ({"resources": None}, False),
        ({"metas": {"explore": {"score": 1}}}, False),
        ({"hits": 3}, False),
    ],
)
def test_what_makes_a_record_another_one(change, is_same):
    now = {**BEFORE, **change}
    assert same(BEFORE, now) is is_same
    assert same(now, BEFORE) is is_same
    assert not change or same(BEFORE, now, Volatile()) is False
    assert DECLARED.essence(BEFORE) == DECLARED.essence(json.loads(json.dumps(BEFORE))), (
        "and nothing is changed by that"
    )


def test_counters_may_count_while_sets_stay_sets():
    kept = DECLARED.without_counters()
    assert not same(BEFORE, {**BEFORE, "views": 2}, kept)
    assert same(BEFORE, {**BEFORE, "tags": ["b", "a"]}, kept)


def test_a_stamp_and_counters_may_move_at_once():
    before, now = {"modified": "2025", "views": 1, "n": 0}, {"modified": "2026", "views": 2, "n": 0}
    assert same(before, now, stamp="2026")
    assert not same(before, now)
    assert not same(before, {**now, "n": False}, stamp="2026"), "0 is not false"


def test_a_record_that_is_nested_too_deep_is_another_one():
    deep = json.loads("[" * 900 + "]" * 900)
    for _ in range(3):
        deep = [[deep]] * 1
        for _ in range(300):
            deep = [deep]
    assert not same({"deep": deep}, {"deep": deep})


def test_every_kind_declares_what_it_can():
    assert {"pageviews_last_14_days", "total_res_downloads", "tracking_summary"} <= volatile("package_search").counters
    assert "tracking_summary" in volatile("resource_show").counters
    assert volatile("socrata").counters == {"resource.page_views", "resource.download_count"}
    assert volatile("html") == volatile(None) == volatile("no.such") == Volatile()
    for name in shipped():
        assert volatile(name) == load(name).volatile
    readers = {name for kind in registered().values() for name in kind.readers}
    assert not readers & shipped().keys()
