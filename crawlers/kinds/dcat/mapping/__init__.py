"""DCAT, of every profile, into items: from the nodes of one dataset's description."""

from __future__ import annotations

from crawlers.kinds.dcat.mapping.datasets import dataset
from crawlers.kinds.dcat.mapping.identities import identity, title

__all__ = ["dataset", "identity", "title"]
