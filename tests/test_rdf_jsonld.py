"""JSON-LD: named contexts become bundled ones, nothing is fetched, and nothing that comes brings the parser down."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyoxigraph
import pytest

from crawlers.exceptions import AnswerError
from crawlers.records.rdf import jsonld
from crawlers.records.rdf.terms import DCAT, DCT, FOAF, HYDRA, OWL, RDF, SCHEMA, SKOS, SPDX, VCARD, XSD
from tests.conftest import ROOT
from tests.site import Answer, Site
from tests.waiting import HANG

FIXTURES = ROOT.parent / "shared" / "fixtures"
POD = "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld"
SCHEMA_ORG = [
    f"{scheme}://{host}{path}"
    for scheme in ("http", "https")
    for host in ("schema.org", "www.schema.org")
    for path in ("", "/", "/docs/jsonldcontext.jsonld", "/docs/jsonldcontext.json", "/#")
]
INLINE = {"t": DCT + "title"}


def triples(document) -> set[tuple[str, str]]:
    """Predicates and values of what the document says, after its contexts were bundled."""
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return parsed(jsonld.local(body))


def parsed(body: bytes) -> set[tuple[str, str]]:
    quads = pyoxigraph.parse(body, pyoxigraph.RdfFormat.JSON_LD, base_iri="http://base.org/", lenient=True)
    return {(quad.predicate.value, _value(quad.object)) for quad in quads}


def _value(term) -> str:
    if isinstance(term, pyoxigraph.NamedNode):
        return f"<{term.value}>"
    return (
        "_" if isinstance(term, pyoxigraph.BlankNode) else term.value + (f"@{term.language}" if term.language else "")
    )


def refused(document) -> AnswerError:
    with pytest.raises(AnswerError) as caught:
        jsonld.local(document if isinstance(document, bytes) else json.dumps(document).encode())
    assert "\n" not in str(caught.value)
    return caught.value


# Bundled contexts

DOCUMENTS = {
    "pod": (
        {
            "@context": POD,
            "@type": "dcat:Catalog",
            "dataset": {
                "title": "T",
                "modified": "2020-01-01",
                "contactPoint": {"fn": "N"},
                "publisher": {"name": "P"},
                "distribution": {"downloadURL": "https://a.org/1"},
                "accessLevel": "public",
            },
        },
        {
            *((RDF + "type", f"<{DCAT}Catalog>"), (DCAT + "dataset", "_"), (DCT + "title", "T")),
            *((DCT + "modified", "2020-01-01"), (DCAT + "contactPoint", "_"), (VCARD + "fn", "N")),
            *((DCT + "publisher", "_"), (SKOS + "prefLabel", "P"), (DCAT + "distribution", "_")),
            *((DCAT + "downloadURL", "<https://a.org/1>"),),
            *(("https://project-open-data.cio.gov/v1.1/schema#accessLevel", "public"),),
        },
    ),
    "dcat-us-3": (
        {
            "@context": "https://raw.githubusercontent.com/DOI-DO/dcat-us/main/context/dcat-us-3.0.jsonld",
            "@type": "Dataset",
            "titleMap": {"en": "T", "es": "U"},
            "contactPoint": {"@type": "Kind", "fn": "N", "hasEmail": "mailto:a@b.org"},
            "otherIdentifier": "http://a.org/2",
        },
        {
            *((RDF + "type", f"<{DCAT}Dataset>"), (DCT + "title", "T@en"), (DCT + "title", "U@es")),
            *((DCAT + "contactPoint", "_"), (RDF + "type", f"<{VCARD}Kind>"), (VCARD + "fn", "N")),
            *((VCARD + "hasEmail", "<mailto:a@b.org>"),),
            *(("http://www.w3.org/ns/adms#identifier", "<http://a.org/2>"),),
        },
    ),
    "schema.org": (
        {
            "@context": "https://schema.org/",
            "@type": "Dataset",
            "name": "T",
            "license": "https://a.org/l",
            "distribution": {"contentUrl": "https://a.org/1", "encodingFormat": "text/csv"},
        },
        {
            *((RDF + "type", f"<{SCHEMA}Dataset>"), (SCHEMA + "name", "T"), (SCHEMA + "license", "<https://a.org/l>")),
            *((SCHEMA + "distribution", "_"), (SCHEMA + "contentUrl", "<https://a.org/1>")),
            *((SCHEMA + "encodingFormat", "text/csv"),),
        },
    ),
    "dcat-ap-3": (
        {
            "@context": "https://semiceu.github.io/DCAT-AP/releases/3.0.0/context/dcat-ap.jsonld",
            "@type": "Catalogue",
            "dataset": {
                "title": {"@value": "T", "@language": "en"},
                "version": "2",
                "frequency": "http://a.org/DAILY",
                "datasetDistribution": {
                    "accessUrl": "http://a.org/1",
                    "byteSize": "12",
                    "checksum": {"checksumValue": "ab"},
                },
                "publisher": {"name": "P"},
            },
        },
        {
            *((RDF + "type", f"<{DCAT}Catalog>"), (DCAT + "dataset", "_"), (DCT + "title", "T@en")),
            *((DCAT + "version", "2"), (DCT + "accrualPeriodicity", "<http://a.org/DAILY>")),
            *((DCAT + "distribution", "_"), (DCAT + "accessURL", "<http://a.org/1>"), (DCAT + "byteSize", "12")),
            *((SPDX + "checksum", "_"), (SPDX + "checksumValue", "ab"), (DCT + "publisher", "_"), (FOAF + "name", "P")),
        },
    ),
    "dcat-ap-2": (
        {
            "@context": "https://raw.githubusercontent.com/SEMICeu/DCAT-AP/master/releases/2.0.1/dcat-ap_2.0.1.jsonld",
            "version": "2",
            "geographicalCoverage": "http://a.org/BE",
        },
        {(OWL + "versionInfo", "2"), (DCT + "spatial", "<http://a.org/BE>")},
    ),
    "hydra": (
        {
            "@context": ["http://www.w3.org/ns/hydra/context.jsonld", INLINE],
            "@type": "PartialCollectionView",
            "next": "?page=2",
            "t": "T",
        },
        {
            *((RDF + "type", f"<{HYDRA}PartialCollectionView>"), (HYDRA + "next", "<http://base.org/?page=2>")),
            *((DCT + "title", "T"),),
        },
    ),
    "dcat": (
        {"@context": "https://www.w3.org/ns/dcat.jsonld", "@type": "Dataset", "dct:title": "T", "keyword": ["a", "b"]},
        {(RDF + "type", f"<{DCAT}Dataset>"), (DCT + "title", "T"), (DCAT + "keyword", "a"), (DCAT + "keyword", "b")},
    ),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_bundled_context_gives_the_vocabulary_s_terms(name):
    document, expected = DOCUMENTS[name]
    assert triples(document) == expected


@pytest.mark.skipif(not FIXTURES.exists(), reason="no fixtures here")
def test_pod_says_what_the_original_says():
    original = json.loads((FIXTURES / "project-open-data/catalog.jsonld").read_bytes())["@context"]
    records = json.loads((FIXTURES / "GSA+datagov-harvester/dcatus/dcatus.json").read_bytes())
    assert records["@context"] == POD
    expected = parsed(json.dumps(records | {"@context": original}).encode())
    assert len(expected) > 50
    assert triples(records) == expected
    everything = dict.fromkeys(original, "http://a.org/1")
    assert triples({**everything, "@context": POD}) == parsed(json.dumps({**everything, "@context": original}).encode())


# Where contexts stand


def test_contexts_are_replaced_wherever_they_stand():
    document = {
        "@graph": [
            {"@context": "http://schema.org", "name": "1"},
            {"@context": [None, "https://schema.org", INLINE], "name": "2", "t": "3"},
            {"@context": [{"p": {"@id": "x:p", "@context": "http://schema.org/"}}], "p": {"name": "4"}},
            {"@context": {"p": {"@id": "x:p", "@context": ["http://schema.org/"]}}, "p": {"name": "5"}},
        ]
    }
    names = {(SCHEMA + "name", n) for n in "1245"}
    assert triples(document) == names | {(DCT + "title", "3"), ("x:p", "_")}


@pytest.mark.parametrize(
    "document",
    [
        {"@context": INLINE, "t": 'a "@context": "http://a.org" \\'},
        {"@context": [INLINE, {"p": "x:p"}], "t": "é"},
        {"@context": None, "@id": "x:y"},
        [{"@context": INLINE, "t": {"@value": "a", "@language": "en_GB"}}],
        {"name": "@context", "x": ["@context", "http://a.org"]},
        {},
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_document_that_names_none_stays_the_very_same(document, ascii_only):
    body = json.dumps(document, indent=1, ensure_ascii=ascii_only).encode()
    assert jsonld.local(body) is body


def test_only_the_context_changes():
    body = b'\xef\xbb\xbf {"@context" :\n "http:\\/\\/schema.org", "name" : "a", "name" : "b", "x": 1.50, '
    start, end = body.split(b'"http:\\/\\/schema.org"')
    local = jsonld.local(body)
    assert local.startswith(start)
    assert local.endswith(end)


# What is refused


@pytest.mark.parametrize(
    "context",
    [
        "%s/context.jsonld",
        "context.jsonld",
        "",
        "file:///etc/hostname",
        ["http://schema.org", "%s"],
        [{"a": {"@id": "x:a", "@context": "%s"}}],
        {"a": {"@id": "x:a", "@context": ["%s"]}},
        {"@version": 1.1, "@import": "%s"},
        "http://schema.org.evil.org/",
        "http://schema.org/" + "a" * 10_000,
        "http://evil.org/?schema.org",
        "ftp://schema.org",
    ],
)
def test_a_context_that_is_not_bundled_is_refused_and_never_fetched(context):
    with Site(lambda _: Answer(b'{"@context": {}}')) as site:
        error = refused(json.dumps({"@context": context}).replace("%s", site.url).encode())
        assert not site.asked
    assert error.kind == "remote_context"
    assert len(str(error)) < 500


def test_a_context_behind_an_escape_is_refused_by_the_parser():
    with Site(lambda _: Answer(b'{"@context": {}}')) as site:
        with pytest.raises(SyntaxError):
            triples(b'{"\\u0040context": "%s", "a": "b"}' % site.url.encode())
        assert not site.asked


@pytest.mark.parametrize("body", [b"", b" \n", b"<!DOCTYPE html><html>", b"Not found", b"\xff\xfe<\0h\0"])
def test_what_is_no_json_is_said(body):
    assert refused(body).kind == "not_json"


DEEP = {
    "objects": ('{"a":', "}"),
    "arrays": ("[", "]"),
    "lists": ('[{"@list":', "}]"),
    "contexts": ('{"@context":{"a":', "}}"),
    "behind strings": ('{"a\\"}]}]\\\\":', "}"),
    "between others": ('{"b":{"c":"}"},"a":', "}"),
}


@pytest.mark.parametrize("name", DEEP)
def test_what_is_nested_too_deep_is_refused(name):
    opening, closing = DEEP[name]
    for levels in (20_000, 100):
        assert refused(b'{"a":%b1%b}' % (opening.encode() * levels, closing.encode() * levels)).kind == "invalid_rdf"
        assert refused(b'{"a":%b' % (opening.encode() * levels)).kind == "invalid_rdf"
    accepted = b'{"a":%b1%b}' % (opening.encode() * 30, closing.encode() * 30)
    assert jsonld.local(accepted) is accepted


@pytest.mark.slow
def test_deep_nesting_kills_the_parser():
    """Which is why it is looked for before."""
    program = """import pyoxigraph
body = b'{"@context":{"@vocab":"x:"},"a":%b1%b}' % (b'{"a":' * 5000, b"}" * 5000)
list(pyoxigraph.parse(body, pyoxigraph.RdfFormat.JSON_LD))"""
    ended = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, timeout=HANG)
    assert ended.returncode < 0


def test_contexts_that_would_fill_the_memory_are_refused():
    record = b'{"@context":"http://schema.org"},'
    assert refused(b"[%b{}]" % (record * 100_000)).kind == "remote_context"


# What is repaired


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_other_encodings_are_read(encoding):
    text = json.dumps({"@context": INLINE, "t": "é家"}, ensure_ascii=False)
    assert triples(text.encode(encoding)) == {(DCT + "title", "é家")}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (b'"caf\xe9"', "caf�"),
        (b'"a\\ud800b"', "a�b"),
        (b'"a\\uDC00\\ud83d\\ude00\\ud83d"', "a�😀�"),
        (b'"\\\\ud800"', "\\ud800"),
        (b'{"@value": "a, NaN, -Infinity", "@annotation": NaN}', None),
        (b'["a, NaN, -Infinity", NaN, -Infinity ,Infinity]', "a, NaN, -Infinity"),
    ],
)
def test_values_that_no_parser_takes(value, read):
    body = b'{"@context": {"t": "%s"}, "t": %s}' % ((DCT + "title").encode(), value)
    local = jsonld.local(body)
    json.loads(local)
    if read is not None:
        assert parsed(local) == {(DCT + "title", read)}


def test_both_values_of_a_repeated_key_are_read():
    assert triples(b'{"@context": "http://schema.org", "name": "1", "name": "2"}') == {
        (SCHEMA + "name", "1"),
        (SCHEMA + "name", "2"),
    }


# Nodes of several types

TERMS = {"@version": 1.1, "x": "http://x.org/", "type": "@type"}
A = {"@id": "x:A", "@context": {"a": "x:a", "both": "x:of-a", "below": "x:below"}}
B = {"@id": "x:B", "@context": {"b": {"@id": "x:b", "@type": "@id"}, "both": "x:of-b"}}
VALUES = {"a": "1", "b": "http://b.org/", "both": "2"}
SAID = {("a", "1"), ("b", "<http://b.org/>"), ("of-b", "2")}
"""What both types make of the values: the last one counts, in the order of their names."""


def said(document) -> set[tuple[str, str]]:
    """What the document says with properties of x.org."""
    x = "http://x.org/"
    return {(property_.removeprefix(x), value) for property_, value in triples(document) if property_.startswith(x)}


@pytest.mark.parametrize(
    ("context", "node", "more"),
    [
        ([{"A": A, "B": B}], {"@type": ["A", "B"]}, set()),
        ([{"A": A, "B": B}], {"type": ["B", "x:C", "A"]}, set()),
        ([{"A": A}, {"B": B}], {"@type": ["A", "B"]}, set()),
        ([{"A": A, "B": {"@id": "x:B"}}], {"@context": {"B": B}, "@type": ["A", "B"]}, set()),
        ([{"kind": {"@id": "@type", "@container": "@set"}, "A": A, "B": B}], {"kind": ["A", "B"]}, set()),
        ([{"A": A, "x:B": B}], {"@type": ["A", "x:B"]}, set()),
        ([{"A": A, "B": B | {"@context": [{"both": "x:else"}, B["@context"]]}}], {"@type": ["A", "B"]}, set()),
        (
            [{"A": A, "B": B, "C": {"@id": "x:C", "@context": {"c": "x:c"}}}],
            {"@type": ["A", "B", "C"], "c": "3"},
            {("c", "3")},
        ),
        ([{"A": A, "B": B}], {"@type": ["A", "B"], "below": {"x:id": "4", **VALUES}}, {("below", "_"), ("id", "4")}),
        (
            [{"A": A, "B": B}],
            {"@type": ["A", "B"], "x:json": {"@type": "@json", "@value": {"@type": ["A", "B"]}}},
            {("json", '{"@type":["A","B"]}')},
        ),
        (
            [{"A": A, "B": B, "json": {"@id": "x:json", "@type": "@json"}}],
            {"@type": ["A", "B"], "json": [{"@type": ["A", "B"]}]},
            {("json", '[{"@type":["A","B"]}]')},
        ),
        (
            [{"A": A, "B": B}],
            {"@type": ["A", "B"], "x:number": 12345678901234567890123, "x:other": 1.50},
            {("number", "1.2345678901234567890123E22"), ("other", "1.5E0")},
        ),
    ],
)
def test_a_node_of_several_types_has_the_terms_of_all(context, node, more):
    """JSON-LD 1.1 applies the context of each type on that of the one before; the parser applies the last alone."""
    assert said({"@context": [TERMS, *context], "@graph": [{**node, **VALUES}]}) == SAID | more


@pytest.mark.parametrize(
    ("context", "node", "expected"),
    [
        ({"A": A, "B": B | {"@context": [None, TERMS, B["@context"]]}}, {}, SAID - {("a", "1")}),
        ({"A": A | {"@context": [None, TERMS, A["@context"]]}, "B": B}, {}, SAID),
        (
            {"A": A, "B": B | {"@context": [None, TERMS, {"below": "x:below"}]}},
            {"below": {"a": "3", "x:b": "4"}},
            {("below", "_"), ("b", "4")},
        ),
        ({"A": A, "B": B}, {"@context": {"A": "x:A"}}, SAID - {("a", "1")}),
        ({"A": A, "B": B}, {"@context": [None, TERMS | {"A": A, "B": "x:B"}]}, {("a", "1"), ("of-a", "2")}),
    ],
)
def test_contexts_that_are_reset_or_defined_anew_count_no_more(context, node, expected):
    node = {"@type": ["A", "B"], **node, **VALUES}
    assert said({"@context": [TERMS, context], "@graph": [node]}) == expected


def test_the_context_of_a_property_defines_the_types_below_it():
    context = {"A": A, "part": {"@id": "x:part", "@context": {"B": B}}}
    part = {"@type": ["A", "B"], **VALUES}
    assert said({"@context": [TERMS, context], "part": part}) == SAID | {("part", "_")}


@pytest.mark.parametrize("propagate", [{"A": False}, {"B": False}, {"A": False, "B": False}])
def test_types_whose_contexts_say_that_they_do_not_count_below_are_joined(propagate):
    scoped = {"A": A, "B": B}
    context = {
        name: term | {"@context": term["@context"] | ({"@propagate": False} if name in propagate else {})}
        for name, term in scoped.items()
    }
    node = {"@type": ["A", "B"], **VALUES, "below": {"a": "3", "x:b": "4"}}
    assert said({"@context": [TERMS, context], "@graph": [node]}) == SAID | {("below", "_"), ("b", "4")}


def test_types_that_a_context_defines_for_one_node_alone_are_none_below_it():
    alone = {"@propagate": False, "A": A, "B": B}
    part = {"@type": ["A", "B"], **VALUES}
    inner = {"@context": alone, "@type": ["A", "B"], **VALUES, "x:part": part}
    of_property = {"x:whole": {"@id": "x:whole", "@context": alone}}
    for document in (
        {"@context": [TERMS, {"A": "x:A", "B": "x:B"}], "@graph": [inner]},
        {"@context": [TERMS, {"A": "x:A", "B": "x:B"}, of_property], "x:whole": inner | {"@context": {}}},
    ):
        found = said(document)
        assert found - {("whole", "_")} == SAID | {("part", "_")}


def test_the_types_stay_as_they_are():
    document = {"@context": [TERMS, {"A": A, "B": B}], "@type": ["B", "A"]}
    assert triples(document) == {(RDF + "type", "<http://x.org/A>"), (RDF + "type", "<http://x.org/B>")}


@pytest.mark.parametrize(
    "body",
    [
        b'{"@context": {"A": {"@context": {}}, "B": {"@context": {}}}, "@type": ["A"], "k": ["A", "C"], "t": [1, 2]}',
        b'{"@context": {"A": {"@context": {}}, "B": {"@context": {}}}, "@type": ["A", "B"], "k": 1, "k": 2}',
        b'{"@context": {"A": {"@context": {}}, "B": {"@context": {}}}, "@type": ["A", "B"], "k": 1',
        b'{"@context": {"A": {"@context": {}}, "B": {"@context": {"@propagate": true}}}, "@type": ["A", "B"]}',
    ],
)
def test_what_needs_no_joining_or_can_not_be_joined_stays_the_very_same(body):
    assert jsonld.local(body) == body


def test_joined_contexts_that_would_fill_the_memory_are_refused():
    scoped = {f"T{number}": {"@context": {f"t{number}": "x:t"}} for number in range(400)}
    sets = [{"@type": list(scoped)[start:]} for start in range(300)]
    error = refused({"@context": {**TERMS, **scoped}, "@graph": sets})
    assert (error.kind, "terms of nodes of several types" in str(error)) == ("too_large", True)


@pytest.mark.slow
def test_joined_contexts_take_no_time():
    """Contexts that each node has or resets, long lists of types, keys that all mean a type."""
    scoped = {f"T{number}": {"@context": {f"t{number}": "x:t"}} for number in range(1000)}
    keys = {f"k{number}": "@type" for number in range(1000)}
    nodes = {
        "long lists": [{"@type": list(scoped)}] * 400,
        "contexts": [{"@context": [None, {"A": A, "B": B}], "@type": ["A", "B"]}] * 9_000,
        "keys": [{key: ["A", "B"] for key in keys}] * 100,
    }
    before = time.process_time()
    for graph in nodes.values():
        document = {
            "@context": {**TERMS, **keys, **scoped, "A": A, "B": B},
            "@graph": graph,
            "padding": " " * (8 << 20),
        }
        jsonld.local(json.dumps(document).encode())
    assert time.process_time() - before < 20


# Sizes


def test_a_large_document_takes_a_fraction_of_its_parsing():
    record = {"@id": "x:1", "t": 'A "title"\n', "d": [{"u": "https://a.org/1", "t": "some {text} é" * 20}] * 3}
    body = json.dumps({"@context": INLINE, "@graph": [record] * 15_000}, ensure_ascii=False).encode()
    before = time.process_time()
    assert jsonld.local(body) is body
    checked = time.process_time() - before
    before = time.process_time()
    assert parsed(body)
    assert checked < (time.process_time() - before) / 2
    assert checked < 1


def test_hostile_sizes_take_no_time():
    before = time.process_time()
    for body in (
        b"[" * 10**7,
        b"[%b1]" % (b"{},[]," * 10**6),
        b'[%b""]' % (b'"\\\\\\"",' * 10**6),
        b"[%b{}]" % (b'{"@context":[]},' * 10**5),
        b'{"@context":[%b' % (b"[" * 200 + b"]" * 200 + b",") * 1000,
        b'{"@context":"' + b"\\" * 10**6,
    ):
        with suppress(AnswerError):
            jsonld.local(body)
    assert time.process_time() - before < 10


def test_contexts_are_read_from_a_package_in_a_zip(tmp_path):
    """As scrapyd deploys it."""
    import zipfile  # noqa: PLC0415

    with zipfile.ZipFile(tmp_path / "egg.zip", "w") as egg:
        for path in (ROOT / "crawlers").rglob("*"):
            if path.suffix in (".py", ".jsonld", ".csv"):
                egg.write(path, path.relative_to(ROOT))
    program = "from crawlers.records.rdf import jsonld; print(jsonld.__file__, len(jsonld.context('dcat')))"
    path = str(Path(tmp_path / "egg.zip"))
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.startswith(path)
    assert int(ran.stdout.split()[1]) > 100


def test_coerced_values_have_their_datatypes():
    document = b'{"@context": "%s", "@id": "a:1", "modified": "2020-01-01"}' % POD.encode()
    [quad] = pyoxigraph.parse(jsonld.local(document), pyoxigraph.RdfFormat.JSON_LD)
    assert quad.object.datatype.value == XSD + "date"
