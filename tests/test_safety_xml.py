"""The gate in front of every XML parser: what it lets through unchanged, what it repairs, and what it refuses."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import textwrap
import time

import pyoxigraph
import pytest
from rdflib import Graph
from rdflib.compare import isomorphic

from crawlers.exceptions import AnswerError
from crawlers.safety import xml
from tests.conftest import ROOT
from tests.site import Answer, Site
from tests.waiting import HANG

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
ROOT_TAG = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:dct="http://purl.org/dc/terms/">'
TITLE = "<rdf:Description rdf:about='http://a.org/1'><dct:title>%s</dct:title></rdf:Description>"
SIZES = (1, 2, 3, 5, 7, 64)


def document(title: str, prolog: str = "") -> str:
    return f"{prolog}{ROOT_TAG}{TITLE % title}</rdf:RDF>"


def plain(text: str | bytes, charset: str | None = None, flaws: list[str] | None = None) -> str:
    body = text.encode() if isinstance(text, str) else text
    return xml.plain(io.BytesIO(body), charset, flaws).read().decode("utf-8")


def titles(text: str | bytes, charset: str | None = None, flaws: list[str] | None = None) -> list[str]:
    body = io.BytesIO(text.encode() if isinstance(text, str) else text)
    triples = pyoxigraph.parse(xml.plain(body, charset, flaws), pyoxigraph.RdfFormat.RDF_XML, lenient=True)
    return [triple.object.value for triple in triples]


def refused(text: str | bytes) -> str:
    with pytest.raises(AnswerError) as caught:
        plain(text)
    assert caught.value.kind == "unsafe_xml"
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(params=SIZES)
def small_chunks(request, monkeypatch):
    """Everything that spans two characters spans two chunks once."""
    monkeypatch.setattr("crawlers.safety.text.CHUNK", request.param)
    monkeypatch.setattr("crawlers.safety.xml.CHUNK", request.param)


# What passes


@pytest.mark.parametrize("start", ["", "\ufeff", '<?xml version="1.0" encoding="utf-8"?>\n', "\n<!-- from us -->"])
@pytest.mark.parametrize("dtd", ["", "<!DOCTYPE rdf:RDF>", f'<!DOCTYPE rdf:RDF [<!ENTITY xsd "{XSD}">]>'])
def test_a_plain_file_is_returned_itself_at_its_root(start, dtd):
    file = io.BytesIO(f"{start}{dtd}{document('Häuser &amp; &#233;')}".encode())
    assert xml.plain(file) is file
    assert file.read().decode() == document("Häuser &amp; &#233;")


LEGITIMATE = {
    "entities": f'<!DOCTYPE rdf:RDF [<!ENTITY xsd "{XSD}"><!ENTITY org "http://a.org/"><!ENTITY d "&org;d/">]>'
    f'{ROOT_TAG}'
    '<rdf:Description rdf:about="&d;1"><dct:issued rdf:datatype="&xsd;date">2020-01-01</dct:issued>'
    "<dct:title>&lt;&d;&gt;</dct:title></rdf:Description></rdf:RDF>",
    "quotes": document("&who;", "<!DOCTYPE r [<!ENTITY who '\"A&apos;s\" &#38;amp; &#38;#60; \"B\"'>]>"),
    "quotes in an attribute": f"<!DOCTYPE r [<!ENTITY q '\"'>]>{ROOT_TAG}"
    '<rdf:Description rdf:about="http://a.org/1" dct:title="a &q; b"/></rdf:RDF>',
    "first declaration counts": document("&a;", '<!DOCTYPE r [<!ENTITY a "1"><!ENTITY a "2">]>'),
    "declared later": document("&a;", '<!DOCTYPE r [<!ENTITY a "&b;!"><!ENTITY b "2">]>'),
    "no entities in CDATA and comments": document(
        "a <![CDATA[&a; <b>]]> b<!-- &a; --> c", '<!DOCTYPE r [<!ENTITY a "1">]>'
    ),
    "divided CDATA": document("<![CDATA[ a]]]]><![CDATA[> b ]]>"),
    "HTML in CDATA": document("<![CDATA[<!DOCTYPE html><html><!-- x --><p>&nbsp;&amp;</p></html>]]>"),
    "a DTD in a comment": document("1", "<!-- <!DOCTYPE r [ -->") + "<!-- <!DOCTYPE r [ -->",
    "divided by a comment": document("a<!-- b -->c<?d e?>f"),
    "the title of a DTD": document(
        "a", '<!DOCTYPE r PUBLIC "-//A//B" "<!DOCTYPE ]>" [<!-- ]> --><?x ]> ?><!ENTITY b "]>">]>'
    ),
    "all its own entities": document("&amp;&lt;&gt;&quot;&apos;&#65;&#x42;", '<!DOCTYPE r [<!ENTITY lt "&#38;#60;">]>'),
    "line ends": document("a\r\nb\rc&#13;\n"),
    "Latin-1": document("Häuser", '<?xml version="1.0" encoding="ISO-8859-1"?>').encode("latin-1"),
    "Windows": document("“Häuser” €", "<?xml version='1.0' encoding='windows-1252'?>").encode("cp1252"),
    "Cyrillic": document("Дома", "<?xml version='1.0' encoding='koi8-r'?>").encode("koi8-r"),
    "UTF-16": document(
        "Häuser 🏠 &a;", "<?xml version='1.0' encoding='UTF-16'?><!DOCTYPE r [<!ENTITY a 'é'>]>"
    ).encode("utf-16"),
    "ASCII": document("Houses", '<?xml version="1.0" encoding="us-ascii"?>'),
}  # fmt: skip


@pytest.mark.parametrize("name", LEGITIMATE)
def test_the_result_says_what_rdflib_reads(name, small_chunks):
    body = LEGITIMATE[name]
    body = body.encode() if isinstance(body, str) else body
    flaws: list[str] = []
    ours = xml.plain(io.BytesIO(body), flaws=flaws).read()
    triples = list(pyoxigraph.parse(ours, pyoxigraph.RdfFormat.RDF_XML))
    written = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.N_TRIPLES)
    assert triples
    assert isomorphic(Graph().parse(data=written, format="nt"), Graph().parse(io.BytesIO(body), format="xml"))
    assert b"<!" not in ours
    assert not flaws


def test_html_s_entities_are_known_and_others_left():
    assert plain("<r>&nbsp;&eacute;&LT;&nobody;</r>") == "<r>\xa0é&lt;&nobody;</r>"
    with pytest.raises(SyntaxError):
        titles(document("&nobody;"))


def test_a_declaration_comes_before_html():
    assert plain('<!DOCTYPE r [<!ENTITY nbsp "&#160;!"><!ENTITY e "&eacute;">]><r>&nbsp;&e;</r>') == "<r>\xa0!é</r>"


def test_a_bare_ampersand_is_taken_for_the_character(small_chunks):
    flaws: list[str] = []
    assert plain("<r a='?x=1&y=2'>A & B &; &c d; &</r>", flaws=flaws) == (
        "<r a='?x=1&amp;y=2'>A &amp; B &amp;; &amp;c d; &amp;</r>"
    )
    assert not flaws  # it says what it said


NO_CHARACTER = {
    "&#0;": "\ufffd",
    "&#x0;&#00;": "\ufffd\ufffd",
    "&#99999999;": "\ufffd",
    "&#xD83D;": "\ufffd",
    "&#56832;&#55357;": "\ufffd\ufffd",
    "&#55357;&#56832;": "\U0001f600",
    "&#xd83d;&#xDE00;&#55357;&#56832;&#60;": "\U0001f600\U0001f600<",
}


@pytest.mark.parametrize("references", NO_CHARACTER)
def test_a_reference_that_names_no_character_is_repaired_and_told(references, small_chunks):
    flaws: list[str] = []
    assert titles(document(f"a {references} b"), flaws=flaws) == [f"a {NO_CHARACTER[references]} b"]
    assert len(flaws) == 1


@pytest.mark.parametrize("text", ["&#;", "&#xG;", "&#12", f"&#{'9' * 300};"])
def test_what_is_no_reference_is_taken_for_the_text(text, small_chunks):
    flaws: list[str] = []
    assert (titles(document(f"a {text} b"), flaws=flaws), flaws) == ([f"a {text} b"], [])


def test_references_to_characters_stay(small_chunks):
    text = "<r a='&#10;&#x1F600;&#xFFFD;'>&#13;&#1;&#60;&#1114111;</r>"
    flaws: list[str] = []
    assert (plain(text, flaws=flaws), flaws) == (text, [])


# Encodings


@pytest.mark.parametrize(
    ("encoding", "declared", "charset"),
    [
        ("utf-16-le", "UTF-16", None),  # without a byte order mark
        ("utf-16-be", None, None),
        ("utf-8", "ISO-8859-1", "iso-8859-1"),  # what is valid UTF-8 is UTF-8
        ("utf-8-sig", "ISO-8859-1", "windows-1252"),
        ("utf-8-sig", "UTF-16", None),
        ("utf-8", "UTF-16", "utf-16"),  # read byte by byte, it can't be
        ("utf-8", None, "ascii"),
        ("utf-16", "UTF-8", "utf-8"),
        ("utf-32", None, None),
        ("latin-1", "ISO-8859-1", "utf-8"),  # the document knows better than the server
        ("cp1252", "ISO-8859-1", None),
        ("latin-1", None, '"ISO-8859-1"'),
        ("shift_jis", "Shift_JIS", None),
        ("utf-8", "x-unknown", None),
    ],
)
def test_the_encoding_is_found(encoding, declared, charset, small_chunks):
    title = {"shift_jis": "家家", "cp1252": "“é”", "latin-1": "éa"}.get(encoding, "é家")
    prolog = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    assert titles(document(title, prolog).encode(encoding), charset) == [title]


@pytest.mark.parametrize("declared", ["GBK", "gb18030", "Big5", "Shift_JIS", "EUC-KR"])
@pytest.mark.parametrize("title", ["Käfer äußern naïv", "中文数据目录", "Čtyři žluté města", "Карта – “берега” страны"])
def test_utf8_under_a_label_of_many_bytes_is_utf8(title, declared, small_chunks):
    prolog = f'<?xml version="1.0" encoding="{declared}"?>'
    assert titles(document(title, prolog)) == [title]


@pytest.mark.parametrize("title", ["联通", "学校数据目录", "谩谩", "Hauser"])
def test_chinese_under_its_own_label_is_chinese(title, small_chunks):
    """A few characters of GBK may be UTF-8 by chance."""
    prolog = '<?xml version="1.0" encoding="GBK"?>'
    assert titles(document(title, prolog).encode("gbk")) == [title]


REPLACED = "Some of it is not in its encoding (utf-8): U+FFFD stands for what can't be read."
GUESSED = "Its encoding is not the declared one, and was guessed (cp1252): set `encoding`."


@pytest.mark.parametrize("body", ["家".encode()[:2], b"\xed\xa0\x80"])
def test_what_is_no_character_is_replaced(body):
    flaws: list[str] = []
    whole = document("Häuser, Bäume, 家 %s", '<?xml version="1.0" encoding="utf-8"?>').encode()
    assert titles(whole.replace(b"%s", body))[0].startswith("Häuser, Bäume, 家 \ufffd")
    assert plain(whole.replace(b"%s", body), flaws=flaws)
    assert flaws == [REPLACED]


@pytest.mark.parametrize("text", ["cafés", "Größe", "Öl", "São Paulo: população", "Évènements à Québec", "“Ici” – 5 €"])
@pytest.mark.parametrize("declared", ["utf-8", "UTF8", "zlib"])
def test_what_is_declared_as_utf8_and_is_not_is_read_as_its_bytes_suggest(text, declared):
    flaws: list[str] = []
    body = document(text, f'<?xml version="1.0" encoding="{declared}"?>').encode("cp1252")
    assert titles(body) == [text]
    assert plain(body, flaws=flaws)
    assert flaws == [GUESSED if declared != "zlib" else GUESSED.replace("the declared one", "declared")]


def test_a_header_that_fits_the_bytes_is_no_guess():
    flaws: list[str] = []
    body = document("Łódź", '<?xml version="1.0" encoding="utf-8"?>').encode("iso-8859-2")
    assert "Łódź" in plain(body, "iso-8859-2", flaws)
    assert not flaws


# Attacks


CHAIN = "".join(f'<!ENTITY e{n} "&e{n + 1};">' for n in range(900))
EMPTY = "".join(f'<!ENTITY e{n} "">' for n in range(2000))
LAUGHS = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
BOMBS = {
    "laughs": document("&e9;", f'<!DOCTYPE r [<!ENTITY e0 "ha">{LAUGHS}]>'),
    "laughs that nobody sets off": document("1", f'<!DOCTYPE r [<!ENTITY e0 "ha">{LAUGHS}]>'),
    "laughs backwards": document("&e9;", f'<!DOCTYPE r [{LAUGHS}<!ENTITY e0 "ha">]>'),
    "laughs in an attribute": f'<!DOCTYPE r [<!ENTITY e0 "ha">{LAUGHS}]><r a="&e9;"/>',
    "one large entity": document("&a;" * 1000, f'<!DOCTYPE r [<!ENTITY a "{"a" * 50_000}">]>'),
    "many small ones": document("&a;" * 100_000, f'<!DOCTYPE r [<!ENTITY a "{"a" * 4000}">]>'),
    "itself": document("&a;", '<!DOCTYPE r [<!ENTITY a "&a;">]>'),
    "a circle": document("&a;", '<!DOCTYPE r [<!ENTITY a "&b;"><!ENTITY b "&a;">]>'),
    "a long chain": document("&e0;", f"<!DOCTYPE r [{CHAIN}<!ENTITY e900 'x'>]>"),
    "thousands": document("1", f"<!DOCTYPE r [{EMPTY}]>"),
    "300 KiB": document("1", f"<!DOCTYPE r [{'<!-- 1 -->' * 30_000}]>"),
    "attribute defaults": document(
        "1", f'<!DOCTYPE r [<!ENTITY e0 "ha">{LAUGHS}<!ATTLIST rdf:RDF a CDATA "{"&e9;" * 1000}">]>'
    ),
    "markup": document("&a;", "<!DOCTYPE r [<!ENTITY a '<b/>'>]>"),
    "a DTD from an entity": document("&a;", "<!DOCTYPE r [<!ENTITY a '&#60;!DOCTYPE r [ ]>'>]>"),
    "a DTD in the middle": document('<!DOCTYPE r [<!ENTITY a "b">]>&a;'),
    "in lower case": document('<!doctype r [<!entity a "b">]>&a;'),
    "behind the root": document("1") + '<!DOCTYPE r [<!ENTITY a "b">]>',
    "two": document("&a;", '<!DOCTYPE r><!DOCTYPE r [<!ENTITY a "b">]>'),
    "put together from a comment": document('<<!-- -->!DOCTYPE r [<!ENTITY a "b">]>&a;'),
    "put together from an instruction": document('<<?a?>!DOCTYPE r [<!ENTITY a "b">]>&a;'),
    "put together from CDATA": document("<<![CDATA[!DOCTYPE r [<!ENTITY a 'b'>]>]]>&a;"),
    "an attribute that seems a comment": document('<a b="<!--"/><!DOCTYPE r [<!ENTITY a "b">]>&a;'),
    "a DTD without end": "<!DOCTYPE r [<!ENTITY a 'b'>",
    "a broken DTD": document("1", "<!DOCTYPE r [<!ENTITY a>]>"),
    "a comment without end": "<!-- <r/>",
    "CDATA without end": "<r><![CDATA[ </r>",
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("name", BOMBS)
def test_an_attack_is_refused_at_once(name, encoding):
    before = time.process_time()
    refused(BOMBS[name].encode(encoding))
    assert time.process_time() - before < 1


@pytest.mark.parametrize("name", [name for name in BOMBS if len(BOMBS[name]) < 5000])
def test_an_attack_is_refused_in_small_chunks(name, small_chunks):
    refused(BOMBS[name])


def test_the_attacks_are_real():
    """Without the gate, pyoxigraph takes a DTD wherever one stands, and expands what it declares."""
    laughs = document("&e4;", f'<!DOCTYPE r [<!ENTITY e0 "ha">{LAUGHS.partition("<!ENTITY e5")[0]}]>').encode()
    middle = document('<!doctype r [<!ENTITY a "b">]>&a;').encode()
    [triple] = pyoxigraph.parse(laughs, pyoxigraph.RdfFormat.RDF_XML)
    assert len(triple.object.value) == 2 * 10**4
    [triple] = pyoxigraph.parse(middle, pyoxigraph.RdfFormat.RDF_XML)
    assert triple.object.value == "b"


def test_utf_7_hides_nothing():
    hidden = b'<?xml version="1.0" encoding="UTF-7"?>' + BOMBS["two"].encode().replace(b"<", b"+ADw-")
    result = plain(hidden)
    assert "<!" not in result
    assert "+ADw-" in result


@pytest.mark.parametrize(
    "dtd",
    [
        '<!DOCTYPE r SYSTEM "%s/e.dtd">',
        '<!DOCTYPE r PUBLIC "-//A//B" "%s/e.dtd" [<!ENTITY b "c">]>',
        '<!DOCTYPE r [<!ENTITY a SYSTEM "%s/e.xml">]>',
        '<!DOCTYPE r [<!ENTITY %% p SYSTEM "%s/p.dtd"> %%p;]>',
        '<!DOCTYPE r [<!NOTATION n SYSTEM "%s/n"><!ENTITY a SYSTEM "%s/e.xml" NDATA n>]>',
    ],
)
def test_nothing_is_fetched_and_the_document_survives(dtd):
    with Site(lambda _: Answer(b'<!ENTITY a "fetched">')) as site:
        dtd = dtd.replace("%s", site.url).replace("%%", "%")
        assert titles(document("a" + "&a;" * ("ENTITY a" in dtd), dtd)) == ["a"]
        assert not site.asked


def test_entities_behind_a_parameter_entity_are_not_known():
    """As the XML specification has it for who does not read them."""
    assert plain('<!DOCTYPE r [<!ENTITY % p "<!ENTITY a \'b\'>"> %p; <!ENTITY c "d">]><r>&c;</r>') == "<r>&c;</r>"


# Sizes

MEASURED = """
    import io, resource, time
    from itertools import chain, repeat
    from crawlers.exceptions import AnswerError
    from crawlers.safety import xml

    class Made(io.RawIOBase):  # a file that is nowhere
        def __init__(self, *parts):
            self.parts, self.at, self.piece = parts, 0, b""
        def seek(self, at, whence=0):
            self.rest, self.piece = chain.from_iterable(repeat(part, n) for part, n in self.parts), b""
            for _ in range(at >> 16):
                self.read(1 << 16)
            self.read(at & 0xFFFF)
        def read(self, size):
            while len(self.piece) < size and (more := next(self.rest, b"")):
                self.piece += more
            read, self.piece = self.piece[:size], self.piece[size:]
            return read

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    length = 0
    try:
        result = xml.plain(Made(PARTS))
        while piece := result.read(1 << 16):
            length += len(piece)
    except AnswerError as error:
        print(error.kind, end=" ")
    print(length, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, time.process_time() - start)
"""
HUGE = {
    "a DTD of 45 MB": ("""(b"<!DOCTYPE r [", 1), (b"<!ENTITY a 'b'>" * 10**5, 30), (b"]><r/>", 1)""", "unsafe_xml 0"),
    "a DTD of one word": ("""(b"<!DOCTYPE r '", 1), (b"a" * 10**6, 40)""", "unsafe_xml 0"),
    "a comment before the DTD": (
        """(b"<!--", 1), (b"- " * 10**5, 40), (b'--><!DOCTYPE r [<!ENTITY a "b">]><r>&a;</r>', 1)""",
        "8",
    ),
    "a bomb behind a comment": (
        """(b"<!--", 1), (b"- " * 10**5, 40), (b'--><!DOCTYPE r [<!ENTITY a "&a;">]><r>&a;</r>', 1)""",
        "unsafe_xml 0",
    ),
    "a comment in the middle": ("""(b"<r><!--", 1), (b"- " * 10**5, 40), (b"--></r>", 1)""", "7"),
    "thousands of comments": ("""(b"<r>", 1), (b"<!---->" * 10**5, 4), (b"</r>", 1)""", "too_large 0"),
    "CDATA": ("""(b"<r><![CDATA[", 1), (b"]]" * 10**5, 40), (b"]]></r>", 1)""", "8000007"),
    "ampersands": ("""(b"<r>", 1), (b"&" * 10**5, 10), (b"</r>", 1)""", "5000007"),
    "text": ("""(b"<r>", 1), (b"<a>text</a>" * 10**5, 40), (b"</r>", 1)""", "44000007"),
    "entities": (
        """(b'<!DOCTYPE r [<!ENTITY a "12345678">]><r>', 1), (b"<a>&a;</a>" * 10**5, 8), (b"</r>", 1)""",
        "12000007",
    ),
    "entities that grow": (
        """(b'<!DOCTYPE r [<!ENTITY a "%s">]><r>' % (b"a" * 4000), 1), (b"&a;" * 10**5, 40), (b"</r>", 1)""",
        "unsafe_xml 0",
    ),
    "spaces": ("""(b" " * 10**5, 200), (b"<r/>", 1)""", "4"),
    "one attribute": ("""(b"<r a='", 1), (b"&amp;" * 10**5, 40), (b"'/>", 1)""", "20000009"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HUGE)
def test_memory_and_time_are_bounded(name):
    parts, expected = HUGE[name]
    command = [sys.executable, "-c", textwrap.dedent(MEASURED).replace("PARTS", parts)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG, check=True)
    *result, memory, seconds = ran.stdout.split()
    assert " ".join(result) == expected
    assert int(memory) < 16 * 1024, f"{memory} KiB"
    assert float(seconds) < 10


def test_a_large_file_takes_no_time():
    """Far below what a parser takes: 60 MB, of which each is looked at."""
    item = f"{TITLE % 'Häuser &amp; Gärten'}\n".encode()
    with tempfile.TemporaryFile() as file:
        file.write(ROOT_TAG.encode())
        file.writelines(item * 1000 for _ in range(60 * 10**6 // len(item) // 1000))
        file.write(b"</rdf:RDF>")
        before = time.process_time()
        assert xml.plain(file) is file
        assert time.process_time() - before < 1
