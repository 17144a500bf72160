"""DCAT, of every profile, into items: from the nodes of one dataset's description."""

from __future__ import annotations

from crawlers.records.dcat.datasets import dataset
from crawlers.records.dcat.identities import identity, title

__all__ = ["dataset", "identity", "title"]
