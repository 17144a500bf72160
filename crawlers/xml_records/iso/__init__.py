"""ISO 19139 and ISO 19115-3 records, and their profiles."""

from crawlers.xml_records.iso.mapping import dataset, glance, scope
from crawlers.xml_records.iso.part import vocabulary

__all__ = ["dataset", "glance", "scope", "vocabulary"]
