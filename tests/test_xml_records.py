"""XML records of any format: which one an element is, and Dublin Core and RDF/XML as items."""

from __future__ import annotations

import gc
import re
from contextlib import suppress
from dataclasses import asdict

import pytest
from scrapy.http import Response

from crawlers.exceptions import AnswerError
from crawlers.items import Agent, Period
from crawlers.records import xml

URL = "https://example.org/csw?id=1"
NAMESPACES = """xmlns:csw="http://www.opengis.net/cat/csw/2.0.2" xmlns:ows="http://www.opengis.net/ows"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dct="http://purl.org/dc/terms/"
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcat="http://www.w3.org/ns/dcat#"
 xmlns:foaf="http://xmlns.com/foaf/0.1/" """


def parsed(body):
    return xml.parse(body.replace(">", f" {NAMESPACES}>", 1).encode())


def record(inner, root="csw:Record"):
    body = f"<{root}><dc:title>Soils</dc:title><dc:identifier>d-1</dc:identifier>{inner}</{root}>"
    return xml.dataset(parsed(body), source="s", url=URL)


# Formats


@pytest.mark.parametrize("depth", [0, 1, 5, 11])
def test_a_record_is_found_in_what_wraps_it(depth):
    body = "<dc><dc:title>A</dc:title></dc>"
    for _ in range(depth):
        body = f"<wrap><before/>{body}<after/></wrap>"
    root = parsed(body)
    assert [each.tag for each in xml.records(root)] == ["dc"]
    assert xml.is_record(root)
    assert xml.dataset(root, source="s", url=URL).title == "A"


def test_records_come_in_order_and_only_the_outermost():
    inner = "".join(
        f"<csw:Record><dc:title>{n}</dc:title><x><dc:title>no</dc:title></x></csw:Record>" for n in range(3)
    )
    found = xml.records(parsed(f"<all>{inner}</all>"))
    assert [xml.dataset(each, source="s", url=URL).title for each in found] == ["0", "1", "2"]


def test_several_records_are_not_one():
    with pytest.raises(AnswerError, match="several records") as refused:
        xml.dataset(parsed("<a><b><dc:title>1</dc:title></b><b><dc:title>2</dc:title></b></a>"), source="s", url=URL)
    assert refused.value.kind == "invalid_record"


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        ("<metadata><idinfo/></metadata>", "unsupported", "FGDC"),
        ("<FC_FeatureCatalogue><x/></FC_FeatureCatalogue>", "unsupported", "feature catalogue"),
        ("<MD_Metadata><x/></MD_Metadata>", "unsupported", "unknown namespace"),
        ("<a><b/></a>", "invalid_record", "its root is a"),
        (f"<{'a' * 5000}/>", "invalid_record", "its root is aaa"),
    ],
)
def test_what_is_no_record_is_named(body, kind, says):
    with pytest.raises(AnswerError, match=says) as refused:
        xml.dataset(xml.parse(body.encode()), source="s", url=URL)
    assert refused.value.kind == kind
    assert len(str(refused.value)) < 400


def test_a_wide_or_deep_answer_without_records_is_looked_through_once():
    wide = "<r>" + "<a><b/></a>" * 50_000 + "</r>"
    assert not xml.is_record(xml.parse(wide.encode()))
    deep = "<a>" * 200 + "<dc:title>A</dc:title>" + "</a>" * 200
    assert not xml.is_record(parsed(deep))


# Dublin Core


def test_the_links_of_a_csw_record_are_read_by_the_rule_of_iso():
    item = record(
        '<dc:URI protocol="WWW:LINK-1.0-http--link">https://example.org/page</dc:URI>'
        '<dc:URI protocol="OGC:WMS" name="soils" description="A map">https://example.org/ows</dc:URI>'
        '<dct:references scheme="WWW:DOWNLOAD-1.0-http--download">https://example.org/get?id=1</dct:references>'
        "<dct:references>https://example.org/a.csv</dct:references><dct:references>a.csv</dct:references>"
    )
    assert item.landing_page == "https://example.org/page"
    assert [(each.title, each.url, each.format) for each in item.resources] == [
        ("soils", "https://example.org/ows", "WMS"),
        (None, "https://example.org/get?id=1", None),
        (None, "https://example.org/a.csv", "CSV"),
    ]


@pytest.mark.parametrize(
    ("identifiers", "identifier", "uri", "page"),
    [
        (["10.1234/a.b"], "10.1234/a.b", *["https://doi.org/10.1234/a.b"] * 2),
        (["doi:10.1234/a"], "doi:10.1234/a", *["https://doi.org/10.1234/a"] * 2),
        (["http://dx.doi.org/10.1234/A"], "http://dx.doi.org/10.1234/A", *["https://doi.org/10.1234/A"] * 2),
        (["https://example.org/1"], *["https://example.org/1"] * 3),
        (["oai:x:1", "10.1234/a"], "10.1234/a", *["https://doi.org/10.1234/a"] * 2),
        (["a-1"], "a-1", None, None),
    ],
)
def test_identifiers_that_are_addresses(identifiers, identifier, uri, page):
    inner = "".join(f"<dc:identifier>{each}</dc:identifier>" for each in identifiers)
    item = xml.dataset(parsed(f"<dc><dc:title>T</dc:title>{inner}</dc>"), source="s", url=URL, id="oai:1")
    assert (item.id, item.identifier, item.uri, item.landing_page) == ("oai:1", identifier, uri, page)


def test_an_identifier_that_is_a_file_is_a_resource():
    item = record("<dc:identifier>https://example.org/data.csv</dc:identifier>")
    assert ([each.url for each in item.resources], item.landing_page) == (["https://example.org/data.csv"], None)


@pytest.mark.parametrize(
    ("coverage", "place", "period"),
    [
        ("Graz", "Graz", None),
        ("2010/2012", None, Period(start="2010", end="2012")),
        ("start=2010; end=2012", None, Period(start="2010", end="2012")),
        ("1990-2000", None, None),
        ("12 34", None, None),
        ("75, 92", None, None),
        ("42", None, None),
    ],
)
def test_a_coverage_is_a_place_or_a_period(coverage, place, period):
    item = record(f"<dc:coverage>{coverage}</dc:coverage>")
    assert ([each.name for each in item.spatial], item.temporal) == ([place] if place else [], period)
    assert not [each for each in item.flaws if each.startswith("spatial")]


@pytest.mark.parametrize(
    ("crs", "name", "corners"),
    [
        ("urn:ogc:def:crs:EPSG:6.6:4326", "BoundingBox", ("2 1", "4 3")),
        ("urn:x-ogc:def:crs:EPSG:6.11:4326", "BoundingBox", ("2 1", "4 3")),
        ("::EPSG:4326", "BoundingBox", ("3 2", "1 4")),
        ("", "WGS84BoundingBox", ("1 2", "3 4")),
        ("urn:ogc:def:crs:EPSG::25832", "BoundingBox", ("3 2", "1 4")),
        ("urn:ogc:def:crs:EPSG::RGF93 / Lambert-93 (EPSG:2154)", "BoundingBox", ("3 2", "1 4")),
        ("urn:ogc:def:crs:EPSG:6.6:4326", "BoundingBox", ("3 2", "1 4")),
        ("urn:ogc:def:crs:EPSG::25832", "BoundingBox", ("1 2", "3 4")),
    ],
)
def test_a_box_in_either_order(crs, name, corners):
    lower, upper = corners
    inner = f"<ows:LowerCorner>{lower}</ows:LowerCorner><ows:UpperCorner>{upper}</ows:UpperCorner>"
    other = f"<ows:UpperCorner>{upper}</ows:UpperCorner><ows:LowerCorner>{lower}</ows:LowerCorner>"
    for written in (inner, other, inner.replace("Lower", "lower").replace("Upper", "upper")):
        item = record(f'<ows:{name} crs="{crs}">{written}</ows:{name}>')
        assert item.spatial[0].geometry["coordinates"][0][:3] == [[1.0, 2.0], [3.0, 2.0], [3.0, 4.0]]


def test_a_coverage_may_be_a_box_or_a_point_of_dcmi():
    box = "name=Western Australia; northlimit=-13.5; southlimit=-35.5; westlimit=112.5; eastlimit=129"
    item = record(f"<dc:coverage>{box}</dc:coverage><dc:coverage>name=Perth; east=115.9; north=-32</dc:coverage>")
    found = [(place.name, (place.geometry or {}).get("type")) for place in item.spatial]
    assert (found, item.flaws) == ([("Perth", "Point"), ("Western Australia", "Polygon")], [])


def test_a_box_beyond_degrees_is_a_flaw():
    inner = "<ows:LowerCorner>500000 5200000</ows:LowerCorner><ows:UpperCorner>600000 5300000</ows:UpperCorner>"
    item = record(f'<ows:BoundingBox crs="urn:ogc:def:crs:EPSG::25832">{inner}</ows:BoundingBox>')
    assert item.spatial == []
    assert item.flaws[-1].startswith('spatial \'<BoundingBox crs="urn:ogc:def:crs:EPSG::25832">')


def test_a_box_that_is_none():
    assert record("<ows:BoundingBox><ows:LowerCorner>a b</ows:LowerCorner></ows:BoundingBox>").spatial == []
    assert record("<ows:BoundingBox crs='::EPSG:4326'><a>1 200</a><b>3 400</b></ows:BoundingBox>").spatial == []


@pytest.mark.parametrize(
    ("word", "found"),
    [("openAccess", "PUBLIC"), ("restrictedAccess", "RESTRICTED"), ("closedAccess", "NON_PUBLIC"), ("odd", "odd")],
)
def test_access_rights_of_open_aire(word, found):
    item = record(f"<dc:rights>info:eu-repo/semantics/{word}</dc:rights><dc:rights>cc-by-4.0</dc:rights>")
    assert (item.access_rights, item.license.id, item.rights) == (found, "CC-BY-4.0", "cc-by-4.0")


def test_dates_parties_and_formats():
    item = record(
        "<dc:date>2021-02</dc:date><dct:available>2020</dct:available><dct:modified>2022-01-01</dct:modified>"
        "<dc:creator>Ann</dc:creator><dc:publisher>Amt</dc:publisher><dc:language>deu</dc:language>"
        "<dct:abstract>What</dct:abstract><dc:subject>clay</dc:subject>"
        "<dc:format>Shapefile,WWW:DOWNLOAD-1.0-http--download</dc:format>"
        "<dct:references>https://example.org/a.zip</dct:references>"
    )
    assert (item.issued, item.modified, item.languages, item.keywords) == ("2020", "2022-01-01", ["de"], ["clay"])
    assert (item.publisher, item.contacts) == (Agent(name="Amt", role="publisher"), [Agent(name="Ann", role="creator")])
    assert (item.description, item.resources[0].format) == ("What", "Shapefile")


@pytest.mark.parametrize(
    ("types", "scope"),
    [
        (["service"], "service"),
        (["dataset"], "dataset"),
        ([], "dataset"),
        (["http://purl.org/dc/dcmitype/Service"], "service"),
    ],
)
def test_services_are_kept_apart(types, scope):
    inner = "".join(f"<dc:type>{each}</dc:type>" for each in types)
    assert xml.scope(parsed(f"<csw:Record><dc:title>A</dc:title>{inner}</csw:Record>")) == scope


# RDF/XML

DATASET = """<dcat:Dataset rdf:about="https://example.org/d"><dct:title>Soils</dct:title>
<dct:identifier>d-1</dct:identifier>%s</dcat:Dataset>"""


@pytest.mark.parametrize("wrapper", ["%s", "<rdf:RDF>%s</rdf:RDF>", "<r><rdf:RDF>%s</rdf:RDF></r>"])
def test_a_dataset_in_rdf(wrapper):
    root = parsed(wrapper % (DATASET % '<dcat:keyword xml:lang="en">clay</dcat:keyword>'))
    item = xml.dataset(root, source="s", url=URL)
    assert (item.id, item.title, item.keywords, item.metadata_source) == ("d-1", "Soils", ["clay"], "rdf_xml")
    again = xml.read(item.document, "s", item.id, URL)
    assert asdict(again) == asdict(item)


def test_a_catalogues_record_is_not_the_dataset():
    about = '<dcat:CatalogRecord><dct:identifier>r-1</dct:identifier><foaf:primaryTopic rdf:resource="%s"/>'
    about += "</dcat:CatalogRecord>"
    other = '<dcat:Dataset rdf:about="https://example.org/e"><dct:title>Other</dct:title></dcat:Dataset>'
    body = f"<rdf:RDF>{other}{DATASET % ''}{about % 'https://example.org/d'}</rdf:RDF>"
    assert xml.dataset(parsed(body), source="s", url=URL).id == "d-1"


@pytest.mark.parametrize("predicate", ["dcat:inSeries", "dct:isPartOf", "dct:source"])
def test_what_a_dataset_cites_is_not_the_dataset(predicate):
    series = '<dcat:Dataset rdf:about="https://example.org/s"><dct:title>Series</dct:title></dcat:Dataset>'
    body = f"<rdf:RDF>{DATASET % f'<{predicate}>{series}</{predicate}>'}</rdf:RDF>"
    assert xml.dataset(parsed(body), source="s", url=URL).id == "d-1"


ATTRIBUTES = " ".join(f'dct:a{number}=""' for number in range(1001))
TORN = '<dct:license rdf:resource="https://example.org/l">Licence ouverte</dct:license>'


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (TORN, "its RDF can't be read in full: Unexpected text event: 'Licence ouverte'"),
        (TORN * 3, "its RDF can't be read in full: Unexpected text event: 'Licence ouverte' (and 2 more)"),
        ("<dct:publisher><foaf:Organization>Amt</foaf:Organization></dct:publisher>", "Unexpected text event: 'Amt'"),
    ],
)
def test_a_statement_that_can_not_be_read_costs_no_record(more, says):
    root = parsed(f"<rdf:RDF>{DATASET % f'{more}<dcat:keyword>clay</dcat:keyword>'}</rdf:RDF>")
    item = xml.dataset(root, source="s", url=URL)
    assert (item.id, item.title) == ("d-1", "Soils")
    assert item.keywords == ["clay"]
    [flaw] = [one for one in item.flaws if "RDF" in one]
    assert says in flaw
    assert more.encode() in item.document
    assert xml.read(item.document, "s", item.id, URL).flaws == item.flaws
    assert xml.triples(item.document, URL)[1] == "https://example.org/d"


def test_a_tag_that_is_refused_is_said_to_cost_what_follows():
    refused = '<dct:publisher rdf:resource="https://example.org/p" rdf:nodeID="p"/>'
    root = parsed(f"<rdf:RDF>{DATASET % f'{refused}<dcat:keyword>clay</dcat:keyword>'}</rdf:RDF>")
    item = xml.dataset(root, source="s", url=URL)
    assert (item.id, item.keywords, refused.encode() in item.document) == ("d-1", [], True)
    [flaw] = [one for one in item.flaws if "RDF" in one]
    assert flaw.endswith("could be set at the same time (what follows may be missing, too)")


@pytest.mark.parametrize(
    ("body", "kind", "says"),
    [
        ("<rdf:RDF></rdf:RDF>", "invalid_record", "its RDF describes no dataset"),
        ("<rdf:RDF><dcat:Dataset/></rdf:RDF>", "missing_id", "neither an identifier nor an IRI"),
        (f"<rdf:RDF><dcat:Dataset {ATTRIBUTES}/></rdf:RDF>", "invalid_record", "can't be read in full: an element"),
        ("<metadata><idinfo/></metadata>", "unsupported", "this is an FGDC (CSDGM) record"),
        ("<ddi><title>A</title></ddi>", "invalid_record", "its root is ddi"),
        ("<a><b><dc:title>1</dc:title></b><b><dc:title>2</dc:title></b></a>", "invalid_record", "several records"),
    ],
)
def test_what_is_no_dataset_is_kept_if_the_protocol_has_its_id(body, kind, says):
    with pytest.raises(AnswerError, match=re.escape(says)) as refused:
        xml.lazily(parsed(body), source="s", url=URL)
    assert refused.value.kind == kind
    item = xml.lazily(parsed(body), source="s", url=URL, id="r-1", metadata_url="u")
    assert (item.id, item.title, item.metadata_url, item.document) == (
        "r-1",
        None,
        "u",
        xml.document(parsed(body)),
    )
    assert says in item.flaws[0]
    again = xml.read(item.document, "s", "r-1", URL)
    assert (again.flaws, again.metadata_source) == (item.flaws, item.metadata_source)


def test_what_describes_no_data_is_not_kept():
    with pytest.raises(AnswerError, match="describes no data") as refused:
        xml.lazily(parsed("<FC_FeatureCatalogue><x/></FC_FeatureCatalogue>"), source="s", url=URL, id="r-1")
    assert refused.value.kind == "unsupported"


def test_the_first_of_several_datasets_is_taken():
    body = "<rdf:RDF><dcat:Dataset rdf:about='urn:b'/><dcat:Dataset rdf:about='urn:a'/></rdf:RDF>"
    item = xml.dataset(parsed(body), source="s", url=URL)
    assert (item.id, item.flaws[-1]) == (
        "urn:b",
        "its RDF describes 2 datasets, and this is the first one: the document has all",
    )


def test_the_tree_of_what_is_refused_is_freed_at_once():
    """A cycle of an error and a frame holds the tree until the collector comes, which counts no bytes: 4 GB of them."""
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):
            with suppress(AnswerError):
                xml.lazily(parsed("<html><a/></html>"), source="s", url=URL)
        assert not [each for each in gc.get_objects() if type(each) is AnswerError and "its root is html" in str(each)]
    finally:
        gc.enable()


# An answer that breaks off

LIST = '<?xml version="1.0"?>\n<r><head>é</head><list total="4">{}</list><end/></r>'
ONE = "<a><b>{} &amp; ü</b><c/></a>"
FOUR = LIST.format("".join(map(ONE.format, range(4))))


def came(body, **given):
    flaws = []
    root, fault = xml.list_root(Response("https://a.org/", body=body), ("list",), flaws, **given)
    return [each.findtext("b")[0] for each in root.iterfind("list/*")], fault and fault.kind, flaws


def test_an_answer_that_is_whole_has_all_its_records_and_no_fault():
    assert came(FOUR.encode()) == (["0", "1", "2", "3"], None, [])
    assert came(LIST.format("").encode()) == ([], None, [])


def test_wherever_an_answer_is_cut_its_whole_records_are_kept():
    """In a tag, in a character, in a text, between records, behind the list."""
    body = FOUR.encode()
    ends = [found.end() for found in re.finditer(rb"</a>", body)]
    for length in range(ends[0], len(body) - 1):
        whole = [str(number) for number, end in enumerate(ends) if end <= length]
        assert came(body[:length]) == (whole, "truncated", []), body[:length][-30:]


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_an_answer_in_another_encoding_may_be_cut(encoding):
    body = FOUR.replace("?>", f' encoding="{encoding}"?>').encode(encoding)
    assert came(body[: len(body) * 3 // 4 + 1]) == (["0", "1"], "truncated", [])


@pytest.mark.parametrize(
    "torn", ["<![CDATA[x < y > z", "<!-- a > b", "&nbsp", "<b at='>", "<b></a>", "\x01", "<b a=1/>"]
)
def test_what_an_answer_breaks_off_at(torn):
    """Within a section that hides markup, and at what is no XML with more behind it."""
    begin = LIST.format(f"<!-- one --><![CDATA[ ]]>{ONE.format(0)}<a>{torn}").removesuffix("</list><end/></r>")
    assert came(begin.encode()) == (["0"], "truncated", [])
    if torn in ("<b></a>", "\x01", "<b a=1/>"):
        assert came(f"{begin}</a>{ONE.format(2)}</list><end/></r>".encode()) == (["0"], "truncated", [])


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (LIST.format("<a><b>0")[:-20], "invalid_record"),
        ("<r><other><a/><a>", "invalid_record"),
        ("<html><body>Not found", "invalid_record"),
        ("", "invalid_record"),
        (FOUR.replace("<a>", "<a><!DOCTYPE x>", 1), "unsafe_xml"),
        ("<!DOCTYPE r [<!ENTITY a '<b/>'>]><r><list><a/><a>&a;", "unsafe_xml"),
        ("<r><list><a/>" + "<a/>" * 900_000, "too_large"),
    ],
)
def test_an_answer_of_which_nothing_is_kept_is_refused_as_before(body, kind):
    with pytest.raises(AnswerError) as refused:
        came(body.encode())
    assert refused.value.kind == kind
