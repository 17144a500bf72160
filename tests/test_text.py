"""Text is what the publisher wrote, whatever charset a header, a page or nobody says."""

from __future__ import annotations

import io
import json
import time

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse

from crawlers import arguments
from crawlers.exceptions import AnswerError, ArgumentError, RulesError
from crawlers.kinds.dcat.answer import read
from crawlers.kinds.html.answer import page_of
from crawlers.kinds.html.rules import loads
from crawlers.listing.answers import json_document
from crawlers.listing.spider import CatalogueSpider
from crawlers.safety import text
from tests.conftest import Crawl, options, scrapy
from tests.site import Answer, Site, listing

NO_TEXT = ["zlib_codec", "hex", "base64", "rot13", "idna", "punycode", "unicode_escape", "undefined", "utf-7", "x-none"]
BULGARIAN = "Списък на училищата и болниците в общината, обновява се всеки месец"
GERMAN = "Bäume an Straßen und Plätzen"
DAMAGED = "Bäume an Straßen".encode() + b" und Pl\xe4tze"


def json_answer(body: bytes, header: str = "application/json", encoding: str | None = None) -> TextResponse:
    request = Request("https://example.org/api", meta={"encoding": encoding} if encoding else {})
    return TextResponse(request.url, headers={"Content-Type": header}, body=body, request=request)


def page(
    body: str | bytes, codec: str = "utf-8", header: str = "text/html", meta: str = "", **keywords
) -> HtmlResponse:
    head = f"<html><head>{meta}<title>t</title></head><body><p>"
    written = body if isinstance(body, bytes) else body.encode(codec)
    html = head.encode() + written + b"</p></body></html>"
    request = Request("https://example.org/d", meta=keywords)
    return HtmlResponse(request.url, headers={"Content-Type": header}, body=html, request=request)


def paragraph(response: HtmlResponse) -> tuple[str, str | None]:
    found = page_of(response)
    return found.find("string(//p)")[0], found.misread


# JSON


@pytest.mark.parametrize("charset", ["iso-8859-1", "us-ascii", "windows-1251", "utf-16", "latin1", *NO_TEXT])
def test_json_is_utf8_whatever_its_header_says(charset):
    body = json.dumps({"title": GERMAN}, ensure_ascii=False).encode()
    assert json_document(json_answer(body, f"application/json; charset={charset}")) == {"title": GERMAN}


@pytest.mark.parametrize(
    ("codec", "charset"), [("iso-8859-1", "iso-8859-1"), ("cp1252", "ascii"), ("utf-16", None), ("utf-16-le", None)]
)
def test_json_that_is_not_utf8_is_what_its_header_says_or_its_bytes(codec, charset):
    body = json.dumps({"title": GERMAN}, ensure_ascii=False).encode(codec)
    header = f"application/json; charset={charset}" if charset else "application/json"
    assert json_document(json_answer(body, header)) == {"title": GERMAN}


def test_json_in_the_encoding_that_the_user_says():
    body = json.dumps({"title": "Łódź, źródła"}, ensure_ascii=False).encode("cp1250")
    assert json_document(json_answer(body, encoding="windows-1250")) == {"title": "Łódź, źródła"}


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", *NO_TEXT])
def test_json_with_bytes_that_nothing_explains_is_no_answer(charset):
    body = b'{"title": "' + DAMAGED + b'"}'
    with pytest.raises(AnswerError, match="is not in its encoding") as caught:
        json_document(json_answer(body, f"application/json; charset={charset}"))
    assert caught.value.kind == "truncated"


# HTML


@pytest.mark.parametrize(
    ("codec", "header", "meta"),
    [
        ("cp1251", "text/html; charset=utf-8", "<meta charset=windows-1251>"),
        ("cp1251", "text/html; charset=utf-8", ""),
        ("cp1251", "text/html", ""),
        ("koi8-r", "text/html", "<meta charset=koi8-r>"),
        ("cp1251", "text/html; charset=windows-1251", "<meta charset=utf-8>"),
        ("utf-8", "text/html; charset=iso-8859-1", ""),
        ("utf-8", "text/html; charset=windows-1251", "<meta charset=windows-1251>"),
        ("utf-8", "text/html; charset=zlib_codec", "<meta charset=idna>"),
        ("cp1251", "text/html; charset=hex", "<meta charset=windows-1251>"),
        ("utf-8-sig", "text/html; charset=iso-8859-1", ""),
    ],
)
def test_a_page_is_read_by_header_then_meta_then_its_bytes(codec, header, meta):
    read = page(BULGARIAN, codec, header, meta)
    if codec == "utf-8-sig":
        read = read.replace(body=b"\xef\xbb\xbf" + read.body.replace(b"\xef\xbb\xbf", b""))
    assert paragraph(read) == (BULGARIAN, None)


@pytest.mark.parametrize(
    ("given", "codec", "other"),
    [
        ("Δημόσιες συμβάσεις του Δήμου Αθηναίων", "iso-8859-7", "iso-8859-1"),
        ("Zażółć gęślą jaźń, ścieżki rowerowe w Łodzi", "iso-8859-2", "windows-1252"),
        ("Marchés publics passés à l'été, liste des écoles", "iso-8859-1", "windows-1251"),
        (BULGARIAN, "koi8-r", "windows-1251"),
        ("Φόρος", "iso-8859-7", None),
    ],
)
def test_bytes_decide_between_header_and_meta_and_the_contradiction_is_told(given, codec, other):
    for header, meta in ((codec, other), (other, codec)) if other else (("iso-8859-1", codec),):
        found, flaw = paragraph(page(given, codec, f"text/html; charset={header}", f"<meta charset={meta}>"))
        assert found == given
        assert flaw is not None
        assert "contradict" in flaw


def test_a_page_in_the_encoding_that_the_user_says():
    assert paragraph(page("Łódź", "iso-8859-2", "text/html; charset=iso-8859-1", encoding="iso-8859-2")) == (
        "Łódź",
        None,
    )
    shown = page("Łódź", encoding="iso-8859-2", browser={"kind": None})
    assert paragraph(shown) == ("Łódź", None), "a browser gives UTF-8, whatever the page was in"


def test_a_guess_among_latin_alphabets_is_told():
    found, flaw = paragraph(page("Straßen und Plätze, über Bäume, jährlich geändert", "cp1252", "text/html"))
    assert found == "Straßen und Plätze, über Bäume, jährlich geändert"
    assert "guessed" in str(flaw)
    assert "set `encoding`" in str(flaw)


@pytest.mark.parametrize("header", ["text/html", "text/html; charset=utf-8", "text/html; charset=iso-8859-1"])
def test_bytes_of_a_page_that_can_not_be_read_are_told(header):
    found, flaw = paragraph(page(DAMAGED, header=header))
    assert found == "Bäume an Straßen und Pl\ufffdtze"
    assert flaw == "Some of it is not in its encoding (utf-8): U+FFFD stands for what can't be read."


@pytest.mark.parametrize(
    ("given", "codec"),
    [("Школы", "cp1251"), ("Данные о школах и больницах города", "koi8-r"), ("בתי ספר", "cp1255"), ("Öl", "cp1252")],
)
def test_an_encoding_that_few_bytes_suggest_is_told_as_a_guess(given, codec):
    found, flaw = paragraph(page(given, codec))
    assert found == given or flaw


@pytest.mark.parametrize("charset", ["gbk", "gb18030", "gb2312", "shift_jis", "big5", "euc-kr"])
@pytest.mark.parametrize("title", ["中文数据", "河流水质", "学校データ"])
def test_utf8_under_a_chinese_or_japanese_label(title, charset):
    assert paragraph(page(title, header=f"text/html; charset={charset}")) == (title, None)


@pytest.mark.parametrize("title", ["联通", "学校数据目录", "城市交通"])
def test_chinese_under_its_own_label(title):
    assert paragraph(page(title, "gbk", "text/html; charset=gbk")) == (title, None)


def test_a_long_text_without_tags_is_looked_through_once():
    begun = time.process_time()
    assert text.decoded(b"<a>B\xe4ume</a>" + b" a" * 20_000).encoding == "cp1252"
    assert time.process_time() - begun < 2


def test_a_replacement_character_of_the_publisher_s_is_no_flaw():
    assert paragraph(page("Pl\ufffdtze", header="text/html; charset=utf-8")) == ("Pl\ufffdtze", None)
    flaws: list[str] = []
    read = b"".join(text.chunks(io.BytesIO("Pl\ufffdtze".encode()), "utf-8", 0, flaws))
    assert (read.decode(), flaws) == ("Pl\ufffdtze", [])


# RDF and data.json


TURTLE = """@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
<http://example.org/d> a dcat:Dataset ; dct:title "%s" .
"""
DATA_JSON = (
    '{"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": [{"identifier": "d", "title": "%s"}]}'
)


def catalogue(body: bytes, header: str, encoding: str | None = None) -> tuple[str | None, list[str]]:
    request = Request("https://example.org/catalog", meta={"encoding": encoding} if encoding else {})
    response = Response(request.url, headers={"Content-Type": header}, body=body, request=request)
    found = read(response, name="example", language=None, max_json=10_000_000)
    assert found is not None
    for _ in found.load():
        pass
    (title,) = [record.item().title for record in found.records()]
    found.close()
    return title, [*found.misread, *(fault.message for fault in found.faults)]


@pytest.mark.parametrize(
    ("template", "header"), [(TURTLE, "text/turtle"), (DATA_JSON, "application/json")], ids=["turtle", "data.json"]
)
class TestACatalogue:
    @pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "windows-1251", "zlib_codec"])
    def test_in_utf8_whatever_its_header_says(self, template, header, charset):
        body = (template % GERMAN).encode()
        assert catalogue(body, f"{header}; charset={charset}") == (GERMAN, [])

    def test_in_what_its_header_says(self, template, header):
        body = (template % BULGARIAN).encode("cp1251")
        assert catalogue(body, f"{header}; charset=windows-1251") == (BULGARIAN, [])

    def test_in_what_the_user_says(self, template, header):
        body = (template % "Łódź").encode("cp1250")
        assert catalogue(body, f"{header}; charset=utf-8", "windows-1250") == ("Łódź", [])

    def test_in_utf8_though_the_user_says_what_the_pages_are_in(self, template, header):
        assert catalogue((template % GERMAN).encode(), header, "windows-1250") == (GERMAN, [])

    def test_with_bytes_that_nothing_explains(self, template, header):
        before, after = template.split("%s")
        title, flaws = catalogue(before.encode() + DAMAGED + after.encode(), f"{header}; charset=iso-8859-1")
        assert title == "Bäume an Straßen und Pl\ufffdtze"
        assert flaws == ["Some of it is not in its encoding (utf-8): U+FFFD stands for what can't be read."]


def test_half_characters_are_told():
    context = '"@context": {"@vocab": "http://www.w3.org/ns/dcat#", "title": "http://purl.org/dc/terms/title"}'
    body = "{" + context + ', "@id": "http://example.org/d", "@type": "Dataset", "title": "a\\ud83d"}'
    assert catalogue(body.encode(), "application/ld+json") == (
        "a\ufffd",
        ["Some escapes in the JSON are half characters: U+FFFD stands for them."],
    )


# What the user says


def test_an_encoding_that_is_none():
    with pytest.raises(ArgumentError, match="encoding='zlib' is not an encoding of texts such as windows-1251"):
        arguments.parse("ckan", CatalogueSpider.arguments, {"encoding": "zlib"})
    with pytest.raises(RulesError, match="encoding: 'zlib' is not an encoding of texts"):
        loads('start = "https://example.org/"\nencoding = "zlib"\n[links]\npattern = "/d/"\n')


def test_a_portal_in_the_encoding_of_its_source(crawl):
    record = {"id": "d1", "name": "lodz", "title": "Łódź", "resources": []}

    def answer(asked):
        found = json.loads(listing(record).body)
        return Answer(json.dumps(found, ensure_ascii=False).encode("cp1250"))

    with Site(answer) as site:
        done = crawl("ckan", site, encoding="windows-1250")
    assert [document["title"] for document in done.documents().values()] == ["Łódź"]


def test_pages_in_the_encoding_of_their_rules(tmp_path):
    """The header and the page say windows-1251 in chorus; the rules know better."""

    def answer(asked):
        title = "" if asked.path == "/" else "<h1>Łódź</h1>"
        body = f"<html><meta charset=windows-1251><body>{title}<a href='/d/1'>Dane</a></body></html>".encode("cp1250")
        headers = {"Content-Type": "text/html; charset=windows-1251"}
        return Answer(status=404) if asked.path == "/robots.txt" else Answer(body, headers=headers)

    rules = tmp_path / "rules.toml"
    with Site(answer) as site:
        rules.write_text(
            f'start = "{site.url}/"\nencoding = "windows-1250"\n[links]\npattern = "/d/"\n[paging]\nnext = false\n'
            '[fields]\ntitle = "h1"\n'
        )
        ran = scrapy("crawl", "html", *options(tmp_path / "output", {}, rules=str(rules)))
    done = Crawl(ran.returncode, ran.stderr, tmp_path / "output" / "127.0.0.1")
    assert [document["fields"]["title"]["value"] for document in done.documents().values()] == ["Łódź"]


@pytest.mark.parametrize("written", ["Café", "Café\nnaïve", "Café\nb", "a\nCafé"])
def test_a_file_is_read_by_all_of_its_first_piece(written):
    """Its first letter may be ASCII in any encoding."""
    flaws: list[str] = []
    assert text.in_utf8(io.BytesIO(written.encode("latin-1")), "latin-1", None, flaws).read().decode() == written
