"""``scrapy export --validate``: what shapes say of each dataset, in a report beside the export."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from crawlers.items import Dataset
from crawlers.store.export.validation import Validation
from tests.conftest import ROOT, command
from tests.held import put_ckan, put_rdf

if TYPE_CHECKING:
    from pathlib import Path

SHAPES = """
@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
<urn:x> a sh:NodeShape ; sh:targetClass dcat:Dataset ;
    sh:property [ sh:path dct:license ; sh:minCount 1 ; sh:message "no licence" ],
        [ sh:path dcat:theme ; sh:minCount 1 ; sh:severity sh:Warning ; sh:message "no theme" ] .
"""


@pytest.fixture
def town(tmp_path: Path) -> Path:
    put_ckan(tmp_path / "output", "town", {"id": "a", "name": "a", "title": "A", "notes": "All", "license_id": "cc-by"})
    put_ckan(tmp_path / "output", "town", {"id": "b", "name": "b", "title": "B", "notes": "Both"})
    return tmp_path


def export(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return command("export", *words, "-s", f"OUTPUT_DIR={folder / 'output'}")


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_each_dataset_has_a_line(town: Path) -> None:
    (town / "shapes").mkdir()
    (town / "shapes" / "own.ttl").write_text(SHAPES)
    file = town / "town.ttl"
    ran = export(town, "--format", "ttl", "-o", str(file), "--validate", "--shapes", str(town / "shapes"))
    report = town / "town.ttl.validation.jsonl"
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr == f"1 of 2 datasets violate the shapes: see {report}.\n"
    first, second = lines(report)
    told = ("source", "id", "conforms", "violations", "warnings")
    assert [first[name] for name in told] == ["town", "a", True, 0, 1]
    assert [second[name] for name in told] == ["town", "b", False, 1, 1]
    violation, warning = second["results"]
    assert violation == {
        "severity": "Violation",
        "node": second["iri"],
        "path": "http://purl.org/dc/terms/license",
        "value": None,
        "message": "no licence",
    }
    assert warning["message"] == "no theme"
    assert second["iri"] in file.read_text()


LISTED = """
@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
<urn:x> a sh:NodeShape ; sh:targetClass dcat:Catalog ; sh:property [ sh:path dcat:dataset ; sh:class CLASS ] .
<urn:y> a sh:NodeShape ; sh:targetClass dcat:Dataset ;
    sh:property [ sh:path dcat:inSeries ; sh:class dcat:DatasetSeries ] .
"""
SERIES = b"""
@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> .
<urn:x:1> a dcat:Dataset ; dct:title "One" ; dcat:inSeries <urn:x:s>, <urn:x:unknown> .
<urn:x:s> a dcat:DatasetSeries ; dct:title "Series" .
"""


@pytest.mark.parametrize(("kind", "violated"), [("dcat:Dataset", []), ("dct:Standard", ["dataset"])])
def test_the_catalogue_that_lists_a_dataset_is_looked_at_and_what_it_cites_is_known(
    kind: str, violated: list[str], tmp_path: Path
) -> None:
    put_rdf(tmp_path / "output", "nation", SERIES)
    (tmp_path / "own.ttl").write_text(LISTED.replace("CLASS", kind))
    report = tmp_path / "report"
    export(tmp_path, "--format", "ttl", "--validate", "--shapes", str(tmp_path / "own.ttl"), "--report", str(report))
    found = {line["iri"]: line["results"] for line in lines(report)}
    told = {iri: [(one["path"].rpartition("#")[2], one["value"]) for one in results] for iri, results in found.items()}
    of_catalogue = [(name, iri) for iri in found for name in violated]
    assert sorted(told["urn:x:1"]) == sorted([("inSeries", "urn:x:unknown"), *of_catalogue[:1]])
    assert told["urn:x:s"] == of_catalogue[1:]


def test_a_catalogue_keeps_its_publisher_whatever_blank_nodes_a_dataset_has(tmp_path: Path) -> None:
    items = [Dataset(source="town", id="a", title="A", description="All", provenance="Words", languages=["xx-YY"])]
    report = io.BytesIO()
    assert list(Validation([], "dcat-ap", report).passing(items, items)) == items
    (line,) = report.getvalue().splitlines()
    assert json.loads(line)["results"] == []


def test_by_default_it_is_what_dcat_ap_makes_mandatory(town: Path) -> None:
    report = town / "report.jsonl"
    ran = export(town, "--format", "dcat", "--validate", "--report", str(report))
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == f"0 of 2 datasets violate the shapes: see {report}.\n"
    assert ran.stdout.startswith("<?xml")
    assert [line["results"] for line in lines(report)] == [[], []]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["csv", "-o", "x.csv"], "--validate checks DCAT, not csv: name dcat, jsonld, ttl, dcat-us with --format."),
        (["ttl"], "--validate writes a report: name its file with --report FILE, or the export's with -o."),
        (
            ["ttl", "-o", "{0}/x/../r", "--report", "{0}/r"],
            "The export and its report can't both be {0}/x/../r: name another file with --report FILE.",
        ),
        (
            ["ttl", "-o", "-", "--report", "-"],
            "The export and its report can't both be standard output: name another file with --report FILE.",
        ),
        (
            ["ttl", "--report", "{0}/r", "--shapes", "{0}/no.ttl"],
            "{0}/no.ttl can't be read: No such file or directory.",
        ),
        (["ttl", "--report", "{0}/r", "--shapes", "{0}"], "{0} has no shapes: no file there ends with .ttl."),
    ],
)
def test_a_mistake_is_a_sentence(words: list[str], told: str, town: Path) -> None:
    ran = export(town, "--validate", "--format", *(word.format(town) for word in words))
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, "", f"{told.format(town)}\n")
    assert not (town / "r").exists()


def test_a_report_goes_to_standard_output(town: Path) -> None:
    ran = export(town, "--validate", "--format", "ttl", "-o", str(town / "x.ttl"), "--report", "-")
    assert (ran.returncode, ran.stderr) == (0, "0 of 2 datasets violate the shapes: see standard output.\n")
    assert [json.loads(line)["id"] for line in ran.stdout.splitlines()] == ["a", "b"]


def test_what_is_no_turtle_is_told(town: Path) -> None:
    (town / "bad.ttl").write_text("<html>")
    ran = export(town, "--validate", "--format", "ttl", "--report", str(town / "r"), "--shapes", str(town / "bad.ttl"))
    assert ran.returncode == 1
    assert ran.stderr.startswith(f"{town / 'bad.ttl'} is not a file of shapes in Turtle: ")
    assert ran.stderr.count("\n") == 1


def test_without_pyshacl_a_sentence_says_what_to_install(town: Path) -> None:
    words = ["scrapy", "export", "--format", "ttl", "--validate", "-o", str(town / "x.ttl")]
    words += ["-s", f"OUTPUT_DIR={town / 'output'}"]
    blocked = f"import sys; sys.modules['pyshacl'] = None; from scrapy.cmdline import execute; execute({words})"
    command = [sys.executable, "-W", "error", "-c", blocked]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (
        1,
        "Validation needs pyshacl: pip install 'catalogue-crawlers[validate]'.\n",
    )
    assert not (town / "x.ttl").exists()
