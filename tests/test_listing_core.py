"""The pure core of a listing and of what its parsers read through, without a crawl: each test takes milliseconds."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import TextResponse
from scrapy.spidermiddlewares.httperror import HttpError

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import mapping as ckan
from crawlers.kinds.ckan.api import API
from crawlers.kinds.ckan.cursor import Cursor, Page
from crawlers.kinds.ckan.incremental import is_cheaper_whole
from crawlers.kinds.ckan.query import Query
from crawlers.kinds.ckan.recovery import MOST_SKIPPED, Refusal, another
from crawlers.kinds.ckan.withdrawals import Gone
from crawlers.listing import paging
from crawlers.rdf import guards
from crawlers.safety import text
from crawlers.safety.xml import body, entities, plain
from crawlers.safety.xml.body import Body
from crawlers.safety.xml.entities import Entities

PORTAL = "https://data.example.org"


def page(*ids: str, count: int | None = None) -> Page:
    return Page([{"id": one} for one in ids], count)


def refusal(kind: str = "http", status: int | None = None, *, spoken: bool = False) -> Refusal:
    return Refusal(AnswerError(kind, "no"), status, spoken)


# Where a listing stands


def test_the_next_page_begins_behind_the_last_id() -> None:
    begun = Cursor(rows=2)
    assert "fq" not in begun.parameters(Query())
    later = begun.after(page("a", "b", count=5), listed=2, resources=3)
    assert (later.last, later.start, later.received, later.listed, later.resources) == ("b", None, 2, 2, 3)
    assert (later.expected, later.promised, later.largest, later.stale) == (5, 5, 2, 0)
    asked = later.parameters(Query(q="rain", organization="who"))
    assert asked["fq"] == "+id:{b TO *] +organization:who"
    assert (asked["q"], asked["sort"], asked["rows"], "start" in asked) == ("rain", "id asc", 2, False)


def test_an_id_is_no_query_of_its_own() -> None:
    cursor = Cursor(rows=2, last='a"] OR id:*', received=1)
    assert cursor.parameters(Query())["fq"] == '+id:{a\\"\\]\\ OR\\ id\\:\\* TO *]'


def test_a_portal_whose_ids_do_not_ascend_is_paged_by_offset() -> None:
    first = Cursor(rows=2).after(page("b", "a", count=5), listed=2, resources=0)
    assert (first.start, first.parameters(Query())["start"]) == (2, 2)
    second = first.after(page("d", "c", count=4), listed=2, resources=0)
    assert (second.start, second.shifted) == (4, True), "the count changed: records may have been missed"
    assert not first.after(page("d", "c", count=5), listed=2, resources=0).shifted


def test_pages_without_news_are_counted() -> None:
    cursor = Cursor(rows=2, stale=1)
    assert cursor.after(page("a"), listed=0, resources=0).stale == 2
    assert cursor.after(page("a"), listed=1, resources=0).stale == 0


def test_fewer_than_promised_is_short_and_a_second_walk_goes_by_offset() -> None:
    cursor = Cursor(rows=2, received=4, listed=4, promised=5, last="d", counting=True)
    assert cursor.short()
    assert not Cursor(rows=2, listed=5, promised=5).short()
    assert not Cursor(rows=2).short(), "nothing was promised"
    restarted = cursor.restarted(6)
    assert (restarted.start, restarted.received, restarted.last) == (0, 0, None)
    assert (restarted.second, restarted.counting) == (True, False)
    assert (restarted.promised, restarted.expected, restarted.listed) == (6, 6, 4)


def test_a_record_that_can_not_be_had_is_passed_over_by_its_id_alone() -> None:
    skipping = Cursor(rows=1, received=3, listed=3, last="c", skipping="500")
    assert skipping.parameters(Query())["fl"] == "id"
    behind = skipping.behind("d")
    assert (behind.last, behind.received, behind.listed, behind.skipped, behind.skipping) == ("d", 4, 4, 1, None)
    assert behind.after(page("e"), listed=1, resources=0).skipped == 0


def test_a_count_is_asked_for_without_records_and_without_a_place() -> None:
    asked = Cursor(rows=100, last="z", received=9, counting=True).parameters(Query(tag="rain"))
    assert (asked["rows"], asked["fq"]) == (0, "+tags:rain")
    doubtful = Cursor(rows=100, last="z", counting=True, behind_all=True).parameters(Query(tag="rain"))
    assert (doubtful["rows"], doubtful["fq"]) == (0, "+id:{0 TO *] +tags:rain"), "as pages are asked for"


def test_a_listing_begins_with_nothing() -> None:
    begun = {"pages": 0, "listed": 0, "resources": 0, "expected": None, "stale": 0}
    assert paging.Cursor().plain() == begun
    own = Cursor(rows=7).plain()
    assert {name: own[name] for name in begun} == begun
    assert not any(value for name, value in own.items() if name != "rows")
    assert paging.Entry("a", {}).resources == 0


def test_a_cursor_is_plain_data() -> None:
    cursor = Cursor(rows=7, last="x", ids=True)
    assert Cursor(**cursor.plain()) == cursor
    assert (cursor.name, Cursor(rows=1).name) == ("ids", "datasets")


@pytest.mark.parametrize(
    ("first", "left", "is_one_question"), [(1000, 978, True), (1000, 977, False), (1000, 1018, True), (20, 29, False)]
)
def test_two_pages_after_each_other_must_count_the_same(first: int, left: int, is_one_question: bool) -> None:
    """The second counts what is left behind the first, which had two records."""
    later = Cursor(rows=2).after(page("a", "b", count=first), listed=2, resources=0)
    after = later.after(page("c", count=left), listed=1, resources=0)
    assert after.is_doubtful is not is_one_question
    assert after.after(page("d", count=left - 1), listed=1, resources=0).is_doubtful is after.is_doubtful
    assert not later.by_offset().after(page("c", count=first), listed=1, resources=0).is_doubtful
    assert not later.restarted(5).after(page("c", count=5), listed=1, resources=0).is_doubtful


# A page


def answer(result: bytes) -> TextResponse:
    return TextResponse(PORTAL, body=b'{"success": true, "result": ' + result + b"}", encoding="utf-8")


def test_a_page_has_each_id_once_and_keeps_what_has_none() -> None:
    read = Page.read(answer(b'{"count": 9, "results": [{"id": "a"}, {"id": "a"}, {"id": 7}, {"id": ""}, 3]}'))
    assert (read.ids(), len(read.records), read.count) == (["a"], 4, 9)
    assert Page.read(answer(b'{"count": "9", "results": []}')).count is None
    for wrong in (b'{"count": 9}', b'{"count": 9, "results": {}}'):
        with pytest.raises(AnswerError, match="without the results") as refused:
            Page.read(answer(wrong))
        assert refused.value.kind == "refused"


def test_half_a_character_is_no_id() -> None:
    assert page("\ud800").ids() == []


def test_whether_ids_ascend() -> None:
    assert page("b", "c").follows("a")
    assert page("b", "c").follows(None)
    assert not page("b", "c").follows("b"), "the last one again"
    assert not page("c", "b").follows(None)
    assert page().follows("a"), "nothing follows"
    assert not Page([{"id": 7}], 1).follows(None), "nothing says where to go on"


def test_the_total_is_what_was_listed_and_what_is_left() -> None:
    by_id = Cursor(rows=2, listed=4, received=4, last="d")
    assert page("e", "f", count=3).total(by_id) == 7
    assert page("e", "f", count=1).total(by_id) == 6, "a count below what came is wrong"
    assert page("e", count=9).total(Cursor(rows=2, listed=4, start=4)) == 9
    assert page("e").total(by_id) is None


def test_which_page_is_the_last() -> None:
    first, later = Cursor(rows=3), Cursor(rows=3, received=3, listed=3, largest=3, last="c")
    assert page(count=9).is_last(first), "an empty one, whatever is counted"
    assert page("a", "b", count=2).is_last(first)
    assert not page("a", "b", "c", count=3).is_last(first), "a full one: counts lie"
    assert not page("a", "b", count=9).is_last(first), "the portal gives no more at once"
    assert not page("a", "b").is_last(first), "nothing is counted"
    assert page("d", count=1).is_last(later)
    assert not page("d", count=4).is_last(later)
    by_offset = Cursor(rows=3, received=3, largest=3, start=3)
    assert page("d", count=4).is_last(by_offset)
    assert not page("d", count=5).is_last(by_offset)
    assert page("d", count=0).is_last(Cursor(rows=3, received=3, promised=4, start=3, second=True))


# What to try when a page does not come


def test_what_a_refusal_means() -> None:
    assert refusal(status=404).final
    assert refusal(status=404).lasting
    assert refusal(status=410).lasting
    assert not refusal(status=403).lasting
    assert not refusal("blocked", 404).lasting
    for status in (408, 429, 500, None):
        assert not refusal(status=status).final, status
    assert refusal(status=503).too_much
    assert refusal("timeout").too_much
    assert not refusal(status=404).too_much
    assert refusal(status=404).elsewhere
    assert refusal("not_json").elsewhere
    assert not refusal(status=404, spoken=True).elsewhere, "CKAN itself has answered"
    assert not refusal(status=500).elsewhere


def failure(status: int, body: bytes, **headers: str) -> SimpleNamespace:
    return SimpleNamespace(value=HttpError(TextResponse(PORTAL, status=status, body=body, headers=headers)))


def test_a_refusal_has_the_words_and_the_time_of_the_portal() -> None:
    words = b'{"success": false, "error": {"__type": "Search Query Error", "message": "no such field"}}'
    found = Refusal.from_failure(failure(409, words, Date="Sun, 01 Nov 2026 06:00:00 GMT"))
    assert (found.error.kind, found.status, found.spoken) == ("http", 409, True)
    assert "no such field" in str(found.error)
    assert found.date == "Sun, 01 Nov 2026 06:00:00 GMT"
    plain = Refusal.from_failure(failure(500, b"<h1>Error</h1>"))
    assert (str(plain.error), plain.status, plain.spoken, plain.date) == (
        "HTTP 500 Internal Server Error",
        500,
        False,
        None,
    )
    lost = Refusal.from_failure(SimpleNamespace(value=AnswerError("timeout", "no answer in time")))
    assert (lost.error.kind, lost.status, lost.spoken) == ("timeout", None, False)


def test_a_record_of_another_dataset_is_not_taken_for_the_one_that_was_asked_for() -> None:
    request = Request(f"{PORTAL}/api/3/action/package_show?id=a")
    body = b'{"success": true, "result": {"id": "b", "name": "b"}}'
    response = TextResponse(request.url, body=body, encoding="utf-8", request=request)
    gone = Gone(None, API(PORTAL, Query()), None, None, withdrawals=None, access=None)  # type: ignore[arg-type]
    with pytest.raises(AnswerError, match="gave 'b' instead of the dataset"):
        gone.fate(response, "a", {"variant": 0})


def test_deleted_datasets_and_drafts_are_listed_and_not_there() -> None:
    states = {"a": None, "b": "deleted", "c": "draft", "d": "Hesse"}
    records = [{"id": one, "state": state} for one, state in states.items()]
    listed = Page([*records, {"state": "deleted"}], 9)
    assert [record.get("id") for record in listed.alive] == ["a", "d", None]
    after = Cursor(rows=5).after(listed, listed=3, resources=0, apart=2)
    assert (after.received, after.apart, after.listed, after.expected, after.promised) == (5, 2, 3, 7, 9)
    assert after.short()
    whole = after.after(page("e", "f", "g", "h", count=4), listed=4, resources=0)
    assert (whole.listed, whole.expected, whole.short()) == (7, 7, False)
    assert Cursor(rows=5).after(Page(records[1:3], 2), listed=0, resources=0, apart=2).stale == 0


def test_another_way_is_tried_on_the_first_page_only() -> None:
    first, later = Cursor(rows=10), Cursor(rows=10, received=10, last="j")
    assert another(first, refusal(status=404), 2) == Cursor(rows=10, variant=1)
    assert another(first, refusal(status=404), 1) is None
    assert another(first, refusal("blocked", 404), 2) is None
    tried = another(later, refusal(status=404), 2)
    assert tried == later.by_offset(), "a portal that does not know the query by id"
    assert tried.start == 10
    assert another(tried, refusal(status=404), 2) is None


def test_less_is_asked_for_until_a_record_is_passed_over() -> None:
    cursor, rows = Cursor(rows=1000, received=10, last="j"), []
    while (less := another(cursor, refusal(status=500), 1)) and less.rows < cursor.rows:
        cursor = less
        rows.append(less.rows)
    assert rows == [100, 10, 1]
    assert another(Cursor(rows=5), refusal("timeout"), 1) == Cursor(rows=1)
    assert less is not None
    assert less.skipping == "no"
    assert another(less, refusal(status=500), 1) == less.by_offset(), "nor is its id to be had"
    many = Cursor(rows=1, received=10, last="j", skipped=MOST_SKIPPED)
    assert another(many, refusal(status=500), 1) == many.by_offset()
    assert another(many.by_offset(), refusal(status=500), 1) is None


@pytest.mark.parametrize(
    ("changed", "listed", "largest", "is_cheaper"),
    [(7, 10, 1, False), (10, 10, 1, False), (11, 10, 1, True), (300, 3000, 1000, False), (301, 3000, 1000, True)],
)
def test_everything_is_listed_where_that_takes_fewer_requests(
    changed: int, listed: int, largest: int, is_cheaper: bool
) -> None:
    """What changed is asked for 100 at a time, or as many as the portal gives at once."""
    assert is_cheaper_whole(changed, Cursor(rows=1000, received=listed, largest=largest, listed=listed)) is is_cheaper


# Mapping


def test_a_field_is_believed_rather_than_an_extra_of_its_name() -> None:
    extras = [{"key": "title", "value": "An extra"}, {"key": "version", "value": "7"}, {"key": "url", "value": "x"}]
    item = ckan.dataset({"id": "a", "title": "A field", "version": "", "extras": extras}, source="town", portal=PORTAL)
    assert (item.title, item.version) == ("A field", "7"), "an extra stands in for a field that is empty"


def test_an_ftp_address_is_no_landing_page() -> None:
    for url in ("ftp://data.example.org/a", "FTP://data.example.org/a", "javascript:alert(1)", "/a", None):
        item = ckan.dataset({"id": "1", "name": "rain", "url": url}, source="town", portal=PORTAL)
        assert item.landing_page == f"{PORTAL}/dataset/rain", url
    own = ckan.dataset({"id": "1", "url": "http://town.example.org/rain"}, source="town", portal=PORTAL)
    assert own.landing_page == "http://town.example.org/rain"


# What parsers read through


@pytest.mark.parametrize("block", [3, 7, 1 << 20])
def test_rdf_xml_is_read_to_a_depth(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(guards, "_BLOCK", block)
    monkeypatch.setattr(guards, "MAX_DEPTH", 50)
    monkeypatch.setattr(guards, "_STEP", 30)

    def read(document: bytes) -> bytes:
        return guards.XMLGuard(io.BytesIO(document)).read()

    flat = b"<r>" + b"<a><b/></a>" * 60 + b"</r>"
    assert read(flat) == flat
    assert read(b"<a>" * 50 + b"</a>" * 50)
    with pytest.raises(AnswerError, match="nested more than 50 deep"):
        read(b"<a>" * 60 + b"</a>" * 60)


@pytest.mark.parametrize("opened", [b"<a>/>", b"<a b='/>'>", b"<a><b c='/>'></b>", b"<a><b/>"])
def test_an_element_that_seems_to_end_where_it_begins_counts(opened: bytes) -> None:
    with pytest.raises(AnswerError, match="nested more than 1000 deep"):
        guards.XMLGuard(io.BytesIO(opened * (guards.MAX_DEPTH + 2))).readall()


@pytest.mark.parametrize("begun", [0, 1, 999, 1999, 2000, 2001, 5000])
@pytest.mark.parametrize("attribute", [b'b:b="" ', b'b:b="c" ', b'b:b="%b" ' % (b"c" * 500)])
def test_the_attributes_of_an_element_are_counted_wherever_it_begins(begun: int, attribute: bytes) -> None:
    few, many = (
        b"<r>" + b"x" * begun + b"<a " + attribute * count + b"/></r>"
        for count in (guards.MAX_ATTRIBUTES - 1, guards.MAX_ATTRIBUTES)
    )
    assert guards.XMLGuard(io.BytesIO(few)).readall() == few
    with pytest.raises(AnswerError, match="attributes"):
        guards.XMLGuard(io.BytesIO(many)).readall()


def test_the_attributes_of_an_element_are_counted_over_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    document = b"<a " + b'b="c" ' * (guards.MAX_ATTRIBUTES + 1) + b"/>"
    monkeypatch.setattr(guards, "_BLOCK", len(document) // 2 + 1)
    with pytest.raises(AnswerError, match="attributes"):
        guards.XMLGuard(io.BytesIO(document)).read()


def test_a_parser_may_take_longer_for_what_is_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a hundred bytes a second, after a second's grace."""
    for name, value in {"_BLOCK": 100, "SLOWEST": 100, "GRACE": 1.0}.items():
        monkeypatch.setattr(guards, name, value)
    document = b"<a> <b> <c> .\n" * 100

    def read(seconds: float) -> bytes:
        """Each block takes so long."""
        times = iter(range(1000))
        return guards.TextGuard(io.BytesIO(document), lambda: next(times) * seconds).read()

    assert read(0.9) == document
    with pytest.raises(AnswerError, match="reading takes too long"):
        read(1.5)


@pytest.mark.parametrize("block", [80, 1 << 20])
def test_triple_terms_are_counted(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(guards, "_BLOCK", block)
    monkeypatch.setattr(guards, "MAX_TERMS", 50)

    def read(document: bytes) -> bytes:
        return guards.TextGuard(io.BytesIO(document)).read()

    term = b"<a> <b> <<( <a> <b> <c> )>> .\n"
    assert read(term * 50) == term * 50
    assert read(b"# cout <<(a)\n" * 60), "which is no triple term"
    with pytest.raises(AnswerError, match="more than 50 triple terms"):
        read(term * 60)


def test_a_language_tag_is_mended_wherever_a_block_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    line = b'<a> <b> "x"@en_GB .\n'
    for block in range(80, 110):
        monkeypatch.setattr(guards, "_BLOCK", block)
        assert guards.TextGuard(io.BytesIO(line * 10)).read() == line.replace(b"_", b"-") * 10


def test_xml_is_the_same_wherever_a_chunk_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    document = b"<r>a<!-- <b> -->b<![CDATA[<c>&]]>c<?pi d?>\r\n&eacute;&amp;</r>"
    wanted = plain(io.BytesIO(document)).read()
    assert wanted == "<r>ab&lt;c&gt;&amp;c\né&amp;</r>".encode()
    for size in range(1, len(document)):
        for module in (text, body):
            monkeypatch.setattr(module, "CHUNK", size)
        assert plain(io.BytesIO(document)).read() == wanted, size
        for odd in (b"<r>a<!--b--></r>", b"<r>a<?b?></r>", b"<r>a&eacute;</r>"):
            assert not body.is_plain(io.BytesIO(odd), 0), size
        assert body.is_plain(io.BytesIO(b"<r>a&amp;&#9;</r>"), 0)


def test_entities_are_declared_and_expanded_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MOST", "_LONGEST"):
        monkeypatch.setattr(entities, name, 4)
    declared = Entities()
    for name, value in {"a": "xx", "b": "&a;&a;", "c": "1234", "d": "&b;y"}.items():
        declared.declare(name, value)
    assert (declared.text("b"), declared.text("c")) == ("xxxx", "1234")
    with pytest.raises(AnswerError, match="entity d stands for over 4 characters"):
        declared.check()
    with pytest.raises(AnswerError, match="declares more than 4 entities"):
        declared.declare("e", "")


def test_no_declaration_is_handed_on_in_two_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last gate holds, whatever the code before it hands on."""
    monkeypatch.setattr(Body, "_rewritten", lambda *_: iter((b"<r>a<", b"", b"!DOCTYPE x></r>")))
    with pytest.raises(AnswerError, match="where none may be"):
        list(Body(Entities(), []).pieces(iter(())))
