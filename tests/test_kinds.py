"""Kinds of catalogue: what each declares holds, and those of other packages join without touching this one."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import logging
import re
import runpy
import sys
from contextlib import suppress
from dataclasses import asdict, replace
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest
from scrapy.http import TextResponse

from crawlers import kind
from crawlers.exceptions import AnswerError
from crawlers.items import Dataset
from crawlers.kind import Kind, load, registered
from crawlers.kinds.ckan import mapping as ckan
from crawlers.kinds.dcat.page import DataJSONPage, RDFPage
from crawlers.kinds.html import mapping as html
from crawlers.kinds.sdmx import mapping as sdmx
from crawlers.kinds.waf import records as waf
from crawlers.listing.spider import CatalogueSpider
from crawlers.operate.sources import detect
from crawlers.records import xml
from crawlers.records.rdf.formats import TURTLE
from crawlers.records.xml import READERS
from crawlers.spider_loader import SpiderLoader
from tests import golden
from tests.conftest import ROOT

URL = "https://data.example.org/dataset/1"


# Documents


def _ckan():
    return ckan.dataset(
        golden.load(golden.GOLDEN / "ckan/full/input.json"), source="s", portal="https://data.example.org"
    )


def _rdf():
    file = io.BytesIO((golden.GOLDEN / "dcat" / "full" / "input.ttl").read_bytes())
    page = RDFPage(file, TURTLE, URL, name="s", language=None)
    list(page.load())
    return next(iter(page.records())).item()


def _data_json():
    return next(
        iter(DataJSONPage(golden.load(golden.GOLDEN / "data_json/pod11/input.json"), [], name="s").records())
    ).item()


@pytest.mark.parametrize("read", [_rdf, _data_json])
def test_a_record_of_a_catalogue_is_mapped_when_a_field_of_it_is_read(read):
    item = read()
    assert (bool(item.id and item.document), item.is_mapped) == (True, False)
    assert (bool(item.title), item.is_mapped) == (True, True)


def _html(**structured):
    fields = {"title": {"value": "Elbe"}, "version": {"value": "3"}, "issued": {"value": "2019-03-12"}}
    page = {"url": URL, "language": "de", "fields": fields, "extras": {}, "resources": []}
    return lambda: html.dataset(page | structured, source="s", id="1")


DUBLIN_CORE = b"""<dc xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title xml:lang="de">Elbe</dc:title>
<dc:identifier>e-1</dc:identifier><dc:subject>Wasser</dc:subject><dc:date>2020-03</dc:date>
<dc:publisher>Amt</dc:publisher><dc:URI name="Daten">https://example.org/a.csv</dc:URI></dc>"""


def _dublin_core():
    response = TextResponse(f"{URL}.xml", body=DUBLIN_CORE)
    item = next(asyncio.run(waf.opened(response, source="s", most=0, most_json=0))[0])
    assert (item.title, item.issued, item.keywords, item.resources[0].title) == ("Elbe", "2020-03", ["Wasser"], "Daten")
    return item


def _xml(body, **known):
    return lambda: xml.dataset(xml.parse(body.encode()), source="s", url=URL, **known)


ISO_19139 = """<gmd:MD_Metadata xmlns:gmd="http://www.isotc211.org/2005/gmd" xmlns:gco="http://www.isotc211.org/2005/gco">
<gmd:fileIdentifier><gco:CharacterString>{e-1}</gco:CharacterString></gmd:fileIdentifier>
<gmd:identificationInfo><gmd:MD_DataIdentification><gmd:citation><gmd:CI_Citation>
<gmd:title><gco:CharacterString>Elbe</gco:CharacterString></gmd:title></gmd:CI_Citation></gmd:citation>
</gmd:MD_DataIdentification></gmd:identificationInfo><gmd:distributionInfo><gmd:MD_Distribution><gmd:transferOptions>
<gmd:MD_DigitalTransferOptions><gmd:onLine><gmd:CI_OnlineResource><gmd:linkage>
<gmd:URL>https://example.org/a.csv</gmd:URL></gmd:linkage></gmd:CI_OnlineResource></gmd:onLine>
</gmd:MD_DigitalTransferOptions></gmd:transferOptions></gmd:MD_Distribution></gmd:distributionInfo></gmd:MD_Metadata>"""
ISO_19115_3 = """<mdb:MD_Metadata xmlns:mdb="http://standards.iso.org/iso/19115/-3/mdb/2.0"
 xmlns:cit="http://standards.iso.org/iso/19115/-3/cit/2.0" xmlns:mcc="http://standards.iso.org/iso/19115/-3/mcc/1.0"
 xmlns:mri="http://standards.iso.org/iso/19115/-3/mri/1.0" xmlns:gco="http://standards.iso.org/iso/19115/-3/gco/1.0">
<mdb:metadataIdentifier><mcc:MD_Identifier><mcc:code><gco:CharacterString>e-1</gco:CharacterString></mcc:code>
</mcc:MD_Identifier></mdb:metadataIdentifier><mdb:identificationInfo><mri:MD_DataIdentification><mri:citation>
<cit:CI_Citation><cit:title><gco:CharacterString>Elbe</gco:CharacterString></cit:title></cit:CI_Citation>
</mri:citation></mri:MD_DataIdentification></mdb:identificationInfo></mdb:MD_Metadata>"""
RDF_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcat="http://www.w3.org/ns/dcat#"
 xmlns:dct="http://purl.org/dc/terms/"><dcat:Dataset rdf:about="https://example.org/1"><dct:title>Elbe</dct:title>
<dcat:distribution><dcat:Distribution><dcat:accessURL rdf:resource="https://example.org/a.csv"/></dcat:Distribution>
</dcat:distribution></dcat:Dataset></rdf:RDF>"""
SDMX = """<s:Dataflow xmlns:s="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/structure"
 xmlns:c="http://www.sdmx.org/resources/sdmxml/schemas/v2_1/common" id="A" agencyID="E" version="1.0">
<c:Name>Elbe</c:Name></s:Dataflow>"""
DATACITE = """<resource xmlns="http://datacite.org/schema/kernel-4">
<identifier identifierType="DOI">10.5072/e-1</identifier>
<titles><title>Elbe</title></titles><publisher>Amt</publisher><publicationYear>2020</publicationYear>
<formats><format>text/csv</format></formats></resource>"""
SCHEMA_ORG = {"@type": "Dataset", "name": "Elbe", "version": "3", "datePublished": "2019-03-12"}
RDF = {"@id": URL, "http://purl.org/dc/terms/title": [{"@value": "Elbe"}]}
FILLED = {"http://purl.org/dc/terms/issued": [{"@value": "2019-03-12"}]}
FILLED |= {"http://www.w3.org/2002/07/owl#versionInfo": [{"@value": "3"}]}
RECORDS = {
    ("ckan", "package_search"): _ckan,
    ("ckan", "package_show"): _ckan,
    ("dcat", "rdf"): _rdf,
    ("dcat", "data_json"): _data_json,
    ("waf", "dublin_core"): _dublin_core,
    ("waf", "iso19139"): _xml(ISO_19139),
    ("waf", "iso19115_3"): _xml(ISO_19115_3),
    ("waf", "rdf_xml"): _xml(RDF_XML),
    ("waf", "datacite"): _xml(DATACITE),
    ("oai", "dublin_core"): _dublin_core,
    ("oai", "datacite"): _xml(DATACITE),
    ("oai", "iso19139"): _xml(ISO_19139),
    ("oai", "iso19115_3"): _xml(ISO_19115_3),
    ("oai", "rdf_xml"): _xml(RDF_XML),
    ("oai", "xml"): _xml("<codeBook/>", id="e-1"),
    ("csw", "dublin_core"): _dublin_core,
    ("csw", "iso19139"): _xml(ISO_19139),
    ("csw", "iso19115_3"): _xml(ISO_19115_3),
    ("csw", "rdf_xml"): _xml(RDF_XML),
    ("csw", "xml"): _xml("<codeBook/>", id="e-1"),
    ("sdmx", "sdmx"): lambda: sdmx.dataset(xml.parse(SDMX.encode()), source="s", url=URL),
    ("html", "html"): _html(),
    ("html", "schema_org"): _html(schema_org=SCHEMA_ORG),
    ("html", "schema_org+html"): _html(schema_org={"@type": "Dataset", "name": "Elbe"}),
    ("html", "rdf"): _html(rdf=RDF | FILLED),
    ("html", "rdf+html"): _html(rdf=RDF),
}
"""How a record of each ``metadata_source`` becomes an item, by the kind that gives it: a new kind adds its own."""


@pytest.mark.parametrize(("name", "metadata_source"), RECORDS)
def test_a_document_gives_the_item_back(name, metadata_source):
    item = RECORDS[name, metadata_source]()
    assert item.metadata_source in (metadata_source, None)  # where the mapping does not say, the spider does
    item.metadata_source, item.metadata_url, item.retrieved = metadata_source, URL, "2026-11-22T00:00:00Z"
    document = item.document if isinstance(item.document, bytes) else json.loads(json.dumps(item.document))
    known = {"metadata_source": metadata_source, "metadata_url": URL, "retrieved": item.retrieved}
    found = kind.dataset(document, source="s", id=item.id, **known)
    assert found.document in (item.document, None)
    found.document = item.document
    assert asdict(found) == asdict(item)
    assert found.title or metadata_source == "xml"


def test_a_kind_that_reads_xml_reads_every_format_of_it():
    assert {source for source, reader in registered()["waf"].readers.items() if "xml" in reader} == set(READERS)


def test_every_reader_gives_an_item_back():
    declared = {(name, source) for name, one in registered().items() for source in one.readers}
    assert declared <= RECORDS.keys()
    assert {source for _, source in RECORDS} == {source for _, source in declared}


TEMPLATE = ROOT / "docs" / "kind-template" / "example_kind"
GIVEN = {
    "ckan": {"package_search", "package_show"},
    "dcat": {"rdf", "data_json"},
    "example": {"example"},
    "sdmx": {"sdmx"},
}
"""What the code of each kind names as ``metadata_source``; html makes its own of what a page had."""


def test_what_a_kind_gives_it_can_read():
    """Of a listing's records, that is: exports beside them are never read again."""
    folders = [(one, ROOT / "crawlers" / "kinds" / name) for name, one in registered().items()]
    for one, folder in (*folders, (runpy.run_path(TEMPLATE / "__init__.py")["KIND"], TEMPLATE)):
        trees = [ast.parse(path.read_bytes()) for path in folder.rglob("*.py")]
        given = {source for tree in trees for source in _metadata_sources(tree)}
        assert given <= one.readers.keys(), f"{folder} gives a metadata_source that the readers of {one.name} lack"
        assert given == GIVEN.get(one.name, set())


def _metadata_sources(tree):
    """The texts that a module gives an item as ``metadata_source``, or a page as ``source``."""
    for target, value in _assigned(tree):
        if target in ("metadata_source", "source"):
            values = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
            yield from (one.value for one in values if isinstance(one, ast.Constant) and isinstance(one.value, str))


def _assigned(tree):
    """The names that values are assigned to, each with its value: of tuples and of keyword arguments, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "metadata_source":  # source= is the catalogue's name
            yield node.arg, node.value
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = zip(target.elts, node.value.elts, strict=False) if both else [(target, node.value)]
                yield from ((getattr(one, "attr", getattr(one, "id", None)), value) for one, value in pairs)


# Nothing but a kind's folder has its name


HTMLS_OWN = ("operate/learn/", "operate/pages.py", "operate/sources/learn_rules.py")
OTHER_THINGS = ("archive/", "components/browser/", "operate/commands/report.py", "records/html_page.py", "records/rdf/")
OTHER_THINGS += ("records/xml/", "store/export/dcat.py", "store/export/output.py", "ecosystem/", "fields.py")
OTHER_THINGS += ("items.py", "operate/atom.py", "operate/notify/channels.py")
"""Where such a name is that of a format, of a prefix, or of CKAN itself."""


def test_no_other_code_names_a_kind():
    allowed = tuple(f"crawlers/{name}" for name in ("kinds/", *HTMLS_OWN, *OTHER_THINGS))
    files = [path for room in ("crawlers", "pipelines") for path in (ROOT / room).rglob("*.py")]
    naming = {
        f"{path}:{node.lineno} {node.value}"
        for path in files
        if not path.relative_to(ROOT).as_posix().startswith(allowed)
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and node.value in registered()
    }
    assert not naming, "ask the Kind instead"


def test_no_template_of_a_page_names_a_kind():
    crawls = re.compile(rf"scrapy crawl (?:{'|'.join(registered())})\b")
    pages = list((ROOT / "crawlers" / "operate").rglob("*.html"))
    assert pages
    assert not [page for page in pages if crawls.search(page.read_text(encoding="utf-8"))]


# Declarations


@pytest.mark.parametrize("name", registered())
def test_a_kind_is_what_it_says(name):
    one = registered()[name]
    spider = load(one.spider)
    assert issubclass(spider, CatalogueSpider)
    assert (spider.name, spider.kind, spider.address) == (name, name, one.address)
    assert spider.arguments[one.address].parse(one.example)
    assert getattr(spider, one.address) is None
    assert kind.detector(name).kind == name
    if one.template:
        assert (ROOT / "crawlers" / "kinds" / name / one.template).exists()


def test_every_spider_is_of_a_kind():
    loader = SpiderLoader(["spiders"])
    for name in loader.list():
        spider = loader.load(name)
        assert spider.crosses_hosts or spider.address == registered()[spider.kind].address


# Kinds of other packages


@pytest.fixture
def others(monkeypatch):
    """Declares entry points, ``name="module:object"``; the kinds are registered anew before and after."""

    def clear():
        for one in (kind.registered, kind.detector, kind.reader, kind.loaded, detect._detectors):
            one.cache_clear()

    def declare(**values):
        entries = [EntryPoint(name, value, kind.GROUP) for name, value in values.items()]
        monkeypatch.setattr(kind, "entry_points", lambda group: entries if group == kind.GROUP else [])
        clear()

    yield declare
    monkeypatch.undo()
    clear()


RIVERS = Kind(name="rivers", title="River", spider="rivers:Rivers", address="url", example="https://example.org/r.json")
TWIN = Kind(name="ckan", title="Another", spider="twin:Twin", address="url", example="https://example.org/")
NO_KIND = "rivers"
HERE = __name__


def test_a_kind_of_another_package_comes_after_the_projects_own(others):
    others(rivers=f"{HERE}:RIVERS")
    assert list(registered())[-1] == "rivers"
    assert list(kind.enabled(["r*"])) == ["rivers"]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("nowhere.at.all:KIND", "The kind of catalogue 'x' (nowhere.at.all:KIND) is left out: ModuleNotFoundError: No"),
        (f"{HERE}:MISSING", "is left out: AttributeError: "),
        (f"{HERE}:NO_KIND", "is left out: it is a str, not a crawlers.kind.Kind."),
        (f"{HERE}:TWIN", "Two kinds of catalogue are named 'ckan': that of crawlers.kinds.ckan.spider is used"),
    ],
)
def test_a_broken_kind_loses_itself_alone(others, caplog, value, says):
    others(rivers=f"{HERE}:RIVERS", x=value)
    with caplog.at_level(logging.WARNING):
        assert [*registered()][-1] == "rivers"
    assert registered()["ckan"].title == "CKAN portal"
    [record] = caplog.records
    assert says in record.getMessage()
    assert record.exc_info is None


def test_a_kind_whose_spider_is_broken_stops_nothing(others, caplog):
    others(rivers=f"{HERE}:RIVERS")
    with caplog.at_level(logging.WARNING):
        names = SpiderLoader([], {name: each.spider for name, each in registered().items()}).list()
    assert "ckan" in names
    assert "rivers" not in names
    assert "rivers:Rivers" in caplog.text


# Detection


class Harbour(kind.Detector):
    kind = "harbour"
    requests = 2

    def find(self, probe):
        for path in ("/harbour/1", "/harbour/2"):
            answer = yield from probe.ask(f"https://data.example.org{path}")
            if isinstance(answer, TextResponse):
                return [kind.Finding(self.kind, answer.url, "it is a harbour")]
        return []


HARBOUR = Kind(
    *(), name="harbour", title="Harbour", spider="x:X", address="url", example="x", detector=f"{HERE}:Harbour"
)


def test_requests_are_kept_for_a_kind_that_is_asked_late(others):
    others(harbour=f"{HERE}:HARBOUR")
    detection = detect.Detection(f"{URL}/de/x")
    running = detection.run()
    address = next(running)
    with suppress(StopIteration):
        while True:
            is_there = address.endswith("/harbour/2")
            missing = AnswerError("http", "HTTP 404 Not Found")
            address = running.send(TextResponse(address, body=b"{}") if is_there else missing)
    assert [one.kind for one in detection.found] == ["harbour"]
    assert len(detection.answers) == detect.MOST


class WrongSignature(kind.Detector):
    kind = "odd"

    def find(self):
        yield from ()


class NoGenerator(kind.Detector):
    kind = "odd"

    def find(self, probe):
        return [kind.Finding(self.kind, probe.url, "it is odd")]


class NoFindings(kind.Detector):
    kind = "odd"

    def find(self, probe):
        yield from ()
        return {probe.url: "odd"}


class FailsLate(kind.Detector):
    kind = "odd"

    def find(self, probe):
        yield from probe.ask(f"{URL}/odd")
        raise AnswerError("http", "not\nthere")


class FailsAtAnAnswer(kind.Detector):
    kind = "odd"

    def recognise(self, response):
        return response.no_such_thing


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        (WrongSignature, "TypeError: WrongSignature.find() takes 1 positional argument but 2 were given."),
        (NoGenerator, "TypeError: find() is not a generator."),
        (NoFindings, "not a list of findings."),
        (FailsLate, "AnswerError: not there."),
        (FailsAtAnAnswer, "AttributeError: "),
    ],
)
def test_a_detector_that_fails_is_one_sentence_and_the_others_go_on(others, monkeypatch, odd, says):
    own = replace(HARBOUR, name="odd", detector=f"{HERE}:{odd.__name__}")
    monkeypatch.setitem(globals(), "ODD", own)
    others(odd=f"{HERE}:ODD", zebra=f"{HERE}:HARBOUR")
    detection = detect.Detection(f"{URL}/de/x")
    running = detection.run()
    address = next(running)
    with suppress(StopIteration):
        while True:
            page = TextResponse(address, body=b"{}")
            address = running.send(page if address.endswith(("/x", "/harbour/1")) else AnswerError("http", "HTTP 404"))
    assert [one.kind for one in detection.found] == ["harbour"]
    [line] = [line for line in detection.lines() if line.startswith("Catalogues of kind odd can't be recognised: ")]
    assert says in line


def test_documents_of_a_kind_that_is_not_enabled_are_read():
    assert "html" not in kind.enabled(["ckan"])
    assert isinstance(kind.reader("html")({"fields": {"title": {"value": "t"}}}, "s", "1", ""), Dataset)


class NoSpider:
    """What an entry point of another package may name by mistake."""


class BrokenDetector:
    def __init__(self):
        raise RuntimeError("no network here")


def test_a_kind_whose_parts_are_unusable_loses_only_those(monkeypatch, caplog):
    odd = replace(registered()["dcat"], name="odd", spider="odd_kind:NoSpider", detector="odd_kind:BrokenDetector")
    monkeypatch.setitem(sys.modules, "odd_kind", SimpleNamespace(NoSpider=NoSpider, BrokenDetector=BrokenDetector))
    monkeypatch.setattr(kind, "registered", lambda: {"odd": odd})
    assert SpiderLoader([], {odd.name: odd.spider}).list() == []
    assert kind.detector.__wrapped__("odd") is None
    endings = [record.message.rpartition(": ")[2] for record in caplog.records]
    assert endings == ["it is not a spider.", "no network here."]


@pytest.mark.parametrize("pattern", ["(", ""])
def test_a_kind_that_exempts_no_regular_expression_is_left_out(pattern, caplog):
    assert not kind._has_valid_patterns(replace(registered()["dcat"], robots_exempt=(pattern,)), "Kind odd is left out")
    assert "is not a regular expression" in caplog.text


# Kinds whose readers are found by name


def test_a_declared_metadata_source_has_a_reader():
    record = {"identifier": "d-1", "title": "Elbe", "distribution": [{"downloadURL": "https://example.org/a.csv"}]}
    address = "https://data.example.org/api/1/metastore/schemas/dataset/items/d-1"
    known = {"metadata_source": "dkan", "metadata_url": address, "retrieved": "2026-11-22T00:00:00Z"}
    item = kind.dataset(record, source="s", id="d-1", **known)
    assert (item.title, item.metadata_url, len(item.resources)) == ("Elbe", address, 1)
    with pytest.raises(ValueError, match="it is not the record of d-2"):
        kind.dataset(record, source="s", id="d-2", **known)
    for name in ("dkan3", "../dkan", "dkan.toml", ""):
        with pytest.raises(kind.NoReaderError):
            kind.reader(name)
