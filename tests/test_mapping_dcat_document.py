"""Descriptions as JSON-LD: the same triples in two processors, the same bytes whatever the order and the labels."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable
from itertools import pairwise, permutations
from pathlib import Path
from time import process_time
from typing import Any

import pyoxigraph
import pytest
import rdflib
from pyoxigraph import CanonicalizationAlgorithm, RdfFormat
from rdflib.compare import to_canonical_graph

from crawlers.records.rdf.dcat_context import PREFIXES, TERMS
from crawlers.records.rdf.document import MAX_DEPTH, document, graph_of
from crawlers.records.rdf.graphs import graph, rdflib_graph, sound
from crawlers.records.rdf.terms import (
    DCAT,
    DCT,
    FOAF,
    RDF,
    RDFS,
    SPDX,
    TYPE,
    VCARD,
    XSD,
    Graph,
    Literal,
    Node,
    Term,
    is_blank,
)
from tests.conftest import slow_but

pytestmark = pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")  # rdflib's own use

ROOT = "http://example.org/dataset/1"
REAL = Path(__file__).parents[2] / "shared" / "fixtures"
FORMATS = {
    ".rdf": RdfFormat.RDF_XML,
    ".xml": RdfFormat.RDF_XML,
    ".ttl": RdfFormat.TURTLE,
    ".jsonld": RdfFormat.JSON_LD,
    ".n3": RdfFormat.N3,
    ".nt": RdfFormat.N_TRIPLES,
}


def oxigraph_term(term: Term) -> Any:
    if isinstance(term, Literal):
        if term.language:
            return pyoxigraph.Literal(term.value, language=term.language)
        return pyoxigraph.Literal(term.value, datatype=pyoxigraph.NamedNode(term.datatype or XSD + "string"))
    return pyoxigraph.BlankNode("n" + term[2:]) if is_blank(term) else pyoxigraph.NamedNode(term)


def triples(description: Graph) -> list[tuple[str, str, Term]]:
    return [
        (subject, predicate, value)
        for subject, node in description.items()
        for predicate, values in node.items()
        for value in values
    ]


def canonical(quads: Any) -> list[str]:
    """Equal for isomorphic graphs."""
    held = pyoxigraph.Dataset(
        pyoxigraph.Quad(quad.subject, quad.predicate, quad.object, pyoxigraph.DefaultGraph()) for quad in quads
    )
    held.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return sorted(map(str, held))


def canonical_description(description: Graph) -> list[str]:
    return canonical(pyoxigraph.Triple(*map(oxigraph_term, one)) for one in triples(description))


def by_oxigraph(written: bytes, *, lenient: bool) -> list[str]:
    return canonical(pyoxigraph.parse(written, format=RdfFormat.JSON_LD, lenient=lenient))


@pytest.fixture(autouse=True)
def _as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps rdflib from writing 7 for 007."""
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", False)


def by_rdflib(written: bytes) -> list[str]:
    found = to_canonical_graph(rdflib.Graph().parse(data=written, format="json-ld"))
    return canonical_description(graph(found))


def written(description: Graph, subject: str = ROOT) -> bytes:
    return json.dumps(document(description, subject), ensure_ascii=False).encode()


def check(description: Graph, subject: str = ROOT) -> dict[str, Any]:
    """A sound description comes back from both processors."""
    found = written(description, subject)
    expected = canonical_description(description)
    assert by_oxigraph(found, lenient=False) == expected
    assert by_rdflib(found) == expected
    result: dict[str, Any] = json.loads(found)
    assert canonical_description(graph_of(result)) == expected
    assert_context_is_used(result)
    return result


def assert_context_is_used(found: dict[str, Any]) -> None:
    body = json.dumps({key: value for key, value in found.items() if key != "@context"})
    for name in found["@context"]:
        assert f'"{name}": ' in body or f'"{name}:' in body


def one(predicate: str, *values: Term, **more: Node) -> Graph:
    return {ROOT: {predicate: list(values)}, **more}


RICH: Graph = {
    ROOT: {
        DCAT + "distribution": ["http://example.org/file/2", "http://example.org/file/1"],
        DCT + "title": [Literal("Pluie", "fr"), Literal("Rain", "en")],
        DCAT + "keyword": [Literal("water"), Literal("rain")],
        DCT + "publisher": ["http://example.org/office"],
        DCT + "creator": ["http://example.org/office"],
        DCT + "temporal": ["_:when"],
        DCT + "issued": [Literal("2020-01-01", None, XSD + "date")],
        DCAT + "landingPage": ["http://example.org/rain"],
        DCAT + "theme": [Literal("weather")],
        "http://example.org/own#rule": [Literal("x")],
        DCAT + "unheard": [Literal("y")],
        TYPE: [DCAT + "Dataset"],
    },
    "http://example.org/office": {TYPE: [FOAF + "Agent"], FOAF + "name": [Literal("Office")]},
    "http://example.org/file/1": {DCAT + "byteSize": [Literal("1.0", None, XSD + "decimal")]},
    "http://example.org/file/2": {TYPE: [DCAT + "Distribution"], DCT + "publisher": ["http://example.org/office"]},
    "_:when": {DCAT + "startDate": [Literal("2020", None, XSD + "gYear")]},
}  # fmt: skip


def test_a_rich_description_reads_well() -> None:
    found = check(RICH)
    context = found.pop("@context")
    assert list(found) == [
        "@id", "@type", "title", "keyword", "theme", "issued", "landingPage", "publisher", "creator", "temporal",
        "distribution", "dcat:unheard", "http://example.org/own#rule",
    ]  # fmt: skip
    assert found["@type"] == "dcat:Dataset"
    assert found["title"] == [{"@language": "en", "@value": "Rain"}, {"@language": "fr", "@value": "Pluie"}]
    assert found["keyword"] == ["rain", "water"]
    assert found["theme"] == {"@value": "weather"}
    assert found["issued"] == {"@type": "xsd:date", "@value": "2020-01-01"}
    assert found["landingPage"] == "http://example.org/rain"
    assert found["publisher"] == {"@id": "http://example.org/office", "@type": "foaf:Agent", "name": "Office"}
    assert found["creator"] == "http://example.org/office"
    assert found["temporal"] == {"startDate": {"@type": "xsd:gYear", "@value": "2020"}}
    assert [file["@id"][-1] for file in found["distribution"]] == ["1", "2"]
    assert found["distribution"][0]["byteSize"] == {"@type": "xsd:decimal", "@value": "1.0"}
    assert list(context)[:4] == ["dcat", "foaf", "xsd", "title"]
    assert context["landingPage"] == {"@id": DCAT + "landingPage", "@type": "@id"}


def test_every_term_of_the_context_is_read_as_its_property() -> None:
    node: Node = {iri: ["http://example.org/a", Literal("a")] for iri in TERMS}
    node |= {namespace + "Unknown": [Literal(prefix)] for prefix, namespace in PREFIXES.items()}
    found = check({ROOT: node})
    assert not [key for key in found if "://" in key]


@pytest.mark.parametrize("kind", ["JSON", "XMLLiteral", "HTML"])
def test_datatypes_of_rdf_itself(kind: str) -> None:
    check(one(DCT + "title", Literal('{ "a": 1.0 }', None, RDF + kind)))


@pytest.mark.parametrize(
    ("text", "kind"), [("007", "integer"), ("1", "boolean"), ("1E0", "double"), ("x", "integer"), ("1.0", "decimal")]
)
def test_lexical_forms_are_kept(text: str, kind: str) -> None:
    found = document(one(DCAT + "byteSize", Literal(text, None, XSD + kind)), ROOT)
    assert found["byteSize"] == {"@type": f"xsd:{kind}", "@value": text}
    assert graph_of(found) == one(DCAT + "byteSize", Literal(text, None, XSD + kind))


def test_texts_that_look_like_something_else() -> None:
    texts = ["", "@id", "@none", "dct:title", "_:b0", "http://example.org/", "title", "a\r\n\x00\u2028", "\U0001f600"]
    for predicate in (DCT + "title", DCAT + "landingPage", TYPE):
        check(one(predicate, *map(Literal, texts), *(Literal(text, "en") for text in texts)))


def test_xsd_string_is_plain_text() -> None:
    assert document(one(DCT + "title", Literal("a", None, XSD + "string")), ROOT)["title"] == "a"


@pytest.mark.parametrize("scheme", ["dct", "title", "dcat", "xsd", "rdf", "landingPage"])
@pytest.mark.parametrize("rest", ["foo", "//foo", "", "title"])
def test_iris_whose_scheme_is_a_prefix_or_a_term(scheme: str, rest: str) -> None:
    iri = f"{scheme}:{rest}"
    said: Node = {DCT + "title": [Literal("a", None, XSD + "date"), Literal("b", None, iri)], DCT + "creator": [iri]}
    check({ROOT: {**said, TYPE: [iri, DCAT + "Dataset"], iri: [iri]}, iri: {**said, TYPE: [Literal("c")]}}, iri)


@pytest.mark.parametrize(
    "iri", ["urn:uuid:1", "mailto:a@example.org", "tag:a", "HTTP://Example.ORG/../b", "a:@b", "x:/y#"]
)
def test_other_iris(iri: str) -> None:
    check({ROOT: {DCT + "source": [iri], iri: [iri], TYPE: [iri]}, iri: {RDFS + "seeAlso": [iri]}}, iri)


def test_a_type_that_is_no_iri() -> None:
    labelled: Node = {RDFS + "label": [Literal("b")]}
    found = check(one(TYPE, Literal("Dataset"), "_:a", DCAT + "Dataset", **{"_:a": labelled}))
    assert found["@type"] == "dcat:Dataset"
    assert found["rdf:type"] == ["Dataset", {"label": "b"}]


def test_a_type_that_is_described() -> None:
    found = check({ROOT: {TYPE: [DCAT + "Dataset"]}, DCAT + "Dataset": {RDFS + "label": [Literal("b")]}})
    assert found["@included"] == [{"@id": DCAT + "Dataset", "label": "b"}]


def test_blank_nodes_have_a_label_only_where_one_is_needed() -> None:
    description: Graph = {
        ROOT: {
            DCT + "publisher": ["_:z"],
            DCT + "creator": ["_:z"],
            DCT + "temporal": ["_:y"],
            DCT + "spatial": ["_:x"],
        },
        "_:z": {FOAF + "name": [Literal("shared")]},
        "_:x": {DCT + "relation": ["_:x"]},
    }
    found = check(description)
    assert found["publisher"] == {"@id": "_:b0", "name": "shared"}
    assert found["creator"] == "_:b0"
    assert found["temporal"] == {}
    assert found["spatial"] == {"@id": "_:b1", "relation": "_:b1"}


def test_the_dataset_may_be_a_blank_node() -> None:
    assert "@id" not in check({"_:d": {DCT + "title": [Literal("a")]}}, "_:d")
    assert check({"_:d": {DCT + "title": [Literal("a")], DCT + "source": ["_:d"]}}, "_:d")["source"] == "_:b0"


def test_nothing_is_said_of_the_dataset() -> None:
    assert document({}, ROOT) == {"@context": {}, "@id": ROOT}
    assert check({"_:c": {DCAT + "dataset": [ROOT]}})["@included"] == [{"dataset": ROOT}]


def test_what_cannot_be_reached_stands_beside() -> None:
    description: Graph = {
        ROOT: {DCT + "title": [Literal("a")]},
        "http://example.org/record": {FOAF + "primaryTopic": [ROOT], DCT + "source": ["_:a"]},
        "_:a": {RDFS + "label": [Literal("in the record")]},
        "http://example.org/a": {DCT + "source": ["http://example.org/b"]},
        "http://example.org/b": {DCT + "source": ["_:b"]},
        "_:r": {FOAF + "primaryTopic": [ROOT]},
        "_:c1": {DCT + "relation": ["_:c2"]},
        "_:c2": {DCT + "relation": ["_:c1"]},
    }
    assert check(description)["@included"] == [
        {"@id": "http://example.org/a", "source": {"@id": "http://example.org/b", "source": {}}},
        {"@id": "http://example.org/record", "source": {"label": "in the record"}, "primaryTopic": ROOT},
        {"primaryTopic": ROOT},
        {"@id": "_:b0", "relation": {"relation": "_:b0"}},
    ]


def list_of(*values: Term, end: str = RDF + "nil") -> Graph:
    cells = [f"_:cell{number}" for number in range(len(values))]
    return {
        cell: {RDF + "first": [value], RDF + "rest": [rest]}
        for cell, value, rest in zip(cells, values, (*cells[1:], end), strict=True)
    }


def test_lists() -> None:
    found = check(one(DCT + "creator", "_:cell0", **list_of(Literal("b"), "http://example.org/a", "_:c", Literal("b"))))
    assert found["creator"] == {"@list": [{"@value": "b"}, "http://example.org/a", {}, {"@value": "b"}]}
    nested = list_of("_:inner")
    nested["_:inner"] = {RDF + "first": [Literal("x")], RDF + "rest": [RDF + "nil"]}
    check(one(DCT + "creator", "_:cell0", **nested))
    assert check(one(DCT + "creator", RDF + "nil"))["creator"] == RDF + "nil"


@pytest.mark.parametrize(
    "cells",
    [
        list_of(Literal("a"), Literal("b"), end="_:cell0"),
        list_of(Literal("a"), Literal("b"), end="_:cell1"),
        list_of(Literal("a"), Literal("b"), end="_:none"),
        list_of(Literal("a"), Literal("b"), end=ROOT),
        {"_:cell0": {RDF + "first": [Literal("a"), Literal("b")], RDF + "rest": [RDF + "nil"]}},
        {"_:cell0": {RDF + "first": [Literal("a")], RDF + "rest": [RDF + "nil"], TYPE: [RDF + "List"]}},
        {"_:cell0": {RDF + "first": [Literal("a")], RDF + "rest": [Literal("b")]}},
        {**list_of(Literal("a")), "http://example.org/other": {DCT + "source": ["_:cell0"]}},
    ],
)
def test_what_is_no_list_is_written_plainly(cells: Graph) -> None:
    found = check(one(DCT + "creator", "_:cell0", **cells))
    assert "@list" not in json.dumps(found)
    check(cells, "_:cell0")


def test_equal_lists_as_values() -> None:
    def cell(value: str) -> dict[str, list[Term]]:
        return {RDF + "first": [Literal(value)], RDF + "rest": [RDF + "nil"]}

    found = check(one(DCT + "creator", "_:a", "_:b", **{"_:a": cell("2"), "_:b": cell("1")}))
    assert found["creator"] == [{"@list": [{"@value": "1"}]}, {"@list": [{"@value": "2"}]}]


def test_what_rdf_does_not_allow_is_mended() -> None:
    odd: Graph = {
        "http://example.org/a b": {
            DCT + "title": [Literal("a", "en_GB"), Literal("b", "in English"), Literal("c", None, "date")],
            DCT + "description": [Literal("\ud83d")],
            DCAT + "landingPage": ["http://example.org/{x}|<y>"],
        },
        "http://example.org/a%20b": {DCT + "title": [Literal("a", "en-GB")]},
    }
    found = check(sound(odd), "http://example.org/a%20b")
    assert written(odd, "http://example.org/a b") == json.dumps(found, ensure_ascii=False).encode()
    assert found["title"] == ["b", "c", {"@language": "en-GB", "@value": "a"}]
    assert found["description"] == "\ufffd"
    assert found["landingPage"] == "http://example.org/%7Bx%7D%7C%3Cy%3E"
    assert sound(sound(odd)) == sound(odd)


@pytest.mark.parametrize(
    ("odd", "mended"),
    [
        ("http://example.org/a b", "http://example.org/a%20b"),
        (Literal("a", "en_GB"), Literal("a", "en-GB")),
        (Literal("a", "123"), Literal("a")),
        (Literal("a", None, "_:a"), Literal("a")),
        (Literal("a", None, "date"), Literal("a")),
        (Literal("\ud83d"), Literal("\ufffd")),
    ],
)
def test_one_odd_value_is_enough(odd: Term, mended: Term) -> None:
    assert written(one(DCT + "title", odd)) == written(one(DCT + "title", mended))
    check(one(DCT + "title", mended))


@pytest.mark.parametrize("iri", ["title", "", "a/b", "../a", "?q", "#f", ":a", "//a/b", "@id", "@foo", "@", "1:a"])
def test_relative_iris_clash_with_nothing(iri: str) -> None:
    description: Graph = {
        ROOT: {DCT + "title": [Literal("a"), iri], DCT + "creator": [iri], TYPE: [iri, DCAT + "Dataset"], iri: [iri]},
        iri: {DCT + "title": [Literal("b")]},
    }
    again = graph_of(document(description, ROOT))
    assert sorted(map(repr, triples(again))) == sorted(map(repr, triples(sound(description))))


def test_properties_that_no_context_explained() -> None:
    """pyoxigraph, when lenient, hands the bare keys of JSON-LD on."""
    found = document(
        {
            ROOT: {"rights": [Literal("a")], DCT + "relation": ["_:a"]},
            "_:a": {DCT + "rights": [Literal("b")], "accessLevel": [Literal("c")]},
        },
        ROOT,
    )
    assert found["rights"] == "a"
    assert found["relation"] == {"accessLevel": "c", "dct:rights": "b"}
    said = [(predicate, value) for _, predicate, value in triples(graph_of(found)) if isinstance(value, Literal)]
    assert sorted(said) == [("accessLevel", Literal("c")), (DCT + "rights", Literal("b")), ("rights", Literal("a"))]


def test_every_pair_of_odd_terms_is_survived() -> None:
    terms = ["", "_:", "_:a b", "@", ":", " ", "\x00", "\ud800", "é", "http://[", "a b", "rdf:type", TYPE, RDF + "nil"]
    for first in terms:
        for second in terms:
            values: list[Term] = [second, Literal(second, first), Literal(first, None, second), second]
            description: Graph = {first: {second: values, first: []}, second: {first: values, TYPE: values}}
            graph_of(document(description, first))
            graph_of(document(description, "http://example.org/elsewhere"))


def random_term(choice: random.Random, subjects: list[str]) -> Term:
    text = choice.choice(["a", "b", "1", "http://example.org/a", "dct:a", "é"])
    language = choice.choice(["en", "en-GB", "fr"])
    datatype = choice.choice([XSD + "date", XSD + "anyURI", "http://example.org/own"])
    terms: list[Term] = [Literal(text), Literal(text, language), Literal(text, None, datatype)]
    return choice.choice([*terms, *choice.choices(subjects, k=5)])


def random_description(seed: int) -> Graph:
    choice = random.Random(seed)
    blanks = [f"_:x{number}" for number in range(choice.randrange(6))]
    subjects = [ROOT, "http://example.org/a", "urn:uuid:1", RDF + "nil", *blanks]
    predicates = [DCT + "title", DCT + "creator", DCAT + "unheard", "http://example.org/own", TYPE]
    predicates += choice.choice([[], [RDF + "first", RDF + "rest"]])
    found: Graph = {}
    for _ in range(choice.randrange(20)):
        values = found.setdefault(choice.choice(subjects), {}).setdefault(choice.choice(predicates), [])
        if (value := random_term(choice, subjects)) not in values:
            values.append(value)
    return found


def shuffled(description: Graph, choice: random.Random) -> Graph:
    """The same triples in another order, the blank nodes under other names."""
    blanks = sorted({str(term) for fact in triples(description) for term in fact if is_blank(term)})
    names = [f"_:y{number}" for number in range(len(blanks))]
    facts = triples(with_labels(description, dict(zip(blanks, choice.sample(names, len(names)), strict=True))))
    choice.shuffle(facts)
    found: Graph = {}
    for subject, predicate, value in facts:
        found.setdefault(subject, {}).setdefault(predicate, []).append(value)
    return found


@pytest.mark.parametrize("seed", range(0, 400, 100))
def test_random_descriptions_come_back(seed: int) -> None:
    for one_seed in range(seed, seed + 100):
        check(random_description(one_seed))


def test_order_and_labels_do_not_count() -> None:
    choice = random.Random(4)
    for seed in range(400):
        description = random_description(seed)
        expected = written(description)
        for _ in range(5):
            assert written(shuffled(description, choice)) == expected, seed


def blanks_only(edges: list[tuple[int, int]]) -> Graph:
    found: Graph = {}
    for start, end in edges:
        found.setdefault(f"_:x{start}", {}).setdefault(DCT + "relation", []).append(f"_:x{end}")
    found[ROOT] = {DCT + "relation": sorted({f"_:x{end}" for edge in edges for end in edge})}
    return found


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1), (1, 0), (2, 3), (3, 2)],
        [(0, 2), (1, 3)],
        [(0, 1), (1, 2), (2, 0)],
        [(0, 2), (0, 3), (1, 3), (1, 4), (2, 4), (2, 0), (3, 0), (3, 1), (4, 1), (4, 2)],
        [(start, (start + 1) % 6) for start in range(6)],
        [(start, (start + 1) % 3 + start // 3 * 3) for start in range(6)],
        [(0, 0), (1, 2), (2, 1)],
    ],
    ids=["two-circles", "two-pairs", "triangle", "five", "six", "two-triangles", "itself"],
)
def test_symmetric_blank_nodes(edges: list[tuple[int, int]]) -> None:
    description = blanks_only(edges)
    choice = random.Random(5)
    check(description)
    assert len({written(shuffled(description, choice)) for _ in range(50)}) == 1


def test_two_shared_pairs_are_told_apart_together() -> None:
    description: Graph = {
        ROOT: {DCT + "creator": ["_:a", "_:b"], DCT + "source": ["_:c", "_:d"]},
        "_:a": {DCT + "relation": ["_:c"]},
        "_:b": {DCT + "relation": ["_:d"]},
    }
    names = ["_:a", "_:b", "_:c", "_:d"]
    renamed = [dict(zip(names, other, strict=True)) for other in permutations(names)]
    assert len({written(with_labels(description, new)) for new in renamed}) == 1


def with_labels(description: Graph, names: dict[str, str]) -> Graph:
    return {
        names.get(subject, subject): {
            predicate: [value if isinstance(value, Literal) else names.get(value, value) for value in values]
            for predicate, values in node.items()
        }
        for subject, node in description.items()
    }


def depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return max(map(depth, value), default=0) if isinstance(value, list) else 0


def chain(length: int, name: str) -> Graph:
    nodes = [ROOT, *(name + str(number) for number in range(length))]
    return {one: {DCT + "relation": [other]} for one, other in pairwise(nodes)}


@pytest.mark.parametrize("name", ["_:n", "http://example.org/n"])
def test_depth_is_bounded(name: str) -> None:
    found = check(chain(100, name))
    assert depth(found) <= MAX_DEPTH + 4
    assert depth(document(chain(10_000, name), ROOT)) <= MAX_DEPTH + 4


def wide(count: int, *, shared: bool = False) -> Graph:
    blanks: list[Term] = [f"_:{number}" for number in range(count)]
    found: Graph = {ROOT: {DCT + "relation": blanks}, **{str(one): {DCT + "title": [Literal("a")]} for one in blanks}}
    if shared:
        found[ROOT][DCT + "source"] = blanks
    return found


HUGE: dict[str, Callable[[], Graph]] = {
    "chain": lambda: chain(10_000, "_:n"),
    "values": lambda: one(DCT + "title", *(Literal(str(number)) for number in range(15_000))),
    "odd values": lambda: one(DCT + "title", *(Literal(str(number), "en_GB") for number in range(15_000))),
    "blank nodes": lambda: wide(15_000),
    "shared blank nodes": lambda: wide(15_000, shared=True),
    "circle": lambda: {**chain(10_000, "_:n"), "_:n9999": {DCT + "relation": ["_:n0"]}},
    "ring": lambda: blanks_only([(start, (start + 1) % 5000) for start in range(5000)]),
    "list": lambda: one(DCT + "creator", "_:cell0", **list_of(*map(Literal, map(str, range(10_000))))),
    "broken list": lambda: one(
        DCT + "creator", "_:cell0", **list_of(*map(Literal, map(str, range(10_000))), end="_:x")
    ),
}


@pytest.mark.parametrize("name", slow_but({"chain", "circle", "list", "values"}.__contains__, HUGE))
def test_huge_descriptions_take_no_longer_than_their_size(name: str) -> None:
    huge = HUGE[name]()
    start = process_time()
    found = document(huge, ROOT)
    assert process_time() - start < 10  # quadratic would take minutes
    text = json.dumps(found).encode()
    count = sum(1 for _ in pyoxigraph.parse(text, format=RdfFormat.JSON_LD))
    assert count == len(triples(huge))


def typical(number: int) -> Graph:
    subject = f"http://example.org/dataset/{number}"
    files = [f"{subject}/file/{file}" for file in range(5)]
    found: Graph = {
        subject: {
            TYPE: [DCAT + "Dataset"],
            DCT + "title": [Literal(f"Rain {number}", "en"), Literal(f"Pluie {number}", "fr")],
            DCT + "description": [Literal("Hourly rain at every station. " * 10, "en")],
            DCAT + "keyword": [Literal("rain"), Literal("water"), Literal("weather")],
            DCAT + "theme": ["http://publications.europa.eu/resource/authority/data-theme/ENVI"],
            DCT + "issued": [Literal("2020-01-01", None, XSD + "date")],
            DCT + "publisher": ["http://example.org/office"],
            DCAT + "contactPoint": ["_:contact"],
            DCT + "temporal": ["_:when"],
            DCAT + "distribution": list(files),
        },
        "http://example.org/office": {TYPE: [FOAF + "Agent"], FOAF + "name": [Literal("Office")]},
        "_:contact": {
            TYPE: [VCARD + "Organization"],
            VCARD + "fn": [Literal("Us")],
            VCARD + "hasEmail": ["mailto:a@b.org"],
        },
        "_:when": {DCAT + "startDate": [Literal("2020", None, XSD + "gYear")]},
        "_:sum": {SPDX + "checksumValue": [Literal("00ff", None, XSD + "hexBinary")]},
    }
    for file in files:
        found[file] = {
            TYPE: [DCAT + "Distribution"],
            DCT + "title": [Literal("As CSV")],
            DCAT + "downloadURL": [f"{file}.csv"],
            DCT + "format": ["http://publications.europa.eu/resource/authority/file-type/CSV"],
            DCT + "license": ["http://creativecommons.org/licenses/by/4.0/"],
        }
    found[files[0]][SPDX + "checksum"] = ["_:sum"]
    return found


def test_speed() -> None:
    descriptions = [(typical(number), f"http://example.org/dataset/{number}") for number in range(1000)]
    start = process_time()
    for description, subject in descriptions:
        document(description, subject)
    assert process_time() - start < 1.5  # about 0.1 s on a quiet machine
    check(*descriptions[0])


def closure(nodes: Graph, subject: str) -> Graph:
    """What can be reached, without other datasets."""
    found: Graph = {}
    waiting = [subject]
    while waiting:
        name = waiting.pop()
        if name in found or name not in nodes or (name != subject and DCAT + "Dataset" in nodes[name].get(TYPE, [])):
            continue
        found[name] = nodes[name]
        waiting += [value for values in nodes[name].values() for value in values if isinstance(value, str)]
    return found


def real_files() -> list[Path]:
    return sorted(path for path in REAL.rglob("*") if path.suffix in FORMATS) if REAL.exists() else []


def read(path: Path) -> Graph:
    parsed = []
    try:
        for quad in pyoxigraph.parse(
            path.read_bytes(), format=FORMATS[path.suffix], base_iri="http://example.org/", lenient=True
        ):
            parsed.append(quad)  # noqa: PERF402 - what comes before an error counts
    except SyntaxError:
        pass
    return graph(parsed)


@pytest.mark.skipif(not REAL.exists(), reason="the real inputs are not here")
def test_real_descriptions_come_back(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    count = 0
    for path in real_files():
        nodes = read(path)
        for subject, node in nodes.items():
            if DCAT + "Dataset" in node.get(TYPE, []):
                description = sound(closure(nodes, subject))
                root = next(iter(description))
                for predicates in description.values():  # keys of JSON-LD that no context explains
                    for predicate in [predicate for predicate in predicates if ":" not in predicate]:
                        del predicates[predicate]
                found = check(description, root)
                assert found.get("@type"), path
                count += 1
    assert count > 20


def test_a_document_as_an_rdflib_graph() -> None:
    """The same triples, literals as they were written; graphs of several documents don't share blank nodes."""
    body = b"""<http://a.org/1> <http://a.org/p> "007"^^<http://www.w3.org/2001/XMLSchema#integer>, "so"@en, "it",
        [ <http://a.org/q> _:x ], _:x . _:x <http://a.org/q> <http://a.org/2> ."""
    nodes = graph(pyoxigraph.parse(body, RdfFormat.TURTLE))
    made = rdflib_graph(graph_of(document(nodes, "http://a.org/1")))
    assert '"007"^^<http://www.w3.org/2001/XMLSchema#integer>' in made.serialize(format="nt")
    assert made.isomorphic(rdflib_graph(nodes))
    assert len(made + rdflib_graph(nodes)) == len(made) + 4, "the triples of the blank nodes"


def test_what_rdflib_refuses_is_repaired() -> None:
    made = rdflib_graph({"http://a.org/1 2": {"http://a.org/is": [Literal("so", "en_GB"), Literal("it", "?")]}})
    assert {value.language for value in made.objects()} == {"en-GB", None}
    assert [str(name) for name in made.subjects(unique=True)] == ["http://a.org/1%202"]
