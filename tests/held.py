"""What crawls leave on disk, without a crawl: documents and manifest lines, of our own records and of real ones."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph
from lxml import etree

from crawlers.exceptions import AnswerError
from crawlers.kinds.api import query
from crawlers.kinds.api.file import load
from crawlers.kinds.api.mapping import Reading
from crawlers.kinds.dcat.catalogue import Descriptions
from crawlers.records import data_json, xml
from crawlers.records import dcat as rdf
from crawlers.records.rdf.document import document
from crawlers.records.rdf.graphs import graph
from crawlers.records.rdf.terms import DCAT, TYPE
from crawlers.safety import strict_json
from tests.golden import inputs
from tests.test_fixtures_api import CASES, page

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlers.records.rdf.terms import Graph, Node

SHARED = Path(__file__).parents[2] / "shared"
PORTAL = "https://data.example.org"
FORMATS = {
    ".jsonld": pyoxigraph.RdfFormat.JSON_LD,
    ".rdf": pyoxigraph.RdfFormat.RDF_XML,
    ".ttl": pyoxigraph.RdfFormat.TURTLE,
    ".xml": pyoxigraph.RdfFormat.RDF_XML,
}


def put(
    output: Path, source: str, dataset_id: str, document: Any, *, by: str, url: str = PORTAL, status: str = "new"
) -> Path:
    """A document and its manifest line."""
    is_xml = isinstance(document, bytes)
    file = f"datasets/{hashlib.sha256(dataset_id.encode()).hexdigest()}.{'xml' if is_xml else 'json'}"
    path = output / source / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(document if is_xml else strict_json.dumps(document))
    line = {
        "kind": "dataset",
        "dataset_id": dataset_id,
        "resource_id": None,
        "metadata_source": by,
        "metadata_file": file,
        "metadata_url": url,
        "time": "2026-11-20T12:00:00.000Z",
        "run": "20261120T120000Z",
        "status": status,
        "sha256": "0" * 64,
        "bytes": path.stat().st_size,
        "metadata_modified": None,
    }
    with (output / source / "manifest.jsonl").open("ab") as lines:
        lines.write(strict_json.line(line))
    return path


def put_ckan(output: Path, source: str, record: dict[str, Any], **keywords: Any) -> Path:
    url = f"{PORTAL}/api/3/action/package_search?rows=1000"
    return put(output, source, record["id"], record, by="package_search", url=url, **keywords)


class _Nodes:
    """A graph as descriptions take it."""

    def __init__(self, nodes: Graph) -> None:
        self.nodes = nodes

    def node(self, subject: str) -> Node:
        return self.nodes.get(subject, {})


def put_graph(output: Path, source: str, triples: Iterable[Any]) -> None:
    """Each dataset with its own description, as a crawl writes it."""
    nodes = graph(triples)
    collected = Descriptions(_Nodes(nodes), lambda _: False)  # type: ignore[arg-type]
    for subject, node in nodes.items():
        if not {DCAT + "Dataset", DCAT + "DatasetSeries"}.isdisjoint(node.get(TYPE, [])):
            description, _ = collected.description(subject)
            name = rdf.identity(description, subject)
            if name:
                url = f"{PORTAL}/catalog.ttl"
                put(output, source, name, document(description, subject), by="rdf", url=url)


def put_rdf(output: Path, source: str, turtle: bytes) -> None:
    put_graph(output, source, pyoxigraph.parse(turtle, format=pyoxigraph.RdfFormat.TURTLE))


def golden(output: Path) -> None:
    """Every golden of the mappings, in a source for each kind of catalogue."""
    for path in inputs("ckan"):
        found = strict_json.loads(path.read_bytes())
        put_ckan(output, "town", found | {"id": f"{path.parent.name}-{found['id']}"})
    for path in inputs("dcat"):
        put_rdf(output, "nation", path.read_bytes())
    for path in inputs("data_json"):
        found = strict_json.loads(path.read_bytes())
        put(output, "agency", path.parent.name, found, by="data_json", url=f"{PORTAL}/data.json")


# Real records, where they are at hand


def real(output: Path) -> None:
    """Real records of every kind, in a source for each."""
    for each in (_real_rdf, _real_data_json, _real_ckan, _real_api, _real_xml):
        each(output)


def _real_rdf(output: Path) -> None:
    for path in sorted((SHARED / "fixtures").glob("*/*/*")):
        form = FORMATS.get(path.suffix)
        if form and path.name != "dataset.ttl" and "external" not in path.name:
            try:
                put_graph(
                    output, "rdf", pyoxigraph.parse(path=str(path), format=form, base_iri="http://data.test.org/")
                )
            except (SyntaxError, ValueError):  # a fixture of faults
                continue


def _real_data_json(output: Path) -> None:
    for path in sorted((SHARED / "fixtures" / "GSA+datagov-harvester" / "dcatus").glob("*.json")):
        for one in data_json.records(json.loads(path.read_bytes())):
            if name := data_json.identity(one.value):
                put(output, "data-json", name, one.value, by="data_json", url=f"{PORTAL}/data.json")


def _real_ckan(output: Path) -> None:
    for path in sorted((SHARED / "fixtures").glob("*/*.json")):
        for record in _packages(json.loads(path.read_bytes())):
            put_ckan(output, "ckan", record)


def _packages(found: Any) -> Iterable[dict[str, Any]]:
    if isinstance(found, dict) and isinstance(found.get("id"), str) and "metadata_created" in found:
        yield found
    elif isinstance(found, dict | list):
        for value in found.values() if isinstance(found, dict) else found:
            yield from _packages(value)


def _real_api(output: Path) -> None:
    for case in CASES:
        declaration = load(case.declaration)
        for record in query.records(page(case), declaration.list) or []:
            if (reading := Reading(record, declaration)).is_dataset:
                item = reading.dataset(PORTAL, case.declaration)
                by, url = case.declaration, item.metadata_url or PORTAL
                put(output, case.declaration, item.id, record, by=by, url=url)


def _real_xml(output: Path) -> None:
    for folder in ("csw", "iso", "oai-pmh", "waf"):
        for path in sorted((SHARED / "answers" / folder).glob("*.xml")):
            try:
                root = xml.parse(path.read_bytes())
            except (AnswerError, etree.XMLSyntaxError):
                continue
            for element in list(xml.records(root))[:6]:
                try:
                    item = xml.dataset(element, source=folder, url=f"{PORTAL}/csw")
                except AnswerError:
                    continue
                put(output, folder, item.id, item.document, by=str(item.metadata_source), url=f"{PORTAL}/csw")
