"""What an answer may hold is counted before anything is built of it, whatever the kind of catalogue.

Small answers can be as bad as large ones: 35 KB of gzip are 24 million empty lists. So a crawl is judged by the most
memory that it and its children take, and by the longest turn of its reactor, in which it heeds no signal.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest

from crawlers.exceptions import AnswerError
from crawlers.kinds.api.dialect import children
from crawlers.kinds.dcat.page import RDFPage
from crawlers.kinds.html.mapping import Page
from crawlers.kinds.html.sitemaps import parts
from crawlers.records import xml
from crawlers.records.rdf import apart
from crawlers.records.rdf.formats import JSON_LD, JSON_LD_UP_TO_AN_ERROR, TURTLE
from crawlers.records.rdf.reader import Reader
from crawlers.records.record import Record, parse
from crawlers.safety import bounds, html, strict_json
from tests import forked
from tests.cage import Cage, family, kinds
from tests.conftest import ROOT, options, slow_but
from tests.site import Answer, Asked, Site
from tests.waiting import HANG, until

MOST = 300  # MiB beyond what the imports take, which is 100
TURN = 4.0  # seconds of the processor, on a busy machine
URL = "https://data.example.org/"
FEW = bounds.Bound("it", "values", 10)


# Counting


@pytest.mark.parametrize(
    "text",
    [
        b"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
        b'{"a": {"b": {"c": [[], {}]}}, "d": "[,{[,{[,{[,{[,{", "e": "\\"[,{[,{"}',
        b'{"a": "\\\\", "b": ",,,,,,,,,,,,,,,"}',
    ],
)
def test_what_stands_in_texts_is_no_value(text):
    assert strict_json.loads(text, FEW) == strict_json.loads(text.decode(), FEW) == json.loads(text)


@pytest.mark.parametrize(
    "text", ["[[],[],[],[],[],[]]", "[1,1,1,1,1,1,1,1,1,1,1]", '{"a":{"b":{"c":[[[[[[[[]]]]]]]]}}}']
)
def test_more_values_than_the_bound(text):
    for counted in (text, text.encode()):
        with pytest.raises(AnswerError, match="it has more than 10 values: it is not read") as error:
            strict_json.loads(counted, FEW)
        assert error.value.kind == "too_large"


def test_what_can_have_no_more_than_the_bound_is_not_counted(monkeypatch):
    monkeypatch.setattr(bounds, "outline", lambda _: pytest.fail("it was counted"))
    bounds.check_json(b"[" * bounds.JSON.most)
    bounds.check_json(b'"%b"' % (b"x" * 2 * bounds.JSON.most))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('[NaN, -Infinity, {"a": Infinity}]', [None, None, {"a": None}]),
        ("[1e999]", [float("inf")]),
        ('["\\ud800"]', ["\ud800"]),
        (f"[{'7' * 5000}, 12]", ["7" * 5000, 12]),
        (f"[{2**64}, -{2**70}, 1.0, -0.0, 1E5]", [2**64, -(2**70), 1.0, -0.0, 100000.0]),
        ('{"a": 1, "b": 2, "a": 3}', {"a": 3, "b": 2}),
    ],
)
def test_json_is_read_as_it_is(text, value):
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert strict_json.loads(text.encode(encoding)) == value


@pytest.mark.parametrize("text", ["[1,]", "{", "[01]", "", '"\x01"', "[" * 100_000])
def test_what_is_no_json(text):
    with pytest.raises(ValueError, match=r"."):
        strict_json.loads(text)


def test_a_long_list_is_decoded_entry_by_entry():
    body = b'{"title": "a", "dataset": [{"id": 1}, [2], "3"], "one": {"b": [4]}}'
    found = strict_json.in_pieces(body)
    assert isinstance(found["dataset"], strict_json.Pieces)
    assert {**found, "dataset": list(found["dataset"])} == json.loads(body)
    assert list(strict_json.in_pieces(b"[1, [2]]")) == [1, [2]]
    with pytest.raises(ValueError, match="invalid"):
        strict_json.in_pieces(b'{"dataset": [NaN]}')


def test_json_in_a_text_has_a_bound_of_its_own():
    values = bounds.NESTED.most // 2
    assert len(parse(f"[{'[],' * (values - 2)}[]]")) == values - 1
    assert parse(f"[{'[],' * values}[]]") is None


def test_a_long_list_of_a_record_is_read_in_part():
    record = Record({"tags": ["a", "b"] * bounds.ENTRIES.most, "names": [{}] * bounds.ENTRIES.most})
    assert (record.texts("tags"), len(record.items("names"))) == (["a", "b"], bounds.ENTRIES.most)
    assert record.flaws == ["tags has 100,000 entries: the first 50,000 are read; the document has all"]


# Markup


def test_xml_with_too_many_tags():
    most = bounds.XML.most - 3
    assert len(xml.parse(b"<r>%b</r>" % (b"<x/>" * most))) == most
    with pytest.raises(AnswerError, match="the XML has more than 800,000 tags and attributes") as error:
        xml.parse(b"<r>%b</r>" % (b'<x a="b"/>' * (most // 2 + 9)))
    assert error.value.kind == "too_large"


@pytest.mark.parametrize(
    ("part", "what"),
    [
        ("<!---->", "comments and CDATA sections"),
        ("<![CDATA[a]]>", "comments and CDATA"),
        ("&eacute;", "entities"),
        ("&", "entities"),
        ("&#0;", "entities"),
    ],
)
def test_xml_that_is_all_comments(part, what):
    """They leave nothing to a parser, and take their time before."""
    for text in (f"<r>{part * 600_000}</r>", f'<!DOCTYPE r><r a="é">{part * 600_000}</r>'):
        with pytest.raises(AnswerError, match=f"the XML has more than [0-9]{{3}},[0-9]{{3}} {what}") as error:
            xml.parse(text.encode("latin-1"))
        assert error.value.kind == "too_large"
    assert xml.parse(f"<r>{'&lt;&#233;' * 600_000}</r>".encode()).text[:2] == "<é"


def test_a_record_that_is_most_of_its_answer_is_left_out():
    root = xml.parse(b"<r><a>%b</a><b/></r>" % (b"<x/>" * (bounds.RECORD.most + 1)))
    assert xml.document(root[1]).endswith(b"<b/>\n")
    with pytest.raises(AnswerError, match="the record has more than 200,000 elements and texts"):
        xml.document(root[0])


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("<p class=x>y" * 260_000, "the page has more than 500,000 tags and attributes"),
        ("<p>" + "<p a b c d e f g h i j k l m n o p q r s t>" * 25_000, "the page has more than 500,000"),
        ("<p " + " ".join(f"a{number}" for number in range(600_000)), "the page has more than 500,000"),
        (f'<input value="{"x" * (17 << 20)}">', "the page has a tag or a comment of more than 16 MiB"),
    ],
)
def test_a_page_with_too_many_tags(page, reason):
    with pytest.raises(AnswerError, match=f"{reason}.*: it is not read") as error:
        Page(f"<html><body>{page}", URL)
    assert error.value.kind == "too_large"


@pytest.mark.parametrize(
    "page",
    [
        "word " * 1_000_000,
        f"<script>var a = {{{'b c d ' * 500_000}}}</script>",
        "<p class=x>y" * 240_000,
        f'<input type=hidden name=__VIEWSTATE value="{"/wEPDwULLTE+" * 500_000}">',
    ],
    ids=["a text", "a script", "paragraphs", "hidden state"],
)
def test_a_page_that_is_only_long(page):
    assert Page(f"<html><body><h1>Title</h1>{page}", URL).find("//h1")[0].text == "Title"


def test_a_page_is_read_in_steps():
    body = b"<ul>" + b"<li><a href=x>y</a>" * 20_000
    events = html.Events()
    assert len(list(html.steps(body, events))) == len(body) // (1 << 16) + 1
    assert (events.count, events.widest) == (60_003, 1)


def test_a_file_of_a_tree_with_too_many_children():
    links = [{"rel": "child", "href": f"{number}.json"} for number in range(bounds.RECORDS.most + 1)]
    assert len(children({"links": links[1:]})) == bounds.RECORDS.most
    with pytest.raises(AnswerError, match="the answer has more than 25,000 records"):
        children({"links": links})


@pytest.mark.parametrize("form", [b"%b\n", b"<url><loc>%b</loc></url>"])
def test_a_sitemap_with_too_many_addresses(monkeypatch, form):
    monkeypatch.setattr(bounds, "SITEMAP", bounds.SITEMAP._replace(most=5_000))
    listed = b"".join(form % b"http://a.org/%d" % number for number in range(9_000))
    found = []
    with pytest.raises(AnswerError, match="the sitemap has more than 5,000 addresses") as error:
        found.extend(
            len(part.pages) for part in parts(b"<urlset>%b</urlset>" % listed if b"<" in form else listed, URL)
        )
    assert (error.value.kind, 0 < max(found) < 3_000) == ("too_large", True)


def test_a_dataset_with_too_many_statements(monkeypatch):
    monkeypatch.setattr(bounds, "STATEMENTS", bounds.STATEMENTS._replace(most=50))
    body = "".join(
        dataset_with(f"keyword> {','.join(map(repr, range(many)))}", name) + "\n"
        for name, many in (("a", 60), ("b", 40))
    )
    with closing(RDFPage(io.BytesIO(body.encode()), TURTLE, URL, name="s", language=None)) as page:
        for _ in page.load():
            pass
        first, second = page.records()
        assert len(second.item().keywords) == 40
        with pytest.raises(AnswerError, match="the dataset's RDF has more than 50 statements: it is not read") as error:
            first.item()
    assert error.value.kind == "too_large"


def test_nodes_of_a_dataset_with_too_many_statements(monkeypatch):
    """It is kept with a flaw: the nodes that are too many are only named."""
    monkeypatch.setattr(bounds, "STATEMENTS", bounds.STATEMENTS._replace(most=50))
    publisher = f"<http://x/p> <http://xmlns.com/foaf/0.1/name> {','.join(map(repr, range(60)))} ."
    body = f"{dataset_with('keyword> 1')[:-1]}; <http://purl.org/dc/terms/publisher> <http://x/p> . {publisher}"
    with closing(RDFPage(io.BytesIO(body.encode()), TURTLE, URL, name="s", language=None)) as page:
        for _ in page.load():
            pass
        item = next(page.records()).item()
    assert item.flaws[-1].startswith("its description is too long: nodes with many or long texts are named")
    assert item.document["publisher"] == "http://x/p"


def test_what_is_cut_is_not_told_as_missing_at_the_publisher(monkeypatch):
    monkeypatch.setattr(bounds, "STATEMENTS", bounds.STATEMENTS._replace(most=50))
    files = ", ".join(f"<http://x/{number}>" for number in range(30))
    body = f"{dataset_with('keyword> 1')[:-1]}; <http://www.w3.org/ns/dcat#distribution> {files} ."
    text = (
        "<http://x/{0}> <http://www.w3.org/ns/dcat#accessURL> <http://x/{0}.csv> ; <http://purl.org/dc/terms/title> 1 ."
    )
    body += "".join(map(text.format, range(30)))
    with closing(RDFPage(io.BytesIO(body.encode()), TURTLE, URL, name="s", language=None)) as page:
        for _ in page.load():
            pass
        item = next(page.records()).item()
    assert len([each for each in item.resources if each.url]) < len(item.resources) == 30
    assert [flaw.kind for flaw in item.flaws if flaw.resource_id or flaw.kind == "cut_value"] == ["cut_value"]


def test_distributions_that_are_too_many_are_cut_here(monkeypatch):
    monkeypatch.setattr(bounds, "ENTRIES", bounds.ENTRIES._replace(most=3))
    files = ", ".join(f"<http://x/{number}.csv>" for number in range(5))
    body = f"{dataset_with('keyword> 1')[:-1]}; <http://www.w3.org/ns/dcat#distribution> {files} ."
    with closing(RDFPage(io.BytesIO(body.encode()), TURTLE, URL, name="s", language=None)) as page:
        for _ in page.load():
            pass
        item = next(page.records()).item()
    told = [(flaw.field, str(flaw)) for flaw in item.flaws if flaw.kind == "cut_value"]
    sentence = "the dataset has 5 distributions: the first 3 in their order are read; the document names all"
    assert told == [("distribution", sentence)]


# JSON-LD in a process of its own


def described(number: int) -> dict[str, Any]:
    return {
        "@id": f"{URL}{number}",
        "@type": "dcat:Dataset",
        "dct:title": [f"Title {number}", {"@value": 1}],
        "n": None,
    }


CONTEXT = {"dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/"}
CATALOGUE = json.dumps({"@context": CONTEXT, "@graph": [described(number) for number in range(2_500)]}).encode()


def read_apart(body: bytes, format_: Any = JSON_LD) -> apart.ReaderApart:
    found = apart.ReaderApart(body, format_, URL, [])
    found.triples = [triple for batch in found.batches() for triple in batch]  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(
    ("body", "format_"),
    [
        (CATALOGUE, JSON_LD),
        (CATALOGUE[:-700], JSON_LD_UP_TO_AN_ERROR),
        (CATALOGUE.replace(b"1499", b"\\ud800"), JSON_LD),
    ],
    ids=["whole", "cut off", "half characters"],
)
def test_what_is_read_apart_is_the_same(body, format_):
    here = apart.reader(io.BytesIO(body), format_, URL)
    assert isinstance(here, Reader)
    triples, there = list(here), read_apart(body, format_)
    assert there.triples == triples
    assert (there.count, there.faults, there.misread) == (len(triples), here.faults, here.misread)
    assert len(triples) > 6_000


def scoped(terms: int, nodes: int) -> bytes:
    """A document that pyoxigraph reads in a time that grows with the number of terms times that of nodes."""
    context = {f"t{number}": f"{URL}{number}" for number in range(terms)}
    return json.dumps({"@context": context, "@graph": [{"@context": {"z": URL}, "z": "v"}] * nodes}).encode()


def test_what_is_read_apart():
    assert isinstance(apart.reader(io.BytesIO(CATALOGUE), JSON_LD, URL), Reader)
    assert isinstance(apart.reader(io.BytesIO(scoped(100, 100)), JSON_LD, URL), Reader)
    assert isinstance(apart.reader(io.BytesIO(scoped(10, 10_000)), JSON_LD, URL), apart.ReaderApart)
    assert isinstance(apart.reader(io.BytesIO(CATALOGUE + b" " * apart.LARGE), JSON_LD, URL), apart.ReaderApart)
    assert isinstance(apart.reader(io.BytesIO(b" " * apart.LARGE + b"<a> <b> <c> ."), TURTLE, URL), Reader)


@pytest.mark.parametrize(
    ("memory", "seconds", "reason"),
    [(1 << 40, 1, "takes more than 1 s of the processor"), (150 << 20, 600, "takes more than 150 MiB of memory")],
)
def test_what_takes_too_much_is_given_up(monkeypatch, memory, seconds, reason):
    monkeypatch.setattr(apart, "limits", lambda _: (memory, seconds))
    body = scoped(20_000, 20_000) if seconds == 1 else CATALOGUE.replace(b'"n": null', b'"n": "%b"' % (b"x" * 40_000))
    with pytest.raises(AnswerError, match=f"bytes of JSON-LD {reason}: it is not read") as error:
        read_apart(body)
    assert error.value.kind == "too_large"
    assert not apart_of(os.getpid())


def apart_of(process: int) -> list[int]:
    """The children of a process that read JSON-LD for it."""
    command = "crawlers.records.rdf.apart"
    return [
        each for each in family(process)[1:] if command in Path(f"/proc/{each}/cmdline").read_text("utf-8", "replace")
    ]


def test_errors_of_a_document_that_is_read_apart(monkeypatch):
    body = b'{"@context": "https://unknown.example/context", "@id": "a"}'
    with pytest.raises(AnswerError, match=r"https://unknown\.example/context") as error:
        read_apart(body)
    assert error.value.kind == "remote_context"
    monkeypatch.setattr(apart, "_COMMAND", "import sys; sys.exit(3)")
    with pytest.raises(AnswerError, match="ended with exit code 3") as error:
        read_apart(CATALOGUE)
    assert error.value.kind == "bug"


def test_a_reader_that_is_left_ends_its_process():
    batches = apart.ReaderApart(scoped(20_000, 20_000), JSON_LD, URL, []).batches()
    assert next(batches) == []
    assert len(apart_of(os.getpid())) == 1
    batches.close()
    assert not apart_of(os.getpid())


# Crawls

GMD = 'xmlns:gmd="http://www.isotc211.org/2005/gmd" xmlns:gco="http://www.isotc211.org/2005/gco"'
CAPABILITIES = (
    '<csw:Capabilities xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" xmlns:ows="http://www.opengis.net/ows" '
    'version="2.0.2"><ows:OperationsMetadata><ows:Operation name="GetRecords"><ows:Parameter name="outputSchema">'
    "<ows:Value>http://www.isotc211.org/2005/gmd</ows:Value></ows:Parameter></ows:Operation></ows:OperationsMetadata>"
    "</csw:Capabilities>"
)
FORMAT = (
    "<ListMetadataFormats><metadataFormat><metadataPrefix>oai_dc</metadataPrefix>"
    "<metadataNamespace>http://www.openarchives.org/OAI/2.0/oai_dc/</metadataNamespace></metadataFormat>"
    "</ListMetadataFormats>"
)
Answers = Callable[[Asked], Answer]


def xml_answer(*parts: str) -> Answer:
    return Answer("".join(parts).encode(), headers={"Content-Type": "application/xml"})


def packed(head: bytes, part: bytes, times: int, tail: bytes) -> Answer:
    """JSON of many megabytes that are sent as some kilobytes."""
    made = io.BytesIO()
    with gzip.GzipFile(fileobj=made, mode="wb") as file:
        for piece in chain([head], (part * 10_000 for _ in range(times // 10_000)), [tail]):
            file.write(piece)
    return Answer(made.getvalue(), headers={"Content-Type": "application/json", "Content-Encoding": "gzip"})


def csw(record: str, *more: str) -> Answers:
    found = "".join((f"<gmd:MD_Metadata {GMD}>{record}</gmd:MD_Metadata>", *more))
    title = "<csw:GetRecordsResponse xmlns:csw='http://www.opengis.net/cat/csw/2.0.2'>"
    count = f"<csw:SearchResults numberOfRecordsMatched='1' numberOfRecordsReturned='1' nextRecord='0'>{found}"
    answer = xml_answer(title, count, "</csw:SearchResults></csw:GetRecordsResponse>")
    return lambda asked: xml_answer(CAPABILITIES) if "GetCapabilities" in asked.path else answer


def oai(*records: str) -> Answers:
    def answer(asked: Asked) -> Answer:
        verb = asked.parameters.get("verb")
        content = {"ListMetadataFormats": FORMAT, "ListRecords": f"<ListRecords>{''.join(records)}</ListRecords>"}
        identify = "<Identify><granularity>YYYY-MM-DD</granularity><earliestDatestamp>2000-01-01</earliestDatestamp>"
        found = content.get(str(verb), f"{identify}</Identify>")
        return xml_answer(f'<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">{found}</OAI-PMH>')

    return answer


def oai_record(name: str, more: str = "") -> str:
    return (
        f"<record><header><identifier>{name}</identifier><datestamp>2020-01-01</datestamp></header><metadata>"
        '<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>T</dc:title>{more}</oai_dc:dc></metadata></record>"
    )


def sdmx(flows: str, header: str = "") -> Answers:
    names = " ".join(
        f'xmlns:{name}="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/{part}"'
        for name, part in (("m", "message"), ("s", "structure"), ("c", "common"))
    )
    listed = f"<m:Structures><s:Dataflows>{flows}</s:Dataflows></m:Structures>"
    return lambda _: xml_answer(f"<m:Structure {names}><m:Header>{header}</m:Header>{listed}</m:Structure>")


def flow(number: int, more: str = "") -> str:
    return f'<s:Dataflow id="F{number}" agencyID="A" version="1.0"><c:Name xml:lang="en">N</c:Name>{more}</s:Dataflow>'


def sparql(bindings: str, graph: str = "") -> Answers:
    """An endpoint with one dataset, unless it lists others."""

    def answer(asked: Asked) -> Answer:
        query = unquote_plus((asked.body or asked.path.encode()).decode())
        if "CONSTRUCT" in query or "DESCRIBE" in query:
            return Answer(graph.encode(), headers={"Content-Type": "text/turtle"})
        counts = '{"n": {"type": "literal", "value": "1"}}'.replace("1", str(int("isBlank" not in query)))
        rows = counts if "COUNT" in query else "" if "FILTER" in query and '> "' in query else bindings
        head = '{"head": {"vars": ["d", "n"]}, "results": {"bindings": ['
        return Answer(f"{head}{rows}]}}}}".encode(), headers={"Content-Type": "application/sparql-results+json"})

    return answer


def dataset_with(values: str, name: str = "a") -> str:
    dcat = "http://www.w3.org/ns/dcat#"
    return f"<http://x/{name}> a <{dcat}Dataset> ; <{dcat}{values} ."


ROW = '{"d": {"type": "uri", "value": "http://x/a"}}'
LISTING = "<html><head><title>Index of /</title></head><body><pre>"
RDF_XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
RULES = '[links]\ncss = "ul.datasets a"\n\n[fields]\ntitle = "h1"\n'


def of(body: bytes, content_type: str = "application/json") -> Answers:
    return lambda _: Answer(body, headers={"Content-Type": content_type})


SMALL: dict[str, tuple[str, Callable[[], Answers], str]] = {
    "lists in JSON": (
        "api",
        lambda: of(b'{"collections": [%b[]], "links": []}' % (b"[]," * 1_300_000)),
        "the JSON has",
    ),
    "objects in JSON": ("api", lambda: of(b'{"collections": [%b{}]}' % (b"{}," * 1_300_000)), "the JSON has"),
    "records in JSON": (
        "api",
        lambda: of(b'{"collections": [%b{}]}' % (b"{}," * 25_000)),
        "the answer has more than 25,000",
    ),
    "CKAN": (
        "ckan",
        lambda: of(b'{"success": true, "result": {"count": 1, "results": [%b[]]}}' % (b"[]," * 1_300_000)),
        "the JSON has",
    ),
    "an ISO record": ("csw", lambda: csw("<gmd:y/>x" * 100_001), "the record has more than 200,000"),
    "a page of ISO records": ("csw", lambda: csw("<gmd:y/>" * 800_001), "the XML has more than 800,000"),
    "elements beside ISO records": ("csw", lambda: csw("", "<x/>" * 25_001), "the answer has more than 25,000 records"),
    "an OAI record": ("oai", lambda: oai(oai_record("a", "<dc:x/>" * 200_001)), "the record has more than 200,000"),
    "a page of OAI-PMH": ("oai", lambda: oai(oai_record("a", "<dc:x/>" * 800_001)), "the XML has more than 800,000"),
    "records of OAI-PMH": ("oai", lambda: oai("<record/>" * 25_001), "the answer has more than 25,000 records"),
    "a dataflow": ("sdmx", lambda: sdmx(flow(1, "<c:x/>" * 200_001)), "the record has more than 200,000"),
    "what precedes dataflows": ("sdmx", lambda: sdmx(flow(1), "<m:x/>" * 200_001), "the record has more than 200,000"),
    "rows of SPARQL": ("sparql", lambda: sparql(",".join([ROW] * 25_001)), "the answer has more than 25,000 records"),
    "values of SPARQL": ("sparql", lambda: sparql("{}," * 1_300_000 + "{}"), "the JSON has"),
    "links": (
        "waf",
        lambda: of(LISTING.encode() + b"".join(b'<a href="%d.xml">a</a>' % n for n in range(100_001)), "text/html"),
        "the folder has more than 100,000 links",
    ),
    "links of a page": (
        "html",
        lambda: of(
            b"<html><body><ul class=datasets>" + b"".join(b'<li><a href="/d/%d">x</a>' % n for n in range(25_001)),
            "text/html",
        ),
        "the answer has more than 25,000 records",
    ),
    "comments in RDF/XML": (
        "dcat",
        lambda: of(RDF_XML.encode() + b"<!---->" * 200_000 + b"</rdf:RDF>", "application/rdf+xml"),
        "comments and CDATA sections",
    ),
    "tags of a page": (
        "html",
        lambda: of(b"<html><body>" + b"<li>a</li>" * 500_001, "text/html"),
        "the page has more than 500,000 tags",
    ),
    "a feed": (
        "html",
        lambda: of(b"<rss><channel>" + b"<x/>" * 800_001 + b"</channel></rss>", "application/rss+xml"),
        "the XML has more than 800,000",
    ),
    "data.json": (
        "dcat",
        lambda: of(
            b'{"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": [%b[]]}' % (b"[]," * 2_700_000)
        ),
        "the JSON has",
    ),
    "JSON-LD": (
        "dcat",
        lambda: of(b'{"@id": "a:b", "a:x": [%b[]]}' % (b"[]," * 300_000), "application/ld+json"),
        "the JSON-LD has",
    ),
}

LARGE: dict[str, tuple[str, Callable[[], Answers], str]] = {
    "tags of a folder": (
        "waf",
        lambda: of(LISTING.encode() + b"<a>" * 2_000_001, "text/html"),
        "the folder has more than 2,000,000 tags",
    ),
    "24 million lists": (
        "api",
        lambda: lambda _: packed(b'{"collections": [', b"[],", 12_000_000, b"[]]}"),
        "the JSON has",
    ),
    "24 million objects": (
        "api",
        lambda: lambda _: packed(b'{"collections": [', b"{},", 12_000_000, b"{}]}"),
        "the JSON has",
    ),
    "3 million keys": (
        "api",
        lambda: of(b"{%b}" % b",".join(b'"k%d": 1' % n for n in range(3_000_000))),
        "the JSON has",
    ),
    "10 million rows": ("sparql", lambda: sparql("{}," * 10_000_000 + "{}"), "the JSON has"),
    "3.7 million elements of a record": ("csw", lambda: csw("<gmd:y/>" * 3_700_000), "the XML has more than 800,000"),
    "4.3 million elements of a record": (
        "oai",
        lambda: oai(oai_record("a", "<dc:x/>" * 4_300_000)),
        "the XML has more than 800,000",
    ),
    "200,000 dataflows": (
        "sdmx",
        lambda: sdmx("".join(map(flow, range(200_000)))),
        "the answer has more than 25,000 records",
    ),
    "200,000 links": (
        "waf",
        lambda: of(LISTING.encode() + b"".join(b'<a href="%d.xml">a</a>' % n for n in range(200_000)), "text/html"),
        "the folder has more than 100,000 links",
    ),
    "300,000 files": (
        "sparql",
        lambda: sparql(ROW, dataset_with("distribution> " + ",".join(f"<{n}>" for n in range(300_000)))),
        "the dataset's RDF has more than 120,000 statements",
    ),
    "2 million keywords": (
        "sparql",
        lambda: sparql(ROW, dataset_with("keyword> " + ",".join(f'"{n}"' for n in range(2_000_000)))),
        "the dataset's RDF has more than 120,000 statements",
    ),
    "JSON-LD with a context in each node": (
        "dcat",
        lambda: of(scoped(20_000, 20_000), "application/ld+json"),
        "s of the processor",
    ),
}


@pytest.fixture
def cage(tmp_path: Path) -> Cage:
    (tmp_path / "cage").mkdir()
    return Cage(tmp_path / "cage")


def arguments(spider: str, url: str, folder: Path) -> dict[str, str]:
    if spider == "html":
        (folder / "rules.toml").write_text(f'start = "{url}/"\n{RULES}')
        return {"rules": str(folder / "rules.toml")}
    return {"api": {"portal": url, "kind": "stac"}, "ckan": {"portal": url}}.get(spider, {"url": f"{url}/"})


def serving(answer: Answers) -> Answers:
    return lambda asked: Answer(status=404) if asked.path == "/robots.txt" else answer(asked)


def judged(cage: Cage, case: tuple[str, Callable[[], Answers], str]) -> None:
    spider, answers, reason = case
    with Site(serving(answers())) as site:
        crawl = cage.crawl(spider, seconds=90, most=MOST, **arguments(spider, site.url, cage.folder.parent))
    assert crawl.code in (3, 4)
    reasons = [error["error"] for error in crawl.errors if error["kind"] == "too_large"]
    assert [each for each in reasons if reason in each], crawl.errors[:3]
    assert cage.turn < TURN


OF_EACH_KIND = {*{kind: name for name, (kind, *_) in SMALL.items()}.values()}


@pytest.mark.parametrize("case", slow_but(OF_EACH_KIND.__contains__, SMALL))
def test_an_answer_that_holds_too_much(cage, case):
    judged(cage, SMALL[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", LARGE)
def test_an_answer_that_holds_far_too_much(cage, case):
    judged(cage, LARGE[case])


@pytest.mark.slow
def test_folders_without_end(cage):
    page = LISTING + "".join(f'<a href="d{number}/">d</a> 2020-01-01 00:00\n' for number in range(3_000))
    with Site(serving(of(page.encode(), "text/html"))) as site:
        crawl = cage.crawl("waf", seconds=90, most=MOST, settings={"CLOSESPIDER_PAGECOUNT": "150"}, url=f"{site.url}/")
    assert (crawl.code, kinds(crawl)) == (0, {})
    assert cage.turn < TURN


# What is only large


def ckan_dataset(number: int) -> dict[str, Any]:
    file = {"cache_url": None, "created": "2020-01-01T00:00:00", "description": "Some words of it", "format": "CSV"}
    file |= {
        "hash": "",
        "mimetype": None,
        "name": "File",
        "package_id": f"{number:032}",
        "size": 12345,
        "state": "active",
    }
    files = [
        file | {"id": f"{number:016}{at:016}", "position": at, "url": f"{URL}{number}/{at}.csv"} for at in range(172)
    ]
    return {"id": f"{number:032}", "name": f"d{number}", "title": "Title", "notes": "words " * 100, "resources": files}


@pytest.mark.slow
def test_a_page_of_60_megabytes(cage):
    results = [ckan_dataset(number) for number in range(1_000)]
    body = json.dumps({"success": True, "result": {"count": 1_000, "results": results}}).encode()
    assert len(body) > 59_000_000
    empty = b'{"success": true, "result": {"count": 0, "results": []}}'
    with Site(serving(lambda asked: Answer(empty if "TO" in asked.path else body))) as site:
        crawl = cage.crawl("ckan", seconds=60, most=MOST, portal=site.url)
    assert (crawl.code, len(crawl.documents()), kinds(crawl)) == (0, 1_000, {})
    assert cage.turn < TURN


@pytest.mark.slow
def test_a_large_data_json(cage):
    files = [{"downloadURL": f"{URL}{number}.csv", "mediaType": "text/csv", "title": "File"} for number in range(5)]
    about = {
        "description": "words and more " * 60,
        "keyword": ["a", "b"],
        "accessLevel": "public",
        "distribution": files,
    }
    datasets = ({"identifier": f"id-{number}", "title": f"Dataset {number}"} | about for number in range(40_000))
    body = json.dumps({"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": [*datasets]}).encode()
    assert len(body) > 55_000_000
    with Site(serving(of(body))) as site:
        crawl = cage.crawl("dcat", seconds=120, most=200, url=f"{site.url}/data.json")
    assert (crawl.code, crawl.report["counts"]["new"], kinds(crawl)) == (0, 40_000, {})
    assert cage.turn < TURN


@pytest.mark.slow
def test_a_large_catalogue_in_json_ld(cage):
    nodes = [
        described(number) | {"dct:identifier": str(number), "dct:description": "words " * 500}
        for number in range(4_000)
    ]
    body = json.dumps({"@context": CONTEXT, "@graph": nodes}).encode()
    assert len(body) > apart.LARGE
    with Site(serving(of(body, "application/ld+json"))) as site:
        crawl = cage.crawl("dcat", seconds=60, most=MOST, url=f"{site.url}/catalogue")
    assert (crawl.code, crawl.report["counts"]["new"], kinds(crawl)) == (0, 4_000, {})
    assert cage.turn < TURN


def test_ctrl_c_while_a_document_is_read(tmp_path):
    """Its parser is at it for minutes, and heeds no signal."""
    log = tmp_path / "log"
    with Site(serving(of(scoped(20_000, 20_000), "application/ld+json"))) as site, log.open("w") as file:
        words = options(tmp_path / "output", {}, url=f"{site.url}/catalogue")
        crawl = forked.Popen([sys.executable, "-m", "scrapy", "crawl", "dcat", *words], cwd=ROOT, stderr=file)
        (reader,) = until(lambda: apart_of(crawl.pid), unless=lambda: crawl.poll() is not None)
        for number, word in enumerate(("shutting down gracefully", "twice, forcing unclean shutdown"), 1):
            crawl.send_signal(signal.SIGINT)
            assert until(lambda word=word: word in log.read_text(), unless=lambda: crawl.poll() is not None), number
            assert number > 1 or apart_of(crawl.pid) == [reader], "the signal waits for the document"
        crawl.wait(HANG)
    assert crawl.returncode == 130
    assert until(lambda: not Path(f"/proc/{reader}").exists())


# The documentation


def test_every_bound_is_documented():
    """With its number, in the table of docs/safety.md."""
    rows = [row for row in (ROOT / "docs" / "safety.md").read_text().splitlines() if row.startswith("|")]
    known = {name: bound for name, bound in vars(bounds).items() if isinstance(bound, bounds.Bound)}
    missing = [name for name, bound in known.items() if not any(f" {bound.most:,} {bound.what}" in row for row in rows)]
    assert (missing, len(known)) == ([], 15)
