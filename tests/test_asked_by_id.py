"""Questions about many ids at once: which batches are asked for, whatever becomes of them, without a crawl."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import DownloadTimeoutError
from scrapy.http import TextResponse
from scrapy.spidermiddlewares.httperror import HttpError
from twisted.python.failure import Failure

from crawlers.exceptions import AnswerError
from crawlers.listing.batches import Batch, Batches
from crawlers.listing.dialect import Fault

IDS = [f"n{number:03}" for number in range(100)]


class Some(Batches):
    """Batches of ids, which keep what they are left with."""

    batch_list = "some"

    def __init__(self, ids: list[str]) -> None:
        self.errors: list[AnswerError] = []
        records = SimpleNamespace(behind=lambda last, _, count: [one for one in ids if one > last][:count])
        self.ended: list[tuple[str, str]] = []
        walks = SimpleNamespace(is_open=lambda name: name == "some", end=lambda *ended: self.ended.append(ended))
        super().__init__(
            SimpleNamespace(  # type: ignore[arg-type]
                records=records,
                logger=SimpleNamespace(info=lambda *_: None),
                place="https://example.org",
                failed=lambda stage, error, *_, **__: self.errors.append(error),
                run_state=SimpleNamespace(walks=walks),
            )
        )
        self.asked: list[tuple[str, list[str]]] = []
        self.came: list[str] = []
        self.left: list[str] = []
        self.end: Batch | None = None

    def batch_question(self, batch: Batch) -> Request:
        method = "POST" if batch.is_post else "GET"
        self.asked.append((method, [*batch.ids]))
        return Request("https://example.org/?ids=" + ",".join(batch.ids), method=method)

    def found(self, response: Any, batch: Batch) -> dict[str, Any]:
        try:
            return {one: one for one in json.loads(response.text)}
        except ValueError:
            raise AnswerError("truncated", "it breaks off") from None

    def take(self, response: Any, records: dict[str, Any], batch: Batch) -> Any:
        self.came += records
        yield from ()

    def give_up(self, ids: list[str], *_: Any) -> Any:
        self.left += ids
        yield from ()

    def batches_done(self, batch: Batch) -> Any:
        self.end = batch
        yield from ()


def run(some: Some, answers: Any, batch: Batch | None = None) -> list[int]:
    """Ask for all; return how many ids each question had.

    Args:
        answers: returns a status, or a text, for a list of ids and a method.
    """

    async def outputs(found: Any) -> list[Any]:
        return [each async for each in found]

    waiting = [*some.ask_batch(batch or Batch())]
    while waiting:
        request = waiting.pop()
        method, ids = some.asked[-1]
        answer = answers(ids, method)
        status, body = (answer, "") if isinstance(answer, int) else (200, answer)
        headers = {"Retry-After": "1"} if status == 503 else {}
        response = TextResponse(request.url, status=status, headers=headers, body=body.encode(), request=request)
        if status == 200:
            found = request.callback(response, **json.loads(json.dumps(request.cb_kwargs)))
        else:
            failure = Failure(HttpError(response))
            failure.request = request  # type: ignore[attr-defined]
            found = request.errback(failure)
        waiting += asyncio.run(outputs(found))
    return [len(ids) for _, ids in some.asked]


@pytest.mark.parametrize("fault", [500, '["n000"'])
def test_one_that_breaks_each_answer_is_left_and_all_others_come(fault: Any) -> None:
    some = Some(IDS)
    asked = run(some, lambda ids, _: fault if "n041" in ids else json.dumps(ids))
    assert (some.left, some.came) == (["n041"], [one for one in IDS if one != "n041"])
    assert asked[:4] == [100, 50, 25, 25], "halves"
    assert len(asked) == 15, "the rest is asked for in the parts that were halved before"
    assert some.end is not None
    assert (some.end.count, some.end.is_unanswered) == (99, True)


def test_a_portal_that_answers_no_such_question_is_not_asked_for_each() -> None:
    some = Some(IDS)
    asked = run(some, lambda *_: 500)
    assert asked == [100, 50, 25, 13, 7, 4, 2, 1, 1, 2, 1, 1, 3, 6, 12, 25, 50], "after some alone, no halves"
    assert (some.left, some.came) == (IDS, [])


def test_a_few_that_fail_are_left_to_be_asked_for_by_themselves() -> None:
    some = Some(IDS)
    asked = run(some, lambda ids, _: 500 if "n041" in ids else json.dumps(ids), Batch(least=10))
    assert (asked, some.left) == ([100, 50, 25, 25, 13, 12, 6, 6, 50], IDS[38:44])


def test_an_answer_that_breaks_off_where_it_is_long() -> None:
    some = Some(IDS)
    asked = run(some, lambda ids, _: json.dumps(ids) if len(ids) <= 30 else '["n0')
    assert (asked, some.came) == ([100, 50, 25, 25, 25, 25], IDS), "later batches stay small"


def test_what_an_answer_lacks_is_left() -> None:
    some = Some(IDS[:5])
    assert run(some, lambda ids, _: json.dumps([*ids[:3], "another"])) == [5]
    assert (some.came, some.left) == (IDS[:3], IDS[3:5])


@pytest.mark.parametrize("status", [400, 414])
def test_an_address_that_is_too_long_is_halved_then_it_is_a_body(status: int) -> None:
    some = Some(IDS)
    assert run(some, lambda ids, _: json.dumps(ids) if len(ids) <= 50 else status) == [100, 50, 50]
    other = Some(IDS)
    asked = run(other, lambda ids, method: json.dumps(ids) if method == "POST" else status)
    assert (asked, [method for method, _ in other.asked]) == ([100, 50, 100], ["GET", "GET", "POST"])
    assert other.came == some.came == IDS


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_asks_to_wait_without_end_is_asked_no_more(status: int) -> None:
    some = Some(IDS)
    assert run(some, lambda *_: status) == [100]
    assert ([error.kind for error in some.errors], some.left, some.end) == (["http"], [], None)


def test_a_batch_outlives_json() -> None:
    batch = Batch(ids=("a",), sizes=(3, 4), about={"variant": 1})
    assert Batch.restored(json.loads(json.dumps(batch.plain()))) == batch
    assert batch.instead(Fault(AnswerError("refused", "no"), 200, is_spoken=True)) is None


def test_given_ids_may_be_asked_for_in_another_way_each() -> None:
    """What is asked for otherwise is so for its own ids alone, and no list of the ledger follows."""

    class Given(Some):
        batch_list = ""

        def usual(self) -> dict[str, Any]:
            return {"form": "short"}

        def batch_question(self, batch: Batch) -> Request:
            ways.append((len(batch.ids), batch.way["form"]))
            return super().batch_question(batch)

        def instead(self, batch: Batch, fault: Fault) -> Batch | None:
            is_short = batch.way["form"] == "short" and "n001" in batch.ids
            return replace(batch, way={"form": "long"}) if is_short else super().instead(batch, fault)

    ways: list[tuple[int, str]] = []
    some = Given([])
    run(some, lambda ids, _: 500 if "n001" in ids else json.dumps(ids), Batch(given=("n001", "n000", "n002"), most=2))
    assert ways == [(2, "short"), (2, "long"), (1, "short"), (1, "long"), (1, "short"), (1, "short")]
    assert (some.came, some.left) == (["n000", "n002"], ["n001"])


def test_a_batch_that_is_answered_forgets_those_that_failed_alone() -> None:
    batch = Batch(ids=("a", "b"), last="0", sizes=(2, 3), most=5, alone=2, count=7)
    assert batch.behind(1) == Batch(last="b", sizes=(3,), most=5, count=8)


@pytest.mark.parametrize(
    ("batch", "behind"),
    [
        (Batch(ids=("a", "b"), most=9), Batch(last="b", most=9, is_unanswered=True)),
        (Batch(ids=("a", "b"), most=9, least=2), Batch(last="b", least=2, alone=1, is_unanswered=True)),
        (Batch(ids=("a",), most=9, whole=50, alone=1), Batch(last="a", most=50, whole=50, alone=2, is_unanswered=True)),
        (
            Batch(ids=("a",), most=9, is_halved=True),
            Batch(last="a", most=9, is_halved=True, alone=1, is_unanswered=True),
        ),
    ],
)
def test_what_follows_a_batch_that_is_not_answered_in_any_form(batch: Batch, behind: Batch) -> None:
    """One that is small did not fail for its size: the next may be large again."""
    assert batch.left() == behind


@pytest.mark.parametrize(
    ("batch", "instead"),
    [
        (Batch(ids=("a", "b")), Batch(most=1, is_halved=True)),
        (Batch(ids=("a",)), Batch(is_post=True)),
        (Batch(ids=("a", "b", "c"), most=3, is_halved=True), Batch(is_halved=True, is_post=True)),
        (Batch(ids=("a", "b", "c"), takes_post=False), Batch(sizes=(2, 1), takes_post=False)),
    ],
)
def test_an_address_that_is_too_long_even_for_a_few(batch: Batch, instead: Batch) -> None:
    assert batch.instead(Fault(AnswerError("http", "HTTP 414"), 414, is_of_page=not batch.takes_post)) == instead


@pytest.mark.parametrize(("alone", "sizes"), [(2, (5, 5)), (3, None)])
def test_no_large_batch_is_halved_after_three_small_ones_in_a_row_failed(alone: int, sizes: Any) -> None:
    batch = Batch(ids=(*"0123456789",), alone=alone)
    found = batch.instead(Fault(AnswerError("http", "HTTP 500"), 500))
    assert (found and found.sizes) == sizes


@pytest.mark.parametrize(("most", "asked"), [(100, 100), (99, 99), (2, 2), (1, 1), (0, 1)])
def test_a_batch_that_one_request_can_not_ask_for_is_shorter(most: int, asked: int) -> None:
    some = Some(IDS)
    some.fits = lambda batch: len(batch.ids) <= most  # type: ignore[method-assign]
    assert len([*some.ask_batch(Batch())]) == 1
    assert [len(ids) for _, ids in some.asked] == [asked]


@pytest.mark.parametrize(("sizes", "retries"), [((), {}), ((3, 4), {"max_retry_times": 0})])
def test_a_batch_comes_from_no_cache_and_half_of_one_is_not_retried(sizes: Any, retries: Any) -> None:
    (request,) = Some(IDS).ask_batch(Batch(sizes=sizes))
    assert (request.meta, request.dont_filter) == ({"dont_cache": True} | retries, True)


@pytest.mark.parametrize(
    ("is_answered", "headers", "is_ended"),
    [(True, {"Retry-After": "9"}, True), (True, {}, False), (False, {}, False)],
)
def test_only_a_host_that_says_when_to_come_again_ends_the_list(is_answered: Any, headers: Any, is_ended: Any) -> None:
    some = Some(IDS)
    (request,) = some.ask_batch(Batch())
    response = TextResponse(request.url, status=503, headers=headers, request=request)
    failure = Failure(HttpError(response) if is_answered else DownloadTimeoutError())
    failure.request = request  # type: ignore[attr-defined]

    async def outputs() -> list[Any]:
        return [each async for each in some.batch_failed(failure)]

    assert len(asyncio.run(outputs())) == (0 if is_ended else 1)
    assert some.ended == ([("some", "short")] if is_ended else [])


def test_a_hundred_are_asked_for_at_once() -> None:
    some = Some([*IDS, "one more"])
    assert run(some, lambda ids, _: json.dumps(ids)) == [100, 1]
