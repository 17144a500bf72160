"""JSON-LD as specified: W3C's tests of JSON-LD 1.1 against the reader; w3c_jsonld.csv has those that do not pass."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pyoxigraph
import pytest

from crawlers.exceptions import AnswerError
from crawlers.records.rdf import apart, formats, jsonld
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable

W3C = ROOT.parent / "shared" / "jsonld-tests"
BASE = "https://w3c.github.io/json-ld-api/tests/"
NEGATIVE, SYNTAX = "jld:NegativeEvaluationTest", "jld:PositiveSyntaxTest"
REASONS = list(csv.DictReader((ROOT / "tests" / "w3c_jsonld.csv").read_text(encoding="utf-8").splitlines()))
"""Why some tests do not pass: the reason, the tests, and whether they pass once the parser is strict."""

pytestmark = pytest.mark.skipif(not W3C.exists(), reason="W3C's tests are not here")


def asked() -> dict[str, dict[str, Any]]:
    """The tests of JSON-LD 1.1, by name."""
    tests = json.loads((W3C / "toRdf-manifest.jsonld").read_bytes())["sequence"]
    of_1_1 = (test for test in tests if test.get("option", {}).get("specVersion") != "json-ld-1.0")
    return {test["@id"][1:]: test for test in of_1_1 if (W3C / test["input"]).exists()}  # er56 is not among the files


def passes(test: dict[str, Any], *, strict: bool = False) -> bool:
    try:
        found = canonical(quads(test, strict=strict))
    except (AnswerError, SyntaxError):
        return NEGATIVE in test["@type"]
    if NEGATIVE in test["@type"] or SYNTAX in test["@type"]:
        return SYNTAX in test["@type"]
    try:
        expected = list(pyoxigraph.parse((W3C / test["expect"]).read_bytes(), format=pyoxigraph.RdfFormat.N_QUADS))
    except SyntaxError:  # what is no RDF
        return False
    return found == canonical(expected)


def quads(test: dict[str, Any], *, strict: bool) -> Iterable[pyoxigraph.Quad]:
    body, base = (W3C / test["input"]).read_bytes(), test.get("option", {}).get("base") or BASE + test["input"]
    if strict:
        return pyoxigraph.parse(jsonld.local(body), format=pyoxigraph.RdfFormat.JSON_LD, base_iri=base)
    reader = apart.reader(io.BytesIO(body), formats.JSON_LD, base)
    assert isinstance(reader, apart.Reader)
    return reader.quads


def canonical(found: Iterable[pyoxigraph.Quad]) -> set[str]:
    """Statements whatever the names of blank nodes, and without the direction of texts, which the reader leaves out."""
    plain = pyoxigraph.Dataset(map(without_direction, found))
    plain.canonicalize(pyoxigraph.CanonicalizationAlgorithm.RDFC_1_0)
    return set(map(str, plain))


def without_direction(quad: pyoxigraph.Quad) -> pyoxigraph.Quad:
    text = quad.object
    if not isinstance(text, pyoxigraph.Literal) or not text.direction:
        return quad
    return pyoxigraph.Quad(
        quad.subject, quad.predicate, pyoxigraph.Literal(text.value, language=text.language), quad.graph_name
    )


def named(reason: dict[str, str]) -> set[str]:
    return set(reason["tests"].split())


def test_what_does_not_pass_is_listed() -> None:
    failed = {name for name, test in asked().items() if not passes(test)}
    assert failed == set().union(*map(named, REASONS))


def test_what_is_kept_on_purpose_passes_once_the_parser_is_strict() -> None:
    """It drops such statements and says nothing, so that it can't be asked first."""
    tests = asked()
    for reason in REASONS:
        strict = {name for name in named(reason) if passes(tests[name], strict=True)}
        assert strict == (named(reason) if reason["strict"] else set()), reason["why"]


def test_what_does_not_pass_is_documented() -> None:
    page = (ROOT / "docs" / "dcat.md").read_text(encoding="utf-8")
    for line in summary().splitlines():
        assert line in page


def summary() -> str:
    """The counts and the reasons, as docs/dcat.md has them."""
    tests, failed = asked(), set().union(*map(named, REASONS))
    counted = tests.keys() - named(REASONS[0])  # which need what is not fetched
    negative = {name for name in counted if NEGATIVE in tests[name]["@type"]}
    counts = [f"{len(names - failed)} of {len(names)}" for names in (counted - negative, negative)]
    rows = [f"| {reason['why']} | {', '.join(f'`{name}`' for name in reason['tests'].split())} |" for reason in REASONS]
    return "\n".join(
        [f"{counts[0]} positive and {counts[1]} negative ones pass", "| Why not | Tests |", "|---|---|", *rows]
    )
