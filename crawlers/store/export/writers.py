"""The formats of `scrapy export`, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import IO

from crawlers.items import Dataset
from crawlers.store.export import croissant, csv, dcat, jsonld, parquet

Writer = Callable[[Iterable[Dataset], IO[bytes]], None]

WRITERS: dict[str, Writer] = {
    "dcat": dcat.rdf_xml,
    "jsonld": jsonld.write,
    "ttl": dcat.turtle,
    "csv": csv.write,
    "parquet": parquet.write,
    "croissant": croissant.write,
}
BINARY = ("parquet",)
"""What no terminal shows."""
