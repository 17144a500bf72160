"""The difference of two versions: what is told of it turns one into the other, whatever a portal wrote."""

from __future__ import annotations

import copy
import json
import random
import time
import tracemalloc
from typing import Any

import jsonpatch
import pytest

from crawlers.items import Agent, Checksum, Dataset, Resource
from crawlers.safety import strict_json
from crawlers.store.difference import MOST, MOST_LINES, Change, Line, difference


def patched(before: bytes, after: bytes) -> Any:
    return jsonpatch.apply_patch(json.loads(before), difference(before, after).patch())


def value(draw: random.Random, depth: int) -> Any:
    """Return any JSON value; few names and few texts, so that they collide."""
    kind = draw.randrange(9 if depth else 6)
    if kind >= 6:
        some = [value(draw, depth - 1) for _ in range(draw.randrange(6))]
        names = ("a", "b/c", "~", "", "id", "0")
        return some if draw.randrange(2) else {draw.choice(names): one for one in some}
    return draw.choice((None, True, False, 0, 1, 1.0, 2**70, "", "a", "ä", "1", "\ud800", draw.randrange(3), "x\ny"))


def edited(draw: random.Random, record: Any) -> Any:
    """Return a record with an edit at some depth."""
    if isinstance(record, list) and record and draw.randrange(4):
        place = draw.randrange(len(record))
        edit = draw.randrange(5)
        if edit == 0:
            return [*record[:place], value(draw, 2), *record[place:]]
        if edit == 1:
            return record[:place] + record[place + 1 :]
        if edit == 2:
            return draw.sample(record, len(record))
        return [*record[:place], edited(draw, record[place]), *record[place + 1 :]]
    if isinstance(record, dict) and record and draw.randrange(4):
        name = draw.choice([*record])
        return {**record, name: edited(draw, record[name])} if draw.randrange(3) else {**record, "new": 1, name: []}
    return value(draw, 3)


def test_a_thousand_edits_applied_by_jsonpatch_give_the_record_after() -> None:
    draw = random.Random(34)
    record = {"id": "a", "resources": [{"id": str(number), "extras": [value(draw, 2)]} for number in range(9)]}
    changed: Any = record
    for _ in range(1_000):
        before, after = changed, edited(draw, changed)
        for one, other in ((before, after), (after, before)):
            bodies = strict_json.dumps(one), strict_json.dumps(other)
            found = patched(*bodies)
            assert json.dumps(found, sort_keys=True) == json.dumps(json.loads(bodies[1]), sort_keys=True)
        changed = after if isinstance(after, dict) and len(json.dumps(after)) < 5_000 else copy.deepcopy(record)


def test_an_element_is_found_again_wherever_it_is_now() -> None:
    """By its id, or else as it is: what comes before it is no change of it."""
    before = {
        "resources": [{"id": "x", "url": 1}, {"id": "y", "url": 1}],
        "tags": ["a", "b", "c"],
        "extras": [1],
    }
    after = {"resources": [{"id": "z"}, {"id": "x", "url": 1}, {"id": "y", "url": 2}], "tags": ["b", "c", "d"]}
    assert difference(json.dumps(before).encode(), json.dumps(after).encode()).record == [
        Change("/extras", [1], None, "remove"),
        Change("/resources/0", None, {"id": "z"}, "add"),
        Change("/resources/2/url", 1, 2, "replace"),
        Change("/tags/0", "a", None, "remove"),
        Change("/tags/2", None, "d", "add"),
    ]


def test_what_differs_in_an_item_is_told_by_its_fields() -> None:
    def item(**more: Any) -> Dataset:
        return Dataset(source="town", id="a", document={}, **more)

    def resource(name: str, **more: Any) -> Resource:
        return Resource(id=name, dataset_id="a", document={}, **more)

    before = item(
        title="Rivers",
        keywords=["water"],
        publisher=Agent(name="Town", email="a@town.example"),
        resources=[resource("x", url="https://town.example/x", size=1), resource("y"), resource("z", title="Z")],
    )
    after = item(
        title="The rivers",
        publisher=Agent(name="City", email="a@town.example"),
        contacts=[Agent(name="Ann")],
        resources=[resource("y"), resource("x", url="https://town.example/x", size=2), resource("new", title="N")],
    )
    after.resources[0].checksum = Checksum(algorithm="md5", value="0f")
    assert difference(b"{}", b"{}", before, after).fields == [
        Change("title", "Rivers", "The rivers", "replace"),
        Change("publisher.name", "Town", "City", "replace"),
        Change("contacts", None, [{"name": "Ann"}], "add"),
        Change("keywords", ["water"], None, "remove"),
        Change("resources[x].size", 1, 2, "replace"),
        Change("resources[y].checksum", None, {"algorithm": "md5", "value": "0f"}, "add"),
        Change("resources[z]", {"id": "z", "title": "Z"}, None, "remove"),
        Change("resources[new]", None, {"id": "new", "title": "N"}, "add"),
        Change("resources", ["x", "y"], ["y", "x"], "replace"),
    ]


def test_xml_is_a_text_and_told_by_its_lines() -> None:
    before, after = (b"<a><b>%b</b><c>%b</c><d/><e/><f/><g/></a>" % (b"1" * 80, one) for one in (b"2", b"3"))
    found = difference(before, after)
    (change,) = found.record
    assert jsonpatch.apply_patch(before.decode(), found.patch()) == after.decode()
    assert [*change.lines()] == [
        Line(" ", "<a>"),
        Line(" ", f"<b>{'1' * 80}</b>"),
        Line("-", "<c>2</c>"),
        Line("+", "<c>3</c>"),
        Line(" ", "<d/>"),
        Line(" ", "<e/>"),
        Line("@", "3 lines that are the same"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("Rivers. Old.", "Rivers. New.", ["-Rivers. Old.", "+Rivers. New."]),
        ("So. " * 40 + "Old.", "So. " * 40 + "New.", ["@38 lines that are the same", " So.", " So.", "-Old.", "+New."]),
        ("a\nb", "a\nc\r\nd", [" a", "-b", "+c", "+d"]),
        (["a", "b"], ["b", "c"], ["-a", " b", "+c"]),
        ([{"name": "Ann"}], None, ['-{"name":"Ann"}']),
        (1, "1", ["-1", '+"1"']),
        (None, None, ["-null"]),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [" {", '   "a": 1,', '-  "b": 2', '+  "b": 3', " }"]),
    ],
)  # fmt: skip
def test_a_change_by_lines(before: Any, after: Any, lines: list[str]) -> None:
    change = Change("title", before, after, "remove" if after is None else "replace")
    assert ["".join(line) for line in change.lines()] == lines


def test_no_version_before_or_after_is_a_document_that_came_or_went() -> None:
    assert difference(None, b'{"a": 1}').record == [Change("", None, {"a": 1}, "add")]
    assert difference(b"<a/>", None).record == [Change("", "<a/>", None, "remove")]
    assert difference(None, None).record == []
    assert difference(b'{"a": 1}', b'{"a":   1}').record == []


def test_what_is_no_json_is_a_text() -> None:
    assert difference(b"\xff{", b"{}").record == [Change("", "\ufffd{", {}, "replace")]


def deep(levels: int, inner: str, name: str = '{"a":') -> bytes:
    return (name * levels + inner + ("}" if "{" in name else "]") * levels).encode()


MANY = 300_000


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(deep(900, "1"), deep(900, "2"), id="deep objects"),
        pytest.param(deep(900, "1", "["), deep(900, "2", "["), id="deep lists"),
        pytest.param(deep(100_000, "1", "["), deep(100_000, "2", "["), id="too deep to be read"),
        pytest.param(json.dumps([*range(MANY)]).encode(), json.dumps([*range(MANY, 0, -1)]).encode(), id="a long list"),
        pytest.param(
            json.dumps([number * (2**61 - 1) for number in range(100_000)]).encode(),
            json.dumps([number * (2**61 - 1) + 1 for number in range(100_000)]).encode(),
            id="numbers of one hash",
        ),
        pytest.param(
            json.dumps({str(n): [n] for n in range(MANY)}).encode(),
            json.dumps({str(n): [n + 1] for n in range(MANY)}).encode(),
            id="many changes",
        ),
        pytest.param(
            json.dumps({"k" * 10**6: {str(n): 1 for n in range(9_000)}}).encode(),
            json.dumps({"k" * 10**6: {str(n): 2 for n in range(9_000)}}).encode(),
            id="a long name",
        ),
        pytest.param(b"<a>" + b"<b/>" * MANY, b"<a>" + b"<c/>" * MANY, id="many tags"),
        pytest.param(
            b"<a>" + b"\n".join(random.Random(1).choices([b"x", b"y"], k=150_000)),
            b"<a>" + b"\n".join(random.Random(2).choices([b"x", b"y"], k=150_000)),
            id="lines that are alike",
        ),
        pytest.param(b"<" * 2**24, b"<" * 2**24 + b">", id="no lines"),
    ],
)  # fmt: skip
def test_what_is_hostile_is_told_in_time(before: bytes, after: bytes) -> None:
    begin = time.process_time()
    found = difference(before, after)
    assert len(found.record) <= MOST
    assert found.record
    for change in found.record[:10]:
        assert sum(1 for _ in change.lines()) <= 2 * MOST_LINES + 3
    assert len(json.dumps(found.patch())) < 50_000_000
    assert time.process_time() - begin < 20


def test_what_is_long_takes_no_more_memory_than_its_values() -> None:
    before = json.dumps([{"k" * 500: {"a": [number]}} for number in range(3_000)]).encode()
    after = before.replace(b"[1", b"[2")
    tracemalloc.start()
    difference(before, after)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * len(before)
