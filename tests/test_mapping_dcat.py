"""DCAT in RDF into items: a golden for each rule, in any order of the triples, and hostile descriptions."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from time import process_time
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.exceptions import AnswerError
from crawlers.records.dcat import dataset, identity
from crawlers.records.rdf.terms import DCAT, DCT, FOAF, PROV, RDFS, SPDX, TYPE, Graph, Literal, Node, Term, is_blank
from crawlers.records.record import FLAWS
from tests.conftest import as_json
from tests.golden import inputs, is_dataset, read_graph, triples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlers.items import Dataset

CASES = inputs("dcat")
IRI = "https://data.example.org/dataset"


def one(**predicates: list[Term]) -> Graph:
    node: Node = {DCT + name: terms for name, terms in predicates.items()}
    return {IRI: {DCT + "title": [Literal("Wells")], **node}}


def mapped(description: Graph, language: str | None = None) -> Dataset:
    return dataset(description, IRI, source="example", language=language)


def shuffled(description: Graph, seed: int) -> Graph:
    """The same graph in another order, its blank nodes under other names."""
    chance = random.Random(seed)
    blank = [subject for subject in description if is_blank(subject)]
    names = dict(zip(blank, chance.sample([f"_:x{number}" for number in range(len(blank))], len(blank)), strict=True))

    def term(value: Any) -> Any:
        return names.get(value, value) if isinstance(value, str) else value

    triples = [
        (term(subject), predicate, term(value))
        for subject, node in description.items()
        for predicate, values in node.items()
        for value in values
    ]
    chance.shuffle(triples)
    found: Graph = {}
    for subject, predicate, value in triples:
        found.setdefault(subject, {}).setdefault(predicate, []).append(value)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_the_order_of_the_source_does_not_count(case: str) -> None:
    given = triples(case)
    expected = read_graph(given)
    for seed in range(20):
        assert read_graph(shuffled(given, seed)) == expected


LANGUAGES = {
    None: "plain",
    "de": "Brunnen",
    "de-AT": "Brunnen",
    "pt": "Poços",
    "en": "Wells",
    "EN": "Wells",
    "fr": "plain",
}


@pytest.mark.parametrize(("language", "expected"), LANGUAGES.items())
def test_the_language_asked_for_comes_first(language: str | None, expected: str) -> None:
    titles = [Literal("Poços", "pt-BR"), Literal("Wells", "en"), Literal("Brunnen", "de"), Literal("plain")]
    assert mapped(one(title=[*titles]), language).title == expected


def test_the_language_reaches_what_is_inside() -> None:
    words: list[Term] = [Literal("English", "en"), Literal("Deutsch", "de")]
    nested: Node = {RDFS + "label": words, DCT + "title": words, DCT + "description": words}
    given = one(provenance=["_:a"], rights=["_:a"], license=["_:a"], publisher=["_:a"], conformsTo=["_:a"])
    given |= {"_:a": nested, IRI: {**given[IRI], DCAT + "distribution": ["_:a"]}}
    item = mapped(given, "de")
    (resource,) = item.resources
    assert item.publisher
    assert item.license
    found = {item.provenance, item.rights, item.license.title, item.publisher.name, *item.conforms_to}
    assert found | {resource.title, resource.description} == {"Deutsch"}


@pytest.mark.parametrize(("days", "is_kept"), [(-1, True), (1, True), (3, False)])
def test_tomorrow_has_begun_somewhere(days: int, is_kept: bool) -> None:
    day = (datetime.now(UTC) + timedelta(days=days)).date().isoformat()
    item = mapped(one(modified=[Literal(day)]))
    assert (item.modified, bool(item.flaws)) == ((day, False) if is_kept else (None, True))


def test_a_dataset_without_an_identity() -> None:
    given: Graph = {"_:b0": {DCT + "title": [Literal("Wells")]}}
    assert identity(given, "_:b0") is None
    with pytest.raises(AnswerError, match="neither an identifier nor an IRI") as error:
        dataset(given, "_:b0", source="example")
    assert error.value.kind == "missing_id"


def test_an_iri_is_the_identity_of_what_is_not_described() -> None:
    assert identity({}, IRI) == IRI
    assert mapped({}).flaws == ["the dataset has no title"]


def test_ids_of_distributions_stay_when_others_come_and_go() -> None:
    first: Node = {DCAT + "accessURL": ["https://example.org/1"], DCT + "title": [Literal("One", "en")]}
    other: Node = {DCAT + "accessURL": ["https://example.org/0"], DCT + "title": [Literal("Nil")]}
    alone: Graph = {IRI: {DCAT + "distribution": ["_:1"]}, "_:1": first}
    beside: Graph = {IRI: {DCAT + "distribution": ["_:0", "_:1"]}, "_:0": other, "_:1": first}
    id_ = mapped(alone).resources[0].id
    assert [resource.id for resource in mapped(beside, "de").resources][1] == id_
    elsewhere = dataset({"urn:b": alone[IRI], "_:1": first}, "urn:b", source="example")
    assert elsewhere.resources[0].id != id_


def test_ids_of_distributions_are_unique() -> None:
    twins: Graph = {f"_:{number}": {DCT + "identifier": [Literal("a")]} for number in range(3)}
    twins["_:9"] = {DCT + "identifier": [Literal("a-2")]}
    item = mapped({IRI: {DCAT + "distribution": [*twins]}, **twins})
    assert len({resource.id for resource in item.resources}) == 4


JUNK: list[Term] = [
    *("", " ", "_:nothing", "_:self", IRI, "urn:x", "http://[", "mailto:", "http://a b", "file:///", "#"),
    *(Literal(text) for text in ("", " ", "\ud83d", "http://[", "{", "NaN", "a" * 70_000, "http://" + "a" * 70_000)),
    *(Literal("x", "", ""), Literal("x", "-"), Literal("x", None, "urn:x"), Literal("1" * 5000)),
    *(Literal("a@" * 40_000), Literal(",;" * 30_000), Literal("/" * 60_000 + "."), Literal("<" * 20_000)),
]


def places(description: Graph) -> Iterator[tuple[str, str]]:
    for subject, node in description.items():
        yield from ((subject, predicate) for predicate in node if predicate != TYPE)


def kinds_of_places(given: Graph) -> dict[tuple[str, str], tuple[object, ...]]:
    """Return what each place is: a predicate of a node with these types."""
    return {(subject, name): (name, *map(str, given[subject].get(TYPE, []))) for subject, name in places(given)}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.parent.name)
def test_never_raises(case: str) -> None:
    given = triples(case) | {"_:self": {}}
    before = {kind for one in CASES[: CASES.index(case)] for kind in kinds_of_places(triples(one)).values()}
    for subject, predicate in (place for place, kind in kinds_of_places(given).items() if kind not in before):
        for junk in JUNK:
            changed = {**given, subject: {**given[subject], predicate: [junk]}}
            concerned = [subject] if is_dataset(given[subject]) else filter(lambda key: is_dataset(given[key]), given)
            for key in concerned:
                if identity(changed, key):
                    item = dataset(changed, key, source="example")
                    assert len(item.flaws) <= FLAWS + 1
                    as_json(item)


@pytest.mark.slow
@pytest.mark.parametrize("junk", [*([one] for one in JUNK), JUNK], ids=lambda junk: repr(junk)[:40])
def test_everything_may_be_junk_at_once(junk: list[Term]) -> None:
    predicates = {predicate for case in CASES for _, predicate in places(triples(case))}
    everything: Node = {predicate: [*junk, "_:self", IRI] for predicate in predicates}
    item = mapped({IRI: everything, "_:self": everything})
    assert item.id
    assert len(item.flaws) <= FLAWS + 1
    as_json(item)


def test_hostile_sizes_are_read_in_linear_time() -> None:
    given: Graph = {f"_:{number}": {DCAT + "accessURL": ["https://example.org"]} for number in range(8_327)}
    contacts: Graph = {f"_:c{number}": {FOAF + "name": [Literal(f"Name {number}")]} for number in range(5_000)}
    keywords: list[Term] = [Literal(f"keyword {number}") for number in range(34_866)]
    node: Node = {DCAT + "distribution": [*given], DCAT + "keyword": keywords, DCAT + "contactPoint": [*contacts]}
    start = process_time()
    item = mapped({IRI: node, **given, **contacts})
    assert process_time() - start < 5
    assert (len(item.keywords), len(item.resources), len(item.contacts)) == (34_866, 8_327, 5_000)
    assert len({resource.id for resource in item.resources}) == 8_327


def test_a_circle_of_nodes_ends() -> None:
    around: Node = {
        predicate: ["_:a"] for predicate in (RDFS + "label", DCT + "format", SPDX + "checksum", PROV + "agent")
    }
    given = one(publisher=["_:a"], rights=["_:a"], license=["_:a"], conformsTo=["_:a"], language=["_:a"])
    assert mapped({**given, "_:a": around, IRI: {**given[IRI], DCAT + "distribution": ["_:a"]}}).publisher is None


def test_nodes_that_have_each_other_are_read_once_for_each_place() -> None:
    shapes: list[Term] = [Literal("POINT(15 47)"), *(f"_:{number}" for number in range(40))]
    nodes: Graph = {f"_:{number}": {DCAT + "bbox": shapes, DCAT + "centroid": shapes} for number in range(40)}
    start = process_time()
    item = mapped({IRI: {DCT + "spatial": [*nodes]}, **nodes})
    assert process_time() - start < 10
    assert item.spatial[0].geometry == {"type": "Point", "coordinates": [15.0, 47.0]}
