"""What a catalogue file says of RDF that is not DCAT: which nodes are datasets, and which property is which field."""

from __future__ import annotations

from crawlers.kinds.dcat.rules.file import PREFIX, lasting, named
from crawlers.kinds.dcat.rules.rules import RDFRules

__all__ = ["PREFIX", "RDFRules", "lasting", "named"]
