"""What a catalogue file says of RDF that is not DCAT: which nodes are datasets, and which property is which field."""

from __future__ import annotations

from crawlers.kinds.dcat.rules.file import PREFIX, RDFRules, lasting, named

__all__ = ["PREFIX", "RDFRules", "lasting", "named"]
