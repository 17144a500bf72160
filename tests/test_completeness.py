"""The one rule by which a crawl may be called complete."""

from __future__ import annotations

import pytest

from crawlers.exceptions import AnswerError
from crawlers.listing.completeness import Ending, evidence


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        (Ending(listed=5, total=5), "total"),
        (Ending(listed=6, total=5), "total"),
        (Ending(listed=0, total=0), "total"),
        (Ending(listed=5, total=5, left="page 3 was not followed"), "total"),
        (Ending(listed=5, is_declared=True), "rules"),
        (Ending(listed=5, is_one_file=True), "file"),
        (Ending(listed=5, has_pager_ended=True), "pager"),
        (Ending(listed=5, is_last_page_short=True), "short_page"),
    ],
)
def test_what_shows_that_a_listing_was_whole(ending, expected):
    assert evidence(ending) == expected


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (Ending(listed=5), "unproven"),
        (Ending(listed=5, total=6), "count_mismatch"),
        (Ending(listed=5, total=6, is_one_file=True, has_pager_ended=True, is_declared=True), "count_mismatch"),
        (Ending(listed=5, total=6, is_last_page_short=True), "count_mismatch"),
        (Ending(listed=5, is_one_file=True, left="names a sub-catalogue that was not followed"), "unproven"),
        (Ending(listed=5, has_pager_ended=True, left="offers 3 pages that were not followed"), "unproven"),
    ],
)
def test_what_shows_nothing(ending, kind):
    with pytest.raises(AnswerError) as caught:
        evidence(ending)
    assert caught.value.kind == kind


def test_the_sentence_says_what_was_left():
    with pytest.raises(AnswerError, match=r"^a\.ttl listed 5 datasets, and names b\.ttl, which was not followed$"):
        evidence(Ending(listed=5, subject="a.ttl", left="names b.ttl, which was not followed"))
