"""The goldens of the mappings: golden/<mapping>/<case>/ has an input, and in expected.json what it is read as."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph

from crawlers.kinds.ckan import mapping
from crawlers.records import data_json, dcat, schema_org
from crawlers.records.html_page import Page
from crawlers.records.rdf.graphs import graph
from crawlers.records.rdf.terms import DCAT, TYPE, Graph, Node

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlers.items import Dataset

GOLDEN = Path(__file__).parent / "golden"
URL = "https://golden.example.org/dataset/second"


def inputs(mapping: str = "*") -> list[Path]:
    return sorted(GOLDEN.glob(f"{mapping}/*/input.*"))


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def triples(path: Path) -> Graph:
    return graph(pyoxigraph.parse(path=str(path), format=pyoxigraph.RdfFormat.TURTLE))


def bare(item: Dataset) -> dict[str, Any]:
    """Return an item as JSON, without the documents, and without a mark that no feed has."""
    found = asdict(item)
    del found["torn"]
    for part in (found, *found["resources"]):
        del part["document"]
    return found


def filled(value: Any) -> Any:
    """Return a value without what is empty: a golden shows what its rule is about."""
    if isinstance(value, dict):
        return {name: filled(one) for name, one in value.items() if one not in (None, [], False) and name != "source"}
    return [filled(one) for one in value] if isinstance(value, list) else value


def is_dataset(node: Node) -> bool:
    return DCAT + "Dataset" in node.get(TYPE, [])


def read_graph(found: Graph) -> list[dict[str, Any]]:
    items = [dcat.dataset(found, subject, source="example") for subject, node in found.items() if is_dataset(node)]
    return [filled(asdict(item)) for item in sorted(items, key=lambda item: item.id)]


def _ckan(path: Path) -> dict[str, Any]:
    return bare(mapping.dataset(load(path), source="example", portal="https://data.example.org/"))


def _data_json(path: Path) -> dict[str, Any]:
    record = load(path)
    return bare(data_json.dataset(record, source="example", id=data_json.identity(record) or "none"))


def _dcat(path: Path) -> list[dict[str, Any]]:
    return read_graph(triples(path))


def _schema_org(path: Path) -> dict[str, Any]:
    flaws: list[str] = []
    records = schema_org.records(Page(path.read_text(encoding="utf-8"), URL).root, URL, flaws)
    items = [asdict(schema_org.dataset(record, source="example", id="a")) for record in records]
    for item in items:
        item["resources"] = [_said(one) for one in item["resources"]]
    return {"records": records, "items": [_said(item) for item in items], "flaws": flaws}


def _said(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if value not in (None, [], False) and name != "document"}


READ: dict[str, Callable[[Path], Any]] = {
    "ckan": _ckan,
    "data_json": _data_json,
    "dcat": _dcat,
    "schema_org": _schema_org,
}
"""How the input of each mapping is read."""
