"""RDF from bytes to nodes: which serialisation it is, what is wrong with it, and graphs of any size."""

from __future__ import annotations

import io
import re

import pytest
import rdflib
from rdflib import namespace

from crawlers.exceptions import AnswerError
from crawlers.kinds.dcat.catalogue import Catalogue
from crawlers.kinds.dcat.page import RDFPage
from crawlers.records.rdf import formats, graphs, guards, terms
from crawlers.records.rdf.graphs import graph
from crawlers.records.rdf.reader import MAX_FAULTS, Reader
from crawlers.records.rdf.terms import Literal, is_blank
from tests.portal.dcat import Catalogue as Site

BASE = "https://example.org/dir/catalogue"


def triples(body: bytes, format_: formats.Format = formats.TURTLE):
    reader = Reader(io.BytesIO(body), format_, BASE)
    return list(reader), reader.faults


@pytest.mark.parametrize(
    "prefix", ["DCAT", "DCTERMS", "DC", "FOAF", "ODRL2", "ORG", "OWL", "PROV", "RDF", "RDFS", "SKOS"]
)
def test_namespaces_are_those_of_rdflib(prefix):
    ours = {"DCTERMS": "DCT", "ODRL2": "ODRL"}.get(prefix, prefix)
    assert getattr(terms, ours) == str(getattr(namespace, prefix)._NS)


@pytest.mark.parametrize(
    ("head", "family"),
    [
        (b"", None),
        (b"\x00\x01\x02", None),
        (b"plain words", None),
        (b"  <!DOCTYPE html>", "html"),
        (b"<?xml version='1.0'?><!-- a --><!DOCTYPE html PUBLIC 'x'><html>", "html"),
        (b"<?xml version='1.0'?>\n<!-- a -->\n<rdf:RDF xmlns:rdf='x'>", "xml"),
        (b"\xef\xbb\xbf<rdf:RDF>", "xml"),
        ("<rdf:RDF >".encode("utf-16"), "xml"),
        (b"<!DOCTYPE rdf:RDF [<!ENTITY a 'b'>]><rdf:RDF>", "xml"),
        (b"<http://a.org/1> <http://a.org/2> <http://a.org/3> .", "text"),
        (b"# a comment\n@prefix a: <b> .", "text"),
        (b"PREFIX a: <b>", "text"),
        (b"_:a <b> <c> .", "text"),
        (b"[] a <b> .", "text"),
        (b"dcat:a a dcat:b .", "text"),
        (b"<g> { <a> <b> <c> }", "text"),
        (b' {"@graph": []}', "json"),
        (b'[{"@id": "a"}]', "json"),
        (b"{}", "json"),
    ],
)
def test_what_the_first_bytes_look_like(head, family):
    assert formats.family(head) == family


@pytest.mark.parametrize(
    ("content_type", "path", "head", "found"),
    [
        ("text/turtle;charset=utf-8", "", b"<a> <b> <c> .", "Turtle"),
        ("text/plain", ".nt", b"<a> <b> <c> .", "N-Triples"),
        ("text/plain", ".nq", b"<a> <b> <c> <d> .", "N-Quads"),
        ("", "", b"<a> <b> <c> <d> .", "N-Quads"),
        ("", "", b"@prefix a: <b> .\n<g> { <a> <b> <c> }", "TriG"),
        ("", "", b"@prefix a: <b> .", "Turtle"),
        ("application/rdf+xml", ".ttl", b"@prefix a: <b> .", "Turtle"),
        ("text/turtle", ".rdf", b"<rdf:RDF >", "RDF/XML"),
        ("application/xml", "", b"<rdf:RDF >", "RDF/XML"),
        ("application/json", "", b'{"@id": "a"}', "JSON-LD"),
        ("text/n3", "", b"@prefix a: <b> .", "N3"),
    ],
)
def test_the_serialisation(content_type, path, head, found):
    assert formats.detect(content_type, f"https://example.org/catalog{path}", head).name == found


def test_nothing_is_taken_for_html_that_is_rdf():
    assert formats.detect("text/html", "https://example.org/", b"<html><body>") == "html"
    assert formats.detect("text/html", "https://example.org/", b"words") is None


def test_literals_keep_what_they_are():
    found, _ = triples(b'<a> <b> "1"^^<http://www.w3.org/2001/XMLSchema#string>, "x"@EN, 01, "d"^^<t>, _:c .')
    values = [value for _, _, value in found]
    assert values[:2] == [Literal("1"), Literal("x", "en")]
    assert values[2] == Literal("01", None, terms.XSD + "integer")
    assert values[3] == Literal("d", None, "https://example.org/dir/t")
    assert is_blank(values[4])
    assert found[0][0] == "https://example.org/dir/a"


@pytest.mark.parametrize("text", ['"x"@en_GB', "'x'@en_GB", '"""x"""@zh_Hans_CN'])
def test_language_tags_with_underscores(text):
    found, faults = triples(f"<a> <b> {text}, <c> .".encode())
    assert (len(found), faults) == (2, [])
    assert "-" in found[0][2].language


def test_a_tag_across_two_blocks(monkeypatch):
    monkeypatch.setattr(guards, "_BLOCK", 7)
    body = b"".join(b'<a%d> <b> "x"@en_GB .\n' % number for number in range(50))
    found, faults = triples(body)
    assert (len(found), faults) == (50, [])
    assert {value for _, _, value in found} == {Literal("x", "en-gb")}


def test_an_error_costs_one_statement():
    found, faults = triples(b"<a> <b> <c> . <d> <e> ;;; oops @@ . <f> <g> <h> .")
    assert [subject.rpartition("/")[2] for subject, _, _ in found] == ["a", "f"]
    assert faults


ODD = {
    "an address and a text": ('<dct:license rdf:resource="http://l/">text</dct:license>', 1),
    "an address and an element": ('<dct:license rdf:resource="http://l/"><dct:L/></dct:license>', 1),
    "a text where a property is expected": ("<dct:publisher><dct:Agent>a@b.org</dct:Agent></dct:publisher>", 1),
    "two elements": ("<dct:license><dct:L/><dct:M/></dct:license>", 1),
    "a type of XML Schema": ('<dct:license xsi:type="xs:string">text</dct:license>', 0),
    "an attribute without a namespace": ('<dct:license scheme="x">text</dct:license>', 1),
    "the same of an element": ("<dct:publisher><dct:Agent kind='x'/></dct:publisher>", 1),
    "an attribute of RDF without its namespace": ('<dct:license resource="http://l/"/>', 0),
    "a blank node whose name is a number": ('<dct:license rdf:nodeID="1:a"/><dct:rights rdf:nodeID="1:a"/>', 0),
    "an entity that is not known": ('<dct:license rdf:resource="http://l/?a&b;"/>', 0),
    "the same in a text": ("<dct:license>a &b; c</dct:license>", 1),
    "blanks around the sign": ("<dct:license scheme = 'x'>text</dct:license>", 1),
    "a name that ends as a usual one": ('<dct:license hreflang="de">text</dct:license>', 1),
    "a name that is not ASCII": ('<dct:license größe="1">text</dct:license>', 1),
    "an attribute with a namespace and without": ('<dct:license rdf:resource="http://l/" resource="x"/>', 1),
    "an attribute without a namespace twice": ('<dct:license resource="http://l/" resource="x"/>', 1),
    "a language that is none": ('<dct:license xml:lang="no language">text</dct:license>', 0),
}


@pytest.mark.parametrize("block", [100, 300, 1 << 20])
@pytest.mark.parametrize("odd", ODD)
def test_a_statement_of_rdf_xml_that_can_not_be_read_costs_itself_alone(monkeypatch, odd, block):
    monkeypatch.setattr(guards, "_BLOCK", block)
    statement, count = ODD[odd]
    head = f'<rdf:RDF xmlns:rdf="{terms.RDF}" xmlns:dct="http://d/" xmlns:xsi="http://x/" xsi:schemaLocation="x y">'
    around = '<dct:D rdf:about="http://a/"><dct:before>1</dct:before>%s<dct:after>2</dct:after></dct:D>'
    found, faults = triples(
        f'{head}{around % statement}<dct:D rdf:about="http://b/"/></rdf:RDF>'.encode(), formats.RDF_XML
    )
    whole = [("http://a/", "http://d/before", Literal("1")), ("http://a/", "http://d/after", Literal("2"))]
    assert {*whole, ("http://b/", terms.TYPE, "http://d/D")} < {*found}
    assert len(faults) == count
    assert count or {"http://d/license"} <= {predicate for _, predicate, _ in found}


REFUSED = {
    "a prefix that is not bound": "<foo:x>1</foo:x>",
    "the same of an attribute": '<dct:x foo:y="1">x</dct:x>',
    "an element without a namespace": "<x>1</x>",
    "HTML in a text": "<dct:x>see <b>bold</b></dct:x>",
    "an address and a blank node": '<dct:x rdf:resource="http://x/" rdf:nodeID="b"/>',
    "an attribute twice": '<dct:x rdf:resource="http://x/" rdf:resource="http://y/"/>',
    "an attribute without quotes": "<dct:x rdf:resource=x/>",
    "an ID with a space": '<dct:x rdf:ID="1 2">x</dct:x>',
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_tag_of_rdf_xml_that_is_refused_costs_more_than_a_statement(name):
    """The parser takes its end for that of the element around it, which ends there: its dataset is torn."""
    found = xml_page(f"<dct:before>1</dct:before>{REFUSED[name]}<dct:after>2</dct:after>")
    item = next(found.records()).item()
    assert (item.torn, "after" in str(item.document), found.is_torn) == (True, False, True)
    assert not found.costs_a_statement(found.faults[0])


def test_a_statement_of_rdf_xml_that_can_not_be_read_tears_nothing():
    found = xml_page('<dct:x rdf:resource="http://x/">text</dct:x><dct:after>2</dct:after>')
    assert [record.item().torn for record in found.records()] == [False, False]
    assert [found.costs_a_statement(fault) for fault in found.faults] == [True]


def test_a_tag_that_was_repaired_is_a_flaw_of_the_page_and_tears_nothing():
    """No list names the datasets, and none is lost."""
    dataset = '<dcat:Dataset rdf:about="http://a.org/%d"><dct:title %s>one</dct:title></dcat:Dataset>'
    body = xml_head() + dataset % (1, 'lang="en"') + dataset % (2, "") + "</rdf:RDF>"
    found = RDFPage(io.BytesIO(body.encode()), formats.RDF_XML, BASE, name="town", language=None)
    list(found.load())
    assert ([record.item().torn for record in found.records()], found.is_torn) == ([False, False], False)
    assert [(found.owner(fault), found.costs_a_statement(fault)) for fault in found.faults] == [(None, True)]


LITERAL = '<p xmlns="http://p/" class="x">See <a href="http://l/" id = "1">it</a><br/><dct:x rdf:nodeID="1"/></p>'
STAYS = {
    "a text": ("<rdf:value>say xsi:a=\"b\" c='d'</rdf:value>", "say xsi:a=\"b\" c='d'"),
    "an attribute": ("<rdf:Description rdf:value=\"where class = 'A1' and :nodeID='1 2'\"/>", "'A1' and :nodeID='1 2'"),
    "a literal": (f'<rdf:value rdf:parseType="Literal">{LITERAL}</rdf:value>', 'See <a href="http://l/" id="1">it</a>'),
    "a literal in itself": (
        f'<rdf:value rdf:parseType="Literal"><rdf:value/><rdf:value>1</rdf:value>{LITERAL}</rdf:value>',
        'See <a href="http://l/" id="1">it</a>',
    ),
}


@pytest.mark.parametrize("block", [100, 1 << 20])
@pytest.mark.parametrize("name", STAYS)
def test_attributes_in_a_value_stay(monkeypatch, name, block):
    monkeypatch.setattr(guards, "_BLOCK", block)
    statement, value = STAYS[name]
    head = f'<rdf:RDF xmlns:rdf="{terms.RDF}" xmlns:dct="http://d/">'
    element = '<rdf:Description rdf:about="http://a/" before="x"><dct:y>%s</dct:y><dct:z after="x">2</dct:z>'
    statement = statement if "Description" in statement else f"<rdf:Description>{statement}</rdf:Description>"
    found, faults = triples(f"{head}{element % statement}</rdf:Description></rdf:RDF>".encode(), formats.RDF_XML)
    assert any(value in each[0] for _, _, each in found if isinstance(each, Literal))
    assert [fault.message for fault in faults] == ["attributes without a namespace are left out: before, after"]


@pytest.mark.parametrize("head", [f'<r:RDF xmlns:rdf="http://x/" xmlns:r="{terms.RDF}" ', f'<RDF xmlns="{terms.RDF}" '])
def test_an_attribute_of_rdf_without_a_prefix_is_one_whatever_the_prefix_is(head):
    body = (
        "xmlns:d='http://d/'><d:D about='http://a/'><d:p resource='http://b/'/><d:q datatype='http://t/'>1</d:q></d:D>"
    )
    found, faults = triples(f"{head}{body}</{head[1:].split()[0]}>".encode(), formats.RDF_XML)
    assert {("http://a/", "http://d/p", "http://b/"), ("http://a/", "http://d/q", Literal("1", None, "http://t/"))} < {
        *found
    }
    assert not faults


def test_faults_are_bounded():
    _, faults = triples(b"<a> oops .\n" * 1000)
    assert (len(faults), faults[-1].message) == (MAX_FAULTS + 1, "after 100 errors the rest is not read")


def test_a_text_that_is_too_long_is_a_fault():
    found, faults = triples(b'<a> <b> <c> .\n<a> <b> "%b" .' % (b"x" * 20_000_000))
    assert len(found) == 1
    assert "too long" in faults[0].message


def test_triple_terms_are_not_nested_for_ever():
    with pytest.raises(AnswerError, match="more than 1000 triple terms"):
        triples(b"<a> <b> " + b"<<( <a> <b> " * 2000 + b"<c>" + b" )>>" * 2000 + b" .")
    triples(b"<a> <b> <<( <a> <b> <c> )>>, <d> ." * 200)


def test_an_element_with_too_many_attributes():
    head = b"<rdf:RDF xmlns:rdf='%b' xmlns:d='http://d/'>" % terms.RDF.encode()
    few, many = (b" ".join(b'd:a%d=">"' % number for number in range(count)) for count in (900, 1100))
    found, _ = triples(head + b"<rdf:Description " + few + b"/></rdf:RDF>", formats.RDF_XML)
    assert len(found) == 900
    with pytest.raises(AnswerError, match="more than 1000 attributes"):
        triples(head + b"<rdf:Description " + many + b"/></rdf:RDF>", formats.RDF_XML)


def test_a_parser_that_is_slow_is_stopped():
    moments = iter([0.0, 1.0, 29.0, 100.0])
    guard = guards.TextGuard(io.BytesIO(b"x" * 3_000_000), clock=lambda: next(moments))
    guard.read(2_000_000)
    with pytest.raises(AnswerError, match="reading takes too long"):
        guard.readall()


def test_few_nodes_of_a_large_graph_are_kept(monkeypatch):
    monkeypatch.setattr(graphs, "MAX_HELD", 10)
    monkeypatch.setattr(graphs, "_MAX_KEPT", 2_000)
    graph_ = graphs.Nodes()
    names = [f"http://a.org/{number}" for number in range(50)]
    assert not list(graph_.add([(name, "http://a.org/is", Literal("so")) for name in names], ()))
    graph_.filled()
    assert all(graph_.node(name) for name in names)
    assert 0 < len(graph_.kept) < 10


@pytest.mark.parametrize("most", [1, 7, 1000])
def test_nodes_are_the_same_in_memory_and_on_disk(monkeypatch, most):
    with Site(30, serialisation="nt") as site:
        body = site.body(1)
    expected = graph(rdflib.Graph().parse(body, format="nt"))
    monkeypatch.setattr(graphs, "MAX_HELD", most)
    found = graphs.Nodes()
    list(found.add(Reader(io.BytesIO(body), formats.N_TRIPLES, BASE), ()))
    found.filled()
    assert (found.db is None) == (most == 1000)
    named = [subject for subject in expected if not is_blank(subject)]
    assert named
    for subject in named:
        ours = {predicate: sorted(map(repr, values)) for predicate, values in found.node(subject).items()}
        theirs = {predicate: sorted(map(repr, values)) for predicate, values in expected[subject].items()}
        assert {name: values for name, values in ours.items() if "contact" not in name} == {
            name: values for name, values in theirs.items() if "contact" not in name
        }
    assert found.node("http://a.org/nothing") == {}


PREFIXES = b"""
@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> . @prefix : <http://a.org/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""


def catalogue(body: bytes) -> Catalogue:
    found = Catalogue()
    list(found.read(Reader(io.BytesIO(PREFIXES + body), formats.TURTLE, BASE)))
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b":1 a dcat:Dataset ; dct:title 'one' .", ["1"]),
        (b":1 a dcat:Dataset, dcat:DatasetSeries ; dct:title 'one' .", ["1"]),
        (
            b":1 a dcat:DatasetSeries ; dct:title 'one' . :2 a dcat:Dataset ; dct:title 'two' ; dcat:inSeries :1 .",
            ["1", "2"],
        ),
        (b":c dcat:dataset :1 . :1 dct:title 'untyped' .", ["1"]),
        (b":c dcat:dataset :1 .", []),
        (b":c dcat:dataset :1 . :1 a dcat:Dataset .", []),
        (b":c dcat:dataset :1 . :1 a dcat:Dataset ; dcat:keyword 'no title' .", ["1"]),
        (b":s dcat:servesDataset :1 . :1 a dcat:Dataset ; dct:identifier 'stub' .", []),
        (b":d dct:hasPart :1 . :1 a dcat:Dataset ; dct:identifier 'stub' .", []),
        (b":s dcat:servesDataset :1 . :1 a dcat:Dataset ; dct:title 'described' .", ["1"]),
        (b":s dcat:servesDataset :1 . :c dcat:dataset :1 . :1 a dcat:Dataset ; dct:identifier 'listed' .", ["1"]),
        (
            b":c dcat:dataset :2 . :2 dct:relation :1 ; dct:title '2' . :1 a dcat:Dataset ; dct:title 'mentioned' .",
            ["2"],
        ),
        (b":2 dct:source :1 . :1 a dcat:Dataset ; dct:description 'without title' .", ["1"]),
        (b":s a dcat:DataService ; dct:title 's' . :d dcat:accessService :s .", []),
        (b":c dcat:dataset :s . :s a dcat:DataService ; dct:title 's' .", []),
        (
            b":c a dcat:Catalog, dcat:Dataset ; dct:title 'c' ; dcat:dataset :1 . :1 a dcat:Dataset ; dct:title '1' .",
            ["1"],
        ),
        (b":c dcat:catalog :d . :d a dcat:Catalog ; dcat:dataset :1 . :1 a dcat:Dataset ; dct:title '1' .", ["1"]),
        (
            b":r a dcat:CatalogRecord ; foaf:primaryTopic :1 . :1 a dcat:Dataset ; dct:title '1' .",
            ["1"],
        ),
    ],
)
def test_which_nodes_are_datasets(body, expected):
    assert [subject.removeprefix("http://a.org/") for subject in catalogue(body).datasets()] == expected


def test_what_belongs_to_a_dataset():
    body = b"""
    :1 a dcat:Dataset ; dct:title "one" ; dcat:distribution :file ; dct:publisher [ :in [ :in :town ] ] ;
        dct:relation :2 ; dct:isPartOf :whole ; dcat:theme :theme .
    :2 a dcat:Dataset ; dct:title "two" . :whole :is "large" . :file dcat:accessService :service .
    :service dcat:servesDataset :2 ; dct:title "service" . :town :is "a town" .
    :theme skos:prefLabel "theme" ; skos:inScheme :scheme ; skos:broader :all . :all skos:prefLabel "all" .
    :scheme skos:hasTopConcept :all ; dct:title "scheme" .
    """
    description, whole = catalogue(body).description("http://a.org/1")
    named = {subject.rpartition("/")[2] for subject in description if not is_blank(subject)}
    assert named == {"1", "file", "service", "town", "theme", "scheme"}
    assert (sum(map(is_blank, description)), whole) == (2, True)


def test_a_hub_is_no_part_of_a_dataset():
    made = (
        b", ".join(b":made%d" % number for number in range(200))
        + b" . "
        + b":made1 dct:title 'a' . :made2 dct:title 'b' ."
    )
    description, _ = catalogue(
        b":1 a dcat:Dataset ; dct:publisher :all . :all dct:title 'all' ; :made " + made
    ).description("http://a.org/1")
    assert set(description) == {"http://a.org/1", "http://a.org/all"}


def test_a_description_is_bounded(monkeypatch):
    monkeypatch.setattr("crawlers.kinds.dcat.catalogue.MAX_NODES", 10)
    body = b":1 a dcat:Dataset ; dct:title 'one' ; dcat:distribution %b ." % b", ".join(
        b"[ :a 'b' ]" for _ in range(20)
    )
    description, whole = catalogue(body).description("http://a.org/1")
    assert (len(description), whole) == (10, False)


TORN = {
    "Turtle": (formats.TURTLE, b":a :p 1 . :b :p 1 ; :q <<<< ]]] ; :r 3 . :c :p 1 .", ["b", "c"]),
    "TriG": (formats.TRIG, b":g { :a :p 1 . :b :p 1 ; :q <<<< ]]] ; :r 3 . :c :p 1 . }", ["b", "c"]),
    "N-Triples": (formats.N_TRIPLES, b'<a:a> <a:p> "1" .\n<a:b> <a:p> oops .\n<a:c> <a:p> "1" .', ["a", "c"]),
    "inside brackets": (formats.TURTLE, b":b :p 1 ; :d [ :x 1 ; :y }} ; :z 4 ] .", ["b"]),
    "RDF/XML": (formats.RDF_XML, b"<A r:about='a'/><B r:about='b'><p>1</p><x>&oops;</x></B><C r:about='c'/>", ["b"]),
    "JSON-LD": (formats.JSON_LD_UP_TO_AN_ERROR, b'[{"@id": "a:a", "a:p": 1}, {"@id": "a:b", "a:p": 1, "a:q', ["b"]),
}


@pytest.mark.parametrize("name", TORN)
def test_a_fault_names_what_was_described(name):
    """The last named subject before it, and the first behind it where there is one."""
    format_, body, subjects = TORN[name]
    if format_.family == "text" and format_ is not formats.N_TRIPLES:
        body = b"@prefix : <http://a.org/> .\n" + body
    if format_ is formats.RDF_XML:
        body = b"<r:RDF xmlns:r='%b' xmlns='http://a.org/'>%b</r:RDF>" % (terms.RDF.encode(), body)
    _, faults = triples(body, format_)
    named = [re.split("[/:]", one)[-1] for one in faults[0].subjects if not is_blank(one)]
    assert list(dict.fromkeys(named)) == subjects


def test_a_long_text_is_not_repeated_for_ever(monkeypatch):
    """A publisher that many datasets share is named in each, and described in the first ones."""
    monkeypatch.setattr("crawlers.kinds.dcat.catalogue.SHARED_TEXT", 1_000_000)
    datasets = b"".join(
        b":%d a dcat:Dataset ; dct:title 'one' ; dct:publisher :all . " % number for number in range(50)
    )
    found = catalogue(datasets + b":all foaf:name 'All' ; dct:description '%b' ." % (b"x" * 100_000))
    described = [found.description(subject) for subject in found.datasets()]
    assert [whole for _, whole in described] == [True] * 10 + [False] * 40
    assert all(
        nodes[subject]["http://purl.org/dc/terms/publisher"] for nodes, _ in described for subject in list(nodes)[:1]
    )


def test_a_description_is_bounded_in_characters(monkeypatch):
    monkeypatch.setattr("crawlers.kinds.dcat.catalogue.MAX_TEXT", 1000)
    body = b":1 a dcat:Dataset ; dct:title '%b' ; dcat:distribution :long, :short ." % (b"o" * 5000)
    found = catalogue(body + b":long dct:title '%b' . :short dct:title 's' ." % (b"l" * 2000))
    description, whole = found.description("http://a.org/1")
    assert (set(description), whole) == ({"http://a.org/1", "http://a.org/short"}, False)


def page(body: bytes) -> RDFPage:
    found = RDFPage(io.BytesIO(PREFIXES + body), formats.TURTLE, BASE, name="town", language=None)
    list(found.load())
    return found


def xml_head() -> str:
    return f'<rdf:RDF xmlns:rdf="{terms.RDF}" xmlns:dcat="{terms.DCAT}" xmlns:dct="{terms.DCT}">'


def xml_page(statements: str) -> RDFPage:
    """Return a page of two datasets that a catalogue lists; the first one has the statements."""
    listed = "".join(f'<dcat:dataset rdf:resource="http://a.org/{number}"/>' for number in (1, 2))
    dataset = '<dcat:Dataset rdf:about="http://a.org/%d"><dct:title>one</dct:title>%s</dcat:Dataset>'
    body = f"{xml_head()}<dcat:Catalog>{listed}</dcat:Catalog>{dataset % (1, statements)}{dataset % (2, '')}</rdf:RDF>"
    found = RDFPage(io.BytesIO(body.encode()), formats.RDF_XML, BASE, name="town", language=None)
    list(found.load())
    return found


def test_a_record_is_mapped_when_a_field_is_read(monkeypatch):
    (record,) = page(b":1 a dcat:Dataset ; dct:identifier 'id1' ; dct:title 'one' .").records()
    with monkeypatch.context() as patch:
        patch.setattr("crawlers.records.dcat.dataset", lambda *_, **__: pytest.fail("it is mapped"))
        item = record.item()
        assert (item.source, item.id, item.name, item.metadata_modified) == ("town", "id1", None, None)
        assert (item.document["title"], item.torn) == ("one", False)
    assert (item.is_mapped, item.title, item.is_mapped, item.flaws) == (False, "one", True, [])


def test_a_record_that_may_lack_something_is_mapped_at_once():
    """Its flaws are no part of its bytes, and must be reported though the bytes are those on disk."""
    whole, torn = (
        record.item()
        for record in page(
            b":1 a dcat:Dataset ; dct:title 'one' . :2 a dcat:Dataset ; dct:title 'two' ; dct:language <<<< ."
        ).records()
    )
    assert (whole.is_mapped, whole.torn, torn.is_mapped, torn.torn) == (False, False, True, True)
    assert "may be incomplete" in torn.flaws[-1]
