"""The pure core of a listing and of what its parsers read through, without a crawl: each test takes milliseconds."""

from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest
from scrapy import Request
from scrapy.http import TextResponse

from crawlers.exceptions import AnswerError
from crawlers.kinds.ckan import mapping as ckan
from crawlers.kinds.ckan.api import API
from crawlers.kinds.ckan.dialect import Ask
from crawlers.kinds.ckan.incremental import is_cheaper_whole
from crawlers.kinds.ckan.query import Query
from crawlers.kinds.ckan.withdrawals import Gone
from crawlers.listing.walk import Walk
from crawlers.records.rdf import guards
from crawlers.safety import text, xml
from crawlers.safety.xml import Body, Entities, plain

PORTAL = "https://data.example.org"


# Questions


def test_a_record_of_another_dataset_is_not_taken_for_the_one_that_was_asked_for() -> None:
    request = Request(f"{PORTAL}/api/3/action/package_show?id=a")
    body = b'{"success": true, "result": {"id": "b", "name": "b"}}'
    response = TextResponse(request.url, body=body, encoding="utf-8", request=request)
    gone = Gone(SimpleNamespace(api=API(PORTAL, Query()), withdrawals=None), None)  # type: ignore[arg-type]
    with pytest.raises(AnswerError, match="gave 'b' instead of the dataset"):
        gone.fate(response, "a", {"variant": 0})


@pytest.mark.parametrize(
    ("changed", "listed", "largest", "is_cheaper"),
    [(7, 10, 1, False), (10, 10, 1, False), (11, 10, 1, True), (300, 3000, 1000, False), (301, 3000, 1000, True)],
)
def test_everything_is_listed_where_that_takes_fewer_requests(
    changed: int, listed: int, largest: int, is_cheaper: bool
) -> None:
    """What changed is asked for 100 at a time, or as many as the portal gives at once."""
    assert is_cheaper_whole(changed, Walk(ask=Ask(), largest=largest, listed=listed)) is is_cheaper


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
    monkeypatch.setattr(guards, "_STEPS", re.compile(rb"(?s:.{1,30})[^<]*+"))

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
        for module in (text, xml):
            monkeypatch.setattr(module, "CHUNK", size)
        assert plain(io.BytesIO(document)).read() == wanted, size
        for odd in (b"<r>a<!--b--></r>", b"<r>a<?b?></r>", b"<r>a&eacute;</r>"):
            assert not xml.is_plain(io.BytesIO(odd), 0), size
        assert xml.is_plain(io.BytesIO(b"<r>a&amp;&#9;</r>"), 0)


def test_entities_are_declared_and_expanded_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_MOST_ENTITIES", "_LONGEST_ENTITY"):
        monkeypatch.setattr(xml, name, 4)
    declared = Entities()
    for name, value in {"a": "xx", "b": "&a;&a;", "c": "1234", "d": "&b;y"}.items():
        declared.declare(name, value)
    assert (declared.text("b"), declared.text("c")) == ("xxxx", "1234")
    with pytest.raises(AnswerError, match="entity d is longer than 4 characters"):
        declared.check()
    with pytest.raises(AnswerError, match="declares more than 4 entities"):
        declared.declare("e", "")


def test_no_declaration_is_handed_on_in_two_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last gate holds, whatever the code before it hands on."""
    monkeypatch.setattr(Body, "_rewritten", lambda *_: iter((b"<r>a<", b"", b"!DOCTYPE x></r>")))
    with pytest.raises(AnswerError, match="where none may be"):
        list(Body(Entities(), []).pieces(iter(())))
