"""DCAT, of every profile, into items: from the nodes of one dataset's description."""

from __future__ import annotations

from crawlers.mapping.dcat.datasets import dataset
from crawlers.mapping.dcat.identities import identity

__all__ = ["dataset", "identity"]
