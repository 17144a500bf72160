"""Requests that differ by what the browser is to do are different requests."""

from __future__ import annotations

import pytest
from scrapy import Request
from scrapy.settings import Settings
from scrapy.utils.request import fingerprint

from crawlers.components.httpcache import AcceptFingerprinter

BUTTON = {"kind": "button", "texts": ["next"], "times": 1, "wait": 10.0}


def of(browser):
    request = Request("https://a.example/", meta={} if browser is None else {"browser": browser})
    return AcceptFingerprinter(Settings()).fingerprint(request)


def test_what_asks_for_no_browser_is_what_it_always_was():
    assert of(None) == fingerprint(Request("https://a.example/"))
    assert of({}) != of(None)


@pytest.mark.parametrize(
    "other",
    [
        *({"kind": "buttons"}, {"texts": ["more"]}, {"text": "more"}, {"times": 2}, {"xpath": "//a"}),
        *({"script": "f()"}, {"first": 0}, {"step": 10}),
    ],
    ids=str,
)
def test_other_turns_are_another_request(other):
    assert of(BUTTON | other) != of(BUTTON)


def test_how_long_it_may_take_makes_no_difference():
    assert of(BUTTON | {"wait": 3.0}) == of(BUTTON)
    assert of(dict(reversed(BUTTON.items()))) == of(BUTTON)
