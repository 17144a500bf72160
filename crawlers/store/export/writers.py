"""The formats of `scrapy export`, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import IO

from crawlers.items import Dataset

Writer = Callable[[Iterable[Dataset], IO[bytes]], None]


def _write(datasets: Iterable[Dataset], output: IO[bytes], *, module: str, function: str) -> None:
    """Import a writer when it is used: a table needs no RDF."""
    getattr(import_module(f"crawlers.store.export.{module}"), function)(datasets, output)


WRITERS: dict[str, Writer] = {
    name: partial(_write, module=module, function=function)
    for name, module, function in (
        ("dcat", "dcat", "rdf_xml"),
        ("jsonld", "jsonld", "write"),
        ("ttl", "dcat", "turtle"),
        ("dcat-us", "jsonld", "dcat_us"),
        ("csv", "csv", "write"),
        ("parquet", "parquet", "write"),
        ("croissant", "croissant", "write"),
    )
}
PROFILES = {"dcat": "dcat-ap", "jsonld": "dcat-ap", "ttl": "dcat-ap", "dcat-us": "dcat-us"}
"""The profile of each format that is DCAT."""
BINARY = ("parquet",)
"""What no terminal shows."""
