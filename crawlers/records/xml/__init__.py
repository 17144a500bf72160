"""Metadata records in XML, whatever protocol brings them: ISO 19139 and 19115-3, DataCite, Dublin Core, RDF/XML.

A record's document is its element, with the namespaces in scope.
"""

from crawlers.records.xml.element import encodings, list_root, parse, root
from crawlers.records.xml.record import (
    READERS,
    dataset,
    document,
    is_readable,
    is_record,
    lazily,
    read,
    records,
    scope,
    triples,
)

__all__ = ["READERS", "dataset", "document", "encodings", "is_readable", "is_record", "lazily", "list_root", "parse"]
__all__ += ["read", "records", "root", "scope", "triples"]
